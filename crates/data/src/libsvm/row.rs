//! Reads one line of LIBSVM text.
//!
//! The code for a valid line is short and branches little. It stops when it meets something that it
//! does not know. The explanation is then worked out separately, from the token at which it
//! stopped.

use super::Libsvm;
use crate::format::Fault;
use crate::number::{double_at, integer_at, single_at};
use crate::rows::Rows;
use crate::text::Text;
use rueful_core::{Importance, OpenRow};
use rueful_machine::pairs_at;

const LINE_FORM: &str = "a line is: label index:value index:value …";

/// A text that is being turned into rows.
pub(super) struct Lines<'a> {
    pub(super) text: Text<'a>,
    pub(super) format: &'a Libsvm,
}

/// A feature as it is written.
struct Feature {
    index: u32,
    value: f32,
    /// The place where the next token may begin.
    next: usize,
}

impl Lines<'_> {
    /// Adds the row of the line that begins at `at`, if it has one. Returns where the next line
    /// begins.
    #[inline(always)]
    pub(super) fn read_line(&self, at: usize, rows: &mut Rows) -> Result<usize, Fault> {
        let start = self.skip_blanks(at);
        if self.is_end(start) {
            return Ok(self.next_line(start));
        }
        let Some((label, next)) = self.label(start, rows) else {
            return Err(self.label_fault(start));
        };
        // A feature takes at least four bytes, including its blank.
        let mut features = rows.batch.open_row((self.text.len() - start) / 4 + 2);
        if self.format.constant {
            self.store(&mut features, start, 0, 1.0)?;
        }
        let end = self.read_features(next, &mut features)?;
        features.finish(label, Importance::ONE);
        Ok(self.next_line(end))
    }

    /// Reads the features from `at` on. Returns where the line ends. Ordinary features are read in
    /// one go. If that is refused, one of them is wrong, and it is found by reading them one by
    /// one.
    #[inline]
    fn read_features(&self, mut at: usize, row: &mut OpenRow<'_>) -> Result<usize, Fault> {
        let text = self.text.padded();
        let mut is_refused = false;
        loop {
            if !is_refused {
                let mut next = at;
                let appended = row.append_with(|indices, values| {
                    let count;
                    (count, next) = pairs_at(text, at, indices, values);
                    let are_allowed = self.are_allowed(&indices[..count]);
                    is_refused = !are_allowed;
                    if are_allowed { count } else { 0 }
                });
                is_refused |= appended.is_err();
                if !is_refused {
                    at = next;
                }
            }
            if let Some(end) = self.read_feature(&mut at, row)? {
                return Ok(end);
            }
        }
    }

    /// Whether increasing indices lie within the limits.
    fn are_allowed(&self, indices: &[u32]) -> bool {
        let ends = indices.first().zip(indices.last());
        ends.is_none_or(|(&first, &last)| first > 0 && last <= self.format.max_index)
    }

    /// Reads a feature of any form, even a wrong one. If the line ends instead, returns where.
    fn read_feature(&self, at: &mut usize, row: &mut OpenRow<'_>) -> Result<Option<usize>, Fault> {
        let start = self.skip_blanks(*at);
        if self.is_end(start) {
            return Ok(Some(start));
        }
        let previous = row.last().unwrap_or(0);
        match self.feature(start) {
            Some(feature) if feature.index > previous => {
                self.store(row, start, feature.index, feature.value)?;
                *at = feature.next;
                Ok(None)
            }
            _ => Err(self.feature_fault(start, previous)),
        }
    }

    /// The order has been checked already, so the batch can only refuse an infinite value.
    fn store(&self, row: &mut OpenRow<'_>, at: usize, index: u32, value: f32) -> Result<(), Fault> {
        row.push(index, value).map_err(|_| self.size_fault(at))
    }

    /// The label at `at` and the place after it, if it is one that is taken.
    #[inline]
    fn label(&self, at: usize, rows: &mut Rows) -> Option<(f64, usize)> {
        let row = rows.batch.len();
        let Some((number, next)) = self.number(at) else {
            let name = self.token(at);
            let label = rows.labels.take(&self.format.rule, name, row, at)?;
            return (!is_feature(name)).then_some((label, at + name.len()));
        };
        Some((rows.labels.take_number(&self.format.rule, number, row, at)?, next))
    }

    /// The number at `at` and the place after it, if there is a number.
    #[inline]
    fn number(&self, at: usize) -> Option<(f64, usize)> {
        let (number, end) = double_at(self.text.padded(), at)?;
        Some((number, self.after_token(end)?))
    }

    /// The feature at `at`, if there is one.
    fn feature(&self, at: usize) -> Option<Feature> {
        let (index, colon) = integer_at(self.text.padded(), at);
        if self.byte(colon) != b':' || index > u64::from(self.format.max_index) {
            return None;
        }
        let (value, end) = single_at(self.text.padded(), colon + 1)?;
        let next = self.after_token(end)?;
        Some(Feature { index: index as u32, value, next })
    }

    /// The place to continue after a token that should end at `at`, if it ends there.
    #[inline(always)]
    fn after_token(&self, at: usize) -> Option<usize> {
        match self.byte(at) {
            b' ' | b'\t' => Some(at + 1),
            _ => self.is_end(at).then_some(at),
        }
    }

    #[inline]
    fn skip_blanks(&self, mut at: usize) -> usize {
        while let b' ' | b'\t' = self.byte(at) {
            at += 1;
        }
        at
    }

    /// Whether the line ends at `at`, or a comment begins.
    #[inline]
    fn is_end(&self, at: usize) -> bool {
        match self.byte(at) {
            b'\n' | b'#' => true,
            b'\r' => self.byte(at + 1) == b'\n',
            _ => false,
        }
    }

    /// The place where the next line begins, given the end of this one without its comment.
    #[inline]
    fn next_line(&self, at: usize) -> usize {
        if self.byte(at) == b'\n' {
            return at + 1;
        }
        let rest = &self.text.padded()[at..];
        at + memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1)
    }

    /// The byte at `at`. After the text there is a line end.
    #[inline(always)]
    fn byte(&self, at: usize) -> u8 {
        self.text.padded().get(at).copied().unwrap_or(b'\n')
    }
}

/// Whether a token looks like a feature.
fn is_feature(token: &[u8]) -> bool {
    token.contains(&b':')
}

/// The faults, with explanations.
impl Lines<'_> {
    #[cold]
    fn label_fault(&self, at: usize) -> Fault {
        let rule = &self.format.rule;
        let fault = self.fault(at, rule.expected());
        let number = self.number(at).map(|(number, _)| number);
        if number.is_some_and(|number| number.abs() > f64::from(f32::MAX)) {
            return self.size_fault(at);
        }
        match rule.hint() {
            Some(hint) if !is_feature(self.token(at)) => fault.hint(hint),
            _ if number.is_none() => fault.hint(LINE_FORM),
            _ => fault,
        }
    }

    #[cold]
    fn feature_fault(&self, at: usize, previous: u32) -> Fault {
        let token = self.token(at);
        let (index, digits) = integer_at(token, 0);
        if digits == 0 || token.get(digits) != Some(&b':') {
            return self.form_fault(at);
        }
        let max_index = self.format.max_index;
        if index == 0 {
            let expected = "an index of at least 1";
            self.fault(at, expected.to_owned()).hint("LIBSVM indices start at 1")
        } else if index > u64::from(max_index) {
            self.fault(at, format!("an index of at most {max_index}, the limit"))
        } else if index <= u64::from(previous) {
            self.order_fault(at, index, previous)
        } else {
            self.fault(at, format!("a finite number after \"{index}:\""))
        }
    }

    fn form_fault(&self, at: usize) -> Fault {
        let fault = self.fault(at, "index:value, with an integer index of at least 1".to_owned());
        if self.token(at).starts_with(b"qid:") {
            return fault.hint(
                "ranking data is not supported; without its qid a row is an ordinary example",
            );
        }
        fault
    }

    fn order_fault(&self, at: usize, index: u64, previous: u32) -> Fault {
        let hint = if index == u64::from(previous) {
            format!("index {index} is repeated: each may be given once on a line")
        } else {
            format!("index {index} follows index {previous}: they must increase along a line")
        };
        self.fault(at, format!("an index above {previous}")).hint(hint)
    }

    #[cold]
    fn size_fault(&self, at: usize) -> Fault {
        let limit = f32::MAX;
        let expected =
            format!("a number that fits in single precision (at most {limit:e} in size)");
        self.fault(at, expected)
    }

    fn fault(&self, at: usize, expected: String) -> Fault {
        Fault::new(at, self.token(at), expected)
    }

    /// The token that begins at `at`.
    fn token(&self, at: usize) -> &[u8] {
        let rest = &self.text.bytes()[at.min(self.text.len())..];
        let length = rest.iter().take_while(|byte| !b" \t#\n".contains(byte)).count();
        let token = &rest[..length];
        token.strip_suffix(b"\r").unwrap_or(token)
    }
}
