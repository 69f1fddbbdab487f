//! The minimax strategy, written out.

use super::{Reference, dense, dot};
use rueful_core::loss::Loss;
use rueful_core::set::{AnySet, Ball};
use rueful_core::{Example, Positive, Round};

/// The minimax strategy w_t = −U S_{t−1}/√(‖S_{t−1}‖² + G²(T − t + 1)) on plain vectors.
#[derive(Debug, Clone)]
pub struct DenseMinimax<L> {
    loss: L,
    radius: f64,
    gradient_bound: f64,
    horizon: u64,
    sums: Vec<f64>,
    rounds: u64,
    /// Σ (G² − ‖g_t‖²)/(2Ψ_t).
    unspent: f64,
}

impl<L: Loss> DenseMinimax<L> {
    /// The learner at w_1 = 0.
    pub fn new(loss: L, set: Ball, gradient_bound: Positive, horizon: u64, d: usize) -> Self {
        let (radius, gradient_bound) = (set.radius.get(), gradient_bound.get());
        let sums = vec![0.0; d];
        Self { loss, radius, gradient_bound, horizon, sums, rounds: 0, unspent: 0.0 }
    }

    /// The potential Ψ_t.
    fn potential(&self) -> f64 {
        let left = self.horizon.saturating_sub(self.rounds) as f64;
        (dot(&self.sums, &self.sums) + self.gradient_bound.powi(2) * left).sqrt()
    }
}

impl<L: Loss> Reference for DenseMinimax<L> {
    fn learn(&mut self, example: &Example<'_>) -> Round {
        let x = dense(example, self.sums.len());
        let round = Round::on(&self.loss, dot(&self.weights(), &x), example);
        let kept = self.gradient_bound.powi(2) - round.slope.powi(2) * dot(&x, &x);
        self.unspent += 0.5 * kept / self.potential();
        self.rounds += 1;
        for (s, x) in self.sums.iter_mut().zip(&x) {
            *s += round.slope * x;
        }
        round
    }

    fn weights(&self) -> Vec<f64> {
        let potential = self.potential();
        let scale = |s: &f64| if potential == 0.0 { 0.0 } else { -self.radius * s / potential };
        self.sums.iter().map(scale).collect()
    }

    /// UG√T − U Σ (G² − ‖g_t‖²)/(2Ψ_t).
    fn data_bound(&self, _comparators: &AnySet) -> f64 {
        let value = self.gradient_bound * (self.horizon as f64).sqrt();
        self.radius * (value - self.unspent)
    }
}
