//! The cost of a round depends on its features on the worst of streams, too: where the norm
//! collapses in every other round, or where every step all but wipes out the weights. The passes
//! over all coordinates are counted, and there are no more of them than features pay for.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{ball, positive};
use rueful_checks::Rng;
use rueful_checks::exact::norm_sq;
use rueful_core::learner::{
    FollowTheLeader, Learner, Minimax, Ogd, Perceptron, RegularizedErm, StronglyConvexOgd,
};
use rueful_core::loss::{Linear, PerceptronLoss};
use rueful_core::schedule::{AdaGradNorm, Constant, InverseSqrt, Schedule};
use rueful_core::set::{AnySet, Ball, BoxSet, WholeSpace};
use rueful_core::{Batch, NonNegative, Objective, Positive, Round};
use std::fmt::Debug;
use std::num::NonZeroU64;

const WIDE: usize = 1 << 20;
const ROUNDS: usize = 20_000;

/// Making room for a coordinate pays for four passes, and one more starts exact sums.
const FREE: u64 = 4 + 1;

/// Rows of one or two features among `dimension` coordinates, with slopes that all but undo one
/// another, two by two. The remainder differs from pair to pair, down to 0.
fn undoing(dimension: usize, rounds: usize) -> Batch {
    let rng = &mut Rng::new(4);
    let mut batch = Batch::default();
    let last = dimension as u32 - 1;
    batch.push(&[last], &[1e-3], 1e-3).unwrap();
    for pair in 1..rounds / 2 {
        let first = rng.below(dimension - 1) as u32;
        let few: &[u32] = if pair % 3 == 0 { &[first, last] } else { &[first] };
        let values = &[1.0 + rng.unit() as f32, 0.5][..few.len()];
        let left = [0.0, 1e-15, 1e-12, 1e-6][pair % 4];
        batch.push(few, values, 1.0).unwrap();
        batch.push(few, values, -1.0 + left).unwrap();
    }
    batch
}

/// Pairs of equal rows with the labels 1 and −1.
fn contradicting(dimension: usize, rounds: usize) -> Batch {
    let mut batch = Batch::default();
    for pair in 0..rounds / 2 {
        let row = [(pair * 7919 % dimension) as u32];
        batch.push(&row, &[1.0], 1.0).unwrap();
        batch.push(&row, &[1.0], -1.0).unwrap();
    }
    batch
}

/// The passes that a learner's weights have counted. Only their debugging view shows them.
fn passes(learner: &impl Debug) -> u64 {
    let state = format!("{learner:?}");
    let (_, counted) = state.split_once("passes: ").unwrap();
    counted.split(',').next().unwrap().parse().unwrap()
}

/// Plays a stream over a million coordinates and counts the passes.
fn count<T: Learner + Debug>(name: &str, mut learner: T, batch: &Batch) {
    learner.grow(WIDE);
    let mut rounds = Vec::new();
    learner.learn_rows(batch.rows(), &mut rounds);
    assert!(rounds.iter().all(Round::is_finite), "{name}");
    let paid = FREE + (batch.nonzeros() / WIDE) as u64;
    let found = passes(&learner);
    assert!(found <= paid, "{name}: {found} passes in {ROUNDS} rounds, {paid} are paid for");
}

fn unit() -> Ball {
    Ball { radius: Positive::ONE }
}

fn horizon() -> NonZeroU64 {
    NonZeroU64::new(ROUNDS as u64).unwrap()
}

fn curved(sigma: f64) -> Objective<Linear> {
    Objective { loss: Linear {}, sigma: NonNegative::new(sigma).unwrap() }
}

#[test]
fn sums_that_collapse_in_every_other_round() {
    let batch = undoing(WIDE, ROUNDS);
    let steps = Constant { eta: Positive::ONE };
    count("leader", FollowTheLeader::new(Linear {}, unit()), &batch);
    count("minimax", Minimax::new(Linear {}, unit(), positive(3.0), horizon()), &batch);
    count("erm", RegularizedErm::new(Linear {}, steps, Ball { radius: positive(1e-6) }), &batch);
    let adaptive = AdaGradNorm { diameter: positive(2.0) };
    count("erm", RegularizedErm::new(Linear {}, adaptive, unit()), &batch);
}

#[test]
fn weights_that_collapse_in_every_other_round() {
    let batch = undoing(WIDE, ROUNDS);
    let steps = Constant { eta: positive(0.1) };
    count("strongly convex", StronglyConvexOgd::new(Linear {}, positive(0.1)), &batch);
    count("regularised", Ogd::new(curved(1e-12), steps, WholeSpace {}), &batch);
    count("regularised", Ogd::new(curved(1e-12), steps, Ball { radius: positive(1e-9) }), &batch);
    count("regularised", Ogd::new(curved(1e-12), steps, BoxSet::cube(positive(0.05))), &batch);
    count("plain", Ogd::new(curved(0.0), steps, Ball { radius: positive(1e-9) }), &batch);
    let labels = contradicting(WIDE, ROUNDS);
    count("perceptron", Perceptron::new(PerceptronLoss {}, Positive::ONE), &labels);
}

/// A step longer than 1/σ is cut to 1/σ, and leaves nothing of the weights. One that is a little
/// shorter leaves a 1e-15th, and so does the way back to a ball from far away.
#[test]
fn steps_that_wipe_out_the_weights() {
    let batch = undoing(WIDE, ROUNDS);
    for eta in [1.0, 1e6, 1.0 - 1e-15, 1.0 - 1e-9, 0.999] {
        let steps = Constant { eta: positive(eta) };
        count("box", Ogd::new(curved(1.0), steps, BoxSet::cube(Positive::ONE)), &batch);
        count("ball", Ogd::new(curved(1.0), steps, unit()), &batch);
        count("anywhere", Ogd::new(curved(1.0), steps, WholeSpace {}), &batch);
    }
    let far = Constant { eta: positive(1e15) };
    count("far out", Ogd::new(curved(0.0), far, Ball { radius: positive(1e-15) }), &batch);
}

/// Checks ‖w_t‖² as reported in the penalty, among few coordinates, where it can be computed in
/// every round.
fn check_penalties(name: &str, learner: &mut dyn Learner, sigma: f64, batch: &Batch) {
    learner.grow(40);
    for (t, example) in (1..).zip(batch.iter()) {
        let exact = 0.5 * sigma * norm_sq(&learner.weights()).value();
        let found = learner.learn(&example).penalty;
        assert!((found - exact).abs() <= 1e-9 * exact, "{name}, round {t}: {found} and {exact}");
    }
}

fn check_steps<S: Schedule>(name: &str, steps: S, batch: &Batch) {
    let sets: [AnySet; 4] = [
        WholeSpace {}.into(),
        ball(1e-3),
        BoxSet::cube(positive(0.1)).into(),
        BoxSet::interval(-1e-9, 0.5).unwrap().into(),
    ];
    for set in sets {
        for sigma in [1e-12, 0.1, 3.0] {
            let name = format!("{name} on {set:?} with sigma {sigma}");
            check_penalties(&name, &mut Ogd::new(curved(sigma), steps, set.clone()), sigma, batch);
        }
    }
}

#[test]
fn the_norm_of_collapsing_weights_is_their_norm() {
    let batch = undoing(40, 2000);
    check_steps("constant", Constant { eta: positive(0.3) }, &batch);
    check_steps("falling", InverseSqrt { eta: positive(0.3) }, &batch);
    check_steps("adaptive", AdaGradNorm { diameter: positive(0.3) }, &batch);
    let mut svm = StronglyConvexOgd::new(Linear {}, positive(0.1));
    check_penalties("strongly convex", &mut svm, 0.1, &batch);
}

/// The leader on a ball lies on the sphere, whatever has cancelled in S, so its norm is known.
#[test]
fn the_leader_stays_on_the_sphere() {
    let mut leader = FollowTheLeader::new(Linear {}, unit());
    leader.grow(40);
    for (t, example) in (1..).zip(undoing(40, 4000).iter()) {
        leader.learn(&example);
        let norm = norm_sq(&leader.weights()).value().sqrt();
        assert!((norm - 1.0).abs() <= 1e-9, "round {t}: {norm}");
    }
}
