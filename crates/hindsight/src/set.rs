//! Feasible, and certainly so.

use rueful_core::set::{AnySet, FeasibleSet};

/// Projects u; on a ball a hair further, so that rounding does not leave it outside.
pub(crate) fn make_feasible(set: &AnySet, u: &mut [f64]) {
    set.project_dense(u);
    if let AnySet::Ball(ball) = set {
        let inside = ball.radius.get() * (1.0 - 1e-13);
        let norm = norm(u);
        if norm > inside {
            u.iter_mut().for_each(|u| *u *= inside / norm);
        }
    }
}

/// ‖v‖
pub(crate) fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}
