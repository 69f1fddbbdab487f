//! The rows of columnar files.
//!
//! ```text
//! files ─decode, on a thread of its own→ pieces of columns ─assemble→ rows
//! ```

use crate::decode::{Decode, Piece, Table};
use crate::file::Meter;
use crate::kind;
use crate::layout::Layout;
use crate::open::open_all;
use rueful_core::Batch;
use rueful_data::{
    Assembler, Census, Columns, DataError, LabelsSeen, Names, Reading, Role, Source, Wrong,
    printable,
};
use std::sync::mpsc::sync_channel;
use std::thread;

/// How many pieces may wait to be assembled.
const WAITING: usize = 2;

/// A batch has at least so many rows and features together, unless its piece ends.
const ENOUGH: usize = 1 << 14;

/// A source of rows from columnar files.
pub struct Columnar {
    /// Pieces as they are decoded.
    pieces: Box<dyn Iterator<Item = Result<Piece, DataError>> + Send>,
    /// The piece that is being assembled, and the next of its rows.
    piece: Option<Piece>,
    next: usize,
    /// The columns that are not dropped.
    projection: Vec<usize>,
    assembler: Assembler,
    names: Vec<String>,
    meters: Vec<Meter>,
    /// Which file the last rows were from, and how many have been delivered of it.
    file: usize,
    delivered: u64,
    /// What is to be told when the rows before it have been.
    broken: Option<DataError>,
    is_over: bool,
}

impl std::fmt::Debug for Columnar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Columnar").field("census", self.census()).finish_non_exhaustive()
    }
}

impl Columnar {
    /// Opens files to be read one after the other, `-` being standard input for Arrow. All must
    /// have the columns of the layout, of types that suit their roles.
    pub fn open(files: &[String], layout: &Layout, reading: &Reading) -> Result<Self, DataError> {
        Self::new(open_all(files, layout.format)?, layout, reading)
    }

    pub(crate) fn new(
        tables: Vec<Table>,
        layout: &Layout,
        reading: &Reading,
    ) -> Result<Self, DataError> {
        let columns: Vec<_> = layout.columns.iter().map(|column| column.role).enumerate().collect();
        let columns: Vec<_> = columns.into_iter().filter(|(_, role)| *role != Role::Drop).collect();
        let projection: Vec<_> = columns.iter().map(|&(column, _)| column).collect();
        for table in &tables {
            check_names(table, &layout.columns)?;
            kind::check(&table.name, &table.schema, &layout.columns)?;
            table.check(&projection)?;
        }
        let names = tables.iter().map(|table| table.name.clone()).collect();
        let meters = tables.iter().map(|table| table.meter.clone()).collect();
        let decode = Decode::new(tables, &columns);
        Ok(Self {
            pieces: if reading.threads.get() > 1 { ahead(decode) } else { Box::new(decode) },
            piece: None,
            next: 0,
            projection,
            assembler: Assembler::new(&layout.columns, layout.bits, reading),
            names,
            meters,
            file: 0,
            delivered: 0,
            broken: None,
            is_over: false,
        })
    }

    /// Sees to it that there is a piece with rows to be assembled; says whether there is.
    fn has_rows(&mut self) -> Result<bool, DataError> {
        while self.piece.as_ref().is_none_or(|piece| self.next >= piece.rows) {
            self.piece = self.pieces.next().transpose()?;
            self.next = 0;
            let Some(piece) = &self.piece else { return Ok(false) };
            if piece.file != self.file {
                (self.file, self.delivered) = (piece.file, 0);
            }
        }
        Ok(true)
    }

    /// Assembles the next rows of the piece.
    fn assemble(&mut self) -> Result<(), Wrong> {
        let Self { piece, next, projection, assembler, .. } = self;
        let Some(piece) = piece else { return Ok(()) };
        while *next < piece.rows && assembler.nonzeros() + assembler.rows() < ENOUGH {
            for (&column, cells) in projection.iter().zip(&piece.cells) {
                assembler.cell(column, cells.get(*next))?;
            }
            assembler.finish_row()?;
            *next += 1;
        }
        Ok(())
    }
}

impl Source for Columnar {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, DataError> {
        batch.clear();
        if self.is_over {
            return Ok(false);
        }
        if self.broken.is_none() {
            match self.has_rows() {
                Ok(true) => {}
                Ok(false) => {
                    self.is_over = true;
                    return Ok(false);
                }
                Err(error) => self.broken = Some(error),
            }
        }
        if self.broken.is_none() {
            let assembled = self.assemble();
            // A label that does not go with others comes before a row that cannot be assembled.
            let taken = self.assembler.take(batch).and(assembled);
            let wrong = |wrong: Wrong| wrong.error(&self.names[self.file], self.delivered);
            self.broken = taken.err().map(wrong);
            self.delivered += batch.len() as u64;
        }
        match self.broken.take_if(|_| batch.is_empty()) {
            Some(error) => {
                self.is_over = true;
                Err(error)
            }
            None => Ok(true),
        }
    }

    fn census(&self) -> &Census {
        self.assembler.census()
    }

    fn bytes_read(&self) -> u64 {
        self.meters.iter().map(Meter::taken).sum()
    }

    fn names(&self) -> &Names {
        self.assembler.names()
    }

    fn labels(&self) -> LabelsSeen {
        self.assembler.labels()
    }

    fn missing(&self) -> &[u64] {
        self.assembler.missing()
    }
}

/// Decodes on a thread of its own, a few pieces ahead. The thread ends when nobody waits for it.
fn ahead(decode: Decode) -> Box<dyn Iterator<Item = Result<Piece, DataError>> + Send> {
    let (sender, receiver) = sync_channel(WAITING);
    thread::spawn(move || {
        for piece in decode {
            if sender.send(piece).is_err() {
                break;
            }
        }
    });
    Box::new(receiver.into_iter())
}

/// All files must have the columns of the layout.
fn check_names(table: &Table, columns: &Columns) -> Result<(), DataError> {
    let unsuitable = |found: String, expected: String| {
        let expected = format!("{expected}: all files must have the same columns");
        Err(DataError::Unsuitable { file: table.name.clone(), found, expected })
    };
    let fields = table.schema.fields();
    for (number, (field, column)) in fields.iter().zip(columns.iter()).enumerate() {
        if *field.name() != column.name {
            let found = format!("column {} named \"{}\"", number + 1, printable(field.name()));
            return unsuitable(found, format!("\"{}\"", printable(&column.name)));
        }
    }
    if fields.len() != columns.len() {
        return unsuitable(format!("{} columns", fields.len()), format!("{}", columns.len()));
    }
    Ok(())
}
