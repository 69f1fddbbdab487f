//! Coordinates that tell apart columns which say nearly the same.
//!
//! The rows of the data, stacked, are X = QR with orthonormal columns in Q. In the coordinates
//! v = Ru the prediction of u is q·v with q = R⁻ᵀx. Whatever the columns of X were like, those of Q
//! are orthogonal and of the same scale: where XᵀX has lost all digits of a direction, R has half
//! of them left.
//!
//! For a unit-free ball, X and u are those on columns divided by their scales. The quotients are
//! doubles, so that hardly anything of the data is lost.

use crate::bracket::Bracket;
use crate::hessian::Hessian;
use crate::passes::Passes;
use crate::scales::{Scales, quotient};
use crate::set::dot;
use nalgebra::{DMatrix, DVector};
use rueful_core::Features;

/// The number of rows that are reduced at once.
const BLOCK: usize = 256;

/// The size of the diagonal that is added below X, relative to its columns, so that R has an
/// inverse.
const LEAST: f64 = 1e-11;

/// The upper triangular matrix R of columns divided by their scales.
#[derive(Debug, Clone)]
pub(crate) struct Basis {
    /// 1/N_i, and 0 for columns without a scale.
    factors: Vec<f64>,
    r: DMatrix<f64>,
}

impl Basis {
    /// Computes R of the data in two passes, the first for the scale of the columns.
    pub(crate) fn new<P: Passes>(
        data: &mut P,
        scales: &Scales,
        dimension: usize,
    ) -> Result<Self, P::Error> {
        let factor = |i| if scales.column(i) > 0.0 { 1.0 / scales.column(i) } else { 0.0 };
        let factors: Vec<f64> = (0..dimension).map(factor).collect();
        let mut energies = vec![0.0; dimension];
        data.pass(&mut |rows| {
            for row in rows.iter() {
                row.features.iter().for_each(|(i, x)| energies[i] += (factors[i] * x).powi(2));
            }
        })?;
        let largest = energies.iter().fold(f64::MIN_POSITIVE, |most: f64, &e| most.max(e));
        // A column that never occurs is treated like the largest one.
        let least = |e: f64| if e == 0.0 { largest.sqrt() } else { LEAST * e.sqrt() };
        let mut stack = Stack {
            r: DMatrix::from_diagonal(&DVector::from_iterator(
                dimension,
                energies.iter().map(|&e| least(e)),
            )),
            block: DMatrix::zeros(BLOCK, dimension),
            rows: 0,
        };
        data.pass(&mut |rows| rows.iter().for_each(|row| stack.push(&row.features, &factors)))?;
        stack.reduce();
        Ok(Self { factors, r: stack.r })
    }

    /// q ← R⁻ᵀ(x/N).
    pub(crate) fn of_features(&self, x: &Features<'_>, q: &mut [f64]) {
        q.fill(0.0);
        x.iter().for_each(|(i, x)| q[i] = self.factors[i] * x);
        self.turn(q);
    }

    /// g ← R⁻ᵀg.
    pub(crate) fn turn(&self, g: &mut [f64]) {
        let (n, r) = (g.len(), self.r.as_slice());
        for j in 0..n {
            let column = &r[j * n..=j * n + j];
            let above: f64 = g[..j].iter().zip(column).map(|(g, r)| g * r).sum();
            g[j] = (g[j] - above) / column[j];
        }
    }

    /// v ← R⁻¹v.
    pub(crate) fn back(&self, v: &mut [f64]) {
        let (n, r) = (v.len(), self.r.as_slice());
        for j in (0..n).rev() {
            let column = &r[j * n..=j * n + j];
            v[j] /= column[j];
            let (above, own) = v.split_at_mut(j);
            above.iter_mut().zip(column).for_each(|(v, r)| *v -= own[0] * r);
        }
    }

    /// R(N·u).
    fn enter(&self, u: &[f64]) -> Vec<f64> {
        let scaled = u.iter().zip(&self.factors).map(|(u, factor)| quotient(*u, *factor));
        (&self.r * DVector::from_iterator(u.len(), scaled)).as_slice().to_vec()
    }

    /// (R⁻¹v)/N.
    fn leave(&self, v: &[f64]) -> Vec<f64> {
        let mut u = v.to_vec();
        self.back(&mut u);
        u.iter_mut().zip(&self.factors).for_each(|(u, factor)| *u *= factor);
        u
    }

    /// M = R⁻ᵀR⁻¹, so that ‖N·u‖² = vᵀMv.
    pub(crate) fn metric(&self) -> DMatrix<f64> {
        let n = self.r.nrows();
        let mut inverse = DMatrix::identity(n, n);
        for mut column in inverse.column_iter_mut() {
            let mut copy: Vec<f64> = column.iter().copied().collect();
            self.back(&mut copy);
            column.copy_from_slice(&copy);
        }
        inverse.tr_mul(&inverse)
    }
}

/// The coordinates in which a method works: those of the data, or of a basis.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    basis: Option<(Basis, DMatrix<f64>)>,
    /// R⁻ᵀ(x/N) of the example that was looked at last.
    q: Vec<f64>,
}

impl Frame {
    /// The coordinates of the data.
    pub(crate) fn plain() -> Self {
        Self { basis: None, q: Vec::new() }
    }

    /// The coordinates of a basis of the data, which takes two passes to find.
    pub(crate) fn turned<P: Passes>(
        data: &mut P,
        scales: &Scales,
        bracket: &mut Bracket,
    ) -> Result<Self, P::Error> {
        bracket.passes += 2;
        Ok(Self::of(Basis::new(data, scales, bracket.comparator.len())?))
    }

    /// The coordinates of a basis.
    fn of(basis: Basis) -> Self {
        let q = vec![0.0; basis.r.ncols()];
        let metric = basis.metric();
        Self { basis: Some((basis, metric)), q }
    }

    /// The basis and M, if these are the coordinates of a basis.
    pub(crate) fn basis(&self) -> Option<&(Basis, DMatrix<f64>)> {
        self.basis.as_ref()
    }

    /// u in these coordinates.
    pub(crate) fn enter(&self, u: &[f64]) -> Vec<f64> {
        self.basis.as_ref().map_or_else(|| u.to_vec(), |(basis, _)| basis.enter(u))
    }

    /// The comparator that a point in these coordinates stands for.
    pub(crate) fn leave(&self, point: &[f64]) -> Vec<f64> {
        self.basis.as_ref().map_or_else(|| point.to_vec(), |(basis, _)| basis.leave(point))
    }

    /// The gradient that S = Σ a_t x_t is in these coordinates.
    pub(crate) fn gradient(&self, sum: &[f64]) -> Vec<f64> {
        let mut gradient = sum.to_vec();
        if let Some((basis, _)) = &self.basis {
            gradient.iter_mut().zip(&basis.factors).for_each(|(g, factor)| *g *= factor);
            basis.turn(&mut gradient);
        }
        gradient
    }

    /// Turns to an example. The methods below are then called for it.
    #[inline]
    pub(crate) fn look(&mut self, x: &Features<'_>) {
        if let Some((basis, _)) = &self.basis {
            basis.of_features(x, &mut self.q);
        }
    }

    /// The prediction for the example.
    #[inline]
    pub(crate) fn dot(&self, x: &Features<'_>, point: &[f64]) -> f64 {
        if self.basis.is_some() { dot(&self.q, point) } else { x.dot(point) }
    }

    /// g ← g + k·x.
    #[inline]
    pub(crate) fn add(&self, x: &Features<'_>, k: f64, g: &mut [f64]) {
        if self.basis.is_some() {
            g.iter_mut().zip(&self.q).for_each(|(g, q)| *g += k * q);
        } else {
            x.add_to(g, k);
        }
    }

    /// H ← H + h·x xᵀ.
    #[inline]
    pub(crate) fn add_square(&self, x: &Features<'_>, h: f64, hessian: &mut Hessian) {
        if self.basis.is_some() { hessian.add_row(h, &self.q) } else { hessian.add(h, x) }
    }

    /// The gradient of (κ/2)‖N·u‖².
    pub(crate) fn penalty_gradient(&self, curvature: f64, point: &[f64]) -> Vec<f64> {
        let Some((_, metric)) = &self.basis else {
            return point.iter().map(|u| curvature * u).collect();
        };
        (metric * DVector::from_column_slice(point) * curvature).as_slice().to_vec()
    }
}

/// R of the rows so far, and the rows that are not in it yet.
struct Stack {
    r: DMatrix<f64>,
    block: DMatrix<f64>,
    rows: usize,
}

impl Stack {
    fn push(&mut self, x: &Features<'_>, factors: &[f64]) {
        x.iter().for_each(|(i, x)| self.block[(self.rows, i)] = factors[i] * x);
        self.rows += 1;
        if self.rows == BLOCK {
            self.reduce();
        }
    }

    /// Replaces R by that of R and the waiting rows.
    fn reduce(&mut self) {
        let d = self.r.ncols();
        let mut stacked = DMatrix::zeros(d + BLOCK, d);
        stacked.rows_mut(0, d).copy_from(&self.r);
        stacked.rows_mut(d, BLOCK).copy_from(&self.block);
        self.r = stacked.qr().unpack_r();
        self.block.fill(0.0);
        self.rows = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passes::InMemory;
    use crate::problem::{Options, Problem, Start, unwatched};
    use crate::survey::{Survey, survey};
    use rueful_checks::Rng;
    use rueful_core::loss::Absolute;
    use rueful_core::set::Ball;
    use rueful_core::{Batch, NonNegative, Positive, Rows};
    use std::convert::Infallible;

    fn basis_of(batch: &Batch, scales: &Scales, dimension: usize) -> Basis {
        let Ok(basis) =
            Basis::new(&mut InMemory { batches: std::slice::from_ref(batch) }, scales, dimension);
        basis
    }

    #[test]
    fn the_metric_is_that_of_the_data() {
        let rng = &mut Rng::new(2);
        let mut batch = Batch::default();
        for _ in 0..300 {
            batch.push(&[0, 1], &[rng.bell() as f32, 1e4 * rng.bell() as f32], 1.0).unwrap();
        }
        let basis = basis_of(&batch, &Scales::ones(3), 3);
        let u = [1.0, -2.0, 3.0];
        let v = DVector::from_vec(basis.enter(&u));
        assert!(((basis.metric() * &v).dot(&v) - 14.0).abs() < 1e-9);
        let frame = Frame::of(basis);
        let mut gradient = frame.penalty_gradient(0.5, &frame.enter(&u));
        // Rᵀ times this gradient is the gradient in u, which is κu.
        gradient =
            (frame.basis().unwrap().0.r.tr_mul(&DVector::from_vec(gradient))).as_slice().to_vec();
        assert!(gradient.iter().zip(&u).all(|(g, u)| (g - 0.5 * u).abs() < 1e-9), "{gradient:?}");
    }

    #[test]
    fn columns_with_scales_are_divided_by_them() {
        let rng = &mut Rng::new(3);
        let scales = Scales { columns: vec![3.0, 7e-20, 0.0, 5e20], label: 1.0 };
        let mut batch = Batch::default();
        for _ in 0..300 {
            let row = [3.0, 7e-20, 0.0, 5e20].map(|size| (size * rng.bell()) as f32);
            batch.push(&[0, 1, 2, 3], &row, 1.0).unwrap();
        }
        let scaled = [0.5, -2.0, 0.0, 0.25];
        let u: Vec<f64> = (0..4).map(|i| quotient(scaled[i], scales.column(i))).collect();
        let mut frame = Frame::of(basis_of(&batch, &scales, 4));
        let point = frame.enter(&u);
        assert!(frame.leave(&point).iter().zip(&u).all(|(v, u)| (v - u).abs() <= 1e-12 * u.abs()));
        let (mut sum, mut turned) = (vec![0.0; 4], vec![0.0; 4]);
        for example in batch.iter() {
            let x = &example.features;
            frame.look(x);
            assert!((frame.dot(x, &point) - x.dot(&u)).abs() < 1e-12);
            x.add_to(&mut sum, 0.5);
            frame.add(x, 0.5, &mut turned);
        }
        let gradient = frame.gradient(&sum);
        assert!(gradient.iter().zip(&turned).all(|(g, t)| (g - t).abs() < 1e-10), "{gradient:?}");
        let square = dot(&frame.penalty_gradient(1.0, &point), &point);
        assert!((square - dot(&scaled, &scaled)).abs() < 1e-12, "{square}");
    }

    /// Data that count their passes.
    struct Counting<'a>(&'a Batch, u64);

    impl Passes for Counting<'_> {
        type Error = Infallible;

        fn pass(&mut self, visit: &mut dyn FnMut(Rows<'_>)) -> Result<(), Infallible> {
            self.1 += 1;
            visit(self.0.rows());
            Ok(())
        }
    }

    #[test]
    fn the_passes_that_a_basis_takes_are_counted() {
        let mut batch = Batch::default();
        batch.push(&[0], &[2.0], 1.0).unwrap();
        let problem = Problem {
            loss: Absolute {},
            sigma: NonNegative::ZERO,
            comparators: Ball { radius: Positive::ONE }.into(),
        };
        let mut data = Counting(&batch, 0);
        let options = Options::default();
        let Ok(Survey { mut bracket, .. }) =
            survey(&problem, &mut data, Start::default(), &options, &mut unwatched);
        let Ok(_) = Frame::turned(&mut data, &Scales::ones(1), &mut bracket);
        assert_eq!(bracket.passes, data.1);
    }

    #[test]
    fn predictions_are_the_same_and_columns_are_told_apart() {
        let rng = &mut Rng::new(1);
        let mut batch = Batch::default();
        for _ in 0..700 {
            let (a, b) = (rng.bell(), rng.bell());
            let row = [a as f32, (3.0 * a) as f32, (a + 1e3 * b) as f32, a as f32];
            batch.push(&[0, 1, 2, 4], &row, 1.0).unwrap();
        }
        let basis = basis_of(&batch, &Scales::ones(5), 5);
        let u: Vec<f64> = (0..5).map(|_| rng.bell()).collect();
        let v = basis.enter(&u);
        let mut q = vec![0.0; 5];
        let mut gram = DMatrix::<f64>::zeros(5, 5);
        for example in batch.iter() {
            basis.of_features(&example.features, &mut q);
            let p: f64 = q.iter().zip(&v).map(|(q, v)| q * v).sum();
            let plain = example.features.dot(&u);
            assert!((p - plain).abs() <= 1e-9 * (1.0 + plain.abs()), "{p} {plain}");
            let q = DVector::from_column_slice(&q);
            gram += &q * q.transpose();
        }
        // Columns 0 and 4 are equal, and column 3 is empty. The other three directions are
        // orthonormal.
        let eigenvalues = gram.symmetric_eigenvalues();
        assert_eq!(eigenvalues.iter().filter(|e| (*e - 1.0).abs() < 1e-6).count(), 3);
        let mut back = v.clone();
        basis.back(&mut back);
        assert!(back.iter().zip(&u).all(|(b, u)| (b - u).abs() < 1e-4), "{back:?} {u:?}");
    }
}
