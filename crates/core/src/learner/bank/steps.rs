//! How far a Gaussian belief moves for one example.
//!
//! A lane believes that the score is f, with variance s. After a label y of importance c it moves
//! to f + s·a, where a is the slope of its loss there: a = −c φ'(f + s a). The variance shrinks by
//! the curvature of the loss at that point, c·φ''.

use super::eight::{Eight, within};
use super::lanes::Lesson;
use crate::elementary::sigmoid_eight;
use rueful_machine::Eights;

/// Slopes are clipped to ± this, so that weights stay finite even with a hostile importance.
pub(super) const STEEPEST: f32 = 1e15;

/// Residuals are clipped to ± this many units of the labels, which lie within 2^30 of each other.
const FARTHEST: f32 = 4_294_967_296.0; // 2^32

/// A slope, and the curvature there.
#[derive(Clone, Copy)]
pub(super) struct Step<V> {
    pub(super) slope: V,
    pub(super) curvature: V,
}

impl<V: Eights> Step<V> {
    /// The slopes and curvatures for the lanes.
    #[inline(always)]
    pub(super) fn lesson(self) -> Lesson {
        Lesson {
            slope: Eight::of_register(self.slope),
            curvature: Eight::of_register(self.curvature),
        }
    }
}

/// a = c(y − σ(f + s a)) for the label y ∈ {0, 1}, and the curvature cσ'. The first guess replaces
/// σ by its chord through 0 and f. One Newton step from there is kept if its sign is right and its
/// size at most c.
#[inline(always)]
pub(super) fn logistic<V: Eights>(mean: V, variance: V, label: f32, importance: f32) -> Step<V> {
    let (one, c, y) = (V::all(1.0), V::all(importance), V::all(label));
    let p = sigmoid_eight(mean);
    let chord = (p - V::all(0.5)) / mean;
    let chord = mean.abs().above(V::all(1e-2), chord, V::all(0.25));
    let first = c * (y - p) / (one + c * variance * chord);
    let q = sigmoid_eight(mean + variance * first);
    let h = c * (q * (one - q));
    let newton = first - (first - c * (y - q)) / (one + variance * h);
    let side = V::all(label - 0.5);
    let slope = (newton * side).above(V::all(0.0), newton, first);
    let slope = c.above(newton.abs(), slope, first);
    Step { slope: within(slope, STEEPEST), curvature: h }
}

/// a = (y − f)/(1/c + s), the exact step of c(y − f)²/2, from the residual y − f.
#[inline(always)]
pub(super) fn square<V: Eights>(residual: V, variance: V, importance: f32) -> V {
    let residual = within(residual, FARTHEST);
    within(residual / (V::all(1.0 / importance) + variance), STEEPEST)
}

/// `square` for one belief.
#[inline(always)]
pub(super) fn square_alone(residual: f32, variance: f32, importance: f32) -> f32 {
    let residual = residual.clamp(-FARTHEST, FARTHEST);
    (residual / (1.0 / importance + variance)).clamp(-STEEPEST, STEEPEST)
}

/// The exact step of a pinball loss with the slopes `up` for residuals above 0 and −`down` for
/// those below. It never moves past the label.
#[inline(always)]
pub(super) fn pinball(residual: f32, variance: f32, up: f32, down: f32) -> f32 {
    let reach = residual / variance.max(1e-20);
    let step = if residual > 0.0 { reach.min(up) } else { reach.max(-down) };
    step.clamp(-STEEPEST, STEEPEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rueful_machine::Numbers;

    type V = rueful_machine::Array<f32, 8>;

    proptest! {
        /// The step solves its equation, except for a share of the first slope.
        #[test]
        fn a_logistic_step_solves_its_equation(
            f in -8.0..8.0f32, s in 0.0..4.0f32, up in any::<bool>(), c in 0.1..3.0f32,
        ) {
            let y = f32::from(up);
            let Lesson { slope, curvature } = logistic(V::all(f), V::all(s), y, c).lesson();
            let (a, h) = (slope.0[0], curvature.0[0]);
            let sigmoid = |z: f32| 1.0 / (1.0 + (-z).exp());
            let miss = a - c * (y - sigmoid(f + s * a));
            let explicit = c * (y - sigmoid(f));
            prop_assert!(miss.abs() < 0.1 * explicit.abs() + 1e-5, "{miss} {a} {explicit}");
            prop_assert!(a.abs() <= explicit.abs() * 1.001 + 1e-6, "an implicit step is shorter");
            prop_assert!((0.0..=0.2501 * c).contains(&h));
        }

        #[test]
        fn a_pinball_step_stays_on_its_side(e in -9.0..9.0f32, s in 0.0..9.0f32) {
            let a = pinball(e, s, 2.0, 0.5);
            prop_assert!((-0.5..=2.0).contains(&a) && a * e >= 0.0);
            prop_assert!((s * a).abs() <= e.abs() * 1.0001);
        }
    }

    #[test]
    fn steps_are_finite_whatever_the_importance() {
        for importance in [1e-30, 1.0, 1e30] {
            for f in [0.0, -1e18, 1e25] {
                for s in [0.0, 1e-30, 1e6] {
                    let lesson = logistic(V::all(f), V::all(s), 1.0, importance).lesson();
                    assert!(lesson.slope.is_finite() && lesson.curvature.is_finite());
                    let step = square(V::all(1e9), V::all(s), importance).array()[0];
                    assert!(step.is_finite() && step == square_alone(1e9, s, importance));
                }
            }
        }
    }
}
