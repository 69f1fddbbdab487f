//! Files mapped into memory, read by copying.

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

/// A file, mapped where it was read last. Any number of threads may copy bytes out of it.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("file");
/// std::fs::write(&path, b"some bytes")?;
/// let file = rueful_machine::MappedFile::new(std::fs::File::open(&path)?)?;
/// let mut buffer = Vec::new();
/// assert!(file.copy(5, 5, &mut buffer));
/// assert_eq!(buffer, b"bytes");
/// assert!(!file.copy(5, 6, &mut buffer));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct MappedFile {
    file: File,
    len: u64,
    window: Mutex<Option<Arc<Window>>>,
}

#[derive(Debug)]
struct Window {
    start: u64,
    map: MmapRaw,
}

impl MappedFile {
    /// A file to be mapped. What is not a regular file cannot be.
    pub fn new(file: File) -> io::Result<Self> {
        let facts = file.metadata()?;
        if !facts.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
        }
        Ok(Self { file, len: facts.len(), window: Mutex::default() })
    }

    /// How many bytes it had when it was opened.
    #[allow(clippy::len_without_is_empty)] // Nobody asks.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Makes `buffer` hold `length` bytes from `at` on; says whether they are there.
    pub fn copy(&self, at: u64, length: usize, buffer: &mut Vec<u8>) -> bool {
        let end = at.checked_add(length as u64).filter(|&end| end <= self.len);
        // Touching what was cut off since would end the process.
        let is_there = |end| self.file.metadata().is_ok_and(|facts| facts.len() >= end);
        let Some(end) = end.filter(|&end| is_there(end)) else { return false };
        if length == 0 {
            buffer.clear();
            return true;
        }
        let Some(window) = self.window(at, end) else { return false };
        buffer.resize(length, 0); // What is there is not cleared but written over.
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
