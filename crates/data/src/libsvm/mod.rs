//! LIBSVM text, also called svmlight: one example per line, `label index:value index:value …`.
//!
//! Labels and values are decimal numbers; indices are integers from 1 on that increase along the
//! line. Tokens are separated by spaces or tabs, `#` begins a comment, lines without a row are
//! passed over. Index i of the file is index i of the batch, which leaves index 0 to the constant.
//! A value is rounded to `f64` and then to `f32`, as other readers of the format do.

mod row;

use crate::lines::{LineFault, Lines};
use crate::source::{is_full, open_file};
use crate::{Census, DataError, Reading, Source, foreign};
use row::{Fault, read_row};
use rueful_core::Batch;
use std::fs::File;
use std::io::Read;
use std::mem;
use std::path::Path;

/// A reader of LIBSVM text.
///
/// ```
/// use rueful_core::{Batch, loss::Labels};
/// use rueful_data::{Libsvm, Limits, Reading, Source};
/// let reading = Reading { labels: Labels::Signs, constant: false, limits: Limits::default() };
/// let mut source = Libsvm::new("standard input", "+1 2:0.5 7:1\n".as_bytes(), reading);
/// let mut batch = Batch::default();
/// assert!(source.fill(&mut batch)?);
/// assert_eq!(batch.get(0).features.values(), [0.5, 1.0]);
/// assert!(!source.fill(&mut batch)?);
/// # Ok::<(), rueful_data::DataError>(())
/// ```
#[derive(Debug)]
pub struct Libsvm<R> {
    name: String,
    lines: Lines<R>,
    reading: Reading,
    census: Census,
    state: State,
}

#[derive(Debug)]
enum State {
    /// There may be more rows.
    Open,
    /// There are no more rows, and this is still to be told.
    Broken(DataError),
    /// There are no more rows.
    Ended,
}

impl Libsvm<File> {
    /// Opens a file.
    pub fn open(path: &Path, reading: Reading) -> Result<Self, DataError> {
        let name = path.display().to_string();
        match open_file(path) {
            Ok(file) => Ok(Self::new(name, file, reading)),
            Err(error) => Err(DataError::Open { file: name, error }),
        }
    }
}

impl<R: Read> Libsvm<R> {
    /// Reads from `reader`, calling it `name` in errors. It is read in large blocks and needs no
    /// buffer of its own.
    pub fn new(name: impl Into<String>, reader: R, reading: Reading) -> Self {
        Self {
            name: name.into(),
            lines: Lines::new(reader, reading.limits.max_line_bytes),
            reading,
            census: Census::default(),
            state: State::Open,
        }
    }

    /// Adds rows until the batch is full or there are no more; says how matters stand then.
    fn read_rows(&mut self, batch: &mut Batch) -> Result<State, DataError> {
        while !is_full(batch) {
            if !self.lines.advance().map_err(|fault| self.line_error(fault, batch))? {
                return self.end(batch);
            }
            read_row(self.lines.current(), &self.reading, batch)
                .map_err(|fault| self.row_error(fault, batch))?;
        }
        Ok(State::Open)
    }

    fn end(&self, batch: &Batch) -> Result<State, DataError> {
        if self.is_first_row(batch) {
            return Err(DataError::EmptyFile { file: self.name.clone() });
        }
        Ok(State::Ended)
    }

    /// Whether no row has been read yet.
    fn is_first_row(&self, batch: &Batch) -> bool {
        self.census.examples == 0 && batch.is_empty()
    }

    #[cold]
    fn line_error(&self, fault: LineFault, batch: &Batch) -> DataError {
        let file = self.name.clone();
        match fault {
            LineFault::Io(error) => DataError::Read { file, error },
            LineFault::TooLong => DataError::LineTooLong {
                file,
                line: self.lines.number(),
                limit: self.reading.limits.max_line_bytes,
                hint: self.foreign_hint(batch),
            },
        }
    }

    #[cold]
    fn row_error(&self, fault: Fault, batch: &Batch) -> DataError {
        DataError::Parse {
            file: self.name.clone(),
            line: self.lines.number(),
            column: fault.at + 1,
            found: fault.found,
            expected: fault.expected,
            hint: self.foreign_hint(batch).or(fault.hint),
        }
    }

    /// A file of another kind shows itself where its first row should be; further on, a line is
    /// just broken.
    fn foreign_hint(&self, batch: &Batch) -> Option<String> {
        if self.is_first_row(batch) { foreign::hint(self.lines.current().bytes()) } else { None }
    }
}

impl<R: Read> Source for Libsvm<R> {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, DataError> {
        batch.clear();
        if let State::Open = self.state {
            self.state = self.read_rows(batch).unwrap_or_else(State::Broken);
        }
        self.census.count(batch);
        if !batch.is_empty() {
            return Ok(true);
        }
        match mem::replace(&mut self.state, State::Ended) {
            State::Broken(error) => Err(error),
            State::Open | State::Ended => Ok(false),
        }
    }

    fn census(&self) -> &Census {
        &self.census
    }

    fn bytes_read(&self) -> u64 {
        self.lines.bytes_read()
    }
}
