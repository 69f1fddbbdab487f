//! Contradictions: two proofs that cannot both be right.

use crate::hindsight::Interval;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A number that was proved to be at most another, and is above it. Then one of the two proofs is
/// false. Neither number is shown as proved, and the report says so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Contradiction {
    /// The number that should be the smaller one.
    pub lower: Claim,
    /// The number that should be the larger one.
    pub upper: Claim,
}

/// A number that was claimed, per round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The name of the number.
    pub what: String,
    /// The number.
    pub value: f64,
}

impl From<(&str, f64)> for Claim {
    fn from((what, value): (&str, f64)) -> Self {
        Self { what: what.to_owned(), value }
    }
}

impl Contradiction {
    /// The contradiction between a regret and a bound on it, if the regret is proved to be above
    /// the bound.
    pub(crate) fn between(regret: Interval, name: &str, bound: Option<f64>) -> Option<Self> {
        let upper = bound.filter(|&bound| regret.lower > bound)?;
        let lower = ("the exact regret, at least", regret.lower).into();
        Some(Self { lower, upper: (name, upper).into() })
    }
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lower, upper } = self;
        write!(
            f,
            "{} ({:e} per round) is above {} ({:e} per round): one of the two proofs is false, and \
             neither is shown",
            lower.what, lower.value, upper.what, upper.value
        )
    }
}
