//! Follow the leader, written out.

use super::{Reference, dense, dot, norm};
use rueful_core::loss::Loss;
use rueful_core::set::{AnySet, FeasibleSet};
use rueful_core::{Example, Round};

/// Follow the leader: w_t is the point of the set farthest against S = Σ g_s, and 0 where S decides
/// nothing.
#[derive(Debug, Clone)]
pub struct DenseFollowTheLeader<L> {
    loss: L,
    set: AnySet,
    sums: Vec<f64>,
}

impl<L: Loss> DenseFollowTheLeader<L> {
    /// The learner at w_1 = 0, on a ball or a box.
    pub fn new(loss: L, set: AnySet, dimension: usize) -> Self {
        Self { loss, set, sums: vec![0.0; dimension] }
    }
}

impl<L: Loss> Reference for DenseFollowTheLeader<L> {
    fn learn(&mut self, example: &Example<'_>) -> Round {
        let x = dense(example, self.sums.len());
        let round = Round::on(&self.loss, dot(&self.weights(), &x), example);
        for (s, x) in self.sums.iter_mut().zip(&x) {
            *s += round.slope * x;
        }
        round
    }

    fn weights(&self) -> Vec<f64> {
        let length = norm(&self.sums);
        let farthest = |(i, &s): (usize, &f64)| match &self.set {
            _ if s == 0.0 => 0.0,
            AnySet::Ball(ball) => -ball.radius.get() * s / length,
            set if s > 0.0 => set.extent(i).0,
            set => set.extent(i).1,
        };
        self.sums.iter().enumerate().map(farthest).collect()
    }

    /// Nothing is proved for it.
    fn data_bound(&self, _comparators: &AnySet) -> f64 {
        f64::INFINITY
    }
}
