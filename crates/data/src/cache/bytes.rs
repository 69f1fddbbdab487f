//! The bytes of a cache: a mapped file, or memory.

use rueful_machine::MappedFile;
use std::fs::File;
use std::io;

/// Bytes that can be copied out from any place.
#[derive(Debug)]
pub(super) enum Bytes {
    Memory(Vec<u8>),
    Mapped(MappedFile),
}

impl Bytes {
    /// Maps a file into memory. A file that cannot be mapped, such as a pipe, is read.
    pub(super) fn open(mut file: File) -> io::Result<Self> {
        if file.metadata()?.is_file() {
            return Ok(Self::Mapped(MappedFile::new(file)?));
        }
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut file, &mut bytes)?;
        Ok(Self::Memory(bytes))
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::Mapped(mapped) => mapped.len(),
        }
    }

    /// Copies `length` bytes from `at` on into `buffer`. Returns whether they are there.
    pub(super) fn copy(&self, at: u64, length: usize, buffer: &mut Vec<u8>) -> bool {
        match self {
            Self::Mapped(mapped) => mapped.copy(at, length, buffer),
            Self::Memory(bytes) => {
                let end = at.checked_add(length as u64).filter(|&end| end <= self.len());
                let Some(end) = end else { return false };
                buffer.clear();
                buffer.extend_from_slice(&bytes[at as usize..end as usize]);
                true
            }
        }
    }
}
