//! What was said of rows whose labels come later.

use crate::learning::Late;
use rueful_core::Example;
use rueful_core::classes::{ClassRound, HingeRound, NewClass};
use serde::{Deserialize, Serialize};

/// What a run of many classes says of an example.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ClassSaid {
    /// The classes that had been seen and their probabilities, which add up to 1, and the
    /// probability of a new class beside them.
    Probabilities {
        /// The classes.
        classes: Vec<u32>,
        /// Their probabilities.
        shares: Vec<f64>,
        /// The probability of a new class.
        new: NewClass,
    },
    /// The scores of the classes 0, 1, 2, ….
    Scores(Vec<f64>),
}

/// Classes and their probabilities.
pub(super) type Shares<'a> = (&'a [u32], &'a [f64]);

impl ClassSaid {
    /// The probabilities of a round.
    pub(super) fn of(round: &ClassRound, (classes, shares): Shares<'_>) -> Self {
        let (classes, shares) = (classes.to_vec(), shares.to_vec());
        Self::Probabilities { classes, shares, new: round.new }
    }

    /// The round in which an example is charged for these probabilities. `None` for scores.
    pub(super) fn round(&self, example: &Example<'_>) -> Option<(ClassRound, Shares<'_>)> {
        let Self::Probabilities { classes, shares, new } = self else { return None };
        Some((ClassRound::of((classes, shares), *new, example), (classes, shares)))
    }

    /// The round in which an example is charged for these scores.
    pub(super) fn hinge(&self, example: &Example<'_>) -> HingeRound {
        let scores = if let Self::Scores(scores) = self { &scores[..] } else { &[] };
        let (class, importance) = (example.label as u32, example.importance.get());
        HingeRound::of_scores(scores, class, importance)
    }

    /// Whether these are probabilities, or scores.
    pub(super) fn is_sound(&self) -> bool {
        match self {
            Self::Scores(scores) => scores.iter().all(|score| score.is_finite()),
            Self::Probabilities { classes, shares, new } => {
                let is_share = |share: &f64| (0.0..=1.0).contains(share);
                let whole: f64 = shares.iter().sum();
                classes.len() == shares.len()
                    && shares.iter().chain([&new.any, &new.each]).all(is_share)
                    && (shares.is_empty() || (whole - 1.0).abs() < 1e-9)
            }
        }
    }
}

/// The rows of a batch whose labels come at another time, and what is said of those that wait.
pub(super) struct LateRows<'a> {
    late: Late<'a, ClassSaid>,
    pub(super) said: Vec<ClassSaid>,
}

impl<'a> LateRows<'a> {
    pub(super) fn new(late: Late<'a, ClassSaid>) -> Self {
        Self { late, said: Vec::new() }
    }

    /// The number of rows from `row` on to the end of the next that waits.
    pub(super) fn until_asked(&self, row: usize) -> usize {
        let next = self.late.asked.get(self.said.len());
        next.map_or(usize::MAX, |&asked| asked + 1 - row)
    }

    /// Keeps what is said of a row if it waits for its label.
    pub(super) fn ask(&mut self, row: usize, said: impl FnOnce() -> ClassSaid) {
        if self.late.asked.get(self.said.len()) == Some(&row) {
            self.said.push(said());
        }
    }

    /// What was said of a row, if its label comes late.
    pub(super) fn answer(&self, row: usize) -> Option<&'a ClassSaid> {
        let at = self.late.answered.binary_search_by_key(&row, |&(row, _)| row).ok()?;
        Some(&self.late.answered[at].1)
    }
}
