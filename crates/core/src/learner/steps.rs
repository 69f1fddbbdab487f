//! The facts about its own steps that a learner keeps for the bounds of its theorem.

use crate::bound::{Bound, NoBound};
use crate::number::Positive;
use crate::schedule::{Schedule, StepFacts};
use crate::sum::Sum;
use serde::{Deserialize, Serialize};

/// A declared gradient bound counts as met up to this relative excess: values have single
/// precision, so a norm is known to about 6e-8. Within it the larger of the two numbers goes into
/// the theorem.
const GRADIENT_GRAIN: f64 = 1e-6;

/// The run's own step sizes and gradients, summed up as the bounds need them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Steps {
    rounds: u64,
    gradients_sq: Sum,
    gradient_sq_max: f64,
    /// Σ η_t‖g_t‖²
    energy: Sum,
    /// 1/η_t of the first step that was taken, and below of the last one. They are 0 before the
    /// first step.
    first_inverse: f64,
    last_inverse: f64,
    /// Σ [1/η_t − 1/η_s − σ]₊ over the steps that were taken, where s is the step before t.
    growth: f64,
    /// Whether the cost of some round has no bound.
    unbounded: bool,
}

impl Steps {
    /// Takes the gradient of round t into account and returns η_t, or 0 for "no step".
    ///
    /// If the losses have curvature σ, no step is longer than 1/σ: a longer one would go beyond the
    /// minimum of its own regulariser. The limited 1/η_t, which is max(1/η_t, σ), never decreases
    /// either, and shorter steps only lessen Σ η_t‖g_t‖². So everything that is proved about the
    /// schedule still holds.
    #[inline(always)] // It is called in the loop over rows.
    pub fn take(&mut self, schedule: &impl Schedule, gradient_sq: f64, sigma: f64) -> f64 {
        let gradients_sq = self.gradients_sq.value() + gradient_sq;
        self.observe(gradient_sq);
        let inverse = schedule.inverse_step(self.rounds, gradients_sq);
        if inverse == 0.0 {
            return 0.0;
        }
        let inverse = inverse.max(sigma);
        self.lengthen(inverse, sigma);
        let eta = 1.0 / inverse;
        self.energy.add(eta * gradient_sq);
        eta
    }

    /// Whether these numbers, which may be read from anywhere, can be sums of squares and of steps.
    pub(crate) fn are_sound(&self) -> bool {
        let sums = [self.gradients_sq.value(), self.gradient_sq_max, self.energy.value()];
        let steps = [self.first_inverse, self.last_inverse, self.growth];
        sums.iter().chain(&steps).all(|value| (0.0..=f64::MAX).contains(value))
    }

    /// Counts a round in which g_t = 0, so that there is no step.
    ///
    /// The proof of (8) can leave this round out. 0 is a subgradient of ℓ_t at w_t, so
    /// ℓ_t(w_t) ≤ ℓ_t(u) for every u. And w_{t+1} = w_t, so the distances to u telescope as if the
    /// rounds before and after were neighbours. The result is (8) over the steps that were taken.
    #[inline]
    pub(crate) fn rest(&mut self) {
        self.rounds += 1;
    }

    /// Takes into account a gradient that met the regulariser 1/η_t = `inverse` and that cost at
    /// most `cap`: adds min(½η_t‖g_t‖², cap) to half the energy.
    #[inline]
    pub(crate) fn take_lagged(&mut self, inverse: f64, gradient_sq: f64, cap: f64) {
        self.observe(gradient_sq);
        self.last_inverse = inverse;
        if gradient_sq > 0.0 {
            let cost = (gradient_sq / inverse).min(2.0 * cap);
            if cost.is_finite() {
                self.energy.add(cost);
            } else {
                self.unbounded = true;
            }
        }
    }

    /// Counts a round and its gradient.
    #[inline(always)] // It is called in the loop over rows.
    pub(crate) fn observe(&mut self, gradient_sq: f64) {
        self.rounds += 1;
        self.gradients_sq.add(gradient_sq);
        self.gradient_sq_max = self.gradient_sq_max.max(gradient_sq);
    }

    #[inline(always)] // It is called in the loop over rows.
    fn lengthen(&mut self, inverse: f64, sigma: f64) {
        if self.last_inverse == 0.0 {
            self.first_inverse = inverse;
        } else {
            // Rounding must not make a growth of exactly σ look larger.
            let grain = 4.0 * f64::EPSILON * inverse;
            self.growth += (inverse - self.last_inverse - sigma - grain).max(0.0);
        }
        self.last_inverse = inverse;
    }

    /// T
    #[inline]
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Σ‖g_t‖²
    #[inline]
    pub fn gradients_sq(&self) -> f64 {
        self.gradients_sq.value()
    }

    /// max ‖g_t‖
    pub fn gradient_norm_max(&self) -> f64 {
        self.gradient_sq_max.sqrt()
    }

    /// Σ η_t‖g_t‖². For lagged steps it is twice the sum of the capped terms.
    pub fn energy(&self) -> f64 {
        if self.unbounded { f64::INFINITY } else { self.energy.value() }
    }

    /// 1/η_t of the last step that was taken.
    pub fn last_inverse(&self) -> f64 {
        self.last_inverse
    }

    /// The contribution of the distances to the comparators in (8). The first distance is from 0;
    /// the others are weighted with the growth of 1/η_t beyond the curvature σ.
    pub(crate) fn distance_paid(&self, reach: f64, diameter: f64, sigma: f64) -> f64 {
        let first = (self.first_inverse - sigma).max(0.0);
        half_product(first, reach) + half_product(self.growth, diameter)
    }

    /// `distance_paid` in the form of the theorem: D²/(2η_T) once the steps shrink. Here η_T is the
    /// schedule's step for round T, whether or not that round took a step.
    pub(crate) fn distance_promised(
        &self,
        schedule: &impl Schedule,
        reach: f64,
        diameter: f64,
        sigma: f64,
    ) -> f64 {
        if self.growth > 0.0 {
            let last = schedule.inverse_step(self.rounds, self.gradients_sq());
            half_product(last.max(self.last_inverse), diameter)
        } else {
            self.distance_paid(reach, diameter, sigma)
        }
    }

    /// The quantities for the closed forms. G is the declared one or, if none is declared, the
    /// measured one.
    pub(crate) fn facts(
        &self,
        declared: Option<Positive>,
        diameter: f64,
    ) -> Result<StepFacts, NoBound> {
        Ok(StepFacts {
            rounds: self.rounds as f64,
            diameter,
            gradient_bound: self.gradient_bound(declared)?,
            gradients_sq: self.gradients_sq(),
        })
    }

    /// G: the declared bound, or the measured one if that is larger or none is declared. There is
    /// no bound if the measured one clearly exceeds the declared one.
    pub(crate) fn gradient_bound(&self, declared: Option<Positive>) -> Result<f64, NoBound> {
        let measured = self.gradient_norm_max();
        match declared.map(Positive::get) {
            Some(g) if measured > g * (1.0 + GRADIENT_GRAIN) => NoBound::because(format!(
                "the theorem assumes gradients of norm at most G = {g}, and this run had one of \
                 norm {measured}"
            )),
            Some(g) => Ok(g.max(measured)),
            None => Ok(measured),
        }
    }
}

/// (k/2)·r², which is 0 for k = 0 even if r is infinite.
fn half_product(k: f64, r: f64) -> f64 {
    if k == 0.0 { 0.0 } else { 0.5 * k * r * r }
}

/// A bound, or the reason `otherwise` if the total is not finite.
pub(crate) fn finite_bound(total: f64, reference: &str, otherwise: &str) -> Result<Bound, NoBound> {
    if total.is_finite() { Ok(Bound::new(total, reference)) } else { NoBound::because(otherwise) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::InverseTime;

    fn positive(value: f64) -> Positive {
        Positive::new(value).unwrap()
    }

    /// 1/η_t = σt grows by σ, however σt is rounded. In the whole space any larger growth would
    /// make the bound infinite.
    #[test]
    fn a_growth_of_sigma_is_paid_for_by_the_curvature() {
        for sigma in [0.1, 0.3, 0.7, 1e-7] {
            let mut steps = Steps::default();
            for _ in 0..1000 {
                steps.take(&InverseTime { sigma: positive(sigma) }, 1.0, sigma);
            }
            assert_eq!(steps.distance_paid(f64::INFINITY, f64::INFINITY, sigma), 0.0);
            // Of each growth by 2σ one σ is left over, and one more from the first step.
            let mut faster = Steps::default();
            for _ in 0..1000 {
                faster.take(&InverseTime { sigma: positive(2.0 * sigma) }, 1.0, sigma);
            }
            let paid = faster.distance_paid(1.0, 1.0, sigma);
            assert!((paid / (500.0 * sigma) - 1.0).abs() < 1e-9, "{paid}");
        }
    }

    /// If the run exceeds a declared G by less than single precision can tell, the theorem takes
    /// the run's own G, because it needs a G that no gradient exceeds.
    #[test]
    fn a_declared_gradient_bound_is_never_below_the_gradients() {
        let mut steps = Steps::default();
        steps.observe(1.5 * 1.5);
        let bound = |declared: Option<f64>| steps.gradient_bound(declared.map(positive));
        assert_eq!(bound(None), Ok(1.5));
        assert_eq!(bound(Some(2.0)), Ok(2.0));
        assert_eq!(bound(Some(1.5 * (1.0 - 0.9e-6))), Ok(1.5));
        assert!(bound(Some(1.5 * (1.0 - 1.1e-6))).is_err());
    }
}
