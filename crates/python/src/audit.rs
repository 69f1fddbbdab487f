//! The audit of any model, from its predictions.

use crate::dicts::Dicts;
use crate::error::{Outcome, PythonError};
use crate::held::way;
use crate::model::table_alone;
use crate::report::AuditSnapshot;
use crate::settings::{AskedAudit, AskedColumns};
use crate::side::Side;
use crate::table::Table;
use crate::watch::Watch;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rueful_core::{Positive, Rows};
use rueful_run::{AuditSettings, Auditor, ClassAuditor, ClassLoss, DataSpec};
use std::sync::{Mutex, MutexGuard};

/// The audit of one model's predictions.
#[pyclass(frozen, module = "rueful._rueful")]
pub(crate) struct Audit {
    auditor: Mutex<AnyAuditor>,
    dicts: Dicts,
    /// Whether every example gets one more feature that is always 1.
    constant: bool,
}

/// An audit of one score for every example, or of one number for every class.
enum AnyAuditor {
    Score(Box<Auditor>),
    Classes(Box<ClassAuditor>),
}

impl AnyAuditor {
    fn new(settings: &AuditSettings, classes: Option<Vec<String>>) -> Outcome<Self> {
        let loss = settings.loss.as_deref().and_then(ClassLoss::named);
        Ok(match (loss, classes) {
            (Some(loss), Some(names)) => {
                Self::Classes(Box::new(ClassAuditor::new(settings, loss, names)?))
            }
            (Some(loss), None) => {
                return Err(PythonError::value(format!(
                    "classes: the {loss} loss has a prediction for every class, so that all are named"
                )));
            }
            (None, _) => Self::Score(Box::new(Auditor::new(settings)?)),
        })
    }

    /// Checks labels and predictions before any of them is recorded.
    fn check(&self, labels: &[f64], said: &[f64]) -> Result<(), String> {
        match self {
            Self::Score(auditor) => auditor.check(labels, said),
            Self::Classes(auditor) => auditor.check(labels, said),
        }
    }

    /// Returns how many predictions there are for each row.
    fn width(&self) -> usize {
        match self {
            Self::Score(_) => 1,
            Self::Classes(auditor) => auditor.classes(),
        }
    }

    fn observe(&mut self, rows: Rows<'_>, said: &[f64]) -> Result<(), String> {
        match self {
            Self::Score(auditor) => auditor.observe(rows, said),
            Self::Classes(auditor) => auditor.observe(rows, said),
        }
    }

    fn report(&self, constant: bool) -> serde_json::Result<AuditSnapshot> {
        Ok(match self {
            Self::Score(auditor) => {
                let report = auditor.report();
                let json = serde_json::to_string(&report)?;
                AuditSnapshot::new(json, report.without_files(constant))
            }
            Self::Classes(auditor) => {
                let report = auditor.report();
                let json = serde_json::to_string(&report)?;
                AuditSnapshot::new(json, report.without_files(constant))
            }
        })
    }

    fn certificate(&self, radius: Option<Positive>) -> f64 {
        match self {
            Self::Score(auditor) => auditor.certificate(radius),
            Self::Classes(auditor) => auditor.certificate(radius),
        }
    }

    fn merge(&mut self, other: &Self) -> Result<(), String> {
        match (self, other) {
            (Self::Score(own), Self::Score(theirs)) => own.merge(theirs),
            (Self::Classes(own), Self::Classes(theirs)) => own.merge(theirs),
            _ => Err("audits of different settings cannot be merged".to_owned()),
        }
    }

    fn to_bytes(&self) -> Result<Vec<u8>, postcard::Error> {
        match self {
            Self::Score(auditor) => auditor.to_bytes(),
            Self::Classes(auditor) => auditor.to_bytes(),
        }
    }
}

/// The first byte of a saved audit: whether there is a constant, and whether it is of many classes.
const CONSTANT: u8 = 1;
const CLASSES: u8 = 2;

impl Audit {
    fn of(auditor: AnyAuditor, constant: bool) -> Self {
        let dicts = Dicts::new(Default::default(), constant, true);
        Self { auditor: Mutex::new(auditor), dicts, constant }
    }

    fn lock(&self) -> Outcome<MutexGuard<'_, AnyAuditor>> {
        let broken = "this audit was left half changed by an error: begin it anew";
        self.auditor.lock().map_err(|_| PythonError::Runtime(broken.to_owned()))
    }
}

#[pymethods]
impl Audit {
    /// Makes an audit that has seen nothing. A loss of many classes needs their names.
    #[new]
    #[pyo3(signature = (settings, constant, classes=None))]
    fn new(settings: AskedAudit, constant: bool, classes: Option<Vec<String>>) -> PyResult<Self> {
        Ok(Self::of(AnyAuditor::new(&settings.into(), classes)?, constant))
    }

    /// Restores an audit from bytes.
    #[staticmethod]
    fn from_bytes(bytes: &Bound<'_, PyBytes>) -> PyResult<Self> {
        let wrong = |what: &str| PythonError::value(format!("the audit: {what}"));
        let Some((&first, rest)) = bytes.as_bytes().split_first() else {
            return Err(wrong("there are no bytes").into());
        };
        let auditor = match first & CLASSES {
            0 => Auditor::from_bytes(rest).map(|auditor| AnyAuditor::Score(Box::new(auditor))),
            _ => ClassAuditor::from_bytes(rest).map(|one| AnyAuditor::Classes(Box::new(one))),
        };
        Ok(Self::of(auditor.map_err(|what| wrong(&what))?, first & CONSTANT != 0))
    }

    /// Saves the audit to bytes: what it is, and the audit itself.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let (bytes, of_classes) = py.detach(|| {
            let auditor = self.lock()?;
            let bytes = auditor.to_bytes();
            let bytes = bytes.map_err(|error| PythonError::Runtime(error.to_string()))?;
            Ok::<_, PythonError>((bytes, matches!(*auditor, AnyAuditor::Classes(_))))
        })?;
        let what = if self.constant { CONSTANT } else { 0 } | if of_classes { CLASSES } else { 0 };
        Ok(PyBytes::new(py, &[&[what], &bytes[..]].concat()))
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let make = slf.get_type().getattr("from_bytes")?;
        Ok((make, (slf.get().to_bytes(slf.py())?,)))
    }

    /// Records the predictions of the model for the rows of a table, one for each row, or one for each
    /// class of each row. The model must have made them before it was told the labels.
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
        let mut watch = Watch::new(None);
        Ok(py.detach(|| {
            let mut auditor = self.lock()?;
            let (width, labels) = (auditor.width(), side.labels.len());
            if scores.len() != width * labels {
                let found = scores.len();
                return Err(PythonError::value(match width {
                    1 => format!("there are {found} predictions for {labels} labels"),
                    _ => format!(
                        "there are {found} predictions for {labels} labels of {width} classes"
                    ),
                }));
            }
            auditor.check(&side.labels, &scores).map_err(PythonError::Value)?;
            let mut from = 0;
            view.each(&way(&data), Some(&side), &mut |rows| {
                let part = &scores[from..from + width * rows.len()];
                from += part.len();
                auditor.observe(rows, part).map_err(PythonError::Value)?;
                watch.look(|| (0, 0, 0.0))
            })?;
            Ok::<_, PythonError>(())
        })?)
    }

    /// Tells for every row whether its label and its predictions can be judged.
    fn can_judge(
        &self,
        labels: PyReadonlyArray1<'_, f64>,
        predictions: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<Vec<bool>> {
        let (labels, said) = (labels.as_array().to_vec(), predictions.as_array().to_vec());
        let auditor = self.lock()?;
        let rows = labels.chunks(1).zip(said.chunks(auditor.width().max(1)));
        Ok(rows.map(|(label, said)| auditor.check(label, said).is_ok()).collect())
    }

    /// Returns the report so far.
    fn report(&self, py: Python<'_>) -> PyResult<AuditSnapshot> {
        Ok(py.detach(|| {
            let report = self.lock()?.report(self.constant);
            report.map_err(|error| PythonError::Runtime(error.to_string()))
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
