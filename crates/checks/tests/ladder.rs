//! The ladder for every learner, loss, set, schedule and stream: regret ≤ certificate ≤
//! data-dependent bound ≤ theorem. The bounds are there wherever a theorem covers the run.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{ball, positive, quantile, sided_box};
use rueful_checks::conformance::{Arena, Expect};
use rueful_checks::exact::ExactLoss;
use rueful_checks::streams::{Recipe, StreamKind, Targets};
use rueful_core::bound::projected_ogd;
use rueful_core::learner::{
    Capped, Damped, FollowTheLeader, Ftrl, Learner, Minimax, Ogd, PassiveAggressive, Perceptron,
    RegularizedErm, StronglyConvexOgd,
};
use rueful_core::loss::{Absolute, Hinge, Linear, Logistic, PerceptronLoss, Square};
use rueful_core::schedule::{AdaGradNorm, Constant, Horizon, InverseSqrt, InverseTime, Schedule};
use rueful_core::set::{AnySet, Ball, BoxSet, FeasibleSet, WholeSpace};
use rueful_core::{Batch, Ladder, Ledger, LedgerError, NonNegative, Objective, Positive, Round};
use std::num::NonZeroU64;

const ROUNDS: usize = 150;
const DIMENSION: usize = 5;

/// Pairs of a learner's set and a set of comparators inside it.
fn sets() -> Vec<(AnySet, AnySet)> {
    let cube: AnySet = BoxSet::cube(positive(0.5)).into();
    vec![
        (ball(1.0), ball(1.0)),
        (ball(1e-6), ball(1e-6)),
        (ball(1e6), ball(1e6)),
        (ball(10.0), ball(0.3)),
        (ball(2.0), cube.clone()),
        (cube.clone(), cube.clone()),
        (cube, ball(0.25)),
        (sided_box().into(), sided_box().into()),
        (WholeSpace {}.into(), ball(3.0)),
        (WholeSpace {}.into(), WholeSpace {}.into()),
    ]
}

/// Whether a set is bounded. Steps that shrink are covered only if the distances to the comparators
/// are bounded.
fn is_bounded(set: &AnySet) -> bool {
    set.reach(DIMENSION.into()).is_finite()
}

struct Trial<'a, L> {
    arena: &'a Arena<L>,
    set: &'a AnySet,
    kind: StreamKind,
    name: String,
    /// Whether slopes are unbounded.
    steep: bool,
}

impl<L: ExactLoss> Trial<'_, L> {
    /// Checks that bounds are there if a theorem covers the run, and not otherwise. Only in the
    /// whole space can the run itself decide: curvature makes up for steps that do not shrink too
    /// fast.
    fn check(&self, what: &str, learner: &mut dyn Learner, covered: bool) {
        let name = format!("{what} on {}", self.name);
        let curved = self.arena.objective.sigma.get() > 0.0 && !is_bounded(self.set);
        let expect = match covered {
            true => Expect::Bounds,
            false if curved => Expect::Either,
            false => Expect::NoBounds,
        };
        self.arena.check(&name, learner, expect);
    }

    fn ogd<S: Schedule + std::fmt::Debug>(&self, schedule: S, covered: bool) {
        let mut learner = Ogd::new(self.arena.objective, schedule, self.set.clone());
        self.check(&format!("ogd {schedule:?}"), &mut learner, covered);
    }

    fn erm<S: Schedule + std::fmt::Debug>(&self, schedule: S, covered: bool) {
        let loss = self.arena.objective.loss;
        let mut learner = RegularizedErm::new(loss, schedule, self.set.clone());
        self.check(&format!("erm {schedule:?}"), &mut learner, covered);
    }

    /// Checks the learners that can play on any set.
    fn all_schedules(&self) {
        if self.may_diverge() && !is_bounded(self.set) {
            return;
        }
        let (inside, outside) = (is_bounded(self.set), is_bounded(&self.arena.comparators));
        let sigma = self.arena.objective.sigma.get();
        let diameter = if inside { self.set.diameter(DIMENSION.into()) } else { 1.0 };
        let horizon = Horizon {
            radius: positive(diameter),
            gradient_bound: positive(3.0),
            rounds: NonZeroU64::new(ROUNDS as u64).unwrap(),
        };
        let adaptive = AdaGradNorm { diameter: positive(diameter) };
        self.ogd(adaptive, inside);
        self.ogd(horizon, outside);
        for eta in self.steps() {
            self.ogd(Constant { eta }, outside);
            self.ogd(InverseSqrt { eta }, inside);
        }
        for rate in [0.5, 20.0].map(positive) {
            let paid_by_curvature = sigma == rate.get();
            self.ogd(InverseTime { sigma: rate }, inside || paid_by_curvature);
        }
        if sigma == 0.0 {
            self.erm(adaptive, inside);
            self.erm(horizon, outside);
            for eta in self.steps() {
                self.erm(Constant { eta }, outside);
                self.erm(InverseSqrt { eta }, outside);
                self.erm(InverseTime { sigma: positive(1.0 / eta.get()) }, outside);
            }
        }
    }

    /// Whether nothing keeps the weights from growing beyond all bounds. The square loss is steeper
    /// the farther off a prediction is, so unprojected steps on examples of all sizes diverge.
    fn may_diverge(&self) -> bool {
        self.steep
            && [StreamKind::Scaled, StreamKind::Extreme, StreamKind::HeavyTailed]
                .contains(&self.kind)
    }

    /// The step sizes to try. In the whole space nothing stops long steps from diverging.
    fn steps(&self) -> Vec<Positive> {
        let etas = [1e-6, 0.01, 1.0, 100.0].map(positive).into_iter();
        etas.filter(|eta| is_bounded(self.set) || eta.get() < 0.1).collect()
    }

    /// Checks the learners that have no schedule to choose.
    fn others(&self) {
        let Objective { loss, sigma } = self.arena.objective;
        if let Ok(sigma) = Positive::new(sigma.get()) {
            if self.may_diverge() {
                return;
            }
            let mut learner = StronglyConvexOgd::new(loss, sigma);
            self.check("strongly convex ogd", &mut learner, true);
            return;
        }
        self.ftrl();
        match self.set {
            AnySet::Ball(ball) => {
                self.check("leader", &mut FollowTheLeader::new(loss, *ball), false);
                self.minimax(*ball);
            }
            AnySet::Box(sides) => {
                self.check("leader", &mut FollowTheLeader::new(loss, sides.clone()), false);
            }
            AnySet::WholeSpace(_) => {}
        }
    }

    /// FTRL-proximal bounds its regret by the weights that it had, so it has a data-dependent bound
    /// and no theorem.
    fn ftrl(&self) {
        for (alpha, l1) in [(1e-6, 0.0), (0.1, 0.0), (0.1, 1.0), (10.0, 0.1), (1e6, 1e3)] {
            let l1 = NonNegative::new(l1).unwrap();
            let mut learner = Ftrl::new(self.arena.objective.loss, positive(alpha), l1);
            let what = format!("ftrl, alpha {alpha}, l1 {l1}");
            let ladder = self.data_rung(&what, &mut learner);
            assert!(ladder.theorem.is_err(), "{what}: {ladder:?}");
        }
    }

    /// Checks that there is a data-dependent bound whenever the comparators are bounded, and never
    /// one below the certificate, which would be withheld.
    fn data_rung(&self, what: &str, learner: &mut dyn Learner) -> Ladder {
        let name = format!("{what} on {}", self.name);
        let run = self.arena.check(&name, learner, Expect::Either);
        let comparators = &self.arena.comparators;
        let promise = learner.promise(&comparators.clone().into(), run.ledger.coordinates());
        let ladder = run.ledger.ladder(promise);
        assert_eq!(ladder.disorder, [], "{name}: {ladder:?}");
        assert_eq!(ladder.data.is_ok(), is_bounded(comparators), "{name}: {ladder:?}");
        ladder
    }

    /// Checks the passive-aggressive learners. Where every step was whole, passive-aggressive-1 is
    /// OGD, and has its theorem.
    fn passive_aggressive(&self) {
        for c in [1e-6, 0.01, 1.0, 1e6] {
            let loss = self.arena.objective.loss;
            let mut capped = PassiveAggressive::new(loss, Capped {}, positive(c));
            self.data_rung(&format!("passive-aggressive-1, C {c}"), &mut capped);
            let mut damped = PassiveAggressive::new(loss, Damped {}, positive(c));
            self.check(&format!("passive-aggressive-2, C {c}"), &mut damped, false);
        }
    }

    /// Checks the minimax strategy. It needs to know G, and a first run finds it.
    fn minimax(&self, ball: Ball) {
        let horizon = NonZeroU64::new(ROUNDS as u64).unwrap();
        let make = |g| Minimax::new(self.arena.objective.loss, ball, positive(g), horizon);
        let mut g: f64 = 1.0;
        loop {
            let run = self.arena.run(&mut make(g)).unwrap();
            if run.ledger.gradient_norm_max() <= g {
                break;
            }
            g = 1.5 * run.ledger.gradient_norm_max();
        }
        self.check("minimax", &mut make(g), true);
    }
}

fn batches(targets: Targets, rounds: usize) -> impl Iterator<Item = (StreamKind, Batch)> {
    let recipe = Recipe { targets, rounds, dimension: DIMENSION, seed: 20 };
    StreamKind::ALL.into_iter().map(move |kind| (kind, kind.batch(&recipe)))
}

/// Runs a trial for every stream, set and strength of regularisation.
fn every_trial<L: ExactLoss>(loss: L, targets: Targets, run: impl Fn(&Trial<'_, L>)) {
    for (kind, batch) in batches(targets, ROUNDS) {
        for (set, comparators) in sets() {
            for sigma in [0.0, 0.5] {
                let objective = Objective { loss, sigma: NonNegative::new(sigma).unwrap() };
                let arena = Arena::new(objective, comparators.clone(), batch.clone(), 1);
                let name = format!("{kind}, sigma {sigma}, {set:?} against {comparators:?}");
                let steep = loss.lipschitz().is_none();
                run(&Trial { arena: &arena, set: &set, kind, name, steep });
            }
        }
    }
}

fn ladder<L: ExactLoss>(loss: L, targets: Targets) {
    every_trial(loss, targets, |trial| {
        trial.all_schedules();
        trial.others();
    });
}

#[test]
fn absolute() {
    ladder(Absolute {}, Targets::Numbers);
}

#[test]
fn hinge() {
    ladder(Hinge {}, Targets::Signs);
}

#[test]
fn linear() {
    ladder(Linear {}, Targets::Slopes);
}

#[test]
fn logistic() {
    ladder(Logistic {}, Targets::Signs);
}

#[test]
fn perceptron_loss() {
    ladder(PerceptronLoss {}, Targets::Signs);
}

#[test]
fn quantile_loss() {
    ladder(quantile(0.9), Targets::Numbers);
}

#[test]
fn square() {
    ladder(Square {}, Targets::Numbers);
}

/// Checks the Perceptron. In its own loss it is OGD with a constant step. In others it has a
/// certificate only, and so it has where examples count differently, because it learns from all
/// mistakes alike.
fn perceptron<L: ExactLoss>(loss: L, has_theorem: bool) {
    every_trial(loss, Targets::Signs, |trial| {
        let covered = has_theorem
            && is_bounded(&trial.arena.comparators)
            && trial.kind != StreamKind::Weighted;
        for eta in [1e-6, 0.3, 1.0, 1e6].map(positive) {
            if trial.arena.objective.sigma.get() == 0.0 {
                trial.check("perceptron", &mut Perceptron::new(loss, eta), covered);
            }
        }
    });
}

#[test]
fn perceptron_in_its_own_loss() {
    perceptron(PerceptronLoss {}, true);
}

#[test]
fn perceptron_in_other_losses() {
    perceptron(Hinge {}, false);
    perceptron(Logistic {}, false);
}

#[test]
fn passive_aggressive() {
    let run = |trial: &Trial<'_, Hinge>| {
        if trial.arena.objective.sigma.get() == 0.0 {
            trial.passive_aggressive();
        }
    };
    every_trial(Hinge {}, Targets::Signs, run);
}

#[test]
fn passive_aggressive_on_numbers() {
    let run = |trial: &Trial<'_, Absolute>| {
        if trial.arena.objective.sigma.get() == 0.0 {
            trial.passive_aggressive();
        }
    };
    every_trial(Absolute {}, Targets::Numbers, run);
}

/// The theorem of passive-aggressive-1 is about whole steps of C. One shorter step takes it away,
/// and leaves the data-dependent bound.
#[test]
fn a_shorter_step_takes_the_theorem_away() {
    let arena = Arena::new(Objective::plain(Hinge {}), ball(2.0), noisy(ROUNDS), 1);
    let ladder = |rule: &dyn Fn() -> Box<dyn Learner>| {
        let mut learner = rule();
        let run = arena.check("passive-aggressive-1", &mut *learner, Expect::Either);
        run.ledger.ladder(learner.promise(&ball(2.0).clone().into(), run.ledger.coordinates()))
    };
    let of =
        |c: f64| ladder(&|| Box::new(PassiveAggressive::new(Hinge {}, Capped {}, positive(c))));
    let (whole, short) = (of(1e-4), of(10.0));
    assert!(whole.data.unwrap().total < whole.theorem.unwrap().total);
    assert!(short.data.is_ok());
    assert!(short.theorem.unwrap_err().why.contains("less was enough"));
}

fn noisy(rounds: usize) -> Batch {
    let recipe = Recipe { targets: Targets::Signs, rounds, dimension: DIMENSION, seed: 2 };
    StreamKind::Noisy.batch(&recipe)
}

/// A declared G enters the theorem, and a gradient beyond it takes the theorem away. The
/// data-dependent bound needs no declaration.
#[test]
fn a_declared_gradient_bound_is_held_against_the_run() {
    let arena = Arena::new(Objective::plain(Hinge {}), ball(2.0), noisy(ROUNDS), 1);
    let steps = InverseSqrt { eta: positive(0.5) };
    let promise = |declared: Option<Positive>| {
        let learner = Ogd::new(arena.objective, steps, ball(2.0));
        let mut learner = learner.with_gradient_bound(declared);
        let run = arena.run(&mut learner).unwrap();
        let promise = learner.promise(&ball(2.0).clone().into(), run.ledger.coordinates());
        (run.ledger.ladder(promise), run.ledger.gradient_norm_max())
    };
    let (undeclared, measured) = promise(None);
    let (generous, _) = promise(Some(positive(10.0 * measured)));
    let (broken, _) = promise(Some(positive(0.9 * measured)));
    let theorem = |ladder: &Ladder| ladder.theorem.clone().map(|bound| bound.total);
    assert!(theorem(&undeclared).unwrap() < theorem(&generous).unwrap());
    assert!(theorem(&broken).unwrap_err().why.contains("gradients of norm at most"));
    assert_eq!(broken.data, undeclared.data);
    assert_eq!(generous.certificate, undeclared.certificate);
}

/// Rounds without a gradient drop out of the data-dependent bound, but count for the theorem,
/// because UG√(8T) speaks of all T rounds.
#[test]
fn the_theorem_counts_the_rounds_that_rest() {
    let (radius, g) = (2.0_f64, 5.0_f64);
    let mut stream = noisy(ROUNDS);
    (0..1000).for_each(|_| stream.push(&[0], &[1.0], 0.0).unwrap());
    let arena = Arena::new(Objective::plain(Linear {}), ball(radius), stream.clone(), 1);
    let steps = InverseSqrt { eta: positive(2_f64.sqrt() * radius / g) };
    let make =
        || Ogd::new(arena.objective, steps, ball(radius)).with_gradient_bound(Some(positive(g)));
    let mut learner = make();
    arena.check("resting", &mut learner, Expect::Bounds);
    let whole = learner.promise(&ball(radius).clone().into(), DIMENSION.into());
    let expected = projected_ogd(radius, g, stream.len() as f64);
    assert!((whole.theorem.unwrap().total / expected - 1.0).abs() < 1e-12);

    let mut awake = make();
    awake.grow(stream.dimension());
    for example in stream.iter().take(ROUNDS) {
        awake.learn(&example);
    }
    assert_eq!(whole.data, awake.promise(&ball(radius).clone().into(), DIMENSION.into()).data);
    assert_eq!(learner.weights(), awake.weights());
}

/// Steps longer than 1/σ are as good as steps of 1/σ. The learner takes the latter, and its bounds
/// are for them.
#[test]
fn no_step_is_longer_than_the_curvature_allows() {
    let sigma = NonNegative::new(0.5).unwrap();
    for set in [ball(3.0), BoxSet::cube(positive(0.5)).into(), WholeSpace {}.into()] {
        let objective = Objective { loss: Hinge {}, sigma };
        let arena = Arena::new(objective, ball(0.5), noisy(ROUNDS), 1);
        let run = |eta: f64| {
            let mut learner = Ogd::new(objective, Constant { eta: positive(eta) }, set.clone());
            arena.check("capped", &mut learner, Expect::Bounds);
            (learner.weights(), learner.promise(&ball(0.5).clone().into(), DIMENSION.into()).data)
        };
        assert_eq!(run(100.0), run(2.0));
    }
}

/// Comparators beyond the learner's own set are not covered, and no bound is claimed for them.
#[test]
fn nothing_is_promised_beyond_the_set() {
    let steps = AdaGradNorm { diameter: positive(2.0) };
    let cube = AnySet::from(BoxSet::cube(positive(0.9)));
    let outside = [(ball(1.0), ball(1.1)), (ball(1.0), cube.clone()), (cube, ball(1.0))];
    for (set, comparators) in outside {
        let arena = Arena::new(Objective::plain(Hinge {}), comparators, noisy(ROUNDS), 1);
        let trial = Trial {
            arena: &arena,
            set: &set,
            kind: StreamKind::Noisy,
            name: String::new(),
            steep: false,
        };
        trial.ogd(steps, false);
        trial.erm(steps, false);
        if let AnySet::Ball(ball) = set {
            let horizon = NonZeroU64::new(ROUNDS as u64).unwrap();
            let mut minimax = Minimax::new(Hinge {}, ball, positive(9.0), horizon);
            trial.check("minimax", &mut minimax, false);
        }
    }
}

/// The comparators are all near 0. The learner is lured to the far end of its set and then has to
/// come all the way back with shorter steps. Its regret is the size of its own set.
#[test]
fn the_distance_that_counts_is_that_of_the_learner() {
    let mut batch = Batch::default();
    for t in 0..2000 {
        let slope = if t < 200 { -1.0 } else { 1.0 };
        batch.push(&[0], &[1.0], slope).unwrap();
    }
    let near = ball(1e-3);
    for set in [ball(10.0), BoxSet::cube(positive(10.0)).into()] {
        let arena = Arena::new(Objective::plain(Linear {}), near.clone(), batch.clone(), 1);
        let steps = InverseSqrt { eta: Positive::ONE };
        let mut learner = Ogd::new(arena.objective, steps, set.clone());
        arena.check("lured", &mut learner, Expect::Bounds);
        let mut adaptive = Ogd::new(arena.objective, AdaGradNorm { diameter: positive(1.0) }, set);
        arena.check("lured", &mut adaptive, Expect::Bounds);
    }
}

/// The minimax strategy promises nothing for rounds beyond its horizon.
#[test]
fn minimax_promises_nothing_beyond_its_horizon() {
    let round = Ball { radius: positive(1.0) };
    for (rounds, covered) in [(49, true), (50, true), (51, false)] {
        let arena = Arena::new(Objective::plain(Hinge {}), round.into(), noisy(rounds), 1);
        let horizon = NonZeroU64::new(50).unwrap();
        let mut minimax = Minimax::new(Hinge {}, round, positive(9.0), horizon);
        let expect = if covered { Expect::Bounds } else { Expect::NoBounds };
        arena.check("minimax", &mut minimax, expect);
    }
}

/// Steps far too long for the square loss diverge. The ledger takes the finite rounds and refuses
/// the rest with an error, and its certificate still holds.
#[test]
fn a_diverging_run_is_refused_where_it_leaves_the_numbers() {
    let recipe = Recipe { targets: Targets::Numbers, rounds: 2000, dimension: 3, seed: 1 };
    let batch = StreamKind::Noisy.batch(&recipe);
    let steps = Constant { eta: positive(100.0) };
    let mut learner = Ogd::new(Objective::plain(Square {}), steps, WholeSpace {});
    let mut rounds = Vec::new();
    learner.learn_rows(batch.rows(), &mut rounds);
    let mut ledger = Ledger::new(Square {}, ball(1.0));
    let refused = ledger.record_rows(batch.rows(), &rounds).unwrap_err();
    let LedgerError::NotFinite { round, .. } = refused else { panic!("{refused}") };
    assert_eq!(ledger.rounds() + 1, round);
    assert!(rounds[..round as usize - 1].iter().all(Round::is_finite));
    assert!(ledger.certificate(&ball(1.0).clone().into()) >= ledger.loss() * 0.999);
    let ladder = ledger.ladder(learner.promise(&ball(1.0).clone().into(), ledger.coordinates()));
    assert!(ladder.is_in_order(), "{ladder:?}");
}
