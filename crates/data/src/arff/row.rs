//! Reads the rows of an ARFF file.

use super::{Arff, AttributeKind};
use crate::format::{self, Fault};
use crate::rows::Rows as Output;
use crate::schema::Role;
use crate::table::plan::{Action, Filler, Plan};
use crate::text::Text;
use std::collections::HashSet;

/// The largest number of declared values that are searched one by one.
const FEW: usize = 12;

/// The checks of values, and the values that a sparse row leaves out.
#[derive(Debug)]
pub(super) struct Checks {
    declared: Vec<Declared>,
    /// The columns whose absence from a sparse row has a meaning, and the value that it stands for.
    defaults: Vec<(usize, Option<Vec<u8>>)>,
}

/// The values that a column may have.
#[derive(Debug)]
enum Declared {
    Any,
    Few(Vec<Vec<u8>>),
    Many(HashSet<Vec<u8>>),
}

impl Declared {
    fn new(kind: &AttributeKind) -> Self {
        let AttributeKind::Nominal(values) = kind else { return Self::Any };
        let values = values.iter().map(|value| value.clone().into_bytes());
        if values.len() <= FEW { Self::Few(values.collect()) } else { Self::Many(values.collect()) }
    }

    fn has(&self, value: &[u8]) -> bool {
        match self {
            Self::Any => true,
            Self::Few(values) => values.iter().any(|known| known == value),
            Self::Many(values) => values.contains(value),
        }
    }
}

impl Checks {
    pub(super) fn new(arff: &Arff) -> Self {
        let columns = || arff.columns.iter().zip(&arff.kinds).enumerate();
        let declared = columns().map(|(_, (column, kind))| match column.role {
            Role::Drop => Declared::Any,
            _ => Declared::new(kind),
        });
        let defaults = columns().filter_map(|(number, (column, kind))| {
            let value = match kind {
                AttributeKind::Numeric => Some(b"0".to_vec()),
                AttributeKind::Nominal(values) => values.first().map(|v| v.clone().into_bytes()),
                AttributeKind::String | AttributeKind::Date => None,
            };
            (!matches!(column.role, Role::Number | Role::Drop)).then_some((number, value))
        });
        Self { declared: declared.collect(), defaults: defaults.collect() }
    }
}

/// A text that is being turned into rows.
pub(super) struct Rows<'a> {
    pub(super) text: Text<'a>,
    /// The text without the padding behind it.
    pub(super) bytes: &'a [u8],
    pub(super) plan: &'a Plan,
    pub(super) checks: &'a Checks,
}

/// A row that is being put together.
struct Row<'a> {
    start: usize,
    filler: &'a mut Filler,
    rows: &'a mut Output,
    buffer: &'a mut Vec<u8>,
}

impl Rows<'_> {
    pub(super) fn read(&self, mut at: usize, rows: &mut Output) -> Result<(), Fault> {
        let mut filler = self.plan.filler(rows);
        let mut buffer = Vec::new();
        while at < self.bytes.len() {
            let start = skip_blanks(self.bytes, at);
            let mut row = Row { start, filler: &mut filler, rows, buffer: &mut buffer };
            let end = if is_end(self.bytes, start) {
                start
            } else if self.bytes[start] == b'{' {
                self.sparse(&mut row)?
            } else {
                self.dense(&mut row)?
            };
            at = next_line(self.bytes, end);
        }
        Ok(())
    }

    /// Reads a row of values in order. Returns where it ends.
    fn dense(&self, row: &mut Row<'_>) -> Result<usize, Fault> {
        self.plan.begin(row.filler, row.rows);
        let padded = self.text.padded();
        let is_end_of_word = |at: usize| ends_word(self.bytes.get(at));
        let last = self.plan.actions.len() - 1;
        let mut at = row.start;
        for (column, action) in self.plan.actions.iter().enumerate() {
            let next = match action {
                Action::Number(place) => {
                    self.plan.number_at(row.filler, *place, padded, at, is_end_of_word)
                }
                _ => None,
            };
            let end = match next {
                Some(end) => end,
                None => self.value(row, column, at)?,
            };
            at = skip_blanks(self.bytes, end);
            if is_end(self.bytes, at) != (column == last) {
                return Err(self.width_fault(row.start));
            }
            if column != last && at == end && self.bytes[at] != b',' {
                return Err(self.fault(at, "a comma after the value"));
            }
            if column != last {
                at = skip_blanks(self.bytes, at + usize::from(self.bytes[at] == b','));
            }
        }
        self.finish(row, at)?;
        Ok(at)
    }

    fn finish(&self, row: &mut Row<'_>, end: usize) -> Result<(), Fault> {
        let line = &self.bytes[row.start..end];
        self.plan.finish(row.filler, row.rows, row.start, line)
    }

    /// Takes the value of a column that begins at `at`. Returns where it ends.
    fn value(&self, row: &mut Row<'_>, column: usize, at: usize) -> Result<usize, Fault> {
        let word = self.word(at)?;
        if self.is_missing(&word) {
            self.plan.missing(row.filler, row.rows, column, b"?", at)?;
            return Ok(word.end);
        }
        if word.end == at {
            let fault = self.fault(at, "a value, or ? for a missing one");
            return Err(self.explain(row.start, fault));
        }
        let value = word.content(self.bytes, row.buffer);
        if !self.checks.declared[column].has(value) {
            let name = format::quoted(self.plan.name(column));
            let expected = format!("one of the values declared for attribute {name}");
            return Err(self.explain(row.start, Fault::new(at, value, expected)));
        }
        self.plan
            .value(row.filler, row.rows, column, value, at)
            .map_err(|fault| self.explain(row.start, fault))?;
        Ok(word.end)
    }

    fn is_missing(&self, word: &Word) -> bool {
        word.end - word.start == 1 && self.bytes[word.start] == b'?'
    }

    /// Reads a row of numbered values in braces. Returns where it ends.
    fn sparse(&self, row: &mut Row<'_>) -> Result<usize, Fault> {
        self.plan.begin_sparse(row.filler, row.rows);
        let columns = self.plan.actions.len();
        let mut defaults = self.checks.defaults.iter().peekable();
        let mut next = 0;
        let mut at = skip_blanks(self.bytes, row.start + 1);
        while self.bytes.get(at) != Some(&b'}') {
            let (column, end) = crate::number::integer_at(self.bytes, at);
            let blank = self.bytes.get(end).is_some_and(|&byte| byte != b'\n' && is_blank(byte));
            if end == at || !blank {
                return Err(self.fault(at, "the number of an attribute, a blank, and its value"));
            }
            if column < next || column >= columns as u64 {
                let expected = format!("an attribute from {next} to {}, in order", columns - 1);
                return Err(self.fault(at, &expected));
            }
            next = column + 1;
            let column = column as usize;
            while let Some((left_out, value)) = defaults.next_if(|(left, _)| *left <= column) {
                if *left_out < column {
                    self.left_out(row, *left_out, value.as_deref())?;
                }
            }
            at = skip_blanks(self.bytes, self.value(row, column, skip_blanks(self.bytes, end))?);
            if self.bytes.get(at) == Some(&b',') {
                at = skip_blanks(self.bytes, at + 1);
            } else if self.bytes.get(at) != Some(&b'}') {
                return Err(self.fault(at, "a comma, or the brace that closes the row"));
            }
        }
        for (left_out, value) in defaults {
            self.left_out(row, *left_out, value.as_deref())?;
        }
        let end = skip_blanks(self.bytes, at + 1);
        if !is_end(self.bytes, end) {
            return Err(self.fault(end, "the end of the line after the row"));
        }
        self.finish(row, end)?;
        Ok(end)
    }

    /// Takes the value of a column that a sparse row does not mention.
    fn left_out(
        &self,
        row: &mut Row<'_>,
        column: usize,
        value: Option<&[u8]>,
    ) -> Result<(), Fault> {
        match value {
            Some(value) => self.plan.value(row.filler, row.rows, column, value, row.start),
            None => self.plan.missing(row.filler, row.rows, column, b"", row.start),
        }
    }

    fn word(&self, at: usize) -> Result<Word, Fault> {
        word_at(self.bytes, at).ok_or_else(|| self.fault(at, "a quote that closes this one"))
    }
}

/// The faults, with explanations.
impl Rows<'_> {
    #[cold]
    fn fault(&self, at: usize, expected: &str) -> Fault {
        let rest = &self.bytes[at.min(self.bytes.len())..];
        let line = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
        Fault::new(at, line.strip_suffix(b"\r").unwrap_or(line), expected)
    }

    /// If a dense row has the wrong width, the fault says that, and not what follows from it.
    #[cold]
    fn explain(&self, start: usize, fault: Fault) -> Fault {
        let is_wide = self.width(start).is_none_or(|width| width == self.plan.actions.len());
        if is_wide { fault } else { self.width_fault(start) }
    }

    #[cold]
    fn width_fault(&self, start: usize) -> Fault {
        let wanted = self.plan.actions.len();
        match self.width(start) {
            Some(width) => self.fault(start, &format!("{wanted} values, not {width}")),
            None => self.fault(start, &format!("{wanted} values")),
        }
    }

    /// The number of values in the row that begins at `start`, if it is a dense row.
    fn width(&self, start: usize) -> Option<usize> {
        let mut at = start;
        let mut width = 0;
        if self.bytes.get(start) == Some(&b'{') {
            return None;
        }
        loop {
            let word = word_at(self.bytes, at)?;
            width += 1;
            let end = skip_blanks(self.bytes, word.end);
            if is_end(self.bytes, end) {
                return Some(width);
            }
            let next = skip_blanks(self.bytes, end + usize::from(self.bytes[end] == b','));
            if next == at {
                return None;
            }
            at = next;
        }
    }
}

/// A word in a text, quoted or not.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word {
    /// The place of its content.
    pub(super) start: usize,
    pub(super) stop: usize,
    is_escaped: bool,
    /// The place where it ends, including quotes.
    pub(super) end: usize,
}

impl Word {
    /// Its content. If escapes have to be removed, it is put together in `buffer`.
    pub(super) fn content<'a>(&self, text: &'a [u8], buffer: &'a mut Vec<u8>) -> &'a [u8] {
        let raw = &text[self.start..self.stop];
        if !self.is_escaped {
            return raw;
        }
        buffer.clear();
        let mut bytes = raw.iter();
        while let Some(&byte) = bytes.next() {
            buffer.push(match byte {
                b'\\' => match bytes.next() {
                    Some(b'n') => b'\n',
                    Some(b'r') => b'\r',
                    Some(b't') => b'\t',
                    Some(&next) => next,
                    None => break,
                },
                _ => byte,
            });
        }
        buffer
    }
}

/// The word at `at`. It is empty if no word begins there. Returns none if a quote is not closed on
/// the line.
pub(super) fn word_at(text: &[u8], at: usize) -> Option<Word> {
    match text.get(at) {
        Some(&quote @ (b'\'' | b'"')) => quoted(text, at + 1, quote),
        _ => {
            let rest = &text[at.min(text.len())..];
            let length = rest.iter().take_while(|byte| !ends_word(Some(byte)) && **byte != b'{');
            let stop = at + length.count();
            Some(Word { start: at, stop, is_escaped: false, end: stop })
        }
    }
}

fn quoted(text: &[u8], start: usize, quote: u8) -> Option<Word> {
    let mut is_escaped = false;
    let mut at = start;
    loop {
        match *text.get(at)? {
            b'\n' => return None,
            b'\\' => {
                is_escaped = true;
                at += 1 + usize::from(text.get(at + 1).is_some_and(|&byte| byte != b'\n'));
            }
            byte if byte == quote => {
                return Some(Word { start, stop: at, is_escaped, end: at + 1 });
            }
            _ => at += 1,
        }
    }
}

/// Whether a word without quotes ends before this byte.
#[inline(always)]
fn ends_word(byte: Option<&u8>) -> bool {
    matches!(byte, None | Some(b',' | b' ' | b'\t' | b'\n' | b'\r' | b'}' | b'%'))
}

/// Whether a byte is a blank. A line feed is not one.
#[inline]
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

#[inline]
pub(super) fn skip_blanks(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(|&byte| is_blank(byte)) {
        at += 1;
    }
    at
}

/// Whether the line ends at `at`, or a comment begins.
#[inline]
fn is_end(text: &[u8], at: usize) -> bool {
    matches!(text.get(at), None | Some(b'\n' | b'%'))
}

fn next_line(text: &[u8], at: usize) -> usize {
    let rest = &text[at.min(text.len())..];
    at + memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1)
}
