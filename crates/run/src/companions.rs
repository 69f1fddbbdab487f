//! What goes along with a run from one session to the next.

use crate::model::Tag;
use crate::task::Task;
use crate::windows::{StoredWindows, Windows};
use rueful_core::Ledger;
use rueful_data::Written;

/// Everything that a report or an output of a resumed session needs, and that the run itself does
/// not: with these, a session that was stopped ends like one that never was.
#[derive(Debug, Clone, Default)]
pub struct Companions {
    /// The windows, if somebody asked for them.
    pub windows: Option<Windows>,
    /// What was said about the settings when the run began.
    pub notes: Vec<String>,
    /// How far the predictions on these data were written, if they are.
    pub predictions: Option<Written>,
}

impl Companions {
    /// The sections of a model, each with its name, where place i gets the cell `order[i]`.
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

    /// What the sections of a model hold, or what is wrong with them.
    pub(crate) fn read<'a>(
        find: impl Fn(Tag) -> Option<&'a [u8]>,
        task: &Task,
        ledger: &Ledger,
    ) -> Result<Self, &'static str> {
        let mut companions = Self::default();
        if let Some(section) = find(WINDOWS) {
            let stored: Option<StoredWindows> = whole(section);
            let windows = stored.and_then(|stored| {
                let fresh = Windows::new(ledger, task.bench_alone(), None);
                stored.restore(fresh, ledger)
            });
            companions.windows = Some(windows.ok_or("its windows are not those of its ledger")?);
        }
        if let Some(section) = find(NOTES) {
            companions.notes = whole(section).ok_or("its notes cannot be read")?;
        }
        if let Some(section) = find(PREDICTIONS) {
            let written = whole(section).ok_or("where its predictions are cannot be read")?;
            companions.predictions = Some(written);
        }
        Ok(companions)
    }

    /// The same for a session that goes on with other data, and writes their predictions to a file
    /// of their own.
    #[must_use]
    pub(crate) fn for_other_data(self) -> Self {
        Self { predictions: None, ..self }
    }
}

// Small letters: a program that does not know these sections can do without them.
const WINDOWS: Tag = *b"wind";
const NOTES: Tag = *b"note";
const PREDICTIONS: Tag = *b"pred";

/// All of a section, or nothing.
pub(crate) fn whole<T: serde::de::DeserializeOwned>(section: &[u8]) -> Option<T> {
    let (value, rest) = postcard::take_from_bytes(section).ok()?;
    rest.is_empty().then_some(value)
}
