//! Reads text on all cores, and delivers rows in the order of the stream.
//!
//! ```text
//! inputs ─cut→ pieces ─read, on any thread→ rows ─in order→ fill
//! ```
//!
//! A [`Pool`] cuts pieces, reads them and puts them in order. The rows and their order depend on
//! nothing but the bytes.

use crate::chunk::{Chunk, ChunkFault, Chunker, total};
use crate::format::{Fault, Format};
use crate::ids::Ids;
use crate::input::{Follow, Input};
use crate::labels::{LabelCounts, LabelRule};
use crate::names::Names;
use crate::pool::{Crew, Cut, Handed, Job, Pool};
use crate::rows::Rows;
use crate::schema::Schema;
use crate::source::{LabelsSeen, Limits, Reading, Source};
use crate::{Census, DataError, printable};
use rueful_core::Batch;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A source of rows from text.
pub struct Reader {
    pool: Pool<ReadText>,
    files: Vec<FileSoFar>,
    rule: LabelRule,
    labels: LabelCounts,
    names: Names,
    missing: Vec<u64>,
    census: Census,
    limits: Limits,
    taken: Vec<Arc<AtomicU64>>,
    /// The predictions and ids of the rows of the last batch, their file, and the line of each row.
    predictions: Vec<f64>,
    ids: Ids,
    file: usize,
    row_lines: Vec<u64>,
    /// The error to report after the rows that precede it.
    broken: Option<DataError>,
    is_over: bool,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("census", &self.census).finish_non_exhaustive()
    }
}

/// The counts of what has been delivered from a file.
#[derive(Debug)]
struct FileSoFar {
    name: String,
    lines: u64,
    rows: u64,
}

/// The job that turns pieces of text into rows.
struct ReadText {
    format: Arc<dyn Format>,
}

/// A piece of the input that is being turned into rows.
#[derive(Default)]
struct Work {
    chunk: Chunk,
    rows: Rows,
    lines: u64,
    outcome: Outcome,
}

#[derive(Default)]
enum Outcome {
    #[default]
    Rows,
    /// The rows end with a fault.
    Fault(Fault),
    /// The input fails before any row.
    Broken(ChunkFault),
    /// There are no more pieces, because the input has ended.
    End,
}

impl Reader {
    /// Opens files to be read one after the other. `-` is standard input.
    pub fn open(
        paths: &[String],
        schema: &Schema,
        reading: &Reading,
        follow: &Follow,
    ) -> Result<Self, DataError> {
        let inputs =
            paths.iter().map(|path| Input::open(path, follow)).collect::<Result<_, _>>()?;
        Ok(Self::new(inputs, schema, reading))
    }

    /// Reads the inputs one after the other.
    pub fn new(inputs: Vec<Input>, schema: &Schema, reading: &Reading) -> Self {
        Self::with_format(inputs, schema.format(reading), reading)
    }

    fn with_format(inputs: Vec<Input>, format: Arc<dyn Format>, reading: &Reading) -> Self {
        let Reading { labels: rule, known_labels, limits, threads, .. } = reading.clone();
        let files = inputs.iter().map(|input| FileSoFar {
            name: input.name().to_owned(),
            lines: 0,
            rows: 0,
        });
        let files = files.collect();
        let follows = inputs.iter().any(Input::follows);
        let helpers = if follows { threads.get().max(1) } else { threads.get() - 1 };
        let chunker = Chunker::new(inputs, Arc::clone(&format), limits.max_line_bytes);
        let taken = chunker.taken();
        // The thread that delivers rows must not cut a file that is still growing. It would wait
        // for input while finished rows wait to be delivered.
        let crew = Crew { helpers, taker_works: !follows };
        Self {
            pool: Pool::new(ReadText { format }, chunker, crew),
            files,
            labels: LabelCounts::after(&known_labels, &rule),
            rule,
            names: Names::default(),
            missing: Vec::new(),
            census: Census::default(),
            limits,
            taken,
            predictions: Vec::new(),
            ids: Ids::default(),
            file: 0,
            row_lines: Vec::new(),
            broken: None,
            is_over: false,
        }
    }

    /// Takes over the rows of the next piece. Returns whether there may be more.
    fn take(&mut self, handed: &mut Handed<Work>, batch: &mut Batch) -> bool {
        if let Some(said) = handed.panic.take() {
            self.broken = Some(self.lost(handed, said));
            return false;
        }
        let work = &mut handed.piece;
        let outcome = mem::take(&mut work.outcome);
        if let Outcome::End = outcome {
            self.end(self.files.len());
            self.end_labels();
            return false;
        }
        let file = work.chunk.file;
        if work.chunk.is_first() {
            self.end(file);
            if self.broken.is_some() {
                return false;
            }
        }
        if let Err(conflict) =
            self.labels.absorb(&work.rows.labels, &self.rule, &mut work.rows.batch)
        {
            work.rows.truncate(conflict.row);
            let expected = self.rule.expected();
            let fault = Fault::new(conflict.at, conflict.label.as_bytes(), expected);
            self.broken = Some(self.fault_error(work, fault.hint(conflict.hint)));
        } else {
            self.broken = match outcome {
                Outcome::Fault(fault) => Some(self.fault_error(work, fault)),
                Outcome::Broken(fault) => Some(self.input_error(file, fault)),
                Outcome::Rows | Outcome::End => None,
            };
        }
        mem::swap(batch, &mut work.rows.batch);
        mem::swap(&mut self.predictions, &mut work.rows.predictions);
        mem::swap(&mut self.ids, &mut work.rows.ids);
        self.find_rows(work);
        self.files[file].rows += batch.len() as u64;
        self.files[file].lines += work.lines;
        self.names.learn(&work.rows.names);
        self.count_missing(&work.rows.missing);
        self.census.count_with(batch.rows(), Some(work.rows.indices.iter().copied()));
        self.broken.is_none()
    }

    /// The line where a row of the last batch begins. It is known only if there are predictions
    /// or ids.
    pub(crate) fn line(&self, row: usize) -> Option<u64> {
        self.row_lines.get(row).copied()
    }

    /// Finds the lines of the rows of a piece, if there are predictions or ids.
    fn find_rows(&mut self, work: &Work) {
        self.file = work.chunk.file;
        self.row_lines.clear();
        let text = work.chunk.text().bytes();
        let (mut line, mut at) = (self.files[self.file].lines + 1, 0);
        for &start in &work.rows.starts {
            line += memchr::memchr_iter(b'\n', &text[at..start]).count() as u64;
            at = start;
            self.row_lines.push(line);
        }
    }

    fn count_missing(&mut self, missing: &[u64]) {
        if self.missing.len() < missing.len() {
            self.missing.resize(missing.len(), 0);
        }
        self.missing.iter_mut().zip(missing).for_each(|(sum, count)| *sum += count);
    }

    /// Checks that the file before `file` had a row, as every file must.
    fn end(&mut self, file: usize) {
        if let Some(ended) = file.checked_sub(1).map(|before| &self.files[before])
            && ended.rows == 0
        {
            self.broken = Some(DataError::EmptyFile { file: ended.name.clone() });
        }
    }

    /// Checks at the end that the label that was named as positive occurred, if it had to.
    fn end_labels(&mut self) {
        if self.broken.is_none()
            && let Some((found, expected)) = self.labels.without_positive(&self.rule)
            && let Some(file) = self.files.first()
        {
            let file = file.name.clone();
            self.broken = Some(DataError::Unsuitable { file, found, expected });
        }
    }

    #[cold]
    fn lost(&self, handed: &Handed<Work>, said: String) -> DataError {
        let file = self.files[handed.piece.chunk.file].name.clone();
        DataError::Lost { file, piece: handed.number + 1, said }
    }

    #[cold]
    fn fault_error(&self, work: &Work, fault: Fault) -> DataError {
        let file = &self.files[work.chunk.file];
        let fault = fault.facts();
        let (lines, column) = work.chunk.text().place(fault.at);
        DataError::Parse {
            file: file.name.clone(),
            line: file.lines + lines + 1,
            column: column + 1,
            found: fault.found,
            expected: fault.expected,
            hint: fault.hint,
        }
    }

    #[cold]
    fn input_error(&self, file: usize, fault: ChunkFault) -> DataError {
        let file = &self.files[file];
        let name = file.name.clone();
        match fault {
            ChunkFault::Io(error) => DataError::Read { file: name, error },
            ChunkFault::TooLong => DataError::LineTooLong {
                file: name,
                line: file.lines + 1,
                limit: self.limits.max_line_bytes,
            },
        }
    }
}

impl Source for Reader {
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
        total(&self.taken)
    }

    fn names(&self) -> &Names {
        &self.names
    }

    fn class(&self, number: u32) -> Option<&str> {
        self.labels.class(number)
    }

    fn labels(&self) -> LabelsSeen {
        self.labels.seen()
    }

    fn predictions(&self) -> &[f64] {
        &self.predictions
    }

    fn ids(&self) -> Option<&Ids> {
        (!self.ids.is_empty()).then_some(&self.ids)
    }

    fn place(&self, row: usize) -> Option<String> {
        let line = self.line(row)?;
        Some(format!("{}:{line}", printable(&self.files[self.file].name)))
    }

    fn missing(&self) -> &[u64] {
        &self.missing
    }
}

impl Job for ReadText {
    type Piece = Work;
    type Feed = Chunker;

    fn cut(&self, chunker: &mut Chunker, work: &mut Work) -> Cut {
        work.rows.clear();
        work.lines = 0;
        work.outcome = match chunker.next(&mut work.chunk) {
            Ok(true) => Outcome::Rows,
            Ok(false) => Outcome::End,
            Err(fault) => Outcome::Broken(fault),
        };
        if let Outcome::Rows = work.outcome { Cut::Piece } else { Cut::Last }
    }

    fn work(&self, work: &mut Work) {
        let text = work.chunk.text();
        if let Err(fault) = self.format.read(text, &mut work.rows) {
            work.outcome = Outcome::Fault(fault);
        }
        work.lines = memchr::memchr_iter(b'\n', text.bytes()).count() as u64;
        work.rows.survey_indices();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::libsvm::Libsvm;
    use crate::text::Text;
    use std::io::Cursor;
    use std::num::NonZeroUsize;

    /// A format of LIBSVM text that panics where the text says so.
    struct Trap(Libsvm);

    impl Format for Trap {
        fn read(&self, text: Text<'_>, rows: &mut Rows) -> Result<(), Fault> {
            let is_trap = text.bytes().windows(4).any(|four| four == b"trap");
            assert!(!is_trap, "a trap in \u{1b} the text");
            self.0.read(text, rows)
        }
    }

    /// The labels that were delivered, and the error.
    fn read(text: &str, threads: usize) -> (Vec<f64>, String) {
        let inputs = ["a", "b"].map(|name| {
            Input::new(name, Cursor::new(text.as_bytes().to_vec()), &Follow::No).unwrap()
        });
        let threads = NonZeroUsize::new(threads).unwrap();
        let reading = Reading { threads, ..Reading::new(LabelRule::Numbers) };
        let (rule, max_index) = (LabelRule::Numbers, reading.limits.max_index);
        let trap = Trap(Libsvm { rule, constant: false, max_index });
        let mut reader = Reader::with_format(inputs.into(), Arc::new(trap), &reading);
        let (mut batch, mut labels) = (Batch::default(), Vec::new());
        let error = loop {
            match reader.fill(&mut batch) {
                Ok(true) => labels.extend_from_slice(batch.labels()),
                Ok(false) => break String::new(),
                Err(error) => break error.to_string(),
            }
        };
        assert!(matches!(reader.fill(&mut batch), Ok(false)), "a stream that is over stays over");
        (labels, error)
    }

    #[test]
    fn a_thread_that_panics_is_an_error_after_the_rows_before_it() {
        // The first piece is small and the others are not. The trap is in the third.
        let before: String = (0..40_000).map(|row| format!("{row} 1:1\n")).collect();
        let text = format!("{before}1 1:trap\n");
        let alone = read(&text, 1);
        assert!(alone.0.len() > 10_000 && alone.0.len() < 40_000, "{}", alone.0.len());
        assert!(alone.0.iter().zip(0..).all(|(&label, row)| label == f64::from(row)));
        assert!(alone.1.starts_with("a: piece "), "{}", alone.1);
        assert!(alone.1.contains("a trap in \\u{1b} the text"), "{}", alone.1);
        for threads in [2, 3, 7] {
            assert_eq!(read(&text, threads), alone, "{threads} threads");
        }
        assert_eq!(read(&before, 3).0.len(), 80_000);
    }
}
