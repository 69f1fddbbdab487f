//! Minima that are known without a solver.

#![allow(clippy::unwrap_used)]

mod common;

use common::{ball, cube, noisy, solve_to};
use nalgebra::{DMatrix, DVector};
use rueful_core::loss::{Absolute, Hinge, Linear, PerceptronLoss, Quantile, Square};
use rueful_core::set::WholeSpace;
use rueful_core::{Batch, OpenUnit};
use rueful_hindsight::Solution;

fn is_around(solution: &Solution, minimum: f64, tolerance: f64) {
    assert!(solution.converged, "{solution:?}");
    let slack = 1e-9 * (1.0 + minimum.abs());
    assert!(solution.lower <= minimum + slack && minimum - slack <= solution.upper, "{solution:?}");
    assert!(solution.upper - solution.lower <= tolerance * (1.0 + minimum.abs()));
}

#[test]
fn constants_are_quantiles() {
    let labels = [7.0, -1.0, 3.0, 3.5, 12.0, -8.0, 0.25];
    let mut batch = Batch::default();
    labels.iter().for_each(|&label| batch.push(&[0], &[1.0], label).unwrap());
    let least =
        |cost: &dyn Fn(f64) -> f64| labels.iter().map(|&c| cost(c)).fold(f64::INFINITY, f64::min);
    let absolute = least(&|c| labels.iter().map(|y| (c - y).abs()).sum());
    is_around(&solve_to(Absolute {}, 0.0, &ball(50.0), &batch, 1e-8), absolute, 1e-7);
    let tau = 0.8;
    let pinball =
        least(&|c| labels.iter().map(|y| (tau * (y - c)).max((1.0 - tau) * (c - y))).sum());
    let quantile = Quantile { tau: OpenUnit::new(tau).unwrap() };
    is_around(&solve_to(quantile, 0.0, &cube(50.0), &batch, 1e-8), pinball, 1e-7);
}

fn dense(batch: &Batch) -> (DMatrix<f64>, DVector<f64>) {
    let mut x = DMatrix::zeros(batch.len(), batch.dimension());
    for (t, example) in batch.iter().enumerate() {
        example.features.iter().for_each(|(i, value)| x[(t, i)] = value);
    }
    (x, DVector::from_iterator(batch.len(), batch.iter().map(|e| e.label)))
}

#[test]
fn least_squares_in_a_ball_by_bisection_on_the_multiplier() {
    for (seed, columns) in [(1, 5), (2, 5), (3, 750)] {
        let batch = noisy(50, 8, columns, false, seed);
        let (x, y) = dense(&batch);
        // The solution is u(ν) = Xᵀ(XXᵀ + νI)⁻¹y.
        let rows = &x * x.transpose();
        let at = |shift: f64| {
            let shifted = &rows + DMatrix::identity(rows.nrows(), rows.nrows()) * shift;
            x.transpose() * shifted.cholesky().unwrap().solve(&y)
        };
        let radius = 0.5;
        let (mut low, mut high) = (0.0, 1e6);
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            if at(middle).norm() > radius { low = middle } else { high = middle }
        }
        let minimum = (&x * at(high) - &y).norm_squared();
        is_around(&solve_to(Square {}, 0.0, &ball(radius), &batch, 1e-8), minimum, 1e-7);
    }
}

#[test]
fn ridge_regression() {
    let batch = noisy(80, 8, 12, false, 6);
    let (x, y) = dense(&batch);
    for sigma in [1e-4, 0.1, 3.0] {
        let curvature = sigma * 80.0;
        let a = 2.0 * x.transpose() * &x + DMatrix::identity(12, 12) * curvature;
        let u = a.cholesky().unwrap().solve(&(2.0 * x.transpose() * &y));
        let minimum = (&x * &u - &y).norm_squared() + 0.5 * curvature * u.norm_squared();
        let solution = solve_to(Square {}, sigma, &WholeSpace {}.into(), &batch, 1e-8);
        is_around(&solution, minimum, 1e-7);
    }
}

#[test]
fn linear_losses_end_where_the_set_does() {
    for columns in [7, 900] {
        let batch = noisy(40, 6, columns, false, 8);
        let mut sums = vec![0.0; batch.dimension()];
        batch.iter().for_each(|e| e.features.add_to(&mut sums, e.label));
        let norm = sums.iter().map(|s| s * s).sum::<f64>().sqrt();
        let one: f64 = sums.iter().map(|s| s.abs()).sum();
        is_around(&solve_to(Linear {}, 0.0, &ball(3.0), &batch, 1e-8), -3.0 * norm, 1e-8);
        is_around(&solve_to(Linear {}, 0.0, &cube(3.0), &batch, 1e-8), -3.0 * one, 1e-8);
        let minimum = -norm * norm / (2.0 * 40.0 * 0.5);
        is_around(&solve_to(Linear {}, 0.5, &WholeSpace {}.into(), &batch, 1e-8), minimum, 1e-8);
    }
}

#[test]
fn nothing_is_lost_where_nothing_need_be() {
    for columns in [5, 800] {
        let mut batch = Batch::default();
        for example in noisy(60, 5, columns, true, 9).iter() {
            // One more feature gives the label away.
            let mut indices = example.features.indices().to_vec();
            let mut values = example.features.values().to_vec();
            indices.push(columns as u32);
            values.push(0.5 * example.label as f32);
            batch.push(&indices, &values, example.label).unwrap();
        }
        for solution in [
            solve_to(PerceptronLoss {}, 0.0, &ball(3.0), &batch, 1e-6),
            solve_to(Hinge {}, 0.0, &ball(3.0), &batch, 1e-6),
            solve_to(Absolute {}, 0.0, &ball(3.0), &batch, 1e-6),
            solve_to(Square {}, 0.0, &ball(3.0), &batch, 1e-6),
        ] {
            let is_nothing = solution.lower == 0.0 && solution.upper < 1e-7;
            assert!(solution.converged && is_nothing, "{solution:?}");
        }
    }
}
