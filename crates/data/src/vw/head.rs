//! Reads the part before the first `|`: label, importance, base, tag.

use super::line::Lines;
use crate::format::Fault;
use crate::labels::LabelRule;
use crate::number::double_at;
use crate::rows::{NO_LABEL_YET, Rows, importance};
use rueful_core::Importance;
use std::ops::Range;

/// The name under which rows without a label are counted, if rows are only looked at.
pub(crate) const NO_LABEL: &[u8] = b"(none)";

/// The content of a line before its features.
pub(super) struct Head {
    pub(super) label: f64,
    pub(super) importance: Importance,
    /// The place of the tag without its `'`, if there is one.
    pub(super) tag: Range<usize>,
    pub(super) is_labelled: bool,
}

/// The words of a head: the places of the first few, and of the last.
#[derive(Default)]
struct Words {
    first: [Range<usize>; 4],
    last: Range<usize>,
    count: usize,
}

impl Lines<'_> {
    /// Reads the head of the line. It begins at `start` with something other than a blank, and ends
    /// at the bar.
    #[inline]
    pub(super) fn head(&self, start: usize, bar: usize, rows: &mut Rows) -> Result<Head, Fault> {
        let mut words = self.words(start, bar)?;
        let mut tag = start..start;
        if self.is_tag(&words.last, bar) {
            words.count -= 1;
            let quote = usize::from(self.byte(words.last.start) == b'\'');
            tag = words.last.start + quote..words.last.end;
        }
        if self.format.id && tag.is_empty() {
            return Err(self.tag_fault(start, bar));
        }
        if words.count > 3 {
            return Err(self.count_fault(words.first[3].clone()));
        }
        let label = self.label(&words, start, bar, rows)?;
        let importance =
            if words.count > 1 { self.importance(&words.first[1])? } else { Importance::ONE };
        if words.count > 2 {
            self.check_base(&words.first[2])?;
        }
        Ok(Head { label, importance, tag, is_labelled: words.count > 0 })
    }

    /// The words between `at` and `bar`.
    #[inline]
    fn words(&self, mut at: usize, bar: usize) -> Result<Words, Fault> {
        let text = self.text.bytes();
        let mut words = Words::default();
        while at < bar {
            let start = at;
            while at < bar && text[at] != b' ' {
                if matches!(text[at], b'\t' | b'\r') {
                    return Err(self.blank_fault(start, at, bar));
                }
                at += 1;
            }
            if start < at {
                if let Some(place) = words.first.get_mut(words.count) {
                    *place = start..at;
                }
                words.last = start..at;
                words.count += 1;
            }
            at += 1;
        }
        Ok(words)
    }

    /// Whether the last word, if there is one, is a tag.
    #[inline]
    fn is_tag(&self, last: &Range<usize>, bar: usize) -> bool {
        !last.is_empty() && (last.end == bar || self.byte(last.start) == b'\'')
    }

    #[inline]
    fn label(
        &self,
        words: &Words,
        start: usize,
        bar: usize,
        rows: &mut Rows,
    ) -> Result<f64, Fault> {
        let (rule, row) = (&self.format.rule, rows.batch.len());
        let taken = if words.count > 0 {
            let place = words.first[0].clone();
            let word = &self.text.bytes()[place.clone()];
            // Labels with colons belong to other kinds of learning, and hold more than one number.
            if word.contains(&b':') {
                return Err(self.label_fault(place));
            }
            rows.labels.take(rule, word, row, start).ok_or_else(|| self.label_fault(place))?
        } else if self.format.id {
            NO_LABEL_YET
        } else if matches!(rule, LabelRule::Any | LabelRule::Ignored) {
            rows.labels.take(rule, NO_LABEL, row, start).unwrap_or(0.0)
        } else {
            return Err(self.no_label_fault(start, bar));
        };
        Ok(taken)
    }

    #[inline]
    fn importance(&self, place: &Range<usize>) -> Result<Importance, Fault> {
        let importance = self.whole_number(place).and_then(importance);
        importance.ok_or_else(|| self.importance_fault(place.clone()))
    }

    #[inline]
    fn check_base(&self, place: &Range<usize>) -> Result<(), Fault> {
        match self.whole_number(place) {
            Some(0.0) => Ok(()),
            _ => Err(self.base_fault(place.clone())),
        }
    }

    /// The number that a word is, if the whole word is one.
    #[inline]
    pub(super) fn whole_number(&self, place: &Range<usize>) -> Option<f64> {
        let (number, end) = double_at(self.text.padded(), place.start)?;
        (end == place.end).then_some(number)
    }
}
