//! Writes a cache.

use super::encode::Pending;
use super::footer::{self, CacheSummary};
use super::layout::{HEADER, MAGIC, ROW_MAX, VERSION, crc};
use super::provenance::Provenance;
use crate::file_name::path_of;
use crate::replace::{Beside, Replacement};
use crate::{DataError, LabelsSeen, Names, Source};
use rueful_core::{Batch, Example, Sum};
use std::io::Write;

/// The largest number of different labels that are counted one by one.
const LABELS_COUNTED: usize = 64;

/// Writes rows to a cache.
///
/// A file is written under another name beside its place, and moved there at the end. Until then,
/// and whatever happens, an existing file stays as it was.
#[derive(Debug)]
pub struct CacheWriter {
    name: String,
    out: Replacement,
    /// The number of bytes that have been written.
    at: u64,
    pending: Pending,
    /// The bytes of a block. The memory is reused for the next one.
    block: Vec<u8>,
    summary: CacheSummary,
    label_sum: Sum,
    labels: Vec<(f64, u64)>,
}

impl CacheWriter {
    /// Begins a file. If something is there that is not a file, such as a pipe, it is written to
    /// directly.
    pub fn create(path: &str, provenance: &Provenance) -> Result<Self, DataError> {
        let out = Replacement::begin(&path_of(path), Beside::Anyone)
            .map_err(|error| DataError::Write { file: path.to_owned(), error })?;
        Self::begin(path.to_owned(), out, provenance)
    }

    /// Writes to any writer, which errors call `name`. It is written to in large pieces.
    pub fn new(
        name: impl Into<String>,
        out: impl Write + Send + 'static,
        provenance: &Provenance,
    ) -> Result<Self, DataError> {
        Self::begin(name.into(), Replacement::Stream(Box::new(out)), provenance)
    }

    fn begin(name: String, out: Replacement, provenance: &Provenance) -> Result<Self, DataError> {
        let mut writer = Self {
            name,
            out,
            at: 0,
            pending: Pending::default(),
            block: Vec::new(),
            summary: CacheSummary::default(),
            label_sum: Sum::default(),
            labels: Vec::new(),
        };
        // Strings and whole numbers can always be written.
        let text = serde_json::to_vec(provenance).unwrap_or_default();
        let mut head = Vec::with_capacity(HEADER + text.len());
        head.extend_from_slice(MAGIC);
        head.extend_from_slice(&VERSION.to_le_bytes());
        head.extend_from_slice(&(text.len() as u32).to_le_bytes());
        head.extend_from_slice(&crc(&[&head, &text]).to_le_bytes());
        head.extend_from_slice(&text);
        writer.write(&head)?;
        Ok(writer)
    }

    /// Appends the rows of a batch. `constant` says whether they have the constant feature. It is
    /// not stored, but added again when the cache is read. The labels should be as
    /// [`Provenance::label_rule`] makes them.
    pub fn append(&mut self, batch: &Batch, constant: bool) -> Result<(), DataError> {
        batch.iter().try_for_each(|example| self.append_row(&example, constant))
    }

    fn append_row(&mut self, row: &Example<'_>, constant: bool) -> Result<(), DataError> {
        let (mut indices, mut values) = (row.features.indices(), row.features.values());
        if constant && indices.first() == Some(&0) && values.first() == Some(&1.0) {
            (indices, values) = (&indices[1..], &values[1..]);
        } else if constant || indices.first() == Some(&0) {
            let expected = if constant { "with" } else { "without" };
            let expected = format!("a row {expected} the constant feature, of index 0");
            let found = indices.first().map_or("no feature".to_owned(), u32::to_string);
            return Err(self.refusal(found, expected));
        }
        if indices.len() > ROW_MAX {
            let expected = format!("at most {ROW_MAX} features");
            return Err(self.refusal(format!("{} features", indices.len()), expected));
        }
        if !row.label.is_finite() {
            return Err(self.refusal(row.label.to_string(), "a finite label".to_owned()));
        }
        let importance = row.importance.get();
        if !self.pending.has_room(indices.len()) {
            self.flush()?;
        }
        self.pending.push(indices, values, row.label, importance);
        if row.importance.is_zero() {
            return Ok(()); // It is there to be predicted, and counted nowhere.
        }
        self.summary.examples += 1;
        self.summary.nonzeros += indices.len() as u64;
        let dimension = indices.last().map_or(0, |&last| u64::from(last) + 1);
        self.summary.dimension = self.summary.dimension.max(dimension);
        self.label_sum.add(row.label);
        self.count_label(row.label);
        Ok(())
    }

    #[cold]
    fn refusal(&self, found: String, expected: String) -> DataError {
        let row = self.summary.examples + 1;
        DataError::Row { file: self.name.clone(), row, found, expected, hint: None }
    }

    fn count_label(&mut self, label: f64) {
        if let Some((_, count)) = self.labels.iter_mut().find(|(known, _)| *known == label) {
            *count += 1;
        } else if self.labels.len() < LABELS_COUNTED {
            self.labels.push((label, 1));
        } else {
            self.summary.labels_are_cut = true;
        }
    }

    fn flush(&mut self) -> Result<(), DataError> {
        let mut block = std::mem::take(&mut self.block);
        self.summary.features += self.pending.encode(&mut block);
        let written = self.write(&block);
        self.block = block;
        written
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), DataError> {
        self.at += bytes.len() as u64;
        let written = self.out.write_all(bytes);
        written.map_err(|error| DataError::Write { file: self.name.clone(), error })
    }

    /// Writes the rest and puts the file in its place. `names` are those of the features. The
    /// labels are as the data have them, and may be empty if they are the numbers in the rows.
    /// `missing` counts cells without a value, by column.
    pub fn finish(
        mut self,
        names: &Names,
        labels: LabelsSeen,
        missing: &[u64],
    ) -> Result<CacheSummary, DataError> {
        if !self.pending.is_empty() {
            self.flush()?;
        }
        self.summary.label_sum = self.label_sum.value();
        self.summary.missing = missing.to_vec();
        if labels == LabelsSeen::default() {
            let counted = self.labels.iter().map(|(label, count)| (label.to_string(), *count));
            self.summary.labels = counted.collect();
        } else {
            (self.summary.labels, self.summary.labels_are_cut) = (labels.counts, labels.is_cut);
        }
        let footer = footer::write(self.at, &self.summary, names);
        self.write(&footer)?;
        let Self { name, out, summary, .. } = self;
        out.finish().map_err(|error| DataError::Write { file: name, error })?;
        Ok(summary)
    }
}

/// Reads a source to its end into a cache. `constant` says whether its rows have the constant
/// feature. Their labels should be as [`Provenance::label_rule`] makes them.
pub fn write_cache(
    path: &str,
    provenance: &Provenance,
    source: &mut dyn Source,
    constant: bool,
) -> Result<CacheSummary, DataError> {
    let mut writer = CacheWriter::create(path, provenance)?;
    let mut batch = Batch::default();
    while source.fill(&mut batch)? {
        writer.append(&batch, constant)?;
    }
    writer.finish(source.names(), source.labels(), source.missing())
}
