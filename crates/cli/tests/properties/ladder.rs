//! Every report has exact regret ≤ certificate ≤ data-dependent bound ≤ theorem.

use crate::harness::Desk;
use crate::setups::setups;
use crate::stream::{LOSSES, Labels, libsvm, own, spread, stream, times, vw, weighted};
use serde_json::Value;

/// The rungs that a report has, with their names, from the lowest to the highest.
fn rungs(report: &Value) -> Vec<(&'static str, f64)> {
    let bound = &report["bound"];
    let rungs = [
        ("exact regret, at least", &report["regret"]["lower"]),
        ("certificate", &report["certificate"]),
        ("data-dependent bound", &bound["data"]),
        ("theorem", &bound["theorem"]),
    ];
    rungs.into_iter().filter_map(|(name, value)| Some((name, value.as_f64()?))).collect()
}

/// Checks that the rungs of a report are in order, at the end and at every point of its curve.
/// Returns the number of rungs at the end.
#[track_caller]
pub(crate) fn assert_in_order(report: &Value, what: &str) -> usize {
    let curve = report["curve"].as_array().expect("a curve");
    for moment in curve.iter().chain([report]) {
        let rungs = rungs(moment);
        assert!(rungs.len() >= 2, "{what}\nregret or certificate is missing in {moment}");
        assert!(rungs.is_sorted_by(|a, b| a.1 <= b.1), "{what}\n{rungs:?} in {moment}");
    }
    if let Some(mistakes) = report["mistake_bound"]["mistakes"].as_f64() {
        assert!(mistakes <= report["mistake_bound"]["bound"].as_f64().expect("a number"), "{what}");
    }
    rungs(report).len()
}

/// Runs all setups on the file `data`, and checks their rungs. `index` gives the numbers of the
/// columns, if these have numbers. Returns how many rungs were in order.
fn climb(desk: &Desk, labels: Labels, more: &str, index: Option<fn(u32) -> u32>) -> usize {
    let mut climbed = 0;
    for loss in LOSSES.into_iter().filter(|loss| loss.labels == labels) {
        for mut setup in setups(loss) {
            if setup.has_sides() && index.is_none() {
                continue;
            }
            setup.flags += more;
            let line = setup.line(desk, "data", index.unwrap_or(own));
            let report = desk.run(&format!("{line} --hindsight --curve-hindsight"));
            climbed += assert_in_order(&report, &format!("{setup:?}"));
        }
    }
    climbed
}

#[test]
fn of_classes() {
    let desk = Desk::new();
    desk.put("data", libsvm(&stream(Labels::Classes, 50, 1), own));
    // There are 3 losses with 12 runs each, and most of these have all four rungs.
    assert!(climb(&desk, Labels::Classes, "", Some(own)) >= 3 * 12 * 3);
}

#[test]
fn of_numbers() {
    let desk = Desk::new();
    desk.put("data", libsvm(&stream(Labels::Numbers, 50, 2), own));
    assert!(climb(&desk, Labels::Numbers, "", Some(own)) >= 4 * 11 * 3);
}

#[test]
fn of_rows_that_count_more() {
    for labels in [Labels::Classes, Labels::Numbers] {
        let desk = Desk::new();
        desk.put("data", vw(&weighted(stream(labels, 50, 3)), |i| i.to_string()));
        climb(&desk, labels, "", Some(own));
    }
}

#[test]
fn of_classes_that_count_more() {
    let desk = Desk::new();
    desk.put("data", libsvm(&stream(Labels::Classes, 50, 4), own));
    climb(&desk, Labels::Classes, " --positive-weight 5 --negative-weight 0.25", Some(own));
}

/// The names of columns are hashed to scattered numbers, and solvers see the columns under other
/// numbers.
#[test]
fn of_rows_that_count_more_under_names() {
    for labels in [Labels::Classes, Labels::Numbers] {
        let desk = Desk::new();
        desk.put("data", vw(&weighted(stream(labels, 50, 71)), |i| format!("column{i}")));
        climb(&desk, labels, " --bits 12", None);
    }
}

#[test]
fn of_classes_that_count_more_far_apart() {
    let desk = Desk::new();
    desk.put("data", libsvm(&stream(Labels::Classes, 50, 72), spread));
    climb(&desk, Labels::Classes, " --positive-weight 50 --negative-weight 0.25", Some(spread));
}

/// Every row counts 50 times, and the ball of comparators is small.
#[test]
fn of_rows_that_count_50_times() {
    let desk = Desk::new();
    desk.put("data", vw(&times(&stream(Labels::Classes, 200, 73), 50.0), |i| format!("f{i}")));
    let report = desk.run("data --bits 12 --radius 1 --hindsight --curve-hindsight");
    assert_eq!(assert_in_order(&report, "200 rows"), 4);
}
