//! A bounded, deterministic, mergeable digest of numbers and of what they carry.
//!
//! As long as there are few distinct numbers, the digest knows each of them. When there are more, it
//! puts neighbours together into stretches, none of which carries more than a small share of the
//! whole. A stretch that grows too heavy retires: it keeps what it carries, and the numbers that come
//! later get stretches of their own. Retired stretches may overlap others, and are bounded likewise.
//! Whoever asks a question reads from the stretches themselves how far the answer can be off.

use serde::{Deserialize, Serialize};
use std::mem;

/// What numbers carry: it adds up, and has a share in a total.
pub(super) trait Load: Copy + Default {
    /// Adds another load.
    fn add(&mut self, other: &Self);
    /// Its share of a total, between 0 and 1.
    fn share_of(&self, total: &Self) -> f64;
    /// Whether what was read from somewhere can be a load.
    fn is_sound(&self) -> bool;
}

/// The number of distinct numbers that a sketch knows, unless another is asked for.
pub const CELLS: usize = 16384;

/// So many numbers wait at least before they are sorted in.
const WAITING: usize = 4096;

/// Numbers next to each other, and what they carry together. The ends are numbers that came.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written<L>", into = "Written<L>")]
pub(super) struct Stretch<L: Copy> {
    /// The key of the lowest number.
    pub(super) low: u64,
    /// The key of the highest number.
    pub(super) high: u64,
    /// What they carry.
    pub(super) load: L,
}

/// A stretch as it is written: one that is a point has a width of 0, which takes one byte.
#[derive(Serialize, Deserialize)]
struct Written<L> {
    low: [u8; 8],
    width: u64,
    load: L,
}

impl<L: Copy> From<Stretch<L>> for Written<L> {
    fn from(Stretch { low, high, load }: Stretch<L>) -> Self {
        Self { low: low.to_le_bytes(), width: high - low, load }
    }
}

impl<L: Copy> From<Written<L>> for Stretch<L> {
    fn from(Written { low, width, load }: Written<L>) -> Self {
        let low = u64::from_le_bytes(low);
        Self { low, high: low.saturating_add(width), load }
    }
}

impl<L: Load> Stretch<L> {
    fn point(key: u64, load: L) -> Self {
        Self { low: key, high: key, load }
    }

    /// Whether it holds one number only.
    pub(super) fn is_point(&self) -> bool {
        self.low == self.high
    }

    fn take_in(&mut self, other: &Self) {
        self.low = self.low.min(other.low);
        self.high = self.high.max(other.high);
        self.load.add(&other.load);
    }

    fn with(mut self, other: &Self) -> Self {
        self.take_in(other);
        self
    }

    fn width(&self) -> u64 {
        self.high - self.low
    }

    fn is_sound(&self) -> bool {
        self.low <= self.high && is_key(self.low) && is_key(self.high) && self.load.is_sound()
    }
}

/// The digest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Digest<L: Copy> {
    cells_max: u64,
    /// The share that neighbours may carry to be one stretch.
    share_max: f64,
    /// What all numbers carry but those that wait.
    total: L,
    /// Numbers that are not sorted in yet.
    waiting: Vec<Stretch<L>>,
    /// Stretches side by side, in order.
    cells: Vec<Stretch<L>>,
    /// Stretches that take in no more numbers.
    retired: Vec<Stretch<L>>,
}

impl<L: Load> Digest<L> {
    /// No numbers. Of up to so many distinct ones each is known.
    pub(super) fn new(cells_max: usize) -> Self {
        Self {
            cells_max: cells_max.max(8) as u64,
            share_max: 0.0,
            total: L::default(),
            waiting: Vec::new(),
            cells: Vec::new(),
            retired: Vec::new(),
        }
    }

    /// Takes in a number.
    #[inline]
    pub(super) fn add(&mut self, number: f64, load: L) {
        self.waiting.push(Stretch::point(key(number), load));
        if self.waiting.len() >= self.patience() {
            self.settle();
        }
    }

    /// How many numbers may wait: sorting them in costs a pass over the stretches.
    fn patience(&self) -> usize {
        WAITING.max(self.cells.len() / 2)
    }

    /// Adds another digest.
    pub(super) fn merge(&mut self, other: &Self) {
        let mut other = other.clone();
        self.settle();
        other.settle();
        self.total.add(&other.total);
        self.share_max = self.share_max.max(other.share_max);
        self.retired.append(&mut other.retired);
        self.take_in(other.cells);
        self.make_room();
    }

    /// The stretches that hold all numbers, in the order of their lower ends. Where two of them are
    /// the same point, they are one.
    pub(super) fn stretches(&self) -> Vec<Stretch<L>> {
        let mut settled = self.clone();
        settled.settle();
        let mut all = settled.cells;
        all.append(&mut settled.retired);
        all.sort_by_key(|stretch| (stretch.low, stretch.high));
        all.dedup_by(|next, last| {
            let is_same = last.is_point() && next.is_point() && last.low == next.low;
            if is_same {
                last.load.add(&next.load);
            }
            is_same
        });
        all
    }

    /// Sorts in the numbers that wait.
    fn settle(&mut self) {
        let mut points = mem::take(&mut self.waiting);
        points.sort_unstable_by_key(|point| point.low);
        let mut fresh: Vec<Stretch<L>> = Vec::with_capacity(points.len());
        for point in points.drain(..) {
            self.total.add(&point.load);
            match fresh.last_mut().filter(|last| last.low == point.low) {
                Some(last) => last.load.add(&point.load),
                None => fresh.push(point),
            }
        }
        self.waiting = points;
        self.take_in(fresh);
    }

    /// Takes in stretches that are in order and side by side.
    fn take_in(&mut self, fresh: Vec<Stretch<L>>) {
        if fresh.is_empty() {
            return;
        }
        let known = mem::take(&mut self.cells);
        self.cells.reserve(known.len() + fresh.len());
        let (mut known, mut fresh) = (known.into_iter().peekable(), fresh.into_iter().peekable());
        let mut open: Option<Stretch<L>> = None;
        loop {
            let is_known_first = match (known.peek(), fresh.peek()) {
                (Some(old), Some(new)) => (old.low, old.high) <= (new.low, new.high),
                (Some(_), None) => true,
                (None, _) => false,
            };
            let next = if is_known_first { known.next() } else { fresh.next() };
            let Some(next) = next else { break };
            open = Some(match open {
                Some(last) if next.low <= last.high => self.overlap(last, next),
                Some(last) => {
                    self.cells.push(last);
                    next
                }
                None => next,
            });
        }
        self.cells.extend(open);
        self.make_room();
    }

    /// What becomes of two stretches that overlap: one, where that is not too heavy. Otherwise the
    /// wider retires.
    fn overlap(&mut self, last: Stretch<L>, next: Stretch<L>) -> Stretch<L> {
        let both = last.with(&next);
        // One that takes in points may outgrow its share a little before it retires.
        let growth = if last.is_point() || next.is_point() { 2.0 } else { 1.0 };
        if both.is_point() || both.load.share_of(&self.total) <= growth * self.share_max {
            return both;
        }
        let (wide, narrow) = if last.width() >= next.width() { (last, next) } else { (next, last) };
        self.retired.push(wide);
        narrow
    }

    /// Puts neighbours together where there are too many: the lightest, so that a quarter of the
    /// places becomes free.
    fn make_room(&mut self) {
        let most = self.cells_max as usize;
        if self.cells.len() > most {
            self.share_max = put_together(&mut self.cells, &self.total, most);
        }
        if self.retired.len() > most {
            self.retired.sort_by_key(|stretch| (stretch.low, stretch.high));
            put_together(&mut self.retired, &self.total, most);
        }
    }

    /// Whether what was read from somewhere can be a digest that began like `fresh`.
    pub(super) fn continues(&self, fresh: &Self) -> bool {
        let most = fresh.cells_max as usize;
        self.cells_max == fresh.cells_max
            && (0.0..=1.0).contains(&self.share_max)
            && self.total.is_sound()
            && self.cells.len() <= most
            && self.retired.len() <= most
            && self.waiting.len() < self.patience()
            && self.waiting.iter().all(|point| point.is_point() && point.is_sound())
            && self.cells.iter().chain(&self.retired).all(Stretch::is_sound)
            && self.cells.is_sorted_by(|a, b| a.high < b.low)
    }
}

/// Puts neighbours together that carry no more than some share, the least one that leaves three
/// quarters of the places; says which. Of those that stay, each two neighbours carry more, so that
/// there is such a share.
fn put_together<L: Load>(stretches: &mut Vec<Stretch<L>>, total: &L, most: usize) -> f64 {
    let mut share = 1.0 / most as f64;
    while left(stretches, total, share) > most - most / 4 {
        share *= 1.25;
    }
    stretches.dedup_by(|next, last| {
        let both = last.with(next);
        let is_heavy = both.load.share_of(total) > share;
        if !is_heavy {
            *last = both;
        }
        !is_heavy
    });
    share
}

/// How many stretches are left when neighbours of so small a share are put together.
fn left<L: Load>(stretches: &[Stretch<L>], total: &L, share: f64) -> usize {
    let (mut open, mut count) = (L::default(), 1);
    for stretch in stretches {
        let mut both = open;
        both.add(&stretch.load);
        // What has no share, in a file that nobody wrote, is not heavy: there is always an end.
        let is_heavy = both.share_of(total) > share;
        count += usize::from(is_heavy);
        open = if is_heavy { stretch.load } else { both };
    }
    count
}

/// Keys are in the order of their numbers; both zeros have one.
#[inline]
pub(super) fn key(number: f64) -> u64 {
    let bits = (number + 0.0).to_bits();
    // Negative numbers are in the opposite order, below all others.
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

/// The number of a key.
pub(super) fn number(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
}

/// Whether a key is that of a finite number.
fn is_key(key: u64) -> bool {
    number(key).is_finite()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy, Default, PartialEq)]
    struct Count(u64);

    impl Load for Count {
        fn add(&mut self, other: &Self) {
            self.0 += other.0;
        }
        fn share_of(&self, total: &Self) -> f64 {
            self.0 as f64 / total.0 as f64
        }
        fn is_sound(&self) -> bool {
            true
        }
    }

    #[test]
    fn keys_are_in_the_order_of_numbers() {
        let numbers = [-f64::MAX, -1.5, -1.0, -5e-324, 0.0, 5e-324, 1.0, 1.5, f64::MAX];
        assert!(numbers.map(key).is_sorted_by(|a, b| a < b));
        assert!(numbers.iter().all(|&v| number(key(v)) == v));
        assert_eq!(key(-0.0), key(0.0));
    }

    /// Numbers of a generator that is written down here.
    fn numbers(count: u64) -> impl Iterator<Item = f64> {
        (1..=count).map(|t| (t.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64)
    }

    #[test]
    fn few_numbers_are_all_known() {
        let mut digest = Digest::new(64);
        (0..9000).for_each(|t| digest.add(f64::from(t % 60), Count(1)));
        let all = digest.stretches();
        assert_eq!(all.len(), 60);
        assert!(all.iter().all(|one| one.is_point() && one.load == Count(150)));
    }

    #[test]
    fn many_numbers_take_bounded_room_and_none_is_lost() {
        let mut digest = Digest::new(256);
        for (t, number) in numbers(100_000).enumerate() {
            digest.add(number, Count(1));
            assert!(digest.cells.len() <= 256 && digest.retired.len() <= 256);
            assert!(digest.cells.is_sorted_by(|a, b| a.high < b.low), "{t}");
        }
        let all = digest.stretches();
        assert_eq!(all.iter().map(|one| one.load.0).sum::<u64>(), 100_000);
        assert!(all.iter().all(|one| one.load.0 <= 100_000 / 32));
        assert!(digest.continues(&Digest::new(256)) && !digest.continues(&Digest::new(255)));
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let (mut front, mut back) = (Digest::new(256), Digest::new(256));
        numbers(60_000).for_each(|number| front.add(number, Count(1)));
        numbers(80_000).skip(60_000).for_each(|number| back.add(-number, Count(1)));
        front.merge(&back);
        let all = front.stretches();
        assert_eq!(all.iter().map(|one| one.load.0).sum::<u64>(), 80_000);
        let below: u64 = all.iter().filter(|one| one.high < key(0.0)).map(|one| one.load.0).sum();
        assert!((20_000 - 2 * 80_000 / 64..=20_000).contains(&below), "{below}");
        assert!(front.continues(&Digest::new(256)));
    }
}
