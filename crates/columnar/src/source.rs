//! The rows of columnar files.
//!
//! ```text
//! files ─decode→ pieces of columns ─to cells→ cells ─in order→ assemble→ rows
//! ```
//!
//! Files are decoded from front to back. A [`Pool`] makes sure that decoding runs ahead of
//! assembling.

use crate::decode::{Decode, Piece, Table, ToCells};
use crate::file::Meter;
use crate::kind;
use crate::layout::Layout;
use crate::open::open_all;
use arrow_array::RecordBatchReader;
use rueful_core::Batch;
use rueful_data::pool::{Crew, Handed, Pool};
use rueful_data::{
    Assembler, Bits, Cell, Census, Columns, DataError, FirstLabels, Ids, KNOT_ROWS, LabelRule,
    LabelsSeen, Names, Reading, Role, RowError, Source, printable,
};

/// The most threads beside the one that assembles. More would have little to do, because only one
/// can decode.
const HELPERS_MAX: usize = 1;

/// A batch has at least this many rows and features together, unless its piece ends before.
const ENOUGH: usize = 1 << 14;

/// A source of rows from columnar files.
pub struct Columnar {
    /// Decodes pieces ahead of their use.
    pool: Pool<ToCells>,
    /// The piece that is being assembled, and the number of its next row.
    piece: Option<Piece>,
    next: usize,
    /// The columns that are not dropped.
    projection: Vec<usize>,
    assembler: Assembler,
    /// The rules by which rows are assembled.
    columns: Columns,
    bits: Bits,
    reading: Reading,
    meters: Vec<Meter>,
    /// The file that the last rows came from. How many of its rows were read before the last batch,
    /// how many including it, and how many of them were kept.
    file: usize,
    before: u64,
    read: u64,
    kept: u64,
    /// An error that is reported after the rows before it have been delivered.
    broken: Option<DataError>,
    is_over: bool,
}

impl std::fmt::Debug for Columnar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Columnar").field("census", self.census()).finish_non_exhaustive()
    }
}

impl Columnar {
    /// Opens files that are read one after the other. For Arrow, `-` is standard input. All files
    /// must have the columns of the layout, with types that suit their roles.
    pub fn open(files: &[String], layout: &Layout, reading: &Reading) -> Result<Self, DataError> {
        Self::new(open_all(files, layout.format)?, layout, reading)
    }

    /// Reads record batches in memory as the rows of a table called `name`, as [`open`](Self::open)
    /// reads the rows of a file.
    pub fn of_batches(
        name: &str,
        batches: Box<dyn RecordBatchReader + Send>,
        layout: &Layout,
        reading: &Reading,
    ) -> Result<Self, DataError> {
        Self::new(vec![Table::memory(name, batches)], layout, reading)
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
        let roles = columns.iter().map(|&(_, role)| role).collect();
        let meters = tables.iter().map(|table| table.meter.clone()).collect();
        let decode = Decode::new(tables, projection.clone());
        let helpers = (reading.threads.get() - 1).min(HELPERS_MAX);
        let crew = Crew { helpers, taker_works: true };
        Ok(Self {
            pool: Pool::new(ToCells { names, roles }, decode, crew),
            piece: None,
            next: 0,
            projection,
            assembler: Assembler::new(&layout.columns, layout.bits, reading),
            columns: layout.columns.clone(),
            bits: layout.bits,
            reading: reading.clone(),
            meters,
            file: 0,
            before: 0,
            read: 0,
            kept: 0,
            broken: None,
            is_over: false,
        })
    }

    /// The labels of the first piece that has rows. It delivers none of these rows.
    pub fn first_labels(&mut self) -> FirstLabels {
        match self.has_rows() {
            Ok(_) => {}
            Err(error) => self.broken = Some(error),
        }
        let Some(piece) = &self.piece else { return FirstLabels::default() };
        first_labels(piece, &self.projection, &self.columns, &self.reading)
    }

    /// The first numbers of a column, as far as they are in the first piece that has rows. It
    /// delivers none of these rows.
    pub(crate) fn first_numbers(&mut self, column: usize) -> Vec<f32> {
        if let Err(error) = self.has_rows() {
            self.broken = Some(error);
        }
        let place = self.projection.iter().position(|&other| other == column);
        let (Some(piece), Some(place)) = (&self.piece, place) else { return Vec::new() };
        let Some(cells) = piece.cells.get(place) else { return Vec::new() };
        let number = |row| match cells.get(row) {
            Cell::Number(number) => Some(number as f32).filter(|number| number.is_finite()),
            Cell::Truth(truth) => Some(f32::from(u8::from(truth))),
            _ => None,
        };
        (0..piece.rows.min(KNOT_ROWS)).filter_map(number).collect()
    }

    /// Assembles rows of these columns from now on. They are the columns of the layout, with other
    /// features made of them. Call it before the first row is delivered.
    pub(crate) fn set_columns(&mut self, columns: Columns) {
        self.assembler = Assembler::new(&columns, self.bits, &self.reading);
        self.columns = columns;
    }

    /// Reads labels by this rule from now on. Call it before the first row is delivered.
    pub fn set_labels(&mut self, labels: LabelRule) {
        self.reading.labels = labels;
        self.assembler = Assembler::new(&self.columns, self.bits, &self.reading);
    }

    /// Fetches pieces until one has rows to be assembled. Returns whether there is one.
    fn has_rows(&mut self) -> Result<bool, DataError> {
        while self.piece.as_ref().is_none_or(|piece| self.next >= piece.rows) {
            if self.piece.take().is_some() {
                self.pool.put_back(Piece::default()); // What it held is not kept.
            }
            let Some(Handed { mut piece, number, panic, .. }) = self.pool.next() else {
                self.end_file()?;
                return self.end_labels().map(|()| false);
            };
            if let Some(said) = panic {
                let file = self.pool.job().names[piece.file].clone();
                return Err(DataError::Lost { file, piece: number + 1, said });
            }
            if let Some(error) = piece.error.take() {
                return Err(error);
            }
            if piece.file != self.file {
                self.end_file()?;
                (self.file, self.before, self.read, self.kept) = (piece.file, 0, 0, 0);
            }
            (self.piece, self.next) = (Some(piece), 0);
        }
        Ok(true)
    }

    /// Checks that the file which ends here had a row.
    fn end_file(&self) -> Result<(), DataError> {
        if self.kept > 0 {
            return Ok(());
        }
        Err(DataError::EmptyFile { file: self.name().to_owned() })
    }

    /// Checks at the end, when all labels are known, that the positive label which was named did
    /// occur.
    fn end_labels(&self) -> Result<(), DataError> {
        match self.assembler.without_positive() {
            None => Ok(()),
            Some((found, expected)) => {
                Err(DataError::Unsuitable { file: self.name().to_owned(), found, expected })
            }
        }
    }

    /// The name of the file that the last rows came from.
    fn name(&self) -> &str {
        &self.pool.job().names[self.file]
    }

    /// Makes a batch of the next rows of the piece.
    fn deliver(&mut self, batch: &mut Batch) {
        let assembled = self.assemble();
        self.before = self.read;
        self.read += self.assembler.finished() as u64;
        // A label that does not go with the others is reported before a row that cannot be
        // assembled.
        let taken = self.assembler.take(batch).and(assembled);
        self.broken = taken.err().map(|wrong: RowError| wrong.error(self.name(), self.before));
        self.kept += batch.len() as u64;
    }

    /// Assembles the next rows of the piece.
    fn assemble(&mut self) -> Result<(), RowError> {
        let Self { piece, next, projection, assembler, .. } = self;
        let Some(piece) = piece else { return Ok(()) };
        while *next < piece.rows && assembler.nonzeros() + assembler.finished() < ENOUGH {
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
        while !self.is_over && batch.is_empty() {
            if let Some(error) = self.broken.take() {
                self.is_over = true;
                self.pool.close();
                return Err(error);
            }
            match self.has_rows() {
                Ok(true) => self.deliver(batch),
                Ok(false) => self.is_over = true,
                Err(error) => self.broken = Some(error),
            }
        }
        Ok(!batch.is_empty())
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

    fn class(&self, number: u32) -> Option<&str> {
        self.assembler.class(number)
    }

    fn labels(&self) -> LabelsSeen {
        self.assembler.labels()
    }

    fn predictions(&self) -> &[f64] {
        self.assembler.predictions()
    }

    fn ids(&self) -> Option<&Ids> {
        self.assembler.ids()
    }

    fn place(&self, row: usize) -> Option<String> {
        let number = self.before + self.assembler.number(row)? as u64 + 1;
        Some(format!("{}: row {number}", printable(self.name())))
    }

    fn missing(&self) -> &[u64] {
        self.assembler.missing()
    }
}

/// The labels of a piece. Errors in it are reported when its rows are delivered.
fn first_labels(
    piece: &Piece,
    projection: &[usize],
    columns: &Columns,
    reading: &Reading,
) -> FirstLabels {
    let matters =
        |column: &usize| matches!(columns[*column].role, Role::Label | Role::Importance | Role::Id);
    let (chosen, cells): (Vec<_>, Vec<_>) = projection
        .iter()
        .zip(&piece.cells)
        .filter(|(column, _)| matters(column))
        .map(|(&column, cells)| (columns[column].clone(), cells))
        .unzip();
    let Ok(chosen) = Columns::try_from(chosen) else { return FirstLabels::default() };
    let reading = Reading { labels: LabelRule::Any, idle_rows: false, ..reading.clone() };
    let mut assembler = Assembler::new(&chosen, Bits::default(), &reading);
    let mut assemble = |row: usize| -> Result<(), RowError> {
        for (column, cells) in cells.iter().enumerate() {
            assembler.cell(column, cells.get(row))?;
        }
        assembler.finish_row()
    };
    let _ = (0..piece.rows).try_for_each(&mut assemble);
    let _ = assembler.take(&mut Batch::default());
    FirstLabels { rows: assembler.census().examples, labels: assembler.labels(), positive: None }
}

/// Checks that a file has the columns of the layout.
fn check_names(table: &Table, columns: &Columns) -> Result<(), DataError> {
    let unsuitable = |found: String, expected: String| {
        let expected = format!("{expected}: all files must have the same columns");
        Err(DataError::Unsuitable { file: table.name.clone(), found, expected: expected.into() })
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
