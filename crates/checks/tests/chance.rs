//! The ladder once more, on random runs: sizes from 1e-6 to 1e6, strengths and steps likewise,
//! short and long streams, one dimension and several.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{ball, cases, positive, quantile};
use proptest::prelude::*;
use rueful_checks::conformance::{Arena, Expect};
use rueful_checks::exact::ExactLoss;
use rueful_checks::streams::{Recipe, StreamKind, Targets};
use rueful_core::learner::{Learner, Ogd, RegularizedErm, StronglyConvexOgd};
use rueful_core::loss::{Absolute, Hinge, Linear, Logistic, PerceptronLoss, Square};
use rueful_core::schedule::{AdaGradNorm, Constant, Horizon, InverseSqrt, InverseTime, Schedule};
use rueful_core::set::{AnySet, BoxSet, WholeSpace};
use rueful_core::{NonNegative, Objective, Positive};
use std::num::NonZeroU64;

/// One random run.
#[derive(Debug, Clone)]
struct Draw {
    kind: StreamKind,
    rounds: usize,
    dimension: usize,
    seed: u64,
    set: AnySet,
    parameter: Positive,
    sigma: NonNegative,
    schedule: usize,
}

/// A size from a millionth to a million.
fn size() -> impl Strategy<Value = Positive> {
    (-6.0..6.0_f64).prop_map(|exponent| positive(10_f64.powf(exponent)))
}

fn draws() -> impl Strategy<Value = Draw> {
    let stream =
        (prop::sample::select(StreamKind::ALL.to_vec()), 1..120_usize, 1..7_usize, any::<u64>());
    let set = (size(), any::<bool>()).prop_map(|(radius, round)| {
        if round { ball(radius.get()) } else { BoxSet::cube(radius).into() }
    });
    let sigma = prop_oneof![Just(NonNegative::ZERO), size().prop_map(NonNegative::from)];
    (stream, set, size(), sigma, 0..5_usize).prop_map(
        |((kind, rounds, dimension, seed), set, parameter, sigma, schedule)| Draw {
            kind,
            rounds,
            dimension,
            seed,
            set,
            parameter,
            sigma,
            schedule,
        },
    )
}

impl Draw {
    fn arena<L: ExactLoss>(&self, loss: L, targets: Targets, against: AnySet) -> Arena<L> {
        let Self { rounds, dimension, seed, sigma, .. } = *self;
        let batch = self.kind.batch(&Recipe { targets, rounds, dimension, seed });
        Arena::new(Objective { loss, sigma }, against, batch, seed)
    }

    fn check<L: ExactLoss>(&self, loss: L, targets: Targets) {
        let arena = self.arena(loss, targets, self.set.clone());
        let parameter = self.parameter;
        let rounds = NonZeroU64::new(self.rounds as u64).unwrap();
        match self.schedule {
            0 => self.with_steps(&arena, AdaGradNorm { diameter: parameter }),
            1 => self.with_steps(&arena, Constant { eta: parameter }),
            2 => self.with_steps(&arena, InverseSqrt { eta: parameter }),
            3 => self.with_steps(&arena, InverseTime { sigma: parameter }),
            _ => {
                let gradient_bound = Positive::ONE;
                self.with_steps(&arena, Horizon { radius: parameter, gradient_bound, rounds });
            }
        }
        self.strongly_convex(loss, targets);
    }

    fn with_steps<L: ExactLoss, S: Schedule>(&self, arena: &Arena<L>, steps: S) {
        let set = self.set.clone();
        let mut ogd = Ogd::new(arena.objective, steps, set.clone());
        self.send(arena, "ogd", &mut ogd);
        if self.sigma == NonNegative::ZERO {
            let mut erm = RegularizedErm::new(arena.objective.loss, steps, set);
            self.send(arena, "erm", &mut erm);
        }
    }

    /// Checks over all of R^d, for losses that are not too steep for unprojected steps.
    fn strongly_convex<L: ExactLoss>(&self, loss: L, targets: Targets) {
        if let (Ok(sigma), Some(_)) = (Positive::new(self.sigma.get()), loss.lipschitz()) {
            let arena = self.arena(loss, targets, WholeSpace {}.into());
            self.send(&arena, "strongly convex ogd", &mut StronglyConvexOgd::new(loss, sigma));
        }
    }

    fn send<L: ExactLoss>(&self, arena: &Arena<L>, name: &str, learner: &mut dyn Learner) {
        arena.check(&format!("{name} in {self:?}"), learner, Expect::Bounds);
    }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn absolute(draw in draws()) {
        draw.check(Absolute {}, Targets::Numbers);
    }

    #[test]
    fn hinge(draw in draws()) {
        draw.check(Hinge {}, Targets::Signs);
    }

    #[test]
    fn linear(draw in draws()) {
        draw.check(Linear {}, Targets::Slopes);
    }

    #[test]
    fn logistic(draw in draws()) {
        draw.check(Logistic {}, Targets::Signs);
    }

    #[test]
    fn perceptron_loss(draw in draws()) {
        draw.check(PerceptronLoss {}, Targets::Signs);
    }

    #[test]
    fn quantile_loss(draw in draws()) {
        draw.check(quantile(0.2), Targets::Numbers);
    }

    #[test]
    fn square(draw in draws()) {
        draw.check(Square {}, Targets::Numbers);
    }
}
