//! Lines out of large blocks, in a buffer that is used again and again.

use memchr::memchr;
use std::io::{self, ErrorKind, Read};
use std::ops::Range;

/// How much the buffer holds unless a line needs more. Reading in blocks of this size makes system
/// calls and moved remainders too rare to matter.
const BLOCK: usize = 1 << 18;

/// What some editors put before text, to say that it is UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A reader of lines. [`advance`](Self::advance) to the next, then look at
/// [`current`](Self::current).
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    /// The part of the buffer that is read and not yet handed out as lines.
    unread: Range<usize>,
    /// Where the current line lies in the buffer.
    current: Range<usize>,
    /// How far beyond the current line the buffer may be looked at.
    ahead: usize,
    number: u64,
    bytes_read: u64,
    at_end: bool,
    limit: usize,
}

/// A line, and what the buffer holds beyond it: whoever reads several bytes at a time can do so up
/// to the last byte of the line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    /// The line and nothing more, or the line, its end, and further bytes that mean nothing.
    pub(crate) text: &'a [u8],
    /// How much of it is the line, without its end, be it `\n` or `\r\n`, and without a byte order
    /// mark.
    pub(crate) length: usize,
}

impl<'a> Line<'a> {
    /// The line itself.
    pub(crate) fn bytes(self) -> &'a [u8] {
        &self.text[..self.length]
    }
}

/// Why there is no next line, though the input has not ended.
#[derive(Debug)]
pub(crate) enum LineFault {
    /// The input failed.
    Io(io::Error),
    /// The next line is longer than allowed; its beginning is the current line.
    TooLong,
}

impl<R: Read> Lines<R> {
    /// The lines of `reader`, each of at most `limit` bytes.
    pub(crate) fn new(reader: R, limit: usize) -> Self {
        Self::in_blocks(reader, limit, BLOCK)
    }

    fn in_blocks(reader: R, limit: usize, block: usize) -> Self {
        Self {
            reader,
            buffer: vec![0; block],
            unread: 0..0,
            current: 0..0,
            ahead: 0,
            number: 0,
            bytes_read: 0,
            at_end: false,
            limit,
        }
    }

    /// The current line.
    #[inline]
    pub(crate) fn current(&self) -> Line<'_> {
        let text = &self.buffer[self.current.start..self.ahead];
        Line { text, length: self.current.len() }
    }

    /// The number of the current line, counted from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// How many bytes came from the reader.
    #[cfg(test)]
    pub(crate) fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Goes to the next line, if there is one.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<bool, LineFault> {
        // Bytes in which no line end was found are not searched again.
        let mut searched = 0;
        loop {
            let found = memchr(b'\n', &self.buffer[self.unread.start + searched..self.unread.end]);
            if let Some(distance) = found {
                return self.take(searched + distance, 1);
            }
            searched = self.unread.len();
            if self.at_end && searched == 0 {
                return Ok(false);
            }
            // One byte more than the limit may be the first half of a line end.
            if self.at_end || searched > self.limit.saturating_add(1) {
                return self.take(searched, 0);
            }
            self.read_more().map_err(LineFault::Io)?;
        }
    }

    /// Makes the next `length` bytes the current line and passes over its end.
    #[inline]
    fn take(&mut self, length: usize, end_length: usize) -> Result<bool, LineFault> {
        let line = &self.buffer[self.unread.start..][..length];
        let length_seen = line.strip_suffix(b"\r").unwrap_or(line).len();
        let has_mark = self.number == 0 && line.starts_with(BYTE_ORDER_MARK);
        self.current = self.unread.start..self.unread.start + length_seen;
        self.unread.start += length + end_length;
        self.ahead = if end_length > 0 { self.unread.end } else { self.current.end };
        self.number += 1;
        if has_mark {
            self.current.start += BYTE_ORDER_MARK.len();
        }
        if length_seen > self.limit { Err(LineFault::TooLong) } else { Ok(true) }
    }

    /// Reads once, behind the unread bytes.
    fn read_more(&mut self) -> io::Result<()> {
        self.make_room();
        let room = &mut self.buffer[self.unread.end..];
        let count = loop {
            match self.reader.read(room) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        self.at_end = count == 0;
        self.unread.end += count;
        self.bytes_read += count as u64;
        Ok(())
    }

    /// Sees to it that the buffer has room behind the unread bytes: by moving them to its front,
    /// and when they fill it, by growing to no more than a line of the allowed length needs.
    fn make_room(&mut self) {
        if self.unread.end < self.buffer.len() {
            return;
        }
        if self.unread.start == 0 {
            let enough = self.limit.saturating_add(2);
            let size = self.buffer.len().saturating_mul(2).min(enough);
            self.buffer.reserve_exact(size - self.buffer.len());
            self.buffer.resize(size, 0);
        } else {
            self.buffer.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What the lines of `text` are, told the obvious way: up to the first that is too long, and
    /// whether there is one.
    fn obvious(text: &[u8], limit: usize) -> (Vec<Vec<u8>>, bool) {
        let mut lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
        if lines.last().is_some_and(|last| last.is_empty()) {
            lines.pop();
        }
        let trimmed = lines.iter().map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let good: Vec<_> =
            trimmed.take_while(|line| line.len() <= limit).map(<[u8]>::to_vec).collect();
        let is_cut = good.len() < lines.len();
        (good, is_cut)
    }

    /// A reader that hands out a few bytes at a time and is interrupted now and then.
    struct Pieces<'a> {
        rest: &'a [u8],
        sizes: std::iter::Cycle<std::vec::IntoIter<usize>>,
    }

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let size = self.sizes.next().unwrap_or(1);
            if size == 0 {
                return Err(ErrorKind::Interrupted.into());
            }
            let count = size.min(buffer.len());
            self.rest.read(&mut buffer[..count])
        }
    }

    fn read(mut lines: Lines<Pieces<'_>>) -> (Vec<Vec<u8>>, bool) {
        let mut all = Vec::new();
        loop {
            match lines.advance() {
                Ok(true) => {
                    all.push(lines.current().bytes().to_vec());
                    assert_eq!(lines.number(), all.len() as u64);
                }
                Ok(false) => return (all, false),
                Err(LineFault::TooLong) => return (all, true),
                Err(LineFault::Io(error)) => panic!("{error}"),
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn lines_are_the_same_in_blocks_and_pieces_of_any_size(
            text in "[ab\\r\n]{0,60}|([a-e]{0,30}\r?\n){0,6}[a-e]{0,30}",
            block in 1usize..20,
            limit in 0usize..40,
            mut sizes in prop::collection::vec(0usize..12, 1..6),
        ) {
            sizes.push(1);
            let pieces = Pieces { rest: text.as_bytes(), sizes: sizes.into_iter().cycle() };
            let lines = Lines::in_blocks(pieces, limit, block);
            prop_assert_eq!(read(lines), obvious(text.as_bytes(), limit));
        }
    }

    #[test]
    fn what_lies_beyond_a_line_begins_with_its_end() {
        let mut lines = Lines::new(&b"one\r\ntwo\nthree"[..], 100);
        let mut texts = Vec::new();
        while lines.advance().unwrap() {
            texts.push(lines.current().text.to_vec());
        }
        assert_eq!(texts, [&b"one\r\ntwo\nthree"[..], b"two\nthree", b"three"]);
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_line() {
        let mut lines = Lines::new("\u{feff}one\n\u{feff}two".as_bytes(), 100);
        lines.advance().unwrap();
        assert_eq!(lines.current().bytes(), b"one");
        lines.advance().unwrap();
        assert_eq!(lines.current().bytes(), "\u{feff}two".as_bytes());
    }

    #[test]
    fn an_endless_line_does_not_fill_the_memory() {
        let mut lines = Lines::new(io::repeat(b'x'), 5 << 20);
        assert!(matches!(lines.advance(), Err(LineFault::TooLong)));
        assert!(lines.buffer.capacity() <= 6 << 20);
        assert_eq!(lines.bytes_read(), (5 << 20) + 2);
    }
}
