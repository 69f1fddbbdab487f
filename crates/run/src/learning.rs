//! The part of a run that sessions and models need, whatever its labels are.

use crate::companions::Companions;
use crate::model::{ModelError, Sections, Tag};
use crate::report::Report;
use crate::run::{Run, RunError};
use rueful_core::loss::ZeroOne;
use rueful_core::{Round, Rows};
use rueful_data::Seen;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The rows of a batch whose labels come at another time.
#[derive(Debug)]
pub struct Late<'a, S> {
    /// The rows that wait for a label, in increasing order.
    pub asked: &'a [usize],
    /// The rows whose label comes now, in increasing order, and what was said of each before.
    pub answered: &'a [(usize, S)],
}

impl<S> Clone for Late<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Late<'_, S> {}

/// A run of any kind. A session gives it rows, and a model keeps it.
pub trait Learning: Sized {
    /// What a run says of an example.
    type Said: Clone + Send + Sync + Serialize + DeserializeOwned;

    /// The tag of the section that describes such a run. No other kind of run has it.
    const TASK: Tag;

    /// Learns from some rows, which the caller counts.
    fn learn_counted(&mut self, rows: Rows<'_>) -> Result<(), RunError>;

    /// Learns from some rows, which the caller counts, where labels come late. Returns what was said
    /// of the rows that wait for a label.
    fn learn_late(
        &mut self,
        rows: Rows<'_>,
        late: Late<'_, Self::Said>,
    ) -> Result<Vec<Self::Said>, RunError>;

    /// The number of examples that were predicted before earlier labels had come.
    fn late(&self) -> u64;

    /// A copy of the run that goes on learning in later passes. Nothing is proved about them, so it
    /// needs none of what only proofs need.
    fn student(&self) -> Self
    where
        Self: Clone,
    {
        self.clone()
    }

    /// Tells the companions of the run about the rows that were learned from last.
    fn tell(&self, _rows: Rows<'_>, _companions: &mut Companions) {}

    /// Sets the record of everything that was seen.
    fn saw(&mut self, seen: Seen);

    /// The loss of a row that was predicted last, as if its importance were 1, and whether its
    /// label was predicted wrongly. The row may have importance 0.
    fn judged(&self, rows: Rows<'_>, row: usize) -> (f64, bool);

    /// The number of examples that were learned from.
    fn examples(&self) -> u64;

    /// How many of the examples other learners have played.
    fn others(&self) -> u64 {
        0
    }

    /// The total loss.
    fn total_loss(&self) -> f64;

    /// Whether the run cannot go on, because its weights are no longer finite.
    fn is_diverged(&self) -> bool;

    /// Whether another run has the same task.
    fn is_same_task(&self, other: &Self) -> bool;

    /// Whether this is a part of another run.
    fn is_part(&self) -> bool;

    /// A part of this run, which can learn from rows of its own.
    fn part(&self) -> Result<Self, RunError>;

    /// Takes in parts of this run.
    fn take_parts(&mut self, parts: &[Self]) -> Result<(), RunError>;

    /// Joins parts of this run to one part.
    fn joined(&self, parts: &[Self]) -> Result<Self, RunError>;

    /// The report on the run so far.
    fn report(&self) -> Report;

    /// The order of the cells in a model: place i gets the cell `order[i]`.
    fn order(&self) -> Vec<u32>;

    /// The run as sections of a model. The first three are its description, its learner and its
    /// ledger.
    fn sections(&self) -> Result<Vec<(Tag, Vec<u8>)>, ModelError>;

    /// The run in the sections of a model and the version of the program that wrote it, or the
    /// error in them.
    fn restore(sections: &Sections<'_>, seen: Seen) -> Result<(Self, String), String>;

    /// The companions in the sections of a model, or the error in them.
    fn companions(&self, sections: &Sections<'_>) -> Result<Companions, &'static str>;
}

impl Learning for Run {
    type Said = f64;

    const TASK: Tag = *b"Task";

    fn learn_counted(&mut self, rows: Rows<'_>) -> Result<(), RunError> {
        Self::learn_counted(self, rows).map(|_| ())
    }

    fn learn_late(&mut self, rows: Rows<'_>, late: Late<'_, f64>) -> Result<Vec<f64>, RunError> {
        let rounds = Self::learn_late(self, rows, late.answered)?;
        Ok(late.asked.iter().map(|&row| rounds[row].prediction).collect())
    }

    fn late(&self) -> u64 {
        Self::late(self)
    }

    fn tell(&self, rows: Rows<'_>, companions: &mut Companions) {
        if let Some(windows) = &mut companions.windows {
            windows.tell(self.ledger(), self.entered(rows), self.rounds());
        }
    }

    fn saw(&mut self, seen: Seen) {
        Self::saw(self, seen);
    }

    fn judged(&self, rows: Rows<'_>, row: usize) -> (f64, bool) {
        let (prediction, label) = (self.rounds()[row].prediction, rows.labels()[row]);
        let loss = Round::of(&self.task().loss, prediction, label).value;
        (loss, ZeroOne {}.is_mistake(prediction, label))
    }

    fn examples(&self) -> u64 {
        self.ledger().rounds()
    }

    fn others(&self) -> u64 {
        Self::others(self)
    }

    fn total_loss(&self) -> f64 {
        self.ledger().loss()
    }

    fn is_diverged(&self) -> bool {
        Self::is_diverged(self)
    }

    fn is_same_task(&self, other: &Self) -> bool {
        self.task() == other.task()
    }

    fn is_part(&self) -> bool {
        Self::is_part(self)
    }

    fn part(&self) -> Result<Self, RunError> {
        Self::part(self)
    }

    fn take_parts(&mut self, parts: &[Self]) -> Result<(), RunError> {
        Self::take_parts(self, parts)
    }

    fn joined(&self, parts: &[Self]) -> Result<Self, RunError> {
        Self::joined(self, parts)
    }

    fn report(&self) -> Report {
        Self::report(self)
    }

    fn order(&self) -> Vec<u32> {
        self.ledger().cells().in_order()
    }

    fn sections(&self) -> Result<Vec<(Tag, Vec<u8>)>, ModelError> {
        crate::model::sections_of(self)
    }

    fn restore(sections: &Sections<'_>, seen: Seen) -> Result<(Self, String), String> {
        crate::model::restored(sections, seen)
    }

    fn companions(&self, sections: &Sections<'_>) -> Result<Companions, &'static str> {
        Companions::read(sections, self.task(), self.ledger())
    }
}
