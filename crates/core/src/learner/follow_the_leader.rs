//! Empirical risk minimisation, played online: follow the leader.
//!
//! ```text
//! w_{t+1} = argmin_{w ∈ W} Σ_{s≤t} ℓ_s(w)
//! ```
//!
//! For linear losses ℓ_s(w) = g_s·w on a ball or a box the minimiser is known in closed form: it is
//! the point of W that lies farthest in the direction of −S, where S = Σ g_s. Other losses are
//! replaced by their linearisation at w_t.
//!
//! It is proved that this learner fails. On W = [−1, 1] with the losses w/2, −w, +w, −w, … it loses
//! T − 1 while u = 0 loses nothing, (2) of the notes. It is here to demonstrate that failure, and
//! it has no bound. The certificate holds for it as for any learner.

use super::{
    AnySet, Coordinates, Example, Features, Learner, Plain, Promise, Recipe, Resumable, Round, Take,
};
use crate::loss::{AnyLoss, Loss};
use crate::number::NonNegative;
use crate::request::{Asked, Refusal, Request};
use crate::round::Objective;
use crate::set::{Bounded, FeasibleSet};
use crate::weights::Weights;
use serde::{Deserialize, Serialize};

/// ERM on linearised losses over a ball or box. Where S decides nothing (S = 0 on a ball, S_i = 0
/// in a box), the weights are 0.
///
/// ```
/// use rueful_core::{Batch, learner::{FollowTheLeader, Learner}, loss::Linear, set::BoxSet};
///
/// let mut stream = Batch::default();
/// for slope in [0.5, -1.0, 1.0] {
///     stream.push(&[0], &[1.0], slope)?;
/// }
/// let mut erm = FollowTheLeader::new(Linear {}, BoxSet::interval(-1.0, 1.0)?);
/// let mut rounds = Vec::new();
/// erm.learn_rows(stream.rows(), &mut rounds);
/// assert_eq!(rounds.iter().map(|round| round.loss()).sum::<f64>(), 2.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FollowTheLeader<L, W> {
    loss: L,
    set: W,
    /// S = Σ g_s
    sums: Weights,
    rounds: u64,
}

impl<L: Loss, W: Bounded> FollowTheLeader<L, W> {
    /// The learner at w_1 = 0.
    pub fn new(loss: L, set: W) -> Self {
        Self { loss, set, sums: Weights::default(), rounds: 0 }
    }
}

impl<L: Loss, W: Bounded> Learner for FollowTheLeader<L, W> {
    #[inline]
    fn learn(&mut self, example: &Example<'_>) -> Round {
        let x = &example.features;

        // w_t = argmin_{w ∈ W} w·S_{t−1}
        self.set.settle(&mut self.sums, f64::INFINITY);
        let leader = self.set.leader_dot(&self.sums, x);
        let round = Round::on(&self.loss, leader.prediction, example);

        // S_t = S_{t−1} + g_t
        self.sums.step(1.0, round.slope, x, leader.inner);
        self.rounds += 1;
        round
    }

    fn grow(&mut self, dimension: usize) {
        self.sums.grow(dimension);
    }

    fn named_coordinates(&self) -> usize {
        self.set.named_coordinates()
    }

    fn rearrange(&mut self, from: &[u32]) {
        self.sums.rearrange(from);
    }

    fn predict(&self, x: &Features<'_>) -> f64 {
        self.set.leader_dot(&self.sums, &x.below(self.sums.dimension())).prediction
    }

    fn weights(&self) -> Vec<f64> {
        self.set.leader(&self.sums)
    }

    fn rounds(&self) -> u64 {
        self.rounds
    }

    fn promise_in(&self, _: &AnySet, _: Coordinates<'_>) -> Promise {
        Promise::none("ERM has no regret bound: it can lose in every round, (2) of the notes")
    }
}

/// The parameters of follow the leader.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErmSpec {
    /// The set in which the weights are kept: a ball or a box.
    pub set: AnySet,
}

impl Asked for ErmSpec {
    fn ask(request: &Request<'_>) -> Result<Self, Refusal> {
        Ok(Self { set: request.ball.into() })
    }
}

const NO_MINIMUM: &str = "erm needs a bounded set, a ball or a box: it has no minimum";

impl Recipe for ErmSpec {
    fn check(&self, _objective: &Objective<AnyLoss>) -> Result<(), String> {
        if self.set.reach(1.into()).is_finite() { Ok(()) } else { Err(NO_MINIMUM.to_owned()) }
    }

    fn make<T: Take>(&self, objective: Objective<AnyLoss>, take: T) -> Result<T::Made, String> {
        match self.set.clone() {
            AnySet::Ball(set) => Ok(take.take(FollowTheLeader::new(objective.loss, set))),
            AnySet::Box(set) => Ok(take.take(FollowTheLeader::new(objective.loss, set))),
            AnySet::WholeSpace(_) => Err(NO_MINIMUM.to_owned()),
        }
    }

    fn words(&self, _sigma: NonNegative) -> String {
        format!("ERM on linearised losses, {}", self.set.keeps_weights())
    }
}

impl<L: Loss + Plain, W: Bounded + Plain> Resumable for FollowTheLeader<L, W> {
    fn continues(&self, fresh: &Self) -> bool {
        let later = Self { sums: self.sums.clone(), rounds: self.rounds, ..fresh.clone() };
        *self == later && self.sums.is_sound()
    }
}
