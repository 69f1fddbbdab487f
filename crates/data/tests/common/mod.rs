//! Functions that the tests of several formats share.
#![allow(dead_code)] // No test needs all of it.

use proptest::prelude::*;
use rueful_core::Batch;
use rueful_data::{
    DataError, Follow, FormatSettings, Input, LabelRule, Limits, Opened, Reader, Reading, Schema,
    Source, open_inputs,
};
use std::io::{self, Cursor, ErrorKind, Read};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// The bits of a row: its label and its features.
pub(crate) type Row = (u64, Vec<(u32, u32)>);

const fn reading(labels: LabelRule) -> Reading {
    Reading {
        labels,
        known_labels: Vec::new(),
        constant: false,
        idle_rows: false,
        limits: Limits { max_index: 1 << 26, max_line_bytes: 16 << 20 },
        threads: NonZeroUsize::MIN,
    }
}

pub(crate) const NUMBERS: Reading = reading(LabelRule::Numbers);
pub(crate) const SIGNS: Reading = reading(LabelRule::Signs);

pub(crate) fn row(label: f64, features: &[(u32, f32)]) -> Row {
    (label.to_bits(), features.iter().map(|&(index, value)| (index, value.to_bits())).collect())
}

/// Reads to the end or to an error, whichever comes first, and checks the promises of a source
/// about both.
pub(crate) fn drain(source: &mut impl Source) -> (Vec<Row>, Option<DataError>) {
    let mut batch = Batch::default();
    let mut rows = Vec::new();
    let error = loop {
        match source.fill(&mut batch) {
            Ok(true) => rows.extend(rows_of(&batch)),
            Ok(false) => break None,
            Err(error) => break Some(error),
        }
    };
    assert!(batch.is_empty());
    assert!(!source.fill(&mut batch).unwrap(), "a stream that is over stays over");
    assert_eq!(source.census().examples, rows.len() as u64);
    (rows, error)
}

fn rows_of(batch: &Batch) -> Vec<Row> {
    assert!(!batch.is_empty());
    let features = |x: rueful_core::Features<'_>| {
        rueful_core::Features::new(x.indices(), x.values()).unwrap();
        x.indices().iter().zip(x.values()).map(|(&i, value)| (i, value.to_bits())).collect()
    };
    batch.iter().map(|example| (example.label.to_bits(), features(example.features))).collect()
}

/// A reader that hands out a few bytes at a time and is interrupted now and then.
pub(crate) struct Pieces {
    pub(crate) rest: Cursor<Vec<u8>>,
    pub(crate) sizes: Vec<usize>,
    pub(crate) turn: usize,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.turn += 1;
        // One turn in each cycle makes progress, whatever the sizes are.
        let size = self.sizes.get(self.turn % (self.sizes.len() + 1)).copied().unwrap_or(1);
        if size == 0 {
            return Err(ErrorKind::Interrupted.into());
        }
        let count = size.min(buffer.len());
        self.rest.read(&mut buffer[..count])
    }
}

pub(crate) fn input(name: &str, text: impl AsRef<[u8]>) -> Input {
    Input::new(name, Cursor::new(text.as_ref().to_vec()), &Follow::No).unwrap()
}

pub(crate) fn open(
    name: &str,
    text: impl AsRef<[u8]>,
    format_settings: &FormatSettings,
) -> Result<Opened, DataError> {
    open_inputs(vec![input(name, text)], format_settings, &NUMBERS)
}

/// The source for texts whose format is known.
pub(crate) fn reader(texts: &[&[u8]], schema: &Schema, reading: &Reading) -> Reader {
    let inputs = texts.iter().enumerate().map(|(n, text)| input(&format!("{}", n + 1), text));
    Reader::new(inputs.collect(), schema, reading)
}

/// A row by name: the label, and the name and value of each feature, in the order of names.
pub(crate) type Named = (f64, Vec<(String, f32)>);

/// Reads to the end. A feature without a name is called by its index.
pub(crate) fn named(source: &mut impl Source) -> (Vec<Named>, Option<DataError>) {
    let (rows, error) = drain(source);
    let name = |index: u32| source.names().get(index).unwrap_or_else(|| index.to_string());
    let rows = rows.into_iter().map(|(label, features)| {
        let mut features: Vec<_> = features
            .into_iter()
            .map(|(index, value)| (name(index), f32::from_bits(value)))
            .collect();
        features.sort_by(|a, b| a.0.cmp(&b.0));
        (f64::from_bits(label), features)
    });
    (rows.collect(), error)
}

/// A row by name, for comparison.
pub(crate) fn expect(label: f64, features: &[(&str, f32)]) -> Named {
    let mut features: Vec<_> = features.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
    features.sort_by(|a, b| a.0.cmp(&b.0));
    (label, features)
}

pub(crate) fn labelled(label: &str) -> FormatSettings {
    FormatSettings { label: Some(label.to_owned()), ..FormatSettings::default() }
}

/// A file of the collection of real data, if the collection is there.
pub(crate) fn real(path: &str) -> Option<String> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let file = root.join(path);
    file.exists().then(|| file.to_string_lossy().into_owned())
}

/// Checks that rows, names and counts are the same for all sizes of pieces and numbers of threads.
pub(crate) fn check_threads(text: &[u8], schema: &Schema, reading: &Reading) {
    let outcome = |sizes: Option<Vec<usize>>, threads: usize| {
        let rest = Cursor::new(text.to_vec());
        let bytes: Box<dyn Read + Send> = match sizes {
            Some(sizes) => Box::new(Pieces { rest, sizes, turn: 0 }),
            None => Box::new(rest),
        };
        let input = Input::new("data", bytes, &Follow::No).unwrap();
        let threads = NonZeroUsize::new(threads).unwrap();
        let reading = Reading { threads, ..reading.clone() };
        let mut reader = Reader::new(vec![input], schema, &reading);
        let (rows, error) = drain(&mut reader);
        let error = error.map(|error| error.to_string());
        let missing = reader.missing().to_vec();
        (rows, error, missing, reader.labels(), reader.names().clone(), reader.census().clone())
    };
    let alone = outcome(None, 1);
    for threads in [1, 2, 4] {
        assert_eq!(outcome(None, threads), alone);
    }
    if text.len() < 10_000 {
        assert_eq!(outcome(Some(vec![3, 0, 1, 7]), 1), alone);
    }
}

/// Reading must end, either in rows or in a printable error of one line.
pub(crate) fn check_survival(
    name: &str,
    bytes: &[u8],
    format_settings: &FormatSettings,
    reading: &Reading,
) {
    let error = match open_inputs(vec![input(name, bytes)], format_settings, reading) {
        Err(error) => Some(error),
        Ok(mut opened) => {
            let (rows, error) = drain(&mut opened.reader);
            assert!(error.is_some() || !rows.is_empty());
            error
        }
    };
    if let Some(error) = error {
        let text = error.to_string();
        assert!(!text.chars().any(char::is_control), "{text:?}");
        assert!(text.len() < 2500, "{text:?}");
    }
}

/// A file of such lines, sometimes with a byte-order mark, and sometimes without its last line end.
pub(crate) fn whole_text(line: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let mark = prop::option::weighted(0.1, Just("\u{feff}"));
    (mark, prop::collection::vec(line, 0..5), any::<bool>()).prop_map(|(mark, lines, cut)| {
        let text = mark.unwrap_or_default().to_owned() + &lines.concat();
        if cut { text.trim_end_matches('\n').to_owned() } else { text }
    })
}

/// Rules of labels, with or without a constant, and the largest index.
pub(crate) fn readings() -> impl Strategy<Value = Reading> {
    (any::<bool>(), any::<bool>(), prop_oneof![Just(1 << 26), 1u32..200]).prop_map(
        |(signs, constant, max_index)| Reading {
            labels: if signs { LabelRule::Signs } else { LabelRule::Numbers },
            constant,
            limits: Limits { max_index, ..Limits::default() },
            ..NUMBERS
        },
    )
}

/// The line to which an error points. Returns none for an error about the whole file.
pub(crate) fn line_of(error: &DataError) -> Option<u64> {
    match error {
        DataError::Parse { line, .. } | DataError::LineTooLong { line, .. } => Some(*line),
        _ => None,
    }
}
