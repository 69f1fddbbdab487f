//! Standard input, whose beginning can be read a second time.
//!
//! The format of an input is recognised by its first bytes. A file is then opened anew by whoever
//! reads that format. Standard input cannot be opened anew, so its first bytes are kept.

use std::io::{self, Cursor, Read};
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The largest number of bytes that are kept. It is more than is ever looked at.
const KEPT_MAX: usize = 8 << 20;

/// The bytes that were read so far, as long as all of them are kept.
static BEGINNING: Mutex<Beginning> = Mutex::new(Beginning { bytes: Vec::new(), is_whole: true });

struct Beginning {
    bytes: Vec<u8>,
    is_whole: bool,
}

fn beginning() -> MutexGuard<'static, Beginning> {
    BEGINNING.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Beginning {
    fn add(&mut self, bytes: &[u8]) {
        self.is_whole &= self.bytes.len() + bytes.len() <= KEPT_MAX;
        if self.is_whole {
            self.bytes.extend_from_slice(bytes);
        } else {
            self.bytes = Vec::new();
        }
    }
}

/// Standard input. It keeps the beginning of what it reads.
#[derive(Debug, Default)]
pub(crate) struct StandardInput {
    is_past_the_beginning: bool,
}

impl Read for StandardInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = io::stdin().read(buffer)?;
        if !self.is_past_the_beginning {
            let mut beginning = beginning();
            beginning.add(&buffer[..count]);
            self.is_past_the_beginning = !beginning.is_whole;
        }
        Ok(count)
    }
}

/// Standard input, from its beginning if that was only looked at so far. If more of it was read
/// than is kept, this reads the rest.
pub fn standard_input_again() -> impl Read + Send + 'static {
    Cursor::new(mem::take(&mut beginning().bytes)).chain(io::stdin())
}
