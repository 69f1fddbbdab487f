//! The obvious reader, with which the fast one must agree.

use crate::Row;
use rueful_data::{LabelRule, Reading};

/// The text with a line feed at the end of every line. If there is no line feed, carriage returns
/// end the lines.
fn with_line_feeds(text: &str) -> String {
    let is_old = text.contains('\r') && !text.contains(['\n', '\0']);
    if is_old { text.replace('\r', "\n") } else { text.to_owned() }
}

/// The rows up to the first line that is wrong, and the number of that line if there is one.
pub(crate) fn read(text: &str, reading: &Reading) -> (Vec<Row>, Option<u64>) {
    let text = &with_line_feeds(text);
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut rows = Vec::new();
    let (mut has_zero, mut has_minus) = (false, false);
    for (number, line) in (1..).zip(text.split('\n')) {
        let first = line.split([' ', '\t', '#', '\r']).find(|token| !token.is_empty());
        let label = first.and_then(self::number);
        has_zero |= reading.labels == LabelRule::Signs && label == Some(0.0);
        has_minus |= reading.labels == LabelRule::Signs && label == Some(-1.0);
        match read_line(line, reading) {
            Some(row) if !(has_zero && has_minus) => rows.extend(row),
            _ => return (rows, Some(number)),
        }
    }
    (rows, None)
}

/// The row of a line, if it has one. Returns none if the line is wrong.
fn read_line(line: &str, reading: &Reading) -> Option<Option<Row>> {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let line = line.split('#').next()?;
    let mut tokens = line.split([' ', '\t']).filter(|token| !token.is_empty());
    let Some(label) = tokens.next() else { return Some(None) };
    let label = number(label).filter(|label| label.abs() <= f64::from(f32::MAX))?;
    let label = match reading.labels {
        LabelRule::Signs if label == 0.0 => -1.0,
        LabelRule::Signs if label.abs() != 1.0 => return None,
        _ => label + 0.0,
    };
    let mut features = Vec::new();
    if reading.constant {
        features.push((0, 1.0));
    }
    let mut previous = 0;
    for token in tokens {
        let (index, value) = token.split_once(':')?;
        let (index, value) = (integer(index)?, single(value)?);
        if index <= previous || index > reading.limits.max_index || !value.is_finite() {
            return None;
        }
        previous = index;
        features.push((index, value));
    }
    features.retain(|&(_, value)| value != 0.0);
    Some(Some(crate::row(label, &features)))
}

fn integer(text: &str) -> Option<u32> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// The number that the standard library reads from a text. Words are not numbers.
fn single(text: &str) -> Option<f32> {
    number(text)?;
    text.parse().ok()
}

fn number(text: &str) -> Option<f64> {
    let is_word = text.contains(|char: char| char.is_alphabetic() && !"eE".contains(char));
    if is_word { None } else { text.parse().ok() }
}
