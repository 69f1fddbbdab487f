//! Converts arrays of every Arrow type to the few types that rows are made of.

use crate::decode_error::DecodeError;
use crate::kind::Kind;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BooleanArray, StringViewArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, TimeUnit};
use arrow_select::take::take;
use rueful_data::{Cell, Moment, Role};

/// The powers of ten up to this one are exact in double precision.
const EXACT_POWERS: usize = 22;

/// The cells of one column, for some rows.
#[derive(Debug)]
pub(crate) enum Cells {
    /// Numbers. A missing cell is NaN.
    Numbers(Vec<f64>),
    Truths(BooleanArray),
    Words(StringViewArray),
    /// Words by their numbers in a dictionary, and which of them are nulls.
    Numbered(Vec<usize>, Option<NullBuffer>, StringViewArray),
    Moments(Vec<Option<Moment>>),
    /// No row has a value.
    Nothing,
}

impl Cells {
    /// Converts an array to the cells of a column with this role.
    pub(crate) fn new(array: &ArrayRef, role: Role) -> Result<Self, DecodeError> {
        if let DataType::Dictionary(..) = array.data_type() {
            return Self::of_dictionary(array, role);
        }
        let is_name = matches!(role, Role::Category | Role::Text | Role::Id);
        Ok(match Kind::of(array.data_type()) {
            Kind::Number if is_name => Self::Words(number_names(array)?),
            Kind::Number if role == Role::Number => Self::Numbers(singles(array)?),
            Kind::Number => Self::Numbers(numbers(array)?),
            Kind::Truth => Self::Truths(array.as_boolean().clone()),
            Kind::Word => Self::Words(words(array)?),
            Kind::Moment if role == Role::Date => Self::Moments(moments(array)?),
            Kind::Moment => Self::Words(moment_names(array)?),
            Kind::Nothing => Self::Nothing,
            Kind::Other => return Err(unexpected(array)),
        })
    }

    /// Words stay in their dictionary. Other values take the places of their numbers.
    fn of_dictionary(array: &ArrayRef, role: Role) -> Result<Self, DecodeError> {
        let dictionary = array.as_any_dictionary();
        let (keys, values) = (dictionary.keys(), dictionary.values());
        match Kind::of(values.data_type()) {
            _ if values.is_empty() => Ok(Self::Nothing),
            Kind::Word => {
                let keys = (dictionary.normalized_keys(), keys.nulls().cloned());
                Ok(Self::Numbered(keys.0, keys.1, words(values)?))
            }
            _ => Self::new(&take(values, keys, None)?, role),
        }
    }

    /// The cell of one row.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> Cell<'_> {
        match self {
            Self::Numbers(numbers) => Cell::Number(numbers[row]),
            Self::Words(words) if words.is_valid(row) => Cell::Text(words.value(row)),
            Self::Numbered(numbers, nulls, words)
                if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row))
                    && words.is_valid(numbers[row]) =>
            {
                Cell::Text(words.value(numbers[row]))
            }
            Self::Moments(moments) => moments[row].map_or(Cell::Missing, Cell::Moment),
            Self::Truths(truths) if truths.is_valid(row) => Cell::Truth(truths.value(row)),
            _ => Cell::Missing,
        }
    }
}

fn words(array: &ArrayRef) -> Result<StringViewArray, DecodeError> {
    Ok(match array.data_type() {
        DataType::Utf8 => StringViewArray::from(array.as_string::<i32>()),
        DataType::LargeUtf8 => StringViewArray::from(array.as_string::<i64>()),
        DataType::Utf8View => array.as_string_view().clone(),
        _ => return Err(unexpected(array)),
    })
}

/// Numbers that become features, and therefore singles. A number that is not exact as a double is
/// rounded to a single at once, as its text would be. Rounding it again then changes nothing.
fn singles(array: &ArrayRef) -> Result<Vec<f64>, DecodeError> {
    use DataType as D;
    Ok(match array.data_type() {
        D::Int64 => each::<Int64Type>(array, |number| f64::from(number as f32)),
        D::UInt64 => each::<UInt64Type>(array, |number| f64::from(number as f32)),
        D::Decimal32(..) => decimal_singles::<Decimal32Type>(array)?,
        D::Decimal64(..) => decimal_singles::<Decimal64Type>(array)?,
        D::Decimal128(..) => decimal_singles::<Decimal128Type>(array)?,
        D::Decimal256(..) => decimal_singles::<Decimal256Type>(array)?,
        _ => numbers(array)?,
    })
}

/// Decimals that become features. If the nearest double lies in the middle of two singles, it does
/// not tell which of them is nearer to the decimal. In that case the text of the decimal is parsed.
fn decimal_singles<T: DecimalType>(array: &ArrayRef) -> Result<Vec<f64>, DecodeError> {
    let decimals = array.as_primitive::<T>();
    let mut values = numbers(array)?;
    for (row, value) in values.iter_mut().enumerate() {
        if is_middle_of_singles(*value) && decimals.is_valid(row) {
            let single = decimals.value_as_string(row).parse::<f32>().ok();
            *value = single.filter(|single| single.is_finite()).map_or(*value, f64::from);
        }
    }
    Ok(values)
}

/// Whether a double lies in the middle of two neighbouring singles. Only there can it be rounded to
/// a single other than the one nearest to the number it stands for.
fn is_middle_of_singles(value: f64) -> bool {
    let single = value as f32;
    f64::from(single) != value && {
        let other = if f64::from(single) < value { single.next_up() } else { single.next_down() };
        (f64::from(single) + f64::from(other)) / 2.0 == value
    }
}

/// Numbers in double precision. They are correctly rounded, as their text would be.
fn numbers(array: &ArrayRef) -> Result<Vec<f64>, DecodeError> {
    use DataType as D;
    Ok(match array.data_type() {
        D::Int8 => each::<Int8Type>(array, f64::from),
        D::Int16 => each::<Int16Type>(array, f64::from),
        D::Int32 => each::<Int32Type>(array, f64::from),
        D::Int64 => each::<Int64Type>(array, |number| number as f64),
        D::UInt8 => each::<UInt8Type>(array, f64::from),
        D::UInt16 => each::<UInt16Type>(array, f64::from),
        D::UInt32 => each::<UInt32Type>(array, f64::from),
        D::UInt64 => each::<UInt64Type>(array, |number| number as f64),
        D::Float16 => each::<Float16Type>(array, f64::from),
        D::Float32 => each::<Float32Type>(array, f64::from),
        D::Float64 => each::<Float64Type>(array, |number| number),
        D::Decimal32(_, scale) => decimals::<Decimal32Type>(array, *scale, |n| Some(n.into())),
        D::Decimal64(_, scale) => decimals::<Decimal64Type>(array, *scale, Some),
        D::Decimal128(_, scale) => decimals::<Decimal128Type>(array, *scale, |n| n.try_into().ok()),
        D::Decimal256(_, scale) => {
            decimals::<Decimal256Type>(array, *scale, |n| n.to_i128()?.try_into().ok())
        }
        _ => return Err(unexpected(array)),
    })
}

fn each<T: ArrowPrimitiveType>(array: &ArrayRef, number: impl Fn(T::Native) -> f64) -> Vec<f64> {
    let array = array.as_primitive::<T>();
    let values = array.values().iter();
    match array.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => values.map(|&value| number(value)).collect(),
        Some(nulls) => values
            .zip(nulls.iter())
            .map(|(&value, is_valid)| if is_valid { number(value) } else { f64::NAN })
            .collect(),
    }
}

/// Decimals in double precision. A quotient of two exact numbers is correctly rounded. If the
/// numbers are not exact, the text of the decimal is parsed.
fn decimals<T: DecimalType>(
    array: &ArrayRef,
    scale: i8,
    small: impl Fn(T::Native) -> Option<i64>,
) -> Vec<f64> {
    let array = array.as_primitive::<T>();
    let power = usize::try_from(scale).ok().filter(|&scale| scale <= EXACT_POWERS);
    let power = power.map(|scale| (0..scale).fold(1.0, |power, _| power * 10.0));
    let value = |row| {
        let exact = small(array.value(row)).filter(|number| number.unsigned_abs() <= 1 << 53);
        match (exact, power) {
            (Some(number), Some(power)) => number as f64 / power,
            _ => array.value_as_string(row).parse().unwrap_or(f64::NAN),
        }
    };
    (0..array.len()).map(|row| if array.is_valid(row) { value(row) } else { f64::NAN }).collect()
}

/// Numbers as names. Whole numbers keep all their digits.
fn number_names(array: &ArrayRef) -> Result<StringViewArray, DecodeError> {
    use DataType as D;
    Ok(match array.data_type() {
        D::Int8 => names(array.as_primitive::<Int8Type>()),
        D::Int16 => names(array.as_primitive::<Int16Type>()),
        D::Int32 => names(array.as_primitive::<Int32Type>()),
        D::Int64 => names(array.as_primitive::<Int64Type>()),
        D::UInt8 => names(array.as_primitive::<UInt8Type>()),
        D::UInt16 => names(array.as_primitive::<UInt16Type>()),
        D::UInt32 => names(array.as_primitive::<UInt32Type>()),
        D::UInt64 => names(array.as_primitive::<UInt64Type>()),
        D::Float16 => names(array.as_primitive::<Float16Type>()),
        D::Float32 => names(array.as_primitive::<Float32Type>()),
        D::Float64 => names(array.as_primitive::<Float64Type>()),
        D::Decimal32(..) => decimal_names::<Decimal32Type>(array),
        D::Decimal64(..) => decimal_names::<Decimal64Type>(array),
        D::Decimal128(..) => decimal_names::<Decimal128Type>(array),
        D::Decimal256(..) => decimal_names::<Decimal256Type>(array),
        _ => return Err(unexpected(array)),
    })
}

/// The names of numbers. A value that is not a number gets the name `NaN`, which counts as missing.
fn names<T: ArrowPrimitiveType>(array: &arrow_array::PrimitiveArray<T>) -> StringViewArray
where
    T::Native: std::fmt::Display,
{
    array.iter().map(|number| number.map(|number| number.to_string())).collect()
}

fn decimal_names<T: DecimalType>(array: &ArrayRef) -> StringViewArray {
    let array = array.as_primitive::<T>();
    named(array, |row| array.value_as_string(row))
}

fn named(array: &dyn Array, name: impl Fn(usize) -> String) -> StringViewArray {
    (0..array.len()).map(|row| array.is_valid(row).then(|| name(row))).collect()
}

/// Dates and times. A null and a moment beyond the calendar give `None`.
fn moments(array: &ArrayRef) -> Result<Vec<Option<Moment>>, DecodeError> {
    use DataType as D;
    const MILLI: i64 = 1000;
    macro_rules! moments_of {
        ($type:ty, $moment:expr) => {
            array.as_primitive::<$type>().iter().map(|value| value.and_then($moment)).collect()
        };
    }
    let since = |per_second: i64| move |units: i64| Moment::since_1970(units, per_second);
    Ok(match array.data_type() {
        D::Date32 => moments_of!(Date32Type, |day| Some(Moment::date(day))),
        D::Date64 => moments_of!(Date64Type, |units| {
            i32::try_from(units.div_euclid(86_400 * MILLI)).ok().map(Moment::date)
        }),
        D::Time32(TimeUnit::Second) => {
            moments_of!(Time32SecondType, |units| Moment::time(units.into(), 1))
        }
        D::Time32(_) => {
            moments_of!(Time32MillisecondType, |units| { Moment::time(units.into(), MILLI) })
        }
        D::Time64(TimeUnit::Microsecond) => {
            moments_of!(Time64MicrosecondType, |units| Moment::time(units, MILLI * MILLI))
        }
        D::Time64(_) => {
            moments_of!(Time64NanosecondType, |units| Moment::time(units, MILLI * MILLI * MILLI))
        }
        D::Timestamp(TimeUnit::Second, _) => moments_of!(TimestampSecondType, since(1)),
        D::Timestamp(TimeUnit::Millisecond, _) => {
            moments_of!(TimestampMillisecondType, since(MILLI))
        }
        D::Timestamp(TimeUnit::Microsecond, _) => {
            moments_of!(TimestampMicrosecondType, since(MILLI * MILLI))
        }
        D::Timestamp(TimeUnit::Nanosecond, _) => {
            moments_of!(TimestampNanosecondType, since(MILLI * MILLI * MILLI))
        }
        _ => return Err(unexpected(array)),
    })
}

/// Dates and times as names: `2026-11-15`, `23:30:00`, `2026-11-15 23:30:00`. Those with a time
/// zone are written in UTC. The name of a moment beyond the calendar is its number.
fn moment_names(array: &ArrayRef) -> Result<StringViewArray, DecodeError> {
    use DataType as D;
    macro_rules! named_as {
        ($type:ty, $value:ident) => {{
            let array = array.as_primitive::<$type>();
            named(array, |row| match array.$value(row) {
                Some(moment) => moment.to_string(),
                None => array.value(row).to_string(),
            })
        }};
    }
    Ok(match array.data_type() {
        D::Date32 => named_as!(Date32Type, value_as_date),
        D::Date64 => named_as!(Date64Type, value_as_date),
        D::Time32(TimeUnit::Second) => named_as!(Time32SecondType, value_as_time),
        D::Time32(_) => named_as!(Time32MillisecondType, value_as_time),
        D::Time64(TimeUnit::Microsecond) => named_as!(Time64MicrosecondType, value_as_time),
        D::Time64(_) => named_as!(Time64NanosecondType, value_as_time),
        D::Timestamp(TimeUnit::Second, _) => named_as!(TimestampSecondType, value_as_datetime),
        D::Timestamp(TimeUnit::Millisecond, _) => {
            named_as!(TimestampMillisecondType, value_as_datetime)
        }
        D::Timestamp(TimeUnit::Microsecond, _) => {
            named_as!(TimestampMicrosecondType, value_as_datetime)
        }
        D::Timestamp(TimeUnit::Nanosecond, _) => {
            named_as!(TimestampNanosecondType, value_as_datetime)
        }
        _ => return Err(unexpected(array)),
    })
}

#[cold]
fn unexpected(array: &ArrayRef) -> DecodeError {
    DecodeError::new(format!("a column of type {}", array.data_type()))
}
