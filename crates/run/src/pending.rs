//! What was said of the rows that wait for their labels.

use crate::companions::whole;
use crate::learning::{Late, Learning};
use crate::model::{ModelError, Sections, Tag};
use crate::run::RunError;
use rueful_core::Rows;
use rueful_data::{Delays, Waiting};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

/// The tag of the section that keeps the rows which wait. A program that does not know it would lose
/// them, so it must not go on with such a model.
pub(crate) const WAITING: Tag = *b"Wait";

/// How many rows may wait, unless a person says another number.
pub const USUAL_PENDING: NonZeroUsize = NonZeroUsize::new(100_000).unwrap();

/// The rows of a stream that wait for their labels, and what was said of each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pending<S> {
    /// The rows that waited before the current data.
    pub before: Waiting,
    /// The rows that wait now.
    pub now: Waiting,
    /// What was said of the rows that wait now, by their tickets.
    said: BTreeMap<u64, S>,
}

impl<S> Default for Pending<S> {
    fn default() -> Self {
        Self { before: Waiting::default(), now: Waiting::default(), said: BTreeMap::new() }
    }
}

impl<S> Pending<S> {
    /// The number of rows that wait.
    pub fn len(&self) -> usize {
        self.said.len()
    }

    /// Whether no row waits.
    pub fn is_empty(&self) -> bool {
        self.said.is_empty()
    }

    /// What was said, of the rows that wait now.
    #[must_use]
    pub(crate) fn at(self, now: Waiting) -> Self {
        Self { now, ..self }
    }

    /// The same rows, where other data come next.
    #[must_use]
    pub(crate) fn for_other_data(self) -> Self {
        Self { before: self.now.clone(), ..self }
    }
}

impl<S> Pending<S> {
    /// Lets a run learn from rows some of which wait for a label or bring one. The places in `delays`
    /// are counted from before the `skipped` rows that were left out.
    pub(crate) fn learn<R: Learning<Said = S>>(
        &mut self,
        run: &mut R,
        rows: Rows<'_>,
        delays: &Delays,
        skipped: usize,
    ) -> Result<(), RunError> {
        let place = |&(row, ticket): &(usize, u64)| {
            let row = row.checked_sub(skipped).filter(|&row| row < rows.len())?;
            Some((row, ticket))
        };
        let answered = delays.answered.iter().filter_map(place);
        let answered: Vec<_> =
            answered.filter_map(|(row, ticket)| Some((row, self.said.remove(&ticket)?))).collect();
        let (asked, tickets): (Vec<usize>, Vec<u64>) =
            delays.asked.iter().filter_map(place).unzip();
        let said = run.learn_late(rows, Late { asked: &asked, answered: &answered })?;
        self.said.extend(tickets.into_iter().zip(said));
        Ok(())
    }
}

impl<S: Serialize + DeserializeOwned> Pending<S> {
    /// The section of a model. There is none if no row ever waited.
    pub(crate) fn section(&self) -> Result<Option<(Tag, Vec<u8>)>, ModelError> {
        if self.now == Waiting::default() && self.before == Waiting::default() {
            return Ok(None);
        }
        Ok(Some((WAITING, postcard::to_allocvec(self)?)))
    }

    /// The rows that wait in the sections of a model, or the error in them.
    pub(crate) fn read(sections: &Sections<'_>) -> Result<Self, String> {
        let Some(section) = sections.find(WAITING) else { return Ok(Self::default()) };
        let pending: Option<Self> = whole(section);
        let is_sound = |pending: &Self| {
            let mut tickets: Vec<u64> = pending.now.tickets().collect();
            tickets.sort_unstable();
            let are_said = tickets.iter().eq(pending.said.keys());
            are_said && pending.before.is_sound() && pending.now.is_sound()
        };
        let wrong = "the rows that wait for their labels cannot be read";
        pending.filter(is_sound).ok_or_else(|| wrong.to_owned())
    }
}

/// The labels of a run that came later than their rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelayReport {
    /// How many examples were predicted before their labels came, and charged for that prediction.
    pub late: u64,
    /// How many rows still wait for a label.
    pub waiting: u64,
}
