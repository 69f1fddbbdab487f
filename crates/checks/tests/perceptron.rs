//! The Perceptron's mistakes: every bound holds for every comparator, and the step size does not
//! matter.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{ball, positive};
use rueful_checks::Rng;
use rueful_checks::reference::best_in_hindsight;
use rueful_checks::streams::{Recipe, Separable, StreamKind, Targets};
use rueful_core::learner::{Learner, Perceptron};
use rueful_core::ledger::{MistakeBounds, MistakeWatch};
use rueful_core::loss::{Hinge, ZeroOne};
use rueful_core::{Batch, Objective, Positive};

const ROUNDS: usize = 400;
const DIMENSION: usize = 6;

fn predictions(batch: &Batch, eta: Positive) -> Vec<f64> {
    let mut rounds = Vec::new();
    Perceptron::new(Hinge {}, eta).learn_rows(batch.rows(), &mut rounds);
    rounds.iter().map(|round| round.prediction).collect()
}

/// Whether it was wrong, for every round.
fn mistakes(batch: &Batch, eta: Positive) -> Vec<bool> {
    let predictions = predictions(batch, eta);
    let pairs = batch.iter().zip(predictions);
    pairs.map(|(example, p)| ZeroOne {}.is_mistake(p, example.label)).collect()
}

fn bounds(batch: &Batch, comparator: Vec<f64>) -> MistakeBounds {
    let mut watch = MistakeWatch::new(comparator);
    for (example, prediction) in batch.iter().zip(predictions(batch, Positive::ONE)) {
        watch.observe(&example, prediction);
    }
    watch.bounds()
}

/// Checks that M ≤ run time ≤ solved ≤ closed form.
fn check_bounds(name: &str, bounds: &MistakeBounds) {
    let made = bounds.mistakes as f64;
    assert!(made <= bounds.run_time, "{name}: {bounds:?}");
    assert!(bounds.run_time <= bounds.solved * (1.0 + 1e-11), "{name}: {bounds:?}");
    assert!(bounds.solved <= bounds.closed_form * (1.0 + 1e-15), "{name}: {bounds:?}");
    if let Some(separable) = bounds.separable {
        assert!(made <= separable, "{name}: {bounds:?}");
        assert_eq!(bounds.hinge, 0.0, "{name}");
    }
}

#[test]
fn a_margin_bounds_the_mistakes() {
    for seed in 0..50 {
        let dimension = 1 + seed as usize % 9;
        let Separable { batch, separator } = Separable::signs(ROUNDS, dimension, seed);
        let bounds = bounds(&batch, separator);
        check_bounds("separable", &bounds);
        let separable = bounds.separable.expect("the separator has a margin of 1");
        assert!(bounds.mistakes as f64 <= separable);
        assert_eq!(
            mistakes(&batch, Positive::ONE).iter().filter(|m| **m).count() as u64,
            bounds.mistakes
        );
    }
}

/// With one example in one dimension the bound (‖u‖X)² is attained in the first round.
#[test]
fn the_bound_is_attained() {
    let mut batch = Batch::default();
    batch.push(&[0], &[3.0], 1.0).unwrap();
    let bounds = bounds(&batch, vec![1.0 / 3.0]);
    check_bounds("one example", &bounds);
    assert!(bounds.run_time < 1.0 + 1e-9 && bounds.separable.is_some_and(|b| b < 1.0 + 1e-9));
}

#[test]
fn every_comparator_bounds_the_mistakes_on_every_stream() {
    for (kind, seed) in StreamKind::ALL.into_iter().flat_map(|k| (0..4).map(move |s| (k, s))) {
        let recipe = Recipe { targets: Targets::Signs, rounds: ROUNDS, dimension: DIMENSION, seed };
        let batch = kind.batch(&recipe);
        let rng = &mut Rng::new(seed);
        check_bounds(kind.name(), &bounds(&batch, vec![0.0; DIMENSION]));
        check_bounds(kind.name(), &bounds(&batch, Vec::new()));
        for exponent in -9..=9 {
            let size = 10_f64.powi(exponent);
            let u = rng.direction(DIMENSION).iter().map(|u| size * u).collect();
            check_bounds(kind.name(), &bounds(&batch, u));
        }
        for radius in [1.0, 30.0] {
            let hinge = Objective::plain(Hinge {});
            let u = best_in_hindsight(&hinge, &ball(radius), &batch, DIMENSION);
            check_bounds(kind.name(), &bounds(&batch, u));
        }
    }
}

/// The sums of the run-time bound must not forget small examples beside large ones.
#[test]
fn the_run_time_bound_survives_cancellation() {
    let large = (1_u64 << 60) as f32;
    let mut batch = Batch::default();
    batch.push(&[0, 1], &[large, large], 1.0).unwrap();
    for _ in 0..100 {
        batch.push(&[0], &[-1.0], 1.0).unwrap();
    }
    batch.push(&[0, 1], &[-large, -large], 1.0).unwrap();
    check_bounds("cancelling", &bounds(&batch, vec![-1.0, 1.0]));
}

/// Multiplying all weights by a power of two rounds nothing.
#[test]
fn a_power_of_two_as_step_changes_no_mistake_on_any_stream() {
    for kind in StreamKind::ALL {
        let recipe =
            Recipe { targets: Targets::Signs, rounds: ROUNDS, dimension: DIMENSION, seed: 8 };
        let batch = kind.batch(&recipe);
        let ones = mistakes(&batch, Positive::ONE);
        for exponent in [-40, -7, -1, 1, 20] {
            assert_eq!(mistakes(&batch, positive(2_f64.powi(exponent))), ones, "{kind}");
        }
    }
}

/// With η = 0.01 the weights are multiples of 0.01 up to rounding, and w·x is right up to rounding.
/// Its sign is certain unless the integer that it stands for is 0. Without such ties, apart from
/// the start at exactly 0, the mistakes must be the same.
#[test]
fn a_step_of_a_hundredth_changes_no_mistake_without_ties() {
    for seed in 0..20 {
        let batch = without_ties(&Separable::signs(ROUNDS, DIMENSION, seed).batch);
        assert!(batch.len() > ROUNDS / 2);
        let ones = mistakes(&batch, Positive::ONE);
        assert!(ones.iter().filter(|mistake| **mistake).count() > 3);
        for eta in [0.01, 0.3, 7.0] {
            assert_eq!(mistakes(&batch, positive(eta)), ones, "eta {eta}, seed {seed}");
        }
    }
}

/// Drops the examples on which the Perceptron, once it has learned anything, is undecided.
fn without_ties(batch: &Batch) -> Batch {
    let mut perceptron = Perceptron::new(Hinge {}, Positive::ONE);
    perceptron.grow(batch.dimension());
    let mut kept = Batch::default();
    for example in batch.iter() {
        let x = example.features;
        if perceptron.rounds() == 0 || perceptron.predict(&x) != 0.0 {
            perceptron.learn(&example);
            kept.push(x.indices(), x.values(), example.label).unwrap();
        }
    }
    kept
}
