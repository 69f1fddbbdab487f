//! The figures that people ask for are those of the predictions, wherever they are told.

use crate::harness::{DATA, ask_in, number, root};
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

/// A folder with the project's stream.
fn desk() -> TempDir {
    let folder = TempDir::new().expect("a directory");
    fs::copy(root().join(DATA), folder.path().join("all.libsvm")).expect("a copy");
    folder
}

fn json(desk: &TempDir, line: &str) -> Value {
    ask_in(desk.path(), line).json()
}

/// Labels of the stream, and numbers of a file that has one on a line.
fn rows(desk: &TempDir, predictions: &str) -> Vec<(f64, f64)> {
    let read = |name: &str| fs::read_to_string(desk.path().join(name)).expect("a file");
    let first = |line: &str| line.split(' ').next().and_then(|word| word.parse().ok());
    let numbers = |text: String| -> Vec<f64> { text.lines().filter_map(first).collect() };
    numbers(read("all.libsvm")).into_iter().zip(numbers(read(predictions))).collect()
}

/// The AUC by comparing every pair, and the error rate.
fn compared(rows: &[(f64, f64)]) -> (f64, f64) {
    let of = |sign: f64| rows.iter().filter(move |row| row.0 == sign).map(|row| row.1);
    let half = |is_so: bool| if is_so { 0.5 } else { 0.0 };
    let pair = |high: f64, low: f64| half(high > low) + half(high >= low);
    let right: f64 = of(1.0).map(|high| of(-1.0).map(|low| pair(high, low)).sum::<f64>()).sum();
    let wrong: f64 = rows.iter().map(|&(y, p)| half(y * p < 0.0) + half(y * p <= 0.0)).sum();
    let (positives, negatives) = (of(1.0).count() as f64, of(-1.0).count() as f64);
    (right / (positives * negatives), wrong / rows.len() as f64)
}

#[track_caller]
fn assert_near(one: f64, other: f64) {
    assert!((one - other).abs() < 1e-12, "{one} {other}");
}

#[test]
fn the_figures_of_a_run_are_those_of_its_predictions() {
    let desk = desk();
    let report = json(&desk, "run all.libsvm --quiet --json --predictions said.txt");
    let (rows, figures) = (rows(&desk, "said.txt"), &report);
    let (auc, error_rate) = compared(&rows);
    assert_near(number(&figures["auc"], "lower"), auc);
    assert_near(number(&figures["auc"], "upper"), auc);
    assert_near(number(figures, "error_rate"), error_rate);
    let off = |&(y, p): &(f64, f64)| (1.0 / (1.0 + (-p).exp()) - (y + 1.0) / 2.0).powi(2);
    let brier = rows.iter().map(off).sum::<f64>() / rows.len() as f64;
    assert_near(number(figures, "brier"), brier);
    assert_near(number(figures, "log_loss"), number(&report, "sequential_risk"));
    let positives = rows.iter().filter(|row| row.0 > 0.0).count() as f64 / rows.len() as f64;
    let entropy = -positives * positives.ln() - (1.0 - positives) * (1.0 - positives).ln();
    let best = &figures["best_constant"];
    assert_near(number(best, "value"), (positives / (1.0 - positives)).ln());
    assert_near(number(&best["loss"], "upper"), entropy);
    let saved = 1.0 - number(&report, "sequential_risk") / entropy;
    assert_near(number(&figures["explained"], "lower"), saved);
    let bins = figures["calibration"].as_array().expect("bins");
    assert_eq!(bins.iter().map(|bin| number(bin, "weight")).sum::<f64>(), rows.len() as f64);
}

#[test]
fn an_audit_of_a_run_has_the_figures_of_the_run() {
    let desk = desk();
    for loss in ["hinge", "logistic", "square", "absolute"] {
        let run = format!("run all.libsvm --quiet --json --predictions said.txt --loss {loss}");
        let run = json(&desk, &run);
        let audit = format!("audit all.libsvm --predictions said.txt --json --quiet --loss {loss}");
        let audit = json(&desk, &audit);
        let alike = |key: &&str| audit[*key] == run[*key] && !run[*key].is_null();
        let keys = ["best_constant", "explained", "auc", "f1", "confusion", "r_squared"];
        let found: Vec<&str> = keys.into_iter().filter(alike).collect();
        let expected = match loss {
            "hinge" | "logistic" => &keys[..5],
            "absolute" => &keys[..2],
            _ => &["best_constant", "explained", "r_squared"][..],
        };
        assert_eq!(found, expected, "{loss}");
    }
}

#[test]
fn predictions_are_told_with_an_exact_area() {
    let desk = desk();
    json(&desk, "run all.libsvm --json --quiet --save m.rueful");
    let said = ask_in(desk.path(), "predict m.rueful all.libsvm --out said.txt");
    let (auc, error_rate) = compared(&rows(&desk, "said.txt"));
    let notes = said.notes();
    assert!(notes.contains(&format!("AUC {auc:.4}")), "{notes} {auc}");
    assert!(notes.contains(&format!("error rate {:.2} %", 100.0 * error_rate)), "{notes}");
}

#[test]
fn learners_that_are_not_judged_keep_counts_alone() {
    let desk = desk();
    let plain = json(&desk, "run all.libsvm --learner ogd --loss hinge --json --quiet");
    assert!(plain["auc"].is_null() && plain["f1"].is_number());
    let judged = json(&desk, "run all.libsvm --learner ogd --loss hinge --judge on --json --quiet");
    assert!(judged["auc"]["lower"].is_number());
}

#[test]
fn windows_have_figures_of_their_own() {
    let desk = desk();
    json(&desk, "run all.libsvm --json --quiet --predictions said.txt");
    let line = "audit all.libsvm --predictions said.txt --json --window 500 --loss logistic";
    let audit = json(&desk, line);
    let rows = rows(&desk, "said.txt");
    let windows = audit["windows"].as_array().expect("windows");
    for (window, rows) in windows.iter().zip(rows.chunks(500)) {
        let (auc, error_rate) = compared(rows);
        assert_near(number(&window["auc"], "upper"), auc);
        assert_near(number(window, "error_rate"), error_rate);
    }
    assert_eq!(windows.len(), 3);
}

/// A page has the notes of the run, calls an empty certificate empty, and has the reach of proofs
/// that the report has.
#[test]
fn a_page_says_what_the_report_says() {
    let desk = desk();
    let report = json(&desk, "run all.libsvm --eta 0.1 --json --quiet --report page.html");
    assert!(number(&report, "certificate") > number(&report, "sequential_risk"));
    let page = fs::read_to_string(desk.path().join("page.html")).expect("a page");
    for part in [
        "Ogd learns: what eta says is for learners of the notes.",
        ">says nothing: it is no smaller than the risk itself<",
        "Up to radius 0.6676 no predictor was better at all.",
        "From radius 4.663 on the certificate says nothing.",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!((0.6676..0.6677).contains(&number(&report, "beats_up_to")));
    assert!(!page.contains("no comparator saved more"));
}

#[test]
fn a_page_says_how_it_was_made() {
    let desk = desk();
    json(&desk, "run all.libsvm --json --quiet --report page.html");
    let page = fs::read_to_string(desk.path().join("page.html")).expect("a page");
    assert!(page.contains("rueful run all.libsvm --json --quiet --report page.html"));
    assert!(page.contains(&format!("rueful {}", env!("CARGO_PKG_VERSION"))));
    for part in ["id=\"figures\"", "id=\"calibration\"", "curve baseline", "curve empty"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn predictions_have_figures_for_programs() {
    let desk = desk();
    ask_in(desk.path(), "run all.libsvm --quiet --save m.rueful").result();
    let line = "predict m.rueful all.libsvm --quiet --out said.txt --figures said.json";
    ask_in(desk.path(), line).result();
    let text = fs::read_to_string(desk.path().join("said.json")).expect("a file");
    let figures: Value = serde_json::from_str(&text).expect("JSON");
    let rows = rows(&desk, "said.txt");
    let (auc, error_rate) = compared(&rows);
    assert_near(number(&figures["auc"], "lower"), auc);
    assert_near(number(&figures, "error_rate"), error_rate);
    let loss: f64 = rows.iter().map(|&(y, p)| (-y * p).exp().ln_1p()).sum();
    assert_near(number(&figures, "average_loss"), loss / rows.len() as f64);
    assert_near(number(&figures, "examples"), rows.len() as f64);
}

#[test]
fn a_race_shows_them_on_paper_and_on_its_page() {
    let desk = desk();
    let line = "race all.libsvm --learner bank --learner ogd --quiet --report race.html";
    assert!(ask_in(desk.path(), line).result().contains("AUC"));
    let page = fs::read_to_string(desk.path().join("race.html")).expect("a page");
    for column in [">AUC<", ">Brier score<", "&quot;learner&quot;"] {
        assert!(page.contains(column), "{column}");
    }
}
