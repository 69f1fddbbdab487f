//! What a stream held.

use rueful_core::{Rows, Sum};
use serde::{Deserialize, Deserializer, Serialize};

/// Counts over the rows a source has delivered. A value of 0 is an absent feature and is not
/// counted; the constant feature is one like any other.
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
    /// Rows.
    pub examples: u64,
    /// Features stored, in all rows together.
    pub nonzeros: u64,
    /// Distinct indices seen.
    pub features: u64,
    /// One more than the largest index seen.
    pub dimension: u64,
    /// Σ y_t, of the labels as they are learned from; not put away with the rest.
    #[serde(skip)]
    pub label_sum: Sum,
    /// One bit per index up to the largest seen: at most an eighth of a byte per index allowed.
    seen: Vec<u64>,
}

impl Census {
    /// Adds some rows. Those of importance 0 are none.
    pub fn count(&mut self, rows: Rows<'_>) {
        if rows.importances().iter().any(|importance| importance.is_zero()) {
            let counted = (0..rows.len()).filter(|&row| !rows.importances()[row].is_zero());
            return counted.for_each(|row| self.count_with(rows.slice(row..row + 1), None));
        }
        self.count_with(rows, None);
    }

    /// The same, told which of the indices may be new.
    pub(crate) fn count_with(&mut self, rows: Rows<'_>, new: Option<&[u32]>) {
        self.examples += rows.len() as u64;
        self.nonzeros += rows.nonzeros() as u64;
        self.dimension = self.dimension.max(rows.dimension() as u64);
        rows.labels().iter().for_each(|&label| self.label_sum.add(label));
        self.features += self.mark(new.unwrap_or_else(|| rows.distinct_indices()));
    }

    /// The indices that were seen, in increasing order.
    pub fn indices(&self) -> impl Iterator<Item = u32> {
        let words = (0_u32..).zip(&self.seen).filter(|&(_, &word)| word != 0);
        words.flat_map(|(at, &word)| (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| 64 * at + bit))
    }

    /// Marks indices as seen; returns how many of them are new.
    fn mark(&mut self, indices: &[u32]) -> u64 {
        let mut new = 0;
        for &index in indices {
            let word = index as usize / 64;
            if self.seen.len() <= word {
                self.seen.resize(word + 1, 0);
            }
            new += !self.seen[word] >> (index % 64) & 1;
            self.seen[word] |= 1 << (index % 64);
        }
        new
    }

    /// Adds what another part of the stream held.
    pub fn extend(&mut self, later: &Self) {
        self.examples += later.examples;
        self.nonzeros += later.nonzeros;
        self.dimension = self.dimension.max(later.dimension);
        self.label_sum.merge(later.label_sum);
        self.seen.resize(self.seen.len().max(later.seen.len()), 0);
        self.seen.iter_mut().zip(&later.seen).for_each(|(word, later)| *word |= later);
        self.features = self.count_seen();
    }

    fn count_seen(&self) -> u64 {
        self.seen.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Whether a feature of this index was seen.
    pub fn has(&self, index: u32) -> bool {
        self.seen.get(index as usize / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }
}

/// What is read must not contradict itself.
impl<'de> Deserialize<'de> for Census {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Read {
            examples: u64,
            nonzeros: u64,
            features: u64,
            dimension: u64,
            seen: Vec<u64>,
        }
        let Read { examples, nonzeros, features, dimension, seen } =
            Read::deserialize(deserializer)?;
        let label_sum = Sum::default();
        let census = Self { examples, nonzeros, features, dimension, label_sum, seen };
        if census.count_seen() == features && dimension <= 64 * census.seen.len() as u64 {
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
        }
    }
}
