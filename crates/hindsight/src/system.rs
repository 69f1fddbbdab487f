//! Newton's linear system for many columns: (Σ w_t x_t x_tᵀ + diag(e) + β zzᵀ)s = r.
//!
//! Only examples with w_t > 0 take part. The system is solved by conjugate gradients with its
//! diagonal as the preconditioner; where that takes more products than it pays, by a Cholesky
//! factor of the smaller of two matrices: d×d as it stands, or with E = diag(e) and Y the n rows
//! that take part (Woodbury)
//!
//! ```text
//! s = E⁻¹(r − Yᵀ(W⁻¹ + Y E⁻¹Yᵀ)⁻¹ Y E⁻¹r)
//! ```
//!
//! The solutions only steer: nothing that is proved rests on them.

use crate::cholesky::Factor;
use crate::hessian::Hessian;
use crate::set::dot;
use nalgebra::{DMatrix, DVector};
use rueful_core::Features;

/// The largest matrix that is factored: 8 bytes times its square.
const MAX_SIDE: usize = 4000;

/// The most products of conjugate gradients before a factor is made, and where none can be.
const FEW_STEPS: usize = 60;
const MANY_STEPS: usize = 1000;

/// How exact a solution by a factor is made, relative to r.
const EXACT: f64 = 1e-10;

/// Rows with at least this part of all columns are multiplied as full ones.
const FULL: f64 = 0.1;

/// How many columns (or rows) of full rows are multiplied at once.
const STRIP: usize = 256;

/// The system.
pub(crate) struct System<'a> {
    /// The examples that take part, and their w.
    pub(crate) rows: Vec<(Features<'a>, f64)>,
    /// e, all positive.
    pub(crate) extra: Vec<f64>,
    /// β and z
    pub(crate) along: Option<(f64, Vec<f64>)>,
}

/// A solution.
pub(crate) struct Solved {
    pub(crate) s: Vec<f64>,
    /// How many products with the matrix it took.
    pub(crate) products: usize,
    /// Whether conjugate gradients alone were too slow.
    pub(crate) factored: bool,
}

/// How a system is turned around directly.
enum Direct {
    Columns(Factor),
    Rows(Factor),
}

impl System<'_> {
    /// Solves for s, to a residual of at most `accuracy` times r in the norm of the preconditioner
    /// if it can be had by at most so many products. With `factor_first` it does not try without a
    /// factor.
    pub(crate) fn solve(
        &self,
        r: &[f64],
        accuracy: f64,
        factor_first: bool,
        most: usize,
    ) -> Solved {
        let can_factor = self.side() <= MAX_SIDE;
        let mut steps = 0;
        let mut s = vec![0.0; r.len()];
        if !(can_factor && factor_first) {
            let inverse: Vec<f64> = self.diagonal().iter().map(|d| 1.0 / d).collect();
            let precondition = |r: &[f64]| r.iter().zip(&inverse).map(|(r, m)| r * m).collect();
            let steps_allowed = most.min(if can_factor { FEW_STEPS } else { MANY_STEPS });
            let (made, done) = self.iterate(r, accuracy, steps_allowed, &precondition, &mut s);
            steps = made;
            if done || !can_factor || made >= most {
                return Solved { s, products: steps, factored: false };
            }
        }
        let Some(direct) = self.factor() else {
            return Solved { s, products: steps, factored: false };
        };
        s.fill(0.0);
        let apply = |r: &[f64]| self.apply(&direct, r);
        let (more, _) = self.iterate(r, EXACT, (most - steps).min(4), &apply, &mut s);
        Solved { s, products: steps + more, factored: true }
    }

    /// How many nonzeros take part.
    pub(crate) fn nonzeros(&self) -> usize {
        self.rows.iter().map(|(x, _)| x.len()).sum()
    }

    fn is_full(&self) -> bool {
        self.nonzeros() as f64 >= FULL * (self.rows.len() * self.extra.len()) as f64
    }

    /// The rows of the smaller matrix.
    fn side(&self) -> usize {
        (self.rows.len() + 1).min(self.extra.len())
    }

    fn diagonal(&self) -> Vec<f64> {
        let mut diagonal = self.extra.clone();
        for (x, w) in &self.rows {
            x.iter().for_each(|(i, x)| diagonal[i] += w * x * x);
        }
        if let Some((beta, z)) = &self.along {
            diagonal.iter_mut().zip(z).for_each(|(d, z)| *d += beta * z * z);
        }
        diagonal
    }

    fn product(&self, v: &[f64]) -> Vec<f64> {
        let mut product: Vec<f64> = self.extra.iter().zip(v).map(|(e, v)| e * v).collect();
        for (x, w) in &self.rows {
            x.add_to(&mut product, w * x.dot(v));
        }
        if let Some((beta, z)) = &self.along {
            let k = beta * dot(z, v);
            product.iter_mut().zip(z).for_each(|(p, z)| *p += k * z);
        }
        product
    }

    /// Conjugate gradients from s = 0: how many products, and whether they were enough.
    fn iterate(
        &self,
        r: &[f64],
        accuracy: f64,
        most: usize,
        precondition: &dyn Fn(&[f64]) -> Vec<f64>,
        s: &mut [f64],
    ) -> (usize, bool) {
        let mut residual = r.to_vec();
        let mut near = precondition(&residual);
        let mut left = dot(&residual, &near);
        let target = accuracy * accuracy * left;
        let mut direction = near.clone();
        for step in 0..most {
            if left <= target {
                return (step, true);
            }
            let bent = self.product(&direction);
            let curved = dot(&direction, &bent);
            if !(curved > 0.0 && curved.is_finite()) {
                return (step, false);
            }
            let length = left / curved;
            for i in 0..s.len() {
                s[i] += length * direction[i];
                residual[i] -= length * bent[i];
            }
            near = precondition(&residual);
            let now = dot(&residual, &near);
            for i in 0..s.len() {
                direction[i] = near[i] + now / left * direction[i];
            }
            left = now;
        }
        (most, left <= target)
    }

    fn factor(&self) -> Option<Direct> {
        if self.extra.len() <= self.rows.len() {
            Some(Direct::Columns(Factor::new(self.by_columns())?))
        } else {
            Some(Direct::Rows(Factor::new(self.by_rows())?))
        }
    }

    /// Σ w_t x_t x_tᵀ + diag(e) + β zzᵀ
    fn by_columns(&self) -> DMatrix<f64> {
        let d = self.extra.len();
        let mut a = if self.is_full() {
            let mut a = DMatrix::zeros(d, d);
            for rows in self.rows.chunks(STRIP) {
                let mut strip = DMatrix::zeros(d, rows.len());
                for (k, (x, w)) in rows.iter().enumerate() {
                    let root = w.sqrt();
                    let mut column = strip.column_mut(k);
                    x.iter().for_each(|(i, x)| column[i] = root * x);
                }
                add_square(&mut a, &strip);
            }
            a
        } else {
            let mut hessian = Hessian::new(d);
            self.rows.iter().for_each(|(x, w)| hessian.add(*w, x));
            hessian.finish();
            hessian.damped(0.0, 0.0)
        };
        for i in 0..d {
            a[(i, i)] += self.extra[i];
        }
        if let Some((beta, z)) = &self.along {
            for j in 0..d {
                for i in j..d {
                    a[(i, j)] += beta * z[i] * z[j];
                }
            }
        }
        a
    }

    /// W⁻¹ + Y E⁻¹Yᵀ, where the last row of Y is z.
    fn by_rows(&self) -> DMatrix<f64> {
        let n = self.rows.len() + usize::from(self.along.is_some());
        let mut k = if self.is_full() { self.full_products(n) } else { self.sparse_products(n) };
        for (j, (x, w)) in self.rows.iter().enumerate() {
            k[(j, j)] += 1.0 / w;
            if let Some((_, z)) = &self.along {
                k[(n - 1, j)] = x.iter().map(|(i, x)| x * z[i] / self.extra[i]).sum();
            }
        }
        if let Some((beta, z)) = &self.along {
            let own: f64 = z.iter().zip(&self.extra).map(|(z, e)| z * z / e).sum();
            k[(n - 1, n - 1)] = own + 1.0 / beta;
        }
        k
    }

    /// Y E⁻¹Yᵀ row by row.
    fn sparse_products(&self, n: usize) -> DMatrix<f64> {
        let mut k = DMatrix::zeros(n, n);
        let mut spread = vec![0.0; self.extra.len()];
        for (j, (x, _)) in self.rows.iter().enumerate() {
            x.iter().for_each(|(i, x)| spread[i] = x / self.extra[i]);
            for (i, (other, _)) in self.rows.iter().enumerate().skip(j) {
                k[(i, j)] = other.dot(&spread);
            }
            x.iter().for_each(|(i, _)| spread[i] = 0.0);
        }
        k
    }

    /// The same by strips of columns.
    fn full_products(&self, n: usize) -> DMatrix<f64> {
        let mut k = DMatrix::zeros(n, n);
        let roots: Vec<f64> = self.extra.iter().map(|e| e.sqrt()).collect();
        for (at, roots) in roots.chunks(STRIP).enumerate() {
            let start = at * STRIP;
            let mut strip = DMatrix::zeros(n, roots.len());
            for (row, (x, _)) in self.rows.iter().enumerate() {
                let indices = x.indices();
                let from = indices.partition_point(|&i| (i as usize) < start);
                for (&i, &value) in indices[from..].iter().zip(&x.values()[from..]) {
                    let column = i as usize - start;
                    if column >= roots.len() {
                        break;
                    }
                    strip[(row, column)] = f64::from(value) / roots[column];
                }
            }
            add_square(&mut k, &strip);
        }
        k
    }

    fn apply(&self, direct: &Direct, r: &[f64]) -> Vec<f64> {
        match direct {
            Direct::Columns(factor) => {
                let mut s = DVector::from_column_slice(r);
                factor.solve(&mut s);
                s.as_slice().to_vec()
            }
            Direct::Rows(factor) => {
                let mut s: Vec<f64> = r.iter().zip(&self.extra).map(|(r, e)| r / e).collect();
                let across = self.rows.iter().map(|(x, _)| x.dot(&s));
                let last = self.along.as_ref().map(|(_, z)| dot(z, &s));
                let across: Vec<f64> = across.chain(last).collect();
                let mut across = DVector::from_vec(across);
                factor.solve(&mut across);
                let mut back = vec![0.0; s.len()];
                for ((x, _), &k) in self.rows.iter().zip(across.iter()) {
                    x.add_to(&mut back, k);
                }
                if let Some((_, z)) = &self.along {
                    let k = across[across.len() - 1];
                    back.iter_mut().zip(z).for_each(|(b, z)| *b += k * z);
                }
                s.iter_mut().zip(back.iter().zip(&self.extra)).for_each(|(s, (b, e))| *s -= b / e);
                s
            }
        }
    }
}

/// The lower triangle of A + BBᵀ.
fn add_square(a: &mut DMatrix<f64>, b: &DMatrix<f64>) {
    let n = a.nrows();
    let turned = b.transpose();
    for from in (0..n).step_by(STRIP) {
        let width = STRIP.min(n - from);
        a.view_mut((from, from), (n - from, width)).gemm(
            1.0,
            &b.rows(from, n - from),
            &turned.columns(from, width),
            1.0,
        );
    }
}
