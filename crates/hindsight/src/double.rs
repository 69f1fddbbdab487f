//! Numbers of twice the usual precision, each the sum of two doubles.
//!
//! Additions find the rounding of their result exactly (Knuth), and so do products (Dekker,
//! Veltkamp). They use plain operations only, so that every processor computes the same. A sum or a
//! product of two such numbers is off by a few ε² of the sizes of its operands.

use serde::{Deserialize, Serialize};

/// A number of twice the precision.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Double {
    /// The number, rounded.
    pub(crate) high: f64,
    /// The number less its rounded value.
    pub(crate) low: f64,
}

impl Double {
    /// a·b, exactly, unless something underflows.
    #[inline]
    pub(crate) fn product(a: f64, b: f64) -> Self {
        let high = a * b;
        let ((a, a_rest), (b, b_rest)) = (halves(a), halves(b));
        let low = a_rest * b_rest - (((high - a * b) - a_rest * b) - a * b_rest);
        // The halves of a number that is nearly infinite are not numbers.
        Self { high, low: if low.is_finite() { low } else { f64::NAN } }
    }

    #[inline]
    pub(crate) fn plus(self, other: Self) -> Self {
        let (high, rest) = two_sum(self.high, other.high);
        let (high, low) = two_sum(high, rest + (self.low + other.low));
        Self { high, low }
    }

    #[inline]
    pub(crate) fn times(self, factor: f64) -> Self {
        let product = Self::product(self.high, factor);
        let (high, low) = two_sum(product.high, product.low + self.low * factor);
        Self { high, low }
    }

    /// The number, rounded.
    #[inline]
    pub(crate) fn value(self) -> f64 {
        self.high + self.low
    }
}

/// a + b, rounded, and the rounding error.
#[inline(always)]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let taken = sum - a;
    (sum, (a - (sum - taken)) + (b - taken))
}

/// Splits a number into the sum of two numbers of 26 bits each.
#[inline(always)]
fn halves(a: f64) -> (f64, f64) {
    let large = 134_217_729.0 * a;
    let high = large - (large - a);
    (high, a - high)
}

/// Many numbers of twice the precision. The two halves are kept in separate arrays, so that several
/// numbers are added to at once.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Doubles {
    high: Vec<f64>,
    low: Vec<f64>,
}

impl Doubles {
    pub(crate) fn len(&self) -> usize {
        self.high.len()
    }

    /// Whether there are exactly `length` numbers.
    pub(crate) fn is_of(&self, length: usize) -> bool {
        self.high.len() == length && self.low.len() == length
    }

    pub(crate) fn grow(&mut self, length: usize) {
        if length > self.len() {
            self.high.resize(length, 0.0);
            self.low.resize(length, 0.0);
        }
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> Double {
        let (high, low) = two_sum(self.high[at], self.low[at]);
        Double { high, low }
    }

    #[inline]
    pub(crate) fn add_number(&mut self, at: usize, number: f64) {
        let (sum, rest) = two_sum(self.high[at], number);
        self.high[at] = sum;
        self.low[at] += rest;
    }

    #[inline]
    pub(crate) fn add(&mut self, at: usize, number: Double) {
        self.add_number(at, number.high);
        self.low[at] += number.low;
    }

    /// Adds the products of a number with singles to neighbours from `at` on.
    #[inline]
    pub(crate) fn add_multiple(&mut self, at: usize, factor: f64, singles: &[f32]) {
        let range = at..at + singles.len();
        let (high, low) = (&mut self.high[range.clone()], &mut self.low[range]);
        for ((high, low), &single) in high.iter_mut().zip(low).zip(singles) {
            let (sum, rest) = two_sum(*high, factor * f64::from(single));
            *high = sum;
            *low += rest;
        }
    }

    /// Adds as many other numbers, each to the one at its place.
    pub(crate) fn merge(&mut self, other: &Self) {
        (0..other.len()).for_each(|at| self.add(at, other.get(at)));
    }

    /// The numbers at some places, and 0 where the place is `None`.
    pub(crate) fn picked(&self, places: impl Iterator<Item = Option<usize>>) -> Self {
        let at = |place: usize| (self.high[place], self.low[place]);
        let (high, low) = places.map(|place| place.map_or((0.0, 0.0), at)).unzip();
        Self { high, low }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::Exact;
    use rueful_checks::Rng;

    fn exact(number: Double) -> Exact {
        Exact::from(number.high) + Exact::from(number.low)
    }

    /// Asserts that two numbers are apart by at most `part` of a size.
    fn assert_near(a: &Exact, b: &Exact, size: f64, part: f64) {
        let allowed = Exact::from(size) * Exact::from(part);
        assert!(*a <= b.clone() + allowed.clone() && *b <= a.clone() + allowed);
    }

    #[test]
    fn products_are_exact() {
        let rng = &mut Rng::new(1);
        for _ in 0..2000 {
            let (a, b) = (rng.bell() * 1e100, rng.bell() * 1e-90);
            assert!(exact(Double::product(a, b)) == Exact::from(a) * Exact::from(b));
        }
        assert!(Double::product(1e308, 1.0).low.is_nan() || Double::product(1e308, 1.0).low == 0.0);
    }

    #[test]
    fn sums_and_products_are_off_by_a_few_squares_of_the_grain() {
        let rng = &mut Rng::new(2);
        let grain = f64::EPSILON * f64::EPSILON;
        for _ in 0..2000 {
            let (a, b) = (rng.bell(), 1e3 * rng.bell());
            let (p, q) = (Double::product(a, b), Double::product(b, rng.bell()));
            let size = p.high.abs() + q.high.abs();
            assert_near(&exact(p.plus(q)), &(exact(p) + exact(q)), size, 4.0 * grain);
            assert_near(
                &exact(p.times(a)),
                &(exact(p) * Exact::from(a)),
                (p.high * a).abs(),
                8.0 * grain,
            );
        }
    }

    #[test]
    fn long_sums_cancel_and_nothing_is_lost() {
        let rng = &mut Rng::new(3);
        let mut sums = Doubles::default();
        sums.grow(3);
        let mut total = [Exact::zero(), Exact::zero(), Exact::zero()];
        let singles: Vec<[f32; 3]> = (0..3000)
            .map(|_| [rng.bell(), 1e6 * rng.bell(), rng.unit()].map(|x| x as f32))
            .collect();
        for (factor, row) in (0..).map(|_| 1e3_f32 * rng.bell() as f32).zip(&singles) {
            sums.add_multiple(0, factor.into(), row);
            for (total, &x) in total.iter_mut().zip(row) {
                *total = total.clone() + Exact::from(f64::from(factor)) * Exact::from(f64::from(x));
            }
        }
        for (at, total) in total.into_iter().enumerate() {
            let size = [1e3, 1e9, 1e3][at] * 3e4;
            assert_near(&exact(sums.get(at)), &total, size, 3000.0 * 3000.0 * f64::EPSILON.powi(2));
        }
    }
}
