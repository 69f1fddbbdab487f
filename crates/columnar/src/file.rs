//! Files that count what is read from them.

use bytes::Bytes;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};
use rueful_data::{DataError, path_of};
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many bytes of a file were read, and how many it has.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meter {
    taken: Arc<AtomicU64>,
    /// The length of the file, or `None` if it is not known.
    len: Option<u64>,
}

impl Meter {
    fn add(&self, count: usize) {
        self.taken.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// How many bytes were read. Some parts may be read twice, so the count is limited to the
    /// length.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed).min(self.len.unwrap_or(u64::MAX))
    }

    /// Counts the whole file as read, with the parts that nobody needed.
    pub(crate) fn end(&self) {
        if let Some(len) = self.len {
            self.taken.store(len, Ordering::Relaxed);
        }
    }
}

/// A reader that counts the bytes it reads.
#[derive(Debug)]
pub(crate) struct Counted<R> {
    reader: R,
    pub(crate) meter: Meter,
}

impl Counted<File> {
    pub(crate) fn open(path: &str) -> Result<Self, DataError> {
        let open = || {
            let file = File::open(path_of(path))?;
            let found = file.metadata()?;
            match (found.is_dir(), found.is_file()) {
                (true, _) => Err(io::Error::new(ErrorKind::IsADirectory, "it is a directory")),
                (_, false) => Err(io::Error::new(
                    ErrorKind::NotSeekable,
                    "it can only be read from front to back: save it to a file first",
                )),
                _ => Ok((file, found.len())),
            }
        };
        let (reader, len) =
            open().map_err(|error| DataError::Open { file: path.to_owned(), error })?;
        let meter = Meter { taken: Arc::default(), len: Some(len) };
        Ok(Self { reader, meter })
    }

    pub(crate) fn length(&self) -> u64 {
        self.meter.len.unwrap_or(0)
    }
}

impl<R: Read> Counted<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, meter: Meter::default() }
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.meter.add(count);
        Ok(count)
    }
}

impl<R: Seek> Seek for Counted<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.reader.seek(to)
    }
}

impl Length for Counted<File> {
    fn len(&self) -> u64 {
        self.length()
    }
}

impl ChunkReader for Counted<File> {
    type T = BufReader<Self>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        let mut reader = self.reader.try_clone()?;
        reader.seek(SeekFrom::Start(start))?;
        Ok(BufReader::new(Self { reader, meter: self.meter.clone() }))
    }

    /// Allocates no memory before it is known that the file has this many bytes.
    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let end = start.checked_add(length as u64);
        if end.is_none_or(|end| end > self.length()) {
            let said = format!("{length} bytes at {start}, beyond the end of the file");
            return Err(ParquetError::EOF(said));
        }
        let mut bytes = vec![0; length];
        let mut reader = self.reader.try_clone()?;
        reader.seek(SeekFrom::Start(start))?;
        reader.read_exact(&mut bytes)?;
        self.meter.add(length);
        Ok(bytes.into())
    }
}
