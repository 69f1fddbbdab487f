//! Σ v_i² without any rounding: what is added can be taken away again, to the last bit.
//!
//! A double is an integer m below 2⁵³ times a power of two, so its square is the integer m² times
//! an even power of two, and all squares of all doubles lie on one grid. The sum is kept on that
//! grid as a long integer in digits of 32 bits (a superaccumulator, after Neal). Digits are 64 bits
//! wide, so that carries can wait.

use serde::{Deserialize, Serialize};

/// Digits of the long integer: those of the largest square, and three for the number of terms.
const DIGITS: usize = 135;

/// The grid: digit k counts multiples of 2^(32k − 2148), and 2148 = 2·1074, where 2^−1074 is the
/// smallest double.
const LOWEST: i32 = 1074;

/// So many squares can be added before a digit could overflow: each adds less than 2³³ to it.
const PATIENCE: u32 = 1 << 29;

/// The exact sum of the squares of a changing collection of doubles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Squares {
    digits: Vec<i64>,
    /// Squares added or taken away since the carries were last passed on.
    waiting: u32,
    /// How many of the numbers are infinite or no numbers at all: these have no place on the grid.
    wild: u64,
}

impl Default for Squares {
    fn default() -> Self {
        Self { digits: vec![0; DIGITS], waiting: 0, wild: 0 }
    }
}

impl Squares {
    /// The sum of the squares of some numbers.
    pub(super) fn of(numbers: &[f64]) -> Self {
        let mut squares = Self::default();
        numbers.iter().for_each(|&v| squares.add(v));
        squares.carry();
        squares
    }

    /// The sum of nothing.
    pub(super) fn clear(&mut self) {
        self.digits.fill(0);
        (self.waiting, self.wild) = (0, 0);
    }

    /// Adds v².
    pub(super) fn add(&mut self, v: f64) {
        if v.is_finite() {
            self.push(v, 1);
        } else {
            self.wild += 1;
        }
    }

    /// Takes away the v² of a v that was added before.
    pub(super) fn remove(&mut self, v: f64) {
        if v.is_finite() {
            self.push(v, -1);
        } else {
            self.wild -= 1;
        }
    }

    #[inline]
    fn push(&mut self, v: f64, sign: i64) {
        let (m, e) = integer_and_power(v);
        let square = u128::from(m) * u128::from(m);
        let place = (2 * (e + LOWEST)) as usize;
        let (digit, shift) = (place / 32, place % 32);
        let low = (square & u128::from(u64::MAX)) << shift;
        let high = (square >> 64) << shift;
        let parts = &mut self.digits[digit..digit + 5];
        parts[0] += sign * low_digit(low);
        parts[1] += sign * low_digit(low >> 32);
        parts[2] += sign * (low_digit(low >> 64) + low_digit(high));
        parts[3] += sign * low_digit(high >> 32);
        parts[4] += sign * low_digit(high >> 64);
        self.waiting += 1;
        if self.waiting == PATIENCE {
            self.carry();
        }
    }

    /// Passes the carries on, so that every digit but the last is one: in 0..2³².
    pub(super) fn carry(&mut self) {
        let mut carry = 0;
        for digit in &mut self.digits {
            let total = *digit + carry;
            carry = total >> 32;
            *digit = total & i64::from(u32::MAX);
        }
        self.waiting = 0;
    }

    /// k²·Σ v_i², rounded a few times, for a sum whose carries are passed on. The factor goes in
    /// before the squares come out, so that only a result beyond the range of doubles is lost.
    pub(super) fn times_square(&self, k: f64) -> f64 {
        if self.wild > 0 {
            return f64::INFINITY;
        }
        let Some(top) = self.digits.iter().rposition(|&digit| digit != 0) else { return 0.0 };
        // Four digits hold 97 bits or more.
        let leading = self.digits[top.saturating_sub(3)..=top].iter();
        let below = leading.fold(0.0, |below, &digit| (digit as f64 + below) * SHIFT);
        let value = below / SHIFT;
        let root = k * power_of_two(16 * top as i32 - LOWEST);
        root * value * root
    }
}

/// One digit down.
const SHIFT: f64 = 1.0 / (1_u64 << 32) as f64;

#[inline]
fn low_digit(bits: u128) -> i64 {
    i64::from(bits as u32)
}

/// |v| = m·2^e with the smallest e that fits all doubles of this size.
#[inline]
fn integer_and_power(v: f64) -> (u64, i32) {
    let bits = v.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    match (bits >> 52 & 0x7ff) as i32 {
        0 => (fraction, -1074),
        exponent => (fraction | 1 << 52, exponent - 1075),
    }
}

/// 2^e for e ≥ −1074.
fn power_of_two(e: i32) -> f64 {
    match e {
        ..-1022 => f64::from_bits(1 << (e + 1074)),
        -1022..=1023 => f64::from_bits(((e + 1023) as u64) << 52),
        _ => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Doubles of every size, and the awkward ones.
    fn double() -> impl Strategy<Value = f64> {
        let awkward = prop::sample::select(vec![
            0.0,
            -0.0,
            f64::MIN_POSITIVE,
            5e-324,
            -f64::MAX,
            1.0,
            1_f64.next_down(),
            1e-160,
            1e154,
        ]);
        let finite = any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |v| v.is_finite());
        prop_oneof![1 => awkward, 2 => -2.0..2.0_f64, 2 => finite]
    }

    /// The same integer the obvious way: long addition, bit by bit.
    fn bits_of(numbers: &[f64]) -> Vec<u8> {
        let mut total = vec![0_u8; 32 * DIGITS];
        for &v in numbers {
            let (m, e) = integer_and_power(v);
            let square = u128::from(m) * u128::from(m);
            let mut carry = 0;
            for (place, total) in (0..).zip(&mut total) {
                let from = place - 2 * (e + LOWEST);
                let bit = if (0..128).contains(&from) { (square >> from & 1) as u8 } else { 0 };
                let column = *total + bit + carry;
                (*total, carry) = (column & 1, column >> 1);
            }
        }
        total
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn the_digits_are_those_of_long_addition(numbers in prop::collection::vec(double(), 0..8)) {
            let sum = Squares::of(&numbers);
            for (k, chunk) in bits_of(&numbers).chunks(32).enumerate() {
                let digit = chunk.iter().rev().fold(0_i64, |digit, &bit| 2 * digit + i64::from(bit));
                prop_assert_eq!(sum.digits[k], digit);
            }
        }

        #[test]
        fn what_is_taken_away_leaves_no_trace(
            kept in prop::collection::vec(double(), 0..20),
            gone in prop::collection::vec(double(), 0..20),
        ) {
            let mut sum = Squares::of(&gone);
            kept.iter().for_each(|&v| sum.add(v));
            gone.iter().for_each(|&v| sum.remove(v));
            sum.carry();
            prop_assert_eq!(sum, Squares::of(&kept));
        }

        #[test]
        fn a_single_square_is_rounded_a_few_times(v in double(), k in -3.0..3.0_f64) {
            let (found, exact) = (Squares::of(&[v]).times_square(k), (k * v) * (k * v));
            let normal = exact.is_finite() && exact > 1e-290;
            prop_assert!(!normal || (found / exact - 1.0).abs() < 8.0 * f64::EPSILON);
        }
    }

    #[test]
    fn small_squares_survive_large_ones() {
        let mut sum = Squares::of(&[1e150, 1e-150, 3.0]);
        sum.remove(1e150);
        sum.carry();
        assert_eq!(sum.times_square(1.0), 9.0);
        sum.remove(3.0);
        sum.carry();
        assert!((sum.times_square(1e150) - 1.0).abs() < 1e-15);
        sum.remove(1e-150);
        sum.carry();
        assert_eq!(sum, Squares::default());
    }

    #[test]
    fn a_factor_brings_the_ends_of_the_range_back() {
        let largest = Squares::of(&[f64::MAX]).times_square(1.0 / f64::MAX);
        assert!((largest - 1.0).abs() < 1e-15, "{largest}");
        let smallest = Squares::of(&[5e-324; 9]).times_square(1e300) / (1e300 * 5e-324_f64).powi(2);
        assert!((smallest / 9.0 - 1.0).abs() < 1e-14, "{smallest}");
    }

    #[test]
    fn the_wild_are_counted() {
        let mut sum = Squares::of(&[1.0, f64::INFINITY, f64::NAN]);
        assert_eq!(sum.times_square(1.0), f64::INFINITY);
        sum.remove(f64::NAN);
        sum.remove(f64::INFINITY);
        assert_eq!(sum.times_square(1.0), 1.0);
    }

    #[test]
    fn carries_may_wait_long() {
        let mut sum = Squares { waiting: PATIENCE - 3, ..Squares::default() };
        (0..5).for_each(|_| sum.add(1.5));
        assert_eq!(sum.waiting, 2);
        sum.carry();
        assert_eq!(sum.times_square(2.0), 45.0);
    }
}
