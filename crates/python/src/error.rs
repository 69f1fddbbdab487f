//! Errors, and the exceptions of Python that they become.

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rueful_data::{DataError, NamesSettings};
use rueful_run::{ModelError, RunError, SessionError, SettingsError, SpecError};

/// An error that can be made without the interpreter.
#[derive(Debug)]
pub(crate) enum PythonError {
    /// An argument that cannot be used.
    Value(String),
    /// A file that cannot be read or written.
    System(String),
    /// A state from which one cannot continue.
    Runtime(String),
    /// An exception of Python itself, for instance because somebody pressed Ctrl-C.
    Python(PyErr),
}

/// A result, or the error for Python.
pub(crate) type Outcome<T> = Result<T, PythonError>;

impl PythonError {
    pub(crate) fn value(what: impl Into<String>) -> Self {
        Self::Value(what.into())
    }
}

/// Returns the name of a setting in Python.
pub(crate) fn argument(setting: &str) -> String {
    setting.replace('-', "_")
}

impl From<PythonError> for PyErr {
    fn from(trouble: PythonError) -> Self {
        match trouble {
            PythonError::Value(what) => PyValueError::new_err(what),
            PythonError::System(what) => PyOSError::new_err(what),
            PythonError::Runtime(what) => PyRuntimeError::new_err(what),
            PythonError::Python(error) => error,
        }
    }
}

impl From<PyErr> for PythonError {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl From<SettingsError> for PythonError {
    fn from(error: SettingsError) -> Self {
        match error {
            SettingsError::Data(error) => error.into(),
            error => Self::Value(error.text(&argument)),
        }
    }
}

impl From<DataError> for PythonError {
    fn from(error: DataError) -> Self {
        let text = error.text(&argument);
        match error {
            DataError::Open { .. } | DataError::Read { .. } | DataError::Write { .. } => {
                Self::System(text)
            }
            DataError::OnceOnly { .. } => Self::Value(
                "this learner must know the whole stream beforehand: give horizon and \
                 gradient_bound, or all data at once"
                    .to_owned(),
            ),
            _ => Self::Value(text),
        }
    }
}

impl From<RunError> for PythonError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Diverged { .. } => Self::Runtime(error.to_string()),
            error => Self::Value(error.to_string()),
        }
    }
}

impl From<SessionError> for PythonError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Data(error) => error.into(),
            SessionError::Run(error) => error.into(),
            error => Self::Value(error.to_string()),
        }
    }
}

impl From<SpecError> for PythonError {
    fn from(error: SpecError) -> Self {
        Self::Value(error.to_string())
    }
}

impl From<ModelError> for PythonError {
    fn from(error: ModelError) -> Self {
        match error {
            ModelError::Read { .. } | ModelError::Write { .. } => Self::System(error.to_string()),
            error => Self::Value(error.to_string()),
        }
    }
}
