//! Vowpal Wabbit text: the tests say what is read, and what is refused in which words. The fast
//! reader must agree with an obvious one, and the counts with those of Vowpal Wabbit itself.
#![allow(clippy::unwrap_used)] // In a test a panic is the report.

mod counts;
mod properties;
mod reference;
mod rules;

use rueful_core::Batch;
use rueful_data::{
    Bits, DataError, Follow, Input, Interactions, LabelRule, Limits, Names, NamespaceRules, Reader,
    Reading, Schema, Source,
};
use std::io::{Cursor, Read};
use std::num::NonZeroUsize;

/// The bits of a row: its label and its features.
type Row = (u64, Vec<(u32, u32)>);

const NUMBERS: Reading = Reading {
    labels: LabelRule::Numbers,
    known_labels: Vec::new(),
    constant: false,
    idle_rows: false,
    limits: Limits { max_index: 1 << 26, max_line_bytes: 16 << 20 },
    threads: NonZeroUsize::MIN,
};

const SIGNS: Reading = Reading {
    labels: LabelRule::Signs,
    known_labels: Vec::new(),
    constant: false,
    idle_rows: false,
    limits: Limits { max_index: 1 << 26, max_line_bytes: 16 << 20 },
    threads: NonZeroUsize::MIN,
};

fn row(label: f64, features: &[(u32, f32)]) -> Row {
    (label.to_bits(), features.iter().map(|&(index, value)| (index, value.to_bits())).collect())
}

/// Reads to the end or to an error, whichever comes first, and checks the promises of a source
/// about both.
fn drain(source: &mut impl Source) -> (Vec<Row>, Option<DataError>) {
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

fn source_from(reader: impl Read + Send + 'static, reading: &Reading) -> Reader {
    let input = Input::new("data.vw", reader, &Follow::No).unwrap();
    Reader::new(
        vec![input],
        &Schema::Vw {
            bits: Bits::default(),
            interactions: Interactions::default(),
            namespaces: NamespaceRules::default(),
            id: false,
        },
        reading,
    )
}

fn source(text: impl AsRef<[u8]>, reading: &Reading) -> Reader {
    source_from(Cursor::new(text.as_ref().to_vec()), reading)
}

/// The rows of a text without faults.
fn rows(text: impl AsRef<[u8]>, reading: &Reading) -> Vec<Row> {
    let (rows, error) = drain(&mut source(text, reading));
    assert!(error.is_none(), "{}", error.unwrap());
    rows
}

/// The rows of a text without faults, with features by name and in the order of their names.
fn named(text: impl AsRef<[u8]>, reading: &Reading) -> Vec<(f64, Vec<(String, f32)>)> {
    let mut source = source(text, reading);
    let (rows, error) = drain(&mut source);
    assert!(error.is_none(), "{}", error.unwrap());
    let by_name = |(label, features): Row| {
        let name = |(index, value)| (name_of(source.names(), index), f32::from_bits(value));
        let mut features: Vec<_> = features.into_iter().map(name).collect();
        features.sort_by(|a, b| a.0.cmp(&b.0));
        (f64::from_bits(label), features)
    };
    rows.into_iter().map(by_name).collect()
}

/// The name of an index, or its number if it has no name.
fn name_of(names: &Names, index: u32) -> String {
    names.get(index).unwrap_or_else(|| index.to_string())
}

/// The words in which a text is refused, and the number of rows before the fault.
fn refusal(text: impl AsRef<[u8]>, reading: &Reading) -> (usize, String) {
    let (rows, error) = drain(&mut source(text, reading));
    (rows.len(), error.expect("an error").to_string())
}
