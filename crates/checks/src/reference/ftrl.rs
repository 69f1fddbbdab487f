//! FTRL-proximal, written out.

use super::{Reference, dense, dot, reach};
use rueful_core::loss::Loss;
use rueful_core::set::AnySet;
use rueful_core::{Example, NonNegative, Positive, Round};

/// FTRL-proximal on plain vectors: in every round, for every coordinate, w is the minimum of Σ
/// g·w + λ|w| + (β/2α)w² + ½ Σ σ(w − w_s)².
#[derive(Debug, Clone)]
pub struct DenseFtrl<L> {
    loss: L,
    alpha: f64,
    l1: f64,
    weights: Vec<f64>,
    coordinates: Vec<Coordinate>,
    /// Σ σ_{t,i} w_{t,i}².
    drawn: f64,
    /// Σ η_{t,i} g_{t,i}².
    energy: f64,
}

/// The sums that the minimum is made of.
#[derive(Debug, Clone, Copy, Default)]
struct Coordinate {
    gradients: f64,
    gradients_sq: f64,
    /// Σ σ.
    curvature: f64,
    /// Σ σ_s w_s.
    centre: f64,
}

impl Coordinate {
    /// The minimum, found by setting the derivative to 0: (β/α + Σσ)w = Σσ w_s − Σg ∓ λ, and 0
    /// where that has no solution of the right sign.
    fn minimum(&self, alpha: f64, l1: f64) -> f64 {
        let pull = self.centre - self.gradients;
        let curvature = 1.0 / alpha + self.curvature;
        if pull > l1 {
            (pull - l1) / curvature
        } else if pull < -l1 {
            (pull + l1) / curvature
        } else {
            0.0
        }
    }
}

impl<L: Loss> DenseFtrl<L> {
    /// The learner at w_1 = 0.
    pub fn new(loss: L, alpha: Positive, l1: NonNegative, dimension: usize) -> Self {
        Self {
            loss,
            alpha: alpha.get(),
            l1: l1.get(),
            weights: vec![0.0; dimension],
            coordinates: vec![Coordinate::default(); dimension],
            drawn: 0.0,
            energy: 0.0,
        }
    }
}

impl<L: Loss> Reference for DenseFtrl<L> {
    fn learn(&mut self, example: &Example<'_>) -> Round {
        let x = dense(example, self.weights.len());
        let round = Round::on(&self.loss, dot(&self.weights, &x), example);
        for ((w, coordinate), x) in self.weights.iter_mut().zip(&mut self.coordinates).zip(&x) {
            let g = round.slope * x;
            coordinate.gradients += g;
            coordinate.gradients_sq += g * g;
            let sigma = coordinate.gradients_sq.sqrt() / self.alpha - coordinate.curvature;
            coordinate.curvature += sigma;
            coordinate.centre += sigma * *w;
            self.drawn += sigma * *w * *w;
            self.energy += g * g / (1.0 / self.alpha + coordinate.curvature);
            *w = coordinate.minimum(self.alpha, self.l1);
        }
        round
    }

    fn weights(&self) -> Vec<f64> {
        self.weights.clone()
    }

    /// λU√d + ½(U√max(1/η_i) + √Σσw²)² + ½ Σ ηg², on a ball, where every coordinate moved.
    fn data_bound(&self, comparators: &AnySet) -> f64 {
        let reach = reach(comparators, self.weights.len());
        let steepest = self.coordinates.iter().fold(0.0, |m: f64, c| m.max(c.curvature));
        let stretch = reach * (1.0 / self.alpha + steepest).sqrt();
        let penalty = self.l1 * reach * (self.weights.len() as f64).sqrt();
        penalty + 0.5 * (stretch + self.drawn.sqrt()).powi(2) + 0.5 * self.energy
    }
}
