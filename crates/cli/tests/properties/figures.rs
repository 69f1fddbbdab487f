//! Compares reports figure by figure.

use serde_json::Value;
use std::collections::BTreeMap;

/// The keys of a report that depend on where the data came from and on names. They are not
/// compared.
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

/// Every figure of a report by its path, without the keys of [`NAMES`].
pub(crate) fn figures(report: &Value) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    collect("", report, &mut all);
    all
}

fn collect(path: &str, value: &Value, all: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                // The data are a file, except where they prove a bound.
                if !NAMES.contains(&key.as_str()) || key == "data" && value.is_number() {
                    collect(&format!("{path}.{key}"), value, all);
                }
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

/// How closely figures must agree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Agree {
    /// They must agree to the last bit.
    Exactly,
    /// The difference must be at most this, times 1 plus the size of the figures.
    Within(f64),
}

/// The figures may differ by the rounding of a few hundred operations.
pub(crate) const ROUNDING: Agree = Agree::Within(1e-9);

impl Agree {
    pub(crate) fn on(self, a: f64, b: f64) -> bool {
        match self {
            Self::Exactly => a == b,
            Self::Within(grain) => (a - b).abs() <= grain * (1.0 + a.abs().max(b.abs())),
        }
    }
}

/// Figures below this are not compared. Allowances for numbers that are too small for a double are
/// below this in any unit.
const NOTHING: f64 = 1e-230;

/// Checks that two reports have the same figures.
#[track_caller]
pub(crate) fn assert_same(one: &Value, other: &Value, agree: Agree, what: &str) {
    assert_scaled(one, other, agree, |_| 1.0, what);
}

/// Checks that each figure of the other report is that of the first times a factor. Whole numbers,
/// words and truth values must be the same.
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

/// The number of a report at a path of keys.
#[track_caller]
pub(crate) fn number(report: &Value, path: &str) -> f64 {
    let value = path.split('.').fold(report, |value, key| &value[key]);
    value.as_f64().unwrap_or_else(|| panic!("{path} is {value} in {report}"))
}

/// The total over all rounds of a figure that the report has per round.
#[track_caller]
pub(crate) fn total(report: &Value, path: &str) -> f64 {
    number(report, path) * number(report, "examples")
}

/// The bounds on the total loss of the best comparator.
#[track_caller]
pub(crate) fn comparator(report: &Value) -> (f64, f64) {
    (total(report, "comparator.lower"), total(report, "comparator.upper"))
}

/// Checks that two intervals can hold the same number: they overlap, up to the rounding of totals.
#[track_caller]
pub(crate) fn assert_overlap(one: (f64, f64), other: (f64, f64), what: &str) {
    let ends = [one.0, one.1, other.0, other.1];
    let rounding = 1e-12 * ends.iter().fold(0.0, |size: f64, end| size.max(end.abs()));
    let overlap = one.0 <= other.1 + rounding && other.0 <= one.1 + rounding;
    assert!(overlap, "{what}\n{one:?} and {other:?} have nothing in common");
}

/// Checks two solutions of one problem: both have converged, and their intervals overlap.
#[track_caller]
pub(crate) fn assert_solved_alike(one: &Value, other: &Value, what: &str) {
    for report in [one, other] {
        let found = if report["hindsight"].is_object() { &report["hindsight"] } else { report };
        assert_eq!(found["converged"], true, "{what}\n{found}");
    }
    assert_overlap(comparator(one), comparator(other), what);
}
