//! Several passes over the same data, and rows that are held out.

use crate::harness::{DATA, ask_in, number, root};
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

fn desk() -> TempDir {
    let folder = TempDir::new().expect("a directory");
    fs::copy(root().join(DATA), folder.path().join("all.libsvm")).expect("a copy");
    folder
}

/// A report without its passes and its description.
fn proofs(mut report: Value) -> Value {
    let keys = report.as_object_mut().expect("an object");
    keys.remove("passes");
    keys.remove("spec");
    report
}

#[test]
fn everything_that_is_proved_is_about_the_first_pass() {
    let desk = desk();
    for learner in ["bank", "ogd --loss logistic"] {
        let run = format!("run all.libsvm -q --json --learner {learner}");
        let once = ask_in(desk.path(), &format!("{run} --holdout 10")).json();
        let often = ask_in(desk.path(), &format!("{run} --holdout 10 --passes 4")).json();
        assert_eq!(number(&often, "examples"), 1125.0);
        assert!(number(&often["passes"], "made") > 1.0, "{often}");
        assert_eq!(once["passes"]["held_out"][0], often["passes"]["held_out"][0]);
        assert_eq!(proofs(once), proofs(often));
    }
}

#[test]
fn rows_that_are_held_out_are_judged_by_what_was_said_of_them() {
    let desk = desk();
    let run = "run all.libsvm -q --json --holdout 10 --predictions said.txt";
    let report = ask_in(desk.path(), run).json();
    let read = |name: &str| fs::read_to_string(desk.path().join(name)).expect("a file");
    let first = |line: &str| line.split(' ').next().and_then(|word| word.parse::<f64>().ok());
    let (labels, said) = (read("all.libsvm"), read("said.txt"));
    let rows = labels.lines().filter_map(first).zip(said.lines().filter_map(first));
    let held: Vec<(f64, f64)> = rows.skip(9).step_by(10).collect();
    assert_eq!(held.len(), 125);
    ask_in(desk.path(), "run all.libsvm -q --holdout 10 --save held.rueful").result();
    let told = ask_in(desk.path(), "inspect held.rueful").result();
    assert!(told.contains("  examples         1,125\n"), "{told}");
    let loss: f64 = held.iter().map(|&(y, p)| (-y * p).exp().ln_1p()).sum();
    let told = &report["passes"]["held_out"][0];
    assert!((number(told, "loss") - loss / 125.0).abs() < 1e-12, "{told}");
    assert_eq!(number(told, "examples"), 125.0);
}

#[test]
fn the_model_is_that_of_the_best_pass() {
    let desk = desk();
    let run = "run all.libsvm -q --json --learner ogd --loss logistic";
    let once = format!("{run} --holdout 10 --save once.rueful");
    let often = format!("{run} --holdout 10 --passes 8 --patience 2 --save often.rueful");
    ask_in(desk.path(), &once).result();
    let report = ask_in(desk.path(), &often).json();
    let losses = report["passes"]["held_out"].as_array().expect("an array");
    let best = number(&report["passes"], "best") as usize;
    let least = losses.iter().map(|pass| number(pass, "loss")).fold(f64::INFINITY, f64::min);
    assert_eq!(number(&losses[best - 1], "loss"), least);
    let predict = |model: &str| ask_in(desk.path(), &format!("predict {model} all.libsvm -q"));
    assert!(best > 1 && predict("once.rueful").result() != predict("often.rueful").result());
    let resumed = ask_in(desk.path(), "run --resume often.rueful -q --json").json();
    assert_eq!(resumed["passes"], report["passes"], "there is nothing left to do");
}

#[test]
fn many_classes_are_learned_in_passes_too() {
    let desk = desk();
    let mut text = "a,b,y\n".to_owned();
    for t in 0..300_usize {
        let label = ["red", "green", "blue"][(t + t / 7) % 3];
        text += &format!("{},{},{label}\n", (t + t / 7) % 3 * 2 + t % 2, t % 5);
    }
    fs::write(desk.path().join("t.csv"), text).expect("the file is written");
    let run = "run t.csv --label y -q --json --passes 3 --holdout 6 --save t.rueful";
    let report = ask_in(desk.path(), run).json();
    assert_eq!(number(&report["passes"]["held_out"][0], "examples"), 50.0);
    assert!(number(&report["passes"]["held_out"][1], "loss") > 0.0);
    ask_in(desk.path(), "predict t.rueful t.csv -q").result();
}

#[test]
fn what_cannot_be_read_again_is_refused() {
    let desk = desk();
    ask_in(desk.path(), "run all.libsvm -q --passes 2 --save m.rueful").result();
    for (line, why) in [
        ("run - --passes 2", "standard input can be read only once"),
        ("run all.libsvm --passes 2 --follow", "a stream that is followed has no end"),
        ("run all.libsvm --holdout 1", "would hold out every row"),
        ("run all.libsvm --resume m.rueful", "learned from its data several times"),
    ] {
        let complaint = ask_in(desk.path(), line).refusal(1);
        assert!(complaint.contains(why), "{line}: {complaint}");
    }
    ask_in(desk.path(), "run all.libsvm --patience 2").refusal(2);
    ask_in(desk.path(), "run --resume m.rueful --passes 3").refusal(2);
}
