//! The rows that a piece of text becomes: a batch, its labels and its names.

use crate::ids::Ids;
use crate::labels::{LabelCounts, LabelMark};
use crate::names::{Bits, NewNames, Prefix, numeric};
use rueful_core::{Batch, Importance};

/// The label of a row that waits for one. Every loss takes it, and nobody learns from it, because the
/// row has importance 0.
pub(crate) const NO_LABEL_YET: f64 = 1.0;

/// The description of an importance in errors.
pub(crate) const IMPORTANCE: &str = "an importance that is 0, or a number from 1e-30 to 1e30";

/// The importance with this number, if it is one that is allowed.
#[inline]
pub(crate) fn importance(number: f64) -> Option<Importance> {
    Importance::new(number).ok()
}

/// Rows from a piece of text. They are reused, so that reading allocates nothing once it is under
/// way.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// The rows.
    pub(crate) batch: Batch,
    /// The counts of their labels.
    pub(crate) labels: LabelCounts,
    /// Names of features that may be new.
    pub(crate) names: NewNames,
    /// The number of cells without a value, by column.
    pub(crate) missing: Vec<u64>,
    /// The predictions of other models, row after row, if there are columns for them.
    pub(crate) predictions: Vec<f64>,
    /// The ids of the rows, if they have some.
    pub(crate) ids: Ids,
    /// The places in the text where rows begin, if there are columns of predictions or of ids.
    pub(crate) starts: Vec<usize>,
    /// Indices that may be new.
    pub(crate) indices: Vec<u32>,
    /// One bit per index, which says whether the index was reported already.
    reported: Vec<u64>,
    /// The features of the row being put together, in any order.
    loose: Vec<(u32, f32)>,
    /// The state before that row, and the columns in which it has no value.
    mark: Mark,
    missed: Vec<usize>,
    /// Whether that row waits for its label, so that nothing of it is forgotten.
    is_waiting: bool,
}

/// The state of labels and names before a row.
#[derive(Debug, Clone, Copy, Default)]
struct Mark {
    labels: LabelMark,
    names: usize,
}

/// The values of a row for one index add up to more than single precision holds, so the row cannot
/// be finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLarge;

/// Takes the features of a row.
pub(crate) trait FeatureSink {
    /// Adds a feature that has a name.
    fn add_named(&mut self, space: &Space, prefix: &Prefix, name: &[u8], value: f32);

    /// Adds a feature whose name has this hash. `write` appends the name.
    fn add_hashed(&mut self, space: &Space, hash: u64, value: f32, write: impl Fn(&mut Vec<u8>));

    /// Adds a feature whose name is an index, and has this hash. `write` appends the name.
    fn add_index(&mut self, index: u32, hash: u64, value: f32, write: impl Fn(&mut Vec<u8>));
}

impl FeatureSink for Rows {
    #[inline]
    fn add_named(&mut self, space: &Space, prefix: &Prefix, name: &[u8], value: f32) {
        Self::add_named(self, space, prefix, name, value);
    }

    #[inline]
    fn add_hashed(&mut self, space: &Space, hash: u64, value: f32, write: impl Fn(&mut Vec<u8>)) {
        Self::add_hashed(self, space, hash, value, write);
    }

    #[inline]
    fn add_index(&mut self, index: u32, _: u64, value: f32, _: impl Fn(&mut Vec<u8>)) {
        self.add(index, value);
    }
}

impl Rows {
    /// Forgets the rows and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.batch.clear();
        self.labels.clear();
        self.names.clear();
        self.missing.clear();
        self.predictions.clear();
        self.ids.clear();
        self.starts.clear();
        self.indices.clear();
        self.missed.clear();
    }

    /// Remembers the state before a row, in case the row turns out not to count.
    #[inline]
    pub(crate) fn mark(&mut self) {
        self.mark = Mark { labels: self.labels.mark(), names: self.names.mark() };
        self.missed.clear();
        self.is_waiting = false;
    }

    /// Forgets everything since the mark, because a row of importance 0 leaves no trace unless it
    /// waits for its label.
    #[cold]
    pub(crate) fn forget_row(&mut self) {
        if std::mem::take(&mut self.is_waiting) {
            return;
        }
        self.labels.forget_since(&self.mark.labels);
        self.names.forget_since(self.mark.names);
        self.missed.drain(..).for_each(|column| self.missing[column] -= 1);
    }

    /// Keeps only the first `rows` rows, with their predictions and ids.
    #[cold]
    pub(crate) fn truncate(&mut self, rows: usize) {
        let predictions = self.predictions.len().checked_div(self.batch.len()).unwrap_or(0);
        self.batch.truncate(rows);
        self.predictions.truncate(predictions * rows);
        self.ids.truncate(rows);
        self.starts.truncate(rows);
        self.indices.clear();
        self.indices.extend_from_slice(self.batch.indices());
    }

    /// Begins a row whose features come in any order, with the constant if `constant` says so.
    #[inline]
    pub(crate) fn begin(&mut self, constant: bool) {
        self.loose.clear();
        if constant {
            self.loose.push((0, 1.0));
        }
    }

    /// Adds a feature to the current row. Values for the same index are added up.
    #[inline]
    pub(crate) fn add(&mut self, index: u32, value: f32) {
        self.loose.push((index, value));
    }

    /// Adds a feature that has a name.
    #[inline]
    pub(crate) fn add_named(&mut self, space: &Space, prefix: &Prefix, name: &[u8], value: f32) {
        let number = if *prefix == Prefix::NONE { numeric(name, space.max_index) } else { None };
        let index = number.unwrap_or_else(|| {
            let hash = prefix.hash(name);
            let index = space.bits.index(hash);
            self.names.note(index, hash, prefix, name);
            index
        });
        self.loose.push((index, value));
    }

    /// Adds a feature whose name has this hash. `write` appends the name where it may be new.
    #[inline]
    pub(crate) fn add_hashed(
        &mut self,
        space: &Space,
        hash: u64,
        value: f32,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let index = space.bits.index(hash);
        self.names.note_with(index, hash, write);
        self.loose.push((index, value));
    }

    /// The number of features of the current row so far, without the constant.
    pub(crate) fn features(&self, constant: bool) -> usize {
        self.loose.len() - usize::from(constant)
    }

    /// The number of cells of the current row that have no value.
    pub(crate) fn missed(&self) -> usize {
        self.missed.len()
    }

    /// Says that the current row waits for its label. Nothing of it is forgotten when it ends.
    pub(crate) fn keep_waiting(&mut self) {
        self.is_waiting = true;
    }

    /// Ends a row that has nothing but an id and a label. Its empty cells are none that are missing.
    pub(crate) fn finish_bare(&mut self, label: f64, importance: Importance) {
        self.missed.drain(..).for_each(|column| self.missing[column] -= 1);
        self.batch.open_row(0).finish(label, importance);
    }

    /// Counts a cell without a value.
    #[inline]
    pub(crate) fn miss(&mut self, column: usize) {
        if self.missing.len() <= column {
            self.missing.resize(column + 1, 0);
        }
        self.missing[column] += 1;
        self.missed.push(column);
    }

    /// Ends the current row and gives it its importance. A row of importance 0 is there to be
    /// predicted, and leaves no other trace.
    pub(crate) fn finish(&mut self, label: f64, importance: Importance) -> Result<(), TooLarge> {
        if importance.is_zero() {
            self.forget_row();
        }
        if !self.loose.is_sorted_by(|a, b| a.0 < b.0) {
            // The sort is stable, so values for the same index are added in the order in which they
            // came.
            self.loose.sort_by_key(|&(index, _)| index);
            self.loose.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                if same {
                    kept.1 += next.1;
                }
                same
            });
        }
        let mut row = self.batch.open_row(self.loose.len());
        for &(index, value) in &self.loose {
            row.push(index, value).map_err(|_| TooLarge)?;
        }
        row.finish(label, importance);
        Ok(())
    }

    /// Reports the indices of the batch that were not reported before.
    pub(crate) fn survey_indices(&mut self) {
        let words = self.batch.dimension().div_ceil(64);
        if self.reported.len() < words {
            self.reported.resize(words, 0);
        }
        if self.batch.rows().importances().iter().any(|importance| importance.is_zero()) {
            // Features of rows of importance 0 are not seen.
            for row in self.batch.iter().filter(|row| !row.importance.is_zero()) {
                report(row.features.indices(), &mut self.reported, &mut self.indices);
            }
            return;
        }
        // After a while hardly any index is new, so most are skipped eight at a time.
        let (eights, rest) = self.batch.indices().as_chunks::<8>();
        for eight in eights {
            let all = eight.iter().fold(1, |all, &index| all & bit_of(&self.reported, index));
            if all == 0 {
                report(eight, &mut self.reported, &mut self.indices);
            }
        }
        report(rest, &mut self.reported, &mut self.indices);
    }
}

/// Returns in the lowest bit whether an index was reported before.
#[inline(always)]
fn bit_of(reported: &[u64], index: u32) -> u64 {
    reported[index as usize / 64] >> (index % 64)
}

fn report(indices: &[u32], reported: &mut [u64], new: &mut Vec<u32>) {
    for &index in indices {
        if bit_of(reported, index) & 1 == 0 {
            reported[index as usize / 64] |= 1 << (index % 64);
            new.push(index);
        }
    }
}

/// The space of indices for features that have a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Space {
    pub(crate) bits: Bits,
    /// The largest index that a name which is a number may stand for.
    pub(crate) max_index: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_in_any_order_become_a_row() {
        let mut rows = Rows::default();
        rows.begin(true);
        for (index, value) in [(7, 1.0), (3, 2.0), (7, 0.5), (5, 1.0), (5, -1.0)] {
            rows.add(index, value);
        }
        rows.finish(1.0, Importance::ONE).unwrap();
        let x = rows.batch.get(0).features;
        assert_eq!((x.indices(), x.values()), (&[0, 3, 7][..], &[1.0, 2.0, 1.5][..]));
        rows.begin(false);
        rows.add(3, f32::MAX);
        rows.add(3, f32::MAX);
        assert_eq!(rows.finish(1.0, Importance::ONE), Err(TooLarge));
        assert_eq!(rows.batch.len(), 1);
        rows.survey_indices();
        assert_eq!(rows.indices, [0, 3, 7]);
    }

    #[test]
    fn a_name_that_is_a_number_is_an_index() {
        let space = Space { bits: Bits::default(), max_index: 1000 };
        let mut rows = Rows::default();
        rows.begin(false);
        rows.add_named(&space, &Prefix::NONE, b"12", 1.0);
        rows.add_named(&space, &Prefix::new("a^"), b"12", 1.0);
        rows.add_named(&space, &Prefix::NONE, b"1001", 1.0);
        rows.finish(1.0, Importance::ONE).unwrap();
        let hashed = |prefix: &Prefix, name: &[u8]| space.bits.index(prefix.hash(name));
        let mut expected = [12, hashed(&Prefix::new("a^"), b"12"), hashed(&Prefix::NONE, b"1001")];
        expected.sort_unstable();
        assert_eq!(rows.batch.indices(), expected);
    }
}
