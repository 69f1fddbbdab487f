//! The pool combines lanes, filters and rates by a weighted sum of their logarithms, for every
//! class.
//!
//! ```text
//! score_c = Σ_k β_k ln p_kc
//! ```
//!
//! One step of a small Kalman filter in every round learns β. It learns the true class against the
//! rest, along d = ln p_y − Σ_{c≠y} r_c ln p_c, where r are the probabilities of the others among
//! themselves.

use super::super::filters::FILTERS;
use super::super::lanes::LANES;
use super::super::merge::{Gaussian, Parts, Rule};
use super::rates::RATES;
use crate::elementary::exp;
use serde::{Deserialize, Serialize};

/// The number of inputs: lanes, filters and rates.
pub(super) const POOLED: usize = LANES + FILTERS + RATES;
/// The length of arrays of inputs.
const ROOM: usize = 16;
/// The variance that weights start with.
const PRIOR: f64 = 1.0;
/// Scores are kept within ± this.
const FARTHEST: f64 = 30.0;
/// Slopes are at most this, so that weights stay finite for any importance.
const STEEPEST: f64 = 1e15;

/// Variances are taken to be at least this.
const LEAST: f64 = 1e-12;

/// A number for each input.
pub(super) type Inputs = [f64; ROOM];

/// The weights β of the inputs, and their covariance P.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Pool {
    weights: Inputs,
    rows: [Inputs; ROOM],
}

impl Pool {
    /// A pool that starts with the mean of lanes and filters.
    pub(super) fn new() -> Self {
        let (mut weights, mut rows) = ([0.0; ROOM], [[0.0; ROOM]; ROOM]);
        weights[..LANES + FILTERS].fill(1.0 / (LANES + FILTERS) as f64);
        rows.iter_mut().enumerate().take(POOLED).for_each(|(k, row)| row[k] = PRIOR);
        Self { weights, rows }
    }

    /// β
    #[inline(always)]
    pub(super) fn weights(&self) -> &Inputs {
        &self.weights
    }

    /// Learns from the true class against the rest. `difference` is d, and `z` is how much the
    /// score of the true class exceeds that of the others together.
    #[inline(always)]
    pub(super) fn learn(&mut self, difference: &Inputs, z: f64, importance: f64) {
        let mut product = [0.0; ROOM];
        for (row, &d) in self.rows.iter().zip(difference) {
            for k in 0..ROOM {
                product[k] += row[k] * d;
            }
        }
        let variance = self.sound_variance(&product, difference);
        let (slope, curvature) = step(z.clamp(-FARTHEST, FARTHEST), variance, importance);
        let gain = curvature / (1.0 + curvature * variance);
        for (at, row) in self.rows.iter_mut().enumerate() {
            self.weights[at] += slope * product[at];
            let share = gain * product[at];
            for k in 0..ROOM {
                row[k] -= share * product[k];
            }
            row[at] = row[at].max(0.0);
        }
    }

    /// dᵀP d, or the least larger number s for which (P d)_i² ≤ s·P_ii holds. Rounding can make P
    /// cease to be a covariance, and then this bounds the effect of any round.
    #[inline(always)]
    fn sound_variance(&self, product: &Inputs, difference: &Inputs) -> f64 {
        let plain: f64 = (0..ROOM).map(|k| product[k] * difference[k]).sum();
        let wanted = |k: usize| product[k] * (product[k] / self.rows[k][k].max(LEAST));
        (0..ROOM).map(wanted).fold(plain.max(0.0), f64::max)
    }

    /// Handles the retirement of the filters: the lanes share their weight.
    pub(super) fn retire(&mut self) {
        let retired = LANES..LANES + FILTERS;
        let lost: f64 = self.weights[retired.clone()].iter().sum();
        self.weights[..LANES].iter_mut().for_each(|weight| *weight += lost / LANES as f64);
        for at in retired {
            self.weights[at] = 0.0;
            self.rows[at] = [0.0; ROOM];
            self.rows.iter_mut().for_each(|row| row[at] = 0.0);
        }
    }

    /// The weights of some inputs, with their covariance.
    fn gaussian(&self, inputs: &[usize]) -> Gaussian {
        let row = |&at: &usize| inputs.iter().map(move |&other| self.rows[at][other]);
        Gaussian {
            mean: inputs.iter().map(|&at| self.weights[at]).collect(),
            covariance: inputs.iter().flat_map(row).collect(),
        }
    }

    /// The pool that several make. The filters have retired from all of them, or from none.
    pub(super) fn merged(parts: &Parts<'_, Self>, has_filters: bool) -> Self {
        let is_here = |at: &usize| has_filters || !(LANES..LANES + FILTERS).contains(at);
        let inputs: Vec<usize> = (0..POOLED).filter(is_here).collect();
        let base = parts.base.gaussian(&inputs);
        let all: Vec<_> = parts.parts.iter().map(|(part, _)| part.gaussian(&inputs)).collect();
        let weighed = all.iter().zip(&parts.parts).map(|(one, &(_, slices))| (one, slices));
        let merged = Gaussian::merged(&Parts { base: &base, parts: weighed.collect() }, Rule::Sum);
        let mut pool = parts.base.clone();
        for (place, &at) in inputs.iter().enumerate() {
            pool.weights[at] = merged.mean[place];
            let row = merged.covariance[place * inputs.len()..].iter().zip(&inputs);
            row.for_each(|(&p, &other)| pool.rows[at][other] = p);
        }
        pool
    }

    pub(super) fn is_sound(&self) -> bool {
        self.weights.iter().chain(self.rows.iter().flatten()).all(|x| x.is_finite())
    }
}

/// The logistic step in doubles, for a label that came: a = c(1 − σ(z + s a)) and the curvature cσ'
/// there.
#[inline(always)]
fn step(z: f64, variance: f64, importance: f64) -> (f64, f64) {
    let sigmoid = |z: f64| 1.0 / (1.0 + exp(-z));
    let p = sigmoid(z);
    let chord = if z.abs() < 1e-3 { 0.25 } else { (p - 0.5) / z };
    let first = importance * (1.0 - p) / (1.0 + importance * variance * chord);
    let q = sigmoid(z + variance * first);
    let curvature = importance * q * (1.0 - q);
    let newton = first - (first - importance * (1.0 - q)) / (1.0 + variance * curvature);
    let slope = if newton > 0.0 && newton < importance { newton } else { first };
    (slope.min(STEEPEST), curvature)
}

const _: () = assert!(POOLED <= ROOM);

#[cfg(test)]
mod tests {
    use super::*;

    /// One of the inputs knows the class, and the others guess.
    #[test]
    fn it_finds_who_is_right() {
        let mut pool = Pool::new();
        for t in 0..2000_u32 {
            let truth = t.is_multiple_of(3);
            let said = |k: usize| {
                let right = if k == 5 { truth } else { (t * (k as u32 + 7) / 3).is_multiple_of(2) };
                if right { 2.0 } else { -2.0 }
            };
            let sign = if truth { 1.0 } else { -1.0 };
            let mut difference = [0.0; ROOM];
            (0..POOLED).for_each(|k| difference[k] = sign * said(k));
            let z: f64 = pool.weights.iter().zip(difference).map(|(w, d)| w * d).sum();
            pool.learn(&difference, z, 1.0);
        }
        let best = (0..POOLED).max_by(|&a, &b| pool.weights[a].total_cmp(&pool.weights[b]));
        assert_eq!(best, Some(5));
        assert!(pool.weights[5] > 1.0 && pool.is_sound());
    }

    #[test]
    fn steps_are_finite_whatever_the_importance() {
        for importance in [1e-30, 1.0, 1e30] {
            for z in [-30.0, 0.0, 30.0] {
                for s in [0.0, 1.0, 1e6] {
                    let (slope, curvature) = step(z, s, importance);
                    assert!(slope.is_finite() && curvature.is_finite() && slope >= 0.0);
                }
            }
        }
    }

    #[test]
    fn weights_of_those_who_retire_are_shared() {
        let mut pool = Pool::new();
        pool.retire();
        assert!((pool.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}
