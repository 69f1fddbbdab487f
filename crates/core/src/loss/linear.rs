//! Linear loss: c·p, where the stream chooses the slope c. The games in the notes use this loss.

use super::{Labels, Loss, Tangent};
use crate::request::{Asked, Refusal, Request};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// φ(p, c) = c·p, with the slope c in place of the label. The conjugate is 0 at a = c and infinite
/// elsewhere. It is |c|-Lipschitz, so no constant serves all streams.
///
/// ```
/// use rueful_core::loss::{Linear, Loss};
/// let at = Linear {}.at(3.0, -0.5);
/// assert_eq!((at.value, at.slope), (-1.5, -0.5));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Linear {}

impl Asked for Linear {
    fn ask(_request: &Request<'_>) -> Result<Self, Refusal> {
        Ok(Self {})
    }
}

impl Loss for Linear {
    #[inline]
    fn at(&self, prediction: f64, label: f64) -> Tangent {
        Tangent { value: label * prediction, slope: label }
    }

    fn conjugate(&self, slope: f64, label: f64) -> f64 {
        if slope == label { 0.0 } else { f64::INFINITY }
    }

    #[inline]
    fn prox(&self, _prediction: f64, label: f64, _q: f64) -> f64 {
        label
    }

    fn slopes(&self, label: f64) -> RangeInclusive<f64> {
        label..=label
    }

    fn lipschitz(&self) -> Option<f64> {
        None
    }

    fn steepest(&self, _prediction: f64, label: f64) -> f64 {
        label
    }

    fn labels(&self) -> Labels {
        Labels::Numbers
    }

    fn is_nonnegative(&self) -> bool {
        false
    }

    fn is_linear(&self) -> bool {
        true
    }
}
