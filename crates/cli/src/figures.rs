//! The usual figures, in the form that people read.

use crate::numbers::{Figure, at_least, at_most, measured, percent};
use crate::view::{headed, numbers_table, plain};
use rueful_run::{FiguresReport, Interval, RatesReport};

/// An interval that is not wider than this is shown as one measured number: its width is only
/// rounding.
const AS_GOOD_AS_EXACT: f64 = 1e-9;

/// Returns the section about the figures, with the calibration and the remarks. It is empty if
/// there are no figures.
pub(crate) fn section(title: &str, figures: Option<&FiguresReport>) -> String {
    let Some(figures) = figures else { return String::new() };
    let rows = rows(figures);
    let mut text = String::new();
    if !rows.is_empty() {
        text += &headed(title, &plain(rows));
    }
    let remarks = remarks(figures);
    if !remarks.is_empty() {
        let head = if text.is_empty() { title } else { text.trim_end() };
        text = format!("{head}\n{remarks}\n\n");
    }
    text + &calibration(figures)
}

fn remarks(figures: &FiguresReport) -> String {
    let lines = figures.remarks.iter().map(|remark| wrapped(remark));
    lines.collect::<Vec<_>>().join("\n")
}

/// Breaks a sentence into lines that fit on a terminal.
fn wrapped(sentence: &str) -> String {
    let mut lines = vec![String::from(" ")];
    for word in sentence.split_whitespace() {
        let last = lines.last().map_or(0, |line| line.chars().count());
        if last + word.chars().count() > 96 {
            lines.push(String::from(" "));
        }
        if let Some(line) = lines.last_mut() {
            *line += " ";
            *line += word;
        }
    }
    lines.join("\n")
}

/// Returns one row for each figure that is known: its name, the number, and its meaning.
fn rows(figures: &FiguresReport) -> Vec<Vec<String>> {
    let rates = &figures.rates;
    let mut rows = Vec::new();
    let mut row = |name: &str, value: Option<String>, says: String| {
        rows.extend(value.map(|value| vec![name.to_owned(), value, says]));
    };
    row("explained", rates.explained.map(share), explained(figures));
    row("error rate", rates.error_rate.map(percent), majority(figures));
    row("AUC", rates.auc.map(interval), String::new());
    row("precision", rates.precision.map(percent), taken(figures));
    row("recall", rates.recall.map(percent), positive(figures));
    row("F1", rates.f1.map(measured), String::new());
    row("log loss", rates.log_loss.map(measured), String::new());
    row("Brier score", rates.brier.map(measured), String::new());
    let off = "the mean distance of probabilities from what came".to_owned();
    row("calibration error", figures.calibration_error.map(measured), off);
    rows
}

fn explained(figures: &FiguresReport) -> String {
    let value = figures.best_constant.and_then(|best| best.value);
    let told = value.map_or(String::new(), |value| format!(", {},", measured(value)));
    format!("of what the best constant{told} loses")
}

fn majority(figures: &FiguresReport) -> String {
    let rate = figures.rates.majority_error_rate.map_or(String::new(), percent);
    let class = if figures.confusion.is_some() { "larger" } else { "largest" };
    format!("{rate} by always answering the {class} class")
}

fn taken(figures: &FiguresReport) -> String {
    let told = figures.confusion.map(|all| {
        let (right, taken) = (all.true_positives, all.true_positives + all.false_positives);
        format!("{} of {} taken for positive", whole(right), whole(taken))
    });
    told.unwrap_or_default()
}

fn positive(figures: &FiguresReport) -> String {
    let told = figures.confusion.map(|all| {
        let (right, wrong) = (whole(all.true_negatives), whole(all.false_positives));
        let positive =
            format!("{} of {} positive", whole(all.true_positives), whole(all.positives()));
        format!("{positive}; of the negative, {right} were right and {wrong} wrong")
    });
    told.unwrap_or_default()
}

/// Shows a sum of importances. It is a count if all examples count once.
fn whole(weight: f64) -> String {
    if weight == weight.trunc() && weight < 1e15 {
        return crate::numbers::count(weight as u64);
    }
    measured(weight)
}

/// The figure that tells most in one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goodness {
    /// How well scores of two classes rank.
    Auc,
    /// The share of the best constant's loss that was saved.
    Explained,
}

impl Goodness {
    /// The one that any of these have, if any.
    pub(crate) fn of<'a>(mut all: impl Iterator<Item = &'a RatesReport>) -> Option<Self> {
        all.find_map(|rates| match (rates.auc, rates.explained) {
            (Some(_), _) => Some(Self::Auc),
            (None, Some(_)) if rates.error_rate.is_none() => Some(Self::Explained),
            _ => None,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Auc => "AUC",
            Self::Explained => "explained",
        }
    }

    pub(crate) fn told(self, rates: Option<&RatesReport>) -> String {
        let told = rates.and_then(|rates| match self {
            Self::Auc => rates.auc.map(interval),
            Self::Explained => rates.explained.map(share),
        });
        told.unwrap_or_else(|| "–".to_owned())
    }
}

/// Shows a number that is known to lie between two others.
pub(crate) fn interval(interval: Interval) -> String {
    if interval.upper - interval.lower <= AS_GOOD_AS_EXACT {
        return measured(interval.lower);
    }
    format!("{} to {}", at_least(interval.lower), at_most(interval.upper))
}

/// Shows a share that is known to lie between two others, in per cent.
pub(crate) fn share(interval: Interval) -> String {
    if interval.upper - interval.lower <= AS_GOOD_AS_EXACT {
        return percent(interval.upper);
    }
    let (lower, upper) = (Figure::at_least(interval.lower), Figure::at_most(interval.upper));
    format!("{} to {}", lower.percent(), upper.percent())
}

/// Returns a table of predicted probabilities and observed frequencies, with a column for every
/// tenth.
fn calibration(figures: &FiguresReport) -> String {
    if figures.calibration.is_empty() {
        return String::new();
    }
    let short = |share: f64| format!("{} %", Figure::measured(100.0 * share).decimals(1));
    let bins = || figures.calibration.iter();
    let row = |name: &str, cells: Vec<String>| [vec![name.to_owned()], cells].concat();
    let rows = vec![
        row("said", bins().map(|bin| short(bin.predicted)).collect()),
        row("came", bins().map(|bin| short(bin.observed)).collect()),
        row("examples", bins().map(|bin| whole(bin.weight)).collect()),
    ];
    let last = figures.calibration.len();
    let title = "Calibration: how often the positive label came, by tenths of its probability";
    headed(title, &numbers_table(rows, 1..=last))
}

/// Returns the figures with their names, for a page.
pub(crate) fn pairs(figures: &FiguresReport) -> Vec<(String, String)> {
    let row = |row: Vec<String>| {
        let mut cells = row.into_iter();
        let name = cells.next().unwrap_or_default();
        let told: Vec<String> = cells.filter(|cell| !cell.is_empty()).collect();
        (name, told.join("; ").replace("-", "−"))
    };
    let remarks = figures.remarks.iter().map(|remark| ("note".to_owned(), remark.clone()));
    rows(figures).into_iter().map(row).chain(remarks).collect()
}

/// Returns the figures with their names and nothing else, for a table with a column for each.
pub(crate) fn values(figures: &FiguresReport) -> Vec<(String, String)> {
    let value = |row: Vec<String>| {
        let mut cells = row.into_iter();
        let name = cells.next().unwrap_or_default();
        (name, cells.next().unwrap_or_default().replace("-", "−"))
    };
    rows(figures).into_iter().map(value).collect()
}

/// Returns the figures in one line, for output without tables.
pub(crate) fn in_one_line(figures: &FiguresReport) -> String {
    let rates = &figures.rates;
    let named = |name: &str, value: Option<String>| value.map(|value| format!("{name} {value}"));
    let all = [
        named("explained", rates.explained.map(share)),
        named("error rate", rates.error_rate.map(percent)),
        named("AUC", rates.auc.map(interval)),
        named("precision", rates.precision.map(percent)),
        named("recall", rates.recall.map(percent)),
        named("F1", rates.f1.map(measured)),
        named("Brier score", rates.brier.map(measured)),
        named("calibration error", figures.calibration_error.map(measured)),
    ];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_rounded_outward_and_exact_numbers_to_the_nearest() {
        let of = |lower, upper| interval(Interval { lower, upper });
        assert_eq!(of(0.123_46, 0.123_46), "0.1235");
        assert_eq!(of(0.123_46, 0.123_51), "0.1234 to 0.1236");
        assert_eq!(share(Interval { lower: 0.5, upper: 0.500_01 }), "50.00 % to 50.01 %");
    }

    #[test]
    fn sentences_are_broken_where_a_line_ends() {
        let text = wrapped(&"word ".repeat(40));
        assert!(text.lines().all(|line| line.starts_with("  word") && line.len() <= 97));
        assert_eq!(text.split_whitespace().count(), 40);
    }
}
