//! Rows whose features have names: dicts, and matrices whose columns have names.

use crate::arrow::with_importance;
use crate::error::{Outcome, PythonError};
use crate::side::{Side, Visit};
use crate::table::Told;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBool, PyDict, PyFloat, PyList, PyString};
use rueful_core::Batch;
use rueful_data::{
    Assembler, Bits, Cell, Column, Columns, LabelRule, Reading, Role, RowError, Seen,
};
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

/// The approximate number of features in a batch.
const ENOUGH: usize = 1 << 14;

/// The least number of keys that an assembler may have without being made anew.
const FEW: usize = 256;

/// The keys of the dicts so far.
pub(crate) struct Dicts {
    keys: Mutex<Keys>,
}

/// The keys that were seen, and the assembler that makes rows of their values.
struct Keys {
    /// What every key that was ever seen holds.
    roles: HashMap<String, Role>,
    /// The columns of the assembler, and where each key is among them. Each row costs some time for
    /// every column, so keys that are not among the latest are left out when there are many.
    columns: Vec<Column>,
    places: HashMap<String, usize>,
    bits: Bits,
    constant: bool,
    assembler: Assembler,
    /// The names that earlier assemblers were told.
    before: Seen,
    /// The places of all keys of the dicts at hand, one dict after the other.
    order: Vec<usize>,
}

/// The rows of dicts, without labels.
pub(crate) struct Collected {
    batch: Batch,
}

impl Dicts {
    /// Makes a record without keys.
    pub(crate) fn new(bits: Bits, constant: bool) -> Self {
        let keys = Keys {
            roles: HashMap::new(),
            columns: Vec::new(),
            places: HashMap::new(),
            bits,
            constant,
            assembler: assembler(&[], bits, constant),
            before: Seen::default(),
            order: Vec::new(),
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
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.remember();
        keys.before.clone()
    }
}

/// Makes an assembler for rows of these columns, none of which is the label.
fn assembler(columns: &[Column], bits: Bits, constant: bool) -> Assembler {
    // The label gets a name that is longer than all keys, so it differs from each of them.
    let longest = columns.iter().map(|column| column.name.len()).max().unwrap_or(0);
    let label = Column { name: "-".repeat(longest + 1), role: Role::Label };
    let all: Vec<Column> = columns.iter().cloned().chain([label]).collect();
    let all = Columns::try_from(all).map(|all| all.without_label());
    let reading =
        Reading { constant, threads: NonZeroUsize::MIN, ..Reading::new(LabelRule::Ignored) };
    match all {
        Ok(all) => Assembler::new(&all, bits, &reading),
        Err(_) => unreachable!("keys of a map are different"),
    }
}

/// Returns a key as the word it is, or as the word that stands for it.
fn word<'py>(key: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
    key.cast_into_exact::<PyString>().or_else(|error| error.into_inner().str())
}

impl Keys {
    /// Returns the place of a key. A key that is not among the columns gets a new place.
    fn place(&mut self, key: &str, value: &Bound<'_, PyAny>) -> usize {
        if let Some(&place) = self.places.get(key) {
            return place;
        }
        let is_word = value.is_instance_of::<PyString>();
        let role = if is_word { Role::Category } else { Role::Number };
        let role = self.roles.get(key).copied().unwrap_or(role);
        let place = self.columns.len();
        self.columns.push(Column { name: key.to_owned(), role });
        self.places.insert(key.to_owned(), place);
        place
    }

    /// Finds the places of all keys of some dicts.
    fn find(&mut self, list: &Bound<'_, PyList>) -> PyResult<()> {
        self.order.clear();
        for (row, dict) in list.iter().enumerate() {
            for (key, value) in of_row(&dict, row)?.iter() {
                let place = self.place(word(key)?.to_str()?, &value);
                self.order.push(place);
            }
        }
        Ok(())
    }

    /// Gives places to all keys of some dicts. Returns whether some of them had none.
    fn meet(&mut self, list: &Bound<'_, PyList>) -> PyResult<bool> {
        let known = self.columns.len();
        self.find(list)?;
        if self.columns.len() == known {
            return Ok(false);
        }
        if self.columns.len() > FEW.max(8 * self.order.len()) {
            self.clear();
            self.find(list)?;
        }
        self.renew();
        Ok(true)
    }

    fn clear(&mut self) {
        self.columns.clear();
        self.places.clear();
    }

    /// Makes an assembler for the columns. Rows that were not taken from the one before are gone.
    fn renew(&mut self) {
        self.remember();
        self.assembler = assembler(&self.columns, self.bits, self.constant);
    }

    /// Keeps the names that the assembler was told.
    fn remember(&mut self) {
        let names = self.assembler.names().clone();
        self.before.extend(&Seen { names, ..Seen::default() });
    }

    /// Makes rows of some dicts. If one of them is refused, all are, and none leaves a trace.
    fn collect(&mut self, list: &Bound<'_, PyList>) -> PyResult<Collected> {
        let collected = self.meet(list).and_then(|is_new| Ok((is_new, self.assemble(list)?)));
        if collected.is_err() {
            // Keys get their places again with the next dicts.
            self.clear();
            self.renew();
        }
        let (is_new, collected) = collected?;
        if is_new {
            self.keep_roles();
        }
        Ok(collected)
    }

    fn keep_roles(&mut self) {
        for Column { name, role } in &self.columns {
            if !self.roles.contains_key(name) {
                self.roles.insert(name.clone(), *role);
            }
        }
    }

    fn assemble(&mut self, list: &Bound<'_, PyList>) -> PyResult<Collected> {
        let order = std::mem::take(&mut self.order);
        let mut places = order.iter();
        for (row, dict) in list.iter().enumerate() {
            for (key, value) in of_row(&dict, row)?.iter() {
                let place = places.next().copied().unwrap_or_default();
                self.give(place, &value, row, &key)?;
            }
            let wrong = |wrong: RowError| PythonError::value(told(&wrong, row, "of this row"));
            self.assembler.finish_row().map_err(wrong)?;
        }
        let mut batch = Batch::default();
        let taken = self.assembler.take(&mut batch);
        taken.map_err(|wrong| PythonError::value(told(&wrong, wrong.row, "")))?;
        self.order = order;
        Ok(Collected { batch })
    }

    /// Adds a value to the row that is being assembled.
    fn give(
        &mut self,
        place: usize,
        value: &Bound<'_, PyAny>,
        row: usize,
        key: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let cell = if let Ok(number) = value.cast_exact::<PyFloat>() {
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
            let kind = value.get_type().name()?;
            let what =
                format!("row {row}, {key}: found {kind}, expected a number, a truth or a word");
            return Err(PythonError::value(what).into());
        };
        let wrong = |wrong: RowError| PythonError::value(told(&wrong, row, &key.to_string()));
        Ok(self.assembler.cell(place, cell).map_err(wrong)?)
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
    let reading = Reading {
        constant,
        idle_rows: true,
        threads: NonZeroUsize::MIN,
        ..Reading::new(LabelRule::Numbers)
    };
    let mut assembler = Assembler::new(&all, bits, &reading);
    let mut batch = Batch::default();
    let wrong = |wrong: RowError, row| PythonError::value(told(&wrong, row, "X"));
    for row in 0..rows {
        for (column, &place) in features.iter().enumerate() {
            let number = Cell::Number(cell(row, column));
            assembler.cell(place, number).map_err(|error| wrong(error, row))?;
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
