//! ARFF, the format of Weka: a header that declares the attributes, then one row per line.
//!
//! ```text
//! % a comment
//! @relation weather
//! @attribute temperature numeric
//! @attribute outlook {sunny, overcast, rainy}
//! @data
//! 71.5, overcast
//! {1 rainy}
//! ```
//!
//! A row gives its values in order, between commas. Or it gives in braces only those that are not
//! zero, each after the number of its attribute, counted from 0. An attribute that such a row
//! leaves out is 0, or the first value that was declared. Words are quoted with `'` or `"`, and
//! within quotes a backslash takes the next character as it is. `?` is a missing value, and `%`
//! outside quotes begins a comment. Every file has a header of its own, and all files must declare
//! the same.

mod head;
mod row;

use crate::format::{Fault, Format, quoted};
use crate::rows::{Rows, Space};
use crate::schema::{Column, Columns, FormatSettings, Role};
use crate::source::Reading;
use crate::table::date_note;
use crate::table::plan::{Plan, argument};
use crate::text::Text;
use crate::{Bits, DataError, Phrase};
use head::Head;
pub(crate) use head::has_data;
use row::{Checks, Rows as ArffRows};
use serde::{Deserialize, Serialize};

/// The declarations of an ARFF file, and the roles of its attributes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Parts")]
pub struct Arff {
    /// The number of bits in the index of a feature that has a name.
    pub bits: Bits,
    /// The attributes and their roles.
    pub columns: Columns,
    /// The declared kind of each attribute.
    kinds: Vec<AttributeKind>,
}

/// The fields of [`Arff`] before they are checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    bits: Bits,
    columns: Columns,
    kinds: Vec<AttributeKind>,
}

impl TryFrom<Parts> for Arff {
    type Error = String;

    fn try_from(Parts { bits, columns, kinds }: Parts) -> Result<Self, String> {
        if columns.len() == kinds.len() {
            Ok(Self { bits, columns, kinds })
        } else {
            Err(format!("as many kinds as columns, not {} for {}", kinds.len(), columns.len()))
        }
    }
}

/// The declared kind of an attribute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AttributeKind {
    /// `numeric`, `real` or `integer`.
    Numeric,
    /// One of these names.
    Nominal(Vec<String>),
    /// `string`.
    String,
    /// `date`.
    Date,
}

impl Arff {
    /// The same declarations with other columns, one for each attribute.
    pub(crate) fn with_columns(self, columns: Columns) -> Self {
        debug_assert_eq!(columns.len(), self.kinds.len());
        Self { columns, ..self }
    }

    /// The declared kind of each attribute.
    pub fn kinds(&self) -> &[AttributeKind] {
        &self.kinds
    }

    /// Reads the header at the beginning of a file, and decides on the roles of its attributes.
    pub(crate) fn infer(
        file: &str,
        beginning: &[u8],
        format_settings: &FormatSettings,
    ) -> Result<(Self, Vec<Phrase>), DataError> {
        let head = Head::parse(beginning).map_err(|fault| head_error(file, beginning, fault))?;
        let names: Vec<String> =
            head.attributes.iter().map(|attribute| attribute.name.clone()).collect();
        let mut notes = vec![Phrase::from(format!("ARFF, {} attributes", names.len()))];
        let roles = format_settings.roles(file, &names, &mut notes)?;
        let mut columns = Vec::new();
        let mut kinds = Vec::new();
        for (attribute, role) in head.attributes.into_iter().zip(roles) {
            let (name, kind) = (attribute.name, attribute.kind);
            let role = match (role, &kind) {
                (Some(role), _) => role,
                (None, AttributeKind::Numeric) => Role::Number,
                (None, AttributeKind::Nominal(_)) => Role::Category,
                (None, AttributeKind::String) => {
                    let (shown, word) = (quoted(&name), argument(&name));
                    notes.push(
                        Phrase::from(format!(
                            "attribute {shown} is a string, taken for categories: "
                        ))
                        .setting("text")
                        .and(format!(" {word} takes its words for features, "))
                        .setting("drop")
                        .and(format!(" {word} leaves it out")),
                    );
                    Role::Category
                }
                (None, AttributeKind::Date) => {
                    notes.push(date_note(&name));
                    Role::Date
                }
            };
            columns.push(Column { name, role });
            kinds.push(kind);
        }
        let columns = Columns::checked(columns).map_err(|expected| DataError::Unsuitable {
            file: file.to_owned(),
            found: "attributes that do not go together".to_owned(),
            expected: expected.into(),
        })?;
        let expansion = format_settings.expansion.expansion(file, &columns, &mut notes)?;
        let columns = columns.expanded(expansion);
        Ok((Self { bits: format_settings.bits, columns, kinds }, notes))
    }
}

#[cold]
fn head_error(file: &str, text: &[u8], fault: Fault) -> DataError {
    let fault = fault.facts();
    let before = &text[..fault.at.min(text.len())];
    let line_start = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
    DataError::Parse {
        file: file.to_owned(),
        line: memchr::memchr_iter(b'\n', before).count() as u64 + 1,
        column: before.len() - line_start + 1,
        found: fault.found,
        expected: fault.expected,
        hint: fault.hint,
    }
}

/// The format, and how its rows are read.
#[derive(Debug)]
pub(crate) struct ArffFormat {
    arff: Arff,
    plan: Plan,
    checks: Checks,
}

impl ArffFormat {
    pub(crate) fn new(arff: &Arff, reading: &Reading) -> Self {
        let space = Space { bits: arff.bits, max_index: reading.limits.max_index };
        let plan = Plan::new(&arff.columns, space, reading);
        Self { arff: arff.clone(), plan, checks: Checks::new(arff) }
    }
}

impl Format for ArffFormat {
    fn read(&self, text: Text<'_>, rows: &mut Rows) -> Result<(), Fault> {
        let at = if text.is_first { self.check_head(text.bytes())? } else { 0 };
        ArffRows { text, bytes: text.bytes(), plan: &self.plan, checks: &self.checks }
            .read(at, rows)
    }

    fn has_head(&self, beginning: &[u8]) -> bool {
        has_data(beginning)
    }
}

impl ArffFormat {
    /// Compares the header of a file with the declarations. Returns where the rows begin.
    fn check_head(&self, text: &[u8]) -> Result<usize, Fault> {
        const SAME: &str = "all files must declare the same attributes";
        if text.is_empty() {
            return Ok(0);
        }
        let head = Head::parse(text)?;
        let known = self.arff.columns.iter().zip(&self.arff.kinds);
        for (attribute, (column, kind)) in head.attributes.iter().zip(known) {
            if attribute.name != column.name || attribute.kind != *kind {
                let expected = format!("the attribute {} as declared before", quoted(&column.name));
                let found = attribute.name.as_bytes();
                return Err(Fault::new(attribute.at, found, expected).hint(SAME));
            }
        }
        let (found, wanted) = (head.attributes.len(), self.arff.kinds.len());
        if found != wanted {
            let expected = format!("{wanted} attributes before it, not {found}");
            return Err(Fault::new(head.data, b"@data", expected).hint(SAME));
        }
        Ok(head.rows)
    }
}
