//! The weight vector: lazily scaled, so that shrinking and projecting are O(1), with a running
//! norm that knows how far off it can be.
//!
//! w = c·v is kept as the number c and the vector v (Pegasos's representation). A step
//! w ← k·w + δ·x multiplies c by k and touches v only where x is not zero. The norm follows from
//! numbers at hand:
//!
//! ```text
//! ‖k w + δ x‖² = k²‖w‖² + 2kδ(w·x) + δ²‖x‖²
//! ```
//!
//! Rounding makes this drift, and cancellation can ruin it in a single step, so a bound on the
//! absolute error is carried along. Whoever needs the norm gets it to a relative 5e-10: while the
//! bound is below that the running value is good, otherwise the norm is computed anew. That
//! happens after some ten thousand ordinary rounds, or when the norm has collapsed, which keeps
//! the amortised cost of a round at the number of its features.

use crate::features::Features;
use crate::vector;
use serde::{Deserialize, Serialize};

/// The largest relative error of a norm that is handed out.
const NORM_TOLERANCE: f64 = 5e-10;

/// Outside this range of |c| the scale is folded into the vector.
const SCALE_RANGE: std::ops::Range<f64> = 1e-120..1e120;

/// A vector w = c·v with a running norm. Starts at 0, as every learner of the notes does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Weights {
    scale: f64,
    vector: Vec<f64>,
    norm_sq: f64,
    /// An upper bound on |norm_sq − ‖w‖²|.
    norm_error: f64,
    /// ‖w‖² before the last step.
    before: f64,
    /// How often the norm was computed anew.
    measurements: u64,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            scale: 1.0,
            vector: Vec::new(),
            norm_sq: 0.0,
            norm_error: 0.0,
            before: 0.0,
            measurements: 0,
        }
    }
}

impl Weights {
    /// Makes room for features below `dimension`.
    #[inline]
    pub fn grow(&mut self, dimension: usize) {
        vector::grow(&mut self.vector, dimension);
    }

    /// How many coordinates there is room for.
    #[inline]
    pub fn dimension(&self) -> usize {
        self.vector.len()
    }

    /// w·x
    #[inline]
    pub fn dot(&self, x: &Features<'_>) -> f64 {
        self.scale * vector::dot(&self.vector, x)
    }

    /// w_i
    #[inline]
    pub fn get(&self, i: usize) -> f64 {
        self.scale * self.vector[i]
    }

    /// w_0, w_1, …
    pub fn iter(&self) -> impl Iterator<Item = f64> + '_ {
        self.vector.iter().map(|v| self.scale * v)
    }

    /// w ← shrink·w + advance·x, where `dot` is w·x as it was before.
    #[inline]
    pub fn step(&mut self, shrink: f64, advance: f64, x: &Features<'_>, dot: f64) {
        self.before = self.norm_sq;
        if shrink != 1.0 {
            self.scale_by(shrink);
        }
        if advance != 0.0 {
            vector::add(&mut self.vector, advance / self.scale, x);
            let moved = advance * advance * x.norm_sq();
            let grain = (x.len() as f64 / 4.0 + 16.0) * f64::EPSILON;
            self.norm_error += grain * (self.norm_sq + self.norm_error + moved);
            self.norm_sq = (self.norm_sq + (2.0 * shrink * advance * dot + moved)).max(0.0);
        }
    }

    /// w ← k·w
    #[inline]
    pub fn scale_by(&mut self, k: f64) {
        self.scale *= k;
        self.norm_sq *= k * k;
        self.norm_error *= k * k;
        if !SCALE_RANGE.contains(&self.scale.abs()) {
            self.fold();
        }
    }

    /// ‖w‖², to a relative 1e-9: the running value, or computed anew where that is not good enough.
    #[inline]
    pub fn norm_sq(&self) -> f64 {
        self.norm_sq_beside(0.0)
    }

    /// ‖w‖², accurate relative to ‖w‖² + `other`: enough for whoever adds the two.
    #[inline]
    pub(crate) fn norm_sq_beside(&self, other: f64) -> f64 {
        if self.is_settled(other) { self.norm_sq } else { vector::norm_sq(self.iter()) }
    }

    /// How often the norm had to be computed anew, each time by a pass over all coordinates.
    pub fn measurements(&self) -> u64 {
        self.measurements
    }

    /// ‖w‖, to a relative 1e-9.
    #[inline]
    pub fn norm(&self) -> f64 {
        self.norm_sq().sqrt()
    }

    /// Makes the next `norm_sq` O(1).
    #[inline]
    pub fn settle_norm(&mut self) {
        self.settle_norm_beside(0.0);
    }

    /// `norm_sq_beside`, with what it had to compute kept.
    #[inline]
    pub(crate) fn settle_norm_beside(&mut self, other: f64) -> f64 {
        if !self.is_settled(other) {
            self.measure();
        }
        self.norm_sq
    }

    /// ‖w‖² for a sum over rounds: accurate relative to this and the last round's together, so that
    /// a norm that collapses in every other round is not computed anew in every other round.
    #[inline]
    pub(crate) fn settle_norm_in_sum(&mut self) -> f64 {
        self.settle_norm_beside(self.before)
    }

    /// Whether ‖w‖ > radius is possible, as far as the running norm can tell.
    #[inline]
    pub(crate) fn can_exceed(&self, radius: f64) -> bool {
        self.norm_sq + self.norm_error > radius * radius
    }

    #[inline]
    fn is_settled(&self, other: f64) -> bool {
        self.norm_error <= NORM_TOLERANCE * (self.norm_sq + other)
    }

    /// Applies `f` to the coordinates of x: w_i ← f(i, w_i).
    #[inline]
    pub(crate) fn update_at(&mut self, x: &Features<'_>, f: impl Fn(usize, f64) -> f64) {
        let (mut change, mut size) = (0.0, 0.0);
        for &i in x.indices() {
            let (old, new) = self.update_one(i as usize, &f);
            if new != old {
                change += new * new - old * old;
                size += new * new + old * old;
            }
        }
        let grain = (x.len() as f64 + 4.0) * f64::EPSILON;
        self.norm_error += grain * (self.norm_sq + size);
        self.norm_sq = (self.norm_sq + change).max(0.0);
    }

    /// Applies `f` to every coordinate.
    pub(crate) fn update_all(&mut self, f: impl Fn(usize, f64) -> f64) {
        for i in 0..self.vector.len() {
            self.update_one(i, &f);
        }
        self.measure();
    }

    #[inline]
    fn update_one(&mut self, i: usize, f: impl Fn(usize, f64) -> f64) -> (f64, f64) {
        let old = self.scale * self.vector[i];
        let new = f(i, old);
        if new != old {
            self.vector[i] = new / self.scale;
        }
        (old, new)
    }

    /// Brings the scale back to 1. A scale of 0 clears the vector.
    #[cold]
    fn fold(&mut self) {
        if self.scale == 0.0 {
            (self.norm_sq, self.norm_error) = (0.0, 0.0);
        }
        for v in &mut self.vector {
            *v *= self.scale;
        }
        self.scale = 1.0;
    }

    /// Computes the norm anew. The scale is applied to the entries, not to their sum, so that a
    /// tiny scale does not overflow the squares.
    #[cold]
    fn measure(&mut self) {
        self.norm_sq = vector::norm_sq(self.iter());
        self.norm_error = vector::NORM_GRAIN * self.norm_sq;
        self.measurements += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(value: f32) -> [f32; 2] {
        [0.3 * value, 0.7 * value]
    }

    /// Steps that undo each other, steps that add up, and projections in between.
    #[test]
    fn the_norm_is_seldom_computed_anew() {
        let mut w = Weights::default();
        w.grow(1000);
        let mut penalties = 0.0;
        for t in 0..20_000_u32 {
            let sign = if t % 2 == 0 { 1.0 } else { -1.0 };
            let values = features(1.0);
            let indices = [t % 7, 999];
            let x = Features::new(&indices, &values).unwrap();
            let dot = w.dot(&x);
            penalties += w.settle_norm_in_sum();
            w.step(1.0, 0.1 * sign, &x, dot);
            if w.can_exceed(0.5) {
                w.settle_norm();
                w.scale_by(0.5 / w.norm());
            }
        }
        assert!(w.measurements() < 20, "{} measurements", w.measurements());
        assert!(penalties > 0.0);
        let exact = vector::norm_sq(w.iter()).sqrt();
        assert!((w.norm() - exact).abs() <= 1e-9 * exact);
    }

    #[test]
    fn a_factor_of_zero_clears_everything() {
        let mut w = Weights::default();
        w.grow(3);
        let values = features(1.0);
        let x = Features::new(&[0, 2], &values).unwrap();
        w.step(1.0, 2.0, &x, 0.0);
        w.step(0.0, 1.0, &x, w.dot(&x));
        let expected: Vec<f64> = vec![f64::from(0.3_f32), 0.0, f64::from(0.7_f32)];
        assert_eq!(w.iter().collect::<Vec<_>>(), expected);
        assert!((w.norm_sq() - x.norm_sq()).abs() < 1e-15);
    }
}
