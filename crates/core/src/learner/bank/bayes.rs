//! Bayes' rule over experts that predict probabilities, where a share of the weights returns to the
//! prior.
//!
//! The prediction is the mixture Σ π_k p_k of probabilities. Each weight is multiplied by the
//! probability that its expert gave the label. After round t a share 1/(t+1) of the weights goes
//! back to the prior. This mixture loses at most
//!
//! ```text
//! c_max (ln(1/π_k) + ln T)
//! ```
//!
//! more than expert k. Importances enter as p^{c/c_max}, where c_max is the largest so far: with
//! p^c the bound would be false for c > 1.
//!
//! Proof. For C = c_max and c ≤ C, −c ln Σ w p ≤ −C ln Σ w p^{c/C} by concavity. So after round t
//! the mixture has lost at most C(ln(w_k/π_k) + ln(t+1)) more than expert k, where w_k are the
//! weights for the next round: the share costs C ln((t+1)/t). If C grows to c, the round adds
//! (c − C) ln(1/w_k) to that, and w_k ≥ π_k/t since a share of the prior was mixed in.

use super::experts::{Each, are_weights, multiply, shared, weighted_each, without_the_retired};
use super::merge::Parts;
use crate::elementary::{exp, ln};
use rueful_machine::Fours;
use serde::{Deserialize, Serialize};

/// A posterior over experts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Bayes {
    prior: Each,
    weights: Each,
    /// c_max
    largest: f64,
}

impl Bayes {
    pub(super) fn new(prior: Each) -> Self {
        Self { prior, weights: prior, largest: 0.0 }
    }

    pub(super) fn prior(&self) -> &Each {
        &self.prior
    }

    pub(super) fn weights(&self) -> &Each {
        &self.weights
    }

    /// Σ π_k p_k
    #[inline(always)]
    pub(super) fn mean<F: Fours>(&self, of: &Each) -> f64 {
        weighted_each::<F>(&self.weights, of)
    }

    /// Learns from the probability that each expert gave the label of round `round`.
    #[inline(always)]
    pub(super) fn learn<F: Fours>(&mut self, given: &Each, importance: f64, round: f64) {
        self.largest = if importance > self.largest { importance } else { self.largest };
        let power = importance / self.largest;
        if power == 1.0 {
            multiply::<F>(&mut self.weights, given);
        } else {
            let likelihood = |p: f64| if p > 0.0 { exp(power * ln(p)) } else { 0.0 };
            self.weights.iter_mut().zip(given).for_each(|(w, &p)| *w *= likelihood(p));
        }
        shared::<F>(&mut self.weights, &self.prior, 1.0 / (round + 1.0));
    }

    /// The posterior that several make, after so many rounds of all.
    pub(super) fn merged(parts: &Parts<'_, Self>, rounds: f64) -> Self {
        let prior = parts.base.prior;
        Self {
            prior,
            weights: parts.of(|bayes| &bayes.weights).weights(&prior, rounds),
            largest: parts.largest(|bayes| bayes.largest),
        }
    }

    pub(super) fn retire(&mut self, prior: Each) {
        self.prior = prior;
        without_the_retired(&mut self.weights, &prior);
    }

    /// c_max (ln(1/π) + ln T): an upper bound on the cost of mixing over an expert of this prior.
    pub(super) fn cost(&self, prior: f64, rounds: f64) -> f64 {
        self.largest * (rounds.max(1.0) / prior).ln()
    }

    /// c_max
    pub(super) fn largest(&self) -> f64 {
        self.largest
    }

    pub(super) fn is_sound(&self, prior: &Each) -> bool {
        self.prior == *prior
            && are_weights(&self.weights, prior)
            && (self.largest == 0.0 || (1e-30..=1e30).contains(&self.largest))
    }
}

#[cfg(test)]
mod tests {
    use super::super::experts::{EXPERTS, prior};
    use super::super::filters::FILTERS;
    use super::*;
    use proptest::prelude::*;

    type F = rueful_machine::Array<f64, 4>;

    /// An expert is trusted until a round of large importance shows it to be wrong. The bound is
    /// nearly attained.
    #[test]
    fn a_late_importance_costs_what_is_proved() {
        let prior = prior(FILTERS);
        let mut bayes = Bayes::new(prior);
        let (trusted, right) = (11, 0);
        let given = |good: usize| -> Each {
            std::array::from_fn(|k| if k == good { 1.0 - 1e-9 } else { 1e-9 })
        };
        let (mut mixed, mut alone) = (0.0, 0.0);
        for round in 1..=40 {
            let (given, c) = if round < 40 { (given(trusted), 1.0) } else { (given(right), 1e6) };
            mixed -= c * bayes.mean::<F>(&given).ln();
            alone -= c * given[right].ln();
            bayes.learn::<F>(&given, c, f64::from(round));
        }
        let cost = bayes.cost(prior[right], 40.0);
        assert!(mixed <= alone + cost, "{mixed} {alone} {cost}");
        assert!(mixed > alone + 0.99 * cost, "{mixed} {alone} {cost}");
    }

    proptest! {
        /// The bound holds for streams of any probabilities and importances.
        #[test]
        fn mixing_costs_no_more_than_is_proved(
            rows in prop::collection::vec(
                (prop::collection::vec(1e-6..1.0f64, EXPERTS), -3.0..3.0f64), 1..80,
            ),
        ) {
            let prior = prior(FILTERS);
            let mut bayes = Bayes::new(prior);
            let (mut mixed, mut alone) = (0.0, [0.0; EXPERTS]);
            for (round, (given, power)) in (1..).zip(&rows) {
                let given: Each = given.clone().try_into().unwrap();
                let importance = 10.0_f64.powf(*power);
                mixed -= importance * bayes.mean::<F>(&given).ln();
                alone.iter_mut().zip(given).for_each(|(sum, p)| *sum -= importance * p.ln());
                bayes.learn::<F>(&given, importance, f64::from(round));
                prop_assert!(bayes.is_sound(&prior));
            }
            for k in (0..EXPERTS).filter(|&k| prior[k] > 0.0) {
                let cost = bayes.cost(prior[k], rows.len() as f64);
                prop_assert!(mixed <= alone[k] + cost * (1.0 + 1e-12), "{mixed} {} {cost}", alone[k]);
            }
        }
    }
}
