//! A solver that is told to stop ends soon, with an interval that is proved.

#![allow(clippy::unwrap_used)]

mod common;

use common::{ball, cost, cube};
use rueful_checks::Rng;
use rueful_core::loss::{Absolute, AnyLoss, Hinge, Logistic, Loss};
use rueful_core::set::AnySet;
use rueful_core::{Batch, NonNegative, Positive};
use rueful_hindsight::{
    InMemory, Options, Problem, Progress, Scales, Start, solve, solve_unit_free, unwatched,
};
use std::ops::ControlFlow;

/// The answers to a solver that asks: to go on some times, and then to stop.
struct Patience {
    left: u64,
    asked: u64,
}

impl Patience {
    fn new(left: u64) -> Self {
        Self { left, asked: 0 }
    }

    fn answer(&mut self, _: Progress) -> ControlFlow<()> {
        self.asked += 1;
        if self.asked <= self.left { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

const OPTIONS: Options = Options { tolerance: 1e-12, max_passes: Some(60) };

/// Rows whose labels follow a direction, with noise that nothing explains.
fn stream(labels: impl Fn(f64) -> f64) -> Batch {
    let (rng, mut batch) = (&mut Rng::new(5), Batch::default());
    let indices: Vec<u32> = (0..30).collect();
    for _ in 0..2000 {
        let x: Vec<f32> = indices.iter().map(|_| rng.bell() as f32).collect();
        let score: f32 = x.iter().take(7).sum();
        batch.push(&indices, &x, labels(f64::from(score) + 3.0 * rng.bell())).unwrap();
    }
    batch
}

fn stops<L: Loss + Into<AnyLoss>>(what: &str, loss: L, set: &AnySet, batch: &Batch) {
    let problem = Problem { loss, sigma: NonNegative::ZERO, comparators: set.clone() };
    let mut data = InMemory { batches: std::slice::from_ref(batch) };
    let Ok(whole) = solve(&problem, &mut data, Start::default(), &OPTIONS, &mut unwatched);
    assert!(whole.passes > 4, "{what}: {} passes leave nothing to stop", whole.passes);
    for left in [0, 1, 2] {
        let mut patience = Patience::new(left);
        let watch = &mut |progress| patience.answer(progress);
        let Ok(found) = solve(&problem, &mut data, Start::default(), &OPTIONS, watch);
        assert!(found.passes < whole.passes, "{what}: {} passes", found.passes);
        assert!(patience.asked <= left + 2, "{what}: asked {} times", patience.asked);
        assert!(found.lower <= whole.upper && whole.lower <= found.upper, "{what}: {found:?}");
        let paid = cost(loss, 0.0, batch, &found.comparator);
        assert!(paid <= found.upper * (1.0 + 1e-9), "{what}: {paid} and {found:?}");
    }
}

#[test]
fn every_method_stops_when_it_is_told() {
    let (signs, numbers) = (stream(f64::signum), stream(|noisy| noisy));
    stops("hinge, ball", Hinge {}, &ball(3.0), &signs);
    stops("logistic, ball", Logistic {}, &ball(3.0), &signs);
    stops("absolute, ball", Absolute {}, &ball(3.0), &numbers);
    stops("hinge, box", Hinge {}, &cube(0.2), &signs);
}

#[test]
fn without_units_it_stops_as_well() {
    let signs = stream(f64::signum);
    let mut scales = Scales { columns: Vec::new(), label: 1.0 };
    for example in signs.iter() {
        for (i, x) in example.features.iter() {
            scales.columns.resize(scales.columns.len().max(i + 1), 0.0);
            scales.columns[i] = scales.columns[i].max(x.abs() as f32);
        }
    }
    let mut data = InMemory { batches: std::slice::from_ref(&signs) };
    let radius = Positive::new(5.0).unwrap();
    let mut solve = |watch: &mut dyn FnMut(Progress) -> ControlFlow<()>| {
        let start = Start::default();
        let Ok(found) =
            solve_unit_free(Hinge {}, radius, &scales, &mut data, start, &OPTIONS, watch);
        found
    };
    let whole = solve(&mut unwatched);
    assert!(whole.passes > 6, "{} passes leave nothing to stop", whole.passes);
    let mut patience = Patience::new(2);
    let found = solve(&mut |progress| patience.answer(progress));
    // What was found is proved for the rows as they are before it ends.
    assert!(patience.asked <= 5, "asked {} times", patience.asked);
    assert!(found.passes < whole.passes, "{} passes", found.passes);
    assert!(found.lower <= whole.upper && whole.lower <= found.upper, "{found:?}");
}
