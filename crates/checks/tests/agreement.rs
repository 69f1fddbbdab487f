//! Lazy scaling and incremental sums against the slow and obvious versions, over a million rounds.
//! Weights, losses, certificate and data-dependent bound agree to a relative 1e-9.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{ball, positive, sided_box};
use rueful_checks::reference::{
    DenseFollowTheLeader, DenseFtrl, DenseLedger, DenseMinimax, DenseOgd, DensePassiveAggressive,
    DensePerceptron, DenseRegularizedErm, DenseStronglyConvexOgd, Reference,
};
use rueful_checks::streams::{Recipe, StreamKind, Targets};
use rueful_core::learner::{
    Aggression, Capped, Damped, FollowTheLeader, Ftrl, Learner, Minimax, Ogd, PassiveAggressive,
    Perceptron, RegularizedErm, StronglyConvexOgd,
};
use rueful_core::loss::{Absolute, AnyLoss, Hinge, Linear, Logistic, Loss, PerceptronLoss, Square};
use rueful_core::schedule::{AdaGradNorm, Constant, InverseSqrt, Schedule};
use rueful_core::set::{AnySet, Ball, WholeSpace};
use rueful_core::{Batch, Ledger, NonNegative, Objective};
use std::num::NonZeroU64;

const DIMENSION: usize = 20;
const ROWS: usize = 10_000;
const LAPS: usize = 100;
const TOLERANCE: f64 = 1e-9;

/// Ten thousand examples, which are seen a hundred times.
fn lap(kind: StreamKind, targets: Targets) -> Batch {
    let batch = kind.batch(&Recipe { targets, rounds: ROWS, dimension: DIMENSION, seed: 12 });
    assert_eq!(batch.dimension(), DIMENSION);
    batch
}

fn assert_agree(what: &str, fast: f64, slow: f64) {
    let error = (fast - slow).abs() / slow.abs();
    assert!(error <= TOLERANCE, "{what}: {fast:e} and {slow:e} differ by {error:e}");
}

fn assert_same_weights(name: &str, fast: &dyn Learner, slow: &dyn Reference) {
    let slow = slow.weights();
    let size: f64 = slow.iter().map(|w| w * w).sum();
    let error: f64 = fast.weights().iter().zip(&slow).map(|(a, b)| (a - b) * (a - b)).sum();
    assert!(error <= TOLERANCE * TOLERANCE * size, "{name}: off by {:e}", (error / size).sqrt());
}

/// Runs both over a million rounds and compares everything.
fn agree(
    name: &str,
    loss: impl Into<AnyLoss>,
    mut fast: impl Learner,
    mut slow: impl Reference,
    comparators: &AnySet,
    sigma: NonNegative,
    batch: &Batch,
) {
    let mut ledger = Ledger::regularized(loss, sigma, comparators.clone());
    let mut dense = DenseLedger::new(sigma.get(), DIMENSION);
    let mut rounds = Vec::new();
    for _ in 0..LAPS {
        fast.learn_rows(batch.rows(), &mut rounds);
        ledger.record_rows(batch.rows(), &rounds).unwrap();
        let slow_rounds: Vec<_> = batch.iter().map(|example| slow.learn(&example)).collect();
        dense.record_batch(batch, &slow_rounds);
        assert_same_weights(name, &fast, &slow);
    }
    assert_agree(&format!("{name}: loss"), ledger.loss(), dense.loss());
    assert_eq!(ledger.mistakes(), dense.mistakes(), "{name}: mistakes");
    let computed = ledger.certificate(&comparators.clone().into())
        - ledger.slack(&comparators.clone().into(), ledger.coordinates());
    assert_agree(&format!("{name}: certificate"), computed, dense.certificate(comparators));
    assert!(ledger.certificate(&comparators.clone().into()) >= dense.certificate(comparators));
    let slow_bound = slow.data_bound(comparators);
    match fast.promise(&comparators.clone().into(), ledger.coordinates()).data {
        Ok(bound) => assert_agree(&format!("{name}: bound"), bound.total, slow_bound),
        Err(why) => assert!(slow_bound.is_infinite(), "{name}: {why}"),
    }
}

fn ogd<L: Loss + Into<AnyLoss>, S: Schedule>(
    name: &str,
    loss: L,
    steps: S,
    set: &AnySet,
    s: f64,
    batch: &Batch,
) {
    let sigma = NonNegative::new(s).unwrap();
    let objective = Objective { loss, sigma };
    let fast = Ogd::new(objective, steps, set.clone());
    let slow = DenseOgd::new(objective, steps, set.clone(), DIMENSION);
    agree(name, loss, fast, slow, set, sigma, batch);
}

fn erm<L: Loss + Into<AnyLoss>, S: Schedule>(
    name: &str,
    loss: L,
    steps: S,
    set: &AnySet,
    batch: &Batch,
) {
    let fast = RegularizedErm::new(loss, steps, set.clone());
    let slow = DenseRegularizedErm::new(loss, steps, set.clone(), DIMENSION);
    agree(name, loss, fast, slow, set, NonNegative::ZERO, batch);
}

#[test]
fn ogd_on_a_ball() {
    let batch = lap(StreamKind::Noisy, Targets::Signs);
    let steps = InverseSqrt { eta: positive(2.0) };
    ogd("hinge", Hinge {}, steps, &ball(1.5), 0.0, &batch);
}

#[test]
fn ogd_on_a_ball_that_tunes_itself() {
    let batch = lap(StreamKind::Noisy, Targets::Signs);
    let steps = AdaGradNorm { diameter: positive(3.0) };
    ogd("logistic", Logistic {}, steps, &ball(1.5), 0.0, &batch);
}

#[test]
fn ogd_in_a_box() {
    let batch = lap(StreamKind::Noisy, Targets::Numbers);
    let steps = InverseSqrt { eta: positive(0.3) };
    ogd("square", Square {}, steps, &sided_box().into(), 0.0, &batch);
}

#[test]
fn regularised_ogd_on_a_ball() {
    let batch = lap(StreamKind::Sparse, Targets::Signs);
    let steps = InverseSqrt { eta: positive(2.0) };
    ogd("svm", Hinge {}, steps, &ball(0.8), 0.01, &batch);
}

#[test]
fn regularised_ogd_in_the_whole_space() {
    let batch = lap(StreamKind::Sparse, Targets::Signs);
    let steps = Constant { eta: positive(0.01) };
    ogd("ridge", Logistic {}, steps, &WholeSpace {}.into(), 0.1, &batch);
}

#[test]
fn strongly_convex_ogd() {
    let batch = lap(StreamKind::Noisy, Targets::Signs);
    let sigma = positive(0.05);
    let fast = StronglyConvexOgd::new(Hinge {}, sigma);
    let slow = DenseStronglyConvexOgd::new(Hinge {}, sigma, DIMENSION);
    agree("pegasos", Hinge {}, fast, slow, &WholeSpace {}.into(), sigma.into(), &batch);
}

#[test]
fn perceptron() {
    let batch = lap(StreamKind::Noisy, Targets::Signs);
    let fast = Perceptron::new(PerceptronLoss {}, positive(0.3));
    let slow = DensePerceptron::new(PerceptronLoss {}, positive(0.3), DIMENSION);
    agree("perceptron", PerceptronLoss {}, fast, slow, &ball(2.0), NonNegative::ZERO, &batch);
}

#[test]
fn regularised_erm() {
    let batch = lap(StreamKind::Sparse, Targets::Signs);
    erm("on a ball", Logistic {}, InverseSqrt { eta: positive(1.0) }, &ball(1.0), &batch);
}

#[test]
fn regularised_erm_that_tunes_itself() {
    let batch = lap(StreamKind::Noisy, Targets::Signs);
    let set = sided_box().into();
    erm("in a box", Logistic {}, AdaGradNorm { diameter: positive(5.0) }, &set, &batch);
}

#[test]
fn follow_the_leader() {
    let batch = lap(StreamKind::Noisy, Targets::Slopes);
    let set = Ball { radius: positive(2.0) };
    let fast = FollowTheLeader::new(Linear {}, set);
    let slow = DenseFollowTheLeader::new(Linear {}, set.into(), DIMENSION);
    agree("leader", Linear {}, fast, slow, &set.into(), NonNegative::ZERO, &batch);
}

#[test]
fn minimax() {
    let batch = lap(StreamKind::Noisy, Targets::Slopes);
    let (set, g, rounds) = (Ball { radius: positive(2.0) }, positive(2.0), 1_000_000);
    let fast = Minimax::new(Linear {}, set, g, NonZeroU64::new(rounds).unwrap());
    let slow = DenseMinimax::new(Linear {}, set, g, rounds, DIMENSION);
    agree("minimax", Linear {}, fast, slow, &set.into(), NonNegative::ZERO, &batch);
}

fn ftrl<L: Loss + Into<AnyLoss>>(name: &str, loss: L, l1: f64, batch: &Batch) {
    let (alpha, l1) = (positive(0.3), NonNegative::new(l1).unwrap());
    let fast = Ftrl::new(loss, alpha, l1);
    let slow = DenseFtrl::new(loss, alpha, l1, DIMENSION);
    agree(name, loss, fast, slow, &ball(2.0), NonNegative::ZERO, batch);
}

#[test]
fn ftrl_proximal() {
    ftrl("ftrl", Logistic {}, 0.0, &lap(StreamKind::Sparse, Targets::Signs));
}

#[test]
fn ftrl_proximal_with_zeros() {
    ftrl("ftrl with zeros", Hinge {}, 20.0, &lap(StreamKind::Weighted, Targets::Signs));
}

fn passive_aggressive<L: Loss + Into<AnyLoss>, A: Aggression>(
    loss: L,
    (rule, dense): (A, DensePassiveAggressive),
    c: f64,
    batch: &Batch,
) {
    let fast = PassiveAggressive::new(loss, rule, positive(c));
    let slow = dense.over(loss, positive(c), DIMENSION);
    let name = format!("{dense:?} {c}");
    agree(&name, loss, fast, slow, &ball(2.0), NonNegative::ZERO, batch);
}

#[test]
fn passive_aggressive_1() {
    let rule = (Capped {}, DensePassiveAggressive::Capped);
    let batch = lap(StreamKind::Weighted, Targets::Signs);
    passive_aggressive(Hinge {}, rule, 0.02, &batch);
    passive_aggressive(Absolute {}, rule, 0.3, &lap(StreamKind::Noisy, Targets::Numbers));
}

#[test]
fn passive_aggressive_2() {
    let rule = (Damped {}, DensePassiveAggressive::Damped);
    let batch = lap(StreamKind::Weighted, Targets::Signs);
    passive_aggressive(Hinge {}, rule, 0.02, &batch);
    passive_aggressive(Absolute {}, rule, 0.3, &lap(StreamKind::Noisy, Targets::Numbers));
}
