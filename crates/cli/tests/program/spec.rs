//! The spec of a report describes the whole run: `--spec` gives the same bytes again. So does the
//! spec that `--print-spec` prints, as TOML or as JSON.

use crate::harness::{DATA, ask, ask_in, assert_snapshot, hinge};
use rueful_run::{AnyLoss, LearnerSpec};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Writes the report of a run to a file. Returns the report and the path.
fn report(directory: &TempDir, line: &str) -> (String, String) {
    let report = ask(line).result();
    let path = directory.path().join("report.json");
    fs::write(&path, &report).expect("the report is written");
    (report, path.to_str().expect("the path is text").to_owned())
}

fn assert_repeats(flags: &str) {
    let flags = &hinge(flags);
    let directory = TempDir::new().expect("a directory");
    let (report, path) = report(&directory, &format!("run {DATA} --json {flags}"));
    assert_eq!(ask(&format!("run --spec {path} --json")).result(), report, "{flags}");
    for (how, file) in [("", "spec.toml"), (" --json", "spec.json"), ("", "spec"), (" --json", "")]
    {
        let file = directory.path().join(format!("printed-{file}"));
        let printed = ask(&format!("run {DATA} {flags} --print-spec{how}")).result();
        fs::write(&file, &printed).expect("the spec is written");
        let again = ask(&format!("run --spec {} --json", file.display())).result();
        assert_eq!(again, report, "{flags}: {printed}");
    }
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
        "--learner ftrl --eta 0.3 --l1 0.7 --loss logistic",
        "--learner passive-aggressive-1 --c 0.3",
        "--learner passive-aggressive-2 --c 0.3 --loss absolute",
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

#[test]
fn every_loss_is_printed_as_it_is_run() {
    for loss in AnyLoss::NAMES {
        assert_repeats(&format!("--loss {loss}"));
    }
}

/// Checks that a command and the spec that it prints give the same report.
fn assert_repeats_in(folder: &Path, line: &str) {
    let report = ask_in(folder, &format!("run {line} --json")).result();
    let printed = ask_in(folder, &format!("run {line} --print-spec")).result();
    fs::write(folder.join("run.toml"), &printed).expect("the spec is written");
    let again = ask_in(folder, "run --spec run.toml --json").result();
    assert_eq!(again, report, "{printed}");
    let once_more = ask_in(folder, "run --spec run.toml --print-spec").result();
    assert_eq!(once_more, printed);
}

#[test]
fn every_format_is_in_the_spec() {
    let folder = TempDir::new().expect("a directory");
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).expect("the file is written");
    };
    let table = "age,the job,pay,y\n31,clerk,2100,yes\n47,,3400,no\n25,smith,?,yes\n";
    write("plain.libsvm", "1 1:0.5 2:1\n0 2:2\n1 1:1\n");
    write("named.vw", "1 2 |a x:0.5 y\n-1 |a y:2 |b z\n");
    write("table.csv", table);
    write("table.tsv", &table.replace(',', "\t"));
    write("rows.jsonl", "{\"y\": 1, \"age\": 31}\n{\"y\": -1, \"job\": \"clerk\"}\n");
    write(
        "weka.arff",
        "@relation r\n@attribute age numeric\n@attribute job {clerk, 'black smith'}\n\
         @attribute y {no, yes}\n@data\n31,clerk,yes\n47,'black smith',no\n",
    );
    let converted =
        ask_in(folder.path(), "convert table.csv --label y --positive yes -o table.bin");
    assert_eq!(converted.code, Some(0), "{}", converted.stderr);
    for line in [
        "plain.libsvm --no-constant",
        "plain.libsvm ./plain.libsvm --learner minimax",
        "named.vw --bits 9",
        "table.csv --label y --positive yes --drop pay",
        "table.csv --label age --loss square --categorical pay",
        "table.tsv --label 4 --positive no --text 2",
        "rows.jsonl --label y",
        "weka.arff --label y --positive yes",
        "table.bin --schedule horizon",
    ] {
        assert_repeats_in(folder.path(), line);
    }
}

#[test]
fn a_printed_spec_is_pinned() {
    let line = format!("run {DATA} --loss quantile --tau 0.9 --gradient-bound 4 --print-spec");
    assert_snapshot("print-spec", &format!("$ rueful {line}\n{}", ask(&line).result()));
}

/// Settings that a spec does not hold are refused with `--print-spec`.
#[test]
fn printing_a_spec_and_running_are_two_things() {
    for flag in ["--hindsight", "--curve-hindsight", "--follow"] {
        let text = ask(&format!("run {DATA} --print-spec {flag}")).refusal(2);
        assert!(text.contains("do not go together"), "{text}");
    }
}
