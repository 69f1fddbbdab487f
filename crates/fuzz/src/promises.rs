//! The promises that hold for every input.

use crate::MEMORY;
use crate::random::Random;
use rueful_core::{Batch, Features};
use rueful_data::{DataError, Follow, Input, LabelRule, Limits, Names, Reading, Source};
use std::io::{self, Cursor, ErrorKind, Read};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The name of the input in errors.
pub(crate) const FILE: &str = "input.txt";

/// The most memory that any input needs: for a few pieces of text, the rows in them, and the names.
const MEMORY_BOUND: usize = 32 << 20;

/// The length of the longest line.
const LINE_BOUND: usize = 4096;

/// A row to the last bit: its label, its importance, its features, and the predictions of others.
type Row = (u64, u64, Vec<(u32, u32)>, Vec<u64>);

/// The result of reading an input.
#[derive(Debug, PartialEq)]
struct Outcome {
    rows: Vec<Row>,
    error: Option<String>,
    /// The line of the error, if it is on a line.
    line: Option<u64>,
    /// Whether the file itself was at fault, and not its content.
    is_unreadable: bool,
    names: Names,
    /// The labels and their counts, in words.
    labels: String,
    missing: Vec<u64>,
}

/// The way in which bytes arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrival {
    /// The bytes arrive all at once.
    Whole,
    /// The bytes arrive a few at a time, and sometimes with an interruption.
    Pieces,
    /// The bytes arrive in pieces, and rows are handed on as they come.
    Followed,
}

/// Opens an input, or returns an error.
pub(crate) type Opener<'a> = &'a dyn Fn(Input, &Reading) -> Result<Box<dyn Source>, DataError>;

/// The ways in which inputs may be read.
pub(crate) fn readings() -> [Reading; 5] {
    let limits = Limits { max_index: 1 << 16, max_line_bytes: LINE_BOUND };
    let rules = [
        LabelRule::Numbers,
        LabelRule::Signs,
        LabelRule::Any,
        LabelRule::Classes,
        LabelRule::Positive("1".to_owned()),
    ];
    rules.map(|labels| {
        let constant = labels == LabelRule::Signs;
        Reading { constant, limits, threads: NonZeroUsize::MIN, ..Reading::new(labels) }
    })
}

/// The facts that are known about a file besides its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// Nothing is known. The file's beginning decides how it is read, so a file that grows slowly
    /// may be read in another way.
    Nothing,
    /// The format is known.
    Format,
    /// The format is known, and every record is a line. The lines before a broken one are read as
    /// if they were the whole file.
    Lines,
}

/// Checks the promises of a source of rows. Returns the kind of outcome.
pub(crate) fn check_source(bytes: &[u8], known: Known, open: Opener<'_>) -> String {
    let mut kinds = String::new();
    for (number, reading) in readings().into_iter().enumerate() {
        let whole = outcome(bytes, Arrival::Whole, &reading, open);
        kinds += &kind(&whole);
        if known == Known::Lines {
            check_prefix(bytes, &whole, &reading, open);
        }
        // Only one reading takes its turn, to save time. The others are tried on other inputs.
        if number == bytes.len() % 4 {
            let threads = NonZeroUsize::MIN.saturating_add(2);
            let several = Reading { threads, ..reading.clone() };
            for (arrival, reading) in [
                (Arrival::Pieces, &reading),
                (Arrival::Whole, &several),
                (Arrival::Followed, &reading),
                (Arrival::Pieces, &several),
            ] {
                if known == Known::Nothing && arrival == Arrival::Followed {
                    continue;
                }
                let other = outcome(bytes, arrival, reading, open);
                assert_same(&whole, &other, &format!("{arrival:?}, {} threads", reading.threads));
            }
        }
    }
    kinds
}

/// Checks that the rows before an error are those of the lines before it.
fn check_prefix(bytes: &[u8], whole: &Outcome, reading: &Reading, open: Opener<'_>) {
    if let Some(line) = whole.line {
        let before = line_start(bytes, line);
        let prefix = outcome(&bytes[..before], Arrival::Whole, reading, open);
        assert_eq!(prefix.rows, whole.rows, "the rows before the error on line {line}");
        assert_eq!(prefix.line, None, "{:?}", prefix.error);
    }
}

/// The byte at which a line begins. Lines are counted from 1.
fn line_start(bytes: &[u8], line: u64) -> usize {
    let end = if ends_with_returns(bytes) { b'\r' } else { b'\n' };
    let ends = bytes.iter().enumerate().filter(|(_, byte)| [b'\n', end].contains(byte));
    let starts = std::iter::once(0).chain(ends.map(|(at, _)| at + 1));
    starts.take(line as usize).last().unwrap_or(0)
}

/// Whether carriage returns alone end the lines: no line feed, and no byte that is no text, comes
/// before the first of them or soon after it.
fn ends_with_returns(bytes: &[u8]) -> bool {
    let is_other = |byte: &u8| [b'\n', 0].contains(byte);
    let first = bytes.iter().position(|byte| *byte == b'\r' || is_other(byte));
    first.is_some_and(|at| bytes[at] == b'\r' && !bytes[at..].iter().take(1 << 16).any(is_other))
}

fn outcome(bytes: &[u8], arrival: Arrival, reading: &Reading, open: Opener<'_>) -> Outcome {
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    let outcome = read(bytes, arrival, reading, open);
    let needed = MEMORY.peak_usage().saturating_sub(before);
    assert!(needed < MEMORY_BOUND, "{needed} bytes of memory for {} bytes", bytes.len());
    outcome
}

fn read(bytes: &[u8], arrival: Arrival, reading: &Reading, open: Opener<'_>) -> Outcome {
    let mut outcome = Outcome {
        rows: Vec::new(),
        error: None,
        line: None,
        is_unreadable: false,
        names: Names::default(),
        labels: String::new(),
        missing: Vec::new(),
    };
    match input(bytes, arrival).and_then(|input| open(input, reading)) {
        Ok(mut reader) => {
            if let Some(error) = drain(&mut *reader, &mut outcome.rows) {
                outcome.fail(&error);
            }
            outcome.names = reader.names().clone();
            outcome.missing = reader.missing().to_vec();
            outcome.labels = format!("{:?}", reader.labels());
            assert!(outcome.error.is_some() || !outcome.rows.is_empty(), "rows or an error");
        }
        Err(error) => outcome.fail(&error),
    }
    outcome
}

fn input(bytes: &[u8], arrival: Arrival) -> Result<Input, DataError> {
    let whole = Cursor::new(bytes.to_vec());
    let random = Random::new(bytes.len() as u64);
    let stop = Follow::Until(Arc::new(AtomicBool::new(true)));
    match arrival {
        Arrival::Whole => Input::new(FILE, whole, &Follow::No),
        Arrival::Pieces => Input::new(FILE, Pieces { rest: whole, random }, &Follow::No),
        Arrival::Followed => Input::new(FILE, Pieces { rest: whole, random }, &stop),
    }
}

/// A reader that hands out a few bytes at a time, and is interrupted now and then.
pub(crate) struct Pieces {
    pub(crate) rest: Cursor<Vec<u8>>,
    pub(crate) random: Random,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.random.once_in(20) {
            return Err(ErrorKind::Interrupted.into());
        }
        // Long inputs come in longer pieces, to save time.
        let most = 9 + self.rest.get_ref().len() / 50;
        let count = (1 + self.random.small(most)).min(buffer.len());
        self.rest.read(&mut buffer[..count])
    }
}

/// Reads to the end or to an error, and checks the promises of a source on the way.
fn drain(source: &mut dyn Source, rows: &mut Vec<Row>) -> Option<DataError> {
    let mut batch = Batch::default();
    let error = loop {
        match source.fill(&mut batch) {
            Ok(true) => collect(&batch, source, rows),
            Ok(false) => break None,
            Err(error) => break Some(error),
        }
    };
    assert!(batch.is_empty(), "nothing comes with an error or with the end");
    assert!(matches!(source.fill(&mut batch), Ok(false)), "a stream that is over stays over");
    let census = source.census();
    // Rows that wait for their labels are not counted.
    let counted = || rows.iter().filter(|row| f64::from_bits(row.1) > 0.0);
    assert_eq!(census.examples, counted().count() as u64);
    assert_eq!(census.nonzeros, counted().map(|(_, _, x, _)| x.len() as u64).sum::<u64>());
    error
}

fn collect(batch: &Batch, source: &dyn Source, rows: &mut Vec<Row>) {
    assert!(!batch.is_empty());
    let models = source.predictions().len() / batch.len();
    assert_eq!(source.predictions().len(), models * batch.len(), "as many for every row");
    for (row, example) in batch.iter().enumerate() {
        let x = example.features;
        let checked = Features::new(x.indices(), x.values());
        assert!(checked.is_ok(), "{checked:?}");
        assert!(example.label.is_finite() && example.label.abs() <= f64::from(f32::MAX));
        let features = x.indices().iter().zip(x.values());
        let features = features.map(|(&index, &value)| {
            assert!(value != 0.0, "zeros are absent");
            (index, value.to_bits())
        });
        let importance = example.importance.get();
        // Importances are 0, or between 1e-30 and 1e30. Rows of importance 0 are shown only where
        // labels may come later.
        let is_idle = importance == 0.0 && source.delays().is_some();
        let counts = (0.99e-30..1.01e30).contains(&importance);
        assert!(is_idle || counts, "an importance of {importance}");
        let predictions = &source.predictions()[row * models..][..models];
        assert!(predictions.iter().all(|prediction| prediction.is_finite()), "{predictions:?}");
        assert_eq!(source.place(row).is_some(), models > 0, "a place where somebody may ask");
        let predictions = predictions.iter().map(|prediction| prediction.to_bits());
        rows.push((
            example.label.to_bits(),
            importance.to_bits(),
            features.collect(),
            predictions.collect(),
        ));
    }
}

impl Outcome {
    fn fail(&mut self, error: &DataError) {
        check_error(error);
        self.line = line_of(error);
        self.is_unreadable = matches!(error, DataError::Read { .. });
        self.error = Some(error.to_string());
    }
}

fn line_of(error: &DataError) -> Option<u64> {
    match error {
        DataError::Parse { line, .. } | DataError::LineTooLong { line, .. } => Some(*line),
        _ => None,
    }
}

/// Checks that an error is one line that can be printed, and says where it is.
pub(crate) fn check_error(error: &DataError) {
    let text = error.to_string();
    check_words(&text);
    assert!(text.contains(FILE), "no file is named: {text}");
    if let DataError::Parse { line, column, .. } = error {
        assert!(text.starts_with(&format!("{FILE}:{line}:{column}: ")), "{text}");
        assert!(*line > 0 && *column > 0, "{text}");
    }
}

/// Checks that a text can be shown to a person on a terminal.
pub(crate) fn check_words(text: &str) {
    assert!(!text.chars().any(char::is_control), "not printable: {text:?}");
    assert!(!text.is_empty() && text.chars().count() < 1000, "too long: {text}");
}

/// Asserts that both have the same rows, names and error.
fn assert_same(whole: &Outcome, other: &Outcome, how: &str) {
    let differs = whole.rows.iter().zip(&other.rows).position(|(a, b)| a != b);
    assert!(differs.is_none(), "{how}: row {differs:?}");
    // A decompressor that meets a fault drops what it has decompressed since the last call, and
    // with it any error in there.
    if whole.is_unreadable || other.is_unreadable {
        return;
    }
    assert_eq!(whole.error, other.error, "{how}");
    assert_eq!(whole.rows.len(), other.rows.len(), "{how}");
    // The counts of a piece with an error depend on where pieces are cut.
    if whole.error.is_none() {
        assert!(whole.names == other.names, "{how}: the names differ");
        assert_eq!(whole.labels, other.labels, "{how}");
        assert_eq!(whole.missing, other.missing, "{how}");
    }
}

/// The kind of an outcome: the words of its error, and the rough number of its rows.
fn kind(outcome: &Outcome) -> String {
    let size = outcome.rows.len().checked_ilog2();
    let words = outcome.error.as_deref().map(pattern).unwrap_or_default();
    format!("{size:?} {words}; ")
}

/// The words of a text, without numbers and without quoted parts.
pub(crate) fn pattern(text: &str) -> String {
    let mut words = String::new();
    for (number, part) in text.split('"').enumerate() {
        if number % 2 == 0 {
            words.extend(part.chars().filter(|char| !char.is_ascii_digit()));
        }
    }
    words
}
