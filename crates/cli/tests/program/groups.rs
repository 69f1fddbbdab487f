//! `rueful audit --by`, which judges every group of examples for itself.

use crate::harness::{DATA, ask_in, number, root};
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

const DAYS: [&str; 4] = ["mon", "tue, early", "12", ""];

/// A table with a label, two features, the prediction of a model, and the day. The groups are
/// interleaved.
fn table(rows: usize, has_day: bool, is_kept: impl Fn(usize) -> bool) -> String {
    let head = if has_day { "y,a,b,score,day\n" } else { "y,a,b,score\n" };
    let row = |t: usize| {
        let (a, b) = ((t * 7 % 11) as f64 - 5.0, (t * 5 % 13) as f64 - 6.0);
        let y = if a * 2.0 + b + ((t % 3) as f64) > 0.0 { 1 } else { -1 };
        let score = (a + b / 2.0) / if t.is_multiple_of(4) { -8.0 } else { 4.0 };
        let day = if has_day { format!(",\"{}\"", DAYS[day(t)]) } else { String::new() };
        format!("{y},{a},{b},{score}{day}\n")
    };
    head.to_owned() + &(0..rows).filter(|&t| is_kept(t)).map(row).collect::<String>()
}

fn day(t: usize) -> usize {
    (t / 3 + t / 50) % DAYS.len()
}

fn desk(files: &[(&str, String)]) -> TempDir {
    let folder = TempDir::new().expect("a directory");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("the file is written");
    }
    folder
}

fn list<'a>(object: &'a Value, key: &str) -> &'a Vec<Value> {
    object[key].as_array().expect("a list")
}

const AUDIT: &str = "audit x.csv --label y --prediction-column score";

/// The groups add up to the whole, and the report of each is the same as in an audit of its rows
/// alone.
#[test]
fn a_group_is_the_audit_of_its_rows() {
    let folder = desk(&[("x.csv", table(300, true, |_| true))]);
    let report = ask_in(folder.path(), &format!("{AUDIT} --by day --json")).json();
    let groups = list(&report, "groups");
    let names: Vec<&str> = groups.iter().map(|group| group["group"].as_str().unwrap()).collect();
    assert_eq!(names, DAYS);
    let total = |key: &str| -> f64 {
        groups.iter().map(|group| number(group, "examples") * number(group, key)).sum()
    };
    let examples: f64 = groups.iter().map(|group| number(group, "examples")).sum();
    assert_eq!(examples, number(&report, "examples"));
    for key in ["sequential_risk", "mistake_rate"] {
        assert!((total(key) - examples * number(&report, key)).abs() < 1e-9, "{key}");
    }
    for (place, group) in groups.iter().enumerate() {
        let rows = table(300, false, |t| day(t) == place);
        fs::write(folder.path().join("x.csv"), rows).expect("the file is written");
        let alone = ask_in(folder.path(), &format!("{AUDIT} --json")).json();
        for key in ["examples", "sequential_risk", "certificate", "certificate_own", "curve"] {
            assert!(!alone[key].is_null(), "{alone}");
            assert_eq!(group[key], alone[key], "{key} of {}", DAYS[place]);
        }
    }
}

/// The column of the groups is not a feature, wherever it is.
#[test]
fn groups_may_be_beside_the_predictions() {
    let both = table(300, true, |_| true);
    let column = |columns: &[usize]| -> String {
        let mut reader = both.lines().map(|line| line.splitn(5, ',').collect::<Vec<_>>());
        let pick = |row: Vec<&str>| columns.iter().map(|&i| row[i]).collect::<Vec<_>>().join(",");
        reader.by_ref().map(|row| pick(row) + "\n").collect()
    };
    let examples = column(&[0, 1, 2]);
    let folder = desk(&[
        ("x.csv", both.clone()),
        ("e.csv", examples.clone()),
        ("p.csv", column(&[4, 3])),
        ("x.jsonl", json_lines(&both)),
        ("n.txt", column(&[3]).split_once('\n').expect("a header").1.to_owned()),
    ]);
    let within = ask_in(folder.path(), &format!("{AUDIT} --by day --json")).json();
    for line in [
        "audit e.csv --label y --predictions p.csv --prediction-column score --by day --json",
        "audit e.csv --label y --predictions p.csv --prediction-column all --by day --json",
        "audit x.csv --label y --drop score --predictions n.txt --by day --json",
        "audit x.csv --label y --drop score --predictions n.txt --by 5 --json",
        "audit x.jsonl --label y --drop score --predictions n.txt --by day --json",
    ] {
        let report = ask_in(folder.path(), line).json();
        assert_eq!(number(&report, "features"), 3.0, "{line}");
        for (one, other) in list(&within, "groups").iter().zip(list(&report, "groups")) {
            for key in ["group", "examples", "sequential_risk", "certificate"] {
                assert_eq!(one[key], other[key], "{key}: {line}");
            }
        }
        assert_eq!(list(&report, "groups").len(), DAYS.len(), "{line}");
    }
}

/// The table as JSON lines. A cell without a value becomes null.
fn json_lines(table: &str) -> String {
    let row = |line: &str| {
        let cells: Vec<&str> = line.splitn(5, ',').collect();
        let day = if cells[4] == "\"\"" { "null" } else { cells[4] };
        let [y, a, b, score] = [cells[0], cells[1], cells[2], cells[3]];
        format!("{{\"y\": {y}, \"a\": {a}, \"b\": {b}, \"score\": {score}, \"day\": {day}}}\n")
    };
    table.lines().skip(1).map(row).collect()
}

#[test]
fn the_text_has_a_row_for_each() {
    let folder = desk(&[("x.csv", table(300, true, |_| true))]);
    let text = ask_in(folder.path(), &format!("{AUDIT} --by day")).result();
    let (_, groups) = text.split_once("Groups by day, each judged for itself\n").expect("groups");
    let rows: Vec<&str> = groups.lines().skip(1).map(str::trim_start).collect();
    assert_eq!(rows.len(), DAYS.len(), "{groups}");
    for (row, name) in rows.iter().zip(["mon", "tue, early", "12", "(no value)"]) {
        assert!(row.starts_with(name), "{row}");
    }
}

#[test]
fn columns_that_make_no_groups_are_refused() {
    let many: String = (0..1200).map(|t| format!("1,0.5,{t}x\n")).collect();
    let short = "score,day\n0.5,mon\n".to_owned();
    let data = fs::read_to_string(root().join(DATA)).expect("the data");
    let folder = desk(&[
        ("x.csv", table(30, true, |_| true)),
        ("many.csv", format!("y,score,user\n{many}")),
        ("x.libsvm", data),
        ("short.csv", short),
        ("n.txt", "0.5\n".repeat(1250)),
    ]);
    for (line, told) in [
        ("audit x.csv --label y --prediction-column score --by dax", "--by names \"dax\""),
        ("audit x.csv --label y --prediction-column score --by y", "--by"),
        ("audit x.csv --label y --prediction-column score --by score", "--by"),
        ("audit many.csv --label y --prediction-column score --by user", "more than 1000 groups"),
        ("audit x.libsvm --predictions n.txt --by day", "has no columns to group by"),
        (
            "audit x.csv --label y --drop score,day --predictions short.csv --prediction-column score --by day",
            "short.csv:2: the file ends here",
        ),
    ] {
        let refusal = ask_in(folder.path(), line).one_line();
        assert!(refusal.contains(told), "{line}: {refusal}");
    }
}
