//! Tests of columnar files. They check which tables are read, which are refused and in which words,
//! that the rows are those of the same table as text, and that no bytes upset the reader.
#![allow(clippy::unwrap_used)] // In a test a panic is the report.

mod hostile;
mod refusals;
mod rows;
mod text;
mod twin;
mod types;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use rueful_columnar::{Columnar, Format, Opened, open};
use rueful_core::Batch;
use rueful_data::{DataError, FormatSettings, LabelRule, Reading, Source};
use std::num::NonZeroUsize;
use tempfile::{NamedTempFile, TempPath};

/// A row: its label, and the names and values of its features, ordered by name.
type Row = (f64, Vec<(String, f32)>);

/// A way to save a table.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Saved {
    /// Parquet with this compression, in row groups of this many rows.
    Parquet(Compression, usize),
    File(Option<CompressionType>),
    Stream,
}

impl Saved {
    const PLAIN: Self = Self::Parquet(Compression::UNCOMPRESSED, 1 << 20);
    const ALL: [Self; 3] = [Self::PLAIN, Self::File(None), Self::Stream];

    fn format(self) -> Format {
        match self {
            Self::Parquet(..) => Format::Parquet,
            Self::File(_) | Self::Stream => Format::Arrow,
        }
    }

    fn bytes(self, batches: &[RecordBatch]) -> Vec<u8> {
        let schema = batches[0].schema();
        let mut bytes = Vec::new();
        match self {
            Self::Parquet(compression, rows) => {
                let properties = WriterProperties::builder()
                    .set_compression(compression)
                    .set_max_row_group_row_count(Some(rows))
                    .build();
                let mut writer =
                    ArrowWriter::try_new(&mut bytes, schema, Some(properties)).unwrap();
                batches.iter().for_each(|batch| writer.write(batch).unwrap());
                writer.close().unwrap();
            }
            Self::File(compression) => {
                let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
                let mut writer =
                    FileWriter::try_new_with_options(&mut bytes, &schema, options).unwrap();
                batches.iter().for_each(|batch| writer.write(batch).unwrap());
                writer.finish().unwrap();
            }
            Self::Stream => {
                let mut writer = StreamWriter::try_new(&mut bytes, &schema).unwrap();
                batches.iter().for_each(|batch| writer.write(batch).unwrap());
                writer.finish().unwrap();
            }
        }
        bytes
    }
}

fn table(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// A file with these bytes. It is deleted when the returned path is dropped.
fn file(bytes: &[u8]) -> TempPath {
    let path = NamedTempFile::new().unwrap().into_temp_path();
    std::fs::write(&path, bytes).unwrap();
    path
}

fn name(path: &TempPath) -> String {
    path.to_str().unwrap().to_owned()
}

fn reading(labels: LabelRule) -> Reading {
    let threads = NonZeroUsize::MIN;
    Reading { constant: false, threads, ..Reading::new(labels) }
}

fn labelled(label: &str) -> FormatSettings {
    FormatSettings { label: Some(label.to_owned()), ..FormatSettings::default() }
}

fn open_saved(
    saved: Saved,
    batch: &RecordBatch,
    format_settings: &FormatSettings,
) -> Result<Opened, DataError> {
    let path = file(&saved.bytes(std::slice::from_ref(batch)));
    let opened =
        open(&[name(&path)], saved.format(), format_settings, &reading(LabelRule::Numbers));
    opened.map_err(|error| without_path(error, &path))
}

/// The same error, with the file called `F`.
fn without_path(error: DataError, path: &TempPath) -> DataError {
    let rename = |file: String| if file == name(path) { "F".to_owned() } else { file };
    match error {
        DataError::Unsuitable { file, found, expected } => {
            DataError::Unsuitable { file: rename(file), found, expected }
        }
        DataError::Row { file, row, found, expected, hint } => {
            DataError::Row { file: rename(file), row, found, expected, hint }
        }
        DataError::Read { file, error } => DataError::Read { file: rename(file), error },
        DataError::EmptyFile { file } => DataError::EmptyFile { file: rename(file) },
        DataError::NoLabel { file, columns } => DataError::NoLabel { file: rename(file), columns },
        DataError::Useless { file, settings, format, reason } => {
            DataError::Useless { file: rename(file), settings, format, reason }
        }
        other => other,
    }
}

/// Reads to the end or to the first error, and checks what a source promises about both.
fn drain(source: &mut dyn Source) -> (Vec<Row>, Option<DataError>) {
    let mut batch = Batch::default();
    let mut rows = Vec::new();
    let error = loop {
        match source.fill(&mut batch) {
            Ok(true) => {
                assert!(!batch.is_empty());
                rows.extend(batch.iter().map(|example| {
                    let x = example.features;
                    let pairs = x.indices().iter().copied().zip(x.values().iter().copied());
                    (example.label, pairs.collect::<Vec<_>>())
                }));
            }
            Ok(false) => break None,
            Err(error) => break Some(error),
        }
    };
    assert!(batch.is_empty());
    assert!(!source.fill(&mut batch).unwrap(), "a stream that is over stays over");
    assert_eq!(source.census().examples, rows.len() as u64);
    let name = |index: u32| source.names().get(index).unwrap_or_else(|| index.to_string());
    let rows = rows.into_iter().map(|(label, pairs)| {
        let mut named: Vec<_> = pairs.into_iter().map(|(i, value)| (name(i), value)).collect();
        named.sort_by(|a, b| a.0.cmp(&b.0));
        (label, named)
    });
    (rows.collect(), error)
}

/// All rows of a table that has no errors.
fn rows(saved: Saved, batch: &RecordBatch, format_settings: &FormatSettings) -> Vec<Row> {
    let (rows, error) = drain(&mut open_saved(saved, batch, format_settings).unwrap().source);
    assert!(error.is_none(), "{error:?}");
    rows
}

fn row(label: f64, features: &[(&str, f32)]) -> Row {
    (label, features.iter().map(|&(name, value)| (name.to_owned(), value)).collect())
}

/// The message of the error when a table is opened or read.
fn refusal(saved: Saved, batch: &RecordBatch, format_settings: &FormatSettings) -> String {
    let path = file(&saved.bytes(std::slice::from_ref(batch)));
    let opened =
        open(&[name(&path)], saved.format(), format_settings, &reading(LabelRule::Numbers));
    let error = match opened {
        Ok(mut opened) => drain(&mut opened.source).1.unwrap(),
        Err(error) => error,
    };
    without_path(error, &path).to_string()
}

fn reopened(paths: &[&TempPath], opened: &Opened, reading: &Reading) -> Columnar {
    let files: Vec<_> = paths.iter().map(|path| name(path)).collect();
    Columnar::open(&files, &opened.layout, reading).unwrap()
}
