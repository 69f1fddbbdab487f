//! Rows whose features have names: dicts, and matrices whose columns have names.

use crate::arrow::with_importance;
use crate::error::{Outcome, PythonError};
use crate::side::{Side, Visit};
use crate::table::Told;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBool, PyDict, PyFloat, PyList, PyString};
use rueful_core::{Batch, Importance};
use rueful_data::{
    Assembler, Bits, Cell, Column, Columns, LabelRule, Names, Reading, Role, RowError, Seen,
};
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{LazyLock, Mutex, PoisonError};

/// The approximate number of features in a batch.
const ENOUGH: usize = 1 << 14;

/// The largest number of words of one key whose features are remembered.
const WORDS_MAX: usize = 1 << 16;

/// The keys of the dicts so far.
pub(crate) struct Dicts {
    keys: Mutex<Keys>,
}

/// The keys that were seen, and the features that they stand for.
struct Keys {
    all: HashMap<String, Key>,
    bits: Bits,
    constant: bool,
    /// The names of all features so far.
    names: Seen,
    /// The keys and names that the dicts at hand have brought. They count when all dicts are fine.
    new_keys: Vec<String>,
    new_names: Vec<Names>,
    /// The features of the row at hand: those of words, and those of numbers.
    loose: Vec<(u32, f32)>,
    numbers: Vec<(u32, f32)>,
}

/// A key. Its first value decides whether it holds numbers or words.
enum Key {
    /// It holds numbers, and its feature has this index.
    Number(u32),
    /// It holds words. The features of those that were seen are remembered.
    Words(HashMap<String, Option<u32>>),
}

/// The rows of dicts, without labels.
pub(crate) struct Collected {
    batch: Batch,
}

/// The features of a cell, and their names.
struct Cells {
    features: Vec<(u32, f32)>,
    names: Names,
}

impl Dicts {
    /// Makes a record without keys.
    pub(crate) fn new(bits: Bits, constant: bool) -> Self {
        let keys = Keys {
            all: HashMap::new(),
            bits,
            constant,
            names: Seen::default(),
            new_keys: Vec::new(),
            new_names: Vec::new(),
            loose: Vec::new(),
            numbers: Vec::new(),
        };
        Self { keys: Mutex::new(keys) }
    }

    /// Makes rows of some dicts.
    pub(crate) fn collect(&self, list: &Bound<'_, PyList>) -> PyResult<Collected> {
        let keys = self.keys.lock_py_attached(list.py());
        let mut keys = keys.unwrap_or_else(PoisonError::into_inner);
        keys.collect(list)
    }

    /// Returns the names that dicts have shown so far.
    pub(crate) fn names(&self) -> Seen {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).names.clone()
    }
}

/// Returns the features of a table with one column and one cell, which has no label. Names, numbers
/// and words mean the same in dicts as in tables.
fn features_of(name: &str, role: Role, cell: Cell<'_>, bits: Bits) -> Result<Cells, RowError> {
    // The label gets a name that is longer than the column's, so it differs from it.
    let label = Column { name: "-".repeat(name.len() + 1), role: Role::Label };
    let columns = vec![Column { name: name.to_owned(), role }, label];
    let Ok(columns) = Columns::try_from(columns) else {
        unreachable!("two columns of different names, one of them the label")
    };
    let reading = reading(LabelRule::Ignored, false);
    let mut assembler = Assembler::new(&columns.without_label(), bits, &reading);
    assembler.cell(0, cell)?;
    assembler.finish_row()?;
    let mut batch = Batch::default();
    assembler.take(&mut batch)?;
    let x = batch.get(0).features;
    let features = x.indices().iter().copied().zip(x.values().iter().copied()).collect();
    Ok(Cells { features, names: assembler.names().clone() })
}

/// Returns the rules by which cells in memory are read.
pub(crate) fn reading(labels: LabelRule, constant: bool) -> Reading {
    // To count the cores takes longer than to read a row, and they are not used here.
    static RULES: LazyLock<Reading> = LazyLock::new(|| {
        let threads = NonZeroUsize::MIN;
        Reading { threads, idle_rows: true, ..Reading::new(LabelRule::Ignored) }
    });
    Reading { labels, constant, ..RULES.clone() }
}

/// Returns a key as the word it is, or as the word that stands for it.
fn word<'py>(key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
    match key.cast_exact::<PyString>() {
        Ok(word) => Ok(word.clone()),
        Err(_) => key.str(),
    }
}

/// Returns what a value of a dict is for a table.
fn cell<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<Option<Cell<'a>>> {
    Ok(Some(if let Ok(number) = value.cast_exact::<PyFloat>() {
        Cell::Number(number.value())
    } else if let Ok(text) = value.cast::<PyString>() {
        Cell::Text(text.to_str()?)
    } else if value.is_none() {
        Cell::Missing
    } else if let Ok(truth) = value.cast::<PyBool>() {
        Cell::Truth(truth.is_true())
    } else if let Ok(number) = value.extract::<f64>() {
        Cell::Number(number)
    } else {
        return Ok(None);
    }))
}

impl Keys {
    /// Makes rows of some dicts. If one of them is refused, all are, and none leaves a trace.
    fn collect(&mut self, list: &Bound<'_, PyList>) -> PyResult<Collected> {
        let mut batch = Batch::default();
        let rows = list.iter().enumerate();
        let collected = rows.map(|(row, dict)| self.add(of_row(&dict, row)?, row, &mut batch));
        match collected.collect::<PyResult<()>>() {
            Ok(()) => self.keep(),
            Err(error) => {
                self.forget();
                return Err(error);
            }
        }
        Ok(Collected { batch })
    }

    /// Keeps the keys and names of dicts that were all fine.
    fn keep(&mut self) {
        self.new_keys.clear();
        for names in self.new_names.drain(..) {
            self.names.extend(&Seen { names, ..Seen::default() });
        }
    }

    /// Forgets the keys and names of dicts one of which was refused.
    #[cold]
    fn forget(&mut self) {
        for key in self.new_keys.drain(..) {
            self.all.remove(&key);
        }
        if self.new_names.drain(..).count() > 0 {
            // Words that are not remembered are looked at again.
            let words = self.all.values_mut().filter_map(Key::words);
            words.for_each(HashMap::clear);
        }
    }

    /// Appends the row of a dict.
    fn add(&mut self, dict: &Bound<'_, PyDict>, row: usize, batch: &mut Batch) -> PyResult<()> {
        self.loose.clear();
        self.loose.extend(self.constant.then_some((0, 1.0)));
        self.numbers.clear();
        for (key, value) in dict.iter() {
            let key = word(&key)?;
            let name = key.to_str()?;
            let Some(cell) = cell(&value)? else {
                let kind = value.get_type().name()?;
                return Err(PythonError::value(format!(
                    "row {row}, {name}: found {kind}, expected a number, a truth or a word"
                ))
                .into());
            };
            let wrong = |wrong: RowError| PythonError::value(told(&wrong, row, name));
            self.give(name, cell).map_err(wrong)?;
        }
        self.finish(row, batch)
    }

    /// Adds the features of a cell to the row at hand.
    fn give(&mut self, name: &str, cell: Cell<'_>) -> Result<(), RowError> {
        match (self.all.get(name), cell) {
            (Some(Key::Number(index)), Cell::Number(number)) if (number as f32).is_finite() => {
                self.numbers.push((*index, number as f32));
                return Ok(());
            }
            (Some(Key::Words(words)), Cell::Text(text)) => {
                if let Some(index) = words.get(text) {
                    self.loose.extend(index.map(|index| (index, 1.0)));
                    return Ok(());
                }
            }
            (Some(_), _) => {}
            (None, cell) => self.meet(name, matches!(cell, Cell::Text(_)))?,
        }
        if matches!(cell, Cell::Missing) { Ok(()) } else { self.give_anything(name, cell) }
    }

    /// Adds the features of a cell that was not seen before, or that is no plain number or word.
    fn give_anything(&mut self, name: &str, cell: Cell<'_>) -> Result<(), RowError> {
        let Some(key) = self.all.get_mut(name) else { return Ok(()) };
        let role = if key.words().is_some() { Role::Category } else { Role::Number };
        let Cells { features, names } = features_of(name, role, cell, self.bits)?;
        match (key, cell) {
            (Key::Words(words), Cell::Text(text)) => {
                if words.len() == WORDS_MAX {
                    words.clear();
                }
                words.insert(text.to_owned(), features.first().map(|&(index, _)| index));
                self.loose.extend(features);
            }
            (Key::Words(_), _) => self.loose.extend(features),
            (Key::Number(_), _) => self.numbers.extend(features),
        }
        self.new_names.push(names);
        Ok(())
    }

    /// Takes down a key that was not seen before.
    fn meet(&mut self, name: &str, holds_words: bool) -> Result<(), RowError> {
        let key = if holds_words {
            Key::Words(HashMap::new())
        } else {
            let Cells { features, names } =
                features_of(name, Role::Number, Cell::Number(1.0), self.bits)?;
            self.new_names.push(names);
            Key::Number(features.first().map_or(0, |&(index, _)| index))
        };
        self.all.insert(name.to_owned(), key);
        self.new_keys.push(name.to_owned());
        Ok(())
    }

    /// Ends the row at hand. Values of the same index are added up.
    fn finish(&mut self, row: usize, batch: &mut Batch) -> PyResult<()> {
        self.loose.append(&mut self.numbers);
        self.loose.sort_by_key(|&(index, _)| index);
        self.loose.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            kept.1 += if is_same { next.1 } else { 0.0 };
            is_same
        });
        let mut open = batch.open_row(self.loose.len());
        for &(index, value) in &self.loose {
            let wrong = |why| PythonError::value(format!("row {row}: {why}"));
            open.push(index, value).map_err(wrong)?;
        }
        open.finish(0.0, Importance::ONE);
        Ok(())
    }
}

impl Key {
    /// Returns the words that were seen, if the key holds words.
    fn words(&mut self) -> Option<&mut HashMap<String, Option<u32>>> {
        match self {
            Self::Words(words) => Some(words),
            Self::Number(_) => None,
        }
    }
}

fn of_row<'a, 'py>(dict: &'a Bound<'py, PyAny>, row: usize) -> PyResult<&'a Bound<'py, PyDict>> {
    dict.cast::<PyDict>().map_err(|_| {
        let kind = dict.get_type().name().map_or_else(|_| String::new(), |name| name.to_string());
        PythonError::value(format!("row {row}: found {kind}, expected a dict")).into()
    })
}

/// Says what is wrong with the value of a key.
fn told(wrong: &RowError, row: usize, key: &str) -> String {
    format!("row {row}, {key}: found {}, expected {}", wrong.found, wrong.expected)
}

impl Collected {
    pub(crate) fn len(&self) -> usize {
        self.batch.len()
    }

    /// Shows the rows to `visit`, some at a time.
    pub(crate) fn each(self, side: &Side<'_>, visit: &mut Visit<'_>) -> Outcome<Told> {
        let mut labelled = Batch::default();
        for (row, example) in self.batch.iter().enumerate() {
            let x = example.features;
            let mut open = labelled.open_row(x.len());
            for (&index, &value) in x.indices().iter().zip(x.values()) {
                let _ = open.push(index, value);
            }
            open.finish(side.labels[row], side.importance(row));
            if labelled.nonzeros() + labelled.len() >= ENOUGH {
                visit(labelled.rows())?;
                labelled.clear();
            }
        }
        if !labelled.is_empty() {
            visit(labelled.rows())?;
        }
        Ok(Told::default())
    }
}

/// Shows the rows of a matrix whose columns have names to `visit`.
pub(crate) fn matrix(
    (rows, width): (usize, usize),
    cell: impl Fn(usize, usize) -> f64,
    (columns, bits, constant): (&Columns, Bits, bool),
    side: &Side<'_>,
    visit: &mut Visit<'_>,
) -> Outcome<Told> {
    let features: Vec<usize> = features(columns);
    if width != features.len() {
        let wanted = features.len();
        return Err(PythonError::value(format!("X has {width} columns, expected {wanted}")));
    }
    let label = columns.iter().position(|column| column.role == Role::Label);
    let all = with_importance(columns, side)?;
    let reading = reading(LabelRule::Numbers, constant);
    let mut assembler = Assembler::new(&all, bits, &reading);
    let mut batch = Batch::default();
    let wrong = |wrong: RowError, row| PythonError::value(told(&wrong, row, "X"));
    for row in 0..rows {
        for (column, &place) in features.iter().enumerate() {
            let number = Cell::Number(cell(row, column));
            let given = assembler.cell(place, number);
            given.map_err(|wrong| PythonError::value(told(&wrong, row, &all[place].name)))?;
        }
        let beside = [
            (label, side.labels[row]),
            (Some(columns.len()).filter(|&place| place < all.len()), side.importance(row).get()),
        ];
        for (place, number) in beside {
            let given = place.map(|place| assembler.cell(place, Cell::Number(number)));
            given.unwrap_or(Ok(())).map_err(|error| wrong(error, row))?;
        }
        assembler.finish_row().map_err(|error| wrong(error, row))?;
        if assembler.nonzeros() + assembler.finished() >= ENOUGH || row + 1 == rows {
            assembler.take(&mut batch).map_err(|error| wrong(error, row))?;
            visit(batch.rows())?;
        }
    }
    Ok(Told { names: assembler.names().clone(), missing: assembler.missing().to_vec() })
}

/// Returns the places of the columns that hold neither labels, importances nor predictions.
fn features(columns: &Columns) -> Vec<usize> {
    let is_feature = |role| !matches!(role, Role::Label | Role::Importance | Role::Prediction);
    let columns = columns.iter().enumerate();
    columns.filter(|(_, column)| is_feature(column.role)).map(|(place, _)| place).collect()
}
