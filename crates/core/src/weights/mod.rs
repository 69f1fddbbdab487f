//! The weight vector. It is lazily scaled, so that shrinking and projecting are O(1), and it has a
//! running norm with a bound on its own error.
//!
//! w = c·v is kept as the number c and the vector v (Pegasos's representation). A step
//! w ← k·w + δ·x multiplies c by k and touches v only where x is not zero. The norm follows from
//! known numbers:
//!
//! ```text
//! ‖k w + δ x‖² = k²‖w‖² + 2kδ(w·x) + δ²‖x‖²
//! ```
//!
//! Rounding makes this value drift, and cancellation can ruin it in a single step. So a bound on
//! its absolute error is kept, too. The norm is always returned to a relative 5e-10: if the bound
//! is below that, the running value is used, otherwise the norm is computed from scratch.
//!
//! # A step costs what its features cost
//!
//! Two things take a pass over all d coordinates: computing the norm from scratch, and bringing c
//! back to 1 when it leaves a safe range. On ordinary streams that happens once in some ten
//! thousand rounds. On other streams it must not cost more than the features of the rounds. So
//! every feature of a step earns one unit of credit (and every coordinate a few, when room is made
//! for it), and a pass costs d. If a pass is due and the credit does not cover it, exact accounts
//! of v are opened, with one last pass:
//!
//! - Σ v_i² without rounding. Then ‖w‖² = c² Σ v_i² needs no pass, however much cancels.
//! - The set of i with v_i ≠ 0. Then a new c needs only these. The cost is covered: c must have
//!   moved by 120 orders of magnitude, and a double spans 632. So after six such moves without a
//!   step on its feature a coordinate is 0 (or infinite) and out of the set.
//!
//! From then on a step costs several times as much per feature, and never more. Nothing else
//! changes: squares are added up exactly with and without accounts, so every number that is
//! returned is the same to the last bit. Neither credit nor accounts are saved with the weights.

mod accounts;
mod indices;

use crate::exact::ExactSum;
use crate::features::Features;
use crate::vector;
use accounts::Accounts;
use serde::{Deserialize, Serialize};

/// The largest relative error of a norm that is returned.
const NORM_TOLERANCE: f64 = 5e-10;

/// Outside this range of |c| the scale is folded into the vector.
const SCALE_RANGE: std::ops::Range<f64> = 1e-120..1e120;

/// The relative error that scaling adds to the norm: the roundings of k², of the product with it,
/// and, twice, of the scale.
const SCALE_GRAIN: f64 = 4.0 * f64::EPSILON;

/// The relative error of a norm that was computed from all coordinates.
const NORM_GRAIN: f64 = 16.0 * f64::EPSILON;

/// How many passes a new coordinate pays for.
const FREE_PASSES: u64 = 4;

/// A vector w = c·v with a running norm. It starts at 0, as every learner of the notes does.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(into = "Stored", from = "Stored")]
pub struct Weights {
    scale: f64,
    vector: Vec<f64>,
    norm_sq: f64,
    /// An upper bound on |norm_sq − ‖w‖²|.
    norm_error: f64,
    /// How many more coordinates passes may visit.
    credit: u64,
    /// How many passes over all coordinates were made.
    passes: u64,
    accounts: Accounts,
}

/// The stored form of weights: the numbers that determine all results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Stored {
    scale: f64,
    vector: Vec<f64>,
    norm_sq: f64,
    norm_error: f64,
}

impl From<Weights> for Stored {
    fn from(weights: Weights) -> Self {
        let Weights { scale, vector, norm_sq, norm_error, .. } = weights;
        Self { scale, vector, norm_sq, norm_error }
    }
}

impl From<Stored> for Weights {
    fn from(Stored { scale, vector, norm_sq, norm_error }: Stored) -> Self {
        let credit = FREE_PASSES * vector.len() as u64;
        let accounts = Accounts::closed(vector.len());
        Self { scale, vector, norm_sq, norm_error, credit, accounts, passes: 0 }
    }
}

/// Weights are equal if they will return the same numbers.
impl PartialEq for Weights {
    fn eq(&self, other: &Self) -> bool {
        let numbers = |w: &Self| (w.scale, w.norm_sq, w.norm_error);
        numbers(self) == numbers(other) && self.vector == other.vector
    }
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            scale: 1.0,
            vector: Vec::new(),
            norm_sq: 0.0,
            norm_error: 0.0,
            credit: 0,
            passes: 0,
            accounts: Accounts::default(),
        }
    }
}

impl Weights {
    /// Makes room for features below `dimension`.
    #[inline]
    pub fn grow(&mut self, dimension: usize) {
        if dimension > self.vector.len() {
            self.credit += FREE_PASSES * (dimension - self.vector.len()) as u64;
            vector::grow(&mut self.vector, dimension);
            self.accounts.grow(dimension);
        }
    }

    /// Moves the coordinates: coordinate i gets the value at `from[i]`, or 0 if there is none. A
    /// coordinate that is not moved anywhere must be 0.
    pub fn rearrange(&mut self, from: &[u32]) {
        let at = |&from: &u32| self.vector.get(from as usize).copied().unwrap_or(0.0);
        self.vector = from.iter().map(at).collect();
        self.credit = FREE_PASSES * self.vector.len() as u64;
        self.accounts = Accounts::closed(self.vector.len());
    }

    /// Whether this, which may be read from anywhere, can be such a vector: all numbers are finite,
    /// and the norm is that of the vector. This takes one pass over all coordinates.
    pub fn is_sound(&self) -> bool {
        let off = (self.norm_sq - self.measured()).abs();
        self.vector.iter().all(|v| v.is_finite())
            && SCALE_RANGE.contains(&self.scale.abs())
            && self.norm_sq >= 0.0
            && self.norm_error >= 0.0
            && self.norm_error.is_finite()
            && off <= self.norm_error + NORM_TOLERANCE * self.norm_sq
    }

    /// How many coordinates there is room for.
    #[inline]
    pub fn dimension(&self) -> usize {
        self.vector.len()
    }

    /// w·x
    #[inline(always)] // It is called in the loop over rows.
    pub fn dot(&self, x: &Features<'_>) -> f64 {
        self.scale * vector::dot(&self.vector, x)
    }

    /// Σ f(i, k·w_i) x_i together with w·x.
    #[inline]
    pub(crate) fn dots(
        &self,
        x: &Features<'_>,
        k: f64,
        f: impl Fn(usize, f64) -> f64,
    ) -> (f64, f64) {
        let scale = k * self.scale;
        let (mapped, plain) = vector::dots(&self.vector, x, |i, v| f(i, scale * v));
        (mapped, self.scale * plain)
    }

    /// w_0, w_1, …
    pub fn iter(&self) -> impl Iterator<Item = f64> + '_ {
        self.vector.iter().map(|v| self.scale * v)
    }

    /// w ← shrink·w + advance·x, where `dot` is w·x before the step.
    #[inline(always)] // It is called in the loop over rows.
    pub fn step(&mut self, shrink: f64, advance: f64, x: &Features<'_>, dot: f64) {
        if shrink != 1.0 {
            self.scale_by(shrink);
        }
        // Without features nothing moves, and the square of a long step times 0 would be no number.
        if advance != 0.0 && x.norm_sq() > 0.0 {
            self.credit += x.len() as u64;
            let k = advance * self.inverse_scale();
            if self.accounts.are_open() {
                self.accounts.around(&mut self.vector, x, |v| vector::add(v, k, x));
            } else {
                vector::add(&mut self.vector, k, x);
            }
            let moved = advance * advance * x.norm_sq();
            let grain = (x.len() as f64 / 4.0 + 16.0) * f64::EPSILON;
            self.norm_error += grain * (self.norm_sq + self.norm_error + moved);
            self.norm_sq = (self.norm_sq + (2.0 * shrink * advance * dot + moved)).max(0.0);
        }
    }

    /// 1/c. It is known before the step is, so that the step need not wait for a quotient.
    #[inline(always)] // It is called in the loop over rows.
    fn inverse_scale(&self) -> f64 {
        1.0 / self.scale
    }

    /// w ← k·w
    #[inline(always)] // It is called in the loop over rows.
    pub fn scale_by(&mut self, k: f64) {
        self.scale *= k;
        self.norm_sq *= k * k;
        self.norm_error = k * k * self.norm_error + SCALE_GRAIN * self.norm_sq;
        if !SCALE_RANGE.contains(&self.scale.abs()) {
            self.fold();
        }
    }

    /// ‖w‖², to a relative 1e-9. It is the running value, or computed from scratch if that is not
    /// precise enough.
    #[inline]
    pub fn norm_sq(&self) -> f64 {
        if self.is_settled() { self.norm_sq } else { self.measured() }
    }

    /// How many passes over all coordinates were made since the start, for any reason.
    pub fn passes(&self) -> u64 {
        self.passes
    }

    /// ‖w‖, to a relative 1e-9.
    #[inline]
    pub fn norm(&self) -> f64 {
        self.norm_sq().sqrt()
    }

    /// Makes the next `norm_sq` O(1).
    #[inline]
    pub fn settle_norm(&mut self) {
        if !self.is_settled() {
            self.measure();
        }
    }

    /// Whether ‖w‖ > radius is possible, as far as the running norm can tell.
    #[inline(always)] // It is called in the loop over rows.
    pub(crate) fn can_exceed(&self, radius: f64) -> bool {
        self.norm_sq + self.norm_error > radius * radius
    }

    #[inline]
    fn is_settled(&self) -> bool {
        self.norm_error <= NORM_TOLERANCE * self.norm_sq
    }

    /// Clips the coordinates of x: w_i becomes the nearest number to w_i in the interval of i,
    /// which contains 0.
    #[inline]
    pub(crate) fn clip_at(&mut self, x: &Features<'_>, interval: impl Fn(usize) -> (f64, f64)) {
        let scale = self.scale;
        let gone = if self.accounts.are_open() {
            self.accounts.around(&mut self.vector, x, |v| vector::clip(v, scale, x, interval))
        } else {
            vector::clip(&mut self.vector, scale, x, interval)
        };
        // Every term of the sum is at most its w_i², and so is the cost of the rounding of w_i.
        let grain = (x.len() as f64 + 16.0) * f64::EPSILON;
        self.norm_error += grain * (self.norm_sq + self.norm_error);
        self.norm_sq = (self.norm_sq - gone).max(0.0);
    }

    /// Brings the scale back to 1. A scale of 0 clears the vector.
    #[cold]
    fn fold(&mut self) {
        self.pass();
        let scale = std::mem::replace(&mut self.scale, 1.0);
        if self.accounts.are_open() {
            self.accounts.scale(&mut self.vector, scale);
        } else {
            self.vector.iter_mut().for_each(|v| *v *= scale);
        }
        if scale == 0.0 {
            (self.norm_sq, self.norm_error) = (0.0, 0.0);
        }
    }

    /// Computes the norm from scratch.
    #[cold]
    fn measure(&mut self) {
        self.norm_sq = self.measured();
        self.norm_error = NORM_GRAIN * self.norm_sq;
        self.pass();
    }

    /// ‖w‖² from v: from the accounts, or by a pass over all coordinates. Squares are added up
    /// exactly, so the order of the coordinates makes no difference.
    fn measured(&self) -> f64 {
        if self.accounts.are_open() {
            self.accounts.norm_sq(self.scale)
        } else {
            ExactSum::of_squares(self.vector.iter().copied()).times_square(self.scale)
        }
    }

    /// Pays for a pass over all coordinates. If the credit does not cover it, it opens the
    /// accounts, so that no further pass is needed.
    fn pass(&mut self) {
        if self.accounts.are_open() {
            return;
        }
        self.passes += 1;
        match self.credit.checked_sub(self.vector.len() as u64) {
            Some(left) => self.credit = left,
            None => self.accounts.open(&self.vector),
        }
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
            w.settle_norm();
            penalties += w.norm_sq();
            w.step(1.0, 0.1 * sign, &x, dot);
            if w.can_exceed(0.5) {
                w.settle_norm();
                w.scale_by(0.5 / w.norm());
            }
        }
        assert!(w.passes() < 20, "{} passes", w.passes());
        assert!(penalties > 0.0);
        let exact = w.iter().map(|w| w * w).sum::<f64>().sqrt();
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

    #[test]
    fn a_long_step_without_features_goes_nowhere() {
        let mut w = known([3.0, 4.0]);
        w.step(1.0, 1e200, &Features::new(&[], &[]).unwrap(), 0.0);
        assert_eq!((w.norm_sq(), w.norm_error, w.can_exceed(4.9)), (25.0, 0.0, true));
    }

    /// Weights whose running norm is exact.
    fn known(vector: [f64; 2]) -> Weights {
        let norm_sq = vector.iter().map(|v| v * v).sum();
        Weights::from(Stored { scale: 1.0, vector: vector.into(), norm_sq, norm_error: 0.0 })
    }

    /// Checks, by products without rounding, that the error of the running norm is within its
    /// bound.
    fn knows_its_error(w: &Weights) {
        let mut off = ExactSum::default();
        for &v in &w.vector {
            let high = w.scale * v;
            let low = w.scale.mul_add(v, -high);
            off.add_product(high, high);
            off.add_product(2.0 * high, low);
            off.add_product(low, low);
        }
        off.add(-w.norm_sq);
        let (off, allowed) = (off.value().abs(), w.norm_error);
        assert!(off <= allowed, "{off:e} and not {allowed:e}: {:?}", w.vector);
        assert!(allowed <= 1e-13 * w.norm_sq, "{allowed:e} is too much: {:?}", w.vector);
    }

    fn whole_numbers() -> impl Iterator<Item = [f64; 2]> {
        (1..100).map(|n| [f64::from(n), f64::from(n + 1)])
    }

    #[test]
    fn scaling_knows_what_it_rounds() {
        for v in whole_numbers() {
            let mut w = known(v);
            w.scale_by(1.0 / 3.0);
            knows_its_error(&w);
        }
    }

    #[test]
    fn a_step_knows_what_it_rounds() {
        let values = features(1.0);
        let x = Features::new(&[0, 1], &values).unwrap();
        for v in whole_numbers() {
            let mut w = known(v);
            w.step(1.0, 0.1, &x, w.dot(&x));
            knows_its_error(&w);
        }
    }

    #[test]
    fn clipping_knows_what_it_rounds() {
        let x = Features::new(&[0, 1], &[1.0, 1.0]).unwrap();
        for v in whole_numbers() {
            let mut w = known(v);
            w.clip_at(&x, |i| (0.0, v[i] * 0.7));
            knows_its_error(&w);
        }
    }

    #[test]
    fn a_norm_computed_anew_knows_what_it_rounds() {
        for v in whole_numbers() {
            let mut w = known(v);
            w.scale_by(1.0 / 3.0);
            w.measure();
            knows_its_error(&w);
        }
    }

    /// ‖w‖ = 1 by the coordinates, and the running value is off by as much as it may be.
    #[test]
    fn a_norm_that_may_be_off_is_not_relied_on() {
        for off in [1e-12, 1e-9, 1e-3, 1.0] {
            let vector = vec![0.6, 0.8];
            let stored = Stored { scale: 1.0, vector, norm_sq: 1.0 - off, norm_error: off };
            let w = Weights::from(stored);
            assert!((w.norm_sq() - 1.0).abs() <= NORM_TOLERANCE, "{off}: {}", w.norm_sq());
            assert!((w.norm() - 1.0).abs() <= 1e-9, "{off}: {}", w.norm());
            assert!(w.can_exceed(1.0 - 1e-14));
        }
    }
}
