//! Rows whose features have names: dicts, and matrices whose columns have names.

use crate::arrow::with_importance;
use crate::error::{Outcome, PythonError};
use crate::side::{Side, Visit};
use crate::table::Told;
use numpy::ndarray::{ArrayView2, s};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use rueful_core::{Batch, Importance};
use rueful_data::{
    Assembler, Bits, Cell, Column, Columns, Expansion, LabelRule, Names, Reading, Role, RowError,
    Seen,
};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::num::NonZeroUsize;
use std::ops::Range;
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
    /// The keys, in the order in which they came.
    all: Vec<Known>,
    /// The place of the last key with each hash, as Python hashes words.
    places: HashMap<isize, usize, BuildHasherDefault<AsItIs>>,
    bits: Bits,
    constant: bool,
    /// Whether a key without a value makes a feature that says so.
    indicates: bool,
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
    /// The features of the row at hand by their indices, each with its place in `loose`.
    order: Vec<u64>,
}

/// A key that was seen.
struct Known {
    word: Py<PyString>,
    hash: isize,
    /// The place of the key before it that has the same hash.
    earlier: Option<usize>,
    key: Key,
    /// The feature which says that it has no value, if that was needed.
    absent: Option<u32>,
}

/// Something that a dict has brought for the first time.
enum News {
    /// The key at this place.
    Key(usize),
    /// The names of the features of a value.
    Names(Names),
}

/// A hasher of numbers that are hashes already.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        // The highest bits choose among places with the same lowest bits, so all are mixed.
        self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = (self.0 << 8) | u64::from(byte));
    }

    fn write_isize(&mut self, hash: isize) {
        self.0 = hash as u64;
    }
}

/// A key. Its first value decides whether it holds numbers or words.
enum Key {
    /// It holds numbers, and its feature has this index.
    Number(u32),
    /// It holds words. The features of those that were seen are remembered.
    Words(HashMap<String, Option<u32>>),
}

/// The keys of a dict that holds numbers and truths alone, in their order, and the features they stand for.
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
    pub(crate) fn new(bits: Bits, constant: bool, indicates: bool) -> Self {
        let keys = Keys {
            all: Vec::new(),
            places: HashMap::default(),
            bits,
            constant,
            indicates,
            names: Seen::default(),
            news: Vec::new(),
            shape: None,
            last: None,
            spare: Batch::default(),
            loose: Vec::new(),
            numbers: Vec::new(),
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
        let Self { all, names, news, bits, .. } = self;
        Python::attach(|py| {
            for news in news.drain(..) {
                match news {
                    News::Key(place) => {
                        let Known { word, key, .. } = &all[place];
                        if let (Key::Number(_), Ok(name)) = (key, word.bind(py).to_str()) {
                            names.names.number(name, *bits);
                        }
                    }
                    News::Names(new) => names.extend(&Seen { names: new, ..Seen::default() }),
                }
            }
        });
    }

    /// Forgets the keys and names of dicts one of which was refused.
    #[cold]
    fn forget(&mut self) {
        self.shape = None;
        // New keys are the last ones.
        while let Some(news) = self.news.pop() {
            let News::Key(_) = news else { continue };
            let Some(Known { hash, earlier, .. }) = self.all.pop() else { continue };
            match earlier {
                Some(place) => self.places.insert(hash, place),
                None => self.places.remove(&hash),
            };
        }
        // Words that are not remembered are looked at again.
        self.all.iter_mut().for_each(|known| known.absent = None);
        self.all.iter_mut().filter_map(|known| known.key.words()).for_each(HashMap::clear);
    }

    /// Returns the place of a key that was seen before.
    fn find(&self, word: &Bound<'_, PyString>, hash: isize) -> Option<usize> {
        let mut place = *self.places.get(&hash)?;
        loop {
            let known = &self.all[place];
            if is_same(word.as_any(), &known.word) {
                return Some(place);
            }
            place = known.earlier?;
        }
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
            let hash = key.hash()?;
            let place = match self.find(&key, hash) {
                Some(place) => place,
                None => self.meet(&key, hash, matches!(cell, Cell::Text(_)))?,
            };
            let wrong = |wrong: RowError| PythonError::value(told(&wrong, row, name));
            self.give(place, name, cell).map_err(wrong)?;
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
    fn give(&mut self, place: usize, name: &str, cell: Cell<'_>) -> Result<(), RowError> {
        match (&self.all[place].key, cell) {
            (Key::Number(index), Cell::Number(number)) if (number as f32).is_finite() => {
                self.numbers.push((*index, number as f32));
            }
            (Key::Number(index), Cell::Truth(truth)) => {
                self.numbers.push((*index, f32::from(u8::from(truth))));
            }
            (Key::Words(words), Cell::Text(text)) => match words.get(text) {
                Some(index) => self.loose.extend(index.map(|index| (index, 1.0))),
                None => return self.meet_word(place, name, text),
            },
            (_, Cell::Missing) => return self.give_absent(place, name).map(|_| ()),
            (_, Cell::Number(number)) if number.is_nan() => {
                return self.give_absent(place, name).map(|_| ());
            }
            _ => return self.give_anything(place, name, cell),
        }
        Ok(())
    }

    /// Adds the feature of a word that was not seen before.
    fn meet_word(&mut self, place: usize, name: &str, text: &str) -> Result<(), RowError> {
        let mut names = Names::default();
        let index = match names.category(name, text, self.bits) {
            Some(index) => {
                self.loose.push((index, 1.0));
                self.news.push(News::Names(names));
                Some(index)
            }
            None => self.give_absent(place, name)?,
        };
        if let Some(words) = self.all[place].key.words() {
            if words.len() == WORDS_MAX {
                words.clear();
            }
            words.insert(text.to_owned(), index);
        }
        Ok(())
    }

    /// Adds the feature which says that a key has no value, if there is to be one, and returns it.
    fn give_absent(&mut self, place: usize, name: &str) -> Result<Option<u32>, RowError> {
        if !self.indicates {
            return Ok(None);
        }
        if self.all[place].absent.is_none() {
            let Cells { features, names } =
                features_of(name, Role::Number, Cell::Missing, self.bits)?;
            self.all[place].absent = features.first().map(|&(index, _)| index);
            self.news.push(News::Names(names));
        }
        let index = self.all[place].absent;
        self.loose.extend(index.map(|index| (index, 1.0)));
        Ok(index)
    }

    /// Adds the features of a cell that is no plain number or word.
    #[cold]
    fn give_anything(&mut self, place: usize, name: &str, cell: Cell<'_>) -> Result<(), RowError> {
        let holds_words = matches!(self.all[place].key, Key::Words(_));
        let role = if holds_words { Role::Category } else { Role::Number };
        let Cells { features, names } = features_of(name, role, cell, self.bits)?;
        if holds_words { &mut self.loose } else { &mut self.numbers }.extend(features);
        self.news.push(News::Names(names));
        Ok(())
    }

    /// Takes down a key that was not seen before, and returns its place.
    fn meet(
        &mut self,
        word: &Bound<'_, PyString>,
        hash: isize,
        holds_words: bool,
    ) -> PyResult<usize> {
        let key = if holds_words {
            Key::Words(HashMap::new())
        } else {
            Key::Number(Names::default().number(word.to_str()?, self.bits))
        };
        let place = self.all.len();
        let earlier = self.places.insert(hash, place);
        let word = word.clone().unbind();
        self.all.push(Known { word, hash, earlier, key, absent: None });
        self.news.push(News::Key(place));
        Ok(place)
    }

    /// Ends the row at hand. Values of the same index are added up.
    fn finish(
        &mut self,
        row: usize,
        batch: &mut Batch,
        (label, importance): (f64, Importance),
    ) -> PyResult<()> {
        let Self { loose, numbers, order, .. } = self;
        loose.append(numbers);
        order.clear();
        let places = loose.iter().enumerate();
        order.extend(places.map(|(place, &(index, _))| u64::from(index) << 32 | place as u64));
        order.sort_unstable();
        let mut open = batch.open_row(order.len());
        let wrong = |why| PythonError::value(format!("row {row}: {why}"));
        let (mut last, mut sum) = (None, 0.0);
        for &key in order.iter() {
            let (index, value) = loose[key as u32 as usize];
            match last {
                Some(same) if same == index => sum += value,
                _ => {
                    last.map_or(Ok(()), |last| open.push(last, sum)).map_err(wrong)?;
                    (last, sum) = (Some(index), value);
                }
            }
        }
        last.map_or(Ok(()), |last| open.push(last, sum)).map_err(wrong)?;
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

/// Returns a value in single precision, if it is a plain number or a truth.
fn number(value: &Bound<'_, PyAny>) -> Option<f32> {
    if let Ok(number) = value.cast_exact::<PyFloat>() {
        return Some(number.value() as f32);
    }
    if let Ok(truth) = value.cast_exact::<PyBool>() {
        return Some(f32::from(u8::from(truth.is_true())));
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
pub(crate) fn matrix<T: Copy + Into<f64>>(
    array: &ArrayView2<'_, T>,
    (columns, bits, constant): (&Columns, Bits, bool),
    side: &Side<'_>,
    visit: &mut Visit<'_>,
) -> Outcome<Told> {
    let (rows, width) = array.dim();
    let features: Vec<usize> = features(columns);
    if width != features.len() {
        let wanted = features.len();
        return Err(PythonError::value(format!("X has {width} columns, expected {wanted}")));
    }
    let cell = |row: usize, column: usize| array[[row, column]].into();
    let are_finite =
        || array.iter().fold(true, |fine, &one| fine & (one.into() as f32).is_finite());
    if let Some(plain) = Plain::new(columns, &features, bits)
        && are_finite()
    {
        plain.each(0..rows, &Matrix(array), constant, side, visit)?;
        return Ok(Told { names: plain.names, missing: Vec::new() });
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

/// The features of a table all of whose columns are numbers, each a feature of its own.
pub(crate) struct Plain {
    /// The features in increasing order, each with its column.
    features: Vec<(u32, usize)>,
    names: Names,
}

impl Plain {
    /// Returns the features of the columns at these places. It is `None` if there is more to them.
    pub(crate) fn new(columns: &Columns, places: &[usize], bits: Bits) -> Option<Self> {
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

    /// Returns the names of the features.
    pub(crate) fn names(&self) -> Names {
        self.names.clone()
    }

    /// Returns the columns that are features.
    pub(crate) fn columns(&self) -> impl Iterator<Item = usize> {
        self.features.iter().map(|&(_, column)| column)
    }

    /// Shows rows of finite numbers to `visit`, some at a time. They are those of the labels at `rows`.
    pub(crate) fn each(
        &self,
        rows: Range<usize>,
        numbers: &impl Numbers,
        constant: bool,
        side: &Side<'_>,
        visit: &mut Visit<'_>,
    ) -> Outcome<()> {
        let width = self.features.len() + usize::from(constant);
        let step = (ENOUGH / width.max(1)).max(1);
        let mut batch = Batch::default();
        for start in rows.clone().step_by(step) {
            let part = start..rows.end.min(start + step);
            let of_table = part.start - rows.start..part.end - rows.start;
            let lengths = vec![width as u32; part.len()];
            let (labels, importances) = side.part(part);
            batch.clear();
            let filled = batch.extend_with(&lengths, labels, importances, |indices, values| {
                self.fill(numbers, of_table, constant, indices, values);
            });
            filled.map_err(|why| PythonError::value(format!("X: {why}")))?;
            visit(batch.rows())?;
        }
        Ok(())
    }

    /// Writes the features of some rows of the table, column by column.
    fn fill(
        &self,
        numbers: &impl Numbers,
        rows: Range<usize>,
        constant: bool,
        indices: &mut [u32],
        values: &mut [f32],
    ) {
        let first = usize::from(constant);
        let width = self.features.len() + first;
        for row in indices.chunks_exact_mut(width.max(1)) {
            row[..first].fill(0);
            row[first..].iter_mut().zip(&self.features).for_each(|(to, &(index, _))| *to = index);
        }
        if constant {
            values.iter_mut().step_by(width).for_each(|to| *to = 1.0);
        }
        for (place, column) in (first..).zip(self.columns()) {
            numbers.write(column, rows.clone(), &mut values[place..], width);
        }
    }
}

/// The numbers of a table, column by column.
pub(crate) trait Numbers {
    /// Writes the numbers of some rows of a column to every `step`-th place.
    fn write(&self, column: usize, rows: Range<usize>, to: &mut [f32], step: usize);
}

/// The numbers of a matrix.
struct Matrix<'a, T>(&'a ArrayView2<'a, T>);

impl<T: Copy + Into<f64>> Numbers for Matrix<'_, T> {
    fn write(&self, column: usize, rows: Range<usize>, to: &mut [f32], step: usize) {
        let numbers = self.0.slice(s![rows, column]);
        write_each(to, step, numbers.iter().map(|&number| number.into() as f32));
    }
}

/// Writes numbers to every `step`-th place.
pub(crate) fn write_each(to: &mut [f32], step: usize, numbers: impl Iterator<Item = f32>) {
    to.iter_mut().step_by(step).zip(numbers).for_each(|(to, number)| *to = number);
}

/// Returns the places of the columns that hold neither labels, importances, ids nor predictions.
pub(crate) fn features(columns: &Columns) -> Vec<usize> {
    let is_feature =
        |role| !matches!(role, Role::Label | Role::Importance | Role::Prediction | Role::Id);
    let columns = columns.iter().enumerate();
    columns.filter(|(_, column)| is_feature(column.role)).map(|(place, _)| place).collect()
}
