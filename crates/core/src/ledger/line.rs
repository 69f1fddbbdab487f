//! The lower bound that a minorant gives for balls of every radius.

use super::minorant::{farthest, product};
use crate::number::Positive;
use crate::set::Ball;
use serde::{Deserialize, Serialize};

/// A lower bound on the loss of comparators, as a function of their radius U. With σ = 0 it is the
/// line
///
/// ```text
/// floor(U) = offset − U·‖S‖ − allowances for rounding
/// ```
///
/// For unit-free comparators ‖S‖ stands for ‖S/N‖·Y.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Line {
    pub(super) offset: f64,
    pub(super) norm: f64,
    pub(super) curvature: f64,
    /// The allowance for rounding: a constant, and a part per unit of radius.
    pub(super) slack: (f64, f64),
}

impl Line {
    /// A bound that is the same for every radius.
    pub(super) fn level(floor: f64) -> Self {
        Self { offset: floor, norm: 0.0, curvature: 0.0, slack: (0.0, 0.0) }
    }

    /// A line from its parts, for losses that are not regularised.
    pub(crate) fn straight(offset: f64, norm: f64, slack: (f64, f64)) -> Self {
        Self { offset, norm, curvature: 0.0, slack }
    }

    /// No comparator of norm at most U loses less than this. It is minus infinity if nothing is
    /// known.
    pub fn floor(&self, radius: Positive) -> f64 {
        let gain = Ball { radius }.support_of_norm(self.norm, self.curvature);
        let floor = self.offset - gain - self.slack(radius);
        if floor.is_nan() { f64::NEG_INFINITY } else { floor }
    }

    /// How much of the floor is an allowance for rounding.
    pub fn slack(&self, radius: Positive) -> f64 {
        let (at_zero, per_unit) = self.slack;
        let far = farthest(radius.get(), self.norm, per_unit, self.curvature);
        at_zero + product(far, per_unit)
    }

    /// The floor for U → 0, with its allowance for rounding.
    fn at_zero(&self) -> f64 {
        self.offset - self.slack.0
    }

    /// The most by which the floor falls per unit of radius.
    fn fall(&self) -> f64 {
        self.norm + self.slack.1
    }

    /// The radius up to which the floor is above a loss, rounded down. It is infinite if the floor
    /// is always above, and `None` if it never is.
    pub fn above_up_to(&self, loss: f64) -> Option<f64> {
        let spare = self.at_zero() - loss;
        if spare.is_nan() || spare <= 0.0 {
            return None;
        }
        let radius = spare / self.fall();
        // There are five roundings between these numbers and the difference, each of half a unit in the
        // last place of a number that is no larger than this sum.
        let rounding = 4.0 * f64::EPSILON * (self.offset.abs() + loss.abs()) / self.fall();
        Some(if self.fall() == 0.0 { f64::INFINITY } else { (radius - rounding).max(0.0) })
    }

    /// Whether all its numbers are such as a minorant can have.
    pub(super) fn is_sound(&self) -> bool {
        let sizes = [self.norm, self.curvature, self.slack.0, self.slack.1];
        self.offset.is_finite() && sizes.iter().all(|size| (0.0..=f64::MAX).contains(size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ExactSum;

    /// In exact arithmetic the floor at the radius must not be below the loss. In the first case the
    /// quotient is rounded, and in the second the difference of offset and loss.
    #[test]
    fn the_radius_is_rounded_down() {
        for k in 1..2000_u32 {
            let third = f64::from(k) / 3.0;
            for (offset, loss, at_zero) in [(third, 0.0, 0.0), (1e9 + third, 1e9, third / 1e9)] {
                let line = Line::straight(offset, 7.0 + third, (at_zero, third / 1e12));
                let radius = line.above_up_to(loss).unwrap();
                let mut room = ExactSum::default();
                [offset, -loss, -at_zero].into_iter().for_each(|term| room.add(term));
                [line.norm, line.slack.1].into_iter().for_each(|x| room.add_product(-radius, x));
                assert!(room.value() >= 0.0, "{k}: {radius} {:e}", room.value());
                assert!(radius >= (offset - loss) / (7.0 + third) - 1e-6, "{k}: {radius}");
            }
        }
    }
}
