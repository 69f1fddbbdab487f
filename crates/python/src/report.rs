//! The reports of runs and audits, which Python shows.

use crate::kind::Kind;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rueful_run::{AuditReport, ClassRun, Report, Run};

/// A report, and a copy of the run as it was when the report was made.
#[pyclass(frozen, module = "rueful._rueful")]
pub(crate) struct Snapshot {
    report: Report,
    run: AnyRun,
    notes: Vec<String>,
}

/// A run of either kind.
pub(crate) enum AnyRun {
    Score(Box<Run>),
    Classes(Box<ClassRun>),
}

impl From<Run> for AnyRun {
    fn from(run: Run) -> Self {
        Self::Score(Box::new(run))
    }
}

impl From<ClassRun> for AnyRun {
    fn from(run: ClassRun) -> Self {
        Self::Classes(Box::new(run))
    }
}

impl Snapshot {
    pub(crate) fn new(report: Report, run: impl Into<AnyRun>, notes: Vec<String>) -> Self {
        Self { report, run: run.into(), notes }
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
        py.detach(|| match &self.run {
            AnyRun::Score(run) => run.html(&self.report),
            AnyRun::Classes(run) => run.html(&self.report),
        })
    }

    /// Returns the picture that `rueful run --plot` writes.
    fn svg(&self, py: Python<'_>) -> String {
        py.detach(|| match &self.run {
            AnyRun::Score(run) => run.svg(&self.report),
            AnyRun::Classes(run) => run.svg(&self.report),
        })
    }
}

/// The report of an audit.
#[pyclass(frozen, module = "rueful._rueful")]
pub(crate) struct AuditSnapshot {
    json: String,
    report: AuditReport,
}

impl AuditSnapshot {
    /// Takes a report as JSON and in full.
    pub(crate) fn new(json: String, report: AuditReport) -> Self {
        Self { json, report }
    }
}

#[pymethods]
impl AuditSnapshot {
    /// Returns the report as JSON, with the keys of `rueful audit --json`.
    fn json(&self) -> &str {
        &self.json
    }

    /// Returns the verdict in one line.
    fn verdict(&self) -> String {
        rueful_cli::audit_verdict(&self.report)
    }

    /// Returns the report as `rueful audit` prints it.
    fn text(&self) -> String {
        rueful_cli::audit_text(&self.report)
    }

    /// Returns the page that `rueful audit --report` writes.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| rueful_cli::audit_html(&self.report))
    }

    /// Returns the picture that `rueful audit --plot` writes.
    fn svg(&self, py: Python<'_>) -> String {
        py.detach(|| rueful_cli::audit_svg(&self.report))
    }
}
