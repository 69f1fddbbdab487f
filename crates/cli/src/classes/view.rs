//! The figures of many classes, in the form that people read.

use crate::numbers::{count, measured, percent};
use crate::view::{headed, numbers_table};
use rueful_data::printable;
use rueful_run::{ClassReport, ClassesReport, ConfusedReport};

/// The number of classes that are listed one by one, and the number of classes up to which the
/// whole confusion matrix is shown.
const LISTED: usize = 20;
const MATRIX: usize = 8;

/// The number of mistakes that are listed if the matrix is not shown.
const MISTAKES: usize = 10;

/// The number of characters of a label that are shown.
const LABEL: usize = 24;

/// The largest width of a matrix.
const WIDTH: usize = 96;

fn shown(label: &str) -> String {
    let text = printable(label);
    match text.char_indices().nth(LABEL) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn share(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), percent)
}

/// Returns the sections about classes: a line for each of the most frequent ones, and which was
/// taken for which.
pub(crate) fn section(report: &ClassesReport) -> String {
    if report.classes.is_empty() {
        return String::new();
    }
    listed(report) + &confusion(report)
}

/// The most frequent classes. Equally frequent ones are in the order in which they came.
fn most_frequent(report: &ClassesReport) -> Vec<&ClassReport> {
    let mut classes: Vec<&ClassReport> = report.classes.iter().collect();
    if classes.len() > LISTED {
        classes.sort_by_key(|class| std::cmp::Reverse(class.examples));
        classes.truncate(LISTED);
    }
    classes
}

fn listed(report: &ClassesReport) -> String {
    let head = ["", "examples", "predicted", "precision", "recall", "F1"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let classes = most_frequent(report);
    rows.extend(classes.iter().map(|class| {
        vec![
            shown(&class.label),
            count(class.examples),
            count(class.predicted),
            share(class.precision),
            share(class.recall),
            class.f1.map_or_else(|| "–".to_owned(), measured),
        ]
    }));
    let others = report.classes.len() - classes.len();
    if others > 0 {
        let all: u64 = report.classes.iter().map(|class| class.examples).sum();
        let listed: u64 = classes.iter().map(|class| class.examples).sum();
        rows.push(vec![format!("{} others", count(others as u64)), count(all - listed)]);
    }
    headed("Classes", &numbers_table(rows, 1..=5))
}

fn confusion(report: &ClassesReport) -> String {
    let labels: Vec<String> = report.classes.iter().map(|class| shown(&class.label)).collect();
    let width: usize = labels.iter().map(|label| label.chars().count().max(4) + 2).sum();
    if labels.len() <= MATRIX && width <= WIDTH - LABEL {
        return matrix(report, labels);
    }
    let is_mistake = |pair: &&ConfusedReport| pair.predicted.as_ref() != Some(&pair.label);
    let mut pairs: Vec<&ConfusedReport> =
        report.confusion_matrix.iter().filter(is_mistake).collect();
    pairs.sort_by_key(|pair| std::cmp::Reverse(pair.examples));
    pairs.truncate(MISTAKES);
    if pairs.is_empty() {
        return String::new();
    }
    let mut rows = vec![["label", "predicted", "examples"].map(str::to_owned).to_vec()];
    rows.extend(pairs.iter().map(|pair| {
        let predicted = pair.predicted.as_deref().map_or_else(|| "–".to_owned(), shown);
        vec![shown(&pair.label), predicted, count(pair.examples)]
    }));
    headed("The most frequent mistakes", &numbers_table(rows, 2..=2))
}

/// The whole confusion matrix: a line for each label, and a column for each prediction.
fn matrix(report: &ClassesReport, labels: Vec<String>) -> String {
    let examples = |label: &str, predicted: Option<&str>| {
        let pairs = report.confusion_matrix.iter();
        let of_pair =
            pairs.filter(|pair| pair.label == label && pair.predicted.as_deref() == predicted);
        of_pair.map(|pair| pair.examples).sum::<u64>()
    };
    let last = labels.len() + 1;
    let mut rows = vec![[vec![String::new()], labels, vec!["–".to_owned()]].concat()];
    rows.extend(report.classes.iter().map(|class| {
        let columns = report.classes.iter().map(|other| Some(&*other.label));
        let cells = columns.chain([None]).map(|other| count(examples(&class.label, other)));
        [shown(&class.label)].into_iter().chain(cells).collect()
    }));
    let title = "Confusion: labels down, predictions across; – is before the first example";
    headed(title, &numbers_table(rows, 1..=last))
}

/// Returns the classes with their figures, for a page.
pub(crate) fn pairs(report: &ClassesReport) -> Vec<(String, String)> {
    let mut pairs: Vec<_> = most_frequent(report).into_iter().map(class_pair).collect();
    let is_mistake = |pair: &&ConfusedReport| pair.predicted.as_ref() != Some(&pair.label);
    let mut mistakes: Vec<&ConfusedReport> =
        report.confusion_matrix.iter().filter(is_mistake).collect();
    mistakes.sort_by_key(|pair| std::cmp::Reverse(pair.examples));
    pairs.extend(mistakes.into_iter().take(MISTAKES).map(mistake_pair));
    pairs
}

fn class_pair(class: &ClassReport) -> (String, String) {
    let f1 = class.f1.map_or_else(|| "–".to_owned(), measured);
    let told = format!(
        "{} examples, precision {}, recall {}, F1 {f1}",
        count(class.examples),
        share(class.precision),
        share(class.recall)
    );
    (format!("class {}", shown(&class.label)), told)
}

fn mistake_pair(pair: &ConfusedReport) -> (String, String) {
    let predicted = pair.predicted.as_deref().map_or_else(|| "nothing".to_owned(), shown);
    let name = format!("{} taken for {predicted}", shown(&pair.label));
    (name, count(pair.examples))
}
