//! Vovk's aggregating algorithm for the square loss.
//!
//! For labels between `low` and `high` and η = 2/(high − low)², the prediction
//!
//! ```text
//! (low + high)/2 + (high − low)/4 · ln(Σ a_k e^{−η(high − z_k)²} / Σ a_k e^{−η(low − z_k)²})
//! ```
//!
//! loses at most −(1/η) ln Σ a_k e^{−η(z_k − y)²} whatever the label is. So with weights multiplied
//! by e^{−η(c/c_max)(z_k − y)²} and a share 1/(t+1) of the prior it loses at most
//!
//! ```text
//! c_max (high − low)²/2 · (ln(1/π_k) + ln T)
//! ```
//!
//! more than expert k. The range is that of the labels seen before. A label outside it is not
//! covered, nor is an importance above c_max. The excess of such a round over its bound is added to
//! `surprise`, which the theorem then pays. When K = c_max(high − low)²/2 grows to K', weights
//! relative to the prior are first raised to the power K/K'. This costs nothing, since K'
//! ln(a'_k/π_k) ≥ K ln(a_k/π_k) by concavity.

use super::experts::{EXPERTS, Each, are_weights, shared, total, weighted, without_the_retired};
use super::merge::Parts;
use super::targets::Targets;
use crate::elementary::{exp, exp_eight, ln};
use rueful_machine::{Eights, Plain, Registers};
use serde::{Deserialize, Serialize};

/// The aggregating algorithm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Aggregate {
    prior: Each,
    weights: Each,
    /// K = c_max (high − low)²/2 = c_max/η, and below c_max.
    temperature: f64,
    largest: f64,
    surprise: f64,
}

/// Σ a_k e^{−rate·(z_k − y)²} in singles. The surprise accounts for their roundings.
#[inline(always)]
fn evidence<V: Eights>(weights: &Each, said: &Each, label: f64, rate: f64) -> f64 {
    let mut exponents = [0.0_f32; 24];
    for (exponent, z) in exponents.iter_mut().zip(said) {
        let miss = z - label;
        *exponent = (-rate * miss * miss) as f32;
    }
    let (eights, _) = exponents.as_chunks::<8>();
    let mut terms = [0.0; EXPERTS];
    for (terms, eight) in terms.chunks_mut(8).zip(eights) {
        let powers = exp_eight(V::load(eight)).array();
        for (term, power) in terms.iter_mut().zip(powers) {
            *term = f64::from(power);
        }
    }
    weighted(weights, &terms)
}

impl Aggregate {
    pub(super) fn new(prior: Each) -> Self {
        Self { prior, weights: prior, temperature: 0.0, largest: 0.0, surprise: 0.0 }
    }

    pub(super) fn weights(&self) -> &Each {
        &self.weights
    }

    /// The prediction from the experts' predictions. The labels must have a range.
    #[inline(always)]
    pub(super) fn substitute<V: Eights>(&self, said: &Each, targets: &Targets) -> f64 {
        let (low, high, range) = (targets.low, targets.high, targets.range());
        let rate = 2.0 / (range * range);
        let at_high = evidence::<V>(&self.weights, said, high, rate);
        let at_low = evidence::<V>(&self.weights, said, low, rate);
        targets.clipped(0.5 * (low + high) + 0.25 * range * ln(at_high / at_low))
    }

    /// Learns from the losses of the experts on a label within the range, which may have grown for
    /// it. `own` is the loss of the prediction.
    #[inline(always)]
    pub(super) fn learn<R: Registers>(
        &mut self,
        losses: &Each,
        own: f64,
        c: f64,
        round: f64,
        range: f64,
    ) {
        let largest = if c > self.largest { c } else { self.largest };
        let temperature = 0.5 * largest * range * range;
        if temperature > self.temperature {
            self.heat(temperature, largest);
        }
        let rate = c / self.temperature;
        for (weight, loss) in self.weights.iter_mut().zip(losses) {
            *weight *= exp(-rate * (loss - own));
        }
        // Its logarithm is (own loss − its bound)/temperature, which is at most 0 if the theorem
        // holds.
        let excess = total(&self.weights);
        if excess > 1.0 {
            self.surprise += self.temperature * ln(excess);
        }
        shared::<R::Four>(&mut self.weights, &self.prior, 1.0 / (round + 1.0));
    }

    #[cold]
    #[inline(never)]
    fn heat(&mut self, temperature: f64, largest: f64) {
        temper(&mut self.weights, &self.prior, self.temperature / temperature);
        (self.temperature, self.largest) = (temperature, largest);
    }

    /// The mixture that several make, after so many rounds of all. Each is brought to the largest
    /// temperature first.
    pub(super) fn merged(parts: &Parts<'_, Self>, rounds: f64) -> Self {
        let largest = parts.largest(|one| one.largest);
        let temperature = parts.largest(|one| one.temperature);
        let heated = |one: &Self| {
            let mut one = one.clone();
            if temperature > one.temperature {
                one.heat(temperature, largest);
            }
            one.weights
        };
        let base = heated(parts.base);
        let all: Vec<_> = parts.parts.iter().map(|(part, own)| (heated(part), *own)).collect();
        let all = Parts { base: &base, parts: all.iter().map(|(one, own)| (one, *own)).collect() };
        let prior = parts.base.prior;
        let surprise = parts.added_size(|one| one.surprise);
        Self { prior, weights: all.weights(&prior, rounds), temperature, largest, surprise }
    }

    pub(super) fn retire(&mut self, prior: Each) {
        self.prior = prior;
        without_the_retired(&mut self.weights, &prior);
    }

    /// Changes the unit of the labels.
    pub(super) fn stretch(&mut self, factor: f64) {
        self.temperature *= factor * factor;
        self.surprise *= factor * factor;
    }

    /// An upper bound on the cost of mixing over an expert of this prior.
    pub(super) fn cost(&self, prior: f64, rounds: f64) -> f64 {
        self.temperature * (rounds.max(1.0) / prior).ln() + self.surprise
    }

    /// A bound on the effect of roundings in doubles on the cost, over so many rounds.
    pub(super) fn rounded(&self, rounds: f64) -> f64 {
        128.0 * f64::EPSILON * rounds * self.temperature
    }

    pub(super) fn is_sound(&self, prior: &Each) -> bool {
        let numbers = [self.temperature, self.largest, self.surprise];
        self.prior == *prior
            && are_weights(&self.weights, prior)
            && numbers.iter().all(|x| x.is_finite() && *x >= 0.0)
    }
}

/// w ← π (w/π)^power, normalised. With a power of 0 the result is the prior.
pub(super) fn temper(weights: &mut Each, prior: &Each, power: f64) {
    for (weight, &prior) in weights.iter_mut().zip(prior) {
        *weight = if prior > 0.0 { prior * exp(power * ln(*weight / prior)) } else { 0.0 };
    }
    shared::<<Plain as Registers>::Four>(weights, prior, 0.0);
}

#[cfg(test)]
mod tests {
    use super::super::experts::prior;
    use super::super::filters::FILTERS;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The bound holds for labels within a known range, and for labels outside it.
        #[test]
        fn mixing_costs_no_more_than_is_proved(
            rows in prop::collection::vec(
                (prop::collection::vec(-1.0..1.0f64, EXPERTS), -1.0..1.0f64, -2.0..2.0f64), 3..80,
            ),
            surprises in any::<bool>(),
        ) {
            let prior = prior(FILTERS);
            let (mut aggregate, mut targets) = (Aggregate::new(prior), Targets::new());
            targets.learn(0.0, 1e-9);
            if !surprises {
                let _ends = [-1.0, 1.0].map(|end| targets.learn(end, 1e-9));
            }
            let (mut mixed, mut alone) = (0.0, [0.0; EXPERTS]);
            for (round, (said, label, power)) in (1..).zip(&rows) {
                let c = if surprises { 10_f64.powf(*power) } else { 1.0 };
                let range = targets.range();
                let said: Each = std::array::from_fn(|k| targets.clipped(said[k]));
                let out = if range > 0.0 { aggregate.substitute::<rueful_machine::Array<f32, 8>>(&said, &targets) } else { 0.0 };
                let y = targets.learn(*label, 1e-9);
                let lost = said.map(|z| (z - y) * (z - y));
                let own = (out - y) * (out - y);
                mixed += c * own;
                alone.iter_mut().zip(lost).for_each(|(sum, loss)| *sum += c * loss);
                aggregate.learn::<Plain>(&lost, own, c, f64::from(round), targets.range());
                prop_assert!(aggregate.is_sound(&prior));
            }
            for k in (0..EXPERTS).filter(|&k| prior[k] > 0.0) {
                let cost = aggregate.cost(prior[k], rows.len() as f64);
                prop_assert!(mixed <= alone[k] + cost * (1.0 + 1e-12));
            }
            // Within the range the surprise comes only from roundings.
            prop_assert!(surprises || aggregate.surprise < 1e-4 * aggregate.temperature);
        }
    }
}
