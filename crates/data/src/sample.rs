//! The first numbers of a column, before anything is learned from them.

use crate::expansion::{Expansion, KNOT_ROWS, MISSING, PART};
use crate::json::Json;
use crate::labels::LabelRule;
use crate::names::Prefix;
use crate::rows::Rows;
use crate::schema::{Role, Schema};
use crate::source::Reading;
use crate::text::{PADDING, Text};
use rueful_core::Features;

/// The numbers of a column in the first rows of a text. Rows from a fault on are left out. The reader
/// reports faults.
pub(crate) fn first_values(
    schema: &Schema,
    column: usize,
    text: &[u8],
    is_whole: bool,
) -> Vec<f32> {
    let name = schema.columns()[column].name.clone();
    let schema = alone(schema, &name);
    let reading = Reading { constant: false, ..Reading::new(LabelRule::Ignored) };
    let format = schema.format(&reading);
    let len = if is_whole { Some(text.len()) } else { format.cut(text) };
    let mut padded = text[..len.unwrap_or(0)].to_vec();
    let len = padded.len();
    padded.push(b'\n');
    padded.resize(len + PADDING, 0);
    let mut rows = Rows::default();
    let _ = format.read(Text::new(&padded, len, true), &mut rows);
    let absent = Prefix::new(format!("{name}{PART}")).hash(MISSING.as_bytes());
    let absent = schema.bits().index(absent);
    let rows = rows.batch.iter().take(KNOT_ROWS);
    rows.flat_map(|row| numbers(row.features, absent)).collect()
}

/// The same format, of which one column is read and nothing else. A cell without a value makes a
/// feature, so that it is no 0.
fn alone(schema: &Schema, name: &str) -> Schema {
    let missing = Expansion { missing: true, ..Expansion::default() };
    let role = |of: &str| if of == name { Role::Number } else { Role::Drop };
    let mut schema = schema.with_roles(|column| role(&column.name));
    match &mut schema {
        Schema::Csv(table) => table.columns = table.columns.clone().expanded(missing),
        Schema::Arff(arff) => arff.columns = arff.columns.clone().expanded(missing),
        Schema::Jsonl(Json { closed, columns, .. }) => {
            (*closed, *columns) = (true, columns.clone().expanded(missing));
        }
        Schema::Libsvm {} | Schema::Vw { .. } => {}
    }
    schema
}

/// The numbers of a row. A row without a feature has the number 0.
fn numbers(x: Features<'_>, absent: u32) -> Vec<f32> {
    match x.values() {
        [] => vec![0.0],
        _ if x.indices().contains(&absent) => Vec::new(),
        values => values.to_vec(),
    }
}
