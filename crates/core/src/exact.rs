//! Sums without any rounding: of numbers, of products, of squares.
//!
//! A double is an integer m below 2⁵³ times a power of two. So the product of two doubles is an
//! integer below 2¹⁰⁶ times a power of two, and all products of all doubles lie on one grid. The
//! sum is kept on that grid as a long integer in digits of 32 bits (a superaccumulator, after
//! Neal). Each digit is stored in 64 bits, so that carries can wait. A term that was added can be
//! subtracted again, to the last bit, and the order of the terms makes no difference.

/// The digits of the long integer: those of the largest product, and three for the number of terms.
const DIGITS: usize = 135;

/// The grid: digit k counts multiples of 2^(32k − 2148), and 2148 = 2·1074, where 2^−1074 is the
/// smallest double.
const LOWEST: i32 = 1074;

/// The number of products that can be added before a digit could overflow: each adds less than 2³³
/// to it.
const PATIENCE: u32 = 1 << 29;

/// An exact sum.
///
/// ```
/// use rueful_core::ExactSum;
/// let mut sum = ExactSum::default();
/// for term in [1e300, 1.0, -1e300, 1e-300] {
///     sum.add(term);
/// }
/// sum.remove_product(0.5, 2.0);
/// assert_eq!(sum.value(), 1e-300);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ExactSum {
    digits: [i64; DIGITS],
    /// The number of terms that were added or subtracted since the carries were last passed on.
    waiting: u32,
    /// How many of the terms are infinite or NaN. These have no place on the grid.
    wild: u64,
}

impl Default for ExactSum {
    fn default() -> Self {
        Self { digits: [0; DIGITS], waiting: 0, wild: 0 }
    }
}

impl ExactSum {
    /// The sum of the squares of some numbers.
    pub fn of_squares(numbers: impl IntoIterator<Item = f64>) -> Self {
        let mut squares = Squares::new();
        numbers.into_iter().for_each(|v| squares.add(v));
        squares.sum()
    }

    /// Resets the sum to 0.
    pub fn clear(&mut self) {
        self.digits.fill(0);
        (self.waiting, self.wild) = (0, 0);
    }

    /// Adds v.
    pub fn add(&mut self, v: f64) {
        self.add_product(v, 1.0);
    }

    /// Adds a·b.
    pub fn add_product(&mut self, a: f64, b: f64) {
        if a.is_finite() && b.is_finite() {
            self.push(a, b, 1);
        } else {
            self.wild += 1;
        }
    }

    /// Subtracts a product a·b that was added before.
    pub fn remove_product(&mut self, a: f64, b: f64) {
        if a.is_finite() && b.is_finite() {
            self.push(a, b, -1);
        } else {
            self.wild -= 1;
        }
    }

    #[inline]
    fn push(&mut self, a: f64, b: f64, sign: i64) {
        if a == 0.0 || b == 0.0 {
            return;
        }
        let sign = if a.is_sign_negative() == b.is_sign_negative() { sign } else { -sign };
        let ((m, e), (n, f)) = (integer_and_power(a), integer_and_power(b));
        self.put(u128::from(m) * u128::from(n), e + f, sign);
    }

    /// Adds an integer times 2^power, or subtracts it.
    #[inline]
    fn put(&mut self, integer: u128, power: i32, sign: i64) {
        let place = (power + 2 * LOWEST) as usize;
        let (digit, shift) = (place / 32, place % 32);
        let low = (integer & u128::from(u64::MAX)) << shift;
        let high = (integer >> 64) << shift;
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

    /// Passes the carries on. Every digit but the last is then in 0..2³².
    pub fn carry(&mut self) {
        let mut carry = 0;
        for (place, digit) in self.digits.iter_mut().enumerate() {
            let total = *digit + carry;
            carry = if place == DIGITS - 1 { 0 } else { total >> 32 };
            *digit = total - (carry << 32);
        }
        self.waiting = 0;
    }

    /// The sum, with a few roundings. It is NaN if a term was not finite.
    pub fn value(&self) -> f64 {
        if self.wild > 0 {
            return f64::NAN;
        }
        let mut whole = self.clone();
        whole.carry();
        let is_negative = whole.digits[DIGITS - 1] < 0;
        if is_negative {
            whole.digits.iter_mut().for_each(|digit| *digit = -*digit);
            whole.carry();
        }
        let size = whole.times_square(1.0);
        if is_negative { -size } else { size }
    }

    /// The root of a sum of squares, rounded twice. It is infinite if a term was not finite.
    /// Overflow and underflow of the squares do not affect it.
    pub fn root(&self) -> f64 {
        let mut whole = self.clone();
        whole.carry();
        match whole.leading() {
            None => f64::INFINITY,
            Some((value, half)) => value.sqrt() * power_of_two(half),
        }
    }

    /// k² times a sum of squares whose carries are passed on, with a few roundings. It is infinite
    /// if a term was not finite. The factor is applied before the squares become a double, so only
    /// a result beyond the range of doubles is lost.
    pub fn times_square(&self, k: f64) -> f64 {
        let Some((value, half)) = self.leading() else { return f64::INFINITY };
        let root = k * power_of_two(half);
        root * value * root
    }

    /// The sum as v·4^h. v is rounded once, from the bits of the sum and not from its digits: a
    /// power of two in all terms changes h but not v. `None` if a term was not finite.
    fn leading(&self) -> Option<(f64, i32)> {
        if self.wild > 0 {
            return None;
        }
        let Some(top) = self.digits.iter().rposition(|&digit| digit != 0) else {
            return Some((0.0, 0));
        };
        // Four digits hold 97 bits or more, and 62 or 63 of these are taken. Of the rest it matters
        // only whether it is 0.
        let at = |down: usize| top.checked_sub(down).map_or(0, |k| self.digits[k] as u128);
        let bits = at(0) << 96 | at(1) << 64 | at(2) << 32 | at(3);
        let zeros = bits.leading_zeros() & !1;
        let taken = (bits << zeros) >> 65;
        let is_exact = bits << zeros << 63 == 0
            && self.digits[..top.saturating_sub(3)].iter().all(|&digit| digit == 0);
        let value = (taken as u64 | u64::from(!is_exact)) as f64;
        // The last bit that is taken counts 2^(32·top − 2148 − 96 − zeros + 65), an odd power. v is
        // scaled to lie between 1 and 4.
        let power = 32 * top as i32 - 2 * LOWEST - 31 - zeros as i32;
        Some((value / (1_u64 << 61) as f64, (power - 1) / 2 + 31))
    }
}

/// A sum of squares in which squares of numbers of one exponent are added up as integers before they
/// become digits. Most numbers of a vector have one of few exponents, so this is several times as
/// fast, and it is the same sum.
struct Squares {
    sum: ExactSum,
    /// Σ m² for every place, in turns, so that additions to one place need not wait for each other.
    waiting: [[u128; TURNS]; PLACES],
    /// The exponent, as its bits, that has the place, or `FREE`.
    exponents: [u64; PLACES],
    terms: usize,
}

const TURNS: usize = 4;
/// How many exponents have a place at a time. The last place is for 0 and the numbers that are too
/// small for an exponent of their own: a vector may have zeros anywhere, and they take no branch.
const PLACES: usize = 65;
const LAST: usize = PLACES - 1;
/// The mark of a place that no exponent has.
const FREE: u64 = u64::MAX;
/// How many terms may wait. An m² is below 2¹⁰⁶, so four times as many would fit in 128 bits.
const TOGETHER: usize = 1 << 22;

impl Squares {
    fn new() -> Self {
        let mut exponents = [FREE; PLACES];
        exponents[LAST] = 0;
        Self { sum: ExactSum::default(), waiting: [[0; TURNS]; PLACES], exponents, terms: 0 }
    }

    #[inline(always)] // It is called in loops over all features.
    fn add(&mut self, v: f64) {
        let bits = v.abs().to_bits();
        let exponent = bits >> 52;
        let place = if exponent == 0 { LAST } else { exponent as usize % LAST };
        if self.exponents[place] != exponent || self.terms == TOGETHER {
            return self.add_first(v);
        }
        let m = bits & ((1 << 52) - 1) | u64::from(exponent != 0) << 52;
        self.waiting[place][self.terms % TURNS] += u128::from(m) * u128::from(m);
        self.terms += 1;
    }

    /// Adds the square of a number whose exponent has no place yet, and gives it one, unless the
    /// number is infinite or NaN.
    #[cold]
    #[inline(never)]
    fn add_first(&mut self, v: f64) {
        self.sum.add_product(v, v);
        if self.terms == TOGETHER {
            (0..PLACES).for_each(|place| self.settle(place));
            self.terms = 0;
        }
        if v.is_normal() {
            let exponent = v.abs().to_bits() >> 52;
            let place = exponent as usize % LAST;
            self.settle(place);
            self.exponents[place] = exponent;
        }
    }

    /// Turns what waits at a place into digits.
    fn settle(&mut self, place: usize) {
        let power = 2 * (self.exponents[place].max(1) as i32 - 1075);
        for squares in &mut self.waiting[place] {
            if *squares != 0 {
                self.sum.put(std::mem::take(squares), power, 1);
            }
        }
    }

    fn sum(mut self) -> ExactSum {
        (0..PLACES).for_each(|place| self.settle(place));
        self.sum.carry();
        self.sum
    }
}

#[inline]
fn low_digit(bits: u128) -> i64 {
    i64::from(bits as u32)
}

/// v| = m·2^e, with the smallest e that fits all doubles of this size.
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

    fn of(numbers: &[f64]) -> ExactSum {
        ExactSum::of_squares(numbers.iter().copied())
    }

    /// Doubles of every size, and awkward ones.
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

    /// The same integer by the obvious method: long addition, bit by bit.
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
            let sum = of(&numbers);
            for (k, chunk) in bits_of(&numbers).chunks(32).enumerate() {
                let digit = chunk.iter().rev().fold(0_i64, |digit, &bit| 2 * digit + i64::from(bit));
                prop_assert_eq!(sum.digits[k], digit);
            }
        }

        /// Exponents that share a place take turns, and numbers of one exponent come in long runs.
        #[test]
        fn squares_that_wait_are_the_same_sum(
            numbers in prop::collection::vec((double(), 0..9usize, -80..80i32), 0..40),
        ) {
            let runs = numbers.iter().flat_map(|&(v, run, power)| {
                std::iter::repeat_n([v, v * 2.0_f64.powi(power)], run).flatten()
            });
            let numbers: Vec<f64> = runs.collect();
            let mut one_by_one = ExactSum::default();
            numbers.iter().for_each(|&v| one_by_one.add_product(v, v));
            one_by_one.carry();
            prop_assert_eq!(of(&numbers), one_by_one);
        }

        #[test]
        fn what_is_taken_away_leaves_no_trace(
            kept in prop::collection::vec(double(), 0..20),
            gone in prop::collection::vec(double(), 0..20),
        ) {
            let mut sum = of(&gone);
            kept.iter().for_each(|&v| sum.add_product(v, v));
            gone.iter().for_each(|&v| sum.remove_product(v, v));
            sum.carry();
            prop_assert_eq!(sum, of(&kept));
        }

        #[test]
        fn a_single_square_is_rounded_a_few_times(v in double(), k in -3.0..3.0_f64) {
            let (found, exact) = (of(&[v]).times_square(k), (k * v) * (k * v));
            let normal = exact.is_finite() && exact > 1e-290;
            prop_assert!(!normal || (found / exact - 1.0).abs() < 8.0 * f64::EPSILON);
        }
    }

    #[test]
    fn the_order_of_terms_makes_no_difference_and_signs_do() {
        let terms = [(3.0, -1e200), (1e-200, 1e-150), (0.1, 0.2), (1e200, 3.0), (-0.1, 0.3)];
        let mut forth = ExactSum::default();
        let mut back = ExactSum::default();
        terms.iter().for_each(|&(a, b)| forth.add_product(a, b));
        terms.iter().rev().for_each(|&(a, b)| back.add_product(b, a));
        assert_eq!(forth.value().to_bits(), back.value().to_bits());
        assert!((forth.value() + 0.01).abs() < 1e-17);
        forth.add(-1e300);
        assert_eq!(forth.value(), -1e300);
        forth.add(f64::NAN);
        assert!(forth.value().is_nan());
    }

    #[test]
    fn roots_of_squares_beyond_the_range_are_within_it() {
        for size in [1e-200, 1e250] {
            assert!((of(&[3.0 * size, 4.0 * size]).root() / size - 5.0).abs() < 1e-14);
        }
        assert_eq!(of(&[5e-324]).root(), 5e-324);
        assert_eq!(of(&[]).root(), 0.0);
        assert_eq!(of(&[f64::INFINITY]).root(), f64::INFINITY);
    }

    #[test]
    fn small_squares_survive_large_ones() {
        let mut sum = of(&[1e150, 1e-150, 3.0]);
        sum.remove_product(1e150, 1e150);
        sum.carry();
        assert_eq!(sum.times_square(1.0), 9.0);
        sum.remove_product(3.0, 3.0);
        sum.carry();
        assert!((sum.times_square(1e150) - 1.0).abs() < 1e-15);
        sum.remove_product(1e-150, 1e-150);
        sum.carry();
        assert_eq!(sum, ExactSum::default());
    }

    #[test]
    fn a_factor_brings_the_ends_of_the_range_back() {
        let largest = of(&[f64::MAX]).times_square(1.0 / f64::MAX);
        assert!((largest - 1.0).abs() < 1e-15, "{largest}");
        let smallest = of(&[5e-324; 9]).times_square(1e300) / (1e300 * 5e-324_f64).powi(2);
        assert!((smallest / 9.0 - 1.0).abs() < 1e-14, "{smallest}");
    }

    #[test]
    fn the_wild_are_counted() {
        let mut sum = of(&[1.0, f64::INFINITY, f64::NAN]);
        assert_eq!(sum.times_square(1.0), f64::INFINITY);
        sum.remove_product(f64::NAN, f64::NAN);
        sum.remove_product(f64::INFINITY, f64::INFINITY);
        assert_eq!(sum.times_square(1.0), 1.0);
    }

    #[test]
    fn more_squares_than_can_wait_are_added_up() {
        let largest = 2.0_f64.next_down();
        for waiting in 0..10 {
            let mut squares = Squares { terms: TOGETHER - waiting, ..Squares::new() };
            (0..10).for_each(|_| squares.add(largest));
            assert_eq!(squares.sum(), of(&[largest; 10]), "{waiting}");
        }
    }

    #[test]
    fn carries_may_wait_long() {
        let mut sum = ExactSum { waiting: PATIENCE - 3, ..ExactSum::default() };
        (0..5).for_each(|_| sum.add_product(1.5, 1.5));
        assert_eq!(sum.waiting, 2);
        sum.carry();
        assert_eq!(sum.times_square(2.0), 45.0);
    }
}
