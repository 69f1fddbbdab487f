//! Helpers that the tests share.
#![allow(dead_code)] // each test file uses its part
#![allow(clippy::unwrap_used)]

pub(crate) mod exact;

use rueful_checks::Rng;
use rueful_core::loss::{AnyLoss, Loss};
use rueful_core::set::{AnySet, Ball, BoxSet, FeasibleSet};
use rueful_core::{Batch, NonNegative, Positive, Round, Sum};
use rueful_hindsight::{InMemory, Options, Problem, Scales, Solution, Start, solve, unwatched};

pub(crate) fn ball(radius: f64) -> AnySet {
    Ball { radius: Positive::new(radius).unwrap() }.into()
}

pub(crate) fn cube(radius: f64) -> AnySet {
    BoxSet::cube(Positive::new(radius).unwrap()).into()
}

pub(crate) fn solve_to<L: Loss + Into<AnyLoss>>(
    loss: L,
    sigma: f64,
    comparators: &AnySet,
    batch: &Batch,
    tolerance: f64,
) -> Solution {
    let problem =
        Problem { loss, sigma: NonNegative::new(sigma).unwrap(), comparators: comparators.clone() };
    let options = Options { tolerance, max_passes: Some(8000) };
    let batches = std::slice::from_ref(batch);
    let solution =
        solve(&problem, &mut InMemory { batches }, Start::default(), &options, &mut unwatched);
    let Ok(solution) = solution;
    is_sound(&solution, comparators, loss, sigma, batch);
    solution
}

/// Asserts that the ends of the interval are in order, and that the upper end is the cost of a
/// feasible comparator.
pub(crate) fn is_sound<L: Loss + Into<AnyLoss>>(
    solution: &Solution,
    comparators: &AnySet,
    loss: L,
    sigma: f64,
    batch: &Batch,
) {
    assert!(!solution.lower.is_nan() && !solution.upper.is_nan(), "{solution:?}");
    assert!(solution.lower <= solution.upper, "{solution:?}");
    let mut projected = solution.comparator.clone();
    comparators.project_dense(&mut projected);
    assert_eq!(projected, solution.comparator, "not feasible");
    let cost = cost(loss, sigma, batch, &solution.comparator);
    assert!(cost <= solution.upper, "{cost} > {}", solution.upper);
    assert!(solution.upper - cost <= 1e-9 * (1.0 + cost.abs()) + 1e-12 * solution.upper.abs());
}

/// The scales N and Y of a batch.
pub(crate) fn scales_of(batch: &Batch, classes: bool) -> Scales {
    let mut columns = vec![0.0_f32; batch.dimension()];
    for example in batch.iter() {
        let x = example.features;
        for (&i, value) in x.indices().iter().zip(x.values()) {
            columns[i as usize] = columns[i as usize].max(value.abs());
        }
    }
    let largest = batch.labels().iter().fold(0.0_f64, |most, y| most.max(y.abs()));
    Scales { columns, label: if classes { 1.0 } else { largest } }
}

/// The cost of u, with predictions and sums that are rounded once. Where features of all scales
/// cancel, plain sums would be further off than the solver allows itself to be.
pub(crate) fn cost<L: Loss + Into<AnyLoss>>(loss: L, sigma: f64, batch: &Batch, u: &[f64]) -> f64 {
    let mut total = Sum::default();
    for example in batch.iter() {
        let mut dot = Sum::default();
        for (i, x) in example.features.iter() {
            let product = u[i] * x;
            dot.add(product);
            dot.add(u[i].mul_add(x, -product));
        }
        total.add(example.importance.get() * loss.at(dot.value(), example.label).value);
    }
    total.add(0.5 * sigma * batch.len() as f64 * u.iter().map(|u| u * u).sum::<f64>());
    total.value()
}

/// The line p ↦ a·p − φ*(a), which lies below the loss for any slope a: it need not come from a
/// prediction.
pub(crate) fn dual<L: Loss>(loss: &L, label: f64, slope: f64) -> Round {
    Round { slope, value: -loss.conjugate(slope, label), ..Round::idle(0.0) }
}

/// Random rows of `per_row` features out of `columns`. The labels follow a target, with noise.
pub(crate) fn noisy(rows: usize, per_row: usize, columns: usize, signs: bool, seed: u64) -> Batch {
    let mut rng = Rng::new(seed);
    let target: Vec<f64> = (0..columns).map(|_| rng.bell()).collect();
    let mut batch = Batch::default();
    for _ in 0..rows {
        let mut indices: Vec<u32> = if per_row >= columns {
            (0..columns as u32).collect()
        } else {
            (0..per_row).map(|_| rng.below(columns) as u32).collect()
        };
        indices.sort_unstable();
        indices.dedup();
        let values: Vec<f32> = indices.iter().map(|_| rng.bell() as f32).collect();
        let score: f64 = indices
            .iter()
            .zip(&values)
            .map(|(&i, &x)| target[i as usize] * f64::from(x))
            .sum::<f64>()
            + rng.bell();
        let label = if signs { if score > 0.0 { 1.0 } else { -1.0 } } else { score };
        batch.push(&indices, &values, label).unwrap();
    }
    batch
}

/// The same rows, each counting as much as `importance` says.
pub(crate) fn weighed(batch: &Batch, mut importance: impl FnMut() -> f64) -> Batch {
    let mut weighed = Batch::default();
    let done = weighed.map_rows(
        batch.rows(),
        |features| features,
        |example, row| {
            row.weigh(importance());
            row.copy(&example.features)
        },
    );
    done.unwrap();
    weighed
}
