//! Decodes Parquet: from a file to record batches.
//!
//! The crate `parquet` reads pages and decodes their values. It can also make Arrow arrays of them,
//! but that part of it takes longer to compile than the rest, and does much for lists and structs,
//! which no feature is made of. So `schema` finds the types of the columns here, `column` makes the
//! arrays, and tests compare both with that part.

mod column;
mod pages;
mod schema;
mod words;

use crate::decode::piece_rows;
use crate::decode_error::DecodeError;
use crate::file::{Counted, Meter};
use crate::footer;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use bytes::Bytes;
use column::Column;
use pages::Chunks;
use parquet::basic::Compression;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::reader::ChunkReader;
use rueful_data::{Phrase, printable};
use std::fs::File;
use std::io::{Read, Seek};
use std::sync::Arc;

const MAGIC: &[u8] = b"PAR1";

/// An open Parquet file, and its metadata.
pub(crate) struct Parquet {
    file: Counted<File>,
    metadata: Arc<ParquetMetaData>,
    schema: SchemaRef,
    /// For each column of the schema, the number of its first column of values.
    leaves: Vec<usize>,
}

impl Parquet {
    pub(crate) fn open(path: &str) -> Result<Self, DecodeError> {
        if path == "-" {
            return Err(DecodeError::unsuitable(
                "Parquet, whose description is at its end",
                "a file: save it to one first",
            ));
        }
        let mut file = Counted::open(path)?;
        check_magic(&mut file)?;
        footer::check(&footer_bytes(&file)?)?;
        let metadata = Arc::new(ParquetMetaDataReader::new().parse_and_finish(&file)?);
        let (schema, leaves) = schema::of(metadata.file_metadata())?;
        Ok(Self { file, metadata, schema: Arc::new(schema), leaves })
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    pub(crate) fn meter(&self) -> Meter {
        self.file.meter.clone()
    }

    /// How many rows the file says it has, and in how many groups.
    pub(crate) fn size(&self) -> (i64, usize) {
        (self.metadata.file_metadata().num_rows(), self.metadata.num_row_groups())
    }

    /// Refuses unsupported compression and impossible positions, in the columns that are read.
    pub(crate) fn check(&self, projection: &[usize]) -> Result<(), DecodeError> {
        for group in self.metadata.row_groups() {
            for chunk in projection.iter().map(|&column| group.column(self.leaves[column])) {
                let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
                if start < 0 || chunk.compressed_size() < 0 {
                    return Err(DecodeError::new("a column before the beginning"));
                }
                let codec = match chunk.compression() {
                    Compression::BROTLI(_) => "Brotli",
                    Compression::LZO => "LZO",
                    _ => continue,
                };
                let name = printable(&chunk.column_path().string());
                let found = format!("{codec} compression in column \"{name}\"");
                return Err(DecodeError::unsuitable(found, "Snappy, Zstandard, LZ4, Gzip or none"));
            }
        }
        Ok(())
    }

    /// Starts to decode the columns in the projection.
    pub(crate) fn decode(self, projection: &[usize]) -> Result<Decoder, DecodeError> {
        let file = Arc::new(self.file);
        let fields = projection.iter().map(|&column| as_decoded(self.schema.field(column)));
        let fields: Vec<_> = fields.collect();
        let columns = fields.iter().zip(projection).map(|(field, &column)| {
            let leaf = self.leaves[column];
            let chunks = Chunks::new(Arc::clone(&file), Arc::clone(&self.metadata), leaf);
            Column::new(field.data_type(), chunks)
        });
        let columns = columns.collect::<Result<_, _>>()?;
        let schema = Arc::new(Schema::new(fields));
        Ok(Decoder { schema, columns, rows: piece_rows(projection.len()) })
    }
}

/// A Parquet file that is being decoded.
pub(crate) struct Decoder {
    schema: SchemaRef,
    columns: Vec<Column>,
    /// How many rows are decoded at a time.
    rows: usize,
}

impl Decoder {
    /// Decodes the next rows.
    pub(crate) fn next(&mut self) -> Result<Option<RecordBatch>, DecodeError> {
        let columns = self.columns.iter_mut().map(|column| column.next(self.rows));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        if columns.iter().all(|column| column.is_empty()) {
            return Ok(None);
        }
        Ok(Some(RecordBatch::try_new(Arc::clone(&self.schema), columns)?))
    }
}

/// Reads the footer. It lies before the last eight bytes, which are its length and the mark.
fn footer_bytes(file: &Counted<File>) -> Result<Bytes, DecodeError> {
    let end = file.length().checked_sub(8).ok_or_else(|| DecodeError::new("no footer"))?;
    let tail = file.get_bytes(end, 8)?;
    let length = tail.first_chunk().map_or(0, |length| u32::from_le_bytes(*length));
    let start = end.checked_sub(length.into()).ok_or_else(|| DecodeError::new("no such footer"))?;
    Ok(file.get_bytes(start, length as usize)?)
}

fn check_magic(file: &mut Counted<File>) -> Result<(), DecodeError> {
    let mut start = [0; MAGIC.len()];
    if file.length() >= MAGIC.len() as u64 {
        file.read_exact(&mut start)?;
        file.rewind()?;
    }
    if start == MAGIC {
        return Ok(());
    }
    let is_packed = start.starts_with(b"\x1f\x8b") || start.starts_with(b"\x28\xb5\x2f\xfd");
    let is_packed = is_packed || start.starts_with(b"PK");
    Err(if is_packed {
        DecodeError::unsuitable("Parquet in a compressed file", "a Parquet file: unpack it first")
    } else {
        let found = "a file that does not begin as Parquet does";
        let expected = Phrase::from("a Parquet file, as ").setting("format").and(" says");
        DecodeError::unsuitable(found, expected)
    })
}

/// A column as it is decoded. Strings become numbers in a dictionary: repeated values then share
/// their bytes, so the decoded data is never larger than the data that was read for it. Other
/// dictionaries become what their values are.
fn as_decoded(field: &Field) -> Field {
    let kind = match field.data_type() {
        DataType::Dictionary(_, values) => values,
        kind => kind,
    };
    let kind = match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            DataType::Dictionary(DataType::Int32.into(), DataType::Utf8View.into())
        }
        kind => kind.clone(),
    };
    Field::new(field.name(), kind, field.is_nullable())
}
