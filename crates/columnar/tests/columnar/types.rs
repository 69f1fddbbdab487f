//! Tests of every column type.

use super::*;
use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::{Int8Type, Int32Type, UInt16Type};
use arrow_array::*;
use arrow_buffer::i256;
use std::sync::Arc;

fn with_label(mut columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let len = columns[0].1.len();
    let labels = Float64Array::from_iter_values((0..len).map(|row| row as f64));
    columns.push(("y", Arc::new(labels)));
    table(columns)
}

/// The values of a column that is alone in its table. They must be the same in all formats.
fn values(array: ArrayRef) -> Vec<Option<f32>> {
    let batch = with_label(vec![("x", array)]);
    let read = |saved| {
        let rows = rows(saved, &batch, &labelled("y"));
        let value = |x: Vec<(String, f32)>| x.into_iter().find(|(name, _)| name == "x");
        rows.into_iter().map(|(_, x)| Some(value(x)?.1)).collect::<Vec<_>>()
    };
    let expected = read(Saved::PLAIN);
    for saved in Saved::ALL {
        assert_eq!(read(saved), expected, "{saved:?}");
    }
    expected
}

/// The feature names of a column that is alone in its table. They must be the same in all formats.
fn names(array: ArrayRef, format_settings: &FormatSettings) -> Vec<Vec<String>> {
    let batch = with_label(vec![("x", array)]);
    let read = |saved| {
        let rows = rows(saved, &batch, format_settings);
        let names = |x: Vec<(String, f32)>| x.into_iter().map(|(name, _)| name).collect();
        rows.into_iter().map(|(_, x)| names(x)).collect::<Vec<Vec<String>>>()
    };
    let expected = read(Saved::PLAIN);
    for saved in Saved::ALL {
        assert_eq!(read(saved), expected, "{saved:?}");
    }
    expected
}

fn categorical() -> FormatSettings {
    FormatSettings { categorical: vec!["x".to_owned()], ..labelled("y") }
}

#[test]
fn whole_numbers() {
    macro_rules! small {
        ($($array:ty),*) => {$(
            let array = <$array>::from(vec![Some(3), None, Some(100)]);
            assert_eq!(values(Arc::new(array)), [Some(3.0), None, Some(100.0)]);
        )*};
    }
    small!(Int8Array, Int16Array, Int32Array, Int64Array);
    small!(UInt8Array, UInt16Array, UInt32Array, UInt64Array);
    let large = Int64Array::from(vec![i64::MIN, -16_777_217, i64::MAX]);
    let rounded = [i64::MIN as f32, -16_777_216.0, i64::MAX as f32].map(Some);
    assert_eq!(values(Arc::new(large)), rounded);
    assert_eq!(values(Arc::new(UInt64Array::from(vec![u64::MAX]))), [Some(u64::MAX as f32)]);
    // This is one above the middle of two singles. Its nearest double is that middle.
    let above = (1_u64 << 60) + (1 << 36) + 1;
    let single = ((1_u64 << 60) + (1 << 37)) as f32;
    assert_eq!(values(Arc::new(UInt64Array::from(vec![above]))), [Some(single)]);
    assert_eq!(values(Arc::new(Int64Array::from(vec![-(above as i64)]))), [Some(-single)]);
}

#[test]
fn numbers_with_a_point() {
    let doubles =
        Float64Array::from(vec![Some(0.1), None, Some(f64::NAN), Some(-0.0), Some(1e-50)]);
    assert_eq!(values(Arc::new(doubles)), [Some(0.1), None, None, None, None]);
    let singles = Float32Array::from(vec![Some(0.1), Some(f32::MAX), None]);
    assert_eq!(values(Arc::new(singles)), [Some(0.1), Some(f32::MAX), None]);
}

#[test]
fn decimals_are_rounded_once() {
    let array = Decimal128Array::from(vec![Some(12345), None, Some(-5)]);
    let array = array.with_precision_and_scale(10, 2).unwrap();
    assert_eq!(values(Arc::new(array)), [Some(123.45), None, Some(-0.05)]);
    let long = "1234567890123456789.0123456789012345";
    let number = long.replace('.', "").parse::<i128>().unwrap();
    let array = Decimal128Array::from(vec![number]).with_precision_and_scale(38, 16).unwrap();
    assert_eq!(values(Arc::new(array)), [long.parse().ok()]);
    let array = Decimal256Array::from(vec![i256::from_i128(number), i256::from_i128(25)]);
    let array = array.with_precision_and_scale(50, 1).unwrap();
    assert_eq!(values(Arc::new(array)), [Some(number as f64 as f32 / 10.0), Some(2.5)]);
    // This is a little above the middle of two singles. Its nearest double is that middle.
    let array = Decimal128Array::from(vec![10_000_000_596_046_448, -10_000_000_596_046_448]);
    let array = array.with_precision_and_scale(30, 16).unwrap();
    assert_eq!(values(Arc::new(array)), [Some(1.000_000_1), Some(-1.000_000_1)]);
    let array = Decimal32Array::from(vec![325]).with_precision_and_scale(5, 2).unwrap();
    assert_eq!(values(Arc::new(array)), [Some(3.25)]);
    let array = Decimal64Array::from(vec![325]).with_precision_and_scale(15, 2).unwrap();
    assert_eq!(values(Arc::new(array)), [Some(3.25)]);
}

#[test]
fn truths_are_numbers_or_names() {
    let array: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]));
    assert_eq!(values(Arc::clone(&array)), [Some(1.0), None, None]);
    assert_eq!(names(array, &categorical()), [["x=true"], ["x=false"], ["x·missing"]]);
}

#[test]
fn strings_are_categories() {
    let words = vec![Some("clerk"), None, Some("NA"), Some(""), Some("a much longer profession")];
    let expected =
        [["x=clerk"], ["x·missing"], ["x·missing"], ["x·missing"], ["x=a much longer profession"]];
    let mut dictionary = StringDictionaryBuilder::<Int8Type>::new();
    words.iter().for_each(|word| dictionary.append_option(*word));
    let arrays: [ArrayRef; 4] = [
        Arc::new(StringArray::from(words.clone())),
        Arc::new(LargeStringArray::from(words.clone())),
        Arc::new(StringViewArray::from(words)),
        Arc::new(dictionary.finish()),
    ];
    for array in arrays {
        assert_eq!(names(array, &labelled("y")), expected);
    }
}

#[test]
fn strings_may_be_text() {
    let array = StringArray::from(vec![Some("Don't panic, don"), None, Some("NA")]);
    let format_settings = FormatSettings { text: vec!["x".to_owned()], ..labelled("y") };
    let expected = [vec!["x:don", "x:panic", "x:t"], vec![], vec!["x:na"]];
    assert_eq!(names(Arc::new(array), &format_settings), expected);
}

#[test]
fn a_dictionary_is_what_its_values_are() {
    let keys = UInt16Array::from(vec![Some(1), None, Some(0), Some(1)]);
    let numbers: ArrayRef = Arc::new(Float64Array::from(vec![Some(2.5), Some(7.0)]));
    let array = DictionaryArray::<UInt16Type>::new(keys, numbers);
    assert_eq!(values(Arc::new(array)), [Some(7.0), None, Some(2.5), Some(7.0)]);
}

#[test]
fn numbers_may_be_names() {
    let ids = Int64Array::from(vec![Some(9_007_199_254_740_993), None, Some(-1)]);
    let expected = [["x=9007199254740993"], ["x·missing"], ["x=-1"]];
    assert_eq!(names(Arc::new(ids), &categorical()), expected);
    let numbers = Float32Array::from(vec![0.1, 12.0, f32::NAN]);
    assert_eq!(names(Arc::new(numbers), &categorical()), [["x=0.1"], ["x=12"], ["x·missing"]]);
    let prices = Decimal128Array::from(vec![1250]).with_precision_and_scale(9, 2).unwrap();
    assert_eq!(names(Arc::new(prices), &categorical()), [["x=12.50"]]);
}

#[test]
fn moments_are_told_by_their_parts() {
    let parts = |array: ArrayRef| names(array, &labelled("y"));
    let day = Date32Array::from(vec![Some(20_772), None]);
    let expected = [vec!["x·month=11", "x·weekday=sunday", "x·years"], vec!["x·missing"]];
    assert_eq!(parts(Arc::new(day)), expected);
    let moment = ["x·hour=0", "x·month=1", "x·weekday=thursday", "x·years"];
    let millis = TimestampMillisecondArray::from(vec![1_500]).with_timezone("Europe/Berlin");
    assert_eq!(parts(Arc::new(millis)), [moment]);
    let nanos = TimestampNanosecondArray::from(vec![Some(1), None]);
    assert_eq!(parts(Arc::new(nanos)), [&moment[..], &["x·missing"]]);
    // The last hour of a Wednesday.
    let before = ["x·hour=23", "x·month=12", "x·weekday=wednesday", "x·years"];
    assert_eq!(parts(Arc::new(TimestampNanosecondArray::from(vec![-1]))), [before]);
    assert_eq!(parts(Arc::new(Time32SecondArray::from(vec![3_661]))), [["x·hour=1"]]);
    assert_eq!(parts(Arc::new(Time64MicrosecondArray::from(vec![1]))), [["x·hour=0"]]);
    let beyond = TimestampMillisecondArray::from(vec![i64::MAX]);
    assert_eq!(parts(Arc::new(beyond)), [["x·missing"]], "no calendar has it");
}

#[test]
fn moments_may_be_names() {
    let day = Date32Array::from(vec![Some(0), None, Some(20_772)]);
    let expected = [["x=1970-01-01"], ["x·missing"], ["x=2026-11-15"]];
    assert_eq!(names(Arc::new(day), &categorical()), expected);
    let moment = TimestampMillisecondArray::from(vec![1_500]).with_timezone("UTC");
    assert_eq!(names(Arc::new(moment), &categorical()), [["x=1970-01-01 00:00:01.500"]]);
    let moment = TimestampNanosecondArray::from(vec![86_400_000_000_000]);
    assert_eq!(names(Arc::new(moment), &categorical()), [["x=1970-01-02 00:00:00"]]);
    let time = Time32SecondArray::from(vec![3_661]);
    assert_eq!(names(Arc::new(time), &categorical()), [["x=01:01:01"]]);
    let time = Time64MicrosecondArray::from(vec![1]);
    assert_eq!(names(Arc::new(time), &categorical()), [["x=00:00:00.000001"]]);
}

#[test]
fn a_column_of_nulls_is_missing_everywhere() {
    let batch = with_label(vec![("x", Arc::new(NullArray::new(3)))]);
    for saved in Saved::ALL {
        let mut opened = open_saved(saved, &batch, &labelled("y")).unwrap();
        assert_eq!(drain(&mut opened.source).0.len(), 3);
        assert_eq!(opened.source.missing(), [3], "{saved:?}");
    }
}

#[test]
fn labels_of_every_kind() {
    let x: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    let labels: [(ArrayRef, LabelRule); 4] = [
        (Arc::new(BooleanArray::from(vec![true, false])), LabelRule::Signs),
        (Arc::new(Int8Array::from(vec![1, 0])), LabelRule::Signs),
        (Arc::new(StringArray::from(vec!["yes", "no"])), LabelRule::Positive("yes".to_owned())),
        (
            Arc::new(vec!["b", "a"].into_iter().collect::<DictionaryArray<Int32Type>>()),
            LabelRule::Positive("b".to_owned()),
        ),
    ];
    for (label, rule) in labels {
        let batch = table(vec![("y", label), ("x", Arc::clone(&x))]);
        for saved in Saved::ALL {
            let path = file(&saved.bytes(std::slice::from_ref(&batch)));
            let opened =
                open(&[name(&path)], saved.format(), &labelled("y"), &reading(rule.clone()));
            let (rows, error) = drain(&mut opened.unwrap().source);
            assert!(error.is_none(), "{error:?}");
            assert_eq!(rows, [row(1.0, &[("x", 1.0)]), row(-1.0, &[("x", 2.0)])]);
        }
    }
}
