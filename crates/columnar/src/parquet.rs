//! Decodes Parquet: from a file to record batches.

use crate::decode::piece_rows;
use crate::decode_error::DecodeError;
use crate::file::{Counted, Meter};
use crate::footer;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Compression;
use parquet::file::reader::ChunkReader;
use rueful_data::{Phrase, printable};
use std::fs::File;
use std::io::{Read, Seek};
use std::sync::Arc;

const MAGIC: &[u8] = b"PAR1";

/// An open Parquet file, and its metadata.
pub(crate) struct Parquet {
    file: Counted<File>,
    metadata: ArrowReaderMetadata,
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
        let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())?;
        Ok(Self { file, metadata })
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(self.metadata.schema())
    }

    pub(crate) fn meter(&self) -> Meter {
        self.file.meter.clone()
    }

    /// How many rows the file says it has, and in how many groups.
    pub(crate) fn size(&self) -> (i64, usize) {
        let metadata = self.metadata.metadata();
        (metadata.file_metadata().num_rows(), metadata.num_row_groups())
    }

    /// Refuses unsupported compression and impossible positions, in the columns that are read.
    pub(crate) fn check(&self, projection: &[usize]) -> Result<(), DecodeError> {
        let schema = self.metadata.parquet_schema();
        let leaves = (0..schema.num_columns())
            .filter(|&leaf| projection.contains(&schema.get_column_root_idx(leaf)));
        let leaves: Vec<_> = leaves.collect();
        for group in self.metadata.metadata().row_groups() {
            for chunk in leaves.iter().filter_map(|&leaf| group.columns().get(leaf)) {
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
    pub(crate) fn decode(
        self,
        projection: &[usize],
    ) -> Result<ParquetRecordBatchReader, DecodeError> {
        let schema = with_views(self.metadata.schema());
        let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
        let metadata = Arc::clone(self.metadata.metadata());
        let metadata = ArrowReaderMetadata::try_new(metadata, options)?;
        let mask = ProjectionMask::roots(metadata.parquet_schema(), projection.iter().copied());
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(self.file, metadata);
        let rows = piece_rows(projection.len());
        Ok(builder.with_batch_size(rows).with_projection(mask).build()?)
    }
}

/// Decodes the next rows.
pub(crate) fn next(
    reader: &mut ParquetRecordBatchReader,
) -> Result<Option<RecordBatch>, DecodeError> {
    Ok(reader.next().transpose()?)
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

/// The schema with strings as views. Repeated values then share their bytes, so the decoded data is
/// never larger than the data that was read for it.
fn with_views(schema: &Schema) -> Schema {
    let fields = schema.fields().iter().map(|field| {
        let kind = match field.data_type() {
            DataType::Dictionary(_, values) => values,
            kind => kind,
        };
        match kind {
            DataType::Utf8 | DataType::LargeUtf8 => {
                Field::new(field.name(), DataType::Utf8View, field.is_nullable())
                    .with_metadata(field.metadata().clone())
                    .into()
            }
            _ => Arc::clone(field),
        }
    });
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone())
}
