//! A cache as a source of rows.
//!
//! A [`Pool`] decodes blocks on several threads and delivers them in their order, as it does with
//! pieces of text.

use super::bytes::Bytes;
use super::decode::{Block, Fault, Plan, parse_head};
use super::footer::{self, CacheSummary};
use super::layout::{
    BLOCK_HEAD, END, HEADER, MAGIC, TRAILER, VERSION, crc, damaged, u32_at, u64_at,
};
use super::{CacheFault, Provenance};
use crate::error::excerpt;
use crate::file_name::path_of;
use crate::labels::{LabelCounts, LabelRule};
use crate::pool::{Crew, Cut, Handed, Job, Pool};
use crate::{Census, DataError, FirstLabels, LabelsSeen, Names, Phrase, Reading, Source};
use rueful_core::Batch;
use std::fs::File;

/// The largest number of threads beside the one that delivers. More would have nothing to do,
/// because decoding is as fast as learning.
const HELPERS_MAX: usize = 2;

/// The rows of a cache.
///
/// The header and the footer are checked when the cache is opened. Every block is checked when it
/// is read.
pub struct Cached {
    name: String,
    pool: Pool<Decode>,
    provenance: Provenance,
    summary: CacheSummary,
    names: Names,
    census: Census,
    labels: LabelCounts,
    bytes_read: u64,
    /// Whether rows of importance 0 are delivered.
    idle_rows: bool,
    /// The error to report after the rows that precede it.
    broken: Option<DataError>,
    is_over: bool,
}

impl std::fmt::Debug for Cached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cached")
            .field("name", &self.name)
            .field("provenance", &self.provenance)
            .field("summary", &self.summary)
            .finish_non_exhaustive()
    }
}

/// The job that decodes blocks into rows.
struct Decode {
    bytes: Bytes,
    plan: Plan,
}

/// The place of the next block, and the number of its first row.
struct Blocks {
    at: u64,
    /// The place where the blocks end.
    end: u64,
    row: u64,
    head: Vec<u8>,
}

/// A block and its place.
#[derive(Default)]
struct Work {
    at: u64,
    length: usize,
    first_row: u64,
    block: Block,
    outcome: Outcome,
}

#[derive(Default)]
enum Outcome {
    #[default]
    Rows,
    /// The rows end with a fault.
    Fault(Fault),
    /// There are no more blocks.
    End,
}

impl Cached {
    /// Opens a file, maps it into memory, checks header and footer, and begins to read.
    pub fn open(path: &str, reading: &Reading) -> Result<Self, DataError> {
        let opened = File::open(path_of(path)).and_then(Bytes::open);
        let bytes = opened.map_err(|error| DataError::Open { file: path.to_owned(), error })?;
        Self::begin(path.to_owned(), bytes, reading)
    }

    /// Opens a cache in memory, which errors call `name`.
    pub fn from_bytes(
        name: impl Into<String>,
        bytes: Vec<u8>,
        reading: &Reading,
    ) -> Result<Self, DataError> {
        Self::begin(name.into(), Bytes::Memory(bytes), reading)
    }

    fn begin(name: String, bytes: Bytes, reading: &Reading) -> Result<Self, DataError> {
        let fault = |fault| DataError::Cache { file: name.clone(), fault };
        let frame = Frame::read(&bytes).map_err(fault)?;
        let rule = stored_rule(&reading.labels, &frame.provenance).map_err(fault)?;
        let max_index = reading.limits.max_index;
        let plan = Plan { rule, constant: reading.constant, max_index };
        let helpers = (reading.threads.get() - 1).min(HELPERS_MAX);
        let (at, end) = (frame.first_block, frame.end);
        let blocks = Blocks { at, end, row: 0, head: Vec::new() };
        Ok(Self {
            name,
            pool: Pool::new(Decode { bytes, plan }, blocks, Crew { helpers, taker_works: true }),
            provenance: frame.provenance,
            summary: frame.summary,
            names: frame.names,
            census: Census::default(),
            labels: LabelCounts::after(&reading.known_labels, &reading.labels),
            bytes_read: frame.first_block,
            idle_rows: reading.idle_rows,
            broken: None,
            is_over: false,
        })
    }

    /// The labels of the first block that has rows, as they are stored.
    pub fn first_labels(path: &str, reading: &Reading) -> Result<FirstLabels, DataError> {
        let opened = File::open(path_of(path)).and_then(Bytes::open);
        let bytes = opened.map_err(|error| DataError::Open { file: path.to_owned(), error })?;
        let frame = Frame::read(&bytes)
            .map_err(|fault| DataError::Cache { file: path.to_owned(), fault })?;
        let max_index = reading.limits.max_index;
        let plan = Plan { rule: LabelRule::Any, constant: false, max_index };
        let decode = Decode { bytes, plan };
        let mut blocks = Blocks { at: frame.first_block, end: frame.end, row: 0, head: Vec::new() };
        let mut work = Work::default();
        // A fault of a block is reported when the block is read.
        while let Cut::Piece = decode.cut(&mut blocks, &mut work) {
            decode.work(&mut work);
            let counted = work.block.batch.iter().filter(|row| !row.importance.is_zero()).count();
            if counted > 0 || !matches!(work.outcome, Outcome::Rows) {
                let labels = work.block.counts.seen();
                let positive = frame.provenance.positive;
                return Ok(FirstLabels { rows: counted as u64, labels, positive });
            }
        }
        Ok(FirstLabels { positive: frame.provenance.positive, ..FirstLabels::default() })
    }

    /// The provenance of the cache in a file. Only the header is read.
    pub fn provenance_of(path: &str) -> Result<Provenance, DataError> {
        let opened = File::open(path_of(path)).and_then(Bytes::open);
        let bytes = opened.map_err(|error| DataError::Open { file: path.to_owned(), error })?;
        let header = read_header(&bytes, &mut Vec::new());
        let (provenance, _) =
            header.map_err(|fault| DataError::Cache { file: path.to_owned(), fault })?;
        Ok(provenance)
    }

    /// The data that the cache was made from.
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// Counts over all rows of the cache, known from the start.
    pub fn summary(&self) -> &CacheSummary {
        &self.summary
    }

    /// Takes over the rows of a block. Returns whether there may be more.
    fn take(&mut self, handed: &mut Handed<Work>, batch: &mut Batch) -> bool {
        if let Some(said) = handed.panic.take() {
            let file = self.name.clone();
            self.broken = Some(DataError::Lost { file, piece: handed.number + 1, said });
            return false;
        }
        let work = &mut handed.piece;
        let outcome = std::mem::take(&mut work.outcome);
        if let Outcome::End = outcome {
            self.broken = self.contradiction().or_else(|| self.without_positive());
            return false;
        }
        let rule = &self.pool.job().plan.rule;
        if let Err(conflict) = self.labels.absorb(&work.block.counts, rule, &mut work.block.batch) {
            work.block.batch.truncate(conflict.row);
            work.block.new.clear();
            work.block.new.extend_from_slice(work.block.batch.indices());
            let row = work.first_row + conflict.row as u64;
            let (found, hint) = (conflict.label, Some(conflict.hint));
            self.broken = Some(self.row_error(row, found, rule.expected(), hint));
        } else if let Outcome::Fault(fault) = outcome {
            self.broken = Some(self.fault_error(work, &fault));
        }
        std::mem::swap(batch, &mut work.block.batch);
        self.census.count_with(batch.rows(), Some(work.block.new.iter().copied()));
        if !self.idle_rows {
            leave_out_idle(batch);
        }
        self.bytes_read = work.at + work.length as u64;
        self.broken.is_none()
    }

    /// The error if there are no rows, or not those that the footer counts.
    fn contradiction(&self) -> Option<DataError> {
        let constant = u64::from(self.pool.job().plan.constant);
        let Census { examples, nonzeros, features, dimension, .. } = self.census;
        if examples == 0 && self.summary.examples == 0 {
            return Some(DataError::EmptyFile { file: self.name.clone() });
        }
        let summary = &self.summary;
        let agrees = examples == summary.examples
            && nonzeros == summary.nonzeros + constant * examples
            && features == summary.features + constant
            && dimension == summary.dimension.max(constant);
        let fault = damaged(self.bytes_read, "the rows are not those that the footer counts");
        (!agrees).then(|| DataError::Cache { file: self.name.clone(), fault })
    }

    /// The error if one label should become +1 and no row has it.
    fn without_positive(&self) -> Option<DataError> {
        let (found, expected) = self.labels.without_positive(&self.pool.job().plan.rule)?;
        Some(DataError::Unsuitable { file: self.name.clone(), found, expected })
    }

    #[cold]
    fn fault_error(&self, work: &Work, fault: &Fault) -> DataError {
        let Plan { rule, max_index, .. } = &self.pool.job().plan;
        let row = |row: usize| work.first_row + row as u64;
        match *fault {
            Fault::Damage(what) => {
                DataError::Cache { file: self.name.clone(), fault: damaged(work.at, what) }
            }
            Fault::Label { row: number, label } => {
                let hint = rule.hint();
                self.row_error(row(number), label.to_string(), rule.expected(), hint)
            }
            Fault::Index { row: number, index } => {
                let expected = format!("an index of at most {max_index}, the limit");
                self.row_error(row(number), index.to_string(), expected, None)
            }
        }
    }

    #[cold]
    fn row_error(
        &self,
        row: u64,
        found: String,
        expected: String,
        hint: Option<Phrase>,
    ) -> DataError {
        DataError::Row { file: self.name.clone(), row: row + 1, found, expected, hint }
    }
}

impl Source for Cached {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, DataError> {
        batch.clear();
        while !self.is_over && batch.is_empty() {
            if let Some(error) = self.broken.take() {
                self.is_over = true;
                self.pool.close();
                return Err(error);
            }
            let Some(mut handed) = self.pool.next() else { break };
            let goes_on = self.take(&mut handed, batch);
            self.is_over = !goes_on && self.broken.is_none();
            self.pool.put_back(handed.piece);
        }
        Ok(!batch.is_empty())
    }

    fn census(&self) -> &Census {
        &self.census
    }

    fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// The names of all rows, known from the start.
    fn names(&self) -> &Names {
        &self.names
    }

    /// The labels of the rows delivered so far. For a cache that was made with a positive label,
    /// they are the labels of all rows, as the data had them.
    fn class(&self, number: u32) -> Option<&str> {
        self.labels.class(number)
    }

    fn labels(&self) -> LabelsSeen {
        if self.provenance.positive.is_some() {
            return self.summary.labels_seen();
        }
        self.labels.seen()
    }

    /// The missing cells of all rows, known from the start.
    fn missing(&self) -> &[u64] {
        &self.summary.missing
    }
}

/// Leaves out the rows of importance 0, if there are any.
fn leave_out_idle(batch: &mut Batch) {
    if !batch.rows().importances().iter().any(|importance| importance.is_zero()) {
        return;
    }
    let mut counted = Batch::default();
    for row in batch.iter().filter(|row| !row.importance.is_zero()) {
        let (x, importance) = (row.features, row.importance);
        // A row that is in a batch can be pushed into any other batch.
        let _ = counted.push_weighted(x.indices(), x.values(), row.label, importance);
    }
    *batch = counted;
}

/// The rule for the labels as they are stored. A cache that was made with a positive label stores
/// +1 and −1.
fn stored_rule(wished: &LabelRule, provenance: &Provenance) -> Result<LabelRule, CacheFault> {
    let Some(positive) = &provenance.positive else { return Ok(wished.clone()) };
    let number = |label: &str| label.trim().parse::<f64>().ok();
    match wished {
        LabelRule::Positive(label)
            if label == positive
                || number(label).is_some() && number(label) == number(positive) =>
        {
            Ok(LabelRule::Signs)
        }
        LabelRule::Positive(label) => Err(CacheFault::Positive {
            made_with: excerpt(positive.as_bytes()),
            wished: excerpt(label.as_bytes()),
        }),
        LabelRule::Classes => {
            Err(CacheFault::TwoClasses { made_with: excerpt(positive.as_bytes()) })
        }
        rule => Ok(rule.clone()),
    }
}

/// The content of the file before and after the blocks.
struct Frame {
    provenance: Provenance,
    summary: CacheSummary,
    names: Names,
    /// The places where the blocks begin and end.
    first_block: u64,
    end: u64,
}

impl Frame {
    fn read(bytes: &Bytes) -> Result<Self, CacheFault> {
        let mut buffer = Vec::new();
        let (provenance, first_block) = read_header(bytes, &mut buffer)?;
        let (end, summary, names) = read_footer(bytes, first_block, &mut buffer)?;
        Ok(Self { provenance, summary, names, first_block, end })
    }
}

/// Reads the header and the place where it ends.
fn read_header(bytes: &Bytes, buffer: &mut Vec<u8>) -> Result<(Provenance, u64), CacheFault> {
    let start = bytes.len().min(HEADER as u64) as usize;
    copy(bytes, 0, start, buffer)?;
    let shown = start.min(MAGIC.len());
    if start == 0 || buffer[..shown] != MAGIC[..shown] {
        return Err(CacheFault::NotACache);
    }
    if start < HEADER {
        return Err(CacheFault::Partial);
    }
    match u32_at(buffer, MAGIC.len()) {
        VERSION => {}
        0 => return Err(damaged(MAGIC.len() as u64, "there is no version 0")),
        version if version < VERSION => return Err(CacheFault::Older { version }),
        version => return Err(CacheFault::Newer { version }),
    }
    let length = u32_at(buffer, MAGIC.len() + 4);
    let end = HEADER as u64 + u64::from(length);
    if end > bytes.len() {
        return Err(CacheFault::Partial);
    }
    copy(bytes, 0, end as usize, buffer)?;
    let (head, text) = buffer.split_at(HEADER);
    let (head, sum) = head.split_at(HEADER - 4);
    if crc(&[head, text]) != u32_at(sum, 0) {
        return Err(damaged(0, "the header's checksum does not match"));
    }
    let provenance = serde_json::from_slice(text)
        .map_err(|_| damaged(HEADER as u64, "the provenance is none"))?;
    Ok((provenance, end))
}

/// Reads the place where the blocks end, and the content after them.
fn read_footer(
    bytes: &Bytes,
    first_block: u64,
    buffer: &mut Vec<u8>,
) -> Result<(u64, CacheSummary, Names), CacheFault> {
    let trailer = bytes.len().saturating_sub(TRAILER as u64);
    if trailer < first_block {
        return Err(CacheFault::Partial);
    }
    copy(bytes, trailer, TRAILER, buffer)?;
    if !buffer.ends_with(END) {
        return Err(CacheFault::Partial);
    }
    let footer = u64_at(buffer, 0);
    if !(first_block..trailer).contains(&footer) {
        return Err(damaged(trailer, "no footer is where it should be"));
    }
    // This is the rest of the file. It ends with the checksum over it and the end mark.
    copy(bytes, footer, (bytes.len() - footer) as usize, buffer)?;
    let (body, sum) = buffer.split_at(buffer.len() - END.len() - 4);
    if crc(&[body]) != u32_at(sum, 0) {
        return Err(damaged(footer, "the footer's checksum does not match"));
    }
    let body = &body[..body.len() - 8];
    let (summary, names) = footer::read(body).map_err(|what| damaged(footer, what))?;
    Ok((footer, summary, names))
}

fn copy(bytes: &Bytes, at: u64, length: usize, buffer: &mut Vec<u8>) -> Result<(), CacheFault> {
    let is_there = bytes.copy(at, length, buffer);
    is_there.then_some(()).ok_or_else(|| damaged(at, CHANGED))
}

const CHANGED: &str = "it was cut short while it was read";

impl Job for Decode {
    type Piece = Work;
    type Feed = Blocks;

    fn cut(&self, blocks: &mut Blocks, work: &mut Work) -> Cut {
        (work.at, work.first_row) = (blocks.at, blocks.row);
        work.block.forget();
        (work.outcome, work.length) = match blocks.find(&self.bytes) {
            Ok(Some(length)) => (Outcome::Rows, length),
            Ok(None) => (Outcome::End, 0),
            Err(what) => (Outcome::Fault(Fault::Damage(what)), 0),
        };
        if let Outcome::Rows = work.outcome { Cut::Piece } else { Cut::Last }
    }

    fn work(&self, work: &mut Work) {
        let block = &mut work.block;
        let decoded = if self.bytes.copy(work.at, work.length, &mut block.bytes) {
            block.decode(&self.plan)
        } else {
            Err(Fault::Damage(CHANGED))
        };
        if let Err(fault) = decoded {
            work.outcome = Outcome::Fault(fault);
        }
    }
}

impl Blocks {
    /// Returns the length of the next block, if there is one, and steps over it.
    fn find(&mut self, bytes: &Bytes) -> Result<Option<usize>, &'static str> {
        if self.at == self.end {
            return Ok(None);
        }
        let left = self.end - self.at;
        if left < BLOCK_HEAD as u64 {
            return Err("no block begins there");
        }
        if !bytes.copy(self.at, BLOCK_HEAD, &mut self.head) {
            return Err(CHANGED);
        }
        let head = parse_head(&self.head)?;
        let length = BLOCK_HEAD as u64 + head.payload();
        if length > left {
            return Err("it is longer than what is left of the file");
        }
        self.at += length;
        self.row += u64::from(head.rows);
        Ok(Some(length as usize))
    }
}
