//! The Euclidean ball ‖w‖ ≤ U, the set of the notes' theorems.

use super::{Bounded, FeasibleSet, LazyDot};
use crate::cells::Coordinates;
use crate::features::Features;
use crate::norms;
use crate::number::Positive;
use crate::vector;
use crate::weights::Weights;
use serde::{Deserialize, Serialize};

/// {w : ‖w‖ ≤ U}. Projection: w·min(1, U/‖w‖). Support: U‖v‖. Diameter: 2U.
///
/// ```
/// use rueful_core::{Positive, set::{Ball, FeasibleSet}};
/// let ball = Ball { radius: Positive::new(2.0)? };
/// let mut w = [3.0, 4.0];
/// ball.project_dense(&mut w);
/// assert_eq!(w, [1.2000000000000002, 1.6]);
/// assert_eq!(ball.support([3.0, 4.0].into_iter(), 0.0), 10.0);
/// # Ok::<(), rueful_core::OutOfRange>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ball {
    /// U
    pub radius: Positive,
}

impl FeasibleSet for Ball {
    #[inline(always)] // It is called in the loop over rows.
    fn project(&self, w: &mut Weights, _x: &Features<'_>) {
        let radius = self.radius.get();
        if w.can_exceed(radius) {
            w.settle_norm();
            let norm = w.norm();
            if norm > radius {
                w.scale_by(radius / norm);
            }
        }
    }

    #[inline]
    fn project_dot(&self, s: &Weights, k: f64, x: &Features<'_>) -> LazyDot {
        let radius = self.radius.get();
        let outside = s.can_exceed(radius / k.abs()) && s.norm() > radius / k.abs();
        let inside = if outside { radius / s.norm() * k.signum() } else { k };
        let inner = s.dot(x);
        LazyDot { prediction: inside * inner, inner }
    }

    #[inline]
    fn settle(&self, s: &mut Weights, k: f64) {
        if s.can_exceed(self.radius.get() / k.abs()) {
            s.settle_norm();
        }
    }

    fn project_dense(&self, v: &mut [f64]) {
        let norm = norms::norm(v);
        if norm > self.radius.get() {
            let inside = self.radius.get() / norm;
            v.iter_mut().for_each(|v| *v *= inside);
        }
    }

    fn support(&self, v: impl Iterator<Item = f64> + Clone, curvature: f64) -> f64 {
        self.support_of_norm(vector::norm(v), curvature)
    }

    fn support_with(
        &self,
        _v: impl Iterator<Item = f64> + Clone,
        norm: f64,
        curvature: f64,
    ) -> f64 {
        self.support_of_norm(norm, curvature)
    }

    fn reach(&self, _coordinates: Coordinates<'_>) -> f64 {
        self.radius.get()
    }

    fn diameter(&self, _coordinates: Coordinates<'_>) -> f64 {
        2.0 * self.radius.get()
    }

    #[inline]
    fn diameter_at(&self, _x: &Features<'_>) -> f64 {
        2.0 * self.radius.get()
    }

    fn extent(&self, _i: usize) -> (f64, f64) {
        (-self.radius.get(), self.radius.get())
    }

    fn keeps_weights(&self) -> String {
        format!("‖w‖ ≤ {}", self.radius)
    }

    fn covers(&self, other: &impl FeasibleSet, coordinates: Coordinates<'_>) -> bool {
        other.reach(coordinates) <= self.radius.get()
    }
}

impl Ball {
    /// −U/‖s‖, and 0 for s = 0.
    fn leader_factor(&self, s: &Weights) -> f64 {
        let norm = s.norm();
        if norm == 0.0 { 0.0 } else { -self.radius.get() / norm }
    }

    /// The support function of a vector whose norm is known.
    pub fn support_of_norm(&self, norm: f64, curvature: f64) -> f64 {
        let radius = self.radius.get();
        if curvature * radius > norm {
            norm / (2.0 * curvature) * norm
        } else {
            radius * norm - 0.5 * curvature * radius * radius
        }
    }
}

impl Bounded for Ball {
    #[inline]
    fn leader_dot(&self, s: &Weights, x: &Features<'_>) -> LazyDot {
        let inner = s.dot(x);
        LazyDot { prediction: self.leader_factor(s) * inner, inner }
    }

    fn leader(&self, s: &Weights) -> Vec<f64> {
        let factor = self.leader_factor(s);
        s.iter().map(|s| factor * s + 0.0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curved_support_is_attained_inside_or_on_the_boundary() {
        let ball = Ball { radius: Positive::new(2.0).unwrap() };
        // inside: u = v/κ with ‖u‖ = 1
        assert_eq!(ball.support([4.0].into_iter(), 4.0), 2.0);
        // boundary: u = 2
        assert_eq!(ball.support([4.0].into_iter(), 1.0), 6.0);
    }
}
