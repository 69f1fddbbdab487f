//! The opponent that forces the value of the game.
//!
//! g_t is orthogonal to w_t, so the learner loses nothing and gains nothing. It is also orthogonal
//! to S_{t−1}, so that ‖S_T‖² = Σ‖g_t‖² = G²T. The regret is U‖S_T‖ = UG√T whatever the learner
//! does.

use super::{Adversary, SHAVE};
use rueful_core::{Example, Features, Positive};
use std::fmt;

/// An opponent with gradients of norm G, orthogonal to w_t and to S_{t−1} = Σ_{s<t} g_s, for
/// dimension 3 and more.
///
/// Three coordinates have room for a direction orthogonal to two vectors. So each round uses three
/// coordinates, and the next round uses the next three. Directions are rounded to single precision,
/// which leaves cosines of about 1e-7. The slope makes the norm exact.
#[derive(Debug, Clone, PartialEq)]
pub struct Orthogonal {
    gradient_bound: Positive,
    /// The sum S.
    slopes: Vec<f64>,
    /// The first coordinate of the coming round.
    at: usize,
    indices: [u32; 3],
    direction: [f32; 3],
}

/// The error for a dimension in which no direction need be orthogonal to two vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooFlat {
    /// The dimension that was given.
    pub dimension: usize,
}

impl fmt::Display for TooFlat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the orthogonal adversary needs dimension 3 or more, and got {}", self.dimension)
    }
}

impl std::error::Error for TooFlat {}

impl Orthogonal {
    /// The opponent, which needs at least three dimensions.
    pub fn new(dimension: usize, gradient_bound: Positive) -> Result<Self, TooFlat> {
        if dimension < 3 {
            return Err(TooFlat { dimension });
        }
        let slopes = vec![0.0; dimension];
        Ok(Self { gradient_bound, slopes, at: 0, indices: [0, 1, 2], direction: [0.0; 3] })
    }

    /// Chooses the three coordinates of the coming round, in increasing order.
    fn choose_coordinates(&mut self) {
        let dimension = self.slopes.len();
        let mut chosen = [0, 1, 2].map(|k| (self.at + k) % dimension);
        chosen.sort_unstable();
        self.indices = chosen.map(|i| i as u32);
        self.at = (self.at + 3) % dimension;
    }
}

impl Adversary for Orthogonal {
    fn next(&mut self, weights: &[f64]) -> Example<'_> {
        self.choose_coordinates();
        let at = |v: &[f64]| self.indices.map(|i| v.get(i as usize).copied().unwrap_or(0.0));
        self.direction = orthogonal_to(at(&self.slopes), at(weights)).map(|x| x as f32);

        let features = Features::new(&self.indices, &self.direction).expect("a unit vector");
        let label = self.gradient_bound.get() / features.norm_sq().sqrt() * (1.0 - SHAVE);
        for (i, x) in features.iter() {
            self.slopes[i] += label * x;
        }
        Example::new(features, label)
    }

    fn dimension(&self) -> usize {
        self.slopes.len()
    }

    fn gradient_bound(&self) -> Positive {
        self.gradient_bound
    }
}

type Triple = [f64; 3];

/// A unit vector orthogonal to both. The part of one beside the other only counts while it is more
/// than rounding, because learners often keep w parallel to S.
fn orthogonal_to(one: Triple, other: Triple) -> Triple {
    let (first, second) = match (unit(one), unit(other)) {
        (Some(first), second) => (first, second),
        (None, second) => (second.unwrap_or([1.0, 0.0, 0.0]), None),
    };
    let rest = second.map(|second| without(without(second, first), first));
    match rest.filter(|&rest| dot(rest, rest) > 1e-20).and_then(unit) {
        Some(second) => cross(first, without(second, first)),
        None => any_orthogonal(first),
    }
}

/// A unit vector orthogonal to v, made with the axis that v leans to the least.
fn any_orthogonal(v: Triple) -> Triple {
    let least = (0..3).min_by(|&i, &j| v[i].abs().total_cmp(&v[j].abs())).unwrap_or(0);
    let mut axis = [0.0; 3];
    axis[least] = 1.0;
    unit(cross(v, axis)).unwrap_or(axis)
}

fn dot(a: Triple, b: Triple) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The vector a less its part along the unit vector b.
fn without(a: Triple, b: Triple) -> Triple {
    let along = dot(a, b);
    [a[0] - along * b[0], a[1] - along * b[1], a[2] - along * b[2]]
}

fn cross(a: Triple, b: Triple) -> Triple {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// a/‖a‖. It is scaled by the largest entry first, so that squares neither overflow nor underflow.
fn unit(a: Triple) -> Option<Triple> {
    let size = a.iter().fold(0.0, |size: f64, x| size.max(x.abs()));
    if size == 0.0 || !size.is_finite() {
        return None;
    }
    let scaled = a.map(|x| x / size);
    let norm = dot(scaled, scaled).sqrt();
    Some(scaled.map(|x| x / norm))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn triple(rng: &mut Rng) -> Triple {
        [rng.bell(), rng.bell(), rng.bell()]
    }

    fn assert_orthogonal(one: Triple, other: Triple) {
        let g = orthogonal_to(one, other);
        assert!((dot(g, g) - 1.0).abs() < 1e-9, "{one:?} {other:?}");
        for v in [one, other] {
            let norm = dot(v, v).sqrt();
            assert!(dot(g, v).abs() <= 2e-10 * norm, "{one:?} {other:?}");
        }
    }

    #[test]
    fn directions_are_orthogonal_however_the_two_lie() {
        let rng = &mut Rng::new(2);
        let zero = [0.0; 3];
        assert_orthogonal(zero, zero);
        for _ in 0..1000 {
            let (a, b) = (triple(rng), triple(rng));
            assert_orthogonal(a, b);
            assert_orthogonal(a, zero);
            assert_orthogonal(zero, b);
            assert_orthogonal(a, a.map(|x| -3.0 * x));
            let close = 10_f64.powi(-rng.integer(1, 18));
            assert_orthogonal(a, [a[0] + close * b[0], a[1] + close * b[1], a[2] + close * b[2]]);
            assert_orthogonal(a.map(|x| 1e-30 * x), b.map(|x| 1e30 * x));
        }
    }

    #[test]
    fn two_dimensions_are_refused() {
        assert_eq!(Orthogonal::new(2, Positive::ONE), Err(TooFlat { dimension: 2 }));
    }
}
