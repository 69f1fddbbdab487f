//! ERM, regularised ERM, and their relation to gradient descent.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::positive;
use rueful_checks::streams::{Recipe, StreamKind, Targets};
use rueful_core::learner::{FollowTheLeader, Learner, Ogd, RegularizedErm};
use rueful_core::loss::{Absolute, Hinge, Linear, Logistic, Loss, Square};
use rueful_core::schedule::{Constant, InverseSqrt};
use rueful_core::set::{BoxSet, WholeSpace};
use rueful_core::{Batch, Objective, Round};

fn counterexample(rounds: usize) -> Batch {
    let recipe = Recipe { targets: Targets::Slopes, rounds, dimension: 1, seed: 0 };
    StreamKind::Counterexample.batch(&recipe)
}

fn total_loss(mut learner: impl Learner, batch: &Batch) -> f64 {
    let mut rounds = Vec::new();
    learner.learn_rows(batch.rows(), &mut rounds);
    rounds.iter().map(Round::loss).sum()
}

fn notes_interval() -> BoxSet {
    BoxSet::interval(-1.0, 1.0).unwrap()
}

#[test]
fn erm_loses_all_but_one_round() {
    for rounds in (1..100).chain([1000, 12_345]) {
        let erm = FollowTheLeader::new(Linear {}, notes_interval());
        assert_eq!(total_loss(erm, &counterexample(rounds)), rounds as f64 - 1.0);
    }
}

#[test]
fn regularised_erm_loses_a_root() {
    for rounds in (1..100).chain([1000, 12_345]) {
        let root = (rounds as f64).sqrt();
        let fixed = Constant { eta: positive(1.0 / root) };
        let growing = InverseSqrt { eta: positive(1.0) };
        let batch = counterexample(rounds);
        let loss = total_loss(RegularizedErm::new(Linear {}, fixed, notes_interval()), &batch);
        assert!(loss <= root, "{loss} in {rounds} rounds");
        let loss = total_loss(RegularizedErm::new(Linear {}, growing, notes_interval()), &batch);
        assert!(loss <= 2.0 * root, "{loss} in {rounds} rounds");
    }
}

/// Checks that the weights agree to rounding, whether S/α is summed up at once or step by step.
fn check_twins<L: Loss>(loss: L, targets: Targets, kind: StreamKind, eta: f64, seed: u64) {
    let batch = kind.batch(&Recipe { targets, rounds: 400, dimension: 6, seed });
    let steps = Constant { eta: positive(eta) };
    let mut erm = RegularizedErm::new(loss, steps, WholeSpace {});
    let mut ogd = Ogd::new(Objective::plain(loss), steps, WholeSpace {});
    erm.grow(batch.dimension());
    ogd.grow(batch.dimension());
    for (t, example) in batch.iter().enumerate() {
        let (one, other) = (erm.learn(&example), ogd.learn(&example));
        assert_eq!(one.loss().is_finite(), other.loss().is_finite());
        let (one, other) = (erm.weights(), ogd.weights());
        let size = one.iter().fold(0.0, |m: f64, w| m.max(w.abs()));
        for (a, b) in one.iter().zip(&other) {
            let error = (a - b).abs();
            assert!(error <= 1e-12 * size, "{kind}, seed {seed}, round {t}: {a} and {b}");
        }
    }
}

#[test]
fn linearised_regularised_erm_is_gradient_descent() {
    let kinds = [
        StreamKind::Noisy,
        StreamKind::Drifting,
        StreamKind::Sparse,
        StreamKind::Separable,
        StreamKind::ZeroRows,
        StreamKind::ConstantLabels,
    ];
    for (kind, seed) in kinds.into_iter().flat_map(|kind| (0..5).map(move |seed| (kind, seed))) {
        // Powers of two keep the integers of the separable stream exact, so that ties stay ties.
        for eta in [1.0 / 1024.0, 1.0 / 32.0] {
            check_twins(Absolute {}, Targets::Numbers, kind, eta, seed);
            check_twins(Hinge {}, Targets::Signs, kind, eta, seed);
            check_twins(Linear {}, Targets::Slopes, kind, eta, seed);
            check_twins(Logistic {}, Targets::Signs, kind, eta, seed);
        }
        // The square loss is steep on these integers, and is stable with the shorter step only.
        check_twins(Square {}, Targets::Numbers, kind, 1.0 / 1024.0, seed);
    }
}
