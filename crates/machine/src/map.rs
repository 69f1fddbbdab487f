//! Files that are mapped into memory, and read by copying.

use memmap2::{MmapOptions, MmapRaw};
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of bytes that are copied at a time. Longer copies use string instructions, which are
/// much slower on some machines.
const PIECE: usize = 1 << 10;

/// The number of bytes of a file that are mapped at a time. Only the mapped part of a file counts
/// as memory of the process.
const WINDOW: u64 = 4 << 20;

/// A file that is mapped around the place where it was read last. Any number of threads may copy
/// bytes out of it.
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
    /// Opens a file for mapping. It must be a regular file.
    pub fn new(file: File) -> io::Result<Self> {
        let facts = file.metadata()?;
        if !facts.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        Ok(Self { file, len: facts.len(), window: Mutex::default() })
    }

    /// How many bytes the file had when it was opened.
    #[allow(clippy::len_without_is_empty)] // Nobody needs `is_empty`.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Fills `buffer` with `length` bytes from `at` on. Returns whether the file has them.
    pub fn copy(&self, at: u64, length: usize, buffer: &mut Vec<u8>) -> bool {
        let end = at.checked_add(length as u64).filter(|&end| end <= self.len);
        // Reading a part of the map that was cut off since would end the process.
        let is_there = |end| self.file.metadata().is_ok_and(|facts| facts.len() >= end);
        let Some(end) = end.filter(|&end| is_there(end)) else { return false };
        if length == 0 {
            buffer.clear();
            return true;
        }
        let Some(window) = self.window(at, end) else { return false };
        buffer.resize(length, 0); // Existing bytes are not cleared, but written over.
        copy_mapped(&window.map, (at - window.start) as usize, buffer);
        true
    }

    /// A window with these bytes in it: the present one, or a new one that begins with them.
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

/// Fills `buffer` from the map, beginning at `at`.
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
        // hold old and new bytes. Its checksum is computed from the copy and not from the map, so
        // the bytes that are used are the bytes that were checked. If the file is cut short between
        // the look at its length and this copy, the system ends the process.
        unsafe { std::ptr::copy_nonoverlapping(start.add(at), piece.as_mut_ptr(), piece.len()) };
        at += piece.len();
    }
}
