//! A compensated sum: Neumaier's compensation without its branch.
//!
//! Every addition is split into the rounded sum and the exact error of that rounding (Knuth's
//! two-sum). The errors are added up separately. The error of the result is a few units in the last
//! place of Σ|xᵢ|, however many terms there are.

use rueful_machine::Fours;
use serde::{Deserialize, Serialize};

/// A compensated running sum.
///
/// ```
/// use rueful_core::Sum;
/// let mut sum = Sum::default();
/// for term in [1e16, 1.0, -1e16] {
///     sum.add(term);
/// }
/// assert_eq!(sum.value(), 1.0);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Sum {
    rounded: f64,
    lost: f64,
}

impl Sum {
    /// Adds one term.
    #[inline]
    pub fn add(&mut self, term: f64) {
        let total = self.rounded + term;
        let taken = total - self.rounded;
        let lost = (self.rounded - (total - taken)) + (term - taken);
        self.rounded = total;
        self.lost += lost;
    }

    /// Adds terms. The result is the same as if they were added one by one. Whole numbers may be
    /// added in any order, because their sums are exact, and so they are added side by side.
    pub fn add_all(&mut self, terms: &[f64]) {
        let are_small = terms.len() < 1 << 31;
        if !(are_small && self.is_whole() && terms.iter().fold(true, |all, &t| all & is_small(t))) {
            return self.extend(terms.iter().copied());
        }
        let (fours, rest) = terms.as_chunks::<4>();
        let mut totals = [0.0; 4];
        for four in fours {
            (0..4).for_each(|lane| totals[lane] += four[lane]);
        }
        self.add(totals.into_iter().chain(rest.iter().copied()).sum());
    }

    /// Whether the sum is a whole number, so that adding ones one by one or at once is exact.
    pub(crate) fn is_whole(self) -> bool {
        let limit = (1_u64 << 52) as f64;
        self.lost == 0.0 && self.rounded == self.rounded.trunc() && self.rounded.abs() < limit
    }

    /// The sum so far.
    #[inline]
    pub fn value(self) -> f64 {
        self.rounded + self.lost
    }

    /// Adds another sum, compensation included.
    pub fn merge(&mut self, other: Self) {
        self.add(other.rounded);
        self.lost += other.lost;
    }

    /// The difference between this sum and an earlier state of it.
    pub fn since(mut self, earlier: Self) -> Self {
        self.add(-earlier.rounded);
        self.lost -= earlier.lost;
        self
    }
}

/// Whether a number is whole and so small that 2³¹ of them, and a sum that is whole, have an exact sum.
fn is_small(number: f64) -> bool {
    /// 1.5·2^52. Adding it rounds to a whole number.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    (number.abs() <= 1024.0) & ((number + ROUND) - ROUND == number)
}

impl Extend<f64> for Sum {
    fn extend<I: IntoIterator<Item = f64>>(&mut self, terms: I) {
        terms.into_iter().for_each(|term| self.add(term));
    }
}

impl FromIterator<f64> for Sum {
    fn from_iter<I: IntoIterator<Item = f64>>(terms: I) -> Self {
        let mut sum = Self::default();
        sum.extend(terms);
        sum
    }
}

/// Four compensated sums side by side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "[Sum; 4]", into = "[Sum; 4]")]
pub(crate) struct FourSums {
    rounded: [f64; 4],
    lost: [f64; 4],
}

impl FourSums {
    /// Adds one term to each sum.
    #[inline(always)]
    pub(crate) fn add<F: Fours>(&mut self, terms: F) {
        let rounded = F::load(&self.rounded);
        let total = rounded + terms;
        let taken = total - rounded;
        let lost = (rounded - (total - taken)) + (terms - taken);
        total.store(&mut self.rounded);
        (F::load(&self.lost) + lost).store(&mut self.lost);
    }

    /// One of the four sums.
    pub(crate) fn get(&self, place: usize) -> Sum {
        Sum { rounded: self.rounded[place], lost: self.lost[place] }
    }

    /// Adds other sums, compensation included.
    pub(crate) fn merge(&mut self, other: Self) {
        let mut sums = <[Sum; 4]>::from(*self);
        sums.iter_mut().zip(<[Sum; 4]>::from(other)).for_each(|(sum, other)| sum.merge(other));
        *self = sums.into();
    }
}

impl From<FourSums> for [Sum; 4] {
    fn from(sums: FourSums) -> Self {
        std::array::from_fn(|place| sums.get(place))
    }
}

impl From<[Sum; 4]> for FourSums {
    fn from(sums: [Sum; 4]) -> Self {
        Self { rounded: sums.map(|sum| sum.rounded), lost: sums.map(|sum| sum.lost) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_million_additions_stay_honest() {
        // 0.1 is not a binary fraction. The plain sum drifts to 9999999.98, and the compensated one
        // must be the correctly rounded product.
        let mut sum = Sum::default();
        let mut plain = 0.0;
        for _ in 0..100_000_000 {
            sum.add(0.1);
            plain += 0.1;
        }
        let exact = 0.1 * 1e8;
        assert!((sum.value() - exact).abs() <= 4.0 * f64::EPSILON * exact, "{}", sum.value());
        assert!((plain - exact) / exact > 1e-10 || (exact - plain) / exact > 1e-10);
    }

    #[test]
    fn four_sums_are_sums_side_by_side() {
        let terms = [[1e16, 0.1, -3.0, 7.5], [1.0, 0.1, 1e-20, -7.5], [-1e16, 0.1, 3.0, 1e-9]];
        let (mut four, mut alone) = (FourSums::default(), [Sum::default(); 4]);
        for terms in terms {
            four.add(<rueful_machine::Array<f64, 4> as rueful_machine::Numbers>::load(&terms));
            alone.iter_mut().zip(terms).for_each(|(sum, term)| sum.add(term));
        }
        assert_eq!(<[Sum; 4]>::from(four), alone);
        let mut twice = four;
        twice.merge(four);
        alone.iter_mut().for_each(|sum| sum.merge(*sum));
        assert_eq!(twice, alone.into());
    }

    #[test]
    fn terms_at_once_are_terms_one_by_one() {
        let signs: Vec<f64> = (0..23).map(|t| if t % 3 == 0 { 1.0 } else { -1.0 }).collect();
        let whole: Vec<f64> = (0..9).map(|t| f64::from(t) * 128.0 - 500.0).collect();
        let parts: Vec<f64> = (0..13).map(|t| f64::from(t) * 0.1).collect();
        let mixed = [1.0, 0.5, -3.0, 1e16, 0.1, 1.0, -1e16, 7.0, -0.0];
        for start in [0.0, 17.0, -0.3, 1e15, 1e17] {
            for terms in [&signs[..], &whole, &parts, &mixed, &[-0.0], &[], &[1025.0, 0.3]] {
                let mut at_once: Sum = [start].into_iter().collect();
                let mut singly = at_once;
                at_once.add_all(terms);
                terms.iter().for_each(|&term| singly.add(term));
                let bits = |sum: Sum| (sum.rounded.to_bits(), sum.lost.to_bits());
                assert_eq!(bits(at_once), bits(singly), "{start} and {terms:?}");
            }
        }
    }

    #[test]
    fn merging_and_taking_the_difference_are_inverse() {
        let front: Sum = [1e16, 3.0, -7.5].into_iter().collect();
        let back: Sum = [1.0, -1e16, 0.25].into_iter().collect();
        let mut whole = front;
        whole.merge(back);
        assert_eq!(whole.value(), -3.25);
        assert_eq!(whole.since(front).value(), back.value());
    }
}
