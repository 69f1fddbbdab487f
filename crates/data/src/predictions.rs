//! Predictions that somebody else's models made: one number per line, or columns of a table.
//!
//! A table is CSV with a header. Fields are separated by commas or by tabs, whichever the header
//! has first; a field may stand in double quotes, where "" is one quote, and ends on its line.

use crate::error::excerpt;
use crate::format::quoted;
use crate::input::open_file;
use crate::lines::{LineFault, Lines};
use crate::{DataError, Limits};
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

const COLUMN_HINT: &str = "a column of a table with a header is chosen with --prediction-column";

/// Where in a file the predictions are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PredictionColumns {
    /// The file has one number per line and nothing else.
    Bare,
    /// The file is a table; these columns are read, in this order.
    Named(Vec<String>),
    /// The file is a table; every column is read.
    All,
}

/// A reader of predictions, one row per example, one number per model.
///
/// ```
/// use rueful_data::{PredictionColumns, Predictions};
/// let text = "day,tree,\"net, large\"\n1,0.5,-2\n2,1e-3,4\n";
/// let columns = PredictionColumns::Named(vec!["net, large".into(), "tree".into()]);
/// let mut predictions = Predictions::new("models.csv", text.as_bytes(), &columns)?;
/// let mut row = Vec::new();
/// assert!(predictions.next_row(&mut row)?);
/// assert_eq!(row, [-2.0, 0.5]);
/// assert!(predictions.next_row(&mut row)?);
/// assert_eq!((&row[..], predictions.line()), (&[4.0, 1e-3][..], 3));
/// assert!(!predictions.next_row(&mut row)?);
/// # Ok::<(), rueful_data::DataError>(())
/// ```
#[derive(Debug)]
pub struct Predictions<R> {
    name: String,
    lines: Lines<R>,
    table: Option<Table>,
}

/// What the header of a table says.
#[derive(Debug)]
struct Table {
    separator: u8,
    /// How many fields a line has.
    width: usize,
    /// Which of them are read, and their names.
    picks: Vec<usize>,
    names: Vec<String>,
    /// The fields of the current line.
    fields: Vec<Range<usize>>,
}

/// What is wrong with a line.
struct Fault {
    at: usize,
    found: String,
    expected: String,
    hint: Option<String>,
}

impl Predictions<File> {
    /// Opens a file; of a table, reads the header.
    pub fn open(path: &Path, columns: &PredictionColumns) -> Result<Self, DataError> {
        let name = path.display().to_string();
        match open_file(path) {
            Ok(file) => Self::new(name, file, columns),
            Err(error) => Err(DataError::Open { file: name, error }),
        }
    }
}

impl<R: Read> Predictions<R> {
    /// Reads from `reader`, calling it `name` in errors; of a table, reads the header.
    pub fn new(
        name: impl Into<String>,
        reader: R,
        columns: &PredictionColumns,
    ) -> Result<Self, DataError> {
        let lines = Lines::new(reader, Limits::default().max_line_bytes);
        let mut predictions = Self { name: name.into(), lines, table: None };
        if *columns != PredictionColumns::Bare {
            predictions.read_header(columns)?;
        }
        Ok(predictions)
    }

    fn read_header(&mut self, columns: &PredictionColumns) -> Result<(), DataError> {
        let table = if self.advance()? {
            Table::new(self.lines.current().bytes(), columns)
        } else {
            Err(fault(b"", 0, "a header with the names of the columns"))
        };
        self.table = Some(table.map_err(|fault| self.line_error(fault))?);
        Ok(())
    }

    /// The file, as errors call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of the columns that are read; none where there is no table.
    pub fn names(&self) -> &[String] {
        self.table.as_ref().map_or(&[], |table| &table.names)
    }

    /// The line that was read last, counted from 1.
    pub fn line(&self) -> u64 {
        self.lines.number()
    }

    /// Replaces `row` by the predictions for the next example, all finite. Answers whether there
    /// were any.
    pub fn next_row(&mut self, row: &mut Vec<f64>) -> Result<bool, DataError> {
        row.clear();
        if !self.advance()? {
            return Ok(false);
        }
        let line = self.lines.current().bytes();
        let read = match &mut self.table {
            Some(table) => table.read(line, row),
            None => bare(line).map(|prediction| row.push(prediction)),
        };
        read.map_err(|fault| self.line_error(fault))?;
        Ok(true)
    }

    fn advance(&mut self) -> Result<bool, DataError> {
        self.lines.advance().map_err(|fault| match fault {
            LineFault::Io(error) => DataError::Read { file: self.name.clone(), error },
            LineFault::TooLong => DataError::LineTooLong {
                file: self.name.clone(),
                line: self.lines.number(),
                limit: Limits::default().max_line_bytes,
                hint: None,
            },
        })
    }

    #[cold]
    fn line_error(&self, fault: Fault) -> DataError {
        DataError::Parse {
            file: self.name.clone(),
            // An empty file has no first line, and that is where the header should be.
            line: self.lines.number().max(1),
            column: fault.at + 1,
            found: fault.found,
            expected: fault.expected,
            hint: fault.hint,
        }
    }
}

/// A line that is one number.
fn bare(line: &[u8]) -> Result<f64, Fault> {
    let fault = |hint: Option<&str>| Fault {
        at: 0,
        found: excerpt(line),
        expected: "one finite number, the prediction".to_owned(),
        hint: hint.map(str::to_owned),
    };
    let is_table = line.iter().any(|byte| matches!(byte, b',' | b'\t' | b';'));
    finite(line).ok_or_else(|| match line.trim_ascii() {
        [] => fault(Some("every line has one, in the order of the examples")),
        _ => fault(is_table.then_some(COLUMN_HINT)),
    })
}

/// A finite number with nothing but blanks around it.
fn finite(text: &[u8]) -> Option<f64> {
    let number: f64 = str::from_utf8(text.trim_ascii()).ok()?.parse().ok()?;
    number.is_finite().then_some(number)
}

impl Table {
    fn new(header: &[u8], columns: &PredictionColumns) -> Result<Self, Fault> {
        let separator = separator(header);
        let mut fields = Vec::new();
        split(header, separator, &mut fields)?;
        let all: Vec<String> =
            fields.iter().map(|field| unquoted(&header[field.clone()])).collect();
        let names = match columns {
            PredictionColumns::Named(names) => names.clone(),
            PredictionColumns::All | PredictionColumns::Bare => all.clone(),
        };
        let picks = names.iter().map(|name| find(name, &all, header)).collect::<Result<_, _>>()?;
        Ok(Self { separator, width: all.len(), picks, names, fields })
    }

    fn read(&mut self, line: &[u8], row: &mut Vec<f64>) -> Result<(), Fault> {
        split(line, self.separator, &mut self.fields)?;
        if self.fields.len() != self.width {
            return Err(self.width_fault(line));
        }
        for (&pick, name) in self.picks.iter().zip(&self.names) {
            let field = self.fields[pick].clone();
            let number = finite(&line[field.clone()]);
            row.push(number.ok_or_else(|| Fault {
                at: field.start,
                found: excerpt(&line[field]),
                expected: format!("a finite number in the column {}", quoted(name)),
                hint: None,
            })?);
        }
        Ok(())
    }

    #[cold]
    fn width_fault(&self, line: &[u8]) -> Fault {
        let fields = |count| format!("{count} field{}", if count == 1 { "" } else { "s" });
        Fault {
            at: 0,
            found: excerpt(line),
            expected: format!("{}, as in the header", fields(self.width)),
            hint: Some(format!("this line has {}", fields(self.fields.len()))),
        }
    }
}

/// Where the column called `name` is. There must be exactly one.
fn find(name: &str, all: &[String], header: &[u8]) -> Result<usize, Fault> {
    let mut places = all.iter().enumerate().filter(|(_, other)| *other == name);
    match (places.next(), places.next()) {
        (Some((place, _)), None) => Ok(place),
        (found, _) => {
            let number = if found.is_some() { "one column" } else { "a column" };
            Err(Fault {
                at: 0,
                found: excerpt(header),
                expected: format!("a header with {number} called {}", quoted(name)),
                hint: None,
            })
        }
    }
}

/// The first comma or tab outside quotes; a comma if there is neither.
fn separator(header: &[u8]) -> u8 {
    let mut quoted = false;
    let mut outside = header.iter().filter(|byte| {
        quoted ^= **byte == b'"';
        !quoted
    });
    *outside.find(|byte| matches!(byte, b',' | b'\t')).unwrap_or(&b',')
}

/// The fields of a line, without the quotes around them.
fn split(line: &[u8], separator: u8, fields: &mut Vec<Range<usize>>) -> Result<(), Fault> {
    fields.clear();
    let mut start = 0;
    loop {
        let quoted = line.get(start) == Some(&b'"');
        let end = if quoted { after_quotes(line, start)? } else { start };
        let rest = &line[end..];
        let length = rest.iter().position(|&byte| byte == separator).unwrap_or(rest.len());
        if quoted && length > 0 {
            return Err(fault(line, end, "the end of the field after its closing quote"));
        }
        if rest[..length].contains(&b'"') {
            return Err(fault(line, start, "quotes around the whole field or none"));
        }
        fields.push(if quoted { start + 1..end - 1 } else { start..start + length });
        start = end + length + 1;
        if start > line.len() {
            return Ok(());
        }
    }
}

/// Where a quoted field that starts at `start` ends, its closing quote included.
fn after_quotes(line: &[u8], start: usize) -> Result<usize, Fault> {
    let mut at = start + 1;
    while let Some(distance) = line[at..].iter().position(|&byte| byte == b'"') {
        at += distance + 1;
        if line.get(at) != Some(&b'"') {
            return Ok(at);
        }
        at += 1;
    }
    Err(fault(line, start, "a closing quote on the same line"))
}

fn fault(line: &[u8], at: usize, expected: &str) -> Fault {
    Fault { at, found: excerpt(&line[at..]), expected: expected.to_owned(), hint: None }
}

/// The text of a field. What is not UTF-8 matches no name.
fn unquoted(field: &[u8]) -> String {
    String::from_utf8_lossy(field).replace("\"\"", "\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str, columns: &PredictionColumns) -> Result<Vec<Vec<f64>>, String> {
        let mut predictions =
            Predictions::new("p", text.as_bytes(), columns).map_err(|error| error.to_string())?;
        let (mut rows, mut row) = (Vec::new(), Vec::new());
        while predictions.next_row(&mut row).map_err(|error| error.to_string())? {
            rows.push(row.clone());
        }
        Ok(rows)
    }

    fn named(names: &[&str]) -> PredictionColumns {
        PredictionColumns::Named(names.iter().map(|&name| name.to_owned()).collect())
    }

    #[test]
    fn one_number_per_line() {
        let rows = [vec![1.5], vec![-2.0], vec![0.003]];
        for text in ["1.5\n-2\n3e-3\n", "+1.5\r\n -2.0\t\r\n.003", "\u{feff}1.5\n-2\n3e-3"] {
            assert_eq!(read(text, &PredictionColumns::Bare).unwrap(), rows, "{text:?}");
        }
        assert_eq!(read("", &PredictionColumns::Bare).unwrap(), Vec::<Vec<f64>>::new());
    }

    #[test]
    fn lines_that_are_not_one_number() {
        let every = "; every line has one, in the order of the examples";
        let table = "; a column of a table with a header is chosen with --prediction-column";
        for (text, at, found, hint) in [
            ("1\n\n2\n", "2:1", "", every),
            ("1\n  \n", "2:1", "  ", every),
            ("1\n# 2\n", "2:1", "# 2", ""),
            ("nan\n", "1:1", "nan", ""),
            ("1\n2\n-inf\n", "3:1", "-inf", ""),
            ("1e999\n", "1:1", "1e999", ""),
            ("score\n1\n", "1:1", "score", ""),
            ("1 2\n", "1:1", "1 2", ""),
            ("a,b\n", "1:1", "a,b", table),
            ("0,5\n", "1:1", "0,5", table),
        ] {
            let expected = format!(
                "p:{at}: found \"{found}\", expected one finite number, the prediction{hint}"
            );
            assert_eq!(read(text, &PredictionColumns::Bare), Err(expected));
        }
    }

    #[test]
    fn columns_of_a_table() {
        let text = "id,a,\"b \"\"two\"\", c\"\n\"x, \"\"y\"\"\",1,2\n,\"-3\", 4\n";
        assert_eq!(read(text, &named(&["a"])).unwrap(), [[1.0], [-3.0]]);
        assert_eq!(read(text, &named(&["b \"two\", c", "a"])).unwrap(), [[2.0, 1.0], [4.0, -3.0]]);
        assert_eq!(read("a\tb,c\n1\t2\n", &PredictionColumns::All).unwrap(), [[1.0, 2.0]]);
        assert_eq!(read("\"a\tb\",c\n1,2\n", &named(&["a\tb"])).unwrap(), [[1.0]]);
        assert_eq!(read("a\n1\n2", &PredictionColumns::All).unwrap(), [[1.0], [2.0]]);
    }

    #[test]
    fn tables_that_are_not_in_order() {
        let all = &PredictionColumns::All;
        for (text, columns, error) in [
            ("", all, "1:1: found \"\", expected a header with the names of the columns"),
            (
                "a,b\n",
                &named(&["c"]),
                "1:1: found \"a,b\", expected a header with a column called \"c\"",
            ),
            ("a,a\n", all, "1:1: found \"a,a\", expected a header with one column called \"a\""),
            (
                "a,b\n1,2\n3\n",
                all,
                "3:1: found \"3\", expected 2 fields, as in the header; this line has 1 field",
            ),
            (
                "a,b\n1,2,3\n",
                all,
                "2:1: found \"1,2,3\", expected 2 fields, as in the header; this line has 3 fields",
            ),
            (
                "a,b\n\n",
                all,
                "2:1: found \"\", expected 2 fields, as in the header; this line has 1 field",
            ),
            ("a\n\n", all, "2:1: found \"\", expected a finite number in the column \"a\""),
            ("a,b\n1,x\n", all, "2:3: found \"x\", expected a finite number in the column \"b\""),
            (
                "a,b\n1,nan\n",
                all,
                "2:3: found \"nan\", expected a finite number in the column \"b\"",
            ),
            (
                "a,b\n1,\"2\n\"",
                all,
                "2:3: found \"\\\"2\", expected a closing quote on the same line",
            ),
            (
                "a,b\n\"1\"2,3\n",
                all,
                "2:4: found \"2,3\", expected the end of the field after its closing quote",
            ),
            (
                "a,b\n1\"2\",3\n",
                all,
                "2:1: found \"1\\\"2\\\",3\", expected quotes around the whole field or none",
            ),
        ] {
            assert_eq!(read(text, columns), Err(format!("p:{error}")));
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            rows in prop::collection::vec(prop::array::uniform3(-1e9..1e9_f64), 0..20),
            tabs in any::<bool>(),
        ) {
            let separator = if tabs { "\t" } else { "," };
            let line = |row: &[String; 3]| row.join(separator) + "\n";
            let names = ["a".to_owned(), "\"b\"".to_owned(), "c".to_owned()];
            let numbers = rows.iter().map(|row| line(&row.map(|number| number.to_string())));
            let text: String = std::iter::once(line(&names)).chain(numbers).collect();
            let expected: Vec<Vec<f64>> = rows.iter().map(|row| row.to_vec()).collect();
            prop_assert_eq!(read(&text, &PredictionColumns::All).unwrap(), expected);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(
            prop::sample::select(b"\",\t\n1a.\xff\r".to_vec()), 0..40,
        )) {
            for columns in [PredictionColumns::Bare, PredictionColumns::All, named(&["a"])] {
                let Ok(mut predictions) = Predictions::new("p", &bytes[..], &columns) else {
                    continue;
                };
                let mut row = Vec::new();
                while let Ok(true) = predictions.next_row(&mut row) {
                    assert_eq!(row.len(), predictions.names().len().max(1));
                }
            }
        }
    }
}
