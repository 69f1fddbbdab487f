//! Quantile (pinball) loss: regression whose best constant is a quantile of the labels.

use super::{Kink, Labels, Loss, Tangent};
use crate::number::OpenUnit;
use crate::request::{Asked, Refusal, Request};
use serde::{Deserialize, Serialize};

/// φ(p, y) = max(τ(y − p), (1−τ)(p − y)): predicting too low costs τ per unit, too high 1 − τ.
/// Slope −τ below the label, 1−τ above it, 0 on it; conjugate a·y on a ∈ [−τ, 1−τ].
/// max(τ, 1−τ)-Lipschitz. With τ = ½ it is half the absolute loss.
///
/// ```
/// use rueful_core::{OpenUnit, loss::{Loss, Quantile}};
/// let ninetieth = Quantile { tau: OpenUnit::new(0.9)? };
/// assert_eq!(ninetieth.at(1.0, 3.0).value, 1.8);
/// # Ok::<(), rueful_core::OutOfRange>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantile {
    /// τ: the share of labels that should lie below the prediction.
    pub tau: OpenUnit,
}

impl Quantile {
    #[inline]
    fn two_lines(&self, label: f64) -> Kink {
        Kink { at: label, low: -self.tau.get(), high: 1.0 - self.tau.get() }
    }
}

/// The default is the median.
impl Asked for Quantile {
    const SETTINGS: &'static [&'static str] = &["tau"];

    fn ask(request: &Request<'_>) -> Result<Self, Refusal> {
        Ok(Self { tau: request.tau.unwrap_or(OpenUnit::HALF) })
    }
}

impl Loss for Quantile {
    #[inline]
    fn at(&self, prediction: f64, label: f64) -> Tangent {
        let tau = self.tau.get();
        let miss = prediction - label;
        let slope = if miss < 0.0 {
            -tau
        } else if miss > 0.0 {
            1.0 - tau
        } else {
            0.0
        };
        Tangent { value: slope * miss, slope }
    }

    fn conjugate(&self, slope: f64, label: f64) -> f64 {
        let tau = self.tau.get();
        if (-tau..=1.0 - tau).contains(&slope) { slope * label } else { f64::INFINITY }
    }

    of_two_lines!();

    fn lipschitz(&self) -> Option<f64> {
        Some(self.tau.get().max(1.0 - self.tau.get()))
    }

    fn labels(&self) -> Labels {
        Labels::Numbers
    }

    fn parameters(&self) -> Option<String> {
        Some(format!("τ = {}", self.tau))
    }
}
