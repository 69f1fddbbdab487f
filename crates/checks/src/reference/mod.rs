//! Every learner and the ledger once more, slow and obvious: with plain vectors, full projections,
//! norms recomputed in every round, and all history kept. Nothing here is clever, so that code
//! which agrees with it is right.

mod follow_the_leader;
mod ftrl;
mod hindsight;
mod ledger;
mod minimax;
mod ogd;
mod passive_aggressive;
mod perceptron;
mod regularized_erm;
mod sets;
mod strongly_convex_ogd;

pub use follow_the_leader::DenseFollowTheLeader;
pub use ftrl::DenseFtrl;
pub use hindsight::best_in_hindsight;
pub use ledger::DenseLedger;
pub use minimax::DenseMinimax;
pub use ogd::DenseOgd;
pub use passive_aggressive::DensePassiveAggressive;
pub use perceptron::DensePerceptron;
pub use regularized_erm::DenseRegularizedErm;
pub use sets::{diameter, diameter_at, project, reach, support};
pub use strongly_convex_ogd::DenseStronglyConvexOgd;

use rueful_core::set::AnySet;
use rueful_core::{Example, Round};

/// A learner without any trick.
pub trait Reference {
    /// Plays one round: predicts, suffers the loss, and updates.
    fn learn(&mut self, example: &Example<'_>) -> Round;

    /// The weights w_t.
    fn weights(&self) -> Vec<f64>;

    /// The data-dependent bound on the regret against `comparators`, added up from the history. It
    /// is infinite where nothing is proved.
    fn data_bound(&self, comparators: &AnySet) -> f64;
}

/// An example as a plain vector.
fn dense(example: &Example<'_>, dimension: usize) -> Vec<f64> {
    let mut x = vec![0.0; dimension];
    for (i, value) in example.features.iter() {
        x[i] = value;
    }
    x
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// (k/2)·r², where 0 times infinity is 0.
fn half_product(k: f64, r: f64) -> f64 {
    if k == 0.0 { 0.0 } else { 0.5 * k * r * r }
}
