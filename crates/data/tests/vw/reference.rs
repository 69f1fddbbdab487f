//! The obvious reader, with which the fast one must agree.

use crate::Row;
use rueful_data::{LabelRule, Reading};
use xxhash_rust::xxh3::xxh3_64_with_seed;

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
        let label = line.split([' ', '\t']).find(|word| !word.is_empty()).and_then(self::number);
        let Some(row) = read_line(line, reading) else { return (rows, Some(number)) };
        // A line that leaves no row leaves no label either.
        let is_one =
            |sign: f64| row.is_some() && reading.labels == LabelRule::Signs && label == Some(sign);
        has_zero |= is_one(0.0);
        has_minus |= is_one(-1.0);
        if has_zero && has_minus {
            return (rows, Some(number));
        }
        rows.extend(row);
    }
    (rows, None)
}

/// The row of a line, if it has one. Returns none if the line is wrong.
fn read_line(line: &str, reading: &Reading) -> Option<Option<Row>> {
    let line = line.strip_suffix('\r').unwrap_or(line).trim_start_matches([' ', '\t']);
    if line.is_empty() {
        return Some(None);
    }
    if line.contains('\r') {
        return None;
    }
    let (head, namespaces) = line.split_once('|')?;
    let (label, importance) = read_head(head, reading)?;
    let mut features = Vec::new();
    if reading.constant {
        features.push((0, 1.0));
    }
    for namespace in namespaces.split('|') {
        read_namespace(namespace, reading, &mut features)?;
    }
    if importance == 0.0 {
        return Some(None);
    }
    let mut sums: Vec<(u32, f32)> = Vec::new();
    for (index, value) in features {
        match sums.iter_mut().find(|(other, _)| *other == index) {
            Some((_, sum)) => *sum += value,
            None => sums.push((index, value)),
        }
    }
    if sums.iter().any(|(_, sum)| !sum.is_finite()) {
        return None;
    }
    sums.retain(|&(_, value)| value != 0.0);
    sums.sort_by_key(|&(index, _)| index);
    Some(Some(crate::row(label, &sums)))
}

fn read_head(head: &str, reading: &Reading) -> Option<(f64, f64)> {
    if head.contains('\t') {
        return None;
    }
    let mut words: Vec<&str> = head.split(' ').filter(|word| !word.is_empty()).collect();
    let touches = !head.ends_with(' ');
    if words.last().is_some_and(|last| touches || last.starts_with('\'')) {
        words.pop();
    }
    let numbers: Vec<f64> = words.into_iter().map(number).collect::<Option<_>>()?;
    let (&label, rest) = numbers.split_first()?;
    let importance = match rest {
        [] => 1.0,
        [importance] | [importance, 0.0] => *importance,
        _ => return None,
    };
    if importance != 0.0 && !(1e-30..=1e30).contains(&importance) {
        return None;
    }
    let label = match reading.labels {
        _ if label.abs() > f64::from(f32::MAX) => None,
        LabelRule::Signs if label == 0.0 => Some(-1.0),
        LabelRule::Signs if label.abs() != 1.0 => None,
        _ => Some(label + 0.0),
    };
    Some((label?, importance))
}

fn read_namespace(text: &str, reading: &Reading, features: &mut Vec<(u32, f32)>) -> Option<()> {
    let mut tokens = text.split([' ', '\t']);
    let (namespace, scale) = match tokens.next()?.split_once(':') {
        Some(("", _)) => return None,
        Some((name, scale)) => (name, single(scale)?),
        None => (text.split([' ', '\t']).next()?, 1.0),
    };
    let prefix = if namespace.is_empty() { String::new() } else { format!("{namespace}^") };
    let mut unnamed = 0;
    for token in tokens.filter(|token| !token.is_empty()) {
        let (name, value) = token.split_once(':').unwrap_or((token, "1"));
        let first = value.chars().next()?;
        if first.is_ascii_digit() || "+-.:".contains(first) || is_word(value) {
            let value = single(value)? * scale;
            unnamed += u32::from(name.is_empty());
            let called = if name.is_empty() { format!(":{unnamed}") } else { name.to_owned() };
            features.push((index(&prefix, &called, reading), value));
            if !value.is_finite() {
                return None;
            }
        } else {
            features.push((index(&format!("{prefix}{name}^"), value, reading), 1.0));
        }
    }
    Some(())
}

fn is_word(value: &str) -> bool {
    ["nan", "inf", "infinity"].contains(&value.to_ascii_lowercase().as_str())
}

/// The index of a name.
fn index(prefix: &str, name: &str, reading: &Reading) -> u32 {
    let is_number = !name.starts_with('0') && name.bytes().all(|byte| byte.is_ascii_digit());
    match name.parse::<u32>() {
        Ok(index) if prefix.is_empty() && is_number && index <= reading.limits.max_index => index,
        _ => {
            let seed = if prefix.is_empty() { 0 } else { xxh3_64_with_seed(prefix.as_bytes(), 0) };
            let hash = xxh3_64_with_seed(name.as_bytes(), seed);
            1 + (((hash >> 32) * ((1 << 22) - 1)) >> 32) as u32
        }
    }
}

fn single(text: &str) -> Option<f32> {
    number(text)?;
    text.parse().ok().filter(|number: &f32| number.is_finite())
}

/// The number that the standard library reads from a text. Words are not numbers.
fn number(text: &str) -> Option<f64> {
    let is_word = text.contains(|char: char| char.is_alphabetic() && !"eE".contains(char));
    if is_word { None } else { text.parse().ok() }
}
