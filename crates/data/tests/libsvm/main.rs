//! LIBSVM text: the tests say what is read, and what is refused in which words. The fast reader
//! must agree with an obvious one.
#![allow(clippy::unwrap_used)] // In a test a panic is the report.

#[path = "../common/mod.rs"]
mod common;
mod properties;
mod reference;
mod rules;

use common::{NUMBERS, Pieces, Row, SIGNS, drain, row};
use rueful_data::{DataError, Follow, Input, Reader, Reading, Schema};
use std::io::{Cursor, Read};

fn read_from(
    reader: impl Read + Send + 'static,
    reading: &Reading,
) -> (Vec<Row>, Option<DataError>) {
    drain(&mut source_from(reader, reading))
}

fn source_from(reader: impl Read + Send + 'static, reading: &Reading) -> Reader {
    let input = Input::new("data.txt", reader, &Follow::No).unwrap();
    Reader::new(vec![input], &Schema::Libsvm {}, reading)
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

/// The words in which a text is refused, and the number of rows before the fault.
fn refusal(text: impl AsRef<[u8]>, reading: &Reading) -> (usize, String) {
    let (rows, error) = drain(&mut source(text, reading));
    (rows.len(), error.expect("an error").to_string())
}
