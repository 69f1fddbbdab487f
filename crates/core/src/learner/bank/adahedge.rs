//! AdaHedge: a mixture of experts for any convex loss. It needs no learning rate and no range of
//! losses.
//!
//! The weights are π_k e^{−η L_k} with η = ln 8/Δ, where L are the losses so far. Δ is the sum of
//! the mixability gaps: the amounts by which the mean of the experts' losses exceeded −(1/η) ln Σ
//! w_k e^{−η ℓ_k}. A learner that plays the mean of the experts' predictions loses at most
//!
//! ```text
//! (1 + ln(1/π_k)/ln 8) Δ_T,    Δ_T ≤ s(½√(T ln 8) + 1)
//! ```
//!
//! more than expert k, where s is the widest range of losses in one round. Proof. The terms −(1/η)
//! ln Σ w_k e^{−η ℓ_k} sum to at most L_k + ln(1/π_k)/η_T, because η never grows, and the mean
//! losses exceed that sum by Δ_T. The bound on Δ_T follows from Δ_T² = Σ δ_t(2Δ_{t−1} + δ_t) with
//! δ_t ≤ min(s, ηs²/8).

use super::experts::{total, weighted};
use super::merge::Parts;
use crate::elementary::{exp, ln};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// ln 8, where η = ln 8/Δ.
const PACE: f64 = 2.079_441_541_679_835_8;

/// AdaHedge over N experts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound(serialize = "[f64; N]: Serialize", deserialize = "[f64; N]: DeserializeOwned"))]
pub(super) struct AdaHedge<const N: usize> {
    prior: [f64; N],
    weights: [f64; N],
    losses: [f64; N],
    /// Δ
    gap: f64,
    /// s
    range: f64,
}

impl<const N: usize> AdaHedge<N> {
    pub(super) fn new(prior: [f64; N]) -> Self {
        Self { prior, weights: prior, losses: [0.0; N], gap: 0.0, range: 0.0 }
    }

    pub(super) fn weights(&self) -> &[f64; N] {
        &self.weights
    }

    pub(super) fn losses(&self) -> &[f64; N] {
        &self.losses
    }

    /// The mean of the experts' predictions.
    #[inline(always)]
    pub(super) fn mean(&self, said: &[f64; N]) -> f64 {
        weighted(&self.weights, said)
    }

    /// Learns from the losses of the experts.
    #[inline(always)]
    pub(super) fn learn(&mut self, lost: &[f64; N]) {
        let mean = self.mean(lost);
        let (least, most) = self.ends(lost);
        self.range = if most - least > self.range { most - least } else { self.range };
        // −(1/η) ln Σ w e^{−ηℓ}, which is the least loss while η is infinite.
        let mut mixed = least;
        if self.gap > 0.0 {
            let rate = PACE / self.gap;
            let mut powers = [0.0; N];
            for (power, loss) in powers.iter_mut().zip(lost) {
                *power = exp(-rate * (loss - least));
            }
            mixed -= ln(weighted(&self.weights, &powers)) / rate;
        }
        if mean > mixed {
            self.gap += mean - mixed;
        }
        self.losses.iter_mut().zip(lost).for_each(|(sum, loss)| *sum += loss);
        self.weigh();
    }

    /// The least and the largest loss among the experts with a positive prior.
    #[inline(always)]
    fn ends(&self, lost: &[f64; N]) -> (f64, f64) {
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for (&loss, &prior) in lost.iter().zip(&self.prior) {
            let (low, high) =
                if prior > 0.0 { (loss, loss) } else { (f64::INFINITY, f64::NEG_INFINITY) };
            least = if low < least { low } else { least };
            most = if high > most { high } else { most };
        }
        (least, most)
    }

    /// π e^{−ηL}, normalised.
    #[inline(always)]
    fn weigh(&mut self) {
        let (least, _) = self.ends(&self.losses);
        let rate = if self.gap > 0.0 { PACE / self.gap } else { f64::MAX };
        for k in 0..N {
            self.weights[k] = self.prior[k] * exp(-rate * (self.losses[k] - least));
        }
        let scale = 1.0 / total(&self.weights);
        self.weights.iter_mut().for_each(|weight| *weight *= scale);
    }

    /// Retires the experts that have no weight in the new prior.
    pub(super) fn retire(&mut self, prior: [f64; N]) {
        self.prior = prior;
        self.weigh();
    }

    /// The mixture that several make. Their gaps and losses add up.
    pub(super) fn merged(parts: &Parts<'_, Self>) -> Self {
        let mut merged = Self {
            prior: parts.base.prior,
            weights: parts.base.weights,
            losses: parts.of(|hedge| &hedge.losses).added_sizes(),
            gap: parts.added_size(|hedge| hedge.gap),
            range: parts.largest(|hedge| hedge.range),
        };
        merged.weigh();
        merged
    }

    /// Changes the unit of the losses.
    pub(super) fn stretch(&mut self, factor: f64) {
        self.losses.iter_mut().chain([&mut self.gap, &mut self.range]).for_each(|x| *x *= factor);
    }

    /// (1 + ln(1/π)/ln 8) Δ: an upper bound on the cost of mixing over an expert of this prior.
    pub(super) fn cost(&self, prior: f64) -> f64 {
        (1.0 - prior.ln() / PACE) * self.gap
    }

    /// An upper bound on that cost that does not depend on Δ: (1 + ln(1/π)/ln 8) s(½√(T ln 8) + 1).
    pub(super) fn most_cost(&self, prior: f64, rounds: f64) -> f64 {
        (1.0 - prior.ln() / PACE) * self.range * (0.5 * (rounds * PACE).sqrt() + 1.0)
    }

    /// A bound on the effect of roundings in doubles on the cost, over so many rounds.
    pub(super) fn rounded(&self, rounds: f64) -> f64 {
        128.0 * f64::EPSILON * rounds * (self.range + self.gap)
    }

    pub(super) fn is_sound(&self, prior: &[f64; N]) -> bool {
        let sums = self.losses.iter().chain([&self.gap, &self.range]);
        let in_range = |w: &f64| (0.0..=1.0 + 1e-9).contains(w);
        self.prior == *prior
            && self.weights.iter().all(in_range)
            && (total(&self.weights) - 1.0).abs() < 1e-9
            && sums.into_iter().all(|x| x.is_finite() && *x >= 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PRIOR: [f64; 4] = [0.5, 0.25, 0.25, 0.0];

    proptest! {
        /// The bound holds for losses of any size.
        #[test]
        fn mixing_costs_no_more_than_is_proved(
            rows in prop::collection::vec((prop::array::uniform4(0.0..1.0f64), -2.0..3.0f64), 1..200),
        ) {
            let mut hedge = AdaHedge::new(PRIOR);
            let mut mixed = 0.0;
            for (lost, power) in &rows {
                let lost = lost.map(|loss| loss * 10_f64.powf(*power));
                mixed += hedge.mean(&lost);
                hedge.learn(&lost);
                prop_assert!(hedge.is_sound(&PRIOR));
            }
            for (&alone, &prior) in hedge.losses().iter().zip(&PRIOR).take(3) {
                let cost = hedge.cost(prior);
                prop_assert!(mixed <= alone + cost * (1.0 + 1e-12) + 1e-12 * mixed);
                prop_assert!(cost <= hedge.most_cost(prior, rows.len() as f64) * (1.0 + 1e-12));
            }
        }
    }
}
