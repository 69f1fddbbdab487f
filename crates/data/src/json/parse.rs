//! Reads one line of JSON, and hands it on value by value.

use crate::format::Fault;
use crate::names::Prefix;
use memchr::memchr3;

/// The largest depth of objects and arrays within each other.
const MAX_DEPTH: usize = 64;

/// Takes the values of a row, each with its full key.
pub(super) trait Sink {
    /// The facts about a key that hold for everything below it.
    type Mark: Copy + Default;

    /// Enters a key below one with the mark `outer`.
    fn enter(&mut self, key: &[u8], hash: u64, outer: Self::Mark) -> Self::Mark;
    /// Takes a number, as it is written.
    fn number(&mut self, key: &[u8], mark: Self::Mark, text: &[u8], at: usize)
    -> Result<(), Fault>;
    /// Takes a string.
    fn string(&mut self, key: &[u8], mark: Self::Mark, text: &[u8], at: usize)
    -> Result<(), Fault>;
    /// Takes a boolean.
    fn boolean(&mut self, key: &[u8], mark: Self::Mark, is: bool, at: usize) -> Result<(), Fault>;
    /// Takes a `null`.
    fn null(&mut self, key: &[u8], mark: Self::Mark, at: usize) -> Result<(), Fault>;
    /// Begins an object or array that is not the row itself.
    fn open(&mut self, mark: Self::Mark, found: &[u8], at: usize) -> Result<(), Fault>;
}

/// Memory that is reused from row to row.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// The full key, with points.
    key: Vec<u8>,
    /// A string without its escapes.
    string: Vec<u8>,
    /// The keys of the row: the hash and the place of each.
    seen: Vec<(u64, usize)>,
}

/// A line that is being read. It ends where `text` ends.
pub(super) struct Parser<'a> {
    pub(super) text: &'a [u8],
    pub(super) at: usize,
    pub(super) scratch: &'a mut Scratch,
}

impl Parser<'_> {
    /// Reads the row.
    pub(super) fn row<S: Sink>(mut self, sink: &mut S) -> Result<(), Fault> {
        self.scratch.key.clear();
        self.scratch.seen.clear();
        self.skip_blanks();
        if self.byte() != Some(b'{') {
            return Err(self
                .fault("an object: {\"key\": value, …}")
                .hint("jq -c . FILE writes one object per line"));
        }
        self.object(sink, S::Mark::default(), 0)?;
        self.skip_blanks();
        if self.byte().is_some() {
            return Err(self.fault("the end of the line after the object"));
        }
        self.check_keys()
    }

    /// Refuses a key that occurs twice.
    fn check_keys(&mut self) -> Result<(), Fault> {
        let seen = &mut self.scratch.seen;
        seen.sort_unstable();
        let twice = seen.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[1].1);
        match twice.min() {
            None => Ok(()),
            Some(at) => {
                self.at = at;
                Err(self.fault("a key that is not in the row yet"))
            }
        }
    }

    fn object<S: Sink>(&mut self, sink: &mut S, mark: S::Mark, depth: usize) -> Result<(), Fault> {
        self.check_depth(depth)?;
        self.at += 1;
        self.skip_blanks();
        if self.take(b'}') {
            return Ok(());
        }
        let outer = self.scratch.key.len();
        loop {
            self.skip_blanks();
            let start = self.at;
            if self.byte() != Some(b'"') {
                return Err(self.unfinished("a key in double quotes"));
            }
            let key = self.string_at()?;
            if depth > 0 {
                self.scratch.key.push(b'.');
            }
            match key {
                Some((from, to)) => self.scratch.key.extend_from_slice(&self.text[from..to]),
                None => self.scratch.key.extend_from_slice(&self.scratch.string),
            }
            let hash = Prefix::NONE.hash(&self.scratch.key);
            self.scratch.seen.push((hash, start));
            self.skip_blanks();
            if !self.take(b':') {
                return Err(self.unfinished("a colon after the key"));
            }
            let mark = sink.enter(&self.scratch.key, hash, mark);
            self.value(sink, mark, depth + 1)?;
            self.scratch.key.truncate(outer);
            self.skip_blanks();
            if self.take(b'}') {
                return Ok(());
            }
            if !self.take(b',') {
                return Err(self.unfinished("a comma, or the brace that closes the object"));
            }
        }
    }

    fn array<S: Sink>(&mut self, sink: &mut S, mark: S::Mark, depth: usize) -> Result<(), Fault> {
        self.check_depth(depth)?;
        self.at += 1;
        self.skip_blanks();
        if self.take(b']') {
            return Ok(());
        }
        let outer = self.scratch.key.len();
        for number in 0_u64.. {
            self.skip_blanks();
            if self.byte() == Some(b'"') {
                self.value(sink, mark, depth + 1)?;
            } else {
                self.scratch.key.push(b'.');
                push_number(&mut self.scratch.key, number);
                let hash = Prefix::NONE.hash(&self.scratch.key);
                self.scratch.seen.push((hash, self.at));
                let mark = sink.enter(&self.scratch.key, hash, mark);
                self.value(sink, mark, depth + 1)?;
                self.scratch.key.truncate(outer);
            }
            self.skip_blanks();
            if self.take(b']') {
                return Ok(());
            }
            if !self.take(b',') {
                return Err(self.unfinished("a comma, or the bracket that closes the array"));
            }
        }
        Ok(())
    }

    fn value<S: Sink>(&mut self, sink: &mut S, mark: S::Mark, depth: usize) -> Result<(), Fault> {
        self.skip_blanks();
        let start = self.at;
        match self.byte() {
            Some(b'"') => {
                let range = self.string_at()?;
                let Scratch { key, string, .. } = &*self.scratch;
                let value = range.map_or(string.as_slice(), |(from, to)| &self.text[from..to]);
                sink.string(key, mark, value, start)
            }
            Some(b'-' | b'0'..=b'9') => {
                let end = self.number_end().ok_or_else(|| self.fault("a number"))?;
                self.at = end;
                sink.number(&self.scratch.key, mark, &self.text[start..end], start)
            }
            Some(b'{') => {
                sink.open(mark, self.rest(), start)?;
                self.object(sink, mark, depth)
            }
            Some(b'[') => {
                sink.open(mark, self.rest(), start)?;
                self.array(sink, mark, depth)
            }
            _ if self.take_word(b"true") => sink.boolean(&self.scratch.key, mark, true, start),
            _ if self.take_word(b"false") => sink.boolean(&self.scratch.key, mark, false, start),
            _ if self.take_word(b"null") => sink.null(&self.scratch.key, mark, start),
            _ => Err(self.unfinished("a value")),
        }
    }

    /// Passes over the string that begins here. Returns where its content is in the text, or none
    /// if the content, without its escapes, is in the buffer for strings.
    fn string_at(&mut self) -> Result<Option<(usize, usize)>, Fault> {
        let open = self.at;
        let start = open + 1;
        let mut at = start;
        self.scratch.string.clear();
        let mut copied = start;
        let is_plain = loop {
            let rest = &self.text[at.min(self.text.len())..];
            // A tab is the most frequent control character.
            let Some(distance) = memchr3(b'"', b'\\', b'\t', rest) else {
                self.at = open;
                return Err(self.unfinished("a double quote that closes this one"));
            };
            at += distance;
            match self.text[at] {
                b'"' => break copied == start,
                b'\\' => {
                    self.scratch.string.extend_from_slice(&self.text[copied..at]);
                    let Some(next) = self.escape(at + 1) else {
                        self.at = at;
                        return Err(self.fault("an escape such as \\n, \\\" or \\u00e9"));
                    };
                    (at, copied) = (next, next);
                }
                _ => {
                    self.at = at;
                    return Err(self.fault("no control character in a string"));
                }
            }
        };
        let raw = &self.text[start..at];
        if raw.iter().any(|&byte| byte < b' ') || str::from_utf8(raw).is_err() {
            self.at = open;
            return Err(self.fault("a string of UTF-8 without control characters"));
        }
        self.at = at + 1;
        if is_plain {
            return Ok(Some((start, at)));
        }
        self.scratch.string.extend_from_slice(&self.text[copied..at]);
        Ok(None)
    }

    /// Takes the escape whose letter is at `at`. Returns where it ends.
    fn escape(&mut self, at: usize) -> Option<usize> {
        let byte = match self.text.get(at)? {
            byte @ (b'"' | b'\\' | b'/') => *byte,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => return self.unicode(at + 1),
            _ => return None,
        };
        self.scratch.string.push(byte);
        Some(at + 1)
    }

    /// Takes four hexadecimal digits, or twice as many for a character beyond 16 bits.
    fn unicode(&mut self, at: usize) -> Option<usize> {
        let first = self.hex(at)?;
        let (code, end) = match first {
            0xd800..0xdc00 => {
                let low = self.text.get(at + 4..at + 6).filter(|mark| mark == b"\\u")?;
                let second =
                    self.hex(at + 4 + low.len()).filter(|s| (0xdc00..0xe000).contains(s))?;
                (0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00), at + 10)
            }
            _ => (first, at + 4),
        };
        let mut bytes = [0; 4];
        let char = char::from_u32(code)?.encode_utf8(&mut bytes);
        self.scratch.string.extend_from_slice(char.as_bytes());
        Some(end)
    }

    fn hex(&self, at: usize) -> Option<u32> {
        let digits = self.text.get(at..at + 4)?;
        digits.iter().try_fold(0, |sum, &digit| Some(16 * sum + char::from(digit).to_digit(16)?))
    }

    /// The place where the number that begins here ends, if it is written as JSON demands.
    fn number_end(&self) -> Option<usize> {
        let digits = |at: usize| {
            let rest = &self.text[at.min(self.text.len())..];
            at + rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
        };
        let byte = |at: usize| self.text.get(at).copied();
        let start = self.at + usize::from(self.byte() == Some(b'-'));
        let mut end = digits(start);
        if end == start || byte(start) == Some(b'0') && end > start + 1 {
            return None;
        }
        if byte(end) == Some(b'.') {
            let fraction = end + 1;
            end = digits(fraction);
            if end == fraction {
                return None;
            }
        }
        if let Some(b'e' | b'E') = byte(end) {
            let exponent = end + 1 + usize::from(matches!(byte(end + 1), Some(b'+' | b'-')));
            end = digits(exponent);
            if end == exponent {
                return None;
            }
        }
        Some(end)
    }

    fn check_depth(&self, depth: usize) -> Result<(), Fault> {
        if depth < MAX_DEPTH {
            return Ok(());
        }
        Err(self.fault(&format!("at most {MAX_DEPTH} objects and arrays within each other")))
    }

    #[inline]
    fn byte(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    #[inline]
    fn take(&mut self, byte: u8) -> bool {
        let is = self.byte() == Some(byte);
        self.at += usize::from(is);
        is
    }

    fn take_word(&mut self, word: &[u8]) -> bool {
        let is = self.rest().starts_with(word);
        self.at += if is { word.len() } else { 0 };
        is
    }

    #[inline]
    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\r') = self.byte() {
            self.at += 1;
        }
    }

    fn rest(&self) -> &[u8] {
        &self.text[self.at.min(self.text.len())..]
    }

    #[cold]
    fn fault(&self, expected: &str) -> Fault {
        Fault::new(self.at, self.rest(), expected)
    }

    /// The fault, and a hint if the line ends too early.
    #[cold]
    fn unfinished(&self, expected: &str) -> Fault {
        let fault = self.fault(expected);
        if self.at < self.text.len() {
            return fault;
        }
        fault.hint("an object must be on one line: jq -c . FILE writes it so")
    }
}

fn push_number(key: &mut Vec<u8>, number: u64) {
    if number >= 10 {
        push_number(key, number / 10);
    }
    key.push(b'0' + (number % 10) as u8);
}
