//! Counts the right and wrong decisions for two classes at the threshold 0.

use crate::sum::Sum;
use serde::{Deserialize, Serialize};

/// The weights of examples by class and by the side of 0 that their score is on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Counts {
    /// The negative class: scores below 0, at 0 and above 0.
    negative: [Sum; 3],
    /// The positive class, likewise.
    positive: [Sum; 3],
}

/// The place of a score among those below 0, at 0 and above 0.
#[inline]
pub(super) fn side(score: f64) -> usize {
    1 + usize::from(score > 0.0) - usize::from(score < 0.0)
}

/// Examples of weight 1 of the negative and of the positive class.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counted([CountedClass; 2]);

#[derive(Debug, Clone, Copy, Default)]
struct CountedClass {
    all: u64,
    below: u64,
    above: u64,
}

impl Counted {
    /// Counts an example. Every counter is added to, and so all of them stay in registers.
    #[inline(always)] // The loop over rows is made of it.
    pub(super) fn count(&mut self, is_positive: bool, score: f64) {
        for (class, is_own) in self.0.iter_mut().zip([!is_positive, is_positive]) {
            class.all += u64::from(is_own);
            class.below += u64::from(is_own & (score < 0.0));
            class.above += u64::from(is_own & (score > 0.0));
        }
    }
}

impl Counts {
    #[inline]
    pub(super) fn observe(&mut self, score: f64, is_positive: bool, weight: f64) {
        let class = if is_positive { &mut self.positive } else { &mut self.negative };
        class[side(score)].add(weight);
    }

    /// Whether all counts are whole numbers, to which ones may be added at once.
    pub(super) fn are_whole(&self) -> bool {
        self.negative.iter().chain(&self.positive).all(|sum| sum.is_whole())
    }

    /// Adds examples of weight 1 that were counted by class and by side.
    pub(super) fn add(&mut self, counted: &Counted) {
        for (class, counted) in [&mut self.negative, &mut self.positive].into_iter().zip(counted.0)
        {
            let sides = [counted.below, counted.all - counted.below - counted.above, counted.above];
            class.iter_mut().zip(sides).for_each(|(sum, count)| sum.add(count as f64));
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        let theirs = other.negative.into_iter().chain(other.positive);
        self.negative.iter_mut().chain(&mut self.positive).zip(theirs).for_each(|(own, theirs)| {
            own.merge(theirs);
        });
    }

    pub(super) fn is_sound(&self) -> bool {
        let is_weight = |sum: &Sum| (0.0..=f64::MAX).contains(&sum.value());
        self.negative.iter().chain(&self.positive).all(is_weight)
    }

    pub(super) fn outcomes(&self) -> Outcomes {
        let [
            [true_negatives, negative_ties, false_positives],
            [false_negatives, positive_ties, true_positives],
        ] = [self.negative, self.positive].map(|class| class.map(Sum::value));
        Outcomes {
            true_positives: true_positives + 0.5 * positive_ties,
            false_negatives: false_negatives + 0.5 * positive_ties,
            true_negatives: true_negatives + 0.5 * negative_ties,
            false_positives: false_positives + 0.5 * negative_ties,
            ties: positive_ties + negative_ties,
        }
    }
}

/// The confusion matrix of two classes at the threshold 0, by weight. An example with a score of
/// exactly 0 counts half on each side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Outcomes {
    /// The positive examples that were taken for positive.
    pub true_positives: f64,
    /// The negative examples that were taken for positive.
    pub false_positives: f64,
    /// The negative examples that were taken for negative.
    pub true_negatives: f64,
    /// The positive examples that were taken for negative.
    pub false_negatives: f64,
    /// The examples with a score of exactly 0, which count half on each side above.
    pub ties: f64,
}

impl Outcomes {
    /// The weight of the positive examples.
    pub fn positives(&self) -> f64 {
        self.true_positives + self.false_negatives
    }

    /// The weight of the negative examples.
    pub fn negatives(&self) -> f64 {
        self.true_negatives + self.false_positives
    }

    /// The share of examples that were taken for the other class, or `None` without examples.
    pub fn error_rate(&self) -> Option<f64> {
        let errors = self.false_positives + self.false_negatives;
        share(errors, self.positives() + self.negatives())
    }

    /// The error rate of always answering the larger class.
    pub fn majority_error_rate(&self) -> Option<f64> {
        let (positives, negatives) = (self.positives(), self.negatives());
        share(positives.min(negatives), positives + negatives)
    }

    /// The share of examples taken for positive that are positive. It is `None` if none was.
    pub fn precision(&self) -> Option<f64> {
        share(self.true_positives, self.true_positives + self.false_positives)
    }

    /// The share of positive examples that were taken for positive. It is `None` if there are none.
    pub fn recall(&self) -> Option<f64> {
        share(self.true_positives, self.positives())
    }

    /// The harmonic mean of precision and recall. It is `None` if no example is positive and none
    /// was taken for positive.
    pub fn f1(&self) -> Option<f64> {
        let twice = 2.0 * self.true_positives;
        share(twice, twice + self.false_positives + self.false_negatives)
    }
}

fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes(rows: &[(f64, bool, f64)]) -> Outcomes {
        let mut counts = Counts::default();
        rows.iter().for_each(|&(score, is_positive, weight)| {
            counts.observe(score, is_positive, weight);
        });
        counts.outcomes()
    }

    #[test]
    fn a_score_of_zero_is_half_an_error() {
        let all =
            outcomes(&[(0.0, true, 1.0), (-0.0, false, 1.0), (2.0, true, 1.0), (-1.0, true, 1.0)]);
        assert_eq!((all.true_positives, all.false_negatives), (1.5, 1.5));
        assert_eq!((all.true_negatives, all.false_positives, all.ties), (0.5, 0.5, 2.0));
        assert_eq!(all.error_rate(), Some(0.5));
        assert_eq!((all.precision(), all.recall()), (Some(0.75), Some(0.5)));
        assert_eq!((all.f1(), all.majority_error_rate()), (Some(0.6), Some(0.25)));
    }

    #[test]
    fn what_cannot_be_said_is_not() {
        let none = outcomes(&[]);
        assert_eq!((none.error_rate(), none.majority_error_rate(), none.f1()), (None, None, None));
        let negative = outcomes(&[(-1.0, false, 0.5)]);
        assert_eq!((negative.precision(), negative.recall(), negative.f1()), (None, None, None));
        assert_eq!(negative.error_rate(), Some(0.0));
    }

    #[test]
    fn weights_are_repetitions_and_parts_add_up() {
        let rows: Vec<_> =
            (0..30).map(|t| (f64::from(t % 7) - 3.0, t % 3 == 0, f64::from(1 + t % 4))).collect();
        let each: Vec<_> =
            rows.iter().flat_map(|&(s, y, w)| vec![(s, y, 1.0); w as usize]).collect();
        assert_eq!(outcomes(&rows), outcomes(&each));
        let mut front = Counts::default();
        let mut back = Counts::default();
        for (place, &(score, is_positive, weight)) in rows.iter().enumerate() {
            let part = if place < 11 { &mut front } else { &mut back };
            part.observe(score, is_positive, weight);
        }
        front.merge(&back);
        assert_eq!(front.outcomes(), outcomes(&rows));
        assert!(front.is_sound());
    }
}
