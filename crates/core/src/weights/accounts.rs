//! Exact accounts of a vector: the sum of its squares to the last bit, and where it is not zero.

use super::indices::Indices;
use super::squares::Squares;
use serde::{Deserialize, Serialize};

/// What is known of a vector v once its accounts are open. Each change of a coordinate is entered
/// in constant time, and both Σ v_i² and a new scale cost nothing that depends on the dimension.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Accounts {
    open: bool,
    squares: Squares,
    /// Contains every i with v_i ≠ 0, once open.
    support: Indices,
}

impl Accounts {
    #[inline]
    pub(super) fn are_open(&self) -> bool {
        self.open
    }

    /// Makes room for coordinates below `dimension`.
    pub(super) fn grow(&mut self, dimension: usize) {
        self.support.grow(dimension);
    }

    /// Begins with v as it is: one pass over all coordinates.
    pub(super) fn open(&mut self, v: &[f64]) {
        self.open = true;
        for (i, &v) in v.iter().enumerate().filter(|&(_, &v)| v != 0.0) {
            self.squares.add(v);
            self.support.insert(i);
        }
        self.squares.carry();
    }

    /// Whether what was read from somewhere can be the accounts of v.
    pub(super) fn are_sound(&self, v: &[f64]) -> bool {
        let is_entered = |(i, &v): (usize, &f64)| v == 0.0 || self.support.has(i);
        let are_kept = || self.squares == Squares::of(v) && v.iter().enumerate().all(is_entered);
        self.support.is_sound(v.len())
            && if self.open { are_kept() } else { self.squares == Squares::default() }
    }

    /// Enters that v_i was `old` and is `new`.
    #[inline]
    pub(super) fn enter(&mut self, i: usize, old: f64, new: f64) {
        self.squares.remove(old);
        self.squares.add(new);
        self.support.insert(i);
    }

    /// Ends a series of entries.
    pub(super) fn settle(&mut self) {
        self.squares.carry();
    }

    /// v ← k·v, where v is not zero.
    pub(super) fn scale(&mut self, v: &mut [f64], k: f64) {
        let Self { squares, support, .. } = self;
        squares.clear();
        support.retain(|i| {
            v[i] *= k;
            squares.add(v[i]);
            v[i] != 0.0
        });
        squares.carry();
    }

    /// k²·Σ v_i²
    pub(super) fn norm_sq(&self, k: f64) -> f64 {
        self.squares.times_square(k)
    }
}
