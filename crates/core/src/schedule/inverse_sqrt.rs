//! η_t = η/√t: the steps of projected OGD in the notes.

use super::{Schedule, StepFacts};
use crate::number::Positive;
use crate::request::{Asked, Refusal, Request};
use crate::words::short;
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

/// η is the one that was set, or it is tuned to U and G.
impl Asked for InverseSqrt {
    const SETTINGS: &'static [&'static str] = &["eta", "gradient-bound"];

    fn ask(request: &Request<'_>) -> Result<Self, Refusal> {
        let tuned = |g: Positive| request.steps.tuning * request.ball.radius.get() / g.get();
        let eta = match (request.eta, request.gradient_bound) {
            (Some(eta), _) => eta,
            (None, Some(g)) => Refusal::derived("gradient-bound", tuned(g))?,
            (None, None) => {
                return Err(Refusal::Rule(
                    "{schedule} inverse-sqrt needs {eta}, or {gradient-bound} to tune it",
                ));
            }
        };
        Ok(Self { eta })
    }
}

impl Schedule for InverseSqrt {
    fn reference(&self) -> &'static str {
        "notes, (9) for any η: 2U²√T/η + G²η√T, which is UG√(8T) for η = √2·U/G"
    }

    #[inline]
    fn inverse_step(&self, round: u64, _gradients_sq: f64) -> f64 {
        (round as f64).sqrt() / self.eta.get()
    }

    /// Σ 1/√t ≤ 2√T
    fn energy(&self, run: &StepFacts) -> f64 {
        2.0 * self.eta.get() * run.rounds.sqrt() * run.gradient_bound.powi(2)
    }

    fn steps(&self) -> String {
        format!("steps η/√t, η = {}", short(self.eta.get()))
    }

    fn alphas(&self) -> String {
        format!("α = {}·√t", short(1.0 / self.eta.get()))
    }
}
