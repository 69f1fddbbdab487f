//! Where batches come from.

use crate::{Census, DataError};
use rueful_core::Batch;
use rueful_core::loss::Labels;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

/// A batch of this many rows is full.
const BATCH_ROWS: usize = 4096;

/// A batch of this many features is full: with its indices and values it stays in the cache that
/// the learner reads it from.
const BATCH_NONZEROS: usize = 16 * 1024;

/// A stream of examples, read batch by batch.
///
/// Contract: rows come in the order of the stream, each exactly once, and how the bytes arrive
/// makes no difference. Rows that precede an error are delivered before the error is. After an
/// error, or after the end, the stream is over: `fill` answers `false`.
pub trait Source {
    /// Clears the batch and fills it with the next rows: as many as keep it small enough for a
    /// processor's cache. Answers whether there were any.
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, DataError>;

    /// Counts over the rows delivered so far.
    fn census(&self) -> &Census;

    /// How many bytes were taken from the input so far, those read ahead included.
    fn bytes_read(&self) -> u64;
}

/// How rows are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// The labels that are accepted: those of the loss.
    pub labels: Labels,
    /// Whether every row gets a feature of index 0 and value 1, whose weight is the intercept.
    pub constant: bool,
    /// What is refused for its size.
    pub limits: Limits,
}

/// What keeps memory bounded, whatever the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest index a feature may have; 2^26 unless told otherwise. Learners and the census
    /// keep memory in proportion to the largest index they see.
    pub max_index: u32,
    /// How many bytes a line may have, its end not counted; 16 MiB unless told otherwise.
    pub max_line_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_index: 1 << 26, max_line_bytes: 16 << 20 }
    }
}

/// Whether a batch has as much as it should hold.
#[inline]
pub(crate) fn is_full(batch: &Batch) -> bool {
    batch.len() >= BATCH_ROWS || batch.nonzeros() >= BATCH_NONZEROS
}

/// Opens what can be read. A directory can be opened on some systems, and only fails later.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::new(ErrorKind::IsADirectory, "it is a directory, not a file"));
    }
    Ok(file)
}
