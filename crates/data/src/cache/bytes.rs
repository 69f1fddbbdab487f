//! The bytes of a cache: a file that is mapped, or memory.

use memmap2::{MmapOptions, MmapRaw};
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// So much is copied at a time. Longer copies are made with string instructions, which some
/// machines run at a fraction of the speed.
const PIECE: usize = 1 << 10;

/// So much of a file is mapped at a time: a file counts as memory of the process only where it is
/// mapped.
const WINDOW: u64 = 4 << 20;

/// Bytes that can be copied out from any place.
#[derive(Debug)]
pub(super) enum Bytes {
    Memory(Vec<u8>),
    Mapped(Mapped),
}

/// A file, mapped where it was read last.
#[derive(Debug)]
pub(super) struct Mapped {
    file: File,
    len: u64,
    window: Mutex<Option<Arc<Window>>>,
}

#[derive(Debug)]
struct Window {
    start: u64,
    map: MmapRaw,
}

impl Bytes {
    /// A file to be mapped. One that cannot be, such as a pipe, is read.
    pub(super) fn open(mut file: File) -> io::Result<Self> {
        let facts = file.metadata()?;
        if facts.is_file() {
            let (len, window) = (facts.len(), Mutex::default());
            return Ok(Self::Mapped(Mapped { file, len, window }));
        }
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut file, &mut bytes)?;
        Ok(Self::Memory(bytes))
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::Mapped(mapped) => mapped.len,
        }
    }

    /// Makes `buffer` hold `length` bytes from `at` on; says whether they are there.
    pub(super) fn copy(&self, at: u64, length: usize, buffer: &mut Vec<u8>) -> bool {
        let Some(end) = at.checked_add(length as u64).filter(|&end| end <= self.len()) else {
            return false;
        };
        match self {
            Self::Memory(bytes) => {
                buffer.clear();
                buffer.extend_from_slice(&bytes[at as usize..end as usize]);
                true
            }
            Self::Mapped(_) if length == 0 => {
                buffer.clear();
                true
            }
            Self::Mapped(mapped) => mapped.copy(at, end, buffer),
        }
    }
}

impl Mapped {
    fn copy(&self, at: u64, end: u64, buffer: &mut Vec<u8>) -> bool {
        // Touching what was cut off since would end the process.
        if !self.file.metadata().is_ok_and(|facts| facts.len() >= end) {
            return false;
        }
        let Some(window) = self.window(at, end) else { return false };
        buffer.resize((end - at) as usize, 0); // What is there is not cleared but written over.
        copy_mapped(&window.map, (at - window.start) as usize, buffer);
        true
    }

    /// A window with these bytes in it: the one that is there, or a new one that begins with them.
    fn window(&self, at: u64, end: u64) -> Option<Arc<Window>> {
        let mut last = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        let has = |window: &Arc<Window>| window.has(at, end);
        if let Some(window) = last.as_ref().filter(|window| has(window)) {
            return Some(Arc::clone(window));
        }
        let len = end.max(self.len.min(at + WINDOW)) - at;
        let mut options = MmapOptions::new();
        let options = options.offset(at).len(usize::try_from(len).ok()?).populate();
        let map = options.map_raw_read_only(&self.file).ok()?;
        Some(Arc::clone(last.insert(Arc::new(Window { start: at, map }))))
    }
}

impl Window {
    fn has(&self, at: u64, end: u64) -> bool {
        self.start <= at && end <= self.start + self.map.len() as u64
    }
}

/// Fills `buffer` from a place of the map.
#[allow(unsafe_code)]
fn copy_mapped(map: &MmapRaw, at: usize, buffer: &mut [u8]) {
    assert!(at <= map.len() && buffer.len() <= map.len() - at);
    let start = map.as_ptr();
    let mut at = at;
    for piece in buffer.chunks_mut(PIECE) {
        // SAFETY: `at + piece.len()` is at most the length of the map by the assertion above, and
        // the map lives as long as the borrow. The two do not overlap, since `piece` is memory of
        // our own. No reference to mapped memory is ever made, here or elsewhere.
        //
        // Nothing can keep another process from writing to the file meanwhile. Then the copy may
        // hold bytes of before and after; its checksum is computed from the copy and not from the
        // map, so what is used is what was checked. If the file is cut short between the look at
        // its length and this copy, the system ends the process.
        unsafe { std::ptr::copy_nonoverlapping(start.add(at), piece.as_mut_ptr(), piece.len()) };
        at += piece.len();
    }
}
