//! The source of batches, and the rules by which their rows are read.

use crate::delayed::{Delays, Waiting};
use crate::ids::Ids;
use crate::names::Names;
use crate::{Census, DataError, LabelRule};
use rueful_core::Batch;
use serde::{Deserialize, Serialize};
use std::num::NonZeroUsize;

/// A stream of examples, read batch by batch.
///
/// Contract: rows come in the order of the stream, each exactly once, and it makes no difference
/// how the bytes arrive. Rows that precede an error are delivered before the error. After an error,
/// or after the end, the stream is over, and `fill` returns `false`.
pub trait Source {
    /// Clears the batch and fills it with the next rows. It takes as many as fit in a processor's
    /// cache. Returns whether there were any.
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, DataError>;

    /// Counts over the rows delivered so far.
    fn census(&self) -> &Census;

    /// The number of bytes taken from the input so far, including those read ahead.
    fn bytes_read(&self) -> u64;

    /// The names of the features that have names.
    fn names(&self) -> &Names;

    /// The labels seen so far, as they are written, as far as they are counted one by one.
    fn labels(&self) -> LabelsSeen {
        LabelsSeen::default()
    }

    /// The name of a class, given its number, if labels name classes.
    fn class(&self, _number: u32) -> Option<&str> {
        None
    }

    /// The predictions of other models for the rows of the last batch, if the data have columns for
    /// them: row after row, and within a row in the order of the columns.
    fn predictions(&self) -> &[f64] {
        &[]
    }

    /// The ids of the rows of the last batch, if they have ids. A row without a label has importance
    /// 0 in the batch, and a row that has nothing but a label has no features.
    fn ids(&self) -> Option<&Ids> {
        None
    }

    /// Which rows of the last batch wait for a label, and which bring one, if labels may come later
    /// than their rows.
    fn delays(&self) -> Option<&Delays> {
        None
    }

    /// The rows that wait for their labels after the last batch, if labels may come later.
    fn waiting(&self) -> Option<&Waiting> {
        None
    }

    /// The place of a row of the last batch in the data, as errors write it. It is known only if
    /// there are predictions or ids.
    fn place(&self, _row: usize) -> Option<String> {
        None
    }

    /// The rows of the last batch that are held out, with the importance that each would have if it
    /// were not. In the batch they have importance 0.
    fn held_out(&self) -> &[(usize, f64)] {
        &[]
    }

    /// The number of cells without a value so far, by column.
    fn missing(&self) -> &[u64] {
        &[]
    }
}

/// Labels as they are written, and how often each was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelsSeen {
    /// The labels in the order in which they came, each with its count.
    pub counts: Vec<(String, u64)>,
    /// Whether there were more labels than are counted one by one.
    pub is_cut: bool,
}

/// The rules by which rows are read, whatever the format.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// Which labels are taken, and the numbers they become.
    pub labels: LabelRule,
    /// Labels from earlier in the stream. Labels that come now must not contradict them.
    pub known_labels: Vec<String>,
    /// Whether every row gets a feature of index 0 and value 1, whose weight is the intercept.
    pub constant: bool,
    /// Whether rows of importance 0 are delivered. They can be predicted, and everything else
    /// ignores them. If not, they are left out.
    pub idle_rows: bool,
    /// The sizes beyond which input is refused.
    pub limits: Limits,
    /// The number of threads. The rows are the same for any number.
    pub threads: NonZeroUsize,
}

impl Reading {
    /// Reading with the constant, the default limits and all cores.
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

/// Limits that keep memory bounded, whatever the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest index that a feature may have, by default 2^26. Learners and the census keep
    /// memory in proportion to the largest index they see.
    pub max_index: u32,
    /// The largest number of bytes in a line, without its line end, by default 16 MiB.
    pub max_line_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_index: 1 << 26, max_line_bytes: 16 << 20 }
    }
}
