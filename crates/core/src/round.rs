//! The record of one round, and the objective in which a round is measured.

use crate::features::{Example, Features};
use crate::loss::Loss;
use crate::number::NonNegative;
use crate::weights::Weights;
use serde::{Deserialize, Serialize};

/// One round as the ledger sees it: a prediction, its loss, and the slope of the loss. A round says
/// nothing about how the prediction was made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Round {
    /// ŷ_t
    pub prediction: f64,
    /// φ(ŷ_t, y_t), times the importance of the example
    pub value: f64,
    /// a_t ∈ ∂φ(ŷ_t, y_t), times the importance of the example
    pub slope: f64,
    /// (σ/2)‖w_t‖². It is 0 without regularisation.
    pub penalty: f64,
}

impl Round {
    /// The round of a prediction under a loss. This is all that is known of somebody else's model.
    #[inline(always)] // It is called in the loop over rows.
    pub fn of(loss: &impl Loss, prediction: f64, label: f64) -> Self {
        let tangent = loss.at(prediction, label);
        Self { prediction, value: tangent.value, slope: tangent.slope, penalty: 0.0 }
    }

    /// The round of a prediction on an example. The importance of the example multiplies value and
    /// slope.
    #[inline(always)] // It is called in the loop over rows.
    pub fn on(loss: &impl Loss, prediction: f64, example: &Example<'_>) -> Self {
        let round = Self::of(loss, prediction, example.label);
        let importance = example.importance.get();
        Self { value: importance * round.value, slope: importance * round.slope, ..round }
    }

    /// The round of a prediction on an example of importance 0, which costs nothing.
    #[inline]
    pub fn idle(prediction: f64) -> Self {
        Self { prediction, value: 0.0, slope: 0.0, penalty: 0.0 }
    }

    /// ℓ_t(w_t) = φ + (σ/2)‖w_t‖²
    #[inline]
    pub fn loss(&self) -> f64 {
        self.value + self.penalty
    }

    /// ‖g_t‖² for g_t = a_t x_t + σ w_t, computed from known numbers as a²‖x‖² + 2σ(a·ŷ) + σ²‖w‖²,
    /// where σ²‖w‖² is 2σ times the penalty. A square that is too small for a double is rounded up,
    /// so the result is above 0 whenever the slope is not 0.
    #[inline(always)] // It is called in the loop over rows.
    pub fn gradient_sq(&self, sigma: f64, x: &Features<'_>) -> f64 {
        let square = self.gradient_sq_or_less(sigma, x.norm_sq());
        // This is a branch, not a select: the step needs the square, and it should not wait for the
        // comparison.
        if square >= f64::MIN_POSITIVE {
            square
        } else {
            rounded_up(square, self.is_moving(x.norm_sq()))
        }
    }

    /// The same, where a square that is too small for a double is not rounded up.
    #[inline(always)] // It is called in the loop over rows.
    pub(crate) fn gradient_sq_or_less(&self, sigma: f64, norm_sq: f64) -> f64 {
        let data = self.slope * (self.slope * norm_sq);
        data + 2.0 * sigma * (self.slope * self.prediction + self.penalty)
    }

    /// Whether a_t x_t is not 0, where ‖x_t‖² is given. Squares of singles do not underflow, so it
    /// is 0 only for an example without features.
    #[inline]
    pub(crate) fn is_moving(&self, norm_sq: f64) -> bool {
        self.slope != 0.0 && norm_sq > 0.0
    }

    /// The least ‖g_t‖², if a_t x_t is not 0 and if it is.
    #[inline]
    pub(crate) fn least_gradient_sq(is_moving: bool) -> f64 {
        if is_moving { f64::MIN_POSITIVE } else { 0.0 }
    }

    /// Whether all its numbers are finite. A run that diverged has rounds where this is false.
    #[inline]
    pub fn is_finite(&self) -> bool {
        (self.prediction + self.value + self.slope + self.penalty).is_finite()
    }
}

/// A ‖g_t‖² that may be too small for a double. It is given numbers and not the round, so that the
/// round can stay in registers.
#[cold]
#[inline(never)]
fn rounded_up(square: f64, is_moving: bool) -> f64 {
    square.max(Round::least_gradient_sq(is_moving))
}

/// ℓ_t(w) = φ(w·x_t, y_t) + (σ/2)‖w‖²: any loss, made σ-strongly convex by σ > 0. The hinge loss
/// with σ > 0 gives the support vector machine.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Objective<L> {
    /// φ
    pub loss: L,
    /// σ
    pub sigma: NonNegative,
}

impl<L: Loss> Objective<L> {
    /// The loss without regularisation.
    pub fn plain(loss: L) -> Self {
        Self { loss, sigma: NonNegative::ZERO }
    }

    /// The round of the prediction w_t·x_t on an example, with its penalty.
    #[inline(always)] // It is called in the loop over rows.
    pub(crate) fn suffer(
        &self,
        weights: &mut Weights,
        prediction: f64,
        example: &Example<'_>,
    ) -> Round {
        let round = Round::on(&self.loss, prediction, example);
        let sigma = self.sigma.get();
        if sigma == 0.0 {
            return round;
        }
        weights.settle_norm();
        Round { penalty: 0.5 * sigma * weights.norm_sq(), ..round }
    }
}
