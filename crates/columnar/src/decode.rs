//! Decodes files piece by piece.

use crate::cells::Cells;
use crate::decode_error::{DecodeError, guarded};
use crate::file::Meter;
use crate::ipc::Ipc;
use crate::layout::Format;
use crate::parquet::{Decoder, Parquet};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;
use rueful_data::pool::{Cut, Job};
use rueful_data::{DataError, Role};
use std::vec;

/// The most rows in a piece, and about the most cells if the rows are wide.
const PIECE_ROWS: usize = 1 << 13;
const PIECE_CELLS: usize = 1 << 19;

/// How many rows are decoded at a time from a table with this many columns.
pub(crate) fn piece_rows(columns: usize) -> usize {
    (PIECE_CELLS / columns.max(1)).clamp(1, PIECE_ROWS)
}

/// An open file, or a table in memory.
pub(crate) struct Table {
    /// The name of the file, for messages.
    pub(crate) name: String,
    pub(crate) schema: SchemaRef,
    pub(crate) meter: Meter,
    /// A description of the file's size.
    pub(crate) note: String,
    inner: Inner,
}

enum Inner {
    Parquet(Parquet),
    Ipc(Ipc),
    Memory(Memory),
}

impl Table {
    pub(crate) fn open(path: &str, format: Format) -> Result<Self, DataError> {
        let name = if path == "-" { "standard input" } else { path };
        guarded(name, || {
            let (schema, meter, size, inner) = match format {
                Format::Parquet => {
                    let file = Parquet::open(path)?;
                    let (rows, groups) = file.size();
                    let size = format!(
                        ", {} in {}",
                        count(rows.unsigned_abs(), "row"),
                        count(groups as u64, "group")
                    );
                    (file.schema(), file.meter(), size, Inner::Parquet(file))
                }
                Format::Arrow => {
                    let (file, meter) = Ipc::open(path)?;
                    (file.schema(), meter, String::new(), Inner::Ipc(file))
                }
            };
            let note = format!("{format}, {}{size}", count(schema.fields().len() as u64, "column"));
            Ok(Self { name: name.to_owned(), schema, meter, note, inner })
        })
    }

    /// A table that the caller hands over in memory.
    pub(crate) fn memory(name: &str, batches: Box<dyn RecordBatchReader + Send>) -> Self {
        let schema = batches.schema();
        let note = count(schema.fields().len() as u64, "column");
        let inner = Inner::Memory(Memory { batches, current: None });
        Self { name: name.to_owned(), schema, meter: Meter::default(), note, inner }
    }

    /// Refuses files that are known to be undecodable before decoding begins.
    pub(crate) fn check(&self, projection: &[usize]) -> Result<(), DataError> {
        guarded(&self.name, || match &self.inner {
            Inner::Parquet(file) => file.check(projection),
            Inner::Ipc(_) | Inner::Memory(_) => Ok(()),
        })
    }
}

fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("one {noun}") } else { format!("{number} {noun}s") }
}

/// Some rows of a file.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    /// The number of the file that the rows come from.
    pub(crate) file: usize,
    pub(crate) rows: usize,
    /// The columns that are not dropped. They are first a decoded record batch, and then cells.
    batch: Option<RecordBatch>,
    pub(crate) cells: Vec<Cells>,
    /// The error, if reading ended with one instead of rows.
    pub(crate) error: Option<DataError>,
}

/// Converts the columns of pieces to cells.
pub(crate) struct ToCells {
    /// The names of the files.
    pub(crate) names: Vec<String>,
    /// The roles of the columns that are not dropped.
    pub(crate) roles: Vec<Role>,
}

impl Job for ToCells {
    type Piece = Piece;
    type Feed = Decode;

    fn cut(&self, decode: &mut Decode, piece: &mut Piece) -> Cut {
        *piece = Piece { file: decode.files.saturating_sub(1), ..Piece::default() };
        match decode.advance() {
            Ok(Some(batch)) => {
                let (file, rows) = (decode.files - 1, batch.num_rows());
                *piece = Piece { file, rows, batch: Some(batch), ..Piece::default() };
                Cut::Piece
            }
            Ok(None) => Cut::Last,
            Err(error) => {
                piece.error = Some(error);
                Cut::Last
            }
        }
    }

    fn work(&self, piece: &mut Piece) {
        let Some(batch) = piece.batch.take() else { return };
        match guarded(&self.names[piece.file], || self.cells(&batch)) {
            Ok(cells) => piece.cells = cells,
            Err(error) => (piece.rows, piece.error) = (0, Some(error)),
        }
    }
}

impl ToCells {
    fn cells(&self, batch: &RecordBatch) -> Result<Vec<Cells>, DecodeError> {
        let columns = batch.columns().iter().zip(&self.roles);
        let cells: Vec<_> =
            columns.map(|(array, &role)| Cells::new(array, role)).collect::<Result<_, _>>()?;
        if cells.len() != self.roles.len() {
            return Err(DecodeError::new("columns that are not there"));
        }
        Ok(cells)
    }
}

/// Decodes one file after the other.
pub(crate) struct Decode {
    tables: vec::IntoIter<Table>,
    /// The columns that are not dropped.
    projection: Vec<usize>,
    current: Option<Current>,
    /// How many files have been opened for decoding.
    files: usize,
}

/// The file that is being decoded.
struct Current {
    name: String,
    meter: Meter,
    rows: u64,
    batches: Batches,
}

enum Batches {
    Parquet(Decoder),
    Ipc(Ipc),
    Memory(Memory),
}

/// Record batches in memory. They may have any size.
struct Memory {
    batches: Box<dyn RecordBatchReader + Send>,
    /// The current record batch, and how many of its rows have been handed out.
    current: Option<(RecordBatch, usize)>,
}

impl Memory {
    fn next(&mut self, projection: &[usize]) -> Result<Option<RecordBatch>, DecodeError> {
        while self.current.as_ref().is_none_or(|(batch, from)| *from >= batch.num_rows()) {
            let Some(batch) = self.batches.next() else { return Ok(None) };
            self.current = Some((batch?.project(projection)?, 0));
        }
        let Some((batch, from)) = &mut self.current else { return Ok(None) };
        let rows = piece_rows(projection.len()).min(batch.num_rows() - *from);
        let piece = batch.slice(*from, rows);
        *from += rows;
        Ok(Some(piece))
    }
}

impl Decode {
    pub(crate) fn new(tables: Vec<Table>, projection: Vec<usize>) -> Self {
        Self { tables: tables.into_iter(), projection, current: None, files: 0 }
    }

    /// Decodes the next rows. Returns `None` if the current file has ended.
    fn next_rows(&mut self) -> Result<Option<RecordBatch>, DataError> {
        let Self { current, projection, .. } = self;
        let Some(Current { name, meter, rows, batches }) = current else { return Ok(None) };
        let batch = guarded(name, || batches.next(projection))?;
        match &batch {
            Some(batch) => *rows += batch.num_rows() as u64,
            None if *rows == 0 => return Err(DataError::EmptyFile { file: name.clone() }),
            None => {
                meter.end();
                *current = None;
            }
        }
        Ok(batch)
    }

    /// Starts on the next file. Returns whether there is one.
    fn next_file(&mut self) -> Result<bool, DataError> {
        let Some(table) = self.tables.next() else { return Ok(false) };
        let Table { name, meter, inner, .. } = table;
        let batches = guarded(&name, || match inner {
            Inner::Parquet(file) => Ok(Batches::Parquet(file.decode(&self.projection)?)),
            Inner::Ipc(file) => Ok(Batches::Ipc(file)),
            Inner::Memory(memory) => Ok(Batches::Memory(memory)),
        })?;
        self.current = Some(Current { name, meter, rows: 0, batches });
        self.files += 1;
        Ok(true)
    }

    fn advance(&mut self) -> Result<Option<RecordBatch>, DataError> {
        loop {
            if let Some(batch) = self.next_rows()? {
                return Ok(Some(batch));
            }
            if !self.next_file()? {
                return Ok(None);
            }
        }
    }
}

impl Batches {
    fn next(&mut self, projection: &[usize]) -> Result<Option<RecordBatch>, DecodeError> {
        match self {
            Self::Parquet(decoder) => decoder.next(),
            Self::Ipc(ipc) => ipc.next(projection, piece_rows(projection.len())),
            Self::Memory(memory) => memory.next(projection),
        }
    }
}
