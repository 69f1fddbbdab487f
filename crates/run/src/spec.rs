//! The full description of a run.
//!
//! Losses, sets and schedules appear here as the structs that implement them, so a parameter has
//! one name and one range check, in code, in JSON and on the command line.

use crate::data::DataSpec;
pub use rueful_core::loss::AnyLoss as LossSpec;
use rueful_core::loss::Labels;
pub(crate) use rueful_core::loss::with_loss;
use rueful_core::schedule::{AdaGradNorm, Constant, Horizon, InverseSqrt, InverseTime};
use rueful_core::set::{AnySet, Ball};
use rueful_core::{NonNegative, Positive};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;
use thiserror::Error;

/// Everything that determines a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// What is read, and how.
    pub data: DataSpec,
    /// The loss φ.
    pub loss: LossSpec,
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

/// One of the step-size schedules.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum ScheduleSpec {
    /// η
    Constant(Constant),
    /// η/√t
    InverseSqrt(InverseSqrt),
    /// 1/(σt)
    InverseTime(InverseTime),
    /// U/(G√T)
    Horizon(Horizon),
    /// D/√(2Σ‖g‖²)
    #[serde(rename = "adagrad-norm")]
    AdaGradNorm(AdaGradNorm),
}

/// One of the learners, with its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LearnerSpec {
    /// Projected online gradient descent.
    Ogd {
        /// Step sizes.
        schedule: ScheduleSpec,
        /// Where the weights are kept.
        set: AnySet,
        /// G, if declared.
        gradient_bound: Option<Positive>,
    },
    /// OGD for σ-strongly convex losses; σ is the spec's.
    StronglyConvexOgd {
        /// G, if declared.
        gradient_bound: Option<Positive>,
    },
    /// The Perceptron.
    Perceptron {
        /// η, which changes no mistake.
        eta: Positive,
    },
    /// Follow the leader on linearised losses.
    Erm {
        /// Where the weights are kept: a ball or a box.
        set: AnySet,
    },
    /// Regularised ERM on linearised losses, α_t = 1/η_t, lazily projected.
    RegularizedErm {
        /// η_t = 1/α_t.
        schedule: ScheduleSpec,
        /// Where the weights are kept.
        set: AnySet,
        /// G, if declared.
        gradient_bound: Option<Positive>,
    },
    /// The minimax strategy for a known horizon.
    Minimax {
        /// The ball the weights are kept in.
        set: Ball,
        /// G
        gradient_bound: Positive,
        /// T
        horizon: NonZeroU64,
    },
}

/// Why a description cannot be run.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{what}")]
pub struct SpecError {
    /// What is contradictory, and what to do about it.
    pub what: String,
}

impl SpecError {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }
}

impl LearnerSpec {
    /// The names of the learners.
    pub const NAMES: [&'static str; 6] =
        ["ogd", "strongly-convex-ogd", "perceptron", "erm", "regularized-erm", "minimax"];

    /// Which of them this is.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ogd { .. } => "ogd",
            Self::StronglyConvexOgd { .. } => "strongly-convex-ogd",
            Self::Perceptron { .. } => "perceptron",
            Self::Erm { .. } => "erm",
            Self::RegularizedErm { .. } => "regularized-erm",
            Self::Minimax { .. } => "minimax",
        }
    }

    /// What keeps its weights finite.
    pub(crate) fn advice(&self) -> &'static str {
        match self {
            Self::StronglyConvexOgd { .. } => "a larger sigma or scaled features keep it finite",
            _ => "smaller steps (eta), a bounded set (radius) or scaled features keep it finite",
        }
    }

    /// Whether it learns from φ + (σ/2)‖w‖² with σ > 0.
    pub fn takes_sigma(&self) -> bool {
        matches!(self, Self::Ogd { .. } | Self::StronglyConvexOgd { .. })
    }
}

impl ScheduleSpec {
    /// The names of the schedules.
    pub const NAMES: [&'static str; 5] =
        ["constant", "inverse-sqrt", "inverse-time", "horizon", "adagrad-norm"];

    /// Which of them this is.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Constant(_) => "constant",
            Self::InverseSqrt(_) => "inverse-sqrt",
            Self::InverseTime(_) => "inverse-time",
            Self::Horizon(_) => "horizon",
            Self::AdaGradNorm(_) => "adagrad-norm",
        }
    }
}

impl Spec {
    /// Refuses what contradicts itself, before the first byte is read.
    pub fn check(&self) -> Result<(), SpecError> {
        let sigma = self.sigma.get();
        if sigma > 0.0 && !self.learner.takes_sigma() {
            return Err(SpecError::new(format!(
                "the learner {} does not take sigma; ogd and strongly-convex-ogd do",
                self.learner.name()
            )));
        }
        if let Some(weights) = &self.data.class_weights {
            weights.check(self.loss.labels(), self.data.positive.is_some())?;
        }
        match &self.learner {
            LearnerSpec::StronglyConvexOgd { .. } if sigma == 0.0 => {
                Err(SpecError::new("strongly-convex-ogd needs a sigma above 0"))
            }
            LearnerSpec::Perceptron { .. } if self.loss.labels() != Labels::Signs => {
                Err(SpecError::new(format!(
                    "the Perceptron classifies: it takes hinge, logistic or perceptron, not {}",
                    self.loss.name()
                )))
            }
            LearnerSpec::Erm { set: AnySet::WholeSpace(_) } => {
                Err(SpecError::new("erm needs a bounded set, a ball or a box: it has no minimum"))
            }
            LearnerSpec::Ogd { schedule: ScheduleSpec::Constant(step), .. }
                if step.eta.get() * sigma >= 1.0 =>
            {
                Err(SpecError::new(format!(
                    "a constant step of {} with sigma {sigma} overshoots in every round: choose \
                     eta below 1/sigma = {}",
                    step.eta,
                    1.0 / sigma
                )))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tag under which serde writes a value.
    fn tag(value: impl Serialize) -> String {
        serde_json::to_value(value).unwrap()["name"].as_str().unwrap().to_owned()
    }

    #[test]
    fn names_are_the_tags() {
        let half = Positive::new(0.5).unwrap();
        for schedule in [
            ScheduleSpec::Constant(Constant { eta: half }),
            ScheduleSpec::AdaGradNorm(AdaGradNorm { diameter: half }),
            ScheduleSpec::InverseTime(InverseTime { sigma: half }),
        ] {
            assert_eq!(tag(schedule), schedule.name());
        }
    }
}
