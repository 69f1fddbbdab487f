//! Tests of the tables that are refused, and of the messages.

use super::*;
use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::*;
use rueful_data::DataError;
use std::sync::Arc;

fn y() -> (&'static str, ArrayRef) {
    ("y", Arc::new(Int32Array::from(vec![1, 2])))
}

fn lists() -> ArrayRef {
    let mut lists = ListBuilder::new(Int32Builder::new());
    lists.append_value([Some(1), Some(2)]);
    lists.append_null();
    Arc::new(lists.finish())
}

fn when() -> ArrayRef {
    Arc::new(TimestampMicrosecondArray::from(vec![1, 2]))
}

/// The message about a table. It must be the same however the table is saved.
fn said(batch: &RecordBatch, format_settings: &FormatSettings) -> String {
    let said = refusal(Saved::PLAIN, batch, format_settings);
    for saved in Saved::ALL {
        assert_eq!(refusal(saved, batch, format_settings), said);
    }
    said
}

#[test]
fn types_that_are_no_features() {
    let batch = table(vec![("tags", lists()), y(), ("when", when())]);
    assert_eq!(
        said(&batch, &labelled("y")),
        "F: found lists in column \"tags\", expected numbers, truths or words: drop tags leaves the \
         rest out"
    );
    let format_settings = FormatSettings { drop: vec!["tags".to_owned()], ..labelled("y") };
    let numbers = FormatSettings { numeric: vec!["when".to_owned()], ..format_settings.clone() };
    assert_eq!(
        said(&batch, &numbers),
        "F: found timestamps in column \"when\", expected numbers: numeric cannot be asked of \
         dates"
    );
    let format_settings =
        FormatSettings { categorical: vec!["tags".to_owned()], ..format_settings };
    assert_eq!(
        said(&batch, &format_settings),
        "drop and categorical both name column \"tags\", expected one of them"
    );
    let format_settings =
        FormatSettings { drop: vec!["tags".to_owned(), "3".to_owned()], ..labelled("y") };
    for saved in Saved::ALL {
        assert_eq!(rows(saved, &batch, &format_settings), [row(1.0, &[]), row(2.0, &[])]);
    }
}

#[test]
fn labels() {
    let batch = table(vec![("when", when()), y()]);
    assert_eq!(
        said(&batch, &FormatSettings::default()),
        "F: which column is the label? Add label NAME, or label and a number from 1 on; the \
         columns are: when, y"
    );
    assert_eq!(
        said(&batch, &labelled("1")),
        "F: found timestamps in column \"when\", expected labels that are numbers, truths or words"
    );
    let batch = table(vec![("y", Arc::new(Float64Array::from(vec![Some(1.0), None])))]);
    assert_eq!(
        said(&batch, &labelled("y")),
        "F: row 2: found \"NaN\", expected a label in column \"y\"; a row without a label teaches \
         nothing"
    );
    let batch = table(vec![("y", Arc::new(StringArray::from(vec!["1", "2", "up"])))]);
    assert_eq!(
        said(&batch, &labelled("y")),
        "F: row 3: found \"up\", expected a label that is a finite number"
    );
}

#[test]
fn numbers_that_cannot_be_learned_from() {
    let batch = |number| {
        let numbers = Float64Array::from_iter_values((0..9000).map(|n| match n {
            8999 => number,
            _ => f64::from(n),
        }));
        let labels = Int32Array::from_iter_values(0..9000);
        table(vec![("a b", Arc::new(numbers) as ArrayRef), ("y", Arc::new(labels))])
    };
    assert_eq!(
        said(&batch(f64::INFINITY), &labelled("y")),
        "F: row 9000: found \"inf\", expected a finite number in column \"a b\"; an infinite value \
         cannot be learned from"
    );
    assert_eq!(
        said(&batch(-1e300), &labelled("y")),
        "F: row 9000: found \"-1e300\", expected a number that fits in single precision (at most \
         3.4028235e38 in size)"
    );
}

/// Rows before an error are delivered. The row of an error is counted from the beginning of its
/// file.
#[test]
fn the_row_is_counted_in_its_file() {
    let numbers = |values: &[f64]| {
        let y = Int32Array::from(vec![1; values.len()]);
        let x = Float64Array::from(values.to_vec());
        table(vec![("x", Arc::new(x) as ArrayRef), ("y", Arc::new(y))])
    };
    let tables = [numbers(&[1.0, 2.0]), numbers(&[3.0, f64::NEG_INFINITY])];
    let paths = tables.map(|batch| file(&Saved::PLAIN.bytes(&[batch])));
    let files = [name(&paths[0]), name(&paths[1])];
    let reading = reading(LabelRule::Signs);
    let mut opened = open(&files, Format::Parquet, &labelled("y"), &reading).unwrap();
    let (rows, error) = drain(&mut opened.source);
    assert_eq!(rows.len(), 3);
    let Some(DataError::Row { file, row, .. }) = error else { panic!("{error:?}") };
    assert_eq!((file, row), (name(&paths[1]), 2));
}

#[test]
fn files_with_other_columns() {
    let one = |column: &str, array: ArrayRef| {
        let bytes = Saved::PLAIN.bytes(&[table(vec![(column, array), y()])]);
        file(&bytes)
    };
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    let words: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let first = one("x", Arc::clone(&numbers));
    let both = |second: &TempPath| {
        let files = [name(&first), name(second)];
        let error = open(&files, Format::Parquet, &labelled("y"), &reading(LabelRule::Numbers));
        without_path(error.unwrap_err(), second).to_string()
    };
    assert_eq!(
        both(&one("z", Arc::clone(&numbers))),
        "F: found column 1 named \"z\", expected \"x\": all files must have the same columns"
    );
    assert_eq!(
        both(&one("x", words)),
        "F: found words in column \"x\", expected numbers, as the schema says"
    );
    let wide = table(vec![("x", Arc::clone(&numbers)), y(), ("z", numbers)]);
    assert_eq!(
        both(&file(&Saved::PLAIN.bytes(&[wide]))),
        "F: found 3 columns, expected 2: all files must have the same columns"
    );
}

#[test]
fn settings_that_mean_nothing() {
    let batch = table(vec![y()]);
    let format_settings = FormatSettings { header: Some(true), ..labelled("y") };
    assert_eq!(
        refusal(Saved::PLAIN, &batch, &format_settings),
        "F: header means nothing for Parquet: its columns have names already"
    );
    let format_settings = FormatSettings { format: Some("csv".to_owned()), ..labelled("y") };
    assert_eq!(
        refusal(Saved::Stream, &batch, &format_settings),
        "F: found Arrow, expected csv, as format says"
    );
}

#[test]
fn files_that_are_something_else() {
    let said = |bytes: &[u8], format| {
        let path = file(bytes);
        let opened = open(&[name(&path)], format, &labelled("y"), &reading(LabelRule::Numbers));
        without_path(opened.unwrap_err(), &path).to_string()
    };
    assert_eq!(
        said(b"age,job\n31,clerk\n", Format::Parquet),
        "F: found a file that does not begin as Parquet does, expected a Parquet file, as format \
         says"
    );
    assert_eq!(
        said(b"\x1f\x8b\x08\x00", Format::Parquet),
        "F: found Parquet in a compressed file, expected a Parquet file: unpack it first"
    );
    assert_eq!(
        said(b"", Format::Arrow),
        "F: found a file that does not begin as Arrow's do, expected an Arrow file or stream"
    );
    let cut = said(b"PAR1", Format::Parquet);
    assert!(cut.starts_with("cannot read F: it is damaged or cut short ("), "{cut}");
    let error = open(&["-".to_owned()], Format::Parquet, &labelled("y"), &reading(LabelRule::Any));
    assert_eq!(
        error.unwrap_err().to_string(),
        "standard input: found Parquet, whose description is at its end, expected a file: save it \
         to one first"
    );
    let error = open(
        &["no/such.parquet".to_owned()],
        Format::Parquet,
        &labelled("y"),
        &reading(LabelRule::Any),
    );
    assert!(error.unwrap_err().to_string().starts_with("cannot open no/such.parquet: "));
}

#[test]
fn a_file_without_rows() {
    let none = Int32Array::from(Vec::<i32>::new());
    let batch = table(vec![("y", Arc::new(none))]);
    assert_eq!(said(&batch, &labelled("y")), "F: expected examples, found none in the whole file");
}

#[test]
fn two_columns_of_one_name() {
    let batch = table(vec![y(), y()]);
    assert_eq!(
        refusal(Saved::File(None), &batch, &labelled("y")),
        "F: found two columns named \"y\", expected different names"
    );
}
