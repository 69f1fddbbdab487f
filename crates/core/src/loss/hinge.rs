//! Hinge loss: [1 − yp]₊, a convex upper bound of the zero-one loss.

use super::{Kink, Labels, Loss, Tangent};
use crate::request::{Asked, Refusal, Request};
use serde::{Deserialize, Serialize};

/// φ(p, y) = [1 − yp]₊, slope −y while yp ≤ 1 and 0 after, conjugate a·y on ay ∈ [−1, 0].
/// 1-Lipschitz. At the kink yp = 1 we choose the slope −y among the valid ones.
///
/// ```
/// use rueful_core::loss::{Hinge, Loss};
/// let at = Hinge {}.at(0.25, 1.0);
/// assert_eq!((at.value, at.slope), (0.75, -1.0));
/// assert_eq!(Hinge {}.at(1.0, 1.0).slope, -1.0);
/// assert_eq!(Hinge {}.at(1.5, 1.0).slope, 0.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hinge {}

/// The tangent where yp > 1: nothing is lost, and nothing can be learned.
///
/// This is a function of its own so that the kink stays a branch; it is marked cold although it is
/// not rare. The processor then guesses the side and works on the step before the prediction is
/// known. A branchless choice between the two slopes would make every step wait, and compilers
/// prefer such a choice when they can.
#[cold]
#[inline(never)]
fn beyond_the_margin() -> Tangent {
    Tangent { value: 0.0, slope: 0.0 }
}

impl Hinge {
    #[inline]
    fn two_lines(&self, label: f64) -> Kink {
        Kink::signed(label, 1.0)
    }
}

impl Asked for Hinge {
    fn ask(_request: &Request<'_>) -> Result<Self, Refusal> {
        Ok(Self {})
    }
}

impl Loss for Hinge {
    #[inline(always)] // It is called in the loop over rows.
    fn at(&self, prediction: f64, label: f64) -> Tangent {
        let short = 1.0 - label * prediction;
        if short >= 0.0 { Tangent { value: short, slope: -label } } else { beyond_the_margin() }
    }

    fn conjugate(&self, slope: f64, label: f64) -> f64 {
        if (-1.0..=0.0).contains(&(slope * label)) { slope * label } else { f64::INFINITY }
    }

    of_two_lines!();

    fn lipschitz(&self) -> Option<f64> {
        Some(1.0)
    }

    fn labels(&self) -> Labels {
        Labels::Signs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The conjugate is infinite from the first double outside its domain on: a line that is any
    /// steeper rises above the loss somewhere.
    #[test]
    fn the_conjugate_ends_where_the_slopes_do() {
        for label in [1.0, -1.0] {
            let conjugate = |b: f64| Hinge {}.conjugate(-b * label, label);
            for inside in [0.0, f64::from_bits(1), 1e-9, 0.3, 1.0_f64.next_down(), 1.0] {
                assert_eq!(conjugate(inside), -inside);
            }
            for outside in [-1.0, -1e-9, -f64::from_bits(1), 1.0_f64.next_up(), 1.0 + 1e-10, 2.0] {
                assert_eq!(conjugate(outside), f64::INFINITY, "{outside:e}");
            }
        }
    }
}
