//! Rows that are held out: they are predicted and never learned from.
//!
//! A row that is held out gets the importance 0 where a source is opened. So learners, ledgers,
//! solvers and surveys ignore it, and it is predicted like any other row.

use rueful_core::{Batch, Example};
use rueful_data::{Census, DataError, LabelsSeen, Names, Source};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// Which rows are held out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holdout {
    /// One row of this many is held out.
    pub every: NonZeroU64,
    /// How such rows are chosen.
    pub by: HoldoutBy,
}

/// How rows that are held out are chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HoldoutBy {
    /// By their place: the last of every k rows is held out. Rows of importance 0 are not counted.
    #[default]
    Row,
    /// By their features: equal rows are held out together, wherever they are.
    Hash,
}

impl HoldoutBy {
    /// The names of all ways.
    pub const NAMES: [&'static str; 2] = ["row", "hash"];

    /// The way of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "row" => Some(Self::Row),
            "hash" => Some(Self::Hash),
            _ => None,
        }
    }
}

impl Holdout {
    /// Whether a row is held out, where `row` rows that count come before it.
    fn takes(&self, row: u64, example: &Example<'_>) -> bool {
        let every = self.every.get();
        match self.by {
            HoldoutBy::Row => row % every == every - 1,
            HoldoutBy::Hash => hash(example).is_multiple_of(every),
        }
    }
}

/// A hash of the features of a row: FNV-1a over indices and bits of values, with the bits of the
/// result mixed, so that its remainders are spread evenly. It must never change, because a resumed
/// run holds out the same rows.
fn hash(example: &Example<'_>) -> u64 {
    let x = &example.features;
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for (&index, &value) in x.indices().iter().zip(x.values()) {
        for word in [index, value.to_bits()] {
            hash = (hash ^ u64::from(word)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}

/// A source some of whose rows are held out.
pub(crate) struct HeldOut {
    rows: Box<dyn Source>,
    holdout: Holdout,
    /// The rows as they came from the source, and how many that count came before them.
    plain: Batch,
    position: u64,
    /// The rows of the last batch that are held out, with the importances that they had.
    held: Vec<(usize, f64)>,
    /// The census of the rows that are left.
    left: Census,
}

impl HeldOut {
    pub(crate) fn new(rows: Box<dyn Source>, holdout: Holdout) -> Self {
        let (plain, held, left) = (Batch::default(), Vec::new(), Census::default());
        Self { rows, holdout, plain, position: 0, held, left }
    }

    fn hold_out(&mut self, batch: &mut Batch) -> Result<(), rueful_core::RowError> {
        let Self { holdout, position, held, .. } = self;
        held.clear();
        let mut row = 0;
        batch.map_rows(
            self.plain.rows(),
            |features| features,
            |example, new| {
                if !example.importance.is_zero() {
                    if holdout.takes(*position, example) {
                        new.weigh(0.0);
                        held.push((row, example.importance.get()));
                    }
                    *position += 1;
                }
                row += 1;
                new.copy(&example.features)
            },
        )
    }
}

impl Source for HeldOut {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, DataError> {
        batch.clear();
        self.held.clear();
        if !self.rows.fill(&mut self.plain)? {
            return Ok(false);
        }
        // Rows that were read are valid, and an importance of 0 or as before is in range.
        let rewritten = self.hold_out(batch);
        debug_assert!(rewritten.is_ok());
        self.left.count(batch.rows());
        Ok(true)
    }

    fn census(&self) -> &Census {
        &self.left
    }

    fn bytes_read(&self) -> u64 {
        self.rows.bytes_read()
    }

    fn names(&self) -> &Names {
        self.rows.names()
    }

    fn labels(&self) -> LabelsSeen {
        self.rows.labels()
    }

    fn class(&self, number: u32) -> Option<&str> {
        self.rows.class(number)
    }

    fn predictions(&self) -> &[f64] {
        self.rows.predictions()
    }

    fn place(&self, row: usize) -> Option<String> {
        self.rows.place(row)
    }

    fn missing(&self) -> &[u64] {
        self.rows.missing()
    }

    fn held_out(&self) -> &[(usize, f64)] {
        &self.held
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rueful_core::Batch;

    fn batch(rows: u32) -> Batch {
        let mut batch = Batch::default();
        (0..rows).for_each(|t| batch.push(&[t % 50, 70], &[1.0, 0.5], 1.0).unwrap());
        batch
    }

    #[test]
    fn equal_rows_are_held_out_together_and_about_one_in_k_is() {
        let holdout = Holdout { every: NonZeroU64::new(5).unwrap(), by: HoldoutBy::Hash };
        let rows = batch(1000);
        let taken: Vec<bool> = rows.iter().map(|row| holdout.takes(0, &row)).collect();
        assert!((0..950).all(|row| taken[row] == taken[row + 50]));
        let of_fifty = taken[..50].iter().filter(|&&is| is).count();
        assert!((4..=18).contains(&of_fifty), "{of_fifty}");
    }

    #[test]
    fn the_hash_of_a_row_never_changes() {
        let rows = batch(2);
        let hashes: Vec<u64> = rows.iter().map(|row| hash(&row)).collect();
        // Another program has computed them from the definition.
        assert_eq!(hashes, [17_300_118_972_641_426_343, 12_253_929_414_657_191_644]);
    }

    #[test]
    fn the_last_of_every_k_rows_is_held_out() {
        let holdout = Holdout { every: NonZeroU64::new(3).unwrap(), by: HoldoutBy::Row };
        let rows = batch(7);
        let taken: Vec<bool> =
            rows.iter().enumerate().map(|(at, row)| holdout.takes(at as u64, &row)).collect();
        assert_eq!(taken, [false, false, true, false, false, true, false]);
    }
}
