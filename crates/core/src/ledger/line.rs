//! What a minorant says of balls of every radius.

use super::minorant::{farthest, product};
use crate::number::Positive;
use crate::set::Ball;
use serde::{Deserialize, Serialize};

/// A lower bound on what comparators lose, as a function of their radius U: with σ = 0 the line
///
/// ```text
/// floor(U) = offset − U·‖S‖ − allowances for rounding
/// ```
///
/// where ‖S‖ is ‖S/N‖·Y for comparators without units.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Line {
    pub(super) offset: f64,
    pub(super) norm: f64,
    pub(super) curvature: f64,
    /// Allowance for rounding: a constant, and per unit of radius.
    pub(super) slack: (f64, f64),
}

impl Line {
    /// The same floor for every radius.
    pub(super) fn level(floor: f64) -> Self {
        Self { offset: floor, norm: 0.0, curvature: 0.0, slack: (0.0, 0.0) }
    }

    /// A line from its parts, for losses that are not regularised.
    pub(crate) fn straight(offset: f64, norm: f64, slack: (f64, f64)) -> Self {
        Self { offset, norm, curvature: 0.0, slack }
    }

    /// No comparator of norm at most U loses less than this. Minus infinity where nothing is known.
    pub fn floor(&self, radius: Positive) -> f64 {
        let gain = Ball { radius }.support_of_norm(self.norm, self.curvature);
        let floor = self.offset - gain - self.slack(radius);
        if floor.is_nan() { f64::NEG_INFINITY } else { floor }
    }

    /// How much of that is allowance for rounding.
    pub fn slack(&self, radius: Positive) -> f64 {
        let (at_zero, per_unit) = self.slack;
        let far = farthest(radius.get(), self.norm, per_unit, self.curvature);
        at_zero + product(far, per_unit)
    }

    /// The floor for U → 0, rounding allowed for.
    fn at_zero(&self) -> f64 {
        self.offset - self.slack.0
    }

    /// By how much the floor falls per unit of radius at most.
    fn fall(&self) -> f64 {
        self.norm + self.slack.1
    }

    /// The radius up to which the floor is above a loss, rounded down: infinite if it always is,
    /// nothing if it never is.
    pub fn above_up_to(&self, loss: f64) -> Option<f64> {
        let spare = self.at_zero() - loss;
        if spare.is_nan() || spare <= 0.0 {
            return None;
        }
        // Five roundings lie between these numbers and the quotient.
        let radius = spare / self.fall() * (1.0 - 8.0 * f64::EPSILON);
        let rounding = 4.0 * f64::EPSILON * (self.offset.abs() + loss.abs()) / self.fall();
        Some(if self.fall() == 0.0 { f64::INFINITY } else { (radius - rounding).max(0.0) })
    }

    /// Whether everything in it is a number that a minorant can have.
    pub(super) fn is_sound(&self) -> bool {
        let sizes = [self.norm, self.curvature, self.slack.0, self.slack.1];
        self.offset.is_finite() && sizes.iter().all(|size| (0.0..=f64::MAX).contains(size))
    }
}
