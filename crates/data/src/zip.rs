//! Unpacks the one file in a zip archive as it is read.
//!
//! An archive is read from its front, so standard input works as well as a file. Folders before the
//! file are skipped, and so are the shadow files that one system adds. A second file is an error,
//! because the program does not guess which one is meant. It is reported after the first file has
//! been read.

use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use std::io::{self, BufRead, ErrorKind, Read, Take};

/// The first bytes of an archive that is not empty.
pub(crate) const BEGINNING: &[u8] = FILE;

const FILE: &[u8; 4] = b"PK\x03\x04";
const DIRECTORY: &[u8; 4] = b"PK\x01\x02";
const DESCRIPTOR: &[u8; 4] = b"PK\x07\x08";

/// Bits of an entry's flags.
const ENCRYPTED: u16 = 1;
const SIZES_FOLLOW: u16 = 1 << 3;

const MANY: &str = "the archive holds more than one file: unpack it, or choose one with unzip -p";

/// The one file of an archive.
pub(crate) struct Unzip<R: BufRead> {
    entry: Entry,
    body: Body<R>,
    crc: Crc,
    len: u64,
}

/// The header before a file.
#[derive(Debug)]
struct Entry {
    flags: u16,
    method: u16,
    crc: u32,
    packed: u64,
    unpacked: u64,
    name: String,
}

enum Body<R: BufRead> {
    Stored(Take<R>),
    Deflated(DeflateDecoder<R>),
    End,
}

impl<R: BufRead> Unzip<R> {
    /// Goes to the first file.
    pub(crate) fn open(mut archive: R) -> io::Result<Self> {
        let entry = loop {
            let entry = match &take::<4>(&mut archive)? {
                FILE => Entry::read(&mut archive)?,
                _ => return Err(invalid("the archive holds no file")),
            };
            if !entry.is_folder() {
                break entry;
            }
        };
        if entry.flags & ENCRYPTED != 0 {
            return Err(invalid("the archive is encrypted: unpack it first"));
        }
        let body = match entry.method {
            0 if entry.flags & SIZES_FOLLOW == 0 => Body::Stored(archive.take(entry.packed)),
            8 => Body::Deflated(DeflateDecoder::new(archive)),
            _ => return Err(invalid("the archive is packed in an unusual way: unpack it first")),
        };
        Ok(Self { entry, body, crc: Crc::new(), len: 0 })
    }

    /// The name of the file.
    pub(crate) fn name(&self) -> &str {
        &self.entry.name
    }

    /// Checks the file that has been read, and that it is the only one.
    fn finish(&mut self) -> io::Result<()> {
        let mut archive = match std::mem::replace(&mut self.body, Body::End) {
            Body::Stored(body) => {
                if body.limit() > 0 {
                    return Err(ErrorKind::UnexpectedEof.into());
                }
                body.into_inner()
            }
            Body::Deflated(body) => {
                let packed = body.total_in();
                if self.entry.flags & SIZES_FOLLOW == 0 && packed != self.entry.packed {
                    return Err(invalid("the archive is damaged: a length is wrong"));
                }
                body.into_inner()
            }
            Body::End => return Ok(()),
        };
        let mut next = take::<4>(&mut archive)?;
        if self.entry.flags & SIZES_FOLLOW != 0 {
            // The checksum may have a mark before it, and two lengths of 4 or 8 bytes after it.
            let crc = if next == *DESCRIPTOR { take::<4>(&mut archive)? } else { next };
            self.entry.crc = u32::from_le_bytes(crc);
            take::<8>(&mut archive)?;
            next = take::<4>(&mut archive)?;
            if next[..2] != *b"PK" {
                take::<4>(&mut archive)?;
                next = take::<4>(&mut archive)?;
            }
            self.entry.unpacked = self.len;
        }
        if self.crc.sum() != self.entry.crc || self.len != self.entry.unpacked {
            return Err(invalid("the archive is damaged: the checksum is wrong"));
        }
        match &next {
            DIRECTORY => Ok(()),
            FILE if Entry::read(&mut archive)?.is_shadow() => Ok(()),
            FILE => Err(invalid(MANY)),
            _ => Err(invalid("the archive is damaged: no directory follows the file")),
        }
    }
}

impl<R: BufRead> Read for Unzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match &mut self.body {
            Body::Stored(body) => body.read(buffer)?,
            Body::Deflated(body) => body.read(buffer)?,
            Body::End => 0,
        };
        self.crc.update(&buffer[..count]);
        self.len += count as u64;
        if count == 0 && !buffer.is_empty() {
            self.finish()?;
        }
        Ok(count)
    }
}

impl Entry {
    /// Reads the header that follows the mark of a file.
    fn read(archive: &mut impl Read) -> io::Result<Self> {
        let head = take::<26>(archive)?;
        let short = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let long = |at: usize| u32::from(short(at)) | u32::from(short(at + 2)) << 16;
        let mut name = vec![0; usize::from(short(22))];
        archive.read_exact(&mut name)?;
        let mut extra = vec![0; usize::from(short(24))];
        archive.read_exact(&mut extra)?;
        let mut entry = Self {
            flags: short(2),
            method: short(4),
            crc: long(10),
            packed: u64::from(long(14)),
            unpacked: u64::from(long(18)),
            name: String::from_utf8_lossy(&name).into_owned(),
        };
        entry.read_large_sizes(&extra);
        Ok(entry)
    }

    /// Sizes beyond 32 bits are in the extra field with number 1.
    fn read_large_sizes(&mut self, mut extra: &[u8]) {
        while let [a, b, c, d, rest @ ..] = extra {
            let len = usize::from(u16::from_le_bytes([*c, *d])).min(rest.len());
            let (field, next) = rest.split_at(len);
            if u16::from_le_bytes([*a, *b]) == 1 {
                let mut sizes = field
                    .chunks_exact(8)
                    .map(|size| size.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)));
                for size in [&mut self.unpacked, &mut self.packed] {
                    if *size == u64::from(u32::MAX) {
                        *size = sizes.next().unwrap_or(*size);
                    }
                }
            }
            extra = next;
        }
    }

    fn is_folder(&self) -> bool {
        self.name.ends_with('/') && self.packed == 0 && self.flags & SIZES_FOLLOW == 0
    }

    fn is_shadow(&self) -> bool {
        self.name.starts_with("__MACOSX/")
    }
}

fn take<const N: usize>(archive: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    archive.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn invalid(message: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, message)
}
