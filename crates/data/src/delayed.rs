//! Labels that come later than their rows.
//!
//! A row without a label is delivered to be predicted, and waits. A later row with the same id and
//! a label is delivered with the features of the row that waited. So learners and solvers see whole
//! examples, in the order of their labels.

use crate::error::excerpt;
use crate::names::Names;
use crate::phrase::Phrase;
use crate::source::{LabelsSeen, Source};
use crate::{Census, DataError};
use rueful_core::{Batch, Example, Features};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The rows that wait for their labels, by id.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Waiting {
    rows: BTreeMap<Vec<u8>, WaitingRow>,
    /// The ticket of the next row that waits.
    next: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct WaitingRow {
    ticket: u64,
    indices: Vec<u32>,
    values: Vec<f32>,
}

impl Waiting {
    /// The number of rows that wait.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no row waits.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The tickets of the rows that wait, in the order of their ids.
    pub fn tickets(&self) -> impl Iterator<Item = u64> {
        self.rows.values().map(|row| row.ticket)
    }

    /// Whether all rows are rows, and all tickets are different and were given out.
    pub fn is_sound(&self) -> bool {
        let are_rows = self
            .rows
            .values()
            .all(|row| row.ticket < self.next && Features::new(&row.indices, &row.values).is_ok());
        let mut tickets: Vec<u64> = self.tickets().collect();
        tickets.sort_unstable();
        are_rows && tickets.is_sorted_by(|one, next| one < next)
    }

    fn add(&mut self, id: &[u8], x: &Features<'_>) -> u64 {
        let ticket = self.next;
        self.next += 1;
        let (indices, values) = (x.indices().to_vec(), x.values().to_vec());
        self.rows.insert(id.to_vec(), WaitingRow { ticket, indices, values });
        ticket
    }
}

/// Which rows of a batch wait for a label, and which bring the label of a row that waited.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delays {
    /// The rows that begin to wait, and their tickets.
    pub asked: Vec<(usize, u64)>,
    /// The rows that bring a label, and the tickets of the rows that waited for it. These are in
    /// earlier batches.
    pub answered: Vec<(usize, u64)>,
}

impl Delays {
    fn clear(&mut self) {
        self.asked.clear();
        self.answered.clear();
    }
}

/// A source around another one whose rows have ids.
///
/// ```
/// use rueful_core::Batch;
/// use rueful_data::{Delayed, Follow, FormatSettings, Input, LabelRule, Reading, Source, Waiting, open_inputs};
/// let text = "'7 |a x\n1 '7 |\n";
/// let input = Input::new("events.vw", text.as_bytes(), &Follow::No)?;
/// let settings = FormatSettings { id: Some("tag".to_owned()), ..FormatSettings::default() };
/// let reading = Reading { constant: false, ..Reading::new(LabelRule::Signs) };
/// let rows = open_inputs(vec![input], &settings, &reading)?.reader;
/// let mut source = Delayed::new(Box::new(rows), "events.vw", Waiting::default(), 10);
///
/// let mut batch = Batch::default();
/// assert!(source.fill(&mut batch)?);
/// assert_eq!(source.delays().unwrap().asked, [(0, 0)]); // row 0 waits, with ticket 0
/// let asked = batch.get(0).features.indices().to_vec();
/// assert!(source.fill(&mut batch)?);
/// assert_eq!(source.delays().unwrap().answered, [(0, 0)]);
/// assert_eq!((batch.get(0).features.indices(), batch.labels()), (&asked[..], &[1.0][..]));
/// assert!(source.waiting().unwrap().is_empty());
/// # Ok::<(), rueful_data::DataError>(())
/// ```
pub struct Delayed {
    rows: Box<dyn Source>,
    /// The name of the data, for errors.
    name: String,
    waiting: Waiting,
    most: usize,
    /// The rows as they came from the source, and how many of them were delivered.
    plain: Batch,
    next: usize,
    delays: Delays,
    /// The census of the rows that were delivered.
    census: Census,
    /// The error to report after the rows that precede it.
    broken: Option<DataError>,
    is_over: bool,
}

/// What to do with a row.
enum Step {
    /// The row was delivered.
    Delivered,
    /// The row belongs to the next batch, because this one has the row that waits for it.
    Later,
}

impl Delayed {
    /// Joins the rows of a source, which errors call `name`, with the labels that come later.
    /// `waiting` are the rows that waited before. At most `most` rows wait at once.
    pub fn new(rows: Box<dyn Source>, name: &str, waiting: Waiting, most: usize) -> Self {
        Self {
            rows,
            name: name.to_owned(),
            waiting,
            most,
            plain: Batch::default(),
            next: 0,
            delays: Delays::default(),
            census: Census::default(),
            broken: None,
            is_over: false,
        }
    }

    /// Delivers rows of the source until they end, or one must wait for the next batch.
    fn deliver(&mut self, batch: &mut Batch) -> Result<(), DataError> {
        let first_ticket = self.waiting.next;
        while self.next < self.plain.len() {
            match self.step(self.next, first_ticket, batch)? {
                Step::Delivered => self.next += 1,
                Step::Later => break,
            }
        }
        Ok(())
    }

    fn step(
        &mut self,
        row: usize,
        first_ticket: u64,
        batch: &mut Batch,
    ) -> Result<Step, DataError> {
        let Self { rows, plain, waiting, delays, most, .. } = self;
        let example = plain.get(row);
        let Some(ids) = rows.ids() else {
            push(batch, &example.features, &example);
            return Ok(Step::Delivered);
        };
        let id = ids.get(row);
        if !ids.is_labelled(row) {
            if waiting.rows.contains_key(id) {
                return Err(self.twice(row));
            }
            if waiting.len() >= *most {
                return Err(self.too_many(row));
            }
            delays.asked.push((batch.len(), waiting.add(id, &example.features)));
            push(batch, &example.features, &example);
            return Ok(Step::Delivered);
        }
        match waiting.rows.get(id) {
            Some(asked) if asked.ticket >= first_ticket => return Ok(Step::Later),
            Some(asked) => {
                // A row that waits was valid when it came, and a saved one was checked.
                if let Ok(features) = Features::new(&asked.indices, &asked.values) {
                    delays.answered.push((batch.len(), asked.ticket));
                    push(batch, &features, &example);
                }
                waiting.rows.remove(id);
            }
            None if example.features.is_empty() => return Err(self.nobody(row)),
            None => push(batch, &example.features, &example),
        }
        Ok(Step::Delivered)
    }

    /// The place of a row, and its id.
    fn place(&self, row: usize) -> (String, String) {
        let place = self.rows.place(row).unwrap_or_else(|| self.name.clone());
        let id = self.rows.ids().map_or_else(String::new, |ids| excerpt(ids.get(row)));
        (place, id)
    }

    #[cold]
    fn twice(&self, row: usize) -> DataError {
        let (file, id) = self.place(row);
        let found = format!("a second row without a label that has the id \"{id}\"");
        let expected = "an id of its own for every row that waits, or the label of the first";
        DataError::Unsuitable { file, found, expected: expected.into() }
    }

    #[cold]
    fn too_many(&self, row: usize) -> DataError {
        let (file, _) = self.place(row);
        let found = format!("one row more than the {} that may wait for a label", self.most);
        let expected = Phrase::from("fewer, or a larger ").setting("pending");
        DataError::Unsuitable { file, found, expected }
    }

    #[cold]
    fn nobody(&self, row: usize) -> DataError {
        let (file, id) = self.place(row);
        let found = format!("a label for the id \"{id}\", and no row that waits for it");
        let expected = "a row with features and this id before its label, and one label for it";
        DataError::Unsuitable { file, found, expected: expected.into() }
    }
}

/// Adds a row with these features, and the label and importance of the example.
fn push(batch: &mut Batch, features: &Features<'_>, example: &Example<'_>) {
    let mut row = batch.open_row(features.len());
    let copied = features.indices().iter().zip(features.values());
    // Features that are valid can be copied.
    let is_whole = copied.map(|(&index, &value)| row.push(index, value)).all(|one| one.is_ok());
    debug_assert!(is_whole);
    row.finish(example.label, example.importance);
}

impl Source for Delayed {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, DataError> {
        batch.clear();
        self.delays.clear();
        if let Some(error) = self.broken.take() {
            self.is_over = true;
            return Err(error);
        }
        if self.is_over {
            return Ok(false);
        }
        if self.next == self.plain.len() {
            self.next = 0;
            if !self.rows.fill(&mut self.plain)? {
                self.is_over = true;
                return Ok(false);
            }
        }
        if let Err(error) = self.deliver(batch) {
            if batch.is_empty() {
                self.is_over = true;
                return Err(error);
            }
            self.broken = Some(error);
        }
        self.census.count(batch.rows());
        Ok(true)
    }

    fn census(&self) -> &Census {
        &self.census
    }

    fn bytes_read(&self) -> u64 {
        self.rows.bytes_read()
    }

    fn names(&self) -> &Names {
        self.rows.names()
    }

    fn labels(&self) -> LabelsSeen {
        self.rows.labels()
    }

    fn class(&self, number: u32) -> Option<&str> {
        self.rows.class(number)
    }

    fn missing(&self) -> &[u64] {
        self.rows.missing()
    }

    fn delays(&self) -> Option<&Delays> {
        Some(&self.delays)
    }

    fn waiting(&self) -> Option<&Waiting> {
        Some(&self.waiting)
    }
}
