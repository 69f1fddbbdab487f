//! Reads one line of Vowpal Wabbit text, and its features.

use super::Vw;
use super::head::Head;
use super::made::{Destination, Made};
use crate::format::Fault;
use crate::names::Prefix;
use crate::number::{integer_at, single_at};
use crate::rows::Rows;
use crate::text::Text;
use rueful_core::Importance;
use std::ops::Range;

/// A text that is being turned into rows.
pub(super) struct Lines<'a> {
    pub(super) text: Text<'a>,
    pub(super) format: &'a Vw,
    /// The prefix of the current namespace.
    pub(super) prefix: Prefix,
    /// The prefix of a feature in that namespace whose value is a word.
    pub(super) inner: Prefix,
    /// The features of namespaces of which something is made.
    pub(super) made: Made<'a>,
}

/// The facts about a namespace that its features need.
pub(super) struct Namespace {
    pub(super) scale: f32,
    /// Whether it has no name, so that whole numbers are indices.
    pub(super) is_nameless: bool,
    /// The number of its features that had no name.
    pub(super) unnamed: u32,
    /// Where its features go.
    pub(super) destination: Destination,
}

/// The value after the name of a feature.
pub(super) enum Value {
    /// A number, which is 1 if nothing is written, and the place where the feature ends.
    Number(f32, usize),
    /// A word that is not a number, and its place.
    Word(Range<usize>),
}

impl Lines<'_> {
    /// Adds the row of the line that begins at `at`, if it has one. Returns where the next line
    /// begins.
    #[inline]
    pub(super) fn read_line<const MADE: bool>(
        &mut self,
        at: usize,
        rows: &mut Rows,
    ) -> Result<usize, Fault> {
        let start = self.skip_blanks(at);
        if self.is_line_end(start) {
            return Ok(self.next_line(start));
        }
        let Some(bar) = self.bar(start) else {
            return Err(self.no_bar_fault(start));
        };
        rows.mark();
        let mut head = self.head(start, bar, rows)?;
        rows.begin(self.format.constant);
        if MADE {
            self.made.clear();
        }
        let mut end = bar;
        while self.byte(end) == b'|' {
            end = self.read_namespace::<MADE>(end, rows)?;
        }
        if !self.is_line_end(end) {
            return Err(self.return_fault(end));
        }
        if head.importance.is_zero() && !self.format.idle_rows && !self.format.id {
            rows.forget_row();
            return Ok(self.next_line(end));
        }
        if MADE {
            let added = self.made.add_to(rows);
            added.map_err(|expected| self.made_fault(start, expected))?;
        }
        if self.format.id && self.identify(start, &mut head, rows) {
            return Ok(self.next_line(end));
        }
        rows.finish(head.label, head.importance).map_err(|_| self.sum_fault(start))?;
        Ok(self.next_line(end))
    }

    /// Reports the id of the row. A row without a label waits for one. Returns whether the row is
    /// finished, because it has nothing but a label.
    fn identify(&self, start: usize, head: &mut Head, rows: &mut Rows) -> bool {
        rows.ids.push(&self.text.bytes()[head.tag.clone()], head.is_labelled);
        rows.starts.push(start);
        if !head.is_labelled {
            head.importance = Importance::ZERO;
            rows.keep_waiting();
        }
        let is_bare = head.is_labelled && rows.features(self.format.constant) == 0;
        if is_bare {
            rows.finish_bare(head.label, head.importance);
        }
        is_bare
    }

    /// The place of the first `|` of the line.
    #[inline]
    fn bar(&self, start: usize) -> Option<usize> {
        let at = start + memchr::memchr2(b'|', b'\n', &self.text.padded()[start..])?;
        (self.byte(at) == b'|').then_some(at)
    }

    /// Adds the features of the namespace whose bar is at `bar`. Returns where the namespace ends:
    /// at another bar, the end of the line, or a carriage return.
    #[inline]
    fn read_namespace<const MADE: bool>(
        &mut self,
        bar: usize,
        rows: &mut Rows,
    ) -> Result<usize, Fault> {
        let end = self.name_end(bar + 1);
        let name = bar + 1..end;
        let text = self.text.padded();
        let destination =
            if MADE { self.made.destination(&text[name.clone()]) } else { Destination::Row };
        let is_nameless = name.is_empty();
        let mut namespace = Namespace { scale: 1.0, is_nameless, unnamed: 0, destination };
        if name.is_empty() {
            self.prefix.set(&[]);
        } else {
            self.prefix.set(&[&text[name.clone()], b"^"]);
        }
        let mut at = end;
        if self.byte(at) == b':' {
            (namespace.scale, at) = self.scale(name)?;
        }
        loop {
            at = self.skip_blanks(at);
            match self.byte(at) {
                b'|' | b'\n' | b'\r' => return Ok(at),
                _ if MADE => at = self.read_made(at, &mut namespace, rows)?,
                _ => at = self.read_feature(at, &mut namespace, rows)?,
            }
        }
    }

    /// The scale that follows the name of a namespace, and the place where it ends.
    #[inline]
    fn scale(&self, name: Range<usize>) -> Result<(f32, usize), Fault> {
        if name.is_empty() {
            return Err(self.namespace_fault(name.start));
        }
        match single_at(self.text.padded(), name.end + 1) {
            Some((scale, end)) if scale.is_finite() && self.is_token_end(end) => Ok((scale, end)),
            _ => Err(self.value_fault(name)),
        }
    }

    /// Adds the feature at `at`. Returns where it ends.
    #[inline(always)]
    fn read_feature(
        &mut self,
        at: usize,
        namespace: &mut Namespace,
        rows: &mut Rows,
    ) -> Result<usize, Fault> {
        if namespace.is_nameless
            && let Some((index, end)) = self.index(at)
        {
            let Value::Number(value, end) = self.value(at..end)? else {
                return self.read_other(at, namespace, rows);
            };
            rows.add(index, self.scaled(value, namespace, at)?);
            return Ok(end);
        }
        let end = self.name_end(at);
        if end > at
            && let Value::Number(value, value_end) = self.value(at..end)?
        {
            let value = self.scaled(value, namespace, at)?;
            let name = &self.text.padded()[at..end];
            rows.add_named(&self.format.space, &self.prefix, name, value);
            return Ok(value_end);
        }
        self.read_other(at, namespace, rows)
    }

    /// Adds a feature that has no name, or a word for its value. Returns where it ends.
    #[inline(never)]
    fn read_other(
        &mut self,
        at: usize,
        namespace: &mut Namespace,
        rows: &mut Rows,
    ) -> Result<usize, Fault> {
        let space = &self.format.space;
        let text = self.text.padded();
        let name = at..self.name_end(at);
        match self.value(name.clone())? {
            Value::Word(word) => {
                self.inner.set(&[self.prefix.text(), &text[name], b"^"]);
                rows.add_named(space, &self.inner, &text[word.clone()], 1.0);
                Ok(word.end)
            }
            Value::Number(value, end) => {
                let value = self.scaled(value, namespace, at)?;
                namespace.unnamed += 1;
                let name = format!(":{}", namespace.unnamed);
                rows.add_named(space, &self.prefix, name.as_bytes(), value);
                Ok(end)
            }
        }
    }

    /// If the name at `at` is an index, returns the index and where the name ends.
    #[inline(always)]
    pub(super) fn index(&self, at: usize) -> Option<(u32, usize)> {
        if !matches!(self.byte(at), b'1'..=b'9') {
            return None;
        }
        let (number, end) = integer_at(self.text.padded(), at);
        let is_index = number <= u64::from(self.format.space.max_index)
            && end - at <= 9
            && (self.byte(end) == b':' || self.is_token_end(end));
        is_index.then_some((number as u32, end))
    }

    /// Reads the value after a name.
    #[inline(always)]
    pub(super) fn value(&self, name: Range<usize>) -> Result<Value, Fault> {
        if self.byte(name.end) != b':' {
            return Ok(Value::Number(1.0, name.end));
        }
        match single_at(self.text.padded(), name.end + 1) {
            Some((value, end)) if self.is_token_end(end) => Ok(Value::Number(value, end)),
            _ => self.word(name),
        }
    }

    /// The word that is the value of a feature, if it cannot be mistaken for a number.
    #[inline(never)]
    fn word(&self, name: Range<usize>) -> Result<Value, Fault> {
        let start = name.end + 1;
        let mut end = start;
        while !self.is_token_end(end) {
            end += 1;
        }
        let word = &self.text.padded()[start..end];
        let begins_like_a_number =
            matches!(word.first(), None | Some(b'0'..=b'9' | b'+' | b'-' | b'.' | b':'));
        if begins_like_a_number || is_number_word(word) {
            return Err(self.value_fault(name));
        }
        Ok(Value::Word(start..end))
    }

    #[inline(always)]
    pub(super) fn scaled(
        &self,
        value: f32,
        namespace: &Namespace,
        at: usize,
    ) -> Result<f32, Fault> {
        let value = value * namespace.scale;
        if value.is_finite() { Ok(value) } else { Err(self.size_fault(at, namespace.scale)) }
    }

    /// The place where the name that begins at `at` ends.
    #[inline(always)]
    pub(super) fn name_end(&self, at: usize) -> usize {
        let text = self.text.padded();
        let mut end = at;
        while text.get(end).is_some_and(|&byte| !ENDS_NAME[byte as usize]) {
            end += 1;
        }
        end
    }

    /// Whether a name or a value ends at `at`.
    #[inline(always)]
    pub(super) fn is_token_end(&self, at: usize) -> bool {
        let byte = self.byte(at);
        ENDS_NAME[byte as usize] && byte != b':'
    }

    #[inline(always)]
    fn skip_blanks(&self, mut at: usize) -> usize {
        while let b' ' | b'\t' = self.byte(at) {
            at += 1;
        }
        at
    }

    /// Whether the line ends at `at`.
    #[inline]
    fn is_line_end(&self, at: usize) -> bool {
        match self.byte(at) {
            b'\n' => true,
            b'\r' => self.byte(at + 1) == b'\n',
            _ => false,
        }
    }

    /// The place where the next line begins, given the end of this one.
    #[inline]
    fn next_line(&self, end: usize) -> usize {
        end + 1 + usize::from(self.byte(end) == b'\r')
    }

    /// The byte at `at`. After the text there is a line end.
    #[inline(always)]
    pub(super) fn byte(&self, at: usize) -> u8 {
        self.text.padded().get(at).copied().unwrap_or(b'\n')
    }
}

/// The bytes that end a name.
const ENDS_NAME: [bool; 256] = {
    let mut ends = [false; 256];
    ends[b' ' as usize] = true;
    ends[b'\t' as usize] = true;
    ends[b'|' as usize] = true;
    ends[b':' as usize] = true;
    ends[b'\n' as usize] = true;
    ends[b'\r' as usize] = true;
    ends
};

/// Whether a word stands for something like a number that is not finite.
fn is_number_word(word: &[u8]) -> bool {
    [&b"nan"[..], b"inf", b"infinity"].iter().any(|number| word.eq_ignore_ascii_case(number))
}
