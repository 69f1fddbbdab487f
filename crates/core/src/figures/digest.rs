//! A bounded, deterministic, mergeable digest of numbers and of the loads that they carry.
//!
//! As long as there are few distinct numbers, the digest knows each of them. When there are more,
//! it merges neighbours into stretches. No stretch carries more than a small share of the total. A
//! stretch that grows too heavy retires: it keeps its load, and numbers that come later get
//! stretches of their own. Retired stretches may overlap others, and their number is bounded too.
//! The stretches themselves show how far an answer can be off.

use serde::{Deserialize, Serialize};
use std::mem;

/// A load that a number carries. Loads add up, and each has a share in a total.
pub(super) trait Load: Copy + Default {
    /// Adds another load.
    fn add(&mut self, other: &Self);
    /// Its share of a total, between 0 and 1.
    fn share_of(&self, total: &Self) -> f64;
    /// Whether a load that was read from a file is valid.
    fn is_sound(&self) -> bool;
}

/// The default number of distinct numbers that a sketch knows exactly.
pub const CELLS: usize = 24576;

/// At least this many numbers wait before they are sorted in.
const WAITING: usize = 4096;

/// Neighbouring numbers, and the load that they carry together. Both ends are numbers that were
/// added.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written<L>", into = "Written<L>")]
pub(super) struct Stretch<L: Copy> {
    /// The key of the lowest number.
    pub(super) low: u64,
    /// The key of the highest number.
    pub(super) high: u64,
    /// The load of all its numbers.
    pub(super) load: L,
}

/// The serialised form of a stretch. A stretch that is one point has width 0, which takes one byte.
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

    /// Whether the stretch holds one number only.
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

    fn middle(&self) -> u64 {
        self.low + self.width() / 2
    }

    fn is_sound(&self) -> bool {
        self.low <= self.high && is_key(self.low) && is_key(self.high) && self.load.is_sound()
    }
}

/// The digest itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Digest<L: Copy> {
    cells_max: u64,
    /// The largest share that neighbours may carry to be merged into one stretch.
    share_max: f64,
    /// The load of all numbers, except those that wait.
    total: L,
    /// Numbers that have not been sorted in yet.
    waiting: Vec<Stretch<L>>,
    /// Stretches that do not overlap, in order.
    cells: Vec<Stretch<L>>,
    /// Stretches that accept no more numbers.
    retired: Vec<Stretch<L>>,
}

impl<L: Load> Digest<L> {
    /// A digest without numbers. It is exact for up to this many distinct numbers.
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

    /// Adds a number with its load.
    #[inline]
    pub(super) fn add(&mut self, number: f64, load: L) {
        self.waiting.push(Stretch::point(key(number), load));
        if self.waiting.len() >= self.patience() {
            self.settle();
        }
    }

    /// How many numbers may wait. Sorting them in costs a pass over all stretches.
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

    /// The stretches that hold all numbers, in the order of their lower ends. Stretches that are
    /// the same point are merged.
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

    /// Adds stretches that are in order and do not overlap.
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

    /// Handles two stretches that overlap, and returns the one that stays open. A stretch absorbs a
    /// point as long as it stays light, which is up to twice the share. Otherwise the wider stretch
    /// retires.
    fn overlap(&mut self, last: Stretch<L>, next: Stretch<L>) -> Stretch<L> {
        let both = last.with(&next);
        let takes_point = last.is_point() || next.is_point();
        let is_light = both.load.share_of(&self.total) <= 2.0 * self.share_max;
        if both.is_point() || (takes_point && is_light) {
            return both;
        }
        let (wide, narrow) = if last.width() >= next.width() { (last, next) } else { (next, last) };
        self.retired.push(wide);
        narrow
    }

    /// Merges the lightest neighbours if there are too many stretches, so that a quarter of the
    /// places becomes free.
    fn make_room(&mut self) {
        let most = self.cells_max as usize;
        if self.retired.len() > most {
            self.retired.sort_by_key(Stretch::middle);
            let nothing = vec![L::default(); self.retired.len()];
            let least = 1.0 / most as f64;
            put_together(&mut self.retired, &nothing, &self.total, (most, least));
        }
        if self.cells.len() > most {
            let beneath = self.beneath();
            let known = (most, self.share_max);
            self.share_max = put_together(&mut self.cells, &beneath, &self.total, known);
        }
    }

    /// The load of retired stretches at each cell, with every retired stretch counted at its
    /// middle. A cell should not grow over many of them, because its order relative to all of them
    /// would be uncertain.
    fn beneath(&mut self) -> Vec<L> {
        self.retired.sort_by_key(Stretch::middle);
        let mut beneath = vec![L::default(); self.cells.len()];
        let mut place = 0;
        for stretch in &self.retired {
            let middle = stretch.middle();
            while place + 1 < self.cells.len() && self.cells[place].high < middle {
                place += 1;
            }
            beneath[place].add(&stretch.load);
        }
        beneath
    }

    /// Whether this digest, which was read from a file, can have begun as `fresh`.
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

/// The factor between the shares that are tried.
const STEP: f64 = 1.25;

/// Merges neighbours that carry at most some share together, including the load beneath them. The
/// share is the least of some steps at which at most three quarters of the places are taken. The
/// search begins at the share of the last time, because the next one is near. Returns the share. Two
/// neighbours that both stay carry more than the share, so a large enough share always suffices.
fn put_together<L: Load>(
    stretches: &mut Vec<Stretch<L>>,
    beneath: &[L],
    total: &L,
    (most, last): (usize, f64),
) -> f64 {
    let carried = |(stretch, beneath): (&Stretch<L>, &L)| {
        let mut load = stretch.load;
        load.add(beneath);
        load.share_of(total)
    };
    let shares: Vec<f64> = stretches.iter().zip(beneath).map(carried).collect();
    let (least, fits) = (1.0 / most as f64, |share| left(&shares, share) <= most - most / 4);
    let mut share = last.max(least);
    if fits(share) {
        while share > least && fits(share / STEP) {
            share /= STEP;
        }
    } else {
        while !fits(share) {
            share *= STEP;
        }
    }
    let (mut open, mut kept) = (0.0, Vec::with_capacity(most));
    for (stretch, own) in stretches.iter().zip(shares) {
        let is_heavy = grows_heavy(&mut open, own, share);
        match kept.last_mut() {
            Some(last) if !is_heavy => Stretch::take_in(last, stretch),
            _ => kept.push(*stretch),
        }
    }
    *stretches = kept;
    share
}

/// How many stretches are left when neighbours of at most this share are merged.
fn left(shares: &[f64], share: f64) -> usize {
    let mut open = 0.0;
    1 + shares.iter().map(|&own| usize::from(grows_heavy(&mut open, own, share))).sum::<usize>()
}

/// Adds the share of a stretch to the one that is being merged. If the sum exceeds the limit, it
/// starts anew with this stretch. Returns whether it did. A share that is not a number, as in a
/// forged file, does not count as heavy, so merging always ends.
#[inline]
fn grows_heavy(open: &mut f64, own: f64, limit: f64) -> bool {
    let both = *open + own;
    let is_heavy = both > limit;
    *open = if is_heavy { own } else { both };
    is_heavy
}

/// The key of a number. Keys have the order of their numbers, and both zeros have the same key.
#[inline]
pub(super) fn key(number: f64) -> u64 {
    let bits = (number + 0.0).to_bits();
    // The bits of negative numbers have the opposite order. Their keys lie below all others.
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

/// The number that a key stands for.
pub(super) fn number(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
}

/// Whether a key stands for a finite number.
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

    /// Pseudo-random numbers from a fixed generator.
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
