//! What an audit can say, under the names it keeps in JSON.

use super::link::Link;
use super::settings::AuditSpec;
use super::{AuditRun, Model};
use crate::contradiction::Contradiction;
use crate::data::DataSpec;
use crate::figures::{FiguresReport, probable};
use crate::hindsight::{HindsightReport, Interval};
use crate::judged::JudgedReport;
use crate::report::{CurveReport, finite};
use crate::spec::AnyLoss;
use crate::windows::WindowReport;
use rueful_core::Comparators;
use rueful_core::ledger::Testimony;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// The report of an audit. Its keys are stable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditReport {
    /// The only model, or that of the first column.
    #[serde(flatten)]
    pub first: ModelReport,
    /// Distinct feature indices seen, the constant one included.
    pub features: u64,
    /// Stored feature values, the constant ones included.
    pub nonzeros: u64,
    /// One model per column, in the order they were named; empty without columns.
    pub models: Vec<NamedReport>,
    /// The loss of the best comparator, per round; there when hindsight was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparator: Option<Interval>,
    /// How the comparator was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hindsight: Option<HindsightReport>,
    /// Proofs that contradict each other; empty unless something is wrong with the program or with
    /// the machine. What they are about is withheld.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradictions: Vec<Contradiction>,
    /// The comparators.
    pub comparators: Comparators,
    /// Whether witnesses judged.
    #[serde(rename = "judge")]
    pub is_judged: bool,
    /// The loss φ.
    pub loss: AnyLoss,
    /// What the predictions were turned into.
    pub link: Link,
    /// How many examples make a window; null without windows.
    pub window: Option<NonZeroU64>,
    /// The examples.
    pub data: DataSpec,
    /// The file with the predictions.
    pub predictions: String,
}

impl AuditReport {
    /// Adds what the solver found: one comparator, and the exact regret of every model against it.
    /// What contradicts another proof is withheld.
    pub fn add_hindsight(&mut self, found: HindsightReport, run: &AuditRun) {
        self.contradictions.extend(found.contradiction.clone());
        let regrets: Vec<_> = run.ledgers().map(|ledger| found.regret(ledger)).collect();
        let models = self.models.iter_mut().map(|model| (Some(&*model.name), &mut model.report));
        let alone = models.len() == 0;
        for ((name, model), regret) in models.zip(&regrets) {
            self.contradictions.extend(model.add_regret(*regret, name));
        }
        if let Some(&regret) = regrets.first() {
            let crossed = self.first.add_regret(regret, None);
            self.contradictions.extend(crossed.filter(|_| alone));
        }
        self.comparator = found.comparator.filter(|_| self.contradictions.is_empty());
        self.hindsight = Some(found);
    }
}

/// A group of examples, judged for itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupReport {
    /// The value that its examples have in the column; empty for those without one.
    pub group: String,
    /// The only model, or that of the first column, on these examples.
    #[serde(flatten)]
    pub first: ModelReport,
    /// One model per column, in the order they were named; empty without columns.
    pub models: Vec<NamedReport>,
}

/// A model of a table of predictions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedReport {
    /// Its column.
    pub name: String,
    /// What is known of it.
    #[serde(flatten)]
    pub report: ModelReport,
}

/// What is known of one model, per round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelReport {
    /// T
    pub examples: u64,
    /// (1/T) Σ φ(ŷ_t, y_t)
    pub sequential_risk: f64,
    /// The share of predictions with the wrong sign; null for regression.
    pub mistake_rate: Option<f64>,
    /// How good the predictions were in figures that people ask for; left out before the first round.
    #[serde(flatten)]
    pub figures: Option<FiguresReport>,
    /// No comparator was better than this per round; null where nothing can be said.
    pub certificate: Option<f64>,
    /// The certificate that the model's own predictions make, without witnesses.
    pub certificate_own: Option<f64>,
    /// The certificate at other radii.
    #[serde(flatten)]
    pub judged: JudgedReport,
    /// The exact regret; there when hindsight was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regret: Option<Interval>,
    /// Whether the certificate is negative.
    pub beats_every_linear_predictor: bool,
    /// The same for every window; empty without windows.
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
            judged: JudgedReport::new(&spec.loss, &spec.comparators, &point),
            regret: None,
            beats_every_linear_predictor: certificate.is_some_and(|value| value < 0.0),
            windows: windows.unwrap_or_default(),
            gradient_norm_max: ledger.gradient_norm_max(),
            example_norm_max: ledger.example_norm_max(),
            curve: ledger.curve_with(witnesses).iter().map(CurveReport::new).collect(),
        }
    }

    /// Adds the exact regret, unless it contradicts the certificate: then neither is shown.
    fn add_regret(
        &mut self,
        regret: Option<Interval>,
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
        }
        crossed
    }
}

/// The figures of a model, with a word on scores that look like probabilities.
fn figures(model: &Model, link: Link) -> Option<FiguresReport> {
    let mut figures = FiguresReport::new(&model.card, model.ledger.rounds())?;
    figures.remarks.extend(probable(&model.card).filter(|_| link == Link::Identity));
    Some(figures)
}
