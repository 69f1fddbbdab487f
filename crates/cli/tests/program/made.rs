//! Features that are made of text and of numbers, as the program learns from them and keeps them.

use crate::harness::{ask_in, number, root};
use std::fs;
use tempfile::TempDir;

/// All that can be asked for at once.
const MADE: &str = "--bins hour:8 --cross hour,day --spline temperature --periodic hour:24";

/// A folder with the rides, and with their halves.
fn desk() -> TempDir {
    let folder = TempDir::new().expect("a directory");
    let text = fs::read_to_string(root().join("docs/rides.csv")).expect("the rides");
    let lines: Vec<&str> = text.lines().collect();
    let (head, rows) = lines.split_first().expect("a header");
    let write = |name: &str, rows: &[&str]| {
        let text = format!("{head}\n{}\n", rows.join("\n"));
        fs::write(folder.path().join(name), text).expect("the file is written");
    };
    write("all.csv", rows);
    write("first.csv", &rows[..700]);
    write("rest.csv", &rows[700..]);
    folder
}

/// Knots come from the first file alone, so that a resumed run has the same.
#[test]
fn a_resumed_run_makes_the_same_features_as_one_that_never_stopped() {
    let desk = desk();
    let run = |line: &str| ask_in(desk.path(), line).json();
    // The first 700 rows decide the knots of the resumed run, so these are named here.
    let knots = "--bins hour:6,12,18 --spline temperature:-5,10,25 --cross hour,day";
    let whole = run(&format!("run all.csv --label rides -q --json {knots} --save whole.rueful"));
    run(&format!("run first.csv --label rides -q --json {knots} --save part.rueful"));
    let resumed = run("run rest.csv --resume part.rueful -q --json --save part.rueful");
    assert_eq!(number(&whole, "examples"), number(&resumed, "examples"));
    assert_eq!(number(&whole, "sequential_risk"), number(&resumed, "sequential_risk"));
    let predict =
        |model: &str| ask_in(desk.path(), &format!("predict {model} all.csv -q")).result();
    assert_eq!(predict("whole.rueful"), predict("part.rueful"));
}

#[test]
fn a_cache_and_a_schema_make_the_same_features() {
    let desk = desk();
    let run = |line: &str| number(&ask_in(desk.path(), line).json(), "sequential_risk");
    let plain = run("run all.csv --label rides -q --json");
    let told = format!("run all.csv --label rides -q --json {MADE}");
    let made = run(&told);
    assert!(made < 0.7 * plain, "{made} {plain}");
    assert_eq!(run(&format!("{told} --cache")), made);
    assert_eq!(run(&format!("{told} --cache")), made);
    assert_eq!(run(&format!("{told} --threads 1 --write-schema s.json")), made);
    assert_eq!(run("run all.csv -q --json --schema s.json"), made);
    let other = ask_in(desk.path(), "run all.csv -q --schema s.json --bins hour").refusal(1);
    assert!(other.contains("--bins"), "{other}");
}

/// Bins are what one would make by hand, so that a learner loses the same.
#[test]
fn bins_are_worth_as_much_as_categories_made_by_hand() {
    let desk = desk();
    let text = fs::read_to_string(desk.path().join("all.csv")).expect("the rides");
    let by_hand = text.lines().enumerate().map(|(number, line)| {
        let (hour, rest) = line.split_once(',').expect("cells");
        let bin = match hour.parse::<u32>() {
            Err(_) => hour.to_owned(),
            Ok(hour) => format!("bin{}", hour / 6),
        };
        if number == 0 { format!("{line}\n") } else { format!("{bin},{rest}\n") }
    });
    fs::write(desk.path().join("hand.csv"), by_hand.collect::<String>()).expect("a file");
    // With one column alone, the order of features in a row does not depend on their names.
    let run = |line: &str| {
        let line = format!("{line} --label rides -q --json --drop temperature,day");
        number(&ask_in(desk.path(), &line).json(), "sequential_risk")
    };
    let (made, hand) = (run("run all.csv --bins hour:6,12,18"), run("run hand.csv"));
    assert_eq!(made, hand);
}

#[test]
fn an_explanation_sums_the_parts_of_a_column() {
    let desk = desk();
    let save = format!("run all.csv --label rides -q {MADE} --save m.rueful");
    ask_in(desk.path(), &save).result();
    let told = ask_in(desk.path(), "explain m.rueful all.csv --row 5 --json").json();
    let parts = told["contributions"].as_array().expect("a list");
    let of = |column: &str| -> f64 {
        let own = parts.iter().filter(|part| part["column"] == column);
        own.map(|part| number(part, "contribution")).sum()
    };
    let count = parts.iter().filter(|part| part["column"] == "temperature").count();
    assert!((2..=3).contains(&count), "{told}");
    let shown = ask_in(desk.path(), "explain m.rueful all.csv --row 5").result();
    let line = shown.lines().find(|line| line.trim_start().starts_with("temperature "));
    let adds = line.and_then(|line| line.split_whitespace().last()?.parse::<f64>().ok());
    let adds = adds.expect("a line for the column");
    assert!((adds - of("temperature")).abs() <= 1e-3 * adds.abs(), "{shown}");
    assert!(shown.contains("\n    temperature·@"), "{shown}");
    assert!(shown.contains("hour·"), "{shown}");
}

#[test]
fn words_that_follow_each_other_are_learned_kept_and_explained() {
    let folder = TempDir::new().expect("a directory");
    fs::copy(root().join("docs/reviews.csv"), folder.path().join("r.csv")).expect("a copy");
    let run = |flags: &str| {
        let line = format!("run r.csv --label stars --text review -q --json {flags}");
        number(&ask_in(folder.path(), &line).json(), "sequential_risk")
    };
    let (words, grams) = (run(""), run("--ngram 2 --skips 1 --save m.rueful"));
    assert!(grams < 0.5 * words, "{grams} {words}");
    assert_eq!(run("--ngram 2 --skips 1 --cache"), grams);
    let weights = ask_in(folder.path(), "weights m.rueful --all").result();
    assert!(weights.contains("review:not^good"), "{weights}");
    let why = ask_in(folder.path(), "explain m.rueful r.csv --row 4 --top 50").result();
    assert!(why.contains("review:was^"), "{why}");
}
