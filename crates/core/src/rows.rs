//! Rows in anybody's memory. Learners, ledgers and solvers read their examples from them.

use crate::batch::Batch;
use crate::bulk;
use crate::features::{Example, FeatureError, Features};
use crate::number::{Importance, OutOfRange};
use rueful_machine::prefetch;
use std::ops::Range;
use std::slice::from_ref;
use thiserror::Error;

/// Borrowed examples: they may lie in a reader's buffers, a NumPy array, a SciPy matrix or a
/// [`Batch`]. Features, label and importance of a row are always handed out together. Copying this
/// value copies a few pointers.
///
/// ```
/// use rueful_core::Batch;
/// let mut batch = Batch::default();
/// batch.push(&[0, 3], &[1.0, 0.5], -1.0)?;
/// batch.push(&[3], &[2.0], 1.0)?;
/// let rows = batch.rows();
/// assert_eq!((rows.len(), rows.nonzeros(), rows.dimension()), (2, 3, 4));
/// assert_eq!(rows.slice(1..2).get(0).label, 1.0);
/// # Ok::<(), rueful_core::FeatureError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    pub(crate) shape: Shape<'a>,
    pub(crate) indices: &'a [u32],
    pub(crate) values: &'a [f32],
    pub(crate) labels: &'a [f64],
    /// Empty if all rows have importance 1.
    pub(crate) importances: &'a [Importance],
    pub(crate) norms_sq: &'a [f64],
    /// At least one more than the largest index.
    pub(crate) dimension: usize,
    /// Whether indices increase along every row. Renumbering the features ends this.
    pub(crate) are_increasing: bool,
}

/// How many values or indices, and how many rows, are fetched ahead.
const FETCHED: usize = 1024;
const FETCHED_ROWS: usize = 32;

/// How many values or indices a cache line holds.
const LINE: usize = 16;

/// Where each row lies in `indices` and `values`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape<'a> {
    /// The first row begins at `start`, and row r ends before `ends[r]`.
    Ragged { start: usize, ends: &'a [usize] },
    /// Every row has `width` values and all have the same indices.
    Dense { width: usize },
}

impl<'a> Rows<'a> {
    /// The length of the shortest prefix with `counting` rows of an importance other than 0. If
    /// there are not that many, it is the number of all rows.
    pub fn until(&self, counting: u64) -> usize {
        let most = usize::try_from(counting).unwrap_or(usize::MAX);
        if self.importances().is_empty() || most == 0 {
            return self.len().min(most);
        }
        let counted = (0..self.len()).filter(|&row| !self.importances()[row].is_zero());
        counted.map(|row| row + 1).nth(most - 1).unwrap_or(self.len())
    }

    /// How many rows there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// How many features are stored, in all rows together.
    pub fn nonzeros(&self) -> usize {
        match self.shape {
            Shape::Ragged { start, ends } => ends.last().map_or(0, |end| end - start),
            Shape::Dense { width } => width * self.len(),
        }
    }

    /// Whether a row has importance 0.
    pub fn have_idle(&self) -> bool {
        self.importances().iter().any(|importance| importance.is_zero())
    }

    /// A dimension that holds every row.
    #[inline]
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The labels, row after row.
    pub fn labels(&self) -> &'a [f64] {
        self.labels
    }

    /// The importances of the rows, in order. The slice is empty if all importances are 1.
    pub fn importances(&self) -> &'a [Importance] {
        self.importances
    }

    /// Row `row`.
    #[inline(always)] // Every loop over rows calls it first.
    pub fn get(&self, row: usize) -> Example<'a> {
        let (features, values) = match self.shape {
            Shape::Ragged { start, ends } => {
                let from = if row == 0 { start } else { ends[row - 1] };
                (from..ends[row], from..ends[row])
            }
            Shape::Dense { width } => (0..width, row * width..(row + 1) * width),
        };
        let features = Features::trusted(
            &self.indices[features],
            &self.values[values],
            self.norms_sq[row],
            self.are_increasing,
        );
        let importance = self.importances.get(row).copied().unwrap_or(Importance::ONE);
        Example { features, label: self.labels[row], importance }
    }

    /// Asks the processor for what will be needed some rows behind this one. Rows that are far from
    /// the processor then arrive while those before them are worked on.
    #[inline(always)] // It is called in the loop over rows.
    pub(crate) fn fetch_behind(&self, row: usize) {
        let next = row + FETCHED_ROWS;
        self.labels.get(next).into_iter().for_each(prefetch);
        self.norms_sq.get(next).into_iter().for_each(prefetch);
        match self.shape {
            Shape::Ragged { start, ends } => {
                ends.get(next).into_iter().for_each(prefetch);
                let from = if row == 0 { start } else { ends[row - 1] };
                for at in (from..ends[row]).step_by(LINE) {
                    self.values.get(at + FETCHED).into_iter().for_each(prefetch);
                    self.indices.get(at + FETCHED).into_iter().for_each(prefetch);
                }
            }
            Shape::Dense { width } => {
                for at in (row * width..(row + 1) * width).step_by(LINE) {
                    self.values.get(at + FETCHED).into_iter().for_each(prefetch);
                }
            }
        }
    }

    /// The rows in order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Example<'a>> + use<'a> {
        let rows = *self;
        (0..rows.len()).map(move |row| rows.get(row))
    }

    /// The rows of a range.
    ///
    /// # Panics
    /// When the range goes beyond the rows.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        let importances = if self.importances.is_empty() {
            self.importances
        } else {
            &self.importances[range.clone()]
        };
        let (shape, values) = match self.shape {
            Shape::Ragged { start, ends } => {
                let start = if range.start == 0 { start } else { ends[range.start - 1] };
                (Shape::Ragged { start, ends: &ends[range.clone()] }, self.values)
            }
            Shape::Dense { width } => {
                (self.shape, &self.values[range.start * width..range.end * width])
            }
        };
        Self {
            shape,
            values,
            importances,
            labels: &self.labels[range.clone()],
            norms_sq: &self.norms_sq[range],
            ..*self
        }
    }

    /// The same rows, all with importance 1.
    #[must_use]
    pub fn alike(&self) -> Self {
        Self { importances: &[], ..*self }
    }

    /// The indices of all rows, one row after the other. If all rows have the same indices, they
    /// are listed once.
    pub fn distinct_indices(&self) -> &'a [u32] {
        match self.shape {
            Shape::Ragged { start, ends } => {
                &self.indices[start..ends.last().copied().unwrap_or(start)]
            }
            Shape::Dense { width } if !self.is_empty() => &self.indices[..width],
            Shape::Dense { .. } => &[],
        }
    }
}

/// The parts of an example, as the only row there is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'a> {
    example: Example<'a>,
    end: usize,
    norm_sq: f64,
}

impl<'a> Row<'a> {
    #[inline]
    pub(crate) fn of(example: &Example<'a>) -> Self {
        let x = &example.features;
        Self { example: *example, end: x.len(), norm_sq: x.norm_sq() }
    }

    #[inline]
    pub(crate) fn rows(&self) -> Rows<'_> {
        let Example { features: x, label, importance } = &self.example;
        Rows {
            shape: Shape::Ragged { start: 0, ends: from_ref(&self.end) },
            indices: x.indices(),
            values: x.values(),
            labels: from_ref(label),
            importances: from_ref(importance),
            norms_sq: from_ref(&self.norm_sq),
            dimension: x.dimension(),
            are_increasing: x.is_increasing(),
        }
    }
}

/// Two `Rows` are equal if their examples are equal, wherever they lie.
impl PartialEq for Rows<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

/// The ways in which rows can be invalid.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum RowError {
    /// The features of a row are not valid.
    #[error("row {row}: {why}")]
    Features {
        /// The row, counted from 0.
        row: usize,
        /// The fault.
        why: FeatureError,
    },
    /// The importance of a row is not valid.
    #[error("row {row}: its importance {why}")]
    Importance {
        /// The row, counted from 0.
        row: usize,
        /// The fault.
        why: OutOfRange,
    },
    /// The lengths of the parts do not match.
    #[error("{0}")]
    Shape(String),
}

/// Lets in rows from somebody else's memory: it checks them and uses them where they lie. Rows are
/// copied only if some of them hold zeros: a value of 0 is an absent feature, so the copy leaves
/// the zeros out.
///
/// ```
/// use rueful_core::Door;
/// let matrix = [1.0_f32, 2.0, 3.0, 4.0];
/// let mut door = Door::default();
/// let rows = door.dense(2, &matrix, &[1.0, -1.0], &[])?;
/// assert_eq!(rows.get(1).features.values(), [3.0, 4.0]);
/// assert_eq!(rows.get(1).features.values().as_ptr(), matrix[2..].as_ptr()); // no copy
/// # Ok::<(), rueful_core::RowError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Door {
    /// 0, 1, 2, …: the indices of a dense row.
    counting: Vec<u32>,
    memory: RowMemory,
}

/// The memory for what rows do not bring along.
#[derive(Debug, Clone, Default)]
struct RowMemory {
    norms_sq: Vec<f64>,
    copy: Batch,
}

impl Door {
    /// Rows of `width` values each, whose features are 0, 1, 2, …
    pub fn dense<'a>(
        &'a mut self,
        width: usize,
        values: &'a [f32],
        labels: &'a [f64],
        importances: &'a [Importance],
    ) -> Result<Rows<'a>, RowError> {
        self.dense_from(0, width, values, labels, importances)
    }

    /// The same for features that are numbered from `first` on.
    pub fn dense_from<'a>(
        &'a mut self,
        first: u32,
        width: usize,
        values: &'a [f32],
        labels: &'a [f64],
        importances: &'a [Importance],
    ) -> Result<Rows<'a>, RowError> {
        let known = u32::try_from(self.counting.len()).unwrap_or(u32::MAX);
        let end = u32::try_from(width).ok().and_then(|width| first.checked_add(width));
        let end =
            end.ok_or_else(|| RowError::Shape(format!("{width} columns are more than 2^32")))?;
        // Whatever does not fit is refused before there are as many indices.
        agree("values", values.len(), labels.len().checked_mul(width))?;
        self.counting.extend(known..end.max(known));
        let indices = &self.counting[first as usize..end as usize];
        self.memory.dense(indices, values, labels, importances)
    }

    /// Compressed rows: the features of row r are those from `offsets[r]` up to `offsets[r + 1]`.
    pub fn sparse<'a>(
        &'a mut self,
        offsets: &'a [usize],
        indices: &'a [u32],
        values: &'a [f32],
        labels: &'a [f64],
        importances: &'a [Importance],
    ) -> Result<Rows<'a>, RowError> {
        agree("offsets", offsets.len(), labels.len().checked_add(1))?;
        agree("values", values.len(), Some(indices.len()))?;
        agree_on_importances(importances, labels)?;
        if !offsets.is_sorted() || offsets.last().is_some_and(|&end| end > indices.len()) {
            return Err(RowError::Shape("the offsets of the rows do not increase".to_owned()));
        }
        let row = |row: usize| offsets[row]..offsets[row + 1];
        let increases = |at: usize| indices[row(at)].windows(2).all(|pair| pair[0] < pair[1]);
        let stored = &values[offsets[0]..offsets[labels.len()]];
        let are_plain = self.memory.measure(stored, (0..labels.len()).map(|at| &values[row(at)]))
            && (0..labels.len()).all(increases);
        if !are_plain {
            let rows = (0..labels.len()).map(|at| (&indices[row(at)], &values[row(at)]));
            return copied(&mut self.memory.copy, rows, labels, importances);
        }
        let lasts = offsets.windows(2).filter(|ends| ends[0] < ends[1]);
        let dimension = lasts.map(|ends| indices[ends[1] - 1] as usize + 1).max().unwrap_or(0);
        Ok(Rows {
            shape: Shape::Ragged { start: offsets[0], ends: &offsets[1..] },
            indices,
            values,
            labels,
            importances,
            norms_sq: &self.memory.norms_sq,
            dimension,
            are_increasing: true,
        })
    }
}

impl RowMemory {
    /// Rows that have a value for each of these features, which increase.
    fn dense<'a>(
        &'a mut self,
        indices: &'a [u32],
        values: &'a [f32],
        labels: &'a [f64],
        importances: &'a [Importance],
    ) -> Result<Rows<'a>, RowError> {
        let width = indices.len();
        agree("values", values.len(), labels.len().checked_mul(width))?;
        agree_on_importances(importances, labels)?;
        let row = |row: usize| &values[row * width..(row + 1) * width];
        if !self.measure(values, (0..labels.len()).map(row)) {
            let rows = (0..labels.len()).map(|at| (indices, row(at)));
            return copied(&mut self.copy, rows, labels, importances);
        }
        Ok(Rows {
            shape: Shape::Dense { width },
            indices,
            values,
            labels,
            importances,
            norms_sq: &self.norms_sq,
            dimension: indices.last().map_or(0, |&last| last as usize + 1),
            are_increasing: true,
        })
    }

    /// Computes the norm of every row, where `values` are those of all rows. Returns whether all of
    /// them are finite and none is 0.
    fn measure<'a>(
        &mut self,
        values: &[f32],
        rows: impl ExactSizeIterator<Item = &'a [f32]>,
    ) -> bool {
        self.norms_sq.clear();
        bulk::extend_norms_sq(&mut self.norms_sq, rows);
        // Squares of single-precision numbers do not overflow in double precision. So if a sum is
        // not finite, one of its values is not.
        self.norms_sq.iter().all(|norm_sq| norm_sq.is_finite()) && !bulk::has_zeros(values)
    }
}

/// The slow path: it copies the rows without their zeros, or finds the fault.
#[cold]
pub(crate) fn copied<'a, 'b>(
    copy: &'a mut Batch,
    rows: impl Iterator<Item = (&'b [u32], &'b [f32])>,
    labels: &[f64],
    importances: &[Importance],
) -> Result<Rows<'a>, RowError> {
    copy.clear();
    for (row, ((indices, values), &label)) in rows.zip(labels).enumerate() {
        let importance = importances.get(row).copied().unwrap_or(Importance::ONE);
        copy.push_weighted(indices, values, label, importance)
            .map_err(|why| RowError::Features { row, why })?;
    }
    Ok(copy.rows())
}

pub(crate) fn agree_on_importances(
    importances: &[Importance],
    labels: &[f64],
) -> Result<(), RowError> {
    let wanted = if importances.is_empty() { 0 } else { labels.len() };
    agree("importances", importances.len(), Some(wanted))
}

pub(crate) fn agree(what: &str, found: usize, wanted: Option<usize>) -> Result<(), RowError> {
    match wanted {
        Some(wanted) if wanted == found => Ok(()),
        Some(wanted) => Err(RowError::Shape(format!("{found} {what}, expected {wanted}"))),
        None => Err(RowError::Shape(format!("{found} {what} for more rows than memory holds"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFSETS: [usize; 4] = [0, 2, 2, 3];
    const INDICES: [u32; 3] = [1, 4, 2];
    const LABELS: [f64; 3] = [1.0, -1.0, 0.5];

    fn importances() -> [Importance; 3] {
        [2.0, 0.0, 1.0].map(|value| Importance::new(value).unwrap())
    }

    /// The rows above, pushed into a batch.
    fn pushed(values: &[f32]) -> Batch {
        let mut batch = Batch::default();
        for row in 0..3 {
            let range = OFFSETS[row]..OFFSETS[row + 1];
            let (indices, values) = (&INDICES[range.clone()], &values[range]);
            batch.push_weighted(indices, values, LABELS[row], importances()[row]).unwrap();
        }
        batch
    }

    #[test]
    fn borrowed_rows_are_the_rows_of_a_batch() {
        for values in [[1.5, -2.0, 3.0], [1.5, 0.0, 3.0]] {
            let (mut door, importances) = (Door::default(), importances());
            let rows = door.sparse(&OFFSETS, &INDICES, &values, &LABELS, &importances).unwrap();
            let batch = pushed(&values);
            assert_eq!(rows, batch.rows());
            assert_eq!(rows.dimension(), batch.dimension());
            let in_place = rows.values.as_ptr() == values.as_ptr();
            assert_eq!(in_place, !values.contains(&0.0));
            for row in 0..3 {
                let norm = |rows: Rows<'_>| rows.get(row).features.norm_sq().to_bits();
                assert_eq!(norm(rows), norm(batch.rows()));
            }
        }
    }

    #[test]
    fn dense_rows_are_sparse_rows_without_gaps() {
        for matrix in [[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 0.0, 3.0, -0.0, 0.0, 6.0]] {
            let mut batch = Batch::default();
            for (row, &label) in matrix.chunks(2).zip(&LABELS) {
                batch.push(&[0, 1], row, label).unwrap();
            }
            let mut door = Door::default();
            let rows = door.dense(2, &matrix, &LABELS, &[]).unwrap();
            assert_eq!(rows, batch.rows());
            assert_eq!(rows.slice(1..3), batch.rows().slice(1..3));
            assert_eq!(rows.nonzeros(), batch.nonzeros());
        }
    }

    #[test]
    fn dense_rows_begin_at_any_feature() {
        for matrix in [[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 0.0, 3.0, -0.0, 0.0, 6.0]] {
            let mut batch = Batch::default();
            for (row, &label) in matrix.chunks(2).zip(&LABELS) {
                batch.push(&[5, 6], row, label).unwrap();
            }
            let mut door = Door::default();
            let rows = door.dense_from(5, 2, &matrix, &LABELS, &[]).unwrap();
            assert_eq!(rows, batch.rows());
            assert_eq!(rows.dimension(), 7);
        }
        let mut door = Door::default();
        assert!(door.dense_from(u32::MAX, 1, &[1.0], &[1.0], &[]).is_err());
    }

    #[test]
    fn parts_of_rows_are_rows() {
        let batch = pushed(&[1.5, -2.0, 3.0]);
        let part = batch.rows().slice(1..3);
        assert_eq!((part.len(), part.nonzeros(), part.distinct_indices()), (2, 1, &[2][..]));
        assert_eq!(part.get(1), batch.rows().get(2));
        assert_eq!(part.slice(1..2).get(0), batch.rows().get(2));
        assert!(batch.rows().slice(0..0).distinct_indices().is_empty());
    }

    #[test]
    fn what_is_wrong_is_said_with_its_row() {
        let mut door = Door::default();
        let error = |result: Result<Rows<'_>, RowError>| result.unwrap_err().to_string();
        let nan = [1.0, 2.0, f32::NAN];
        assert_eq!(
            error(door.sparse(&OFFSETS, &INDICES, &nan, &LABELS, &[])),
            "row 2: feature 2 has the value NaN: values must be finite"
        );
        assert_eq!(
            error(door.sparse(&OFFSETS, &[4, 1, 2], &[1.0; 3], &LABELS, &[])),
            "row 0: index 1 follows index 4: indices must increase"
        );
        assert_eq!(
            error(door.sparse(&[0, 2, 1, 3], &INDICES, &[1.0; 3], &LABELS, &[])),
            "the offsets of the rows do not increase"
        );
        assert_eq!(error(door.dense(2, &[1.0; 5], &LABELS, &[])), "5 values, expected 6");
        assert_eq!(
            error(door.dense(1, &[1.0; 3], &LABELS, &[Importance::ONE])),
            "1 importances, expected 3"
        );
        assert!(door.dense(usize::MAX, &[], &[1.0, 1.0], &[]).is_err());
        assert!(door.dense(0, &[], &[], &[]).unwrap().is_empty());
    }
}
