//! One line of LIBSVM text.
//!
//! The way through a valid line is short and branches little. When it meets something it does not
//! know it stops, and the explanation is worked out afterwards, at leisure, from the token it
//! stopped at.

use crate::Reading;
use crate::error::excerpt;
use crate::lines::Line;
use crate::number::{double_at, integer_at, single_at};
use rueful_core::loss::Labels;
use rueful_core::{Batch, OpenRow};

const LINE_FORM: &str = "a line is: label index:value index:value …";

const SIGNS_ONLY: &str = "classification losses take the labels -1 and +1; a regression loss such \
                          as square takes any number";

/// What is wrong with a line.
#[derive(Debug)]
pub(super) struct Fault {
    /// Where the token begins that is wrong.
    pub(super) at: usize,
    pub(super) found: String,
    pub(super) expected: String,
    pub(super) hint: Option<String>,
}

/// Adds the row of a line to the batch; nothing if the line is blank or is wrong.
#[inline]
pub(super) fn read_row(line: Line<'_>, reading: &Reading, batch: &mut Batch) -> Result<(), Fault> {
    let row = Row { line, reading };
    row.read(batch)
}

struct Row<'a> {
    line: Line<'a>,
    reading: &'a Reading,
}

/// A feature as it is written.
struct Feature {
    index: u32,
    value: f32,
    /// Where the next token may begin.
    next: usize,
}

impl Row<'_> {
    #[inline]
    fn read(&self, batch: &mut Batch) -> Result<(), Fault> {
        let start = self.skip_blanks(0);
        if self.is_end(start) {
            return Ok(());
        }
        let Some((label, next)) = self.label(start) else {
            return Err(self.label_fault(start));
        };
        // A feature takes four bytes at least, its blank included.
        let mut features = batch.open_row(self.line.length / 4 + 2);
        if self.reading.constant {
            self.store(&mut features, start, 0, 1.0)?;
        }
        self.read_features(next, &mut features)?;
        features.finish(label);
        Ok(())
    }

    /// Most of the time is spent here, so the loop first takes for granted that a feature comes
    /// next, and asks what else it is if none does.
    #[inline(never)] // Within its callers it would have to share their registers.
    fn read_features(&self, mut at: usize, row: &mut OpenRow<'_>) -> Result<(), Fault> {
        let mut previous = 0;
        loop {
            let Some(feature) = self.feature(at) else {
                let start = self.skip_blanks(at);
                if self.is_end(start) {
                    return Ok(());
                } else if start == at {
                    return Err(self.feature_fault(at, previous));
                }
                at = start;
                continue;
            };
            // The order is checked here because the batch forgets features with the value 0.
            if feature.index <= previous {
                return Err(self.feature_fault(at, previous));
            }
            self.store(row, at, feature.index, feature.value)?;
            (previous, at) = (feature.index, feature.next);
        }
    }

    /// Order has been checked already, so all the batch can object to is an infinite value.
    #[inline]
    fn store(&self, row: &mut OpenRow<'_>, at: usize, index: u32, value: f32) -> Result<(), Fault> {
        row.push(index, value).map_err(|_| self.size_fault(at))
    }

    /// The label at `at` and where to go on after it, if it is one that is accepted.
    #[inline]
    fn label(&self, at: usize) -> Option<(f64, usize)> {
        let (label, end) = double_at(self.line.text, at)?;
        let next = self.after_token(end)?;
        (self.reading.labels.accept(label) && fits_single(label)).then_some((label, next))
    }

    /// The feature at `at`, if it is one.
    #[inline(always)]
    fn feature(&self, at: usize) -> Option<Feature> {
        let (index, colon) = integer_at(self.line.text, at);
        if self.byte(colon) != Some(b':') || index > u64::from(self.reading.limits.max_index) {
            return None;
        }
        let (value, end) = single_at(self.line.text, colon + 1)?;
        let next = self.after_token(end)?;
        Some(Feature { index: index as u32, value, next })
    }

    /// Where to go on after a token that should end at `at`, if it does.
    #[inline(always)]
    fn after_token(&self, at: usize) -> Option<usize> {
        match self.byte(at) {
            Some(b' ' | b'\t') => Some(at + 1),
            _ => self.is_end(at).then_some(at),
        }
    }

    #[inline]
    fn skip_blanks(&self, mut at: usize) -> usize {
        while let Some(b' ' | b'\t') = self.byte(at) {
            at += 1;
        }
        at
    }

    /// Whether the line, or what counts of it, ends at `at`.
    #[inline]
    fn is_end(&self, at: usize) -> bool {
        at == self.line.length || self.byte(at) == Some(b'#')
    }

    /// The byte at `at`. Beyond the line comes its end, which belongs to no token, or nothing.
    #[inline]
    fn byte(&self, at: usize) -> Option<u8> {
        self.line.text.get(at).copied()
    }
}

/// Labels are kept to the size of values, so that no product of the two can overflow.
#[inline]
fn fits_single(label: f64) -> bool {
    label.abs() <= f64::from(f32::MAX)
}

/// The explanations.
impl Row<'_> {
    #[cold]
    fn label_fault(&self, at: usize) -> Fault {
        let labels = self.reading.labels;
        let hint = match labels {
            _ if !self.is_number(at) => LINE_FORM,
            Labels::Signs => SIGNS_ONLY,
            Labels::Numbers => return self.size_fault(at),
        };
        self.fault(at, format!("a label that is {}", labels.expected()), Some(hint.to_owned()))
    }

    /// Whether the token at `at` is a number, of whatever size.
    fn is_number(&self, at: usize) -> bool {
        let end = double_at(self.line.text, at).map(|(_, end)| end);
        end.is_some_and(|end| self.after_token(end).is_some())
    }

    #[cold]
    fn feature_fault(&self, at: usize, previous: u32) -> Fault {
        let token = self.token(at);
        let (index, digits) = integer_at(token, 0);
        if digits == 0 || token.get(digits) != Some(&b':') {
            return self.form_fault(at);
        }
        let max_index = self.reading.limits.max_index;
        if index == 0 {
            let hint = "LIBSVM indices start at 1";
            self.fault(at, "an index of at least 1".to_owned(), Some(hint.to_owned()))
        } else if index > u64::from(max_index) {
            self.fault(at, format!("an index of at most {max_index}, the limit"), None)
        } else if index <= u64::from(previous) {
            self.order_fault(at, index, previous)
        } else {
            self.fault(at, format!("a finite number after \"{index}:\""), None)
        }
    }

    fn form_fault(&self, at: usize) -> Fault {
        let hint = self.token(at).starts_with(b"qid:").then(|| {
            "ranking data is not supported; without its qid a row is an ordinary example".to_owned()
        });
        self.fault(at, "index:value, with an integer index of at least 1".to_owned(), hint)
    }

    fn order_fault(&self, at: usize, index: u64, previous: u32) -> Fault {
        let hint = if index == u64::from(previous) {
            format!("index {index} is repeated: each may be given once on a line")
        } else {
            format!("index {index} follows index {previous}: they must increase along a line")
        };
        self.fault(at, format!("an index above {previous}"), Some(hint))
    }

    #[cold]
    fn size_fault(&self, at: usize) -> Fault {
        let limit = f32::MAX;
        let expected =
            format!("a number that fits in single precision (at most {limit:e} in size)");
        self.fault(at, expected, None)
    }

    fn fault(&self, at: usize, expected: String, hint: Option<String>) -> Fault {
        Fault { at, found: excerpt(self.token(at)), expected, hint }
    }

    /// The token that begins at `at`.
    fn token(&self, at: usize) -> &[u8] {
        let rest = &self.line.bytes()[at..];
        let length = rest.iter().take_while(|byte| !b" \t#".contains(byte)).count();
        &rest[..length]
    }
}
