//! Counts how often classes came, overall and lately, and estimates how likely a new one is.

use super::super::merge::Parts;
use crate::elementary::{exp, ln};
use serde::{Deserialize, Serialize};

/// The share of a recent rate that is kept from one round to the next.
const KEPT: [f64; RECENT] = [0.8, 0.98];
/// The number of recent rates.
pub(super) const RECENT: usize = 2;
/// The number of all rates: the base rate and the recent ones.
pub(super) const RATES: usize = RECENT + 1;
/// The logarithm of a recent rate is at least this.
const FAINTEST: f32 = -80.0;

/// The counts of one class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Rate {
    /// The number of rounds in which it was the label, counted up to two.
    seen: u8,
    /// Σ of the importances of these rounds, and its logarithm.
    count: f64,
    ln_count: f32,
    /// The recent rates and their logarithms.
    recent: [f32; RECENT],
    ln_recent: [f32; RECENT],
}

/// The counts of a class that never came.
const NEVER: Rate = Rate {
    seen: 0,
    count: 0.0,
    ln_count: 0.0,
    recent: [0.0; RECENT],
    ln_recent: [FAINTEST; RECENT],
};

/// The logarithm of a recent rate.
#[inline(always)]
fn ln_of_recent(rate: f32) -> f32 {
    if f64::from(rate) > 1e-34 { ln(rate.into()) as f32 } else { FAINTEST }
}

/// The rates of all classes, by slot.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Rates {
    rates: Vec<Rate>,
    /// Σ of all importances.
    total: f64,
    /// The number of classes that were seen exactly once.
    singles: u32,
}

impl Rates {
    pub(super) fn len(&self) -> usize {
        self.rates.len()
    }

    /// ln of the sum of all importances.
    #[inline(always)]
    pub(super) fn ln_total(&self) -> f32 {
        if self.total > 0.0 { ln(self.total) as f32 } else { 0.0 }
    }

    /// The probabilities that the three rates give to a class.
    #[inline(always)]
    pub(super) fn shares(&self, slot: usize) -> [f32; RATES] {
        let rate = &self.rates[slot];
        [(rate.count / self.total) as f32, rate.recent[0], rate.recent[1]]
    }

    /// The logarithms of these probabilities. `ln_total` is that of the total.
    #[inline(always)]
    pub(super) fn logs(&self, slot: usize, ln_total: f32) -> [f32; RATES] {
        let rate = &self.rates[slot];
        [rate.ln_count - ln_total, rate.ln_recent[0], rate.ln_recent[1]]
    }

    /// The probability that the next class is a new one, after this many rounds. It is estimated
    /// from the number of classes that came only once.
    pub(super) fn escape(&self, rounds: u64) -> f64 {
        if self.rates.is_empty() {
            return 1.0;
        }
        (f64::from(self.singles) + 0.5) / (rounds as f64 + 1.0)
    }

    /// Adds a class.
    pub(super) fn open(&mut self) {
        self.rates.push(NEVER);
    }

    /// Gives the classes other slots: that of slot i becomes `to[i]`. There are `classes` of them.
    pub(super) fn renumber(&mut self, to: &[u32], classes: usize) {
        let known = std::mem::replace(&mut self.rates, vec![NEVER; classes]);
        known.into_iter().zip(to).for_each(|(rate, &slot)| self.rates[slot as usize] = rate);
    }

    /// The rates that several make, with the same slots. Counts add up, and recent rates are the
    /// mean, because all parts are equally recent.
    pub(super) fn merged(parts: &Parts<'_, Self>) -> Self {
        let total = parts.added_size(|rates| rates.total);
        let rate = |slot: usize| {
            let own = parts.of(|rates| &rates.rates[slot]);
            let count = own.added_size(|rate| rate.count).min(total);
            let recent: [f32; RECENT] =
                std::array::from_fn(|k| own.mean(|rate| rate.recent[k].into()) as f32);
            let seen = own.counted(|rate| rate.seen.into()).min(2) as u8;
            let ln_count = ln(count) as f32;
            Rate { seen, count, ln_count, recent, ln_recent: recent.map(ln_of_recent) }
        };
        let rates: Vec<Rate> = (0..parts.base.len()).map(rate).collect();
        let singles = rates.iter().filter(|rate| rate.seen == 1).count() as u32;
        Self { rates, total, singles }
    }

    /// Counts the class of a round.
    #[inline(always)]
    pub(super) fn learn(&mut self, slot: usize, importance: f64) {
        let is_first = self.total == 0.0;
        let kept = KEPT.map(|kept| if is_first { 0.0 } else { exp(importance * ln(kept)) });
        let ln_kept = KEPT.map(|kept| (importance * ln(kept)) as f32);
        for rate in &mut self.rates {
            for k in 0..RECENT {
                rate.recent[k] *= kept[k] as f32;
                rate.ln_recent[k] = (rate.ln_recent[k] + ln_kept[k]).max(FAINTEST);
            }
        }
        self.total += importance;
        let rate = &mut self.rates[slot];
        for (k, kept) in kept.into_iter().enumerate() {
            rate.recent[k] += (1.0 - kept) as f32;
            rate.ln_recent[k] = ln_of_recent(rate.recent[k]);
        }
        rate.count += importance;
        rate.ln_count = ln(rate.count) as f32;
        match rate.seen {
            0 => self.singles += 1,
            1 => self.singles -= 1,
            _ => {}
        }
        rate.seen = (rate.seen + 1).min(2);
    }

    pub(super) fn is_sound(&self) -> bool {
        let is_rate = |rate: &Rate| {
            (1..=2).contains(&rate.seen)
                && (0.0..=self.total).contains(&rate.count)
                && rate.ln_count.is_finite()
                && rate.recent.iter().all(|x| (0.0..=1.01).contains(x))
                && rate.ln_recent.iter().all(|x| (FAINTEST..=0.01).contains(x))
        };
        self.total.is_finite()
            && self.rates.iter().all(is_rate)
            && self.singles as usize == self.rates.iter().filter(|rate| rate.seen == 1).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_counted() {
        let mut rates = Rates::default();
        assert_eq!(rates.escape(0), 1.0);
        for (round, class) in (1..).zip([0, 1, 0, 0, 2, 0]) {
            while rates.len() <= class {
                rates.open();
            }
            rates.learn(class, 1.0);
            assert!(rates.is_sound());
            let whole: f32 = (0..rates.len()).map(|slot| rates.shares(slot)[1]).sum();
            assert!((whole - 1.0).abs() < 1e-6, "recent rates add up to 1: {whole} in {round}");
        }
        assert_eq!(rates.shares(0)[0], 4.0 / 6.0);
        assert_eq!(rates.escape(6), 2.5 / 7.0, "two classes were seen once");
        for slot in 0..3 {
            for (share, log) in rates.shares(slot).iter().zip(rates.logs(slot, rates.ln_total())) {
                assert!((share.ln() - log).abs() < 1e-5, "{share} {log}");
            }
        }
    }

    #[test]
    fn a_weight_of_two_counts_twice() {
        let (mut once, mut twice) = (Rates::default(), Rates::default());
        for rates in [&mut once, &mut twice] {
            (0..2).for_each(|_| rates.open());
            rates.learn(0, 1.0);
        }
        once.learn(1, 2.0);
        twice.learn(1, 1.0);
        twice.learn(1, 1.0);
        for slot in 0..2 {
            for (one, other) in once.shares(slot).iter().zip(twice.shares(slot)) {
                assert!((one - other).abs() < 1e-6);
            }
        }
    }
}
