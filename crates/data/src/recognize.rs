//! Recognises the format of a file.
//!
//! Bytes with which only one kind of file begins come first. Then comes the setting `format`, then
//! the extension. If the extension says nothing, the first lines decide:
//!
//! - `{` begins JSON, and `@relation` begins ARFF, perhaps after comments that begin with `%`;
//! - a line with a bar is Vowpal Wabbit text, unless all lines have the same number of bars and
//!   nothing like a label before the first;
//! - `index:value` after a label and a blank make it LIBSVM text;
//! - commas, tabs or semicolons make it a table.

use crate::arff::{Arff, has_data};
use crate::input::Enough;
use crate::json::Json;
use crate::number::double_at;
use crate::phrase::Phrase;
use crate::sample::first_values;
use crate::schema::{Columns, Schema};
use crate::table::{Separator, has_rows, infer};
use crate::text::lines;
use crate::{Bits, DataError, FormatSettings};
use std::fmt;

/// The number of lines that are looked at.
const LINES: usize = 32;

/// The first bytes of files that are not read as they are, the kind of file, and what to do.
const REFUSED: [(&[u8], &str, &str); 10] = [
    (b"BZh", "a bzip2 file", "text: bzcat FILE | rueful … -"),
    (b"\xfd7zXZ", "an xz file", "text: xzcat FILE | rueful … -"),
    (b"7z\xbc\xaf", "a 7-Zip archive", "text: unpack it first"),
    (b"PK\x05\x06", "an empty zip archive", "one with a file in it"),
    (b"\xff\xfe", "UTF-16 text", "UTF-8: iconv -f UTF-16 -t UTF-8 FILE | rueful … -"),
    (b"\xfe\xff", "UTF-16 text", "UTF-8: iconv -f UTF-16 -t UTF-8 FILE | rueful … -"),
    (b"%PDF", "a PDF file", "data as text"),
    (b"FEA1", "a Feather file of version 1", "version 2: write it anew with a library of today"),
    (b"\x89HDF", "an HDF5 file", "text, Parquet or Arrow"),
    (b"\x93NUMPY", "a NumPy array", "text, Parquet or Arrow"),
];

/// The result of recognising a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recognized {
    /// The file is text, and is read in this way.
    Text {
        /// How it is read.
        schema: Schema,
        /// Notes on what was inferred, in words.
        notes: Vec<Phrase>,
    },
    /// The file is not text.
    Binary(Binary),
}

impl Recognized {
    /// The schema of text. Anything else is an error that says what the file is.
    pub(crate) fn into_schema(self, file: &str) -> Result<Schema, DataError> {
        match self {
            Self::Text { schema, .. } => Ok(schema),
            Self::Binary(kind) => Err(DataError::Binary { file: file.to_owned(), kind }),
        }
    }
}

/// Formats that are not text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    /// Apache Parquet.
    Parquet,
    /// Apache Arrow's file format, also called Feather, or its stream format.
    Arrow,
    /// A cache of rows, which [`Cached`](crate::Cached) reads.
    Cache,
}

impl Binary {
    /// Their names for the setting `format`, and their first bytes.
    const ALL: [(Self, &'static str, &'static [u8]); 4] = [
        (Self::Parquet, "parquet", b"PAR1"),
        (Self::Arrow, "arrow", b"ARROW1"),
        // A stream of messages, as it is sent.
        (Self::Arrow, "arrow", b"\xff\xff\xff\xff"),
        (Self::Cache, "cache", crate::cache::MAGIC),
    ];
}

impl fmt::Display for Binary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Parquet => "a Parquet file",
            Self::Arrow => "an Arrow file",
            Self::Cache => "a rueful cache",
        })
    }
}

/// A text format whose details are not known yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Libsvm,
    Vw,
    Table(&'static [Separator]),
    Arff,
    Json,
}

/// Finds out what the file called `name` is from its `beginning`. `is_whole` says that nothing
/// follows the beginning.
///
/// ```
/// use rueful_data::{Recognized, Schema, FormatSettings, recognize};
/// let found = recognize("data", b"+1 3:0.5 7:1\n", true, &FormatSettings::default())?;
/// assert!(matches!(found, Recognized::Text { schema: Schema::Libsvm {}, .. }));
///
/// let error = recognize("data", b"age,job\n31,clerk\n", true, &FormatSettings::default()).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "data: which column is the label? Add label NAME, or label and a number from 1 on; the \
///      columns are: age, job"
/// );
/// # Ok::<(), rueful_data::DataError>(())
/// ```
pub fn recognize(
    name: &str,
    beginning: &[u8],
    is_whole: bool,
    format_settings: &FormatSettings,
) -> Result<Recognized, DataError> {
    recognize_as(name, name, beginning, is_whole, format_settings)
}

/// Recognises a file whose data have a name of their own, such as a file in an archive.
pub(crate) fn recognize_as(
    file: &str,
    name: &str,
    beginning: &[u8],
    is_whole: bool,
    format_settings: &FormatSettings,
) -> Result<Recognized, DataError> {
    let text = without_mark(beginning);
    if let Some(binary) = binary(text, format_settings) {
        return Ok(Recognized::Binary(binary));
    }
    if let Some((found, expected)) = refusal(text) {
        let (file, found, expected) = (file.to_owned(), found.to_owned(), expected.into());
        return Err(DataError::Unsuitable { file, found, expected });
    }
    let kind = kind(name, text, format_settings)?.ok_or_else(|| unknown(file, text))?;
    kind.check(file, format_settings)?;
    let (schema, notes) = match kind {
        Kind::Libsvm => (Schema::Libsvm {}, vec!["LIBSVM text".into()]),
        Kind::Vw => (vw(file, format_settings)?, vec!["Vowpal Wabbit text".into()]),
        Kind::Table(separators) => {
            let inferred = infer(file, text, is_whole, separators, format_settings)?;
            (Schema::Csv(inferred.table), inferred.notes)
        }
        Kind::Arff => {
            let (arff, notes) = Arff::infer(file, text, format_settings)?;
            (Schema::Arff(arff), notes)
        }
        Kind::Json => {
            let (json, notes) = Json::infer(file, text, format_settings)?;
            (Schema::Jsonl(json), notes)
        }
    };
    let (schema, notes) = curved(file, schema, notes, (text, is_whole), format_settings)?;
    Ok(Recognized::Text { schema, notes })
}

/// Gives the columns of a format the curves that the settings ask for. The beginning of the text
/// decides their knots.
fn curved(
    file: &str,
    schema: Schema,
    mut notes: Vec<Phrase>,
    (text, is_whole): (&[u8], bool),
    format_settings: &FormatSettings,
) -> Result<(Schema, Vec<Phrase>), DataError> {
    if format_settings.expansion.curves.is_empty() {
        return Ok((schema, notes));
    }
    let values = |number: usize| first_values(&schema, number, text, is_whole);
    let curve = |columns: &Columns, notes: &mut Vec<Phrase>| {
        columns.clone().curved(file, format_settings, notes, values)
    };
    let mut curved = schema.clone();
    match &mut curved {
        Schema::Csv(table) => table.columns = curve(&table.columns, &mut notes)?,
        Schema::Arff(arff) => arff.columns = curve(&arff.columns, &mut notes)?,
        Schema::Jsonl(json) => json.columns = curve(&json.columns, &mut notes)?,
        Schema::Libsvm {} | Schema::Vw { .. } => {}
    }
    Ok((curved, notes))
}

/// Whether the beginning of a file says enough about it.
pub(crate) fn has_enough(name: &str, beginning: &[u8], format_settings: &FormatSettings) -> Enough {
    let text = without_mark(beginning);
    if binary(text, format_settings).is_some() || refusal(text).is_some() {
        return Enough::Yes;
    }
    let Some(end) = memchr::memchr(b'\n', text) else { return Enough::No };
    match kind(name, text, format_settings) {
        Err(_) => Enough::Yes,
        Ok(Some(kind)) => kind.has_enough(text),
        // Comments and empty lines may come first.
        Ok(None) if memchr::memchr(b'\n', &text[end + 1..]).is_some() => Enough::AtLeast,
        Ok(None) => Enough::No,
    }
}

impl Kind {
    /// The format that the setting `format` calls by this name.
    fn by_name(name: &str) -> Option<Self> {
        Some(match name {
            "libsvm" => Self::Libsvm,
            "vw" => Self::Vw,
            "csv" => Self::Table(&Separator::ALL),
            "tsv" => Self::Table(&[Separator::Tab]),
            "arff" => Self::Arff,
            "jsonl" => Self::Json,
            _ => return None,
        })
    }

    fn by_extension(name: &str) -> Option<Self> {
        let name = name.rsplit(['/', '\\']).next().unwrap_or(name).to_ascii_lowercase();
        let packed = [".gz", ".zst", ".zip"];
        let name = packed.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
        Some(match name.rsplit_once('.')?.1 {
            "libsvm" | "svm" | "svmlight" => Self::Libsvm,
            "vw" => Self::Vw,
            "csv" => Self::Table(&Separator::ALL),
            "tsv" | "tab" => Self::Table(&[Separator::Tab]),
            "psv" => Self::Table(&[Separator::Bar]),
            "arff" => Self::Arff,
            "jsonl" | "ndjson" | "json" => Self::Json,
            _ => return None,
        })
    }

    fn by_content(text: &[u8]) -> Option<Self> {
        let rows: Vec<&[u8]> = lines(text)
            .map(|(_, line)| line.trim_ascii())
            .filter(|line| !line.is_empty() && !line.starts_with(b"#"))
            .take(LINES)
            .collect();
        let first = *rows.first()?;
        let has = |byte| first.contains(&byte);
        if is_arff(&rows) {
            return Some(Self::Arff);
        }
        if first.starts_with(b"{") {
            return Some(Self::Json);
        }
        if has(b'|') {
            return Some(if is_vw(&rows) { Self::Vw } else { Self::Table(&[Separator::Bar]) });
        }
        if rows.iter().any(|row| is_libsvm(row)) {
            return Some(Self::Libsvm);
        }
        if has(b',') || has(b'\t') || has(b';') {
            return Some(Self::Table(&Separator::ALL));
        }
        // A label alone is a row too.
        is_number(first).then_some(Self::Libsvm)
    }

    fn has_enough(self, text: &[u8]) -> Enough {
        match self {
            Self::Arff if has_data(text) => Enough::Yes,
            Self::Arff => Enough::No,
            Self::Libsvm | Self::Vw => Enough::Yes,
            Self::Json => Enough::AtLeast,
            // A header, and one row to compare it with, are enough.
            Self::Table(separators) if has_rows(text, separators) => Enough::AtLeast,
            Self::Table(_) => Enough::No,
        }
    }

    /// Refuses settings that mean nothing for the format.
    fn check(self, file: &str, format_settings: &FormatSettings) -> Result<(), DataError> {
        let useless = |format, settings, reason| DataError::Useless {
            file: file.to_owned(),
            settings,
            format,
            reason,
        };
        let (format, reason) = match self {
            Self::Libsvm => ("LIBSVM text", "the label comes first on every line"),
            Self::Vw => ("Vowpal Wabbit text", "the label comes first on every line"),
            Self::Arff if format_settings.header.is_some() => {
                let reason = "its attributes have names already";
                return Err(useless("ARFF", &["header"], reason));
            }
            Self::Json if format_settings.header.is_some() => {
                return Err(useless("JSON lines", &["header"], "every line has its keys"));
            }
            Self::Table(_) | Self::Arff | Self::Json => return Ok(()),
        };
        if format_settings.label.is_some() {
            return Err(useless(format, &["label"], reason));
        }
        if format_settings.importance.is_some() {
            let reason = match self {
                Self::Vw => "it is the number after the label",
                _ => "it has no columns, and every line counts 1",
            };
            return Err(useless(format, &["importance"], reason));
        }
        match &format_settings.id {
            None => {}
            Some(id) if self == Self::Vw && id == "tag" => {}
            Some(_) => {
                let reason = match self {
                    Self::Vw => "its ids are tags: say tag",
                    _ => "it has no ids",
                };
                return Err(useless(format, &["id"], reason));
            }
        }
        if !format_settings.predictions.is_empty() {
            let reason = "it has no columns; give the predictions in a file of their own";
            return Err(useless(format, &["prediction-column"], reason));
        }
        let reason = "it has no columns; leave the setting out";
        let given: [(&[&str; 1], bool); 5] = [
            (&["drop"], !format_settings.drop.is_empty()),
            (&["categorical"], !format_settings.categorical.is_empty()),
            (&["numeric"], !format_settings.numeric.is_empty()),
            (&["text"], !format_settings.text.is_empty()),
            (&["header"], format_settings.header.is_some()),
        ];
        if let Some((settings, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
            return Err(useless(format, settings, reason));
        }
        let expansion = &format_settings.expansion;
        if let Some(settings) = expansion.of_columns() {
            let reason = match self {
                Self::Vw => "it has namespaces in the place of columns",
                _ => "its features have numbers, not names",
            };
            return Err(useless(format, settings, reason));
        }
        if let (Self::Libsvm, Some(settings)) = (self, expansion.of_words()) {
            return Err(useless(format, settings, "it has no namespaces and no words"));
        }
        if self == Self::Libsvm && format_settings.bits != Bits::default() {
            return Err(useless(format, &["bits"], "its features have numbers, not names"));
        }
        Ok(())
    }
}

/// Vowpal Wabbit text, read as the settings say.
fn vw(file: &str, format_settings: &FormatSettings) -> Result<Schema, DataError> {
    let rules = format_settings.expansion.namespaces();
    let (interactions, namespaces) = rules.map_err(|expected| DataError::Unsuitable {
        file: file.to_owned(),
        found: "settings that say nothing about namespaces".to_owned(),
        expected: expected.into(),
    })?;
    let id = format_settings.id.is_some();
    Ok(Schema::Vw { bits: format_settings.bits, interactions, namespaces, id })
}

/// The text format, as far as it can be told.
fn kind(
    name: &str,
    text: &[u8],
    format_settings: &FormatSettings,
) -> Result<Option<Kind>, DataError> {
    if let Some(format) = &format_settings.format {
        let unknown = || DataError::UnknownFormat { format: format.clone() };
        return Kind::by_name(format).ok_or_else(unknown).map(Some);
    }
    Ok(Kind::by_extension(name).or_else(|| Kind::by_content(text)))
}

pub(crate) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

pub(crate) fn binary(text: &[u8], format_settings: &FormatSettings) -> Option<Binary> {
    let is_named = |name: &str| format_settings.format.as_deref() == Some(name);
    let mut all = Binary::ALL.iter();
    all.find(|(_, name, start)| text.starts_with(start) || is_named(name)).map(|(kind, ..)| *kind)
}

/// The kind of a file that is not read, and what to do about it.
fn refusal(text: &[u8]) -> Option<(&'static str, &'static str)> {
    let known = REFUSED.iter().find(|(start, ..)| text.starts_with(start));
    if let Some((start, found, expected)) = known
        && (*start != b"BZh" || text.get(4..10).is_some_and(|block| block == b"1AY&SY"))
    {
        return Some((found, expected));
    }
    let start = text.trim_ascii_start();
    let begins =
        |word: &[u8]| start.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word));
    if begins(b"<!doctype html") || begins(b"<html") {
        return Some(("an HTML page", "data; a download may have failed"));
    }
    if begins(b"<?xml") {
        return Some(("XML", "data as lines of text"));
    }
    if start.strip_prefix(b"[").is_some_and(|rest| rest.trim_ascii_start().starts_with(b"{")) {
        return Some(("a JSON array", "one object per line: jq -c '.[]' FILE | rueful … -"));
    }
    let sample = &text[..text.len().min(1 << 12)];
    if sample.contains(&0) {
        return Some(("bytes that are not text", "text, Parquet or Arrow"));
    }
    None
}

#[cold]
fn unknown(file: &str, text: &[u8]) -> DataError {
    let is_row = |line: &&[u8]| !line.is_empty() && !line.starts_with(b"#");
    let line = lines(text).map(|(_, line)| line.trim_ascii()).find(is_row);
    match line {
        None => DataError::EmptyFile { file: file.to_owned() },
        Some(line) => DataError::Unsuitable {
            file: file.to_owned(),
            found: format!("\"{}\" in a format that is not known", crate::error::excerpt(line)),
            expected: Phrase::from(format!("one of {}; say which with ", Schema::NAMES.join(", ")))
                .setting("format"),
        },
    }
}

/// Whether lines with bars are Vowpal Wabbit text. There a bar begins a namespace, and before the
/// first bar there is nothing, or a label and a blank.
fn is_vw(rows: &[&[u8]]) -> bool {
    let bars = |row: &&[u8]| row.iter().filter(|&&byte| byte == b'|').count();
    let begins_namespace = |row: &&[u8]| {
        let before = row.split(|&byte| byte == b'|').next().unwrap_or_default();
        before.is_empty() || before.ends_with(b" ") || before.ends_with(b"\t")
    };
    // After a label, a tag may touch the bar.
    let has_tag = |row: &&[u8]| {
        let before = row.split(|&byte| byte == b'|').next().unwrap_or_default();
        let mut words = before.split(|&byte| byte == b' ').filter(|word| !word.is_empty());
        words.next().is_some_and(is_number) && words.next().is_some()
    };
    let count = rows.first().map_or(0, bars);
    rows.iter().any(begins_namespace)
        || rows.iter().any(has_tag)
        || rows.len() < 2
        || rows.iter().any(|row| bars(row) != count)
}

/// Whether lines begin an ARFF file. Comments are skipped.
fn is_arff(rows: &[&[u8]]) -> bool {
    let word = b"@relation";
    let row = rows.iter().find(|row| !row.starts_with(b"%"));
    match row {
        Some(row) => row.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word)),
        // No other format begins with so many comments.
        None => rows.len() == LINES,
    }
}

/// Whether a line is LIBSVM text. Either only features come after the first token, or the first
/// token is a number and something with a colon comes after it, correct or not.
fn is_libsvm(line: &[u8]) -> bool {
    let text = line.split(|&byte| byte == b'#').next().unwrap_or_default();
    let mut tokens =
        text.split(|byte| matches!(byte, b' ' | b'\t')).filter(|token| !token.is_empty());
    let starts_with_number = tokens.next().is_some_and(is_number);
    let mut others = tokens.map(|token| {
        let digits = token.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let begins = digits > 0 && token.get(digits) == Some(&b':');
        (begins, begins && is_number(&token[digits + 1..]))
    });
    if starts_with_number {
        text.contains(&b':')
    } else {
        others.next().is_some_and(|(_, is_feature)| is_feature) && others.all(|(_, is)| is)
    }
}

fn is_number(text: &[u8]) -> bool {
    double_at(text, 0).is_some_and(|(_, end)| end == text.len())
}
