//! Exponential and logarithm of our own.
//!
//! Those of the standard library are those of the system, and differ from one to the next in the last
//! bit. What is learned here is to be the same everywhere: these use additions, multiplications,
//! divisions and shifts of bits only.

use super::eight::Eight;
use std::f64::consts::{LN_2, LOG2_E, SQRT_2};

/// e^x of eight numbers, to some units in the last place; x is taken to lie within ±87.
#[inline(always)]
pub(super) fn exp_eight(x: Eight) -> Eight {
    // Adding 1.5·2^23 leaves the nearest whole number n in the last bits.
    const ROUND: f32 = 12_582_912.0;
    let all = Eight::all;
    let t = (x * all(std::f32::consts::LOG2_E)).within(126.0);
    let m = t + all(ROUND);
    let f = (t - (m - all(ROUND))) * all(std::f32::consts::LN_2);
    let f2 = f * f;
    // 1 + f + f²/2! + … + f⁶/6!
    let low = f + Eight::ONE;
    let middle = f * all(1.0 / 6.0) + all(0.5);
    let high = f * all(1.0 / 120.0) + all(1.0 / 24.0) + f2 * all(1.0 / 720.0);
    (low + f2 * (middle + f2 * high)) * m.map(two_to_the)
}

/// 2^n from n + 1.5·2^23, for |n| ≤ 126.
#[inline(always)]
fn two_to_the(m: f32) -> f32 {
    const BIAS: u32 = 127;
    f32::from_bits(m.to_bits().wrapping_sub(0x4B40_0000 - BIAS) << 23)
}

/// 1/(1 + e^{−z}) of eight numbers.
#[inline(always)]
pub(super) fn sigmoid_eight(z: Eight) -> Eight {
    Eight::ONE / (exp_eight(Eight::ZERO - z) + Eight::ONE)
}

/// e^x, to about a unit in the last place; x is taken to lie within ±700.
#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5·2^52
    const BIAS: u64 = 1023;
    const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
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
const INVERSE_FACTORIALS: [f64; 13] = {
    let mut all = [1.0; 13];
    let mut factorial = 1.0;
    let mut k = 1;
    while k < 13 {
        factorial *= k as f64;
        all[k] = 1.0 / factorial;
        k += 1;
    }
    all
};

/// ln x for a normal x > 0, to about a unit in the last place.
#[inline(always)]
pub(super) fn ln(x: f64) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as f64 - 1023.0;
    let mut m = f64::from_bits((bits & MANTISSA) | (1023 << 52));
    if m > SQRT_2 {
        m *= 0.5;
        exponent += 1.0;
    }
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

    proptest! {
        #[test]
        fn exponentials_are_close(x in -87.0..87.0f32, wide in -700.0..700.0f64) {
            let found = f64::from(exp_eight(Eight::all(x)).0[3]);
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
            let found = f64::from(sigmoid_eight(Eight::all(z)).0[0]);
            prop_assert!((found - exact).abs() < 5e-6 * exact);
        }
    }

    #[test]
    fn the_ends_are_finite() {
        assert_eq!((exp(0.0), ln(1.0)), (1.0, 0.0));
        for x in [f64::INFINITY, 1e300, -1e300, f64::NEG_INFINITY] {
            assert!(exp(x).is_finite() && exp(x) > 0.0);
        }
        for x in [f32::MAX, -f32::MAX, 0.0] {
            assert!(exp_eight(Eight::all(x)).is_finite());
        }
        assert_eq!(sigmoid_eight(Eight::ZERO).0, [0.5; 8]);
    }
}
