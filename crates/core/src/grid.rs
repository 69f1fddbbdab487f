//! A reusable buffer of rows that all have the same features.

use crate::batch::Batch;
use crate::bulk;
use crate::features::FeatureError;
use crate::number::Importance;
use crate::rows::{RowError, Rows, Shape, agree, agree_on_importances, copied};
use std::ops::Range;

/// The number of values that are written before they are looked at: few enough to stay near.
const STRETCH: usize = 1 << 11;

/// Rows with a value for each of some features, which are kept once. A grid is filled as a whole, and
/// shows some of its rows at a time, with the labels and importances that are given then. Filling it
/// again keeps its memory.
///
/// ```
/// use rueful_core::Grid;
/// let mut grid = Grid::default();
/// grid.fill([0, 5], 3, |rows, values| {
///     for (row, values) in rows.zip(values.chunks_exact_mut(2)) {
///         values.copy_from_slice(&[1.0, row as f32]);
///     }
/// })?;
/// let rows = grid.rows(1..3, &[1.0, -1.0], &[])?;
/// assert_eq!(rows.get(1).features.indices(), [0, 5]);
/// assert_eq!(rows.get(1).features.values(), [1.0, 2.0]);
/// # Ok::<(), rueful_core::RowError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Grid {
    indices: Vec<u32>,
    /// The values, row after row. Entries behind those of the last row have no meaning.
    values: Vec<f32>,
    norms_sq: Vec<f64>,
    has_zeros: bool,
    /// Rows some of which hold zeros, without these.
    copy: Batch,
}

impl Grid {
    /// Fills the grid with rows that have a value for each of these features. `write` is told some
    /// rows at a time, in order, and writes their values. If a value is not finite, or if features do
    /// not increase, the grid is empty afterwards.
    pub fn fill(
        &mut self,
        features: impl IntoIterator<Item = u32>,
        rows: usize,
        mut write: impl FnMut(Range<usize>, &mut [f32]),
    ) -> Result<(), RowError> {
        self.norms_sq.clear();
        self.has_zeros = false;
        self.indices.clear();
        self.indices.extend(features);
        let width = self.indices.len();
        if let Some(pair) = self.indices.windows(2).find(|pair| pair[0] >= pair[1]) {
            let why = FeatureError::NotIncreasing { previous: pair[0], index: pair[1] };
            return Err(RowError::Features { row: 0, why });
        }
        if self.values.len() < rows * width {
            self.values.resize(rows * width, 0.0);
        }
        let step = (STRETCH / width.max(1)).next_multiple_of(4).max(4);
        for from in (0..rows).step_by(step) {
            let some = from..rows.min(from + step);
            let values = &mut self.values[some.start * width..some.end * width];
            write(some.clone(), values);
            let row = |row: usize| &values[row * width..(row + 1) * width];
            bulk::extend_norms_sq(&mut self.norms_sq, (0..some.len()).map(row));
            self.has_zeros |= bulk::has_zeros(values);
            // Squares of single-precision numbers do not overflow in double precision. So if a sum is
            // not finite, one of its values is not.
            if !self.norms_sq[from..].iter().all(|norm_sq| norm_sq.is_finite()) {
                return Err(self.refuse(some));
            }
        }
        Ok(())
    }

    /// Empties the grid, and finds the value that is not finite in some of its rows.
    #[cold]
    fn refuse(&mut self, rows: Range<usize>) -> RowError {
        self.norms_sq.clear();
        let width = self.indices.len();
        let first = rows.start * width;
        let is_wrong = |place: &usize| !self.values[*place].is_finite();
        let place = (first..rows.end * width).find(is_wrong).unwrap_or(first);
        let (index, value) = (self.indices[place % width], self.values[place]);
        RowError::Features { row: place / width, why: FeatureError::NotFinite { index, value } }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.norms_sq.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.norms_sq.is_empty()
    }

    /// The number of values for which the grid has memory.
    pub fn room(&self) -> usize {
        self.values.len()
    }

    /// Some of the rows, with their labels, and with their importances if these are not all 1. Rows
    /// are copied if some of them hold zeros, which are absent features.
    ///
    /// # Panics
    /// When the range goes beyond the rows.
    pub fn rows<'a>(
        &'a mut self,
        range: Range<usize>,
        labels: &'a [f64],
        importances: &'a [Importance],
    ) -> Result<Rows<'a>, RowError> {
        agree("labels", labels.len(), Some(range.len()))?;
        agree_on_importances(importances, labels)?;
        let (indices, width) = (&self.indices[..], self.indices.len());
        let norms_sq = &self.norms_sq[range.clone()];
        let values = &self.values[range.start * width..range.end * width];
        if self.has_zeros && bulk::has_zeros(values) {
            let rows = (0..labels.len()).map(|at| (indices, &values[at * width..(at + 1) * width]));
            return copied(&mut self.copy, rows, labels, importances);
        }
        Ok(Rows {
            shape: Shape::Dense { width },
            indices,
            values,
            labels,
            importances,
            norms_sq,
            dimension: indices.last().map_or(0, |&last| last as usize + 1),
            are_increasing: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABELS: [f64; 300] = [1.0; 300];

    /// A grid of 300 rows with these features, whose values are those of a matrix.
    fn grid(features: &[u32], matrix: &[f32]) -> Result<Grid, RowError> {
        let (mut grid, width) = (Grid::default(), features.len());
        grid.fill(features.iter().copied(), 300, |rows, values| {
            values.copy_from_slice(&matrix[rows.start * width..rows.end * width]);
        })?;
        Ok(grid)
    }

    #[test]
    fn rows_of_a_grid_are_those_of_a_batch() {
        let features: Vec<u32> = (0..29).map(|i| 3 * i).collect();
        let mut matrix: Vec<f32> = (0..300 * 29).map(|i| (i as f32).sin() + 1.1).collect();
        for has_zeros in [false, true] {
            if has_zeros {
                (matrix[7], matrix[290 * 29]) = (0.0, -0.0);
            }
            let mut grid = grid(&features, &matrix).unwrap();
            assert!(grid.rows(0..0, &[], &[]).unwrap().is_empty());
            for range in [0..300, 0..1, 17..250, 280..300] {
                let labels = &LABELS[range.clone()];
                let mut batch = Batch::default();
                for values in matrix[range.start * 29..range.end * 29].chunks(29) {
                    batch.push(&features, values, 1.0).unwrap();
                }
                let (expected, rows) = (batch.rows(), grid.rows(range, labels, &[]).unwrap());
                assert_eq!((rows, rows.dimension()), (expected, expected.dimension()));
                for (row, expected) in rows.iter().zip(expected.iter()) {
                    let (norm, expected) = (row.features.norm_sq(), expected.features.norm_sq());
                    assert_eq!(norm.to_bits(), expected.to_bits());
                }
            }
        }
    }

    #[test]
    fn a_grid_is_filled_again() {
        let mut grid = grid(&[1, 2], &[0.0; 600]).unwrap();
        grid.fill([4], 2, |_, values| values.fill(2.0)).unwrap();
        assert_eq!((grid.len(), grid.room()), (2, 600));
        let rows = grid.rows(0..2, &[1.0, -1.0], &[]).unwrap();
        assert_eq!((rows.get(1).features.indices(), rows.nonzeros()), (&[4][..], 2));
        grid.fill([], 3, |_, values| assert!(values.is_empty())).unwrap();
        assert_eq!(grid.rows(1..3, &[1.0; 2], &[]).unwrap().nonzeros(), 0);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_row() {
        let mut matrix = vec![1.0; 600];
        matrix[511] = f32::NAN;
        assert_eq!(
            grid(&[3, 8], &matrix).unwrap_err().to_string(),
            "row 255: feature 8 has the value NaN: values must be finite"
        );
        assert_eq!(
            grid(&[8, 3], &matrix).unwrap_err().to_string(),
            "row 0: index 3 follows index 8: indices must increase"
        );
        let mut grid = grid(&[3, 8], &[1.0; 600]).unwrap();
        assert!(grid.fill([0], 2, |_, values| values.fill(f32::INFINITY)).is_err());
        assert!(grid.is_empty());
        let short = grid.rows(0..0, &[1.0], &[]).unwrap_err();
        assert_eq!(short.to_string(), "1 labels, expected 0");
    }
}
