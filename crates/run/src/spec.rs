//! The full description of a run.
//!
//! Losses, sets and schedules appear here as the structs that implement them. So a parameter has
//! one name and one range check, in code, in JSON and on the command line.

use crate::data::DataSpec;
pub use rueful_core::learner::LearnerSpec;
pub use rueful_core::loss::AnyLoss;
use rueful_core::{Comparators, NonNegative};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Everything that determines a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The data to read, and how to read them.
    pub data: DataSpec,
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

/// The reason why a description cannot be run.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{what}")]
pub struct SpecError {
    /// The contradiction, and what to do about it.
    pub what: String,
}

impl SpecError {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }
}

impl Spec {
    /// Refuses a description that contradicts itself, before the first byte is read.
    pub fn check(&self) -> Result<(), SpecError> {
        self.task().check()?;
        match &self.data.class_weights {
            Some(weights) => weights.check(self.loss.labels(), self.data.positive.is_some()),
            None => Ok(()),
        }
    }
}
