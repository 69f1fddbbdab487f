//! Sets in dense code, computed from nothing but a radius or the ends of the sides.

use super::norm;
use rueful_core::set::{AnySet, FeasibleSet};

/// Moves w to the nearest point of the set.
pub fn project(set: &AnySet, w: &mut [f64]) {
    match set {
        AnySet::Ball(ball) => {
            let (radius, norm) = (ball.radius.get(), norm(w));
            if norm > radius {
                w.iter_mut().for_each(|w| *w = *w / norm * radius);
            }
        }
        AnySet::Box(sides) => {
            for (i, w) in w.iter_mut().enumerate() {
                let (lower, upper) = sides.extent(i);
                *w = w.max(lower).min(upper);
            }
        }
        AnySet::WholeSpace(_) => {}
    }
}

/// sup_{u∈W} u·v − (κ/2)‖u‖².
pub fn support(set: &AnySet, v: &[f64], curvature: f64) -> f64 {
    match set {
        AnySet::Ball(ball) => {
            let length = norm(v);
            let free = if curvature > 0.0 { length / curvature } else { f64::INFINITY };
            let r = free.min(ball.radius.get());
            r * length - 0.5 * curvature * r * r
        }
        AnySet::Box(sides) => (v.iter().enumerate())
            .map(|(i, &v)| {
                let (lower, upper) = sides.extent(i);
                let free = if curvature > 0.0 { v / curvature } else { v * f64::INFINITY };
                let u = if v == 0.0 { 0.0 } else { free.max(lower).min(upper) };
                u * v - 0.5 * curvature * u * u
            })
            .sum(),
        AnySet::WholeSpace(_) if norm(v) == 0.0 => 0.0,
        AnySet::WholeSpace(_) => norm(v).powi(2) / (2.0 * curvature),
    }
}

/// sup ‖u‖ over the first coordinates.
pub fn reach(set: &AnySet, dimension: usize) -> f64 {
    corner(set, dimension, |lower, upper| upper.max(-lower))
}

/// sup ‖u − v‖ over the first coordinates.
pub fn diameter(set: &AnySet, dimension: usize) -> f64 {
    match set {
        AnySet::Ball(ball) => 2.0 * ball.radius.get(),
        _ => corner(set, dimension, |lower, upper| upper - lower),
    }
}

/// sup ‖u − v‖ over the coordinates where x is not 0.
pub fn diameter_at(set: &AnySet, x: &[f64]) -> f64 {
    let widths = x.iter().enumerate().filter(|&(_, &x)| x != 0.0).map(|(i, _)| {
        let (lower, upper) = set.extent(i);
        upper - lower
    });
    match set {
        AnySet::Ball(ball) => 2.0 * ball.radius.get(),
        AnySet::Box(_) => norm(&widths.collect::<Vec<_>>()),
        AnySet::WholeSpace(_) => f64::INFINITY,
    }
}

fn corner(set: &AnySet, dimension: usize, side: impl Fn(f64, f64) -> f64) -> f64 {
    match set {
        AnySet::Ball(ball) => ball.radius.get(),
        AnySet::Box(sides) => {
            let ends = (0..dimension).map(|i| sides.extent(i));
            norm(&ends.map(|(lower, upper)| side(lower, upper)).collect::<Vec<_>>())
        }
        AnySet::WholeSpace(_) => f64::INFINITY,
    }
}
