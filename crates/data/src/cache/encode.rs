//! Encodes rows into the bytes of a block.

use super::layout::{BLOCK_FEATURES, BLOCK_HEAD, BLOCK_ROWS, BlockHead, Widths, crc};

/// The rows of a block that is being put together.
#[derive(Debug, Default)]
pub(super) struct Pending {
    lengths: Vec<u32>,
    indices: Vec<u32>,
    values: Vec<f32>,
    labels: Vec<f64>,
    importances: Vec<f64>,
    /// Indices that occur here for the first time.
    new: Vec<u32>,
    /// One bit per index, which says whether the index has occurred.
    seen: Vec<u64>,
}

impl Pending {
    pub(super) fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Whether a row of `length` features fits into the block.
    pub(super) fn has_room(&self, length: usize) -> bool {
        self.is_empty()
            || self.lengths.len() < BLOCK_ROWS && self.indices.len() + length <= BLOCK_FEATURES
    }

    /// Adds a row. Its indices increase, and begin at 1 or above.
    pub(super) fn push(&mut self, indices: &[u32], values: &[f32], label: f64, importance: f64) {
        self.lengths.push(indices.len() as u32);
        self.indices.extend_from_slice(indices);
        self.values.extend_from_slice(values);
        self.labels.push(label);
        self.importances.push(importance);
        if importance > 0.0 {
            self.mark(indices);
        }
    }

    fn mark(&mut self, indices: &[u32]) {
        let words = indices.last().map_or(0, |&last| last as usize / 64 + 1);
        if self.seen.len() < words {
            self.seen.resize(words, 0);
        }
        for &index in indices {
            let word = &mut self.seen[index as usize / 64];
            if *word >> (index % 64) & 1 == 0 {
                *word |= 1 << (index % 64);
                self.new.push(index);
            }
        }
    }

    /// Writes the block, including its head, into `bytes`, and forgets the rows. Returns the number
    /// of new indices.
    pub(super) fn encode(&mut self, bytes: &mut Vec<u8>) -> u64 {
        let widths = self.widths();
        let head = BlockHead {
            rows: self.lengths.len() as u32,
            nonzeros: self.indices.len() as u32,
            new: self.new.len() as u32,
            widths,
            crc: 0,
        };
        bytes.clear();
        bytes.resize(BLOCK_HEAD, 0);
        self.write_labels(widths.labels, bytes);
        self.lengths.iter().for_each(|&length| put(length, widths.lengths, bytes));
        self.write_indices(widths.indices, bytes);
        if widths.values > 0 {
            self.values.iter().for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()));
        }
        if widths.importance > 0 {
            self.importances.iter().for_each(|one| bytes.extend_from_slice(&one.to_le_bytes()));
        }
        self.new.iter().for_each(|&index| put(index, 4, bytes));
        debug_assert_eq!((bytes.len() - BLOCK_HEAD) as u64, head.payload());

        let head = head.to_bytes();
        let crc = crc(&[&head, &bytes[BLOCK_HEAD..]]);
        bytes[..head.len()].copy_from_slice(&head);
        bytes[head.len()..BLOCK_HEAD].copy_from_slice(&crc.to_le_bytes());
        let new = self.new.len() as u64;
        self.clear();
        new
    }

    fn clear(&mut self) {
        self.lengths.clear();
        self.indices.clear();
        self.values.clear();
        self.labels.clear();
        self.importances.clear();
        self.new.clear();
    }

    fn rows(&self) -> impl Iterator<Item = &[u32]> {
        let mut rest = &*self.indices;
        self.lengths.iter().map(move |&length| {
            let (row, after) = rest.split_at(length as usize);
            rest = after;
            row
        })
    }

    /// The smallest widths that suffice.
    fn widths(&self) -> Widths {
        let is_small = |label: &f64| f64::from(*label as i8) == *label;
        let is_even = self.lengths.windows(2).all(|pair| pair[0] == pair[1]);
        let longest = self.lengths.iter().copied().max().unwrap_or(0);
        let first = self.rows().next().unwrap_or_default();
        let indices = if self.rows().all(|row| row == first) {
            0
        } else {
            width(self.rows().flat_map(gaps).max().unwrap_or(0))
        };
        Widths {
            labels: if self.labels.iter().all(is_small) { 1 } else { 8 },
            lengths: if is_even { 0 } else { width(longest) },
            indices,
            values: if self.values.iter().all(|&value| value == 1.0) { 0 } else { 4 },
            importance: if self.importances.iter().all(|&one| one == 1.0) { 0 } else { 8 },
        }
    }

    fn write_labels(&self, width: u8, bytes: &mut Vec<u8>) {
        for &label in &self.labels {
            match width {
                1 => bytes.push(label as i8 as u8),
                _ => bytes.extend_from_slice(&label.to_le_bytes()),
            }
        }
    }

    fn write_indices(&self, width: u8, bytes: &mut Vec<u8>) {
        match width {
            0 => {
                let row = self.rows().next().unwrap_or_default();
                row.iter().for_each(|&index| put(index, 4, bytes));
            }
            4 => self.indices.iter().for_each(|&index| put(index, 4, bytes)),
            _ => self.rows().flat_map(gaps).for_each(|gap| put(gap, width, bytes)),
        }
    }
}

/// The number of indices that are left out before each one. Index 0 does not count, because it
/// belongs to the constant.
fn gaps(row: &[u32]) -> impl Iterator<Item = u32> {
    let mut next = 1;
    row.iter().map(move |&index| {
        let gap = index - next;
        next = index.wrapping_add(1);
        gap
    })
}

/// The number of bytes that hold numbers up to `largest`.
fn width(largest: u32) -> u8 {
    match largest {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        _ => 4,
    }
}

/// Appends the lower `width` bytes of a number.
fn put(number: u32, width: u8, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&number.to_le_bytes()[..usize::from(width)]);
}
