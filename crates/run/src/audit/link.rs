//! Links: they turn the number that a model wrote into the score that is judged.

use serde::{Deserialize, Serialize};

/// The rule that turns the number that a model wrote into the score that is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Link {
    /// The number is the score.
    Identity,
    /// The number is the probability p of the label +1, and the score is ln(p/(1−p)).
    Logistic,
}

impl Link {
    /// The names of the links.
    pub const NAMES: [&'static str; 2] = ["identity", "logistic"];

    /// Returns the name of this link.
    pub fn name(self) -> &'static str {
        match self {
            Self::Identity => Self::NAMES[0],
            Self::Logistic => Self::NAMES[1],
        }
    }

    /// Returns the score for the number that a model wrote. It is `None` for the logistic link if
    /// the number is not a probability strictly between 0 and 1.
    pub fn score(self, written: f64) -> Option<f64> {
        match self {
            Self::Identity => Some(written),
            Self::Logistic if written > 0.0 && written < 1.0 => {
                Some(written.ln() - (-written).ln_1p())
            }
            Self::Logistic => None,
        }
    }
}
