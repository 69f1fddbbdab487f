//! Sets of indices whose memory depends on how many indices they hold, not on the largest.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The number of indices in a page, and the number of 64-bit words that this takes.
const PAGE: u64 = 1 << 12;
const WORDS: usize = PAGE as usize / 64;

/// A set of indices as pages of bits. Only pages that hold something exist.
///
/// The table of pages takes four bytes for each 4096 indices up to the largest. A saved set is a
/// list of runs: how many indices are left out before each run, and how many the run has.
#[derive(Debug, Clone, Default)]
pub(crate) struct IndexSet {
    /// The page for each stretch of 4096 indices.
    places: Vec<Place>,
    pages: Vec<[u64; WORDS]>,
}

/// The place of the bits of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place(u32);

impl Place {
    /// The page holds none of its indices.
    const EMPTY: Self = Self(u32::MAX);
    /// The page holds all of its indices.
    const FULL: Self = Self(u32::MAX - 1);
}

impl IndexSet {
    /// Puts an index into the set. Returns 1 if it is new, and otherwise 0.
    #[inline]
    pub(crate) fn insert(&mut self, index: u32) -> u64 {
        let number = (u64::from(index) / PAGE) as usize;
        let place = match self.places.get(number) {
            Some(&place) if place != Place::EMPTY => place,
            _ => self.add_page(number),
        };
        if place == Place::FULL {
            return 0;
        }
        let within = (u64::from(index) % PAGE) as usize;
        let word = &mut self.pages[place.0 as usize][within / 64];
        let is_new = !*word >> (within % 64) & 1;
        *word |= 1 << (within % 64);
        is_new
    }

    #[cold]
    fn add_page(&mut self, number: usize) -> Place {
        if self.places.len() <= number {
            self.places.resize(number + 1, Place::EMPTY);
        }
        let place = Place(self.pages.len() as u32);
        self.pages.push([0; WORDS]);
        self.places[number] = place;
        place
    }

    /// Whether an index is in the set.
    pub(crate) fn has(&self, index: u32) -> bool {
        let within = (u64::from(index) % PAGE) as usize;
        self.word((u64::from(index) / PAGE) as usize, within / 64) >> (within % 64) & 1 == 1
    }

    /// 64 bits of a page.
    fn word(&self, page: usize, word: usize) -> u64 {
        match self.places.get(page) {
            None | Some(&Place::EMPTY) => 0,
            Some(&Place::FULL) => u64::MAX,
            Some(&Place(place)) => self.pages[place as usize][word],
        }
    }

    /// Puts the indices of another set into this one.
    pub(crate) fn extend(&mut self, other: &Self) {
        for (start, count) in other.runs() {
            self.insert_run(start, count);
        }
    }

    /// The number of indices in the set.
    pub(crate) fn count(&self) -> u64 {
        self.runs().map(|(_, count)| count).sum()
    }

    /// One more than the largest index. It is 0 if the set is empty.
    pub(crate) fn end(&self) -> u64 {
        self.runs().last().map_or(0, |(start, count)| start + count)
    }

    /// The indices, from the smallest on.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        self.runs().flat_map(|(start, count)| (start..start + count).map(|index| index as u32))
    }

    /// Puts consecutive indices into the set. Whole pages take no memory of their own.
    fn insert_run(&mut self, start: u64, count: u64) {
        let end = start + count;
        let mut at = start;
        while at < end {
            let number = (at / PAGE) as usize;
            let page_end = (at / PAGE + 1) * PAGE;
            if at.is_multiple_of(PAGE) && page_end <= end {
                if self.places.len() <= number {
                    self.places.resize(number + 1, Place::EMPTY);
                }
                self.places[number] = Place::FULL;
            } else {
                (at..end.min(page_end)).for_each(|index| {
                    self.insert(index as u32);
                });
            }
            at = page_end;
        }
    }

    /// The runs of consecutive indices: where each begins, and how many indices it has.
    fn runs(&self) -> impl Iterator<Item = (u64, u64)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = self.next(at, false)?;
            let end = self.next(start, true).unwrap_or(self.places.len() as u64 * PAGE);
            at = end;
            Some((start, end - start))
        })
    }

    /// The first index from `at` on that is in the set, or, if `is_absent`, that is not. Returns
    /// none if there is no such index up to the last page.
    fn next(&self, at: u64, is_absent: bool) -> Option<u64> {
        let (boring, flip) = match is_absent {
            true => (Place::FULL, u64::MAX),
            false => (Place::EMPTY, 0),
        };
        let mut at = at;
        while let Some(&place) = self.places.get((at / PAGE) as usize) {
            if place == boring {
                at = (at / PAGE + 1) * PAGE;
                continue;
            }
            let within = (at % PAGE) as usize;
            let word = self.word((at / PAGE) as usize, within / 64) ^ flip;
            let rest = word >> (within % 64);
            if rest != 0 {
                return Some(at + u64::from(rest.trailing_zeros()));
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }
}

/// Two sets are equal if they hold the same indices, however these came in.
impl PartialEq for IndexSet {
    fn eq(&self, other: &Self) -> bool {
        self.runs().eq(other.runs())
    }
}

impl Serialize for IndexSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut end = 0;
        let runs = self.runs().map(|(start, count)| {
            let left_out = start - end;
            end = start + count;
            (left_out, count)
        });
        runs.collect::<Vec<_>>().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for IndexSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let runs = Vec::<(u64, u64)>::deserialize(deserializer)?;
        let mut set = Self::default();
        let mut end = 0_u64;
        for (number, (left_out, count)) in runs.into_iter().enumerate() {
            let start = end.saturating_add(left_out);
            end = start.saturating_add(count);
            let is_apart = count > 0 && (left_out > 0 || number == 0);
            if !is_apart || end > u64::from(u32::MAX) + 1 {
                return Err(serde::de::Error::custom("runs of indices that are none"));
            }
            set.insert_run(start, count);
        }
        Ok(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn set(indices: &[u32]) -> IndexSet {
        let mut set = IndexSet::default();
        indices.iter().for_each(|&index| {
            set.insert(index);
        });
        set
    }

    fn index() -> impl Strategy<Value = u32> {
        prop_oneof![0..200_u32, 4000..4200_u32, 8190..8194_u32, any::<u32>(), Just(u32::MAX)]
    }

    proptest! {
        #[test]
        fn it_is_a_set(indices in prop::collection::vec(index(), 0..200)) {
            let mut all = BTreeSet::new();
            let mut set = IndexSet::default();
            for &index in &indices {
                prop_assert_eq!(set.insert(index), u64::from(all.insert(index)));
            }
            prop_assert!(set.iter().eq(all.iter().copied()));
            prop_assert_eq!(set.count(), all.len() as u64);
            for index in indices.iter().flat_map(|&index| [index, index ^ 1, index ^ 4096]) {
                prop_assert_eq!(set.has(index), all.contains(&index));
            }
        }

        #[test]
        fn it_comes_back_as_it_was_put_away(
            indices in prop::collection::vec(index(), 0..200), start in 0..9000_u64, count in 1..9000_u64
        ) {
            let mut before = set(&indices);
            before.insert_run(start, count);
            let bytes = postcard::to_allocvec(&before).unwrap();
            let after: IndexSet = postcard::from_bytes(&bytes).unwrap();
            prop_assert_eq!(&after, &before);
            prop_assert!(after.iter().eq(before.iter()));
            let json = serde_json::to_string(&before).unwrap();
            prop_assert_eq!(&serde_json::from_str::<IndexSet>(&json).unwrap(), &before);
        }

        #[test]
        fn two_sets_together_have_what_both_have(
            one in prop::collection::vec(index(), 0..100), other in prop::collection::vec(index(), 0..100)
        ) {
            let mut both = set(&one);
            both.extend(&set(&other));
            prop_assert_eq!(both, set(&[one, other].concat()));
        }
    }

    #[test]
    fn it_costs_what_is_in_it() {
        let far = set(&[3, 1 << 26]);
        assert_eq!(far.pages.len(), 2);
        assert_eq!(postcard::to_allocvec(&far).unwrap().len(), 8);
        let mut dense = IndexSet::default();
        dense.insert_run(1, 1 << 26);
        assert_eq!(dense.pages.len(), 2, "full pages take no memory");
        assert_eq!(postcard::to_allocvec(&dense).unwrap().len(), 6);
    }

    #[test]
    fn runs_that_are_none_are_refused() {
        for runs in
            ["[[1, 0]]", "[[1, 2], [0, 1]]", "[[4294967295, 2]]", "[[18446744073709551615, 9]]"]
        {
            assert!(serde_json::from_str::<IndexSet>(runs).is_err(), "{runs}");
        }
        let last: IndexSet = serde_json::from_str("[[0, 1], [4294967294, 1]]").unwrap();
        assert_eq!(last, set(&[0, u32::MAX]));
    }
}
