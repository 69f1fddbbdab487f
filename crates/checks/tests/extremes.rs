//! Extreme steps, scales and radii: the running norm is the norm, and projected weights lie in
//! their set, to a relative 1e-9. Neither takes more passes over all coordinates than the features
//! of the steps pay for.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{ball, cases, positive};
use proptest::prelude::*;
use rueful_checks::Rng;
use rueful_checks::exact::norm_sq;
use rueful_checks::reference::project;
use rueful_checks::streams::{Recipe, StreamKind, Targets};
use rueful_core::learner::{FollowTheLeader, Learner, Ogd, RegularizedErm};
use rueful_core::loss::{Hinge, Linear, Loss, Square};
use rueful_core::schedule::{AdaGradNorm, Constant, InverseSqrt, Schedule};
use rueful_core::set::{AnySet, Ball, BoxSet, FeasibleSet, WholeSpace};
use rueful_core::{Batch, Features, NonNegative, Objective, Positive, Weights};

const TOLERANCE: f64 = 1e-9;
const DIMENSION: usize = 6;

/// ‖w‖ with next to no rounding.
fn norm(w: &[f64]) -> f64 {
    norm_sq(w).value().sqrt()
}

fn assert_norm(w: &Weights) {
    let exact = norm(&w.iter().collect::<Vec<_>>());
    let found = w.norm();
    assert!((found - exact).abs() <= TOLERANCE * exact, "{found:e} instead of {exact:e}");
}

fn assert_inside(what: &str, set: &AnySet, w: &[f64]) {
    assert!(w.iter().all(|w| w.is_finite()), "{what}: {w:?}");
    let mut nearest = w.to_vec();
    project(set, &mut nearest);
    let off: Vec<f64> = w.iter().zip(&nearest).map(|(w, p)| w - p).collect();
    assert!(norm(&off) <= TOLERANCE * norm(&nearest), "{what}: {w:?} is outside {set:?}");
}

/// A row of one size, in which each feature occurs with probability 0.6.
fn random_row(size: f64, rng: &mut Rng) -> (Vec<u32>, Vec<f32>) {
    let indices: Vec<u32> = (0..DIMENSION as u32).filter(|_| rng.chance(0.6)).collect();
    let values = indices.iter().map(|_| (size * rng.bell()) as f32).collect();
    (indices, values)
}

fn power(rng: &mut Rng, most: i32) -> f64 {
    10_f64.powi(rng.integer(-most, most))
}

/// Takes steps w ← shrink·w + δ·x of all sizes, one after another, each projected. With more room
/// than there are features, the norm is soon known from exact sums only.
fn wander(set: &AnySet, orders: i32, room: usize, seed: u64) {
    let rng = &mut Rng::new(seed);
    let mut w = Weights::default();
    w.grow(room);
    let mut features = 0;
    for _ in 0..300 {
        let (indices, values) = random_row(power(rng, orders), rng);
        let x = Features::new(&indices, &values).unwrap();
        let shrink = match rng.below(8) {
            0 => 0.0,
            1 => rng.unit(),
            2 => 1.0 - power(rng, 12).min(1.0),
            3 => power(rng, 30).min(1.0),
            _ => 1.0,
        };
        let dot = w.dot(&x);
        w.step(shrink, rng.bell() * power(rng, 12 + orders), &x, dot);
        features += x.len();
        assert_norm(&w);
        set.project(&mut w, &x);
        assert_norm(&w);
        assert_inside("weights", set, &w.iter().collect::<Vec<_>>());
        w.settle_norm();
        assert_norm(&w);
        assert!(w.passes() as usize <= 5 + features / room, "{} passes", w.passes());
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn the_running_norm_is_the_norm(seed in any::<u64>(), radius in -6..=6_i32) {
        let radius = 10_f64.powi(radius);
        for (orders, room) in [(0, DIMENSION), (6, DIMENSION), (30, DIMENSION), (0, 60), (30, 60)] {
            wander(&ball(radius), orders, room, seed);
            wander(&BoxSet::cube(positive(radius)).into(), orders, room, seed);
            wander(&WholeSpace {}.into(), orders, room, seed);
        }
    }
}

/// A step back all but cancels the last one, so the norm collapses in a single round.
#[test]
fn the_running_norm_survives_collapse() {
    let rng = &mut Rng::new(5);
    for _ in 0..2000 {
        let mut w = Weights::default();
        w.grow(DIMENSION);
        let (indices, values) = random_row(power(rng, 30), rng);
        let x = Features::new(&indices, &values).unwrap();
        let advance = power(rng, 12);
        w.step(1.0, advance, &x, 0.0);
        for left in [0.0, 1e-3, 1e-9, 1e-15] {
            let dot = w.dot(&x);
            w.step(1.0, -advance * (1.0 - left), &x, dot);
            assert_norm(&w);
            let dot = w.dot(&x);
            w.step(1.0, advance, &x, dot);
            assert_norm(&w);
        }
    }
}

/// Plays a stream and checks where the weights are after every round.
fn check_learner(what: &str, learner: &mut dyn Learner, set: &AnySet, batch: &Batch) {
    learner.grow(batch.dimension());
    for (t, example) in (1..).zip(batch.iter()) {
        let before = learner.weights();
        let round = learner.learn(&example);
        assert!(round.is_finite(), "{what}, round {t}: {round:?}");
        assert_inside(&format!("{what}, round {t}"), set, &learner.weights());
        let terms: Vec<f64> = example.features.iter().map(|(i, x)| before[i] * x).collect();
        let (dot, size): (f64, f64) = (terms.iter().sum(), terms.iter().map(|t| t.abs()).sum());
        assert!((round.prediction - dot).abs() <= TOLERANCE * size, "{what}, round {t}: w·x");
    }
}

fn with_schedule<L: Loss, S: Schedule>(what: &str, loss: L, steps: S, set: &AnySet, batch: &Batch) {
    for sigma in [0.0, 1e-6, 1.0, 1e6] {
        let objective = Objective { loss, sigma: NonNegative::new(sigma).unwrap() };
        let mut ogd = Ogd::new(objective, steps, set.clone());
        check_learner(&format!("ogd with {what}, sigma {sigma}"), &mut ogd, set, batch);
    }
    let mut erm = RegularizedErm::new(loss, steps, set.clone());
    check_learner(&format!("erm with {what}"), &mut erm, set, batch);
}

fn every_size<L: Loss>(loss: L, targets: Targets, kind: StreamKind) {
    let batch = kind.batch(&Recipe { targets, rounds: 100, dimension: DIMENSION, seed: 2 });
    for radius in [1e-6, 1.0, 1e6].map(positive) {
        for set in [ball(radius.get()), BoxSet::cube(radius).into()] {
            for eta in [1e-12, 1e-3, 1.0, 1e6, 1e12].map(positive) {
                let what = format!("{kind}, step {eta}, {set:?}");
                with_schedule(&what, loss, Constant { eta }, &set, &batch);
                with_schedule(&what, loss, InverseSqrt { eta }, &set, &batch);
                with_schedule(&what, loss, AdaGradNorm { diameter: eta }, &set, &batch);
            }
        }
    }
}

#[test]
fn learners_stay_in_their_set_at_every_scale() {
    for kind in [StreamKind::Extreme, StreamKind::Scaled, StreamKind::HeavyTailed] {
        every_size(Hinge {}, Targets::Signs, kind);
        every_size(Linear {}, Targets::Slopes, kind);
        every_size(Square {}, Targets::Numbers, kind);
    }
}

/// Sums were huge and are small again. The running norm is worthless then, and a lazy projection
/// must not rely on it.
#[test]
fn a_collapsed_sum_is_still_projected() {
    let rng = &mut Rng::new(9);
    for size in [1e3, 1e6, 1e10, 1e14] {
        let mut batch = Batch::default();
        for _ in 0..50 {
            let (far, near) = (random_row(1.0, rng), random_row(1.0, rng));
            for ((indices, values), slope) in [(&far, size), (&near, rng.bell()), (&far, -size)] {
                batch.push(indices, values, slope).unwrap();
            }
            batch.push(&near.0, &near.1, 0.0).unwrap();
        }
        let set = Ball { radius: positive(0.1) };
        let steps = Constant { eta: Positive::ONE };
        let what = format!("sums of {size:e}");
        let mut erm = RegularizedErm::new(Linear {}, steps, set);
        check_learner(&what, &mut erm, &set.into(), &batch);
        check_learner(&what, &mut FollowTheLeader::new(Linear {}, set), &set.into(), &batch);
        let mut ogd = Ogd::new(Objective::plain(Linear {}), steps, set);
        check_learner(&what, &mut ogd, &set.into(), &batch);
    }
}

/// These are the largest and the smallest parameters that there are.
#[test]
fn the_ends_of_the_range_are_usable() {
    let batch = StreamKind::Noisy.batch(&Recipe {
        targets: Targets::Signs,
        rounds: 50,
        dimension: DIMENSION,
        seed: 2,
    });
    for (radius, eta) in [(1e-100, 1.0), (1e100, 1.0), (1.0, 1e-100), (1.0, 1e100)] {
        let set = ball(radius);
        let steps = Constant { eta: Positive::new(eta).unwrap() };
        let mut learner = Ogd::new(Objective::plain(Hinge {}), steps, set.clone());
        check_learner(&format!("radius {radius}, step {eta}"), &mut learner, &set, &batch);
    }
}
