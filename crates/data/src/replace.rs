//! Files that are there whole or not at all.
//!
//! A file is written under another name beside its place and moved there at the end: until then,
//! and whatever happens, a file that was there stays as it was.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Under which name a file is written before it takes its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beside {
    /// One that no one else uses. What a killed program leaves behind stays there.
    Anyone,
    /// Always the same, `.part` behind its own: what a killed program leaves behind is written
    /// over. Only one program can be at it.
    Nobody,
}

/// Writes a file that takes the place of another when all of it is there.
///
/// A link stays one: what it points to is replaced. What is there and is not a file, such as a
/// pipe, is written to directly.
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = Replacement::begin(path, Beside::Nobody)?;
    file.write_all(bytes)?;
    file.finish()
}

/// A file that is written piece by piece, beside the one it is to replace, and has its name once it
/// is whole. Pipes and devices are written directly. What is not finished is removed.
#[derive(Debug)]
pub struct NewFile(Replacement);

impl NewFile {
    /// Begins to write; a file that is there stays as it is for now.
    pub fn begin(path: &Path) -> io::Result<Self> {
        Replacement::begin(path, Beside::Nobody).map(Self)
    }

    /// All of it is written.
    pub fn finish(self) -> io::Result<()> {
        self.0.finish()
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // Nothing is held back here; what the system holds back, `finish` asks for.
        Ok(())
    }
}

/// Whether [`replace_file`] could begin, as far as that can be told.
pub fn can_replace_file(path: &Path) -> io::Result<()> {
    Replacement::begin(path, Beside::Nobody).map(|_| ())
}

/// A file that is being written.
pub(crate) enum Replacement {
    Stream(Box<dyn Write + Send>),
    File(Unfinished),
}

/// A file under another name than it is to have; removed unless it gets it.
#[derive(Debug)]
pub(crate) struct Unfinished {
    file: File,
    path: PathBuf,
    target: PathBuf,
    has_moved: bool,
}

impl Replacement {
    pub(crate) fn begin(path: &Path, beside: Beside) -> io::Result<Self> {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if fs::metadata(&target).is_ok_and(|facts| !facts.is_file()) {
            if target.is_dir() {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            return Ok(Self::Stream(Box::new(File::options().write(true).open(target)?)));
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
        file.set_len(0)?;
        Ok(Self::File(Unfinished { file, path, target, has_moved: false }))
    }

    pub(crate) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Stream(stream) => stream.write_all(bytes),
            Self::File(unfinished) => unfinished.file.write_all(bytes),
        }
    }

    /// Puts the file in its place.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self {
            Self::Stream(mut stream) => stream.flush(),
            Self::File(mut unfinished) => {
                // A full disk may be told only now; and the name must not come before the bytes.
                unfinished.file.sync_all()?;
                fs::rename(&unfinished.path, &unfinished.target)?;
                unfinished.has_moved = true;
                sync_folder(&unfinished.target);
                Ok(())
            }
        }
    }
}

/// Makes the new name last, where folders can be told to. If this fails, a power cut now may bring
/// the old file back, whole.
fn sync_folder(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Ok(folder) = File::open(folder.unwrap_or(Path::new("."))) {
        let _ = folder.sync_all();
    }
}

/// How many files this process has begun.
static WRITERS: AtomicU64 = AtomicU64::new(0);

impl Beside {
    fn name(self, target: &Path) -> PathBuf {
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

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.has_moved {
            // If it cannot be removed, its name tells what it is.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl std::fmt::Debug for Replacement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stream(_) => f.write_str("Stream"),
            Self::File(unfinished) => unfinished.fmt(f),
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
