//! Decodes the bytes of a block into rows.

use super::layout::{BLOCK_CRC, BLOCK_HEAD, BlockHead, crc};
use crate::labels::{LabelCounts, LabelRule};
use rueful_core::{Batch, FeatureError, Importance};

/// The number of indices up to which equal rows are joined, to be copied together.
const PATTERN: usize = 200;

/// How rows are read: the parts of [`Reading`](crate::Reading) that concern a block.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) rule: LabelRule,
    pub(super) constant: bool,
    pub(super) max_index: u32,
}

/// A block that is being decoded into rows. It is reused, so that reading allocates nothing once it
/// is under way.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// Head and payload.
    pub(super) bytes: Vec<u8>,
    /// The rows.
    pub(super) batch: Batch,
    /// The counts of their labels.
    pub(super) counts: LabelCounts,
    /// Indices that may be new.
    pub(super) new: Vec<u32>,
    lengths: Vec<u32>,
    labels: Vec<f64>,
    importances: Vec<Importance>,
    /// The indices of one row, repeated a few times, if they are the same for all rows.
    pattern: Vec<u32>,
}

/// The reason why a block does not become rows, or not all of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fault {
    /// The bytes are not those that were written.
    Damage(&'static str),
    /// The rows before this one are fine. The label of this row is not one that is taken.
    Label { row: usize, label: f64 },
    /// The rows before this one are fine. This row has an index beyond the limit.
    Index { row: usize, index: u32 },
}

impl Block {
    /// Forgets the rows.
    pub(super) fn forget(&mut self) {
        self.batch.clear();
        self.counts.clear();
        self.new.clear();
    }

    /// Reads the rows. They are all rows of the block, or those before the fault, or none if the
    /// block is damaged.
    pub(super) fn decode(&mut self, plan: &Plan) -> Result<(), Fault> {
        self.forget();
        let bytes = std::mem::take(&mut self.bytes);
        let outcome = self.decode_bytes(&bytes, plan);
        self.bytes = bytes;
        outcome
    }

    fn decode_bytes(&mut self, bytes: &[u8], plan: &Plan) -> Result<(), Fault> {
        let (head_bytes, payload) =
            bytes.split_first_chunk::<BLOCK_HEAD>().ok_or(Fault::Damage("its head is cut"))?;
        let head = BlockHead::parse(head_bytes).map_err(Fault::Damage)?;
        if crc(&[&head_bytes[..BLOCK_CRC], payload]) != head.crc {
            return Err(Fault::Damage("its checksum does not match"));
        }
        let [labels, lengths, indices, values, importances, new] =
            head.cut(payload).map_err(Fault::Damage)?;
        self.read_lengths(&head, lengths, plan)?;
        let bad_label = self.read_labels(&head, labels, &plan.rule);
        self.read_importances(importances)?;
        self.recount_labels(&head, labels, &plan.rule);
        self.read_features(&head, indices, values, plan)?;
        self.read_new(new, plan)?;
        match self.first_fault(bad_label, plan) {
            None => Ok(()),
            Some(fault) => Err(self.cut(&head, labels, fault, plan)),
        }
    }

    /// Reads the number of features in each row, including the constant.
    fn read_lengths(&mut self, head: &BlockHead, bytes: &[u8], plan: &Plan) -> Result<(), Fault> {
        let constant = u32::from(plan.constant);
        self.lengths.clear();
        let lengths = &mut self.lengths;
        match head.widths.lengths {
            0 => lengths.resize(head.rows as usize, head.row_length()),
            1 => lengths.extend(bytes.iter().map(|&length| u32::from(length))),
            2 => lengths
                .extend(bytes.as_chunks().0.iter().map(|&b| u32::from(u16::from_le_bytes(b)))),
            _ => lengths.extend(bytes.as_chunks().0.iter().map(|&b| u32::from_le_bytes(b))),
        }
        let sum: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
        if sum != u64::from(head.nonzeros) {
            return Err(Fault::Damage("its rows are not as long as it says"));
        }
        // The sum of the lengths is below 2^32, and a row of all features has no constant.
        lengths.iter_mut().for_each(|length| *length = length.saturating_add(constant));
        Ok(())
    }

    /// Reads and counts the labels by the rule. Returns the first row whose label is not taken.
    fn read_labels(&mut self, head: &BlockHead, bytes: &[u8], rule: &LabelRule) -> Option<usize> {
        let bad = match head.widths.labels {
            1 => self.read_small_labels(bytes, rule),
            _ => self.read_wide_labels(bytes, rule),
        };
        self.labels.resize(head.rows as usize, 0.0);
        bad
    }

    /// Counts labels anew if some rows have importance 0, because these leave no trace.
    fn recount_labels(&mut self, head: &BlockHead, bytes: &[u8], rule: &LabelRule) {
        if !self.importances.iter().any(|importance| importance.is_zero()) {
            return;
        }
        self.counts.clear();
        let counted = (0..head.rows as usize).filter(|&row| !self.importances[row].is_zero());
        for row in counted {
            let label = stored_label(head, bytes, row);
            match self.counts.take_number(rule, label, row, 0) {
                Some(label) => self.labels[row] = label,
                None => return, // The rows end before this one.
            }
        }
    }

    /// Reads labels of one byte. The rule is asked once for each distinct label.
    fn read_small_labels(&mut self, bytes: &[u8], rule: &LabelRule) -> Option<usize> {
        let mut times = [0_u32; 256];
        bytes.iter().for_each(|&byte| times[usize::from(byte)] += 1);
        let mut firsts: Vec<(usize, u8)> = (0..=255)
            .filter(|&byte| times[usize::from(byte)] > 0)
            .filter_map(|byte| Some((memchr::memchr(byte, bytes)?, byte)))
            .collect();
        firsts.sort_unstable();
        let mut becomes = [0.0; 256];
        for (row, byte) in firsts {
            let number = f64::from(byte as i8);
            let times = u64::from(times[usize::from(byte)]);
            match self.counts.take_number_times(rule, number, row, times) {
                Some(label) => becomes[usize::from(byte)] = label,
                None => {
                    // Labels were counted to the end of the block, so they are counted again, up to
                    // this row.
                    self.counts.clear();
                    return self.read_small_labels(&bytes[..row], rule).or(Some(row));
                }
            }
        }
        self.labels.clear();
        self.labels.extend(bytes.iter().map(|&byte| becomes[usize::from(byte)]));
        None
    }

    fn read_wide_labels(&mut self, bytes: &[u8], rule: &LabelRule) -> Option<usize> {
        self.labels.clear();
        for (row, &bytes) in bytes.as_chunks().0.iter().enumerate() {
            match self.counts.take_number(rule, f64::from_le_bytes(bytes), row, 0) {
                Some(label) => self.labels.push(label),
                None => return Some(row),
            }
        }
        None
    }

    /// Puts the features of all rows in their places.
    fn read_features(
        &mut self,
        head: &BlockHead,
        indices: &[u8],
        values: &[u8],
        plan: &Plan,
    ) -> Result<(), Fault> {
        let constant = usize::from(plan.constant);
        if head.widths.indices == 0 {
            self.pattern.clear();
            self.pattern.extend_from_slice(&[0][..constant]);
            self.pattern.extend(indices.as_chunks().0.iter().map(|&b| u32::from_le_bytes(b)));
            // Many short copies take longer than a few long ones.
            let row = self.pattern.len();
            while row > 0 && self.pattern.len() < PATTERN {
                self.pattern.extend_from_within(..row);
            }
        }
        let (lengths, pattern) = (&*self.lengths, &*self.pattern);
        let written = self.batch.extend_with(
            lengths,
            &self.labels,
            &self.importances,
            |to_indices, to_values| {
                match head.widths.indices {
                    0 => repeat(pattern, to_indices),
                    1 => read_gaps::<1>(lengths, constant, indices.as_chunks().0, to_indices),
                    2 => read_gaps::<2>(lengths, constant, indices.as_chunks().0, to_indices),
                    _ => copy_words(lengths, constant, 0, indices, to_indices, u32::from_le_bytes),
                }
                match head.widths.values {
                    0 => to_values.fill(1.0),
                    _ => copy_words(lengths, constant, 1.0, values, to_values, f32::from_le_bytes),
                }
            },
        );
        let stored = self.batch.nonzeros() - constant * self.batch.len();
        match written {
            Err(FeatureError::NotFinite { .. }) => Err(Fault::Damage("a value is not finite")),
            Err(_) => Err(Fault::Damage("indices do not increase")),
            Ok(()) if stored != head.nonzeros as usize => Err(Fault::Damage("a value is 0")),
            Ok(()) if !plan.constant && self.has_index_0() => {
                Err(Fault::Damage("an index is that of the constant"))
            }
            Ok(()) => Ok(()),
        }
        .inspect_err(|_| self.batch.clear())
    }

    fn has_index_0(&self) -> bool {
        self.batch.iter().any(|row| row.features.indices().first() == Some(&0))
    }

    /// Reads the importances of the rows, unless all are 1.
    fn read_importances(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.importances.clear();
        for &bytes in bytes.as_chunks().0 {
            let importance = Importance::new(f64::from_le_bytes(bytes));
            self.importances
                .push(importance.map_err(|_| Fault::Damage("an importance is out of range"))?);
        }
        Ok(())
    }

    /// Reads the indices that occur for the first time.
    fn read_new(&mut self, bytes: &[u8], plan: &Plan) -> Result<(), Fault> {
        self.new.extend_from_slice(&[0][..usize::from(plan.constant)]);
        self.new.extend(bytes.as_chunks().0.iter().map(|&b| u32::from_le_bytes(b)));
        let dimension = self.batch.dimension();
        if self.new.iter().any(|&index| index as usize >= dimension) {
            self.batch.clear();
            return Err(Fault::Damage("an index is new and not there"));
        }
        Ok(())
    }

    /// The fault of the earliest row.
    fn first_fault(&self, bad_label: Option<usize>, plan: &Plan) -> Option<Fault> {
        let is_beyond = self.batch.dimension() > plan.max_index as usize + 1;
        let beyond = is_beyond.then(|| self.first_beyond(plan.max_index)).flatten();
        match (bad_label, beyond) {
            (Some(row), Some((beyond, _))) if row <= beyond => Some(self.label_fault(row)),
            (_, Some((row, index))) => Some(Fault::Index { row, index }),
            (Some(row), None) => Some(self.label_fault(row)),
            (None, None) => None,
        }
    }

    fn first_beyond(&self, limit: u32) -> Option<(usize, u32)> {
        self.batch.iter().enumerate().find_map(|(number, row)| {
            let mut indices = row.features.indices().iter();
            indices.find(|&&index| index > limit).map(|&index| (number, index))
        })
    }

    fn label_fault(&self, row: usize) -> Fault {
        Fault::Label { row, label: f64::NAN }
    }

    /// Keeps the rows before a fault, and their counts.
    #[cold]
    fn cut(&mut self, head: &BlockHead, labels: &[u8], fault: Fault, plan: &Plan) -> Fault {
        let (Fault::Label { row, .. } | Fault::Index { row, .. }) = fault else { return fault };
        let width = usize::from(head.widths.labels);
        let label = stored_label(head, labels, row);
        self.counts.clear();
        let before = BlockHead { rows: row as u32, ..*head };
        self.read_labels(&before, &labels[..row * width], &plan.rule);
        self.recount_labels(&before, labels, &plan.rule);
        self.batch.truncate(row);
        self.new.clear();
        self.new.extend_from_slice(self.batch.indices());
        match fault {
            Fault::Label { row, .. } => Fault::Label { row, label },
            other => other,
        }
    }
}

/// The label of a row, as it is stored.
fn stored_label(head: &BlockHead, labels: &[u8], row: usize) -> f64 {
    match head.widths.labels {
        1 => f64::from(labels[row] as i8),
        _ => labels.as_chunks().0.get(row).map_or(0.0, |&b| f64::from_le_bytes(b)),
    }
}

/// Repeats the rows until `to` is full. The last repetition may be cut.
fn repeat(rows: &[u32], to: &mut [u32]) {
    if !rows.is_empty() {
        to.chunks_mut(rows.len()).for_each(|place| place.copy_from_slice(&rows[..place.len()]));
    }
}

/// Reads indices from the numbers of indices that are left out before each.
#[inline]
fn read_gaps<const WIDTH: usize>(
    lengths: &[u32],
    constant: usize,
    mut gaps: &[[u8; WIDTH]],
    mut to: &mut [u32],
) {
    for &length in lengths {
        let (row, rest) = to.split_at_mut(length as usize);
        let (first, row) = row.split_at_mut(constant);
        first.fill(0);
        let (row_gaps, rest_gaps) = gaps.split_at(row.len());
        add_up(row_gaps, row);
        (to, gaps) = (rest, rest_gaps);
    }
}

/// Adds four at a time, which is faster. Sums that wrap around do not increase, and the batch
/// notices that.
#[inline]
fn add_up<const WIDTH: usize>(gaps: &[[u8; WIDTH]], to: &mut [u32]) {
    let mut last = 0_u32;
    let mut next = |gap: &[u8; WIDTH]| {
        let mut wide = [0; 4];
        wide[..WIDTH].copy_from_slice(gap);
        last = last.wrapping_add(1 + u32::from_le_bytes(wide));
        last
    };
    let (fours, rest) = gaps.as_chunks::<4>();
    let (places, rest_places) = to.as_chunks_mut::<4>();
    for (place, four) in places.iter_mut().zip(fours) {
        *place = four.each_ref().map(&mut next);
    }
    rest_places.iter_mut().zip(rest).for_each(|(place, gap)| *place = next(gap));
}

/// Copies words of four bytes, with `first` before those of each row if there is a constant.
#[inline]
fn copy_words<T: Copy>(
    lengths: &[u32],
    constant: usize,
    first: T,
    bytes: &[u8],
    mut to: &mut [T],
    word: impl Fn([u8; 4]) -> T,
) {
    let mut words = bytes.as_chunks().0;
    for &length in lengths {
        let (row, rest) = to.split_at_mut(length as usize);
        let (place, row) = row.split_at_mut(constant);
        place.fill(first);
        let (row_words, rest_words) = words.split_at(row.len());
        row.iter_mut().zip(row_words).for_each(|(place, &bytes)| *place = word(bytes));
        (to, words) = (rest, rest_words);
    }
}

/// Reads the head at the beginning of a block, if it can be valid.
pub(super) fn parse_head(bytes: &[u8]) -> Result<BlockHead, &'static str> {
    BlockHead::parse(bytes.first_chunk().ok_or("its head is cut")?)
}
