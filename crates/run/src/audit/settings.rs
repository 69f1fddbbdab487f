//! The settings of an audit, and the description that they are completed to.

use super::link::Link;
use crate::bench::Bench;
use crate::data::{DataSpec, LabelUse};
use crate::settings::{Settings, SettingsError};
use crate::spec::AnyLoss;
use rueful_core::classes::ClassLoss;
use rueful_core::figures::Scorecard;
use rueful_core::{Comparators, Judge, Ledger};
use rueful_data::{Phrase, PredictionColumns};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// The name that stands for every column.
const ALL: &str = "all";

/// The settings of a person. Everything may be left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AuditSettings {
    /// A name of [`AnyLoss::NAMES`]; if left out, the rules of [`Settings::loss`] hold.
    pub loss: Option<String>,
    /// τ of the quantile loss.
    pub tau: Option<f64>,
    /// The radius U of the comparators.
    pub radius: Option<f64>,
    /// A name of [`Comparators::BALLS`]; `unit-free` if left out.
    pub comparators: Option<String>,
    /// Whether witnesses judge the models; they do if it is left out.
    pub judge: Option<bool>,
    /// A name of [`Link::NAMES`]; `identity` if left out.
    pub link: Option<String>,
    /// The columns of a table of predictions; empty for a file with one number per line.
    pub columns: Vec<String>,
    /// The number of examples in a window.
    pub window: Option<u64>,
}

/// Everything that determines an audit.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditSpec {
    /// The examples.
    pub data: DataSpec,
    /// The file with the predictions.
    pub predictions: String,
    /// The place of the predictions in this file.
    pub columns: PredictionColumns,
    /// How predictions become the scores that are judged.
    pub link: Link,
    /// The loss φ.
    pub loss: AnyLoss,
    /// The comparators.
    pub comparators: Comparators,
    /// Whether witnesses judge the models.
    pub is_judged: bool,
    /// The number of examples in a window, if there are windows.
    pub window: Option<NonZeroU64>,
}

impl AuditSpec {
    /// Returns the ledger of one model, before its first round.
    pub fn ledger(&self) -> Ledger {
        Ledger::new(self.loss, self.comparators.clone())
    }

    /// Returns the scorecard of one model, before its first round. Its sketches keep up to
    /// `distinct` distinct numbers.
    pub(crate) fn scorecard(&self, distinct: usize) -> Scorecard {
        let card = Scorecard::new(self.loss).with_sketches_of(distinct);
        if self.link == Link::Logistic { card.with_probabilities() } else { card }
    }

    /// Returns the bench that judges the models, before the first round. For the square loss, it
    /// keeps the statistics of up to `features_max` features.
    pub(crate) fn bench(&self, features_max: usize) -> Option<Bench> {
        let Self { loss, comparators, .. } = self;
        let judge = || Judge::new(loss, comparators, false);
        self.is_judged.then(|| Bench::new(loss, comparators, judge(), features_max)).flatten()
    }
}

impl AuditSettings {
    /// Completes the settings, under the same rules as those of a run.
    pub fn resolve(&self, data: DataSpec, predictions: &str) -> Result<AuditSpec, SettingsError> {
        let (columns, window) = (self.columns()?, self.window()?);
        let question = Settings {
            loss: self.loss.clone(),
            tau: self.tau,
            radius: self.radius,
            comparators: self.comparators.clone(),
            ..Settings::default()
        };
        let (loss, _, comparators) = question.comparison()?;
        Ok(AuditSpec {
            data,
            predictions: predictions.to_owned(),
            columns,
            link: self.link()?,
            loss,
            comparators,
            is_judged: self.judge.unwrap_or(true),
            window,
        })
    }

    /// The number of examples in a window, if there are windows.
    pub(crate) fn window(&self) -> Result<Option<NonZeroU64>, SettingsError> {
        match self.window.map(NonZeroU64::new) {
            Some(None) => contradiction(
                Phrase::default().setting("window").and(": at least one example is needed"),
            ),
            window => Ok(window.flatten()),
        }
    }

    /// The loss of many classes that was asked for, if it was.
    pub fn class_loss(&self) -> Option<ClassLoss> {
        self.loss.as_deref().and_then(ClassLoss::named)
    }

    /// Refuses settings that contradict each other, whatever the data.
    pub fn check(&self) -> Result<(), SettingsError> {
        if let Some(loss) = self.class_loss() {
            return self.resolve_classes(loss, DataSpec::libsvm(""), "").map(|_| ());
        }
        self.resolve(DataSpec::libsvm(""), "").map(|_| ())
    }

    /// Returns which labels are accepted: those of the loss, or those from which the loss is
    /// inferred.
    pub fn labels(&self) -> Result<LabelUse, SettingsError> {
        let (loss, tau) = (self.loss.clone(), self.tau);
        Settings { loss, tau, ..Settings::default() }.labels()
    }

    fn link(&self) -> Result<Link, SettingsError> {
        match self.link.as_deref() {
            None | Some("identity") => Ok(Link::Identity),
            Some("logistic") => Ok(Link::Logistic),
            Some(other) => contradiction(format!(
                "there is no link {other:?}; choose one of {}",
                Link::NAMES.join(", ")
            )),
        }
    }

    pub(crate) fn columns(&self) -> Result<PredictionColumns, SettingsError> {
        let twice = |name: &&String| self.columns.iter().filter(|other| other == name).count() > 1;
        if let Some(name) = self.columns.iter().find(twice) {
            let column = Phrase::default().setting("prediction-column");
            return contradiction(column.and(format!(" {name} is given twice")));
        }
        match &self.columns[..] {
            [] => Ok(PredictionColumns::Bare),
            [only] if only == ALL => Ok(PredictionColumns::All),
            names if names.iter().any(|name| name == ALL) => contradiction(
                Phrase::default()
                    .setting("prediction-column")
                    .and(" all takes every column: leave out the other names"),
            ),
            names => Ok(PredictionColumns::Named(names.to_vec())),
        }
    }
}

fn contradiction<T>(what: impl Into<Phrase>) -> Result<T, SettingsError> {
    Err(SettingsError::Contradiction(what.into()))
}
