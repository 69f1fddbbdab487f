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

/// argmin over u in the set of u·s + (κ/2)‖u‖²
pub(crate) fn lowest(set: &AnySet, s: &[f64], curvature: f64) -> Vec<f64> {
    let free = |s: f64| if curvature > 0.0 { -s / curvature } else { 0.0 };
    match set {
        AnySet::Ball(ball) => {
            let factor = (ball.radius.get() / norm(s)).min(1.0 / curvature);
            s.iter().map(|s| if factor.is_finite() { -factor * s } else { 0.0 }).collect()
        }
        AnySet::Box(sides) => {
            let far = |s: f64| if curvature > 0.0 { free(s) } else { -s.signum() * f64::INFINITY };
            let within = |(i, &s): (usize, &f64)| {
                let (lower, upper) = sides.extent(i);
                if s == 0.0 { 0.0 } else { far(s).clamp(lower, upper) }
            };
            s.iter().enumerate().map(within).collect()
        }
        AnySet::WholeSpace(_) => s.iter().map(|&s| free(s)).collect(),
    }
}

/// ‖v‖
pub(crate) fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// a·b
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
