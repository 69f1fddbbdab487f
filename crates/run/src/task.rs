//! What is to be learned, and how: a description without files.

use crate::data::DataSpec;
use crate::spec::{LearnerSpec, Spec, SpecError};
use rueful_core::loss::AnyLoss;
use rueful_core::set::AnySet;
use rueful_core::{Ledger, NonNegative, Objective};
use serde::{Deserialize, Serialize};

/// Everything about a run but where its rows come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The loss φ.
    pub loss: AnyLoss,
    /// σ: each loss is φ + (σ/2)‖w‖².
    #[serde(default = "no_sigma")]
    pub sigma: NonNegative,
    /// The learner and its parameters.
    pub learner: LearnerSpec,
    /// The predictors the regret is measured against.
    pub comparators: AnySet,
}

fn no_sigma() -> NonNegative {
    NonNegative::ZERO
}

impl Task {
    /// The books of such a run, before its first round.
    pub fn ledger(&self) -> Ledger {
        Ledger::regularized(self.loss, self.sigma, self.comparators.clone())
    }

    /// What is learned from: φ + (σ/2)‖w‖².
    pub(crate) fn objective(&self) -> Objective<AnyLoss> {
        Objective { loss: self.loss, sigma: self.sigma }
    }

    /// Refuses what contradicts itself.
    pub fn check(&self) -> Result<(), SpecError> {
        self.learner.check(&self.objective()).map_err(SpecError::new)
    }

    /// The same task, and the data to learn it from.
    pub fn reading(self, data: DataSpec) -> Spec {
        let Self { loss, sigma, learner, comparators } = self;
        Spec { data, loss, sigma, learner, comparators }
    }
}

/// A task as reports show it: with the data, where these are files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    /// What was read, and how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<DataSpec>,
    /// The loss φ.
    pub loss: AnyLoss,
    /// σ: each loss is φ + (σ/2)‖w‖².
    #[serde(default = "no_sigma")]
    pub sigma: NonNegative,
    /// The learner and its parameters.
    pub learner: LearnerSpec,
    /// The predictors the regret is measured against.
    pub comparators: AnySet,
}

impl From<&Task> for Described {
    fn from(task: &Task) -> Self {
        let Task { loss, sigma, learner, comparators } = task.clone();
        Self { data: None, loss, sigma, learner, comparators }
    }
}

impl Spec {
    /// All of it but the data.
    pub fn task(&self) -> Task {
        let Self { loss, sigma, learner, comparators, .. } = self.clone();
        Task { loss, sigma, learner, comparators }
    }
}
