//! Reads frames of pandas, polars and others through Arrow's C interface.

use crate::error::{Outcome, PythonError};
use crate::named::reading;
use crate::side::{Side, Visit};
use crate::table::{Told, Way};
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use rueful_columnar::{Columnar, Format, Layout};
use rueful_core::Batch;
use rueful_data::{Bits, Column, Columns, DataError, FormatSettings, LabelRule, Role, Source};
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
    let reader = reader.map_err(|error| PythonError::value(format!("X: {error}")))?;
    Ok(Box::new(reader))
}

/// Returns the roles of the columns of a frame, and of the labels beside it, whose name is in
/// `format_settings`.
pub(crate) fn layout(
    batches: &dyn RecordBatchReader,
    format_settings: &FormatSettings,
) -> Outcome<Layout> {
    let label = format_settings.label.as_deref().unwrap_or_default();
    let schema = beside(&batches.schema(), label, false);
    let none = Empty(schema);
    let reading = reading(LabelRule::Ignored, true);
    let opened = rueful_columnar::open_batches(NAME, Box::new(none), format_settings, &reading)?;
    Ok(opened.layout)
}

/// A table with columns and without rows.
struct Empty(SchemaRef);

impl Iterator for Empty {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        None
    }
}

impl RecordBatchReader for Empty {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.0)
    }
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

/// Turns an error into one about a table in memory, where no file can be damaged.
fn told(error: DataError, side: Option<&Side<'_>>) -> PythonError {
    let (text, labels) = (error.to_string(), side.map_or(0, |side| side.labels.len()));
    match error {
        DataError::Read { .. } if text.contains(MORE_ROWS) => {
            PythonError::value(format!("{MORE_ROWS}, which has {labels}"))
        }
        DataError::Read { .. } => PythonError::Value(text),
        error => error.into(),
    }
}

/// Shows the rows of record batches to `visit`, some at a time.
pub(crate) fn each(
    batches: Batches,
    way: &Way<'_>,
    side: Option<&Side<'_>>,
    visit: &mut Visit<'_>,
) -> Outcome<Told> {
    let Way::Named { columns, bits, constant } = way else {
        return Err(PythonError::value(
            "X has names, and the model was fitted to numbered columns",
        ));
    };
    let mut source = match side {
        Some(side) => labelled(batches, columns, *bits, *constant, side)?,
        None => {
            let layout =
                Layout { format: Format::Arrow, bits: *bits, columns: columns.without_label() };
            let reading = reading(LabelRule::Ignored, *constant);
            Columnar::of_batches(NAME, batches, &layout, &reading)?
        }
    };
    let mut batch = Batch::default();
    let mut rows = 0;
    while source.fill(&mut batch).map_err(|error| told(error, side))? {
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
) -> Outcome<Columnar> {
    let (columns, label) = (with_importance(columns, side)?, columns.label().to_owned());
    let layout = Layout { format: Format::Arrow, bits, columns };
    let labelled = Labelled::new(batches, &label, side);
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
