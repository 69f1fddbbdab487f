//! Rows whose features have names: dicts, and matrices whose columns have names.

use crate::arrow::with_importance;
use crate::error::{Outcome, PythonError};
use crate::side::{Side, Visit};
use crate::table::{Told, parts};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use rueful_core::{Batch, Importance};
use rueful_data::{
    Assembler, Bits, Cell, Column, Columns, Expansion, LabelRule, Names, Reading, Role, RowError,
    Seen,
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
    /// What the dicts at hand have brought. It counts when all dicts are fine.
    news: Vec<News>,
    /// The keys of the last dict, if dicts with these keys are expected to follow.
    shape: Option<Shape>,
    /// The first key of the last dict without such keys, and how many it had.
    last: Option<(Py<PyString>, usize)>,
    /// The memory of a row that is learned from alone.
    spare: Batch,
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

/// Something that a dict has brought for the first time.
enum News {
    /// A key that holds numbers.
    Number(String),
    /// A key that holds words.
    Words(String),
    /// The names of the features of a value.
    Names(Names),
}

/// The keys of a dict that holds numbers alone, in their order, and the features they stand for.
/// A dict with the very same keys needs no look at their names.
struct Shape {
    keys: Vec<Py<PyString>>,
    /// The features in increasing order, each with the place of its key.
    features: Vec<(u32, usize)>,
    /// The values of the dict at hand.
    values: Vec<f32>,
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
            news: Vec::new(),
            shape: None,
            last: None,
            spare: Batch::default(),
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

    /// Makes a row of one dict. The memory of the row should be given back.
    pub(crate) fn one(
        &self,
        dict: &Bound<'_, PyDict>,
        label: f64,
        importance: Importance,
    ) -> PyResult<Batch> {
        let keys = self.keys.lock_py_attached(dict.py());
        let mut keys = keys.unwrap_or_else(PoisonError::into_inner);
        let mut batch = std::mem::take(&mut keys.spare);
        batch.clear();
        let added = keys.add(dict, 0, &mut batch, (label, importance));
        keys.settle(added)?;
        Ok(batch)
    }

    /// Takes back the memory of a row.
    pub(crate) fn give_back(&self, batch: Batch) {
        if let Ok(mut keys) = self.keys.try_lock() {
            keys.spare = batch;
        }
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
        let beside = (0.0, Importance::ONE);
        let collected =
            rows.map(|(row, dict)| self.add(of_row(&dict, row)?, row, &mut batch, beside));
        let collected = collected.collect::<PyResult<()>>();
        self.settle(collected)?;
        Ok(Collected { batch })
    }

    /// Keeps what dicts have brought if they were all fine, and forgets it otherwise.
    fn settle(&mut self, added: PyResult<()>) -> PyResult<()> {
        if !self.news.is_empty() {
            match &added {
                Ok(()) => self.keep(),
                Err(_) => self.forget(),
            }
        }
        added
    }

    /// Keeps the keys and names of dicts that were all fine.
    fn keep(&mut self) {
        for news in self.news.drain(..) {
            match news {
                News::Number(key) => {
                    self.names.names.number(&key, self.bits);
                }
                News::Words(_) => {}
                News::Names(names) => self.names.extend(&Seen { names, ..Seen::default() }),
            }
        }
    }

    /// Forgets the keys and names of dicts one of which was refused.
    #[cold]
    fn forget(&mut self) {
        self.shape = None;
        for news in self.news.drain(..) {
            match news {
                News::Number(key) | News::Words(key) => {
                    self.all.remove(&key);
                }
                News::Names(_) => {}
            }
        }
        // Words that are not remembered are looked at again.
        self.all.values_mut().filter_map(Key::words).for_each(HashMap::clear);
    }

    /// Appends the row of a dict, with its label and importance.
    fn add(
        &mut self,
        dict: &Bound<'_, PyDict>,
        row: usize,
        batch: &mut Batch,
        beside: (f64, Importance),
    ) -> PyResult<()> {
        if let Some(shape) = &mut self.shape
            && shape.fits(dict)
        {
            shape.add(self.constant, batch, beside);
            return Ok(());
        }
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
        self.expect_alike(dict);
        self.finish(row, batch, beside)
    }

    /// Remembers the keys of a dict of numbers that is like the one before it.
    fn expect_alike(&mut self, dict: &Bound<'_, PyDict>) {
        let first = dict.iter().next().and_then(|(key, _)| key.cast_into_exact::<PyString>().ok());
        let now = first.map(|key| (key.unbind(), dict.len()));
        let is_alike = matches!((&now, &self.last), (Some((key, len)), Some((last, last_len)))
            if is_same(key.bind(dict.py()).as_any(), last) && len == last_len);
        self.last = now;
        if is_alike && self.numbers.len() == dict.len() {
            self.shape = Shape::new(dict, &self.numbers);
        }
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
            (None, Cell::Number(number)) if (number as f32).is_finite() => {
                self.meet(name, false);
                return self.give(name, cell);
            }
            (None, cell) => self.meet(name, matches!(cell, Cell::Text(_))),
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
        self.news.push(News::Names(names));
        Ok(())
    }

    /// Takes down a key that was not seen before.
    fn meet(&mut self, name: &str, holds_words: bool) {
        let key = if holds_words {
            Key::Words(HashMap::new())
        } else {
            Key::Number(Names::default().number(name, self.bits))
        };
        self.all.insert(name.to_owned(), key);
        let news = if holds_words { News::Words } else { News::Number };
        self.news.push(news(name.to_owned()));
    }

    /// Ends the row at hand. Values of the same index are added up.
    fn finish(
        &mut self,
        row: usize,
        batch: &mut Batch,
        (label, importance): (f64, Importance),
    ) -> PyResult<()> {
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
        open.finish(label, importance);
        Ok(())
    }
}

impl Shape {
    /// Remembers the keys of a dict, whose numbers are these. It is `None` if a key is no word, or if
    /// two keys are the same feature.
    fn new(dict: &Bound<'_, PyDict>, numbers: &[(u32, f32)]) -> Option<Self> {
        let key = |key: Bound<'_, PyAny>| Some(key.cast_into_exact::<PyString>().ok()?.unbind());
        let keys = dict.iter().map(|(name, _)| key(name)).collect::<Option<Vec<_>>>()?;
        let places = numbers.iter().enumerate().map(|(place, &(index, _))| (index, place));
        let mut features: Vec<(u32, usize)> = places.collect();
        features.sort_unstable();
        let are_distinct = features.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let is_plain = are_distinct && features.first().is_none_or(|&(first, _)| first > 0);
        is_plain.then(|| Self { keys, features, values: Vec::new() })
    }

    /// Whether a dict has the same keys in the same order and only finite numbers. If so, they are
    /// taken down.
    fn fits(&mut self, dict: &Bound<'_, PyDict>) -> bool {
        if dict.len() != self.keys.len() {
            return false;
        }
        self.values.clear();
        for ((key, value), known) in dict.iter().zip(&self.keys) {
            match number(&value) {
                Some(value) if value.is_finite() && is_same(&key, known) => self.values.push(value),
                _ => return false,
            }
        }
        true
    }

    /// Appends the row of the dict at hand.
    fn add(&self, constant: bool, batch: &mut Batch, (label, importance): (f64, Importance)) {
        let mut open = batch.open_row(self.features.len() + usize::from(constant));
        if constant {
            let _ = open.push(0, 1.0);
        }
        for &(index, place) in &self.features {
            // Indices increase and values are finite, so it cannot fail.
            let _ = open.push(index, self.values[place]);
        }
        open.finish(label, importance);
    }
}

/// Whether a key is a word that is known: the same object, or another one with the same letters.
fn is_same(key: &Bound<'_, PyAny>, known: &Py<PyString>) -> bool {
    let letters = |word: &Bound<'_, PyString>| {
        let known = known.bind(word.py());
        matches!((word.to_str(), known.to_str()), (Ok(one), Ok(other)) if one == other)
    };
    key.is(known) || key.cast_exact::<PyString>().is_ok_and(letters)
}

/// Returns a value in single precision, if it is a plain number.
fn number(value: &Bound<'_, PyAny>) -> Option<f32> {
    if let Ok(number) = value.cast_exact::<PyFloat>() {
        return Some(number.value() as f32);
    }
    let whole = value.cast_exact::<PyInt>().ok()?;
    whole.extract::<f64>().ok().map(|number| number as f32)
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
    if let Some(plain) = Plain::new(columns, &features, bits) {
        let is_finite =
            |row: usize| (0..width).all(|column| (cell(row, column) as f32).is_finite());
        if (0..rows).all(is_finite) {
            return plain.each(cell, constant, side, visit);
        }
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

/// The features of a matrix all of whose columns are numbers, each a feature of its own.
struct Plain {
    /// The features in increasing order, each with its column.
    features: Vec<(u32, usize)>,
    names: Names,
}

impl Plain {
    /// Returns the features of the columns at these places. It is `None` if there is more to them.
    fn new(columns: &Columns, places: &[usize], bits: Bits) -> Option<Self> {
        let made = Expansion { missing: false, ..columns.expansion().clone() };
        if !made.is_none() {
            return None;
        }
        let (mut features, mut names) = (Vec::with_capacity(places.len()), Names::default());
        for (column, &place) in places.iter().enumerate() {
            let Column { name, role } = &columns[place];
            match role {
                Role::Number => features.push((names.number(name, bits), column)),
                Role::Drop => {}
                _ => return None,
            }
        }
        features.sort_unstable();
        let are_distinct = features.windows(2).all(|pair| pair[0].0 < pair[1].0);
        are_distinct.then_some(Self { features, names })
    }

    /// Shows the rows to `visit`, some at a time. All values are finite.
    fn each(
        self,
        cell: impl Fn(usize, usize) -> f64,
        constant: bool,
        side: &Side<'_>,
        visit: &mut Visit<'_>,
    ) -> Outcome<Told> {
        let Self { features, names } = self;
        let width = features.len() + usize::from(constant);
        let mut batch = Batch::default();
        for part in parts(side, width) {
            let lengths = vec![width as u32; part.len()];
            let (labels, importances) = side.part(part.clone());
            batch.clear();
            let filled = batch.extend_with(&lengths, labels, importances, |indices, values| {
                let rows = indices.chunks_exact_mut(width.max(1));
                for (row, (indices, values)) in
                    part.zip(rows.zip(values.chunks_exact_mut(width.max(1))))
                {
                    if constant {
                        (indices[0], values[0]) = (0, 1.0);
                    }
                    let places = (width - features.len()..).zip(&features);
                    for (place, &(index, column)) in places {
                        (indices[place], values[place]) = (index, cell(row, column) as f32);
                    }
                }
            });
            filled.map_err(|why| PythonError::value(format!("X: {why}")))?;
            visit(batch.rows())?;
        }
        Ok(Told { names, missing: Vec::new() })
    }
}

/// Returns the places of the columns that hold neither labels, importances nor predictions.
fn features(columns: &Columns) -> Vec<usize> {
    let is_feature = |role| !matches!(role, Role::Label | Role::Importance | Role::Prediction);
    let columns = columns.iter().enumerate();
    columns.filter(|(_, column)| is_feature(column.role)).map(|(place, _)| place).collect()
}
