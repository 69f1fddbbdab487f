//! The exact regret of a real learner beside the certificate of its real ledger, and data of every
//! size, from tiny to huge.

#![allow(clippy::unwrap_used)]

mod common;

use common::{ball, cost, cube, is_sound};
use rueful_checks::Rng;
use rueful_checks::streams::{Recipe, StreamKind, Targets};
use rueful_core::learner::{Learner, Ogd};
use rueful_core::loss::{
    Absolute, AnyLoss, Hinge, Linear, Logistic, Loss, PerceptronLoss, Quantile, Square,
};
use rueful_core::schedule::AdaGradNorm;
use rueful_core::set::{AnySet, FeasibleSet};
use rueful_core::{Batch, Ledger, NonNegative, Objective, OpenUnit, Positive};
use rueful_hindsight::{InMemory, Options, Problem, Solution, Start, solve, unwatched};

/// A run: its loss, its certificate in total, and a start for the solver.
struct Run {
    lost: f64,
    certificate: f64,
    start: Start,
}

fn run<L: Loss + Into<AnyLoss>>(loss: L, set: &AnySet, batch: &Batch) -> Option<Run> {
    let objective = Objective { loss, sigma: NonNegative::ZERO };
    let diameter = Positive::new(set.diameter(batch.dimension().into())).unwrap();
    let mut learner = Ogd::new(objective, AdaGradNorm { diameter }, set.clone());
    let mut ledger = Ledger::new(loss, set.clone());
    let mut rounds = Vec::new();
    learner.learn_rows(batch.rows(), &mut rounds);
    ledger.record_rows(batch.rows(), &rounds).ok()?;
    let start = Start {
        comparator: learner.weights(),
        slopes: rounds.iter().map(|round| round.slope).collect(),
        lower: None,
    };
    let total = batch.len() as f64;
    Some(Run {
        lost: ledger.sequential_risk() * total,
        certificate: ledger.certificate(&set.clone().into()),
        start,
    })
}

fn best<L: Loss + Into<AnyLoss>>(
    loss: L,
    set: &AnySet,
    batch: &Batch,
    start: Start,
    max_passes: Option<u64>,
) -> Solution {
    let problem = Problem { loss, sigma: NonNegative::ZERO, comparators: set.clone() };
    let options = Options { tolerance: 1e-6, max_passes };
    let batches = std::slice::from_ref(batch);
    let Ok(solution) = solve(&problem, &mut InMemory { batches }, start, &options, &mut unwatched);
    assert!(solution.passes <= max_passes.unwrap_or(u64::MAX), "{} passes", solution.passes);
    solution
}

/// Asserts that the regret is at most the certificate, from the first pass on. The run's slopes are
/// the first dual point, and every later one is at least as good.
fn is_below_the_certificate<L: Loss + Into<AnyLoss>>(
    what: &str,
    loss: L,
    set: &AnySet,
    batch: &Batch,
) {
    let Some(run) = run(loss, set, batch) else { return };
    let rounding = 1e-12 * (run.lost.abs() + run.certificate.abs());
    for max_passes in [Some(1), Some(2), Some(3), Some(7), None] {
        let solution = best(loss, set, batch, run.start.clone(), max_passes);
        let (lower, upper) = (run.lost - solution.upper, run.lost - solution.lower);
        assert!(lower <= upper, "{what}: {lower} > {upper}");
        assert!(upper <= run.certificate + rounding, "{what}: {upper} > {}", run.certificate);
    }
}

/// Asserts that the interval holds for every point that is tried, and that its upper end is
/// attained.
fn holds<L: Loss + Into<AnyLoss>>(what: &str, loss: L, set: &AnySet, batch: &Batch, rng: &mut Rng) {
    let solution = best(loss, set, batch, Start::default(), None);
    assert!(!solution.lower.is_nan() && solution.upper.is_finite(), "{what}: {solution:?}");
    assert!(solution.lower <= solution.upper, "{what}: {solution:?}");
    let extent = set.extent(0).1;
    for size in [1e-9, 1e-3, 0.1, 1.0, 3.0] {
        let bell = |_| size * extent * rng.bell();
        let mut u: Vec<f64> = (0..batch.dimension()).map(bell).collect();
        set.project_dense(&mut u);
        let cost = cost(loss, 0.0, batch, &u);
        let far = 1e-12 * cost.abs();
        assert!(solution.lower <= cost + far, "{what}: {} > {cost}", solution.lower);
    }
}

fn every_loss(kind: StreamKind, check: &mut dyn FnMut(&str, &AnySet, &Batch, &Batch, &Batch)) {
    let recipe = |targets| Recipe { targets, rounds: 120, dimension: 5, seed: 3 };
    let signs = kind.batch(&recipe(Targets::Signs));
    let numbers = kind.batch(&recipe(Targets::Numbers));
    let slopes = kind.batch(&recipe(Targets::Slopes));
    for set in [ball(1e-3), ball(1.0), cube(0.5), ball(1e4)] {
        check(&format!("{kind} {set:?}"), &set, &signs, &numbers, &slopes);
    }
}

#[test]
fn regret_is_at_most_the_certificate_on_every_stream() {
    let quantile = Quantile { tau: OpenUnit::new(0.8).unwrap() };
    for kind in StreamKind::ALL {
        every_loss(kind, &mut |what, set, signs, numbers, slopes| {
            is_below_the_certificate(&format!("hinge {what}"), Hinge {}, set, signs);
            is_below_the_certificate(&format!("perceptron {what}"), PerceptronLoss {}, set, signs);
            is_below_the_certificate(&format!("logistic {what}"), Logistic {}, set, signs);
            is_below_the_certificate(&format!("square {what}"), Square {}, set, numbers);
            is_below_the_certificate(&format!("absolute {what}"), Absolute {}, set, numbers);
            is_below_the_certificate(&format!("quantile {what}"), quantile, set, numbers);
            is_below_the_certificate(&format!("linear {what}"), Linear {}, set, slopes);
        });
    }
}

#[test]
fn sizes_from_tiny_to_huge_leave_a_proved_interval() {
    let mut rng = Rng::new(8);
    let quantile = Quantile { tau: OpenUnit::new(0.2).unwrap() };
    for kind in [StreamKind::Scaled, StreamKind::Extreme, StreamKind::HeavyTailed] {
        every_loss(kind, &mut |what, set, signs, numbers, slopes| {
            holds(&format!("hinge {what}"), Hinge {}, set, signs, &mut rng);
            holds(&format!("logistic {what}"), Logistic {}, set, signs, &mut rng);
            holds(&format!("square {what}"), Square {}, set, numbers, &mut rng);
            holds(&format!("absolute {what}"), Absolute {}, set, numbers, &mut rng);
            holds(&format!("quantile {what}"), quantile, set, numbers, &mut rng);
            holds(&format!("linear {what}"), Linear {}, set, slopes, &mut rng);
        });
    }
}

#[test]
fn the_slopes_of_a_run_are_the_first_dual_point() {
    let recipe = Recipe { targets: Targets::Signs, rounds: 300, dimension: 6, seed: 1 };
    let batch = StreamKind::Noisy.batch(&recipe);
    let set = ball(2.0);
    let run = run(Hinge {}, &set, &batch).unwrap();
    let solution = best(Hinge {}, &set, &batch, run.start.clone(), Some(1));
    let proved = run.lost - run.certificate;
    assert!((solution.lower - proved).abs() <= 1e-9 * proved.abs(), "{} {proved}", solution.lower);
    // The weights of the run at its end are priced, too.
    assert!(solution.upper <= cost(Hinge {}, 0.0, &batch, &run.start.comparator) * (1.0 + 1e-9));
    is_sound(&solution, &set, Hinge {}, 0.0, &batch);
}
