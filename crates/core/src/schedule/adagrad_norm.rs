//! AdaGrad-norm: steps that tune themselves to the gradients seen. They need no G, no η and no
//! horizon.

use super::{Schedule, StepFacts};
use crate::number::Positive;
use crate::request::{Asked, Refusal, Request};
use serde::{Deserialize, Serialize};

/// η_t = D/√(2 Σ_{s≤t}‖g_s‖²) on a set of diameter D. Regret ≤ D√(2 Σ‖g_t‖²), and scaling all
/// losses by a constant changes no prediction. This is the default schedule if neither η nor G is
/// set.
///
/// ```
/// use rueful_core::{Positive, schedule::{AdaGradNorm, Schedule}};
/// let steps = AdaGradNorm { diameter: Positive::new(2.0)? };
/// assert_eq!(steps.inverse_step(7, 8.0), 2.0);
/// assert_eq!(steps.inverse_step(7, 0.0), 0.0); // no gradient yet: no step
/// # Ok::<(), rueful_core::OutOfRange>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdaGradNorm {
    /// D
    pub diameter: Positive,
}

impl AdaGradNorm {
    /// D/√2, the numerator over √Σ‖g‖².
    fn reach(&self) -> f64 {
        self.diameter.get() * std::f64::consts::FRAC_1_SQRT_2
    }
}

impl Asked for AdaGradNorm {
    fn ask(request: &Request<'_>) -> Result<Self, Refusal> {
        Ok(Self { diameter: Refusal::derived("radius", 2.0 * request.ball.radius.get())? })
    }
}

impl Schedule for AdaGradNorm {
    fn reference(&self) -> &'static str {
        "notes, (8) with AdaGrad-norm steps: D√(2Σ‖g_t‖²)"
    }

    #[inline]
    fn inverse_step(&self, _round: u64, gradients_sq: f64) -> f64 {
        // 1/D can be computed before the gradient is known; a quotient would have to wait for it.
        (2.0 * gradients_sq).sqrt() * (1.0 / self.diameter.get())
    }

    /// Σ_t b_t/√(b_1 + … + b_t) ≤ 2√(Σ b_t)
    fn energy(&self, run: &StepFacts) -> f64 {
        2.0 * self.reach() * run.gradients_sq.sqrt()
    }

    /// Let B be the sum of squares before round t. While ‖g_t‖² ≤ 4B, a step of c/√B is at most √5
    /// times c/√(B + ‖g_t‖²), which gives c√5·√Σ‖g_t‖². Every other round more than doubles the
    /// largest gradient norm, so the ‖g_t‖ of those rounds add up to less than 2G.
    fn lagged_energy(&self, run: &StepFacts) -> f64 {
        self.reach() * 5_f64.sqrt() * run.gradients_sq.sqrt()
            + 2.0 * run.diameter * run.gradient_bound
    }

    fn steps(&self) -> String {
        "AdaGrad-norm steps".to_owned()
    }

    fn alphas(&self) -> String {
        "α grows with the gradients".to_owned()
    }
}
