//! Matrices whose columns have names.

use crate::arrow::with_importance;
use crate::dicts::{reading, told};
use crate::error::{Outcome, PythonError};
use crate::side::{Side, Visit};
use crate::table::{ENOUGH, Told};
use numpy::ndarray::{ArrayView2, s};
use rueful_core::{Batch, Door};
use rueful_data::{
    Assembler, Bits, Cell, Column, Columns, Expansion, LabelRule, Names, Role, RowError,
};
use std::borrow::Cow;
use std::ops::Range;

/// The number of rows that are copied together, column by column.
const TILE: usize = 32;

/// Shows the rows of a matrix whose columns have names to `visit`. Rows of finite numbers are copied
/// block by block. From the first block on that has another cell, cells are taken one by one.
pub(crate) fn matrix<T: Copy + Into<f64> + Sync>(
    array: &ArrayView2<'_, T>,
    (columns, bits, constant): (&Columns, Bits, bool),
    known: Option<&Plain>,
    side: &Side<'_>,
    visit: &mut Visit<'_>,
) -> Outcome<Told> {
    let (rows, width) = array.dim();
    let features: Vec<usize> = features(columns);
    if width != features.len() {
        let wanted = features.len();
        return Err(PythonError::value(format!("X has {width} columns, expected {wanted}")));
    }
    let mut told = Told::default();
    let mut from = 0;
    let plain = match known {
        Some(plain) => Some(Cow::Borrowed(plain)),
        None => Plain::new(columns, &features, bits).map(Cow::Owned),
    };
    if let Some(plain) = plain {
        from = plain.each(0..rows, &Matrix(array), constant, side, visit)?;
        if from > 0 {
            told.names = plain.names();
        }
    }
    if from < rows {
        let rest = cells(array, from, (columns, bits, constant), side, visit)?;
        told.extend(&rest);
    }
    Ok(told)
}

/// Shows the rows of a matrix from one on, taking their cells one by one.
fn cells<T: Copy + Into<f64>>(
    array: &ArrayView2<'_, T>,
    from: usize,
    (columns, bits, constant): (&Columns, Bits, bool),
    side: &Side<'_>,
    visit: &mut Visit<'_>,
) -> Outcome<Told> {
    let (rows, features) = (array.nrows(), features(columns));
    let label = columns.iter().position(|column| column.role == Role::Label);
    let all = with_importance(columns, side)?;
    let reading = reading(LabelRule::Numbers, constant);
    let mut assembler = Assembler::new(&all, bits, &reading);
    let mut batch = Batch::default();
    let wrong = |wrong: RowError, row| PythonError::value(told(&wrong, row, "X"));
    for row in from..rows {
        for (column, &place) in features.iter().enumerate() {
            let number = Cell::Number(array[[row, column]].into());
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
#[derive(Clone)]
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

    /// Shows rows to `visit`, some at a time. They are those of the labels at `rows`. Returns the number
    /// of rows that were shown: all, or those before the first batch with a number that is not finite in
    /// single precision.
    pub(crate) fn each(
        &self,
        rows: Range<usize>,
        numbers: &impl Numbers,
        constant: bool,
        side: &Side<'_>,
        visit: &mut Visit<'_>,
    ) -> Outcome<usize> {
        let indices =
            constant.then_some(0).into_iter().chain(self.features.iter().map(|one| one.0));
        let indices: Vec<u32> = indices.collect();
        let step = (ENOUGH / indices.len().max(1)).max(1);
        let (mut values, mut door) = (Vec::new(), Door::default());
        for start in rows.clone().step_by(step) {
            let part = start..rows.end.min(start + step);
            let first = part.start - rows.start;
            values.resize(part.len() * indices.len(), 0.0);
            self.write(numbers, first..first + part.len(), constant, &mut values);
            let (labels, importances) = side.part(part);
            let Ok(shown) = door.dense_with(&indices, &values, labels, importances) else {
                return Ok(first);
            };
            visit(shown)?;
        }
        Ok(rows.len())
    }

    /// Writes the values of some rows of the table. Some rows are written column by column before the next,
    /// so that they stay at hand.
    fn write(
        &self,
        numbers: &impl Numbers,
        rows: Range<usize>,
        constant: bool,
        values: &mut [f32],
    ) {
        let first = usize::from(constant);
        let width = self.features.len() + first;
        let starts = rows.clone().step_by(TILE);
        for (start, values) in starts.zip(values.chunks_mut(TILE * width.max(1))) {
            if constant {
                write_each(values, width, std::iter::repeat(1.0));
            }
            let tile = start..rows.end.min(start + TILE);
            for (place, column) in (first..).zip(self.columns()) {
                numbers.write(column, tile.clone(), &mut values[place..], width);
            }
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
        match numbers.to_slice() {
            Some(numbers) => write_each(to, step, numbers.iter().map(|&one| one.into() as f32)),
            None => write_each(to, step, numbers.iter().map(|&one| one.into() as f32)),
        }
    }
}

/// Writes numbers to every `step`-th place.
pub(crate) fn write_each(to: &mut [f32], step: usize, numbers: impl Iterator<Item = f32>) {
    to.chunks_mut(step).zip(numbers).for_each(|(to, number)| to[0] = number);
}

/// Returns the places of the columns that hold neither labels, importances, ids nor predictions.
pub(crate) fn features(columns: &Columns) -> Vec<usize> {
    let is_feature =
        |role| !matches!(role, Role::Label | Role::Importance | Role::Prediction | Role::Id);
    let columns = columns.iter().enumerate();
    columns.filter(|(_, column)| is_feature(column.role)).map(|(place, _)| place).collect()
}
