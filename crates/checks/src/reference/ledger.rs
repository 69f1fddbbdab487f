//! The ledger, written out.

use super::support;
use crate::exact::Double;
use rueful_core::set::AnySet;
use rueful_core::{Batch, Round};

/// The sums of the certificate in twice the precision, on a plain vector.
#[derive(Debug, Clone, Default)]
pub struct DenseLedger {
    sigma: f64,
    rounds: u64,
    mistakes: u64,
    loss: Double,
    penalty: Double,
    /// A = Σ a_t ŷ_t.
    products: Double,
    /// S = Σ a_t x_t.
    slopes: Vec<Double>,
}

impl DenseLedger {
    /// An empty ledger for losses φ + (σ/2)‖w‖².
    pub fn new(sigma: f64, dimension: usize) -> Self {
        Self { sigma, slopes: vec![Double::ZERO; dimension], ..Self::default() }
    }

    /// Enters the rounds of a batch.
    pub fn record_batch(&mut self, batch: &Batch, rounds: &[Round]) {
        for (example, round) in batch.iter().zip(rounds) {
            self.rounds += 1;
            self.mistakes += u64::from(example.label * round.prediction <= 0.0);
            self.loss += round.value.into();
            self.penalty += round.penalty.into();
            self.products += Double::product(round.slope, round.prediction);
            for (i, x) in example.features.iter() {
                self.slopes[i] += Double::product(round.slope, x);
            }
        }
    }

    /// The total loss Σ ℓ_t(w_t).
    pub fn loss(&self) -> f64 {
        (self.loss + self.penalty).value()
    }

    /// The number of predictions with the wrong sign.
    pub fn mistakes(&self) -> u64 {
        self.mistakes
    }

    /// The sum S.
    pub fn slopes(&self) -> Vec<f64> {
        self.slopes.iter().map(|s| s.value()).collect()
    }

    /// A + Σ (σ/2)‖w_t‖² + sup_u (−u·S − (σT/2)‖u‖²), without any allowance for rounding.
    pub fn certificate(&self, comparators: &AnySet) -> f64 {
        let against: Vec<f64> = self.slopes.iter().map(|s| -s.value()).collect();
        let gain = support(comparators, &against, self.sigma * self.rounds as f64);
        (self.products + self.penalty + gain.into()).value()
    }
}
