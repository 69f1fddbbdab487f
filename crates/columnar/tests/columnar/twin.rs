//! Tests of what only Parquet has: types by annotation, pages, dictionaries, levels. The twin of
//! our reader is the one that the crate `parquet` has for Arrow.

use super::*;
use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::types::{Float16Type, Int8Type};
use arrow_array::*;
use arrow_buffer::i256;
use arrow_schema::{DataType, Field, Fields};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Encoding;
use parquet::file::properties::{WriterPropertiesBuilder, WriterVersion};
use rueful_columnar::inspect;
use std::fs::File;
use std::sync::Arc;

type Half = <Float16Type as ArrowPrimitiveType>::Native;

/// The bytes of a file, with or without the schema that Arrow knows it by.
fn saved(batch: &RecordBatch, has_schema: bool, properties: WriterPropertiesBuilder) -> Vec<u8> {
    let options = ArrowWriterOptions::new()
        .with_properties(properties.build())
        .with_skip_arrow_metadata(!has_schema);
    let mut bytes = Vec::new();
    let mut writer =
        ArrowWriter::try_new_with_options(&mut bytes, batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn nested() -> Vec<(&'static str, ArrayRef)> {
    let mut lists = ListBuilder::new(Int32Builder::new());
    lists.append_value([Some(1), None]);
    lists.append_null();
    let lists: ArrayRef = Arc::new(lists.finish());
    let fields = Fields::from(vec![
        Field::new("a", DataType::Int64, false),
        Field::new("b", lists.data_type().clone(), true),
    ]);
    let children: Vec<ArrayRef> = vec![Arc::new(Int64Array::from(vec![1, 2])), Arc::clone(&lists)];
    let mut maps = builder::MapBuilder::new(
        None,
        builder::StringBuilder::new(),
        builder::Float32Builder::new(),
    );
    maps.keys().append_value("k");
    maps.values().append_value(0.5);
    maps.append(true).unwrap();
    maps.append(false).unwrap();
    vec![
        ("list", lists),
        ("struct", Arc::new(StructArray::new(fields, children, None))),
        ("map", Arc::new(maps.finish())),
    ]
}

#[test]
fn types_are_those_of_the_twin() {
    let moments = TimestampSecondArray::from(vec![1, 2]);
    let halves = Float16Array::from(vec![Half::ONE, Half::NAN]);
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("i8", Arc::new(Int8Array::from(vec![1, 2]))),
        ("u16", Arc::new(UInt16Array::from(vec![1, 2]))),
        ("u32", Arc::new(UInt32Array::from(vec![1, 2]))),
        ("u64", Arc::new(UInt64Array::from(vec![1, 2]))),
        ("half", Arc::new(halves)),
        ("words", Arc::new(LargeStringArray::from(vec!["a", "b"]))),
        ("few", Arc::new(vec!["a", "b"].into_iter().collect::<DictionaryArray<Int8Type>>())),
        ("bytes", Arc::new(LargeBinaryArray::from(vec![&b"a"[..], b"b"]))),
        ("seconds", Arc::new(moments.clone())),
        ("here", Arc::new(moments.with_timezone("Europe/Berlin"))),
        ("nanos", Arc::new(TimestampNanosecondArray::from(vec![1, 2]).with_timezone("UTC"))),
        ("day", Arc::new(Date64Array::from(vec![0, 86_400_000]))),
        ("time", Arc::new(Time32SecondArray::from(vec![1, 2]))),
        ("while", Arc::new(DurationSecondArray::from(vec![1, 2]))),
        ("price", Arc::new(Decimal32Array::from(vec![1, 2]))),
        ("long", Arc::new(Decimal256Array::from(vec![i256::ONE, i256::MINUS_ONE]))),
        ("nothing", Arc::new(NullArray::new(2))),
    ];
    columns.extend(nested());
    let batch = table(columns);
    for has_schema in [true, false] {
        let path = file(&saved(&batch, has_schema, WriterProperties::builder()));
        let twin = ArrowReaderMetadata::load(&File::open(&path).unwrap(), Default::default());
        let twin = twin.unwrap();
        let fields = twin.schema().fields().iter();
        let expected: Vec<_> =
            fields.map(|field| (field.name().clone(), field.data_type().to_string())).collect();
        let found = inspect(&name(&path), Format::Parquet).unwrap();
        let found: Vec<_> = found.into_iter().map(|column| (column.name, column.kind)).collect();
        assert_eq!(found, expected, "{has_schema}");
    }
}

/// Nulls lie between values of every length. Pages are short, and pieces span groups, dictionaries
/// and pages that no longer use their dictionary, or pages of plain values without one.
#[test]
fn rows_are_those_of_the_twin() {
    let rows = 20_000_i64;
    let some = |row: i64| row % 7 != 3;
    let words = |row: i64| format!("a profession of some length, number {}", row * row % 811);
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "word",
            Arc::new((0..rows).map(|row| some(row).then(|| words(row))).collect::<StringArray>()),
        ),
        (
            "half",
            Arc::new(
                (0..rows)
                    .map(|row| some(row).then(|| Half::from_f32(row as f32)))
                    .collect::<Float16Array>(),
            ),
        ),
        (
            "truth",
            Arc::new(
                (0..rows).map(|row| some(row).then_some(row % 3 == 0)).collect::<BooleanArray>(),
            ),
        ),
        (
            "number",
            Arc::new(
                (0..rows)
                    .map(|row| some(row).then_some(row as f64 / 8.0))
                    .collect::<Float64Array>(),
            ),
        ),
        (
            "long",
            Arc::new(
                (0..rows)
                    .map(|row| some(row).then(|| i128::from(row - 9) << 70))
                    .collect::<Decimal128Array>(),
            ),
        ),
        ("name", Arc::new(StringArray::from_iter_values((0..rows).map(words)))),
        ("y", Arc::new(Float64Array::from_iter_values((0..rows).map(|row| row as f64)))),
    ];
    let batch = table(columns);
    let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
    for (version, is_plain) in versions.into_iter().flat_map(|one| [(one, false), (one, true)]) {
        let properties = WriterProperties::builder().set_writer_version(version);
        let properties = if is_plain {
            properties.set_dictionary_enabled(false).set_encoding(Encoding::PLAIN)
        } else {
            properties
        };
        let properties = properties
            .set_max_row_group_row_count(Some(3_001))
            .set_data_page_size_limit(1_000)
            .set_write_batch_size(100)
            .set_dictionary_page_size_limit(10_000);
        let path = file(&saved(&batch, true, properties));
        let twin = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap();
        let twin: Vec<_> = twin.build().unwrap().map(Result::unwrap).collect();
        let schema = twin[0].schema();
        let in_memory = RecordBatchIterator::new(twin.into_iter().map(Ok), schema);
        let opened = rueful_columnar::open_batches(
            "twin",
            Box::new(in_memory),
            &labelled("y"),
            &reading(LabelRule::Numbers),
        );
        let (expected, error) = drain(&mut opened.unwrap().source);
        assert!(error.is_none(), "{error:?}");
        let opened =
            open(&[name(&path)], Format::Parquet, &labelled("y"), &reading(LabelRule::Numbers));
        let (found, error) = drain(&mut opened.unwrap().source);
        assert!(error.is_none(), "{error:?}");
        assert_eq!(found.len(), rows as usize);
        assert!(found == expected, "{version:?}, plain: {is_plain}");
    }
}
