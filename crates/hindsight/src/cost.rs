//! What one comparator costs, at most.

use crate::proof::halves;
use crate::rounding::{TINY, grain, norm_above, or_nothing_above, penalty_above, sum_above};
use rueful_core::loss::{Loss, Tangent};
use rueful_core::{Example, Features, Sum};

/// Σ φ_t(u·x_t), bounded from above as it is added up.
///
/// A prediction p is off by an error e, and a convex φ is largest over [p − e, p + e] at an end: that
/// end is what is charged. There φ is computed from two doubles, prediction and label, and is off by a
/// few roundings of itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    /// ‖u‖, rounded up.
    norm: f64,
    careful: bool,
    sum: Sum,
    rounds: u64,
    /// Σ|φ_t|
    size: f64,
    /// T plus the importances: how often something can have underflowed.
    chances: f64,
    /// What the errors of the predictions were charged with.
    charged: f64,
}

impl Cost {
    /// The cost of u, before the first example; its predictions are computed carefully or quickly.
    pub(crate) fn at(u: &[f64], careful: bool) -> Self {
        let norm = norm_above(u.iter().copied());
        let (sum, rounds) = (Sum::default(), 0);
        Self { norm, careful, sum, rounds, size: 0.0, chances: 0.0, charged: 0.0 }
    }

    /// u·x
    #[inline]
    pub(crate) fn predict(&self, u: &[f64], x: &Features<'_>) -> f64 {
        if self.careful { careful_dot(u, x) } else { x.dot(u) }
    }

    /// Adds s·φ for the prediction p = u·x as `predict` gave it, and returns it with its slope there.
    #[inline]
    pub(crate) fn add<L: Loss>(&mut self, loss: &L, example: &Example<'_>, p: f64) -> Tangent {
        let (label, importance) = (example.label, example.importance.get());
        let at = loss.at(p, label);
        self.rounds += 1;
        if importance != 0.0 {
            let highest = self.highest(loss, example, p, at.value);
            self.sum.add(importance * highest);
            self.size += importance * highest.abs();
            self.chances += 1.0 + importance;
            self.charged += importance * (highest - at.value);
        }
        Tangent { value: importance * at.value, slope: importance * at.slope }
    }

    /// The largest φ for a prediction that may be off.
    #[inline]
    fn highest<L: Loss>(&self, loss: &L, example: &Example<'_>, p: f64, value: f64) -> f64 {
        let error = self.error(p, &example.features);
        if error == 0.0 {
            return value;
        }
        let low = loss.at((p - error).next_down(), example.label).value;
        let high = loss.at((p + error).next_up(), example.label).value;
        let highest = low.max(high);
        if (p.abs() + error + highest).is_finite() { highest } else { f64::INFINITY }
    }

    /// How far p can be off. A quick dot product of n features is off by a rounding of ‖u‖‖x‖ per
    /// feature at most; a careful one by a rounding of itself and by errors of errors; and products
    /// underflow in both.
    #[inline]
    fn error(&self, p: f64, x: &Features<'_>) -> f64 {
        if self.norm == 0.0 {
            return 0.0;
        }
        let n = x.len() as f64 + 2.0;
        let size = self.norm * x.norm_sq().sqrt();
        let rounding = if self.careful {
            let second = 2.0 * n * f64::EPSILON;
            f64::EPSILON * p.abs() + second * second * size
        } else {
            f64::EPSILON * n * size
        };
        rounding + n * TINY
    }

    /// At least the total with the penalty (κ/2)‖u‖².
    pub(crate) fn upper(&self, curvature: f64) -> f64 {
        let total = sum_above(self.sum.value(), self.allowance());
        or_nothing_above(sum_above(total, penalty_above(curvature, self.norm)))
    }

    /// How much of it is there for rounding.
    pub(crate) fn slack(&self) -> f64 {
        self.allowance() + self.charged
    }

    /// For the roundings of the values and of their sum.
    fn allowance(&self) -> f64 {
        grain(self.rounds) * self.size + TINY * self.chances
    }
}

/// u·x from exact products, added with compensation.
fn careful_dot(u: &[f64], x: &Features<'_>) -> f64 {
    let mut sum = Sum::default();
    for (i, x) in x.iter() {
        let (head, tail) = halves(u[i]);
        sum.add(head * x);
        sum.add(tail * x);
    }
    sum.value()
}
