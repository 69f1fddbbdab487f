//! The contract that every schedule must satisfy.

use crate::rng::Rng;
use rueful_core::schedule::{Schedule, StepFacts};

const ROUNDS: usize = 300;

/// Checks the contract of [`Schedule`] on sequences of gradients that are constant, random, mostly
/// zero, growing and shrinking by orders of magnitude:
///
/// - 1/η_t is finite, never negative and never decreases, whether or not it knows the gradient of
///   round t;
/// - `energy` is at least Σ η_t‖g_t‖², where η_t knows ‖g_t‖;
/// - `lagged_energy` is at least Σ min(½η_t‖g_t‖², D‖g_t‖), where η_t knows the gradients before
///   round t only, for small and large D.
///
/// `scale` is a gradient norm that the schedule is tuned for.
pub fn check_schedule<S: Schedule>(schedule: &S, scale: f64) {
    assert!(!schedule.reference().is_empty(), "a bound without a reference");
    for (name, norms) in sequences(scale) {
        for rounds in [1, 2, 3, ROUNDS] {
            check_energy(schedule, name, &norms[..rounds]);
            for diameter in [1e-3, 1.0, 1e3] {
                check_lagged(schedule, name, &norms[..rounds], diameter);
            }
        }
    }
}

/// Sequences of norms ‖g_1‖, ‖g_2‖, …
fn sequences(scale: f64) -> Vec<(&'static str, Vec<f64>)> {
    let rng = &mut Rng::new(21);
    let mut make = |f: &mut dyn FnMut(usize, &mut Rng) -> f64| {
        (0..ROUNDS).map(|t| scale * f(t, rng)).collect::<Vec<_>>()
    };
    vec![
        ("constant", make(&mut |_, _| 1.0)),
        ("random", make(&mut |_, rng| rng.unit())),
        ("rare", make(&mut |t, rng| if t % 7 == 3 { rng.unit() } else { 0.0 })),
        ("late", make(&mut |t, _| if t + 1 == ROUNDS { 1.0 } else { 0.0 })),
        ("growing", make(&mut |t, _| 1.5_f64.powi((t / 3) as i32 - 60))),
        ("leaping", make(&mut |t, _| 10_f64.powi((t / 30) as i32 - 6))),
        ("shrinking", make(&mut |t, _| 0.9_f64.powi(t as i32))),
        ("heavy", make(&mut |_, rng| rng.heavy().abs())),
    ]
}

fn facts(norms: &[f64], diameter: f64) -> StepFacts {
    StepFacts {
        rounds: norms.len() as f64,
        diameter,
        gradient_bound: norms.iter().copied().fold(0.0, f64::max),
        gradients_sq: norms.iter().map(|g| g * g).sum(),
    }
}

/// 1/η_t for t = 1, 2, …, with or without knowledge of round t itself.
fn inverse_steps<S: Schedule>(schedule: &S, norms: &[f64], lagged: bool) -> Vec<f64> {
    let mut before = 0.0;
    let mut steps = Vec::new();
    for (t, g) in (1..).zip(norms) {
        let known = if lagged { before } else { before + g * g };
        before += g * g;
        steps.push(schedule.inverse_step(t, known));
    }
    steps
}

fn check_growth(name: &str, inverse: &[f64]) {
    assert!(inverse.iter().all(|&i| i.is_finite() && i >= 0.0), "{name}: {inverse:?}");
    assert!(inverse.is_sorted(), "{name}: 1/η_t decreases in {inverse:?}");
}

fn check_energy<S: Schedule>(schedule: &S, name: &str, norms: &[f64]) {
    let inverse = inverse_steps(schedule, norms, false);
    check_growth(name, &inverse);
    let spent = |(g, &i): (&f64, &f64)| if i == 0.0 { 0.0 } else { g * g / i };
    let energy: f64 = norms.iter().zip(&inverse).map(spent).sum();
    assert_above(name, schedule.energy(&facts(norms, f64::INFINITY)), energy);
}

fn check_lagged<S: Schedule>(schedule: &S, name: &str, norms: &[f64], diameter: f64) {
    let inverse = inverse_steps(schedule, norms, true);
    check_growth(name, &inverse);
    let cost = |(g, i): (&f64, &f64)| {
        if *g == 0.0 { 0.0 } else { (0.5 * g * g / i).min(diameter * g) }
    };
    let total: f64 = norms.iter().zip(&inverse).map(cost).sum();
    assert_above(name, schedule.lagged_energy(&facts(norms, diameter)), total);
}

/// Asserts that a closed form is at least a sum. Both sides are sums of up to `ROUNDS` rounded
/// terms.
fn assert_above(name: &str, closed_form: f64, sum: f64) {
    let grain = ROUNDS as f64 * f64::EPSILON * sum;
    assert!(closed_form >= sum - grain, "{name}: {closed_form:e} is below the sum {sum:e}");
}
