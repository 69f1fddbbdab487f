//! A set of indices that can be traversed in time proportional to its size, whatever the range.
//!
//! It is a tree of bits: one bit for every index, above them one bit for every word of 64 that is
//! not empty, and so on up to a single word. It takes a 64th part of the memory of the vector it
//! describes.

/// A set of indices below a bound that can grow.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Indices {
    /// The levels, the finest first. The last has one word.
    levels: Vec<Vec<u64>>,
}

impl Indices {
    /// Makes room for indices below `bound`.
    pub(super) fn grow(&mut self, bound: usize) {
        let mut words = bound.div_ceil(64);
        for level in 0.. {
            if level == self.levels.len() {
                let summary = self.levels.last().map(|below| summary(below));
                self.levels.push(summary.into_iter().collect());
            }
            let room = self.levels[level].len().max(words);
            self.levels[level].resize(room, 0);
            if room <= 1 {
                break;
            }
            words = room.div_ceil(64);
        }
    }

    /// Adds an index. There must be room for it.
    #[inline]
    pub(super) fn insert(&mut self, mut index: usize) {
        for level in &mut self.levels {
            let (word, bit) = (&mut level[index / 64], 1 << (index % 64));
            if *word & bit != 0 {
                break;
            }
            *word |= bit;
            index /= 64;
        }
    }

    /// Traverses the set in order and keeps the indices for which `keep` returns true.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(usize) -> bool) {
        retain_below(&mut self.levels, 0, &mut keep);
    }
}

/// Traverses the indices below one word of the last of these levels. Returns whether any are left.
fn retain_below(levels: &mut [Vec<u64>], word: usize, keep: &mut dyn FnMut(usize) -> bool) -> bool {
    let Some((level, finer)) = levels.split_last_mut() else { return false };
    let Some(&bits) = level.get(word) else { return false };
    let mut left = bits;
    let mut rest = bits;
    while rest != 0 {
        let bit = rest.trailing_zeros();
        rest &= rest - 1;
        let index = 64 * word + bit as usize;
        let stays = if finer.is_empty() { keep(index) } else { retain_below(finer, index, keep) };
        if !stays {
            left &= !(1 << bit);
        }
    }
    level[word] = left;
    left != 0
}

/// The word above a level that had one word while it was the last.
fn summary(below: &[u64]) -> u64 {
    u64::from(below.first().is_some_and(|&word| word != 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn members(set: &mut Indices) -> Vec<usize> {
        let mut found = Vec::new();
        set.retain(|index| {
            found.push(index);
            true
        });
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn it_is_a_set(
            steps in prop::collection::vec((0..300_000_usize, any::<bool>(), 1..5_usize), 0..60),
        ) {
            let (mut set, mut slow) = (Indices::default(), BTreeSet::new());
            let mut bound = 0;
            for (index, thin_out, every) in steps {
                // The room grows in leaps, many small and few large.
                let index = index >> (index % 17);
                bound = bound.max(index + 1);
                set.grow(bound);
                set.insert(index);
                slow.insert(index);
                if thin_out {
                    set.retain(|index| index % every == 0);
                    slow.retain(|index| index % every == 0);
                }
                prop_assert_eq!(members(&mut set), slow.iter().copied().collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_sparse_set_is_gone_through_without_looking_at_the_rest() {
        let mut set = Indices::default();
        set.grow(1 << 24);
        assert_eq!(set.levels.iter().map(Vec::len).collect::<Vec<_>>(), [1 << 18, 1 << 12, 64, 1]);
        set.insert((1 << 24) - 1);
        assert_eq!(members(&mut set), [(1 << 24) - 1]);
        set.retain(|_| false);
        let fresh = {
            let mut fresh = Indices::default();
            fresh.grow(1 << 24);
            fresh
        };
        assert_eq!(set, fresh);
    }
}
