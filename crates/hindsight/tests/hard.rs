//! Problems on which ascent and multipliers stall. The gap must be small after a bounded number of
//! passes.

#![allow(clippy::unwrap_used)]

mod common;

use common::exact::{self, Exact};
use common::{ball, cube, scales_of};
use rueful_checks::Rng;
use rueful_core::loss::{Absolute, AnyLoss, Hinge, Logistic, Loss, Square};
use rueful_core::{Batch, Comparators, NonNegative, Positive, Rows, UnitFree};
use rueful_hindsight::{
    InMemory, Options, Passes, Problem, Solution, Start, solve, solve_unit_free, unwatched,
};
use std::convert::Infallible;

/// Standard normal rows, after a change. The labels are those of a linear model with so much noise.
fn rows(count: usize, columns: usize, noise: f64, change: impl Fn(&mut [f64])) -> Batch {
    let rng = &mut Rng::new(1);
    let target = rng.direction(columns);
    let indices: Vec<u32> = (0..columns as u32).collect();
    let mut batch = Batch::default();
    for _ in 0..count {
        let mut row: Vec<f64> = (0..columns).map(|_| rng.bell()).collect();
        let score: f64 = row.iter().zip(&target).map(|(x, u)| x * u).sum();
        change(&mut row);
        let values: Vec<f32> = row.iter().map(|&x| x as f32).collect();
        batch.push(&indices, &values, (score + noise * rng.bell()).signum()).unwrap();
    }
    batch
}

/// These are a few more passes than it takes.
const PASSES_FOR_TEXT: u64 = 24;
const PASSES_FOR_MANY_DIGITS: u64 = 100;
const PASSES_IN_A_BOX: u64 = 340;

type ExactLoss = fn(Exact, f64) -> Exact;

/// The relative gap after at most so many passes. It also asserts that the comparator costs what
/// the solver says.
fn gap<L: Loss + Into<AnyLoss>>(
    loss: L,
    exactly: ExactLoss,
    set: impl Into<Comparators>,
    batch: &Batch,
    passes: u64,
) -> f64 {
    let options = Options { tolerance: 1e-4, max_passes: Some(passes) };
    gap_with(&options, loss, exactly, set, batch)
}

fn gap_with<L: Loss + Into<AnyLoss>>(
    options: &Options,
    loss: L,
    exactly: ExactLoss,
    set: impl Into<Comparators>,
    batch: &Batch,
) -> f64 {
    let mut data = InMemory { batches: std::slice::from_ref(batch) };
    let solution = run(loss, &set.into(), batch, &mut data, options);
    let cost = exact::cost(exactly, 0.0, batch, &solution.comparator);
    assert!(Exact::from(solution.lower) <= cost && cost <= solution.upper.into());
    solution.relative_gap
}

fn run<L: Loss + Into<AnyLoss>>(
    loss: L,
    comparators: &Comparators,
    batch: &Batch,
    data: &mut impl Passes<Error = Infallible>,
    options: &Options,
) -> Solution {
    let start = Start::default();
    let Ok(solution) = match comparators {
        Comparators::Set(set) => {
            let problem = Problem { loss, sigma: NonNegative::ZERO, comparators: set.clone() };
            solve(&problem, data, start, options, &mut unwatched)
        }
        Comparators::UnitFree(ball) => {
            let scales = scales_of(batch, true);
            solve_unit_free(loss, ball.radius, &scales, data, start, options, &mut unwatched)
        }
    };
    solution
}

/// The balls of a radius, of both kinds.
fn balls(radius: f64) -> [Comparators; 2] {
    [ball(radius).into(), UnitFree { radius: Positive::new(radius).unwrap() }.into()]
}

/// Some columns are equal except for the rounding of singles. In a large ball that difference
/// counts.
#[test]
fn collinear_columns_in_a_large_ball() {
    let batch = rows(500, 12, 1.0, |row| {
        row[3] = row[0];
        row[4] = 3.0 * row[0];
        row[5] = row[0] + row[1];
        row[6] = 1e-3 * row[1] - row[2];
    });
    for ball in [1.0, 1e3, 1e6].into_iter().flat_map(balls) {
        let found = gap(Hinge {}, exact::hinge, ball.clone(), &batch, 600);
        assert!(found <= 1e-4, "hinge, {ball:?}: {found}");
        let found = gap(Absolute {}, exact::absolute, ball.clone(), &batch, 600);
        assert!(found <= 1e-4, "absolute, {ball:?}: {found}");
    }
}

/// The same for losses without a kink. In the unit-free ball nothing is lost by dividing the rows.
#[test]
fn collinear_columns_in_a_large_unit_free_ball() {
    let batch = rows(500, 12, 1.0, |row| {
        row[3] = row[0];
        row[4] = 3.0 * row[0];
        row[5] = row[0] + row[1];
        row[6] = 1e-3 * row[1] - row[2];
    });
    for radius in [1e3, 1e4, 1e5, 1e6] {
        let [_, ball] = balls(radius);
        let found = gap(Square {}, exact::square, ball.clone(), &batch, 100);
        assert!(found <= 1e-4, "square, {radius}: {found}");
        let options = Options { tolerance: 1e-4, max_passes: Some(100) };
        let mut data = InMemory { batches: std::slice::from_ref(&batch) };
        let found = run(Logistic {}, &ball, &batch, &mut data, &options);
        assert!(found.converged, "logistic, {radius}: {}", found.relative_gap);
    }
}

/// One column is a million times as large as the others, like a row number.
#[test]
fn a_huge_column() {
    let batch = rows(500, 11, 1.0, |row| {
        row[0] = 1e6 + 2e5 * row[0];
        row[1] = 1.0;
    });
    for radius in [1.0, 10.0] {
        let found = gap(Hinge {}, exact::hinge, ball(radius), &batch, 900);
        assert!(found <= 1e-4, "ball of {radius}: {found}");
        let found = gap(Hinge {}, exact::hinge, cube(radius), &batch, 900);
        assert!(found <= 1e-4, "box of {radius}: {found}");
    }
}

#[test]
fn columns_of_all_scales() {
    let batch = rows(500, 12, 1.0, |row| {
        row.iter_mut().enumerate().for_each(|(i, x)| *x *= 10_f64.powi(i as i32 % 6));
    });
    for ball in [1.0, 10.0, 1e6].into_iter().flat_map(balls) {
        let found = gap(Hinge {}, exact::hinge, ball.clone(), &batch, 900);
        assert!(found <= 1e-4, "hinge, {ball:?}: {found}");
        let found = gap(Absolute {}, exact::absolute, ball.clone(), &batch, 900);
        assert!(found <= 1e-4, "absolute, {ball:?}: {found}");
    }
}

#[test]
fn separable_classes_in_a_large_ball() {
    let batch = rows(500, 40, 0.0, |_| ());
    for ball in [30.0, 1e3, 1e6].into_iter().flat_map(balls) {
        let found = gap(Hinge {}, exact::hinge, ball.clone(), &batch, 1200);
        assert!(found <= 1e-4, "{ball:?}: {found}");
    }
}

/// Rows like text: few features of many, the frequent ones in most rows, and noise in the labels.
fn text(count: usize, columns: usize, per_row: usize) -> Batch {
    let rng = &mut Rng::new(4);
    let target: Vec<f64> = (0..columns).map(|_| rng.bell()).collect();
    let mut batch = Batch::default();
    for _ in 0..count {
        // Ranks follow Zipf's law, flattened at its head.
        let rank = |rng: &mut Rng| 10.0 * ((1.0 + columns as f64 / 10.0).powf(rng.unit()) - 1.0);
        let mut indices: Vec<u32> = (0..per_row).map(|_| rank(rng) as u32).collect();
        indices.sort_unstable();
        indices.dedup();
        let size = 1.0 / (indices.len() as f64).sqrt();
        let values: Vec<f32> = indices.iter().map(|_| (size * (0.5 + rng.unit())) as f32).collect();
        let score: f64 =
            indices.iter().zip(&values).map(|(&i, &x)| target[i as usize] * f64::from(x)).sum();
        batch.push(&indices, &values, (score + 0.3 * rng.bell()).signum()).unwrap();
    }
    batch
}

/// Sweeps in random order that leave out settled examples need a few dozen passes, even where the
/// ball is as large as the best weights of LIBLINEAR's default problem.
#[test]
fn sparse_text_in_a_large_ball() {
    let batch = text(4000, 1500, 30);
    for radius in [3.0, 10.0, 30.0] {
        let found = gap(Hinge {}, exact::hinge, ball(radius), &batch, PASSES_FOR_TEXT);
        assert!(found <= 1e-4, "{radius}: {found}");
    }
}

/// The smaller the gap that is asked for, the longer ascent takes. It must not be given up for
/// that.
#[test]
fn sparse_text_to_many_digits() {
    let batch = text(4000, 1500, 30);
    for radius in [30.0, 45.0] {
        let options = Options { tolerance: 1e-8, max_passes: Some(PASSES_FOR_MANY_DIGITS) };
        let found = gap_with(&options, Hinge {}, exact::hinge, ball(radius), &batch);
        assert!(found <= 1e-8, "{radius}: {found}");
    }
}

/// Rows are full, and there are more columns than rows. Most columns end up at a side of the box.
#[test]
fn a_box_with_more_columns_than_rows() {
    let batch = rows(240, 400, 1.0, |_| ());
    for side in [0.01, 0.03] {
        let found = gap(Hinge {}, exact::hinge, cube(side), &batch, PASSES_IN_A_BOX);
        assert!(found <= 1e-4, "{side}: {found}");
    }
}

/// Data that is not in memory.
struct Streamed<'a>(&'a Batch);

impl Passes for Streamed<'_> {
    type Error = Infallible;

    fn pass(&mut self, visit: &mut dyn FnMut(Rows<'_>)) -> Result<(), Infallible> {
        visit(self.0.rows());
        Ok(())
    }
}

/// The data has few enough nonzeros to be copied into memory, where it is solved as usual.
#[test]
fn collinear_columns_from_a_stream() {
    let batch = rows(500, 6, 1.0, |row| {
        row[3] = row[0];
        row[5] = row[0] + row[1];
    });
    let options = Options { tolerance: 1e-4, max_passes: Some(600) };
    for ball in balls(1e6) {
        let solution = run(Hinge {}, &ball, &batch, &mut Streamed(&batch), &options);
        assert!(solution.converged, "{ball:?}: {}", solution.relative_gap);
    }
}
