//! Counts over the rows of a stream.

use crate::index_set::IndexSet;
use rueful_core::{Rows, Sum};
use serde::{Deserialize, Deserializer, Serialize};

/// Counts over the rows that a source has delivered. A value of 0 is an absent feature and is not
/// counted. The constant feature counts like any other.
///
/// ```
/// use rueful_core::Batch;
/// use rueful_data::Census;
/// let mut batch = Batch::default();
/// batch.push(&[1, 4], &[1.0, 0.5], -1.0)?;
/// batch.push(&[4], &[2.0], 1.0)?;
///
/// let mut census = Census::default();
/// census.count(batch.rows());
/// assert_eq!((census.examples, census.nonzeros, census.features), (2, 3, 2));
/// # Ok::<(), rueful_core::FeatureError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Census {
    /// The number of rows.
    pub examples: u64,
    /// The number of features that are stored, in all rows together.
    pub nonzeros: u64,
    /// The number of distinct indices.
    pub features: u64,
    /// One more than the largest index seen.
    pub dimension: u64,
    /// Σ y_t, the sum of the labels as they are learned from. It is not saved with the rest.
    #[serde(skip)]
    pub label_sum: Sum,
    /// The indices that were seen.
    seen: IndexSet,
}

impl Census {
    /// Adds some rows. Rows of importance 0 do not count.
    pub fn count(&mut self, rows: Rows<'_>) {
        self.count_with(rows, None::<[u32; 0]>);
    }

    /// Adds some rows whose indices were all seen before, but for those in `new`. It gives the same as
    /// [`count`](Self::count), and need not look at the others.
    pub fn count_new(&mut self, rows: Rows<'_>, new: impl IntoIterator<Item = u32>) {
        self.count_with(rows, Some(new));
    }

    /// Adds some rows. `new` holds the indices that may be new, if the caller knows them.
    pub(crate) fn count_with(
        &mut self,
        rows: Rows<'_>,
        new: Option<impl IntoIterator<Item = u32>>,
    ) {
        if rows.importances().iter().any(|importance| importance.is_zero()) {
            let counted = (0..rows.len()).filter(|&row| !rows.importances()[row].is_zero());
            for row in counted.map(|row| rows.slice(row..row + 1)) {
                let dimension = row.get(0).features.dimension();
                self.count_all(row, row.distinct_indices().iter().copied(), dimension);
            }
            return;
        }
        match new {
            Some(new) => self.count_all(rows, new, rows.dimension()),
            None => self.count_all(rows, rows.distinct_indices().iter().copied(), rows.dimension()),
        }
    }

    /// Adds rows none of which has importance 0.
    fn count_all(&mut self, rows: Rows<'_>, new: impl IntoIterator<Item = u32>, dimension: usize) {
        self.examples += rows.len() as u64;
        self.nonzeros += rows.nonzeros() as u64;
        self.dimension = self.dimension.max(dimension as u64);
        self.label_sum.add_all(rows.labels());
        self.features += new.into_iter().map(|index| self.seen.insert(index)).sum::<u64>();
    }

    /// Adds the counts of another part of the stream.
    pub fn extend(&mut self, later: &Self) {
        self.examples += later.examples;
        self.nonzeros += later.nonzeros;
        self.dimension = self.dimension.max(later.dimension);
        self.label_sum.merge(later.label_sum);
        self.seen.extend(&later.seen);
        self.features = self.seen.count();
    }

    /// Whether a feature of this index was seen.
    pub fn has(&self, index: u32) -> bool {
        self.seen.has(index)
    }

    /// The indices that were seen, from the smallest on.
    pub fn indices(&self) -> impl Iterator<Item = u32> {
        self.seen.iter()
    }
}

/// A census that contradicts itself is refused.
impl<'de> Deserialize<'de> for Census {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Read {
            examples: u64,
            nonzeros: u64,
            features: u64,
            dimension: u64,
            seen: IndexSet,
        }
        let Read { examples, nonzeros, features, dimension, seen } =
            Read::deserialize(deserializer)?;
        let label_sum = Sum::default();
        let census = Self { examples, nonzeros, features, dimension, label_sum, seen };
        let end = census.seen.end();
        if census.seen.count() == features && dimension == end {
            Ok(census)
        } else {
            Err(serde::de::Error::custom("counts that contradict each other"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rueful_core::Batch;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn distinct_indices_are_those_of_a_set(
            rows in prop::collection::vec(prop::collection::btree_set(0u32..400, 0..9), 0..60)
        ) {
            let mut census = Census::default();
            for row in &rows {
                let indices: Vec<u32> = row.iter().copied().collect();
                let mut batch = Batch::default();
                batch.push(&indices, &vec![1.0; indices.len()], 1.0).unwrap();
                census.count(batch.rows());
            }
            let all: BTreeSet<u32> = rows.iter().flatten().copied().collect();
            prop_assert_eq!(census.examples, rows.len() as u64);
            prop_assert_eq!(census.nonzeros, rows.iter().map(|row| row.len() as u64).sum::<u64>());
            prop_assert_eq!(census.features, all.len() as u64);
            prop_assert_eq!(census.dimension, all.last().map_or(0, |&last| u64::from(last) + 1));
            let (mut known, mut again) = (census.clone(), census);
            for row in &rows {
                let indices: Vec<u32> = row.iter().copied().collect();
                let mut batch = Batch::default();
                batch.push(&indices, &vec![1.0; indices.len()], 1.0).unwrap();
                known.count_new(batch.rows(), []);
                again.count(batch.rows());
            }
            prop_assert_eq!(known, again);
        }
    }
}
