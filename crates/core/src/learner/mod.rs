//! Learners: first predict, then suffer, then update.

mod bank;
mod follow_the_leader;
mod ftrl;
mod minimax;
mod ogd;
mod passive_aggressive;
mod perceptron;
mod regularized_erm;
mod spec;
mod steps;
mod strongly_convex_ogd;

pub use bank::{Bank, Expert, SoftmaxBank};
pub use follow_the_leader::FollowTheLeader;
pub use ftrl::Ftrl;
pub use minimax::Minimax;
pub use ogd::Ogd;
pub use passive_aggressive::{Aggression, Capped, Damped, PassiveAggressive};
pub use perceptron::Perceptron;
pub use regularized_erm::RegularizedErm;
pub use spec::{Recipe, Take};
pub use steps::Steps;
pub use strongly_convex_ogd::StronglyConvexOgd;

use crate::bound::Promise;
use crate::cells::Coordinates;
use crate::comparators::Comparators;
use crate::features::{Example, Features};
use crate::ledger::{Minorant, Testimony};
use crate::round::Round;
use crate::rows::Rows;
use crate::set::AnySet;
use serde::Serialize;
use serde::de::DeserializeOwned;

family! {
    asked as "learner";
    /// Any of the learners, as it is described: its name and its parameters.
    #[derive(Debug, Clone, PartialEq)]
    pub enum learner::LearnerSpec, with_learner!($) {
        /// Projected online gradient descent.
        "ogd" => Ogd(ogd::OgdSpec),
        /// OGD for σ-strongly convex losses.
        "strongly-convex-ogd" => StronglyConvexOgd(strongly_convex_ogd::StronglyConvexOgdSpec),
        /// The Perceptron.
        "perceptron" => Perceptron(perceptron::PerceptronSpec),
        /// Follow the leader on linearised losses.
        "erm" => Erm(follow_the_leader::ErmSpec),
        /// Regularised ERM on linearised losses, lazily projected.
        "regularized-erm" => RegularizedErm(regularized_erm::RegularizedErmSpec),
        /// The minimax strategy for a known horizon.
        "minimax" => Minimax(minimax::MinimaxSpec),
        /// FTRL-proximal: rates by coordinate, and weights that are exactly 0.
        "ftrl" => Ftrl(ftrl::FtrlSpec),
        /// Passive-aggressive, with steps of at most C.
        "passive-aggressive-1" => PassiveAggressive1(passive_aggressive::PassiveAggressive1Spec),
        /// Passive-aggressive, with steps that C dampens.
        "passive-aggressive-2" => PassiveAggressive2(passive_aggressive::PassiveAggressive2Spec),
        /// Many learners side by side, mixed.
        "bank" => Bank(bank::BankSpec),
    }
}

/// An online learner of linear predictors, starting from w_1 = 0.
///
/// Contract (checked for every learner by the conformance suite): `learn` predicts before it
/// updates, and predicts what `predict` would have said; a round costs O(nnz(x)); a learner saved
/// and restored goes on bit for bit as if it had never stopped; no rung of its promise lies below
/// the certificate of its run.
pub trait Learner: Send + Sync {
    /// Makes room for features below `dimension`. Needed before `learn` sees them.
    fn grow(&mut self, dimension: usize);

    /// w_t·x. Features that have not been seen weigh nothing.
    fn predict(&self, x: &Features<'_>) -> f64;

    /// The same, beside so many further features that have not been seen. They weigh nothing; but a
    /// learner that knows how sure it is may be less so for them.
    fn predict_beside(&self, x: &Features<'_>, _unseen: usize) -> f64 {
        self.predict(x)
    }

    /// One round: predicts, suffers, updates.
    fn learn(&mut self, example: &Example<'_>) -> Round;

    /// w_t in full.
    fn weights(&self) -> Vec<f64>;

    /// How many rounds have been played.
    fn rounds(&self) -> u64;

    /// The theorem that covers this run: bounds on the regret against every comparator, in exact
    /// arithmetic, where the stream had features at these coordinates.
    fn promise(&self, comparators: &Comparators, coordinates: Coordinates<'_>) -> Promise {
        match comparators.set() {
            Some(set) => self.promise_in(set, coordinates),
            None => Promise::none(
                "its theorem is about weights in the data's own units, and the comparators have none",
            ),
        }
    }

    /// The same for comparators in the data's own units.
    fn promise_in(&self, comparators: &AnySet, coordinates: Coordinates<'_>) -> Promise;

    /// What predictors of its own, that price the comparators, prove about all rounds so far.
    fn witnesses(&self) -> Box<dyn Iterator<Item = Minorant> + '_> {
        Box::new(std::iter::empty())
    }

    /// What these predictors prove about comparators.
    fn testify(&self, comparators: &Comparators, coordinates: Coordinates<'_>) -> Vec<Testimony> {
        self.witnesses().map(|witness| witness.testify(comparators, coordinates)).collect()
    }

    /// The learners that it mixes, and how each of them does; none where it mixes none.
    fn experts(&self) -> Vec<Expert> {
        Vec::new()
    }

    /// What mixing them is proved to have cost at most over the best of them, in total.
    fn mixing_cost(&self) -> Option<f64> {
        None
    }

    /// What each feature of an example adds to its prediction, in the order of the features:
    /// w_i·x_i. Where the prediction is not linear, one further number makes the sum its equal.
    fn contributions(&self, x: &Features<'_>) -> Vec<f64> {
        let weights = self.weights();
        x.iter().map(|(i, x)| weights.get(i).map_or(0.0, |weight| weight * x)).collect()
    }

    /// How many of the first coordinates are told apart by the set the weights are kept in.
    fn named_coordinates(&self) -> usize {
        0
    }

    /// Puts the coordinates of w in other places: place i gets what is at `from[i]`, and 0 where
    /// there is nothing. What is left behind must be 0.
    fn rearrange(&mut self, from: &[u32]);

    /// A round for every row, in order; `rounds` is overwritten. A row of importance 0 is predicted
    /// and otherwise not there.
    fn learn_rows(&mut self, rows: Rows<'_>, rounds: &mut Vec<Round>) {
        self.grow(rows.dimension());
        rounds.clear();
        rounds.extend((0..rows.len()).map(|row| {
            let example = rows.get(row);
            if example.importance.is_zero() {
                return idle_round(self, &example.features);
            }
            self.learn(&example)
        }));
    }
}

/// What comes of a row that does not count. Set apart, so that the loop over rows has one prediction
/// in it.
#[cold]
#[inline(never)]
fn idle_round<T: Learner + ?Sized>(learner: &T, x: &Features<'_>) -> Round {
    Round::idle(learner.predict(x))
}

/// Parameters as plain data.
pub trait Plain: Clone + PartialEq + Serialize + DeserializeOwned {}

impl<T: Clone + PartialEq + Serialize + DeserializeOwned> Plain for T {}

/// A learner that can be put away and taken out again. Its state is plain serde data; what comes
/// back may come from anywhere, and is not to be trusted until it is compared with a fresh one.
pub trait Resumable: Learner + Clone + Serialize + DeserializeOwned {
    /// Whether this can be a later state of `fresh`, a learner that has seen nothing: the same
    /// parameters, and numbers that go together.
    fn continues(&self, fresh: &Self) -> bool;
}
