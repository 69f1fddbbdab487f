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
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// The end of each finished row in `indices` and `values`.
    ends: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f32>,
    labels: Vec<f64>,
    norms_sq: Vec<f64>,
    dimension: usize,
    /// ‖x‖² of the row that is being filled, and the last index it was given.
    open_norm_sq: f64,
    open_last: Option<u32>,
}

impl Batch {
    /// Appends one feature to the row being filled. A value of 0 is an absent feature: its place
    /// in the order is checked, and nothing is stored.
    #[inline]
    pub fn push_feature(&mut self, index: u32, value: f32) -> Result<(), FeatureError> {
        if let Some(previous) = self.open_last
            && previous >= index
        {
            return Err(FeatureError::NotIncreasing { previous, index });
        }
        if !value.is_finite() {
            return Err(FeatureError::NotFinite { index, value });
        }
        self.open_last = Some(index);
        if value != 0.0 {
            self.indices.push(index);
            self.values.push(value);
            self.open_norm_sq += f64::from(value) * f64::from(value);
        }
        Ok(())
    }

    /// Ends the row being filled and gives it its label.
    #[inline]
    pub fn finish_row(&mut self, label: f64) {
        let last = self.open_indices().last().map_or(0, |&index| index as usize + 1);
        self.dimension = self.dimension.max(last);
        self.ends.push(self.indices.len());
        self.labels.push(label);
        self.norms_sq.push(self.open_norm_sq);
        self.open_norm_sq = 0.0;
        self.open_last = None;
    }

    /// Forgets the features of a row that was begun and cannot be finished.
    pub fn discard_row(&mut self) {
        let start = self.open_start();
        self.indices.truncate(start);
        self.values.truncate(start);
        self.open_norm_sq = 0.0;
        self.open_last = None;
    }

    /// Appends a whole row; on an error the batch is as it was.
    pub fn push(
        &mut self,
        indices: &[u32],
        values: &[f32],
        label: f64,
    ) -> Result<(), FeatureError> {
        Features::new(indices, values)?;
        for (&index, &value) in indices.iter().zip(values) {
            self.push_feature(index, value)?;
        }
        self.finish_row(label);
        Ok(())
    }

    /// Drops all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.ends.clear();
        self.indices.clear();
        self.values.clear();
        self.labels.clear();
        self.norms_sq.clear();
        self.dimension = 0;
        self.open_norm_sq = 0.0;
        self.open_last = None;
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
        self.indices.len()
    }

    /// One more than the largest index stored.
    #[inline]
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The stored indices, row after row.
    pub fn indices(&self) -> &[u32] {
        &self.indices
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

    fn open_start(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    #[inline]
    fn open_indices(&self) -> &[u32] {
        &self.indices[self.open_start()..]
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
        batch.push_feature(4, 1.0).unwrap();
        assert!(batch.push_feature(4, 1.0).is_err());
        batch.discard_row();
        assert_eq!(batch, before);
        assert!(batch.push(&[2, 1], &[1.0, 1.0], 1.0).is_err());
        assert_eq!(batch, before);
    }

    #[test]
    fn zeros_are_absent_features() {
        let mut batch = Batch::default();
        batch.push(&[0, 1, 2], &[0.0, 1.0, -0.0], 1.0).unwrap();
        batch.push_feature(5, 0.0).unwrap();
        assert!(batch.push_feature(3, 1.0).is_err(), "a zero has its place in the order too");
        batch.discard_row();
        assert_eq!(batch.get(0).features.indices(), [1]);
        assert_eq!(batch.dimension(), 2);
    }
}
