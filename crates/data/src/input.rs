//! Sources of bytes: files and standard input, compressed or not, growing or not.

use crate::DataError;
use crate::file_name::path_of;
use crate::line_ends::LineEnds;
use crate::standard_input::StandardInput;
use crate::zip::{self, Unzip};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufReader, Cursor, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The first bytes of compressed files.
const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";

/// The pause before a followed file is looked at again.
const FOLLOW_PAUSE: Duration = Duration::from_millis(50);

/// A named stream of bytes, decompressed if it was compressed. Lines of text end with line feeds.
pub struct Input {
    name: String,
    /// The name of the one file in an archive.
    inner_name: Option<String>,
    reader: Box<dyn Read + Send>,
    /// Bytes that were read only to look at them. They are delivered again.
    ahead: Cursor<Vec<u8>>,
    is_ended: bool,
    /// The number of bytes taken from the file, before decompression.
    taken: Arc<AtomicU64>,
    follows: bool,
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Input").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Whether a file is still growing.
#[derive(Debug, Clone, Default)]
pub enum Follow {
    /// The file is read to its end.
    #[default]
    No,
    /// At the end of the file, reading waits for more until the flag is set.
    Until(Arc<AtomicBool>),
}

impl Input {
    /// Opens a file, or standard input for `-`.
    pub fn open(path: &str, follow: &Follow) -> Result<Self, DataError> {
        if path == "-" {
            return Self::new("standard input", StandardInput::default(), follow);
        }
        match open_file(&path_of(path)) {
            Ok(file) => Self::new(path, Ended { file, position: 0 }, follow),
            Err(error) => Err(DataError::Open { file: path.to_owned(), error }),
        }
    }

    /// Reads bytes from any reader, which errors call `name`. They are read in large blocks.
    pub fn new(
        name: impl Into<String>,
        reader: impl Read + Send + 'static,
        follow: &Follow,
    ) -> Result<Self, DataError> {
        let name = name.into();
        let taken = Arc::new(AtomicU64::new(0));
        let counted = Counted { reader, taken: Arc::clone(&taken) };
        let follows = matches!(follow, Follow::Until(_));
        let reader: Box<dyn Read + Send> = match follow {
            Follow::No => Box::new(counted),
            Follow::Until(stop) => Box::new(Patient { reader: counted, stop: Arc::clone(stop) }),
        };
        match decompressed(reader) {
            Ok((reader, inner_name)) => Ok(Self {
                name,
                inner_name,
                reader: Box::new(LineEnds::new(reader)),
                ahead: Cursor::new(Vec::new()),
                is_ended: false,
                taken,
                follows,
            }),
            Err(error) => Err(DataError::Read { file: name, error }),
        }
    }

    /// The name of the input.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of the data: that of the file, or that of the file inside an archive.
    pub(crate) fn data_name(&self) -> &str {
        self.inner_name.as_deref().unwrap_or(&self.name)
    }

    /// Looks at the beginning of the input, without taking it. This is `usual` bytes or all there
    /// are, unless fewer are enough. It is more if that is not enough, and never more than `most`.
    /// Returns the bytes, and whether they are the whole input. A growing input is not waited for
    /// once there is enough.
    pub(crate) fn peek(
        &mut self,
        usual: usize,
        most: usize,
        mut is_enough: impl FnMut(&[u8]) -> Enough,
    ) -> Result<(&[u8], bool), DataError> {
        let mut goal = usual.min(most);
        let mut is_end = self.is_ended;
        while !is_end {
            let seen = self.ahead.get_ref().len();
            let enough = is_enough(self.ahead.get_ref());
            let is_full = seen >= goal;
            if enough == Enough::Yes || enough == Enough::AtLeast && (is_full || self.follows) {
                break;
            }
            if is_full {
                if seen >= most {
                    break;
                }
                goal = goal.saturating_mul(2).min(most);
            }
            is_end = self.read_ahead(goal)?;
        }
        self.is_ended = is_end;
        Ok((self.ahead.get_ref(), is_end))
    }

    /// Reads until there are `goal` bytes, or only once if more may be long in coming. Returns
    /// whether the end was met.
    fn read_ahead(&mut self, goal: usize) -> Result<bool, DataError> {
        let bytes = self.ahead.get_mut();
        let mut len = bytes.len();
        bytes.resize(goal.max(len), 0);
        let mut is_end = false;
        while len < goal && !is_end {
            match self.reader.read(&mut bytes[len..goal]) {
                Ok(count) => {
                    is_end = count == 0;
                    len += count;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(DataError::Read { file: self.name.clone(), error }),
            }
            if self.follows {
                break;
            }
        }
        bytes.truncate(len);
        Ok(is_end)
    }

    /// Whether rows should be handed on as they come, and not in large pieces.
    pub(crate) fn follows(&self) -> bool {
        self.follows
    }

    /// The counter of the bytes taken from the file.
    pub(crate) fn taken(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.taken)
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.ahead.read(buffer)?;
        if count > 0 {
            return Ok(count);
        }
        if self.is_ended {
            return Ok(0);
        }
        loop {
            match self.reader.read(buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }
}

/// Whether the beginning of an input answers a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Enough {
    /// It does, and nothing that follows could change the answer.
    Yes,
    /// It does, and more bytes would make the answer better.
    AtLeast,
    /// It does not.
    No,
}

/// Opens a file that can be read. On some systems a directory can be opened too, and fails only
/// later.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::new(ErrorKind::IsADirectory, "it is a directory, not a file"));
    }
    Ok(file)
}

/// Puts a decompressor around a reader whose bytes begin like a compressed file.
fn decompressed(
    mut reader: Box<dyn Read + Send>,
) -> io::Result<(Box<dyn Read + Send>, Option<String>)> {
    let mut start = Vec::new();
    while start.len() < ZSTD.len() {
        let mut byte = [0; 4];
        let room = ZSTD.len() - start.len();
        match reader.read(&mut byte[..room]) {
            Ok(0) => break,
            Ok(count) => start.extend_from_slice(&byte[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        let may_be = |magic: &[u8]| magic.starts_with(&start[..start.len().min(magic.len())]);
        if !may_be(GZIP) && !may_be(ZSTD) && !may_be(zip::BEGINNING) {
            break;
        }
    }
    let is_gzip = start.starts_with(GZIP);
    let is_zstd = start.starts_with(ZSTD);
    let is_zip = start.starts_with(zip::BEGINNING);
    let whole = Cursor::new(start).chain(reader);
    Ok(if is_gzip {
        (Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, whole))), None)
    } else if is_zstd {
        (Box::new(zstd::Decoder::new(whole)?), None)
    } else if is_zip {
        let archive = Unzip::open(BufReader::with_capacity(1 << 16, whole))?;
        let name = archive.name().to_owned();
        (Box::new(archive), Some(name))
    } else {
        (Box::new(whole), None)
    })
}

/// A reader that counts its bytes.
struct Counted<R> {
    reader: R,
    taken: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.taken.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// A file that is read to its end. If it has become shorter in the meantime, that is an error.
struct Ended {
    file: File,
    position: u64,
}

impl Read for Ended {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.position += count as u64;
        if count == 0 && !buffer.is_empty() {
            let (facts, position) = (self.file.metadata()?, self.position);
            if facts.is_file() && facts.len() < position {
                return Err(io::Error::other(format!(
                    "it has become shorter while it was read: {position} bytes were there, and now \
                     it has {}. What was learned is of the file before",
                    facts.len()
                )));
            }
        }
        Ok(count)
    }
}

/// A reader that waits at the end until a flag tells it to stop.
struct Patient<R> {
    reader: R,
    stop: Arc<AtomicBool>,
}

impl<R: Read> Read for Patient<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.reader.read(buffer)?;
            if count > 0 || self.stop.load(Ordering::Relaxed) {
                return Ok(count);
            }
            std::thread::sleep(FOLLOW_PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn read(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut input = Input::new("bytes", Cursor::new(bytes), &Follow::No).unwrap();
        let mut all = Vec::new();
        input.read_to_end(&mut all)?;
        Ok(all)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn compressed_or_not_the_bytes_are_the_same() {
        let text = b"1 2:3\n".repeat(1000);
        assert_eq!(read(text.clone()).unwrap(), text);
        assert_eq!(read(gzip(&text)).unwrap(), text);
        let two = [gzip(&text[..60]), gzip(&text[60..])].concat();
        assert_eq!(read(two).unwrap(), text);
        assert_eq!(read(zstd::encode_all(&text[..], 3).unwrap()).unwrap(), text);
        for short in [&b""[..], b"1", b"\x1f", b"\x28\xb5"] {
            assert_eq!(read(short.to_vec()).unwrap(), short);
        }
    }

    #[test]
    fn a_file_that_shrinks_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, b"1 2:3\n".repeat(9)).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let follow = Follow::Until(Arc::clone(&stop));
        let mut input = Input::open(path.to_str().unwrap(), &follow).unwrap();
        let mut all = [0; 54];
        input.read_exact(&mut all).unwrap();
        std::fs::write(&path, b"1 2:3\n").unwrap();
        let error = input.read(&mut all).unwrap_err().to_string();
        assert!(error.contains("54 bytes were there, and now it has 6"), "{error}");
    }

    #[test]
    fn what_is_cut_short_is_an_error() {
        let text = b"1 2:3\n".repeat(1000);
        let packed = gzip(&text);
        assert!(read(packed[..packed.len() - 9].to_vec()).is_err());
        let packed = zstd::encode_all(&text[..], 3).unwrap();
        assert!(read(packed[..packed.len() - 9].to_vec()).is_err());
    }
}
