//! Labels of many classes: how they are predicted, and what is proved about the predictions.
//!
//! Classes have numbers 0, 1, 2, …. A reader gives them out in the order in which the classes first
//! appear. A prediction is a probability for each class. Its loss is −ln of the probability of the
//! true class.

mod confusion;
mod judge;
mod ledger;
mod loss;
mod minorant;
mod ogd;
mod slopes;

pub use confusion::{ClassCounts, Confusion};
pub use judge::ClassJudge;
pub(crate) use judge::JudgeDesk;
pub use ledger::{ClassLedger, ClassTally, HingeRound, Shares};
pub use loss::{ClassLoss, ClassTangent};
pub use ogd::ClassOgd;

use crate::elementary::ln;
use crate::features::Example;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The number of a class is below this.
pub const MOST_CLASSES: u32 = 1 << 20;

/// The class whose number the label is, or `None` if it is not the number of a class.
#[inline]
pub fn class_of(label: f64) -> Option<u32> {
    let is_class = (0.0..f64::from(MOST_CLASSES)).contains(&label) && label.fract() == 0.0;
    is_class.then_some(label as u32)
}

/// −ln of a probability, times an importance. A certain class costs 0, and not −0.
pub(crate) fn log_loss(probability: f64, importance: f64) -> f64 {
    if importance == 0.0 { 0.0 } else { 0.0 - importance * ln(probability) }
}

/// The record of one round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassRound {
    /// The likeliest class, or `None` if no class had been seen.
    pub predicted: Option<u32>,
    /// The probability that was given to the true class. When a class is first seen, this is the
    /// probability of seeing a new class.
    pub probability: f64,
    /// −ln of the probability, times the importance of the example.
    pub loss: f64,
    /// The probability that was given to a class that had not been seen: to any of them together,
    /// and to each in particular.
    pub new: NewClass,
}

/// The probability of a class that has not been seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NewClass {
    /// The probability of all such classes together.
    pub any: f64,
    /// The probability of each of them.
    pub each: f64,
}

impl ClassRound {
    /// The round of a prediction that was made earlier, when these classes had been seen. Their
    /// probabilities add up to 1 without that of a new class.
    pub fn of(said: (&[u32], &[f64]), new: NewClass, example: &Example<'_>) -> Self {
        let (classes, shares) = said;
        let likeliest = |best: usize, at: usize| if shares[at] > shares[best] { at } else { best };
        let best = (1..shares.len()).fold(0, likeliest);
        let known = classes.iter().position(|&seen| f64::from(seen) == example.label);
        let probability = known.map_or(new.each, |at| (1.0 - new.any) * shares[at]);
        let predicted = classes.get(best).copied();
        Self { predicted, probability, loss: log_loss(probability, example.importance.get()), new }
    }
}

/// The prediction for an example: a probability for every class that was seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Probabilities {
    /// The classes, in the order in which they were first seen.
    pub classes: Vec<u32>,
    /// The probabilities, in the same order. Together with `unseen` they add up to 1.
    pub shares: Vec<f64>,
    /// The probability of a class that has not been seen.
    pub unseen: f64,
}

impl Probabilities {
    /// The probability of a class. It is 0 for a class that has not been seen.
    pub fn of(&self, class: u32) -> f64 {
        let place = self.classes.iter().position(|&seen| seen == class);
        place.map_or(0.0, |place| self.shares[place])
    }

    /// The likeliest class, and the first of them if there are ties. It is `None` if no class was
    /// seen.
    pub fn likeliest(&self) -> Option<u32> {
        let better =
            |best: usize, at: usize| if self.shares[at] > self.shares[best] { at } else { best };
        self.classes.get((1..self.shares.len()).fold(0, better)).copied()
    }
}

/// The reasons why labels or predictions of classes are refused.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ClassError {
    /// The label is not the number of a class.
    #[error(
        "row {row} has the label {label}, expected the number of a class: 0, 1, 2, … below 2^20"
    )]
    Label {
        /// The row, counted from 0.
        row: usize,
        /// The label of the row.
        label: f64,
    },
    /// The class is beyond those that were announced.
    #[error("row {row} has the class {class}, and {expected} classes were expected: 0 up to {}", expected - 1)]
    Unexpected {
        /// The row, counted from 0.
        row: usize,
        /// The number of the class.
        class: u32,
        /// How many classes were expected.
        expected: u32,
    },
    /// The numbers are not probabilities of classes.
    #[error(
        "row {row} has probabilities that add up to {sum}, expected one between 0 and 1 for every class, and 1 \
         in all, or a little less if other classes may come"
    )]
    NoProbabilities {
        /// The row, counted from 0.
        row: usize,
        /// The sum of the numbers.
        sum: f64,
    },
    /// The true class was given the probability 0.
    #[error(
        "row {row} has the class {class}, which was given the probability 0: its loss is infinite, and \
         only finite losses can be certified; give every class a little"
    )]
    Impossible {
        /// The row, counted from 0.
        row: usize,
        /// The number of the class.
        class: u32,
    },
}
