//! Logistic loss: ln(1 + e^{−yp}), the negative log-likelihood of a score.

use super::{Labels, Loss, Tangent};
use crate::elementary::{exp_of_negatives, ln_1p_of_shares};
use crate::request::{Asked, Refusal, Request};
use rueful_machine::Fours;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// φ(p, y) = ln(1 + e^{−yp}), slope −y/(1 + e^{yp}), conjugate b ln b + (1−b) ln(1−b) with
/// b = −ay ∈ [0, 1]. 1-Lipschitz. The formulas are evaluated so that neither tail overflows or
/// loses digits.
///
/// ```
/// use rueful_core::loss::{Logistic, Loss};
/// let at = Logistic {}.at(0.0, 1.0);
/// assert_eq!((at.value, at.slope), (std::f64::consts::LN_2, -0.5));
/// assert_eq!(Logistic {}.at(-800.0, 1.0).value, 800.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Logistic {}

impl Asked for Logistic {
    fn ask(_request: &Request<'_>) -> Result<Self, Refusal> {
        Ok(Self {})
    }
}

impl Loss for Logistic {
    #[inline(always)] // It is called in the loop over rows.
    fn at(&self, prediction: f64, label: f64) -> Tangent {
        let margin = label * prediction;
        // e^{−|m|} ≤ 1 works for both tails.
        let small = (-margin.abs()).exp();
        let wrong = if margin >= 0.0 { small / (1.0 + small) } else { 1.0 / (1.0 + small) };
        Tangent { value: (-margin).max(0.0) + small.ln_1p(), slope: -label * wrong }
    }

    #[inline(always)]
    fn at_each<F: Fours>(&self, predictions: F, label: f64) -> (F, F) {
        let (zero, one) = (F::all(0.0), F::all(1.0));
        let margin = F::all(label) * predictions;
        let small = exp_of_negatives(zero - margin.abs());
        let wrong = zero.above(margin, one, small) / (one + small);
        let value = (zero - margin).max(zero) + ln_1p_of_shares(small);
        (value, F::all(-label) * wrong)
    }

    fn conjugate(&self, slope: f64, label: f64) -> f64 {
        let b = -slope * label;
        if !(0.0..=1.0).contains(&b) {
            return f64::INFINITY;
        }
        // `ln_1p` keeps the digits of a small b. Where b is near 1, 1 − b is exact.
        entropy(b) + if b == 1.0 { 0.0 } else { (1.0 - b) * (-b).ln_1p() }
    }

    /// With b = −ay and s = ln(b/(1−b)) the optimality condition is s + yp + q·b(s) = 0. The
    /// left-hand side increases in s with a slope between 1 and 1 + q/4, and its root lies between
    /// −yp − q and −yp.
    fn prox(&self, prediction: f64, label: f64, q: f64) -> f64 {
        let margin = label * prediction;
        let (mut low, mut high) = (-margin - q, -margin);
        let mut s = 0.5 * (low + high);
        let mut width = high - low;
        for _ in 0..120 {
            let b = sigmoid(s);
            let miss = s + margin + q * b;
            if miss.abs() <= 1e-15 * (1.0 + margin.abs() + q) {
                break;
            }
            if miss > 0.0 {
                high = s;
            } else {
                low = s;
            }
            let newton = s - miss / (1.0 + q * b * (1.0 - b));
            // Newton's steps can jump back and forth between the two flat ends. In that case the
            // interval is halved.
            let shrinks = high - low <= 0.5 * width;
            let inside = low <= newton && newton <= high;
            s = if inside && shrinks { newton } else { 0.5 * (low + high) };
            width = high - low;
        }
        -label * sigmoid(s)
    }

    #[inline]
    fn curvature(&self, prediction: f64, label: f64) -> f64 {
        let wrong = self.at(prediction, label).slope.abs();
        wrong * (1.0 - wrong)
    }

    fn slopes(&self, label: f64) -> RangeInclusive<f64> {
        if label > 0.0 { -1.0..=0.0 } else { 0.0..=1.0 }
    }

    fn lipschitz(&self) -> Option<f64> {
        Some(1.0)
    }

    fn labels(&self) -> Labels {
        Labels::Signs
    }

    /// |a|(1 − |a|)
    #[inline(always)]
    fn curvature_at_slopes<F: Fours>(&self, slopes: F) -> Option<F> {
        let wrong = slopes.abs();
        Some(wrong * (F::all(1.0) - wrong))
    }

    /// 1/(1 + e^{−p}), the probability whose negative logarithm is the loss.
    fn probability(&self, prediction: f64) -> Option<f64> {
        Some(1.0 / (1.0 + (-prediction).exp()))
    }
}

/// b ln b, which is 0 at b = 0.
fn entropy(b: f64) -> f64 {
    if b == 0.0 { 0.0 } else { b * b.ln() }
}

/// 1/(1 + e^{−s})
fn sigmoid(s: f64) -> f64 {
    let small = (-s.abs()).exp();
    if s >= 0.0 { 1.0 / (1.0 + small) } else { small / (1.0 + small) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_tails_keep_their_digits() {
        let far_right = Logistic {}.at(40.0, 1.0);
        assert!((far_right.value / (-40.0_f64).exp() - 1.0).abs() < 1e-15);
        assert!((far_right.slope / -(-40.0_f64).exp() - 1.0).abs() < 1e-15);
        let far_left = Logistic {}.at(-1e300, 1.0);
        assert_eq!((far_left.value, far_left.slope), (1e300, -1.0));
        assert_eq!(Logistic {}.at(1e300, 1.0).value, 0.0);
    }

    /// With b = 1 − e, or b = e, the conjugate is e ln e + (1 − e) ln(1 − e), which is e ln
    /// e − e + e²/2 up to e³. It is 0 at both ends and infinite beyond them.
    #[test]
    fn the_conjugate_keeps_its_digits_near_both_ends() {
        for label in [1.0, -1.0] {
            let conjugate = |b: f64| Logistic {}.conjugate(-b * label, label);
            for power in 18..=53 {
                let e = 0.5_f64.powi(power);
                let exact = e * e.ln() - e + 0.5 * e * e;
                for b in [e, 1.0 - e] {
                    let found = conjugate(b);
                    assert!((found / exact - 1.0).abs() < 1e-11, "{b}: {found:e} {exact:e}");
                }
            }
            assert_eq!((conjugate(0.0), conjugate(1.0)), (0.0, 0.0));
            for outside in [-1.0, -1e-9, -f64::from_bits(1), 1.0_f64.next_up(), 1.0 + 1e-10, 2.0] {
                assert_eq!(conjugate(outside), f64::INFINITY, "{outside:e}");
            }
        }
    }
}
