//! Every loss, set, schedule and learner joins its conformance suite, and the awkward points are
//! pinned by hand.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{ball, positive, quantile, sided_box};
use rueful_checks::Rng;
use rueful_checks::conformance::{
    check_bounded, check_covers, check_learner, check_loss, check_rows, check_schedule, check_set,
};
use rueful_checks::streams::{Recipe, StreamKind, Targets};
use rueful_core::learner::{
    Capped, Damped, FollowTheLeader, Ftrl, Learner, Minimax, Ogd, PassiveAggressive, Perceptron,
    RegularizedErm, StronglyConvexOgd,
};
use rueful_core::loss::{
    Absolute, AnyLoss, Hinge, Linear, Logistic, Loss, PerceptronLoss, Square, ZeroOne,
};
use rueful_core::request::Request;
use rueful_core::schedule::{
    AdaGradNorm, AnySchedule, Constant, Horizon, InverseSqrt, InverseTime, Schedule,
};
use rueful_core::set::{AnySet, Ball, BoxSet, FeasibleSet, Interval, WholeSpace};
use rueful_core::{Batch, Importance, Ledger, NonNegative, Objective, Positive};
use std::num::NonZeroU64;

#[test]
fn losses() {
    check_loss(&Absolute {});
    check_loss(&Hinge {});
    check_loss(&Linear {});
    check_loss(&PerceptronLoss {});
    check_loss(&quantile(0.9));
    check_loss(&quantile(0.5));
    check_loss(&quantile(1e-3));
    check_loss(&Square {});
}

#[test]
fn the_logistic_loss() {
    check_loss(&Logistic {});
}

#[test]
fn kinks_and_ties() {
    let slope = |loss: &dyn Fn(f64, f64) -> f64, at: [(f64, f64); 3]| at.map(|(p, y)| loss(p, y));
    let hinge = |p, y| Hinge {}.at(p, y).slope;
    assert_eq!(slope(&hinge, [(1.0, 1.0), (-1.0, -1.0), (1_f64.next_up(), 1.0)]), [-1.0, 1.0, 0.0]);
    let perceptron = |p, y| PerceptronLoss {}.at(p, y).slope;
    assert_eq!(slope(&perceptron, [(0.0, 1.0), (0.0, -1.0), (1e-300, 1.0)]), [-1.0, 1.0, 0.0]);
    assert_eq!(perceptron(-0.0, 1.0), -1.0);
    let absolute = |p, y| Absolute {}.at(p, y).slope;
    assert_eq!(
        slope(&absolute, [(2.0, 2.0), (2_f64.next_up(), 2.0), (-0.0, 0.0)]),
        [0.0, 1.0, 0.0]
    );
    let ninth = |p, y| quantile(0.9).at(p, y).slope;
    assert_eq!(slope(&ninth, [(2.0, 2.0), (1.0, 2.0), (3.0, 2.0)]), [0.0, -0.9, 1.0 - 0.9]);
    assert_eq!(Square {}.at(2.0, 2.0).slope, 0.0);
    assert_eq!(Logistic {}.at(0.0, -1.0).slope, 0.5);
    for tie in [0.0, -0.0] {
        assert!(ZeroOne {}.is_mistake(tie, 1.0) && ZeroOne {}.is_mistake(tie, -1.0));
    }
}

#[test]
fn sets() {
    for dimension in [1, 2, 7] {
        for radius in [1e-6, 1.0, 1e6] {
            check_set(&Ball { radius: positive(radius) }, dimension);
            check_bounded(&Ball { radius: positive(radius) }, dimension);
            check_set(&BoxSet::cube(positive(radius)), dimension);
            check_bounded(&BoxSet::cube(positive(radius)), dimension);
            check_set(&ball(radius), dimension);
        }
        check_set(&sided_box(), dimension);
        check_bounded(&sided_box(), dimension);
        check_set(&AnySet::from(sided_box()), dimension);
        check_set(&WholeSpace {}, dimension);
    }
}

#[test]
fn sets_know_what_they_cover() {
    let point = BoxSet::interval(0.0, 0.0).unwrap();
    let slab =
        BoxSet::new(vec![Interval::new(-1.0, 1.0).unwrap()], Interval::new(0.0, 0.0).unwrap());
    let sets: Vec<AnySet> = vec![
        ball(1.0),
        ball(2.0),
        BoxSet::cube(Positive::ONE).into(),
        sided_box().into(),
        point.into(),
        slab.into(),
        WholeSpace {}.into(),
    ];
    for (outer, inner) in sets.iter().flat_map(|outer| sets.iter().map(move |i| (outer, i))) {
        for dimension in [1, 2, 4] {
            check_covers(outer, inner, dimension);
        }
    }
}

#[test]
fn schedules() {
    for scale in [1e-6, 1.0, 1e6] {
        for parameter in [1e-3, 1.0, 50.0].map(positive) {
            check_schedule(&Constant { eta: parameter }, scale);
            check_schedule(&InverseSqrt { eta: parameter }, scale);
            check_schedule(&InverseTime { sigma: parameter }, scale);
            check_schedule(&AdaGradNorm { diameter: parameter }, scale);
            let rounds = NonZeroU64::new(300).unwrap();
            let gradient_bound = positive(scale);
            check_schedule(&Horizon { radius: parameter, gradient_bound, rounds }, scale);
        }
    }
}

fn through_postcard(ledger: &Ledger) -> Ledger {
    postcard::from_bytes(&postcard::to_stdvec(ledger).unwrap()).unwrap()
}

/// Streams with dense rows, sparse ones, empty ones, and rows that count differently. They are
/// enough to see that it does not matter how rows come.
const HOW_ROWS_COME: [StreamKind; 4] =
    [StreamKind::Noisy, StreamKind::Sparse, StreamKind::ZeroRows, StreamKind::Weighted];

/// One stream, for all learners of one loss.
struct Suite<L> {
    loss: L,
    stream: &'static str,
    batch: Batch,
}

impl<L: Loss + Into<AnyLoss>> Suite<L> {
    fn new(loss: L, targets: Targets, kind: StreamKind) -> Self {
        let batch = kind.batch(&Recipe { targets, rounds: 120, dimension: 9, seed: 3 });
        Self { loss, stream: kind.name(), batch }
    }

    fn check<T: Learner + Clone + 'static>(&self, name: &str, start: &T) {
        self.check_curved(name, start, NonNegative::ZERO, 0);
    }

    /// Checks a learner of losses with (σ/2)‖w‖² added, and of a set that tells its first
    /// coordinates apart.
    fn check_curved<T: Learner + Clone + 'static>(
        &self,
        name: &str,
        start: &T,
        sigma: NonNegative,
        named: usize,
    ) {
        let name = format!("{name} on {}", self.stream);
        let make = || -> Box<dyn Learner> { Box::new(start.clone()) };
        check_learner(&name, &self.loss, make, &self.batch);
        if !HOW_ROWS_COME.map(StreamKind::name).contains(&self.stream) {
            return;
        }
        let whole: AnySet = WholeSpace {}.into();
        let sets = [ball(0.3), BoxSet::cube(positive(0.2)).into(), whole, sided_box().into()];
        // A ledger keeps in place only the coordinates that its own comparators name.
        for set in sets.into_iter().filter(|set| set.named_coordinates() >= named) {
            let ledger = Ledger::regularized(self.loss, sigma, set);
            check_rows(&name, make, &ledger, through_postcard, &self.batch);
        }
    }

    fn with_steps<S: Schedule>(&self, steps: S, set: &AnySet) {
        let named = set.named_coordinates();
        for sigma in [0.0, 0.1].map(|sigma| NonNegative::new(sigma).unwrap()) {
            let objective = Objective { loss: self.loss, sigma };
            let ogd = Ogd::new(objective, steps, set.clone());
            self.check_curved("ogd", &ogd, sigma, named);
        }
        let erm = RegularizedErm::new(self.loss, steps, set.clone());
        self.check_curved("erm", &erm, NonNegative::ZERO, named);
    }

    fn on_set(&self, set: &AnySet) {
        self.with_steps(Constant { eta: positive(0.1) }, set);
        self.with_steps(InverseSqrt { eta: Positive::ONE }, set);
        self.with_steps(AdaGradNorm { diameter: positive(2.0) }, set);
    }

    fn bounded(&self) {
        [ball(1e-3), ball(5.0), sided_box().into()].iter().for_each(|set| self.on_set(set));
        let small = Ball { radius: positive(0.7) };
        let horizon = NonZeroU64::new(100).unwrap();
        self.check("leader on a ball", &FollowTheLeader::new(self.loss, small));
        let in_a_box = FollowTheLeader::new(self.loss, sided_box());
        let named = sided_box().named_coordinates();
        self.check_curved("leader in a box", &in_a_box, NonNegative::ZERO, named);
        self.check("minimax", &Minimax::new(self.loss, small, positive(2.0), horizon));
    }

    fn by_coordinate(&self) {
        for (alpha, l1) in [(0.1, 0.0), (1.0, 0.5)] {
            let ftrl = Ftrl::new(self.loss, positive(alpha), NonNegative::new(l1).unwrap());
            self.check("ftrl", &ftrl);
        }
    }

    fn passive_aggressive(&self) {
        for c in [0.01, 1.0].map(positive) {
            let capped = PassiveAggressive::new(self.loss, Capped {}, c);
            self.check("passive-aggressive-1", &capped);
            let damped = PassiveAggressive::new(self.loss, Damped {}, c);
            self.check("passive-aggressive-2", &damped);
        }
    }

    fn unbounded(&self) {
        self.on_set(&WholeSpace {}.into());
        let sigma = positive(1e-3);
        let svm = StronglyConvexOgd::new(self.loss, sigma);
        self.check_curved("strongly convex ogd", &svm, sigma.into(), 0);
    }
}

/// Sends every learner of one loss through the suite, on every stream.
fn learners<L: Loss + Into<AnyLoss>>(loss: L, targets: Targets) {
    for kind in StreamKind::ALL {
        let suite = Suite::new(loss, targets, kind);
        suite.bounded();
        suite.by_coordinate();
        // Unprojected steps diverge with the square loss on some streams, and nothing is finite
        // there.
        if targets != Targets::Numbers || loss.lipschitz().is_some() {
            suite.unbounded();
        }
        if targets == Targets::Signs {
            suite.check("perceptron", &Perceptron::new(loss, positive(1e-3)));
        }
    }
}

#[test]
fn passive_aggressive_learners() {
    for kind in StreamKind::ALL {
        Suite::new(Hinge {}, Targets::Signs, kind).passive_aggressive();
        Suite::new(Absolute {}, Targets::Numbers, kind).passive_aggressive();
    }
}

/// A stream, and then the same with all slopes turned around. Sums grow, and then collapse to 0.
fn there_and_back(half: usize) -> Batch {
    let rng = &mut Rng::new(4);
    let rows: Vec<Vec<f32>> =
        (0..half).map(|_| (0..3).map(|_| rng.unit() as f32).collect()).collect();
    let mut batch = Batch::default();
    for (row, slope) in rows.iter().map(|row| (row, -1.0)).chain(rows.iter().map(|row| (row, 1.0)))
    {
        batch.push(&[0, 1, 2], row, slope).unwrap();
    }
    batch
}

/// Predictions of weights in a ball of radius U are at most U‖x‖, whatever came before. An example
/// without features has a slope, and yet nothing to step along.
#[test]
fn rows_without_features_let_no_learner_out_of_its_ball() {
    let mut batch = Batch::default();
    let heavy = Importance::new(1e30).unwrap();
    batch.push_weighted(&[], &[], 1.0, heavy).unwrap();
    batch.push(&[], &[], -1.0).unwrap();
    for label in [1.0, 1.0, -1.0, 1.0, 1.0] {
        batch.push(&[0, 3], &[2.0, 1.0], label).unwrap();
    }
    for radius in [1e-3, 1.0, 10.0, 1e6] {
        let set = Ball { radius: positive(radius) };
        let (plain, diameter) = (Objective::plain(Hinge {}), positive(2.0 * radius));
        let steps = AdaGradNorm { diameter };
        let horizon = NonZeroU64::new(7).unwrap();
        let learners: [Box<dyn Learner>; 5] = [
            Box::new(Ogd::new(plain, steps, set)),
            Box::new(Ogd::new(plain, InverseSqrt { eta: diameter }, set)),
            Box::new(RegularizedErm::new(Hinge {}, steps, set)),
            Box::new(FollowTheLeader::new(Hinge {}, set)),
            Box::new(Minimax::new(Hinge {}, set, positive(2.0), horizon)),
        ];
        for (number, mut learner) in learners.into_iter().enumerate() {
            learner.grow(batch.dimension());
            for example in batch.iter() {
                let most = radius * example.features.norm_sq().sqrt();
                let prediction = learner.learn(&example).prediction;
                assert!(prediction.abs() <= most * (1.0 + 1e-9), "{number} {radius}: {prediction}");
            }
        }
    }
}

/// Sums that collapse are hard on running norms.
#[test]
fn learners_of_a_stream_there_and_back() {
    let batch = there_and_back(10_000);
    let suite = Suite { loss: Linear {}, stream: "there and back", batch };
    let small = Ball { radius: positive(0.7) };
    let eta = positive(0.01);
    let horizon = NonZeroU64::new(20_000).unwrap();
    let plain = Objective::plain(Linear {});
    suite.check("leader", &FollowTheLeader::new(Linear {}, small));
    suite.check("erm", &RegularizedErm::new(Linear {}, Constant { eta }, small));
    suite.check("ogd", &Ogd::new(plain, Constant { eta }, small));
    suite.check("minimax", &Minimax::new(Linear {}, small, positive(2.0), horizon));
}

#[test]
fn learners_of_absolute_losses() {
    learners(Absolute {}, Targets::Numbers);
}

#[test]
fn learners_of_hinge_losses() {
    learners(Hinge {}, Targets::Signs);
}

#[test]
fn learners_of_linear_losses() {
    learners(Linear {}, Targets::Slopes);
}

#[test]
fn learners_of_logistic_losses() {
    learners(Logistic {}, Targets::Signs);
}

#[test]
fn learners_of_square_losses() {
    learners(Square {}, Targets::Numbers);
}

#[test]
fn every_schedule_names_its_proof() {
    let request = Request {
        eta: Some(Positive::ONE),
        gradient_bound: Some(Positive::ONE),
        sigma: Positive::ONE.into(),
        horizon: Some(NonZeroU64::MIN),
        ..Request::within(Ball { radius: Positive::ONE })
    };
    for name in AnySchedule::NAMES {
        let schedule = AnySchedule::ask(name, &request).unwrap();
        assert!(schedule.reference().contains("notes"), "{name}");
    }
}
