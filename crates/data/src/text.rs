//! A piece of text from which formats read rows: whole lines, and padding behind them.

/// The number of bytes behind the text that may be loaded and mean nothing. So a reader can load
/// several bytes at a time up to the last byte of the text.
pub(crate) const PADDING: usize = 32;

/// Whole lines. The last line ends like the others: if the input has no line end there, one follows
/// the text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text<'a> {
    padded: &'a [u8],
    len: usize,
    /// Whether it is the beginning of a file.
    pub(crate) is_first: bool,
}

impl<'a> Text<'a> {
    /// The first `len` bytes of `padded`; at least [`PADDING`] bytes must follow them.
    pub(crate) fn new(padded: &'a [u8], len: usize, is_first: bool) -> Self {
        debug_assert!(padded.len() >= len + PADDING);
        Self { padded, len, is_first }
    }

    /// The text without the padding.
    #[inline]
    pub(crate) fn bytes(self) -> &'a [u8] {
        &self.padded[..self.len]
    }

    /// The text, a line end if it has none of its own, and padding.
    #[inline]
    pub(crate) fn padded(self) -> &'a [u8] {
        self.padded
    }

    /// The number of bytes of the text.
    #[inline]
    pub(crate) fn len(self) -> usize {
        self.len
    }

    /// The place of byte `at`: the number of lines before its own, and the number of bytes before
    /// it in its own line.
    #[cold]
    pub(crate) fn place(self, at: usize) -> (u64, usize) {
        let before = &self.bytes()[..at.min(self.len)];
        let lines = memchr::memchr_iter(b'\n', before).count() as u64;
        let start = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
        (lines, before.len() - start)
    }
}

/// The lines of a text: the place where each begins, and its bytes without `\n` or `\r\n`.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at;
        let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
        let end = memchr::memchr(b'\n', rest);
        at = start + end.map_or(rest.len(), |end| end + 1);
        let line = &rest[..end.unwrap_or(rest.len())];
        Some((start, line.strip_suffix(b"\r").unwrap_or(line)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_lines_agree() {
        let mut bytes = b"one\r\n\ntwo\nend".to_vec();
        let len = bytes.len();
        bytes.resize(len + PADDING, 0);
        let text = Text::new(&bytes, len, true);
        let all: Vec<_> = lines(text.bytes()).collect();
        assert_eq!(all, [(0, &b"one"[..]), (5, b""), (6, b"two"), (10, b"end")]);
        for (number, (start, _)) in (0..).zip(&all) {
            assert_eq!(text.place(*start), (number, 0));
        }
        assert_eq!(text.place(8), (2, 2));
        assert_eq!(text.place(1000), (3, 3));
    }
}
