//! A reusable buffer of examples: the unit in which data flows from readers to learners.

use crate::features::{Example, FeatureError, Features};

/// Sparse rows end to end (compressed rows: offsets, indices, values), with their labels and
/// squared norms. Filled feature by feature, read row by row, cleared and filled again without
/// giving its memory back.
///
/// ```
/// use rueful_core::Batch;
/// let mut batch = Batch::default();
/// batch.push(&[1, 4], &[1.0, 0.5], -1.0)?;
/// assert_eq!(batch.len(), 1);
/// assert_eq!(batch.dimension(), 5);
/// assert_eq!(batch.get(0).label, -1.0);
/// # Ok::<(), rueful_core::FeatureError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// The end of each finished row in `indices` and `values`.
    ends: Vec<usize>,
    /// The features of the finished rows, and room behind them that means nothing: what was once
    /// allocated is written over, not cleared.
    indices: Vec<u32>,
    values: Vec<f32>,
    labels: Vec<f64>,
    norms_sq: Vec<f64>,
    dimension: usize,
}

/// A row that is being filled, in the memory of its batch. Dropped unfinished, it leaves no trace.
#[derive(Debug)]
pub struct OpenRow<'a> {
    ends: &'a mut Vec<usize>,
    labels: &'a mut Vec<f64>,
    norms_sq: &'a mut Vec<f64>,
    dimension: &'a mut usize,
    /// The room for its features, and where it begins in the batch.
    indices: &'a mut [u32],
    values: &'a mut [f32],
    start: usize,
    len: usize,
    /// One more than the last index given, be its value 0 or not.
    next: u64,
    norm_sq: f64,
}

impl OpenRow<'_> {
    /// Appends one feature. A value of 0 is an absent feature: its place in the order is checked,
    /// and nothing is stored.
    ///
    /// # Panics
    /// When there are more features than room was asked for.
    #[inline(always)] // A reader's loop keeps the row in registers.
    pub fn push(&mut self, index: u32, value: f32) -> Result<(), FeatureError> {
        if u64::from(index) < self.next || !value.is_finite() {
            return Err(self.fault(index, value));
        }
        self.next = u64::from(index) + 1;
        self.indices[self.len] = index;
        self.values[self.len] = value;
        self.norm_sq += f64::from(value) * f64::from(value);
        self.len += usize::from(value != 0.0);
        Ok(())
    }

    #[cold]
    fn fault(&self, index: u32, value: f32) -> FeatureError {
        if u64::from(index) < self.next {
            FeatureError::NotIncreasing { previous: (self.next - 1) as u32, index }
        } else {
            FeatureError::NotFinite { index, value }
        }
    }

    /// The last index given, be its value 0 or not.
    pub fn last(&self) -> Option<u32> {
        self.next.checked_sub(1).map(|last| last as u32)
    }

    /// Ends the row and gives it its label.
    #[inline]
    pub fn finish(self, label: f64) {
        let last = self.indices[..self.len].last().map_or(0, |&index| index as usize + 1);
        *self.dimension = (*self.dimension).max(last);
        self.ends.push(self.start + self.len);
        self.labels.push(label);
        self.norms_sq.push(self.norm_sq);
    }
}

impl Batch {
    /// Begins a row of at most `room` features.
    #[inline]
    pub fn open_row(&mut self, room: usize) -> OpenRow<'_> {
        let start = self.nonzeros();
        if self.indices.len() - start < room {
            self.lengthen(start + room);
        }
        OpenRow {
            ends: &mut self.ends,
            labels: &mut self.labels,
            norms_sq: &mut self.norms_sq,
            dimension: &mut self.dimension,
            indices: &mut self.indices[start..start + room],
            values: &mut self.values[start..start + room],
            start,
            len: 0,
            next: 0,
            norm_sq: 0.0,
        }
    }

    #[cold]
    fn lengthen(&mut self, least: usize) {
        let length = least.max(self.indices.len() + self.indices.len() / 2);
        self.indices.resize(length, 0);
        self.values.resize(length, 0.0);
    }

    /// Appends a whole row; on an error the batch is as it was.
    pub fn push(
        &mut self,
        indices: &[u32],
        values: &[f32],
        label: f64,
    ) -> Result<(), FeatureError> {
        if indices.len() != values.len() {
            return Err(FeatureError::Unpaired { indices: indices.len(), values: values.len() });
        }
        let mut row = self.open_row(indices.len());
        for (&index, &value) in indices.iter().zip(values) {
            row.push(index, value)?;
        }
        row.finish(label);
        Ok(())
    }

    /// Drops all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.ends.clear();
        self.labels.clear();
        self.norms_sq.clear();
        self.dimension = 0;
    }

    /// Keeps the first `rows` rows only.
    pub fn truncate(&mut self, rows: usize) {
        self.ends.truncate(rows);
        self.labels.truncate(rows);
        self.norms_sq.truncate(rows);
        self.dimension = self.iter().map(|row| row.features.dimension()).max().unwrap_or(0);
    }

    /// How many finished rows there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no finished row.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// How many features are stored, in all rows together.
    pub fn nonzeros(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// One more than the largest index stored.
    #[inline]
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The stored indices, row after row.
    pub fn indices(&self) -> &[u32] {
        &self.indices[..self.nonzeros()]
    }

    /// The labels, row after row.
    pub fn labels(&self) -> &[f64] {
        &self.labels
    }

    /// Row `row`.
    #[inline]
    pub fn get(&self, row: usize) -> Example<'_> {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        let end = self.ends[row];
        Example {
            features: Features::trusted(
                &self.indices[start..end],
                &self.values[start..end],
                self.norms_sq[row],
            ),
            label: self.labels[row],
        }
    }

    /// The rows in order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Example<'_>> {
        (0..self.len()).map(|row| self.get(row))
    }
}

/// The same rows, whatever room there is behind them.
impl PartialEq for Batch {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_as_they_went_in() {
        let mut batch = Batch::default();
        batch.push(&[0, 3], &[2.0, -1.0], 1.0).unwrap();
        batch.push(&[], &[], -1.0).unwrap();
        batch.push(&[5], &[3.0], 0.5).unwrap();
        assert_eq!((batch.len(), batch.nonzeros(), batch.dimension()), (3, 3, 6));
        let rows: Vec<_> = batch.iter().map(|e| (e.features.indices().to_vec(), e.label)).collect();
        assert_eq!(rows, [(vec![0, 3], 1.0), (vec![], -1.0), (vec![5], 0.5)]);
        assert_eq!(batch.get(0).features.norm_sq(), 5.0);
        batch.clear();
        assert!(batch.is_empty());
        assert_eq!(batch.dimension(), 0);
    }

    #[test]
    fn a_broken_row_leaves_no_trace() {
        let mut batch = Batch::default();
        batch.push(&[1], &[1.0], 1.0).unwrap();
        let before = batch.clone();
        let mut row = batch.open_row(3);
        row.push(4, 1.0).unwrap();
        assert_eq!(row.push(4, 1.0), Err(FeatureError::NotIncreasing { previous: 4, index: 4 }));
        assert!(matches!(row.push(5, f32::NAN), Err(FeatureError::NotFinite { .. })));
        assert_eq!(batch, before);
        assert!(batch.push(&[2, 1], &[1.0, 1.0], 1.0).is_err());
        assert!(batch.push(&[2, 1], &[1.0], 1.0).is_err());
        assert_eq!(batch, before);
        assert_eq!((batch.nonzeros(), batch.indices()), (1, &[1][..]));
    }

    #[test]
    fn zeros_are_absent_features() {
        let mut batch = Batch::default();
        batch.push(&[0, 1, 2], &[0.0, 1.0, -0.0], 1.0).unwrap();
        let mut row = batch.open_row(2);
        row.push(5, 0.0).unwrap();
        assert!(row.push(3, 1.0).is_err(), "a zero has its place in the order too");
        row.push(u32::MAX, 0.0).unwrap();
        row.finish(1.0);
        assert_eq!(batch.get(0).features.indices(), [1]);
        assert_eq!(batch.dimension(), 2);
    }

    #[test]
    fn the_first_rows_can_be_kept() {
        let mut batch = Batch::default();
        batch.push(&[7], &[1.0], 1.0).unwrap();
        let before = batch.clone();
        batch.push(&[9], &[2.0], -1.0).unwrap();
        batch.truncate(1);
        assert_eq!(batch, before);
        assert_eq!(batch.dimension(), 8);
    }
}
