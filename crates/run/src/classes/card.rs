//! The weights of the classes and of the mistakes, from which the usual figures follow.

use rueful_core::Sum;
use serde::{Deserialize, Serialize};

/// How much the examples of every class weigh together, and how much those weigh whose class was
/// not predicted. Every example counts by its importance.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassCard {
    examples: u64,
    lost: Sum,
    mistaken: Sum,
    /// By class.
    weights: Vec<Sum>,
}

impl ClassCard {
    /// Takes in an example of a class, its importance, the class that was predicted, and the loss.
    pub fn observe(&mut self, class: u32, importance: f64, predicted: Option<u32>, loss: f64) {
        let place = class as usize;
        if self.weights.len() <= place {
            self.weights.resize(place + 1, Sum::default());
        }
        self.examples += 1;
        self.weights[place].add(importance);
        self.lost.add(loss);
        if predicted != Some(class) {
            self.mistaken.add(importance);
        }
    }

    /// Adds the card of other examples.
    pub(super) fn merge(&mut self, other: &Self) {
        if self.weights.len() < other.weights.len() {
            self.weights.resize(other.weights.len(), Sum::default());
        }
        self.examples += other.examples;
        self.lost.merge(other.lost);
        self.mistaken.merge(other.mistaken);
        self.weights.iter_mut().zip(&other.weights).for_each(|(own, more)| own.merge(*more));
    }

    /// The number of examples.
    pub fn examples(&self) -> u64 {
        self.examples
    }

    /// The sum of all importances.
    pub fn weight(&self) -> f64 {
        self.weights.iter().map(|weight| weight.value()).sum()
    }

    /// The total loss.
    pub fn lost(&self) -> f64 {
        self.lost.value()
    }

    /// The share of the weight whose class was not predicted. `None` without examples.
    pub fn error_rate(&self) -> Option<f64> {
        (self.examples > 0).then(|| (self.mistaken.value() / self.weight()).clamp(0.0, 1.0))
    }

    /// The error rate of always answering the largest class. `None` without examples.
    pub fn majority_error_rate(&self) -> Option<f64> {
        let largest = self.weights.iter().map(|weight| weight.value()).fold(0.0, f64::max);
        (self.examples > 0).then(|| (1.0 - largest / self.weight()).clamp(0.0, 1.0))
    }

    /// The total logarithmic loss of always giving every class its share of the weight. No other
    /// constant probabilities lose less.
    ///
    /// It is off by a few units in the last place: a share that is nearly 1 is told by what is left for
    /// the others.
    pub fn constant_log_loss(&self) -> f64 {
        let weights = || self.weights.iter().map(|weight| weight.value()).filter(|&one| one > 0.0);
        let all: Sum = weights().collect();
        let of_class = |one: f64| {
            let mut others = all;
            others.add(-one);
            one * (others.value() / one).ln_1p()
        };
        weights().map(of_class).collect::<Sum>().value()
    }

    /// The number of different classes.
    pub fn classes(&self) -> usize {
        self.weights.iter().filter(|weight| weight.value() > 0.0).count()
    }

    /// Whether this card, which was read from a file, can be that of this many rounds and classes.
    pub(super) fn is_sound(&self, rounds: u64, classes: usize) -> bool {
        let is_size = |sum: &Sum| (0.0..=f64::MAX).contains(&sum.value());
        self.examples == rounds
            && self.weights.len() <= classes
            && self.weights.iter().all(is_size)
            && is_size(&self.mistaken)
            && self.lost.value().is_finite()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_count_by_importance() {
        let mut card = ClassCard::default();
        assert_eq!((card.error_rate(), card.constant_log_loss()), (None, 0.0));
        card.observe(1, 2.0, Some(1), 0.5);
        card.observe(0, 1.0, Some(1), 1.5);
        card.observe(2, 1.0, None, 1.0);
        assert_eq!((card.examples(), card.weight(), card.lost()), (3, 4.0, 3.0));
        assert_eq!((card.error_rate(), card.majority_error_rate()), (Some(0.5), Some(0.5)));
        let expected = 2.0 * 2_f64.ln() + 2.0 * 4_f64.ln();
        assert!((card.constant_log_loss() - expected).abs() < 1e-12);
        assert!(card.is_sound(3, 3) && !card.is_sound(4, 3) && !card.is_sound(3, 2));
    }
}
