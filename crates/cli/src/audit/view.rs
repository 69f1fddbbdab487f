//! The report of an audit as a person reads it.

use super::chart;
use crate::numbers::{count, percent, short};
use crate::view::{headed, numbers_table, plain};
use comfy_table::Table;
use rueful_core::loss::Loss;
use rueful_data::printable;
use rueful_run::{AuditReport, Link, ModelReport, NamedReport, WindowReport};
use std::collections::BTreeSet;

/// So many windows are shown one by one.
const ALL_SHOWN: usize = 20;
/// Of more windows, so many are shown from the beginning and from the end …
const AT_ENDS: usize = 3;
/// … and so many of the worst.
const WORST: usize = 5;

/// The whole report.
pub(super) fn report(report: &AuditReport) -> String {
    let mut text = headed("Audit", &about(report));
    match &report.models[..] {
        [] => text += &one_model(report, "", &report.first),
        [only] => text += &one_model(report, "", &only.report),
        models => {
            text += &headed(&format!("Models against {}", comparators(report)), &compared(models));
            for model in models {
                let of = format!(" of {}", printable(&model.name));
                text += &format!("Verdict{of}\n  {}\n\n", verdict(report, &model.report));
                text += &windows(&of, &model.report);
            }
        }
    }
    format!("{}\n", text.trim_end())
}

fn one_model(report: &AuditReport, of: &str, model: &ModelReport) -> String {
    let title = format!("Regret against {}", comparators(report));
    let mut text = headed("What the predictions cost", &costs(model));
    text += &headed(&title, &certificate(model));
    text += &format!("Verdict\n  {}\n\n", verdict(report, model));
    text + &windows(of, model)
}

fn about(report: &AuditReport) -> Table {
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let columns: Vec<String> = report.models.iter().map(|model| printable(&model.name)).collect();
    let mut rows =
        vec![row("data", report.data.name()), row("predictions", report.predictions.clone())];
    if !columns.is_empty() {
        rows.push(row(if columns.len() == 1 { "column" } else { "columns" }, columns.join(", ")));
    }
    if report.link == Link::Logistic {
        let link = "logistic: probabilities p of the label +1 became scores ln(p/(1−p))";
        rows.push(row("link", link.to_owned()));
    }
    rows.extend([
        row("loss", report.loss.to_string()),
        row("examples", count(report.first.examples)),
        row("features", features(report)),
        row("norms", norms(report)),
    ]);
    rows.extend(report.data.class_weights.map(|weights| row("weights", weights.to_string())));
    plain(rows)
}

fn features(report: &AuditReport) -> String {
    let constant = if report.data.constant { ", a constant one included" } else { "" };
    let (features, nonzeros) = (count(report.features), count(report.nonzeros));
    format!("{features}{constant}; {nonzeros} nonzeros")
}

fn norms(report: &AuditReport) -> String {
    format!("largest example {}", short(report.first.example_norm_max))
}

fn comparators(report: &AuditReport) -> String {
    format!("every linear predictor with ‖u‖ ≤ {}", report.radius)
}

fn costs(model: &ModelReport) -> Table {
    let rounds = model.examples as f64;
    let risk = model.sequential_risk;
    let mut rows = vec![
        vec![String::new(), "per round".to_owned(), "total".to_owned()],
        vec!["sequential risk".to_owned(), short(risk), short(risk * rounds)],
    ];
    rows.extend(model.mistake_rate.map(|rate| {
        vec!["mistakes".to_owned(), percent(rate), count((rate * rounds).round() as u64)]
    }));
    numbers_table(rows, 1..=2)
}

fn certificate(model: &ModelReport) -> Table {
    let total = model.certificate.map(|value| value * model.examples as f64);
    let mut rows = vec![vec![String::new(), "per round".to_owned(), "total".to_owned()]];
    if let Some(regret) = model.regret {
        let rounds = model.examples as f64;
        for (name, end) in [("exact regret, at least", regret.lower), ("and at most", regret.upper)]
        {
            rows.push(vec![name.to_owned(), short(end), short(end * rounds)]);
        }
    }
    rows.push(vec!["certificate".to_owned(), shown(model.certificate), shown(total)]);
    numbers_table(rows, 1..=2)
}

fn shown(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), short)
}

/// What is proved, in words.
fn verdict(report: &AuditReport, model: &ModelReport) -> String {
    let radius = report.radius;
    // No predictor saves more than the whole of a loss that is never negative.
    let is_empty =
        |certificate: f64| certificate >= model.sequential_risk && report.loss.is_nonnegative();
    match model.certificate {
        Some(value) if value < 0.0 => format!(
            "Proved: on these examples it beat every linear predictor with ‖u‖ ≤ {radius},\n  each \
             by at least {} per round.",
            at_most(-value)
        ),
        Some(value) if is_empty(value) => format!(
            "Nothing is proved: the certificate is no less than the whole risk, which no\n  \
             predictor can save. A radius below {radius} asks for less."
        ),
        Some(value) => format!(
            "Proved: on these examples no linear predictor with ‖u‖ ≤ {radius} would have saved\n  \
             more than {} per round. Whether one would have saved anything is open.",
            at_least(value)
        ),
        None => "Nothing is proved: the sums have left the finite numbers.".to_owned(),
    }
}

/// A number as it is shown, and no larger than it is.
fn at_most(value: f64) -> String {
    short(value - half_a_digit(value))
}

/// A number as it is shown, and no smaller than it is.
fn at_least(value: f64) -> String {
    short(value + half_a_digit(value))
}

/// Half a unit of the fourth digit, which is the last one shown.
fn half_a_digit(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { 0.5 * 10_f64.powf(value.abs().log10().floor() - 3.0) }
}

/// Models one below the other.
fn compared(models: &[NamedReport]) -> Table {
    let classifies = models.iter().any(|model| model.report.mistake_rate.is_some());
    let exact = models.iter().any(|model| model.report.regret.is_some());
    let mut title = titles("model", classifies);
    let regret_column = title.len() - 2;
    if exact {
        title.insert(regret_column, "exact regret".to_owned());
    }
    let mut rows = vec![title];
    rows.extend(models.iter().map(|NamedReport { name, report }| {
        let mut row = vec![printable(name), short(report.sequential_risk)];
        row.extend(report.mistake_rate.map(percent));
        row.extend(report.regret.map(|regret| short(regret.upper)));
        row.push(shown(report.certificate));
        row.push(beats(report.beats_every_linear_predictor));
        row
    }));
    numbers_table(rows, 1..=2 + usize::from(classifies) + usize::from(exact))
}

fn titles(first: &str, classifies: bool) -> Vec<String> {
    let mut names = vec![first, "sequential risk"];
    names.extend(classifies.then_some("mistakes"));
    names.extend(["certificate", ""]);
    names.into_iter().map(str::to_owned).collect()
}

fn beats(beats: bool) -> String {
    if beats { "beat them all".to_owned() } else { String::new() }
}

/// The windows of a model, in a table and in a chart; nothing if there are none.
fn windows(of: &str, model: &ModelReport) -> String {
    let all = &model.windows[..];
    let Some(first) = all.first() else { return String::new() };
    let size = count(first.examples);
    let (title, listed) = if all.len() <= ALL_SHOWN {
        (format!("Windows{of}, {size} examples each"), (0..all.len()).collect())
    } else {
        let number = count(all.len() as u64);
        let title = format!(
            "Windows{of}, {size} examples each: of {number}, the first and last {AT_ENDS}, and the \
             {WORST} with the\nhighest risk and the highest certificate; --json lists all"
        );
        (title, notable(all))
    };
    let chart = chart::draw(all);
    let chart = if chart.is_empty() { chart } else { format!("{chart}\n") };
    headed(&title, &listing(all, &listed)) + &chart
}

/// The windows worth a row, in order.
fn notable(windows: &[WindowReport]) -> BTreeSet<usize> {
    let count = windows.len();
    let mut listed: BTreeSet<usize> = (0..AT_ENDS).chain(count - AT_ENDS..count).collect();
    listed.extend(worst(windows, |window| window.sequential_risk));
    listed.extend(worst(windows, |window| window.certificate.unwrap_or(f64::INFINITY)));
    listed
}

fn worst(windows: &[WindowReport], value: impl Fn(&WindowReport) -> f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..windows.len()).collect();
    order.sort_by(|&a, &b| value(&windows[b]).total_cmp(&value(&windows[a])));
    order.truncate(WORST);
    order
}

fn listing(windows: &[WindowReport], listed: &BTreeSet<usize>) -> Table {
    let classifies = windows.iter().any(|window| window.mistake_rate.is_some());
    let mut rows = vec![titles("examples", classifies)];
    let mut next = 0;
    for &place in listed {
        if place > next {
            rows.push(vec!["…".to_owned()]);
        }
        rows.push(window_row(&windows[place]));
        next = place + 1;
    }
    numbers_table(rows, 1..=2 + usize::from(classifies))
}

fn window_row(window: &WindowReport) -> Vec<String> {
    let mut row = vec![
        format!("{} to {}", count(window.from), count(window.to)),
        short(window.sequential_risk),
    ];
    row.extend(window.mistake_rate.map(percent));
    row.push(shown(window.certificate));
    row.push(beats(window.beats_every_linear_predictor));
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_claimed_is_rounded_to_the_safe_side() {
        for value in [0.123_45, 0.123_449, 0.1, 9.999_96, 0.999_99, 123_456.7, 3.2e-9, 1.0] {
            let (below, above): (f64, f64) =
                (at_most(value).parse().unwrap(), at_least(value).parse().unwrap());
            assert!(below <= value && value <= above, "{below} {value} {above}");
            assert!(above - below <= 2.1e-3 * value, "{below} {value} {above}");
        }
        assert_eq!((at_most(0.0), at_least(0.0)), ("0".to_owned(), "0".to_owned()));
    }

    #[test]
    fn a_name_cannot_upset_a_terminal() {
        assert_eq!(printable("net \u{1b}[2J\"ü\""), "net \\u{1b}[2J\"ü\"");
    }
}
