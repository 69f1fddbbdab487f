//! Sums of h·x xᵀ, the second derivatives of a cost.

use nalgebra::DMatrix;
use rueful_core::Features;

/// The number of gapless rows that are added at once.
const BLOCK: usize = 4;

/// The lower triangle of a symmetric matrix, row by row, d entries each.
#[derive(Debug, Clone)]
pub(crate) struct Hessian {
    dimension: usize,
    entries: Vec<f64>,
    /// Rows without gaps that wait for others, and their weights.
    rows: [Vec<f64>; BLOCK],
    weights: [f64; BLOCK],
    waiting: usize,
}

impl Hessian {
    pub(crate) fn new(dimension: usize) -> Self {
        Self {
            dimension,
            entries: vec![0.0; dimension * dimension],
            rows: std::array::from_fn(|_| vec![0.0; dimension]),
            weights: [0.0; BLOCK],
            waiting: 0,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.entries.fill(0.0);
        self.waiting = 0;
    }

    /// H ← H + h·x xᵀ, once `finish` is called. Rows without gaps, as dense data has, are gathered,
    /// so that H is read and written once for several of them.
    #[inline]
    pub(crate) fn add(&mut self, h: f64, x: &Features<'_>) {
        if h == 0.0 || !h.is_finite() {
            return;
        }
        if x.len() == self.dimension {
            self.gather(h, x.values().iter().map(|&x| x.into()));
        } else {
            self.scatter(h, x);
        }
    }

    /// H ← H + h·q qᵀ for a row of other coordinates.
    #[inline]
    pub(crate) fn add_row(&mut self, h: f64, q: &[f64]) {
        if h != 0.0 && h.is_finite() {
            self.gather(h, q.iter().copied());
        }
    }

    fn gather(&mut self, h: f64, values: impl Iterator<Item = f64>) {
        for (entry, x) in self.rows[self.waiting].iter_mut().zip(values) {
            *entry = x;
        }
        self.weights[self.waiting] = h;
        self.waiting += 1;
        if self.waiting == BLOCK {
            self.flush();
        }
    }

    fn scatter(&mut self, h: f64, x: &Features<'_>) {
        let (indices, values) = (x.indices(), x.values());
        for (k, (&i, &xi)) in indices.iter().zip(values).enumerate() {
            let scaled = h * f64::from(xi);
            let start = i as usize * self.dimension;
            let row = &mut self.entries[start..=start + i as usize];
            for (&j, &xj) in indices[..=k].iter().zip(values) {
                row[j as usize] += scaled * f64::from(xj);
            }
        }
    }

    /// Adds factor·(diag p − ppᵀ) to the block whose first row and column are given. `alive` are the
    /// places of p that count.
    pub(crate) fn add_block(
        &mut self,
        (row, column): (usize, usize),
        factor: f64,
        alive: &[usize],
        p: &[f64],
    ) {
        if factor == 0.0 || !factor.is_finite() {
            return;
        }
        for &own in alive {
            let start = (row + own) * self.dimension + column;
            let entries = &mut self.entries[start..start + p.len()];
            let scaled = factor * p[own];
            alive.iter().for_each(|&other| entries[other] -= scaled * p[other]);
            entries[own] += scaled;
        }
    }

    /// Adds the waiting rows.
    fn flush(&mut self) {
        let [r0, r1, r2, r3] = &self.rows;
        let [w0, w1, w2, w3] = self.weights;
        for i in 0..self.dimension {
            let (a, b, c, d) = (w0 * r0[i], w1 * r1[i], w2 * r2[i], w3 * r3[i]);
            let row = &mut self.entries[i * self.dimension..][..=i];
            let lanes = r0.iter().zip(r1).zip(r2).zip(r3);
            for (entry, (((x0, x1), x2), x3)) in row.iter_mut().zip(lanes) {
                *entry += (a * x0 + b * x1) + (c * x2 + d * x3);
            }
        }
        self.waiting = 0;
    }

    /// Adds the rows that still wait. It must be called after the last row.
    pub(crate) fn finish(&mut self) {
        self.weights[self.waiting..].fill(0.0);
        self.flush();
    }

    /// The lower triangle, row by row, d entries each.
    pub(crate) fn into_entries(mut self) -> Vec<f64> {
        self.finish();
        self.entries
    }

    /// H + shift·I with a little more on the diagonal. The addition is relative to each diagonal
    /// entry, because columns may differ in scale by many orders of magnitude.
    pub(crate) fn damped(&self, shift: f64, damping: f64) -> DMatrix<f64> {
        let d = self.dimension;
        let mut a = DMatrix::from_row_slice(d, d, &self.entries);
        let trace: f64 = (0..d).map(|i| a[(i, i)]).sum();
        let least = (1e-18 * trace / d as f64).max(1e-200);
        for i in 0..d {
            let own = a[(i, i)].max(least);
            a[(i, i)] = own + shift + damping * own;
        }
        a
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rueful_checks::Rng;
    use rueful_core::Batch;

    #[test]
    fn rows_with_and_without_gaps_add_up() {
        let mut rng = Rng::new(1);
        for rows in 0..10 {
            let mut batch = Batch::default();
            for row in 0..rows {
                let values: Vec<f32> = (0..5).map(|_| rng.bell() as f32).collect();
                let indices: &[u32] = if row % 3 == 1 { &[0, 2, 4] } else { &[0, 1, 2, 3, 4] };
                batch.push(indices, &values[..indices.len()], 1.0).unwrap();
            }
            let mut hessian = Hessian::new(5);
            let mut plain = DMatrix::<f64>::zeros(5, 5);
            for (row, example) in batch.iter().enumerate() {
                hessian.add(row as f64, &example.features);
                for (i, x) in example.features.iter() {
                    for (j, y) in example.features.iter() {
                        plain[(i, j)] += row as f64 * x * y;
                    }
                }
            }
            hessian.finish();
            for i in 0..5 {
                for j in 0..=i {
                    assert!((hessian.entries[i * 5 + j] - plain[(i, j)]).abs() < 1e-12);
                }
            }
        }
    }
}
