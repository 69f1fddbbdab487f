//! Tables from Python's memory, and their rows.
//!
//! Column j of a matrix is feature j + 1, because feature 0 is the constant, as everywhere in
//! rueful. Values become single precision. A matrix of singles whose rows lie side by side is used
//! in place if it needs no constant. All other tables are copied: small matrices whole, so that all
//! of their rows are checked on the way, and others some rows at a time. The memory for whole ones is
//! kept from one call to the next.

use crate::arrow::{self, Batches};
use crate::dicts::{self, Dicts};
use crate::error::{Outcome, PythonError};
use crate::named::{self, Plain};
use crate::side::{Side, Visit};
use crate::singles::{self, Number, all_fit};
use crate::sparse::{Sparse, SparseView};
use crate::threads::{LARGE, in_parts};
use numpy::PyReadonlyArray2;
use numpy::ndarray::{ArrayView1, ArrayView2, s};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use rueful_core::{Batch, Door, Grid, RowError, Rows};
use rueful_data::{Bits, Columns, KNOT_ROWS, Names};
use rueful_machine::{Kernel, Registers, widest};
use std::ops::Range;

/// The approximate number of features in a batch: few enough to stay near while they are copied, checked
/// and learned from.
pub(crate) const ENOUGH: usize = 1 << 14;

/// The largest number of values of a matrix that is copied whole before the first row is shown.
const SMALL: usize = 1 << 21;

/// The largest number of values that are looked at one by one.
const FEW: usize = 1 << 6;

/// The largest number of values for which memory is kept.
const KEPT: usize = 1 << 20;

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

    /// Returns the first numbers of a column of a matrix, as far as they decide the knots of curves.
    pub(crate) fn first_numbers(&self, column: usize) -> Vec<f32> {
        match self {
            Self::Singles(array) => first_numbers(&array.as_array(), column),
            Self::Doubles(array) => first_numbers(&array.as_array(), column),
            Self::Sparse(_) | Self::Dicts(_) | Self::Arrow(_) => Vec::new(),
        }
    }

    /// Returns a view of the table for work without the interpreter.
    pub(crate) fn view(&self, dicts: &Dicts) -> PyResult<View<'_>> {
        Ok(match self {
            Self::Singles(array) => View::Singles(array.as_array()),
            Self::Doubles(array) => View::Doubles(array.as_array()),
            Self::Sparse(parts) => View::Sparse(parts.view()?),
            Self::Dicts(list) => View::Batch(dicts.collect(list)?),
            Self::Arrow(object) => View::Arrow(arrow::import(object)?),
        })
    }
}

fn first_numbers<T: Number>(array: &ArrayView2<'_, T>, column: usize) -> Vec<f32> {
    if column >= array.ncols() {
        return Vec::new();
    }
    let first = array.column(column).into_iter().take(KNOT_ROWS).map(|cell| cell.single());
    first.filter(|number| number.is_finite()).collect()
}

/// A table that can be read without the interpreter.
pub(crate) enum View<'a> {
    Singles(ArrayView2<'a, f32>),
    Doubles(ArrayView2<'a, f64>),
    Sparse(SparseView<'a>),
    /// A matrix that was copied and checked.
    Copied(Copied<'a>),
    /// The same for a sparse matrix, with its labels and importances.
    Gathered(&'a Batch),
    /// Rows with named features that were collected already, without labels.
    Batch(dicts::Collected),
    Arrow(Batches),
}

/// A way in which the columns of a table become features.
pub(crate) enum Way<'a> {
    /// By their numbers, perhaps with a constant before them.
    Numbered { constant: bool },
    /// The table has no columns: features are the keys of dicts.
    Keys,
    /// By their names.
    Named {
        columns: &'a Columns,
        bits: Bits,
        constant: bool,
        /// The features of a table of numbers, if they are known.
        plain: Option<&'a Plain>,
    },
}

/// The names and the missing cells that were found in a table.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) names: Names,
    pub(crate) missing: Vec<u64>,
}

impl Told {
    /// Adds what was found in later rows of the table.
    pub(crate) fn extend(&mut self, later: &Self) {
        self.names.extend(&later.names);
        add_missing(&mut self.missing, &later.missing);
    }
}

/// Adds the numbers of missing cells by column.
pub(crate) fn add_missing(sums: &mut Vec<u64>, later: &[u64]) {
    sums.resize(sums.len().max(later.len()), 0);
    sums.iter_mut().zip(later).for_each(|(sum, count)| *sum += count);
}

/// Memory for copies of matrices.
#[derive(Default)]
pub(crate) struct Room {
    grid: Grid,
    batch: Batch,
}

impl Room {
    /// Returns the memory for the next matrix, unless it is too much to be kept.
    pub(crate) fn kept(self) -> Self {
        let most = self.grid.room().max(self.batch.nonzeros());
        if most <= KEPT { self } else { Self::default() }
    }
}

impl<'a> View<'a> {
    /// Returns the number of rows, if it is known beforehand.
    pub(crate) fn rows(&self) -> Option<usize> {
        match self {
            Self::Singles(array) => Some(array.nrows()),
            Self::Doubles(array) => Some(array.nrows()),
            Self::Sparse(parts) => Some(parts.rows()),
            Self::Copied(copied) => Some(copied.grid.len()),
            Self::Gathered(batch) => Some(batch.len()),
            Self::Batch(rows) => Some(rows.len()),
            Self::Arrow(_) => None,
        }
    }

    /// Refuses a matrix with a value that no feature can have. If its columns have names, NaN is a
    /// cell without a value. A matrix that must be copied and is small is copied on the way.
    pub(crate) fn checked<'b>(
        self,
        way: &Way<'_>,
        side: &Side<'_>,
        room: &'b mut Room,
    ) -> Outcome<View<'b>>
    where
        'a: 'b,
    {
        let gaps = matches!(way, Way::Named { .. });
        let is_paired = self.rows() == Some(side.labels.len());
        Ok(match (self, way) {
            (Self::Doubles(array), Way::Numbered { constant }) if is_small(&array) => {
                View::Copied(Copied::of(&array, *constant, &mut room.grid)?)
            }
            (Self::Singles(array), Way::Numbered { constant: true }) if is_small(&array) => {
                View::Copied(Copied::of(&array, true, &mut room.grid)?)
            }
            (Self::Sparse(parts), Way::Numbered { constant })
                if is_paired && parts.is_small(SMALL) =>
            {
                parts.gather(*constant, side, &mut room.batch)?;
                View::Gathered(&room.batch)
            }
            (Self::Singles(array), _) => {
                check_values(&array, gaps)?;
                View::Singles(array.reborrow())
            }
            (Self::Doubles(array), _) => {
                check_values(&array, gaps)?;
                View::Doubles(array.reborrow())
            }
            (Self::Sparse(parts), _) => View::Sparse(parts.checked()?),
            (Self::Copied(copied), _) => View::Copied(copied),
            (Self::Gathered(batch), _) => View::Gathered(batch),
            (Self::Batch(rows), _) => View::Batch(rows),
            (Self::Arrow(batches), _) => View::Arrow(batches),
        })
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
                return Err(not_numbered());
            }
            (Self::Batch(rows), _) => return rows.each(side, visit),
            (Self::Singles(array), Way::Named { columns, bits, constant, plain }) => {
                return named::matrix(&array, (columns, *bits, *constant), *plain, side, visit);
            }
            (Self::Doubles(array), Way::Named { columns, bits, constant, plain }) => {
                return named::matrix(&array, (columns, *bits, *constant), *plain, side, visit);
            }
            (Self::Singles(array), Way::Numbered { constant: false })
                if array.is_standard_layout() =>
            {
                in_place(&array, side, visit)?;
            }
            (Self::Singles(array), Way::Numbered { constant }) => {
                dense(&array, *constant, side, visit)?;
            }
            (Self::Doubles(array), Way::Numbered { constant }) => {
                dense(&array, *constant, side, visit)?;
            }
            (Self::Sparse(parts), Way::Numbered { constant }) => {
                parts.each(*constant, side, visit)?;
            }
            (Self::Copied(copied), Way::Numbered { .. }) => copied.each(side, visit)?,
            (Self::Gathered(batch), Way::Numbered { .. }) => visit_in_parts(batch.rows(), visit)?,
            (Self::Sparse(_) | Self::Copied(_) | Self::Gathered(_), Way::Named { .. })
            | (_, Way::Keys) => {
                return Err(PythonError::value(
                    "X is a matrix whose columns have no names, and the model was fitted to names",
                ));
            }
            (Self::Arrow(_), _) => {}
        }
        Ok(Told::default())
    }
}

/// Makes the error about dicts for a model of numbered columns.
pub(crate) fn not_numbered() -> PythonError {
    PythonError::value("X is a list of dicts, and the model was fitted to numbered columns")
}

pub(crate) fn check_width(width: usize) -> Outcome<()> {
    if width <= COLUMNS_MAX {
        return Ok(());
    }
    Err(PythonError::value(format!("X has {width} columns, expected at most {COLUMNS_MAX}")))
}

/// Refuses a matrix with a value that single precision does not hold. With `gaps`, it may hold NaN.
fn check_values<T: Number>(array: &ArrayView2<'_, T>, gaps: bool) -> Outcome<()> {
    let is_one = |value: T| {
        let value = value.single();
        value.is_finite() | (gaps & value.is_nan())
    };
    // A few values are looked at sooner than wide registers are ready for them.
    if array.len() > FEW && are_small(array, gaps) {
        return Ok(());
    }
    let found = array.indexed_iter().find(|&(_, &value)| !is_one(value));
    found.map_or(Ok(()), |((row, column), &value)| Err(refused(row, column, value.into())))
}

/// Whether all values of a matrix are known to fit in single precision. It is false for a few that do, and
/// for a matrix neither whose rows nor whose columns lie side by side.
fn are_small<T: Number>(array: &ArrayView2<'_, T>, gaps: bool) -> bool {
    if let Some(values) = array.as_slice_memory_order() {
        let part = |part: Range<usize>| all_fit(&values[part], gaps);
        return in_parts(values.len(), LARGE, part).into_iter().all(|is_fine| is_fine);
    }
    let is_fine = |lane: ArrayView1<'_, T>| lane.to_slice().is_some_and(|all| all_fit(all, gaps));
    array.columns().into_iter().all(is_fine) || array.rows().into_iter().all(is_fine)
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
fn in_place(array: &ArrayView2<'_, f32>, side: &Side<'_>, visit: &mut Visit<'_>) -> Outcome<()> {
    let width = array.ncols();
    check_width(width)?;
    let values = array.as_slice().unwrap_or_default();
    let mut door = Door::default();
    for part in parts(side, width) {
        let cells = &values[part.start * width..part.end * width];
        let (labels, importances) = side.part(part);
        let rows = door.dense_from(1, width, cells, labels, importances);
        visit(rows.map_err(|error| wrong(array, &error))?)?;
    }
    Ok(())
}

/// Shows rows of a batch, some at a time.
fn visit_in_parts(rows: Rows<'_>, visit: &mut Visit<'_>) -> Outcome<()> {
    let step = (ENOUGH * rows.len()).div_ceil(rows.nonzeros().max(1)).max(1);
    let starts = (0..rows.len()).step_by(step);
    starts.map(|start| rows.slice(start..rows.len().min(start + step))).try_for_each(visit)
}

/// Returns parts of the rows that have about as many features as a batch should.
fn parts(side: &Side<'_>, width: usize) -> impl Iterator<Item = Range<usize>> {
    let (rows, step) = (side.labels.len(), (ENOUGH / width.max(1)).max(1));
    (0..rows).step_by(step).map(move |from| from..rows.min(from + step))
}

/// Whether a matrix is copied whole. Its rows must lie side by side.
fn is_small<T>(array: &ArrayView2<'_, T>) -> bool {
    array.is_standard_layout() && array.len() <= SMALL && array.ncols() <= COLUMNS_MAX
}

/// A matrix in single precision, with its constant.
pub(crate) struct Copied<'a> {
    grid: &'a mut Grid,
    width: usize,
}

impl<'a> Copied<'a> {
    /// Copies a matrix, and refuses a value that single precision does not hold.
    fn of<T: Number>(
        array: &ArrayView2<'_, T>,
        constant: bool,
        grid: &'a mut Grid,
    ) -> Outcome<Self> {
        fill(grid, array, 0..array.nrows(), constant)?;
        Ok(Self { grid, width: array.ncols() + usize::from(constant) })
    }

    fn each(self, side: &Side<'_>, visit: &mut Visit<'_>) -> Outcome<()> {
        for part in parts(side, self.width) {
            let (labels, importances) = side.part(part.clone());
            let rows = self.grid.rows(part, labels, importances);
            visit(rows.map_err(|error| PythonError::value(format!("X: {error}")))?)?;
        }
        Ok(())
    }
}

/// Makes the error about rows that were not let in.
#[cold]
fn wrong<T: Number>(array: &ArrayView2<'_, T>, error: &RowError) -> PythonError {
    match check_values(array, false) {
        Err(refused) => refused,
        Ok(()) => PythonError::value(format!("X: {error}")),
    }
}

/// Fills a grid with rows of a matrix, each perhaps with a constant before it.
fn fill<T: Number>(
    grid: &mut Grid,
    array: &ArrayView2<'_, T>,
    rows: Range<usize>,
    constant: bool,
) -> Outcome<()> {
    check_width(array.ncols())?;
    let features = u32::from(!constant)..=array.ncols() as u32;
    let all = array.as_slice().unwrap_or_default();
    let filled = grid.fill(features, rows.len(), |some, cells| {
        let some = rows.start + some.start..rows.start + some.end;
        let next = all.get(some.end * array.ncols()..rows.end * array.ncols());
        let ahead = next.unwrap_or_default();
        widest(CopyRows { array: array.slice(s![some, ..]), ahead, constant, cells });
    });
    filled.map_err(|error| wrong(array, &error))
}

/// Copies rows of a matrix, each perhaps with a constant before it. Memory is what it waits for, so the
/// numbers that will be copied next are fetched on the way.
struct CopyRows<'a, T> {
    array: ArrayView2<'a, T>,
    /// The numbers behind them, if they lie side by side.
    ahead: &'a [T],
    constant: bool,
    cells: &'a mut [f32],
}

impl<T: Number> Kernel for CopyRows<'_, T> {
    type Out = ();

    #[inline(always)]
    fn run<R: Registers>(self) {
        let Self { array, ahead, constant, cells } = self;
        let (columns, first) = (array.ncols(), usize::from(constant));
        let rows = cells.chunks_exact_mut((columns + first).max(1)).map(|row| {
            let (constant, row) = row.split_at_mut(first);
            constant.fill(1.0);
            row
        });
        match array.to_slice() {
            Some(all) => {
                let all = all.chunks_exact(columns.max(1));
                let mut ahead = ahead.chunks(columns.max(1));
                rows.zip(all).for_each(|(to, from)| {
                    ahead.next().into_iter().for_each(singles::fetch);
                    singles::copy(from, to);
                });
            }
            None => rows.zip(array.rows()).for_each(|(to, from)| {
                to.iter_mut().zip(from).for_each(|(to, &from)| *to = from.single());
            }),
        }
    }
}

/// Shows rows that are copied, some at a time.
fn dense<T: Number>(
    array: &ArrayView2<'_, T>,
    constant: bool,
    side: &Side<'_>,
    visit: &mut Visit<'_>,
) -> Outcome<()> {
    let mut grid = Grid::default();
    for part in parts(side, array.ncols() + usize::from(constant)) {
        fill(&mut grid, array, part.clone(), constant)?;
        let (labels, importances) = side.part(part.clone());
        let rows = grid.rows(0..part.len(), labels, importances);
        visit(rows.map_err(|error| PythonError::value(format!("X: {error}")))?)?;
    }
    Ok(())
}
