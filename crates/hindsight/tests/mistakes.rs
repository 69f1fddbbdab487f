//! The Perceptron's best mistake bound.

#![allow(clippy::unwrap_used)]

mod common;

use common::{ball, noisy, solve_to, weighed};
use rueful_checks::streams::Separable;
use rueful_core::learner::{Learner, Perceptron};
use rueful_core::loss::{Hinge, ZeroOne};
use rueful_core::{Batch, Positive};
use rueful_hindsight::{InMemory, Options, best_mistake_bound, mistake_bound};

fn mistakes(batch: &Batch) -> usize {
    let mut rounds = Vec::new();
    Perceptron::new(Hinge {}, Positive::ONE).learn_rows(batch.rows(), &mut rounds);
    let wrong = |(example, round): &(rueful_core::Example<'_>, &rueful_core::Round)| {
        ZeroOne {}.is_mistake(round.prediction, example.label)
    };
    batch.iter().zip(&rounds).filter(wrong).count()
}

fn longest(batch: &Batch) -> f64 {
    batch.iter().map(|e| e.features.norm_sq().sqrt()).fold(0.0, f64::max)
}

fn check(batch: &Batch) -> f64 {
    let options = Options { tolerance: 1e-3, ..Options::default() };
    let x = longest(batch);
    let batches = std::slice::from_ref(batch);
    let Ok(best) = best_mistake_bound(&mut InMemory { batches }, x, &options);
    assert!(mistakes(batch) as f64 <= best.bound, "{best:?}");
    assert!(
        mistake_bound(best.hinge, best.norm, x) <= best.bound * (1.0 + 1e-9) || best.norm == 0.0
    );
    for exponent in -6..8 {
        let radius = 1.5_f64.powi(exponent) / x;
        let other = solve_to(Hinge {}, 0.0, &ball(radius), batch, 1e-4);
        let norm = other.comparator.iter().map(|u| u * u).sum::<f64>().sqrt();
        let bound = mistake_bound(other.upper, norm, x);
        assert!(best.bound <= 1.03 * bound, "{best:?}, but {bound} at {radius}");
    }
    best.bound
}

#[test]
fn it_holds_and_nothing_else_is_much_better() {
    for seed in 0..4 {
        check(&noisy(200, 5, 5, true, seed));
    }
    check(&noisy(100, 5, 800, true, 5));
}

#[test]
fn separable_streams_have_their_margin() {
    // Here y·x = (1, ±1): u = (1, 0) has margin 1 everywhere, and X² = 2.
    let mut batch = Batch::default();
    for round in 0..100 {
        let y = if round % 3 == 0 { -1.0f32 } else { 1.0 };
        let side = if round % 2 == 0 { 1.0f32 } else { -1.0 };
        batch.push(&[0, 1], &[y, y * side], f64::from(y)).unwrap();
    }
    let bound = check(&batch);
    assert!((1.9..2.1).contains(&bound), "{bound}");
    let Separable { batch, .. } = Separable::signs(100, 4, 3);
    check(&batch);
}

/// Importances change no mistake of the Perceptron, so they must not change the mistake bound.
#[test]
fn importances_make_no_difference() {
    let plain = noisy(200, 5, 5, true, 7);
    let weighted = weighed(&plain, || 0.01);
    check(&plain);
    let options = Options { tolerance: 1e-6, ..Options::default() };
    let bound = |batch: &Batch| {
        let batches = std::slice::from_ref(batch);
        let Ok(best) = best_mistake_bound(&mut InMemory { batches }, longest(batch), &options);
        best.bound
    };
    let (without, with) = (bound(&plain), bound(&weighted));
    assert!(mistakes(&weighted) as f64 <= with, "{with}");
    assert!((with - without).abs() <= 1e-3 * without, "{with}, not {without}");
}

#[test]
fn without_features_every_round_may_be_a_mistake() {
    let mut batch = Batch::default();
    (0..7).for_each(|_| batch.push(&[], &[], 1.0).unwrap());
    let batches = std::slice::from_ref(&batch);
    let Ok(best) = best_mistake_bound(&mut InMemory { batches }, 0.0, &Options::default());
    assert_eq!(best.bound, 7.0);
}
