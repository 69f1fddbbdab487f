//! Turns the failures of a decoder into errors that name the file.

use arrow_schema::ArrowError;
use parquet::errors::ParquetError;
use rueful_data::{DataError, Phrase, printable};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A decoder's own message is cut after this many characters.
const SAID_CHARS: usize = 200;

/// A failure of a decoder.
#[derive(Debug)]
pub(crate) enum DecodeError {
    /// An error that is already complete.
    Told(DataError),
    /// The file cannot be used: what was found, and what was expected.
    Unsuitable(String, Phrase),
    /// The decoder gave up, with this message.
    Undecodable(String),
}

impl DecodeError {
    pub(crate) fn unsuitable(found: impl Into<String>, expected: impl Into<Phrase>) -> Self {
        Self::Unsuitable(found.into(), expected.into())
    }

    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self::Undecodable(what.into())
    }

    fn told(self, file: &str) -> DataError {
        match self {
            Self::Told(error) => error,
            Self::Unsuitable(found, expected) => {
                DataError::Unsuitable { file: file.to_owned(), found, expected }
            }
            Self::Undecodable(said) => {
                let said: String = printable(&said).chars().take(SAID_CHARS).collect();
                let error = io::Error::other(format!("it is damaged or cut short ({said})"));
                DataError::Read { file: file.to_owned(), error }
            }
        }
    }
}

impl From<DataError> for DecodeError {
    fn from(error: DataError) -> Self {
        Self::Told(error)
    }
}

impl From<ParquetError> for DecodeError {
    fn from(error: ParquetError) -> Self {
        Self::Undecodable(error.to_string())
    }
}

impl From<ArrowError> for DecodeError {
    fn from(error: ArrowError) -> Self {
        Self::Undecodable(error.to_string())
    }
}

impl From<io::Error> for DecodeError {
    fn from(error: io::Error) -> Self {
        Self::Undecodable(error.to_string())
    }
}

/// Runs work that uses a decoder. Decoders check most of what they read, but not all of it. If one
/// panics, the file counts as undecodable and the work is abandoned.
pub(crate) fn guarded<T>(
    file: &str,
    work: impl FnOnce() -> Result<T, DecodeError>,
) -> Result<T, DataError> {
    let result = catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(DecodeError::new("what it says about itself makes no sense")));
    result.map_err(|error| error.told(file))
}
