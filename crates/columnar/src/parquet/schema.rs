//! The Arrow types of the columns of a Parquet file.
//!
//! Parquet has few types, and annotations that say what they stand for. A writer that knows Arrow
//! also saves the schema of its table, in base64, under the key `ARROW:schema`. The types in it are
//! hints: they choose among the types that the same bytes can have. Names, units and sizes of
//! Arrow's other readers follow from the same rules, so that a file has the same types everywhere.

use crate::decode_error::DecodeError;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::root_as_message;
use arrow_schema::{DataType, Field, FieldRef, IntervalUnit, Schema, TimeUnit};
use parquet::basic::{
    ConvertedType, LogicalType, Repetition, TimeUnit as Unit, Type as PhysicalType,
};
use parquet::file::metadata::FileMetaData;
use parquet::schema::types::{Type, TypePtr};
use std::collections::HashMap;
use std::sync::Arc;

const HINTS: &str = "ARROW:schema";
const FIELD_ID: &str = "PARQUET:field_id";
/// The prefix of a message: a mark and a length, four bytes each.
const PREFIX: usize = 8;
const MARK: [u8; 4] = [0xff; 4];

/// Decimals with more digits than this need more than 16 bytes.
const DIGITS_IN_16_BYTES: i32 = 38;

/// The types of the columns, and for each of them where its values are among those of all nested
/// columns. A column of columns has its first ones there.
pub(super) fn of(file: &FileMetaData) -> Result<(Schema, Vec<usize>), DecodeError> {
    let parquet = file.schema_descr();
    let columns = parquet.root_schema().get_fields();
    let hints = hints(file)?;
    let hints = children_of(hints.as_ref().map(|schema| &schema.fields()[..]), columns)?;
    let mut leaves = vec![None; columns.len()];
    for leaf in 0..parquet.num_columns() {
        leaves[parquet.get_column_root_idx(leaf)].get_or_insert(leaf);
    }
    let mut found: (Vec<Field>, Vec<usize>) = Default::default();
    for ((column, hint), leaf) in columns.iter().zip(hints).zip(leaves) {
        if let (Some(field), Some(leaf)) = (field(column, hint)?, leaf) {
            found.0.push(field);
            found.1.push(leaf);
        }
    }
    Ok((Schema::new(found.0), found.1))
}

/// The schema that the writer saved.
fn hints(file: &FileMetaData) -> Result<Option<Schema>, DecodeError> {
    let pairs = file.key_value_metadata().into_iter().flatten().rev();
    let saved = pairs.filter(|pair| pair.key == HINTS).find_map(|pair| pair.value.as_ref());
    let Some(saved) = saved else { return Ok(None) };
    let bytes = from_base64(saved).ok_or_else(|| DecodeError::new("a schema not in base64"))?;
    let is_prefixed = bytes.len() > PREFIX && bytes.starts_with(&MARK);
    let message = root_as_message(if is_prefixed { &bytes[PREFIX..] } else { &bytes });
    let message = message.map_err(|error| DecodeError::new(error.to_string()))?;
    let schema = message.header_as_schema();
    let schema = schema.ok_or_else(|| DecodeError::new("a message that is not a schema"))?;
    Ok(Some(try_fb_to_schema(schema)?))
}

/// Decodes base64. Four letters stand for three bytes, and the last of them may be `=`.
fn from_base64(text: &str) -> Option<Vec<u8>> {
    let letters = text.strip_suffix("==").or(text.strip_suffix('=')).unwrap_or(text);
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut held, mut bits) = (0_u32, 0);
    for letter in letters.bytes() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        held = (held << 6) | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
            held &= (1 << bits) - 1;
        }
    }
    (held == 0).then_some(bytes)
}

/// A column as a field of its parent. A struct without children has no values, and is left out.
fn field(column: &TypePtr, hint: Option<&Field>) -> Result<Option<Field>, DecodeError> {
    let kind = kind(column, hint.map(Field::data_type))?;
    Ok(kind.map(|kind| named(column, kind, hint)))
}

fn named(column: &Type, kind: DataType, hint: Option<&Field>) -> Field {
    let field = Field::new(column.name(), kind, repetition(column) == Repetition::OPTIONAL);
    let info = column.get_basic_info();
    match hint {
        Some(hint) => field.with_metadata(hint.metadata().clone()),
        None if info.has_id() => {
            field.with_metadata(HashMap::from([(FIELD_ID.to_owned(), info.id().to_string())]))
        }
        None => field,
    }
}

fn repetition(column: &Type) -> Repetition {
    let info = column.get_basic_info();
    if info.has_repetition() { info.repetition() } else { Repetition::REQUIRED }
}

/// The type of a column, or `None` if nothing in it has values.
fn kind(column: &TypePtr, hint: Option<&DataType>) -> Result<Option<DataType>, DecodeError> {
    let is_repeated = repetition(column) == Repetition::REPEATED;
    let annotation = column.get_basic_info().converted_type();
    match annotation {
        ConvertedType::LIST if !column.is_primitive() => list(column, hint),
        ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE if !column.is_primitive() => {
            map(column, hint)
        }
        _ if !is_repeated => single(column, hint),
        // A repeated column that is in no list is a list itself.
        _ => {
            let element = match hint {
                None => None,
                Some(DataType::List(element) | DataType::LargeList(element)) => Some(element),
                Some(DataType::FixedSizeList(element, _)) => Some(element),
                Some(_) => return Err(other_hint()),
            };
            let Some(kind) = single(column, element.map(|element| element.data_type()))? else {
                return Ok(None);
            };
            let field = Field::new(column.name(), kind, false);
            let metadata = element.map(|element| element.metadata().clone());
            Ok(Some(list_like(hint, field.with_metadata(metadata.unwrap_or_default()))))
        }
    }
}

/// The type of one value or struct, however often it is repeated.
fn single(column: &TypePtr, hint: Option<&DataType>) -> Result<Option<DataType>, DecodeError> {
    if column.is_primitive() {
        let own = primitive(column)?;
        return Ok(Some(match hint {
            Some(hint) => hinted(own, hint),
            None => own,
        }));
    }
    let columns = column.get_fields();
    let hints = match hint {
        None => None,
        Some(DataType::Struct(fields)) => Some(&fields[..]),
        Some(_) => return Err(other_hint()),
    };
    let hints = children_of(hints, columns)?;
    let fields = columns.iter().zip(hints).map(|(column, hint)| field(column, hint));
    let fields: Vec<_> = fields.filter_map(Result::transpose).collect::<Result<_, _>>()?;
    Ok((!fields.is_empty()).then(|| DataType::Struct(fields.into())))
}

/// The hint for each of these columns.
fn children_of<'a>(
    hints: Option<&'a [FieldRef]>,
    columns: &[TypePtr],
) -> Result<Vec<Option<&'a Field>>, DecodeError> {
    let Some(hints) = hints else { return Ok(vec![None; columns.len()]) };
    let names = hints.iter().map(|hint| hint.name().as_str());
    if !names.eq(columns.iter().map(|column| column.name())) {
        return Err(other_hint());
    }
    Ok(hints.iter().map(|hint| Some(hint.as_ref())).collect())
}

/// The type of a list: a column with a repeated child, which is the element or holds it.
fn list(column: &TypePtr, hint: Option<&DataType>) -> Result<Option<DataType>, DecodeError> {
    use DataType as D;
    let hint_of_element = match hint {
        None => None,
        Some(D::List(element) | D::LargeList(element) | D::FixedSizeList(element, _)) => {
            Some(element)
        }
        Some(D::ListView(element) | D::LargeListView(element)) => Some(element),
        Some(_) => return Err(other_hint()),
    }
    .map(AsRef::as_ref);
    let repeated = repeated_child(column)?;
    let children = if repeated.is_primitive() { &[] } else { repeated.get_fields() };
    match children {
        [element] if !is_element(column, repeated, element) => {
            let element = field(element, hint_of_element)?;
            Ok(element.map(|element| list_like(hint, element)))
        }
        _ => {
            let kind = single(repeated, hint_of_element.map(Field::data_type))?;
            Ok(kind.map(|kind| D::List(Arc::new(Field::new(repeated.name(), kind, false)))))
        }
    }
}

/// Whether the repeated child of a list is its element although it has a single child itself. Old
/// writers gave it one of these names.
fn is_element(list: &Type, repeated: &Type, child: &Type) -> bool {
    let info = repeated.get_basic_info();
    let is_list = match info.logical_type_ref() {
        Some(logical) => *logical == LogicalType::List,
        None => info.converted_type() == ConvertedType::LIST,
    };
    let is_named =
        repeated.name() == "array" || repeated.name() == format!("{}_tuple", list.name());
    is_named && !is_list && repetition(child) != Repetition::REPEATED
}

fn map(column: &TypePtr, hint: Option<&DataType>) -> Result<Option<DataType>, DecodeError> {
    let entries = repeated_child(column)?;
    let (key, value) = match if entries.is_primitive() { &[] } else { entries.get_fields() } {
        [_] => return list(column, hint),
        [key, value] => (key, value),
        _ => return Err(DecodeError::new("a map without keys and values")),
    };
    if [key, value].into_iter().any(|column| repetition(column) == Repetition::REPEATED) {
        return Err(DecodeError::new("a map of many values to a key"));
    }
    let (hint, hints, is_sorted) = match hint {
        None => (None, [None; 2], false),
        Some(DataType::Map(entries, is_sorted)) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                (Some(entries), [Some(fields[0].as_ref()), Some(&fields[1])], *is_sorted)
            }
            _ => return Err(other_hint()),
        },
        Some(_) => return Err(other_hint()),
    };
    let (key, value) = (field(key, hints[0])?, field(value, hints[1])?);
    let (Some(key), Some(value)) = (key, value) else { return Ok(None) };
    let fields = vec![key.with_nullable(false), value];
    let metadata = hint.map(|entries| entries.metadata().clone()).unwrap_or_default();
    let entries = Field::new_struct(entries.name(), fields, false).with_metadata(metadata);
    Ok(Some(DataType::Map(Arc::new(entries), is_sorted)))
}

/// The only child of a list or map. It is repeated, and its parent is not.
fn repeated_child(column: &Type) -> Result<&TypePtr, DecodeError> {
    match column.get_fields() {
        [child]
            if repetition(child) == Repetition::REPEATED
                && repetition(column) != Repetition::REPEATED =>
        {
            Ok(child)
        }
        _ => Err(DecodeError::new("a list without elements")),
    }
}

/// A list of the sort that the hint is.
fn list_like(hint: Option<&DataType>, element: Field) -> DataType {
    let element = Arc::new(element);
    match hint {
        Some(DataType::LargeList(_)) => DataType::LargeList(element),
        Some(DataType::FixedSizeList(_, length)) => DataType::FixedSizeList(element, *length),
        Some(DataType::ListView(_)) => DataType::ListView(element),
        Some(DataType::LargeListView(_)) => DataType::LargeListView(element),
        _ => DataType::List(element),
    }
}

/// The type that the hint asks for, if the bytes can have it. Otherwise it is their own.
fn hinted(own: DataType, hint: &DataType) -> DataType {
    use DataType as D;
    let fits = match (&own, hint) {
        (_, D::Dictionary(_, values)) => {
            let inner = hinted(own, values);
            return if inner == **values { hint.clone() } else { inner };
        }
        (D::Int32, D::Timestamp(..) | D::Time32(_)) => true,
        (D::Int64, D::Timestamp(..) | D::Time64(_) | D::Duration(_)) => true,
        (D::Int64 | D::Date32, D::Date64) => true,
        // This is also the type of 96-bit timestamps, which reach further in coarser units.
        (D::Timestamp(TimeUnit::Nanosecond, None), D::Timestamp(..)) => true,
        (D::Timestamp(own, _), D::Timestamp(hint, Some(_))) => own == hint,
        (D::Utf8, D::LargeUtf8 | D::Utf8View) => true,
        (D::Binary, D::LargeBinary | D::BinaryView) => true,
        (D::Binary, D::Utf8 | D::LargeUtf8 | D::Utf8View) => true,
        (D::Interval(_), D::Interval(_)) => true,
        (D::Decimal128(..), D::Decimal32(..) | D::Decimal64(..) | D::Decimal256(..)) => true,
        _ => false,
    };
    if fits { hint.clone() } else { own }
}

/// The type of a column of values, by its annotation. New writers annotate with a logical type, old
/// ones with a converted type.
fn primitive(column: &Type) -> Result<DataType, DecodeError> {
    use {ConvertedType as C, DataType as D, LogicalType as L, PhysicalType as P};
    let Type::PrimitiveType { basic_info, physical_type, type_length, scale, precision } = column
    else {
        return Err(DecodeError::new("values in a column of columns"));
    };
    let (logical, converted) = (basic_info.logical_type_ref(), basic_info.converted_type());
    let (scale, precision) = match logical {
        Some(L::Decimal(decimal)) => (decimal.scale, decimal.precision),
        _ => (*scale, *precision),
    };
    let decimal = |is_long: bool| {
        let precision = u8::try_from(precision).ok();
        let sizes = precision.zip(i8::try_from(scale).ok());
        let kind = if is_long { D::Decimal256 } else { D::Decimal128 };
        sizes.map(|(precision, scale)| kind(precision, scale)).ok_or_else(|| contradiction(column))
    };
    Ok(match (physical_type, logical, converted) {
        (_, Some(L::Unknown), _) => D::Null,
        (P::BOOLEAN, ..) => D::Boolean,
        (P::FLOAT, ..) => D::Float32,
        (P::DOUBLE, ..) => D::Float64,
        (P::INT96, ..) => D::Timestamp(TimeUnit::Nanosecond, None),
        (P::INT32 | P::INT64, Some(L::Decimal(_)), _) => decimal(false)?,
        (P::INT32 | P::INT64, None, C::DECIMAL) => decimal(false)?,
        (P::INT32, None, C::NONE | C::INT_32) => D::Int32,
        (P::INT32, None, C::INT_8) => D::Int8,
        (P::INT32, None, C::INT_16) => D::Int16,
        (P::INT32, None, C::UINT_8) => D::UInt8,
        (P::INT32, None, C::UINT_16) => D::UInt16,
        (P::INT32, None, C::UINT_32) => D::UInt32,
        (P::INT32, None, C::DATE) | (P::INT32, Some(L::Date), _) => D::Date32,
        (P::INT32, None, C::TIME_MILLIS) => D::Time32(TimeUnit::Millisecond),
        (P::INT32, Some(L::Time(time)), _) if time.unit == Unit::MILLIS => {
            D::Time32(TimeUnit::Millisecond)
        }
        (P::INT32, Some(L::Integer(integer)), _) => match (integer.bit_width, integer.is_signed) {
            (8, true) => D::Int8,
            (16, true) => D::Int16,
            (32, true) => D::Int32,
            (8, false) => D::UInt8,
            (16, false) => D::UInt16,
            (32, false) => D::UInt32,
            _ => return Err(contradiction(column)),
        },
        (P::INT64, None, C::NONE | C::INT_64) => D::Int64,
        (P::INT64, None, C::UINT_64) => D::UInt64,
        (P::INT64, None, C::TIME_MICROS) => D::Time64(TimeUnit::Microsecond),
        (P::INT64, None, C::TIMESTAMP_MILLIS) => in_utc(TimeUnit::Millisecond),
        (P::INT64, None, C::TIMESTAMP_MICROS) => in_utc(TimeUnit::Microsecond),
        (P::INT64, Some(L::Integer(integer)), _) if integer.bit_width == 64 => {
            if integer.is_signed { D::Int64 } else { D::UInt64 }
        }
        (P::INT64, Some(L::Time(time)), _) if time.unit != Unit::MILLIS => {
            D::Time64(unit(&time.unit))
        }
        (P::INT64, Some(L::Timestamp(timestamp)), _) => match unit(&timestamp.unit) {
            unit if timestamp.is_adjusted_to_u_t_c => in_utc(unit),
            unit => D::Timestamp(unit, None),
        },
        (P::BYTE_ARRAY, Some(L::String | L::Json), _) => D::Utf8,
        (P::BYTE_ARRAY, None, C::UTF8 | C::JSON) => D::Utf8,
        (P::BYTE_ARRAY, Some(L::Decimal(_)), _) | (P::BYTE_ARRAY, None, C::DECIMAL) => {
            decimal(precision > DIGITS_IN_16_BYTES)?
        }
        (P::BYTE_ARRAY, None, C::NONE | C::BSON | C::ENUM) => D::Binary,
        (P::BYTE_ARRAY, Some(L::Bson | L::Enum | L::Geometry(_) | L::Geography(_)), _) => D::Binary,
        (P::BYTE_ARRAY, Some(L::_Unknown { .. }), _) => D::Binary,
        (P::FIXED_LEN_BYTE_ARRAY, Some(L::Decimal(_)), _)
        | (P::FIXED_LEN_BYTE_ARRAY, None, C::DECIMAL) => match type_length {
            1..=16 => decimal(false)?,
            17..=32 => decimal(true)?,
            _ => return Err(contradiction(column)),
        },
        (P::FIXED_LEN_BYTE_ARRAY, None, C::INTERVAL) if *type_length == 12 => {
            D::Interval(IntervalUnit::DayTime)
        }
        (P::FIXED_LEN_BYTE_ARRAY, None, C::INTERVAL) => return Err(contradiction(column)),
        (P::FIXED_LEN_BYTE_ARRAY, Some(L::Float16), _) if *type_length == 2 => D::Float16,
        (P::FIXED_LEN_BYTE_ARRAY, Some(L::Float16), _) => return Err(contradiction(column)),
        (P::FIXED_LEN_BYTE_ARRAY, ..) => D::FixedSizeBinary(*type_length),
        _ => return Err(contradiction(column)),
    })
}

fn unit(unit: &Unit) -> TimeUnit {
    match unit {
        Unit::MILLIS => TimeUnit::Millisecond,
        Unit::MICROS => TimeUnit::Microsecond,
        Unit::NANOS => TimeUnit::Nanosecond,
    }
}

fn in_utc(unit: TimeUnit) -> DataType {
    DataType::Timestamp(unit, Some("UTC".into()))
}

fn contradiction(column: &Type) -> DecodeError {
    let name = column.name();
    DecodeError::new(format!("values of column {name} cannot be what its annotation says"))
}

fn other_hint() -> DecodeError {
    DecodeError::new("the columns are not those of the schema in the file")
}
