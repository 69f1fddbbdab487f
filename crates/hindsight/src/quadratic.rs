//! Small dense quadratics over a ball, a box or all of R^d, as in Newton's subproblem.

use crate::basis::{Basis, Frame};
use crate::cholesky::Factor;
use crate::hessian::Hessian;
use nalgebra::{DMatrix, DVector};
use rueful_core::set::{AnySet, Ball, BoxSet, FeasibleSet};

/// The quadratic g·(v − u) + ½(v − u)ᵀ(H + κM)(v − u) in the coordinates of a frame, where M is the
/// metric of its comparators.
pub(crate) struct Quadratic {
    pub(crate) hessian: Hessian,
    pub(crate) gradient: Vec<f64>,
    pub(crate) curvature: f64,
}

impl Quadratic {
    /// Its minimum over the set, with some damping. In the coordinates of a basis the set is a ball
    /// or all of R^d.
    pub(crate) fn minimise(
        &self,
        u: &[f64],
        damping: f64,
        frame: &Frame,
        set: &AnySet,
    ) -> Option<Vec<f64>> {
        let Self { hessian, gradient, curvature } = self;
        let Some(basis) = frame.basis() else {
            return minimise(&hessian.damped(*curvature, damping), gradient, u, set);
        };
        let radius = set.reach(u.len().into());
        minimise_in_ellipsoid(&hessian.damped(0.0, damping), *curvature, gradient, u, basis, radius)
    }
}

/// argmin over v in the set of g·(v − u) + ½(v − u)ᵀA(v − u), for a positive definite A given by
/// its lower triangle. `None` if A is not positive definite, as far as rounding lets one see.
pub(crate) fn minimise(
    a: &DMatrix<f64>,
    gradient: &[f64],
    u: &[f64],
    set: &AnySet,
) -> Option<Vec<f64>> {
    let v = match set {
        AnySet::WholeSpace(_) => minimise_free(a, &linear(a, gradient, u))?.as_slice().to_vec(),
        AnySet::Ball(ball) => {
            let mut v = minimise_near_ball(a, gradient, u, ball)?;
            ball.project_dense(&mut v);
            v
        }
        AnySet::Box(sides) => minimise_in_box(a, &linear(a, gradient, u), u, sides)?,
    };
    v.iter().all(|v| v.is_finite()).then_some(v)
}

/// Like [`minimise`] over a ball, but v may lie outside by a rounding of its norm.
pub(crate) fn minimise_near_ball(
    a: &DMatrix<f64>,
    gradient: &[f64],
    u: &[f64],
    ball: &Ball,
) -> Option<Vec<f64>> {
    let v = minimise_in_ball(a, &linear(a, gradient, u), ball)?.as_slice().to_vec();
    v.iter().all(|v| v.is_finite()).then_some(v)
}

/// The vector c = g − Au. In terms of v the quadratic is ½vᵀAv + c·v.
fn linear(a: &DMatrix<f64>, gradient: &[f64], u: &[f64]) -> DVector<f64> {
    DVector::from_column_slice(gradient) - symmetric_product(a, u)
}

/// Like [`minimise`] in the coordinates of a basis, over the ball vᵀMv ≤ U² or with U = ∞ all of
/// R^d. Here A = H + κM with H given by its lower triangle.
fn minimise_in_ellipsoid(
    h: &DMatrix<f64>,
    curvature: f64,
    gradient: &[f64],
    v: &[f64],
    (basis, metric): &(Basis, DMatrix<f64>),
    radius: f64,
) -> Option<Vec<f64>> {
    let here = DVector::from_column_slice(v);
    let right =
        symmetric_product(h, v) + metric * here * curvature - DVector::from_column_slice(gradient);
    let norm_of = |w: &DVector<f64>| {
        let mut u = w.clone();
        basis.back(u.as_mut_slice());
        let norm = u.norm();
        (u, norm)
    };
    let mut shift = 0.0;
    let mut w = right.clone();
    for _ in 0..60 {
        let factor = Factor::new(h + metric * (curvature + shift))?;
        w.copy_from(&right);
        factor.solve(&mut w);
        let (mut half, norm) = norm_of(&w);
        if norm <= radius && shift == 0.0 || (norm / radius - 1.0).abs() < 1e-10 {
            break;
        }
        basis.turn(half.as_mut_slice());
        factor.solve_half(&mut half);
        let ratio = norm / half.norm();
        let next = (shift + ratio * ratio * (norm - radius) / radius).max(0.0);
        if next == shift || !next.is_finite() {
            break;
        }
        shift = next;
    }
    let (_, norm) = norm_of(&w);
    if norm > radius {
        w *= radius / norm;
    }
    w.iter().all(|w| w.is_finite()).then(|| w.as_slice().to_vec())
}

/// A·u from the lower triangle of A.
pub(crate) fn symmetric_product(a: &DMatrix<f64>, u: &[f64]) -> DVector<f64> {
    let mut product = DVector::zeros(u.len());
    for column in 0..u.len() {
        let entries = a.column(column);
        let below = &entries.as_slice()[column..];
        let mut own = below[0] * u[column];
        for (row, &entry) in (column + 1..).zip(&below[1..]) {
            product[row] += entry * u[column];
            own += entry * u[row];
        }
        product[column] += own;
    }
    product
}

fn factor(a: &DMatrix<f64>, shift: f64) -> Option<Factor> {
    let mut shifted = a.clone();
    for i in 0..shifted.nrows() {
        shifted[(i, i)] += shift;
    }
    Factor::new(shifted)
}

fn minimise_free(a: &DMatrix<f64>, c: &DVector<f64>) -> Option<DVector<f64>> {
    let mut v = -c;
    factor(a, 0.0)?.solve(&mut v);
    Some(v)
}

/// v(ν) = −(A + νI)⁻¹c with ν = 0 if that is inside, else with the ν > 0 for which ‖v‖ = U. That ν
/// is found by Newton's method on 1/‖v(ν)‖, which is nearly linear in ν.
fn minimise_in_ball(a: &DMatrix<f64>, c: &DVector<f64>, ball: &Ball) -> Option<DVector<f64>> {
    let radius = ball.radius.get();
    let mut shift = 0.0;
    let mut v = DVector::zeros(c.len());
    for _ in 0..50 {
        let cholesky = factor(a, shift)?;
        v = -c;
        cholesky.solve(&mut v);
        let norm = v.norm();
        if norm <= radius && shift == 0.0 || (norm / radius - 1.0).abs() < 1e-12 {
            break;
        }
        let mut half = v.clone();
        cholesky.solve_half(&mut half);
        let ratio = norm / half.norm();
        let next = (shift + ratio * ratio * (norm - radius) / radius).max(0.0);
        if next == shift || !next.is_finite() {
            break;
        }
        shift = next;
    }
    Some(v)
}

/// Takes Newton steps on the coordinates that no side holds back, each cut off at the sides. Where
/// such a step does not lower the value, it makes a sweep of coordinate descent.
fn minimise_in_box(
    a: &DMatrix<f64>,
    c: &DVector<f64>,
    u: &[f64],
    sides: &BoxSet,
) -> Option<Vec<f64>> {
    let mut v = u.to_vec();
    sides.project_dense(&mut v);
    let mut gradient = c + symmetric_product(a, &v);
    for _ in 0..100 {
        let free = free_coordinates(&v, &gradient, sides);
        if free.is_empty() {
            break;
        }
        let before = v.clone();
        let direction = newton_direction(a, &gradient, &free)?;
        if !step_along(a, &mut v, &gradient, &free, &direction, sides) {
            sweep(a, &mut v, &mut gradient, sides);
        }
        gradient = c + symmetric_product(a, &v);
        let moved = v.iter().zip(&before).fold(0.0_f64, |most, (v, b)| most.max((v - b).abs()));
        let size = v.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
        if moved <= 1e-15 * size {
            break;
        }
    }
    Some(v)
}

/// The coordinates that are inside their sides, or would move inside.
fn free_coordinates(v: &[f64], gradient: &DVector<f64>, sides: &BoxSet) -> Vec<usize> {
    let held = |i: usize| {
        let (lower, upper) = sides.extent(i);
        v[i] <= lower && gradient[i] >= 0.0 || v[i] >= upper && gradient[i] <= 0.0
    };
    (0..v.len()).filter(|&i| !held(i)).collect()
}

/// −A_FF⁻¹ g_F.
fn newton_direction(
    a: &DMatrix<f64>,
    gradient: &DVector<f64>,
    free: &[usize],
) -> Option<DVector<f64>> {
    let block = DMatrix::from_fn(free.len(), free.len(), |row, column| {
        a[(free[row].max(free[column]), free[row].min(free[column]))]
    });
    let mut direction = DVector::from_iterator(free.len(), free.iter().map(|&i| -gradient[i]));
    Factor::new(block)?.solve(&mut direction);
    Some(direction)
}

/// Goes along the direction, cut off at the sides, and halves the step until it lowers the value.
/// Returns whether it does.
fn step_along(
    a: &DMatrix<f64>,
    v: &mut [f64],
    gradient: &DVector<f64>,
    free: &[usize],
    direction: &DVector<f64>,
    sides: &BoxSet,
) -> bool {
    let mut length = 1.0;
    for _ in 0..12 {
        let mut step = vec![0.0; v.len()];
        for (&i, &d) in free.iter().zip(direction.iter()) {
            let (lower, upper) = sides.extent(i);
            step[i] = (v[i] + length * d).clamp(lower, upper) - v[i];
        }
        let bent = symmetric_product(a, &step);
        let change: f64 = (0..v.len()).map(|i| step[i] * (gradient[i] + 0.5 * bent[i])).sum();
        if change < 0.0 {
            v.iter_mut().zip(&step).for_each(|(v, s)| *v += s);
            sides.project_dense(v);
            return true;
        }
        length *= 0.5;
    }
    false
}

/// Finds the best v_i with all others fixed, for each i in turn.
fn sweep(a: &DMatrix<f64>, v: &mut [f64], gradient: &mut DVector<f64>, sides: &BoxSet) {
    for i in 0..v.len() {
        let (lower, upper) = sides.extent(i);
        let target = (v[i] - gradient[i] / a[(i, i)]).clamp(lower, upper);
        let change = target - v[i];
        if change != 0.0 {
            v[i] = target;
            for j in 0..v.len() {
                gradient[j] += change * a[(i.max(j), i.min(j))];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rueful_checks::Rng;
    use rueful_core::Positive;

    /// A random positive definite matrix, possibly nearly singular.
    fn matrix(d: usize, rank: usize, rng: &mut Rng) -> DMatrix<f64> {
        let b = DMatrix::from_fn(d, rank, |_, _| rng.bell());
        let mut a = &b * b.transpose();
        for i in 0..d {
            a[(i, i)] += 1e-6;
        }
        a
    }

    fn value(a: &DMatrix<f64>, g: &[f64], u: &[f64], v: &[f64]) -> f64 {
        let step = DVector::from_iterator(v.len(), v.iter().zip(u).map(|(v, u)| v - u));
        DVector::from_column_slice(g).dot(&step) + 0.5 * step.dot(&(a * &step))
    }

    #[test]
    fn no_feasible_point_is_better() {
        let mut rng = Rng::new(3);
        let ball: AnySet = Ball { radius: Positive::new(1.5).unwrap() }.into();
        let sides: AnySet = BoxSet::interval(-0.5, 1.0).unwrap().into();
        for round in 0..60 {
            let d = 1 + round % 7;
            let a = matrix(d, 1 + round % 4, &mut rng);
            let g: Vec<f64> = (0..d).map(|_| 3.0 * rng.bell()).collect();
            for set in [&ball, &sides] {
                let mut u: Vec<f64> = (0..d).map(|_| rng.bell()).collect();
                set.project_dense(&mut u);
                let best = minimise(&a, &g, &u, set).unwrap();
                let reached = value(&a, &g, &u, &best);
                for _ in 0..200 {
                    let mut v: Vec<f64> = (0..d).map(|_| 2.0 * rng.bell()).collect();
                    set.project_dense(&mut v);
                    let other = value(&a, &g, &u, &v);
                    assert!(other >= reached - 1e-9 * (1.0 + reached.abs()), "{other} {reached}");
                    // The same must hold near the minimum.
                    let mut v: Vec<f64> = best.iter().map(|b| b + 1e-3 * rng.bell()).collect();
                    set.project_dense(&mut v);
                    let other = value(&a, &g, &u, &v);
                    assert!(other >= reached - 1e-9 * (1.0 + reached.abs()), "{other} {reached}");
                }
            }
        }
    }
}
