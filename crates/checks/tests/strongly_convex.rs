//! OGD with steps 1/(σt): where its weights are, and how large its regret can be.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::positive;
use rueful_checks::exact::{Double, norm_sq};
use rueful_checks::streams::{Recipe, StreamKind, Targets};
use rueful_core::bound::strongly_convex;
use rueful_core::learner::{Learner, StronglyConvexOgd};
use rueful_core::loss::{Absolute, AnyLoss, Hinge, Linear, Logistic, Loss};
use rueful_core::set::{AnySet, WholeSpace};
use rueful_core::{Batch, Example, Features, Ledger};

fn everywhere() -> AnySet {
    WholeSpace {}.into()
}

fn run<L: Loss + Into<AnyLoss>>(
    loss: L,
    sigma: f64,
    batch: &Batch,
) -> (StronglyConvexOgd<L>, Ledger) {
    let mut learner = StronglyConvexOgd::new(loss, positive(sigma));
    let mut ledger = Ledger::regularized(loss, positive(sigma).into(), everywhere());
    let mut rounds = Vec::new();
    learner.learn_rows(batch.rows(), &mut rounds);
    ledger.record_rows(batch.rows(), &rounds).unwrap();
    (learner, ledger)
}

/// Σ ‖x_t‖ times the largest slope, which is a bound on Σ ‖a_t x_t‖.
fn gradients<L: Loss>(loss: L, batch: &Batch) -> f64 {
    let slope = |label: f64| loss.lipschitz().unwrap_or(label.abs());
    batch.iter().map(|e| slope(e.label) * e.features.norm_sq().sqrt()).sum()
}

/// Checks that w_{T+1} = −S/(σT), and that the certificate over all of R^d is below (G²/2σ)(1 + ln
/// T).
fn check_run<L: Loss + Into<AnyLoss>>(loss: L, targets: Targets, kind: StreamKind, sigma: f64) {
    for rounds in [1, 2, 10, 3000] {
        let batch = kind.batch(&Recipe { targets, rounds, dimension: 8, seed: 6 });
        let (learner, ledger) = run(loss, sigma, &batch);
        let scale = -1.0 / (sigma * rounds as f64);
        let expected: Vec<f64> = ledger.minorant().slopes().iter().map(|s| scale * s).collect();
        let error: Vec<f64> = learner.weights().iter().zip(&expected).map(|(w, e)| w - e).collect();
        let [error, size] = [&error, &expected].map(|v| norm_sq(v).value().sqrt());
        // Where the sum cancels altogether, the error can only be relative to its terms.
        let terms = gradients(loss, &batch) / (sigma * rounds as f64);
        assert!(error <= (1e-9 * size).max(1e-14 * terms), "{kind}: {error:e} of {size:e}");

        let bound = strongly_convex(ledger.gradient_norm_max(), sigma, rounds as f64);
        let certificate = ledger.certificate(&everywhere().clone().into());
        let slack = ledger.slack(&everywhere().clone().into(), ledger.coordinates());
        assert!(certificate - slack <= bound * (1.0 + 1e-9), "{kind}: {certificate} {bound}");
    }
}

#[test]
fn the_weights_are_the_mean_gradient_and_the_regret_is_logarithmic() {
    let kinds = [
        StreamKind::Noisy,
        StreamKind::Separable,
        StreamKind::Sparse,
        StreamKind::Drifting,
        StreamKind::Duplicates,
        StreamKind::ConstantLabels,
        StreamKind::HeavyTailed,
    ];
    for (kind, sigma) in kinds.into_iter().flat_map(|kind| [1e-4, 0.1, 7.0].map(|s| (kind, s))) {
        check_run(Hinge {}, Targets::Signs, kind, sigma);
        check_run(Logistic {}, Targets::Signs, kind, sigma);
        check_run(Absolute {}, Targets::Numbers, kind, sigma);
        check_run(Linear {}, Targets::Slopes, kind, sigma);
    }
}

/// Older versions of the notes have Σ 1/t ≤ ln(T+1). This run would break it: linear losses in one
/// dimension whose gradient, c_t + σw_t, is +G or −G in every round. For linear losses the regret
/// against the best u is exactly the certificate, which is (G²/2σ) Σ 1/t.
#[test]
fn one_plus_the_logarithm_cannot_be_replaced_by_the_logarithm_of_one_more() {
    let (sigma, g, rounds) = (0.5, 2.0, 4000_u32);
    let mut learner = StronglyConvexOgd::new(Linear {}, positive(sigma));
    let mut ledger = Ledger::regularized(Linear {}, positive(sigma).into(), everywhere());
    let (mut suffered, mut slopes) = (Double::ZERO, Double::ZERO);
    learner.grow(1);
    for t in 0..rounds {
        let w = learner.weights()[0];
        let direction = if t % 2 == 0 { 1.0 } else { -1.0 };
        let label = direction * g - sigma * w;
        let example = Example::new(Features::new(&[0], &[1.0]).unwrap(), label);
        ledger.record(&example, &learner.learn(&example)).unwrap();
        suffered += Double::product(label, w) + Double::product(0.5 * sigma * w, w);
        slopes += label.into();
    }
    let total = f64::from(rounds);
    let best = slopes.value().powi(2) / (2.0 * sigma * total);
    let regret = suffered.value() + best;
    let measured = ledger.gradient_norm_max();
    assert!((measured - g).abs() < 1e-9);

    let false_bound = measured * measured / (2.0 * sigma) * (total + 1.0).ln();
    assert!(regret > 1.05 * false_bound, "{regret} against {false_bound}");
    let promise = learner.promise(&everywhere().clone().into(), ledger.coordinates());
    assert!(promise.data.unwrap().total > 1.05 * false_bound);
    assert!(regret <= ledger.certificate(&everywhere().clone().into()));
    assert!(regret <= strongly_convex(measured, sigma, total));
}
