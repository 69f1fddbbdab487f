//! Labels of many classes: what is predicted of them, and what is proved about it.
//!
//! Classes have numbers, 0, 1, 2, …, as a reader gives them in the order in which they first appear. A
//! prediction is a probability for each, and costs −ln of that of the class that came.

mod confusion;
mod judge;
mod ledger;
mod minorant;
mod ogd;
mod slopes;

pub use confusion::{ClassCounts, Confusion};
pub use judge::ClassJudge;
pub(crate) use judge::JudgeDesk;
pub use ledger::{ClassLedger, ClassTally, HingeRound};
pub use ogd::ClassOgd;

use thiserror::Error;

/// Numbers of classes are below this.
pub const MOST_CLASSES: u32 = 1 << 20;

/// The class that a label is the number of; nothing if it is none.
#[inline]
pub fn class_of(label: f64) -> Option<u32> {
    let is_class = (0.0..f64::from(MOST_CLASSES)).contains(&label) && label.fract() == 0.0;
    is_class.then_some(label as u32)
}

/// What one round leaves behind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassRound {
    /// The class that was thought the likeliest; none before the first.
    pub predicted: Option<u32>,
    /// The probability that was given to the class that came. For the first sight of a class it is that
    /// of seeing a new one.
    pub probability: f64,
    /// −ln of that, times the importance of the example.
    pub loss: f64,
}

/// What is predicted of an example: a probability for every class that was seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Probabilities {
    /// The classes, in the order in which they were first seen.
    pub classes: Vec<u32>,
    /// Their probabilities, in the same order. With `unseen` they add up to 1.
    pub shares: Vec<f64>,
    /// The probability of a class that was not seen.
    pub unseen: f64,
}

impl Probabilities {
    /// The probability of a class; 0 for one that was not seen.
    pub fn of(&self, class: u32) -> f64 {
        let place = self.classes.iter().position(|&seen| seen == class);
        place.map_or(0.0, |place| self.shares[place])
    }

    /// The likeliest class, the first of several; none before the first.
    pub fn likeliest(&self) -> Option<u32> {
        let better =
            |best: usize, at: usize| if self.shares[at] > self.shares[best] { at } else { best };
        self.classes.get((1..self.shares.len()).fold(0, better)).copied()
    }
}

/// Why labels or predictions of classes cannot be taken in.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ClassError {
    /// A label that is no number of a class.
    #[error(
        "row {row} has the label {label}, expected the number of a class: 0, 1, 2, … below 2^20"
    )]
    Label {
        /// The row, counted from 0.
        row: usize,
        /// Its label.
        label: f64,
    },
    /// A class beyond those that were announced.
    #[error("row {row} has the class {class}, and {expected} classes were expected: 0 up to {}", expected - 1)]
    Unexpected {
        /// The row, counted from 0.
        row: usize,
        /// The number of its class.
        class: u32,
        /// How many were expected.
        expected: u32,
    },
    /// Numbers that are not the probabilities of classes.
    #[error(
        "row {row} has probabilities that add up to {sum}, expected one between 0 and 1 for every class, and 1 in all"
    )]
    NoProbabilities {
        /// The row, counted from 0.
        row: usize,
        /// What they add up to.
        sum: f64,
    },
    /// A class that was given no probability at all.
    #[error(
        "row {row} has the class {class}, which was given the probability 0: its loss is infinite, and \
         only finite losses can be certified; give every class a little"
    )]
    Impossible {
        /// The row, counted from 0.
        row: usize,
        /// The number of its class.
        class: u32,
    },
}
