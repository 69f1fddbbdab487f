//! The ladder: regret ≤ certificate ≤ data-dependent bound ≤ theorem.
//!
//! An [`Arena`] is a stream, an objective and a set of comparators. It has comparators u drawn from
//! that set, and the loss of each after every round, in twice the precision. Any learner can then
//! be sent through it.
//!
//! In words: at t = 1, 2, 4, 8, … and at the end, for every u that was tried, the regret against u
//! is at most the certificate, as it stands. The rungs of the learner's promise are in order above
//! the certificate, then and at the end. They are there whenever its theorem covers the run.

use crate::exact::{Double, Enclosed, ExactLoss, comparator_losses, norm_sq, suffered_losses};
use crate::reference::{best_in_hindsight, project};
use crate::rng::Rng;
use rueful_core::learner::Learner;
use rueful_core::ledger::CurvePoint;
use rueful_core::set::{AnySet, FeasibleSet};
use rueful_core::{Batch, Ladder, Ledger, LedgerError, Objective, Round};

/// The number of comparators that are drawn inside the set. As many are drawn on its boundary.
const DRAWN: usize = 3;

/// A stream with its comparators.
#[derive(Debug, Clone)]
pub struct Arena<L> {
    /// The objective ℓ_t = φ + (σ/2)‖w‖².
    pub objective: Objective<L>,
    /// The set of comparators.
    pub comparators: AnySet,
    /// The examples.
    pub batch: Batch,
    dimension: usize,
    rivals: Vec<Rival>,
}

/// A comparator, and Σ_{s≤t} ℓ_s(u) for every t.
#[derive(Debug, Clone)]
struct Rival {
    name: String,
    losses: Vec<Enclosed>,
}

/// The run of a learner through the arena.
#[derive(Debug, Clone)]
pub struct Run {
    /// The rounds in order.
    pub rounds: Vec<Round>,
    /// The ledger of the run.
    pub ledger: Ledger,
    /// Σ_{s≤t} ℓ_s(w_s) for every t, with next to no rounding.
    pub suffered: Vec<Enclosed>,
}

/// Whether a theorem covers a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Both rungs must be there.
    Bounds,
    /// Neither rung may be there: claiming a bound that is not proved is an error, too.
    NoBounds,
    /// The run decides: its steps may or may not shrink faster than the curvature pays for.
    Either,
}

impl Expect {
    /// The expectation along the way. A theorem that covers the run covered it all along. One that
    /// does not cover it in the end may have covered it for a while.
    fn so_far(self) -> Self {
        if self == Self::Bounds { Self::Bounds } else { Self::Either }
    }
}

impl<L: ExactLoss> Arena<L> {
    /// Draws comparators: 0, points inside and on the boundary, and the best in hindsight.
    pub fn new(objective: Objective<L>, comparators: AnySet, batch: Batch, seed: u64) -> Self {
        let dimension = batch.dimension();
        let mut arena = Self { objective, comparators, batch, dimension, rivals: Vec::new() };
        let rng = &mut Rng::new(seed);
        arena.add("zero".into(), vec![0.0; dimension]);
        for i in 0..DRAWN {
            arena.add(format!("inside {i}"), arena.drawn(0.7, rng));
            arena.add(format!("boundary {i}"), arena.drawn(1e3, rng));
        }
        let best = best_in_hindsight(&arena.objective, &arena.comparators, &arena.batch, dimension);
        arena.add("best in hindsight".into(), best);
        arena
    }

    /// A random point: `size` times as far out as the set reaches, then projected.
    fn drawn(&self, size: f64, rng: &mut Rng) -> Vec<f64> {
        let reach = self.comparators.reach(self.dimension.into());
        let far = if reach.is_finite() { size * reach } else { size };
        let length = far / (self.dimension as f64).sqrt();
        let mut u: Vec<f64> = rng.direction(self.dimension).iter().map(|x| length * x).collect();
        project(&self.comparators, &mut u);
        u
    }

    fn add(&mut self, name: String, u: Vec<f64>) {
        let rival = self.rival(name, u);
        self.rivals.push(rival);
    }

    fn rival(&self, name: String, mut u: Vec<f64>) -> Rival {
        bring_inside(&self.comparators, &mut u);
        let sigma = self.objective.sigma.get();
        let losses = comparator_losses(&self.objective.loss, sigma, &self.batch, &u);
        Rival { name, losses }
    }

    /// Lets a learner play the stream. The error is that of a run that diverged.
    pub fn run(&self, learner: &mut dyn Learner) -> Result<Run, LedgerError> {
        self.run_watched(learner, |_, _| ())
    }

    /// Like [`run`](Self::run), with a call of `watch` at t = 1, 2, 4, 8, …
    fn run_watched(
        &self,
        learner: &mut dyn Learner,
        watch: impl Fn(&dyn Learner, &Ledger),
    ) -> Result<Run, LedgerError> {
        learner.grow(self.dimension);
        let mut ledger = self.ledger();
        let mut rounds = Vec::with_capacity(self.batch.len());
        let mut exact = Vec::with_capacity(self.batch.len());
        for example in self.batch.iter() {
            let penalty = self.penalty(learner);
            let round = learner.learn(&example);
            ledger.record(&example, &round)?;
            exact.push(Round { penalty, ..round });
            rounds.push(round);
            if ledger.rounds().is_power_of_two() {
                watch(learner, &ledger);
            }
        }
        let suffered = suffered_losses(&self.objective.loss, &self.batch, &exact);
        Ok(Run { rounds, ledger, suffered })
    }

    fn ledger(&self) -> Ledger {
        let Objective { loss, sigma } = self.objective;
        Ledger::regularized(loss, sigma, self.comparators.clone())
    }

    /// (σ/2)‖w_t‖², computed from the weights themselves.
    fn penalty(&self, learner: &dyn Learner) -> f64 {
        let sigma = self.objective.sigma.get();
        if sigma == 0.0 {
            return 0.0;
        }
        (Double::from(0.5 * sigma) * norm_sq(&learner.weights())).value()
    }

    /// Sends a learner through and checks the whole ladder.
    ///
    /// # Panics
    /// It panics if a rung is out of order, missing, or there without a proof.
    pub fn check(&self, name: &str, learner: &mut dyn Learner, expect: Expect) -> Run {
        let ladder = |learner: &dyn Learner, ledger: &Ledger| {
            ledger.ladder(learner.promise_in(&self.comparators, ledger.coordinates()))
        };
        let run = self.run_watched(learner, |learner, ledger| {
            check_rungs(name, &ladder(learner, ledger), expect.so_far());
        });
        let run = run.unwrap_or_else(|error| panic!("{name}: {error}"));
        self.check_certificates(name, &run);
        check_rungs(name, &ladder(learner, &run.ledger), expect);
        run
    }

    /// Checks the lowest rung alone: the regret against every comparator that was tried is at most
    /// the certificate, at every point of the curve.
    pub fn check_certificates(&self, name: &str, run: &Run) {
        let point = self.rival("against the slopes".into(), self.against_slopes(run));
        for rival in self.rivals.iter().chain([&point]) {
            for mark in run.ledger.curve() {
                check_mark(name, rival, run, &mark);
            }
            let total = run.ledger.certificate(run.ledger.comparators());
            assert_regret_below(name, rival, run, self.batch.len(), total);
        }
    }

    /// The comparator for which the certificate is attained if the losses are linear.
    fn against_slopes(&self, run: &Run) -> Vec<f64> {
        let minorant = run.ledger.minorant();
        let curvature = minorant.sigma().get() * minorant.rounds() as f64;
        let largest = minorant.slopes().iter().fold(0.0, |m: f64, s| m.max(s.abs()));
        let reach = self.comparators.reach(self.dimension.into());
        let stretch = match (curvature > 0.0, reach.is_finite()) {
            (true, _) => 1.0 / curvature,
            (false, true) if largest > 0.0 => 1e20 * reach / largest,
            _ => 0.0,
        };
        let mut u: Vec<f64> = minorant.slopes().iter().map(|s| -stretch * s).collect();
        project(&self.comparators, &mut u);
        u
    }
}

impl Run {
    /// The regret Σ_{s≤t} (ℓ_s(w_s) − ℓ_s(u)).
    fn regret(&self, losses: &[Enclosed], t: usize) -> Enclosed {
        self.suffered[t - 1] - losses[t - 1]
    }
}

fn check_mark(name: &str, rival: &Rival, run: &Run, mark: &CurvePoint) {
    let rounds = mark.rounds();
    let total = mark.certificate() * rounds as f64;
    assert_regret_below(name, rival, run, rounds as usize, total);
}

fn assert_regret_below(name: &str, rival: &Rival, run: &Run, t: usize, certificate: f64) {
    let regret = run.regret(&rival.losses, t);
    assert!(
        regret.lower() <= certificate,
        "{name}: after {t} rounds the regret against {} is {:e}, the certificate {certificate:e}",
        rival.name,
        regret.value.value(),
    );
}

fn check_rungs(name: &str, ladder: &Ladder, expect: Expect) {
    match expect {
        Expect::Bounds => {
            assert!(ladder.data.is_ok(), "{name}: no data-dependent bound: {ladder:?}");
            assert!(ladder.theorem.is_ok(), "{name}: no theorem: {ladder:?}");
        }
        Expect::NoBounds => {
            let silent = ladder.data.is_err() && ladder.theorem.is_err();
            assert!(silent, "{name}: a bound without a proof: {ladder:?}");
        }
        Expect::Either => {}
    }
    assert!(ladder.is_in_order(), "{name}: out of order: {ladder:?}");
}

/// Makes sure that u lies in the set exactly, and not only up to rounding.
fn bring_inside(set: &AnySet, u: &mut [f64]) {
    project(set, u);
    if let AnySet::Ball(ball) = set {
        let radius = ball.radius.get();
        while (norm_sq(u) - Double::product(radius, radius)).value() > 0.0 {
            u.iter_mut().for_each(|u| *u *= 1.0 - 2.0 * f64::EPSILON);
        }
    }
}
