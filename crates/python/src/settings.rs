//! The settings that Python passes as arguments.

use crate::error::{Outcome, PythonError};
use pyo3::prelude::*;
use rueful_data::{Bits, CurveSettings, ExpansionSettings, FormatSettings, TermScale, name_of};
use rueful_run::{
    AuditSettings, ClassWeights, DataSettings, Layout, Passes, PassesSettings, Settings,
};
use std::ffi::OsString;
use std::num::NonZeroUsize;

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

/// The settings of features that are made from others.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct AskedExpansion {
    cross: Vec<String>,
    interactions: Vec<String>,
    bins: Vec<String>,
    spline: Vec<String>,
    periodic: Vec<String>,
    ngram: Vec<String>,
    skips: Vec<String>,
    tf: Option<String>,
    ignore_namespace: Vec<String>,
    keep_namespace: Vec<String>,
    lowercase: bool,
    no_missing: bool,
}

impl AskedExpansion {
    /// Returns the settings as the program has them.
    fn settings(self) -> Outcome<ExpansionSettings> {
        let tf = match self.tf.as_deref() {
            None => TermScale::default(),
            Some(name) => TermScale::by_name(name).ok_or_else(|| {
                let known = TermScale::NAMES.join(", ");
                PythonError::value(format!("tf: found {name:?}, expected one of {known}"))
            })?,
        };
        Ok(ExpansionSettings {
            no_missing: self.no_missing,
            crosses: self.cross,
            interactions: self.interactions,
            ngram: self.ngram,
            skips: self.skips,
            ignore_namespaces: self.ignore_namespace.concat(),
            keep_namespaces: self.keep_namespace.concat(),
            lowercase: self.lowercase,
            curves: CurveSettings {
                bins: self.bins,
                splines: self.spline,
                periodic: self.periodic,
            },
            tf,
        })
    }
}

/// The settings that decide what becomes of columns.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct AskedColumns {
    drop: Vec<String>,
    categorical: Vec<String>,
    numeric: Vec<String>,
    text: Vec<String>,
    bits: Option<u8>,
    expansion: AskedExpansion,
}

impl AskedColumns {
    /// Returns the settings of a format whose labels have this name.
    pub(crate) fn format_settings(self, label: &str) -> Outcome<FormatSettings> {
        Ok(FormatSettings {
            label: Some(label.to_owned()),
            drop: self.drop,
            categorical: self.categorical,
            numeric: self.numeric,
            text: self.text,
            bits: bits(self.bits)?,
            expansion: self.expansion.settings()?,
            ..FormatSettings::default()
        })
    }

    /// Refuses settings of columns by name for a table without such columns, which may have gaps.
    pub(crate) fn refuse_names(&self, table: &str, has_gaps: bool) -> Outcome<()> {
        let AskedExpansion { cross, bins, spline, periodic, ngram, skips, .. } = &self.expansion;
        let lists = [
            ("drop", &self.drop),
            ("categorical", &self.categorical),
            ("numeric", &self.numeric),
            ("text", &self.text),
            ("cross", cross),
            ("bins", bins),
            ("spline", spline),
            ("periodic", periodic),
            ("ngram", ngram),
            ("skips", skips),
        ];
        let list = lists.into_iter().find(|(_, given)| !given.is_empty()).map(|(name, _)| name);
        let tf = self.expansion.tf.as_ref().map(|_| "tf");
        let no_missing = (self.expansion.no_missing && !has_gaps).then_some("no_missing");
        match list.or(tf).or(no_missing) {
            None => Ok(()),
            Some(setting) => Err(PythonError::value(format!(
                "{setting} has no effect on {table}: it is for frames, whose columns have names"
            ))),
        }
    }
}

/// Returns the number of bits of the index of a feature with a name.
fn bits(asked: Option<u8>) -> Outcome<Bits> {
    let out_of_range = |why| PythonError::value(format!("bits: {why}"));
    asked.map_or(Ok(Bits::default()), |bits| Bits::try_from(bits).map_err(out_of_range))
}

/// The settings of several passes.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct AskedPasses {
    passes: Option<u32>,
    holdout: Option<u64>,
    holdout_by: Option<String>,
    patience: Option<u32>,
}

impl AskedPasses {
    /// Returns the passes. It is `None` for one pass over all rows.
    pub(crate) fn passes(self) -> Outcome<Option<Passes>> {
        let Self { passes, holdout, holdout_by, patience } = self;
        Ok(PassesSettings { passes, holdout, holdout_by, patience }.passes()?)
    }
}

/// Returns the names of files as text, whatever bytes they have.
pub(crate) fn names_of(files: &[OsString]) -> Vec<String> {
    files.iter().map(|file| name_of(file)).collect()
}

/// The settings of reading files.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct AskedFiles {
    files: Vec<OsString>,
    format: Option<String>,
    label: Option<String>,
    importance: Option<String>,
    id: Option<String>,
    pending: Option<usize>,
    header: Option<bool>,
    drop: Vec<String>,
    categorical: Vec<String>,
    numeric: Vec<String>,
    text: Vec<String>,
    bits: Option<u8>,
    expansion: AskedExpansion,
    passes: AskedPasses,
    positive: Option<String>,
    no_constant: bool,
    positive_weight: Option<f64>,
    negative_weight: Option<f64>,
    class_weight: Vec<String>,
    schema: Option<String>,
}

impl AskedFiles {
    /// Returns the settings as the program has them.
    pub(crate) fn settings(self) -> Outcome<DataSettings> {
        let of_two = ClassWeights::asked(self.positive_weight, self.negative_weight)?;
        let of_labels = ClassWeights::of_labels(&self.class_weight)?;
        if of_two.is_some() && of_labels.is_some() {
            return Err(PythonError::value(
                "class_weight names the weights of all classes: leave out positive_weight and \
                 negative_weight",
            ));
        }
        if self.pending.is_some() && self.id.is_none() {
            return Err(PythonError::value("pending has no effect without id"));
        }
        let none = || PythonError::value("pending: at least 1");
        let pending = self.pending.map(|most| NonZeroUsize::new(most).ok_or_else(none));
        let schema = self.schema.as_deref().map(serde_json::from_str::<Layout>).transpose();
        let schema = schema.map_err(|why| PythonError::value(format!("schema: {why}")))?;
        Ok(DataSettings {
            class_weights: of_two.or(of_labels),
            passes: self.passes.passes()?,
            pending: pending.transpose()?,
            format_settings: FormatSettings {
                format: self.format,
                label: self.label,
                importance: self.importance,
                id: self.id,
                header: self.header,
                drop: self.drop,
                categorical: self.categorical,
                numeric: self.numeric,
                text: self.text,
                bits: bits(self.bits)?,
                expansion: self.expansion.settings()?,
                ..FormatSettings::default()
            },
            files: names_of(&self.files),
            schema,
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
