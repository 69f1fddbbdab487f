//! Rows that are dicts: their keys are the names of features.
//!
//! A key is known by the hash of its name, as names are everywhere in rueful. A dict of numbers is read
//! in two steps. The first takes down hashes and values. If the hashes are those of the dict before, the
//! order of its features is known, and nothing is looked up. Otherwise the second step finds the feature
//! of every hash. Dicts that hold anything else are read cell by cell.

use crate::error::{Outcome, PythonError};
use crate::side::{Side, Visit};
use crate::table::{ENOUGH, Told};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use rueful_core::{Batch, Importance};
use rueful_data::{
    Assembler, Bits, Cell, Column, Columns, Expansion, LabelRule, Names, Reading, Role, RowError,
};
use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::sync::{LazyLock, Mutex, PoisonError};

/// The largest number of words of one key whose features are remembered.
const WORDS_MAX: usize = 1 << 16;

/// The amount of news after which their names are put among the others.
const NEWS_MAX: usize = 1 << 16;

/// The number of places that a table of keys has at first.
const SLOTS: usize = 1 << 6;

/// The keys of the dicts so far.
pub(crate) struct Dicts {
    keys: Mutex<Keys>,
}

/// The keys that were seen, and the features that they stand for.
struct Keys {
    known: Slots,
    /// The words that keys of words have held, and their features.
    words: Vec<HashMap<String, Option<u32>>>,
    /// The features which say that a key has no value, as far as they were needed.
    absent: HashMap<u64, Option<u32>>,
    bits: Bits,
    constant: bool,
    /// Whether a key without a value makes a feature that says so.
    indicates: bool,
    /// The names of all features so far, but for those in the news.
    names: Names,
    news: Newspaper,
    /// The memory of a row that is learned from alone.
    spare: Batch,
    /// The row at hand.
    row: Row,
    /// The features of a dict that does not hold numbers alone: those of words, and those of numbers.
    loose: Vec<(u32, f32)>,
    plain: Vec<(u32, f32)>,
}

/// The keys that were seen, by the hashes of their names.
struct Slots {
    /// Places for at least twice as many keys as there are. A key has the first free place from the one on
    /// that the lowest bits of its hash name.
    all: Vec<(u64, Holds)>,
    count: usize,
}

/// The values of a key. The first one decides whether they are numbers or words.
#[derive(Clone, Copy)]
enum Holds {
    /// There is no such key.
    Nothing,
    /// Numbers, whose feature has this index.
    Number(u32),
    /// Words, which have this place among those of all keys.
    Words(u32),
}

/// What dicts have brought for the first time. Names are put among the others when somebody asks for them,
/// or when there are many.
#[derive(Default)]
struct Newspaper {
    news: Vec<News>,
    /// The names of the keys of numbers in the news, one after the other.
    letters: String,
    /// How much of the news comes from dicts that were fine. The rest comes from the dicts at hand.
    settled: usize,
}

/// Something that a dict has brought for the first time.
enum News {
    /// A key that holds numbers, by the end of its name among the letters.
    Number(usize),
    /// A key that holds words, by the hash of its name.
    Words(u64),
    /// The names of the features of a value.
    Names(Box<Names>),
}

/// A key and what is known of it.
#[derive(Clone, Copy)]
struct Key<'a> {
    name: &'a str,
    hash: u64,
    holds: Holds,
}

/// The features of a dict.
#[derive(Default)]
struct Row {
    /// The hashes of the keys, and the values, in the order of the dict.
    hashes: Vec<u64>,
    values: Vec<f32>,
    /// The hashes of the keys whose features are in `order`.
    arranged: Vec<u64>,
    /// The features by their indices, each with the place of its value.
    order: Vec<u64>,
    /// The places of keys that were not seen before.
    unknown: Vec<usize>,
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
    pub(crate) fn new(bits: Bits, constant: bool, indicates: bool) -> Self {
        let keys = Keys {
            known: Slots::default(),
            words: Vec::new(),
            absent: HashMap::new(),
            bits,
            constant,
            indicates,
            names: Names::default(),
            news: Newspaper::default(),
            spare: Batch::default(),
            row: Row::default(),
            loose: Vec::new(),
            plain: Vec::new(),
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
    pub(crate) fn names(&self) -> Names {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.read_news();
        keys.names.clone()
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
    // Whoever asks what a missing cell makes wants its feature.
    let expansion = Expansion { missing: true, ..Expansion::default() };
    let columns = columns.without_label().expanded(expansion);
    let mut assembler = Assembler::new(&columns, bits, &reading);
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
        let new = self.news.news.len();
        match &added {
            Ok(()) => self.news.settled = new,
            Err(_) if self.news.settled < new => self.forget(),
            Err(_) => {}
        }
        if new > NEWS_MAX {
            self.read_news();
        }
        added
    }

    /// Puts the names in the news among the others.
    fn read_news(&mut self) {
        let Newspaper { news, letters, .. } = std::mem::take(&mut self.news);
        let mut start = 0;
        for news in news {
            match news {
                News::Number(end) => {
                    self.names.number(&letters[start..end], self.bits);
                    start = end;
                }
                News::Words(_) => {}
                News::Names(new) => self.names.extend(&new),
            }
        }
    }

    /// Forgets the keys and names of dicts one of which was refused.
    #[cold]
    fn forget(&mut self) {
        self.row.forget_order();
        self.known.remove(&self.news.take_back());
        // Words that are not remembered are looked at again.
        self.absent.clear();
        self.words.iter_mut().for_each(HashMap::clear);
    }

    /// Appends the row of a dict, with its label and importance.
    fn add(
        &mut self,
        dict: &Bound<'_, PyDict>,
        row: usize,
        batch: &mut Batch,
        beside: (f64, Importance),
    ) -> PyResult<()> {
        if !(self.row.read(dict) && self.arrange(dict)?) {
            self.add_cells(dict, row)?;
        }
        Ok(self.row.finish(self.constant, row, batch, beside)?)
    }

    /// Finds the order of the features of a dict of numbers, whose row was read. It is false if a key
    /// holds words.
    fn arrange(&mut self, dict: &Bound<'_, PyDict>) -> PyResult<bool> {
        let Self { known, row, .. } = self;
        if row.is_arranged() {
            return Ok(true);
        }
        row.forget_order();
        for (place, &hash) in row.hashes.iter().enumerate() {
            match known.find(hash) {
                Holds::Number(index) => row.order.push(feature(index, place)),
                Holds::Words(_) => return Ok(false),
                Holds::Nothing => row.unknown.push(place),
            }
        }
        if !row.unknown.is_empty() {
            self.meet_numbers(dict)?;
        }
        self.row.settle_order();
        Ok(true)
    }

    /// Takes down those keys of a dict of numbers that were not seen before.
    fn meet_numbers(&mut self, dict: &Bound<'_, PyDict>) -> PyResult<()> {
        let unknown = std::mem::take(&mut self.row.unknown);
        let mut places = unknown.iter().copied().peekable();
        for (place, (key, _)) in dict.iter().enumerate() {
            if places.next_if_eq(&place).is_some() {
                let index = self.meet_number(word(&key)?.to_str()?, self.row.hashes[place]);
                self.row.order.push(feature(index, place));
            }
        }
        self.row.unknown = unknown;
        Ok(())
    }

    /// Finds the features of a dict of anything.
    fn add_cells(&mut self, dict: &Bound<'_, PyDict>, row: usize) -> PyResult<()> {
        self.loose.clear();
        self.plain.clear();
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
            let hash = Names::hash(name);
            let holds = match self.known.find(hash) {
                Holds::Nothing => self.meet(name, hash, matches!(cell, Cell::Text(_))),
                known => known,
            };
            let wrong = |wrong: RowError| PythonError::value(told(&wrong, row, name));
            self.give(Key { name, hash, holds }, cell).map_err(wrong)?;
        }
        self.loose.append(&mut self.plain);
        self.row.take(&self.loose);
        Ok(())
    }

    /// Adds the features of a cell to the row at hand.
    fn give(&mut self, key: Key<'_>, cell: Cell<'_>) -> Result<(), RowError> {
        match (key.holds, cell) {
            (Holds::Number(index), Cell::Number(number)) if (number as f32).is_finite() => {
                self.plain.push((index, number as f32));
            }
            (Holds::Number(index), Cell::Truth(truth)) => {
                self.plain.push((index, f32::from(u8::from(truth))));
            }
            (Holds::Words(place), Cell::Text(text)) => match self.words[place as usize].get(text) {
                Some(index) => self.loose.extend(index.map(|index| (index, 1.0))),
                None => return self.meet_word(key, place, text),
            },
            (_, Cell::Missing) => return self.give_absent(key).map(|_| ()),
            (_, Cell::Number(number)) if number.is_nan() => {
                return self.give_absent(key).map(|_| ());
            }
            _ => return self.give_anything(key, cell),
        }
        Ok(())
    }

    /// Adds the feature of a word that was not seen before.
    fn meet_word(&mut self, key: Key<'_>, place: u32, text: &str) -> Result<(), RowError> {
        let mut names = Names::default();
        let index = match names.category(key.name, text, self.bits) {
            Some(index) => {
                self.loose.push((index, 1.0));
                self.news.names(names);
                Some(index)
            }
            None => self.give_absent(key)?,
        };
        let words = &mut self.words[place as usize];
        if words.len() == WORDS_MAX {
            words.clear();
        }
        words.insert(text.to_owned(), index);
        Ok(())
    }

    /// Adds the feature which says that a key has no value, if there is to be one, and returns it.
    fn give_absent(&mut self, key: Key<'_>) -> Result<Option<u32>, RowError> {
        if !self.indicates {
            return Ok(None);
        }
        let index = match self.absent.get(&key.hash) {
            Some(&index) => index,
            None => self.meet_absent(key)?,
        };
        self.loose.extend(index.map(|index| (index, 1.0)));
        Ok(index)
    }

    /// Takes down the feature which says that a key has no value.
    fn meet_absent(&mut self, key: Key<'_>) -> Result<Option<u32>, RowError> {
        let Cells { features, names } =
            features_of(key.name, Role::Number, Cell::Missing, self.bits)?;
        let index = features.first().map(|&(index, _)| index);
        self.absent.insert(key.hash, index);
        self.news.names(names);
        Ok(index)
    }

    /// Adds the features of a cell that is no plain number or word.
    #[cold]
    fn give_anything(&mut self, key: Key<'_>, cell: Cell<'_>) -> Result<(), RowError> {
        let (role, to) = match key.holds {
            Holds::Words(_) => (Role::Category, &mut self.loose),
            _ => (Role::Number, &mut self.plain),
        };
        let Cells { features, names } = features_of(key.name, role, cell, self.bits)?;
        to.extend(features);
        self.news.names(names);
        Ok(())
    }

    /// Takes down a key that was not seen before.
    fn meet(&mut self, name: &str, hash: u64, holds_words: bool) -> Holds {
        if !holds_words {
            return Holds::Number(self.meet_number(name, hash));
        }
        let holds = Holds::Words(self.words.len() as u32);
        self.words.push(HashMap::new());
        self.known.insert(hash, holds);
        self.news.news.push(News::Words(hash));
        holds
    }

    /// Takes down a key of numbers that was not seen before, and returns the index of its feature.
    fn meet_number(&mut self, name: &str, hash: u64) -> u32 {
        let index = Names::index(name, self.bits);
        self.known.insert(hash, Holds::Number(index));
        self.news.number(name);
        index
    }
}

impl Newspaper {
    /// Adds a key that holds numbers.
    fn number(&mut self, name: &str) {
        self.letters.push_str(name);
        self.news.push(News::Number(self.letters.len()));
    }

    /// Adds the names of the features of a value.
    fn names(&mut self, names: Names) {
        self.news.push(News::Names(Box::new(names)));
    }

    /// Takes out the news of the dicts at hand, and returns the hashes of their keys.
    fn take_back(&mut self) -> HashSet<u64> {
        let end = |news: &News| if let News::Number(end) = news { Some(*end) } else { None };
        let first = self.news[..self.settled].iter().rev().find_map(end).unwrap_or(0);
        let mut start = first;
        let hash = |news: News| match news {
            News::Number(end) => {
                let name = &self.letters[start..end];
                start = end;
                Some(Names::hash(name))
            }
            News::Words(hash) => Some(hash),
            News::Names(_) => None,
        };
        let hashes = self.news.drain(self.settled..).filter_map(hash).collect();
        self.letters.truncate(first);
        hashes
    }
}

impl Row {
    /// Takes down the hashes and the values of a dict. It is false if a key is no word, or if a value is
    /// no finite number.
    fn read(&mut self, dict: &Bound<'_, PyDict>) -> bool {
        self.hashes.clear();
        self.values.clear();
        for (key, value) in dict.iter() {
            let Some(number) = number(&value).filter(|number| number.is_finite()) else {
                return false;
            };
            let Ok(name) = key.cast_exact::<PyString>() else { return false };
            let Ok(name) = name.to_str() else { return false };
            self.hashes.push(Names::hash(name));
            self.values.push(number);
        }
        true
    }

    /// Whether the order of the features is that of the row before.
    fn is_arranged(&self) -> bool {
        self.hashes == self.arranged && self.order.len() == self.hashes.len()
    }

    fn forget_order(&mut self) {
        self.arranged.clear();
        self.order.clear();
        self.unknown.clear();
    }

    /// Puts the features in order, and remembers whose order it is.
    fn settle_order(&mut self) {
        self.order.sort_unstable();
        self.arranged.extend_from_slice(&self.hashes);
    }

    /// Takes features in any order. No later row has the same order for sure.
    fn take(&mut self, features: &[(u32, f32)]) {
        self.forget_order();
        self.hashes.clear();
        self.values.clear();
        for (place, &(index, value)) in features.iter().enumerate() {
            self.order.push(feature(index, place));
            self.values.push(value);
        }
        self.order.sort_unstable();
    }

    /// Appends the row. Values of the same index are added up, in the order in which they came.
    fn finish(
        &self,
        constant: bool,
        row: usize,
        batch: &mut Batch,
        (label, importance): (f64, Importance),
    ) -> Outcome<()> {
        let mut open = batch.open_row(self.order.len() + usize::from(constant));
        let written = open.append_with(|indices, values| {
            let mut len = 0;
            if constant {
                (indices[0], values[0], len) = (0, 1.0, 1);
            }
            for &feature in &self.order {
                let (index, value) = ((feature >> 32) as u32, self.values[feature as u32 as usize]);
                if len > 0 && indices[len - 1] == index {
                    values[len - 1] += value;
                } else {
                    (indices[len], values[len]) = (index, value);
                    len += 1;
                }
            }
            len
        });
        written.map_err(|why| PythonError::value(format!("row {row}: {why}")))?;
        open.finish(label, importance);
        Ok(())
    }
}

/// Returns the index of a feature and its place in the row as one number, which has their order.
fn feature(index: u32, place: usize) -> u64 {
    u64::from(index) << 32 | place as u64
}

impl Default for Slots {
    fn default() -> Self {
        Self { all: vec![(0, Holds::Nothing); SLOTS], count: 0 }
    }
}

impl Slots {
    /// Returns what a key holds.
    #[inline]
    fn find(&self, hash: u64) -> Holds {
        self.all[self.place(hash)].1
    }

    /// Returns the place of a key, or the free place that it would have.
    #[inline]
    fn place(&self, hash: u64) -> usize {
        let last = self.all.len() - 1;
        let mut place = hash as usize & last;
        while self.all[place].0 != hash && !matches!(self.all[place].1, Holds::Nothing) {
            place = (place + 1) & last;
        }
        place
    }

    /// Puts in a key, or changes what it holds.
    fn insert(&mut self, hash: u64, holds: Holds) {
        if 2 * self.count >= self.all.len() {
            self.rebuild(2 * self.all.len(), |_| true);
        }
        let place = self.place(hash);
        self.count += usize::from(matches!(self.all[place].1, Holds::Nothing));
        self.all[place] = (hash, holds);
    }

    /// Takes out some keys.
    fn remove(&mut self, hashes: &HashSet<u64>) {
        self.rebuild(self.all.len(), |hash| !hashes.contains(&hash));
    }

    /// Puts the keys that stay in a table of this size.
    #[cold]
    fn rebuild(&mut self, size: usize, stays: impl Fn(u64) -> bool) {
        let old = std::mem::replace(&mut self.all, vec![(0, Holds::Nothing); size]);
        self.count = 0;
        for (hash, holds) in old {
            if !matches!(holds, Holds::Nothing) && stays(hash) {
                let place = self.place(hash);
                self.all[place] = (hash, holds);
                self.count += 1;
            }
        }
    }
}

/// Returns a value in single precision, if it is a plain number or a truth.
#[inline]
fn number(value: &Bound<'_, PyAny>) -> Option<f32> {
    if let Ok(number) = value.cast_exact::<PyFloat>() {
        return Some(number.value() as f32);
    }
    if let Ok(truth) = value.cast_exact::<PyBool>() {
        return Some(f32::from(u8::from(truth.is_true())));
    }
    if let Ok(whole) = value.cast_exact::<PyInt>() {
        return whole.extract::<f64>().ok().map(|number| number as f32);
    }
    // NumPy's doubles are floats, too.
    value.cast::<PyFloat>().ok().map(|number| number.value() as f32)
}

fn of_row<'a, 'py>(dict: &'a Bound<'py, PyAny>, row: usize) -> PyResult<&'a Bound<'py, PyDict>> {
    dict.cast::<PyDict>().map_err(|_| {
        let kind = dict.get_type().name().map_or_else(|_| String::new(), |name| name.to_string());
        PythonError::value(format!("row {row}: found {kind}, expected a dict")).into()
    })
}

/// Says what is wrong with the value of a key.
pub(crate) fn told(wrong: &RowError, row: usize, key: &str) -> String {
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
