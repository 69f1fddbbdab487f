//! The errors of reading and writing data, in words for the person who has to fix them.

use crate::cache::CacheFault;
use crate::phrase::{NamesSettings, Phrase, listed, plain};
use crate::recognize::Binary;
use crate::schema::{Column, Role, Schema};
use std::fmt;
use std::io;
use std::str::Utf8Chunk;

/// The largest number of characters of the input that an error repeats.
const EXCERPT_CHARS: usize = 40;

/// The reason why data could not be read or written. Each error is displayed as one line, which
/// names the file if there is one.
///
/// The line of an [`Open`](Self::Open) or [`Read`](Self::Read) includes its cause, so the cause is
/// not reported a second time as a source.
#[derive(Debug)]
pub enum DataError {
    /// The file cannot be opened: it is missing or forbidden, or it is not a file.
    Open {
        /// The file.
        file: String,
        /// The system's error.
        error: io::Error,
    },
    /// The file could not be read to its end.
    Read {
        /// The file.
        file: String,
        /// The system's error.
        error: io::Error,
    },
    /// The file was read to its end and held no row.
    EmptyFile {
        /// The file.
        file: String,
    },
    /// A line is longer than [`Limits::max_line_bytes`](crate::Limits::max_line_bytes).
    LineTooLong {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: u64,
        /// The largest number of bytes that a line may have.
        limit: usize,
    },
    /// The text is not what the format allows at this place.
    Parse {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: u64,
        /// The byte of the line at which the text that was found begins, counted from 1.
        column: usize,
        /// The text that was found. Long text is cut after its beginning, and characters that could
        /// upset a terminal are escaped.
        found: String,
        /// A description of the text that should have been there.
        expected: String,
        /// A way to put it right, if one is known.
        hint: Option<Phrase>,
    },
    /// A fault of the program itself was found while it read a piece of the file.
    Lost {
        /// The file.
        file: String,
        /// The number of the piece, counted from 1 and from the first file on. A piece is a few
        /// thousand lines, rows or bytes, depending on the format.
        piece: u64,
        /// The message of the fault.
        said: String,
    },
    /// The data would have to be read a second time, and cannot be.
    OnceOnly {
        /// The file.
        file: String,
    },
    /// A row of a file without lines is not as it should be.
    Row {
        /// The file.
        file: String,
        /// The row, counted from 1.
        row: u64,
        /// The text that was found.
        found: String,
        /// A description of the value that should have been there.
        expected: String,
        /// A way to put it right, if one is known.
        hint: Option<Phrase>,
    },
    /// The file should be a cache, and it cannot be read as one.
    Cache {
        /// The file.
        file: String,
        /// The fault of the cache.
        fault: CacheFault,
    },
    /// The file could not be written.
    Write {
        /// The file.
        file: String,
        /// The system's error.
        error: io::Error,
    },
    /// There is no input to read from.
    NoInput,
    /// The file is of a kind that is not read as it is.
    Unsuitable {
        /// The file.
        file: String,
        /// A description of the file, or of what it contains.
        found: String,
        /// A description of what should have been there, or advice on what to do.
        expected: Phrase,
    },
    /// The file is not text. It has one of the formats that are read in another way.
    Binary {
        /// The file.
        file: String,
        /// The format of the file.
        kind: Binary,
    },
    /// There is no format of this name.
    UnknownFormat {
        /// The name that was asked for.
        format: String,
    },
    /// One setting already says how the file is read, so the others cannot be given beside it.
    Settled {
        /// The setting that says how the file is read.
        by: &'static str,
        /// The settings to leave out.
        settings: &'static [&'static str],
    },
    /// The settings mean nothing for the format of the file.
    Useless {
        /// The file.
        file: String,
        /// The settings.
        settings: &'static [&'static str],
        /// The format.
        format: &'static str,
        /// The reason, and what to do.
        reason: &'static str,
    },
    /// No setting says which column of the table holds the labels.
    NoLabel {
        /// The file.
        file: String,
        /// The columns to choose from.
        columns: String,
    },
    /// The file lacks columns that are known from earlier data.
    MissingColumns {
        /// The file.
        file: String,
        /// The columns that the file lacks.
        missing: Vec<Column>,
        /// The columns that the file has.
        columns: String,
    },
    /// A setting names a column that does not exist.
    NoColumn {
        /// The file.
        file: String,
        /// The setting.
        setting: &'static str,
        /// The column that it names.
        column: String,
        /// The columns to choose from.
        columns: String,
    },
    /// Two settings name the same column and cannot both be followed.
    Contradiction {
        /// The column.
        column: String,
        /// One setting.
        setting: &'static str,
        /// The other.
        other: &'static str,
    },
}

/// The hint after a semicolon, or nothing if there is no hint.
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
    /// The same error for data whose reading a model has decided. Settings could not change that,
    /// so they are not recommended.
    #[must_use]
    pub fn under_a_model(mut self) -> Self {
        if let Self::Parse { hint, .. } | Self::Row { hint, .. } = &mut self
            && hint.as_ref().is_some_and(Phrase::names_settings)
        {
            *hint = Some("the model decides how its data are read, so correct the data".into());
        }
        self
    }

    /// The messages of the errors that are about settings.
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

/// The message about columns that a file lacks.
fn missing_columns(file: &str, missing: &[Column], columns: &str) -> String {
    const SHOWN: usize = 4;
    let told = |column: &Column| {
        let name = format!("\"{}\"", excerpt(column.name.as_bytes()));
        match column.role {
            Role::Label => format!("{name} for the label"),
            Role::Importance => format!("{name} for the importance"),
            Role::Prediction => format!("{name} for the predictions"),
            Role::Id => format!("{name} for the ids"),
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

/// Returns a name that is safe to print on a terminal: control characters become escapes.
pub fn printable(name: &str) -> String {
    let mut text = String::new();
    for char in name.chars() {
        if char.is_control() { text.extend(char.escape_default()) } else { text.push(char) }
    }
    text
}

/// The beginning of `bytes` as printable text. Other characters are escaped, and a cut is marked.
#[cold]
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    // A character takes at most four bytes, so bytes further on are beyond the cut.
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
        // The single quote needs no escape between double quotes.
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
