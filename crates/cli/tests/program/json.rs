//! The report as JSON. For every learner, loss and flag, every key is there, the values agree with
//! each other, and the rungs of the ladder are in order.

use crate::harness::{DATA, ask, number, root};
use rueful_run::{AnyLoss, LearnerSpec};
use serde_json::Value;
use std::fs;

const ROUNDS: u64 = 1250;

/// The flags to try with a learner. Every entry is combined with every loss.
fn flags(learner: &str) -> &'static [&'static str] {
    match learner {
        "ogd" => &[
            "",
            "--no-constant",
            "--radius 1",
            "--eta 0.5",
            "--sigma 0.05",
            "--sigma 0.05 --eta 1",
            "--gradient-bound 4",
            "--gradient-bound 0.5",
            "--gradient-bound 1000 --eta 0.2",
            "--schedule constant --eta 0.01",
            "--schedule inverse-sqrt --gradient-bound 3.1",
            "--schedule inverse-time --sigma 0.1",
            "--schedule inverse-time --sigma 0.1 --gradient-bound 3",
            "--schedule horizon",
            "--schedule horizon --horizon 100 --gradient-bound 3",
            "--schedule horizon --horizon 5000",
            "--schedule adagrad-norm --gradient-bound 3",
        ],
        "strongly-convex-ogd" => &[
            "",
            "--sigma 1",
            "--sigma 1 --gradient-bound 2",
            "--sigma 1 --gradient-bound 200",
            "--sigma 1 --radius 3",
            "--sigma 1 --no-constant",
        ],
        "perceptron" => &["", "--eta 0.01", "--radius 2", "--no-constant"],
        "erm" => &["", "--radius 0.1", "--no-constant"],
        "regularized-erm" => &[
            "",
            "--no-constant",
            "--alpha 10",
            "--alpha 3 --gradient-bound 9",
            "--eta 1",
            "--gradient-bound 4",
            "--schedule constant --eta 0.02",
            "--schedule inverse-sqrt --gradient-bound 1",
            "--schedule horizon",
            "--schedule horizon --horizon 10",
            "--schedule adagrad-norm",
        ],
        "minimax" => &[
            "",
            "--no-constant",
            "--radius 1",
            "--horizon 100",
            "--horizon 5000",
            "--gradient-bound 1",
            "--gradient-bound 500",
        ],
        "ftrl" => &["", "--eta 0.01", "--l1 3", "--radius 2 --l1 0.1", "--no-constant"],
        "passive-aggressive-1" => &["", "--c 0.00001", "--radius 2", "--no-constant"],
        "passive-aggressive-2" => &["", "--c 0.01", "--no-constant"],
        "bank" => &["", "--no-constant", "--judge off"],
        _ => &["", "--no-constant"],
    }
}

fn losses() -> Vec<String> {
    let names = AnyLoss::NAMES.iter().map(|name| format!("--loss {name}"));
    names.chain(["--loss quantile --tau 0.9".to_owned()]).collect()
}

/// Part of the error message, if the combination is refused. Every other combination must run.
fn refused(learner: &str, loss: &str, flags: &str) -> Option<&'static str> {
    let classifies = ["hinge", "logistic", "perceptron"].iter().any(|name| loss.ends_with(name));
    match learner {
        "bank" if loss.ends_with("linear") || loss.ends_with("perceptron") => {
            Some("the bank learns from")
        }
        "perceptron" if !classifies => Some("the Perceptron classifies"),
        "passive-aggressive-1" | "passive-aggressive-2"
            if !loss.ends_with("hinge") && !loss.ends_with("absolute") =>
        {
            Some("they take hinge or absolute")
        }
        // Steps of 1/(σt) are far too long for a loss as curved as the square loss, unless σ is
        // large.
        "strongly-convex-ogd" if loss.ends_with("square") && !flags.contains("--sigma") => {
            Some("the run diverged")
        }
        _ => None,
    }
}

#[test]
fn every_combination_reports_in_order() {
    for learner in LearnerSpec::NAMES {
        for flags in flags(learner) {
            for loss in losses() {
                let line = format!("run {DATA} --json --learner {learner} {loss} {flags}");
                match refused(learner, &loss, flags) {
                    Some(why) => assert!(ask(&line).one_line().contains(why), "{line}"),
                    None => check(&line, &ask(&line).json()),
                }
            }
        }
    }
}

fn check(line: &str, report: &Value) {
    check_counts(line, report);
    check_costs(line, report);
    check_ladder(line, report);
    check_reasons(line, report);
    check_curve(line, report);
    assert!(report["spec"].is_object(), "{line}");
}

fn has(line: &str, flag: &str) -> bool {
    line.split_whitespace().any(|word| word == flag)
}

fn value_of<'a>(line: &'a str, flag: &str) -> Option<&'a str> {
    line.split_whitespace().skip_while(|word| *word != flag).nth(1)
}

/// The file has nine features and 6,576 values in 1,250 rows, and the constant adds one to each.
fn check_counts(line: &str, report: &Value) {
    let constant = u64::from(!has(line, "--no-constant"));
    assert_eq!(report["examples"], ROUNDS, "{line}");
    assert_eq!(report["features"], 9 + constant, "{line}");
    assert_eq!(report["nonzeros"], 6576 + ROUNDS * constant, "{line}");
    let norm = (8.25 + constant as f64).sqrt();
    assert!((number(report, "example_norm_max") - norm).abs() < 1e-12, "{line}");
    assert!(number(report, "gradient_norm_max") > 0.0, "{line}");
}

fn check_costs(line: &str, report: &Value) {
    let risk = number(report, "sequential_risk");
    let linear = has(line, "linear");
    assert!(linear || risk >= 0.0, "{line}: {risk}");

    let classifies = ["hinge", "logistic", "perceptron"];
    if classifies.contains(&value_of(line, "--loss").expect("a loss")) {
        let mistakes = number(report, "mistake_rate") * ROUNDS as f64;
        assert!((mistakes - mistakes.round()).abs() < 1e-9, "{line}: {mistakes}");
        assert!((0.0..=ROUNDS as f64).contains(&mistakes), "{line}: {mistakes}");
    } else {
        assert_eq!(report["mistake_rate"], Value::Null, "{line}");
    }

    let sigma = number(&report["spec"], "sigma");
    if sigma > 0.0 {
        let penalty = number(report, "penalty");
        assert!(penalty > 0.0 && (linear || penalty <= risk), "{line}: {penalty}");
    } else {
        assert_eq!(report["penalty"], Value::Null, "{line}");
    }
}

/// Checks certificate ≤ data-dependent bound ≤ theorem, as far as they are there.
fn check_ladder(line: &str, report: &Value) {
    let bound = &report["bound"];
    for key in ["data", "theorem", "reference", "why"] {
        assert!(bound.get(key).is_some(), "{line}: {key}");
    }
    let rungs = [&report["certificate"], &bound["data"], &bound["theorem"]];
    assert!(rungs.iter().all(|rung| rung.is_number() || rung.is_null()), "{line}: {bound}");
    assert!(report["certificate"].is_number(), "{line}: every run here has a certificate");
    let values: Vec<f64> = rungs.iter().filter_map(|rung| rung.as_f64()).collect();
    assert!(values.is_sorted(), "{line}: {values:?}");
    assert_eq!(bound["reference"].is_string(), bound["theorem"].is_number(), "{line}");
}

/// Checks that a rung is missing exactly if its theorem does not apply, and that the reason is
/// given.
fn check_reasons(line: &str, report: &Value) {
    let bound = &report["bound"];
    let missing = (bound["data"].is_null(), bound["theorem"].is_null());
    let largest = number(report, "gradient_norm_max");
    let declared: Option<f64> = value_of(line, "--gradient-bound").and_then(|g| g.parse().ok());
    let expected = match value_of(line, "--learner").expect("a learner") {
        "erm" => Some((true, "ERM has no regret bound")),
        "bank" if has(line, "off") => Some((true, "the learner's witnesses, and none judges")),
        "perceptron" if value_of(line, "--loss") != Some("perceptron") => {
            Some((true, "a regret bound exists for the perceptron loss"))
        }
        "minimax" if has(line, "100") => {
            Some((true, "the strategy was set for 100 rounds and has played 1250"))
        }
        "ftrl" => Some((false, "FTRL-proximal keeps its weights in no set")),
        "passive-aggressive-1" if !has(line, "0.00001") => Some((false, "less was enough")),
        "passive-aggressive-2" => Some((true, "it bounds no regret")),
        _ if declared.is_some_and(|g| largest > g) => Some((false, "and this run had one of norm")),
        _ => None,
    };
    match expected {
        Some((data_too, why)) => {
            assert_eq!(missing, (data_too, true), "{line}: {bound}");
            assert!(bound["why"].as_str().expect("a reason").contains(why), "{line}: {bound}");
        }
        None => {
            assert_eq!(missing, (false, false), "{line}: {bound}");
            assert_eq!(bound["why"], Value::Null, "{line}");
        }
    }
}

/// Checks that the points are at 1, 2, 4, 8, … and the end, and that the last one agrees with the
/// report.
fn check_curve(line: &str, report: &Value) {
    let curve = report["curve"].as_array().expect("a curve");
    let at: Vec<u64> = curve.iter().map(|point| point["t"].as_u64().expect("a round")).collect();
    assert_eq!(at, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, ROUNDS], "{line}");
    for point in curve {
        assert!(point["sequential_risk"].is_number(), "{line}: {point}");
        assert!(point["certificate"].is_number(), "{line}: {point}");
    }
    let last = curve.last().expect("a point");
    assert_eq!(last["sequential_risk"], report["sequential_risk"], "{line}");
    assert_eq!(last["certificate"], report["certificate"], "{line}");
}

/// Whoever reads a report with a program finds every key of it on the page of the command.
#[test]
fn every_key_is_on_its_page() {
    let votes = "--predictions data/phishing-models.csv --link logistic --prediction-column votes";
    let all = "--predictions data/phishing-models.csv --link logistic --prediction-column all \
               --hindsight --window 500 --alarm 9";
    for (page, lines) in [
        ("run", &["", "--hindsight", "--window 500 --alarm 9", "--passes 2 --holdout 10"][..]),
        ("run", &["--learner perceptron --hindsight", "--sigma 1"]),
        ("audit", &[votes, all]),
        ("race", &["--eta 1,2", "--learner ogd --learner bank --hindsight"]),
    ] {
        let read = |name: &str| fs::read_to_string(root().join("docs").join(name)).expect(name);
        let text = read(&format!("{page}.md")) + &read("report.md") + &read("alarm.md");
        for flags in lines {
            let report = ask(&format!("{page} {DATA} --json {flags}")).json();
            for key in report.as_object().expect("an object").keys() {
                assert!(text.contains(&format!("`{key}`")), "docs/{page}.md lacks {key}: {flags}");
            }
        }
    }
}

/// What was solved is a proof as well: that all comparators were beaten, or that one was better.
#[test]
fn a_verdict_uses_what_was_solved() {
    let line = format!("run {DATA} --radius 5 --json");
    assert!(number(&ask(&line).json(), "beats_up_to") < 5.0);
    let solved = ask(&format!("{line} --hindsight")).json();
    assert!(number(&solved, "certificate") > 0.0 && number(&solved["regret"], "upper") < 0.0);
    assert_eq!(solved["beats_up_to"], 5.0);
    let worse = ask(&format!("run {DATA} --hindsight -q")).result();
    assert!(
        worse.contains("Proved: one such predictor would have saved at least 0.03336 per round")
    );
    let votes = "--predictions data/phishing-models.csv --prediction-column votes --link logistic";
    let line = format!("audit {DATA} {votes} --loss logistic --radius 3.2 --json");
    let audited = ask(&line).json();
    assert!(number(&audited, "certificate") > 0.0);
    assert_eq!(audited["beats_every_linear_predictor"], false);
    let solved = ask(&format!("{line} --hindsight")).json();
    assert_eq!(solved["beats_every_linear_predictor"], true);
    assert_eq!(solved["beats_up_to"], 3.2);
}

/// In the square loss the certificate is the exact regret at every radius. Here no radius saves all
/// of the risk, so there is none from which on it says nothing.
#[test]
fn a_certificate_that_never_ends_has_no_end() {
    let report = ask("run docs/rides.csv --label rides --radius 1 --json -q").json();
    let largest = report["radii"].as_array().and_then(|radii| radii.last()).expect("radii");
    assert!(number(largest, "certificate") < 0.1 * number(&report, "sequential_risk"));
    assert_eq!(report["says_nothing_from"], Value::Null);
}

/// If the run exceeds a declared gradient bound, the report loses the theorem and nothing else,
/// because AdaGrad-norm steps do not depend on the bound.
#[test]
fn a_gradient_bound_that_is_too_small_withdraws_the_theorem_alone() {
    let plain = ask(&format!("run {DATA} --json --loss hinge --learner ogd")).json();
    let line = format!("run {DATA} --json --schedule adagrad-norm --gradient-bound 2 --loss hinge");
    let declared = ask(&line).json();
    for key in ["sequential_risk", "mistake_rate", "certificate", "curve"] {
        assert_eq!(declared[key], plain[key], "{key}");
    }
    assert_eq!(declared["bound"]["data"], plain["bound"]["data"]);
    assert_eq!(declared["bound"]["theorem"], Value::Null);
    assert_eq!(
        declared["bound"]["why"],
        "the theorem assumes gradients of norm at most G = 2, and this run had one of norm \
         3.0413812651491097"
    );
}

/// A gradient bound may be the largest norm itself, rounded, because the norm is known to single
/// precision only.
#[test]
fn the_largest_gradient_is_a_gradient_bound() {
    let report = ask(&format!("run {DATA} --json --gradient-bound 3.0413812 --loss hinge")).json();
    assert!(report["bound"]["theorem"].is_number(), "{}", report["bound"]);
}

#[test]
fn comparators_without_a_bound_have_no_certificate() {
    let directory = tempfile::TempDir::new().expect("a directory");
    let path = directory.path().join("spec.json");
    let mut spec = ask(&format!("run {DATA} --json --loss hinge")).json()["spec"].take();
    spec["comparators"] = serde_json::json!({ "name": "whole-space" });
    fs::write(&path, spec.to_string()).expect("the spec is written");

    let report = ask(&format!("run --json --spec {}", path.display())).json();
    assert_eq!(report["certificate"], Value::Null);
    assert_eq!(report["curve"][0]["certificate"], Value::Null);
    assert_eq!(
        (&report["bound"]["data"], &report["bound"]["theorem"]),
        (&Value::Null, &Value::Null)
    );
    assert!(report["bound"]["why"].is_string());
}

/// A run may have a single round.
#[test]
fn one_example_is_enough() {
    let directory = tempfile::TempDir::new().expect("a directory");
    fs::write(directory.path().join("one"), "-1 2:3").expect("the data is written");
    for learner in LearnerSpec::NAMES {
        let line = format!("run one --json --loss hinge --learner {learner}");
        let report = crate::harness::ask_in(directory.path(), &line).json();
        assert_eq!((&report["examples"], &report["curve"][0]["t"]), (&1.into(), &1.into()));
        assert_eq!(report["sequential_risk"], 1.0, "{line}");
        assert_eq!(report["mistake_rate"], 1.0, "{line}");
    }
}

/// Notes about what was measured beforehand go to the standard error, and not into the JSON.
#[test]
fn notes_go_to_the_standard_error() {
    let said = ask(&format!("run {DATA} --json --loss hinge --learner minimax"));
    assert_eq!(
        said.notes(),
        "note: G = 3.0413812651491097 is measured in a first pass over the data\n\
         note: T = 1250 is counted in a first pass over the data\n"
    );
    assert!(said.json().is_object());
    let quiet = ask(&format!("run {DATA} --json --learner minimax -q"));
    assert_eq!(quiet.stderr, "", "no progress, and no notes");
    assert_eq!(ask(&format!("run {DATA} --json --loss hinge -q")).stderr, "");
}
