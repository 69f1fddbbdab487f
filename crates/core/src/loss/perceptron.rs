//! Perceptron loss: [−yp]₊, whose gradient step is the Perceptron's update.

use super::{Kink, Labels, Loss, Tangent};
use crate::request::{Asked, Refusal, Request};
use serde::{Deserialize, Serialize};

/// φ(p, y) = [−yp]₊, slope −y while yp ≤ 0 and 0 after, conjugate 0 on ay ∈ [−1, 0]. 1-Lipschitz.
/// A tie (yp = 0) costs nothing but has the slope −y: the Perceptron updates on it.
///
/// ```
/// use rueful_core::loss::{Loss, PerceptronLoss};
/// let at = PerceptronLoss {}.at(0.0, 1.0);
/// assert_eq!((at.value, at.slope), (0.0, -1.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PerceptronLoss {}

impl PerceptronLoss {
    #[inline]
    fn two_lines(&self, label: f64) -> Kink {
        Kink::signed(label, 0.0)
    }
}

impl Asked for PerceptronLoss {
    fn ask(_request: &Request<'_>) -> Result<Self, Refusal> {
        Ok(Self {})
    }
}

impl Loss for PerceptronLoss {
    #[inline]
    fn at(&self, prediction: f64, label: f64) -> Tangent {
        let wrong = -label * prediction;
        if wrong >= 0.0 {
            Tangent { value: wrong, slope: -label }
        } else {
            Tangent { value: 0.0, slope: 0.0 }
        }
    }

    fn conjugate(&self, slope: f64, label: f64) -> f64 {
        if (-1.0..=0.0).contains(&(slope * label)) { 0.0 } else { f64::INFINITY }
    }

    of_two_lines!();

    fn lipschitz(&self) -> Option<f64> {
        Some(1.0)
    }

    fn labels(&self) -> Labels {
        Labels::Signs
    }

    fn moves_as_the_perceptron(&self) -> bool {
        true
    }
}
