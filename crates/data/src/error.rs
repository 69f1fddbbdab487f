//! What can go wrong between bytes and batches, told to the one who has to fix it.

use crate::cache::CacheFault;
use crate::phrase::{NamesSettings, Phrase, listed, plain};
use crate::recognize::Binary;
use crate::schema::{Column, Role, Schema};
use std::fmt;
use std::io;
use std::str::Utf8Chunk;

/// How many characters of the input an error repeats.
const EXCERPT_CHARS: usize = 40;

/// Why data could not be read. Each is displayed as one line that names the file.
///
/// The cause of an [`Open`](Self::Open) or [`Read`](Self::Read) is part of that line, so it is not
/// told a second time as a source.
#[derive(Debug)]
pub enum DataError {
    /// A file that cannot be opened: missing, forbidden, or no file.
    Open {
        /// The file.
        file: String,
        /// What the system says.
        error: io::Error,
    },
    /// A file that could not be read to its end.
    Read {
        /// The file.
        file: String,
        /// What the system says.
        error: io::Error,
    },
    /// A file that was read to its end and held no row.
    EmptyFile {
        /// The file.
        file: String,
    },
    /// A line beyond [`Limits::max_line_bytes`](crate::Limits::max_line_bytes).
    LineTooLong {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: u64,
        /// How many bytes a line may have.
        limit: usize,
    },
    /// Text that is not what the format has at this place.
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
        hint: Option<Phrase>,
    },
    /// A piece of a file that was being read when a fault of the program's own was found.
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
    OnceOnly {
        /// The file.
        file: String,
    },
    /// A row of a file without lines that is not as it should be.
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
        hint: Option<Phrase>,
    },
    /// A file that should be a cache and is none that can be read.
    Cache {
        /// The file.
        file: String,
        /// What is wrong with it.
        fault: CacheFault,
    },
    /// A file that could not be written.
    Write {
        /// The file.
        file: String,
        /// What the system says.
        error: io::Error,
    },
    /// No input to read from.
    NoInput,
    /// A file of a kind that is not read as it is.
    Unsuitable {
        /// The file.
        file: String,
        /// What it is, or has.
        found: String,
        /// What should have been there, or what to do.
        expected: Phrase,
    },
    /// A file that is not text, but one of the formats that are read in another way.
    Binary {
        /// The file.
        file: String,
        /// Which format it is.
        kind: Binary,
    },
    /// A format that does not exist.
    UnknownFormat {
        /// What was asked for.
        format: String,
    },
    /// Settings beside one that leaves nothing to set.
    Settled {
        /// The setting that says it all.
        by: &'static str,
        /// What is to be left out.
        settings: &'static [&'static str],
    },
    /// Settings that mean nothing for the format of the file.
    Useless {
        /// The file.
        file: String,
        /// The settings.
        settings: &'static [&'static str],
        /// The format.
        format: &'static str,
        /// Why, and what to do.
        reason: &'static str,
    },
    /// A table without a word on which column holds the labels.
    NoLabel {
        /// The file.
        file: String,
        /// What there is to choose from.
        columns: String,
    },
    /// A file without columns that are known from the data before it.
    MissingColumns {
        /// The file.
        file: String,
        /// The columns it lacks.
        missing: Vec<Column>,
        /// Those it has.
        columns: String,
    },
    /// A setting that names a column which does not exist.
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
    Contradiction {
        /// The column.
        column: String,
        /// One setting.
        setting: &'static str,
        /// The other.
        other: &'static str,
    },
}

/// What there is to say after a semicolon.
fn tail(hint: &Option<Phrase>, name: &dyn Fn(&str) -> String) -> String {
    hint.as_ref().map(|hint| format!("; {}", hint.text(name))).unwrap_or_default()
}

impl NamesSettings for DataError {
    fn text(&self, name: &dyn Fn(&str) -> String) -> String {
        match self {
            Self::Open { file, error } => format!("cannot open {}: {error}", printable(file)),
            Self::Read { file, error } => format!("cannot read {}: {error}", printable(file)),
            Self::Write { file, error } => format!("cannot write {}: {error}", printable(file)),
            Self::EmptyFile { file } => {
                format!("{}: expected examples, found none in the whole file", printable(file))
            }
            Self::LineTooLong { file, line, limit } => format!(
                "{}:{line}: found a line of more than {limit} bytes, expected at most that many",
                printable(file)
            ),
            Self::Parse { file, line, column, found, expected, hint } => format!(
                "{}:{line}:{column}: found \"{found}\", expected {expected}{}",
                printable(file),
                tail(hint, name)
            ),
            Self::Row { file, row, found, expected, hint } => format!(
                "{}: row {row}: found \"{found}\", expected {expected}{}",
                printable(file),
                tail(hint, name)
            ),
            Self::Lost { file, piece, said } => format!(
                "{}: piece {piece} could not be read to its end: {}. This is a fault of rueful, \
                 not of the file",
                printable(file),
                excerpt(said.as_bytes())
            ),
            Self::OnceOnly { file } => {
                let file = if file == "-" { "standard input".to_owned() } else { printable(file) };
                format!(
                    "{file} can be read only once, and has to be read again: save it to a file \
                     first"
                )
            }
            Self::Cache { file, fault } => format!("{}: {}", printable(file), fault.text(name)),
            Self::NoInput => "found no file to read, expected at least one".to_owned(),
            Self::Binary { file, kind } => {
                format!("{}: found {kind}, expected text", printable(file))
            }
            other => other.about_settings(name),
        }
    }
}

impl DataError {
    /// What is said of those errors that are about settings.
    fn about_settings(&self, name: &dyn Fn(&str) -> String) -> String {
        match self {
            Self::Unsuitable { file, found, expected } => {
                format!("{}: found {found}, expected {}", printable(file), expected.text(name))
            }
            Self::UnknownFormat { format } => format!(
                "{}: found \"{}\", expected one of {}",
                name("format"),
                excerpt(format.as_bytes()),
                Schema::NAMES.join(", ")
            ),
            Self::Useless { file, settings, format, reason } => format!(
                "{}: {} means nothing for {format}: {reason}",
                printable(file),
                listed(settings, name)
            ),
            Self::Settled { by, settings } => format!(
                "{} says how the file is read: leave out {}",
                name(by),
                listed(settings, name)
            ),
            Self::NoLabel { file, columns } => {
                let label = name("label");
                format!(
                    "{}: which column is the label? Add {label} NAME, or {label} and a number from \
                     1 on; the columns are: {columns}",
                    printable(file)
                )
            }
            Self::MissingColumns { file, missing, columns } => {
                missing_columns(file, missing, columns)
            }
            Self::NoColumn { file, setting, column, columns } => format!(
                "{}: {} names \"{column}\", expected a column; the columns are: {columns}",
                printable(file),
                name(setting)
            ),
            Self::Contradiction { column, setting, other } => format!(
                "{} and {} both name column \"{}\", expected one of them",
                name(other),
                name(setting),
                excerpt(column.as_bytes())
            ),
            _ => String::new(),
        }
    }
}

/// What is said of columns that are not there.
fn missing_columns(file: &str, missing: &[Column], columns: &str) -> String {
    const SHOWN: usize = 4;
    let told = |column: &Column| {
        let name = format!("\"{}\"", excerpt(column.name.as_bytes()));
        match column.role {
            Role::Label => format!("{name} for the label"),
            Role::Importance => format!("{name} for the importance"),
            Role::Prediction => format!("{name} for the predictions"),
            _ => name,
        }
    };
    let names: Vec<_> = missing.iter().take(SHOWN).map(told).collect();
    let more = missing.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let noun = if missing.len() == 1 { "column" } else { "columns" };
    format!(
        "{}: found no {noun} {}{more}, which the data before it had; the columns are: {columns}. \
         Add what is missing, with empty cells where no value is known",
        printable(file),
        names.join(", ")
    )
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&plain))
    }
}

impl std::error::Error for DataError {}

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
