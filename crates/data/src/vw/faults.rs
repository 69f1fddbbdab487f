//! The faults, with explanations: what was found, what was expected, what may help.

use super::line::Lines;
use crate::error::excerpt;
use crate::format::Fault;
use crate::rows::IMPORTANCE;
use std::ops::Range;

const LINE_FORM: &str = "a line is: label [importance] ['tag]|namespace name:value name …";

const TAG_FORM: &str = "a tag touches the | or begins with '";

/// The description of a number that fits, in the same words as in other formats.
fn single_precision() -> String {
    format!("a number that fits in single precision (at most {:e} in size)", f32::MAX)
}

/// Faults before the first bar.
impl Lines<'_> {
    #[cold]
    pub(super) fn no_bar_fault(&self, start: usize) -> Fault {
        let line = self.line(start);
        Fault::new(start, line, "a | before the features").hint(LINE_FORM)
    }

    #[cold]
    pub(super) fn blank_fault(&self, start: usize, at: usize, bar: usize) -> Fault {
        let found = &self.text.bytes()[start..bar];
        if self.byte(at) == b'\r' {
            return self.return_fault(at);
        }
        Fault::new(start, found, "spaces and no tab before the first |")
            .hint("Vowpal Wabbit passes over what comes before a tab there")
    }

    #[cold]
    pub(super) fn label_fault(&self, place: Range<usize>) -> Fault {
        let rule = &self.format.rule;
        let word = &self.text.bytes()[place.clone()];
        let number = self.whole_number(&place);
        if number.is_some_and(|number| number.abs() > f64::from(f32::MAX)) {
            return Fault::new(place.start, word, single_precision());
        }
        let fault = Fault::new(place.start, word, rule.expected());
        match rule.hint() {
            Some(hint) if !word.contains(&b':') => fault.hint(hint),
            _ => fault.hint(LINE_FORM),
        }
    }

    #[cold]
    pub(super) fn tag_fault(&self, start: usize, bar: usize) -> Fault {
        let found = self.token(start, bar + 1);
        Fault::new(start, found, "a tag before the |, the id of the row").hint(TAG_FORM)
    }

    #[cold]
    pub(super) fn no_label_fault(&self, start: usize, bar: usize) -> Fault {
        let is_touching = start < bar && self.byte(bar - 1) != b' ';
        let fault = Fault::new(start, self.token(start, bar + 1), "a label before the |");
        fault.hint(if is_touching && self.byte(start) != b'\'' {
            "what touches the | is a tag: between a label and the | there is a space"
        } else {
            "Vowpal Wabbit only predicts where there is none; here every line is learned from"
        })
    }

    #[cold]
    pub(super) fn count_fault(&self, place: Range<usize>) -> Fault {
        let expected = "at most three numbers before the |: label, importance and base";
        self.word_fault(place, expected).hint(TAG_FORM)
    }

    #[cold]
    pub(super) fn importance_fault(&self, place: Range<usize>) -> Fault {
        let is_number = self.whole_number(&place).is_some();
        let fault = self.word_fault(place, IMPORTANCE);
        if is_number { fault } else { fault.hint(TAG_FORM) }
    }

    #[cold]
    pub(super) fn base_fault(&self, place: Range<usize>) -> Fault {
        self.word_fault(place, "no base prediction, the third number, other than 0")
            .hint("the predictions that are certified are those of the learner alone")
    }

    fn word_fault(&self, place: Range<usize>, expected: &str) -> Fault {
        Fault::new(place.start, &self.text.bytes()[place], expected)
    }
}

/// Faults from the first bar on.
impl Lines<'_> {
    #[cold]
    pub(super) fn namespace_fault(&self, at: usize) -> Fault {
        let token = self.token(at - 1, at);
        Fault::new(at - 1, token, "a namespace or a space after the |")
    }

    /// The text after the colon that follows `name` is not a number, or not one that fits.
    #[cold]
    pub(super) fn value_fault(&self, name: Range<usize>) -> Fault {
        let token = self.token(name.start, name.end);
        let name_text = excerpt(&self.text.bytes()[name.clone()]);
        let number = name.end + 1..name.start + token.len();
        if self.whole_number(&number).is_some() {
            return Fault::new(name.start, token, single_precision());
        }
        Fault::new(name.start, token, format!("a finite number after \"{name_text}:\""))
    }

    #[cold]
    pub(super) fn size_fault(&self, at: usize, scale: f32) -> Fault {
        let fault = Fault::new(at, self.token(at, at), single_precision());
        if scale == 1.0 {
            fault
        } else {
            fault.hint(format!("the namespace multiplies it by {scale}"))
        }
    }

    #[cold]
    pub(super) fn sum_fault(&self, start: usize) -> Fault {
        let expected = format!("values that add up, for each feature, to {}", single_precision());
        Fault::new(start, self.line(start), expected)
    }

    #[cold]
    pub(super) fn made_fault(&self, start: usize, expected: String) -> Fault {
        Fault::new(start, self.line(start), expected)
    }

    #[cold]
    pub(super) fn return_fault(&self, at: usize) -> Fault {
        Fault::new(at, self.token(at, at + 1), "no carriage return within a line")
    }

    /// The token that begins at `start` and goes on at least to `least`.
    fn token(&self, start: usize, least: usize) -> &[u8] {
        let mut end = least.max(start);
        while self.byte(end) == b':' || !self.is_token_end(end) {
            end += 1;
        }
        &self.text.bytes()[start..end.min(self.text.len())]
    }

    /// The line from `start` on.
    fn line(&self, start: usize) -> &[u8] {
        let rest = &self.text.bytes()[start..];
        let line = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
        line.strip_suffix(b"\r").unwrap_or(line)
    }
}
