//! Cuts inputs into pieces of whole records, each small enough for one thread to read.

use crate::format::Format;
use crate::input::Input;
use crate::text::{PADDING, Text};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of bytes in a piece, unless one record needs more.
const CHUNK: usize = 1 << 17;

/// The number of bytes in the first piece of a file. It is smaller, so that the first rows come
/// soon.
const FIRST_CHUNK: usize = 1 << 14;

/// The bytes that some editors put before text to mark it as UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A byte's place in memory and its place in the file have the same remainder by this number. On
/// some machines the system then copies three times as fast.
const ALIGNMENT: usize = 64;

/// A piece of a file.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    buffer: Vec<u8>,
    /// The place where the text begins in the buffer.
    start: usize,
    len: usize,
    is_first: bool,
    /// The number of the file that it is from.
    pub(crate) file: usize,
}

impl Chunk {
    pub(crate) fn text(&self) -> Text<'_> {
        Text::new(&self.buffer[self.start..], self.len, self.is_first)
    }

    pub(crate) fn is_first(&self) -> bool {
        self.is_first
    }

    /// Begins with `carry`. The bytes read after it come from place `offset` of the file.
    fn begin(&mut self, carry: &[u8], room: usize, offset: u64) {
        let size = room + ALIGNMENT + PADDING;
        if self.buffer.len() > 4 * size {
            self.buffer = Vec::new();
        }
        if self.buffer.len() < size {
            self.buffer.resize(size, 0);
        }
        let behind = self.buffer.as_ptr().addr() + carry.len();
        self.start = (offset as usize).wrapping_sub(behind) % ALIGNMENT;
        self.bytes()[..carry.len()].copy_from_slice(carry);
    }

    /// Makes room for `room` bytes.
    fn grow(&mut self, room: usize) {
        self.buffer.resize(self.start + room + PADDING, 0);
    }

    /// The text and the room behind it.
    fn bytes(&mut self) -> &mut [u8] {
        &mut self.buffer[self.start..]
    }

    /// Puts the padding after the text. It begins with a line end.
    fn seal(&mut self, len: usize) {
        self.len = len;
        let end = self.start + len;
        self.buffer.resize(self.buffer.len().max(end + PADDING), 0);
        self.buffer[end..end + PADDING].fill(0);
        self.buffer[end] = b'\n';
    }
}

/// The reason why there is no next piece.
#[derive(Debug)]
pub(crate) enum ChunkFault {
    /// A file could not be read.
    Io(io::Error),
    /// A record is longer than allowed.
    TooLong,
}

/// Cuts one input after the other.
pub(crate) struct Chunker {
    inputs: VecDeque<Input>,
    format: Arc<dyn Format>,
    /// The bytes after the last cut.
    carry: Vec<u8>,
    /// The number of the file that the next piece is from, and whether it is the file's first
    /// piece.
    file: usize,
    is_first: bool,
    limit: usize,
    /// The number of bytes taken from the file.
    offset: u64,
    /// The error that came after the bytes that were read.
    failed: Option<io::Error>,
    /// The counters of the bytes taken from each file.
    taken: Vec<Arc<AtomicU64>>,
}

impl Chunker {
    pub(crate) fn new(inputs: Vec<Input>, format: Arc<dyn Format>, limit: usize) -> Self {
        let taken = inputs.iter().map(Input::taken).collect();
        Self {
            inputs: inputs.into(),
            format,
            carry: Vec::new(),
            file: 0,
            is_first: true,
            limit,
            offset: 0,
            failed: None,
            taken,
        }
    }

    /// The counters of the bytes taken from the files.
    pub(crate) fn taken(&self) -> Vec<Arc<AtomicU64>> {
        self.taken.clone()
    }

    /// Cuts the next piece. Returns whether there is one. Even a file without a single byte has one
    /// piece, which is empty.
    pub(crate) fn next(&mut self, chunk: &mut Chunk) -> Result<bool, ChunkFault> {
        if let Some(error) = self.failed.take() {
            chunk.seal(0);
            return Err(ChunkFault::Io(error));
        }
        let Some(input) = self.inputs.front_mut() else { return Ok(false) };
        chunk.file = self.file;
        chunk.is_first = self.is_first;
        let usual = if self.is_first { FIRST_CHUNK } else { CHUNK };
        let small = usual.min(self.limit.saturating_add(2));
        let mut len = self.carry.len();
        let mut room = small.max(len + small / 2);
        chunk.begin(&self.carry, room, self.offset);
        let mut is_end = false;
        let cut = loop {
            while len < room && !is_end {
                match input.read(&mut chunk.bytes()[len..room]) {
                    Ok(count) => {
                        is_end = count == 0;
                        len += count;
                        self.offset += count as u64;
                    }
                    Err(error) => self.failed = Some(error),
                }
                if input.follows() || self.failed.is_some() {
                    break;
                }
            }
            if self.is_first && len >= BYTE_ORDER_MARK.len() {
                if chunk.bytes().starts_with(BYTE_ORDER_MARK) {
                    chunk.start += BYTE_ORDER_MARK.len();
                    len -= BYTE_ORDER_MARK.len();
                    room -= BYTE_ORDER_MARK.len();
                }
                self.is_first = false;
            }
            if is_end {
                break len;
            }
            let first = chunk.is_first;
            let piece = &*chunk.bytes();
            let piece = &piece[..len];
            let is_whole = !first || self.format.has_head(piece);
            if is_whole && let Some(cut) = self.format.cut(piece) {
                break cut;
            }
            if self.failed.is_some() {
                break 0;
            }
            if len == room {
                if len >= self.limit.saturating_add(2) {
                    chunk.seal(len);
                    return Err(ChunkFault::TooLong);
                }
                room = room.saturating_mul(2).min(self.limit.saturating_add(2));
                chunk.grow(room);
            }
        };
        let cut = self.before_long_record(&chunk.bytes()[..cut]).unwrap_or(cut);
        if cut == 0 && len > 0 && self.failed.is_none() {
            chunk.seal(len);
            return Err(ChunkFault::TooLong);
        }
        let is_end = is_end && cut == len;
        self.carry.clear();
        self.carry.extend_from_slice(&chunk.bytes()[cut..len]);
        chunk.seal(cut);
        self.is_first = is_end;
        if is_end {
            self.inputs.pop_front();
            self.file += 1;
            self.offset = 0;
        }
        Ok(true)
    }
}

impl Chunker {
    /// The place where the first record begins that is too long, if there is one. Pieces that are
    /// smaller than the limit need not be searched.
    fn before_long_record(&self, piece: &[u8]) -> Option<usize> {
        if piece.len() <= self.limit {
            return None;
        }
        let mut start = 0;
        while start < piece.len() {
            let rest = &piece[start..];
            let len = self.format.first_record(rest);
            let record = rest[..len].strip_suffix(b"\n").unwrap_or(&rest[..len]);
            if record.strip_suffix(b"\r").unwrap_or(record).len() > self.limit {
                return Some(start);
            }
            start += len;
        }
        None
    }
}

/// The sum of counters.
pub(crate) fn total(counters: &[Arc<AtomicU64>]) -> u64 {
    counters.iter().map(|counter| counter.load(Ordering::Relaxed)).sum()
}
