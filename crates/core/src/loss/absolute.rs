//! Absolute loss: |p − y|, for regression that outliers cannot dominate.

use super::{Kink, Labels, Loss, Tangent};
use crate::request::{Asked, Refusal, Request};
use serde::{Deserialize, Serialize};

/// φ(p, y) = |p − y|, slope sgn(p − y) and 0 at p = y, conjugate a·y on |a| ≤ 1. 1-Lipschitz.
///
/// ```
/// use rueful_core::loss::{Absolute, Loss};
/// assert_eq!(Absolute {}.at(0.5, 2.0).slope, -1.0);
/// assert_eq!(Absolute {}.at(2.0, 2.0).slope, 0.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Absolute {}

impl Absolute {
    #[inline]
    fn two_lines(&self, label: f64) -> Kink {
        Kink { at: label, low: -1.0, high: 1.0 }
    }
}

impl Asked for Absolute {
    fn ask(_request: &Request<'_>) -> Result<Self, Refusal> {
        Ok(Self {})
    }
}

impl Loss for Absolute {
    #[inline]
    fn at(&self, prediction: f64, label: f64) -> Tangent {
        let miss = prediction - label;
        let slope = if miss == 0.0 { 0.0 } else { miss.signum() };
        Tangent { value: miss.abs(), slope }
    }

    fn conjugate(&self, slope: f64, label: f64) -> f64 {
        if slope.abs() <= 1.0 { slope * label } else { f64::INFINITY }
    }

    of_two_lines!();

    fn lipschitz(&self) -> Option<f64> {
        Some(1.0)
    }

    fn labels(&self) -> Labels {
        Labels::Numbers
    }
}
