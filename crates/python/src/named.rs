//! Matrices whose columns have names.

use crate::arrow::with_importance;
use crate::dicts::{reading, told};
use crate::error::{Outcome, PythonError};
use crate::side::{Side, Visit};
use crate::singles::Number;
use crate::table::{ENOUGH, Told};
use numpy::ndarray::{ArrayView2, s};
use rueful_core::{Batch, Grid};
use rueful_data::{
    Assembler, Bits, Cell, Column, Columns, Expansion, LabelRule, Names, Role, RowError,
};
use rueful_machine::{Fours, Kernel, Numbers, Registers, widest};
use std::borrow::Cow;
use std::ops::Range;

/// The number of rows that are copied together, column by column.
const TILE: usize = 32;

/// Fewer rows than this are copied number by number.
const FEW: usize = 4;

/// Shows the rows of a matrix whose columns have names to `visit`. Rows of finite numbers are copied
/// block by block. From the first block on that has another cell, cells are taken one by one.
pub(crate) fn matrix<T: Number>(
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
fn cells<T: Number>(
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
        table: &impl Table,
        constant: bool,
        side: &Side<'_>,
        visit: &mut Visit<'_>,
    ) -> Outcome<usize> {
        let indices =
            constant.then_some(0).into_iter().chain(self.features.iter().map(|one| one.0));
        let indices: Vec<u32> = indices.collect();
        let step = (ENOUGH / indices.len().max(1)).max(1);
        let mut grid = Grid::default();
        for start in rows.clone().step_by(step) {
            let part = start..rows.end.min(start + step);
            let first = part.start - rows.start;
            let filled = grid.fill(indices.iter().copied(), part.len(), |some, values| {
                let rows = first + some.start..first + some.end;
                widest(Write { plain: self, table, rows, constant, values });
            });
            let (labels, importances) = side.part(part.clone());
            let Ok(shown) = filled.and_then(|()| grid.rows(0..part.len(), labels, importances))
            else {
                return Ok(first);
            };
            visit(shown)?;
        }
        Ok(rows.len())
    }
}

/// A table of floats, column by column.
pub(crate) trait Table {
    /// Writes the numbers of some rows of a column to every `step`-th place.
    fn write(&self, column: usize, rows: Range<usize>, to: &mut [f32], step: usize);

    /// Returns the numbers of some rows of a column, if they are doubles that lie side by side.
    fn doubles(&self, column: usize, rows: Range<usize>) -> Option<&[f64]>;

    /// Returns one number.
    fn number(&self, row: usize, column: usize) -> f32;
}

/// A matrix as a table.
struct Matrix<'a, T>(&'a ArrayView2<'a, T>);

impl<T: Number> Table for Matrix<'_, T> {
    fn write(&self, column: usize, rows: Range<usize>, to: &mut [f32], step: usize) {
        write_each(to, step, self.0.slice(s![rows, column]).iter().map(|&one| one.single()));
    }

    fn doubles(&self, column: usize, rows: Range<usize>) -> Option<&[f64]> {
        T::doubles(self.0.slice(s![rows, column]).to_slice()?)
    }

    fn number(&self, row: usize, column: usize) -> f32 {
        self.0[[row, column]].single()
    }
}

/// Writes the values of some rows of a table. Some rows are written column by column before the next, so
/// that they stay at hand.
struct Write<'a, T> {
    plain: &'a Plain,
    table: &'a T,
    rows: Range<usize>,
    constant: bool,
    values: &'a mut [f32],
}

impl<T: Table> Kernel for Write<'_, T> {
    type Out = ();

    #[inline(always)]
    fn run<R: Registers>(self) {
        let Self { plain, table, rows, constant, values } = self;
        let first = usize::from(constant);
        let width = plain.features.len() + first;
        if rows.len() < FEW {
            for (row, to) in rows.zip(values.chunks_exact_mut(width.max(1))) {
                to[..first].fill(1.0);
                let numbers = plain.columns().map(|column| table.number(row, column));
                to[first..].iter_mut().zip(numbers).for_each(|(to, number)| *to = number);
            }
            return;
        }
        let starts = rows.clone().step_by(TILE);
        for (start, values) in starts.zip(values.chunks_mut(TILE * width.max(1))) {
            if constant {
                write_each(values, width, std::iter::repeat(1.0));
            }
            let tile = start..rows.end.min(start + TILE);
            for (place, four) in (first..).step_by(4).zip(plain.features.chunks(4)) {
                let to = &mut values[place..];
                let doubles = |&(_, column): &(u32, usize)| table.doubles(column, tile.clone());
                let mut columns = four.iter().map_while(doubles);
                match std::array::from_fn(|_| columns.next()) {
                    [Some(a), Some(b), Some(c), Some(d)] => {
                        write_four::<R>([a, b, c, d], to, width);
                    }
                    _ => (0..).zip(four).for_each(|(at, &(_, column))| {
                        table.write(column, tile.clone(), &mut to[at..], width);
                    }),
                }
            }
        }
    }
}

/// Writes the numbers of four columns side by side to every `step`-th place.
#[inline(always)] // It is compiled for wide registers.
fn write_four<R: Registers>(columns: [&[f64]; 4], to: &mut [f32], step: usize) {
    let mut rows = to.chunks_mut(step);
    let mut write = |row: [f32; 4]| {
        if let Some(to) = rows.next() {
            to[..4].copy_from_slice(&row);
        }
    };
    let [a, b, c, d] = columns.map(|column| column.as_chunks::<4>());
    for (((a, b), c), d) in a.0.iter().zip(b.0).zip(c.0).zip(d.0) {
        let rows = R::Four::transposed([a, b, c, d].map(R::Four::load));
        rows.into_iter().for_each(|row| write(row.singles()));
    }
    for (((&a, &b), &c), &d) in a.1.iter().zip(b.1).zip(c.1).zip(d.1) {
        write([a, b, c, d].map(Number::single));
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
