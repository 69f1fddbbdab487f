//! `rueful race`: several learners on one stream. Each learns as it would alone.

use crate::harness::{DATA, ask, ask_in, hinge, number};
use rueful_run::LearnerSpec;
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

const WHAT_IS_SHARED: [&str; 5] =
    ["sequential_risk", "mistake_rate", "certificate", "certificate_own", "curve"];

fn race(flags: &str) -> Value {
    ask(&hinge(&format!("race {DATA} --json {flags}"))).json()
}

fn learners(report: &Value) -> &Vec<Value> {
    report["learners"].as_array().expect("a list")
}

/// The flags of a race of every learner but `strongly-convex-ogd`, which has another σ.
fn all_learners() -> String {
    let all = LearnerSpec::NAMES.iter().filter(|&&name| name != "strongly-convex-ogd");
    all.map(|name| format!(" --learner {name}")).collect()
}

/// The learners do not influence each other: a run of each alone gives the same numbers, to the
/// last bit.
#[test]
fn a_learner_in_a_race_is_its_own_run() {
    let report = race(&all_learners());
    assert_eq!(learners(&report).len(), LearnerSpec::NAMES.len() - 1);
    are_their_own_runs(&report);
}

/// In a ball in the data's own units, the bank's witnesses, which are unit-free, speak beside the
/// others.
#[test]
fn a_bank_in_a_race_is_heard_as_in_its_own_run() {
    for loss in ["hinge", "logistic", "square"] {
        let flags = format!("--learner bank --learner ogd --loss {loss} --comparators ball");
        are_their_own_runs(&race(&flags));
    }
}

#[track_caller]
fn are_their_own_runs(report: &Value) {
    let folder = TempDir::new().expect("a directory");
    for racer in learners(report) {
        let path = folder.path().join("spec.json");
        fs::write(&path, racer["spec"].to_string()).expect("the file is written");
        let alone = ask(&format!("run --spec {} --json", path.display())).json();
        for key in WHAT_IS_SHARED {
            assert_eq!(racer[key], alone[key], "{key} of {}", racer["name"]);
        }
        assert_eq!(racer["spec"], alone["spec"]);
        assert!(racer["certificate"].is_number() && racer["curve"][10].is_object(), "{racer}");
    }
}

#[test]
fn threads_change_nothing() {
    let flags = all_learners() + " --loss logistic --eta 0.1,1";
    // The passive-aggressive learners do not take the logistic loss. They and the Perceptron are
    // left out.
    let flags = flags.replace(" --learner perceptron", "");
    let flags = flags.replace(" --learner passive-aggressive-1", "");
    let flags = flags.replace(" --learner passive-aggressive-2", "");
    let one = ask(&format!("race {DATA} --json {flags} --threads 1")).result();
    for threads in [2, 3, 16] {
        let many = ask(&format!("race {DATA} --json {flags} --threads {threads}")).result();
        assert_eq!(one, many, "{threads} threads");
    }
}

#[test]
fn the_least_risk_comes_first_and_is_marked() {
    let report = race("--learner perceptron --learner ogd --learner ftrl");
    let risks: Vec<f64> =
        learners(&report).iter().map(|racer| number(racer, "sequential_risk")).collect();
    assert_eq!(risks.len(), 3);
    assert!(risks.is_sorted(), "{risks:?}");
    let text = ask(&format!("race {DATA} --learner perceptron --learner ogd --learner ftrl"));
    let text = text.result();
    let best: Vec<&str> = text.lines().filter(|line| line.contains(" best ")).collect();
    let name = learners(&report)[0]["name"].as_str().expect("a name");
    assert!(best.len() == 1 && best[0].contains(name), "{text}");
    assert!(text.contains("Sequential risk over time"), "{text}");
}

/// A certificate that is no smaller than the risk says nothing, in the table and on the page.
#[test]
fn a_certificate_that_says_nothing_is_called_that() {
    let folder = TempDir::new().expect("a directory");
    let path = folder.path().join("race.html");
    for (radius, is_empty) in [("1e4", true), ("1", false)] {
        let flags =
            format!("--learner ogd --learner ftrl --comparators unit-free --radius {radius}");
        let report = race(&format!("{flags} --report {}", path.display()));
        for racer in learners(&report) {
            let risk = number(racer, "sequential_risk");
            assert_eq!(number(racer, "certificate") >= risk, is_empty, "{racer}");
        }
        let text = ask(&hinge(&format!("race {DATA} {flags}"))).result();
        assert_eq!(
            text.matches("  says nothing  ").count(),
            if is_empty { 2 } else { 0 },
            "{text}"
        );
        let page = fs::read_to_string(&path).expect("the page");
        assert_eq!(page.contains(" say nothing: they are no smaller than the risk"), is_empty);
    }
}

/// There is one best comparator for all learners, and the regret of a learner is its loss minus
/// that of the comparator.
#[test]
fn the_best_comparator_is_solved_for_once() {
    let report = race("--learner ogd --learner ftrl --learner perceptron --hindsight");
    let (least, most) =
        (number(&report["comparator"], "lower"), number(&report["comparator"], "upper"));
    assert!(0.0 < least && least <= most, "{}", report["comparator"]);
    for racer in learners(&report) {
        let (regret, risk) = (&racer["regret"], number(racer, "sequential_risk"));
        let (lower, upper) = (number(regret, "lower"), number(regret, "upper"));
        assert!((lower - (risk - most)).abs() < 1e-9 && (upper - (risk - least)).abs() < 1e-9);
        assert!(lower <= upper && upper <= number(racer, "certificate"), "{racer}");
    }
    let alone =
        ask(&format!("run {DATA} --loss hinge --comparators unit-free --hindsight --json")).json();
    let (lower, upper) =
        (number(&alone["comparator"], "lower"), number(&alone["comparator"], "upper"));
    assert!(lower <= most && least <= upper, "the intervals do not meet");
}

/// Learners that use η race once for each value, and the others race once.
#[test]
fn a_grid_races_each_step_size() {
    let etas = |report: &Value| {
        let eta = |racer: &Value| racer["spec"]["learner"]["schedule"]["eta"].as_f64();
        let mut all: Vec<_> = learners(report).iter().map(eta).collect();
        all.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
        all
    };
    assert_eq!(etas(&race("--eta 0.1,1,10")), [Some(0.1), Some(1.0), Some(10.0)]);
    let mixed = race("--learner ogd --learner minimax --eta 0.1,1");
    assert_eq!(etas(&mixed), [None, Some(0.1), Some(1.0)]);
}

/// A learner whose weights are no longer finite comes last, with the reason, and the others go on.
#[test]
fn a_learner_that_diverges_stops_nobody() {
    let folder = TempDir::new().expect("a directory");
    let rows: String = (0..200).map(|t| format!("{} 1:{}\n", t % 7, 1 + t % 3)).collect();
    fs::write(folder.path().join("x"), rows).expect("the file is written");
    let flags = "race x --loss square --learner strongly-convex-ogd --learner ogd --sigma 1e-9";
    let report = ask_in(folder.path(), &format!("{flags} --json")).json();
    let (first, last) = (&learners(&report)[0], &learners(&report)[1]);
    assert_eq!(first["name"], "ogd");
    assert!(first["diverged"].is_null() && number(&report, "examples") == 200.0, "{first}");
    let why = last["diverged"].as_str().expect("a reason");
    assert!(why.contains("the run diverged"), "{why}");
    assert!(last["sequential_risk"].is_null() && last["certificate"].is_null(), "{last}");
    let text = ask_in(folder.path(), flags).result();
    assert!(text.contains("strongly-convex-ogd is out: the run diverged"), "{text}");
}

#[test]
fn what_makes_no_race_is_refused() {
    for (flags, said) in [
        ("--learner ogd --learner perceptron --l1 1", "--l1 has no effect on ogd or perceptron"),
        ("--learner ogd --learner ogd", "ogd is in the race twice"),
        ("--eta 1,1", "ogd with η = 1 is in the race twice"),
        ("--eta 0.1,-1", "--eta: -1 is not a number between 1e-100 and 1e100"),
        ("--learner perceptron --eta 1 --loss square", "classifies"),
        ("--learner ogd --learner strongly-convex-ogd", "a race is about one loss"),
        ("--learner strongly-convex-ogd --comparators unit-free", "no penalty on weights"),
        ("--learner ogd --tolerance 1e-3", "no effect without --hindsight"),
    ] {
        let refusal = ask(&format!("race {DATA} {flags}")).one_line();
        assert!(refusal.contains(said), "{flags}: {refusal}");
    }
    let nobody = ask(&format!("race {DATA}")).refusal(2);
    assert!(nobody.contains("--learner"), "{nobody}");
    let minimax = ask("race - --learner minimax --learner ogd --format libsvm").one_line();
    assert!(minimax.contains("can be read only once"), "{minimax}");
}

#[test]
fn a_race_is_a_page_and_a_picture() {
    let folder = TempDir::new().expect("a directory");
    let [page, plot] = ["race.html", "race.svg"].map(|name| folder.path().join(name));
    let flags = "--eta 0.1,1 --learner ogd --learner perceptron --hindsight";
    let asked = format!("--report {} --plot {}", page.display(), plot.display());
    let report = race(&format!("{flags} {asked}"));
    let read = |path| fs::read_to_string(path).expect("the file is there");
    let (page, plot) = (read(page), read(plot));
    for racer in learners(&report) {
        for key in ["sequential_risk", "certificate"] {
            let cell = format!("<bdi>{:?}</bdi>", number(racer, key));
            assert!(page.contains(&cell), "{cell} of {}", racer["name"]);
        }
    }
    // Two learners have the same name, and the page tells them apart by η.
    assert!(
        page.contains("ogd, η = 0.1000") && plot.contains("perceptron") && plot.starts_with("<svg")
    );
    let lost = ask(&hinge(&format!("race {DATA} --eta 1 --report missing/race.html"))).refusal(1);
    assert!(lost.contains("missing/race.html"), "{lost}");
}
