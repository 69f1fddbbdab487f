//! The bytes of a cache, as `docs/maintainers/files.md` describes them. Whole numbers and
//! floating-point numbers are little-endian.
//!
//! ```text
//! MAGIC version length crc provenance      the header
//! (head payload)*                          the blocks
//! TAG_FOOTER lengths summary names         the footer
//! offset crc END                           the trailer
//! ```

use super::CacheFault;

/// The first bytes of a cache. No text begins with them, and a transfer as text would change them.
pub(crate) const MAGIC: &[u8] = b"\x8drueful\r\n\x1a\n\0";
/// The last bytes of a cache.
pub(super) const END: &[u8] = b"\x8dend\r\n\x1a\n";
/// The version that is written, and the only one that is read.
pub(super) const VERSION: u32 = 2;

/// The bytes of magic, version, length and checksum.
pub(super) const HEADER: usize = 24;
pub(super) const TAG_FOOTER: &[u8; 4] = b"last";
/// The bytes of the tag, the length of the summary and the length of the names.
pub(super) const FOOTER: usize = 16;
/// The bytes of the offset, the checksum and the end mark.
pub(super) const TRAILER: usize = 20;

const TAG_BLOCK: &[u8; 4] = b"rows";
/// The bytes of a block's head, and the place of its checksum.
pub(super) const BLOCK_HEAD: usize = 32;
pub(super) const BLOCK_CRC: usize = 28;

/// A block is ended when the next row would go beyond one of these.
pub(super) const BLOCK_ROWS: usize = 1 << 12;
pub(super) const BLOCK_FEATURES: usize = 1 << 15;
/// The largest number of features in a row that is written. With index and value, the bytes of a
/// row are then counted in 32 bits.
pub(super) const ROW_MAX: usize = 1 << 28;
/// The largest number of rows in a block, and of features unless it has only one row. Parts that
/// are the same for all rows take no bytes, so the length of the file does not limit these numbers.
const ROWS_MAX: u32 = 1 << 16;
const FEATURES_MAX: u32 = 1 << 16;

/// The bytes for each label, length, index, value and importance. 0 means that they are left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Widths {
    /// 1: whole numbers from −128 to 127; 8: double precision.
    pub(super) labels: u8,
    /// 0: all rows have the same number of features; else 1, 2 or 4 for each row.
    pub(super) lengths: u8,
    /// 0: all rows have the same indices, which are there once, in 4 bytes each; 1 or 2: the number
    /// of indices that are left out before each one; 4: the indices.
    pub(super) indices: u8,
    /// 0: all are 1; 4: single precision.
    pub(super) values: u8,
    /// 0: all are 1; 8: double precision for each row.
    pub(super) importance: u8,
}

/// The description of a block in its head.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct BlockHead {
    pub(super) rows: u32,
    pub(super) nonzeros: u32,
    /// The number of indices that occur here for the first time.
    pub(super) new: u32,
    pub(super) widths: Widths,
    pub(super) crc: u32,
}

impl BlockHead {
    /// The bytes of the head, without the checksum.
    pub(super) fn to_bytes(self) -> [u8; BLOCK_CRC] {
        let Widths { labels, lengths, indices, values, importance } = self.widths;
        let mut bytes = [0; BLOCK_CRC];
        bytes[..4].copy_from_slice(TAG_BLOCK);
        bytes[4..8].copy_from_slice(&(self.payload() as u32).to_le_bytes());
        bytes[8..12].copy_from_slice(&self.rows.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.nonzeros.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.new.to_le_bytes());
        bytes[20..25].copy_from_slice(&[labels, lengths, indices, values, importance]);
        bytes
    }

    /// Reads a head. If it cannot be valid, returns what is wrong with it.
    pub(super) fn parse(bytes: &[u8; BLOCK_HEAD]) -> Result<Self, &'static str> {
        if !bytes.starts_with(TAG_BLOCK) {
            return Err("no block begins there");
        }
        let [labels, lengths, indices, values, importance, rest @ ..] = &bytes[20..28] else {
            return Err("its head is cut");
        };
        let widths = Widths {
            labels: *labels,
            lengths: *lengths,
            indices: *indices,
            values: *values,
            importance: *importance,
        };
        let head = Self {
            rows: u32_at(bytes, 8),
            nonzeros: u32_at(bytes, 12),
            new: u32_at(bytes, 16),
            widths,
            crc: u32_at(bytes, BLOCK_CRC),
        };
        let is_known = matches!(labels, 1 | 8)
            && matches!(lengths, 0 | 1 | 2 | 4)
            && matches!(indices, 0 | 1 | 2 | 4)
            && matches!(values, 0 | 4)
            && matches!(importance, 0 | 8)
            && *rest == [0; 3];
        if !is_known {
            return Err("its layout is none that is known");
        }
        let is_small = (1..=ROWS_MAX).contains(&head.rows)
            && (head.nonzeros <= FEATURES_MAX || head.rows == 1)
            && head.new <= head.nonzeros;
        let is_even = *lengths != 0 || head.nonzeros.is_multiple_of(head.rows);
        if !is_small || !is_even || (*indices == 0 && *lengths != 0) {
            return Err("its counts contradict each other");
        }
        if head.payload() != u64::from(u32_at(bytes, 4)) {
            return Err("its length contradicts its counts");
        }
        Ok(head)
    }

    /// The number of features in each row, if it is the same for all rows.
    pub(super) fn row_length(&self) -> u32 {
        self.nonzeros.checked_div(self.rows).unwrap_or(0)
    }

    /// The number of bytes that follow the head.
    pub(super) fn payload(&self) -> u64 {
        self.parts().iter().sum()
    }

    /// The number of bytes of labels, lengths, indices, values, importances and new indices, in
    /// this order.
    pub(super) fn parts(&self) -> [u64; 6] {
        let times = |count: u32, width: u8| u64::from(count) * u64::from(width);
        let indices = match self.widths.indices {
            0 => times(self.row_length(), 4),
            width => times(self.nonzeros, width),
        };
        [
            times(self.rows, self.widths.labels),
            times(self.rows, self.widths.lengths),
            indices,
            times(self.nonzeros, self.widths.values),
            times(self.rows, self.widths.importance),
            times(self.new, 4),
        ]
    }

    /// The payload, cut into these parts.
    pub(super) fn cut<'a>(&self, mut payload: &'a [u8]) -> Result<[&'a [u8]; 6], &'static str> {
        if self.payload() != payload.len() as u64 {
            return Err("its length contradicts its counts");
        }
        Ok(self.parts().map(|length| {
            let (part, rest) = payload.split_at(length as usize);
            payload = rest;
            part
        }))
    }
}

/// The number at a place that must exist.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

/// The number at a place that must exist.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

/// The checksum of several pieces, one after the other.
pub(super) fn crc(pieces: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    pieces.iter().for_each(|piece| hasher.update(piece));
    hasher.finalize()
}

/// The fault of damage at a place.
#[cold]
pub(super) fn damaged(at: u64, what: &'static str) -> CacheFault {
    CacheFault::Damaged { at, what }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_comes_back_as_it_went() {
        let widths = Widths { labels: 8, lengths: 2, indices: 1, values: 4, importance: 8 };
        let head = BlockHead { rows: 3, nonzeros: 10, new: 4, widths, crc: 77 };
        let mut bytes = [0; BLOCK_HEAD];
        bytes[..BLOCK_CRC].copy_from_slice(&head.to_bytes());
        bytes[BLOCK_CRC..].copy_from_slice(&77u32.to_le_bytes());
        assert_eq!(BlockHead::parse(&bytes), Ok(head));
        assert_eq!(head.payload(), 3 * 8 + 3 * 2 + 10 + 10 * 4 + 3 * 8 + 4 * 4);
        let payload = vec![0; head.payload() as usize];
        assert_eq!(head.cut(&payload).unwrap().map(<[u8]>::len), [24, 6, 10, 40, 24, 16]);
        assert!(head.cut(&payload[1..]).is_err());
    }

    #[test]
    fn what_takes_no_bytes_is_limited_too() {
        let widths = Widths { labels: 1, ..Widths::default() };
        let parse = |rows: u32, nonzeros: u32| {
            let head = BlockHead { rows, nonzeros, new: 0, widths, crc: 0 };
            let mut bytes = [0; BLOCK_HEAD];
            bytes[..BLOCK_CRC].copy_from_slice(&head.to_bytes());
            BlockHead::parse(&bytes)
        };
        assert!(parse(1 << 10, 1 << 16).is_ok());
        assert!(parse(1 << 10, 1 << 17).is_err());
        assert!(parse(1, 1 << 17).is_ok());
        assert!(parse(1 << 17, 0).is_err());
        assert!(parse(0, 0).is_err());
        assert!(parse(2, 3).is_err(), "two rows of the same length have an even count");
    }
}
