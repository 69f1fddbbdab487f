//! Losses φ(p, y): what a prediction p costs once the label y is known.
//!
//! Each is convex in p and comes with the three things the theory asks of it: value and slope
//! together, the conjugate, and a Lipschitz constant where there is one.

mod absolute;
mod hinge;
mod linear;
mod logistic;
mod perceptron;
mod quantile;
mod square;
mod zero_one;

pub use absolute::Absolute;
pub use hinge::Hinge;
pub use linear::Linear;
pub use logistic::Logistic;
pub use perceptron::PerceptronLoss;
pub use quantile::Quantile;
pub use square::Square;
pub use zero_one::ZeroOne;

use serde::{Deserialize, Serialize};

/// A loss at one prediction: its value, and a slope there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tangent {
    /// φ(p, y)
    pub value: f64,
    /// a ∈ ∂_p φ(p, y)
    pub slope: f64,
}

/// The labels a loss understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Labels {
    /// −1 and +1: classification, where a mistake is y·p ≤ 0.
    Signs,
    /// Any finite number: regression, or the slopes of linear losses.
    Numbers,
}

impl Labels {
    /// Whether `label` is one of them.
    #[inline]
    pub fn accept(self, label: f64) -> bool {
        match self {
            Self::Signs => label == 1.0 || label == -1.0,
            Self::Numbers => label.is_finite(),
        }
    }

    /// What is accepted, in words.
    pub fn expected(self) -> &'static str {
        match self {
            Self::Signs => "-1 or +1",
            Self::Numbers => "a finite number",
        }
    }
}

/// A convex loss of a prediction.
///
/// Contract (checked for every loss by the conformance suite): `value` is convex in p; `slope` is a
/// subgradient of `value`, so φ(q) ≥ φ(p) + a(q − p) for all q; the conjugate is exact on slopes
/// (Fenchel–Young: φ(p) + φ*(a) = a·p); |a| never exceeds the Lipschitz constant.
pub trait Loss: Copy + Send + Sync + 'static {
    /// Value and slope at prediction p.
    fn at(&self, prediction: f64, label: f64) -> Tangent;

    /// φ*(a) = sup_p (a·p − φ(p, y)); infinite outside its domain.
    fn conjugate(&self, slope: f64, label: f64) -> f64;

    /// The smallest L with |a| ≤ L for every prediction and label, if there is one.
    fn lipschitz(&self) -> Option<f64>;

    /// Which labels make sense.
    fn labels(&self) -> Labels;
}
