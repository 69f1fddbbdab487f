//! The companions of a run, which are saved and resumed with it.

use crate::model::{Sections, Tag};
use crate::task::Task;
use crate::windows::{StoredWindows, Windows};
use rueful_core::Ledger;
use rueful_data::Written;

/// Everything that a report or an output of a resumed session needs, and that the run itself does
/// not. With these, a session that was stopped ends like one that never was.
#[derive(Debug, Clone, Default)]
pub struct Companions {
    /// The windows, if they were asked for.
    pub windows: Option<Windows>,
    /// The notes about the settings when the run began.
    pub notes: Vec<String>,
    /// How far the predictions on these data were written, if they are written.
    pub predictions: Option<Written>,
}

impl Companions {
    /// The sections of a model, each with its tag, where place i gets the cell `order[i]`.
    pub(crate) fn sections(&self, order: &[u32]) -> Result<Vec<(Tag, Vec<u8>)>, postcard::Error> {
        let mut sections = Vec::new();
        if let Some(windows) = &self.windows {
            sections.push((WINDOWS, postcard::to_allocvec(&windows.stored(order))?));
        }
        if !self.notes.is_empty() {
            sections.push((NOTES, postcard::to_allocvec(&self.notes)?));
        }
        if let Some(predictions) = &self.predictions {
            sections.push((PREDICTIONS, postcard::to_allocvec(predictions)?));
        }
        Ok(sections)
    }

    /// Reads the companions from the sections of a model, or returns the error in them.
    pub(crate) fn read(
        sections: &Sections<'_>,
        task: &Task,
        ledger: &Ledger,
    ) -> Result<Self, &'static str> {
        let mut companions = Self::read_without_windows(sections)?;
        if let Some(section) = sections.find(WINDOWS) {
            let stored: Option<StoredWindows> = whole(section);
            let windows = stored.and_then(|stored| {
                let fresh = Windows::new(ledger, task.bench_alone(), None);
                stored.restore(fresh, ledger)
            });
            companions.windows = Some(windows.ok_or("its windows are not those of its ledger")?);
        }
        Ok(companions)
    }

    /// Does what [`read`](Self::read) does, for a run that has no windows.
    pub(crate) fn read_without_windows(sections: &Sections<'_>) -> Result<Self, &'static str> {
        let mut companions = Self::default();
        if let Some(section) = sections.find(NOTES) {
            companions.notes = whole(section).ok_or("its notes cannot be read")?;
        }
        if let Some(section) = sections.find(PREDICTIONS) {
            let written = whole(section).ok_or("the place of its predictions cannot be read")?;
            companions.predictions = Some(written);
        }
        Ok(companions)
    }

    /// The companions for a session that goes on with other data, and writes their predictions to
    /// another file.
    #[must_use]
    pub(crate) fn for_other_data(self) -> Self {
        Self { predictions: None, ..self }
    }
}

// The tags have small letters: a program that does not know these sections can skip them.
pub(crate) const WINDOWS: Tag = *b"wind";
const NOTES: Tag = *b"note";
const PREDICTIONS: Tag = *b"pred";

/// Decodes a section, if it holds one value and nothing else.
pub(crate) fn whole<T: serde::de::DeserializeOwned>(section: &[u8]) -> Option<T> {
    let (value, rest) = postcard::take_from_bytes(section).ok()?;
    rest.is_empty().then_some(value)
}
