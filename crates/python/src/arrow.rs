//! Reads frames of pandas, polars and others through Arrow's C interface.

use crate::dicts::reading;
use crate::error::{Outcome, PythonError};
use crate::named::{self, Plain, features, write_each};
use crate::side::{Side, Visit};
use crate::table::{Told, Way};
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{
    Array, ArrayRef, Float64Array, RecordBatch, RecordBatchIterator, RecordBatchReader,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use rueful_columnar::{Columnar, Format, Layout};
use rueful_core::Batch;
use rueful_data::{
    Bits, Column, Columns, DataError, FormatSettings, KNOT_ROWS, LabelRule, Names, Role, Source,
};
use std::ops::Range;
use std::sync::Arc;

/// The name of a table in memory in messages that otherwise name a file.
const NAME: &str = "X";

/// The name of the column of importances.
const IMPORTANCE: &str = "\u{0}importance";

/// The message if a table has more rows than there are labels.
const MORE_ROWS: &str = "X has more rows than y";

/// Record batches that another library hands over.
pub(crate) type Batches = Box<dyn RecordBatchReader + Send>;

/// Takes the Arrow stream of an object that has one.
#[allow(unsafe_code)]
pub(crate) fn import(object: &Bound<'_, PyAny>) -> PyResult<Batches> {
    let capsule = object.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    let stream = pointer.as_ptr().cast::<FFI_ArrowArrayStream>();
    // SAFETY: by the protocol, a capsule of this name holds a valid stream. `from_raw` moves it out
    // and leaves a released stream behind, which the capsule does not release again.
    let reader = unsafe { RecordBatchStreamReader::from_raw(stream) };
    let reader = reader.map_err(wrong)?;
    Ok(Box::new(reader))
}

/// Returns the roles of the columns of a frame, and of the labels beside it, whose name is in
/// `format_settings`. The first rows decide the knots of curves.
pub(crate) fn layout(mut batches: Batches, format_settings: &FormatSettings) -> Outcome<Layout> {
    let label = format_settings.label.as_deref().unwrap_or_default();
    let (schema, mut first, mut rows) = (batches.schema(), Vec::new(), 0);
    while !format_settings.expansion.curves.is_empty() && rows < KNOT_ROWS {
        let Some(batch) = batches.next() else { break };
        let batch = batch.map_err(wrong)?;
        rows += batch.num_rows();
        first.push(batch);
    }
    let first = concat_batches(&schema, &first).map_err(wrong)?;
    let first = RecordBatchIterator::new([Ok(first)], schema);
    let first = Labelled::new(Box::new(first), label, &Side::unknown(rows));
    let reading = reading(LabelRule::Ignored, true);
    let opened = rueful_columnar::open_batches(NAME, Box::new(first), format_settings, &reading)?;
    Ok(opened.layout)
}

fn wrong(error: ArrowError) -> PythonError {
    PythonError::value(format!("X: {error}"))
}

/// Returns the columns of a table, followed by its labels and, if there are any, its importances.
fn beside(schema: &Schema, label: &str, has_importances: bool) -> SchemaRef {
    let mut fields: Vec<_> = schema.fields().iter().cloned().collect();
    fields.push(Arc::new(Field::new(label, DataType::Float64, false)));
    if has_importances {
        fields.push(Arc::new(Field::new(IMPORTANCE, DataType::Float64, false)));
    }
    Arc::new(Schema::new(fields))
}

/// Batches to which labels, and importances if there are any, are added as columns.
struct Labelled {
    batches: Batches,
    schema: SchemaRef,
    labels: Vec<f64>,
    /// The importances; empty if all rows count 1.
    importances: Vec<f64>,
    /// The number of rows that were handed out so far.
    rows: usize,
}

impl Labelled {
    fn new(batches: Batches, label: &str, side: &Side<'_>) -> Self {
        let schema = beside(&batches.schema(), label, !side.importances.is_empty());
        let importances = side.importances.iter().map(|one| one.get()).collect();
        Self { batches, schema, labels: side.labels.to_vec(), importances, rows: 0 }
    }

    fn label(&mut self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let range = self.rows..self.rows + batch.num_rows();
        self.rows = range.end;
        let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
        let labels = self.labels.get(range.clone());
        let missing = || ArrowError::InvalidArgumentError(MORE_ROWS.to_owned());
        let labels = labels.ok_or_else(missing)?.to_vec();
        columns.push(Arc::new(Float64Array::from(labels)));
        if let Some(importances) = self.importances.get(range).filter(|all| !all.is_empty()) {
            columns.push(Arc::new(Float64Array::from(importances.to_vec())));
        }
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
    }
}

impl Iterator for Labelled {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        // Batches without rows are skipped: `label` would take them for batches without
        // importances.
        loop {
            match self.batches.next()? {
                Ok(batch) if batch.num_rows() == 0 => {}
                Ok(batch) => return Some(self.label(&batch)),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl RecordBatchReader for Labelled {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// Turns an error about rows that come after `before` others into one about a table in memory, where no
/// file can be damaged.
fn told(error: DataError, side: Option<&Side<'_>>, before: usize) -> PythonError {
    let (text, labels) = (error.to_string(), side.map_or(0, |side| side.labels.len()));
    match error {
        DataError::Row { file, row, found, expected, hint } => {
            DataError::Row { file, row: row + before as u64, found, expected, hint }.into()
        }
        DataError::Read { .. } if text.contains(MORE_ROWS) => {
            PythonError::value(format!("{MORE_ROWS}, which has {labels}"))
        }
        DataError::Read { .. } => PythonError::Value(text),
        error => error.into(),
    }
}

/// Shows the rows of record batches to `visit`, some at a time. Rows of floats alone are turned into rows
/// block by block. From the first other block on, cells are taken one by one.
pub(crate) fn each(
    mut batches: Batches,
    way: &Way<'_>,
    side: Option<&Side<'_>>,
    visit: &mut Visit<'_>,
) -> Outcome<Told> {
    let Way::Named { columns, bits, constant, .. } = way else {
        return Err(PythonError::value(
            "X has names, and the model was fitted to numbered columns",
        ));
    };
    let Some(plain) = plain(&batches.schema(), columns, *bits) else {
        return each_cell(batches, (columns, *bits, *constant), side, 0, visit);
    };
    let mut rows = 0;
    let mut rest = None;
    for batch in batches.by_ref() {
        let batch = batch.map_err(wrong)?;
        let count = batch.num_rows();
        let shown = match Floats::of_columns(&batch, &plain) {
            Some(floats) => {
                let unknown = Side::unknown(if side.is_none() { count } else { 0 });
                let (side, from) = side.map_or((&unknown, 0), |side| (side, rows));
                if from + count > side.labels.len() {
                    let labels = side.labels.len();
                    return Err(PythonError::value(format!("{MORE_ROWS}, which has {labels}")));
                }
                plain.each(from..from + count, &floats, *constant, side, visit)?
            }
            None => 0,
        };
        rows += shown;
        if shown < count {
            rest = Some(batch.slice(shown, count - shown));
            break;
        }
    }
    let names = if rows > 0 { plain.names() } else { Names::default() };
    let mut told = Told { names, missing: Vec::new() };
    if rest.is_some() || rows == 0 {
        // It words the error if there are no rows at all.
        let rest: Batches = match rest {
            Some(first) => Box::new(Rest { first: Some(first), batches }),
            None => batches,
        };
        told.extend(&each_cell(rest, (columns, *bits, *constant), side, rows, visit)?);
        return Ok(told);
    }
    side.map_or(Ok(()), |side| side.check(rows))?;
    Ok(told)
}

/// Returns the features of a table whose columns are these, if all are numbers and nothing is made of
/// them.
fn plain(schema: &Schema, columns: &Columns, bits: Bits) -> Option<Plain> {
    let places = features(columns);
    let fields = schema.fields().iter();
    let are_these = fields.len() == places.len()
        && fields.zip(&places).all(|(field, &place)| *field.name() == columns[place].name);
    are_these.then(|| Plain::new(columns, &places, bits)).flatten()
}

/// A column of floats.
enum Floats<'a> {
    Singles(&'a [f32]),
    Doubles(&'a [f64]),
    /// A column that is left out.
    None,
}

impl<'a> Floats<'a> {
    /// Returns the columns of a batch that are features. It is `None` if one holds anything else.
    fn of_columns(batch: &'a RecordBatch, plain: &Plain) -> Option<Vec<Self>> {
        let mut all: Vec<Self> = batch.columns().iter().map(|_| Self::None).collect();
        for column in plain.columns() {
            all[column] = Self::of(batch.column(column))?;
        }
        Some(all)
    }

    /// Returns the numbers of a column. It is `None` if they are no floats, or if one is missing.
    fn of(column: &'a ArrayRef) -> Option<Self> {
        if column.null_count() > 0 {
            return None;
        }
        match column.data_type() {
            DataType::Float32 => Some(Self::Singles(column.as_primitive::<Float32Type>().values())),
            DataType::Float64 => Some(Self::Doubles(column.as_primitive::<Float64Type>().values())),
            _ => None,
        }
    }
}

impl named::Table for Vec<Floats<'_>> {
    fn write(&self, column: usize, rows: Range<usize>, to: &mut [f32], step: usize) {
        match &self[column] {
            Floats::Singles(all) => write_each(to, step, all[rows].iter().copied()),
            Floats::Doubles(all) => write_each(to, step, all[rows].iter().map(|&one| one as f32)),
            Floats::None => {}
        }
    }

    fn doubles(&self, column: usize, rows: Range<usize>) -> Option<&[f64]> {
        match &self[column] {
            Floats::Doubles(all) => Some(&all[rows]),
            Floats::Singles(_) | Floats::None => None,
        }
    }

    fn number(&self, row: usize, column: usize) -> f32 {
        match &self[column] {
            Floats::Singles(all) => all[row],
            Floats::Doubles(all) => all[row] as f32,
            Floats::None => 0.0,
        }
    }
}

/// A batch, and those that come after it.
struct Rest {
    first: Option<RecordBatch>,
    batches: Batches,
}

impl Iterator for Rest {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.first.take().map(Ok).or_else(|| self.batches.next())
    }
}

impl RecordBatchReader for Rest {
    fn schema(&self) -> SchemaRef {
        self.batches.schema()
    }
}

/// Shows the rows of record batches, which come after `before` other rows, taking their cells one by
/// one.
fn each_cell(
    batches: Batches,
    (columns, bits, constant): (&Columns, Bits, bool),
    side: Option<&Side<'_>>,
    before: usize,
    visit: &mut Visit<'_>,
) -> Outcome<Told> {
    let mut source = match side {
        Some(side) => labelled(batches, columns, bits, constant, side, before)?,
        None => {
            let columns = columns.without_label();
            let layout = Layout { format: Format::Arrow, bits, columns };
            let reading = reading(LabelRule::Ignored, constant);
            Columnar::of_batches(NAME, batches, &layout, &reading)?
        }
    };
    let mut batch = Batch::default();
    let mut rows = before;
    while source.fill(&mut batch).map_err(|error| told(error, side, before))? {
        rows += batch.len();
        visit(batch.rows())?;
    }
    side.map_or(Ok(()), |side| side.check(rows))?;
    Ok(Told { names: source.names().clone(), missing: source.missing().to_vec() })
}

fn labelled(
    batches: Batches,
    columns: &Columns,
    bits: Bits,
    constant: bool,
    side: &Side<'_>,
    before: usize,
) -> Outcome<Columnar> {
    let (columns, label) = (with_importance(columns, side)?, columns.label().to_owned());
    let layout = Layout { format: Format::Arrow, bits, columns };
    let labelled = Labelled { rows: before, ..Labelled::new(batches, &label, side) };
    let reading = reading(LabelRule::Numbers, constant);
    Ok(Columnar::of_batches(NAME, Box::new(labelled), &layout, &reading)?)
}

/// Returns the columns, followed by one for importances if there are any.
pub(crate) fn with_importance(columns: &Columns, side: &Side<'_>) -> Outcome<Columns> {
    let expansion = columns.expansion().clone();
    let mut columns = Vec::from(columns.clone());
    if !side.importances.is_empty() {
        columns.push(Column { name: IMPORTANCE.to_owned(), role: Role::Importance });
    }
    let columns = Columns::try_from(columns);
    let columns = columns.map_err(|what| PythonError::value(format!("X: expected {what}")))?;
    Ok(columns.expanded(expansion))
}
