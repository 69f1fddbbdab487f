//! Sums of h·x xᵀ, the second derivatives of a cost.

use nalgebra::DMatrix;
use rueful_core::Features;

/// The lower triangle of a symmetric matrix, row by row, d entries each.
#[derive(Debug, Clone)]
pub(crate) struct Hessian {
    dimension: usize,
    entries: Vec<f64>,
}

impl Hessian {
    pub(crate) fn new(dimension: usize) -> Self {
        Self { dimension, entries: vec![0.0; dimension * dimension] }
    }

    pub(crate) fn dimension(&self) -> usize {
        self.dimension
    }

    pub(crate) fn clear(&mut self) {
        self.entries.fill(0.0);
    }

    /// H ← H + h·x xᵀ. Rows without gaps, as dense data has, take a loop without indices.
    pub(crate) fn add(&mut self, h: f64, x: &Features<'_>) {
        let (indices, values) = (x.indices(), x.values());
        let gapless = indices.last().is_some_and(|&last| last as usize + 1 == indices.len());
        for (k, (&i, &xi)) in indices.iter().zip(values).enumerate() {
            let scaled = h * f64::from(xi);
            let start = i as usize * self.dimension;
            let row = &mut self.entries[start..=start + i as usize];
            if gapless {
                for (entry, &xj) in row.iter_mut().zip(values) {
                    *entry += scaled * f64::from(xj);
                }
            } else {
                for (&j, &xj) in indices[..=k].iter().zip(values) {
                    row[j as usize] += scaled * f64::from(xj);
                }
            }
        }
    }

    /// H + shift·I with a little more on the diagonal, relative to its mean.
    pub(crate) fn damped(&self, shift: f64, damping: f64) -> DMatrix<f64> {
        let d = self.dimension;
        let mut a = DMatrix::from_row_slice(d, d, &self.entries);
        let trace: f64 = (0..d).map(|i| a[(i, i)]).sum();
        let extra = shift + (damping * trace / d as f64).max(f64::MIN_POSITIVE);
        for i in 0..d {
            a[(i, i)] += extra;
        }
        a
    }
}
