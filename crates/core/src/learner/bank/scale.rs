//! A feature's own unit: the largest size it has had.
//!
//! Everything in the bank sees x̃ = x/N, where N is the largest |x| so far, so that columns may be
//! in any unit. One corrupted value would spoil N for good, so a value beyond 30·N is doubted.
//! While there are fewer than 2 + 0.02·(times seen) such values of a feature, the value enters as
//! ±1 and N stays. Otherwise N grows, at most tenfold by one example, and x̃ is clipped to ±10.

use super::merge::Parts;
use serde::{Deserialize, Serialize};

/// The limit for the growth of N by one example, and for |x̃|.
const LONGEST: f32 = 10.0;
/// A value beyond so many times N is doubted.
const DOUBTFUL: f32 = 30.0;
/// The number of values that may be doubted, and below this share of the times seen in addition.
const DOUBTS: f32 = 2.0;
const DOUBT_RATE: f32 = 0.02;
/// The largest 1/N.
const FINEST: f32 = 8.507_059e37; // 2^126

/// The unit of one feature.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Scale {
    /// 1/N, rounded so that no value up to N comes out above 1. It is 0 before the first value.
    inverse: f32,
    /// How often the feature was seen, and below how often beyond 30·N.
    seen: u16,
    doubted: u16,
}

/// A value in its feature's own unit, and the change of the unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scaled {
    /// x̃
    pub(super) value: f32,
    /// The factor by which N grew. It is 1 as a rule.
    pub(super) growth: f32,
}

impl Scale {
    /// x/N for a value that is to be predicted. It is 0 before the first value.
    #[inline(always)]
    pub(super) fn scaled(&self, x: f32) -> Scaled {
        let value = x * self.inverse;
        if value.abs() <= 1.0 {
            return Scaled { value, growth: 1.0 };
        }
        let mut next = *self;
        next.count();
        next.beyond(x)
    }

    /// `scaled` for a value that was counted already.
    pub(super) fn scaled_once_counted(&self, x: f32) -> Scaled {
        let value = x * self.inverse;
        if value.abs() <= 1.0 { Scaled { value, growth: 1.0 } } else { { *self }.beyond(x) }
    }

    /// Counts one more value. Returns x/N, and whether nothing else must be done. Something else
    /// must be done for the first value, and for one beyond N.
    #[inline(always)]
    pub(super) fn count_scaled(&mut self, x: f32) -> (f32, bool) {
        self.count();
        let value = x * self.inverse;
        (value, (value.abs() <= 1.0) & (self.inverse > 0.0))
    }

    #[inline(always)]
    fn count(&mut self) {
        self.seen = self.seen.saturating_add(1);
    }

    /// Whether no value was seen.
    pub(super) fn is_new(&self) -> bool {
        self.inverse == 0.0
    }

    /// Takes in a value that was counted.
    #[cold]
    #[inline(never)]
    pub(super) fn admit(&mut self, x: f32) -> Scaled {
        if self.is_new() {
            self.inverse = unit_of(x);
        }
        let value = x * self.inverse;
        if value.abs() <= 1.0 { Scaled { value, growth: 1.0 } } else { self.beyond(x) }
    }

    /// Handles a value beyond N that was counted.
    #[cold]
    #[inline(never)]
    fn beyond(&mut self, x: f32) -> Scaled {
        let ratio = x.abs() * self.inverse;
        if ratio > DOUBTFUL {
            self.doubted = self.doubted.saturating_add(1);
            if f32::from(self.doubted) < DOUBTS + DOUBT_RATE * f32::from(self.seen) {
                return Scaled { value: x.signum(), growth: 1.0 };
            }
        }
        let old = self.inverse;
        self.inverse = if ratio < LONGEST { unit_of(x) } else { old / LONGEST };
        let value = (x * self.inverse).clamp(-LONGEST, LONGEST);
        Scaled { value, growth: old / self.inverse }
    }

    /// 1/N
    pub(super) fn inverse(&self) -> f32 {
        self.inverse
    }

    /// The unit that several make: the largest. Counts add up.
    pub(super) fn merged(parts: &Parts<'_, Self>) -> Self {
        let known = std::iter::once(parts.base).chain(parts.parts.iter().map(|&(part, _)| part));
        let least = known.map(|scale| scale.inverse).filter(|&inverse| inverse > 0.0);
        let count = |of: fn(&Self) -> u16| {
            u16::try_from(parts.counted(|scale| of(scale).into())).unwrap_or(u16::MAX)
        };
        Self {
            inverse: least.reduce(f32::min).unwrap_or(0.0),
            seen: count(|scale| scale.seen),
            doubted: count(|scale| scale.doubted),
        }
    }

    /// The factor by which N must grow to become the N of `other`. It is 1 before the first value.
    pub(super) fn growth_to(&self, other: &Self) -> f32 {
        if self.is_new() { 1.0 } else { (self.inverse / other.inverse).clamp(1.0, f32::MAX) }
    }

    pub(super) fn is_sound(&self) -> bool {
        (0.0..=FINEST).contains(&self.inverse)
    }
}

/// 1/|x|, rounded so that |x| times it is at most 1. It is 0 for x = 0.
fn unit_of(x: f32) -> f32 {
    if x == 0.0 {
        return 0.0;
    }
    let inverse = (1.0 / x.abs()).min(FINEST);
    if x.abs() * inverse > 1.0 { inverse.next_down() } else { inverse }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seen(values: &[f32]) -> (Scale, f32) {
        let (mut scale, mut last) = (Scale::default(), 0.0);
        for &x in values {
            let before = scale.scaled(x);
            let (value, is_plain) = scale.count_scaled(x);
            assert_eq!(before, scale.scaled_once_counted(x));
            let admitted = if is_plain { Scaled { value, growth: 1.0 } } else { scale.admit(x) };
            // The value for learning is the value for predicting, except for the first value.
            assert!(before == admitted || before == Scaled { value: 0.0, growth: 1.0 });
            last = admitted.value;
        }
        (scale, last)
    }

    #[test]
    fn the_largest_value_is_the_unit() {
        assert_eq!(seen(&[4.0]).1, 1.0);
        assert_eq!(seen(&[4.0, -2.0]).1, -0.5);
        assert_eq!(seen(&[4.0, 8.0]).1, 1.0);
        assert_eq!(seen(&[4.0, 8.0, 4.0]).1, 0.5);
        assert_eq!(seen(&[1.0, 20.0]).1, 2.0, "N grows tenfold only");
    }

    #[test]
    fn few_large_values_are_doubted_and_many_are_believed() {
        assert_eq!(seen(&[1.0, 1e6]).1, 1.0);
        assert_eq!(seen(&[1.0, 1e6, 0.5]).1, 0.5);
        assert_eq!(seen(&[1.0, 1e6, 1e6, 1e6]).1, 10.0);
        let mut values = [-1e6; 9];
        values[0] = 1.0;
        assert_eq!(seen(&values).1, -1.0);
    }

    proptest! {
        #[test]
        fn values_of_any_size_stay_within_ten(
            powers in prop::collection::vec((-149..128i32, 0.5..1.0f32, any::<bool>()), 1..60),
        ) {
            let values: Vec<f32> = powers
                .iter()
                .map(|&(power, x, up)| if up { x } else { -x } * 2.0_f64.powi(power) as f32)
                .collect();
            for end in 1..=values.len() {
                let (scale, last) = seen(&values[..end]);
                prop_assert!(scale.is_sound() && last.abs() <= LONGEST);
            }
        }

        #[test]
        fn powers_of_two_change_nothing(
            values in prop::collection::vec(-9.0..9.0f32, 1..30), power in -60..60i32,
        ) {
            let stretch = 2.0_f32.powi(power);
            let stretched: Vec<f32> = values.iter().map(|x| x * stretch).collect();
            prop_assert_eq!(seen(&values).1.to_bits(), seen(&stretched).1.to_bits());
        }
    }

    /// The reciprocals of the largest singles lie below the normal range, where they have fewer digits.
    #[test]
    fn no_value_is_beyond_its_own_unit() {
        let (from, to) = (2.0_f32.powi(126).to_bits(), f32::MAX.to_bits());
        for x in (from..=to).step_by(16_001).map(f32::from_bits) {
            let product = f64::from(x) * f64::from(unit_of(x));
            assert!(product < 1.0 + 1e-7 && x * unit_of(x) <= 1.0, "{x:e}: {product}");
        }
    }
}
