//! What can go wrong between bytes and batches, told to the one who has to fix it.

use crate::cache::CacheFault;
use crate::recognize::Binary;
use crate::schema::Schema;
use std::io;
use std::str::Utf8Chunk;
use thiserror::Error;

/// How many characters of the input an error repeats.
const EXCERPT_CHARS: usize = 40;

/// A message that mentions settings, told in the words of whoever shows it.
///
/// A library knows a setting by its name alone. The program calls the setting `label` by its flag
/// `--label`, a notebook by its argument, and a spec file by its key, so each of them says what a
/// name becomes.
///
/// ```
/// use rueful_data::{DataError, NamesSettings};
///
/// let error = DataError::UnknownFormat { format: "xls".to_owned() };
/// let told = error.text(&|name| format!("--{name}"));
/// assert!(told.starts_with("--format: found \"xls\""));
/// ```
pub trait NamesSettings {
    /// The message, in which `name` has the say on what a setting is called. What `Display` writes
    /// is this text with the plain names.
    fn text(&self, name: &dyn Fn(&str) -> String) -> String;
}

/// Why data could not be read. Each is displayed as one line that names the file.
///
/// The cause of an [`Open`](Self::Open) or [`Read`](Self::Read) is part of that line, so it is not
/// told a second time as a source.
#[derive(Debug, Error)]
pub enum DataError {
    /// A file that cannot be opened: missing, forbidden, or no file.
    #[error("cannot open {}: {error}", printable(file))]
    Open {
        /// The file.
        file: String,
        /// What the system says.
        error: io::Error,
    },
    /// A file that could not be read to its end.
    #[error("cannot read {}: {error}", printable(file))]
    Read {
        /// The file.
        file: String,
        /// What the system says.
        error: io::Error,
    },
    /// A file that was read to its end and held no row.
    #[error("{}: expected examples, found none in the whole file", printable(file))]
    EmptyFile {
        /// The file.
        file: String,
    },
    /// A line beyond [`Limits::max_line_bytes`](crate::Limits::max_line_bytes).
    #[error(
        "{}:{line}: found a line of more than {limit} bytes, expected at most that many{}",
        printable(file),
        tail(hint)
    )]
    LineTooLong {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: u64,
        /// How many bytes a line may have.
        limit: usize,
        /// What may be the matter.
        hint: Option<String>,
    },
    /// Text that is not what the format has at this place.
    #[error(
        "{}:{line}:{column}: found \"{found}\", expected {expected}{}",
        printable(file),
        tail(hint)
    )]
    Parse {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: u64,
        /// The byte of the line where the text that was found begins, counted from 1.
        column: usize,
        /// The text that was found: its beginning if it is long, and nothing that could upset a
        /// terminal.
        found: String,
        /// What should have been there.
        expected: String,
        /// How it might be put right.
        hint: Option<String>,
    },
    /// A piece of a file that was being read when a fault of the program's own was found.
    #[error(
        "{}: piece {piece} could not be read to its end: {}. This is a fault of rueful, not of \
         the file",
        printable(file),
        excerpt(said.as_bytes())
    )]
    Lost {
        /// The file.
        file: String,
        /// The piece, counted from 1 and from the first file on: a few thousand lines, rows or
        /// bytes, as the format has it.
        piece: u64,
        /// What the program noticed.
        said: String,
    },
    /// Data that would have to be read a second time.
    #[error(
        "{} can be read only once, and has to be read again: save it to a file first",
        if file == "-" { "standard input".to_owned() } else { printable(file) }
    )]
    OnceOnly {
        /// The file.
        file: String,
    },
    /// A row of a file without lines that is not as it should be.
    #[error("{}: row {row}: found \"{found}\", expected {expected}{}", printable(file), tail(hint))]
    Row {
        /// The file.
        file: String,
        /// The row, counted from 1.
        row: u64,
        /// What was found.
        found: String,
        /// What should have been there.
        expected: String,
        /// How it might be put right.
        hint: Option<String>,
    },
    /// A file that should be a cache and is none that can be read.
    #[error("{}: {fault}", printable(file))]
    Cache {
        /// The file.
        file: String,
        /// What is wrong with it.
        fault: CacheFault,
    },
    /// A file that could not be written.
    #[error("cannot write {}: {error}", printable(file))]
    Write {
        /// The file.
        file: String,
        /// What the system says.
        error: io::Error,
    },
    /// No input to read from.
    #[error("found no file to read, expected at least one")]
    NoInput,
    /// A file of a kind that is not read as it is.
    #[error("{}: found {found}, expected {expected}", printable(file))]
    Unsuitable {
        /// The file.
        file: String,
        /// What it is, or has.
        found: String,
        /// What should have been there, or what to do.
        expected: String,
    },
    /// A file that is not text, but one of the formats that are read in another way.
    #[error("{}: found {kind}, expected text", printable(file))]
    Binary {
        /// The file.
        file: String,
        /// Which format it is.
        kind: Binary,
    },
    /// A format that does not exist.
    #[error(
        "--format: found \"{}\", expected one of {}",
        excerpt(format.as_bytes()),
        Schema::NAMES.join(", ")
    )]
    UnknownFormat {
        /// What was asked for.
        format: String,
    },
    /// A setting that means nothing for the format of the file.
    #[error("{}: {setting} means nothing for {format}: {reason}", printable(file))]
    Useless {
        /// The file.
        file: String,
        /// The setting.
        setting: &'static str,
        /// The format.
        format: &'static str,
        /// Why, and what to do.
        reason: &'static str,
    },
    /// A table without a word on which column holds the labels.
    #[error(
        "{}: which column is the label? Add --label NAME, or --label and a number from 1 on; \
         the columns are: {columns}",
        printable(file)
    )]
    NoLabel {
        /// The file.
        file: String,
        /// What there is to choose from.
        columns: String,
    },
    /// A setting that names a column which does not exist.
    #[error(
        "{}: {setting} names \"{column}\", expected a column; the columns are: {columns}",
        printable(file)
    )]
    NoColumn {
        /// The file.
        file: String,
        /// The setting.
        setting: &'static str,
        /// What it names.
        column: String,
        /// What there is to choose from.
        columns: String,
    },
    /// Two settings that cannot both be followed.
    #[error(
        "{other} and {setting} both name column \"{}\", expected one of them",
        excerpt(column.as_bytes())
    )]
    Contradiction {
        /// The column.
        column: String,
        /// One setting.
        setting: &'static str,
        /// The other.
        other: &'static str,
    },
}

impl NamesSettings for DataError {
    fn text(&self, _name: &dyn Fn(&str) -> String) -> String {
        self.to_string()
    }
}

fn tail(hint: &Option<String>) -> String {
    hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default()
}

/// A name on its way to a terminal: control characters become escapes.
pub fn printable(name: &str) -> String {
    let mut text = String::new();
    for char in name.chars() {
        if char.is_control() { text.extend(char.escape_default()) } else { text.push(char) }
    }
    text
}

/// The beginning of `bytes` as printable text: what is not is escaped, and a cut is marked.
#[cold]
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    // A character takes four bytes at most, so what lies further on is beyond the cut.
    let bytes = &bytes[..bytes.len().min(4 * EXCERPT_CHARS + 4)];
    let mut text = String::new();
    for piece in bytes.utf8_chunks().flat_map(|chunk| pieces(&chunk)) {
        if text.chars().count() >= EXCERPT_CHARS {
            text.push('…');
            break;
        }
        text.push_str(&piece);
    }
    text
}

fn pieces<'a>(chunk: &Utf8Chunk<'a>) -> impl Iterator<Item = String> + use<'a> {
    let text = chunk.valid().chars().map(|char| match char {
        // Between double quotes the single quote needs no escape.
        '\'' => char.to_string(),
        _ => char.escape_debug().to_string(),
    });
    text.chain(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_excerpt_keeps_text_and_escapes_the_rest() {
        assert_eq!(excerpt(b"3:abc"), "3:abc");
        assert_eq!(excerpt("naïve it's 1,5€".as_bytes()), "naïve it's 1,5€");
        assert_eq!(excerpt(b"a\"b\\c"), "a\\\"b\\\\c");
        assert_eq!(excerpt(b"\x1b[31m\0\t"), "\\u{1b}[31m\\0\\t");
        assert_eq!(excerpt(b"\x1f\x8b\xff"), "\\u{1f}\\x8b\\xff");
        assert_eq!(excerpt("\u{202e}".as_bytes()), "\\u{202e}");
    }

    #[test]
    fn an_excerpt_is_cut_where_it_gets_long() {
        let forty = "x".repeat(40);
        assert_eq!(excerpt(forty.as_bytes()), forty);
        assert_eq!(excerpt("x".repeat(41).as_bytes()), format!("{forty}…"));
        assert_eq!(excerpt("𝛿".repeat(40).as_bytes()), "𝛿".repeat(40));
        assert_eq!(excerpt("𝛿".repeat(50).as_bytes()), "𝛿".repeat(40) + "…");
    }

    #[test]
    fn a_name_cannot_upset_a_terminal() {
        let error = DataError::EmptyFile { file: "C:\\new\x1b[2J\n".to_owned() };
        assert!(error.to_string().starts_with("C:\\new\\u{1b}[2J\\n: expected"), "{error}");
    }

    proptest! {
        #[test]
        fn no_bytes_upset_a_terminal(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let text = excerpt(&bytes);
            prop_assert!(!text.chars().any(char::is_control));
            prop_assert!(text.chars().count() < EXCERPT_CHARS + 12);
        }
    }
}
