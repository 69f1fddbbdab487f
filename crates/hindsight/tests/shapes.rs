//! Every loss, in balls and boxes from tiny to huge, on data of several shapes. The relative gap
//! must be 1e-8, and 1e-6 where the radius is a million. (There slopes must add up to 10⁻¹⁴ or so,
//! which their own rounding can forbid.)

#![allow(clippy::unwrap_used)]

mod common;

use common::{ball, cube, noisy, solve_to};
use rueful_core::loss::{Absolute, Hinge, Logistic, PerceptronLoss, Quantile, Square};
use rueful_core::{Batch, OpenUnit};
use rueful_hindsight::Solution;

fn reaches(signs: &Batch, numbers: &Batch) {
    let check = |what: &str, solution: Solution| {
        let gap = solution.relative_gap;
        assert!(solution.converged, "{what}: {gap:e} after {} passes", solution.passes);
    };
    let quantile = Quantile { tau: OpenUnit::new(0.9).unwrap() };
    for (size, gap) in [(1e-3, 1e-8), (0.05, 1e-8), (1.0, 1e-8), (30.0, 1e-8), (1e6, 1e-6)] {
        for set in [ball(size), cube(size)] {
            let what = |loss: &str| format!("{loss} {set:?} T={}", signs.len());
            check(&what("hinge"), solve_to(Hinge {}, 0.0, &set, signs, gap));
            check(&what("perceptron"), solve_to(PerceptronLoss {}, 0.0, &set, signs, gap));
            check(&what("logistic"), solve_to(Logistic {}, 0.0, &set, signs, gap));
            check(&what("absolute"), solve_to(Absolute {}, 0.0, &set, numbers, gap));
            check(&what("quantile"), solve_to(quantile, 0.0, &set, numbers, gap));
            check(&what("square"), solve_to(Square {}, 0.0, &set, numbers, gap));
        }
    }
}

/// Rows that occur once, twice or three times, some of them with the other label as well.
fn repeated(batch: &Batch) -> Batch {
    let mut rows = Batch::default();
    for (t, example) in batch.iter().enumerate() {
        let x = &example.features;
        (0..=t % 3).for_each(|_| rows.push(x.indices(), x.values(), example.label).unwrap());
        if t % 7 == 0 {
            rows.push(x.indices(), x.values(), -example.label).unwrap();
        }
    }
    rows
}

fn pair(rows: usize, per_row: usize, columns: usize) -> (Batch, Batch) {
    (noisy(rows, per_row, columns, true, 1), noisy(rows, per_row, columns, false, 2))
}

#[test]
fn many_rows_and_few_columns() {
    let (signs, numbers) = pair(2000, 30, 30);
    reaches(&signs, &numbers);
}

#[test]
fn more_columns_than_rows() {
    let (signs, numbers) = pair(300, 15, 900);
    reaches(&signs, &numbers);
}

#[test]
fn full_rows_of_many_columns() {
    let (signs, numbers) = pair(150, 720, 720);
    reaches(&signs, &numbers);
}

#[test]
fn repeated_rows() {
    let (signs, numbers) = pair(150, 10, 750);
    reaches(&repeated(&signs), &repeated(&numbers));
}
