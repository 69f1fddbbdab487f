//! Exact accounts of a vector: the sum of its squares to the last bit, and where it is not zero.

use super::indices::Indices;
use crate::exact::ExactSum;
use crate::features::Features;

/// What is known of a vector v once its accounts are open. Each change of a coordinate is entered
/// in constant time, and both Σ v_i² and a new scale cost nothing that depends on the dimension.
#[derive(Debug, Clone, Default)]
pub(super) struct Accounts {
    open: bool,
    squares: ExactSum,
    /// Contains every i with v_i ≠ 0, once open.
    support: Indices,
}

impl Accounts {
    #[inline]
    pub(super) fn are_open(&self) -> bool {
        self.open
    }

    /// No accounts, with room for some of coordinates below `dimension`.
    pub(super) fn closed(dimension: usize) -> Self {
        let mut accounts = Self::default();
        accounts.grow(dimension);
        accounts
    }

    /// Makes room for coordinates below `dimension`, so that opening takes none.
    pub(super) fn grow(&mut self, dimension: usize) {
        self.support.grow(dimension);
    }

    /// Begins with v as it is: one pass over all coordinates.
    pub(super) fn open(&mut self, v: &[f64]) {
        self.open = true;
        for (i, &v) in v.iter().enumerate().filter(|&(_, &v)| v != 0.0) {
            self.squares.add_product(v, v);
            self.support.insert(i);
        }
        self.squares.carry();
    }

    /// Makes a change to the coordinates of x, and enters it.
    #[cold]
    pub(super) fn around<T>(
        &mut self,
        v: &mut [f64],
        x: &Features<'_>,
        change: impl FnOnce(&mut [f64]) -> T,
    ) -> T {
        x.indices().iter().map(|&i| v[i as usize]).for_each(|v| self.squares.remove_product(v, v));
        let changed = change(v);
        for &i in x.indices() {
            let new = v[i as usize];
            self.squares.add_product(new, new);
            self.support.insert(i as usize);
        }
        self.squares.carry();
        changed
    }

    /// v ← k·v, where v is not zero.
    pub(super) fn scale(&mut self, v: &mut [f64], k: f64) {
        let Self { squares, support, .. } = self;
        squares.clear();
        support.retain(|i| {
            v[i] *= k;
            squares.add_product(v[i], v[i]);
            v[i] != 0.0
        });
        squares.carry();
    }

    /// k²·Σ v_i²
    pub(super) fn norm_sq(&self, k: f64) -> f64 {
        self.squares.times_square(k)
    }
}
