//! The contract that every loss must satisfy.

use super::assert_close;
use crate::exact::{Double, ExactLoss};
use crate::rng::Rng;
use rueful_core::loss::{Labels, Loss};

/// The relative error of the roundings that a value, a slope or a conjugate may have.
const ROUNDINGS: f64 = 16.0 * f64::EPSILON;

/// Checks the contract of [`Loss`] over a grid of predictions and labels that has its kinks, their
/// neighbours and both tails:
///
/// - value and slope are finite, and the value is right to the last places;
/// - the slope is a subgradient: φ(q) ≥ φ(p) + a(q − p) for all p, q;
/// - φ is convex: φ at a midpoint is at most the mean;
/// - the conjugate is exact on slopes (Fenchel–Young): φ(p) + φ*(a) = a·p;
/// - the conjugate is a supremum: φ*(a) ≥ a·p − φ(p) for every p, and where it is infinite,
///   a·p − φ(p) grows without end;
/// - |a| never exceeds the Lipschitz constant and comes up to it; without a constant, slopes are
///   unbounded;
/// - labels outside of the range that it names are not among those that it accepts.
pub fn check_loss<L: ExactLoss>(loss: &L) {
    check_labels(loss.labels());
    let mut steepest: f64 = 0.0;
    for label in labels(loss.labels()) {
        let predictions = predictions(label);
        for &p in &predictions {
            check_value(loss, p, label);
            check_fenchel_young(loss, p, label);
            steepest = steepest.max(loss.at(p, label).slope.abs());
            for &q in &predictions {
                check_subgradient(loss, p, q, label);
                check_midpoint(loss, p, q, label);
            }
        }
        for slope in slopes(label) {
            check_conjugate(loss, slope, label, &predictions);
        }
    }
    check_lipschitz(loss.lipschitz(), steepest);
}

fn labels(kind: Labels) -> Vec<f64> {
    match kind {
        Labels::Signs => vec![1.0, -1.0],
        Labels::Numbers => vec![0.0, 1.0, -1.0, 0.3, -2.5, 1e-6, -1e6, 1e12],
    }
}

/// Predictions around the kinks, which lie at 0, at the label, and where y·p = ±1.
fn predictions(label: f64) -> Vec<f64> {
    let mut points = vec![0.0, 1.0, -1.0, label, -label, 1e-300, 1e6, -1e6, 1e12, -1e12];
    points.extend([label.next_up(), label.next_down(), 1_f64.next_up(), 1_f64.next_down()]);
    points.extend([5.0, -5.0, 20.0, -20.0, 40.0, -40.0, 800.0, -800.0]);
    let rng = &mut Rng::new(11);
    points.extend((0..20).map(|_| 2.0 * rng.bell()));
    points.extend((0..20).map(|_| label + rng.bell()));
    points
}

/// Slopes inside, on the border of, and outside the usual domains.
fn slopes(label: f64) -> Vec<f64> {
    let rng = &mut Rng::new(12);
    let mut slopes = vec![0.0, 1.0, -1.0, 0.5, -0.5, 0.1, -0.9, label, 1.001, -1.001, 3.0, -3.0];
    slopes.extend((0..20).map(|_| rng.between(-1.2, 1.2)));
    slopes
}

fn check_labels(kind: Labels) {
    assert!(labels(kind).into_iter().all(|label| kind.accept(label)));
    for label in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(!kind.accept(label), "{label} is accepted as {}", kind.expected());
    }
    assert_eq!(kind.accept(0.5), kind == Labels::Numbers);
}

fn check_value<L: ExactLoss>(loss: &L, p: f64, label: f64) {
    let at = loss.at(p, label);
    assert!(at.value.is_finite() && at.slope.is_finite(), "not finite at {p} with label {label}");
    let exact = loss.exact(p.into(), label);
    let error = exact.error + 4.0 * f64::EPSILON * (at.value.abs() + (at.slope * p).abs());
    assert_close(&format!("value at {p} with label {label}"), at.value, exact.upper(), error);
}

/// Checks that φ(q) − φ(p) − a(q − p) ≥ 0, evaluated without cancellation.
fn check_subgradient<L: ExactLoss>(loss: &L, p: f64, q: f64, label: f64) {
    let slope = loss.at(p, label).slope;
    let (low, high) = (loss.exact(p.into(), label), loss.exact(q.into(), label));
    let rise = Double::product(slope, q) - Double::product(slope, p);
    let above = high - low;
    let grain = ROUNDINGS * slope.abs() * (p.abs() + q.abs()) + above.error;
    let gap = (above.value - rise).value();
    assert!(gap >= -grain, "the tangent at {p} is {gap:e} above the loss at {q}, label {label}");
}

fn check_midpoint<L: ExactLoss>(loss: &L, p: f64, q: f64, label: f64) {
    let middle = (Double::from(p) + q.into()) * Double::from(0.5);
    let [low, mid, high] = [p.into(), middle, q.into()].map(|p| loss.exact(p, label));
    let mean = (low + high).value * Double::from(0.5);
    let grain = low.error + mid.error + high.error;
    let gap = (mean - mid.value).value();
    assert!(gap >= -grain, "not convex between {p} and {q}, label {label}: {gap:e}");
}

fn check_fenchel_young<L: Loss>(loss: &L, p: f64, label: f64) {
    let at = loss.at(p, label);
    let conjugate = loss.conjugate(at.slope, label);
    let product = at.slope * p;
    let size = at.value.abs() + conjugate.abs() + product.abs() + (at.slope * label).abs();
    let sum = at.value + conjugate;
    let what = format!("Fenchel–Young at {p} with label {label}");
    assert_close(&what, sum, product, ROUNDINGS * size);
}

fn check_conjugate<L: ExactLoss>(loss: &L, slope: f64, label: f64, predictions: &[f64]) {
    let conjugate = loss.conjugate(slope, label);
    assert!(!conjugate.is_nan(), "the conjugate of {slope} with label {label} is NaN");
    let gain = |p: f64| {
        let value = loss.exact(p.into(), label);
        (Double::product(slope, p) - value.value).value()
    };
    if conjugate.is_infinite() {
        let far = gain(1e30).max(gain(-1e30));
        assert!(far > 1e9, "the conjugate of {slope} with label {label} should be finite");
        return;
    }
    for &p in predictions {
        let size = conjugate.abs() + (slope * p).abs() + (slope * label).abs();
        let below = gain(p) <= conjugate + ROUNDINGS * size;
        assert!(below, "the conjugate of {slope} with label {label} misses {p}");
    }
}

fn check_lipschitz(constant: Option<f64>, steepest: f64) {
    match constant {
        Some(l) => {
            assert!(steepest <= l, "a slope of {steepest} exceeds the Lipschitz constant {l}");
            assert!(steepest >= l * (1.0 - 1e-12), "no slope comes near the constant {l}");
        }
        None => assert!(steepest > 1e5, "no Lipschitz constant, and no slope above {steepest}"),
    }
}
