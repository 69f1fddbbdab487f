//! Vowpal Wabbit text: the tests say what is read, and what is refused in which words. The fast
//! reader must agree with an obvious one, and the counts with those of Vowpal Wabbit itself.
#![allow(clippy::unwrap_used)] // In a test a panic is the report.

#[path = "../common/mod.rs"]
mod common;
mod counts;
mod properties;
mod reference;
mod rules;

use common::{NUMBERS, Pieces, Row, SIGNS, drain, row};
use rueful_data::{Bits, Follow, Input, Interactions, NamespaceRules, Reader, Reading, Schema};
use std::io::{Cursor, Read};

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
fn named(text: impl AsRef<[u8]>, reading: &Reading) -> Vec<common::Named> {
    let (rows, error) = common::named(&mut source(text, reading));
    assert!(error.is_none(), "{}", error.unwrap());
    rows
}

/// The words in which a text is refused, and the number of rows before the fault.
fn refusal(text: impl AsRef<[u8]>, reading: &Reading) -> (usize, String) {
    let (rows, error) = drain(&mut source(text, reading));
    (rows.len(), error.expect("an error").to_string())
}
