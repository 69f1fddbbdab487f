//! Decodes a column of a Parquet file: from pages to Arrow arrays.

use crate::decode_error::DecodeError;
use crate::parquet::pages::Chunks;
use crate::parquet::words::Words;
use arrow_array::types::*;
use arrow_array::{ArrayRef, ArrowPrimitiveType, BooleanArray, NullArray, PrimitiveArray};
use arrow_buffer::{BooleanBuffer, NullBuffer, i256};
use arrow_schema::{DataType, TimeUnit};
use bytes::Bytes;
use parquet::basic::Type as PhysicalType;
use parquet::column::reader::{ColumnReaderImpl, get_column_reader, get_typed_column_reader};
use parquet::data_type as physical;
use std::sync::Arc;

/// A column that is being decoded.
pub(super) struct Column {
    /// The type of its arrays.
    kind: DataType,
    reader: Reader,
}

/// The decoder, by the type that the values have in the file.
enum Reader {
    Truths(Values<physical::BoolType>),
    Int32s(Values<physical::Int32Type>),
    Int64s(Values<physical::Int64Type>),
    Int96s(Values<physical::Int96Type>),
    Floats(Values<physical::FloatType>),
    Doubles(Values<physical::DoubleType>),
    Bytes(Values<physical::ByteArrayType>),
    FixedBytes(Values<physical::FixedLenByteArrayType>),
    Words(Words),
}

impl Column {
    /// A column whose arrays have this type. It is not nested.
    pub(super) fn new(kind: &DataType, chunks: Chunks) -> Result<Self, DecodeError> {
        check_digits(kind)?;
        let reader = match chunks.column().physical_type() {
            PhysicalType::BOOLEAN => Reader::Truths(Values::new(chunks, false)),
            PhysicalType::INT32 => Reader::Int32s(Values::new(chunks, 0)),
            PhysicalType::INT64 => Reader::Int64s(Values::new(chunks, 0)),
            PhysicalType::INT96 => Reader::Int96s(Values::new(chunks, physical::Int96::new())),
            PhysicalType::FLOAT => Reader::Floats(Values::new(chunks, 0.0)),
            PhysicalType::DOUBLE => Reader::Doubles(Values::new(chunks, 0.0)),
            PhysicalType::BYTE_ARRAY if matches!(kind, DataType::Dictionary(..)) => {
                Reader::Words(Words::new(chunks)?)
            }
            PhysicalType::BYTE_ARRAY => Reader::Bytes(Values::new(chunks, no_bytes())),
            PhysicalType::FIXED_LEN_BYTE_ARRAY => {
                Reader::FixedBytes(Values::new(chunks, no_bytes().into()))
            }
        };
        Ok(Self { kind: kind.clone(), reader })
    }

    /// Decodes the next rows, at most this many. There are fewer of them only at the end.
    pub(super) fn next(&mut self, rows: usize) -> Result<ArrayRef, DecodeError> {
        let kind = &self.kind;
        match &mut self.reader {
            Reader::Words(words) => words.next(rows),
            Reader::Truths(truths) => truths.next(rows)?.array(kind, |truths, nulls| {
                Ok(Arc::new(BooleanArray::new(BooleanBuffer::from(truths), nulls)))
            }),
            Reader::Int32s(numbers) => {
                numbers.next(rows)?.array(kind, |numbers, nulls| from_int32s(kind, numbers, nulls))
            }
            Reader::Int64s(numbers) => {
                numbers.next(rows)?.array(kind, |numbers, nulls| from_int64s(kind, numbers, nulls))
            }
            Reader::Int96s(moments) => {
                moments.next(rows)?.array(kind, |moments, nulls| from_int96s(kind, &moments, nulls))
            }
            Reader::Floats(numbers) => numbers
                .next(rows)?
                .array(kind, |numbers, nulls| primitive::<Float32Type>(kind, numbers, nulls)),
            Reader::Doubles(numbers) => numbers
                .next(rows)?
                .array(kind, |numbers, nulls| primitive::<Float64Type>(kind, numbers, nulls)),
            Reader::Bytes(bytes) => bytes.next(rows)?.array(kind, |bytes, nulls| {
                from_bytes(kind, bytes.iter().map(physical::ByteArray::data), nulls)
            }),
            Reader::FixedBytes(bytes) => bytes.next(rows)?.array(kind, |bytes, nulls| {
                from_bytes(kind, bytes.iter().map(|bytes| bytes.data()), nulls)
            }),
        }
    }
}

/// Reads values of one type.
struct Values<T: physical::DataType> {
    chunks: Chunks,
    /// What stands in the place of a null.
    null: T::T,
    reader: Option<ColumnReaderImpl<T>>,
}

/// Some values, and which of them are nulls.
pub(super) struct Run<V> {
    pub(super) values: Vec<V>,
    pub(super) nulls: Option<NullBuffer>,
}

impl<T: physical::DataType> Values<T> {
    fn new(chunks: Chunks, null: T::T) -> Self {
        Self { chunks, null, reader: None }
    }

    fn next(&mut self, rows: usize) -> Result<Run<T::T>, DecodeError> {
        let (mut values, mut levels) = (Vec::with_capacity(rows), Vec::new());
        let mut read = 0;
        while read < rows {
            let Some(reader) = &mut self.reader else {
                let Some(pages) = self.chunks.next()? else { break };
                let reader = get_column_reader(self.chunks.column(), Box::new(pages));
                self.reader = Some(get_typed_column_reader(reader));
                continue;
            };
            let levels = Some(&mut levels);
            let (more, ..) = reader.read_records(rows - read, levels, None, &mut values)?;
            read += more;
            if more == 0 {
                self.reader = None;
            }
        }
        Ok(Run::new(values, &levels, &self.null))
    }
}

impl<V: Clone> Run<V> {
    /// Puts values where they belong among nulls. The level of a null is 0. A column that cannot
    /// have nulls has no levels.
    pub(super) fn new(values: Vec<V>, levels: &[i16], null: &V) -> Self {
        if values.len() >= levels.len() {
            return Self { values, nulls: None };
        }
        let nulls = NullBuffer::from_iter(levels.iter().map(|&level| level > 0));
        let mut values = values.into_iter();
        let spread = levels.iter().map(|&level| {
            let value = if level > 0 { values.next() } else { None };
            value.unwrap_or_else(|| null.clone())
        });
        Self { values: spread.collect(), nulls: Some(nulls) }
    }

    /// Makes an array of the values. A column whose values have no type is null in every row.
    fn array(
        self,
        kind: &DataType,
        array: impl FnOnce(Vec<V>, Option<NullBuffer>) -> Result<ArrayRef, DecodeError>,
    ) -> Result<ArrayRef, DecodeError> {
        match kind {
            DataType::Null => Ok(Arc::new(NullArray::new(self.values.len()))),
            _ => array(self.values, self.nulls),
        }
    }
}

/// An array of these values, whose type may have a unit, a time zone or a number of digits.
fn primitive<T: ArrowPrimitiveType>(
    kind: &DataType,
    values: Vec<T::Native>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, DecodeError> {
    if !PrimitiveArray::<T>::is_compatible(kind) {
        return Err(DecodeError::new(format!("values that cannot be {kind}")));
    }
    let array = PrimitiveArray::<T>::try_new(values.into(), nulls)?;
    Ok(Arc::new(array.with_data_type(kind.clone())))
}

/// The same, of values that have another type in the file.
fn converted<T: ArrowPrimitiveType, V>(
    kind: &DataType,
    values: Vec<V>,
    nulls: Option<NullBuffer>,
    convert: impl FnMut(V) -> T::Native,
) -> Result<ArrayRef, DecodeError> {
    primitive::<T>(kind, values.into_iter().map(convert).collect(), nulls)
}

/// Numbers of fewer than 32 bits keep their lowest ones, and unsigned numbers all of them.
fn from_int32s(
    kind: &DataType,
    values: Vec<i32>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, DecodeError> {
    use DataType as D;
    const MILLIS_PER_DAY: i64 = 86_400_000;
    match kind {
        D::Int8 => converted::<Int8Type, _>(kind, values, nulls, |number| number as i8),
        D::Int16 => converted::<Int16Type, _>(kind, values, nulls, |number| number as i16),
        D::UInt8 => converted::<UInt8Type, _>(kind, values, nulls, |number| number as u8),
        D::UInt16 => converted::<UInt16Type, _>(kind, values, nulls, |number| number as u16),
        D::UInt32 => converted::<UInt32Type, _>(kind, values, nulls, |number| number as u32),
        D::Date32 => primitive::<Date32Type>(kind, values, nulls),
        D::Date64 => {
            converted::<Date64Type, _>(kind, values, nulls, |day| i64::from(day) * MILLIS_PER_DAY)
        }
        D::Time32(TimeUnit::Second) => primitive::<Time32SecondType>(kind, values, nulls),
        D::Time32(_) => primitive::<Time32MillisecondType>(kind, values, nulls),
        D::Timestamp(..) => from_int64s(kind, values.into_iter().map(i64::from).collect(), nulls),
        _ if kind.is_decimal() => decimals(kind, values.into_iter().map(i128::from), nulls),
        _ => primitive::<Int32Type>(kind, values, nulls),
    }
}

fn from_int64s(
    kind: &DataType,
    values: Vec<i64>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, DecodeError> {
    use DataType as D;
    match kind {
        D::UInt64 => converted::<UInt64Type, _>(kind, values, nulls, |number| number as u64),
        D::Date64 => primitive::<Date64Type>(kind, values, nulls),
        D::Time64(TimeUnit::Microsecond) => primitive::<Time64MicrosecondType>(kind, values, nulls),
        D::Time64(_) => primitive::<Time64NanosecondType>(kind, values, nulls),
        D::Timestamp(unit, _) => match unit {
            TimeUnit::Second => primitive::<TimestampSecondType>(kind, values, nulls),
            TimeUnit::Millisecond => primitive::<TimestampMillisecondType>(kind, values, nulls),
            TimeUnit::Microsecond => primitive::<TimestampMicrosecondType>(kind, values, nulls),
            TimeUnit::Nanosecond => primitive::<TimestampNanosecondType>(kind, values, nulls),
        },
        _ if kind.is_decimal() => decimals(kind, values.into_iter().map(i128::from), nulls),
        _ => primitive::<Int64Type>(kind, values, nulls),
    }
}

/// Timestamps of 96 bits, which are a day and the nanoseconds since it began.
fn from_int96s(
    kind: &DataType,
    values: &[physical::Int96],
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, DecodeError> {
    let unit = match kind {
        DataType::Timestamp(TimeUnit::Second, _) => physical::Int96::to_seconds,
        DataType::Timestamp(TimeUnit::Millisecond, _) => physical::Int96::to_millis,
        DataType::Timestamp(TimeUnit::Microsecond, _) => physical::Int96::to_micros,
        _ => physical::Int96::to_nanos,
    };
    from_int64s(kind, values.iter().map(unit).collect(), nulls)
}

fn no_bytes() -> physical::ByteArray {
    Bytes::new().into()
}

/// Half floats, and decimals of any length.
fn from_bytes<'a>(
    kind: &DataType,
    values: impl Iterator<Item = &'a [u8]>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, DecodeError> {
    type Half = <Float16Type as ArrowPrimitiveType>::Native;
    match kind {
        DataType::Float16 => {
            let half =
                |bytes: &[u8]| bytes.first_chunk().map_or(Half::ZERO, |b| Half::from_le_bytes(*b));
            primitive::<Float16Type>(kind, values.map(half).collect(), nulls)
        }
        DataType::Decimal256(..) => {
            let numbers = values.map(|bytes| Ok(i256::from_be_bytes(widened(bytes)?)));
            let numbers = numbers.collect::<Result<_, DecodeError>>()?;
            primitive::<Decimal256Type>(kind, numbers, nulls)
        }
        _ => {
            let numbers = values.map(|bytes| Ok(i128::from_be_bytes(widened(bytes)?)));
            let numbers: Vec<_> = numbers.collect::<Result<_, DecodeError>>()?;
            decimals(kind, numbers.into_iter(), nulls)
        }
    }
}

/// A number of N bytes for one of fewer, the highest first. The number of no bytes is zero.
fn widened<const N: usize>(bytes: &[u8]) -> Result<[u8; N], DecodeError> {
    let sign = bytes.first().map_or(0, |&first| if first >= 0x80 { 0xff } else { 0 });
    let mut wide = [sign; N];
    let tail = N.checked_sub(bytes.len()).and_then(|start| wide.get_mut(start..));
    let tail =
        tail.ok_or_else(|| DecodeError::new(format!("a decimal of {} bytes", bytes.len())))?;
    tail.copy_from_slice(bytes);
    Ok(wide)
}

fn decimals(
    kind: &DataType,
    values: impl Iterator<Item = i128>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, DecodeError> {
    let too_long = |_| DecodeError::new(format!("a number too long for {kind}"));
    match kind {
        DataType::Decimal32(..) => {
            let values = values.map(|number| number.try_into().map_err(too_long));
            primitive::<Decimal32Type>(kind, values.collect::<Result<_, _>>()?, nulls)
        }
        DataType::Decimal64(..) => {
            let values = values.map(|number| number.try_into().map_err(too_long));
            primitive::<Decimal64Type>(kind, values.collect::<Result<_, _>>()?, nulls)
        }
        DataType::Decimal256(..) => {
            primitive::<Decimal256Type>(kind, values.map(i256::from_i128).collect(), nulls)
        }
        _ => primitive::<Decimal128Type>(kind, values.collect(), nulls),
    }
}

/// Refuses decimals with more digits than their type has room for.
fn check_digits(kind: &DataType) -> Result<(), DecodeError> {
    use validate_decimal_precision_and_scale as validate;
    match *kind {
        DataType::Decimal32(precision, scale) => validate::<Decimal32Type>(precision, scale)?,
        DataType::Decimal64(precision, scale) => validate::<Decimal64Type>(precision, scale)?,
        DataType::Decimal128(precision, scale) => validate::<Decimal128Type>(precision, scale)?,
        DataType::Decimal256(precision, scale) => validate::<Decimal256Type>(precision, scale)?,
        _ => (),
    }
    Ok(())
}
