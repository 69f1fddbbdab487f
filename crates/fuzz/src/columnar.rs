//! Parquet and Arrow files, which are written before they are read.

use crate::promises::{FILE, Known, check_source};
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, TimestampMillisecondArray,
};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use parquet::arrow::ArrowWriter;
use rueful_columnar::Format;
use rueful_data::{DataError, FormatSettings, Input, Reading, Source};
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

fn table() -> RecordBatch {
    let label: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 0.0, 1.0, 1.0]));
    let number: ArrayRef =
        Arc::new(Float64Array::from(vec![Some(0.5), None, Some(-2.0), Some(1e30)]));
    let word: ArrayRef =
        Arc::new(StringArray::from(vec![Some("red"), Some("blue"), None, Some("red")]));
    let importance: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 0.0, 1e30, 0.5]));
    let prediction: ArrayRef = Arc::new(Float64Array::from(vec![0.5, -1.0, 1e300, 0.0]));
    let truth: ArrayRef =
        Arc::new(BooleanArray::from(vec![Some(true), None, Some(false), Some(true)]));
    let moments = vec![Some(0), Some(-1), None, Some(i64::MAX)];
    let moment: ArrayRef = Arc::new(TimestampMillisecondArray::from(moments));
    RecordBatch::try_from_iter_with_nullable([
        ("y", label, true),
        ("w", importance, true),
        ("p", prediction, true),
        ("a", number, true),
        ("b", word, true),
        ("t", truth, true),
        ("d", moment, true),
    ])
    .expect("columns of the same length")
}

/// A table as Parquet.
pub(crate) fn parquet_seeds() -> Vec<Vec<u8>> {
    let (table, mut bytes) = (table(), Vec::new());
    let mut writer =
        ArrowWriter::try_new(&mut bytes, table.schema(), None).expect("a schema that can be saved");
    writer.write(&table).expect("rows that can be saved");
    writer.close().expect("bytes in memory");
    vec![bytes]
}

/// A table as an Arrow file and as an Arrow stream.
pub(crate) fn arrow_seeds() -> Vec<Vec<u8>> {
    let (table, mut file, mut stream) = (table(), Vec::new(), Vec::new());
    let schema = table.schema();
    let mut writer = FileWriter::try_new(&mut file, &schema).expect("a schema that can be saved");
    writer.write(&table).expect("rows that can be saved");
    writer.finish().expect("bytes in memory");
    let mut writer =
        StreamWriter::try_new(&mut stream, &schema).expect("a schema that can be saved");
    writer.write(&table).expect("rows that can be saved");
    writer.finish().expect("bytes in memory");
    vec![file, stream]
}

/// Reads bytes as a file of that format.
pub(crate) fn check(bytes: &[u8], format: Format) -> String {
    let path = Scratch::new(format);
    check_source(bytes, Known::Format, &|input, reading| path.open(input, reading, format))
}

/// A file of this process alone, which is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(format: Format) -> Self {
        let name = format!("rueful-fuzz-{}-{}-{FILE}", std::process::id(), format.name());
        Self(std::env::temp_dir().join(name))
    }

    fn open(
        &self,
        mut input: Input,
        reading: &Reading,
        format: Format,
    ) -> Result<Box<dyn Source>, DataError> {
        let mut bytes = Vec::new();
        let taken = input.read_to_end(&mut bytes).and_then(|_| std::fs::write(&self.0, &bytes));
        taken.map_err(|error| DataError::Read { file: FILE.to_owned(), error })?;
        let files = [self.0.display().to_string()];
        let format_settings = FormatSettings {
            label: Some("y".to_owned()),
            importance: Some("w".to_owned()),
            predictions: vec!["p".to_owned()],
            ..FormatSettings::default()
        };
        Ok(Box::new(rueful_columnar::open(&files, format, &format_settings, reading)?.source))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A file that cannot be removed is left to the system.
        let _ = std::fs::remove_file(&self.0);
    }
}
