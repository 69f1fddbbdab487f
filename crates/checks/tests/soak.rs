//! Every learner on streams that should break it, in every loss that it takes. Weights stay finite.
//! The certificate is a number, or says that there is none. The rungs above it are in order. A
//! learner whose numbers are not finite is refused with an error, and is one of those that may
//! diverge.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::ball;
use rueful_checks::Rng;
use rueful_core::learner::{Learner, LearnerSpec, Resumable, Take};
use rueful_core::loss::{AnyLoss, Labels, Loss};
use rueful_core::request::{Fact, Refusal, Request};
use rueful_core::set::{AnySet, Ball, WholeSpace};
use rueful_core::{
    Batch, Importance, Ladder, Ledger, LedgerError, NonNegative, Objective, Positive, Round,
};
use std::num::NonZeroU64;

const ROUNDS: usize = 300;
const DIMENSION: usize = 8;

/// One row of a stream, without its label.
struct Row {
    values: Vec<f64>,
    importance: f64,
}

/// A stream that is hard to learn from: its name, and its rows by round.
type Hostile = (&'static str, fn(usize, &mut Rng) -> Row);

fn plain(values: Vec<f64>) -> Row {
    Row { values, importance: 1.0 }
}

fn bell(rng: &mut Rng) -> Vec<f64> {
    (0..DIMENSION).map(|_| rng.bell()).collect()
}

fn power(exponent: i32) -> f64 {
    10_f64.powi(exponent)
}

const STREAMS: [Hostile; 14] = [
    // Columns have units between 1e-6 and 1e8.
    ("unscaled columns", |_, rng| {
        let scaled = bell(rng).into_iter().zip(0..).map(|(x, i)| x * power(2 * i - 6));
        plain(scaled.collect())
    }),
    ("heavy tails", |_, rng| plain((0..DIMENSION).map(|_| rng.heavy()).collect())),
    ("constant columns", |_, _| plain(vec![3.0; DIMENSION])),
    // One value in a hundred has lost its decimal point.
    ("corrupted values", |_, rng| {
        let slip = |x: f64, rng: &mut Rng| if rng.chance(0.01) { 1e12 * x } else { x };
        let values = bell(rng);
        plain(values.into_iter().map(|x| slip(x, rng)).collect())
    }),
    ("the largest values", |_, rng| plain((0..DIMENSION).map(|_| 1e38 * rng.sign()).collect())),
    ("the smallest values", |_, rng| plain((0..DIMENSION).map(|_| 1e-38 * rng.sign()).collect())),
    ("the smallest values and then the largest", |t, rng| {
        let size = if t < ROUNDS / 2 { 1e-38 } else { 1e38 };
        plain(bell(rng).into_iter().map(|x| x.clamp(-3.0, 3.0) * size).collect())
    }),
    ("both in one row", |_, rng| {
        plain((0..DIMENSION).map(|i| rng.sign() * if i % 2 == 0 { 1e-38 } else { 1e38 }).collect())
    }),
    ("alternating signs", |t, _| {
        plain(vec![if t.is_multiple_of(2) { 1.0 } else { -1.0 }; DIMENSION])
    }),
    ("growing alternation", |t, _| {
        let size = 1.2_f64.powi(t as i32).min(1e38);
        plain(vec![if t.is_multiple_of(2) { size } else { -size }; DIMENSION])
    }),
    ("duplicates", |t, _| plain((0..DIMENSION).map(|i| ((i + t / 50) as f64).sin()).collect())),
    ("importances of all sizes", |_, rng| {
        let importance = [1e-30, 1.0, 1e30][rng.below(3)];
        Row { values: bell(rng), importance }
    }),
    ("rows that do not count", |t, rng| {
        let importance = if t.is_multiple_of(3) { 1.0 } else { 0.0 };
        let size = if importance == 0.0 { 1e38 } else { 1.0 };
        Row {
            values: bell(rng).into_iter().map(|x| size * x.clamp(-3.0, 3.0)).collect(),
            importance,
        }
    }),
    ("nothing but the constant, and nothing at all", |t, _| {
        plain(if t.is_multiple_of(2) { vec![1.0] } else { Vec::new() })
    }),
];

/// A label that follows the first value for a while, and then its opposite. Every seventh is wrong.
fn label(labels: Labels, orders: i32, t: usize, values: &[f64], rng: &mut Rng) -> f64 {
    let first = values.first().copied().unwrap_or(1.0);
    let turned = (t > ROUNDS / 2) ^ t.is_multiple_of(7);
    let sign = if (first < 0.0) ^ turned { -1.0 } else { 1.0 };
    match labels {
        Labels::Signs => sign,
        Labels::Numbers => sign * rng.unit() * power(rng.integer(-orders, orders)),
    }
}

fn stream(make: fn(usize, &mut Rng) -> Row, labels: Labels, orders: i32) -> Batch {
    let rng = &mut Rng::new(11);
    let mut batch = Batch::default();
    for t in 0..ROUNDS {
        let Row { values, importance } = make(t, rng);
        let label = label(labels, orders, t, &values, rng);
        let indices: Vec<u32> = (0..values.len() as u32).collect();
        let values: Vec<f32> = values.iter().map(|&x| x as f32).collect();
        let importance = Importance::new(importance).unwrap();
        batch.push_weighted(&indices, &values, label, importance).unwrap();
    }
    batch
}

/// Settings, of which a learner takes those that it uses: the defaults, cautious ones, and reckless
/// ones.
fn requests<'a>() -> [Request<'a>; 3] {
    let radius = Positive::new(10.0).unwrap();
    let plain = Request::within(Ball { radius });
    let with = |size: f64| {
        let size = Positive::new(size).unwrap();
        Request { eta: Some(size), c: Some(size), l1: Some(size.into()), ..plain }
    };
    [plain, with(1e-3), with(1e3)]
}

/// The learner of a name, with the facts that must be measured put in.
fn described(
    name: &str,
    request: &Request<'_>,
    objective: &Objective<AnyLoss>,
    batch: &Batch,
) -> LearnerSpec {
    let mut request = *request;
    loop {
        match LearnerSpec::ask(name, &request) {
            Ok(learner) => return learner,
            Err(Refusal::Needs(Fact::Horizon)) => {
                request.horizon = NonZeroU64::new(batch.len().max(1) as u64);
            }
            Err(Refusal::Needs(Fact::GradientBound)) => {
                request.gradient_bound = Some(steepest(&objective.loss, batch));
            }
            Err(refusal) => panic!("{name}: {refusal}"),
        }
    }
}

/// The gradient bound G for weights of norm 10.
fn steepest(loss: &AnyLoss, batch: &Batch) -> Positive {
    let gradient = |example: rueful_core::Example<'_>| {
        let norm = example.features.norm_sq().sqrt();
        example.importance.get() * norm * loss.steepest(10.0 * norm, example.label.abs())
    };
    Positive::new(batch.iter().map(gradient).fold(1e-100, f64::max)).unwrap()
}

struct Boxed;

impl Take for Boxed {
    type Made = Box<dyn Learner>;

    fn take<T: Resumable + 'static>(self, fresh: T) -> Box<dyn Learner> {
        Box::new(fresh)
    }
}

/// A learner in the loss that it learns, on one stream.
struct Soak<'a> {
    name: String,
    spec: &'a LearnerSpec,
    objective: Objective<AnyLoss>,
    batch: &'a Batch,
}

impl Soak<'_> {
    fn check(&self) {
        let mut learner = self.spec.make(self.objective, Boxed).unwrap();
        let mut rounds = Vec::new();
        learner.learn_rows(self.batch.rows(), &mut rounds);
        assert_eq!(rounds.len(), self.batch.len(), "{}", self.name);
        for comparators in [ball(10.0), ball(1e-3), WholeSpace {}.into()] {
            self.check_books(&*learner, &rounds, comparators);
        }
    }

    fn check_books(&self, learner: &dyn Learner, rounds: &[Round], comparators: AnySet) {
        let Objective { loss, sigma } = self.objective;
        let mut ledger = Ledger::regularized(loss, sigma, comparators);
        match ledger.record_rows(self.batch.rows(), rounds) {
            Ok(()) => self.check_finite(learner, &ledger),
            Err(LedgerError::NotFinite { .. }) => {
                assert!(self.may_diverge(), "{} diverged", self.name);
            }
            Err(error) => panic!("{}: {error}", self.name),
        }
        self.check_certificate(&ledger);
    }

    /// Whether the learner may diverge. Unprojected steps of 1/(σt) may, because the square loss is
    /// steep and lengthens them, whatever the stream.
    fn may_diverge(&self) -> bool {
        self.objective.loss.lipschitz().is_none() && self.spec.name() == "strongly-convex-ogd"
    }

    fn check_finite(&self, learner: &dyn Learner, ledger: &Ledger) {
        let weights = learner.weights();
        assert!(weights.iter().all(|w| w.is_finite()), "{}: {weights:?}", self.name);
        let counted = self.batch.iter().filter(|example| !example.importance.is_zero()).count();
        assert_eq!((learner.rounds(), ledger.rounds()), (counted as u64, counted as u64));
        let promise = learner.promise(ledger.comparators(), ledger.coordinates());
        self.check_ladder(&ledger.ladder(promise));
    }

    /// Checks that a rung is a number, or that there is a sentence in its place, and that none had
    /// to be withheld.
    fn check_ladder(&self, ladder: &Ladder) {
        assert_eq!(ladder.disorder, [], "{}: {ladder:?}", self.name);
        assert!(ladder.is_in_order(), "{}: {ladder:?}", self.name);
        for rung in [&ladder.data, &ladder.theorem] {
            match rung {
                Ok(bound) => assert!(bound.total.is_finite(), "{}: {ladder:?}", self.name),
                Err(missing) => assert!(!missing.why.is_empty(), "{}: {ladder:?}", self.name),
            }
        }
    }

    /// Checks that the certificate is never below the regret against one comparator, u = 0, at
    /// every point of the curve and at the end. A certificate that is not a number fails here.
    fn check_certificate(&self, ledger: &Ledger) {
        let at_zero = |example: rueful_core::Example<'_>| {
            example.importance.get() * self.objective.loss.at(0.0, example.label).value
        };
        let counted = self.batch.iter().filter(|example| !example.importance.is_zero());
        let lost: f64 = counted.take(ledger.rounds() as usize).map(at_zero).sum();
        let certificate = ledger.certificate(ledger.comparators());
        let regret = ledger.loss() - lost;
        let rounding = 1e-12 * (ledger.loss().abs() + lost.abs());
        assert!(certificate >= regret - rounding, "{}: {certificate:e} {regret:e}", self.name);
        for point in ledger.curve() {
            assert!(!point.certificate().is_nan(), "{}: {point:?}", self.name);
        }
    }
}

/// The losses that a learner takes, each with the σ that it adds to them.
fn objectives(name: &str) -> impl Iterator<Item = Objective<AnyLoss>> {
    let request = Request::within(Ball { radius: Positive::ONE });
    AnyLoss::NAMES.into_iter().filter_map(move |loss| {
        let loss = AnyLoss::ask(loss, &request).unwrap();
        let mut objective = Objective::plain(loss);
        let spec = described(name, &request, &objective, &Batch::default());
        objective.sigma = NonNegative::new(spec.default_sigma()).unwrap();
        spec.check(&objective).is_ok().then_some(objective)
    })
}

/// The orders of magnitude that labels which are numbers span, above and below 1.
const LABEL_ORDERS: [i32; 2] = [3, 38];

/// Sends a learner through every stream. Returns the number of losses that it takes.
fn soak(name: &str) -> usize {
    let mut losses = 0;
    for objective in objectives(name) {
        losses += 1;
        for ((stream_name, make), orders) in
            STREAMS.into_iter().flat_map(|stream| LABEL_ORDERS.map(|orders| (stream, orders)))
        {
            let batch = stream(make, objective.loss.labels(), orders);
            for request in requests() {
                let spec = described(name, &request, &objective, &batch);
                let name = format!("{spec:?}, {}, {stream_name}, {orders}", objective.loss);
                Soak { name, spec: &spec, objective, batch: &batch }.check();
            }
        }
    }
    losses
}

#[test]
fn every_learner_survives_every_stream() {
    for name in LearnerSpec::NAMES {
        let losses = soak(name);
        let expected = match name {
            "perceptron" => AnyLoss::classifiers().len(),
            "passive-aggressive-1" | "passive-aggressive-2" => 2,
            "bank" => AnyLoss::NAMES.len() - 2,
            _ => AnyLoss::NAMES.len(),
        };
        assert_eq!(losses, expected, "{name}");
    }
}
