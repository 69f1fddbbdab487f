//! The spec of a report is the whole run: fed back, it gives the same bytes.

use crate::harness::{DATA, ask};
use rueful_run::LearnerSpec;
use std::fs;
use tempfile::TempDir;

/// Writes a report to a file and returns both.
fn report(directory: &TempDir, line: &str) -> (String, String) {
    let report = ask(line).result();
    let path = directory.path().join("report.json");
    fs::write(&path, &report).expect("the report is written");
    (report, path.to_str().expect("the path is text").to_owned())
}

fn assert_repeats(flags: &str) {
    let directory = TempDir::new().expect("a directory");
    let (report, path) = report(&directory, &format!("run {DATA} --json {flags}"));
    assert_eq!(ask(&format!("run --spec {path} --json")).result(), report, "{flags}");
}

#[test]
fn every_learner_repeats_itself() {
    for learner in LearnerSpec::NAMES {
        assert_repeats(&format!("--learner {learner}"));
    }
}

#[test]
fn every_parameter_is_in_the_spec() {
    for flags in [
        "--loss quantile --tau 0.3 --no-constant",
        "--radius 0.1 --sigma 0.3 --gradient-bound 7",
        "--schedule constant --eta 0.1",
        "--schedule inverse-sqrt --eta 0.1",
        "--schedule inverse-time --sigma 0.7 --radius 3.3",
        "--schedule horizon",
        "--learner regularized-erm --alpha 3",
        "--learner strongly-convex-ogd --radius 2 --sigma 0.1",
        "--learner perceptron --eta 0.1 --loss perceptron",
        "--learner minimax --horizon 9999 --gradient-bound 3.3",
    ] {
        assert_repeats(flags);
    }
}

#[test]
fn a_file_replaces_the_one_in_the_spec() {
    let directory = TempDir::new().expect("a directory");
    let (report, path) = report(&directory, &format!("run {DATA} --json"));
    let again = ask(&format!("run --spec {path} --json ./{DATA}")).result();
    assert_eq!(again.replace(&format!("./{DATA}"), DATA), report);
}
