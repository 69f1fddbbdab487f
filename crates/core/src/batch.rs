//! A reusable buffer of examples. Data flows from readers to learners in batches.

use crate::bulk;
use crate::features::{Example, FeatureError, Features};
use crate::number::Importance;
use crate::rows::{RowError, Rows, Shape};
use crate::vector;

/// Sparse rows end to end (compressed rows: offsets, indices, values), with their labels and
/// squared norms. A batch is filled feature by feature and read row by row. Clearing it keeps its
/// memory for the next rows.
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
    /// The features of the finished rows. Entries behind them have no meaning: memory that was
    /// allocated once is written over, not cleared.
    indices: Vec<u32>,
    values: Vec<f32>,
    labels: Vec<f64>,
    /// The importance of each row. Empty while all are 1.
    importances: Vec<Importance>,
    norms_sq: Vec<f64>,
    dimension: usize,
}

/// A row that is being filled, in the memory of its batch. If it is dropped before `finish`, the
/// batch stays as it was.
#[derive(Debug)]
pub struct OpenRow<'a> {
    ends: &'a mut Vec<usize>,
    labels: &'a mut Vec<f64>,
    importances: &'a mut Vec<Importance>,
    norms_sq: &'a mut Vec<f64>,
    dimension: &'a mut usize,
    /// The room for its features.
    indices: &'a mut [u32],
    values: &'a mut [f32],
    start: usize,
    len: usize,
    /// One more than the last index that was given, even if its value was 0.
    next: u64,
    norm_sq: f64,
}

impl OpenRow<'_> {
    /// Appends one feature. A value of 0 means an absent feature: its index is checked against the
    /// order, and nothing is stored.
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

    /// Appends the features that `write` puts at the beginning of the free room. `write` returns
    /// how many there are. The result is the same, to the last bit, as that of pushing them one by
    /// one, but it is faster. On an error the row stays as it was.
    ///
    /// # Panics
    /// When `write` returns more features than there is room for.
    #[inline]
    pub fn append_with(
        &mut self,
        write: impl FnOnce(&mut [u32], &mut [f32]) -> usize,
    ) -> Result<(), FeatureError> {
        let start = self.len;
        let end = start + write(&mut self.indices[start..], &mut self.values[start..]);
        let (indices, values) = (&self.indices[start..end], &self.values[start..end]);
        let Some((&first, &last)) = indices.first().zip(indices.last()) else { return Ok(()) };
        let norm_sq = vector::add_squares(self.norm_sq, values);
        let is_plain = u64::from(first) >= self.next
            && bulk::descents(indices) == 0
            && !bulk::has_zeros(values)
            && norm_sq.is_finite();
        if !is_plain {
            return self.append_one_by_one(end);
        }
        (self.len, self.next, self.norm_sq) = (end, u64::from(last) + 1, norm_sq);
        Ok(())
    }

    /// The slow version of `append_with`, for features with zeros or faults among them.
    #[cold]
    fn append_one_by_one(&mut self, end: usize) -> Result<(), FeatureError> {
        let before = (self.len, self.next, self.norm_sq);
        for i in self.len..end {
            // A feature is written at or before the place from which it is read.
            if let Err(error) = self.push(self.indices[i], self.values[i]) {
                (self.len, self.next, self.norm_sq) = before;
                return Err(error);
            }
        }
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

    /// The last index that was given, even if its value was 0.
    pub fn last(&self) -> Option<u32> {
        self.next.checked_sub(1).map(|last| last as u32)
    }

    /// Ends the row with its label and its importance.
    #[inline]
    pub fn finish(self, label: f64, importance: Importance) {
        if importance != Importance::ONE || !self.importances.is_empty() {
            self.importances.resize(self.labels.len(), Importance::ONE);
            self.importances.push(importance);
        }
        let last = self.indices[..self.len].last().map_or(0, |&index| index as usize + 1);
        *self.dimension = (*self.dimension).max(last);
        self.ends.push(self.start + self.len);
        self.labels.push(label);
        self.norms_sq.push(self.norm_sq);
    }
}

impl Batch {
    /// Makes room for at least `features` more features.
    pub fn reserve(&mut self, features: usize) {
        let end = self.nonzeros() + features;
        if self.indices.len() < end {
            self.lengthen(end);
        }
    }

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
            importances: &mut self.importances,
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
        if self.is_empty() {
            // These zeros come from the system, which maps their pages only when they are written.
            (self.indices, self.values) = (vec![0; length], vec![0.0; length]);
        } else {
            self.indices.resize(length, 0);
            self.values.resize(length, 0.0);
        }
    }

    /// Appends a whole row of importance 1. On an error the batch stays as it was.
    pub fn push(
        &mut self,
        indices: &[u32],
        values: &[f32],
        label: f64,
    ) -> Result<(), FeatureError> {
        self.push_weighted(indices, values, label, Importance::ONE)
    }

    /// Appends a whole row. On an error the batch stays as it was.
    pub fn push_weighted(
        &mut self,
        indices: &[u32],
        values: &[f32],
        label: f64,
        importance: Importance,
    ) -> Result<(), FeatureError> {
        if indices.len() != values.len() {
            return Err(FeatureError::Unpaired { indices: indices.len(), values: values.len() });
        }
        let mut row = self.open_row(indices.len());
        for (&index, &value) in indices.iter().zip(values) {
            row.push(index, value)?;
        }
        row.finish(label, importance);
        Ok(())
    }

    /// Appends many rows at once. Row `r` has `lengths[r]` features, the label `labels[r]`, and the
    /// importance `importances[r]`, or 1 if `importances` is empty. `write` fills in the features,
    /// one row after the other. The result is the same, to the last bit, as that of pushing the
    /// rows one by one. On an error the batch stays as it was.
    ///
    /// # Panics
    /// When the number of labels is not the number of lengths, or when only some of the rows have
    /// an importance.
    ///
    /// ```
    /// use rueful_core::Batch;
    /// let mut batch = Batch::default();
    /// batch.extend_with(&[2, 1], &[1.0, -1.0], &[], |indices, values| {
    ///     indices.copy_from_slice(&[1, 4, 2]);
    ///     values.copy_from_slice(&[1.0, 0.5, 3.0]);
    /// })?;
    /// assert_eq!(batch.get(1).features.indices(), [2]);
    /// # Ok::<(), rueful_core::FeatureError>(())
    /// ```
    pub fn extend_with(
        &mut self,
        lengths: &[u32],
        labels: &[f64],
        importances: &[Importance],
        write: impl FnOnce(&mut [u32], &mut [f32]),
    ) -> Result<(), FeatureError> {
        assert_eq!(lengths.len(), labels.len(), "every row has a label");
        assert!(importances.is_empty() || importances.len() == labels.len());
        let start = self.nonzeros();
        let end = lengths.iter().fold(start, |end, &length| end + length as usize);
        if self.indices.len() < end {
            self.lengthen(end);
        }
        let (indices, values) = (&mut self.indices[start..end], &mut self.values[start..end]);
        write(indices, values);
        let rows = self.norms_sq.len();
        let mut rest = &*values;
        let next = |&length: &u32| {
            let (row, after) = rest.split_at(length as usize);
            rest = after;
            row
        };
        bulk::extend_norms_sq(&mut self.norms_sq, lengths.iter().map(next));
        // Squares of single-precision numbers do not overflow in double precision. So if a sum is
        // not finite, one of its values is not.
        let are_finite = self.norms_sq[rows..].iter().all(|norm_sq| norm_sq.is_finite());
        if !are_finite || !bulk::are_rows(lengths, indices, values) {
            self.norms_sq.truncate(rows);
            let (indices, values) = (indices.to_vec(), values.to_vec());
            self.extend_one_by_one(lengths, labels, &indices, &values)?;
            self.weigh_last(importances);
            return Ok(());
        }
        let last_of = |row: &[u32]| row.last().map_or(0, |&last| last as usize + 1);
        let mut rest = &*indices;
        for &length in lengths {
            let (row, after) = rest.split_at(length as usize);
            self.dimension = self.dimension.max(last_of(row));
            self.ends.push(end - after.len());
            rest = after;
        }
        self.labels.extend_from_slice(labels);
        if !self.importances.is_empty() {
            self.importances.resize(self.labels.len(), Importance::ONE);
        }
        self.weigh_last(importances);
        Ok(())
    }

    /// Sets the importances of the last rows, as many as are given.
    fn weigh_last(&mut self, importances: &[Importance]) {
        if !importances.is_empty() {
            self.importances.resize(self.len() - importances.len(), Importance::ONE);
            self.importances.extend_from_slice(importances);
        }
    }

    /// The slow version of `extend_with`, for rows with zeros or faults.
    #[cold]
    fn extend_one_by_one(
        &mut self,
        lengths: &[u32],
        labels: &[f64],
        mut indices: &[u32],
        mut values: &[f32],
    ) -> Result<(), FeatureError> {
        let (rows, dimension) = (self.len(), self.dimension);
        for (&length, &label) in lengths.iter().zip(labels) {
            let (index_row, index_rest) = indices.split_at(length as usize);
            let (value_row, value_rest) = values.split_at(length as usize);
            if let Err(error) = self.push(index_row, value_row, label) {
                self.truncate(rows);
                self.dimension = dimension;
                return Err(error);
            }
            (indices, values) = (index_rest, value_rest);
        }
        Ok(())
    }

    /// Appends rows without changing them.
    pub fn append(&mut self, rows: Rows<'_>) {
        let (count, start) = (self.len(), self.nonzeros());
        self.indices.truncate(start);
        self.values.truncate(start);
        for row in rows.iter() {
            self.indices.extend_from_slice(row.features.indices());
            self.values.extend_from_slice(row.features.values());
            self.ends.push(self.indices.len());
        }
        self.labels.extend_from_slice(rows.labels);
        self.norms_sq.extend_from_slice(rows.norms_sq);
        if !self.importances.is_empty() || !rows.importances.is_empty() {
            self.importances.resize(count, Importance::ONE);
            self.importances.extend_from_slice(rows.importances);
            self.importances.resize(self.len(), Importance::ONE);
        }
        self.dimension = self.dimension.max(rows.dimension);
    }

    /// Rewrites rows and appends the results. `rewrite` gives each row its features and may change
    /// its importance by a factor. Label and importance are carried along whatever `rewrite` does,
    /// and there is no other way to rewrite rows. A row of n features may get up to `room(n)`
    /// features. On an error the rows before the faulty one are kept.
    ///
    /// ```
    /// use rueful_core::{Batch, FeatureError, Importance};
    /// let mut batch = Batch::default();
    /// batch.push_weighted(&[2, 7], &[1.0, 0.5], -1.0, Importance::new(3.0)?)?;
    /// let mut doubled = Batch::default();
    /// doubled.map_rows(batch.rows(), |features| features, |example, row| {
    ///     let x = example.features;
    ///     let mut pairs = x.indices().iter().zip(x.values());
    ///     pairs.try_for_each(|(&index, &value)| row.push(index, 2.0 * value))
    /// })?;
    /// assert_eq!(doubled.get(0).features.values(), [2.0, 1.0]);
    /// assert_eq!((doubled.get(0).label, doubled.get(0).importance.get()), (-1.0, 3.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn map_rows(
        &mut self,
        rows: Rows<'_>,
        room: impl Fn(usize) -> usize,
        mut rewrite: impl FnMut(&Example<'_>, &mut NewRow<'_>) -> Result<(), FeatureError>,
    ) -> Result<(), RowError> {
        for (at, example) in rows.iter().enumerate() {
            let row = self.open_row(room(example.features.len()));
            let mut new = NewRow { row, factor: 1.0 };
            rewrite(&example, &mut new).map_err(|why| RowError::Features { row: at, why })?;
            let NewRow { row, factor } = new;
            let importance = Importance::new(example.importance.get() * factor)
                .map_err(|why| RowError::Importance { row: at, why })?;
            row.finish(example.label, importance);
        }
        Ok(())
    }

    /// Replaces every label by what `relabel` makes of the label and the importance of its row.
    pub fn relabel(&mut self, mut relabel: impl FnMut(f64, Importance) -> f64) {
        for (row, label) in self.labels.iter_mut().enumerate() {
            let importance = self.importances.get(row).copied().unwrap_or(Importance::ONE);
            *label = relabel(*label, importance);
        }
    }

    /// Drops all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.ends.clear();
        self.labels.clear();
        self.importances.clear();
        self.norms_sq.clear();
        self.dimension = 0;
    }

    /// Drops the first `rows` rows.
    pub fn remove_first(&mut self, rows: usize) {
        let start = rows.checked_sub(1).map_or(0, |last| self.ends[last]);
        self.indices.drain(..start);
        self.values.drain(..start);
        self.ends.drain(..rows);
        self.ends.iter_mut().for_each(|end| *end -= start);
        self.labels.drain(..rows);
        self.importances.drain(..rows.min(self.importances.len()));
        self.norms_sq.drain(..rows);
        self.dimension = self.iter().map(|row| row.features.dimension()).max().unwrap_or(0);
    }

    /// Keeps only the first `rows` rows.
    pub fn truncate(&mut self, rows: usize) {
        self.ends.truncate(rows);
        self.labels.truncate(rows);
        self.importances.truncate(rows);
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

    /// The rows, borrowed for a learner.
    #[inline]
    pub fn rows(&self) -> Rows<'_> {
        Rows {
            shape: Shape::Ragged { start: 0, ends: &self.ends },
            indices: &self.indices,
            values: &self.values,
            labels: &self.labels,
            importances: &self.importances,
            norms_sq: &self.norms_sq,
            dimension: self.dimension,
            are_increasing: true,
        }
    }

    /// Row `row`.
    #[inline]
    pub fn get(&self, row: usize) -> Example<'_> {
        self.rows().get(row)
    }

    /// The rows in order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Example<'_>> {
        self.rows().iter()
    }
}

/// A row that is rewritten from another one. It takes over the label and the importance of that
/// row.
#[derive(Debug)]
pub struct NewRow<'a> {
    row: OpenRow<'a>,
    factor: f64,
}

impl NewRow<'_> {
    /// Appends one feature.
    ///
    /// # Panics
    /// When there are more features than room was asked for.
    #[inline]
    pub fn push(&mut self, index: u32, value: f32) -> Result<(), FeatureError> {
        self.row.push(index, value)
    }

    /// Appends features without changing them.
    pub fn copy(&mut self, x: &Features<'_>) -> Result<(), FeatureError> {
        x.indices().iter().zip(x.values()).try_for_each(|(&index, &value)| self.push(index, value))
    }

    /// Multiplies the importance of the row by `factor`.
    pub fn weigh(&mut self, factor: f64) {
        self.factor *= factor;
    }
}

/// Two batches are equal if their rows are equal. The free room behind them does not matter.
impl PartialEq for Batch {
    fn eq(&self, other: &Self) -> bool {
        self.rows() == other.rows()
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
    fn features_appended_together_are_features_pushed_one_by_one() {
        let runs: [&[(u32, f32)]; 6] = [
            &[],
            &[(2, 0.1), (5, -3.0), (9, 1e30)],
            &[(2, 0.0), (5, -3.0), (7, -0.0), (9, 4.0), (11, 0.0)],
            &[(2, 0.1), (2, 1.0)],
            &[(2, 0.1), (5, f32::NAN), (6, 1.0)],
            &[(1, 0.1)],
        ];
        for run in runs {
            let (mut together, mut one_by_one) = (Batch::default(), Batch::default());
            let mut row = together.open_row(8);
            let mut twin = one_by_one.open_row(8);
            row.push(1, 2.0).unwrap();
            twin.push(1, 2.0).unwrap();
            let appended = row.append_with(|indices, values| {
                for (i, &(index, value)) in run.iter().enumerate() {
                    (indices[i], values[i]) = (index, value);
                }
                run.len()
            });
            let pushed = run.iter().try_for_each(|&(index, value)| twin.push(index, value));
            assert_eq!(format!("{appended:?}"), format!("{pushed:?}"), "{run:?}");
            if pushed.is_err() {
                assert_eq!((row.last(), row.len), (Some(1), 1), "as it was");
                continue;
            }
            assert_eq!(row.last(), twin.last());
            row.finish(1.0, Importance::ONE);
            twin.finish(1.0, Importance::ONE);
            assert_eq!(together, one_by_one, "{run:?}");
        }
    }

    #[test]
    fn a_batch_appended_is_its_rows_pushed() {
        let rows = |range: std::ops::Range<u32>| {
            let mut batch = Batch::default();
            for i in range {
                let mut row = batch.open_row(9);
                row.push(i, 0.5 + i as f32).unwrap();
                row.push(7 * i + 1, 2.0).unwrap();
                let importance = Importance::new(if i % 3 == 2 { 4.0 } else { 1.0 }).unwrap();
                row.finish(f64::from(i), importance);
            }
            batch
        };
        for (middle, end) in [(0, 0), (0, 5), (2, 2), (2, 5), (3, 4), (2, 3)] {
            let mut batch = rows(0..middle);
            batch.append(rows(middle..end).rows());
            assert_eq!(batch, rows(0..end), "{middle} {end}");
            assert_eq!(batch.dimension(), rows(0..end).dimension());
            batch.remove_first(middle as usize);
            assert_eq!(batch, rows(middle..end), "{middle} {end}");
            assert_eq!(batch.dimension(), rows(middle..end).dimension());
        }
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
        row.finish(1.0, Importance::ONE);
        assert_eq!(batch.get(0).features.indices(), [1]);
        assert_eq!(batch.dimension(), 2);
    }

    #[test]
    fn rows_count_one_unless_said_otherwise() {
        let mut batch = Batch::default();
        batch.push(&[1], &[1.0], 1.0).unwrap();
        assert!(batch.rows().importances().is_empty());
        batch.open_row(0).finish(1.0, Importance::new(2.5).unwrap());
        batch.push(&[1], &[1.0], 1.0).unwrap();
        let all: Vec<_> = batch.iter().map(|example| example.importance.get()).collect();
        assert_eq!(all, [1.0, 2.5, 1.0]);
        batch.clear();
        batch.push(&[1], &[1.0], 1.0).unwrap();
        assert_eq!(batch.get(0).importance, Importance::ONE);
    }

    #[test]
    fn rows_are_rewritten_with_all_that_is_theirs() {
        let importance = |value| Importance::new(value).unwrap();
        let mut batch = Batch::default();
        for (label, weight) in [(1.0, 2.0), (-1.0, 1.0), (1.0, 0.5)] {
            batch.push_weighted(&[3, 8], &[1.0, -2.0], label, importance(weight)).unwrap();
        }
        let mut new = Batch::default();
        let shifted = new.map_rows(
            batch.rows(),
            |features| features,
            |example, row| {
                row.weigh(if example.label > 0.0 { 4.0 } else { 0.0 });
                example.features.iter().try_for_each(|(i, x)| row.push(i as u32 - 3, x as f32))
            },
        );
        shifted.unwrap();
        let rows: Vec<_> = new.iter().map(|e| (e.label, e.importance.get())).collect();
        assert_eq!(rows, [(1.0, 8.0), (-1.0, 0.0), (1.0, 2.0)]);
        assert_eq!(new.get(2).features.indices(), [0, 5]);

        let too_heavy = new.map_rows(
            batch.rows(),
            |features| features,
            |example, row| {
                row.weigh(if example.label > 0.0 { 1.0 } else { 1e40 });
                row.copy(&example.features)
            },
        );
        assert_eq!(
            too_heavy.unwrap_err().to_string(),
            "row 1: its importance 1e40 is not 0, or a number between 1e-30 and 1e30"
        );
        assert_eq!((new.len(), new.get(3)), (4, batch.get(0)));
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

    #[test]
    fn many_rows_at_once_are_the_rows_one_by_one() {
        // One row for every pattern of four features among the good, the zero and the bad. Rows
        // without features lie in between, so that several boundaries fall together.
        let features = [(1, 0.1), (2, 0.7), (7, -3.3), (3, 0.0), (9, f32::INFINITY), (2, f32::NAN)];
        let mut good: Vec<Vec<(u32, f32)>> = Vec::new();
        for pattern in 0..6usize.pow(4) {
            let row: Vec<_> = (0..4u32)
                .map(|i| features[pattern / 6usize.pow(i) % 6])
                .take(pattern % 5)
                .collect();
            let rows = [good.last().cloned().unwrap_or_default(), Vec::new(), row.clone(), vec![]];
            let (one_by_one, at_once) = both_ways(&rows);
            assert_eq!(one_by_one, at_once, "{rows:?}");
            if one_by_one.is_ok() {
                good.push(row);
            }
        }
        assert!(good.len() > 50);
        let (one_by_one, at_once) = both_ways(&good);
        assert_eq!(one_by_one.unwrap(), at_once.unwrap());
    }

    type Outcome = Result<(Batch, Vec<u64>, usize), String>;

    fn both_ways(rows: &[Vec<(u32, f32)>]) -> (Outcome, Outcome) {
        let mut before = Batch::default();
        before.push(&[5], &[0.3], 1.0).unwrap();
        let outcome = |batch: Batch, result: Result<(), FeatureError>| match result {
            Ok(()) => {
                let norms = batch.iter().map(|row| row.features.norm_sq().to_bits()).collect();
                let dimension = batch.dimension();
                Ok((batch, norms, dimension))
            }
            Err(error) => Err(error.to_string()),
        };
        let mut pushed = before.clone();
        let result = rows.iter().try_for_each(|row| {
            let (indices, values): (Vec<_>, Vec<_>) = row.iter().copied().unzip();
            pushed.push(&indices, &values, -1.0)
        });
        let one_by_one = outcome(pushed, result);
        let mut extended = before.clone();
        let lengths: Vec<u32> = rows.iter().map(|row| row.len() as u32).collect();
        let result =
            extended.extend_with(&lengths, &vec![-1.0; rows.len()], &[], |indices, values| {
                for (i, &(index, value)) in rows.iter().flatten().enumerate() {
                    (indices[i], values[i]) = (index, value);
                }
            });
        if result.is_err() {
            assert_eq!((&extended, extended.dimension()), (&before, before.dimension()));
        }
        (one_by_one, outcome(extended, result))
    }
}
