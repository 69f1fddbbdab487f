//! There is no allocation in the inner loop. Once there is room for the features, a round of
//! learning allocates nothing, and neither does entering it in the ledger, except that a mark of
//! the curve (at t = 1, 2, 4, 8, …) may lengthen the list of marks.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use allocation_counter::measure;
use common::{ball, positive, sided_box};
use rueful_checks::streams::{Recipe, StreamKind, Targets};
use rueful_core::learner::{
    Bank, Capped, FollowTheLeader, Ftrl, Learner, Minimax, Ogd, PassiveAggressive, Perceptron,
    RegularizedErm, StronglyConvexOgd,
};
use rueful_core::loss::{AnyLoss, Hinge, Logistic, Square};
use rueful_core::schedule::{AdaGradNorm, Constant, InverseSqrt};
use rueful_core::set::{AnySet, Ball, FeasibleSet, WholeSpace};
use rueful_core::{Batch, Ledger, NonNegative, Objective, Round};
use std::num::NonZeroU64;

fn stream(rounds: usize) -> Batch {
    let recipe = Recipe { targets: Targets::Signs, rounds, dimension: 30, seed: 1 };
    StreamKind::Sparse.batch(&recipe)
}

fn allocations(f: impl FnOnce()) -> u64 {
    measure(f).count_total
}

fn check_learner(name: &str, mut learner: impl Learner) {
    let batch = stream(5000);
    learner.grow(batch.dimension());
    for (t, example) in batch.iter().enumerate() {
        let mut round = None;
        let learning = allocations(|| round = Some(learner.learn(&example)));
        assert_eq!(learning, 0, "{name} allocates in round {t}");
        let predicting = allocations(|| {
            std::hint::black_box(learner.predict(&example.features));
        });
        assert_eq!(predicting, 0, "{name} allocates to predict");
    }
    let mut rounds: Vec<Round> = Vec::with_capacity(batch.len());
    let again = allocations(|| learner.learn_rows(batch.rows(), &mut rounds));
    assert_eq!(again, 0, "{name} allocates for a batch");
}

fn check_set<W: FeasibleSet>(name: &str, set: &W) {
    for sigma in [0.0, 0.1, 30.0] {
        let objective = Objective { loss: Hinge {}, sigma: NonNegative::new(sigma).unwrap() };
        let steps = InverseSqrt { eta: positive(1.0) };
        check_learner(&format!("ogd {name}"), Ogd::new(objective, steps, set.clone()));
    }
    let steps = AdaGradNorm { diameter: positive(1.0) };
    check_learner(&format!("erm {name}"), RegularizedErm::new(Logistic {}, steps, set.clone()));
}

#[test]
fn learners_allocate_nothing() {
    let round = Ball { radius: positive(0.5) };
    check_set("on a ball", &round);
    check_set("in a box", &sided_box());
    check_set("anywhere", &WholeSpace {});
    check_set("on any ball", &ball(0.5));
    check_set("in any box", &AnySet::from(sided_box()));
    let rounds = NonZeroU64::new(20_000).unwrap();
    check_learner("leader on a ball", FollowTheLeader::new(Hinge {}, round));
    check_learner("leader in a box", FollowTheLeader::new(Hinge {}, sided_box()));
    check_learner("minimax", Minimax::new(Hinge {}, round, positive(4.0), rounds));
    check_learner("perceptron", Perceptron::new(Hinge {}, positive(1.0)));
    check_learner("ftrl", Ftrl::new(Logistic {}, positive(0.1), NonNegative::ZERO));
    let capped = PassiveAggressive::new(Hinge {}, Capped {}, positive(1.0));
    check_learner("passive-aggressive", capped);
    check_learner("strongly convex", StronglyConvexOgd::new(Hinge {}, positive(0.1)));
}

/// The bank has filters that grow with the features, and allocates for those that are new.
#[test]
fn a_bank_that_knows_the_features_allocates_nothing() {
    for loss in [Logistic {}.into(), Hinge {}.into(), AnyLoss::from(Square {})] {
        let batch = stream(3000);
        let mut bank = Bank::new(loss).unwrap();
        let mut rounds: Vec<Round> = Vec::new();
        bank.learn_rows(batch.rows(), &mut rounds);
        let again = allocations(|| bank.learn_rows(batch.rows(), &mut rounds));
        assert_eq!(again, 0, "{} allocates for a batch", loss.name());
        for (t, example) in batch.iter().enumerate() {
            let learning = allocations(|| {
                std::hint::black_box(bank.learn(&example));
            });
            assert_eq!(learning, 0, "{} allocates in round {t}", loss.name());
        }
    }
}

fn rounds_of(batch: &Batch) -> Vec<Round> {
    let steps = Constant { eta: positive(0.1) };
    let mut rounds = Vec::new();
    Ogd::new(Objective::plain(Hinge {}), steps, WholeSpace {})
        .learn_rows(batch.rows(), &mut rounds);
    rounds
}

#[test]
fn the_ledger_allocates_at_marks_only() {
    let batch = stream(5000);
    let rounds = rounds_of(&batch);
    let mut ledger = Ledger::new(Hinge {}, ball(1.0));
    ledger.record_rows(batch.rows(), &rounds).unwrap();
    for (example, round) in batch.iter().zip(&rounds) {
        let mark = (ledger.rounds() + 1).is_power_of_two();
        let count = allocations(|| ledger.record(&example, round).unwrap());
        assert!(count <= u64::from(mark), "{count} allocations in round {}", ledger.rounds());
    }
    assert_eq!(ledger.rounds(), 10_000);
    let batch_without_a_mark = allocations(|| ledger.record_rows(batch.rows(), &rounds).unwrap());
    assert_eq!(batch_without_a_mark, 0, "rounds 10001 to 15000 have no power of two among them");
}

/// From the first round on, only the list of marks grows. It has log₂ T entries, each with a list
/// of its own, and the room for them at least doubles when it runs out. In the first rows there is
/// also the list of their new features, which doubles from 4 to 32 until it has room for 30.
#[test]
fn a_million_rounds_allocate_a_handful_of_times() {
    let batch = stream(10_000);
    let rounds = rounds_of(&batch);
    let mut ledger = Ledger::new(Hinge {}, ball(1.0));
    ledger.record(&batch.get(0), &rounds[0]).unwrap();
    let (room_for_features, list_of_new_features, marks) = (1, 4, 20);
    let count = allocations(|| {
        for _ in 0..100 {
            ledger.record_rows(batch.rows(), &rounds).unwrap();
        }
    });
    let most = room_for_features + list_of_new_features + marks + 5;
    assert!(count <= most, "{count} allocations");
}
