//! η_t = η/√t: the steps of projected OGD in the notes.

use super::{Schedule, StepFacts};
use crate::number::Positive;
use serde::{Deserialize, Serialize};

/// η_t = η/√t. On a ball of radius U with η = √2·U/G the regret is at most UG√(8T), (9).
///
/// ```
/// use rueful_core::{Positive, schedule::{InverseSqrt, Schedule}};
/// let steps = InverseSqrt { eta: Positive::new(0.5)? };
/// assert_eq!(steps.inverse_step(16, 0.0), 8.0);
/// # Ok::<(), rueful_core::OutOfRange>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InverseSqrt {
    /// η
    pub eta: Positive,
}

impl Schedule for InverseSqrt {
    const REFERENCE: &'static str =
        "notes, (9) for any η: 2U²√T/η + G²η√T, which is UG√(8T) for η = √2·U/G";

    #[inline]
    fn inverse_step(&self, round: u64, _gradients_sq: f64) -> f64 {
        (round as f64).sqrt() / self.eta.get()
    }

    /// Σ 1/√t ≤ 2√T
    fn energy(&self, run: &StepFacts) -> f64 {
        2.0 * self.eta.get() * run.rounds.sqrt() * run.gradient_bound.powi(2)
    }
}
