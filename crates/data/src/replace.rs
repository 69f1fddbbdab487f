//! Files that are there whole or not at all.
//!
//! A file is written under another name beside its place, and moved there at the end. Until then,
//! and whatever happens, an existing file stays as it was.

use std::fs::{self, File, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The name under which a file is written before it takes its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beside {
    /// A name that nobody else uses. The file that a killed program leaves behind stays there.
    Anyone,
    /// Always the same name, with `.part` appended. The file that a killed program leaves behind is
    /// overwritten. Only one program at a time can write it.
    Nobody,
}

/// Writes a file that takes the place of another when all of it is there.
///
/// A link stays a link: the file that it points to is replaced. If something is there that is not a
/// file, such as a pipe, it is written to directly.
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = Replacement::begin(path, Beside::Nobody)?;
    file.write_all(bytes)?;
    file.finish()
}

/// A file that is written piece by piece beside the one that it replaces. It gets that name once it
/// is whole. Pipes and devices are written to directly. A file that is not finished is removed.
#[derive(Debug)]
pub struct NewFile(Replacement);

impl NewFile {
    /// Begins to write. An existing file stays as it is for now.
    pub fn begin(path: &Path) -> io::Result<Self> {
        Replacement::begin(path, Beside::Nobody).map(Self)
    }

    /// Ends the file and gives it its name.
    pub fn finish(self) -> io::Result<()> {
        self.0.finish()
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Checks whether [`replace_file`] could begin, as far as that can be told.
pub fn can_replace_file(path: &Path) -> io::Result<()> {
    Replacement::begin(path, Beside::Nobody).map(|_| ())
}

/// A file that is being written.
pub(crate) enum Replacement {
    /// A writer that is not a file.
    Stream(Box<dyn Write + Send>),
    /// A pipe, a device, or a file that is written in its place.
    InPlace(File),
    /// A file beside its place.
    Beside(Unfinished),
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stream(stream) => stream.write(bytes),
            Self::InPlace(file) | Self::Beside(Unfinished { file, .. }) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stream(stream) => stream.flush(),
            // Nothing is held back here. `sync` and `finish` ask for the bytes that the system
            // holds back.
            Self::InPlace(_) | Self::Beside(_) => Ok(()),
        }
    }
}

/// A file under a temporary name. It is removed unless it gets its final name, or is left on
/// purpose.
#[derive(Debug)]
pub(crate) struct Unfinished {
    file: File,
    path: PathBuf,
    target: PathBuf,
    is_kept: bool,
}

impl Replacement {
    /// Begins a file that is empty.
    pub(crate) fn begin(path: &Path, beside: Beside) -> io::Result<Self> {
        let mut file = Self::open(path, beside)?;
        file.cut(0)?;
        Ok(file)
    }

    /// Opens the file beside its place, and keeps its content.
    pub(crate) fn open(path: &Path, beside: Beside) -> io::Result<Self> {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if fs::metadata(&target).is_ok_and(|facts| !facts.is_file()) {
            if target.is_dir() {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            return Ok(Self::InPlace(File::options().write(true).open(target)?));
        }
        let path = beside.name(&target);
        let file = File::options().write(true).create(true).truncate(false).open(&path)?;
        match file.try_lock() {
            // Some file systems have no locks.
            Ok(()) | Err(TryLockError::Error(_)) => {}
            Err(TryLockError::WouldBlock) => {
                let what = format!("another program is writing {}", path.display());
                return Err(io::Error::new(io::ErrorKind::ResourceBusy, what));
            }
        }
        Ok(Self::Beside(Unfinished { file, path, target, is_kept: false }))
    }

    /// Cuts the file to this many bytes, and continues after them.
    pub(crate) fn cut(&mut self, bytes: u64) -> io::Result<()> {
        if let Self::Beside(Unfinished { file, .. }) = self {
            file.set_len(bytes)?;
            file.seek(SeekFrom::Start(bytes))?;
        }
        Ok(())
    }

    /// Asks the system to put the bytes that it holds back on the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        match self {
            Self::InPlace(file) | Self::Beside(Unfinished { file, .. })
                if file.metadata()?.is_file() =>
            {
                file.sync_data()
            }
            _ => Ok(()),
        }
    }

    /// Leaves the file beside its place as it is.
    pub(crate) fn leave(self) {
        if let Self::Beside(mut unfinished) = self {
            unfinished.is_kept = true;
        }
    }

    /// Puts the file in its place.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self {
            Self::Stream(mut stream) => stream.flush(),
            Self::InPlace(_) => Ok(()),
            Self::Beside(mut unfinished) => {
                // The system may report a full disk only now. And the file must not get its name
                // before its bytes.
                unfinished.file.sync_all()?;
                fs::rename(&unfinished.path, &unfinished.target)?;
                unfinished.is_kept = true;
                sync_folder(&unfinished.target);
                Ok(())
            }
        }
    }
}

/// Makes the new name last, if the system can do that for folders. If this fails, a power cut now
/// may bring the old file back, whole.
fn sync_folder(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Ok(folder) = File::open(folder.unwrap_or(Path::new("."))) {
        let _ = folder.sync_all();
    }
}

/// The number of files that this process has begun.
static WRITERS: AtomicU64 = AtomicU64::new(0);

impl Beside {
    /// The temporary name for a file that belongs at `target`.
    pub(crate) fn name(self, target: &Path) -> PathBuf {
        let mut name = target.file_name().unwrap_or_default().to_owned();
        match self {
            Self::Anyone => {
                let number = WRITERS.fetch_add(1, Ordering::Relaxed);
                name.push(format!(".{}-{number}.part", std::process::id()));
            }
            Self::Nobody => name.push(".part"),
        }
        target.with_file_name(name)
    }
}

impl std::fmt::Debug for Replacement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stream(_) => f.write_str("Stream"),
            Self::InPlace(file) => file.fmt(f),
            Self::Beside(unfinished) => unfinished.fmt(f),
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.is_kept {
            // If it cannot be removed, its name says what it is.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_old_one_until_it_is_the_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        replace_file(&path, b"old").unwrap();
        let mut unfinished = Replacement::begin(&path, Beside::Nobody).unwrap();
        unfinished.write_all(b"new, and longer").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        let busy = replace_file(&path, b"other").unwrap_err();
        assert_eq!(busy.kind(), io::ErrorKind::ResourceBusy);
        unfinished.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new, and longer");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_a_killed_program_left_is_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(folder.path().join("file.part"), b"left behind, and much longer").unwrap();
        replace_file(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        assert!(replace_file(folder.path(), b"new").is_err());
        assert!(replace_file(&folder.path().join("missing/file"), b"new").is_err());
    }
}
