//! Projected OGD, written out.

use super::{Reference, dense, diameter, dot, half_product, project, reach};
use rueful_core::loss::Loss;
use rueful_core::schedule::Schedule;
use rueful_core::set::AnySet;
use rueful_core::{Example, Objective, Round};

/// Projected OGD, w ← Π_W(w − η_t(a_t x_t + σ w_t)), on plain vectors, with η_t at most 1/σ.
#[derive(Debug, Clone)]
pub struct DenseOgd<L, S> {
    objective: Objective<L>,
    schedule: S,
    set: AnySet,
    weights: Vec<f64>,
    rounds: u64,
    gradients_sq_total: f64,
    /// The squared gradient norms and the inverse steps of the rounds that moved.
    gradients_sq: Vec<f64>,
    inverse_steps: Vec<f64>,
}

impl<L: Loss, S: Schedule> DenseOgd<L, S> {
    /// OGD at w_1 = 0.
    pub fn new(objective: Objective<L>, schedule: S, set: AnySet, dimension: usize) -> Self {
        Self {
            objective,
            schedule,
            set,
            weights: vec![0.0; dimension],
            rounds: 0,
            gradients_sq_total: 0.0,
            gradients_sq: Vec::new(),
            inverse_steps: Vec::new(),
        }
    }
}

impl<L: Loss, S: Schedule> Reference for DenseOgd<L, S> {
    fn learn(&mut self, example: &Example<'_>) -> Round {
        let sigma = self.objective.sigma.get();
        let x = dense(example, self.weights.len());
        let penalty = 0.5 * sigma * dot(&self.weights, &self.weights);
        let prediction = dot(&self.weights, &x);
        let round = Round { penalty, ..Round::on(&self.objective.loss, prediction, example) };

        let gradient: Vec<f64> =
            self.weights.iter().zip(&x).map(|(w, x)| round.slope * x + sigma * w).collect();
        let gradient_sq = dot(&gradient, &gradient);
        self.rounds += 1;
        self.gradients_sq_total += gradient_sq;

        let inverse = self.schedule.inverse_step(self.rounds, self.gradients_sq_total);
        // Without a gradient nothing moves, and the proof of (8) skips the round.
        let moves = inverse > 0.0 && (sigma > 0.0 || round.slope != 0.0);
        if moves {
            let inverse = inverse.max(sigma);
            for (w, g) in self.weights.iter_mut().zip(&gradient) {
                *w -= g / inverse;
            }
            self.gradients_sq.push(gradient_sq);
            self.inverse_steps.push(inverse);
        }
        project(&self.set, &mut self.weights);
        round
    }

    fn weights(&self) -> Vec<f64> {
        self.weights.clone()
    }

    /// ½ Σ (1/η_t − 1/η_{t−1} − σ)₊ (distance)² + ½ Σ η_t‖g_t‖². The first distance is that of the
    /// comparators from 0, and the others are the diameter.
    fn data_bound(&self, comparators: &AnySet) -> f64 {
        let sigma = self.objective.sigma.get();
        let dimension = self.weights.len();
        let (reach, diameter) = (reach(comparators, dimension), diameter(&self.set, dimension));
        let mut total = 0.0;
        let mut before = None;
        for (&inverse, &gradient_sq) in self.inverse_steps.iter().zip(&self.gradients_sq) {
            let (last, distance) = before.map_or((0.0, reach), |last| (last, diameter));
            let growth = inverse - last - sigma;
            let counts = growth > 8.0 * f64::EPSILON * inverse;
            total += half_product(if counts { growth } else { 0.0 }, distance);
            total += 0.5 * gradient_sq / inverse;
            before = Some(inverse);
        }
        total
    }
}
