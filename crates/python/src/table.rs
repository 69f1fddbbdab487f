//! Tables from Python's memory, and their rows.
//!
//! Column j of a matrix is feature j + 1, because feature 0 is the constant, as everywhere in
//! rueful. Values become single precision. A matrix of singles whose rows lie side by side is used
//! in place if it needs no constant. All other tables are copied, some rows at a time.

use crate::arrow::{self, Batches};
use crate::error::{Outcome, PythonError};
use crate::named::{self, Dicts};
use crate::side::{Side, Visit};
use numpy::ndarray::{ArrayView1, ArrayView2};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use rueful_core::{Batch, Door, RowError};
use rueful_data::{Bits, Columns, Names};

/// The approximate number of features in a batch.
const ENOUGH: usize = 1 << 14;

/// The largest number of columns that a matrix may have. Readers have the same limit for indices.
const COLUMNS_MAX: usize = 1 << 26;

/// A table as Python hands it over.
pub(crate) enum Table<'py> {
    Singles(PyReadonlyArray2<'py, f32>),
    Doubles(PyReadonlyArray2<'py, f64>),
    Sparse(Sparse<'py>),
    Dicts(Bound<'py, PyList>),
    /// Anything that has `__arrow_c_stream__`.
    Arrow(Bound<'py, PyAny>),
}

/// The parts of a matrix of compressed rows.
pub(crate) struct Sparse<'py> {
    offsets: Whole<'py>,
    indices: Whole<'py>,
    singles: Option<PyReadonlyArray1<'py, f32>>,
    doubles: Option<PyReadonlyArray1<'py, f64>>,
    width: usize,
}

/// Whole numbers of either size.
enum Whole<'py> {
    Small(PyReadonlyArray1<'py, i32>),
    Large(PyReadonlyArray1<'py, i64>),
}

impl<'py> Whole<'py> {
    fn of(array: &Bound<'py, PyAny>) -> PyResult<Self> {
        match array.extract() {
            Ok(small) => Ok(Self::Small(small)),
            Err(_) => Ok(Self::Large(array.extract()?)),
        }
    }

    fn view(&self) -> WholeView<'_> {
        match self {
            Self::Small(array) => WholeView::Small(array.as_array()),
            Self::Large(array) => WholeView::Large(array.as_array()),
        }
    }
}

impl<'py> Sparse<'py> {
    fn of(parts: &Bound<'py, PyTuple>) -> PyResult<Self> {
        let values = parts.get_item(2)?;
        let singles = values.extract().ok();
        let doubles = if singles.is_none() { Some(values.extract()?) } else { None };
        Ok(Self {
            offsets: Whole::of(&parts.get_item(0)?)?,
            indices: Whole::of(&parts.get_item(1)?)?,
            singles,
            doubles,
            width: parts.get_item(3)?.extract()?,
        })
    }

    fn view(&self) -> SparseView<'_> {
        let values = match (&self.singles, &self.doubles) {
            (Some(singles), _) => Values::Singles(singles.as_array()),
            (None, Some(doubles)) => Values::Doubles(doubles.as_array()),
            (None, None) => Values::Singles(ArrayView1::from(&[])),
        };
        let (offsets, indices) = (self.offsets.view(), self.indices.view());
        SparseView { offsets, indices, values, width: self.width }
    }
}

impl<'py> Table<'py> {
    /// Takes a table that Python holds: a matrix of floats, the parts of a sparse one, a list of
    /// dicts, or an object with an Arrow stream.
    pub(crate) fn of(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(parts) = object.cast::<PyTuple>() {
            return Ok(Self::Sparse(Sparse::of(parts)?));
        }
        if let Ok(dicts) = object.cast::<PyList>() {
            return Ok(Self::Dicts(dicts.clone()));
        }
        if let Ok(array) = object.extract() {
            return Ok(Self::Singles(array));
        }
        if let Ok(array) = object.extract() {
            return Ok(Self::Doubles(array));
        }
        if object.hasattr("__arrow_c_stream__")? {
            return Ok(Self::Arrow(object.clone()));
        }
        let kind = object.get_type().name()?;
        Err(PyTypeError::new_err(format!("X is {kind}, expected an array, a matrix or a frame")))
    }

    /// Returns a view of the table for work without the interpreter.
    pub(crate) fn view(&self, dicts: &Dicts) -> PyResult<View<'_>> {
        Ok(match self {
            Self::Singles(array) => View::Singles(array.as_array()),
            Self::Doubles(array) => View::Doubles(array.as_array()),
            Self::Sparse(parts) => View::Sparse(parts.view()),
            Self::Dicts(list) => View::Batch(named::collect(list, dicts)?),
            Self::Arrow(object) => View::Arrow(arrow::import(object)?),
        })
    }
}

/// A table that can be read without the interpreter.
pub(crate) enum View<'a> {
    Singles(ArrayView2<'a, f32>),
    Doubles(ArrayView2<'a, f64>),
    Sparse(SparseView<'a>),
    /// Rows with named features that were collected already, without labels.
    Batch(named::Collected),
    Arrow(Batches),
}

/// The parts of a matrix of compressed rows.
pub(crate) struct SparseView<'a> {
    offsets: WholeView<'a>,
    indices: WholeView<'a>,
    values: Values<'a>,
    width: usize,
}

enum WholeView<'a> {
    Small(ArrayView1<'a, i32>),
    Large(ArrayView1<'a, i64>),
}

impl WholeView<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Small(array) => array.len(),
            Self::Large(array) => array.len(),
        }
    }

    /// Returns a number that counts something, or `None` if it is negative.
    fn get(&self, place: usize) -> Option<usize> {
        let number = match self {
            Self::Small(array) => i64::from(array[place]),
            Self::Large(array) => array[place],
        };
        usize::try_from(number).ok()
    }
}

enum Values<'a> {
    Singles(ArrayView1<'a, f32>),
    Doubles(ArrayView1<'a, f64>),
}

impl Values<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Singles(array) => array.len(),
            Self::Doubles(array) => array.len(),
        }
    }

    fn get(&self, place: usize) -> f64 {
        match self {
            Self::Singles(array) => f64::from(array[place]),
            Self::Doubles(array) => array[place],
        }
    }
}

/// A way in which the columns of a table become features.
pub(crate) enum Way<'a> {
    /// By their numbers, perhaps with a constant before them.
    Numbered { constant: bool },
    /// The table has no columns: features are the keys of dicts.
    Keys,
    /// By their names.
    Named { columns: &'a Columns, bits: Bits, constant: bool },
}

/// The names and the missing cells that were found in a table.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) names: Names,
    pub(crate) missing: Vec<u64>,
}

impl View<'_> {
    /// Returns the number of rows, if it is known beforehand.
    pub(crate) fn rows(&self) -> Option<usize> {
        match self {
            Self::Singles(array) => Some(array.nrows()),
            Self::Doubles(array) => Some(array.nrows()),
            Self::Sparse(parts) => Some(parts.offsets.len().saturating_sub(1)),
            Self::Batch(rows) => Some(rows.len()),
            Self::Arrow(_) => None,
        }
    }

    /// Refuses a matrix with a value that no feature can have.
    pub(crate) fn check(&self) -> Outcome<()> {
        match self {
            Self::Singles(array) => check_values(array),
            Self::Doubles(array) => check_values(array),
            Self::Sparse(parts) => parts.check(),
            Self::Batch(_) | Self::Arrow(_) => Ok(()),
        }
    }

    /// Shows all rows in order to `visit`, some at a time, each with its label and importance.
    /// Without `side`, the labels mean nothing.
    pub(crate) fn each(
        self,
        way: &Way<'_>,
        side: Option<&Side<'_>>,
        visit: &mut Visit<'_>,
    ) -> Outcome<Told> {
        let unknown = match side {
            None => self.rows().map(Side::unknown),
            Some(side) => {
                self.rows().map_or(Ok(()), |rows| side.check(rows))?;
                None
            }
        };
        if let Self::Arrow(batches) = self {
            return arrow::each(batches, way, side, visit);
        }
        let Some(side) = side.or(unknown.as_ref()) else { return Ok(Told::default()) };
        match (self, way) {
            (Self::Batch(_), Way::Numbered { .. }) => {
                return Err(PythonError::value(
                    "X is a list of dicts, and the model was fitted to numbered columns",
                ));
            }
            (Self::Batch(rows), _) => return rows.each(side, visit),
            (Self::Singles(array), Way::Named { columns, bits, constant }) => {
                let cells = |row: usize, column: usize| f64::from(array[[row, column]]);
                return named::matrix(array.dim(), cells, (columns, *bits, *constant), side, visit);
            }
            (Self::Doubles(array), Way::Named { columns, bits, constant }) => {
                let cells = |row: usize, column: usize| array[[row, column]];
                return named::matrix(array.dim(), cells, (columns, *bits, *constant), side, visit);
            }
            (Self::Singles(array), Way::Numbered { constant }) => match array.as_slice() {
                Some(values) if !constant => in_place(values, array.ncols(), side, visit)?,
                _ => dense(&array, |&value| value, *constant, side, visit)?,
            },
            (Self::Doubles(array), Way::Numbered { constant }) => {
                dense(&array, |&value| value as f32, *constant, side, visit)?;
            }
            (Self::Sparse(parts), Way::Numbered { constant }) => {
                parts.each(*constant, side, visit)?;
            }
            (Self::Sparse(_), Way::Named { .. }) | (_, Way::Keys) => {
                return Err(PythonError::value(
                    "X is a matrix whose columns have no names, and the model was fitted to names",
                ));
            }
            (Self::Arrow(_), _) => {}
        }
        Ok(Told::default())
    }
}

fn check_width(width: usize) -> Outcome<()> {
    if width <= COLUMNS_MAX {
        return Ok(());
    }
    Err(PythonError::value(format!("X has {width} columns, expected at most {COLUMNS_MAX}")))
}

/// Refuses a matrix with a value that single precision does not hold.
fn check_values<T: Copy + Into<f64>>(array: &ArrayView2<'_, T>) -> Outcome<()> {
    let is_one = |value: f64| (value as f32).is_finite();
    if array.iter().all(|&value| is_one(value.into())) {
        return Ok(());
    }
    let found = array.indexed_iter().find(|&(_, &value)| !is_one(value.into()));
    found.map_or(Ok(()), |((row, column), &value)| Err(refused(row, column, value.into())))
}

/// Makes the error about a value that no feature can have.
#[cold]
pub(crate) fn refused(row: usize, column: usize, value: f64) -> PythonError {
    let why = if value.is_nan() {
        "NaN, expected a number"
    } else if value.is_infinite() {
        "infinity, expected a finite number"
    } else {
        return PythonError::value(format!(
            "X, row {row}, column {column}: found {value:e}, which is too large for single precision"
        ));
    };
    PythonError::value(format!("X, row {row}, column {column}: found {why}"))
}

/// Shows rows of a matrix that is used in place.
fn in_place(values: &[f32], width: usize, side: &Side<'_>, visit: &mut Visit<'_>) -> Outcome<()> {
    check_width(width)?;
    let mut door = Door::default();
    let rows = side.labels.len();
    let step = (ENOUGH / width.max(1)).max(1);
    for from in (0..rows).step_by(step) {
        let to = rows.min(from + step);
        let part = &values[from * width..to * width];
        let importances = side.importances.get(from..to).unwrap_or_default();
        let let_in = door.dense_from(1, width, part, &side.labels[from..to], importances);
        visit(let_in.map_err(|error| wrong_row(error, part, width, from))?)?;
    }
    Ok(())
}

/// Makes the error about a wrong row in a part of a matrix.
#[cold]
fn wrong_row(error: RowError, part: &[f32], width: usize, from: usize) -> PythonError {
    match part.iter().position(|value| !value.is_finite()) {
        Some(at) => refused(from + at / width, at % width, f64::from(part[at])),
        None => PythonError::value(format!("X: {error}")),
    }
}

/// Shows rows that are copied, some at a time.
fn dense<T>(
    array: &ArrayView2<'_, T>,
    single: impl Fn(&T) -> f32,
    constant: bool,
    side: &Side<'_>,
    visit: &mut Visit<'_>,
) -> Outcome<()>
where
    T: Copy + Into<f64>,
{
    let (rows, width) = array.dim();
    check_width(width)?;
    let mut batch = Batch::default();
    let step = (ENOUGH / (width + 1)).max(1);
    for from in (0..rows).step_by(step) {
        batch.clear();
        for row in from..rows.min(from + step) {
            let mut open = batch.open_row(width + 1);
            if constant {
                let _ = open.push(0, 1.0);
            }
            for (column, value) in array.row(row).iter().enumerate() {
                let pushed = open.push(column as u32 + 1, single(value));
                pushed.map_err(|_| refused(row, column, (*value).into()))?;
            }
            open.finish(side.labels[row], side.importance(row));
        }
        visit(batch.rows())?;
    }
    Ok(())
}

impl SparseView<'_> {
    /// Refuses values that single precision does not hold, and indices out of their range.
    fn check(&self) -> Outcome<()> {
        let rows = self.offsets.len().saturating_sub(1);
        for row in 0..rows {
            let (from, to) = self.range(row)?;
            for place in from..to {
                let (column, value) = (self.column(row, place)?, self.values.get(place));
                if !(value as f32).is_finite() {
                    return Err(refused(row, column, value));
                }
            }
        }
        Ok(())
    }

    fn each(&self, constant: bool, side: &Side<'_>, visit: &mut Visit<'_>) -> Outcome<()> {
        check_width(self.width)?;
        let mut batch = Batch::default();
        for row in 0..side.labels.len() {
            let (from, to) = self.range(row)?;
            let mut open = batch.open_row(to - from + 1);
            if constant {
                let _ = open.push(0, 1.0);
            }
            for place in from..to {
                let column = self.column(row, place)?;
                let value = self.values.get(place);
                let pushed = open.push(column as u32 + 1, value as f32);
                pushed.map_err(|why| match (value as f32).is_finite() {
                    true => PythonError::value(format!("X, row {row}: {why}")),
                    false => refused(row, column, value),
                })?;
            }
            open.finish(side.labels[row], side.importance(row));
            if batch.nonzeros() + batch.len() >= ENOUGH {
                visit(batch.rows())?;
                batch.clear();
            }
        }
        if batch.is_empty() { Ok(()) } else { visit(batch.rows()) }
    }

    /// Returns the number of features.
    fn len(&self) -> usize {
        self.indices.len().min(self.values.len())
    }

    /// Returns the range of places where the features of a row lie.
    fn range(&self, row: usize) -> Outcome<(usize, usize)> {
        let ends = (self.offsets.get(row), self.offsets.get(row + 1));
        match ends {
            (Some(from), Some(to)) if from <= to && to <= self.len() => Ok((from, to)),
            _ => Err(PythonError::value(format!(
                "X, row {row}: its offsets are {ends:?}, expected numbers that increase up to {}",
                self.len()
            ))),
        }
    }

    fn column(&self, row: usize, place: usize) -> Outcome<usize> {
        let column = self.indices.get(place).filter(|&column| column < self.width);
        column.ok_or_else(|| {
            let width = self.width;
            PythonError::value(format!(
                "X, row {row}: an index is not from 0 to {width}, exclusive"
            ))
        })
    }
}
