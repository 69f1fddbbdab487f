//! Turns labels as they are written into the numbers that are learned from.

use crate::error::excerpt;
use crate::number::double_at;
use crate::phrase::Phrase;
use crate::source::LabelsSeen;
use crate::table::plan::truth_in;
use rueful_core::Batch;
use rueful_core::classes::MOST_CLASSES;
use rueful_core::loss::Labels;
use std::collections::HashMap;
use std::fmt::Write;

/// The largest number of different labels that are counted one by one.
const COUNTED: usize = 64;

/// The largest number of bytes that the names of all classes have together.
const NAMES_MAX: usize = 64 << 20;

/// Which labels are taken, and the numbers they become.
#[derive(Debug, Clone, PartialEq)]
pub enum LabelRule {
    /// Numbers are taken as they are.
    Numbers,
    /// −1 and +1 are taken as they are, or 0 and 1 as −1 and +1. A stream may not have both −1 and
    /// 0.
    Signs,
    /// This label becomes +1, and every other label −1.
    Positive(String),
    /// Every label names a class, and becomes the number of the class. Classes are numbered 0, 1,
    /// 2, … in the order in which they first appear. The label of a row of importance 0 becomes 0.
    Classes,
    /// The rule that was inferred from the labels at the beginning of the data.
    Inferred(Inferred),
    /// For looking only: numbers are taken as they are, and anything else is counted and taken as
    /// 0.
    Any,
    /// For predicting only: rows need no label, and labels are ignored.
    Ignored,
}

impl LabelRule {
    /// The rule for a loss that takes `labels`. `positive` is the label that becomes +1, if one was
    /// named.
    pub fn new(labels: Labels, positive: Option<&str>) -> Self {
        match (positive, labels) {
            (Some(positive), _) => Self::Positive(canonical_label(positive).to_owned()),
            (None, Labels::Signs) => Self::Signs,
            (None, Labels::Numbers) => Self::Numbers,
        }
    }

    /// Whether labels are taken as numbers, be they signs or any numbers. A boolean is then 1 or 0,
    /// and otherwise a name.
    pub(crate) fn takes_numbers(&self) -> bool {
        match self {
            Self::Numbers | Self::Signs => true,
            Self::Inferred(inferred) => !matches!(inferred.taken, Taken::Two(_)),
            Self::Positive(_) | Self::Classes | Self::Any | Self::Ignored => false,
        }
    }

    /// A description of the labels that are taken.
    pub(crate) fn expected(&self) -> String {
        match self {
            Self::Inferred(Inferred { taken: Taken::Numbers, .. }) => Self::Numbers.expected(),
            Self::Inferred(Inferred { taken: Taken::Signs, .. }) => Self::Signs.expected(),
            Self::Inferred(Inferred { taken: Taken::Two(classes), .. }) => {
                let [negative, positive] = classes.each_ref().map(Class::shown);
                format!("{negative} or {positive}")
            }
            Self::Signs => "a label that is -1 or +1, or 0 or 1".to_owned(),
            Self::Numbers => "a label that is a finite number".to_owned(),
            Self::Positive(positive) => format!("{positive:?} or another label"),
            Self::Classes => format!(
                "at most {MOST_CLASSES} different labels, of at most {NAMES_MAX} bytes together"
            ),
            Self::Any | Self::Ignored => "a label".to_owned(),
        }
    }

    /// A hint on how to read a label that is not taken.
    pub(crate) fn hint(&self) -> Option<Phrase> {
        match self {
            Self::Signs => Some(
                Phrase::from("of two other labels, say which is +1 with ")
                    .setting("positive")
                    .and(" LABEL; regression losses such as square take any number"),
            ),
            Self::Inferred(inferred) => Some(inferred.reason.clone()),
            _ => None,
        }
    }
}

/// The rule that was inferred from the labels at the beginning of the data, and the reason for it.
/// A later label that contradicts it is refused with that reason.
#[derive(Debug, Clone, PartialEq)]
pub struct Inferred {
    taken: Taken,
    reason: Phrase,
}

#[derive(Debug, Clone, PartialEq)]
enum Taken {
    /// As [`LabelRule::Numbers`].
    Numbers,
    /// As [`LabelRule::Signs`].
    Signs,
    /// The first label becomes −1 and the second +1, and there are no others.
    Two(Box<[Class; 2]>),
}

impl Inferred {
    /// The rule that labels are what a loss takes.
    pub fn new(labels: Labels, reason: Phrase) -> Self {
        let taken = match labels {
            Labels::Numbers => Taken::Numbers,
            Labels::Signs => Taken::Signs,
        };
        Self { taken, reason }
    }

    /// The reason why a label that contradicts the rule is refused.
    pub fn reason(&self) -> &Phrase {
        &self.reason
    }

    /// If a label contradicts the rule, returns what should have been there.
    pub fn contradiction(&self, label: &str) -> Option<Phrase> {
        let rule = LabelRule::Inferred(self.clone());
        let taken = LabelCounts::default().take(&rule, label.as_bytes(), 0, 0);
        let said = || Phrase::from(rule.expected() + "; ").join(&self.reason);
        taken.is_none().then(said)
    }

    /// The rule that two labels are two classes.
    pub fn two(negative: &str, positive: &str, reason: Phrase) -> Self {
        Self { taken: Taken::Two(Box::new([negative, positive].map(Class::new))), reason }
    }
}

/// A label that names a class.
#[derive(Debug, Clone, PartialEq)]
struct Class {
    label: String,
    number: Option<f64>,
}

impl Class {
    fn new(label: &str) -> Self {
        let label = canonical_label(label);
        Self { label: label.to_owned(), number: number_of(label) }
    }

    fn shown(&self) -> String {
        match self.label.parse::<f64>() {
            Ok(_) => self.label.clone(),
            Err(_) => format!("\"{}\"", excerpt(self.label.as_bytes())),
        }
    }
}

/// The labels of the rows at the beginning of the data, without rows of importance 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FirstLabels {
    /// The number of rows that were looked at.
    pub rows: u64,
    /// Their labels as they are written.
    pub labels: LabelsSeen,
    /// The label that was stored as +1, if all others were stored as −1.
    pub positive: Option<String>,
}

/// The counts of the labels of some rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LabelCounts {
    entries: Vec<LabelCount>,
    /// The entry that was counted last.
    last: usize,
    /// Whether there were more labels than are counted one by one.
    pub(crate) is_cut: bool,
    /// If labels name classes: the place of each label, and the bytes of all labels together.
    places: HashMap<String, usize>,
    bytes: usize,
    /// A buffer for the text of a number.
    text: String,
}

/// The state of the counts at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LabelMark {
    entries: usize,
    last: usize,
    /// The count of the entry that was counted last.
    count: u64,
    is_cut: bool,
}

/// A label and its count. The label is as it was written, or for numbers as they are printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LabelCount {
    pub(crate) label: String,
    pub(crate) count: u64,
    /// The row in which it came first, and the place in the text.
    pub(crate) first_row: usize,
    pub(crate) first_at: usize,
}

impl LabelCounts {
    /// Counts a label, and returns the number that it becomes if the rule takes it.
    ///
    /// `row` and `at` are the place where it was found.
    #[inline]
    pub(crate) fn take(
        &mut self,
        rule: &LabelRule,
        text: &[u8],
        row: usize,
        at: usize,
    ) -> Option<f64> {
        if *rule == LabelRule::Ignored {
            return Some(0.0);
        }
        let number = double_at(text, 0).filter(|&(_, end)| end == text.len()).map(|(n, _)| n);
        match number {
            Some(number) => self.take_number(rule, number, row, at),
            None => self.take_name(rule, text, row, at),
        }
    }

    /// Counts a label that is a number, and returns the number that it becomes if the rule takes
    /// it.
    #[inline]
    pub(crate) fn take_number(
        &mut self,
        rule: &LabelRule,
        number: f64,
        row: usize,
        at: usize,
    ) -> Option<f64> {
        // Labels must fit in single precision like values, so that no product of the two can
        // overflow.
        if number.is_nan() || number.abs() > f64::from(f32::MAX) {
            return None;
        }
        let number = number + 0.0; // no −0
        match rule {
            LabelRule::Numbers | LabelRule::Inferred(Inferred { taken: Taken::Numbers, .. }) => {
                Some(number)
            }
            LabelRule::Signs | LabelRule::Inferred(Inferred { taken: Taken::Signs, .. }) => {
                let name = SIGNS.iter().find(|(sign, _)| *sign == number)?.1;
                self.count(name, row, at);
                Some(if number > 0.0 { 1.0 } else { -1.0 })
            }
            LabelRule::Inferred(Inferred { taken: Taken::Two(classes), .. }) => {
                self.take_class(classes, |class| class.number == Some(number), row, at)
            }
            LabelRule::Positive(positive) => {
                let truth = TRUTHS.iter().find(|truth| truth.1 == number);
                match truth.filter(|_| truth_number(positive).is_some()) {
                    Some((truth, _)) => self.count(truth, row, at),
                    None => self.count(&number.to_string(), row, at),
                }
                Some(if number_of(positive) == Some(number) { 1.0 } else { -1.0 })
            }
            LabelRule::Classes => Some(self.take_numbered_class(number, row, at)),
            LabelRule::Any => {
                self.count(&number.to_string(), row, at);
                Some(number)
            }
            LabelRule::Ignored => Some(0.0),
        }
    }

    /// Counts a number that occurs `times` times, first in `row`, and returns the number that it
    /// becomes.
    pub(crate) fn take_number_times(
        &mut self,
        rule: &LabelRule,
        number: f64,
        row: usize,
        times: u64,
    ) -> Option<f64> {
        let label = self.take_number(rule, number, row, 0)?;
        if let Some(entry) = self.entries.get_mut(self.last)
            && entry.label == (number + 0.0).to_string()
        {
            entry.count += times - 1;
        }
        Some(label)
    }

    #[inline]
    fn take_name(&mut self, rule: &LabelRule, text: &[u8], row: usize, at: usize) -> Option<f64> {
        let text = str::from_utf8(text).ok().filter(|text| !text.is_empty())?;
        let text = canonical_label(text);
        match rule {
            LabelRule::Inferred(Inferred { taken: Taken::Two(classes), .. }) => {
                self.take_class(classes, |class| class.label == text, row, at)
            }
            LabelRule::Classes => Some(self.take_named_class(text, row, at)),
            LabelRule::Numbers | LabelRule::Signs | LabelRule::Inferred(_) => {
                self.take_number(rule, truth_number(text)?, row, at)
            }
            LabelRule::Ignored => Some(0.0),
            LabelRule::Positive(positive) => {
                self.count(text, row, at);
                Some(if is_label(positive, text) { 1.0 } else { -1.0 })
            }
            LabelRule::Any => {
                self.count(text, row, at);
                Some(0.0)
            }
        }
    }

    /// −1 or +1 for the class that a label names.
    #[inline]
    fn take_class(
        &mut self,
        classes: &[Class; 2],
        is_label: impl Fn(&Class) -> bool,
        row: usize,
        at: usize,
    ) -> Option<f64> {
        let [negative, positive] = classes;
        let (class, sign) = if is_label(positive) { (positive, 1.0) } else { (negative, -1.0) };
        is_label(class).then(|| self.count(&class.label, row, at))?;
        Some(sign)
    }

    /// The number of the class that a label names, counted from the first class of these counts.
    #[inline]
    fn take_named_class(&mut self, name: &str, row: usize, at: usize) -> f64 {
        if self.entries.get(self.last).is_none_or(|entry| entry.label != name) {
            let place = self.places.get(name).copied();
            self.last = place.unwrap_or_else(|| self.open_class(name, row, at));
        }
        self.entries[self.last].count += 1;
        self.last as f64
    }

    fn take_numbered_class(&mut self, number: f64, row: usize, at: usize) -> f64 {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        // To write to a string cannot fail.
        let _ = write!(text, "{number}");
        let class = self.take_named_class(&text, row, at);
        self.text = text;
        class
    }

    /// Gives a new class its place.
    fn open_class(&mut self, name: &str, first_row: usize, first_at: usize) -> usize {
        let place = self.entries.len();
        self.places.insert(name.to_owned(), place);
        self.bytes += name.len();
        self.entries.push(LabelCount { label: name.to_owned(), count: 0, first_row, first_at });
        place
    }

    /// The name of a class, given its number.
    pub(crate) fn class(&self, number: u32) -> Option<&str> {
        self.entries.get(number as usize).map(|entry| &*entry.label)
    }

    #[inline]
    fn count(&mut self, label: &str, first_row: usize, first_at: usize) {
        if let Some(entry) = self.entries.get_mut(self.last)
            && entry.label == label
        {
            entry.count += 1;
        } else {
            self.count_another(label, first_row, first_at);
        }
    }

    #[inline(never)]
    fn count_another(&mut self, label: &str, first_row: usize, first_at: usize) {
        if let Some(found) = self.entries.iter().position(|entry| entry.label == label) {
            self.entries[found].count += 1;
            self.last = found;
        } else if self.entries.len() < COUNTED {
            self.last = self.entries.len();
            let label = label.to_owned();
            self.entries.push(LabelCount { label, count: 1, first_row, first_at });
        } else {
            self.is_cut = true;
        }
    }

    /// The state of the counts.
    pub(crate) fn mark(&self) -> LabelMark {
        let count = self.entries.get(self.last).map_or(0, |entry| entry.count);
        LabelMark { entries: self.entries.len(), last: self.last, count, is_cut: self.is_cut }
    }

    /// Forgets what was counted since the mark, which is at most one label.
    pub(crate) fn forget_since(&mut self, mark: &LabelMark) {
        let LabelMark { entries, last, count, is_cut } = *mark;
        let is_counted = self.last != last
            || self.entries.get(self.last).is_some_and(|entry| entry.count != count);
        if is_counted && let Some(entry) = self.entries.get_mut(self.last) {
            entry.count -= 1;
        }
        for forgotten in self.entries.drain(entries..) {
            if self.places.remove(&forgotten.label).is_some() {
                self.bytes -= forgotten.label.len();
            }
        }
        (self.last, self.is_cut) = (last, is_cut);
    }

    /// Counts that begin after these earlier labels. If labels name classes, these have the first
    /// numbers.
    pub(crate) fn after(known: &[String], rule: &LabelRule) -> Self {
        let mut counts = Self::default();
        if *rule == LabelRule::Classes {
            for label in known {
                counts.open_class(label, 0, 0);
            }
            return counts;
        }
        let entry = |label: &String| LabelCount {
            label: label.clone(),
            count: 0,
            first_row: 0,
            first_at: 0,
        };
        counts.entries.extend(known.iter().take(COUNTED).map(entry));
        counts
    }

    /// The labels that were counted.
    pub(crate) fn seen(&self) -> LabelsSeen {
        let counted = self.entries.iter().filter(|entry| entry.count > 0);
        let counts = counted.map(|entry| (entry.label.clone(), entry.count));
        LabelsSeen { counts: counts.collect(), is_cut: self.is_cut }
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.places.clear();
        (self.last, self.bytes) = (0, 0);
        self.is_cut = false;
    }

    /// Adds the counts of the next piece of the stream. A label that contradicts the rule is
    /// returned as a conflict, and the stream ends before its row. Then neither that label nor any
    /// label that comes first in a later row is counted.
    ///
    /// If labels name classes, the labels of the rows of the piece, which `batch` has, become those
    /// of the whole stream.
    pub(crate) fn absorb(
        &mut self,
        next: &Self,
        rule: &LabelRule,
        batch: &mut Batch,
    ) -> Result<(), Conflict> {
        if *rule == LabelRule::Classes {
            return self.absorb_classes(next, batch);
        }
        let mut news: Vec<&LabelCount> = next.entries.iter().collect();
        news.sort_by_key(|entry| entry.first_row);
        for entry in news {
            let is_known = self.entries.iter().any(|known| known.label == entry.label);
            if !is_known && let Some(hint) = self.conflict(rule, &entry.label) {
                let label = entry.label.clone();
                return Err(Conflict { row: entry.first_row, at: entry.first_at, label, hint });
            }
            self.count(&entry.label, 0, 0);
            if let Some(known) = self.entries.get_mut(self.last)
                && known.label == entry.label
            {
                known.count += entry.count - 1;
            }
        }
        self.is_cut |= next.is_cut;
        Ok(())
    }

    /// Finds the numbers that the classes of the next piece have in the stream, and gives them to
    /// its rows.
    fn absorb_classes(&mut self, next: &Self, batch: &mut Batch) -> Result<(), Conflict> {
        let mut numbers = Vec::with_capacity(next.entries.len());
        let mut found = Ok(());
        for entry in &next.entries {
            let known = self.places.get(&entry.label).copied();
            if known.is_none() && self.is_full(&entry.label) {
                found = Err(Conflict::too_many(entry));
                break;
            }
            let place = known.unwrap_or_else(|| self.open_class(&entry.label, 0, 0));
            self.entries[place].count += entry.count;
            numbers.push(place as f64);
        }
        batch.relabel(|label, importance| {
            let number = numbers.get(label as usize).filter(|_| !importance.is_zero());
            number.copied().unwrap_or(0.0)
        });
        found
    }

    /// Whether there is no room for one more class.
    fn is_full(&self, name: &str) -> bool {
        self.entries.len() >= MOST_CLASSES as usize || self.bytes + name.len() > NAMES_MAX
    }

    /// The reason why a label contradicts the rule or those before it, if it does.
    fn conflict(&self, rule: &LabelRule, label: &str) -> Option<Phrase> {
        let has = |label: &str| self.entries.iter().any(|known| known.label == label);
        if !(label == "0" && has("-1") || label == "-1" && has("0")) {
            return None;
        }
        match rule {
            LabelRule::Signs => Some(
                Phrase::from("-1 and 0 both appear: say which label is +1, as in ")
                    .setting("positive")
                    .and(" 1, if there are two labels; three are too many"),
            ),
            LabelRule::Inferred(Inferred { taken: Taken::Signs, reason }) => Some(reason.clone()),
            _ => None,
        }
    }

    /// To be asked at the end of the data. If one label should have become +1 and none did, returns
    /// the labels and what was expected. One label alone may be of the other class.
    pub(crate) fn without_positive(&self, rule: &LabelRule) -> Option<(String, Phrase)> {
        let LabelRule::Positive(positive) = rule else { return None };
        let has_positive = self.entries.iter().any(|known| is_label(positive, &known.label));
        if has_positive || self.is_cut || self.entries.len() < 2 {
            return None;
        }
        let quoted = |label: &str| format!("\"{}\"", excerpt(label.as_bytes()));
        let found: Vec<_> = self.entries.iter().map(|known| quoted(&known.label)).collect();
        let expected = Phrase::from(format!("one that is {}, as ", quoted(positive)));
        Some((
            format!("the labels {}", found.join(", ")),
            expected.setting("positive").and(" says"),
        ))
    }
}

/// Whether a label is the one that was named: the same text, or the same number.
fn is_label(named: &str, label: &str) -> bool {
    named == label || number_of(named).is_some_and(|number| number_of(label) == Some(number))
}

/// The number that a label is. A boolean is 1 or 0.
fn number_of(label: &str) -> Option<f64> {
    label.trim().parse().ok().or_else(|| truth_number(label))
}

/// The booleans, and their numbers.
const TRUTHS: [(&str, f64); 2] = [("false", 0.0), ("true", 1.0)];

fn truth_number(label: &str) -> Option<f64> {
    let label = canonical_label(label);
    TRUTHS.iter().find(|(truth, _)| *truth == label).map(|(_, number)| *number)
}

/// A label as all formats write it: `True` and `TRUE` become `true`, like a boolean of Parquet.
pub fn canonical_label(label: &str) -> &str {
    match truth_in(label.as_bytes()) {
        Some(true) => TRUTHS[1].0,
        Some(false) => TRUTHS[0].0,
        None => label,
    }
}

const SIGNS: [(f64, &str); 3] = [(1.0, "1"), (-1.0, "-1"), (0.0, "0")];

/// A label that contradicts those before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// The row that has it, and its place in the text.
    pub(crate) row: usize,
    pub(crate) at: usize,
    pub(crate) label: String,
    pub(crate) hint: Phrase,
}

impl Conflict {
    /// The conflict of a class for which there is no room.
    #[cold]
    fn too_many(class: &LabelCount) -> Self {
        let hint = Phrase::from("labels that hardly ever come twice are quantities, perhaps: ")
            .setting("loss")
            .and(" square takes any number");
        let LabelCount { label, first_row: row, first_at: at, .. } = class.clone();
        Self { row, at, label, hint }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(rule: &LabelRule, labels: &[&str]) -> (Vec<Option<f64>>, LabelCounts) {
        let mut counts = LabelCounts::default();
        let taken = labels
            .iter()
            .enumerate()
            .map(|(row, label)| counts.take(rule, label.as_bytes(), row, 10 * row))
            .collect();
        (taken, counts)
    }

    #[test]
    fn signs_are_plus_and_minus_one_or_zero_and_one() {
        let (taken, _) = take(&LabelRule::Signs, &["1", "-1", "+1.0", "0", "-0", "2", "x", "nan"]);
        let expected = [Some(1.0), Some(-1.0), Some(1.0), Some(-1.0), Some(-1.0), None, None, None];
        assert_eq!(taken, expected);
    }

    #[test]
    fn minus_one_and_zero_do_not_mix() {
        let mut stream = LabelCounts::default();
        stream
            .absorb(
                &take(&LabelRule::Signs, &["1", "0", "1"]).1,
                &LabelRule::Signs,
                &mut Batch::default(),
            )
            .unwrap();
        let next = take(&LabelRule::Signs, &["1", "1", "-1", "-1"]).1;
        let conflict = stream.absorb(&next, &LabelRule::Signs, &mut Batch::default()).unwrap_err();
        assert_eq!((conflict.row, conflict.at), (2, 20));
        let both = take(&LabelRule::Signs, &["0", "-1"]).1;
        let conflict = LabelCounts::default()
            .absorb(&both, &LabelRule::Signs, &mut Batch::default())
            .unwrap_err();
        assert_eq!(conflict.row, 1);
    }

    #[test]
    fn one_label_is_positive_and_all_others_are_not() {
        let rule = LabelRule::Positive("4".to_owned());
        let (taken, counts) = take(&rule, &["4", "4.0", "2", "2"]);
        assert_eq!(taken, [Some(1.0), Some(1.0), Some(-1.0), Some(-1.0)]);
        let mut stream = LabelCounts::default();
        stream.absorb(&counts, &rule, &mut Batch::default()).unwrap();
        stream.absorb(&counts, &rule, &mut Batch::default()).unwrap();
        let entries: Vec<_> = stream.entries.iter().map(|e| (&*e.label, e.count)).collect();
        assert_eq!(entries, [("4", 4), ("2", 4)]);
        stream.absorb(&take(&rule, &["2", "5"]).1, &rule, &mut Batch::default()).unwrap();
        assert_eq!(take(&rule, &["5", "x"]).0, [Some(-1.0), Some(-1.0)]);
        assert_eq!(stream.without_positive(&rule), None);
        let misspelt = LabelRule::Positive("Spam".to_owned());
        let (found, expected) =
            take(&misspelt, &["ham", "spam"]).1.without_positive(&misspelt).unwrap();
        assert_eq!(found, "the labels \"ham\", \"spam\"");
        assert_eq!(expected, "one that is \"Spam\", as positive says");
        assert_eq!(take(&misspelt, &["ham", "ham"]).1.without_positive(&misspelt), None);
        let names = LabelRule::Positive("spam".to_owned());
        assert_eq!(take(&names, &["spam", "ham", ""]).0, [Some(1.0), Some(-1.0), None]);
    }

    #[test]
    fn what_is_said_of_labels_is_short_and_harmless() {
        let (long, rule) = ("x".repeat(5000), LabelRule::Positive("1".to_owned()));
        let labels = take(&rule, &[&long, "\u{1b}"]).1;
        let (found, expected) = labels.without_positive(&rule).unwrap();
        assert!(found.len() < 200 && !found.contains('\u{1b}'), "{found}");
        assert!(expected.to_string().len() < 200);
        let two = LabelRule::Inferred(Inferred::two(&long, "\u{1b}", "why".into()));
        assert!(two.expected().len() < 200 && !two.expected().contains('\u{1b}'));
    }

    #[test]
    fn what_was_inferred_is_held_on_to() {
        let reason = || Phrase::from("why");
        let numbers = LabelRule::Inferred(Inferred::two("0", "1", reason()));
        let (taken, counts) = take(&numbers, &["0", "1.0", "-0", "2", "x", ""]);
        assert_eq!(taken, [Some(-1.0), Some(1.0), Some(-1.0), None, None, None]);
        assert_eq!(counts.seen().counts, [("0".to_owned(), 2), ("1".to_owned(), 1)]);
        let names = LabelRule::Inferred(Inferred::two("1", "yes", reason()));
        assert_eq!(take(&names, &["yes", "1", "Yes"]).0, [Some(1.0), Some(-1.0), None]);
        let signs = LabelRule::Inferred(Inferred::new(Labels::Signs, reason()));
        assert_eq!(take(&signs, &["1", "0", "3"]).0, [Some(1.0), Some(-1.0), None]);
        let conflict = LabelCounts::default().absorb(
            &take(&signs, &["0", "-1"]).1,
            &signs,
            &mut Batch::default(),
        );
        assert_eq!(conflict.unwrap_err().hint, "why");
        let any = LabelRule::Inferred(Inferred::new(Labels::Numbers, reason()));
        assert_eq!(take(&any, &["2.5", "x"]).0, [Some(2.5), None]);
        for (rule, expected, is_number) in [
            (numbers, "0 or 1", false),
            (names, "1 or \"yes\"", false),
            (signs, "a label that is -1 or +1, or 0 or 1", true),
            (any, "a label that is a finite number", true),
        ] {
            assert_eq!((&*rule.expected(), rule.takes_numbers()), (expected, is_number));
            assert_eq!(rule.hint().unwrap(), "why");
            let LabelRule::Inferred(inferred) = rule else { panic!("{rule:?}") };
            assert_eq!(inferred.contradiction("1"), None);
            assert_eq!(inferred.contradiction("x").unwrap(), &*format!("{expected}; why"));
        }
    }

    #[test]
    fn truths_are_one_label_however_they_are_written() {
        let words = ["true", "True", "FALSE", "false"];
        let signs = [Some(1.0), Some(1.0), Some(-1.0), Some(-1.0)];
        let two = LabelRule::Inferred(Inferred::two("False", "True", "why".into()));
        let positive = LabelRule::new(Labels::Signs, Some("TRUE"));
        for rule in [&two, &positive] {
            let (taken, counts) = take(rule, &words);
            assert_eq!(taken, signs, "{rule:?}");
            let counts = counts.seen().counts;
            assert_eq!(counts, [("true".to_owned(), 2), ("false".to_owned(), 2)], "{rule:?}");
            // A file may hold the labels as numbers.
            let (taken, counts) = take(rule, &["1", "1", "0", "0"]);
            assert_eq!(taken, signs, "{rule:?}");
            assert_eq!(counts.seen().counts[0], ("true".to_owned(), 2), "{rule:?}");
        }
        assert_eq!(take(&LabelRule::Signs, &words).0, signs);
        let numbers = [Some(1.0), Some(1.0), Some(0.0), Some(0.0)];
        assert_eq!(take(&LabelRule::Numbers, &words).0, numbers);
        let negative = LabelRule::new(Labels::Signs, Some("False"));
        assert_eq!(take(&negative, &words).0, [Some(-1.0), Some(-1.0), Some(1.0), Some(1.0)]);
        assert_eq!(two.expected(), "\"false\" or \"true\"");
    }

    #[test]
    fn looking_takes_everything() {
        let (taken, counts) = take(&LabelRule::Any, &["up", "2.5", "down", "up"]);
        assert_eq!(taken, [Some(0.0), Some(2.5), Some(0.0), Some(0.0)]);
        let counts: Vec<_> = counts.seen().counts.into_iter().map(|(_, count)| count).collect();
        assert_eq!(counts, [2, 1, 1]);
    }

    #[test]
    fn a_label_too_large_to_multiply_is_refused() {
        assert_eq!(
            take(&LabelRule::Numbers, &["1e39", "-1e38", "inf"]).0,
            [None, Some(-1e38), None]
        );
    }

    /// The labels of a piece as a batch that has nothing else.
    fn piece(labels: &[&str]) -> (LabelCounts, Batch) {
        let (taken, counts) = take(&LabelRule::Classes, labels);
        let mut batch = Batch::default();
        taken.iter().for_each(|label| batch.push(&[0], &[1.0], label.unwrap()).unwrap());
        (counts, batch)
    }

    #[test]
    fn classes_are_numbered_as_they_first_appear_in_the_stream() {
        let mut stream = LabelCounts::after(&["seen".to_owned()], &LabelRule::Classes);
        let pieces: [(&[&str], &[f64]); 3] = [
            (&["b", "a", "b", "1.0"], &[1.0, 2.0, 1.0, 3.0]),
            (&["True", "1", "a", "seen", "b"], &[4.0, 3.0, 2.0, 0.0, 1.0]),
            (&["TRUE", "new", "-0", "0"], &[4.0, 5.0, 6.0, 6.0]),
        ];
        for (labels, expected) in pieces {
            let (counts, mut batch) = piece(labels);
            stream.absorb(&counts, &LabelRule::Classes, &mut batch).unwrap();
            assert_eq!(batch.labels(), expected, "{labels:?}");
        }
        let counts = stream.seen().counts;
        let named: Vec<_> = counts.iter().map(|(label, count)| (&**label, *count)).collect();
        let expected =
            [("seen", 1), ("b", 3), ("a", 2), ("1", 2), ("true", 2), ("new", 1), ("0", 2)];
        assert_eq!(named, expected);
        assert_eq!((stream.class(1), stream.class(7)), (Some("b"), None));
        assert_eq!(take(&LabelRule::Classes, &["", "nan"]).0, [None, Some(0.0)]);
    }

    #[test]
    fn a_class_that_is_forgotten_leaves_its_number_to_another() {
        let mut counts = take(&LabelRule::Classes, &["a"]).1;
        for (label, number) in [("b", 1.0), ("c", 1.0), ("a", 0.0)] {
            let mark = counts.mark();
            assert_eq!(counts.take(&LabelRule::Classes, label.as_bytes(), 1, 0), Some(number));
            counts.forget_since(&mark);
        }
        assert_eq!(counts.seen().counts, [("a".to_owned(), 1)]);
        assert_eq!((counts.bytes, counts.places.len()), (1, 1));
    }

    #[test]
    fn classes_beyond_the_most_are_refused_with_their_row() {
        let mut stream = take(&LabelRule::Classes, &["a"]).1;
        stream.bytes = NAMES_MAX - 2;
        let (counts, mut batch) = piece(&["a", "bb", "a", "c", "d"]);
        let conflict = stream.absorb(&counts, &LabelRule::Classes, &mut batch).unwrap_err();
        assert_eq!((conflict.row, conflict.at, &*conflict.label), (3, 30, "c"));
        assert_eq!(batch.labels()[..3], [0.0, 1.0, 0.0]);
    }
}
