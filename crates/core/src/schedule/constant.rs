//! η_t = η: the step of unprojected OGD, which is linearised regularised ERM with α = 1/η.

use super::{Schedule, StepFacts};
use crate::number::{NonNegative, Positive};
use crate::request::{Asked, Refusal, Request};
use crate::words::short;
use serde::{Deserialize, Serialize};

/// The same step in every round. Regret ≤ U²/(2η) + (η/2) Σ‖g_t‖², with or without projection.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constant {
    /// η
    pub eta: Positive,
}

impl Asked for Constant {
    const SETTINGS: &'static [&'static str] = &["eta"];

    fn ask(request: &Request<'_>) -> Result<Self, Refusal> {
        let eta = request.eta.ok_or(Refusal::Rule("{schedule} constant needs {eta}"))?;
        Ok(Self { eta })
    }
}

impl Schedule for Constant {
    fn reference(&self) -> &'static str {
        "notes, (8) with a constant step: U²/(2η) + ηTG²/2"
    }

    #[inline]
    fn inverse_step(&self, _round: u64, _gradients_sq: f64) -> f64 {
        1.0 / self.eta.get()
    }

    fn energy(&self, run: &StepFacts) -> f64 {
        self.eta.get() * run.rounds * run.gradient_bound.powi(2)
    }

    /// Refuses a step that jumps over the minimum of the regulariser: it would do so in every
    /// round.
    fn check(&self, sigma: NonNegative) -> Result<(), String> {
        if self.eta.get() * sigma.get() < 1.0 {
            return Ok(());
        }
        Err(format!(
            "a constant step of {} with sigma {sigma} overshoots in every round: choose eta below \
             1/sigma = {}",
            self.eta,
            1.0 / sigma.get()
        ))
    }

    fn steps(&self) -> String {
        format!("constant steps η = {}", self.eta)
    }

    fn alphas(&self) -> String {
        format!("α = {}", short(1.0 / self.eta.get()))
    }
}
