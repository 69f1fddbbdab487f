//! Turns the names of files into a source of rows.

use crate::decode::Table;
use crate::kind::Kind;
use crate::layout::{Format, Layout};
use crate::source::Columnar;
use arrow_array::RecordBatchReader;
use arrow_schema::Schema;
use rueful_data::{
    Column, Columns, DataError, FormatSettings, KnownColumns, Phrase, Purpose, Reading, Role,
};

/// The name that pandas gives to the numbers of rows when it saves them as a column.
const PANDAS_INDEX: &str = "__index_level_0__";

/// A source of rows, and the decisions about how it is read.
#[derive(Debug)]
pub struct Opened {
    /// How the files are read. [`Columnar::open`] reads these or other files in the same way.
    pub layout: Layout,
    /// Notes in words about everything that was inferred.
    pub notes: Vec<Phrase>,
    /// The rows.
    pub source: Columnar,
}

/// Opens files that are read one after the other. The settings decide the roles of columns, and
/// where they leave a role open, the column's type decides it. All files must have the same
/// columns.
pub fn open(
    files: &[String],
    format: Format,
    format_settings: &FormatSettings,
    reading: &Reading,
) -> Result<Opened, DataError> {
    let first = files.first().ok_or(DataError::NoInput)?;
    check_wishes(first, format, format_settings)?;
    open_tables(open_all(files, format)?, format, format_settings, reading)
}

/// Reads record batches in memory as the rows of a table called `name`. The rules are those by
/// which [`open`] reads an Arrow file.
pub fn open_batches(
    name: &str,
    batches: Box<dyn RecordBatchReader + Send>,
    format_settings: &FormatSettings,
    reading: &Reading,
) -> Result<Opened, DataError> {
    check_wishes(name, Format::Arrow, format_settings)?;
    open_tables(vec![Table::memory(name, batches)], Format::Arrow, format_settings, reading)
}

fn open_tables(
    tables: Vec<Table>,
    format: Format,
    format_settings: &FormatSettings,
    reading: &Reading,
) -> Result<Opened, DataError> {
    let table = tables.first().ok_or(DataError::NoInput)?;
    let mut notes = vec![Phrase::from(table.note.clone())];
    let columns = columns(&table.name, &table.schema, format_settings, &mut notes)?;
    let name = table.name.clone();
    let mut layout = Layout { format, bits: format_settings.bits, columns };
    let mut source = Columnar::new(tables, &layout, reading)?;
    if !format_settings.expansion.curves.is_empty() {
        let values = |column: usize| source.first_numbers(column);
        layout.columns = layout.columns.curved(&name, format_settings, &mut notes, values)?;
        source.set_columns(layout.columns.clone());
    }
    Ok(Opened { layout, notes, source })
}

/// Opens files whose columns are known by their names. The first file only says where each column
/// is.
pub fn fit(
    files: &[String],
    format: Format,
    known: &KnownColumns,
    purpose: Purpose,
    reading: &Reading,
) -> Result<Opened, DataError> {
    let tables = open_all(files, format)?;
    let table = tables.first().ok_or(DataError::NoInput)?;
    let found: Vec<_> = table
        .schema
        .fields()
        .iter()
        .map(|field| Column {
            name: field.name().clone(),
            role: Kind::of(field.data_type()).usual_role(),
        })
        .collect();
    let columns = known.fit(&table.name, &found, purpose)?;
    let layout = Layout { format, bits: known.bits(), columns };
    let source = Columnar::new(tables, &layout, reading)?;
    Ok(Opened { layout, notes: Vec::new(), source })
}

/// A column, and the type that its file gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnType {
    /// The name of the column.
    pub name: String,
    /// The type, as Arrow writes it.
    pub kind: String,
}

/// Lists the columns of a file and their types, including those that cannot be learned from.
pub fn inspect(file: &str, format: Format) -> Result<Vec<ColumnType>, DataError> {
    let table = Table::open(file, format)?;
    let fields = table.schema.fields().iter();
    let described = fields.map(|field| ColumnType {
        name: field.name().clone(),
        kind: field.data_type().to_string(),
    });
    Ok(described.collect())
}

pub(crate) fn open_all(files: &[String], format: Format) -> Result<Vec<Table>, DataError> {
    files.iter().map(|file| Table::open(file, format)).collect()
}

/// Refuses settings that ask for another format, or that mean nothing for columnar files.
fn check_wishes(
    file: &str,
    format: Format,
    format_settings: &FormatSettings,
) -> Result<(), DataError> {
    if let Some(wished) =
        format_settings.format.as_deref().filter(|&wished| wished != format.name())
    {
        return Err(DataError::Unsuitable {
            file: file.to_owned(),
            found: format!("{format}"),
            expected: Phrase::from(format!("{wished}, as ")).setting("format").and(" says"),
        });
    }
    if format_settings.header.is_some() {
        return Err(DataError::Useless {
            file: file.to_owned(),
            settings: &["header"],
            format: match format {
                Format::Parquet => "Parquet",
                Format::Arrow => "Arrow",
            },
            reason: "its columns have names already",
        });
    }
    Ok(())
}

fn columns(
    file: &str,
    schema: &Schema,
    format_settings: &FormatSettings,
    notes: &mut Vec<Phrase>,
) -> Result<Columns, DataError> {
    let names: Vec<_> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let usual = |column: usize| Kind::of(schema.field(column).data_type()).usual_role();
    let columns = Columns::wished(file, &names, format_settings, notes, usual)?;
    if columns.iter().any(|c| c.name == PANDAS_INDEX && c.role == Role::Number) {
        let said = format!("column \"{PANDAS_INDEX}\" holds the row labels of pandas: ");
        let out = format!(" {PANDAS_INDEX} leaves it out");
        notes.push(Phrase::from(said).setting("drop").and(out));
    }
    Ok(columns)
}
