//! Regularised ERM on linearised losses, written out.

use super::{Reference, dense, diameter_at, dot, half_product, project, reach};
use rueful_core::loss::Loss;
use rueful_core::schedule::Schedule;
use rueful_core::set::AnySet;
use rueful_core::{Example, Round};

/// Regularised ERM, w_t = Π_W(−S_{t−1}/α_t), on plain vectors.
#[derive(Debug, Clone)]
pub struct DenseRegularizedErm<L, S> {
    loss: L,
    schedule: S,
    set: AnySet,
    sums: Vec<f64>,
    gradients_sq: Vec<f64>,
    gradients_sq_total: f64,
    alphas: Vec<f64>,
    /// The diameters D_t.
    diameters: Vec<f64>,
}

impl<L: Loss, S: Schedule> DenseRegularizedErm<L, S> {
    /// The learner at w_1 = 0.
    pub fn new(loss: L, schedule: S, set: AnySet, dimension: usize) -> Self {
        Self {
            loss,
            schedule,
            set,
            sums: vec![0.0; dimension],
            gradients_sq: Vec::new(),
            gradients_sq_total: 0.0,
            alphas: Vec::new(),
            diameters: Vec::new(),
        }
    }

    /// The α_t of the coming round.
    fn alpha(&self) -> f64 {
        let round = self.gradients_sq.len() as u64 + 1;
        self.schedule.inverse_step(round, self.gradients_sq_total)
    }
}

impl<L: Loss, S: Schedule> Reference for DenseRegularizedErm<L, S> {
    fn learn(&mut self, example: &Example<'_>) -> Round {
        let x = dense(example, self.sums.len());
        let round = Round::on(&self.loss, dot(&self.weights(), &x), example);
        self.alphas.push(self.alpha());
        self.diameters.push(diameter_at(&self.set, &x));
        let gradient: Vec<f64> = x.iter().map(|x| round.slope * x).collect();
        let gradient_sq = dot(&gradient, &gradient);
        self.gradients_sq.push(gradient_sq);
        self.gradients_sq_total += gradient_sq;
        for (s, g) in self.sums.iter_mut().zip(&gradient) {
            *s += g;
        }
        round
    }

    fn weights(&self) -> Vec<f64> {
        let alpha = self.alpha();
        let scale = |s: &f64| if alpha == 0.0 { 0.0 } else { -s / alpha };
        let mut weights: Vec<f64> = self.sums.iter().map(scale).collect();
        project(&self.set, &mut weights);
        weights
    }

    /// (α_T/2)U² + Σ min(‖g_t‖²/(2α_t), D_t‖g_t‖).
    fn data_bound(&self, comparators: &AnySet) -> f64 {
        let dimension = self.sums.len();
        let last = self.alphas.last().copied().unwrap_or(0.0);
        let rounds = self.alphas.iter().zip(&self.gradients_sq).zip(&self.diameters);
        let stability = rounds.map(|((alpha, &g), diameter)| {
            let local = 0.5 * g / alpha;
            if g == 0.0 { 0.0 } else { local.min(diameter * g.sqrt()) }
        });
        half_product(last, reach(comparators, dimension)) + stability.sum::<f64>()
    }
}
