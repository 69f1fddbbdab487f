//! The Perceptron, written out.

use super::{Reference, dense, dot, half_product, reach};
use rueful_core::loss::Loss;
use rueful_core::set::AnySet;
use rueful_core::{Example, Positive, Round};

/// The Perceptron, w ← w + η y_t x_t on mistakes, on plain vectors.
#[derive(Debug, Clone)]
pub struct DensePerceptron<L> {
    loss: L,
    eta: f64,
    weights: Vec<f64>,
    /// Σ ‖x_t‖² over the mistakes.
    mistakes_sq: f64,
}

impl<L: Loss> DensePerceptron<L> {
    /// The Perceptron at w_1 = 0.
    pub fn new(loss: L, eta: Positive, dimension: usize) -> Self {
        Self { loss, eta: eta.get(), weights: vec![0.0; dimension], mistakes_sq: 0.0 }
    }
}

impl<L: Loss> Reference for DensePerceptron<L> {
    fn learn(&mut self, example: &Example<'_>) -> Round {
        let x = dense(example, self.weights.len());
        let prediction = dot(&self.weights, &x);
        if example.label * prediction <= 0.0 {
            self.mistakes_sq += dot(&x, &x);
            for (w, x) in self.weights.iter_mut().zip(&x) {
                *w += self.eta * example.label * x;
            }
        }
        Round::on(&self.loss, prediction, example)
    }

    fn weights(&self) -> Vec<f64> {
        self.weights.clone()
    }

    /// U²/(2η) + (η/2) Σ_{mistakes} ‖x_t‖², in the perceptron loss.
    fn data_bound(&self, comparators: &AnySet) -> f64 {
        let reach = reach(comparators, self.weights.len());
        half_product(1.0 / self.eta, reach) + 0.5 * self.eta * self.mistakes_sq
    }
}
