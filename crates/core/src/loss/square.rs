//! Square loss: (p − y)², the usual loss of regression.

use super::{Labels, Loss, Tangent};
use crate::request::{Asked, Refusal, Request};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// φ(p, y) = (p − y)², slope 2(p − y), conjugate a²/4 + a·y.
///
/// It is not Lipschitz on the whole line. With ‖w‖ ≤ U, ‖x‖ ≤ X and |y| ≤ UX the slope is at most
/// 4UX, and the gradient at most 4UX², as in the notes.
///
/// ```
/// use rueful_core::loss::{Loss, Square};
/// let at = Square {}.at(3.0, 1.0);
/// assert_eq!((at.value, at.slope), (4.0, 4.0));
/// let (radius, norm) = (3.0, 0.5);
/// assert_eq!(Square {}.steepest(radius * norm, radius * norm), 4.0 * radius * norm);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Square {}

impl Asked for Square {
    fn ask(_request: &Request<'_>) -> Result<Self, Refusal> {
        Ok(Self {})
    }
}

impl Loss for Square {
    #[inline(always)] // It is called in the loop over rows.
    fn at(&self, prediction: f64, label: f64) -> Tangent {
        let miss = prediction - label;
        Tangent { value: miss * miss, slope: 2.0 * miss }
    }

    fn conjugate(&self, slope: f64, label: f64) -> f64 {
        slope * slope / 4.0 + slope * label
    }

    #[inline]
    fn prox(&self, prediction: f64, label: f64, q: f64) -> f64 {
        (prediction - label) / (0.5 + q)
    }

    #[inline]
    fn curvature(&self, _prediction: f64, _label: f64) -> f64 {
        2.0
    }

    fn slopes(&self, _label: f64) -> RangeInclusive<f64> {
        f64::NEG_INFINITY..=f64::INFINITY
    }

    fn lipschitz(&self) -> Option<f64> {
        None
    }

    fn steepest(&self, prediction: f64, label: f64) -> f64 {
        2.0 * (prediction + label)
    }

    fn labels(&self) -> Labels {
        Labels::Numbers
    }

    fn is_square(&self) -> bool {
        true
    }
}
