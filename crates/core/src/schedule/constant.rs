//! η_t = η: the step of unprojected OGD, which is linearised regularised ERM with α = 1/η.

use super::{Schedule, StepFacts};
use crate::number::Positive;
use serde::{Deserialize, Serialize};

/// The same step in every round. Regret ≤ U²/(2η) + (η/2) Σ‖g_t‖², projected or not.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constant {
    /// η
    pub eta: Positive,
}

impl Schedule for Constant {
    const REFERENCE: &'static str = "notes, (8) with a constant step: U²/(2η) + ηTG²/2";

    #[inline]
    fn inverse_step(&self, _round: u64, _gradients_sq: f64) -> f64 {
        1.0 / self.eta.get()
    }

    fn energy(&self, run: &StepFacts) -> f64 {
        self.eta.get() * run.rounds * run.gradient_bound.powi(2)
    }
}
