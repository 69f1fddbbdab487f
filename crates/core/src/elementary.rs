//! Our own exponential and logarithm.
//!
//! The functions of the standard library are those of the system, and they differ from one system
//! to another in the last bit. Learning must give the same results everywhere. So these functions
//! use only additions, multiplications, divisions and bit shifts.

use rueful_machine::{Eights, Fours};
use std::f64::consts::{LN_2, LOG2_E, SQRT_2};

/// e^x of eight numbers, to some units in the last place. x must lie within ±87.
#[inline(always)]
pub(crate) fn exp_eight<V: Eights>(x: V) -> V {
    // Adding 1.5·2^23 leaves the nearest integer n in the last bits.
    const ROUND: f32 = 12_582_912.0;
    let all = V::all;
    let t = (x * all(std::f32::consts::LOG2_E)).min(all(126.0)).max(all(-126.0));
    let m = t + all(ROUND);
    let f = (t - (m - all(ROUND))) * all(std::f32::consts::LN_2);
    let f2 = f * f;
    // 1 + f + f²/2! + … + f⁶/6!
    let low = f + all(1.0);
    let middle = f * all(1.0 / 6.0) + all(0.5);
    let high = f * all(1.0 / 120.0) + all(1.0 / 24.0) + f2 * all(1.0 / 720.0);
    (low + f2 * (middle + f2 * high)) * m.power_of_two()
}

/// 1/(1 + e^{−z}) of eight numbers.
#[inline(always)]
pub(crate) fn sigmoid_eight<V: Eights>(z: V) -> V {
    V::all(1.0) / (exp_eight(V::all(0.0) - z) + V::all(1.0))
}

/// 1.5·2^52. Adding it leaves the nearest integer in the last bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// ln 2 in two parts. The first has so few bits that its products with integers are exact.
const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// e^x of four numbers that are at most 0, to two units in the last place. Where e^x is below the
/// range of normal doubles, the error is at most the least double.
#[inline(always)]
pub(crate) fn exp_of_negatives<F: Fours>(x: F) -> F {
    let (all, c) = (F::all, |k: usize| F::all(INVERSE_FACTORIALS[k]));
    let x = x.max(all(-746.0));
    let m = x * all(LOG2_E) + all(ROUND);
    let n = m - all(ROUND);
    let f = (x - n * all(LN_2_HIGH)) - n * all(LN_2_LOW);
    let (f2, f4) = (f * f, f * f * (f * f));
    // e^f = 1 + (f + f²(1/2! + f/3! + … + f¹¹/13!))
    let low = (c(2) + c(3) * f) + f2 * (c(4) + c(5) * f);
    let middle = (c(6) + c(7) * f) + f2 * (c(8) + c(9) * f);
    let high = (c(10) + c(11) * f) + f2 * (c(12) + c(13) * f);
    let power = all(1.0) + (f + f2 * (low + f4 * (middle + f4 * high)));
    // 2^n in two factors, each of which is a normal number.
    let part = m.max(all(ROUND - 1000.0));
    let rest = (m - part) + all(ROUND);
    power * part.power_of_two() * rest.power_of_two()
}

/// ln(1 + x) of four numbers between 0 and 1, to four units in the last place.
#[inline(always)]
pub(crate) fn ln_1p_of_shares<F: Fours>(x: F) -> F {
    let all = F::all;
    // Above √2 − 1 this is ln 2 + ln((1 + x)/2). The rest is the logarithm of (1 + s)/(1 − s),
    // which is 2 artanh s = 2(s + s³/3 + s⁵/5 + …), with |s| < 0.172.
    let halves = x.above(all(SQRT_2 - 1.0), all(1.0), all(0.0));
    let s = (x - halves) / (all(2.0) + halves + x);
    let z = s * s;
    let (z2, z4) = (z * z, z * z * (z * z));
    let low = (all(1.0 / 3.0) + z * all(0.2)) + z2 * (all(1.0 / 7.0) + z * all(1.0 / 9.0));
    let high = (all(1.0 / 11.0) + z * all(1.0 / 13.0))
        + z2 * (all(1.0 / 15.0) + z * all(1.0 / 17.0))
        + z4 * all(1.0 / 19.0);
    let double = s + s;
    halves * all(LN_2) + (double + double * (z * (low + z4 * high)))
}

/// e^x, to about a unit in the last place. x must lie within ±700.
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    const BIAS: u64 = 1023;
    let x = if x > 700.0 { 700.0 } else { x };
    let x = if x > -700.0 { x } else { -700.0 };
    let m = x * LOG2_E + ROUND;
    let n = m - ROUND;
    let f = (x - n * LN_2_HIGH) - n * LN_2_LOW;
    let mut sum = INVERSE_FACTORIALS[12];
    for k in (0..12).rev() {
        sum = sum * f + INVERSE_FACTORIALS[k];
    }
    sum * f64::from_bits(m.to_bits().wrapping_sub(0x4338_0000_0000_0000 - BIAS) << 52)
}

/// 1/k!
const INVERSE_FACTORIALS: [f64; 14] = {
    let mut all = [1.0; 14];
    let mut factorial = 1.0;
    let mut k = 1;
    while k < 14 {
        factorial *= k as f64;
        all[k] = 1.0 / factorial;
        k += 1;
    }
    all
};

/// ln x for a normal x > 0, to about a unit in the last place.
#[inline(always)]
pub(crate) fn ln(x: f64) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    let bits = x.to_bits();
    // The mantissa is brought to between √½ and √2 without a branch, which would be taken by chance.
    let above = u64::from(bits & MANTISSA > SQRT_2.to_bits() & MANTISSA);
    let exponent = ((bits >> 52) + above) as f64 - 1023.0;
    let m = f64::from_bits((bits & MANTISSA) | ((1023 - above) << 52));
    // ln m = 2 artanh s = 2(s + s³/3 + s⁵/5 + …) with |s| < 0.172
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let (z2, z4) = (z * z, z * z * (z * z));
    let low = (1.0 + z * (1.0 / 3.0)) + z2 * (0.2 + z * (1.0 / 7.0));
    let high = (1.0 / 9.0 + z * (1.0 / 11.0))
        + z2 * (1.0 / 13.0 + z * (1.0 / 15.0))
        + z4 * (1.0 / 17.0 + z * (1.0 / 19.0));
    2.0 * s * (low + z4 * high) + exponent * LN_2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rueful_machine::{Array, Numbers};

    type Eight = Array<f32, 8>;
    type Four = Array<f64, 4>;

    /// The difference of two positive numbers, in units in the last place of the second.
    fn units_apart(found: f64, exact: f64) -> f64 {
        (found - exact).abs() / (exact.next_up() - exact)
    }

    fn exp_of(x: f64) -> f64 {
        exp_of_negatives(Four::all(x)).array()[2]
    }

    fn ln_1p_of(x: f64) -> f64 {
        ln_1p_of_shares(Four::all(x)).array()[1]
    }

    proptest! {
        #[test]
        fn exponentials_are_close(x in -87.0..87.0f32, wide in -700.0..700.0f64) {
            let found = f64::from(exp_eight(Eight::all(x)).array()[3]);
            prop_assert!((found / f64::from(x).exp() - 1.0).abs() < 2e-5);
            prop_assert!((exp(wide) / wide.exp() - 1.0).abs() < 1e-15);
        }

        #[test]
        fn logarithms_are_close(x in -700.0..700.0f64) {
            let number = x.exp();
            prop_assert!((ln(number) - number.ln()).abs() < 4e-16 * (1.0 + x.abs()));
        }

        #[test]
        fn sigmoids_are_close(z in -30.0..30.0f32) {
            let exact = 1.0 / (1.0 + (-f64::from(z)).exp());
            let found = f64::from(sigmoid_eight(Eight::all(z)).array()[0]);
            prop_assert!((found - exact).abs() < 5e-6 * exact);
        }
    }

    /// The functions of the system are within one unit themselves.
    #[test]
    fn what_certificates_rest_on_is_close_to_the_last_places() {
        for step in 0..=400_000 {
            let x = -f64::from(step) * (708.0 / 400_000.0);
            assert!(units_apart(exp_of(x), x.exp()) <= 2.0, "{x}");
            let tiny = x.exp();
            assert!(units_apart(ln_1p_of(tiny), tiny.ln_1p()) <= 4.0, "{tiny}");
            let share = f64::from(step) / 400_000.0;
            assert!(units_apart(ln_1p_of(share), share.ln_1p()) <= 4.0, "{share}");
        }
    }

    #[test]
    fn the_ends_are_finite() {
        assert_eq!((exp(0.0), ln(1.0)), (1.0, 0.0));
        for x in [f64::INFINITY, 1e300, -1e300, f64::NEG_INFINITY] {
            assert!(exp(x).is_finite() && exp(x) > 0.0);
        }
        for x in [f32::MAX, -f32::MAX, 0.0] {
            assert!(exp_eight(Eight::all(x)).array()[0].is_finite());
        }
        assert_eq!(sigmoid_eight(Eight::all(0.0)).array(), [0.5; 8]);
        assert_eq!((exp_of(0.0), exp_of(-1e300), exp_of(f64::NEG_INFINITY)), (1.0, 0.0, 0.0));
        assert_eq!(ln_1p_of(0.0), 0.0);
        // Below the normal doubles the unit is the least double.
        for x in [-708.5, -720.0, -740.0, -745.0, -745.2] {
            assert!(units_apart(exp_of(x), f64::exp(x)) <= 1.0, "{x}");
        }
    }
}
