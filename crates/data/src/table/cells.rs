//! Finds the ends of cells and records.
//!
//! A quote is special only as the first byte of a cell. The cell then goes on to the next quote
//! that is not doubled, over separators and line ends. Only blanks may stand between that quote and
//! the end of the cell. Blanks around a cell without quotes do not belong to it.

use memchr::{memchr, memchr2, memrchr};

const QUOTE: u8 = b'"';

/// The way in which records are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(crate) separator: u8,
    /// Whether quotes are special at all.
    pub(crate) quotes: bool,
}

/// A cell in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell {
    /// The places where its content begins and ends.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Whether two quotes in its content stand for one.
    pub(crate) is_doubled: bool,
    /// The place of its separator, or of the end of its record.
    pub(crate) next: usize,
}

/// The fault of a cell in quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuoteFault {
    /// The quote at this place is never closed.
    Open(usize),
    /// Something follows the closing quote, from this place on.
    Behind(usize),
}

impl Cell {
    /// Its content. If doubled quotes have to be removed, it is put together in `buffer`.
    #[inline]
    pub(crate) fn content<'a>(&self, text: &'a [u8], buffer: &'a mut Vec<u8>) -> &'a [u8] {
        let raw = &text[self.start..self.end];
        if !self.is_doubled {
            return raw;
        }
        buffer.clear();
        let mut rest = raw;
        while let Some(quote) = memchr(QUOTE, rest) {
            buffer.extend_from_slice(&rest[..=quote]);
            rest = &rest[(quote + 2).min(rest.len())..];
        }
        buffer.extend_from_slice(rest);
        buffer
    }
}

impl Dialect {
    /// Whether a record ends at `at`. A record also ends where the text ends.
    #[inline(always)]
    pub(crate) fn is_record_end(self, text: &[u8], at: usize) -> bool {
        match text.get(at) {
            None | Some(b'\n') => true,
            Some(b'\r') => matches!(text.get(at + 1), None | Some(b'\n')),
            _ => false,
        }
    }

    /// Whether a cell ends at `at`.
    #[inline(always)]
    pub(crate) fn is_cell_end(self, text: &[u8], at: usize) -> bool {
        text.get(at) == Some(&self.separator) || self.is_record_end(text, at)
    }

    /// The beginning of the record after the one that ends at `at`.
    #[inline(always)]
    pub(crate) fn next_record(text: &[u8], at: usize) -> usize {
        at + 1 + usize::from(text.get(at) == Some(&b'\r'))
    }

    /// The place where the first record that is not empty begins, at most the end of the text.
    pub(crate) fn skip_empty_lines(self, text: &[u8]) -> usize {
        let mut at = 0;
        while at < text.len() && self.is_record_end(text, at) {
            at = Self::next_record(text, at);
        }
        at.min(text.len())
    }

    fn is_blank(self, byte: u8) -> bool {
        (byte == b' ' || byte == b'\t') && byte != self.separator
    }

    /// The cell that begins at `at`.
    #[inline]
    pub(crate) fn cell(self, text: &[u8], at: usize) -> Result<Cell, QuoteFault> {
        if self.quotes && text.get(at) == Some(&QUOTE) {
            return self.quoted(text, at);
        }
        let rest = &text[at.min(text.len())..];
        let mut next = at + memchr2(self.separator, b'\n', rest).unwrap_or(rest.len());
        if text.get(next) != Some(&self.separator) && next > at && text[next - 1] == b'\r' {
            next -= 1;
        }
        let (mut start, mut end) = (at, next);
        while start < end && self.is_blank(text[start]) {
            start += 1;
        }
        while start < end && self.is_blank(text[end - 1]) {
            end -= 1;
        }
        Ok(Cell { start, end, is_doubled: false, next })
    }

    fn quoted(self, text: &[u8], at: usize) -> Result<Cell, QuoteFault> {
        let start = at + 1;
        let (end, is_doubled) = closing_quote(text, start).ok_or(QuoteFault::Open(at))?;
        let blanks = text[end + 1..].iter().take_while(|&&byte| self.is_blank(byte)).count();
        let next = end + 1 + blanks;
        if !self.is_cell_end(text, next) {
            return Err(QuoteFault::Behind(next));
        }
        Ok(Cell { start, end, is_doubled, next })
    }

    /// The length of the longest beginning of `text` that consists of whole records, if there is
    /// one. After a quote that is out of place the text may be cut anywhere, because it is not
    /// read.
    pub(crate) fn cut(self, text: &[u8]) -> Option<usize> {
        let mut cut = None;
        let mut at = 0;
        let mut quotes = if self.quotes { memchr(QUOTE, text) } else { None };
        while let Some(quote) = quotes {
            cut = last_line_end(text, at, quote).or(cut);
            at = quote + 1;
            if self.opens(text, quote) {
                let Some((close, _)) = closing_quote(text, at) else { return cut };
                at = close + 1;
            }
            quotes = memchr(QUOTE, &text[at..]).map(|distance| at + distance);
        }
        last_line_end(text, at, text.len()).or(cut)
    }

    /// The length of the first record of `text`, if the record ends in it.
    pub(crate) fn first_record(self, text: &[u8]) -> Option<usize> {
        let mut at = 0;
        loop {
            let rest = &text[at..];
            let found = if self.quotes { memchr2(b'\n', QUOTE, rest) } else { memchr(b'\n', rest) };
            let found = at + found?;
            at = found + 1;
            if text[found] == b'\n' {
                return Some(at);
            }
            if self.opens(text, found) {
                at = closing_quote(text, at)?.0 + 1;
            }
        }
    }

    /// Whether the quote at `quote`, itself outside of quotes, opens a cell.
    fn opens(self, text: &[u8], quote: usize) -> bool {
        let before = quote.checked_sub(1).map(|before| text[before]);
        before.is_none_or(|before| before == self.separator || before == b'\n')
    }
}

/// The place after the last line end in a range.
fn last_line_end(text: &[u8], from: usize, to: usize) -> Option<usize> {
    memrchr(b'\n', &text[from..to]).map(|distance| from + distance + 1)
}

/// The place of the quote that closes a cell whose content begins at `at`, and whether there are
/// doubled quotes before it.
fn closing_quote(text: &[u8], mut at: usize) -> Option<(usize, bool)> {
    let mut is_doubled = false;
    loop {
        let quote = at + memchr(QUOTE, text.get(at..)?)?;
        if text.get(quote + 1) != Some(&QUOTE) {
            return Some((quote, is_doubled));
        }
        is_doubled = true;
        at = quote + 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUOTED: Dialect = Dialect { separator: b',', quotes: true };
    const PLAIN: Dialect = Dialect { separator: b',', quotes: false };

    #[test]
    fn a_record_ends_at_the_first_line_end_outside_quotes() {
        for (text, quoted, plain) in [
            (&b"a,b\nc\n"[..], Some(4), Some(4)),
            (b"a,\"b\n\"\nc\n", Some(7), Some(5)),
            (b"\"a\"\"\n\",b\nc", Some(9), Some(5)),
            (b"a\"b\n\"\n", Some(4), Some(4)),
            (b"\"a\n", None, Some(3)),
            (b"a", None, None),
            (b"", None, None),
        ] {
            assert_eq!((QUOTED.first_record(text), PLAIN.first_record(text)), (quoted, plain));
            if let Some(len) = quoted {
                assert_eq!(QUOTED.cut(&text[..len]), Some(len));
            }
        }
    }

    #[test]
    fn empty_lines_are_skipped() {
        for (text, start) in
            [(&b"\n\r\na\n"[..], 3), (b"a\n", 0), (b"\n\n", 2), (b"\n\r", 2), (b"", 0)]
        {
            assert_eq!(QUOTED.skip_empty_lines(text), start);
        }
    }
}
