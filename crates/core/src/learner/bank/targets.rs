//! Labels that are numbers, in units of their own.
//!
//! The offset is the first label. The unit is the power of two nearest the first difference from
//! it. So singles can represent what is learned, whatever the units of the labels. If a label lies
//! more than 2^30 units off, the unit grows, and everything that is measured in it is rescaled.

use super::eight::Eight;
use super::filters::FILTERS;
use super::merge::Parts;
use serde::{Deserialize, Serialize};

/// The unit grows if a label is more than so many units off.
const FARTHEST: f64 = (1_u64 << 30) as f64;
/// Units are powers of two between 2^−1000 and 2^1000.
const LARGEST_POWER: i64 = 1000;

/// Statistics of the labels so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Targets {
    offset: f64,
    /// The unit. It is 0 before there were two different labels.
    unit: f64,
    /// The importance of all labels, and below their mean and the sum of squared differences from
    /// it.
    weight: f64,
    pub(super) mean: f64,
    squares: f64,
    /// The least label, and below the largest.
    pub(super) low: f64,
    pub(super) high: f64,
}

/// The e of x = m·2^e with 1 ≤ |m| < 2. For 0 it is the least e.
fn exponent(x: f64) -> i64 {
    (x.to_bits() >> 52 & 0x7ff) as i64 - 1023
}

/// 2^e for |e| ≤ 1000.
fn power_of_two(exponent: i64) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// The power of two nearest |x|, on a logarithmic scale, within the limits of units.
fn nearest_unit(x: f64) -> f64 {
    let mantissa = f64::from_bits(x.abs().to_bits() & ((1 << 52) - 1) | (1023 << 52));
    let nearest = exponent(x) + i64::from(mantissa >= 1.5);
    power_of_two(nearest.clamp(-LARGEST_POWER, LARGEST_POWER))
}

impl Targets {
    pub(super) fn new() -> Self {
        Self { offset: 0.0, unit: 0.0, weight: 0.0, mean: 0.0, squares: 0.0, low: 0.0, high: 0.0 }
    }

    /// The unit, or 0 while there is none.
    pub(super) fn known_unit(&self) -> f64 {
        self.unit
    }

    /// The unit, or 1 while there is none.
    #[inline(always)]
    pub(super) fn unit(&self) -> f64 {
        if self.unit > 0.0 { self.unit } else { 1.0 }
    }

    /// A number in units of the labels. Units are powers of two, so only the difference is rounded.
    #[inline(always)]
    pub(super) fn inward(&self, number: f64) -> f64 {
        let inverse = 1.0 / self.unit();
        number * inverse - self.offset * inverse
    }

    /// A number in the data's own units.
    #[inline(always)]
    pub(super) fn outward(&self, number: f64) -> f64 {
        number * self.unit() + self.offset
    }

    /// The standard deviation so far. It is 0 after one label.
    #[inline(always)]
    pub(super) fn spread(&self) -> f64 {
        if self.weight > 0.0 { (self.squares / self.weight).sqrt() } else { 0.0 }
    }

    /// high − low
    #[inline(always)]
    pub(super) fn range(&self) -> f64 {
        self.high - self.low
    }

    /// The importance of all labels.
    #[inline(always)]
    pub(super) fn weight(&self) -> f64 {
        self.weight
    }

    /// A bound on the rounding error of converting a number of the labels' size into these units
    /// and back.
    pub(super) fn rounding(&self) -> f64 {
        32.0 * f64::EPSILON * ((self.offset / self.unit()).abs() + self.range())
    }

    /// The statistics of all labels of several, which have one offset and one unit.
    pub(super) fn merged(parts: &Parts<'_, Self>) -> Self {
        let mut merged = parts.base.clone();
        for (part, _) in &parts.parts {
            merged.take_in(parts.base, part);
        }
        merged
    }

    /// Takes in the labels that `part` has seen since `base`.
    fn take_in(&mut self, base: &Self, part: &Self) {
        let own = part.weight - base.weight;
        if own > 0.0 {
            let mean = (part.weight * part.mean - base.weight * base.mean) / own;
            let between = own * base.weight / part.weight * (mean - base.mean).powi(2);
            let squares = (part.squares - base.squares - between).max(0.0);
            let weight = self.weight + own;
            self.squares += squares + own * self.weight / weight * (mean - self.mean).powi(2);
            self.mean += own / weight * (mean - self.mean);
            self.weight = weight;
        }
        (self.low, self.high) = (self.low.min(part.low), self.high.max(part.high));
        self.mean = self.mean.clamp(self.low, self.high);
        (self.offset, self.unit) = (part.offset, part.unit);
    }

    /// The first label, once there was one.
    pub(super) fn offset(&self) -> Option<f64> {
        (self.weight > 0.0).then_some(self.offset)
    }

    /// The factor for all numbers in units before the unit can be `unit`, which is at least as
    /// large. It is 1 once it is. One step is limited by the range of singles.
    pub(super) fn stretch_to(&mut self, unit: f64) -> f32 {
        if self.unit == 0.0 {
            // All labels were the same, so all numbers are 0.
            self.unit = unit;
        }
        if unit == 0.0 {
            return 1.0;
        }
        let wanted = exponent(unit) - exponent(self.unit);
        power_of_two(-wanted.clamp(0, 126)) as f32
    }

    /// The number clipped to between the least and the largest label.
    #[inline(always)]
    pub(super) fn clipped(&self, z: f64) -> f64 {
        let z = if z > self.low { z } else { self.low };
        if z < self.high { z } else { self.high }
    }

    /// The factor for numbers in units before this label is learned from. It is 1, unless the label
    /// lies far off.
    #[inline(always)]
    pub(super) fn stretch_for(&self, label: f64) -> f32 {
        if self.unit == 0.0 || self.inward(label).abs() <= FARTHEST {
            return 1.0;
        }
        self.far_stretch(label)
    }

    #[cold]
    #[inline(never)]
    fn far_stretch(&self, label: f64) -> f32 {
        // The difference of the halves is always finite.
        let distance = exponent(0.5 * label - 0.5 * self.offset) + 1;
        let wanted = distance.min(LARGEST_POWER) - exponent(self.unit);
        // 2^−126 is the smallest normal single. Anything smaller is negligible beside the label.
        power_of_two(-wanted.clamp(0, 126)) as f32
    }

    /// Makes the unit 1/factor times as large.
    pub(super) fn stretch(&mut self, factor: f64) {
        self.unit = (self.unit / factor).min(power_of_two(LARGEST_POWER));
        for number in [&mut self.mean, &mut self.low, &mut self.high] {
            *number *= factor;
        }
        self.squares *= factor * factor;
    }

    /// Takes in a label, and returns it in units.
    #[inline(always)]
    pub(super) fn learn(&mut self, label: f64, importance: f64) -> f64 {
        if self.unit == 0.0 {
            self.begin(label);
        }
        let y = self.inward(label);
        self.weight += importance;
        let before = y - self.mean;
        self.mean += importance * before / self.weight;
        // Roundings may put the mean beyond the label.
        self.squares += (importance * before * (y - self.mean)).max(0.0);
        self.low = if y < self.low { y } else { self.low };
        self.high = if y > self.high { y } else { self.high };
        y
    }

    #[cold]
    #[inline(never)]
    fn begin(&mut self, label: f64) {
        if self.weight == 0.0 {
            self.offset = label;
        }
        let half = 0.5 * label - 0.5 * self.offset;
        if half != 0.0 {
            self.unit = nearest_unit(if half.abs() < 1e300 { label - self.offset } else { half });
        }
    }

    pub(super) fn is_sound(&self) -> bool {
        let numbers =
            [self.offset, self.unit, self.weight, self.mean, self.squares, self.low, self.high];
        let unit = self.unit == 0.0
            || (self.unit == power_of_two(exponent(self.unit))
                && exponent(self.unit).abs() <= 1000);
        numbers.iter().all(|x| x.is_finite())
            && unit
            && self.weight >= 0.0
            && self.squares >= 0.0
            && self.low <= 0.0
            && self.high >= 0.0
            && self.range() <= 4.0 * FARTHEST
    }
}

/// The residuals y − f of the filters.
#[inline(always)]
pub(super) fn residuals(y: f64, means: Eight) -> [f32; FILTERS] {
    std::array::from_fn(|k| y as f32 - means.0[k])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_are_powers_of_two() {
        assert_eq!(nearest_unit(-3.0), 4.0);
        assert_eq!(nearest_unit(2.9), 2.0);
        assert_eq!(nearest_unit(1e-320), power_of_two(-1000));
        assert_eq!((exponent(6.0), power_of_two(-2)), (2, 0.25));
    }

    proptest! {
        #[test]
        fn labels_of_any_size_stay_within_reach(
            labels in prop::collection::vec((-307.0..308.0f64, any::<bool>()), 1..40),
        ) {
            let mut targets = Targets::new();
            for (power, up) in labels {
                let label = 10_f64.powf(power) * if up { 1.0 } else { -1.0 };
                // One step is limited by the range of singles, so several may be needed.
                for _ in 0..20 {
                    targets.stretch(targets.stretch_for(label).into());
                }
                prop_assert_eq!(targets.stretch_for(label), 1.0);
                let y = targets.learn(label, 1.0);
                prop_assert!(y.abs() <= FARTHEST && targets.is_sound(), "{targets:?}");
                prop_assert!((targets.low..=targets.high).contains(&y));
                prop_assert!(targets.outward(y).is_finite());
            }
        }

        #[test]
        fn mean_and_spread_are_those_of_the_labels(
            labels in prop::collection::vec(-5.0..5.0f64, 2..50),
        ) {
            let mut targets = Targets::new();
            labels.iter().for_each(|&label| { targets.learn(label, 1.0); });
            let n = labels.len() as f64;
            let mean = labels.iter().sum::<f64>() / n;
            let spread = (labels.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / n).sqrt();
            prop_assert!((targets.outward(targets.mean) - mean).abs() < 1e-12);
            prop_assert!((targets.spread() * targets.unit() - spread).abs() < 1e-9);
        }
    }

    /// 1.7·10⁹ + 0.005 is rounded to a multiple of 2⁻²². Going back shows that, and loses nothing more.
    #[test]
    fn there_and_back_is_off_by_no_more_than_is_said() {
        let mut targets = Targets::new();
        for label in [1.7e9, 1.7e9 + 1.0, 1.7e9 + 5.0] {
            targets.learn(label, 1.0);
        }
        assert_eq!(targets.unit(), 1.0);
        for number in (0..1000).map(|k| f64::from(k) / 200.0) {
            let off = (targets.inward(targets.outward(number)) - number).abs();
            assert!(off <= targets.rounding(), "{number}: {off:e}");
        }
    }
}
