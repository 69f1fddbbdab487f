//! Text read on all cores, delivered in the order of the stream.
//!
//! ```text
//! inputs ─cut→ pieces ─read, on any thread→ rows ─in order→ fill
//! ```
//!
//! Every thread does the same: it takes an empty workpiece, cuts the next piece off the input (one
//! thread at a time), reads its rows, and lays it down under its number. [`fill`](Source::fill)
//! picks the workpieces up by number, and instead of waiting for one it reads a piece itself. So
//! the rows and their order depend on nothing but the bytes.

use crate::chunk::{Chunk, ChunkFault, Chunker, total};
use crate::format::{Fault, Format};
use crate::input::{Follow, Input};
use crate::labels::{LabelCounts, LabelRule};
use crate::names::Names;
use crate::rows::Rows;
use crate::schema::Schema;
use crate::source::{LabelsSeen, Limits, Reading, Source};
use crate::{Census, DataError};
use rueful_core::Batch;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::{mem, thread};

/// Workpieces beyond one for each thread: what is finished may wait while threads go on.
const SPARE: usize = 2;

/// A source of rows from text.
pub struct Reader {
    shared: Arc<Shared>,
    /// The number of the piece that comes next.
    next: u64,
    files: Vec<FileSoFar>,
    rule: LabelRule,
    labels: LabelCounts,
    names: Names,
    missing: Vec<u64>,
    census: Census,
    limits: Limits,
    taken: Vec<Arc<AtomicU64>>,
    /// What is to be told when the rows before it have been.
    broken: Option<DataError>,
    is_over: bool,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("census", &self.census).finish_non_exhaustive()
    }
}

/// What has been delivered of a file.
#[derive(Debug)]
struct FileSoFar {
    name: String,
    lines: u64,
    rows: u64,
}

/// What the threads share.
struct Shared {
    format: Arc<dyn Format>,
    cutter: Mutex<Cutter>,
    table: Mutex<Table>,
    changed: Condvar,
    /// Whether the input may still grow. Then whoever delivers rows must not cut: it would wait
    /// for input while rows are waiting for it.
    follows: bool,
}

/// The input, and the number of its next piece.
struct Cutter {
    chunker: Chunker,
    number: u64,
}

/// Where workpieces lie while nobody works on them.
struct Table {
    empty: Vec<Work>,
    done: BTreeMap<u64, Work>,
    /// No more pieces are to be cut: the input has ended, or nobody wants them.
    is_closed: bool,
    /// A thread has panicked.
    is_lost: bool,
}

/// A piece of the input on its way to becoming rows.
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
    /// There is no such piece: the input has ended.
    End,
}

impl Reader {
    /// Opens files, `-` being standard input, to be read one after the other.
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
        let format = schema.format(reading);
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
        let empty = (0..helpers + 1 + SPARE).map(|_| Work::default()).collect();
        let shared = Arc::new(Shared {
            format,
            cutter: Mutex::new(Cutter { chunker, number: 0 }),
            table: Mutex::new(Table {
                empty,
                done: BTreeMap::new(),
                is_closed: false,
                is_lost: false,
            }),
            changed: Condvar::new(),
            follows,
        });
        for _ in 0..helpers {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.help());
        }
        Self {
            shared,
            next: 0,
            files,
            rule,
            labels: LabelCounts::after(&known_labels),
            names: Names::default(),
            missing: Vec::new(),
            census: Census::default(),
            limits,
            taken,
            broken: None,
            is_over: false,
        }
    }

    /// Takes over the rows of the next piece; says whether there may be more.
    fn take(&mut self, work: &mut Work, batch: &mut Batch) -> bool {
        let outcome = mem::take(&mut work.outcome);
        if let Outcome::End = outcome {
            self.end(self.files.len());
            return false;
        }
        let file = work.chunk.file;
        if work.chunk.is_first() {
            self.end(file);
            if self.broken.is_some() {
                return false;
            }
        }
        if let Err(conflict) = self.labels.absorb(&work.rows.labels, &self.rule) {
            work.rows.batch.truncate(conflict.row);
            work.rows.indices.clear();
            work.rows.indices.extend_from_slice(work.rows.batch.indices());
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
        self.files[file].rows += batch.len() as u64;
        self.files[file].lines += work.lines;
        self.names.learn(&work.rows.names);
        self.count_missing(&work.rows.missing);
        self.census.count_with(batch.rows(), Some(&work.rows.indices));
        self.broken.is_none()
    }

    fn count_missing(&mut self, missing: &[u64]) {
        if self.missing.len() < missing.len() {
            self.missing.resize(missing.len(), 0);
        }
        self.missing.iter_mut().zip(missing).for_each(|(sum, count)| *sum += count);
    }

    /// Every file must have had a row by its end: checks the one before `file`.
    fn end(&mut self, file: usize) {
        if let Some(ended) = file.checked_sub(1).map(|before| &self.files[before])
            && ended.rows == 0
        {
            self.broken = Some(DataError::EmptyFile { file: ended.name.clone() });
        }
    }

    #[cold]
    fn fault_error(&self, work: &Work, fault: Fault) -> DataError {
        let file = &self.files[work.chunk.file];
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
                hint: None,
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
                self.shared.close();
                return Err(error);
            }
            let mut work = self.shared.pick_up(self.next);
            self.next += 1;
            let goes_on = self.take(&mut work, batch);
            self.is_over = !goes_on && self.broken.is_none();
            self.shared.put_back(work);
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

    fn labels(&self) -> LabelsSeen {
        self.labels.seen()
    }

    fn missing(&self) -> &[u64] {
        &self.missing
    }
}

impl Drop for Reader {
    /// Threads end by themselves: one may be waiting for input that never comes.
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl Shared {
    /// The table. A thread that panicked says so there, so a poisoned lock is as good as any.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works until there is nothing left to do.
    fn help(&self) {
        let _guard = LossGuard(self);
        while let Some(work) = self.empty_work() {
            let cutter = self.cutter.lock().unwrap_or_else(PoisonError::into_inner);
            self.process(cutter, work);
        }
    }

    /// An empty workpiece, as soon as there is one; none if no more are needed.
    fn empty_work(&self) -> Option<Work> {
        let mut table = self.table();
        loop {
            if table.is_closed {
                return None;
            }
            if let Some(work) = table.empty.pop() {
                return Some(work);
            }
            table = self.changed.wait(table).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Cuts a piece, reads its rows, and lays it down.
    fn process(&self, mut cutter: MutexGuard<'_, Cutter>, mut work: Work) {
        let number = cutter.number;
        cutter.number += 1;
        work.rows.clear();
        work.lines = 0;
        work.outcome = match cutter.chunker.next(&mut work.chunk) {
            Ok(true) => Outcome::Rows,
            Ok(false) => Outcome::End,
            Err(fault) => Outcome::Broken(fault),
        };
        let goes_on = matches!(work.outcome, Outcome::Rows);
        if !goes_on {
            self.table().is_closed = true;
        }
        drop(cutter);
        self.changed.notify_all(); // Somebody else may cut the next one.
        if goes_on {
            let text = work.chunk.text();
            if let Err(fault) = self.format.read(text, &mut work.rows) {
                work.outcome = Outcome::Fault(fault);
            }
            work.lines = memchr::memchr_iter(b'\n', text.bytes()).count() as u64;
            work.rows.survey_indices();
        }
        self.table().done.insert(number, work);
        self.changed.notify_all();
    }

    /// The workpiece of that number. Whoever waits for it works meanwhile.
    fn pick_up(&self, number: u64) -> Work {
        let mut table = self.table();
        loop {
            if let Some(work) = table.done.remove(&number) {
                return work;
            }
            assert!(!table.is_lost, "a reading thread has panicked");
            let may_cut = !self.follows && !table.is_closed && !table.empty.is_empty();
            if may_cut
                && let Ok(cutter) = self.cutter.try_lock()
                && let Some(work) = table.empty.pop()
            {
                drop(table);
                self.process(cutter, work);
                table = self.table();
            } else {
                table = self.changed.wait(table).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    fn put_back(&self, work: Work) {
        self.table().empty.push(work);
        self.changed.notify_one();
    }

    fn close(&self) {
        self.table().is_closed = true;
        self.changed.notify_all();
    }
}

/// Tells the others when a thread panics.
struct LossGuard<'a>(&'a Shared);

impl Drop for LossGuard<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let mut table = self.0.table();
            (table.is_lost, table.is_closed) = (true, true);
            self.0.changed.notify_all();
        }
    }
}
