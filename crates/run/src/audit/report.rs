//! The report of an audit, under the names that it keeps in JSON.

use super::link::Link;
use super::settings::AuditSpec;
use super::{AuditRun, Model};
use crate::classes::{ClassesReport, TaskLoss};
use crate::contradiction::Contradiction;
use crate::data::DataSpec;
use crate::figures::{FiguresReport, probable};
use crate::hindsight::{HindsightReport, Interval};
use crate::judged::JudgedReport;
use crate::report::{CurveReport, finite, withhold_end};
use crate::windows::WindowReport;
use rueful_core::Comparators;
use rueful_core::ledger::Testimony;
use rueful_core::loss::Loss as _;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// The report of an audit. Its keys are stable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditReport {
    /// The only model, or the model of the first column.
    #[serde(flatten)]
    pub first: ModelReport,
    /// The classes, where labels name many of them.
    #[serde(flatten)]
    pub classes: Option<ClassesReport>,
    /// The number of distinct feature indices that were seen, including the constant feature.
    pub features: u64,
    /// The number of stored feature values, including those of the constant feature.
    pub nonzeros: u64,
    /// One model per column, in the order in which the columns were named; empty without columns.
    pub models: Vec<NamedReport>,
    /// The loss of the best comparator, per round; present if hindsight was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparator: Option<Interval>,
    /// How the comparator was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hindsight: Option<HindsightReport>,
    /// Proofs that contradict each other. The list is empty unless something is wrong with the
    /// program or with the machine. The numbers in question are withheld.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradictions: Vec<Contradiction>,
    /// The comparators.
    pub comparators: Comparators,
    /// Whether witnesses judged the models.
    #[serde(rename = "judge")]
    pub is_judged: bool,
    /// The loss φ.
    pub loss: TaskLoss,
    /// How predictions became scores.
    pub link: Link,
    /// The number of examples in a window; null without windows.
    pub window: Option<NonZeroU64>,
    /// The examples.
    pub data: DataSpec,
    /// The file with the predictions.
    pub predictions: String,
}

impl AuditReport {
    /// Adds the result of the solver: one comparator, and the exact regret of every model against
    /// it. Numbers that contradict another proof are withheld.
    pub fn add_hindsight(&mut self, found: HindsightReport, run: &AuditRun) {
        let regrets: Vec<_> = run.ledgers().map(|ledger| found.regret(ledger)).collect();
        self.add_solved(found, &regrets);
    }

    /// Adds the result of the solver and the exact regret of every model.
    pub(crate) fn add_solved(&mut self, found: HindsightReport, regrets: &[Option<Interval>]) {
        self.contradictions.extend(found.contradiction.clone());
        let models = self.models.iter_mut().map(|model| (Some(&*model.name), &mut model.report));
        let alone = models.len() == 0;
        for ((name, model), regret) in models.zip(regrets) {
            self.contradictions.extend(model.add_regret(*regret, &self.comparators, name));
        }
        if let Some(&regret) = regrets.first() {
            let crossed = self.first.add_regret(regret, &self.comparators, None);
            self.contradictions.extend(crossed.filter(|_| alone));
        }
        self.comparator = found.comparator.filter(|_| self.contradictions.is_empty());
        self.hindsight = Some(found);
    }
}

/// The report on a group of examples, which is judged separately.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupReport {
    /// The value of its examples in the column; empty for examples without a value.
    pub group: String,
    /// The only model, or the model of the first column, on these examples.
    #[serde(flatten)]
    pub first: ModelReport,
    /// One model per column, in the order in which the columns were named; empty without columns.
    pub models: Vec<NamedReport>,
}

/// The report on one model of a table of predictions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedReport {
    /// The name of its column.
    pub name: String,
    /// The report on the model.
    #[serde(flatten)]
    pub report: ModelReport,
}

/// The report on one model. All values are per round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelReport {
    /// T, the number of examples.
    pub examples: u64,
    /// (1/T) Σ φ(ŷ_t, y_t)
    pub sequential_risk: f64,
    /// The share of predictions with the wrong sign; null for regression.
    pub mistake_rate: Option<f64>,
    /// The usual figures on how good the predictions were; left out before the first round.
    #[serde(flatten)]
    pub figures: Option<FiguresReport>,
    /// The certificate: no comparator was better by more than this per round; null if nothing can
    /// be said.
    pub certificate: Option<f64>,
    /// The certificate from the model's own predictions, without witnesses.
    pub certificate_own: Option<f64>,
    /// The certificate at other radii.
    #[serde(flatten)]
    pub judged: JudgedReport,
    /// The exact regret; present if hindsight was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regret: Option<Interval>,
    /// Whether the certificate is negative.
    pub beats_every_linear_predictor: bool,
    /// The reports of the windows; empty without windows.
    pub windows: Vec<WindowReport>,
    /// max ‖a_t x_t‖
    pub gradient_norm_max: f64,
    /// max ‖x_t‖
    pub example_norm_max: f64,
    /// The audit at t = 1, 2, 4, 8, … and at the end.
    pub curve: Vec<CurveReport>,
}

impl ModelReport {
    pub(super) fn new(model: &Model, spec: &AuditSpec, witnesses: &[Testimony]) -> Self {
        let ledger = &model.ledger;
        let verdict = ledger.verdict();
        let point = ledger.point(witnesses);
        let certificate = finite(point.certificate()).filter(|_| verdict.rounds > 0);
        let windows = model.windows.as_ref().map(|windows| windows.reports(ledger));
        Self {
            examples: verdict.rounds,
            sequential_risk: verdict.sequential_risk,
            mistake_rate: verdict.mistake_rate,
            figures: figures(model, spec.link),
            certificate,
            certificate_own: finite(verdict.certificate),
            judged: JudgedReport::new(spec.loss.is_nonnegative(), &spec.comparators, &point),
            regret: None,
            beats_every_linear_predictor: certificate.is_some_and(|value| value < 0.0),
            windows: windows.unwrap_or_default(),
            gradient_norm_max: ledger.gradient_norm_max(),
            example_norm_max: ledger.example_norm_max(),
            curve: ledger.curve_with(witnesses).iter().map(CurveReport::new).collect(),
        }
    }

    /// Adds the exact regret, unless it contradicts the certificate. Then neither is shown.
    fn add_regret(
        &mut self,
        regret: Option<Interval>,
        comparators: &Comparators,
        name: Option<&str>,
    ) -> Option<Contradiction> {
        let certificate = match name {
            Some(name) => format!("the certificate of {name}"),
            None => "the certificate".to_owned(),
        };
        let crossed = regret
            .and_then(|regret| Contradiction::between(regret, &certificate, self.certificate));
        self.regret = regret.filter(|_| crossed.is_none());
        if crossed.is_some() {
            (self.certificate, self.beats_every_linear_predictor) = (None, false);
            (self.certificate_own, self.judged) = (None, JudgedReport::nothing());
            withhold_end(&mut self.curve, self.examples);
        }
        if let Some(regret) = self.regret {
            self.beats_every_linear_predictor |= regret.upper < 0.0;
            self.judged.hear_solved(regret, comparators);
        }
        crossed
    }
}

/// Returns the figures of a model, with a remark if its scores look like probabilities.
fn figures(model: &Model, link: Link) -> Option<FiguresReport> {
    let mut figures = FiguresReport::new(&model.card, model.ledger.rounds())?;
    figures.remarks.extend(probable(&model.card).filter(|_| link == Link::Identity));
    Some(figures)
}
