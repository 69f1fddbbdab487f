//! The same rows give the same results, whichever format they come in.

use crate::figures::{Agree, ROUNDING, assert_same, assert_solved_alike};
use crate::harness::Desk;
use crate::setups::{Setup, setups, setups_of_kinds};
use crate::stream::{
    COLUMNS, LOSSES, Labels, Row, are_weighted, arff, csv, json_lines, libsvm, own, predictions,
    shares, stream, vw, weighted,
};
use arrow_array::{ArrayRef, Float32Array, Float64Array, RecordBatch};
use arrow_ipc::writer::FileWriter;
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

/// The rows with weights of which not all are whole numbers. None is 0, because a cache leaves such rows
/// out, and an audit of it would have other predictions.
fn counting(mut rows: Vec<Row>) -> Vec<Row> {
    let weights = [1.0, 2.0, 0.3, 7.5].into_iter().cycle();
    rows.iter_mut().zip(weights).for_each(|(row, weight)| row.weight = weight);
    rows
}

/// The rows as a table in memory.
fn table(rows: &[Row]) -> RecordBatch {
    let column = |i: u32| -> ArrayRef {
        Arc::new(rows.iter().map(|row| row.features[i as usize - 1].1).collect::<Float32Array>())
    };
    let numbers = |of: fn(&Row) -> f64| -> ArrayRef {
        Arc::new(rows.iter().map(of).collect::<Float64Array>())
    };
    let columns = (1..=COLUMNS).map(|i| (name(i), column(i)));
    let label = ("y".to_owned(), numbers(|row| row.label));
    let weight = are_weighted(rows).then(|| ("w".to_owned(), numbers(|row| row.weight)));
    RecordBatch::try_from_iter(columns.chain([label]).chain(weight)).expect("columns of one length")
}

fn parquet(rows: &[Row]) -> Vec<u8> {
    let (table, mut bytes) = (table(rows), Vec::new());
    let mut writer =
        ArrowWriter::try_new(&mut bytes, table.schema(), None).expect("a table of numbers");
    writer.write(&table).expect("memory takes everything");
    writer.close().expect("memory takes everything");
    bytes
}

fn arrow(rows: &[Row]) -> Vec<u8> {
    let (table, mut bytes) = (table(rows), Vec::new());
    let mut writer = FileWriter::try_new(&mut bytes, &table.schema()).expect("a table of numbers");
    writer.write(&table).expect("memory takes everything");
    writer.finish().expect("memory takes everything");
    bytes
}

/// The flags to read a table.
fn reading(rows: &[Row]) -> &'static str {
    if are_weighted(rows) { "--label y --importance w --bits 12" } else { "--label y --bits 12" }
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
    desk.put("rows.arrow", arrow(rows));
    desk.put("predictions", predictions(rows));
    desk.put("shares.csv", shares(rows));
}

/// Writes the caches of these files.
fn write_caches(desk: &Desk, rows: &[Row]) {
    desk.text("convert numbers.vw --out numbers.rueful-cache");
    desk.text(&format!("convert rows.csv {} --out csv.rueful-cache", reading(rows)));
    desk.text("convert names.vw --bits 12 --out vw.rueful-cache");
}

/// Families of files, each with the flags to read it. The files of a family have the same columns
/// under the same numbers and must give the same bits. In LIBSVM text all rows count once. Labels of
/// many classes are not kept in caches.
fn families(rows: &[Row], are_cached: bool) -> [Vec<String>; 3] {
    let table = |ending: &str| format!("rows.{ending} {}", reading(rows));
    let mut all = [
        vec!["numbers.vw".to_owned()],
        ["csv", "tsv", "jsonl", "arff", "parquet", "arrow"].map(table).to_vec(),
        vec!["names.vw --bits 12".to_owned()],
    ];
    if !are_weighted(rows) {
        all[0].push("rows.libsvm".to_owned());
    }
    if are_cached {
        for (family, name) in all.iter_mut().zip(["numbers", "csv", "vw"]) {
            family.push(format!("{name}.rueful-cache"));
        }
    }
    all
}

/// Checks that the figures are the same to the last bit within a family. Between families the order
/// of columns may differ, so the figures may differ by rounding.
fn assert_all_say_the_same(
    families: &[Vec<String>; 3],
    what: &str,
    agree: Agree,
    say: impl Fn(&str) -> serde_json::Value,
) {
    let first = say(&families[0][0]);
    for family in families {
        let head = say(&family[0]);
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

/// Checks that every format gives the same figures for a stream. Every so many of the learners other
/// than the bank have a part in it.
fn assert_formats_agree(labels: Labels, rows: &[Row], every: usize) {
    let desk = Desk::new();
    write_all(&desk, rows);
    write_caches(&desk, rows);
    let families = families(rows, true);
    for loss in LOSSES.into_iter().filter(|loss| loss.labels == labels) {
        let flags = loss.flags;
        let back = format!("hindsight {flags} --radius 2");
        assert_all_say_the_same(&families, &back, ROUNDING, |file| {
            desk.json(&format!("hindsight {file} {flags} --radius 2"))
        });
        let audit = format!("{flags} --radius 2 --window 7 --predictions predictions");
        assert_all_say_the_same(&families, &audit, ROUNDING, |file| {
            desk.json(&format!("audit {file} {audit}"))
        });
        let is_bank = |setup: &Setup| setup.flags.contains("--learner bank");
        let all = setups(loss).into_iter().filter(|setup| !setup.has_sides());
        let (banks, others): (Vec<_>, Vec<_>) = all.partition(is_bank);
        for setup in banks.iter().chain(others.iter().step_by(every)) {
            let what = format!("{setup:?}");
            assert_all_say_the_same(&families, &what, setup.in_any_order(), |file| {
                desk.run(&setup.line(&desk, file, own))
            });
        }
    }
}

#[test]
fn every_format_gives_the_same_figures() {
    for labels in [Labels::Classes, Labels::Numbers] {
        assert_formats_agree(labels, &whole_rows(labels, 31), 3);
    }
}

#[test]
fn rows_count_as_much_in_every_format() {
    for labels in [Labels::Classes, Labels::Numbers] {
        assert_formats_agree(labels, &counting(whole_rows(labels, 34)), 5);
    }
}

#[test]
fn every_format_gives_the_same_figures_of_many_classes() {
    let rows = whole_rows(Labels::Kinds, 36);
    for rows in [rows.clone(), counting(rows)] {
        let desk = Desk::new();
        write_all(&desk, &rows);
        let families = families(&rows, false);
        for setup in setups_of_kinds() {
            let agree = setup.in_any_order();
            for (command, more, agree) in [
                ("hindsight", "", ROUNDING),
                ("audit", "--predictions shares.csv --window 7", ROUNDING),
                ("run", "-q", agree),
            ] {
                let flags = format!("{} {more}", setup.flags);
                assert_all_say_the_same(&families, &format!("{command} {flags}"), agree, |file| {
                    desk.json(&format!("{command} {file} {flags}"))
                });
            }
        }
    }
}

#[test]
fn every_format_gives_the_same_counts() {
    let desk = Desk::new();
    let rows = whole_rows(Labels::Numbers, 32);
    write_all(&desk, &rows);
    write_caches(&desk, &rows);
    let counts = |file: &str| {
        let seen = desk.json(&format!("data {file}"));
        ["examples", "features", "nonzeros", "label_sum"].map(|key| seen[key].clone())
    };
    for file in families(&rows, true).concat() {
        assert_eq!(counts(&file), counts("rows.libsvm"), "{file}");
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
