//! Newton's linear system for many columns: (Σ w_t x_t x_tᵀ + diag(e) + β zzᵀ)s = r.
//!
//! Only examples with w_t > 0 take part. The system is solved by conjugate gradients with its
//! diagonal as the preconditioner. Where that takes too many products, it is solved by a Cholesky
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
use crate::products::{Member, Products, STRIP};
use crate::set::dot;
use nalgebra::{DMatrix, DVector};

/// The side of the largest matrix that is factored. It takes 8 bytes times its square.
const MAX_SIDE: usize = 4000;

/// The most products of conjugate gradients before a factor is made. The second number holds where
/// no factor can be made.
const FEW_STEPS: usize = 60;
const MANY_STEPS: usize = 1000;

/// The least number of rows whose products are kept from one system to the next.
const MANY_ROWS: usize = 100;

/// The accuracy of a solution by a factor, relative to r.
const EXACT: f64 = 1e-10;

/// Rows with at least this part of all columns are multiplied as full ones.
const FULL: f64 = 0.1;

/// The linear system.
pub(crate) struct System<'a> {
    /// The examples that take part.
    pub(crate) rows: Vec<Member<'a>>,
    /// The diagonal e, all positive.
    pub(crate) extra: Vec<f64>,
    /// The factor β and the vector z.
    pub(crate) along: Option<(f64, Vec<f64>)>,
}

/// The facts that are kept from earlier systems.
pub(crate) struct Memory<'a> {
    /// Whether conjugate gradients alone were too slow.
    factors: bool,
    products: Products<'a>,
}

impl Memory<'_> {
    pub(crate) fn new() -> Self {
        Self { factors: false, products: Products::new() }
    }
}

/// A solution of the system.
pub(crate) struct Solved {
    pub(crate) s: Vec<f64>,
    /// The number of products with the matrix that it took.
    pub(crate) products: usize,
}

/// A factor that solves the system directly.
enum Direct {
    Columns(Factor),
    Rows(Factor),
}

impl<'a> System<'a> {
    /// Solves for s, to a residual of at most `accuracy` times r in the norm of the preconditioner,
    /// if that takes at most `most` products. Where conjugate gradients alone were too slow before,
    /// it uses a factor at once.
    pub(crate) fn solve(
        &mut self,
        r: &[f64],
        accuracy: f64,
        memory: &mut Memory<'a>,
        most: usize,
    ) -> Solved {
        let can_factor = self.side() <= MAX_SIDE;
        let mut solved = Solved { s: vec![0.0; r.len()], products: 0 };
        if !(can_factor && memory.factors) {
            let inverse: Vec<f64> = self.diagonal().iter().map(|d| 1.0 / d).collect();
            let precondition = |r: &[f64]| r.iter().zip(&inverse).map(|(r, m)| r * m).collect();
            let steps_allowed = most.min(if can_factor { self.few_steps() } else { MANY_STEPS });
            let (made, done) =
                self.iterate(r, accuracy, steps_allowed, &precondition, &mut solved.s);
            solved.products = made;
            if done || !can_factor || made >= most {
                return solved;
            }
        }
        memory.factors = self.solve_directly(r, most, &mut memory.products, &mut solved);
        solved
    }

    /// Solves with a factor if there is one, and returns whether there was. Kept products that have
    /// suffered from rounding are made anew.
    fn solve_directly(
        &mut self,
        r: &[f64],
        most: usize,
        products: &mut Products<'a>,
        solved: &mut Solved,
    ) -> bool {
        if !self.keeps_products() {
            products.forget();
        }
        loop {
            let is_fresh = products.is_empty();
            if let Some(direct) = self.factor(products) {
                solved.s.fill(0.0);
                let apply = |r: &[f64]| self.apply(&direct, r);
                let steps_allowed = (most - solved.products).min(4);
                let (made, done) = self.iterate(r, EXACT, steps_allowed, &apply, &mut solved.s);
                solved.products += made;
                if done || is_fresh || solved.products >= most {
                    return true;
                }
            } else if is_fresh {
                return false;
            }
            products.forget();
        }
    }

    /// The number of nonzeros that take part.
    pub(crate) fn nonzeros(&self) -> usize {
        self.rows.iter().map(|row| row.features.len()).sum()
    }

    fn is_full(&self) -> bool {
        self.nonzeros() as f64 >= FULL * (self.rows.len() * self.extra.len()) as f64
    }

    /// Whether products of rows are kept for the next system. They are where there are many rows,
    /// but not on a ball, where E changes in every step.
    fn keeps_products(&self) -> bool {
        let n = self.rows.len();
        self.is_full() && (MANY_ROWS..self.extra.len()).contains(&n) && self.along.is_none()
    }

    /// The most products with the matrix before a factor is made. Where products of rows are kept,
    /// a factor of n rows takes about as long as n/50 products with the matrix.
    fn few_steps(&self) -> usize {
        if self.keeps_products() { (self.rows.len() / 50).clamp(20, FEW_STEPS) } else { FEW_STEPS }
    }

    /// The side of the smaller matrix.
    fn side(&self) -> usize {
        (self.rows.len() + 1).min(self.extra.len())
    }

    fn diagonal(&self) -> Vec<f64> {
        let mut diagonal = self.extra.clone();
        for Member { features, weight, .. } in &self.rows {
            features.iter().for_each(|(i, x)| diagonal[i] += weight * x * x);
        }
        if let Some((beta, z)) = &self.along {
            diagonal.iter_mut().zip(z).for_each(|(d, z)| *d += beta * z * z);
        }
        diagonal
    }

    fn product(&self, v: &[f64]) -> Vec<f64> {
        let mut product: Vec<f64> = self.extra.iter().zip(v).map(|(e, v)| e * v).collect();
        for Member { features, weight, .. } in &self.rows {
            features.add_to(&mut product, weight * features.dot(v));
        }
        if let Some((beta, z)) = &self.along {
            let k = beta * dot(z, v);
            product.iter_mut().zip(z).for_each(|(p, z)| *p += k * z);
        }
        product
    }

    /// Runs conjugate gradients from s = 0. Returns the number of products, and whether they were
    /// enough.
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

    fn factor(&mut self, products: &mut Products<'a>) -> Option<Direct> {
        if self.extra.len() <= self.rows.len() {
            Some(Direct::Columns(Factor::new(self.by_columns())?))
        } else {
            Some(Direct::Rows(Factor::new(self.by_rows(products))?))
        }
    }

    /// Σ w_t x_t x_tᵀ + diag(e) + β zzᵀ.
    fn by_columns(&self) -> DMatrix<f64> {
        let d = self.extra.len();
        let mut a = if self.is_full() {
            let mut a = DMatrix::zeros(d, d);
            for rows in self.rows.chunks(STRIP) {
                let mut strip = DMatrix::zeros(d, rows.len());
                for (k, row) in rows.iter().enumerate() {
                    let root = row.weight.sqrt();
                    let mut column = strip.column_mut(k);
                    row.features.iter().for_each(|(i, x)| column[i] = root * x);
                }
                add_square(&mut a, &strip);
            }
            a
        } else {
            let mut hessian = Hessian::new(d);
            self.rows.iter().for_each(|row| hessian.add(row.weight, &row.features));
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
    fn by_rows(&mut self, products: &mut Products<'a>) -> DMatrix<f64> {
        let n = self.rows.len() + usize::from(self.along.is_some());
        let mut k = if self.is_full() {
            let inverse: Vec<f64> = self.extra.iter().map(|e| 1.0 / e).collect();
            products.of(&mut self.rows, &inverse).resize(n, n, 0.0)
        } else {
            self.sparse_products(n)
        };
        for (j, row) in self.rows.iter().enumerate() {
            k[(j, j)] += 1.0 / row.weight;
            if let Some((_, z)) = &self.along {
                k[(n - 1, j)] = row.features.iter().map(|(i, x)| x * z[i] / self.extra[i]).sum();
            }
        }
        if let Some((beta, z)) = &self.along {
            let own: f64 = z.iter().zip(&self.extra).map(|(z, e)| z * z / e).sum();
            k[(n - 1, n - 1)] = own + 1.0 / beta;
        }
        k
    }

    /// Y E⁻¹Yᵀ, computed row by row.
    fn sparse_products(&self, n: usize) -> DMatrix<f64> {
        let mut k = DMatrix::zeros(n, n);
        let mut spread = vec![0.0; self.extra.len()];
        for (j, Member { features, .. }) in self.rows.iter().enumerate() {
            features.iter().for_each(|(i, x)| spread[i] = x / self.extra[i]);
            for (i, other) in self.rows.iter().enumerate().skip(j) {
                k[(i, j)] = other.features.dot(&spread);
            }
            features.iter().for_each(|(i, _)| spread[i] = 0.0);
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
                let across = self.rows.iter().map(|row| row.features.dot(&s));
                let last = self.along.as_ref().map(|(_, z)| dot(z, &s));
                let across: Vec<f64> = across.chain(last).collect();
                let mut across = DVector::from_vec(across);
                factor.solve(&mut across);
                let mut back = vec![0.0; s.len()];
                for (row, &k) in self.rows.iter().zip(across.iter()) {
                    row.features.add_to(&mut back, k);
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
