//! Exact accounts of a vector: the exact sum of its squares, and the coordinates that are not 0.

use super::indices::Indices;
use crate::exact::ExactSum;
use crate::features::Features;

/// The accounts of a vector v. Each change of a coordinate is entered in constant time. Once they
/// are open, neither Σ v_i² nor a new scale has a cost that depends on the dimension.
#[derive(Debug, Clone, Default)]
pub(super) struct Accounts {
    open: bool,
    squares: ExactSum,
    /// A superset of the i with v_i ≠ 0, once the accounts are open.
    support: Indices,
}

impl Accounts {
    #[inline]
    pub(super) fn are_open(&self) -> bool {
        self.open
    }

    /// Closed accounts, with room for coordinates below `dimension`.
    pub(super) fn closed(dimension: usize) -> Self {
        let mut accounts = Self::default();
        accounts.grow(dimension);
        accounts
    }

    /// Makes room for coordinates below `dimension`, so that opening allocates nothing.
    pub(super) fn grow(&mut self, dimension: usize) {
        self.support.grow(dimension);
    }

    /// Opens the accounts with the present v, in one pass over all coordinates.
    pub(super) fn open(&mut self, v: &[f64]) {
        self.open = true;
        for (i, &v) in v.iter().enumerate().filter(|&(_, &v)| v != 0.0) {
            self.squares.add_product(v, v);
            self.support.insert(i);
        }
        self.squares.carry();
    }

    /// Makes a change to the coordinates of x, and enters it in the accounts.
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

    /// v ← k·v, over the coordinates that are not 0.
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
