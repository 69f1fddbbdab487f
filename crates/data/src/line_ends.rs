//! Handles lines that end with a carriage return alone, as some old programs write them.

use memchr::{memchr2, memchr3};
use std::io::{self, Read};

/// The number of bytes without a line feed after the first carriage return from which it is clear
/// that lines end with carriage returns.
const HELD_MAX: usize = 1 << 16;

/// A reader of text in which all lines end with a line feed.
///
/// If the first carriage return comes before any line feed, and no line feed follows it for long,
/// carriage returns end the lines. They then become line feeds. A zero byte means that the bytes
/// are not text, and everything is left as it is. The result depends on the bytes, and not on how
/// they arrive.
pub(crate) struct LineEnds<R> {
    reader: R,
    state: State,
    /// The bytes from the first carriage return on, which were read only to look at them, and the
    /// number of them that were handed out.
    held: Vec<u8>,
    handed: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Neither kind of line end has been seen.
    Undecided,
    /// A carriage return was seen, and the bytes after it are held back.
    Holding,
    /// Bytes are handed on as they are.
    AsIs,
    /// Carriage returns become line feeds.
    CarriageReturns,
}

impl<R: Read> LineEnds<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, state: State::Undecided, held: Vec::new(), handed: 0 }
    }

    /// Hands on bytes in which no line has ended yet.
    fn first_line(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        let Some(at) = memchr3(b'\r', b'\n', 0, &buffer[..count]) else { return Ok(count) };
        if buffer[at] != b'\r' {
            self.state = State::AsIs;
            return Ok(count);
        }
        self.state = State::Holding;
        self.held.extend_from_slice(&buffer[at..count]);
        if at > 0 { Ok(at) } else { self.read(buffer) }
    }

    /// Reads on until it is clear how lines end.
    fn look_on(&mut self) -> io::Result<()> {
        let mut looked = 0;
        loop {
            if memchr2(b'\n', 0, &self.held[looked..]).is_some() {
                self.state = State::AsIs;
                return Ok(());
            }
            looked = self.held.len();
            if looked >= HELD_MAX {
                self.state = State::CarriageReturns;
                return Ok(());
            }
            self.held.resize(HELD_MAX, 0);
            let read = self.reader.read(&mut self.held[looked..]);
            self.held.truncate(looked + *read.as_ref().unwrap_or(&0));
            if read? == 0 {
                self.state = State::CarriageReturns;
                return Ok(());
            }
        }
    }

    /// Hands out the bytes that were held back.
    fn hand_out(&mut self, buffer: &mut [u8]) -> usize {
        let rest = &self.held[self.handed..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.handed += count;
        if self.handed == self.held.len() {
            (self.held, self.handed) = (Vec::new(), 0);
        }
        count
    }
}

impl<R: Read> Read for LineEnds<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.state {
            State::Undecided => return self.first_line(buffer),
            State::Holding => self.look_on()?,
            State::AsIs | State::CarriageReturns => {}
        }
        let count =
            if self.held.is_empty() { self.reader.read(buffer)? } else { self.hand_out(buffer) };
        if self.state == State::CarriageReturns {
            let returns = buffer[..count].iter_mut().filter(|byte| **byte == b'\r');
            returns.for_each(|byte| *byte = b'\n');
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::ErrorKind;

    /// Hands out a few bytes at a time, with interruptions.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 += 1;
            if self.1.is_multiple_of(3) {
                return Err(ErrorKind::Interrupted.into());
            }
            let few = buffer.len().min(1 + self.1 % 5);
            self.0.read(&mut buffer[..few])
        }
    }

    fn read(reader: impl Read) -> Vec<u8> {
        let mut all = Vec::new();
        LineEnds::new(reader).read_to_end(&mut all).unwrap();
        all
    }

    #[test]
    fn carriage_returns_alone_end_lines() {
        for (text, expected) in [
            (&b"a,b\r1,2\r3,4"[..], &b"a,b\n1,2\n3,4"[..]),
            (b"a\r", b"a\n"),
            (b"\r\ra", b"\n\na"),
            (b"a\r\nb\rc\r\n", b"a\r\nb\rc\r\n"),
            (b"a\rb\nc\r", b"a\rb\nc\r"),
            (b"a\nb\rc", b"a\nb\rc"),
            (b"a\rb\0", b"a\rb\0"),
            (b"", b""),
        ] {
            assert_eq!(read(text), expected, "{text:?}");
        }
        let long = b"a,b\r".repeat(40_000);
        assert!(!read(&long[..]).contains(&b'\r'));
        // Beyond the limit the decision stays as it was.
        let late = [&long[..], b"c\n"].concat();
        assert_eq!(read(&late[..]).len(), late.len());
        assert!(!read(&late[..]).contains(&b'\r'));
    }

    proptest! {
        #[test]
        fn how_bytes_arrive_makes_no_difference(text in "[a\r\n\0]{0,30}") {
            let whole = read(text.as_bytes());
            prop_assert_eq!(read(Slow(text.as_bytes(), 0)), whole.clone());
            prop_assert_eq!(whole.len(), text.len());
        }
    }
}
