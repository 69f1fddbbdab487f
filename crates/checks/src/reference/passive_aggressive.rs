//! The passive-aggressive learners, written out.

use super::{Reference, dense, dot, half_product, norm, reach};
use rueful_core::loss::Loss;
use rueful_core::set::AnySet;
use rueful_core::{Example, Positive, Round};

/// The two rules for the step τ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DensePassiveAggressive {
    /// τ = min(C, φ/‖x‖²).
    Capped,
    /// τ = φ/(‖x‖² + 1/(2C)).
    Damped,
}

impl DensePassiveAggressive {
    /// The learner at w_1 = 0, over the hinge or the absolute loss.
    pub fn over<L: Loss>(self, loss: L, c: Positive, dimension: usize) -> impl Reference {
        Dense { rule: self, loss, c: c.get(), weights: vec![0.0; dimension], bound: Vec::new() }
    }

    fn tau(self, loss: f64, norm_sq: f64, c: f64) -> f64 {
        match self {
            Self::Capped => f64::min(c, loss / norm_sq),
            Self::Damped => loss / (norm_sq + 1.0 / (2.0 * c)),
        }
    }
}

struct Dense<L> {
    rule: DensePassiveAggressive,
    loss: L,
    c: f64,
    weights: Vec<f64>,
    /// b_t, a_t ŷ_t and ‖g_t‖ for every step.
    bound: Vec<(f64, f64, f64)>,
}

impl<L: Loss> Reference for Dense<L> {
    fn learn(&mut self, example: &Example<'_>) -> Round {
        let x = dense(example, self.weights.len());
        let prediction = dot(&self.weights, &x);
        let round = Round::on(&self.loss, prediction, example);
        let importance = example.importance.get();
        if round.slope != 0.0 && norm(&x) > 0.0 {
            let (plain, slope) = (round.value / importance, round.slope / importance);
            let tau = self.rule.tau(plain, dot(&x, &x), self.c * importance);
            for (w, x) in self.weights.iter_mut().zip(&x) {
                *w -= tau * slope * x;
            }
            let share = tau / (self.c * importance);
            self.bound.push((share, round.slope * prediction, round.slope.abs() * norm(&x)));
        }
        round
    }

    fn weights(&self) -> Vec<f64> {
        self.weights.clone()
    }

    /// U²/(2C) + Σ ((C/2) b²‖g‖² + (1 − b)(aŷ + U‖g‖)) for steps that are capped.
    fn data_bound(&self, comparators: &AnySet) -> f64 {
        if self.rule == DensePassiveAggressive::Damped {
            return f64::INFINITY;
        }
        let reach = reach(comparators, self.weights.len());
        let cost = |&(b, at, g): &(f64, f64, f64)| {
            0.5 * self.c * b * b * g * g + (1.0 - b) * (at + reach * g)
        };
        half_product(1.0 / self.c, reach) + self.bound.iter().map(cost).sum::<f64>()
    }
}
