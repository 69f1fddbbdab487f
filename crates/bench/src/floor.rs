//! The parts of reading a file, one at a time. Their times on this machine are the floor under
//! every program that reads it.

use anyhow::{Context, Result};
use rueful_core::Batch;
use rueful_data::{Follow, LabelRule, Reader, Reading, Schema, Source};
use std::fs::File;
use std::hint::black_box;
use std::io::Read;
use std::num::NonZeroUsize;
use std::path::Path;

/// The number of bytes that are read at a time.
const BLOCK: usize = 1 << 17;

/// A part of reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// Take the bytes from the system
    Read,
    /// Take the bytes, and look for the ends of lines
    Lines,
    /// Turn LIBSVM text into examples, on one thread
    Parse,
    /// Turn LIBSVM text into examples, on all cores
    ParseAll,
}

/// Does one part of reading, and nothing else, for a whole file.
pub(crate) fn floor(part: Part, path: &Path) -> Result<()> {
    match part {
        Part::Read => blocks(path, |block| {
            black_box(block);
        }),
        Part::Lines => blocks(path, |block| {
            black_box(memchr::memchr_iter(b'\n', block).count());
        }),
        Part::Parse => parse(path, Some(NonZeroUsize::MIN)),
        Part::ParseAll => parse(path, None),
    }
}

fn blocks(path: &Path, mut see: impl FnMut(&[u8])) -> Result<()> {
    let told = || format!("cannot read {}", path.display());
    let mut file = File::open(path).with_context(told)?;
    // The system copies to aligned memory faster.
    let mut memory = vec![0_u8; BLOCK + 64];
    let start = memory.as_ptr().align_offset(64).min(64);
    let block = &mut memory[start..start + BLOCK];
    loop {
        let count = file.read(block).with_context(told)?;
        if count == 0 {
            return Ok(());
        }
        see(&block[..count]);
    }
}

fn parse(path: &Path, threads: Option<NonZeroUsize>) -> Result<()> {
    let mut reading = Reading::new(LabelRule::Signs);
    reading.threads = threads.unwrap_or(reading.threads);
    let files = [path.display().to_string()];
    let mut reader = Reader::open(&files, &Schema::Libsvm {}, &reading, &Follow::No)?;
    let mut batch = Batch::default();
    while reader.fill(&mut batch)? {
        black_box(&batch);
    }
    Ok(())
}
