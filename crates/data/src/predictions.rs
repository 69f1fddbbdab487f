//! Reads the predictions of other models from a file of their own: one number per line, or columns
//! of a table.
//!
//! The file is read like every table (see [`table`](crate::table)): it has the same separators,
//! quotes and cells without a value. In a file with a single column no line is skipped, because an
//! empty line there is a missing prediction.

use crate::error::excerpt;
use crate::input::{Enough, Input};
use crate::schema::{Column, Columns, Role, find};
use crate::table::{Separator, Table, header_of};
use crate::{Bits, DataError, Follow, LabelRule, Phrase, Reader, Reading, Schema, Source};
use rueful_core::Batch;
use std::num::NonZeroUsize;

/// The number of bytes that are looked at to find the names of the columns.
const SAMPLE: usize = 1 << 16;

/// The place of the predictions in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PredictionColumns {
    /// The file has one number per line and nothing else.
    Bare,
    /// The file is a table, and these columns are read in this order. They are given by name, or by
    /// number, counted from 1.
    Named(Vec<String>),
    /// The file is a table, and every column is read.
    All,
}

/// A reader of predictions: one row per example, and one number per model.
///
/// ```
/// use rueful_data::{Follow, Input, PredictionColumns, Predictions};
/// let text = "day,tree,\"net, large\"\n1,0.5,-2\n2,1e-3,4\n";
/// let input = Input::new("models.csv", text.as_bytes(), &Follow::No)?;
/// let columns = PredictionColumns::Named(vec!["net, large".into(), "tree".into()]);
/// let mut predictions = Predictions::new(input, &columns)?;
/// let mut row = Vec::new();
/// assert!(predictions.next_row(&mut row)?);
/// assert_eq!(row, [-2.0, 0.5]);
/// assert!(predictions.next_row(&mut row)?);
/// assert_eq!((&row[..], predictions.line()), (&[4.0, 1e-3][..], 3));
/// assert!(!predictions.next_row(&mut row)?);
/// # Ok::<(), rueful_data::DataError>(())
/// ```
#[derive(Debug)]
pub struct Predictions {
    name: String,
    is_bare: bool,
    /// The names of the models, and the places of their numbers among the predictions of a row.
    names: Vec<String>,
    order: Vec<usize>,
    /// The number of predictions in a row of the file.
    width: usize,
    reader: Reader,
    batch: Batch,
    /// The next row of the batch.
    next: usize,
    line: u64,
}

/// A table of predictions, the names of the columns that are read, and their places.
struct Picked {
    table: Table,
    names: Vec<String>,
    order: Vec<usize>,
}

impl Predictions {
    /// Opens a file and, if it is a table, reads the header. `-` is standard input.
    pub fn open(path: &str, columns: &PredictionColumns) -> Result<Self, DataError> {
        Self::new(Input::open(path, &Follow::No)?, columns)
    }

    /// Reads from an input. If it is a table, reads the header.
    pub fn new(mut input: Input, columns: &PredictionColumns) -> Result<Self, DataError> {
        let name = input.name().to_owned();
        let is_bare = *columns == PredictionColumns::Bare;
        let Picked { table, names, order } =
            if is_bare { Picked::bare() } else { Picked::new(&mut input, columns)? };
        let width = table.columns.predictions().count();
        let threads = NonZeroUsize::MIN;
        let reading = Reading { constant: false, threads, ..Reading::new(LabelRule::Ignored) };
        let reader = Reader::new(vec![input], &Schema::Csv(table), &reading);
        let batch = Batch::default();
        Ok(Self { name, is_bare, names, order, width, reader, batch, next: 0, line: 0 })
    }

    /// The file, as errors call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of the columns that are read. There are none if the file is not a table.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The number of predictions for each example.
    pub fn models(&self) -> usize {
        self.order.len()
    }

    /// The line where the last row that was read begins, counted from 1. It is 0 before the first
    /// row.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Replaces `row` by the predictions for the next example, all of them finite. Returns whether
    /// there were any.
    pub fn next_row(&mut self, row: &mut Vec<f64>) -> Result<bool, DataError> {
        row.clear();
        if self.next == self.batch.len() {
            self.next = 0;
            match self.reader.fill(&mut self.batch) {
                Ok(true) => {}
                // The caller has the examples and knows how many predictions there should have
                // been.
                Ok(false) | Err(DataError::EmptyFile { .. }) => return Ok(false),
                Err(error) => return Err(self.explain(error)),
            }
        }
        let predictions = &self.reader.predictions()[self.next * self.width..];
        row.extend(self.order.iter().map(|&place| predictions[place]));
        self.line = self.reader.line(self.next).unwrap_or(self.line);
        self.next += 1;
        Ok(true)
    }

    /// If a table was read as one number per line, the error says that it is a table.
    #[cold]
    fn explain(&self, mut error: DataError) -> DataError {
        if let DataError::Parse { found, hint, .. } = &mut error
            && self.is_bare
            && (found.contains([',', ';']) || found.contains("\\t"))
        {
            let said = "a column of a table with a header is chosen with ";
            *hint = Some(Phrase::from(said).setting("prediction-column"));
        }
        error
    }
}

/// The columns that a person wishes, by name or by number.
fn picks(file: &str, names: &[String], wished: &[String]) -> Result<Vec<usize>, DataError> {
    let find = |name| find(file, names, "prediction-column", name, &mut Vec::new());
    wished.iter().map(|name| find(name)).collect()
}

/// The order in which a person wishes the predictions of a row, which are read in the order of their
/// columns.
///
/// ```
/// use rueful_data::{Column, PredictionOrder, Role};
/// let column = |name: &str, role| Column { name: name.to_owned(), role };
/// let [tree, net] = [column("tree", Role::Prediction), column("net", Role::Prediction)];
/// let columns = [tree, column("bought", Role::Label), net];
/// let wished = ["net".to_owned(), "1".to_owned()];
/// let order = PredictionOrder::find("log.csv", &columns, &wished)?;
/// assert_eq!((&order.names[..], &order.order[..]), (&["net", "tree"].map(String::from)[..], &[1, 0][..]));
/// # Ok::<(), rueful_data::DataError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PredictionOrder {
    /// The names of the columns, in the order of the wishes.
    pub names: Vec<String>,
    /// The place of each among the predictions of a row.
    pub order: Vec<usize>,
    /// The number of predictions in a row.
    pub width: usize,
}

impl PredictionOrder {
    /// Finds the wished columns among those of a table. All that have the role of a prediction must be
    /// wished.
    pub fn find(file: &str, columns: &[Column], wished: &[String]) -> Result<Self, DataError> {
        let names: Vec<_> = columns.iter().map(|column| column.name.clone()).collect();
        Ok(Self::of(&picks(file, &names, wished)?, &names))
    }

    fn of(picks: &[usize], columns: &[String]) -> Self {
        let mut places = picks.to_vec();
        places.sort_unstable();
        places.dedup();
        let place = |pick| places.binary_search(pick).unwrap_or(0);
        Self {
            names: picks.iter().map(|&pick| columns[pick].clone()).collect(),
            order: picks.iter().map(place).collect(),
            width: places.len(),
        }
    }
}

impl Picked {
    /// A file with one number per line.
    fn bare() -> Self {
        let column = Column { name: "1".to_owned(), role: Role::Prediction };
        let table = table(Separator::Comma, true, false, vec![column]);
        Self { table, names: Vec::new(), order: vec![0] }
    }

    /// The columns that are asked for, in a table with a header.
    fn new(input: &mut Input, columns: &PredictionColumns) -> Result<Self, DataError> {
        let file = input.name().to_owned();
        let limit = Reading::new(LabelRule::Ignored).limits.max_line_bytes;
        let (beginning, is_whole) = input.peek(SAMPLE, limit, |beginning| {
            if memchr::memchr(b'\n', beginning).is_some() { Enough::AtLeast } else { Enough::No }
        })?;
        let (separator, quotes, header) =
            header_of(beginning, is_whole, &Separator::ALL).ok_or_else(|| no_header(&file))?;
        if let Some(twice) = Columns::repeated(&header) {
            return Err(DataError::Unsuitable {
                file,
                found: format!("two columns named \"{}\"", excerpt(twice.as_bytes())),
                expected: "different names".into(),
            });
        }
        let picks = match columns {
            PredictionColumns::Named(wished) => picks(&file, &header, wished)?,
            PredictionColumns::All | PredictionColumns::Bare => (0..header.len()).collect(),
        };
        let PredictionOrder { names, order, .. } = PredictionOrder::of(&picks, &header);
        let role = |column| if picks.contains(&column) { Role::Prediction } else { Role::Drop };
        let columns = header.into_iter().enumerate();
        let columns = columns.map(|(number, name)| Column { name, role: role(number) });
        Ok(Self { table: table(separator, quotes, true, columns.collect()), names, order })
    }
}

fn table(separator: Separator, quotes: bool, header: bool, columns: Vec<Column>) -> Table {
    let columns = Columns::unlabelled(columns);
    Table { separator, quotes, header, bits: Bits::default(), columns }
}

#[cold]
fn no_header(file: &str) -> DataError {
    DataError::Parse {
        file: file.to_owned(),
        line: 1,
        column: 1,
        found: String::new(),
        expected: "a header with the names of the columns".to_owned(),
        hint: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Cursor;

    fn open(text: &[u8], columns: &PredictionColumns) -> Result<Predictions, DataError> {
        let input = Input::new("p", Cursor::new(text.to_vec()), &Follow::No)?;
        Predictions::new(input, columns)
    }

    fn read(text: &str, columns: &PredictionColumns) -> Result<Vec<Vec<f64>>, String> {
        let mut predictions = open(text.as_bytes(), columns).map_err(|error| error.to_string())?;
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
    fn a_prediction_is_a_double_to_the_last_bit() {
        let text = "0.30000000000000004\n1e300\n-4.9e-324\n";
        let rows = [[0.300_000_000_000_000_04], [1e300], [-4.9e-324]];
        assert_eq!(read(text, &PredictionColumns::Bare).unwrap(), rows);
    }

    #[test]
    fn lines_that_are_not_one_number() {
        let number = "a prediction, a finite number, in column \"1\"";
        let every = "; every row has one, in the order of the examples";
        let table = "; a column of a table with a header is chosen with prediction-column";
        for (text, at, found, expected, hint) in [
            ("1\n\n2\n", "2:1", "", number, every),
            ("1\n2\n\n", "3:1", "", number, every),
            ("1\r\n\r\n2\r\n", "2:1", "", number, every),
            ("1\n  \n", "2:3", "", number, every),
            ("1\n# 2\n", "2:1", "# 2", number, ""),
            ("nan\n", "1:1", "nan", number, ""),
            ("1\n2\n-inf\n", "3:1", "-inf", number, ""),
            ("1e999\n", "1:1", "1e999", number, ""),
            ("score\n1\n", "1:1", "score", number, ""),
            ("1 2\n", "1:1", "1 2", number, ""),
            ("a,b\n", "1:1", "a,b", "1 cells, not 2", table),
            ("0,5\n", "1:1", "0,5", "1 cells, not 2", table),
            ("0;5\n", "1:1", "0;5", number, table),
        ] {
            let expected = format!("p:{at}: found \"{found}\", expected {expected}{hint}");
            assert_eq!(read(text, &PredictionColumns::Bare), Err(expected));
        }
    }

    #[test]
    fn columns_of_a_table() {
        let text = "id,a,\"b \"\"two\"\", c\"\n\"x, \"\"y\"\"\",1,2\n,\"-3\", 4\n";
        assert_eq!(read(text, &named(&["a"])).unwrap(), [[1.0], [-3.0]]);
        assert_eq!(read(text, &named(&["2"])).unwrap(), [[1.0], [-3.0]]);
        assert_eq!(read(text, &named(&["b \"two\", c", "a"])).unwrap(), [[2.0, 1.0], [4.0, -3.0]]);
        assert_eq!(read("a\tb,c\n1\t2\n", &PredictionColumns::All).unwrap(), [[1.0, 2.0]]);
        assert_eq!(read("a;b\n1;2\n", &PredictionColumns::All).unwrap(), [[1.0, 2.0]]);
        assert_eq!(read("\"a\tb\",c\n1,2\n", &named(&["a\tb"])).unwrap(), [[1.0]]);
        assert_eq!(read("a\n1\n2", &PredictionColumns::All).unwrap(), [[1.0], [2.0]]);
        assert_eq!(read("a,b\n", &PredictionColumns::All).unwrap(), Vec::<Vec<f64>>::new());
    }

    #[test]
    fn a_row_is_on_the_line_where_it_begins() {
        let text = "note,p\n\"two\nlines\",1\n\nx,2\n";
        let mut predictions = open(text.as_bytes(), &named(&["p"])).unwrap();
        let (mut row, mut lines) = (Vec::new(), Vec::new());
        while predictions.next_row(&mut row).unwrap() {
            lines.push((predictions.line(), row[0]));
        }
        assert_eq!(lines, [(2, 1.0), (5, 2.0)]);
    }

    #[test]
    fn tables_that_are_not_in_order() {
        let all = &PredictionColumns::All;
        for (text, columns, error) in [
            ("", all, ":1:1: found \"\", expected a header with the names of the columns"),
            (
                "a,b\n",
                &named(&["c"]),
                ": prediction-column names \"c\", expected a column; the columns are: a, b",
            ),
            ("a,a\n", all, ": found two columns named \"a\", expected different names"),
            ("a,b\n1,2\n3\n", all, ":3:1: found \"3\", expected 2 cells, not 1"),
            ("a,b\n1,2,3\n", all, ":2:1: found \"1,2,3\", expected 2 cells, not 3"),
            (
                "a\n\n",
                all,
                ":2:1: found \"\", expected a prediction, a finite number, in column \"a\"; every \
                 row has one, in the order of the examples",
            ),
            (
                "a,b\n1,x\n",
                all,
                ":2:3: found \"x\", expected a prediction, a finite number, in column \"b\"",
            ),
            (
                "a,b\n1,nan\n",
                all,
                ":2:3: found \"nan\", expected a prediction, a finite number, in column \"b\"",
            ),
            ("a,b\n1,\"2\n", all, ":2:3: found \"\\\"2\", expected a quote that closes this one"),
        ] {
            assert_eq!(read(text, columns), Err(format!("p{error}")), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            rows in prop::collection::vec(prop::array::uniform3(-1e9..1e9_f64), 0..20),
            separator in prop::sample::select(vec!["\t", ",", ";", "|"]),
        ) {
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
                let Ok(mut predictions) = open(&bytes, &columns) else { continue };
                let mut row = Vec::new();
                while let Ok(true) = predictions.next_row(&mut row) {
                    assert_eq!(row.len(), predictions.models());
                    assert_eq!(row.len(), predictions.names().len().max(1));
                }
            }
        }
    }
}
