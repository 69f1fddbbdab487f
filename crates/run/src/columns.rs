//! The features that were seen, numbered side by side.

use rueful_core::{Batch, Rows};
use rueful_data::Census;

/// The features that solvers are shown, and their numbers. Solvers take time and memory in
/// proportion to the largest number, and features by name are scattered. The order stays the same,
/// and so do the numbers of coordinates that comparators tell apart. Sums over columns are rounded
/// by their places, so indices that were not seen are always left out: data with its columns spread
/// out has the same solution to the last bit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Columns {
    /// All features, under their own numbers.
    All,
    /// The features that were seen, in increasing order, and before them those that comparators
    /// tell apart.
    Seen(Vec<u32>),
}

impl Columns {
    /// The columns that suit a stream, and comparators that tell the first `named` coordinates
    /// apart.
    pub fn of(census: &Census, named: usize) -> Self {
        if census.features >= census.dimension {
            return Self::All;
        }
        let named = u32::try_from(named).unwrap_or(u32::MAX);
        let seen = census.indices().filter(|&index| index >= named);
        Self::Seen((0..named).chain(seen).collect())
    }

    /// Rows under the new numbers: the same rows, or a copy. All their features must have one.
    pub fn renumber<'a>(&self, rows: Rows<'a>, copy: &'a mut Batch) -> Rows<'a> {
        let Self::Seen(seen) = self else { return rows };
        let left_out = seen.last().map_or(0, |&last| last as usize + 1 - seen.len());
        copy.clear();
        let renumbered = copy.map_rows(
            rows,
            |features| features,
            |example, row| {
                let mut from = 0;
                let x = example.features;
                x.indices().iter().zip(x.values()).try_for_each(|(&index, &value)| {
                    // Indices increase along a row, so each lies behind the one before. And none
                    // moves further than the number of indices that are left out.
                    let own = index as usize;
                    from = from.max(own.saturating_sub(left_out));
                    let within = &seen[from..seen.len().min(own + 1)];
                    from += within.partition_point(|&other| other < index);
                    row.push(from as u32, value)
                })
            },
        );
        debug_assert!(renumbered.is_ok(), "the order stays the same");
        copy.rows()
    }

    /// The feature of a column.
    pub fn feature(&self, column: usize) -> u32 {
        match self {
            Self::All => column as u32,
            Self::Seen(seen) => seen.get(column).copied().unwrap_or(u32::MAX),
        }
    }

    /// A vector over columns, from features and their values.
    pub fn gather(&self, features: &[(u32, f64)]) -> Vec<f64> {
        let mut columns = Vec::new();
        for &(feature, value) in features {
            let column = match self {
                Self::All => Some(feature as usize),
                Self::Seen(seen) => seen.binary_search(&feature).ok(),
            };
            if let Some(column) = column.filter(|_| value != 0.0) {
                columns.resize(columns.len().max(column + 1), 0.0);
                columns[column] = value;
            }
        }
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rueful_core::Importance;

    #[test]
    fn a_single_gap_is_closed() {
        let mut batch = Batch::default();
        batch.push(&[0, 1, 3, 4], &[1.0; 4], 1.0).unwrap();
        let mut census = Census::default();
        census.count(batch.rows());
        let mut copy = Batch::default();
        let numbers = |named: usize, copy: &mut Batch| {
            let rows = Columns::of(&census, named).renumber(batch.rows(), copy);
            rows.get(0).features.indices().to_vec()
        };
        assert_eq!(numbers(0, &mut copy), [0, 1, 2, 3]);
        assert_eq!(numbers(2, &mut copy), [0, 1, 2, 3]);
        assert_eq!(numbers(3, &mut copy), [0, 1, 3, 4]);
    }

    #[test]
    fn rows_keep_their_labels_and_importances() {
        let mut batch = Batch::default();
        for (t, index) in [(1.0, 500), (2.0, 7), (3.0, 90_000)] {
            let importance = Importance::new(t).unwrap();
            batch.push_weighted(&[2, index], &[1.0, 0.5], -t, importance).unwrap();
        }
        let mut census = Census::default();
        census.count(batch.rows());
        for named in [0, 1, 4] {
            let columns = Columns::of(&census, named);
            let mut copy = Batch::default();
            let rows = columns.renumber(batch.rows(), &mut copy);
            for (row, old) in rows.iter().zip(batch.iter()) {
                assert_eq!((row.label, row.importance), (old.label, old.importance));
                assert_eq!(row.features.values(), old.features.values());
                let pairs = row.features.indices().iter().zip(old.features.indices());
                for (&column, &index) in pairs {
                    assert_eq!(columns.feature(column as usize), index);
                    assert!(index as usize >= named || column == index, "{named} are told apart");
                }
            }
            let u = columns.gather(&[(2, 3.0), (500, -1.0), (800, 9.0)]);
            assert_eq!(u.iter().filter(|&&value| value != 0.0).count(), 2);
            assert_eq!(u[rows.get(0).features.indices()[1] as usize], -1.0);
        }
    }
}
