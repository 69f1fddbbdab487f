//! The report of an audit as a person reads it.

use super::chart;
use crate::classes;
use crate::figures;
use crate::figures::Goodness;
use crate::numbers::{Figure, at_least, at_most, count, counted, measured, percent};
use crate::view::{headed, numbers_table, plain, standing};
use comfy_table::Table;
use rueful_core::Positive;
use rueful_data::printable;
use rueful_run::{AuditReport, Link, ModelReport, NamedReport, RatesReport, WindowReport};
use std::collections::BTreeSet;

/// Up to this many windows are all shown.
const ALL_SHOWN: usize = 20;
/// If there are more, this many are shown from the beginning, and as many from the end.
const AT_ENDS: usize = 3;
/// If there are more, this many of the highest risk are shown, and as many of the highest
/// certificate.
const WORST: usize = 5;

/// The whole report.
pub(super) fn report(report: &AuditReport) -> String {
    let mut text = headed("Audit", &about(report));
    match &report.models[..] {
        [] => text += &one_model(report, "", &report.first),
        [only] => text += &one_model(report, "", &only.report),
        models => {
            text += &headed(
                &format!("Models against {}", comparators(report)),
                &compared(report, models),
            );
            for model in models {
                let of = format!(" of {}", printable(&model.name));
                text += &format!("Verdict{of}\n  {}\n\n", verdict(report, &model.report));
                text += &windows(report, &of, &model.report);
            }
        }
    }
    format!("{}\n", text.trim_end())
}

fn one_model(report: &AuditReport, of: &str, model: &ModelReport) -> String {
    let title = format!("Regret against {}", comparators(report));
    let mut text = headed("What the predictions cost", &costs(model));
    text += &figures::section("How well they predict", model.figures.as_ref());
    text += &report.classes.as_ref().map_or_else(String::new, classes::section);
    text += &headed(&title, &certificate(model));
    text += &format!("Verdict\n  {}\n\n", verdict(report, model));
    text + &windows(report, of, model)
}

fn about(report: &AuditReport) -> Table {
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let columns: Vec<String> = report.models.iter().map(|model| printable(&model.name)).collect();
    let mut rows = Vec::new();
    if has_files(report) {
        rows.push(row("data", report.data.name()));
        rows.push(row("predictions", report.predictions.clone()));
    }
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
    rows.extend(
        report.data.class_weights.as_ref().map(|weights| row("weights", weights.to_string())),
    );
    plain(rows)
}

/// Whether examples and predictions come from files, and not from the memory of a program.
pub(super) fn has_files(report: &AuditReport) -> bool {
    !report.data.files.is_empty()
}

fn features(report: &AuditReport) -> String {
    let constant = if report.data.constant { ", a constant one included" } else { "" };
    let (features, nonzeros) = (count(report.features), counted(report.nonzeros, "nonzero"));
    format!("{features}{constant}; {nonzeros}")
}

fn norms(report: &AuditReport) -> String {
    format!("largest example {}", measured(report.first.example_norm_max))
}

pub(super) fn comparators(report: &AuditReport) -> String {
    report.comparators.words(report.loss.takes_numbers())
}

fn costs(model: &ModelReport) -> Table {
    let rounds = model.examples;
    let risk = Figure::measured(model.sequential_risk);
    let mut rows = vec![
        vec![String::new(), "per round".to_owned(), "total".to_owned()],
        vec!["sequential risk".to_owned(), risk.to_string(), risk.times(rounds).to_string()],
    ];
    let constant = model.figures.as_ref().and_then(|figures| figures.best_constant);
    rows.extend(constant.map(|best| {
        let loss = Figure::measured(best.loss.upper);
        vec!["best constant".to_owned(), loss.to_string(), loss.times(rounds).to_string()]
    }));
    rows.extend(model.mistake_rate.map(|rate| {
        vec!["mistakes".to_owned(), percent(rate), count((rate * rounds as f64).round() as u64)]
    }));
    numbers_table(rows, 1..=2)
}

fn certificate(model: &ModelReport) -> Table {
    let row = |name: &str, value: Option<Figure>| {
        let total = value.map(|value| value.times(model.examples));
        vec![name.to_owned(), shown(value), shown(total)]
    };
    let mut rows = vec![vec![String::new(), "per round".to_owned(), "total".to_owned()]];
    if let Some(regret) = model.regret {
        rows.push(row("exact regret, at least", Some(Figure::at_least(regret.lower))));
        rows.push(row("and at most", Some(Figure::at_most(regret.upper))));
    }
    rows.push(row("certificate", model.certificate.map(Figure::at_most)));
    numbers_table(rows, 1..=2)
}

fn shown(value: Option<Figure>) -> String {
    value.map_or("–".to_owned(), |value| value.to_string())
}

/// Whether a bound on the regret says nothing. If losses are never negative, no predictor can save
/// more than the whole risk, so a bound of that size is trivial.
fn is_empty(report: &AuditReport, risk: f64, bound: f64) -> bool {
    report.loss.is_nonnegative() && bound >= risk
}

/// Whether the certificate of a model says nothing.
pub(super) fn says_nothing(report: &AuditReport, model: &ModelReport) -> bool {
    model.certificate.is_some_and(|it| is_empty(report, model.sequential_risk, it))
}

/// The verdict on a model: what is proved about it, in words.
pub(super) fn verdict(report: &AuditReport, model: &ModelReport) -> String {
    let them = comparators(report);
    let radius = report.comparators.radius().map_or(f64::INFINITY, Positive::get);
    if let Some(regret) = model.regret.filter(|regret| regret.lower > 0.0) {
        return format!(
            "Proved: on these examples one of them would have saved at least {} per round, and none\n  \
             more than {}: {them}.",
            at_least(regret.lower),
            at_most(regret.upper)
        );
    }
    let known = model.regret.map(|regret| regret.upper).into_iter().chain(model.certificate);
    match known.reduce(f64::min) {
        Some(value) if value < 0.0 => format!(
            "Proved: on these examples it beat {them},\n  each \
             by at least {} per round.",
            at_least(-value)
        ),
        Some(value) if is_empty(report, model.sequential_risk, value) => format!(
            "Nothing is proved: the certificate is no less than the whole risk, which no\n  \
             predictor can save. A radius below {radius} may give a proof."
        ),
        Some(value) => format!(
            "Proved: on these examples none of them would have saved more\n  \
             than {} per round: {them}. Whether one would have saved anything is open.",
            at_most(value)
        ),
        None => "Nothing is proved: the sums are no longer finite.".to_owned(),
    }
}

/// A table with a row for every model.
fn compared(audit: &AuditReport, models: &[NamedReport]) -> Table {
    let classifies = models.iter().any(|model| model.report.mistake_rate.is_some());
    let exact = models.iter().any(|model| model.report.regret.is_some());
    let goodness = Goodness::of(models.iter().filter_map(|model| rates(&model.report)));
    let mut title = titles("model", classifies, goodness);
    let regret_column = title.len() - 2;
    if exact {
        title.insert(regret_column, "exact regret".to_owned());
    }
    let mut rows = vec![title];
    rows.extend(models.iter().map(|NamedReport { name, report }| {
        let mut row = vec![printable(name), measured(report.sequential_risk)];
        row.extend(report.mistake_rate.map(percent));
        row.extend(goodness.map(|goodness| goodness.told(rates(report))));
        row.extend(report.regret.map(|regret| at_most(regret.upper)));
        row.push(shown(report.certificate.map(Figure::at_most)));
        let is_empty = says_nothing(audit, report);
        row.push(standing(report.beats_every_linear_predictor, is_empty).to_owned());
        row
    }));
    let last = 2 + usize::from(classifies) + usize::from(exact) + usize::from(goodness.is_some());
    numbers_table(rows, 1..=last)
}

fn rates(model: &ModelReport) -> Option<&RatesReport> {
    model.figures.as_ref().map(|figures| &figures.rates)
}

fn titles(first: &str, classifies: bool, goodness: Option<Goodness>) -> Vec<String> {
    let mut names = vec![first, "sequential risk"];
    names.extend(classifies.then_some("mistakes"));
    names.extend(goodness.map(Goodness::name));
    names.extend(["certificate", ""]);
    names.into_iter().map(str::to_owned).collect()
}

/// The windows of a model as a table and a chart. The text is empty if there are no windows.
fn windows(report: &AuditReport, of: &str, model: &ModelReport) -> String {
    let all = &model.windows[..];
    let Some(first) = all.first() else { return String::new() };
    let size = counted(first.examples, "example");
    let (title, listed) = if all.len() <= ALL_SHOWN {
        (format!("Windows{of}, {size} each"), (0..all.len()).collect())
    } else {
        let number = count(all.len() as u64);
        let title = format!(
            "Windows{of}, {size} each: of {number}, the first and last {AT_ENDS}, and the \
             {WORST} with the\nhighest risk and the highest certificate; --json lists all"
        );
        (title, notable(all))
    };
    let chart = chart::draw(all);
    let chart = if chart.is_empty() { chart } else { format!("{chart}\n") };
    headed(&title, &listing(report, all, &listed)) + &chart
}

/// The places of the windows that get a row, in order.
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

fn listing(report: &AuditReport, windows: &[WindowReport], listed: &BTreeSet<usize>) -> Table {
    let classifies = windows.iter().any(|window| window.mistake_rate.is_some());
    let goodness = Goodness::of(windows.iter().map(|window| &window.figures));
    let mut rows = vec![titles("examples", classifies, goodness)];
    let mut next = 0;
    for &place in listed {
        if place > next {
            rows.push(vec!["…".to_owned()]);
        }
        rows.push(window_row(report, &windows[place], goodness));
        next = place + 1;
    }
    numbers_table(rows, 1..=2 + usize::from(classifies) + usize::from(goodness.is_some()))
}

fn window_row(
    report: &AuditReport,
    window: &WindowReport,
    goodness: Option<Goodness>,
) -> Vec<String> {
    let mut row = vec![
        format!("{} to {}", count(window.from), count(window.to)),
        measured(window.sequential_risk),
    ];
    row.extend(window.mistake_rate.map(percent));
    row.extend(goodness.map(|goodness| goodness.told(Some(&window.figures))));
    row.push(shown(window.certificate.map(Figure::at_most)));
    let is_empty =
        window.certificate.is_some_and(|it| is_empty(report, window.sequential_risk, it));
    row.push(standing(window.beats_every_linear_predictor, is_empty).to_owned());
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_upset_a_terminal() {
        assert_eq!(printable("net \u{1b}[2J\"ü\""), "net \\u{1b}[2J\"ü\"");
    }
}
