//! Class weights give the same results, to the last bit, as a file whose examples have these
//! importances.

use crate::harness::{DATA, ask, ask_in, number, root};
use rueful_run::LearnerSpec;
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

/// A folder with the small stream in several files: without importances, with the weights of the
/// classes as importances, with other importances, and with the products of both. There is also a
/// file of predictions.
fn desk(positive: f32, negative: f32) -> TempDir {
    let folder = TempDir::new().expect("a directory");
    let text = fs::read_to_string(root().join(DATA)).expect("the data is there");
    let (mut plain, mut weighted, mut own, mut both) = Default::default();
    let mut predictions = String::new();
    for (row, line) in text.lines().enumerate() {
        let (label, features) = line.split_once(' ').expect("features");
        let weight = if label.starts_with('-') { negative } else { positive };
        // The importances are powers of two, so that products are exact.
        let importance = [0.5_f32, 1.0, 4.0][row % 3];
        let put = |text: &mut String, importance: f32| {
            *text += &format!("{label} {importance} | {features}\n");
        };
        put(&mut plain, 1.0);
        put(&mut weighted, weight);
        put(&mut own, importance);
        put(&mut both, importance * weight);
        predictions += &format!("{}\n", (row % 7) as f64 - 3.0);
    }
    for (name, text) in [
        ("plain.libsvm", text),
        ("plain.vw", plain),
        ("weighted.vw", weighted),
        ("own.vw", own),
        ("both.vw", both),
        ("predictions", predictions),
    ] {
        fs::write(folder.path().join(name), text).expect("the file is written");
    }
    folder
}

/// A report without the keys that depend on where the data came from.
fn report(folder: &TempDir, line: &str) -> Value {
    let mut report = ask_in(folder.path(), &format!("{line} --json")).json();
    for key in ["spec", "data", "collisions"] {
        report.as_object_mut().expect("an object").remove(key);
    }
    report
}

#[track_caller]
fn assert_same(folder: &TempDir, flags: &str, command: &str) {
    for (plain, weighted) in
        [("plain.libsvm", "weighted.vw"), ("plain.vw", "weighted.vw"), ("own.vw", "both.vw")]
    {
        let (first, rest) = command.split_once(' ').unwrap_or((command, ""));
        let with_flags = report(folder, &format!("{first} {plain} {flags} {rest}"));
        let by_itself = report(folder, &format!("{first} {weighted} {rest}"));
        assert_eq!(with_flags, by_itself, "{first} {plain} {flags} {rest}");
    }
}

#[test]
fn every_learner_sees_weighted_examples() {
    let folder = desk(2.5, 0.1);
    let flags = "--positive-weight 2.5 --negative-weight 0.1";
    for learner in LearnerSpec::NAMES {
        assert_same(&folder, flags, &format!("run --learner {learner} --loss hinge"));
    }
    assert_same(&folder, flags, "run --loss logistic --hindsight --curve-hindsight --radius 3");
    assert_same(&folder, flags, "run --schedule horizon --hindsight --keep 0");
    assert_same(&folder, flags, "run --cache");
    assert_same(&folder, flags, "run --cache");
}

#[test]
fn a_weight_of_0_leaves_a_class_out() {
    let folder = desk(0.0, 2.0);
    let flags = "--positive-weight 0 --negative-weight 2";
    for learner in LearnerSpec::NAMES {
        assert_same(&folder, flags, &format!("run --learner {learner} --loss hinge"));
    }
    assert_same(&folder, flags, "run --learner ogd --sigma 0.1 --hindsight --keep 0");
    assert_same(&folder, flags, "hindsight --loss logistic");
}

#[test]
fn one_weight_leaves_the_other_at_1() {
    let folder = desk(1.0, 3.0);
    assert_same(&folder, "--negative-weight 3", "run");
    let folder = desk(0.7, 1.0);
    assert_same(&folder, "--positive-weight 0.7", "hindsight --radius 2");
    assert_same(&folder, "--positive-weight 0.7", "hindsight --radius 2 --keep 0");
    assert_same(&folder, "--positive-weight 0.7", "audit --predictions predictions --hindsight");
}

/// The Perceptron's mistakes are counted and not weighted, and neither is the bound on them.
#[test]
fn a_mistake_is_a_mistake_however_little_it_counts() {
    let flags = "--learner perceptron --loss hinge --hindsight --json";
    let found = |weights: &str| {
        let report = ask(&format!("run {DATA} {flags} {weights}")).json();
        let bound = &report["mistake_bound"];
        (number(bound, "mistakes"), number(bound, "bound"))
    };
    let (mistakes, bound) = found("");
    let (same, with) = found("--positive-weight 0.01 --negative-weight 0.5");
    assert!(mistakes == same && mistakes <= with, "{mistakes}, {same} and {with}");
    assert!((bound - with).abs() <= 1e-3 * bound, "{with}, not {bound}");
}

#[test]
fn weights_are_in_the_spec() {
    let line = format!("run {DATA} --positive-weight 2 --negative-weight 0.1 --loss logistic");
    let printed = ask(&format!("{line} --print-spec")).result();
    let table = "[data.class_weights]\npositive = 2.0\nnegative = 0.1\n";
    assert!(printed.contains(table), "{printed}");
    let folder = TempDir::new().expect("a directory");
    let path = folder.path().join("run.toml");
    fs::write(&path, &printed).expect("the spec is written");
    let again = ask(&format!("run --spec {} --json", path.display())).result();
    assert_eq!(again, ask(&format!("{line} --json")).result());
    // A weight that is left out is 1.
    fs::write(&path, printed.replace("negative = 0.1\n", "")).expect("the spec is written");
    let spec = ask(&format!("run --spec {} --print-spec", path.display())).result();
    assert!(spec.contains("positive = 2.0\nnegative = 1.0\n"), "{spec}");
    // A regression loss has no classes, also if a spec asks for class weights.
    fs::write(&path, printed.replace("\"logistic\"", "\"square\"")).expect("the spec is written");
    let text = ask(&format!("run --spec {}", path.display())).one_line();
    assert!(text.contains("class weights are for the classes +1 and -1"), "{text}");
    fs::write(&path, printed.replace("positive = 2.0", "positive = -2")).expect("it is written");
    let text = ask(&format!("run --spec {}", path.display())).one_line();
    assert!(text.contains("data.class_weights.positive: -2 is not 0, or a number"), "{text}");
}

#[test]
fn two_named_classes_can_be_weighted_for_any_loss() {
    let folder = TempDir::new().expect("a directory");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("ok");
    write("named.csv", "x,y\n1,yes\n2,no\n3,yes\n");
    write("numbers.vw", "1 2 | x:1\n-1 | x:2\n1 2 | x:3\n");
    let flags = "--label y --positive yes --positive-weight 2";
    assert_eq!(
        report(&folder, &format!("run named.csv --loss square {flags}")),
        report(&folder, "run numbers.vw --loss square"),
    );
}

#[test]
fn what_weights_cannot_do_is_refused() {
    for (line, says) in [
        ("run nowhere --positive-weight -1", "--positive-weight: -1 is not 0, or a number"),
        ("hindsight nowhere --negative-weight inf", "--negative-weight: inf is not 0, or"),
        ("run nowhere --loss square --positive-weight 2", "the labels of this loss are numbers"),
        ("hindsight nowhere --loss linear --negative-weight 2", "choose hinge, logistic or"),
        ("run nowhere --positive-weight 0 --negative-weight 0", "nothing is left"),
        ("audit nowhere --predictions p --loss absolute --positive-weight 2", "are numbers"),
    ] {
        let text = ask(line).one_line();
        assert!(text.contains(says) && !text.contains("nowhere"), "{line}: {text}");
    }
    for line in ["data", "convert --out out"] {
        let text = ask(&format!("{line} {DATA} --positive-weight 2")).refusal(2);
        assert!(text.contains("there is no flag --positive-weight"), "{text}");
    }
}
