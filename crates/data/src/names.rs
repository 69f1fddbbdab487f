//! Features that have names: the index of a name, and the names that were seen.
//!
//! A name that is a whole number from 1 to the largest index allowed is that index. Any other name
//! is hashed to one of 2^bits − 1 indices from 1 on. Index 0 belongs to the constant. Two names can
//! collide, and collisions are counted as far as names are kept.

use crate::source::Limits;
use crate::table::plan::is_missing;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::{HashMap, HashSet};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The largest number of names that are kept for reports, and the largest number of their bytes.
const NAMES_KEPT: usize = 1 << 20;
const NAME_BYTES_KEPT: usize = 32 << 20;

/// The number of names that a reader remembers to have reported, as a power of two.
const REPORTED_BITS: u32 = 16;

/// The number of bits in an index made from a name: from 8 to 26, by default 22.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Bits(u8);

impl Bits {
    /// The range that is allowed.
    pub const RANGE: std::ops::RangeInclusive<u8> = 8..=26;
}

impl Default for Bits {
    fn default() -> Self {
        Self(22)
    }
}

impl TryFrom<u8> for Bits {
    type Error = String;

    fn try_from(bits: u8) -> Result<Self, String> {
        let range = Self::RANGE;
        if range.contains(&bits) {
            Ok(Self(bits))
        } else {
            Err(format!("{bits} is not a number from {} to {}", range.start(), range.end()))
        }
    }
}

impl From<Bits> for u8 {
    fn from(bits: Bits) -> u8 {
        bits.0
    }
}

impl Bits {
    /// The index for a hash: from 1 to 2^bits − 1.
    #[inline]
    pub(crate) fn index(self, hash: u64) -> u32 {
        let places = (1_u64 << self.0) - 1;
        1 + (((hash >> 32) * places) >> 32) as u32
    }
}

/// The text before names of one kind: `column=` before the values of a category, `namespace^`
/// before the features of a namespace, nothing before the name of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prefix {
    text: Vec<u8>,
    seed: u64,
}

impl Prefix {
    /// No prefix.
    pub(crate) const NONE: Self = Self { text: Vec::new(), seed: 0 };

    pub(crate) fn new(text: impl Into<Vec<u8>>) -> Self {
        let text = text.into();
        let seed = if text.is_empty() { 0 } else { xxh3_64_with_seed(&text, 0) };
        Self { text, seed }
    }

    /// Makes this the prefix with another text, and reuses its memory.
    pub(crate) fn set(&mut self, parts: &[&[u8]]) {
        self.text.clear();
        parts.iter().for_each(|part| self.text.extend_from_slice(part));
        self.seed = if self.text.is_empty() { 0 } else { xxh3_64_with_seed(&self.text, 0) };
    }

    /// The text of the prefix.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// The hash of prefix and name together.
    #[inline]
    pub(crate) fn hash(&self, name: &[u8]) -> u64 {
        xxh3_64_with_seed(name, self.seed)
    }
}

/// The hash of two names together, given the hash of each. Their order matters.
#[inline]
pub(crate) fn fold(first: u64, second: u64) -> u64 {
    const KEYS: [u64; 2] = [0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db];
    let product = u128::from(first ^ KEYS[0]) * u128::from(second ^ KEYS[1]);
    (product >> 64) as u64 ^ product as u64
}

/// The index that a name stands for by itself: a whole number within the limit, without leading
/// zeros.
#[inline]
pub(crate) fn numeric(name: &[u8], max_index: u32) -> Option<u32> {
    if name.len() > 9 || !matches!(name.first(), Some(b'1'..=b'9')) {
        return None;
    }
    let mut number = 0;
    for &byte in name {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = 10 * number + u32::from(digit);
    }
    (number <= max_index).then_some(number)
}

/// The names in a piece of text, without those that are remembered as reported before.
#[derive(Debug, Default)]
pub(crate) struct NewNames {
    /// Hashes that were reported already, each at its own place. 0 means none.
    reported: Vec<u64>,
    /// The index, the hash, and the end of the name in `bytes`.
    entries: Vec<(u32, u64, usize)>,
    bytes: Vec<u8>,
}

impl NewNames {
    /// Records that `index` has the name prefix + name.
    #[inline]
    pub(crate) fn note(&mut self, index: u32, hash: u64, prefix: &Prefix, name: &[u8]) {
        self.note_with(index, hash, |bytes| {
            bytes.extend_from_slice(&prefix.text);
            bytes.extend_from_slice(name);
        });
    }

    /// Records that `index` has the name that `write` appends. It is called only if the name may be
    /// new.
    #[inline]
    pub(crate) fn note_with(&mut self, index: u32, hash: u64, write: impl FnOnce(&mut Vec<u8>)) {
        let place = (hash >> (64 - REPORTED_BITS)) as usize;
        if self.reported.get(place) != Some(&hash) {
            self.report(place, index, hash, write);
        }
    }

    #[cold]
    fn report(&mut self, place: usize, index: u32, hash: u64, write: impl FnOnce(&mut Vec<u8>)) {
        self.reported.resize(1 << REPORTED_BITS, 0);
        self.reported[place] = hash;
        write(&mut self.bytes);
        self.entries.push((index, hash, self.bytes.len()));
    }

    /// The number of names so far.
    pub(crate) fn mark(&self) -> usize {
        self.entries.len()
    }

    /// Forgets the names after the first `mark`, and that they were reported.
    pub(crate) fn forget_since(&mut self, mark: usize) {
        for &(_, hash, _) in &self.entries[mark..] {
            self.reported[(hash >> (64 - REPORTED_BITS)) as usize] = 0;
        }
        self.entries.truncate(mark);
        self.bytes.truncate(self.entries.last().map_or(0, |&(_, _, end)| end));
    }

    /// Forgets the names, but remembers that they were reported.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.bytes.clear();
    }

    fn iter(&self) -> impl Iterator<Item = (u32, u64, &[u8])> {
        let mut start = 0;
        self.entries.iter().map(move |&(index, hash, end)| {
            let name = &self.bytes[start..end];
            start = end;
            (index, hash, name)
        })
    }
}

/// The names of a stream's features, in the order in which they came, as many as fit.
///
/// Memory is bounded. Beyond the bound, names are unknown and their collisions are not counted, and
/// [`is_full`](Self::is_full) returns true.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    by_index: HashMap<u32, Entry>,
    bytes: Vec<u8>,
    /// The hashes of names whose index already had another name.
    seconds: HashSet<u64>,
    is_full: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    hash: u64,
    start: usize,
    end: usize,
}

impl Names {
    pub(crate) fn learn(&mut self, new: &NewNames) {
        for (index, hash, name) in new.iter() {
            self.add(index, hash, name);
        }
    }

    /// Returns the number by which the name of a column is known: names with the same number count as
    /// the same name.
    #[inline]
    pub fn hash(column: &str) -> u64 {
        Prefix::NONE.hash(column.as_bytes())
    }

    /// Notes the name of a column of numbers, and returns the index of its feature. Columns of tables
    /// get the same.
    pub fn number(&mut self, column: &str, bits: Bits) -> u32 {
        let name = column.as_bytes();
        if let Some(index) = numeric(name, Limits::default().max_index) {
            return index;
        }
        let hash = Self::hash(column);
        let index = bits.index(hash);
        self.add(index, hash, name);
        index
    }

    /// Returns the index of the feature of a column of numbers, and notes nothing.
    pub fn index(column: &str, bits: Bits) -> u32 {
        let index = numeric(column.as_bytes(), Limits::default().max_index);
        index.unwrap_or_else(|| bits.index(Self::hash(column)))
    }

    /// Notes the name of a value in a column of categories, and returns the index of its feature.
    /// Columns of tables get the same. It is `None` if the cell has no value.
    pub fn category(&mut self, column: &str, value: &str, bits: Bits) -> Option<u32> {
        if is_missing(value.as_bytes()) {
            return None;
        }
        let prefix = Prefix::new(format!("{column}="));
        let hash = prefix.hash(value.as_bytes());
        let index = bits.index(hash);
        self.add(index, hash, format!("{column}={value}").as_bytes());
        Some(index)
    }

    fn add(&mut self, index: u32, hash: u64, name: &[u8]) {
        let has_room = self.by_index.len() + self.seconds.len() < NAMES_KEPT
            && self.bytes.len() + name.len() <= NAME_BYTES_KEPT;
        match self.by_index.get(&index) {
            Some(entry) if entry.hash == hash => {}
            Some(_) if has_room => {
                self.seconds.insert(hash);
            }
            None if has_room => {
                let start = self.bytes.len();
                self.bytes.extend_from_slice(name);
                self.by_index.insert(index, Entry { hash, start, end: self.bytes.len() });
            }
            _ => self.is_full = true,
        }
    }

    /// The names that are kept, in the order in which they came: index, hash, name.
    pub(crate) fn kept(&self) -> Vec<(u32, u64, &[u8])> {
        let mut entries: Vec<_> = self.by_index.iter().collect();
        entries.sort_unstable_by_key(|&(&index, entry)| (entry.start, entry.end, index));
        let kept = entries
            .into_iter()
            .map(|(&index, entry)| (index, entry.hash, &self.bytes[entry.start..entry.end]));
        kept.collect()
    }

    /// The hashes of the names whose index already had another name, sorted.
    pub(crate) fn seconds(&self) -> Vec<u64> {
        let mut seconds: Vec<_> = self.seconds.iter().copied().collect();
        seconds.sort_unstable();
        seconds
    }

    /// Rebuilds names from the results of [`kept`](Self::kept) and [`seconds`](Self::seconds).
    /// Returns none if no names could give these results.
    pub(crate) fn put_together<'a>(
        kept: impl IntoIterator<Item = (u32, u64, &'a [u8])>,
        seconds: impl IntoIterator<Item = u64>,
        is_full: bool,
    ) -> Option<Self> {
        let mut names = Self::default();
        for (index, hash, name) in kept {
            let before = names.by_index.len();
            names.add(index, hash, name);
            if names.by_index.len() == before {
                return None;
            }
        }
        for hash in seconds {
            if names.len() >= NAMES_KEPT || !names.seconds.insert(hash) {
                return None;
            }
        }
        names.is_full = is_full;
        Some(names)
    }

    /// Whether these names would stay as they are if the others were added.
    fn has_all_of(&self, other: &Self) -> bool {
        let has = |index, hash| self.by_index.get(index).is_some_and(|entry| entry.hash == hash);
        let mut all = other.by_index.iter();
        other.seconds.is_empty()
            && self.is_full >= other.is_full
            && all.all(|(index, entry)| has(index, entry.hash))
    }

    /// Adds the names of a later part of the stream.
    pub fn extend(&mut self, later: &Self) {
        if self.has_all_of(later) {
            return;
        }
        for (index, hash, name) in later.kept() {
            self.add(index, hash, name);
        }
        self.is_full |= later.is_full;
        if later.seconds.is_empty() {
            return;
        }
        // A name that came second there may have come first here.
        let firsts: HashSet<u64> = self.by_index.values().map(|entry| entry.hash).collect();
        for hash in later.seconds() {
            if firsts.contains(&hash) || self.seconds.contains(&hash) {
                continue;
            }
            if self.len() < NAMES_KEPT {
                self.seconds.insert(hash);
            } else {
                self.is_full = true;
            }
        }
    }

    /// The name of an index: that of the feature that came to it first.
    pub fn get(&self, index: u32) -> Option<String> {
        let entry = self.by_index.get(&index)?;
        Some(String::from_utf8_lossy(&self.bytes[entry.start..entry.end]).into_owned())
    }

    /// The number of different names that were seen, as far as they are kept.
    pub fn len(&self) -> usize {
        self.by_index.len() + self.seconds.len()
    }

    /// Whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.by_index.is_empty()
    }

    /// The number of names that share their index with an earlier one.
    pub fn collisions(&self) -> usize {
        self.seconds.len()
    }

    /// Whether there were more names than are kept.
    pub fn is_full(&self) -> bool {
        self.is_full
    }
}

/// Names as they are saved: those that are kept, in the order in which they came, and the hashes of
/// those that came second to their index.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PutAway {
    kept: Vec<(u32, u64, Vec<u8>)>,
    seconds: Vec<u64>,
    is_full: bool,
}

impl Serialize for Names {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kept = self.kept().into_iter().map(|(index, hash, name)| (index, hash, name.to_vec()));
        let put_away =
            PutAway { kept: kept.collect(), seconds: self.seconds(), is_full: self.is_full };
        put_away.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let PutAway { kept, seconds, is_full } = PutAway::deserialize(deserializer)?;
        let kept = kept.iter().map(|(index, hash, name)| (*index, *hash, &name[..]));
        Self::put_together(kept, seconds, is_full)
            .ok_or_else(|| serde::de::Error::custom("names that cannot be kept together"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Models depend on these hashes, so they must never change. They agree with the reference
    /// implementation of XXH3, seeded with the hash of the prefix.
    #[test]
    fn hashes_are_frozen() {
        let index = |prefix: &str, name: &str| {
            let hash = Prefix::new(prefix).hash(name.as_bytes());
            (hash, Bits::default().index(hash))
        };
        assert_eq!(index("", "age"), (548_969_265_645_285_521, 124822));
        assert_eq!(index("job=", "clerk"), (8_984_725_442_408_615_162, 2042890));
        assert_eq!(index("user^", ""), (4_266_209_087_141_522_779, 970024));
        assert_eq!(index("", "naïve"), (14_757_376_859_149_137_928, 3355439));
        let (age, clerk) = (index("", "age").0, index("job=", "clerk").0);
        assert_eq!(fold(age, clerk), 13_527_842_341_112_467_980);
        assert_ne!(fold(age, clerk), fold(clerk, age));
    }

    #[test]
    fn every_index_is_within_its_bits_and_none_is_the_constant() {
        for bits in [8, 22, 26].map(|bits| Bits::try_from(bits).unwrap()) {
            assert_eq!(bits.index(0), 1);
            assert_eq!(bits.index(u64::MAX), (1 << u8::from(bits)) - 1);
        }
        assert!(Bits::try_from(7).is_err() && Bits::try_from(27).is_err());
    }

    #[test]
    fn whole_numbers_are_indices() {
        let limit = 1 << 26;
        assert_eq!(numeric(b"1", limit), Some(1));
        assert_eq!(numeric(b"67108864", limit), Some(limit));
        for name in ["0", "01", "67108865", "1.0", "+1", "1a", "", "99999999999999999999"] {
            assert_eq!(numeric(name.as_bytes(), limit), None, "{name}");
        }
    }

    #[test]
    fn a_column_has_its_index_before_it_is_noted() {
        let (mut names, bits) = (Names::default(), Bits::default());
        for column in ["age", "", "17", "017", "naïve"] {
            assert_eq!(Names::index(column, bits), names.number(column, bits), "{column}");
            assert_eq!(Names::hash(column), Prefix::NONE.hash(column.as_bytes()));
        }
    }

    #[test]
    fn names_are_kept_and_collisions_counted() {
        let mut new = NewNames::default();
        let prefix = Prefix::new("c=");
        for _ in 0..2 {
            new.note(5, 77, &prefix, b"first");
            new.note(5, 78, &prefix, b"second");
        }
        new.note(6, 79 << 50, &prefix, b"third");
        let mut names = Names::default();
        names.learn(&new);
        names.learn(&new);
        assert_eq!((names.len(), names.collisions(), names.is_full()), (3, 1, false));
        assert_eq!(names.get(5).as_deref(), Some("c=first"));
        assert_eq!(names.get(6).as_deref(), Some("c=third"));
        assert_eq!(names.get(7), None);
    }
}
