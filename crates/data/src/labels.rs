//! Labels: from what is written to what is learned from.

use crate::error::excerpt;
use crate::number::double_at;
use crate::phrase::Phrase;
use crate::source::LabelsSeen;
use rueful_core::loss::Labels;
use serde::{Deserialize, Serialize};

/// So many different labels are counted one by one.
const COUNTED: usize = 64;

/// Which labels are taken, and what they become.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LabelRule {
    /// Numbers, as they are.
    Numbers,
    /// −1 and +1 as they are, or 0 and 1 as −1 and +1. Not −1 and 0 in one stream.
    Signs,
    /// This one becomes +1, and the one other label −1.
    Positive(String),
    /// For looking only: numbers as they are, anything else counted and taken for 0.
    Any,
    /// For predicting only: there may be none, and those there are are passed over.
    Ignored,
}

impl LabelRule {
    /// The rule for a loss that takes `labels`, with `positive` as the label for +1 if there is
    /// one.
    pub fn new(labels: Labels, positive: Option<&str>) -> Self {
        match (positive, labels) {
            (Some(positive), _) => Self::Positive(positive.to_owned()),
            (None, Labels::Signs) => Self::Signs,
            (None, Labels::Numbers) => Self::Numbers,
        }
    }

    /// What is taken, in words.
    pub(crate) fn expected(&self) -> String {
        match self {
            Self::Signs => "a label that is -1 or +1, or 0 or 1".to_owned(),
            Self::Numbers => "a label that is a finite number".to_owned(),
            Self::Positive(positive) => format!("{positive:?} or the one other label"),
            Self::Any | Self::Ignored => "a label".to_owned(),
        }
    }

    /// How a label that is not taken might be.
    pub(crate) fn hint(&self) -> Option<Phrase> {
        match self {
            Self::Signs => Some(
                Phrase::from("of two other labels, say which is +1 with ")
                    .setting("positive")
                    .and(" LABEL; regression losses such as square take any number"),
            ),
            _ => None,
        }
    }
}

/// The labels of some rows, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LabelCounts {
    entries: Vec<LabelCount>,
    /// Which entry was counted last.
    last: usize,
    /// Whether there were more labels than are counted one by one.
    pub(crate) is_cut: bool,
}

/// A moment of counting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LabelMark {
    entries: usize,
    last: usize,
    /// How often the label was counted that was counted last.
    count: u64,
    is_cut: bool,
}

/// A label, as it is written or, for numbers, as they are printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LabelCount {
    pub(crate) label: String,
    pub(crate) count: u64,
    /// The row it came with first, and where in the text.
    pub(crate) first_row: usize,
    pub(crate) first_at: usize,
}

impl LabelCounts {
    /// The number a label becomes, if the rule takes it; counts it.
    ///
    /// `row` and `at` are where it was found.
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

    /// The same for a label that is a number.
    #[inline]
    pub(crate) fn take_number(
        &mut self,
        rule: &LabelRule,
        number: f64,
        row: usize,
        at: usize,
    ) -> Option<f64> {
        // Labels are kept to the size of values, so that no product of the two can overflow.
        if number.is_nan() || number.abs() > f64::from(f32::MAX) {
            return None;
        }
        let number = number + 0.0; // no −0
        match rule {
            LabelRule::Numbers => Some(number),
            LabelRule::Signs => {
                let name = SIGNS.iter().find(|(sign, _)| *sign == number)?.1;
                self.count(name, row, at);
                Some(if number > 0.0 { 1.0 } else { -1.0 })
            }
            LabelRule::Positive(positive) => {
                let is_positive = positive.trim().parse() == Ok(number);
                self.count(&number.to_string(), row, at);
                Some(if is_positive { 1.0 } else { -1.0 })
            }
            LabelRule::Any => {
                self.count(&number.to_string(), row, at);
                Some(number)
            }
            LabelRule::Ignored => Some(0.0),
        }
    }

    /// The same for a number that is there `times` times, in `row` first.
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
        match rule {
            LabelRule::Numbers | LabelRule::Signs => None,
            LabelRule::Ignored => Some(0.0),
            LabelRule::Positive(positive) => {
                self.count(text, row, at);
                Some(if text == positive { 1.0 } else { -1.0 })
            }
            LabelRule::Any => {
                self.count(text, row, at);
                Some(0.0)
            }
        }
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

    /// Where counting stands.
    pub(crate) fn mark(&self) -> LabelMark {
        let count = self.entries.get(self.last).map_or(0, |entry| entry.count);
        LabelMark { entries: self.entries.len(), last: self.last, count, is_cut: self.is_cut }
    }

    /// Forgets what was counted since the mark: one label at most.
    pub(crate) fn forget_since(&mut self, mark: &LabelMark) {
        let LabelMark { entries, last, count, is_cut } = *mark;
        let is_counted = self.last != last
            || self.entries.get(self.last).is_some_and(|entry| entry.count != count);
        if is_counted && let Some(entry) = self.entries.get_mut(self.last) {
            entry.count -= 1;
        }
        self.entries.truncate(entries);
        (self.last, self.is_cut) = (last, is_cut);
    }

    /// Labels that came before those that are counted here.
    pub(crate) fn after(known: &[String]) -> Self {
        let entry = |label: &String| LabelCount {
            label: label.clone(),
            count: 0,
            first_row: 0,
            first_at: 0,
        };
        Self { entries: known.iter().take(COUNTED).map(entry).collect(), ..Self::default() }
    }

    /// The labels counted.
    pub(crate) fn seen(&self) -> LabelsSeen {
        let counted = self.entries.iter().filter(|entry| entry.count > 0);
        let counts = counted.map(|entry| (entry.label.clone(), entry.count));
        LabelsSeen { counts: counts.collect(), is_cut: self.is_cut }
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.last = 0;
        self.is_cut = false;
    }

    /// Adds what the next piece of the stream held. If that contradicts the rule, the stream ends
    /// before the row that does, and that is left out.
    pub(crate) fn absorb(&mut self, next: &Self, rule: &LabelRule) -> Result<(), Conflict> {
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

    /// Why a label does not go with those before it.
    fn conflict(&self, rule: &LabelRule, label: &str) -> Option<Phrase> {
        let has = |label: &str| self.entries.iter().any(|known| known.label == label);
        match rule {
            LabelRule::Signs if label == "0" && has("-1") || label == "-1" && has("0") => Some(
                Phrase::from("-1 and 0 both appear: say which label is +1, as in ")
                    .setting("positive")
                    .and(" 1, if there are two labels; three are too many"),
            ),
            LabelRule::Positive(positive) if !is_label(positive, label) => {
                let is_other = |known: &&LabelCount| !is_label(positive, &known.label);
                let other = self.entries.iter().find(is_other)?;
                let quoted =
                    |known: &LabelCount| format!("\"{}\"", excerpt(known.label.as_bytes()));
                Some(if self.entries.len() > 1 {
                    let known: Vec<_> = self.entries.iter().map(quoted).collect();
                    let known = known.join(" and ");
                    let said =
                        format!("a third label, after {known}: there can be two, the one that ");
                    Phrase::from(said).setting("positive").and(" names and one other")
                } else {
                    let other = quoted(other);
                    let said =
                        format!("neither this nor {other}, the label before, is the one that ");
                    Phrase::from(said).setting("positive").and(" names")
                })
            }
            _ => None,
        }
    }
}

/// Whether a label is the one that was named: the same text, or the same number.
fn is_label(named: &str, label: &str) -> bool {
    named == label || named.trim().parse::<f64>().is_ok_and(|number| label.parse() == Ok(number))
}

const SIGNS: [(f64, &str); 3] = [(1.0, "1"), (-1.0, "-1"), (0.0, "0")];

/// A label that does not go with those before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// The row that has it, and where it is in the text.
    pub(crate) row: usize,
    pub(crate) at: usize,
    pub(crate) label: String,
    pub(crate) hint: Phrase,
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
        stream.absorb(&take(&LabelRule::Signs, &["1", "0", "1"]).1, &LabelRule::Signs).unwrap();
        let next = take(&LabelRule::Signs, &["1", "1", "-1", "-1"]).1;
        let conflict = stream.absorb(&next, &LabelRule::Signs).unwrap_err();
        assert_eq!((conflict.row, conflict.at), (2, 20));
        let both = take(&LabelRule::Signs, &["0", "-1"]).1;
        let conflict = LabelCounts::default().absorb(&both, &LabelRule::Signs).unwrap_err();
        assert_eq!(conflict.row, 1);
    }

    #[test]
    fn one_label_is_positive_and_one_other_is_not() {
        let rule = LabelRule::Positive("4".to_owned());
        let (taken, counts) = take(&rule, &["4", "4.0", "2", "2"]);
        assert_eq!(taken, [Some(1.0), Some(1.0), Some(-1.0), Some(-1.0)]);
        let mut stream = LabelCounts::default();
        stream.absorb(&counts, &rule).unwrap();
        stream.absorb(&counts, &rule).unwrap();
        let entries: Vec<_> = stream.entries.iter().map(|e| (&*e.label, e.count)).collect();
        assert_eq!(entries, [("4", 4), ("2", 4)]);
        let conflict = stream.absorb(&take(&rule, &["2", "5"]).1, &rule).unwrap_err();
        assert_eq!((conflict.row, conflict.label.as_str()), (1, "5"));
        let (_, misspelt) = take(&LabelRule::Positive("Spam".to_owned()), &["ham", "spam"]);
        let rule = LabelRule::Positive("Spam".to_owned());
        let conflict = LabelCounts::default().absorb(&misspelt, &rule).unwrap_err();
        assert_eq!(conflict.row, 1);
        assert!(
            conflict.hint.to_string().starts_with("neither this nor \"ham\""),
            "{}",
            conflict.hint
        );
        let names = LabelRule::Positive("spam".to_owned());
        assert_eq!(take(&names, &["spam", "ham", ""]).0, [Some(1.0), Some(-1.0), None]);
    }

    #[test]
    fn a_conflict_is_told_in_few_words() {
        let (long, rule) = ("x".repeat(5000), LabelRule::Positive("1".to_owned()));
        let labels = take(&rule, &[&long, "\u{1b}", "1"]).1;
        let conflict = LabelCounts::default().absorb(&labels, &rule).unwrap_err();
        let hint = conflict.hint.to_string();
        assert!(hint.len() < 200 && !hint.contains('\u{1b}'));
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
}
