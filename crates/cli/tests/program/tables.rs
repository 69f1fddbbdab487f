//! Tables in every format and order. A model finds its columns by name in all of them.

use crate::harness::{Said, ask_in, number, program};
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use parquet::arrow::ArrowWriter;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

const ROWS: usize = 120;

/// A cell of the table that all files here hold.
fn cell(row: usize, column: &str) -> String {
    let age = 18 + row * 37 % 60;
    match column {
        "age" => age.to_string(),
        "job" => ["clerk", "nurse", "", "cook"][row % 4].to_owned(),
        "member" => row.is_multiple_of(3).to_string(),
        "y" => (if (age > 45) != row.is_multiple_of(11) { "yes" } else { "no" }).to_owned(),
        "id" => format!("id{row}"),
        "score" => ((row * 7 % 19) as f64 / 8.0 - 1.0).to_string(),
        other => panic!("{other}"),
    }
}

/// The table as text, with these columns in this order.
fn text(separator: &str, columns: &[&str]) -> String {
    let line = |row: usize| {
        let cells: Vec<_> = columns.iter().map(|column| cell(row, column)).collect();
        cells.join(separator) + "\n"
    };
    columns.join(separator) + "\n" + &(0..ROWS).map(line).collect::<String>()
}

fn json(columns: &[&str]) -> String {
    let value = |row: usize, column: &str| match (column, cell(row, column)) {
        ("age" | "member" | "score", value) => value,
        (_, empty) if empty.is_empty() => "null".to_owned(),
        (_, word) => format!("{word:?}"),
    };
    let line = |row: usize| {
        let pairs = columns.iter().map(|column| format!("{column:?}: {}", value(row, column)));
        format!("{{{}}}\n", pairs.collect::<Vec<_>>().join(", "))
    };
    (0..ROWS).map(line).collect()
}

fn arff(columns: &[&str]) -> String {
    let kind = |column: &&str| match *column {
        "age" | "score" => "numeric".to_owned(),
        "member" => "{false, true}".to_owned(),
        _ => "string".to_owned(),
    };
    let declared = columns.iter().map(|column| format!("@attribute {column} {}\n", kind(column)));
    let value = |row, column| Some(cell(row, column)).filter(|cell| !cell.is_empty());
    let line = |row: usize| {
        let cells = columns.iter().map(|column| value(row, column).unwrap_or("?".to_owned()));
        cells.collect::<Vec<_>>().join(",") + "\n"
    };
    let rows: String = (0..ROWS).map(line).collect();
    format!("@relation people\n{}@data\n{rows}", declared.collect::<String>())
}

fn batch(columns: &[&str]) -> RecordBatch {
    let array = |column: &&str| -> (String, ArrayRef) {
        let cells = (0..ROWS).map(|row| cell(row, column));
        let array: ArrayRef = match *column {
            "age" => Arc::new(cells.map(|cell| cell.parse().ok()).collect::<Int64Array>()),
            "member" => Arc::new(cells.map(|cell| Some(cell == "true")).collect::<BooleanArray>()),
            "score" => Arc::new(cells.map(|cell| cell.parse().ok()).collect::<Float64Array>()),
            _ => Arc::new(
                cells
                    .map(|cell| Some(cell).filter(|cell| !cell.is_empty()))
                    .collect::<StringArray>(),
            ),
        };
        ((*column).to_owned(), array)
    };
    RecordBatch::try_from_iter_with_nullable(
        columns.iter().map(array).map(|(name, array)| (name, array, true)),
    )
    .expect("columns of equal length")
}

fn write_columnar(folder: &Path, columns: &[&str]) {
    let batch = batch(columns);
    let file = |name: &str| File::create(folder.join(name)).expect("the file is created");
    let mut writer = ArrowWriter::try_new(file("t.parquet"), batch.schema(), None)
        .expect("the table is written");
    writer.write(&batch).expect("the table is written");
    writer.close().expect("the table is written");
    let mut writer =
        FileWriter::try_new(file("t.feather"), &batch.schema()).expect("the table is written");
    writer.write(&batch).expect("the table is written");
    writer.finish().expect("the table is written");
    let mut writer =
        StreamWriter::try_new(file("t.arrows"), &batch.schema()).expect("the table is written");
    writer.write(&batch).expect("the table is written");
    writer.finish().expect("the table is written");
}

/// A folder with the table in every format. The files differ in the order of columns, in an
/// additional column, and in whether they have the label.
fn desk() -> TempDir {
    let folder = TempDir::new().expect("a directory");
    let put = |name: &str, text: String| {
        fs::write(folder.path().join(name), text).expect("the file is there");
    };
    put("first.csv", text(",", &["age", "job", "member", "y"]));
    put("order.csv", text(",", &["y", "id", "member", "job", "age"]));
    put("t.tsv", text("\t", &["job", "y", "age", "id", "member"]));
    put("semicolons.txt", text(";", &["member", "y", "age", "job"]));
    put("t.jsonl", json(&["id", "member", "job", "age", "y"]));
    put("t.arff", arff(&["member", "id", "y", "age", "job"]));
    put("bare.csv", text(",", &["id", "job", "member", "age"]));
    put("bare.jsonl", json(&["age", "member", "job"]));
    put("lacking.csv", text(",", &["job", "y"]));
    write_columnar(folder.path(), &["y", "member", "age", "id", "job"]);
    folder
}

const LABELLED: [&str; 8] = [
    "order.csv",
    "t.tsv",
    "semicolons.txt",
    "t.jsonl",
    "t.arff",
    "t.parquet",
    "t.feather",
    "t.arrows",
];

#[test]
fn a_model_finds_its_columns_by_name() {
    let desk = desk();
    let ask = |line: &str| ask_in(desk.path(), line);
    for first in ["first.csv", "t.parquet --drop id", "t.arrows --drop id", "t.tsv --drop id"] {
        ask(&format!("run {first} --label y --save m.rueful -q")).result();
        let expected = ask("predict m.rueful first.csv").result();
        assert_eq!(expected.lines().count(), ROWS, "{first}");
        for other in LABELLED {
            let said = ask(&format!("predict m.rueful {other}"));
            assert!(said.stderr.contains("mistakes"), "{first} {other}: {}", said.stderr);
            assert_eq!(said.result(), expected, "{first} {other}");
        }
        for bare in ["bare.csv", "bare.jsonl"] {
            let said = ask(&format!("predict m.rueful {bare}"));
            assert_eq!(said.stderr, format!("note: {ROWS} predictions\n"), "{first} {bare}");
            assert_eq!(said.result(), expected, "{first} {bare}");
            let why = ask(&format!("explain m.rueful {bare} --row 7 --json")).json();
            assert!(why.get("actual").is_none());
        }
    }
}

#[test]
fn standard_input_is_recognised_like_a_file() {
    let desk = desk();
    ask_in(desk.path(), "run first.csv --label y --save m.rueful -q").result();
    let expected = ask_in(desk.path(), "predict m.rueful first.csv -q").result();
    for name in ["first.csv", "order.csv", "t.jsonl", "t.arff", "t.feather", "t.arrows"] {
        let file = File::open(desk.path().join(name)).expect("the file is there");
        let mut command = program(desk.path());
        command.args(["predict", "m.rueful", "-", "-q"]).stdin(file);
        let output = command.output().expect("the program starts");
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{name}: {error}");
    }
}

#[test]
fn a_bad_cell_for_a_model_is_not_met_with_flags_that_predicting_lacks() {
    let desk = desk();
    ask_in(desk.path(), "run first.csv --label y --save m.rueful -q").result();
    let spoiled = "age,job,member,y\nforty,clerk,true,yes\n";
    fs::write(desk.path().join("spoiled.csv"), spoiled).expect("the file is written");
    for command in ["predict m.rueful spoiled.csv", "explain m.rueful spoiled.csv"] {
        let complaint = ask_in(desk.path(), command).refusal(1);
        assert!(complaint.contains("spoiled.csv:2:1: found \"forty\""), "{complaint}");
        assert!(complaint.contains("correct the data") && !complaint.contains("--"), "{complaint}");
    }
}

#[test]
fn a_run_goes_on_with_any_file_of_the_same_columns() {
    let desk = desk();
    let ask = |line: &str| ask_in(desk.path(), line);
    ask("run first.csv --label y --save m.rueful -q").result();
    let resumed = |file: &str| {
        ask(&format!("run {file} --resume m.rueful --save {file}.rueful -q")).result();
        ask(&format!("predict {file}.rueful first.csv -q")).result()
    };
    let expected = resumed("first.csv");
    for other in LABELLED {
        assert_eq!(resumed(other), expected, "{other}");
    }
    let complaint = ask("run bare.csv --resume m.rueful -q").refusal(1);
    assert!(complaint.contains("bare.csv: found no column \"y\" for the label"), "{complaint}");
}

#[test]
fn a_schema_finds_its_columns_by_name() {
    let desk = desk();
    let ask = |line: &str| ask_in(desk.path(), line);
    ask("data first.csv --label y --write-schema s.json").result();
    let risk =
        |flags: &str| ask(&format!("run {flags} --json -q")).json()["sequential_risk"].clone();
    let expected = risk("first.csv --label y");
    for other in LABELLED {
        assert_eq!(risk(&format!("{other} --schema s.json")), expected, "{other}");
    }
}

#[test]
fn a_cache_stands_in_for_its_text_with_models_too() {
    let desk = desk();
    let ask = |line: &str| ask_in(desk.path(), line);
    ask("convert first.csv --label y --positive yes --out all.cache").result();
    ask("convert first.csv --label y --positive no --out no.cache").result();
    ask("convert order.csv --label y --positive yes --out id.cache").result();
    ask("run first.csv --label y --save m.rueful -q").result();
    let expected = ask("predict m.rueful first.csv").result();
    assert_eq!(ask("predict m.rueful all.cache").result(), expected);
    let complaint = ask("predict m.rueful no.cache").refusal(1);
    assert!(complaint.contains("made with --positive no"), "{complaint}");
    let complaint = ask("predict m.rueful id.cache").refusal(1);
    assert!(complaint.contains("rows with the column \"id\""), "{complaint}");
    // A model that was learned from a cache also predicts text.
    ask("run all.cache --save c.rueful -q").result();
    for file in ["all.cache", "first.csv", "order.csv", "t.parquet", "bare.csv"] {
        assert_eq!(ask(&format!("predict c.rueful {file}")).result(), expected, "{file}");
    }
    let again = |file: &str| {
        ask(&format!("run {file} --resume c.rueful --save d.rueful -q")).result();
        ask("predict d.rueful first.csv -q").result()
    };
    assert_eq!(again("all.cache"), again("t.jsonl"));
}

#[test]
fn what_is_missing_is_named() {
    let desk = desk();
    let ask = |line: &str| ask_in(desk.path(), line);
    ask("run first.csv --label y --save m.rueful -q").result();
    let complaint = ask("predict m.rueful lacking.csv").refusal(1);
    assert!(complaint.contains("lacking.csv: found no columns \"age\", \"member\""), "{complaint}");
    assert!(complaint.contains("the columns are: job, y"), "{complaint}");
    assert!(complaint.contains("empty cells"), "{complaint}");
    fs::write(desk.path().join("one.jsonl"), "{\"age\": 3, \"job\": null}\n")
        .expect("the file is there");
    let complaint = ask("predict m.rueful one.jsonl").refusal(1);
    assert!(complaint.contains("found no column \"member\""), "{complaint}");
    let complaint = ask(&format!(
        "predict m.rueful {}",
        crate::harness::root().join(crate::harness::DATA).display()
    ))
    .refusal(1);
    assert!(complaint.contains("expected a table with the columns age, job"), "{complaint}");
}

/// Moments, as text has them and as numbers: an hour and a half past midnight, day after day.
fn moment(row: usize) -> (String, i64) {
    let (day, hour) = (1 + row % 28, row * 5 % 24);
    let seconds = (19_723 + row as i64 % 28) * 86_400 + hour as i64 * 3600 + 1800;
    (format!("2024-01-{day:02} {hour:02}:30:00"), seconds)
}

/// A table of moments and truths, in several formats.
fn put_moments(folder: &Path) {
    let rows = || (0..ROWS).map(|row| (moment(row), row * 5 % 24 > 11, row % 10 == 3));
    let put =
        |name: &str, text: String| fs::write(folder.join(name), text).expect("the file is there");
    let line = |((text, _), y, is_missing): ((String, i64), bool, bool)| {
        let (text, truth) = (if is_missing { "" } else { &text }, if y { "True" } else { "False" });
        format!("{text},{truth}\n")
    };
    put("m.csv", format!("when,y\n{}", rows().map(line).collect::<String>()));
    let line = |((text, _), y, is_missing): ((String, i64), bool, bool)| match is_missing {
        true => format!("{{\"when\": null, \"y\": {y}}}\n"),
        false => format!("{{\"when\": \"{}Z\", \"y\": {y}}}\n", text.replace(' ', "T")),
    };
    put("m.jsonl", rows().map(line).collect());
    let seconds = |((_, seconds), _, is_missing): ((String, i64), bool, bool)| {
        (!is_missing).then_some(seconds * 1_000_000)
    };
    let moments = rows().map(seconds).collect::<TimestampMicrosecondArray>().with_timezone("UTC");
    let truths = rows().map(|(_, y, _)| Some(y)).collect::<BooleanArray>();
    let columns: [(&str, ArrayRef, bool); 2] =
        [("y", Arc::new(truths), true), ("when", Arc::new(moments), true)];
    let batch = RecordBatch::try_from_iter_with_nullable(columns).expect("the table is written");
    let file = File::create(folder.join("m.parquet")).expect("the table is written");
    let mut writer =
        ArrowWriter::try_new(file, batch.schema(), None).expect("the table is written");
    writer.write(&batch).expect("the table is written");
    writer.close().expect("the table is written");
}

#[test]
fn moments_and_truths_are_the_same_in_every_format() {
    let folder = TempDir::new().expect("a directory");
    put_moments(folder.path());
    let ask = |line: &str| ask_in(folder.path(), line);
    const FILES: [&str; 3] = ["m.csv", "m.jsonl", "m.parquet"];
    let mut answers = Vec::new();
    for first in FILES {
        let report = ask(&format!("run {first} --label y --save m.rueful --json -q")).json();
        let risk = report["sequential_risk"].as_f64().expect("a number");
        assert!(risk < 0.4, "the hour decides: {risk}");
        for other in FILES {
            let said = ask(&format!("predict m.rueful {other} --as label")).result();
            assert_eq!(said.lines().count(), ROWS);
            answers.push((risk, said));
        }
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    assert!(answers[0].1.lines().all(|label| ["true", "false"].contains(&label)));
    let weights = ask("weights m.rueful --all --json").result();
    for name in ["when·hour=13", "when·weekday=monday", "when·month=1", "when·years"] {
        assert!(weights.contains(name), "{name}: {weights}");
    }
    fs::write(folder.path().join("bad.csv"), "when,y\n2024-13-01,1\n2024-01-01,0\n")
        .expect("the file is there");
    let complaint = ask("predict m.rueful bad.csv").refusal(1);
    assert!(
        complaint.contains("bad.csv:2:1: found \"2024-13-01\", expected a date"),
        "{complaint}"
    );
}

#[test]
fn a_look_needs_no_label() {
    let folder = TempDir::new().expect("a directory");
    let line = |row: usize| {
        let rare = if row == 9 { "x" } else { "" };
        format!("{},2024-01-{:02},{}e6,{},7,{rare}\n", row + 1, row % 28 + 1, row % 5, row % 3)
    };
    let rows: String = (0..1200).map(line).collect();
    let text = format!("id,when,large,small,same,rare\n{rows}");
    fs::write(folder.path().join("t.csv"), text).expect("the file is there");
    let look = ask_in(folder.path(), "data t.csv --json").json();
    let column = |name: &str| {
        let columns = look["columns"].as_array().expect("an array");
        columns.iter().find(|column| column["name"] == name).expect("the column").clone()
    };
    let odd = |name: &str| column(name)["oddity"].as_str().unwrap_or("none").to_owned();
    assert_eq!(
        (&*odd("id"), &*odd("same"), &*odd("rare")),
        ("identifier", "constant", "nearly-all-missing")
    );
    assert_eq!((&*odd("large"), &*odd("when")), ("none", "none"));
    assert_eq!(
        (column("id")["distinct"].clone(), column("id")["distinct_is_cut"].clone()),
        (1000.into(), true.into())
    );
    assert_eq!(
        (column("large")["least"].clone(), column("large")["most"].clone()),
        (0.0.into(), 4e6.into())
    );
    assert_eq!(
        (column("small")["distinct"].clone(), column("rare")["missing"].clone()),
        (3.into(), 1199.into())
    );
    assert_eq!(look["far_apart"]["large"][0], "large");
    assert!(look["loss"].is_null() && look["first"][0]["label"].is_null());
    let text = ask_in(folder.path(), "data t.csv").result();
    for said in ["more than 1,000", "2024-01-28", "none yet: --label COLUMN", "have no units"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let complaint = ask_in(folder.path(), "data t.csv --write-schema s.json").refusal(1);
    assert!(complaint.contains("add --label COLUMN"), "{complaint}");
    // A cache knows the columns it was made from.
    ask_in(folder.path(), "convert t.csv --label small --out t.cache").result();
    let cached = ask_in(folder.path(), "data t.cache --json").json();
    assert_eq!(cached["columns"][1], column("when"));
    fs::write(folder.path().join("one.csv"), "a,y\n1,5\n2,5\n").expect("the file is there");
    let one = ask_in(folder.path(), "data one.csv --label y").result();
    assert!(one.contains("all labels are 5"), "{one}");
}

#[test]
fn carriage_returns_alone_end_lines() {
    let desk = desk();
    let text = fs::read_to_string(desk.path().join("first.csv")).expect("the file is there");
    fs::write(desk.path().join("old.csv"), text.replace('\n', "\r")).expect("the file is there");
    let ask = |line: &str| ask_in(desk.path(), line);
    let risk = |file: &str| {
        ask(&format!("run {file} --label y --json -q")).json()["sequential_risk"].clone()
    };
    assert_eq!(risk("old.csv"), risk("first.csv"));
    let bad = text.replace('\n', "\r") + "x,clerk,true,yes\r";
    fs::write(desk.path().join("bad.csv"), bad).expect("the file is there");
    let complaint = ask("run bad.csv --label y -q").refusal(1);
    assert!(complaint.contains(&format!("bad.csv:{}:1: found \"x\"", ROWS + 2)), "{complaint}");
}

#[test]
fn files_without_names_or_columns_may_lack_labels_too() {
    let folder = TempDir::new().expect("a directory");
    let put = |name: &str, text: String| {
        fs::write(folder.path().join(name), text).expect("the file is there");
    };
    let row = |row: usize| (row * 7 % 10, row * 3 % 4, if row * 7 % 10 > 4 { 1 } else { -1 });
    let rows = || (0..60).map(row);
    put("all.csv", rows().map(|(a, b, y)| format!("{a};{y};{b}\n")).collect());
    put("bare.csv", rows().map(|(a, b, _)| format!("{a};{b}\n")).collect());
    put("wide.csv", rows().map(|(a, b, y)| format!("{a};{y};{b};{b}\n")).collect());
    put("all.vw", rows().map(|(a, b, y)| format!("{y} | a:{a} b{b}\n")).collect());
    put("bare.vw", rows().map(|(a, b, _)| format!("| a:{a} b{b}\n")).collect());
    let ask = |line: &str| ask_in(folder.path(), line);
    for (learn, end) in [("all.csv --no-header --label 2", "csv"), ("all.vw", "vw")] {
        ask(&format!("run {learn} --save m.rueful -q")).result();
        let expected = ask(&format!("predict m.rueful all.{end} -q")).result();
        let bare = ask(&format!("predict m.rueful bare.{end}"));
        assert_eq!(bare.stderr, "note: 60 predictions\n", "{end}");
        assert_eq!(bare.result(), expected, "{end}");
    }
    ask("run all.csv --no-header --label 2 --save m.rueful -q").result();
    let complaint = ask("predict m.rueful wide.csv").refusal(1);
    assert!(complaint.contains("found 4 columns without names, expected 3"), "{complaint}");
}

/// Crosses and the features of missing cells are made in the same way in every format, by a model
/// that repeats them, and with any number of threads.
#[test]
fn a_table_is_crossed_alike_in_every_format() {
    let desk = desk();
    let ask = |line: &str| ask_in(desk.path(), line);
    let crossed = "--cross age,job --cross job,member,age";
    ask(&format!("run first.csv --label y {crossed} --save m.rueful -q")).result();
    let expected = ask("predict m.rueful first.csv -q").result();
    let resumed = ask("run first.csv --resume m.rueful --json -q").result();
    let same = ask(&format!("run first.csv --label y {crossed} --json -q --threads 2")).json();
    for other in LABELLED {
        let found = ask(&format!("predict m.rueful {other} -q")).result();
        assert_eq!(found, expected, "{other}");
        if other == "t.arff" {
            // By itself this file declares `member` as a category, so that its own runs differ.
            continue;
        }
        let drop = if other == "semicolons.txt" { "" } else { "--drop id" };
        let found = ask(&format!("run {other} --label y {drop} {crossed} --json -q")).json();
        for key in ["sequential_risk", "features", "nonzeros"] {
            assert_eq!(found[key], same[key], "{other}: {key}");
        }
    }
    assert_eq!(ask("predict m.rueful bare.csv -q").result(), expected);
    // A run of the same rows twice is the run that was saved and resumed.
    ask(&format!("convert first.csv --label y --positive yes {crossed} --out first.cache"))
        .result();
    assert_eq!(ask("predict m.rueful first.cache -q").result(), expected);
    ask("convert first.csv --label y --positive yes --out plain.cache").result();
    let plain = ask("predict m.rueful plain.cache -q").refusal(1);
    assert!(plain.contains("other crosses"), "{plain}");
    let whole = ask(&format!("run first.csv first.csv --label y {crossed} --json -q")).json();
    let resumed: serde_json::Value = serde_json::from_str(&resumed).expect("the output is JSON");
    assert_eq!(whole["sequential_risk"], resumed["sequential_risk"]);
}

/// In this table, a number is missing more often if the label is 1. A learner that is told so loses
/// less.
#[test]
fn what_is_missing_is_learned_from() {
    let folder = TempDir::new().expect("a directory");
    let line = |row: u32| {
        let draw = row.wrapping_mul(2_654_435_761) >> 8;
        let label = draw & 1;
        let is_missing = draw % 10 < 2 + 6 * label;
        let income = if is_missing { String::new() } else { (draw / 16 % 90 + 10).to_string() };
        format!("{income},{label}\n")
    };
    let text = "income,y\n".to_owned() + &(0..2000).map(line).collect::<String>();
    fs::write(folder.path().join("t.csv"), text).expect("the file is there");
    let risk = |flags: &str| {
        let found = ask_in(folder.path(), &format!("run t.csv --label y --json -q {flags}")).json();
        found["sequential_risk"].as_f64().expect("a number")
    };
    let (with, without) = (risk(""), risk("--no-missing"));
    assert!(with < without, "{with} {without}");
}

/// Predictions can be a column of the examples in every format, and in a stream that is read once. The
/// verdict is that on the same predictions in a file of their own.
#[test]
fn predictions_are_a_column_of_any_table() {
    let folder = TempDir::new().expect("a directory");
    let put = |name: &str, text: String| {
        fs::write(folder.path().join(name), text).expect("the file is there");
    };
    put("alone.csv", text(",", &["age", "job", "y"]));
    put("p.txt", (0..ROWS).map(|row| cell(row, "score") + "\n").collect());
    put("t.csv", text(",", &["age", "score", "job", "y"]));
    put("t.tsv", text("\t", &["score", "job", "y", "age"]));
    put("t.jsonl", json(&["job", "age", "y", "score"]));
    put("t.arff", arff(&["score", "y", "age", "job"]));
    write_columnar(folder.path(), &["y", "score", "age", "job"]);
    let flags = "--label y --positive yes --loss logistic --window 50 --json";
    let verdict = |said: Said| {
        let mut report = said.json();
        let keys = report.as_object_mut().expect("a report");
        for of_files in ["data", "predictions", "models"] {
            keys.remove(of_files);
        }
        report
    };
    let apart =
        verdict(ask_in(folder.path(), &format!("audit alone.csv --predictions p.txt {flags}")));
    for file in ["t.csv", "t.tsv", "t.jsonl", "t.arff", "t.parquet", "t.feather", "t.arrows"] {
        let line = format!("audit {file} --prediction-column score {flags}");
        let beside = verdict(ask_in(folder.path(), &line));
        // The order of columns decides in which order features are added up.
        for key in ["sequential_risk", "certificate", "certificate_own", "mistake_rate"] {
            let [apart, beside] = [&apart, &beside].map(|report| number(report, key));
            assert!((apart - beside).abs() < 1e-12, "{file}: {key} is {beside}, not {apart}");
        }
        assert_eq!(apart["examples"], beside["examples"], "{file}");
        assert_eq!(apart["features"], beside["features"], "{file}");
    }
    let line = format!("audit - --format csv --prediction-column score {flags}");
    let output = program(folder.path())
        .args(line.split_whitespace())
        .stdin(File::open(folder.path().join("t.csv")).expect("the file is there"))
        .output()
        .expect("the program starts");
    let piped: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("the output is JSON");
    for key in ["sequential_risk", "certificate"] {
        assert!((number(&piped, key) - number(&apart, key)).abs() < 1e-12);
    }
}

/// A prediction that is no probability is named by its place in the examples' own file.
#[test]
fn a_bad_prediction_beside_its_example_is_found() {
    let folder = TempDir::new().expect("a directory");
    let csv = text(",", &["age", "score", "y"]);
    fs::write(folder.path().join("t.csv"), csv).expect("the file is there");
    write_columnar(folder.path(), &["y", "score", "age"]);
    let flags =
        "--label y --positive yes --prediction-column score --link logistic --loss logistic";
    for (file, place) in [("t.csv", "t.csv:2"), ("t.parquet", "t.parquet: row 1")] {
        let text = ask_in(folder.path(), &format!("audit {file} {flags}")).one_line();
        let start = format!("error: {place}: found -1, expected a probability");
        assert!(text.starts_with(&start), "{text}");
    }
}
