//! The footer of a cache: counts over all rows, and the names.

use super::layout::{self, FOOTER, TAG_FOOTER, crc, u32_at, u64_at};
use crate::{LabelsSeen, Names};
use serde::{Deserialize, Serialize};

/// Counts over all rows of a cache, without the constant feature.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheSummary {
    /// The number of rows.
    pub examples: u64,
    /// The number of features that are stored, in all rows together.
    pub nonzeros: u64,
    /// The number of distinct indices.
    pub features: u64,
    /// One more than the largest index.
    pub dimension: u64,
    /// The sum of the labels as they are stored.
    pub label_sum: f64,
    /// The labels as they were written in the data, in the order in which they came.
    pub labels: Vec<(String, u64)>,
    /// Whether there were more labels than are counted one by one.
    pub labels_are_cut: bool,
    /// The number of cells without a value, by column.
    pub missing: Vec<u64>,
}

impl CacheSummary {
    /// The labels in the form in which a source gives them.
    pub(super) fn labels_seen(&self) -> LabelsSeen {
        LabelsSeen { counts: self.labels.clone(), is_cut: self.labels_are_cut }
    }
}

/// Footer and trailer of a file whose blocks end at `at`.
pub(super) fn write(at: u64, summary: &CacheSummary, names: &Names) -> Vec<u8> {
    // Strings, whole numbers and a finite sum can always be written.
    let summary = serde_json::to_vec(summary).unwrap_or_default();
    let names = write_names(names);
    let mut bytes = Vec::with_capacity(FOOTER + summary.len() + names.len() + layout::TRAILER);
    bytes.extend_from_slice(TAG_FOOTER);
    bytes.extend_from_slice(&(summary.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&(names.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&summary);
    bytes.extend_from_slice(&names);
    bytes.extend_from_slice(&at.to_le_bytes());
    bytes.extend_from_slice(&crc(&[&bytes]).to_le_bytes());
    bytes.extend_from_slice(layout::END);
    bytes
}

/// Reads summary and names from the footer.
pub(super) fn read(footer: &[u8]) -> Result<(CacheSummary, Names), &'static str> {
    const CONTRADICTION: &str = "the footer's lengths contradict each other";
    let body = footer.get(FOOTER..).filter(|_| footer.starts_with(TAG_FOOTER));
    let body = body.ok_or("no footer begins there")?;
    let (summary, names) = (u32_at(footer, 4) as usize, u64_at(footer, 8));
    let (summary, rest) = body.split_at_checked(summary).ok_or(CONTRADICTION)?;
    if names != rest.len() as u64 {
        return Err(CONTRADICTION);
    }
    let summary = serde_json::from_slice(summary).map_err(|_| "the summary is none")?;
    Ok((summary, read_names(rest).ok_or("the names are none")?))
}

/// Writes whether there were more names, the number of names and the number of hashes. Then come
/// the names, each after its index, hash and length, and then the hashes of names that came second
/// to their index.
fn write_names(names: &Names) -> Vec<u8> {
    let (kept, seconds) = (names.kept(), names.seconds());
    let mut bytes = vec![u8::from(names.is_full())];
    bytes.extend_from_slice(&(kept.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&(seconds.len() as u32).to_le_bytes());
    for (index, hash, name) in kept {
        bytes.extend_from_slice(&index.to_le_bytes());
        bytes.extend_from_slice(&hash.to_le_bytes());
        bytes.extend_from_slice(&(name.len() as u32).to_le_bytes());
        bytes.extend_from_slice(name);
    }
    seconds.iter().for_each(|hash| bytes.extend_from_slice(&hash.to_le_bytes()));
    bytes
}

fn read_names(bytes: &[u8]) -> Option<Names> {
    let mut rest = bytes;
    let mut take = |length: usize| {
        let (taken, after) = rest.split_at_checked(length)?;
        rest = after;
        Some(taken)
    };
    let is_full = match take(1)? {
        [0] => false,
        [1] => true,
        _ => return None,
    };
    let counts = take(8)?;
    let mut kept = Vec::new();
    for _ in 0..u32_at(counts, 0) {
        let entry = take(16)?;
        let name = take(u32_at(entry, 12) as usize)?;
        kept.push((u32_at(entry, 0), u64_at(entry, 4), name));
    }
    let mut seconds = Vec::new();
    for _ in 0..u32_at(counts, 4) {
        seconds.push(u64_at(take(8)?, 0));
    }
    rest.is_empty().then_some(())?;
    Names::put_together(kept, seconds, is_full)
}
