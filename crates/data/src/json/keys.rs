//! The keys of the first lines, to show to a person.

use super::parse::{Parser, Scratch, Sink};
use crate::DataError;
use crate::error::excerpt;
use crate::expansion::ExpansionSettings;
use crate::format::{Fault, quoted};
use crate::moment::Moment;
use crate::schema::{Column, Columns, Role, listed as list};
use crate::text::lines;
use std::collections::HashMap;

/// The number of lines that are looked at, and the number of keys that are remembered.
const LINES: usize = 100;
const KEYS: usize = 1000;

/// Keys, and the kinds of their values.
#[derive(Debug, Default)]
struct Keys {
    all: Vec<(String, Holds)>,
    known: HashMap<Vec<u8>, usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    Nothing,
    Numbers,
    Words,
    /// Only dates so far.
    Dates,
}

impl Keys {
    fn of(beginning: &[u8]) -> Self {
        let mut keys = Self::default();
        let mut scratch = Scratch::default();
        let rows = lines(beginning).filter(|(_, line)| !line.trim_ascii().is_empty());
        for (start, line) in rows.take(LINES) {
            let text = &beginning[..start + line.len()];
            // A fault of a row is reported when the row is read.
            let _ = Parser { text, at: start, scratch: &mut scratch }.row(&mut keys);
        }
        keys
    }

    /// The kinds of the values of a key, and of those within it.
    fn below(&self, name: &str) -> impl Iterator<Item = Holds> {
        self.all.iter().filter(move |(key, _)| is_below(key, name)).map(|(_, holds)| *holds)
    }

    fn add(&mut self, key: &[u8], holds: Holds) {
        match self.known.get(key) {
            Some(&place) => {
                let known = &mut self.all[place].1;
                *known = match (*known, holds) {
                    (Holds::Nothing, holds) => holds,
                    (Holds::Dates, Holds::Words | Holds::Numbers) => Holds::Words,
                    (known, _) => known,
                };
            }
            None if self.all.len() == KEYS => {}
            None => {
                self.known.insert(key.to_vec(), self.all.len());
                self.all.push((String::from_utf8_lossy(key).into_owned(), holds));
            }
        }
    }
}

/// The keys of the first lines.
pub(crate) fn keys_in(beginning: &[u8]) -> Vec<String> {
    Keys::of(beginning).all.into_iter().map(|(name, _)| name).collect()
}

/// The keys that hold dates in the first lines, without those that belong to a known column.
pub(super) fn dates(beginning: &[u8], columns: &[Column]) -> Vec<String> {
    let is_free = |key: &str| !columns.iter().any(|column| is_below(key, &column.name));
    let keys = Keys::of(beginning).all.into_iter();
    keys.filter(|(key, holds)| *holds == Holds::Dates && is_free(key)).map(|(key, _)| key).collect()
}

/// Whether a column is one of these keys, or an object or array that contains one.
pub(crate) fn is_key(keys: &[String], column: &str) -> bool {
    keys.iter().any(|key| is_below(key, column))
}

/// Whether a key is a column, or within it.
fn is_below(key: &str, column: &str) -> bool {
    key.strip_prefix(column).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Gives a role to every key that an expansion mentions and that has none yet: the role that its
/// values have in the first lines.
pub(super) fn add_columns(
    file: &str,
    beginning: &[u8],
    expansion: &ExpansionSettings,
    columns: &mut Vec<Column>,
) -> Result<(), DataError> {
    let keys = Keys::of(beginning);
    for (setting, name) in expansion.columns() {
        if columns.iter().any(|column| column.name == name) {
            continue;
        }
        let held: Vec<Holds> = keys.below(name).filter(|holds| *holds != Holds::Nothing).collect();
        let role = match held.first() {
            Some(first) if held.iter().any(|holds| holds != first) => {
                return Err(DataError::Unsuitable {
                    file: file.to_owned(),
                    found: format!(
                        "the key {} with values of several kinds below it",
                        quoted(name)
                    ),
                    expected: "a key of one kind, such as one of the keys within it".into(),
                });
            }
            Some(Holds::Words) => Role::Category,
            Some(_) => Role::Number,
            None if keys.below(name).next().is_some() => Role::Number,
            None => {
                return Err(DataError::NoColumn {
                    file: file.to_owned(),
                    setting,
                    column: excerpt(name.as_bytes()),
                    columns: listed(beginning),
                });
            }
        };
        columns.push(Column { name: name.to_owned(), role });
    }
    Ok(())
}

/// The keys to choose from.
pub(super) fn listed(beginning: &[u8]) -> String {
    list(&keys_in(beginning))
}

/// Notes about the keys for which no setting asks for a role.
pub(super) fn notes(beginning: &[u8], columns: &Columns) -> Vec<String> {
    let keys = Keys::of(beginning);
    let names = |wanted: Holds| {
        let free = keys.all.iter().filter(|(key, holds)| {
            *holds == wanted && !columns.iter().any(|column| is_below(key, &column.name))
        });
        free.map(|(key, _)| key.clone()).collect::<Vec<_>>()
    };
    let mut notes = Vec::new();
    for (kind, names) in [("numbers", names(Holds::Numbers)), ("categories", names(Holds::Words))] {
        if !names.is_empty() {
            notes.push(format!("{kind} in the first lines: {}", list(&names)));
        }
    }
    let unseen =
        columns.iter().filter(|column| !keys.all.iter().any(|(k, _)| is_below(k, &column.name)));
    for column in unseen {
        notes.push(format!("the key {} is not in the first lines", quoted(&column.name)));
    }
    notes
}

impl Sink for Keys {
    type Mark = ();

    fn enter(&mut self, _: &[u8], _: u64, (): ()) {}

    fn number(&mut self, key: &[u8], (): (), _: &[u8], _: usize) -> Result<(), Fault> {
        self.add(key, Holds::Numbers);
        Ok(())
    }

    fn string(&mut self, key: &[u8], (): (), text: &[u8], _: usize) -> Result<(), Fault> {
        let holds = if Moment::is_date(text) { Holds::Dates } else { Holds::Words };
        self.add(key, holds);
        Ok(())
    }

    fn boolean(&mut self, key: &[u8], (): (), _: bool, _: usize) -> Result<(), Fault> {
        self.add(key, Holds::Numbers);
        Ok(())
    }

    fn null(&mut self, key: &[u8], (): (), _: usize) -> Result<(), Fault> {
        self.add(key, Holds::Nothing);
        Ok(())
    }

    fn open(&mut self, (): (), _: &[u8], _: usize) -> Result<(), Fault> {
        Ok(())
    }
}
