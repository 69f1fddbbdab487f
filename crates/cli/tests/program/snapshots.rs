//! Snapshots of the text for people: reports, games and help.

use crate::harness::{DATA, ask, assert_snapshot};
use rueful_run::LearnerSpec;

/// Compares a command and its output with a snapshot.
#[track_caller]
fn pin(name: &str, line: &str) {
    let text = ask(line).result();
    assert_snapshot(name, &format!("$ rueful {line}\n{text}"));
}

#[test]
fn a_report_for_every_learner() {
    for learner in LearnerSpec::NAMES {
        pin(&format!("run-{learner}"), &format!("run {DATA} --learner {learner} --loss hinge"));
    }
}

#[test]
fn reports_with_something_special() {
    pin("run-tuned", &format!("run {DATA} --gradient-bound 4 --loss hinge"));
    pin("run-small-bound", &format!("run {DATA} --gradient-bound 2 --loss hinge"));
    pin("run-regression", &format!("run {DATA} --loss quantile --tau 0.9 --no-constant"));
    pin("run-penalty", &format!("run {DATA} --loss logistic --sigma 0.01"));
    pin(
        "run-weighted",
        &format!("run {DATA} --positive-weight 2 --negative-weight 0.5 --loss hinge"),
    );
    pin(
        "run-late",
        &format!("run {DATA} --learner minimax --horizon 1000 --gradient-bound 4 --loss hinge"),
    );
    pin(
        "run-beaten",
        &format!("run {DATA} --learner strongly-convex-ogd --loss linear --radius 3"),
    );
}

#[test]
fn the_game_that_defeats_erm() {
    pin("play-erm", "play erm");
}

#[test]
fn the_adversaries() {
    let needs_labels = |name: &str| {
        ["perceptron", "bank"].contains(&name) || name.starts_with("passive-aggressive")
    };
    for learner in LearnerSpec::NAMES.iter().filter(|learner| !needs_labels(learner)) {
        pin(&format!("play-orthogonal-{learner}"), &format!("play adversary --learner {learner}"));
        pin(
            &format!("play-sign-{learner}"),
            &format!("play adversary --learner {learner} --adversary sign --dimension 1"),
        );
    }
}

#[test]
fn help_for_every_command() {
    pin("help", "--help");
    pin("help-run", "run --help");
    pin("help-race", "race --help");
    pin("help-data", "data --help");
    pin("help-convert", "convert --help");
    pin("help-hindsight", "hindsight --help");
    pin("help-play", "play --help");
    pin("help-play-erm", "play erm --help");
    pin("help-play-adversary", "play adversary --help");
    pin("help-completions", "completions --help");
    pin("help-man", "man --help");
}

/// Without a command the program prints its help and exits with 2.
#[test]
fn help_for_whoever_says_nothing() {
    for (line, asked) in [("", "-h"), ("play", "play -h")] {
        let said = ask(line);
        assert_eq!((said.code, &*said.stdout), (Some(2), ""));
        assert_eq!(said.stderr, ask(asked).result());
    }
}

#[test]
fn the_version() {
    assert_eq!(ask("--version").result(), concat!("rueful ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn the_same_question_gets_the_same_bytes() {
    let mut lines: Vec<String> = LearnerSpec::NAMES
        .iter()
        .flat_map(|name| {
            ["", " --json"].map(|how| format!("run {DATA} --learner {name} --loss hinge{how}"))
        })
        .collect();
    lines.push("play erm --json".to_owned());
    lines.push("play adversary --dimension 10 --json".to_owned());
    for line in lines {
        assert_eq!(ask(&line), ask(&line), "{line}");
    }
}
