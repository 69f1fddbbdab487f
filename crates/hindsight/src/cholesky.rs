//! Cholesky factors by blocks, for matrices that do not fit into the caches.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

/// The number of columns that are eliminated at once.
const BLOCK: usize = 64;

/// The factor L with A = LLᵀ.
#[derive(Debug, Clone)]
pub(crate) struct Factor {
    l: DMatrix<f64>,
}

impl Factor {
    /// The factor of a positive definite matrix that is given by its lower triangle. `None` if the
    /// matrix is not positive definite, as far as rounding lets one see.
    ///
    /// It goes block column by block column. The diagonal block is factored by the textbook. The
    /// panel below it is multiplied by the inverse of its transposed factor, and the square of the
    /// panel is then subtracted from the rest.
    pub(crate) fn new(mut a: DMatrix<f64>) -> Option<Self> {
        let n = a.nrows();
        let mut start = 0;
        while start < n {
            let size = BLOCK.min(n - start);
            let end = start + size;
            let own = Cholesky::<f64, Dyn>::new(a.view((start, start), (size, size)).into_owned())?;
            let l = own.l();
            let inverse = l.solve_lower_triangular(&DMatrix::identity(size, size))?.transpose();
            a.view_mut((start, start), (size, size)).copy_from(&l);
            let panel = a.view((end, start), (n - end, size)) * inverse;
            a.view_mut((end, start), (n - end, size)).copy_from(&panel);
            let turned = panel.transpose();
            let mut from = end;
            while from < n {
                let width = BLOCK.min(n - from);
                a.view_mut((from, from), (n - from, width)).gemm(
                    -1.0,
                    &panel.rows(from - end, n - from),
                    &turned.columns(from - end, width),
                    1.0,
                );
                from += width;
            }
            start = end;
        }
        Some(Self { l: a })
    }

    /// b ← A⁻¹b.
    pub(crate) fn solve(&self, b: &mut DVector<f64>) {
        self.solve_half(b);
        let n = b.len();
        let l = self.l.as_slice();
        for j in (0..n).rev() {
            let column = &l[j * n..(j + 1) * n];
            let below: f64 =
                b.as_slice()[j + 1..].iter().zip(&column[j + 1..]).map(|(b, l)| b * l).sum();
            b[j] = (b[j] - below) / column[j];
        }
    }

    /// b ← L⁻¹b.
    pub(crate) fn solve_half(&self, b: &mut DVector<f64>) {
        let n = b.len();
        let l = self.l.as_slice();
        for j in 0..n {
            let column = &l[j * n..(j + 1) * n];
            b[j] /= column[j];
            let bj = b[j];
            for (b, l) in b.as_mut_slice()[j + 1..].iter_mut().zip(&column[j + 1..]) {
                *b -= bj * l;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rueful_checks::Rng;

    #[test]
    fn it_solves_what_the_plain_factor_solves() {
        let mut rng = Rng::new(4);
        for n in [1, 2, 63, 64, 65, 130, 200] {
            let b = DMatrix::from_fn(n, n, |_, _| rng.bell());
            let mut a = &b * b.transpose();
            (0..n).for_each(|i| a[(i, i)] += 1.0);
            let right = DVector::from_fn(n, |_, _| rng.bell());
            let plain = Cholesky::new(a.clone()).unwrap().solve(&right);
            // Only the lower triangle counts.
            let lower = DMatrix::from_fn(n, n, |i, j| if i < j { f64::NAN } else { a[(i, j)] });
            let mut x = right;
            Factor::new(lower).unwrap().solve(&mut x);
            assert!((x - plain).norm() < 1e-9, "{n}");
        }
        assert!(Factor::new(DMatrix::from_element(100, 100, 1.0)).is_none());
    }
}
