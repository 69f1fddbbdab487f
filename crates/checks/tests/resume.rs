//! A learner or a ledger that is saved, restored and continued equals, bit for bit, one that never
//! stopped. It is saved as JSON and as postcard's compact bytes, after any round.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{ball, cases, positive, sided_box};
use proptest::prelude::*;
use rueful_checks::streams::{Recipe, StreamKind, Targets};
use rueful_core::learner::{
    Capped, Damped, FollowTheLeader, Ftrl, Learner, Minimax, Ogd, PassiveAggressive, Perceptron,
    RegularizedErm, StronglyConvexOgd,
};
use rueful_core::ledger::MistakeWatch;
use rueful_core::loss::{Hinge, Logistic, Loss};
use rueful_core::schedule::{AdaGradNorm, Constant, Horizon, InverseSqrt, InverseTime, Schedule};
use rueful_core::set::{AnySet, Ball, Bounded, BoxSet, FeasibleSet, WholeSpace};
use rueful_core::{Batch, Ledger, NonNegative, Objective, Round};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::num::NonZeroU64;

const ROUNDS: usize = 60;

/// Anything that can be saved.
trait Saved: Serialize + DeserializeOwned + Clone + PartialEq + Debug {}
impl<T: Serialize + DeserializeOwned + Clone + PartialEq + Debug> Saved for T {}

fn through_json<T: Saved>(what: &str, value: &T) -> T {
    let text = serde_json::to_string(value).unwrap();
    let restored: T = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{what} cannot be restored from JSON: {error}"));
    assert_eq!(&restored, value, "{what} through JSON");
    restored
}

fn through_postcard<T: Saved>(what: &str, value: &T) -> T {
    let bytes = postcard::to_stdvec(value).unwrap();
    let restored: T = postcard::from_bytes(&bytes)
        .unwrap_or_else(|error| panic!("{what} cannot be restored from postcard: {error}"));
    assert_eq!(&restored, value, "{what} through postcard");
    restored
}

fn play<T: Learner>(learner: &mut T, batch: &Batch, rows: std::ops::Range<usize>) -> Vec<Round> {
    learner.grow(batch.dimension());
    rows.map(|row| learner.learn(&batch.get(row))).collect()
}

/// Saves a learner after `stop` rounds, continues, and compares with a learner that went on.
fn check_resume<T: Learner + Saved>(what: &str, start: &T, batch: &Batch, stop: usize) {
    let mut steady = start.clone();
    play(&mut steady, batch, 0..stop);
    let saved = [through_json(what, &steady), through_postcard(what, &steady)];
    let rounds = play(&mut steady, batch, stop..batch.len());
    for mut restored in saved {
        assert_eq!(play(&mut restored, batch, stop..batch.len()), rounds, "{what}: rounds");
        assert_eq!(restored.weights(), steady.weights(), "{what}: weights");
        assert_eq!(restored.rounds(), steady.rounds(), "{what}: count");
        for set in [ball(0.5), sided_box().into(), WholeSpace {}.into()] {
            let promise =
                |learner: &T| learner.promise(&set.clone().into(), batch.dimension().into());
            assert_eq!(promise(&restored), promise(&steady), "{what}: promise");
        }
        assert_eq!(restored, steady, "{what}: state");
    }
}

struct Stop<'a> {
    batch: &'a Batch,
    after: usize,
    name: String,
}

impl Stop<'_> {
    fn check<T: Learner + Saved>(&self, what: &str, start: &T) {
        check_resume(
            &format!("{what} on {} after {}", self.name, self.after),
            start,
            self.batch,
            self.after,
        );
    }

    /// Checks OGD and regularised ERM.
    fn with_steps<S, W>(&self, steps: S, set: &W)
    where
        S: Schedule + Saved,
        W: FeasibleSet + Saved,
    {
        for sigma in [0.0, 0.3, 50.0] {
            let objective = Objective { loss: Hinge {}, sigma: NonNegative::new(sigma).unwrap() };
            let ogd = Ogd::new(objective, steps, set.clone());
            self.check(&format!("ogd {steps:?} {set:?} sigma {sigma}"), &ogd);
        }
        let erm = RegularizedErm::new(Hinge {}, steps, set.clone());
        self.check(&format!("erm {steps:?} {set:?}"), &erm);
    }

    fn leader<W: Bounded + Saved>(&self, set: &W) {
        self.check(&format!("leader {set:?}"), &FollowTheLeader::new(Hinge {}, set.clone()));
    }

    fn others<L: Loss + Saved>(&self, loss: L) {
        let horizon = NonZeroU64::new(40).unwrap();
        let round = Ball { radius: positive(0.7) };
        self.check("minimax", &Minimax::new(loss, round, positive(1.5), horizon));
        self.check("strongly convex ogd", &StronglyConvexOgd::new(loss, positive(3.0)));
        self.check("perceptron", &Perceptron::new(loss, positive(0.3)));
        for l1 in [0.0, 0.3].map(|l1| NonNegative::new(l1).unwrap()) {
            self.check("ftrl", &Ftrl::new(loss, positive(0.3), l1));
        }
        let c = positive(0.3);
        self.check("capped", &PassiveAggressive::new(loss, Capped {}, c));
        self.check("damped", &PassiveAggressive::new(loss, Damped {}, c));
    }
}

/// Streams with dense and sparse rows, empty rows, and a single feature.
const KINDS: [StreamKind; 4] =
    [StreamKind::Noisy, StreamKind::Sparse, StreamKind::ZeroRows, StreamKind::Counterexample];

fn each_stop(targets: Targets, after: usize, seed: u64, f: impl Fn(&Stop<'_>)) {
    for kind in KINDS {
        let batch = kind.batch(&Recipe { targets, rounds: ROUNDS, dimension: 7, seed });
        f(&Stop { batch: &batch, after, name: kind.to_string() });
    }
}

/// Checks learners with AdaGrad-norm steps on one set.
fn resume_on<W: FeasibleSet + Saved>(set: &W, after: usize, seed: u64) {
    each_stop(Targets::Signs, after, seed, |stop| {
        stop.with_steps(AdaGradNorm { diameter: positive(2.0) }, set);
    });
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn every_schedule_resumes(after in 0..=ROUNDS, seed in 0..1000_u64) {
        let set = Ball { radius: positive(0.7) };
        let (eta, sigma) = (positive(0.05), positive(2.0));
        let rounds = NonZeroU64::new(ROUNDS as u64).unwrap();
        each_stop(Targets::Signs, after, seed, |stop| {
            stop.with_steps(Constant { eta }, &set);
            stop.with_steps(InverseSqrt { eta }, &set);
            stop.with_steps(InverseTime { sigma }, &set);
            stop.with_steps(Horizon { radius: eta, gradient_bound: eta, rounds }, &set);
        });
    }

    #[test]
    fn learners_on_a_ball_resume(after in 0..=ROUNDS, seed in 0..1000_u64) {
        resume_on(&Ball { radius: positive(0.7) }, after, seed);
    }

    #[test]
    fn learners_in_a_box_resume(after in 0..=ROUNDS, seed in 0..1000_u64) {
        resume_on(&sided_box(), after, seed);
    }

    #[test]
    fn learners_in_a_cube_resume(after in 0..=ROUNDS, seed in 0..1000_u64) {
        resume_on(&BoxSet::cube(positive(0.1)), after, seed);
    }

    #[test]
    fn learners_in_the_whole_space_resume(after in 0..=ROUNDS, seed in 0..1000_u64) {
        resume_on(&WholeSpace {}, after, seed);
    }

    #[test]
    fn learners_on_any_set_resume(after in 0..=ROUNDS, seed in 0..1000_u64) {
        resume_on(&ball(0.7), after, seed);
        resume_on(&AnySet::from(sided_box()), after, seed);
        resume_on(&AnySet::from(WholeSpace {}), after, seed);
    }

    #[test]
    fn leaders_resume(after in 0..=ROUNDS, seed in 0..1000_u64) {
        each_stop(Targets::Signs, after, seed, |stop| {
            stop.leader(&Ball { radius: positive(0.7) });
            stop.leader(&sided_box());
        });
    }
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn learners_without_a_choice_of_set_resume(after in 0..=ROUNDS, seed in 0..1000_u64) {
        each_stop(Targets::Signs, after, seed, |stop| {
            stop.others(Logistic {});
            stop.others(Hinge {});
        });
    }
}

/// Saves a ledger after `stop` rounds, and goes on with the saved one.
fn check_ledger(what: &str, start: &Ledger, batch: &Batch, rounds: &[Round], stop: usize) {
    let mut steady = start.clone();
    let enter = |ledger: &mut Ledger, rows: std::ops::Range<usize>| {
        rows.for_each(|row| ledger.record(&batch.get(row), &rounds[row]).unwrap());
    };
    enter(&mut steady, 0..stop);
    let saved = [through_json(what, &steady), through_postcard(what, &steady)];
    enter(&mut steady, stop..rounds.len());
    for mut restored in saved {
        enter(&mut restored, stop..rounds.len());
        assert_eq!(restored, steady, "{what}");
        assert_eq!(restored.curve(), steady.curve(), "{what}");
    }
}

fn ledgers(comparators: &AnySet, after: usize, seed: u64) {
    for (kind, sigma) in KINDS.into_iter().flat_map(|kind| [(kind, 0.0), (kind, 0.2)]) {
        let recipe = Recipe { targets: Targets::Signs, rounds: ROUNDS, dimension: 7, seed };
        let batch = kind.batch(&recipe);
        let sigma = NonNegative::new(sigma).unwrap();
        let objective = Objective { loss: Hinge {}, sigma };
        let steps = Constant { eta: positive(0.1) };
        let mut learner = Ogd::new(objective, steps, WholeSpace {});
        let rounds = play(&mut learner, &batch, 0..batch.len());
        let start = Ledger::regularized(Hinge {}, sigma, comparators.clone());
        check_ledger(&format!("ledger of {kind}"), &start, &batch, &rounds, after);
    }
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn ledgers_against_a_ball_resume(after in 0..=ROUNDS, seed in 0..1000_u64) {
        ledgers(&ball(2.0), after, seed);
    }

    #[test]
    fn ledgers_against_a_box_resume(after in 0..=ROUNDS, seed in 0..1000_u64) {
        ledgers(&sided_box().into(), after, seed);
    }

    #[test]
    fn ledgers_against_a_cube_resume(after in 0..=ROUNDS, seed in 0..1000_u64) {
        ledgers(&BoxSet::cube(positive(1.0)).into(), after, seed);
    }

    #[test]
    fn ledgers_against_the_whole_space_resume(after in 0..=ROUNDS, seed in 0..1000_u64) {
        ledgers(&WholeSpace {}.into(), after, seed);
    }

    #[test]
    fn mistake_watches_resume(after in 0..=ROUNDS, seed in 0..1000_u64) {
        let recipe = Recipe { targets: Targets::Signs, rounds: ROUNDS, dimension: 7, seed };
        let batch = StreamKind::Noisy.batch(&recipe);
        let mut watch = MistakeWatch::new(vec![0.3; 5]);
        batch.iter().take(after).for_each(|example| watch.observe(&example, 0.1));
        let mut restored = [through_json("watch", &watch), through_postcard("watch", &watch)];
        for example in batch.iter().skip(after) {
            watch.observe(&example, -0.1);
            restored.iter_mut().for_each(|watch| watch.observe(&example, -0.1));
        }
        prop_assert!(restored.iter().all(|other| *other == watch));
    }
}
