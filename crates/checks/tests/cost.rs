//! The cost of a round depends on its features, and not on the dimension. With a million
//! coordinates and six features a row, twenty thousand rounds give the same as with the coordinates
//! renumbered to the few hundred that occur. A learner that touched every coordinate in every round
//! would take minutes, and one that let the others matter would give something else.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::positive;
use rueful_checks::streams::{Recipe, StreamKind, Targets};
use rueful_core::learner::{
    Bank, Capped, FollowTheLeader, Ftrl, Learner, Minimax, Ogd, PassiveAggressive, Perceptron,
    RegularizedErm, StronglyConvexOgd,
};
use rueful_core::loss::Hinge;
use rueful_core::schedule::{AdaGradNorm, InverseSqrt};
use rueful_core::set::{Ball, BoxSet, FeasibleSet, WholeSpace};
use rueful_core::{Batch, Ledger, NonNegative, Objective, Round};
use std::num::NonZeroU64;

const WIDE: usize = 1 << 20;
const ROUNDS: usize = 20_000;

/// A sparse stream over few coordinates, and the same stream with the coordinates spread out.
fn streams() -> (Batch, Batch) {
    let recipe = Recipe { targets: Targets::Signs, rounds: ROUNDS, dimension: 500, seed: 1 };
    let narrow = StreamKind::Sparse.batch(&recipe);
    let stride = (WIDE / 500) as u32;
    let mut wide = Batch::default();
    for example in narrow.iter() {
        let x = example.features;
        let spread: Vec<u32> = x.indices().iter().map(|i| i * stride + 7).collect();
        wide.push_weighted(&spread, x.values(), example.label, example.importance).unwrap();
    }
    (narrow, wide)
}

fn play(batch: &Batch, learner: &mut impl Learner) -> (Vec<Round>, f64) {
    let mut rounds = Vec::new();
    learner.learn_rows(batch.rows(), &mut rounds);
    let mut ledger = Ledger::new(Hinge {}, Ball { radius: positive(1.0) });
    ledger.record_rows(batch.rows(), &rounds).unwrap();
    (rounds, ledger.certificate(ledger.comparators()))
}

/// Checks that both streams give the same up to rounding, because norms may be added up in another
/// order.
fn check<L: Learner + Clone>(name: &str, (narrow, wide): &(Batch, Batch), learner: &L) {
    let (few, one) = play(narrow, &mut learner.clone());
    let (many, other) = play(wide, &mut learner.clone());
    for (t, (few, many)) in few.iter().zip(&many).enumerate() {
        let gap = (few.prediction - many.prediction).abs();
        assert!(gap <= 1e-7 * (1.0 + few.prediction.abs()), "{name}: round {t}: {gap:e}");
    }
    assert!((one - other).abs() <= 1e-6 * one.abs(), "{name}: {one} and {other}");
}

fn check_set<W: FeasibleSet>(name: &str, streams: &(Batch, Batch), set: &W) {
    let adaptive = AdaGradNorm { diameter: positive(2.0) };
    let falling = InverseSqrt { eta: positive(0.5) };
    for sigma in [0.0, 0.01] {
        let objective = Objective { loss: Hinge {}, sigma: NonNegative::new(sigma).unwrap() };
        check(&format!("ogd {name}"), streams, &Ogd::new(objective, adaptive, set.clone()));
        check(&format!("ogd {name}"), streams, &Ogd::new(objective, falling, set.clone()));
    }
    check(&format!("erm {name}"), streams, &RegularizedErm::new(Hinge {}, falling, set.clone()));
}

#[test]
fn a_round_costs_what_its_features_cost() {
    let streams = streams();
    let round = Ball { radius: positive(1.0) };
    let cube = BoxSet::cube(positive(0.3));
    check_set("on a ball", &streams, &round);
    check_set("in a box", &streams, &cube);
    check_set("anywhere", &streams, &WholeSpace {});
    let horizon = NonZeroU64::new(ROUNDS as u64).unwrap();
    check("leader", &streams, &FollowTheLeader::new(Hinge {}, round));
    check("leader in a box", &streams, &FollowTheLeader::new(Hinge {}, cube));
    check("minimax", &streams, &Minimax::new(Hinge {}, round, positive(3.0), horizon));
    check("perceptron", &streams, &Perceptron::new(Hinge {}, positive(1.0)));
    check("ftrl", &streams, &Ftrl::new(Hinge {}, positive(0.1), NonNegative::ZERO));
    let capped = PassiveAggressive::new(Hinge {}, Capped {}, positive(0.1));
    check("passive-aggressive", &streams, &capped);
    check("bank", &streams, &Bank::new(Hinge {}.into()).unwrap());
    check("strongly convex ogd", &streams, &StronglyConvexOgd::new(Hinge {}, positive(0.01)));
}
