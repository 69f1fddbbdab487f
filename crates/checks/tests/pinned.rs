//! One short trace with exact numbers per learner, so that results do not change by accident. Only
//! additions, multiplications, divisions and square roots are involved, which are the same on every
//! machine.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{positive, sided_box};
use rueful_core::learner::{
    Bank, Capped, Damped, FollowTheLeader, Ftrl, Learner, Minimax, Ogd, PassiveAggressive,
    Perceptron, RegularizedErm, StronglyConvexOgd,
};
use rueful_core::loss::{AnyLoss, Hinge, Linear, Loss, PerceptronLoss, Square};
use rueful_core::schedule::{AdaGradNorm, Constant, InverseSqrt};
use rueful_core::set::{AnySet, Ball, WholeSpace};
use rueful_core::{Batch, Ledger, NonNegative, Objective, Positive};
use std::num::NonZeroU64;

/// Five examples in three dimensions. One of them is empty, and one occurs twice.
fn stream() -> Batch {
    let mut batch = Batch::default();
    batch.push(&[0, 1], &[1.0, -0.5], 1.0).unwrap();
    batch.push(&[1, 2], &[2.0, 0.25], -1.0).unwrap();
    batch.push(&[], &[], 1.0).unwrap();
    batch.push(&[0, 2], &[-1.5, 3.0], 1.0).unwrap();
    batch.push(&[0, 2], &[-1.5, 3.0], 1.0).unwrap();
    batch
}

/// The numbers of a run that are pinned: predictions, weights, total loss and certificate.
#[derive(Debug, PartialEq)]
struct Trace {
    predictions: [f64; 5],
    weights: [f64; 3],
    loss: f64,
    certificate: f64,
}

fn trace(
    loss: impl Into<AnyLoss>,
    mut learner: impl Learner,
    sigma: f64,
    comparators: impl Into<AnySet>,
) -> Trace {
    let batch = stream();
    let mut rounds = Vec::new();
    learner.learn_rows(batch.rows(), &mut rounds);
    let comparators = comparators.into();
    let sigma = NonNegative::new(sigma).unwrap();
    let mut ledger = Ledger::regularized(loss, sigma, comparators.clone());
    ledger.record_rows(batch.rows(), &rounds).unwrap();
    let predictions: Vec<f64> = rounds.iter().map(|round| round.prediction).collect();
    Trace {
        predictions: predictions.try_into().unwrap(),
        weights: learner.weights().try_into().unwrap(),
        loss: ledger.loss(),
        certificate: ledger.certificate(&comparators.clone().into())
            - ledger.slack(&comparators.clone().into(), ledger.coordinates()),
    }
}

fn unit() -> Ball {
    Ball { radius: Positive::ONE }
}

fn plain<L: Loss>(loss: L) -> Objective<L> {
    Objective::plain(loss)
}

#[test]
fn projected_ogd() {
    let steps = InverseSqrt { eta: positive(0.5) };
    let found = trace(Hinge {}, Ogd::new(plain(Hinge {}), steps, unit()), 0.0, unit());
    let expected = Trace {
        predictions: [0.0, -0.5, 0.0, -0.9369737258647197, 1.6879256334950947],
        weights: [0.07783732066680467, -0.7950259558240396, 0.6015605381651005],
        loss: 4.4369737258647195,
        certificate: 4.1869737258647195,
    };
    assert_eq!(found, expected);
}

/// The bank's own exp and ln are made of the same operations.
#[test]
fn bank() {
    for (loss, expected) in [
        (
            AnyLoss::from(Square {}),
            [0.0, 1.0, 0.8557560821180987, 0.0024266887316763963, 0.887620951496004],
        ),
        (
            AnyLoss::from(Hinge {}),
            [0.0, -0.7892898684678638, 0.8570156875969075, -0.999997588768558, 0.999943097222827],
        ),
    ] {
        let mut rounds = Vec::new();
        Bank::new(loss).unwrap().learn_rows(stream().rows(), &mut rounds);
        let predictions: Vec<f64> = rounds.iter().map(|round| round.prediction).collect();
        assert_eq!(predictions, expected, "{}", loss.name());
    }
}

#[test]
fn adaptive_ogd_in_a_box() {
    let steps = AdaGradNorm { diameter: positive(2.0) };
    let found = trace(Square {}, Ogd::new(plain(Square {}), steps, sided_box()), 0.0, sided_box());
    let expected = Trace {
        predictions: [0.0, -1.0, 0.0, -1.8973665961010275, -0.9548999507703406],
        weights: [0.284458303964987, -0.5, 0.0],
        loss: 14.216367009723935,
        certificate: 15.228200925705135,
    };
    assert_eq!(found, expected);
}

#[test]
fn regularised_ogd() {
    let objective = Objective { loss: Hinge {}, sigma: NonNegative::new(0.1).unwrap() };
    let steps = Constant { eta: positive(0.25) };
    let found = trace(Hinge {}, Ogd::new(objective, steps, unit()), 0.1, unit());
    let expected = Trace {
        predictions: [0.0, -0.25, 0.0, -0.539296875, 2.2866855468750003],
        weights: [-0.13970302734375, -0.5763906738281249, 0.6733212890625],
        loss: 4.379443022248268,
        certificate: 3.8794430222482688,
    };
    assert_eq!(found, expected);
}

#[test]
fn regularised_erm() {
    let steps = InverseSqrt { eta: positive(0.5) };
    let found = trace(Hinge {}, RegularizedErm::new(Hinge {}, steps, unit()), 0.0, unit());
    let expected = Trace {
        predictions: [0.0, -0.35355339059327373, 0.0, -0.5625, 2.0124611797498106],
        weights: [-0.10206207261596577, -0.5103103630798288, 0.5613413993878117],
        loss: 4.208946609406726,
        certificate: 3.958946609406726,
    };
    assert_eq!(found, expected);
}

#[test]
fn strongly_convex_ogd() {
    let learner = StronglyConvexOgd::new(Hinge {}, positive(0.5));
    let found = trace(Hinge {}, learner, 0.5, WholeSpace {});
    let expected = Trace {
        predictions: [0.0, -2.0, 0.0, -1.0, 4.875],
        weights: [-0.2, -0.2, 1.2000000000000002],
        loss: 6.295138888888889,
        certificate: 5.19513888888889,
    };
    assert_eq!(found, expected);
}

#[test]
fn perceptron() {
    let found =
        trace(PerceptronLoss {}, Perceptron::new(PerceptronLoss {}, Positive::ONE), 0.0, unit());
    let expected = Trace {
        predictions: [0.0, -1.0, 0.0, -1.5, 9.75],
        weights: [-0.5, -0.5, 3.0],
        loss: 1.5,
        certificate: 4.5822070014844885,
    };
    assert_eq!(found, expected);
}

#[test]
fn follow_the_leader() {
    let found = trace(Linear {}, FollowTheLeader::new(Linear {}, unit()), 0.0, unit());
    let expected = Trace {
        predictions: [0.0, 0.8944271909999159, 0.0, 0.8320502943378436, -2.4],
        weights: [0.3038948705590345, 0.37986858819879316, -0.8736977528572243],
        loss: -2.462376896662072,
        certificate: 4.118846393882019,
    };
    assert_eq!(found, expected);
}

#[test]
fn minimax() {
    let rounds = NonZeroU64::new(5).unwrap();
    let found =
        trace(Linear {}, Minimax::new(Linear {}, unit(), positive(4.0), rounds), 0.0, unit());
    let expected = Trace {
        predictions: [0.0, 0.12379689211803459, 0.0, 0.358853500273005, -1.6414587093151916],
        weights: [0.3038948705590345, 0.37986858819879316, -0.8736977528572243],
        loss: -1.4064021011602212,
        certificate: 5.17482118938387,
    };
    assert_eq!(found, expected);
}

#[test]
fn ftrl() {
    let l1 = NonNegative::new(0.75).unwrap();
    let found = trace(Hinge {}, Ftrl::new(Hinge {}, positive(0.5), l1), 0.0, unit());
    let expected = Trace {
        predictions: [0.0, 0.0, 0.0, -0.09375, 0.7480553096550973],
        weights: [-0.17183581507554052, -0.2858026803716081, 0.5350660555993181],
        loss: 4.345694690344903,
        certificate: 5.9269179808889945,
    };
    assert_eq!(found, expected);
}

#[test]
fn passive_aggressive() {
    let capped = PassiveAggressive::new(Hinge {}, Capped {}, positive(0.25));
    let found = trace(Hinge {}, capped, 0.0, unit());
    let expected = Trace {
        predictions: [0.0, -0.25, 0.0, -0.5134615384615384, 1.0],
        weights: [0.048205128205128206, -0.49423076923076925, 0.35743589743589743],
        loss: 4.263461538461538,
        certificate: 5.844684829005629,
    };
    assert_eq!(found, expected);
    let damped = PassiveAggressive::new(Hinge {}, Damped {}, positive(0.25));
    let found = trace(Hinge {}, damped, 0.0, unit());
    let expected = Trace {
        predictions: [0.0, -0.3076923076923077, 0.0, -0.5471847739888978, 0.7664626756243174],
        weights: [0.10610112674537409, -0.38223632038065025, 0.3746335910770552],
        loss: 4.473029790672273,
        certificate: 6.054253081216364,
    };
    assert_eq!(found, expected);
}
