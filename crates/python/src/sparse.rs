//! Matrices of compressed rows, as SciPy holds them.

use crate::error::{Outcome, PythonError};
use crate::side::{Side, Visit};
use crate::singles::{self, Number, all_fit};
use crate::table::{ENOUGH, check_width, refused};
use crate::threads::{LARGE, in_parts};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use rueful_core::Batch;
use rueful_machine::{Kernel, Registers, widest};
use std::borrow::Cow;
use std::ops::Range;

/// The parts of a matrix, as Python hands them over.
pub(crate) struct Sparse<'py> {
    offsets: Whole<'py>,
    indices: Whole<'py>,
    values: Floats<'py>,
    width: usize,
}

/// Whole numbers of either size.
enum Whole<'py> {
    Small(PyReadonlyArray1<'py, i32>),
    Large(PyReadonlyArray1<'py, i64>),
}

/// Floats of either precision.
enum Floats<'py> {
    Singles(PyReadonlyArray1<'py, f32>),
    Doubles(PyReadonlyArray1<'py, f64>),
}

/// A matrix that can be read without the interpreter.
pub(crate) struct SparseView<'a> {
    /// The features of row r lie from `offsets[r]` up to `offsets[r + 1]`. The offsets increase, up
    /// to at most the number of features.
    offsets: Vec<usize>,
    indices: Indices<'a>,
    values: Values<'a>,
    width: usize,
    /// Whether all values and indices were checked.
    is_checked: bool,
}

enum Indices<'a> {
    Small(Cow<'a, [i32]>),
    Large(Cow<'a, [i64]>),
}

enum Values<'a> {
    Singles(Cow<'a, [f32]>),
    Doubles(Cow<'a, [f64]>),
}

/// Borrows an array whose numbers lie side by side, and copies any other.
fn side_by_side<'a, T: numpy::Element + Copy>(array: &'a PyReadonlyArray1<'_, T>) -> Cow<'a, [T]> {
    array.as_slice().map_or_else(|_| Cow::Owned(array.as_array().to_vec()), Cow::Borrowed)
}

impl<'py> Sparse<'py> {
    /// Takes a tuple of offsets, indices, values and the number of columns.
    pub(crate) fn of(parts: &Bound<'py, PyTuple>) -> PyResult<Self> {
        let values = parts.get_item(2)?;
        let values = match values.extract() {
            Ok(singles) => Floats::Singles(singles),
            Err(_) => Floats::Doubles(values.extract()?),
        };
        Ok(Self {
            offsets: Whole::of(&parts.get_item(0)?)?,
            indices: Whole::of(&parts.get_item(1)?)?,
            values,
            width: parts.get_item(3)?.extract()?,
        })
    }

    /// Returns a view of the matrix. Offsets that make no sense are refused.
    pub(crate) fn view(&self) -> Outcome<SparseView<'_>> {
        let indices = match &self.indices {
            Whole::Small(array) => Indices::Small(side_by_side(array)),
            Whole::Large(array) => Indices::Large(side_by_side(array)),
        };
        let values = match &self.values {
            Floats::Singles(array) => Values::Singles(side_by_side(array)),
            Floats::Doubles(array) => Values::Doubles(side_by_side(array)),
        };
        let len = indices.len().min(values.len());
        let offsets = match &self.offsets {
            Whole::Small(array) => offsets(array.as_array().iter().map(|&at| at.into()), len),
            Whole::Large(array) => offsets(array.as_array().iter().copied(), len),
        };
        Ok(SparseView { offsets: offsets?, indices, values, width: self.width, is_checked: false })
    }
}

impl<'py> Whole<'py> {
    fn of(array: &Bound<'py, PyAny>) -> PyResult<Self> {
        match array.extract() {
            Ok(small) => Ok(Self::Small(small)),
            Err(_) => Ok(Self::Large(array.extract()?)),
        }
    }
}

/// Returns offsets that increase up to at most `len`, and refuses others.
fn offsets(all: impl Iterator<Item = i64>, len: usize) -> Outcome<Vec<usize>> {
    let place = |offset: i64| usize::try_from(offset).unwrap_or(usize::MAX);
    let offsets: Vec<usize> = all.map(place).collect();
    let is_fine = |ends: &[usize]| ends[0] <= ends[1] && ends[1] <= len;
    match offsets.windows(2).position(|ends| !is_fine(ends)) {
        None => Ok(offsets),
        Some(row) => Err(PythonError::value(format!(
            "X, row {row}: its offsets do not increase up to the number of features, {len}"
        ))),
    }
}

/// The number of indices that are compared together.
const STRETCH: usize = 1 << 12;

/// The number of features by which fetching is ahead of copying.
const AHEAD: usize = 1 << 10;

/// A number of a column, of either size.
trait Index: Copy + PartialOrd + Sync {
    /// Returns the number. It is the largest of all if it is negative or too large.
    fn number(self) -> u32;
}

impl Index for i32 {
    #[inline(always)]
    fn number(self) -> u32 {
        self as u32
    }
}

impl Index for i64 {
    #[inline(always)]
    fn number(self) -> u32 {
        u32::try_from(self).unwrap_or(u32::MAX)
    }
}

impl Indices<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Small(all) => all.len(),
            Self::Large(all) => all.len(),
        }
    }
}

impl Values<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Singles(all) => all.len(),
            Self::Doubles(all) => all.len(),
        }
    }
}

/// Calls a method of the parts of a matrix, whatever their types are.
macro_rules! with_parts {
    ($view:expr, $parts:ident => $body:expr) => {{
        let (offsets, width, is_checked) = (&$view.offsets[..], $view.width, $view.is_checked);
        match (&$view.indices, &$view.values) {
            (Indices::Small(indices), Values::Singles(values)) => {
                let $parts = Parts { offsets, indices, values, width, is_checked };
                $body
            }
            (Indices::Small(indices), Values::Doubles(values)) => {
                let $parts = Parts { offsets, indices, values, width, is_checked };
                $body
            }
            (Indices::Large(indices), Values::Singles(values)) => {
                let $parts = Parts { offsets, indices, values, width, is_checked };
                $body
            }
            (Indices::Large(indices), Values::Doubles(values)) => {
                let $parts = Parts { offsets, indices, values, width, is_checked };
                $body
            }
        }
    }};
}

impl SparseView<'_> {
    pub(crate) fn rows(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Refuses values that single precision does not hold, indices out of their range, and indices
    /// that do not increase along a row.
    pub(crate) fn checked(self) -> Outcome<Self> {
        with_parts!(self, parts => parts.check_all())?;
        Ok(Self { is_checked: true, ..self })
    }

    /// Whether the matrix has few features.
    pub(crate) fn is_small(&self, most: usize) -> bool {
        let ends = self.offsets.first().zip(self.offsets.last());
        ends.is_none_or(|(first, last)| last - first <= most)
    }

    /// Copies all rows to a batch, and refuses them if one of them is not valid.
    pub(crate) fn gather(&self, constant: bool, side: &Side<'_>, batch: &mut Batch) -> Outcome<()> {
        check_width(self.width)?;
        let rows = 0..self.rows();
        with_parts!(self, parts => parts.gather(rows, constant, side, batch))
    }

    /// Shows all rows to `visit`, some at a time.
    pub(crate) fn each(
        &self,
        constant: bool,
        side: &Side<'_>,
        visit: &mut Visit<'_>,
    ) -> Outcome<()> {
        check_width(self.width)?;
        with_parts!(self, parts => parts.each(constant, side, visit))
    }
}

/// Counts the neighbours that do not increase.
struct Descents<'a, I>(&'a [I]);

impl<I: Index> Kernel for Descents<'_, I> {
    type Out = usize;

    #[inline(always)]
    fn run<R: Registers>(self) -> usize {
        let pairs = self.0.iter().zip(self.0.get(1..).unwrap_or_default());
        // A stretch is short, so that a narrow number holds the count.
        pairs.fold(0, |count, (one, next)| count + u32::from(one >= next)) as usize
    }
}

/// The parts of a matrix by their types.
struct Parts<'a, I, V> {
    offsets: &'a [usize],
    indices: &'a [I],
    values: &'a [V],
    width: usize,
    is_checked: bool,
}

impl<I: Index, V: Number> Parts<'_, I, V> {
    /// Checks all rows, on several threads if there are many features.
    fn check_all(&self) -> Outcome<()> {
        let rows = self.offsets.len().saturating_sub(1);
        let features = self.places(&(0..rows)).len();
        let least = (LARGE * rows).checked_div(features).unwrap_or(rows);
        in_parts(rows, least.max(1), |part| self.check(part)).into_iter().collect()
    }

    /// Checks some rows, a part at a time, so that what is looked at twice stays near.
    fn check(&self, rows: Range<usize>) -> Outcome<()> {
        self.parts(rows)
            .filter(|part| !self.are_fine(part))
            .try_for_each(|mut part| part.try_for_each(|row| self.check_row(row)))
    }

    /// Whether all values of some rows are finite, and their indices are columns that increase along each
    /// row. Values, and pairs of indices that do not increase, are looked at in loops without branches.
    fn are_fine(&self, rows: &Range<usize>) -> bool {
        let places = self.places(rows);
        let mut descents = 0;
        for start in places.clone().step_by(STRETCH) {
            let end = places.end.min(start + STRETCH);
            if !all_fit(&self.values[start..end], false) {
                return false;
            }
            // Neighbouring stretches share an index, so that no pair is left out.
            descents += widest(Descents(&self.indices[start..places.end.min(end + 1)]));
        }
        descents == self.descents_between(rows) && self.are_columns(rows)
    }

    /// Counts the ends of rows after which indices do not increase.
    fn descents_between(&self, rows: &Range<usize>) -> usize {
        let places = self.places(rows);
        let mut last = places.start;
        let mut is_descent = |end: usize| {
            let is_new = end > last && end < places.end;
            last = end;
            is_new && self.indices[end - 1] >= self.indices[end]
        };
        let ends = self.offsets.get(rows.start..=rows.end).unwrap_or_default();
        ends.iter().filter(|&&end| is_descent(end)).count()
    }

    /// Returns the places of the features of some rows.
    fn places(&self, rows: &Range<usize>) -> Range<usize> {
        if rows.is_empty() { 0..0 } else { self.offsets[rows.start]..self.offsets[rows.end] }
    }

    /// Whether the indices of some rows are numbers of columns, if they increase along each row: then the
    /// first and the last of each row tell.
    fn are_columns(&self, rows: &Range<usize>) -> bool {
        let is_column = |index: I| (index.number() as usize) < self.width;
        rows.clone()
            .map(|row| self.places(&(row..row + 1)))
            .filter(|places| !places.is_empty())
            .all(|places| {
                is_column(self.indices[places.start]) && is_column(self.indices[places.end - 1])
            })
    }

    /// Finds what is wrong with a row.
    #[cold]
    fn check_row(&self, row: usize) -> Outcome<()> {
        let places = self.places(&(row..row + 1));
        let mut last = None;
        for (&index, &value) in self.indices[places.clone()].iter().zip(&self.values[places]) {
            let column = index.number() as usize;
            if column >= self.width {
                return Err(PythonError::value(format!(
                    "X, row {row}: an index is not from 0 to {}, exclusive",
                    self.width
                )));
            }
            if !value.single().is_finite() {
                return Err(refused(row, column, value.into()));
            }
            if last.is_some_and(|last| last >= column) {
                return Err(PythonError::value(format!(
                    "X, row {row}: the indices of its columns do not increase at {column}"
                )));
            }
            last = Some(column);
        }
        Ok(())
    }

    fn each(&self, constant: bool, side: &Side<'_>, visit: &mut Visit<'_>) -> Outcome<()> {
        let (mut batch, mut lengths) = (Batch::default(), Vec::new());
        for part in self.parts(0..side.labels.len()) {
            batch.clear();
            self.add(part, constant, side, &mut lengths, &mut batch)?;
            visit(batch.rows())?;
        }
        Ok(())
    }

    /// Copies rows to a batch, in the memory that it has. Some are copied and looked at before the next, so
    /// that they stay near.
    fn gather(
        &self,
        rows: Range<usize>,
        constant: bool,
        side: &Side<'_>,
        batch: &mut Batch,
    ) -> Outcome<()> {
        batch.clear();
        batch.reserve(self.places(&rows).len() + rows.len());
        let mut lengths = Vec::new();
        self.parts(rows).try_for_each(|part| self.add(part, constant, side, &mut lengths, batch))
    }

    /// Adds some rows to a batch, and checks them if that was not done before.
    fn add(
        &self,
        rows: Range<usize>,
        constant: bool,
        side: &Side<'_>,
        lengths: &mut Vec<u32>,
        batch: &mut Batch,
    ) -> Outcome<()> {
        let ends = self.offsets[rows.start..=rows.end].windows(2);
        lengths.clear();
        lengths.extend(ends.map(|ends| (ends[1] - ends[0]) as u32 + u32::from(constant)));
        let (labels, importances) = side.part(rows.clone());
        let copied = batch.extend_with(lengths, labels, importances, |indices, values| {
            widest(CopyRows { parts: self, rows: rows.clone(), constant, indices, values });
        });
        // Now they are near. An index that is no column may have become that of another feature.
        if copied.is_err() || !(self.is_checked || self.are_columns(&rows)) {
            self.check(rows)?;
        }
        copied.map_err(|why| PythonError::value(format!("X: {why}")))
    }

    /// Returns parts of the rows that have about as many features as a batch should.
    fn parts(&self, rows: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let mut from = rows.start;
        std::iter::from_fn(move || {
            let part = from..self.end_of_part(from, rows.end);
            from = part.end;
            (!part.is_empty()).then_some(part)
        })
    }

    /// Returns the end of such a part.
    fn end_of_part(&self, from: usize, end: usize) -> usize {
        let size = |to: usize| self.offsets[to] - self.offsets[from] + to - from;
        (from + 1..end).find(|&to| size(to) >= ENOUGH).unwrap_or(end)
    }
}

/// Copies rows, each perhaps with a constant before it. Column j becomes feature j + 1. Memory is what it
/// waits for, so features that will be copied soon are fetched on the way.
struct CopyRows<'a, 'b, I, V> {
    parts: &'a Parts<'b, I, V>,
    rows: Range<usize>,
    constant: bool,
    indices: &'a mut [u32],
    values: &'a mut [f32],
}

impl<I: Index, V: Number> Kernel for CopyRows<'_, '_, I, V> {
    type Out = ();

    #[inline(always)]
    fn run<R: Registers>(self) {
        let Self { parts, rows, constant, indices, values } = self;
        let mut at = 0;
        for ends in parts.offsets[rows.start..=rows.end].windows(2) {
            if constant {
                (indices[at], values[at]) = (0, 1.0);
                at += 1;
            }
            let from = ends[0]..ends[1];
            let to = at..at + from.len();
            at = to.end;
            let ahead = from.start + AHEAD..from.end + AHEAD;
            parts.indices.get(ahead.clone()).into_iter().for_each(singles::fetch);
            parts.values.get(ahead).into_iter().for_each(singles::fetch);
            shift(&parts.indices[from.clone()], &mut indices[to.clone()]);
            singles::copy(&parts.values[from], &mut values[to]);
        }
    }
}

/// Turns columns into features.
#[inline(always)] // The registers are those of the caller.
fn shift<I: Index>(columns: &[I], features: &mut [u32]) {
    let (columns, columns_rest) = columns.as_chunks::<8>();
    let (features, features_rest) = features.as_chunks_mut::<8>();
    // Indices that are no columns are refused afterwards.
    let feature = |column: I| column.number().wrapping_add(1);
    features.iter_mut().zip(columns).for_each(|(to, from)| *to = from.map(feature));
    features_rest.iter_mut().zip(columns_rest).for_each(|(to, &from)| *to = feature(from));
}
