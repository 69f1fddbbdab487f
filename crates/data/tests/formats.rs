//! Rules that are the same in every text format.
#![allow(clippy::unwrap_used)] // In a test a panic is the report.

mod common;

use common::{NUMBERS, drain, input};
use proptest::prelude::*;
use rueful_core::Batch;
use rueful_data::{
    Census, DataError, FirstLabels, FormatSettings, LabelRule, Reading, Source, TextFiles,
    open_inputs,
};
use std::num::NonZeroUsize;

/// A row with the label 1 and one feature of this value, in every format.
fn written(value: &str) -> [(&'static str, String); 6] {
    [
        ("libsvm", format!("1 3:{value}\n")),
        ("vw", format!("1 | 3:{value}\n")),
        ("csv", format!("y,3\n1,{value}\n")),
        ("tsv", format!("y\t3\n1\t{value}\n")),
        ("jsonl", format!("{{\"y\": 1, \"3\": {value}}}\n")),
        ("arff", format!("@attribute y numeric\n@attribute 3 numeric\n@data\n1,{value}\n")),
    ]
}

fn has_columns(format: &str) -> bool {
    !matches!(format, "libsvm" | "vw")
}

fn format_settings(format: &str) -> FormatSettings {
    let label = has_columns(format).then(|| "y".to_owned());
    let header = matches!(format, "csv" | "tsv").then_some(true);
    FormatSettings { format: Some(format.to_owned()), label, header, ..FormatSettings::default() }
}

/// The bits of the value, read from every format.
fn read(value: &str) -> Vec<(&'static str, u32)> {
    let read = |(format, text): (&'static str, String)| {
        let mut opened =
            open_inputs(vec![input("data", text)], &format_settings(format), &NUMBERS).unwrap();
        let (rows, error) = drain(&mut opened.reader);
        assert!(error.is_none(), "{format} {value}: {error:?}");
        // A value of 0 is an absent feature.
        (format, rows[0].1.first().map_or(0, |&(_, bits)| bits))
    };
    written(value).into_iter().map(read).collect()
}

#[test]
fn a_decimal_becomes_the_nearest_single_in_every_format() {
    for (value, single) in [
        ("0.1", 0.1),
        ("1.0000000596046448", 1.000_000_1),
        ("-1.0000000596046448", -1.000_000_1),
        ("16777217", 16_777_216.0),
        ("16777217.000000001", 16_777_218.0),
        ("1.0000001788139343", 1.000_000_1),
        ("7.006492321624085354619e-46", f32::from_bits(1)),
        ("340282356779733661637539395458142568447", f32::MAX),
    ] {
        for (format, bits) in read(value) {
            assert_eq!(bits, f32::to_bits(single), "{format} {value}");
        }
    }
}

proptest! {
    #[test]
    fn decimals_about_the_middle_of_two_singles_are_rounded_once(
        neighbour in -1e4_f32..1e4, off in -3_i64..4, digits in 8_usize..24
    ) {
        let middle = f64::from(neighbour).to_bits() as i64 + (1 << 28);
        let value = format!("{:.digits$}", f64::from_bits((middle + off) as u64));
        let nearest: f32 = value.parse().unwrap();
        for (format, bits) in read(&value) {
            prop_assert_eq!(f32::from_bits(bits), nearest, "{} {}", format, value);
        }
    }
}

/// A table of the columns y, w, p, b and q in every format that has columns. The cells are written
/// as in CSV.
fn tables(rows: &[[&str; 5]]) -> [(&'static str, String); 4] {
    let names = ["y", "w", "p", "b", "q"];
    let lines =
        |separator: &str| -> String { rows.iter().map(|row| row.join(separator) + "\n").collect() };
    let json = |row: &[&str; 5]| {
        let word = |cell: &str| match cell {
            "" => "null".to_owned(),
            _ if cell.parse::<f64>().is_ok_and(f64::is_finite) => cell.to_owned(),
            _ => format!("\"{cell}\""),
        };
        let pairs: Vec<_> = names
            .iter()
            .zip(row)
            .map(|(name, cell)| format!("\"{name}\": {}", word(cell)))
            .collect();
        format!("{{{}}}\n", pairs.join(", "))
    };
    let kinds = ["numeric", "numeric", "numeric", "string", "numeric"];
    let attributes = names.iter().zip(kinds);
    let attributes: String =
        attributes.map(|(name, kind)| format!("@attribute {name} {kind}\n")).collect();
    let arff = rows.iter().map(|row| row.map(|cell| if cell.is_empty() { "?" } else { cell }));
    let arff: String = arff.map(|row| row.join(",") + "\n").collect();
    [
        ("csv", format!("{}\n{}", names.join(","), lines(","))),
        ("tsv", format!("{}\n{}", names.join("\t"), lines("\t"))),
        ("jsonl", rows.iter().map(json).collect()),
        ("arff", format!("{attributes}@data\n{arff}")),
    ]
}

/// A row of a file: label, importance, number of features, predictions and place.
type Told = (f64, f64, usize, Vec<f64>, String);

/// The rows of a file, and the counts over them: census, missing cells and names.
type Held = (Vec<Told>, Census, Vec<u64>, Vec<String>);

fn tell(format: &str, text: &str, labels: LabelRule, threads: usize) -> Result<Held, DataError> {
    let format_settings = FormatSettings {
        importance: Some("w".to_owned()),
        predictions: vec!["p".to_owned(), "q".to_owned()],
        ..format_settings(format)
    };
    let threads = NonZeroUsize::new(threads).unwrap();
    let reading = Reading { threads, ..Reading { labels, ..NUMBERS } };
    let mut reader = open_inputs(vec![input("data", text)], &format_settings, &reading)?.reader;
    let (mut batch, mut rows) = (Batch::default(), Vec::new());
    while reader.fill(&mut batch)? {
        let models = reader.predictions().chunks(2);
        for (row, (example, models)) in batch.iter().zip(models).enumerate() {
            let place = reader.place(row).unwrap();
            let length = example.features.indices().len();
            rows.push((example.label, example.importance.get(), length, models.to_vec(), place));
        }
    }
    let labels = reader.labels().counts.into_iter().map(|(label, _)| label).collect();
    Ok((rows, reader.census().clone(), reader.missing().to_vec(), labels))
}

#[test]
fn importances_and_predictions_are_no_features_in_any_format() {
    let rows = [
        ["1", "2.5", "0.25", "red", "1e300"],
        ["0", "0", "7", "green", "8"],
        ["0", "1e-30", "-0.30000000000000004", "", "0"],
        ["1", "0.0", "1", "", "1"],
        ["1", "1e30", "3", "red", "-4"],
    ];
    for (format, text) in tables(&rows) {
        let (told, census, missing, labels) = tell(format, &text, LabelRule::Signs, 1).unwrap();
        let first = text.lines().count() - 5;
        let expected = [
            (1.0, 2.5, 1, vec![0.25, 1e300], 1),
            (-1.0, 1e-30, 1, vec![-0.300_000_000_000_000_04, 0.0], 3),
            (1.0, 1e30, 1, vec![3.0, -4.0], 5),
        ];
        assert_eq!(told.len(), 3, "{format}");
        for (told, (label, importance, features, predictions, line)) in told.iter().zip(expected) {
            assert_eq!((told.0, told.2, &told.3), (label, features, &predictions), "{format}");
            assert!((told.1 / importance - 1.0).abs() < 1e-7, "{format}: {told:?}");
            assert_eq!(told.4, format!("data:{}", first + line), "{format}");
        }
        // The rows of importance 0 leave no trace: no example, no name, no missing cell, no label.
        assert_eq!((census.examples, census.features), (3, 2), "{format}");
        assert_eq!(missing.iter().sum::<u64>(), 1, "{format}");
        assert_eq!(labels, ["1", "0"], "{format}");
    }
}

#[test]
fn a_label_that_only_counts_nothing_is_no_third_one() {
    for (format, text) in tables(&[
        ["1", "1", "0", "a", "0"],
        ["2", "0", "0", "a", "0"],
        ["-1", "1", "0", "a", "0"],
        ["1", "1", "0", "a", "0"],
    ]) {
        let rule = LabelRule::Positive("1".to_owned());
        let (told, _, _, labels) = tell(format, &text, rule, 1).unwrap();
        assert_eq!(told.len(), 3, "{format}");
        assert_eq!(labels, ["1", "-1"], "{format}");
    }
}

#[test]
fn importances_and_predictions_that_are_none_are_refused() {
    const IMPORTANCE: &str = "an importance that is 0, or a number from 1e-30 to 1e30";
    const PREDICTION: &str = "a prediction, a finite number";
    for (cells, found, expected, name) in [
        (["1", "-1", "0", "a", "0"], "-1", IMPORTANCE, "w"),
        (["1", "9e-31", "0", "a", "0"], "9e-31", IMPORTANCE, "w"),
        (["1", "1.1e30", "0", "a", "0"], "1.1e30", IMPORTANCE, "w"),
        (["1", "inf", "0", "a", "0"], "inf", IMPORTANCE, "w"),
        (["1", "much", "0", "a", "0"], "much", IMPORTANCE, "w"),
        (["1", "1", "x", "a", "0"], "x", PREDICTION, "p"),
        (["1", "1", "0", "a", "1e999"], "1e999", PREDICTION, "q"),
    ] {
        for (format, text) in tables(&[["1", "1", "1", "a", "1"], cells]) {
            let error = tell(format, &text, LabelRule::Numbers, 1).unwrap_err().to_string();
            let line = text.lines().count();
            assert!(error.starts_with(&format!("data:{line}:")), "{format}: {error}");
            let place = if format == "jsonl" { "under the key" } else { "in column" };
            let said = format!("found \"{found}\", expected {expected}, {place} \"{name}\"");
            assert!(error.contains(&said), "{format}: {error}");
        }
    }
}

#[test]
fn an_importance_or_a_prediction_that_is_missing_is_refused() {
    for (cells, expected) in [
        (["1", "", "0", "a", "0"], "an importance that is 0, or a number from 1e-30 to 1e30"),
        (["1", "1", "", "a", "0"], "a prediction, a finite number"),
    ] {
        for (format, text) in tables(&[["1", "1", "1", "a", "1"], cells]) {
            let error = tell(format, &text, LabelRule::Numbers, 1).unwrap_err().to_string();
            assert!(error.contains(expected), "{format}: {error}");
        }
    }
    let text = "{\"y\": 1, \"p\": 1, \"q\": 2}\n";
    let error = tell("jsonl", text, LabelRule::Numbers, 1).unwrap_err().to_string();
    assert!(error.contains("expected an importance"), "{error}");
}

#[test]
fn formats_without_columns_have_no_column_of_importances() {
    for (format, text, reason) in [
        ("libsvm", "1 1:1\n", "it has no columns, and every line counts 1"),
        ("vw", "1 | a\n", "it is the number after the label"),
    ] {
        let format_settings =
            FormatSettings { importance: Some("w".to_owned()), ..format_settings(format) };
        let error = open_inputs(vec![input("data", text)], &format_settings, &NUMBERS).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("importance means nothing for"), "{error}");
        assert!(error.ends_with(reason), "{error}");
    }
}

/// A row of random cells. The importance `w` is 0 in a third of the rows.
fn row() -> impl Strategy<Value = [String; 5]> {
    let weight = prop::sample::select(vec!["0", "1", "0.5", "3e4", "0e9", "1e-30"]);
    let word = prop::sample::select(vec!["a", "b", "c", ""]);
    let label = prop::sample::select(vec!["1", "-1"]);
    (label, weight, -9..9_i32, word, -9..9_i32).prop_map(|(label, weight, p, word, q)| {
        [label.to_owned(), weight.to_owned(), p.to_string(), word.to_owned(), q.to_string()]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn rows_of_importance_0_are_as_if_they_were_not_there(
        rows in prop::collection::vec(row(), 1..30), threads in 1_usize..4
    ) {
        let cells = |rows: &[[String; 5]]| {
            let rows: Vec<[&str; 5]> = rows.iter().map(|row| row.each_ref().map(String::as_str)).collect();
            tables(&rows)
        };
        let counts = |row: &&[String; 5]| row[1].parse::<f64>().unwrap() > 0.0;
        let left: Vec<_> = rows.iter().filter(counts).cloned().collect();
        prop_assume!(!left.is_empty());
        for ((format, whole), (_, left)) in cells(&rows).into_iter().zip(cells(&left)) {
            let whole = tell(format, &whole, LabelRule::Signs, threads).unwrap();
            let left = tell(format, &left, LabelRule::Signs, 1).unwrap();
            let without_place = |rows: &[Told]| -> Vec<_> {
                rows.iter().map(|row| (row.0, row.1, row.2, row.3.clone())).collect()
            };
            prop_assert_eq!(without_place(&whole.0), without_place(&left.0), "{}", format);
            prop_assert_eq!(&whole.1, &left.1, "{}", format);
            prop_assert_eq!(whole.2.iter().sum::<u64>(), left.2.iter().sum::<u64>());
            prop_assert_eq!(whole.3, left.3, "{}", format);
        }
    }
}

/// Rows with these labels, in every format.
fn labelled(labels: &[&str]) -> [(&'static str, String); 6] {
    let rows = |row: &dyn Fn(&str) -> String| labels.iter().map(|label| row(label)).collect();
    let head = |head: &str, rows: String| head.to_owned() + &rows;
    [
        ("libsvm", rows(&|label| format!("{label} 3:1\n"))),
        ("vw", rows(&|label| format!("{label} | 3:1\n"))),
        ("csv", head("y,3\n", rows(&|label| format!("{label},1\n")))),
        ("tsv", head("y\t3\n", rows(&|label| format!("{label}\t1\n")))),
        ("jsonl", rows(&|label| format!("{{\"y\": \"{label}\", \"3\": 1}}\n"))),
        (
            "arff",
            head(
                "@attribute y string\n@attribute 3 numeric\n@data\n",
                rows(&|label| format!("{label},1\n")),
            ),
        ),
    ]
}

fn first_labels(format: &str, text: &str) -> FirstLabels {
    let mut files =
        TextFiles::look(vec![input("data", text)], &format_settings(format), &NUMBERS).unwrap();
    let first = files.first_labels(&NUMBERS).unwrap();
    // Looking at the labels has taken no rows away.
    let any = Reading { labels: LabelRule::Any, ..NUMBERS };
    let (rows, error) = drain(&mut files.read(&any));
    assert!(error.is_none() && rows.len() as u64 >= first.rows, "{format}: {error:?}");
    first
}

#[test]
fn the_first_labels_are_told_before_the_first_row() {
    let counts = [("yes".to_owned(), 2), ("no".to_owned(), 1)];
    for (format, text) in labelled(&["yes", "no", "yes"]) {
        for text in [&*text, text.trim_end(), &format!("\u{feff}{text}")] {
            let first = first_labels(format, text);
            assert_eq!((first.rows, &first.labels.counts[..]), (3, &counts[..]), "{format}");
        }
    }
}

#[test]
fn the_first_labels_are_those_of_the_beginning_alone() {
    let mut labels = vec!["yes"; 60_000];
    labels.push("no");
    for (format, text) in labelled(&labels) {
        let first = first_labels(format, &text);
        assert!(first.rows > 8000 && first.rows < 60_000, "{format}: {}", first.rows);
        assert_eq!(first.labels.counts, [("yes".to_owned(), first.rows)], "{format}");
    }
    // A first row that is longer than the usual sample is looked at as a whole.
    let long: String = (1..60_000).map(|index| format!(" {index}:1")).collect();
    let first = first_labels("libsvm", &format!("7{long}\n8{long}\n"));
    assert_eq!(first.labels.counts[0], ("7".to_owned(), 1));
}

#[test]
fn rows_that_do_not_count_and_rows_without_a_label_are_not_among_the_first() {
    let text = "3 0 | a\n1 2 | a\n2 | a\n | b\n1 | a\n";
    let first = first_labels("vw", text);
    assert_eq!(first.labels.counts, [("1".to_owned(), 2), ("2".to_owned(), 1)]);
}
