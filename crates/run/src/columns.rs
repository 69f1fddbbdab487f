//! Features that were seen, side by side.

use rueful_core::Batch;
use rueful_data::Census;

/// Renumbering is worth it when at most one index in so many was seen.
const SCARCE: u64 = 2;

/// Which features solvers are shown, and under which numbers: solvers take time and memory in
/// proportion to the largest, and features by name are scattered. The order stays the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Columns {
    /// All, under their own.
    All,
    /// Those that were seen, in increasing order.
    Seen(Vec<u32>),
}

impl Columns {
    /// What suits a stream.
    pub fn of(census: &Census) -> Self {
        if SCARCE * census.features > census.dimension {
            return Self::All;
        }
        let seen = (0..=u32::MAX).take(census.dimension as usize).filter(|&i| census.has(i));
        Self::Seen(seen.collect())
    }

    /// The rows of a batch under the new numbers, unless they are the old ones.
    pub(crate) fn renumber(&self, batch: &Batch, into: &mut Batch) -> bool {
        let Self::Seen(seen) = self else { return false };
        into.clear();
        for example in batch.iter() {
            let x = example.features;
            let mut row = into.open_row(x.len());
            let mut from = 0;
            for (&index, &value) in x.indices().iter().zip(x.values()) {
                // Indices increase along a row, so each lies behind the one before.
                from += seen[from..].partition_point(|&other| other < index);
                let pushed = row.push(from as u32, value);
                debug_assert!(pushed.is_ok(), "the order stays the same");
            }
            row.finish(example.label);
        }
        true
    }

    /// A vector over all features, from one over those shown.
    pub fn spread(&self, shown: Vec<f64>) -> Vec<f64> {
        let Self::Seen(seen) = self else { return shown };
        let mut all = vec![0.0; seen.last().map_or(0, |&last| last as usize + 1)];
        for (&index, value) in seen.iter().zip(shown) {
            all[index as usize] = value;
        }
        all
    }

    /// The reverse.
    pub fn gather(&self, all: &[f64]) -> Vec<f64> {
        match self {
            Self::All => all.to_vec(),
            Self::Seen(seen) => {
                seen.iter().map(|&i| all.get(i as usize).copied().unwrap_or(0.0)).collect()
            }
        }
    }
}
