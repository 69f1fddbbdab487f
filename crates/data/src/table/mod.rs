//! Tables as text: comma-separated values and their relatives.
//!
//! There is one record per row, and it has as many cells as there are columns. Empty lines are
//! skipped. But if the only column is one of predictions, an empty line is a cell without a value,
//! because predictions must not be skipped. Cells may be quoted as in RFC 4180 (see [`cells`]). The
//! [`Role`](crate::Role) of a column decides how its cells are used.
//!
//! Cells that are empty or one of `?`, `NA`, `N/A`, `NaN`, `nan`, `null`, `NULL`, `None` hold no
//! value. They are absent from the row, and counted. In a column of running text only the empty
//! cell is missing.

pub(crate) mod cells;
mod infer;
pub(crate) mod plan;
pub(crate) mod words;

pub(crate) use infer::{date_note, has_rows, header_in, header_of, infer};

use crate::Bits;
use crate::format::{Fault, Format, quoted};
use crate::rows::{Rows, Space};
use crate::schema::Columns;
use crate::source::Reading;
use crate::text::Text;
use cells::{Cell, Dialect, QuoteFault};
use plan::{Action, Filler, Plan};
use serde::{Deserialize, Serialize};

/// How a table is written, and the roles of its columns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The character between two cells.
    pub separator: Separator,
    /// Whether a cell that begins with a quote goes on to the closing quote.
    pub quotes: bool,
    /// Whether the first record of every file names the columns.
    pub header: bool,
    /// The number of bits in the index of a feature that has a name.
    pub bits: Bits,
    /// The columns, from left to right.
    pub columns: Columns,
}

/// The character between two cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Separator {
    /// `,`
    Comma,
    /// `;`
    Semicolon,
    /// A tab.
    Tab,
    /// `|`
    Bar,
}

impl Separator {
    /// All separators, the most usual first.
    pub const ALL: [Self; 4] = [Self::Comma, Self::Tab, Self::Semicolon, Self::Bar];

    pub(crate) fn byte(self) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Semicolon => b';',
            Self::Tab => b'\t',
            Self::Bar => b'|',
        }
    }

    /// The word for text with this separator.
    pub(crate) fn adjective(self) -> &'static str {
        match self {
            Self::Comma => "comma-separated",
            Self::Semicolon => "semicolon-separated",
            Self::Tab => "tab-separated",
            Self::Bar => "bar-separated",
        }
    }
}

/// The format, and how its rows are read.
#[derive(Debug)]
pub(crate) struct Csv {
    dialect: Dialect,
    header: bool,
    plan: Plan,
}

impl Csv {
    pub(crate) fn new(table: &Table, reading: &Reading) -> Self {
        let space = Space { bits: table.bits, max_index: reading.limits.max_index };
        Self {
            dialect: table.dialect(),
            header: table.header,
            plan: Plan::new(&table.columns, space, reading),
        }
    }
}

impl Table {
    fn dialect(&self) -> Dialect {
        Dialect { separator: self.separator.byte(), quotes: self.quotes }
    }
}

impl Format for Csv {
    fn read(&self, text: Text<'_>, rows: &mut Rows) -> Result<(), Fault> {
        let records = Records { format: self, text, bytes: text.bytes() };
        let mut buffer = Vec::new();
        let mut at = 0;
        if text.is_first && self.header {
            at = records.check_header(&mut buffer)?;
        }
        let mut filler = self.plan.filler(rows);
        while at < text.len() {
            at = records.read(at, &mut filler, rows, &mut buffer)?;
        }
        Ok(())
    }

    fn cut(&self, text: &[u8]) -> Option<usize> {
        self.dialect.cut(text)
    }

    fn first_record(&self, text: &[u8]) -> usize {
        self.dialect.first_record(text).unwrap_or(text.len())
    }

    /// The header may come after empty lines.
    fn has_head(&self, beginning: &[u8]) -> bool {
        let start = self.dialect.skip_empty_lines(beginning);
        !self.header || self.dialect.cut(&beginning[start..]).is_some()
    }
}

/// A text that is being turned into rows.
struct Records<'a> {
    format: &'a Csv,
    text: Text<'a>,
    /// The text without the padding behind it.
    bytes: &'a [u8],
}

impl Records<'_> {
    /// Adds the row of the record that begins at `start`, if it has one. Returns where the next
    /// record begins.
    ///
    /// Numbers are the most frequent cells. So a number is read first, and its end is the end of
    /// the cell. If that fails, and for other cells, the end of the cell is found first.
    #[inline]
    fn read(
        &self,
        start: usize,
        filler: &mut Filler,
        rows: &mut Rows,
        buffer: &mut Vec<u8>,
    ) -> Result<usize, Fault> {
        let Csv { dialect, plan, .. } = self.format;
        if dialect.is_record_end(self.bytes, start) && !plan.is_one_prediction() {
            return Ok(Dialect::next_record(self.bytes, start));
        }
        plan.begin(filler, rows);
        let padded = self.text.padded();
        let is_end = |at| dialect.is_cell_end(self.bytes, at);
        let last = plan.actions.len() - 1;
        let mut at = start;
        for (column, action) in plan.actions.iter().enumerate() {
            let next = match action {
                Action::Number(place) => plan.number_at(filler, *place, padded, at, is_end),
                Action::Label => plan.label_at(filler, rows, padded, at, is_end),
                _ => None,
            };
            at = match next {
                Some(next) => next,
                None => {
                    let cell = self.cell(at)?;
                    let content = cell.content(self.bytes, buffer);
                    plan.cell(filler, rows, column, content, cell.start)
                        .map_err(|fault| self.explain(start, fault))?;
                    cell.next
                }
            };
            let is_last = dialect.is_record_end(self.bytes, at);
            if is_last != (column == last) {
                return Err(self.width_fault(start));
            }
            at += usize::from(!is_last);
        }
        plan.finish(filler, rows, start, &self.bytes[start..at])?;
        Ok(Dialect::next_record(self.bytes, at))
    }

    fn cell(&self, at: usize) -> Result<Cell, Fault> {
        self.format.dialect.cell(self.bytes, at).map_err(|fault| self.quote_fault(fault))
    }

    /// Compares the header with the names of the columns. Returns where the first row begins.
    fn check_header(&self, buffer: &mut Vec<u8>) -> Result<usize, Fault> {
        let mut at = self.format.dialect.skip_empty_lines(self.bytes);
        if at >= self.bytes.len() {
            return Ok(at);
        }
        let Csv { dialect, plan, .. } = self.format;
        let start = at;
        let last = plan.actions.len() - 1;
        for column in 0..=last {
            let cell = self.cell(at)?;
            let content = cell.content(self.bytes, buffer);
            if String::from_utf8_lossy(content) != plan.name(column) {
                return Err(header_fault(cell.start, content, column, plan.name(column)));
            }
            let is_last = dialect.is_record_end(self.bytes, cell.next);
            if is_last != (column == last) {
                return Err(self.header_width_fault(start));
            }
            at = cell.next + usize::from(!is_last);
        }
        Ok(Dialect::next_record(self.bytes, at))
    }
}

/// The faults, with explanations.
impl Records<'_> {
    /// If a record has the wrong width, the fault says that, and not what follows from it.
    #[cold]
    fn explain(&self, start: usize, fault: Fault) -> Fault {
        match self.width(start) {
            Ok((width, _)) if width != self.format.plan.actions.len() => self.width_fault(start),
            _ => fault,
        }
    }

    #[cold]
    fn width_fault(&self, start: usize) -> Fault {
        let wanted = self.format.plan.actions.len();
        match self.width(start) {
            Ok((width, end)) => {
                let record = &self.bytes[start..end];
                Fault::new(start, record, format!("{wanted} cells, not {width}"))
            }
            Err(fault) => self.quote_fault(fault),
        }
    }

    #[cold]
    fn header_width_fault(&self, start: usize) -> Fault {
        self.width_fault(start).hint(SAME_HEADER)
    }

    /// The number of cells in the record that begins at `start`, and the place where it ends.
    fn width(&self, start: usize) -> Result<(usize, usize), QuoteFault> {
        let dialect = self.format.dialect;
        let (mut width, mut at) = (0, start);
        loop {
            at = dialect.cell(self.bytes, at)?.next;
            width += 1;
            if dialect.is_record_end(self.bytes, at) {
                return Ok((width, at));
            }
            at += 1;
        }
    }

    #[cold]
    fn quote_fault(&self, fault: QuoteFault) -> Fault {
        let line = |at: usize| {
            let rest = &self.bytes[at..];
            &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())]
        };
        match fault {
            QuoteFault::Open(at) => Fault::new(at, line(at), "a quote that closes this one"),
            QuoteFault::Behind(at) => {
                Fault::new(at, line(at), "the end of the cell after its closing quote")
                    .hint("a quote within quotes is written twice")
            }
        }
    }
}

const SAME_HEADER: &str = "all files must begin with the same header";

#[cold]
fn header_fault(at: usize, found: &[u8], column: usize, name: &str) -> Fault {
    let number = column + 1;
    let expected = format!("{}, the name of column {number}", quoted(name));
    Fault::new(at, found, expected).hint(SAME_HEADER)
}
