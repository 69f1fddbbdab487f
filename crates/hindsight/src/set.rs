//! Points that certainly lie in the set, and a few operations on vectors.

use crate::rounding::norm_above;
use rueful_core::set::{AnySet, FeasibleSet};

/// Projects u onto the set and makes sure that it lies inside. On a ball the norm is measured with
/// its rounding, and u is shortened until it is certainly inside. Entries that are not finite
/// become 0.
pub(crate) fn make_feasible(set: &AnySet, u: &mut [f64]) {
    u.iter_mut().filter(|u| !u.is_finite()).for_each(|u| *u = 0.0);
    let AnySet::Ball(ball) = set else { return set.project_dense(u) };
    let radius = ball.radius.get();
    for _ in 0..8 {
        let norm = norm_above(u.iter().copied());
        if norm <= radius {
            return;
        }
        // The root is applied twice, because the quotient can underflow where neither of the two
        // factors does.
        let root = (radius / norm).sqrt() * (1.0 - 2.0 * f64::EPSILON);
        u.iter_mut().for_each(|u| *u = *u * root * root);
    }
    u.fill(0.0);
}

/// argmin over u in the set of u·s + (κ/2)‖u‖².
pub(crate) fn lowest(set: &AnySet, s: &[f64], curvature: f64) -> Vec<f64> {
    let free = |s: f64| if curvature > 0.0 { -s / curvature } else { 0.0 };
    match set {
        AnySet::Ball(ball) => {
            let factor = (ball.radius.get() / norm_above(s.iter().copied())).min(1.0 / curvature);
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

/// ‖v‖, for steering only: nothing that is proved may rest on it.
pub(crate) fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// a·b.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
