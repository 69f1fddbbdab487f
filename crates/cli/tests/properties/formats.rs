//! The same rows give the same results, whichever format they come in.

use crate::figures::{Agree, ROUNDING, assert_same, assert_solved_alike};
use crate::harness::Desk;
use crate::setups::{Setup, setups};
use crate::stream::{
    COLUMNS, LOSSES, Labels, Row, arff, csv, json_lines, libsvm, own, predictions, stream, vw,
    weighted,
};
use arrow_array::{ArrayRef, Float32Array, Float64Array, RecordBatch};
use parquet::arrow::ArrowWriter;
use std::sync::Arc;

fn name(column: u32) -> String {
    format!("x{column}")
}

/// Rows in which every column has a value, because a table has a cell for each.
fn whole_rows(labels: Labels, seed: u64) -> Vec<Row> {
    let mut rows = stream(labels, 120, seed);
    rows.retain(|row| row.features.len() == COLUMNS as usize);
    assert!(rows.len() > 15, "{} rows", rows.len());
    rows
}

fn parquet(rows: &[Row]) -> Vec<u8> {
    let column = |i: u32| -> ArrayRef {
        Arc::new(rows.iter().map(|row| row.features[i as usize - 1].1).collect::<Float32Array>())
    };
    let labels: ArrayRef = Arc::new(rows.iter().map(|row| row.label).collect::<Float64Array>());
    let columns = (1..=COLUMNS).map(|i| (name(i), column(i))).chain([("y".to_owned(), labels)]);
    let table = RecordBatch::try_from_iter(columns).expect("columns of one length");
    let mut bytes = Vec::new();
    let mut writer =
        ArrowWriter::try_new(&mut bytes, table.schema(), None).expect("a table of numbers");
    writer.write(&table).expect("memory takes everything");
    writer.close().expect("memory takes everything");
    bytes
}

/// Writes a stream in every format. Columns have names in tables, and numbers elsewhere.
fn write_all(desk: &Desk, rows: &[Row]) {
    desk.put("rows.libsvm", libsvm(rows, own));
    desk.put("numbers.vw", vw(rows, |i| i.to_string()));
    desk.put("names.vw", vw(rows, name));
    desk.put("rows.csv", csv(rows, name));
    desk.put("rows.tsv", csv(rows, name).replace(',', "\t"));
    desk.put("rows.jsonl", json_lines(rows, name));
    desk.put("rows.arff", arff(rows, name));
    desk.put("rows.parquet", parquet(rows));
    desk.put("predictions", predictions(rows));
    desk.text("convert rows.libsvm --out libsvm.rueful-cache");
    desk.text("convert rows.csv --label y --bits 12 --out csv.rueful-cache");
    desk.text("convert names.vw --bits 12 --out vw.rueful-cache");
}

/// Families of files, each with the flags to read it. The files of a family have the same columns
/// under the same numbers and must give the same bits.
const FAMILIES: [&[&str]; 3] = [
    &["rows.libsvm", "numbers.vw", "libsvm.rueful-cache"],
    &[
        "rows.csv --label y --bits 12",
        "rows.tsv --label y --bits 12",
        "rows.jsonl --label y --bits 12",
        "rows.arff --label y --bits 12",
        "rows.parquet --label y --bits 12",
        "csv.rueful-cache",
    ],
    &["names.vw --bits 12", "vw.rueful-cache"],
];

/// Checks that the figures are the same to the last bit within a family. Between families the order
/// of columns may differ, so the figures may differ by rounding.
fn assert_all_say_the_same(what: &str, agree: Agree, say: impl Fn(&str) -> serde_json::Value) {
    let first = say(FAMILIES[0][0]);
    for family in FAMILIES {
        let head = say(family[0]);
        if !what.contains("hindsight") {
            assert_same(&first, &head, agree, &format!("{what}: {}", family[0]));
        } else {
            assert_solved_alike(&first, &head, &format!("{what}: {}", family[0]));
        }
        for file in &family[1..] {
            assert_same(&head, &say(file), Agree::Exactly, &format!("{what}: {file}"));
        }
    }
}

#[test]
fn every_format_gives_the_same_figures() {
    for labels in [Labels::Classes, Labels::Numbers] {
        let desk = Desk::new();
        write_all(&desk, &whole_rows(labels, 31));
        for loss in LOSSES.into_iter().filter(|loss| loss.labels == labels) {
            let flags = loss.flags;
            let back = format!("hindsight {flags} --radius 2");
            assert_all_say_the_same(&back, ROUNDING, |file| {
                desk.json(&format!("hindsight {file} {flags} --radius 2"))
            });
            let audit = format!("{flags} --radius 2 --window 7 --predictions predictions");
            assert_all_say_the_same(&audit, ROUNDING, |file| {
                desk.json(&format!("audit {file} {audit}"))
            });
            let is_bank = |setup: &Setup| setup.flags.contains("--learner bank");
            let all = setups(loss).into_iter().filter(|setup| !setup.has_sides());
            let (banks, others): (Vec<_>, Vec<_>) = all.partition(is_bank);
            for setup in banks.iter().chain(others.iter().step_by(3)) {
                assert_all_say_the_same(&format!("{setup:?}"), setup.in_any_order(), |file| {
                    desk.run(&setup.line(&desk, file, own))
                });
            }
        }
    }
}

#[test]
fn every_format_gives_the_same_counts() {
    let desk = Desk::new();
    write_all(&desk, &whole_rows(Labels::Numbers, 32));
    let counts = |file: &str| {
        let seen = desk.json(&format!("data {file}"));
        ["examples", "features", "nonzeros", "label_sum"].map(|key| seen[key].clone())
    };
    for file in FAMILIES.concat() {
        assert_eq!(counts(file), counts("rows.libsvm"), "{file}");
    }
}

#[test]
fn a_cache_keeps_how_much_rows_count() {
    for labels in [Labels::Classes, Labels::Numbers] {
        let desk = Desk::new();
        let rows = weighted(stream(labels, 50, 33));
        desk.put("rows.vw", vw(&rows, name));
        desk.text("convert rows.vw --bits 12 --out rows.rueful-cache");
        for loss in LOSSES.into_iter().filter(|loss| loss.labels == labels) {
            for setup in setups(loss).iter().filter(|setup| !setup.has_sides()) {
                let [one, other] = ["rows.vw --bits 12", "rows.rueful-cache"]
                    .map(|file| desk.run(&format!("{} --hindsight", setup.line(&desk, file, own))));
                assert_same(&one, &other, Agree::Exactly, &format!("{setup:?}"));
            }
        }
    }
}
