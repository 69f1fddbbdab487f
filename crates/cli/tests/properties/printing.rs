//! Printed bounds hold: upper bounds are rounded up and lower bounds down. Apart from rounding, the
//! printed figures are those of the JSON.

use crate::figures::number;
use crate::harness::Desk;
use crate::setups::setups;
use crate::stream::{LOSSES, libsvm, own, predictions, stream};
use serde_json::Value;

/// The kind of bound that is printed, which decides the side to which it may be rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    AtLeast,
    AtMost,
}

use Side::{AtLeast, AtMost};

/// Reads a printed number. Pages have a typographic minus sign.
fn read(cell: &str) -> f64 {
    let cell = cell.replace('−', "-");
    cell.parse().unwrap_or_else(|_| panic!("{cell:?} is no number"))
}

/// Checks that a printed number is rounded to the right side, and that four digits are right.
#[track_caller]
fn assert_on_side(printed: f64, value: f64, side: Side, what: &str) {
    let is_on_side = match side {
        AtLeast => printed <= value,
        AtMost => printed >= value,
    };
    let is_near = (printed - value).abs() <= 1.01e-3 * value.abs();
    assert!(is_on_side && is_near, "{what}: {printed} is printed for {value}, {side:?}");
}

/// The cells of the line that begins with this name.
fn cells<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let mut lines = text.lines().map(str::trim_start);
    let rest = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix("  "));
    let rest = rest.unwrap_or_else(|| panic!("{name:?} is not in {text}"));
    rest.split_whitespace().collect()
}

/// Checks that a row has the number of the JSON per round, and its total.
#[track_caller]
fn assert_row(text: &str, name: &str, report: &Value, path: &str, side: Side) {
    let cells = cells(text, name);
    let missing = path.split('.').fold(report, |value, key| &value[key]).is_null();
    if missing {
        assert_eq!(cells[..2], ["–", "–"], "{name}");
        return;
    }
    let (value, rounds) = (number(report, path), number(report, "examples"));
    assert_on_side(read(cells[0]), value, side, name);
    assert_on_side(read(cells[1]), value * rounds, side, name);
}

#[test]
fn reports_of_runs_hold() {
    for loss in LOSSES {
        let desk = Desk::new();
        desk.put("rows", libsvm(&stream(loss.labels, 70, 101), own));
        for setup in setups(loss) {
            let line = setup.line(&desk, "rows", own);
            let report = desk.run(&format!("{line} --hindsight"));
            let text = desk.text(&format!("run {line} --hindsight -q"));
            assert_row(&text, "exact regret, at least", &report, "regret.lower", AtLeast);
            assert_row(&text, "and at most", &report, "regret.upper", AtMost);
            assert_row(&text, "best in hindsight", &report, "comparator.upper", AtMost);
            assert_row(&text, "≤ certificate", &report, "certificate", AtMost);
            assert_row(&text, "≤ data-dependent bound", &report, "bound.data", AtMost);
            assert_row(&text, "≤ theorem", &report, "bound.theorem", AtMost);
        }
    }
}

#[test]
fn reports_of_audits_hold() {
    for loss in LOSSES {
        let desk = Desk::new();
        let rows = stream(loss.labels, 70, 102);
        desk.put("rows", libsvm(&rows, own));
        desk.put("said", predictions(&rows));
        for radius in ["0.01", "0.3", "7"] {
            let flags = format!("{} --radius {radius} --window 7 --hindsight", loss.flags);
            let line = format!("audit rows --predictions said {flags}");
            let (report, text) = (desk.json(&line), desk.text(&line));
            assert_row(&text, "exact regret, at least", &report, "regret.lower", AtLeast);
            assert_row(&text, "and at most", &report, "regret.upper", AtMost);
            assert_row(&text, "certificate", &report, "certificate", AtMost);
            for window in report["windows"].as_array().expect("windows") {
                let cells = cells(&text, &format!("{} to {}", window["from"], window["to"]));
                let words = ["beat", "them", "all", "says", "nothing"];
                let is_number = |cell: &&&str| !words.contains(*cell);
                let last = cells.iter().rfind(is_number).expect("a certificate");
                let certificate = number(window, "certificate");
                assert_on_side(read(last), certificate, AtMost, &flags);
            }
        }
    }
}

#[test]
fn the_best_in_hindsight_is_where_it_is_said_to_be() {
    for loss in LOSSES {
        let desk = Desk::new();
        desk.put("rows", libsvm(&stream(loss.labels, 70, 103), own));
        for set in ["--radius 0.3", "--radius 2", "--sigma 0.25"] {
            let line = format!("hindsight rows {} {set}", loss.flags);
            let (report, text) = (desk.json(&line), desk.text(&line));
            assert_row(&text, "at least", &report, "comparator.lower", AtLeast);
            assert_row(&text, "at most", &report, "comparator.upper", AtMost);
        }
    }
}

#[test]
fn games_promise_no_less_than_the_theorem() {
    let desk = Desk::new();
    for learner in ["ogd", "regularized-erm", "minimax", "strongly-convex-ogd"] {
        for rounds in [10, 33, 1000] {
            let line =
                format!("play adversary --learner {learner} --dimension 3 --rounds {rounds}");
            let (report, text) = (desk.json(&line), desk.text(&line));
            let cells = cells(&text, "theorem");
            assert_on_side(read(cells[0]), number(&report, "theorem"), AtMost, &line);
            assert_on_side(read(cells[1]), number(&report, "theorem_ratio"), AtMost, &line);
        }
    }
}

/// The texts that follow these words on a page, up to the next tag, space or comma.
fn shown<'a>(page: &'a str, words: &str) -> Vec<&'a str> {
    let ends = ['<', ' ', ','];
    page.split(words).skip(1).filter_map(|rest| rest.split(ends).next()).collect()
}

#[test]
fn pages_hold() {
    for loss in LOSSES {
        let desk = Desk::new();
        desk.put("rows", libsvm(&stream(loss.labels, 70, 104), own));
        for radius in ["0.01", "2"] {
            let flags = format!("{} --radius {radius} --hindsight --curve-hindsight", loss.flags);
            let report = desk.run(&format!("rows {flags} --report page.html --plot page.svg"));
            let page = String::from_utf8(desk.read("page.html")).expect("text");
            let picture = String::from_utf8(desk.read("page.svg")).expect("text");
            let certificate = number(&report, "certificate");
            let regret = number(&report, "regret.upper");
            // What is negative is told as what was beaten, by at least so much.
            let said = [
                ("<dt>certificate</dt>", "<dt>beat every one by at least</dt>", certificate),
                ("<dt>exact regret</dt>", "<dt>beat the best of them by at least</dt>", regret),
            ];
            for (name, beaten, value) in said {
                let (name, value, side) =
                    if value < 0.0 { (beaten, -value, AtLeast) } else { (name, value, AtMost) };
                let tile = shown(&page, &format!("{name}<dd class=\"value\">"));
                assert_on_side(read(tile[0]), value, side, &flags);
            }
            let (words, value, side) = if certificate < 0.0 {
                ("Every comparator was beaten by at least ", -certificate, AtLeast)
            } else {
                ("The certificate bounds the regret by ", certificate, AtMost)
            };
            assert_on_side(read(shown(&page, words)[0]), value, side, &flags);
            // The points of the curve have titles with their values, on the page and in the
            // picture.
            let points = report["curve"].as_array().expect("a curve");
            for point in points {
                let at = format!(" at {}<", point["t"]);
                for page in [&page, &picture] {
                    let tips = page.split("<title>certificate ").skip(1);
                    let mut tips = tips.filter_map(|rest| rest.split_once(" at "));
                    let tip = tips.find(|(_, rest)| format!(" at {rest}").starts_with(&at));
                    let value = number(point, "certificate");
                    assert_on_side(read(tip.expect("a tip").0), value, AtMost, &flags);
                }
            }
        }
    }
}
