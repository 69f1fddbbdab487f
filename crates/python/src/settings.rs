//! The settings that Python passes as arguments.

use crate::error::Outcome;
use pyo3::prelude::*;
use rueful_data::{Bits, FormatSettings};
use rueful_run::{AuditSettings, ClassWeights, DataSettings, Settings};

/// The settings of a learner, under the names of the arguments.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Asked {
    learner: Option<String>,
    loss: Option<String>,
    tau: Option<f64>,
    radius: Option<f64>,
    comparators: Option<String>,
    judge: Option<bool>,
    eta: Option<f64>,
    gradient_bound: Option<f64>,
    sigma: Option<f64>,
    alpha: Option<f64>,
    l1: Option<f64>,
    c: Option<f64>,
    schedule: Option<String>,
    horizon: Option<u64>,
}

impl From<Asked> for Settings {
    fn from(asked: Asked) -> Self {
        Self {
            learner: asked.learner,
            loss: asked.loss,
            tau: asked.tau,
            radius: asked.radius,
            comparators: asked.comparators,
            judge: asked.judge,
            eta: asked.eta,
            gradient_bound: asked.gradient_bound,
            sigma: asked.sigma,
            alpha: asked.alpha,
            l1: asked.l1,
            c: asked.c,
            schedule: asked.schedule,
            horizon: asked.horizon,
        }
    }
}

/// The settings that decide the roles of columns.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct AskedColumns {
    drop: Vec<String>,
    categorical: Vec<String>,
    numeric: Vec<String>,
    text: Vec<String>,
    bits: Option<u8>,
}

impl AskedColumns {
    /// Returns the number of bits of the index of a feature with a name, if it was asked for.
    pub(crate) fn asked_bits(&self) -> Option<u8> {
        self.bits
    }

    /// Returns the settings of a format whose labels have this name.
    pub(crate) fn format_settings(self, label: &str) -> Outcome<FormatSettings> {
        Ok(FormatSettings {
            label: Some(label.to_owned()),
            drop: self.drop,
            categorical: self.categorical,
            numeric: self.numeric,
            text: self.text,
            bits: bits(self.bits)?,
            ..FormatSettings::default()
        })
    }
}

/// Returns the number of bits of the index of a feature with a name.
pub(crate) fn bits(asked: Option<u8>) -> Outcome<Bits> {
    let out_of_range = |why| crate::error::PythonError::value(format!("bits: {why}"));
    asked.map_or(Ok(Bits::default()), |bits| Bits::try_from(bits).map_err(out_of_range))
}

/// The settings of reading files.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct AskedFiles {
    files: Vec<String>,
    format: Option<String>,
    label: Option<String>,
    importance: Option<String>,
    header: Option<bool>,
    drop: Vec<String>,
    categorical: Vec<String>,
    numeric: Vec<String>,
    text: Vec<String>,
    bits: Option<u8>,
    positive: Option<String>,
    no_constant: bool,
    positive_weight: Option<f64>,
    negative_weight: Option<f64>,
}

impl AskedFiles {
    /// Returns the settings as the program has them.
    pub(crate) fn settings(self) -> Outcome<DataSettings> {
        Ok(DataSettings {
            class_weights: ClassWeights::asked(self.positive_weight, self.negative_weight)?,
            passes: None,
            pending: None,
            format_settings: FormatSettings {
                format: self.format,
                label: self.label,
                importance: self.importance,
                header: self.header,
                drop: self.drop,
                categorical: self.categorical,
                numeric: self.numeric,
                text: self.text,
                bits: bits(self.bits)?,
                ..FormatSettings::default()
            },
            files: self.files,
            schema: None,
            positive: self.positive,
            no_constant: self.no_constant,
        })
    }
}

/// The settings of an audit.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct AskedAudit {
    loss: Option<String>,
    tau: Option<f64>,
    radius: Option<f64>,
    comparators: Option<String>,
    judge: Option<bool>,
    link: Option<String>,
    window: Option<u64>,
}

impl From<AskedAudit> for AuditSettings {
    fn from(asked: AskedAudit) -> Self {
        Self {
            loss: asked.loss,
            tau: asked.tau,
            radius: asked.radius,
            comparators: asked.comparators,
            judge: asked.judge,
            link: asked.link,
            columns: Vec::new(),
            window: asked.window,
        }
    }
}
