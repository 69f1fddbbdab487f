//! A file that grows over several runs of the program.
//!
//! The file grows beside its place, as `.part`, and takes its name at the end. A killed program
//! leaves the part behind. A program that saves a state from time to time notes how far the file
//! was written at that moment. A program that continues from this state cuts the file there and
//! continues it.

use crate::replace::{Beside, Replacement};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// How far a file was written at some moment. This is enough to know the file again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// The byte at which the writing began: 0, unless it was appended to an older file.
    pub start: u64,
    /// The number of bytes that were written from there on.
    pub bytes: u64,
    /// Their checksum.
    pub crc: u32,
}

/// A file that is being written, and can be left and continued later.
pub struct GrowingFile {
    out: BufWriter<Replacement>,
    start: u64,
    bytes: u64,
    hasher: crc32fast::Hasher,
}

impl GrowingFile {
    /// Begins a new file beside its place. An existing file stays as it is until the end.
    pub fn begin(path: &Path) -> io::Result<Self> {
        Ok(Self::from_nothing(Replacement::begin(path, Beside::Nobody)?, 0))
    }

    /// Writes to the file in its place, after its content, so that others can follow it.
    pub fn append(path: &Path) -> io::Result<Self> {
        let mut file = File::options().append(true).create(true).open(path)?;
        // Pipes have no end to seek.
        let start = if file.metadata()?.is_file() { file.seek(SeekFrom::End(0))? } else { 0 };
        Ok(Self::from_nothing(Replacement::InPlace(file), start))
    }

    /// Continues a file that was written so far: its part, or the whole file under its name.
    /// Returns none if neither begins with what was written. Pipes and devices are just written to.
    pub fn go_on(path: &Path, written: &Written) -> io::Result<Option<Self>> {
        if fs::metadata(path).is_ok_and(|facts| !facts.is_file()) {
            return Self::begin(path).map(Some);
        }
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if let Some((_, hasher)) = known(&Beside::Nobody.name(&target), written)? {
            let mut part = Replacement::open(path, Beside::Nobody)?;
            part.cut(written.bytes)?;
            return Ok(Some(Self::from_parts(part, written, hasher)));
        }
        let Some((mut file, hasher)) = known(path, written)? else { return Ok(None) };
        let mut part = Replacement::begin(path, Beside::Nobody)?;
        file.seek(SeekFrom::Start(0))?;
        copy(&mut file.take(written.bytes), &mut part)?;
        Ok(Some(Self::from_parts(part, written, hasher)))
    }

    /// Continues a file in its place. Returns none if the file does not hold what was written.
    pub fn go_on_appending(path: &Path, written: &Written) -> io::Result<Option<Self>> {
        if fs::metadata(path).is_ok_and(|facts| !facts.is_file()) {
            return Self::append(path).map(Some);
        }
        let Some((_, hasher)) = known(path, written)? else { return Ok(None) };
        let file = File::options().append(true).open(path)?;
        file.set_len(written.start + written.bytes)?;
        Ok(Some(Self::from_parts(Replacement::InPlace(file), written, hasher)))
    }

    fn from_nothing(file: Replacement, start: u64) -> Self {
        Self::from_parts(file, &Written { start, ..Written::default() }, Default::default())
    }

    fn from_parts(file: Replacement, written: &Written, hasher: crc32fast::Hasher) -> Self {
        let Written { start, bytes, .. } = *written;
        Self { out: BufWriter::new(file), start, bytes, hasher }
    }

    /// Makes sure that everything so far is on the disk, and returns how far that is.
    pub fn put_down(&mut self) -> io::Result<Written> {
        self.out.flush()?;
        self.out.get_ref().sync()?;
        let (start, bytes) = (self.start, self.bytes);
        Ok(Written { start, bytes, crc: self.hasher.clone().finalize() })
    }

    /// Gives the file its name.
    pub fn finish(self) -> io::Result<()> {
        self.out.into_inner().map_err(io::IntoInnerError::into_error)?.finish()
    }

    /// Leaves the part where it is, so that somebody can continue it later.
    pub fn leave(self) -> io::Result<()> {
        self.out.into_inner().map_err(io::IntoInnerError::into_error)?.leave();
        Ok(())
    }
}

impl Write for GrowingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The file and the checksum of its bytes, if it holds what was written.
fn known(path: &Path, written: &Written) -> io::Result<Option<(File, crc32fast::Hasher)>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    file.seek(SeekFrom::Start(written.start))?;
    let mut hasher = Checksum::default();
    let held = copy(&mut Read::by_ref(&mut file).take(written.bytes), &mut hasher)?;
    let is_it = held == written.bytes && hasher.0.clone().finalize() == written.crc;
    Ok(is_it.then_some((file, hasher.0)))
}

/// A writer that remembers only the checksum of the bytes.
#[derive(Default)]
struct Checksum(crc32fast::Hasher);

impl Write for Checksum {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Copies everything, and returns the number of bytes.
fn copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<u64> {
    io::copy(&mut io::BufReader::with_capacity(1 << 16, from), to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// A folder, and a place for a file in it.
    fn place() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        (folder, path)
    }

    fn part(path: &Path) -> PathBuf {
        path.with_file_name("file.part")
    }

    #[test]
    fn a_killed_writer_is_cut_and_continued() {
        let (folder, path) = place();
        fs::write(&path, "old").unwrap();
        let mut file = GrowingFile::begin(&path).unwrap();
        writeln!(file, "one\ntwo").unwrap();
        let written = file.put_down().unwrap();
        writeln!(file, "three, which is lost").unwrap();
        file.flush().unwrap();
        // A killed program runs no code of ours.
        fs::copy(part(&path), folder.path().join("copy")).unwrap();
        drop(file);
        fs::rename(folder.path().join("copy"), part(&path)).unwrap();

        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        let mut file = GrowingFile::go_on(&path, &written).unwrap().unwrap();
        writeln!(file, "three").unwrap();
        let written = file.put_down().unwrap();
        file.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\nthree\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

        // A finished file is continued too, and stays as it is until the next end.
        let mut file = GrowingFile::go_on(&path, &written).unwrap().unwrap();
        writeln!(file, "four").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\nthree\n");
        file.leave().unwrap();
        assert_eq!(fs::read_to_string(part(&path)).unwrap(), "one\ntwo\nthree\nfour\n");
    }

    #[test]
    fn a_file_of_somebody_else_is_not_continued() {
        let (_folder, path) = place();
        let mut file = GrowingFile::begin(&path).unwrap();
        writeln!(file, "one").unwrap();
        let written = file.put_down().unwrap();
        drop(file);
        assert!(!part(&path).exists());
        for foreign in ["", "on", "two\n", "One\nand more"] {
            fs::write(&path, foreign).unwrap();
            assert!(GrowingFile::go_on(&path, &written).unwrap().is_none(), "{foreign:?}");
            assert!(GrowingFile::go_on_appending(&path, &written).unwrap().is_none());
            assert_eq!(fs::read_to_string(&path).unwrap(), foreign);
        }
    }

    #[test]
    fn appending_loses_nothing_that_was_there() {
        let (_folder, path) = place();
        fs::write(&path, "before\n").unwrap();
        let mut file = GrowingFile::append(&path).unwrap();
        writeln!(file, "one").unwrap();
        let written = file.put_down().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "before\none\n");
        write!(file, "two, which is lost").unwrap();
        drop(file);
        let mut file = GrowingFile::go_on_appending(&path, &written).unwrap().unwrap();
        writeln!(file, "two").unwrap();
        file.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "before\none\ntwo\n");
    }
}
