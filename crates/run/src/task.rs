//! The description of a learning problem and its learner, without files.

use crate::bench::{Bench, SQUARE_FEATURES};
use crate::classes::TaskLoss;
use crate::data::DataSpec;
use crate::run::RunError;
use crate::spec::{LearnerSpec, Spec, SpecError};
use rueful_core::figures::Scorecard;
use rueful_core::loss::{AnyLoss, Labels};
use rueful_core::{Comparators, Judge, Ledger, NonNegative, Objective, RiskBound};
use serde::{Deserialize, Serialize};

/// Everything about a run except where its rows come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The loss φ.
    pub loss: AnyLoss,
    /// The strength σ of the penalty: each loss is φ + (σ/2)‖w‖².
    #[serde(default = "no_sigma")]
    pub sigma: NonNegative,
    /// The learner and its parameters.
    pub learner: LearnerSpec,
    /// The predictors that the regret is measured against.
    pub comparators: Comparators,
    /// Whether witnesses judge the regret. If it is left out, the learner decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<bool>,
}

fn no_sigma() -> NonNegative {
    NonNegative::ZERO
}

impl Task {
    /// The empty ledger of such a run, before its first round.
    pub fn ledger(&self) -> Ledger {
        Ledger::regularized(self.loss, self.sigma, self.comparators.clone())
    }

    /// Refuses labels that come late if weights are charged as well as predictions.
    pub fn check_late(&self) -> Result<(), RunError> {
        match self.sigma.get() > 0.0 {
            true => Err(RunError::LatePenalty),
            false => Ok(()),
        }
    }

    /// Whether witnesses judge the regret: if `judge` says so, or if it is left out and the learner
    /// has witnesses of its own. Never if σ > 0.
    pub fn is_judged(&self) -> bool {
        self.sigma.get() == 0.0 && self.judge.unwrap_or(self.learner.has_witnesses())
    }

    /// The bench that judges such a run, before its first round. `None` where no judging is asked
    /// for, or where the learner's own witnesses say all that could be said.
    pub(crate) fn bench(&self) -> Option<Bench> {
        self.bench_beside(self.learner.has_witnesses() && self.comparators.is_unit_free())
    }

    /// The bench that judges a part of the rounds, whichever learner plays them. `None` where no
    /// judging is asked for.
    pub fn bench_alone(&self) -> Option<Bench> {
        self.bench_beside(false)
    }

    /// The bench, without the usual witnesses if there are some already.
    fn bench_beside(&self, has_usual: bool) -> Option<Bench> {
        let Self { loss, comparators, .. } = self;
        let judge = || Judge::new(loss, comparators, has_usual);
        let bench = || Bench::new(loss, comparators, judge(), SQUARE_FEATURES);
        self.is_judged().then(bench).flatten()
    }

    /// The counter of mistakes of such a run, before its first round. `None` where there are no
    /// classes.
    pub(crate) fn mistakes(&self) -> Option<RiskBound> {
        (self.loss.labels() == Labels::Signs).then(|| RiskBound::new(1.0))
    }

    /// The figures of such a run, before its first round. Sketches cost more than some learners do,
    /// so they are kept only where witnesses judge.
    pub(crate) fn scorecard(&self) -> Scorecard {
        let card = Scorecard::new(self.loss);
        if self.is_judged() { card.with_sketches() } else { card }
    }

    /// The objective φ + (σ/2)‖w‖² that is learned from.
    pub(crate) fn objective(&self) -> Objective<AnyLoss> {
        Objective { loss: self.loss, sigma: self.sigma }
    }

    /// Refuses a task that contradicts itself.
    pub fn check(&self) -> Result<(), SpecError> {
        self.learner.check(&self.objective()).map_err(SpecError::new)
    }

    /// The description of this task on some data.
    pub fn reading(self, data: DataSpec) -> Spec {
        let Self { loss, sigma, learner, comparators, judge } = self;
        Spec { data, loss, sigma, learner, comparators, judge }
    }
}

/// A task as reports show it, with the data if they are files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    /// The data that were read, and how they were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<DataSpec>,
    /// The loss φ.
    pub loss: TaskLoss,
    /// The strength σ of the penalty: each loss is φ + (σ/2)‖w‖².
    #[serde(default = "no_sigma")]
    pub sigma: NonNegative,
    /// The learner and its parameters.
    pub learner: LearnerSpec,
    /// The predictors that the regret is measured against.
    pub comparators: Comparators,
    /// Whether witnesses judge the regret. If it is left out, the learner decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<bool>,
}

impl From<&Task> for Described {
    fn from(task: &Task) -> Self {
        let Task { loss, sigma, learner, comparators, judge } = task.clone();
        Self { data: None, loss: loss.into(), sigma, learner, comparators, judge }
    }
}

impl Spec {
    /// The description without the data.
    pub fn task(&self) -> Task {
        let Self { loss, sigma, learner, comparators, judge, .. } = self.clone();
        Task { loss, sigma, learner, comparators, judge }
    }
}
