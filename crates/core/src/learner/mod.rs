//! Learners. In each round a learner first predicts, then suffers the loss, then updates.

/// What follows for a learner from its `weights` and `steps`, in its `impl Learner`.
macro_rules! keeps_weights {
    () => {
        fn grow(&mut self, dimension: usize) {
            self.weights.grow(dimension);
        }

        fn rearrange(&mut self, from: &[u32]) {
            self.weights.rearrange(from);
        }

        fn predict(&self, x: &Features<'_>) -> f64 {
            self.weights.dot(&x.below(self.weights.dimension()))
        }

        fn weights(&self) -> Vec<f64> {
            self.weights.iter().collect()
        }

        fn rounds(&self) -> u64 {
            self.steps.rounds()
        }
    };
}

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

pub use bank::{Bank, BankPart, Expert, MergeError, SoftmaxBank};
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
    /// Any of the learners, described by its name and its parameters.
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
        /// FTRL-proximal, with a rate for each coordinate and weights that are exactly 0.
        "ftrl" => Ftrl(ftrl::FtrlSpec),
        /// Passive-aggressive, with steps of at most C.
        "passive-aggressive-1" => PassiveAggressive1(passive_aggressive::PassiveAggressive1Spec),
        /// Passive-aggressive, with steps that C dampens.
        "passive-aggressive-2" => PassiveAggressive2(passive_aggressive::PassiveAggressive2Spec),
        /// Many learners side by side, whose predictions are mixed.
        "bank" => Bank(bank::BankSpec),
    }
}

/// An online learner of linear predictors, starting from w_1 = 0.
///
/// The conformance suite checks this contract for every learner:
///
/// - `learn` predicts before it updates, and its prediction is that of `predict`.
/// - A round costs O(nnz(x)).
/// - A learner that is saved and restored goes on bit for bit as if it had never stopped.
/// - No rung of its promise lies below the certificate of its run.
pub trait Learner: Send + Sync {
    /// Makes room for features below `dimension`. `learn` needs this before it is given such
    /// features.
    fn grow(&mut self, dimension: usize);

    /// w_t·x. Features that have not been seen have weight 0.
    fn predict(&self, x: &Features<'_>) -> f64;

    /// `predict`, for an example that has `_unseen` further features that have not been seen. Their
    /// weight is 0, but a learner that tracks its own uncertainty may be less certain because of
    /// them.
    fn predict_beside(&self, x: &Features<'_>, _unseen: usize) -> f64 {
        self.predict(x)
    }

    /// One round: the learner predicts, suffers the loss, and updates.
    fn learn(&mut self, example: &Example<'_>) -> Round;

    /// w_t as a vector.
    fn weights(&self) -> Vec<f64>;

    /// How many rounds were played.
    fn rounds(&self) -> u64;

    /// The theorem that covers this run: bounds on the regret against every comparator, in exact
    /// arithmetic, for a stream with features at these coordinates.
    fn promise(&self, comparators: &Comparators, coordinates: Coordinates<'_>) -> Promise {
        match comparators.set() {
            Some(set) => self.promise_in(set, coordinates),
            None => Promise::none(
                "its theorem is about weights in the data's own units, and the comparators have none",
            ),
        }
    }

    /// `promise` for comparators in the data's own units.
    fn promise_in(&self, comparators: &AnySet, coordinates: Coordinates<'_>) -> Promise;

    /// Lower bounds on the loss of every comparator over all rounds so far. They come from the
    /// learner's own witnesses: predictors that it runs for this purpose.
    fn witnesses(&self) -> Box<dyn Iterator<Item = Minorant> + '_> {
        Box::new(std::iter::empty())
    }

    /// The lower bounds that these witnesses prove for the given comparators.
    fn testify(&self, comparators: &Comparators, coordinates: Coordinates<'_>) -> Vec<Testimony> {
        self.witnesses().map(|witness| witness.testify(comparators, coordinates)).collect()
    }

    /// The learners that it mixes, and how well each of them does. Empty if it mixes none.
    fn experts(&self) -> Vec<Expert> {
        Vec::new()
    }

    /// A proved bound on the total extra cost of mixing over that of the best of them.
    fn mixing_cost(&self) -> Option<f64> {
        None
    }

    /// The contribution of each feature of an example to the prediction, in the order of the
    /// features: w_i·x_i. If the prediction is not linear, one more number makes the sum equal to
    /// the prediction.
    fn contributions(&self, x: &Features<'_>) -> Vec<f64> {
        let weights = self.weights();
        x.iter().map(|(i, x)| weights.get(i).map_or(0.0, |weight| weight * x)).collect()
    }

    /// How many of the first coordinates are told apart by the set in which the weights are kept.
    fn named_coordinates(&self) -> usize {
        0
    }

    /// Moves the coordinates of w: coordinate i gets the value at `from[i]`, or 0 if there is none.
    /// A coordinate that is not moved anywhere must be 0.
    fn rearrange(&mut self, from: &[u32]);

    /// Plays a round for every row, in order, and overwrites `rounds`. A row of importance 0 is
    /// predicted and otherwise ignored.
    fn learn_rows(&mut self, rows: Rows<'_>, rounds: &mut Vec<Round>) {
        play_rows(self, rows, rounds);
    }
}

/// Plays a round for every row, in order, and overwrites `rounds`.
#[inline(always)] // It may be compiled for wide registers.
fn play_rows<T: Learner + ?Sized>(learner: &mut T, rows: Rows<'_>, rounds: &mut Vec<Round>) {
    learner.grow(rows.dimension());
    rounds.clear();
    rounds.reserve(rows.len());
    for row in 0..rows.len() {
        rows.fetch_behind(row);
        let example = rows.get(row);
        rounds.push(if example.importance.is_zero() {
            Round::idle(idle_prediction(learner, &example.features))
        } else {
            learner.learn(&example)
        });
    }
}

/// The prediction of a row of importance 0. It is a function of its own so that the loop over rows
/// contains only one prediction, and it returns a number so that rounds stay in registers.
#[cold]
#[inline(never)]
fn idle_prediction<T: Learner + ?Sized>(learner: &T, x: &Features<'_>) -> f64 {
    learner.predict(x)
}

/// Parameters that are plain data.
pub trait Plain: Clone + PartialEq + Serialize + DeserializeOwned {}

impl<T: Clone + PartialEq + Serialize + DeserializeOwned> Plain for T {}

/// A learner that can be saved and restored. Its state is plain serde data. A state that is read
/// may come from anywhere, so it is not trusted until it is compared with a fresh learner.
pub trait Resumable: Learner + Clone + Serialize + DeserializeOwned {
    /// Whether this can be a later state of `fresh`, a learner that has seen nothing: the
    /// parameters must be the same, and the numbers must be consistent.
    fn continues(&self, fresh: &Self) -> bool;
}
