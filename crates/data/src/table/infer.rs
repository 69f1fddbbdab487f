//! Infers how a table is written, and what its columns hold, from its beginning.
//!
//! - **Separator**: comma, tab, semicolon or bar. The one is chosen that gives every record the
//!   same number of cells, and the most of them.
//! - **Header**: the first record names the columns in three cases. First, if a setting refers to
//!   one of its cells by name. The other two cases need a record in which no cell is a number,
//!   except for a column's own position, and only the first cell may be empty. Second, if such a
//!   record has a word in a column of numbers or dates. Third, if no column holds numbers or dates,
//!   the cells of the record are different, and none of them occurs again in its column although
//!   other cells do. Otherwise the record is a row.
//! - **Columns**: a column holds numbers if more than nine in ten of the cells with a value are
//!   numbers. A cell that is not a number is then an error, and not a reason to take every number
//!   for a name. A column that holds only words for true and false holds numbers too: 1 and 0.
//!   Dates are recognised by the same rule as numbers. Any other column holds categories.

use super::cells::Dialect;
use super::plan::{argument, is_infinite, is_missing, truth_in};
use super::{Separator, Table};
use crate::DataError;
use crate::error::excerpt;
use crate::format::quoted;
use crate::moment::Moment;
use crate::number::double_at;
use crate::phrase::Phrase;
use crate::schema::{Column, Columns, FormatSettings, Role, listed_up_to};
use std::collections::{BTreeSet, HashMap, HashSet};

/// A table with more columns than this is refused.
const MAX_COLUMNS: usize = 1 << 20;

/// Cells beyond this number are not looked at.
const MAX_CELLS: usize = 1 << 21;

/// From this many values on, a note is made if almost every value is new.
const ENOUGH_VALUES: usize = 20;

/// The number of places that are shown for a name that occurs again.
const PLACES_SHOWN: usize = 6;

/// The contents of the cells of a record, without quotes.
type Record = Vec<Vec<u8>>;

/// The inferred table, and notes about it.
pub(crate) struct Inferred {
    pub(crate) table: Table,
    pub(crate) notes: Vec<Phrase>,
}

/// Infers the table that begins with `beginning`, which is the whole table if `is_whole`. The
/// separator is one of `separators`.
pub(crate) fn infer(
    name: &str,
    beginning: &[u8],
    is_whole: bool,
    separators: &[Separator],
    format_settings: &FormatSettings,
) -> Result<Inferred, DataError> {
    let (separator, quotes, records) = dialect(beginning, is_whole, separators);
    let sample = Sample::new(name, records, format_settings)?;
    let mut notes = vec![sample.header_note(separator)];
    let columns = sample.columns(format_settings, &mut notes)?;
    let header = sample.header;
    Ok(Inferred {
        table: Table { separator, quotes, header, bits: format_settings.bits, columns },
        notes,
    })
}

/// Whether the beginning of a table holds a header or a row, and another row after it.
pub(crate) fn has_rows(beginning: &[u8], separators: &[Separator]) -> bool {
    // There cannot be more records than lines.
    let is_whole = |(start, line): &(usize, &[u8])| start + line.len() < beginning.len();
    let lines = crate::text::lines(beginning).filter(|(_, line)| !line.is_empty());
    lines.take_while(is_whole).take(2).count() == 2
        && dialect(beginning, false, separators).2.len() >= 2
}

/// The separator of a table with a header, whether it has quotes, and the names of its columns.
/// Returns none if the table has no record.
pub(crate) fn header_of(
    beginning: &[u8],
    is_whole: bool,
    separators: &[Separator],
) -> Option<(Separator, bool, Vec<String>)> {
    let text = beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(beginning);
    let (separator, quotes, records) = dialect(text, is_whole, separators);
    let header = records.into_iter().next()?;
    let names = header.iter().map(|cell| String::from_utf8_lossy(cell).into_owned());
    Some((separator, quotes, names.collect()))
}

/// The cells of the first record, in a table that is written like `table`. Returns none if there is
/// no record.
pub(crate) fn header_in(beginning: &[u8], is_whole: bool, table: &Table) -> Option<Vec<String>> {
    let header = records(beginning, is_whole, table.dialect()).into_iter().next()?;
    Some(header.iter().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect())
}

/// The first records, the names of their columns, and whether there is a header.
struct Sample<'a> {
    file: &'a str,
    /// The names of the columns.
    names: Vec<String>,
    header: bool,
    /// The records that are as wide as the first, without the header.
    rows: Vec<Record>,
}

/// Chooses one of the separators.
fn dialect(
    beginning: &[u8],
    is_whole: bool,
    separators: &[Separator],
) -> (Separator, bool, Vec<Record>) {
    let candidates = separators.iter().map(|&separator| {
        let quotes = has_quotes(beginning, separator);
        let dialect = Dialect { separator: separator.byte(), quotes };
        let records = records(beginning, is_whole, dialect);
        let width = records.first().map_or(0, Vec::len);
        let is_even = records.iter().all(|record| record.len() == width);
        ((width > 1, is_even, width), (separator, quotes, records))
    });
    let mut best = None;
    for (rank, candidate) in candidates {
        if best.as_ref().is_none_or(|(best_rank, _)| rank > *best_rank) {
            best = Some((rank, candidate));
        }
    }
    best.map_or((Separator::Comma, true, Vec::new()), |(_, candidate)| candidate)
}

/// Whether quotes have a meaning. In tab-separated text they seldom have one: only if the whole
/// first record is in quotes.
fn has_quotes(beginning: &[u8], separator: Separator) -> bool {
    if separator != Separator::Tab {
        return true;
    }
    let line = crate::text::lines(beginning).map(|(_, line)| line).find(|line| !line.is_empty());
    line.is_some_and(|line| {
        let is_quoted = |cell: &[u8]| cell.len() > 1 && cell[0] == b'"' && cell.ends_with(b"\"");
        line.split(|&byte| byte == b'\t').all(is_quoted)
    })
}

/// The records at the beginning of a table, without a last one that may be cut. Reading stops at a
/// broken record.
fn records(beginning: &[u8], is_whole: bool, dialect: Dialect) -> Vec<Record> {
    let end = if is_whole { beginning.len() } else { dialect.cut(beginning).unwrap_or(0) };
    let text = &beginning[..end];
    let mut records = Vec::new();
    let mut buffer = Vec::new();
    let mut cells = 0;
    let mut at = 0;
    'records: while at < text.len() {
        if dialect.is_record_end(text, at) {
            at = Dialect::next_record(text, at);
            continue;
        }
        let mut record = Vec::new();
        loop {
            let Ok(cell) = dialect.cell(text, at) else { break 'records };
            record.push(cell.content(text, &mut buffer).to_vec());
            cells += 1;
            at = cell.next;
            if dialect.is_record_end(text, at) || record.len() > MAX_COLUMNS {
                break;
            }
            at += 1;
        }
        records.push(record);
        if cells > MAX_CELLS {
            break;
        }
        at = Dialect::next_record(text, at);
    }
    records
}

/// Whether the cells form a column of numbers: nearly all are numbers, or all are booleans.
fn is_numeric(values: &[&[u8]]) -> bool {
    let count = |is: fn(&[u8]) -> bool| values.iter().filter(|cell| is(cell)).count();
    let (numbers, truths) = (count(is_number), count(|cell| truth_in(cell).is_some()));
    numbers == values.len() || truths == values.len() || is_nearly_all(numbers, values.len())
}

/// Whether the cells form a column of dates: nearly all are dates.
fn is_dates(values: &[&[u8]]) -> bool {
    let dates = values.iter().filter(|cell| Moment::is_date(cell)).count();
    is_nearly_all(dates, values.len())
}

/// The note about a column of dates.
pub(crate) fn date_note(name: &str) -> Phrase {
    let said = format!(
        "column {} has dates: years, month, weekday and hour of them are features (",
        quoted(name)
    );
    Phrase::from(said).setting("categorical").and(format!(" {}: each is a name)", argument(name)))
}

/// Whether `count` of `all` cells are so many that the others must be mistakes.
fn is_nearly_all(count: usize, all: usize) -> bool {
    count * 10 > all * 9
}

/// Whether a cell is meant as a number, even if it is one that cannot be learned from.
fn is_number(cell: &[u8]) -> bool {
    double_at(cell, 0).is_some_and(|(_, end)| end == cell.len()) || is_infinite(cell)
}

impl<'a> Sample<'a> {
    fn new(
        file: &'a str,
        mut rows: Vec<Record>,
        format_settings: &FormatSettings,
    ) -> Result<Self, DataError> {
        let empty = || DataError::EmptyFile { file: file.to_owned() };
        let first = rows.first().cloned().ok_or_else(empty)?;
        if first.len() > MAX_COLUMNS {
            let found = format!("more than {MAX_COLUMNS} columns");
            let expected = "at most that many".into();
            return Err(DataError::Unsuitable { file: file.to_owned(), found, expected });
        }
        rows.retain(|row| row.len() == first.len());
        let header = format_settings
            .header
            .unwrap_or_else(|| is_header(&first, &rows[1..], format_settings));
        let names: Vec<String> = if header {
            rows.remove(0);
            first.iter().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect()
        } else {
            (1..=first.len()).map(|number| number.to_string()).collect()
        };
        if let Some(twice) = Columns::repeated(&names) {
            let places: Vec<_> = (1..=names.len())
                .filter(|number| names[number - 1] == *twice)
                .map(|number| number.to_string())
                .collect();
            let places = listed_up_to(PLACES_SHOWN, &places);
            let found = match twice {
                "" => format!("columns {places} without a name"),
                _ => format!("columns {places} named {}", quoted(twice)),
            };
            let expected = Phrase::from("different names in the header; ")
                .setting("no-header")
                .and(" takes the first line for a row");
            return Err(DataError::Unsuitable { file: file.to_owned(), found, expected });
        }
        Ok(Self { file, names, header, rows })
    }

    fn header_note(&self, separator: Separator) -> Phrase {
        let kind = separator.adjective();
        let width = self.names.len();
        let columns = if width == 1 { "one column".to_owned() } else { format!("{width} columns") };
        if self.header {
            Phrase::from(format!("{kind} text, {columns}, named by the first line ("))
                .setting("no-header")
                .and(": it is a row)")
        } else {
            Phrase::from(format!("{kind} text, {columns}, no header ("))
                .setting("header")
                .and(": the first line names them)")
        }
    }

    fn columns(
        &self,
        format_settings: &FormatSettings,
        notes: &mut Vec<Phrase>,
    ) -> Result<Columns, DataError> {
        let mut roles = format_settings.roles(self.file, &self.names, notes)?;
        for (column, role) in roles.iter_mut().enumerate() {
            if role.is_none() {
                *role = Some(self.role(column, notes));
            }
        }
        let columns = self
            .names
            .iter()
            .zip(roles)
            .map(|(name, role)| Column { name: name.clone(), role: role.unwrap_or(Role::Drop) });
        let columns: Vec<_> = columns.collect();
        let columns = Columns::checked(columns).map_err(|expected| DataError::Unsuitable {
            file: self.file.to_owned(),
            found: "columns that do not go together".to_owned(),
            expected: expected.into(),
        })?;
        let expansion = format_settings.expansion.expansion(self.file, &columns, notes)?;
        Ok(columns.expanded(expansion))
    }

    /// The role of a column that no setting mentions.
    fn role(&self, column: usize, notes: &mut Vec<Phrase>) -> Role {
        let values: Vec<&[u8]> = self
            .rows
            .iter()
            .map(|row| row[column].as_slice())
            .filter(|cell| !is_missing(cell))
            .collect();
        if is_dates(&values) {
            notes.push(date_note(&self.names[column]));
            return Role::Date;
        }
        if is_numeric(&values) {
            if self.names[column].is_empty() {
                let number = column + 1;
                let said = format!("column {number} has no name, as row numbers have: ");
                let out = format!(" {number} leaves it out");
                notes.push(Phrase::from(said).setting("drop").and(out));
            }
            if values.is_empty() && !self.rows.is_empty() {
                let (name, rows) = (quoted(&self.names[column]), self.rows.len());
                let said = "taken for numbers";
                notes.push(
                    format!("column {name} has no value in the first {rows} rows: {said}").into(),
                );
            }
            return Role::Number;
        }
        notes.extend(category_note(&self.names[column], &values));
        Role::Category
    }
}

/// A note about a category that looks odd, if it does.
fn category_note(name: &str, values: &[&[u8]]) -> Option<Phrase> {
    let (name, word) = (quoted(name), argument(name));
    let blanks = |cell: &&[u8]| cell.iter().filter(|&&byte| byte == b' ').count();
    let distinct = values.iter().collect::<HashSet<_>>().len();
    let is_large = values.len() >= ENOUGH_VALUES;
    let numbers = values.iter().filter(|cell| is_number(cell)).count();
    let odd = values.iter().find(|cell| !is_number(cell)).map(|cell| excerpt(cell));
    let has_comma = |cell: &&&[u8]| cell.contains(&b',') && is_number(&swap_comma(cell));
    if values.iter().filter(has_comma).count() * 2 > values.len() {
        let said = "has decimal commas and is taken for categories: write points to have numbers";
        Some(format!("column {name} {said}").into())
    } else if numbers * 2 > values.len() {
        let odd = odd.unwrap_or_default();
        let said = "has numbers in most cells and is taken for categories because of";
        let said = Phrase::from(format!("column {name} {said} \"{odd}\": ")).setting("numeric");
        Some(said.and(format!(" {word} takes it for numbers")))
    } else if values.iter().map(blanks).sum::<usize>() >= 3 * values.len() {
        let features = format!(" {word} takes its words for features");
        let said = Phrase::from(format!("column {name} looks like running text: "));
        Some(said.setting("text").and(features))
    } else if is_large && distinct * 10 > values.len() * 9 {
        let said = "has a new value in almost every row, like an identifier or free text";
        let said = Phrase::from(format!("column {name} {said}: ")).setting("drop");
        Some(said.and(format!(" {word} or ")).setting("text").and(format!(" {word}")))
    } else {
        None
    }
}

fn swap_comma(cell: &[u8]) -> Vec<u8> {
    cell.iter().map(|&byte| if byte == b',' { b'.' } else { byte }).collect()
}

/// Whether the first record is a header. The rules are at the top of this file.
fn is_header(first: &Record, rows: &[Record], format_settings: &FormatSettings) -> bool {
    let width = first.len();
    let is_mentioned = |cell: &Vec<u8>| {
        let mut mentions = format_settings.columns();
        mentions.any(|name| name.as_bytes() == cell && !is_position(cell, 1..=width))
    };
    if first.iter().any(is_mentioned) {
        return true;
    }
    let is_odd = |(column, cell): (usize, &Vec<u8>)| {
        let is_nameless = cell.is_empty() && column > 0;
        is_nameless || is_number(cell) && !is_position(cell, column..=column + 1)
    };
    if rows.is_empty() || first.iter().enumerate().any(is_odd) {
        return false;
    }
    let cells =
        |column: usize| rows.iter().map(move |row| &row[column]).filter(|cell| !is_missing(cell));
    let is_numeric = |column: usize| {
        let all = cells(column).count();
        let is_plain = |cell: &&Vec<u8>| is_number(cell) || Moment::is_date(cell);
        is_nearly_all(cells(column).filter(is_plain).count(), all)
    };
    if (0..width).any(is_numeric) {
        let is_name = |cell: &[u8]| !is_number(cell) && !Moment::is_date(cell);
        return (0..width).any(|column| is_numeric(column) && is_name(&first[column]));
    }
    // If nothing else tells names from cells, names must at least be different.
    let different: BTreeSet<_> = first.iter().collect();
    different.len() == width && is_new_everywhere(first, rows)
}

/// Whether no cell of the first record occurs again in its column, although other cells do.
fn is_new_everywhere(first: &Record, rows: &[Record]) -> bool {
    let mut others_repeat = false;
    for (column, cell) in first.iter().enumerate() {
        let mut counts: HashMap<&[u8], usize> = HashMap::new();
        for row in rows {
            *counts.entry(&row[column]).or_default() += 1;
        }
        if counts.contains_key(cell.as_slice()) {
            return false;
        }
        others_repeat |= counts.len() < rows.len();
    }
    others_repeat
}

/// Whether a cell is a number in this range.
fn is_position(cell: &[u8], range: std::ops::RangeInclusive<usize>) -> bool {
    str::from_utf8(cell).ok().and_then(|text| text.parse().ok()).is_some_and(|n| range.contains(&n))
}
