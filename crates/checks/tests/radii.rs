//! Certificates for sets that are chosen afterwards: balls of every radius and boxes, at the end
//! and at every mark of the curve.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{ball, positive, sided_box};
use rueful_checks::Rng;
use rueful_checks::exact::{
    Double, Enclosed, ExactLoss, comparator_losses, norm_sq, suffered_losses,
};
use rueful_checks::streams::{Recipe, StreamKind, Targets};
use rueful_core::learner::{Learner, Ogd};
use rueful_core::loss::{Absolute, Hinge, Linear, Logistic, Square};
use rueful_core::schedule::AdaGradNorm;
use rueful_core::set::{AnySet, Ball, BoxSet, FeasibleSet, WholeSpace};
use rueful_core::{Batch, Ledger, NonNegative, Objective};

const DIMENSION: usize = 5;
const ROUNDS: usize = 300;

/// One run with all its certificates.
struct Books<L> {
    name: String,
    objective: Objective<L>,
    batch: Batch,
    ledger: Ledger,
    suffered: Vec<Enclosed>,
}

impl<L: ExactLoss> Books<L> {
    fn new(loss: L, targets: Targets, kind: StreamKind, sigma: f64, comparators: &AnySet) -> Self {
        let sigma = NonNegative::new(sigma).unwrap();
        let objective = Objective { loss, sigma };
        let recipe = Recipe { targets, rounds: ROUNDS, dimension: DIMENSION, seed: 40 };
        let batch = kind.batch(&recipe);
        let steps = AdaGradNorm { diameter: positive(2.0) };
        let mut learner = Ogd::new(objective, steps, Ball { radius: positive(1.0) });
        let mut rounds = Vec::new();
        learner.learn_rows(batch.rows(), &mut rounds);
        let mut ledger = Ledger::regularized(loss, sigma, comparators.clone());
        ledger.record_rows(batch.rows(), &rounds).unwrap();
        let suffered = suffered_losses(&loss, &batch, &rounds);
        let name = format!("{kind}, sigma {sigma}, ledger for {comparators:?}");
        Self { name, objective, batch, ledger, suffered }
    }

    /// Comparators of a ball: its centre, a random point of its boundary, and the one against the
    /// slopes.
    fn rivals(&self, radius: f64) -> Vec<Vec<f64>> {
        let rng = &mut Rng::new(41);
        let slopes: Vec<f64> = self.ledger.minorant().slopes().iter().map(|s| -s).collect();
        let mut rivals = vec![rng.direction(slopes.len()), slopes];
        rivals.iter_mut().for_each(|u| stretch(u, radius));
        rivals.push(Vec::new());
        rivals
    }

    fn losses(&self, u: &[f64]) -> Vec<Enclosed> {
        let Objective { loss, sigma } = self.objective;
        comparator_losses(&loss, sigma.get(), &self.batch, u)
    }

    fn check_ball(&self, radius: f64) {
        let set = Ball { radius: positive(radius) };
        let total = self.ledger.certificate(&set.into());
        for u in self.rivals(radius) {
            let theirs = self.losses(&u);
            let regret = |t: usize| (self.suffered[t - 1] - theirs[t - 1]).lower();
            assert!(regret(ROUNDS) <= total, "{}: radius {radius}", self.name);
            for point in self.ledger.curve() {
                let t = point.rounds() as f64;
                let certificate = point.certificate_for(set.radius) * t;
                let regret = regret(point.rounds() as usize);
                assert!(
                    regret <= certificate,
                    "{}: radius {radius}, after {t}: {regret:e} above {certificate:e}",
                    self.name
                );
            }
        }
    }

    fn check_box(&self, set: &AnySet) {
        let total = self.ledger.certificate(&set.clone().into());
        for mut u in self.rivals(1e3 * set.reach(DIMENSION.into())) {
            set.project_dense(&mut u);
            let theirs = self.losses(&u);
            let regret = (self.suffered[ROUNDS - 1] - theirs[ROUNDS - 1]).lower();
            assert!(regret <= total, "{}: {set:?}: {regret:e} above {total:e}", self.name);
        }
    }

    fn check(&self) {
        for exponent in [-6, -3, -1, 0, 1, 3, 6] {
            self.check_ball(1.7 * 10_f64.powi(exponent));
        }
        for set in [BoxSet::cube(positive(0.2)), BoxSet::cube(positive(1e4)), sided_box()] {
            self.check_box(&set.into());
        }
        self.check_agreement();
    }

    /// Checks that the curve and the ledger give the same number.
    fn check_agreement(&self) {
        let end = self.ledger.curve().pop().unwrap();
        let sets = [ball(1.0), self.ledger.comparators().set().unwrap().clone()];
        let allowed = sets.map(|set| self.ledger.slack(&set.into(), self.ledger.coordinates()));
        let allowed: f64 = allowed.into_iter().filter(|slack| slack.is_finite()).sum();
        for radius in [1e-3, 1.0, 1e3].map(positive) {
            let ball = Ball { radius };
            let per_round = self.ledger.certificate(&ball.into()) / ROUNDS as f64;
            let error = (end.certificate_for(ball.radius) - per_round) * ROUNDS as f64;
            let allowed = (2.0 + radius.get()) * allowed;
            assert!(error.abs() <= allowed, "{}: {error:e}, not {allowed:e}", self.name);
        }
    }
}

/// Scales u to the radius, and never beyond.
fn stretch(u: &mut [f64], radius: f64) {
    let norm = norm_sq(u).value().sqrt();
    if norm > 0.0 {
        u.iter_mut().for_each(|u| *u = *u / norm * radius);
    }
    while (norm_sq(u) - Double::product(radius, radius)).value() > 0.0 {
        u.iter_mut().for_each(|u| *u *= 1.0 - f64::EPSILON);
    }
}

fn check_loss<L: ExactLoss>(loss: L, targets: Targets) {
    for kind in StreamKind::ALL {
        for comparators in [ball(1.0), ball(1e-4), sided_box().into(), WholeSpace {}.into()] {
            for sigma in [0.0, 1e-3, 1.0] {
                Books::new(loss, targets, kind, sigma, &comparators).check();
            }
        }
    }
}

#[test]
fn absolute() {
    check_loss(Absolute {}, Targets::Numbers);
}

#[test]
fn hinge() {
    check_loss(Hinge {}, Targets::Signs);
}

#[test]
fn linear() {
    check_loss(Linear {}, Targets::Slopes);
}

#[test]
fn logistic() {
    check_loss(Logistic {}, Targets::Signs);
}

#[test]
fn square() {
    check_loss(Square {}, Targets::Numbers);
}
