//! Bounds that hold with rounding included.
//!
//! An operation on doubles is off by half a unit in the last place of its result. So the next
//! number upwards or downwards is a bound on the exact result, also where it underflows. Sums of
//! many numbers are off by what [`grain`] says, relative to Σ|v_i|.

use rueful_core::Sum;

/// 2⁵² times the smallest double, and so more than the error of an operation that underflows.
pub(crate) const TINY: f64 = f64::MIN_POSITIVE;

/// How far off a compensated sum of n numbers is, relative to Σ|v_i|, when each of them is off by
/// up to a dozen roundings of itself. This counts those roundings, and the roundings of the errors,
/// which are of second order.
pub(crate) fn grain(n: u64) -> f64 {
    f64::EPSILON * (16.0 + f64::EPSILON * (n as f64) * (n as f64))
}

/// ‖v‖, rounded up. It holds even if every entry is off by two roundings of itself.
///
/// The entries are brought to the size of 1 by a power of two, so that no square that matters
/// underflows, and none overflows.
pub(crate) fn norm_above(v: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = v.clone().fold(0.0_f64, |most, v| if v.abs() > most { v.abs() } else { most });
    let is_finite = v.clone().all(f64::is_finite);
    if largest == 0.0 || !is_finite {
        return if is_finite { 0.0 } else { f64::INFINITY };
    }
    let unit = inverse_power_of_two(largest);
    let mut n = 0;
    let mut squares = Sum::default();
    for v in v {
        squares.add((v * unit) * (v * unit));
        n += 1;
    }
    let squares = squares.value() * (1.0 + grain(n));
    (squares.sqrt() / unit).next_up()
}

/// 2^(−k) where 2^k ≤ |number| < 2^(k+1), except at the ends of the range of doubles.
fn inverse_power_of_two(number: f64) -> f64 {
    let exponent = (number.to_bits() >> 52) & 0x7FF;
    f64::from_bits((2046 - exponent.min(2045)) << 52)
}

/// sup over 0 ≤ v ≤ r of v·m − (κ/2)v², rounded up, for m and κ of at least 0. The end r may be
/// infinite.
pub(crate) fn gain_above(r: f64, m: f64, curvature: f64) -> f64 {
    if m == 0.0 || r == 0.0 {
        return 0.0;
    }
    let flat = (r * m).next_up();
    if curvature == 0.0 {
        return flat;
    }
    if (curvature * r).next_up() <= m {
        let bend = 0.5 * (curvature * (r * r).next_down()).next_down();
        return (flat - bend.next_down()).next_up();
    }
    // Either the maximum of the curve lies inside, or the maximum without an end is an upper bound.
    let free = 0.5 * ((m / curvature).next_up() * m).next_up();
    free.next_up().min(flat)
}

/// (κ/2)r², rounded up.
pub(crate) fn penalty_above(curvature: f64, r: f64) -> f64 {
    if curvature == 0.0 || r == 0.0 {
        return 0.0;
    }
    (0.5 * ((curvature * r).next_up() * r).next_up()).next_up()
}

/// a + b, rounded up. Adding 0 rounds nothing.
pub(crate) fn sum_above(a: f64, b: f64) -> f64 {
    if b == 0.0 { a } else { (a + b).next_up() }
}

/// σT, rounded down and up.
pub(crate) fn curvatures(sigma: f64, rounds: u64) -> (f64, f64) {
    let product = sigma * rounds as f64;
    if product == 0.0 { (0.0, 0.0) } else { (product.next_down(), product.next_up()) }
}

/// A bound from below. If it is not a number, it becomes −∞.
pub(crate) fn or_nothing_below(bound: f64) -> f64 {
    if bound.is_nan() { f64::NEG_INFINITY } else { bound }
}

/// A bound from above. If it is not a number, it becomes ∞.
pub(crate) fn or_nothing_above(bound: f64) -> f64 {
    if bound.is_nan() { f64::INFINITY } else { bound }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::{Exact, norm_sq};
    use rueful_checks::Rng;

    /// A random number of any size between 2^−k and 2^k.
    fn any_size(rng: &mut Rng, k: f64) -> f64 {
        rng.between(-k, k).exp2() * (1.0 + rng.unit())
    }

    fn square(number: f64) -> Exact {
        Exact::from(number) * number.into()
    }

    #[test]
    fn norms_are_never_too_small_and_hardly_too_large() {
        let rng = &mut Rng::new(1);
        for round in 0..3000 {
            let scale = any_size(rng, 1000.0);
            let length = 1 + round % 9;
            let v: Vec<f64> = (0..length).map(|_| scale * rng.bell()).collect();
            let norm = norm_above(v.iter().copied());
            // Every entry may be two roundings longer than it looks.
            let two_roundings = Exact::from(1.0) + Exact::from(f64::EPSILON);
            let longer = two_roundings.clone() * two_roundings * norm_sq(&v);
            assert!(square(norm) >= longer, "{v:?}");
            assert!(square(norm * (1.0 - 1e-14)) <= norm_sq(&v), "{v:?}");
        }
        // These are numbers whose squares underflow or overflow, and one that is not a number.
        let smallest = f64::from_bits(1);
        assert!(norm_above([smallest, smallest].into_iter()) >= 2.0 * smallest);
        assert!(norm_above([f64::MAX, f64::MAX].into_iter()) == f64::INFINITY);
        assert!(norm_above([f64::NAN, 1.0].into_iter()) == f64::INFINITY);
        assert_eq!(norm_above([0.0].into_iter()), 0.0);
    }

    /// v·m − (κ/2)v²
    fn value(v: f64, m: f64, curvature: f64) -> Exact {
        Exact::from(v) * m.into() - Exact::from(0.5 * curvature) * square(v)
    }

    #[test]
    fn gains_are_never_too_small_and_hardly_too_large() {
        let rng = &mut Rng::new(2);
        for round in 0..6000 {
            let size = if round % 2 == 0 { 3.0 } else { 300.0 };
            let (r, m) = (any_size(rng, size), any_size(rng, size));
            // These are no curvature, so little that the maximum is at the end, and any amount of
            // it.
            let curvature = match round % 3 {
                0 => 0.0,
                1 => (m / r) * rng.unit(),
                _ => any_size(rng, size),
            };
            let gain = gain_above(r, m, curvature);
            let inside = if curvature > 0.0 { (m / curvature).min(r) } else { r };
            for v in [r.min(inside), inside * rng.unit(), r * rng.unit()] {
                assert!(value(v, m, curvature) <= gain.into(), "{r} {m} {curvature} {v}");
            }
            let best = value(inside, m, curvature);
            assert!(Exact::from(gain * (1.0 - 1e-13)) <= best, "{r} {m} {curvature}");
        }
        assert!(gain_above(f64::INFINITY, 1e-170, 1e-100) >= 0.4e-240);
        assert_eq!(gain_above(f64::INFINITY, 1.0, 0.0), f64::INFINITY);
        assert_eq!(gain_above(f64::INFINITY, 0.0, 0.0), 0.0);
    }

    #[test]
    fn penalties_and_curvatures_are_rounded_outwards() {
        let rng = &mut Rng::new(3);
        for _ in 0..3000 {
            let (sigma, r) = (any_size(rng, 300.0), any_size(rng, 300.0));
            let rounds = 1 + rng.below(1 << 40) as u64;
            let (least, most) = curvatures(sigma, rounds);
            let exact = Exact::from(sigma) * (rounds as f64).into();
            assert!(Exact::from(least) <= exact && exact <= most.into());
            let penalty = Exact::from(0.5) * exact * square(r);
            assert!(penalty <= penalty_above(most, r).into());
            assert!(Exact::from(0.5 * sigma) * square(r) <= penalty_above(sigma, r).into());
        }
        assert!(penalty_above(1.0, 1e-200) > 0.0);
    }

    #[test]
    fn billions_of_additions_lose_more_than_a_dozen_roundings() {
        // The sum of 2⁵³, of 2³⁰ ones and of 2³⁰ numbers 2⁻²³. A one is half a unit in the last
        // place of 2⁵³: it is counted among the errors. There 2⁻²³ is half a unit in the last place
        // of 2³⁰: it is lost. All additions of a kind do the same, so a few of them are enough.
        let (large, many, small) = (53_f64.exp2(), 30_f64.exp2(), (-23_f64).exp2());
        let state = |lost: f64| -> Sum {
            let fields = serde_json::json!({ "rounded": large, "lost": lost });
            serde_json::from_value(fields).unwrap()
        };
        let after = |mut sum: Sum, term: f64| {
            sum.add(term);
            sum
        };
        for ones in [0.0, 1.0, 12345.0, many - 1.0] {
            assert_eq!(after(state(ones), 1.0), state(ones + 1.0));
        }
        assert_eq!(after(state(many), small), state(many));
        let exact = Exact::from(large) + Exact::from(many) + Exact::from(many) * Exact::from(small);
        let error = exact.clone() - state(many).value().into();
        assert_eq!(error, Exact::from(128.0));
        assert!(error <= Exact::from(grain(1 + (1 << 31))) * exact);
    }

    #[test]
    fn gains_and_penalties_below_the_normal_numbers_are_never_too_small() {
        // The square of r is 0.6 of the least double and comes out as all of it.
        let (r, curvature) = (0.775 * (-537_f64).exp2(), 1000_f64.exp2());
        let m = (curvature * r).next_up();
        assert!(value(r, m, curvature) <= gain_above(r, m, curvature).into());
        // The square of m is 10⁻⁴⁰⁰, and half the least double comes out as 0.
        for r in [1.0, f64::INFINITY] {
            assert!(gain_above(r, 1e-200, 1.0) > 0.0);
        }
        // The curvature times 256.5 comes out as 256 times the least double.
        let (r, least) = (256.5, f64::from_bits(1));
        let penalty = Exact::from(0.5) * Exact::from(least) * square(r);
        assert!(penalty <= penalty_above(least, r).into());
    }

    #[test]
    fn a_sum_is_never_too_small() {
        for (a, b) in [(1.0, 1e-20), (-1.0, 1e-20), (1e16, 1.0), (-1e16, 0.9)] {
            assert!(Exact::from(a) + Exact::from(b) <= sum_above(a, b).into(), "{a} {b}");
        }
        assert_eq!(sum_above(1.0, 0.0), 1.0);
    }
}
