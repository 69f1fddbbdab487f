//! The report of a run, which Python shows.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rueful_run::{Report, Run};

/// A report, and a copy of the run as it was when the report was made.
#[pyclass(frozen, module = "rueful._rueful")]
pub(crate) struct Snapshot {
    report: Report,
    run: Run,
    notes: Vec<String>,
}

impl Snapshot {
    pub(crate) fn new(report: Report, run: Run, notes: Vec<String>) -> Self {
        Self { report, run, notes }
    }
}

#[pymethods]
impl Snapshot {
    /// Returns the report as JSON, as `rueful run --json` prints it.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.report)
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Returns the report as `rueful run` prints it.
    fn text(&self) -> String {
        rueful_cli::report_text(&self.report, &self.notes)
    }

    /// Returns the page that `rueful run --report` writes.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| rueful_cli::report_html(&self.report, &self.run))
    }

    /// Returns the picture that `rueful run --plot` writes.
    fn svg(&self, py: Python<'_>) -> String {
        py.detach(|| rueful_cli::report_svg(&self.report, &self.run))
    }
}
