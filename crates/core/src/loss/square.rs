//! Square loss: (p − y)², the loss of regression.

use super::{Labels, Loss, Tangent};
use crate::number::Positive;
use serde::{Deserialize, Serialize};

/// φ(p, y) = (p − y)², slope 2(p − y), conjugate a²/4 + a·y.
///
/// Not Lipschitz on the whole line; with ‖w‖ ≤ U, ‖x‖ ≤ X and |y| ≤ UX the gradient is bounded by
/// 4UX² (see [`Square::gradient_bound`]).
///
/// ```
/// use rueful_core::loss::{Loss, Square};
/// let at = Square {}.at(3.0, 1.0);
/// assert_eq!((at.value, at.slope), (4.0, 4.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Square {}

impl Square {
    /// G = 4UX², the notes' bound on ‖∇ℓ‖ when ‖w‖ ≤ U, ‖x‖ ≤ X and |y| ≤ UX.
    pub fn gradient_bound(radius: Positive, example_norm: Positive) -> f64 {
        4.0 * radius.get() * example_norm.get() * example_norm.get()
    }
}

impl Loss for Square {
    #[inline]
    fn at(&self, prediction: f64, label: f64) -> Tangent {
        let miss = prediction - label;
        Tangent { value: miss * miss, slope: 2.0 * miss }
    }

    fn conjugate(&self, slope: f64, label: f64) -> f64 {
        slope * slope / 4.0 + slope * label
    }

    fn lipschitz(&self) -> Option<f64> {
        None
    }

    fn labels(&self) -> Labels {
        Labels::Numbers
    }
}
