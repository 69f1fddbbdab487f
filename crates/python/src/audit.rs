//! The audit of any model, from its predictions.

use crate::error::{Outcome, PythonError};
use crate::held::way;
use crate::model::table_alone;
use crate::named::Dicts;
use crate::settings::{AskedAudit, AskedColumns};
use crate::side::Side;
use crate::table::Table;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rueful_core::Positive;
use rueful_run::{Auditor, DataSpec};
use std::sync::{Mutex, MutexGuard};

/// The audit of one model's predictions.
#[pyclass(frozen, module = "rueful._rueful")]
pub(crate) struct Audit {
    auditor: Mutex<Auditor>,
    dicts: Dicts,
    /// Whether every example gets one more feature that is always 1.
    constant: bool,
}

impl Audit {
    fn of(auditor: Auditor, constant: bool) -> Self {
        let dicts = Dicts::new(Default::default(), constant);
        Self { auditor: Mutex::new(auditor), dicts, constant }
    }

    fn lock(&self) -> Outcome<MutexGuard<'_, Auditor>> {
        let broken = "this audit was left half changed by an error: begin it anew";
        self.auditor.lock().map_err(|_| PythonError::Runtime(broken.to_owned()))
    }
}

#[pymethods]
impl Audit {
    /// Makes an audit that has seen nothing.
    #[new]
    fn new(settings: AskedAudit, constant: bool) -> PyResult<Self> {
        Ok(Self::of(Auditor::new(&settings.into()).map_err(PythonError::from)?, constant))
    }

    /// Restores an audit from bytes.
    #[staticmethod]
    fn from_bytes(bytes: &Bound<'_, PyBytes>) -> PyResult<Self> {
        let wrong = |what: &str| PythonError::value(format!("the audit: {what}"));
        let Some((&first, rest)) = bytes.as_bytes().split_first() else {
            return Err(wrong("there are no bytes").into());
        };
        let auditor = Auditor::from_bytes(rest).map_err(|what| wrong(&what))?;
        Ok(Self::of(auditor, first != 0))
    }

    /// Saves the audit to bytes: whether there is a constant, and the audit itself.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| {
            let bytes = self.lock()?.to_bytes();
            bytes.map_err(|error| PythonError::Runtime(error.to_string()))
        })?;
        Ok(PyBytes::new(py, &[&[u8::from(self.constant)], &bytes[..]].concat()))
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let make = slf.get_type().getattr("from_bytes")?;
        Ok((make, (slf.get().to_bytes(slf.py())?,)))
    }

    /// Records the predictions of the model for the rows of a table. The model must have made them
    /// before it was told the labels.
    #[pyo3(signature = (columns, table, labels, predictions, importances=None, names=None))]
    #[expect(clippy::too_many_arguments, reason = "they are named where it is called")]
    fn observe(
        &self,
        py: Python<'_>,
        columns: AskedColumns,
        table: &Bound<'_, PyAny>,
        labels: PyReadonlyArray1<'_, f64>,
        predictions: PyReadonlyArray1<'_, f64>,
        importances: Option<PyReadonlyArray1<'_, f64>>,
        names: Option<Vec<String>>,
    ) -> PyResult<()> {
        let table = Table::of(table)?;
        let (data, _): (DataSpec, Dicts) = table_alone(&table, columns, names, self.constant)?;
        let view = table.view(&self.dicts)?;
        let side = Side::new(&labels, importances.as_ref())?;
        let scores: Vec<f64> = predictions.as_array().to_vec();
        if scores.len() != side.labels.len() {
            let (found, wanted) = (scores.len(), side.labels.len());
            let what = format!("there are {found} predictions for {wanted} labels");
            return Err(PythonError::value(what).into());
        }
        Ok(py.detach(|| {
            let mut auditor = self.lock()?;
            let mut from = 0;
            auditor.check(&side.labels, &scores).map_err(PythonError::Value)?;
            view.each(&way(&data), Some(&side), &mut |rows| {
                let part = &scores[from..from + rows.len()];
                from += rows.len();
                auditor.observe(rows, part).map_err(PythonError::Value)
            })?;
            Ok::<_, PythonError>(())
        })?)
    }

    /// Returns the report so far, as JSON.
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        Ok(py.detach(|| {
            let report = self.lock()?.report();
            serde_json::to_string(&report).map_err(|error| PythonError::Runtime(error.to_string()))
        })?)
    }

    /// Returns the certificate: no comparator of norm at most `radius` was better by more than this
    /// per round.
    #[pyo3(signature = (radius=None))]
    fn certificate(&self, py: Python<'_>, radius: Option<f64>) -> PyResult<f64> {
        let out = |why| PythonError::value(format!("radius: {why}"));
        let radius = radius.map(Positive::new).transpose().map_err(out)?;
        Ok(py.detach(|| Ok::<_, PythonError>(self.lock()?.certificate(radius)))?)
    }

    /// Adds an audit of other rounds under the same settings.
    fn merge(&self, py: Python<'_>, other: &Self) -> PyResult<()> {
        if std::ptr::eq(self, other) {
            return Err(PythonError::value("an audit cannot be merged with itself").into());
        }
        if self.constant != other.constant {
            return Err(PythonError::value("audits of different settings cannot be merged").into());
        }
        let bytes = other.to_bytes(py)?;
        let other = Self::from_bytes(&bytes)?;
        Ok(py.detach(|| {
            let theirs = other.lock()?;
            self.lock()?.merge(&theirs).map_err(PythonError::Value)
        })?)
    }
}
