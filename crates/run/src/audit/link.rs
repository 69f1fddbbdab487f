//! From what a model wrote to the score that is judged.

use serde::{Deserialize, Serialize};

/// How the number a model wrote becomes the score that is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Link {
    /// It is the score.
    Identity,
    /// It is the probability p of the label +1, and the score is ln(p/(1−p)).
    Logistic,
}

impl Link {
    /// The names of the links.
    pub const NAMES: [&'static str; 2] = ["identity", "logistic"];

    /// Which of them this is.
    pub fn name(self) -> &'static str {
        match self {
            Self::Identity => Self::NAMES[0],
            Self::Logistic => Self::NAMES[1],
        }
    }

    /// The score of what a model wrote; none for what is no probability, or a certain one.
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
