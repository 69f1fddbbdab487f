//! Reports compared figure by figure.

use serde_json::Value;
use std::collections::BTreeMap;

/// What says where data came from and what things are called, and no more.
const NAMES: [&str; 10] = [
    "spec",
    "data",
    "predictions",
    "index",
    "name",
    "why",
    "reference",
    "collisions",
    "notes",
    "largest_weights",
];

/// Every figure of a report under its path, but for names.
pub(crate) fn figures(report: &Value) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    collect("", report, &mut all);
    all
}

fn collect(path: &str, value: &Value, all: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields.iter().filter(|(key, _)| !NAMES.contains(&key.as_str())) {
                collect(&format!("{path}.{key}"), value, all);
            }
        }
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                collect(&format!("{path}.{place}"), item, all);
            }
        }
        leaf => drop(all.insert(path.to_owned(), leaf.clone())),
    }
}

/// How well figures must agree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Agree {
    /// To the last bit.
    Exactly,
    /// To so much, relative to 1 and to their size.
    Within(f64),
}

/// Rounding in a few hundred operations, and no more.
pub(crate) const ROUNDING: Agree = Agree::Within(1e-9);

impl Agree {
    pub(crate) fn on(self, a: f64, b: f64) -> bool {
        match self {
            Self::Exactly => a == b,
            Self::Within(grain) => (a - b).abs() <= grain * (1.0 + a.abs().max(b.abs())),
        }
    }
}

/// Allowances for what is too small for a double are below this, in any unit.
const NOTHING: f64 = 1e-230;

/// Two reports have the same figures.
#[track_caller]
pub(crate) fn assert_same(one: &Value, other: &Value, agree: Agree, what: &str) {
    assert_scaled(one, other, agree, |_| 1.0, what);
}

/// The figures of the other report are those of the first, each times a factor. Whole numbers, words and
/// truths are the same.
#[track_caller]
pub(crate) fn assert_scaled(
    one: &Value,
    other: &Value,
    agree: Agree,
    factor: impl Fn(&str) -> f64,
    what: &str,
) {
    let (one, other) = (figures(one), figures(other));
    let paths = |figures: &BTreeMap<String, Value>| figures.keys().cloned().collect::<Vec<_>>();
    assert_eq!(paths(&one), paths(&other), "{what}");
    for (path, a) in &one {
        let b = &other[path];
        let is_same = match (a.as_f64(), b.as_f64()) {
            (Some(x), Some(y)) if a.is_f64() || b.is_f64() => {
                agree.on(factor(path) * x, y) || x.abs().max(y.abs()) < NOTHING
            }
            _ => a == b,
        };
        assert!(is_same, "{what}\n{path}: {a} and {b}, expected a factor of {}", factor(path));
    }
}

/// A number of a report, as a path of keys.
#[track_caller]
pub(crate) fn number(report: &Value, path: &str) -> f64 {
    let value = path.split('.').fold(report, |value, key| &value[key]);
    value.as_f64().unwrap_or_else(|| panic!("{path} is {value} in {report}"))
}

/// A figure per round, for all rounds.
#[track_caller]
pub(crate) fn total(report: &Value, path: &str) -> f64 {
    number(report, path) * number(report, "examples")
}

/// What the best comparator lost in all, at least and at most.
#[track_caller]
pub(crate) fn comparator(report: &Value) -> (f64, f64) {
    (total(report, "comparator.lower"), total(report, "comparator.upper"))
}

/// Two intervals that hold the same number: they overlap, but for the rounding of totals.
#[track_caller]
pub(crate) fn assert_overlap(one: (f64, f64), other: (f64, f64), what: &str) {
    let ends = [one.0, one.1, other.0, other.1];
    let rounding = 1e-12 * ends.iter().fold(0.0, |size: f64, end| size.max(end.abs()));
    let overlap = one.0 <= other.1 + rounding && other.0 <= one.1 + rounding;
    assert!(overlap, "{what}\n{one:?} and {other:?} have nothing in common");
}

/// Two solutions of one problem: each as good as asked for, and their intervals overlap.
#[track_caller]
pub(crate) fn assert_solved_alike(one: &Value, other: &Value, what: &str) {
    for report in [one, other] {
        let found = if report["hindsight"].is_object() { &report["hindsight"] } else { report };
        assert_eq!(found["converged"], true, "{what}\n{found}");
    }
    assert_overlap(comparator(one), comparator(other), what);
}
