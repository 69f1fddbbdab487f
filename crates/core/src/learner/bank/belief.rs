//! The posterior mean of experts that predict numbers.
//!
//! From each expert's loss that of the posterior mean is subtracted. The difference is measured in
//! units of the running mean of the latter. It multiplies the expert's weight by
//! e^{−rate·(difference)}, with the exponent kept within ±4. Then a share 1/(t+1) of the prior is
//! mixed in. In the square loss this is Bayes' rule over Gaussians.

use super::experts::{EXPERTS, Each, are_weights, shared, weighted_each, without_the_retired};
use super::merge::Parts;
use crate::elementary::exp_eight;
use rueful_machine::{Fours, Numbers, Registers};
use serde::{Deserialize, Serialize};

/// No loss changes a weight by a factor beyond e^{±MOST}.
const MOST: f64 = 4.0;

/// A posterior over experts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Belief {
    prior: Each,
    weights: Each,
}

impl Belief {
    pub(super) fn new(prior: Each) -> Self {
        Self { prior, weights: prior }
    }

    pub(super) fn prior(&self) -> &Each {
        &self.prior
    }

    pub(super) fn weights(&self) -> &Each {
        &self.weights
    }

    /// The posterior mean.
    #[inline(always)]
    pub(super) fn mean<F: Fours>(&self, said: &Each) -> f64 {
        weighted_each::<F>(&self.weights, said)
    }

    /// Learns from the loss of each expert and that of the mean in round `round`.
    #[inline(always)]
    pub(super) fn learn<R: Registers>(
        &mut self,
        losses: &Each,
        mean_loss: f64,
        rate: f64,
        round: f64,
    ) {
        let mut exponents = [0.0_f32; 24];
        for (exponent, loss) in exponents.iter_mut().zip(losses) {
            let difference = (loss - mean_loss) * rate;
            let within = if difference < MOST { difference } else { MOST };
            *exponent = -(if within > -MOST { within } else { -MOST }) as f32;
        }
        let (eights, _) = exponents.as_chunks::<8>();
        for (eight, weights) in eights.iter().zip(self.weights.chunks_mut(8)) {
            let factors = exp_eight(R::Eight::load(eight)).array();
            weights.iter_mut().zip(factors).for_each(|(w, factor)| *w *= f64::from(factor));
        }
        shared::<R::Four>(&mut self.weights, &self.prior, 1.0 / (round + 1.0));
    }

    /// The posterior that several make, after so many rounds of all.
    pub(super) fn merged(parts: &Parts<'_, Self>, rounds: f64) -> Self {
        let prior = parts.base.prior;
        let weights = parts.of(|belief| &belief.weights).weights(&prior, rounds);
        Self { prior, weights }
    }

    pub(super) fn retire(&mut self, prior: Each) {
        self.prior = prior;
        without_the_retired(&mut self.weights, &prior);
    }

    pub(super) fn is_sound(&self, prior: &Each) -> bool {
        self.prior == *prior && are_weights(&self.weights, prior)
    }
}

const _: () = assert!(EXPERTS <= 24);
