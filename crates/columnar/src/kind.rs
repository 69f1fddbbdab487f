//! Maps the type of a column to its use in learning.

use arrow_schema::{DataType, Schema};
use rueful_data::{Columns, DataError, Phrase, Role, argument, printable};

/// The kind of values that a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Number,
    Truth,
    Word,
    /// A date, a time, or both.
    Moment,
    /// The column is null in every row.
    Nothing,
    /// The column has a type that no feature can be made of.
    Other,
}

impl Kind {
    pub(crate) fn of(kind: &DataType) -> Self {
        use DataType as D;
        match kind {
            D::Int8 | D::Int16 | D::Int32 | D::Int64 => Self::Number,
            D::UInt8 | D::UInt16 | D::UInt32 | D::UInt64 => Self::Number,
            D::Float16 | D::Float32 | D::Float64 => Self::Number,
            D::Decimal32(..) | D::Decimal64(..) | D::Decimal128(..) | D::Decimal256(..) => {
                Self::Number
            }
            D::Boolean => Self::Truth,
            D::Utf8 | D::LargeUtf8 | D::Utf8View => Self::Word,
            D::Date32 | D::Date64 | D::Time32(_) | D::Time64(_) | D::Timestamp(..) => Self::Moment,
            D::Null => Self::Nothing,
            D::Dictionary(_, values) => Self::of(values),
            _ => Self::Other,
        }
    }

    /// The role of a column for which nobody asked for another. Whether the column can have this
    /// role is checked elsewhere.
    pub(crate) fn usual_role(self) -> Role {
        match self {
            Self::Word => Role::Category,
            Self::Moment => Role::Date,
            _ => Role::Number,
        }
    }

    fn suits(self, role: Role) -> bool {
        match role {
            Role::Drop => true,
            Role::Label => !matches!(self, Self::Moment | Self::Other),
            Role::Importance | Role::Prediction => self == Self::Number,
            Role::Number => matches!(self, Self::Number | Self::Truth | Self::Nothing),
            Role::Date => matches!(self, Self::Moment | Self::Word | Self::Nothing),
            Role::Category | Role::Text | Role::Id => self != Self::Other,
        }
    }
}

/// Refuses columns whose types do not suit their roles. One error names all of them.
pub(crate) fn check(file: &str, schema: &Schema, columns: &Columns) -> Result<(), DataError> {
    let mut unsuited: Vec<_> = schema
        .fields()
        .iter()
        .zip(columns.iter())
        .map(|(field, column)| (field.data_type(), column))
        .filter(|(kind, column)| !Kind::of(kind).suits(column.role))
        .collect();
    let is_own = |role: Role| !role.is_feature();
    if let Some(own) = unsuited.iter().position(|(_, column)| is_own(column.role)) {
        unsuited = vec![unsuited[own]];
    }
    let Some(&(_, first)) = unsuited.first() else { return Ok(()) };
    let found: Vec<_> = unsuited
        .iter()
        .map(|(kind, column)| format!("{} in column \"{}\"", plural(kind), printable(&column.name)))
        .collect();
    let names: Vec<_> = unsuited.iter().map(|(_, column)| argument(&column.name)).collect();
    let names = names.join(",");
    let are_all = |kind| unsuited.iter().all(|(found, _)| Kind::of(found) == kind);
    let expected = if first.role == Role::Label {
        Phrase::from("labels that are numbers, truths or words")
    } else if first.role == Role::Importance {
        "importances that are numbers".into()
    } else if first.role == Role::Prediction {
        "predictions that are numbers".into()
    } else if first.role == Role::Id {
        "ids that are words or numbers".into()
    } else if are_all(Kind::Word) {
        "numbers, as the schema says".into()
    } else if first.role == Role::Date {
        "dates".into()
    } else if are_all(Kind::Moment) {
        Phrase::from("numbers: ").setting("numeric").and(" cannot be asked of dates")
    } else {
        let rest = format!(" {names} leaves the rest out");
        Phrase::from("numbers, truths or words: ").setting("drop").and(rest)
    };
    Err(DataError::Unsuitable { file: file.to_owned(), found: found.join(", "), expected })
}

/// The plural noun for the values of a column of this type.
fn plural(kind: &DataType) -> &'static str {
    use DataType as D;
    match kind {
        D::Date32 | D::Date64 => "dates",
        D::Time32(_) | D::Time64(_) => "times of day",
        D::Timestamp(..) => "timestamps",
        D::Duration(_) => "durations",
        D::Interval(_) => "intervals",
        D::Binary | D::LargeBinary | D::BinaryView | D::FixedSizeBinary(_) => "bytes",
        D::List(_) | D::LargeList(_) | D::FixedSizeList(..) => "lists",
        D::ListView(_) | D::LargeListView(_) => "lists",
        D::Struct(_) => "structs",
        D::Map(..) => "maps",
        D::Union(..) => "unions",
        D::RunEndEncoded(..) => "runs",
        D::Dictionary(_, values) => plural(values),
        _ => match Kind::of(kind) {
            Kind::Word => "words",
            Kind::Truth => "truths",
            Kind::Nothing => "nulls",
            _ => "numbers",
        },
    }
}
