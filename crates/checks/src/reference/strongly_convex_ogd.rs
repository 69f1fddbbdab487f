//! OGD for strongly convex losses, written out.

use super::{Reference, dense, dot};
use rueful_core::loss::Loss;
use rueful_core::set::AnySet;
use rueful_core::{Example, Positive, Round};

/// OGD with steps 1/(σt), w ← w − (a_t x_t + σ w_t)/(σt), on plain vectors.
#[derive(Debug, Clone)]
pub struct DenseStronglyConvexOgd<L> {
    loss: L,
    sigma: f64,
    weights: Vec<f64>,
    gradients_sq: Vec<f64>,
}

impl<L: Loss> DenseStronglyConvexOgd<L> {
    /// The learner at w_1 = 0.
    pub fn new(loss: L, sigma: Positive, dimension: usize) -> Self {
        let weights = vec![0.0; dimension];
        Self { loss, sigma: sigma.get(), weights, gradients_sq: Vec::new() }
    }
}

impl<L: Loss> Reference for DenseStronglyConvexOgd<L> {
    fn learn(&mut self, example: &Example<'_>) -> Round {
        let x = dense(example, self.weights.len());
        let penalty = 0.5 * self.sigma * dot(&self.weights, &self.weights);
        let prediction = dot(&self.weights, &x);
        let round = Round { penalty, ..Round::on(&self.loss, prediction, example) };

        let gradient: Vec<f64> =
            self.weights.iter().zip(&x).map(|(w, x)| round.slope * x + self.sigma * w).collect();
        self.gradients_sq.push(dot(&gradient, &gradient));
        let step = 1.0 / (self.sigma * self.gradients_sq.len() as f64);
        for (w, g) in self.weights.iter_mut().zip(&gradient) {
            *w -= step * g;
        }
        round
    }

    fn weights(&self) -> Vec<f64> {
        self.weights.clone()
    }

    /// (1/2σ) Σ ‖g_t‖²/t.
    fn data_bound(&self, _comparators: &AnySet) -> f64 {
        let terms = (1..).zip(&self.gradients_sq).map(|(t, g)| g / f64::from(t));
        terms.sum::<f64>() / (2.0 * self.sigma)
    }
}
