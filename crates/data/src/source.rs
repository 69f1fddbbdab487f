//! Where batches come from, and how their rows are read.

use crate::names::Names;
use crate::{Census, DataError, LabelRule};
use rueful_core::Batch;
use serde::{Deserialize, Serialize};
use std::num::NonZeroUsize;

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

    /// What the features are called, where they have names.
    fn names(&self) -> &Names;

    /// The labels seen so far as they are written, where they are counted one by one.
    fn labels(&self) -> LabelsSeen {
        LabelsSeen::default()
    }

    /// What other models predicted for the rows of the last batch, where the data have columns for
    /// that: row after row, and in each row in the order of the columns.
    fn predictions(&self) -> &[f64] {
        &[]
    }

    /// Where a row of the last batch is in the data, as errors say it, if anybody may ask: that is
    /// where there are predictions.
    fn place(&self, _row: usize) -> Option<String> {
        None
    }

    /// How many cells without a value there were so far, by column.
    fn missing(&self) -> &[u64] {
        &[]
    }
}

/// Labels as they are written, and how often each was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelsSeen {
    /// The labels in the order they came.
    pub counts: Vec<(String, u64)>,
    /// Whether there were more than are counted one by one.
    pub is_cut: bool,
}

/// How rows are to be read, whatever the format.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// Which labels are taken, and what they become.
    pub labels: LabelRule,
    /// Labels that came before in the stream: what comes now must go with them.
    pub known_labels: Vec<String>,
    /// Whether every row gets a feature of index 0 and value 1, whose weight is the intercept.
    pub constant: bool,
    /// Whether rows of importance 0 are delivered: they can be predicted, and are otherwise not
    /// there. Without, they are left out.
    pub idle_rows: bool,
    /// What is refused for its size.
    pub limits: Limits,
    /// On how many threads. The rows are the same for any number.
    pub threads: NonZeroUsize,
}

impl Reading {
    /// With the constant, the usual limits and all cores.
    pub fn new(labels: LabelRule) -> Self {
        let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self {
            labels,
            known_labels: Vec::new(),
            constant: true,
            idle_rows: false,
            limits: Limits::default(),
            threads,
        }
    }
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
