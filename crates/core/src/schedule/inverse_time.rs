//! η_t = 1/(σt): the steps for σ-strongly convex losses.

use super::{Schedule, StepFacts};
use crate::number::Positive;
use crate::request::{Asked, Refusal, Request};
use serde::{Deserialize, Serialize};

/// η_t = 1/(σt). For σ-strongly convex losses the curvature pays for the growth of 1/η_t, and the
/// regret is at most (1/2σ) Σ‖g_t‖²/t ≤ (G²/2σ)(1 + ln T).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InverseTime {
    /// σ
    pub sigma: Positive,
}

impl Asked for InverseTime {
    const SETTINGS: &'static [&'static str] = &["sigma"];

    fn ask(request: &Request<'_>) -> Result<Self, Refusal> {
        if request.steps.is_linearised {
            return Err(Refusal::Rule(
                "the schedule inverse-time is for strongly convex losses: use ogd",
            ));
        }
        let missing = Refusal::Rule("{schedule} inverse-time needs {sigma} above 0");
        Ok(Self { sigma: Positive::new(request.sigma.get()).map_err(|_| missing)? })
    }
}

impl Schedule for InverseTime {
    fn reference(&self) -> &'static str {
        "notes, OGD with strongly convex losses: (G²/2σ)(1 + ln T)"
    }

    #[inline]
    fn inverse_step(&self, round: u64, _gradients_sq: f64) -> f64 {
        self.sigma.get() * round as f64
    }

    /// Σ 1/t ≤ 1 + ln T. The form ln(T+1), which some texts give, is below the sum.
    fn energy(&self, run: &StepFacts) -> f64 {
        run.gradient_bound.powi(2) * (1.0 + run.rounds.ln()) / self.sigma.get()
    }

    fn steps(&self) -> String {
        format!("steps 1/(σt), σ = {}", self.sigma)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_harmonic_sum_needs_the_one() {
        let mut harmonic = 0.0;
        for t in 1..=4000 {
            harmonic += 1.0 / f64::from(t);
            let rounds = f64::from(t);
            assert!(harmonic <= 1.0 + rounds.ln() + 1e-12, "1 + ln T fails at {t}");
            assert!(harmonic > (rounds + 1.0).ln(), "ln(T+1) would have held at {t}");
        }
        assert_eq!(format!("{harmonic:.2} {:.2}", 4001_f64.ln()), "8.87 8.29");
    }
}
