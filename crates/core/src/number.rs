//! Numbers with a range. The range is checked once, when the number is made.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A number that is outside the range of its type.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[error("{} is not {expected}", shown(*.found))]
pub struct OutOfRange {
    /// The number that was given.
    pub found: f64,
    /// The range, in words.
    pub expected: &'static str,
}

/// The number as text, with an exponent instead of a hundred digits.
fn shown(number: f64) -> String {
    let plain = number == 0.0 || (1e-6..1e9).contains(&number.abs());
    if plain { number.to_string() } else { format!("{number:e}") }
}

macro_rules! ranged {
    ($(#[$doc:meta])* $name:ident, $expected:literal, |$value:ident| $holds:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[serde(try_from = "f64", into = "f64")]
        pub struct $name(f64);

        impl $name {
            #[doc = concat!("Accepts ", $expected, ", and nothing else.")]
            pub fn new($value: f64) -> Result<Self, OutOfRange> {
                if $holds {
                    // Adding 0 turns −0 into 0.
                    Ok(Self($value + 0.0))
                } else {
                    Err(OutOfRange { found: $value, expected: $expected })
                }
            }

            /// The number itself.
            #[inline]
            pub fn get(self) -> f64 {
                self.0
            }
        }

        impl TryFrom<f64> for $name {
            type Error = OutOfRange;
            fn try_from($value: f64) -> Result<Self, OutOfRange> {
                Self::new($value)
            }
        }

        impl From<$name> for f64 {
            fn from(number: $name) -> f64 {
                number.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

ranged! {
    /// A positive number of sane size: a step size, a radius, a gradient bound. The limits keep its
    /// square, and the square of anything it multiplies, away from overflow and underflow.
    Positive, "a number between 1e-100 and 1e100", |value| (1e-100..=1e100).contains(&value)
}

ranged! {
    /// Zero, or a [`Positive`]: a strength of regularisation.
    NonNegative, "0, or a number between 1e-100 and 1e100",
    |value| value == 0.0 || Positive::new(value).is_ok()
}

ranged! {
    /// A number strictly between zero and one: a quantile.
    OpenUnit, "a number strictly between 0 and 1", |value| value > 0.0 && value < 1.0
}

ranged! {
    /// How much an example counts: its loss is multiplied by this. Nobody learns from an example of
    /// importance 0, and nobody counts it.
    Importance, "0, or a number between 1e-30 and 1e30",
    |value| value == 0.0 || (1e-30..=1e30).contains(&value)
}

impl Importance {
    /// The importance of an example that counts once.
    pub const ONE: Self = Self(1.0);

    /// The importance of an example that does not count.
    pub const ZERO: Self = Self(0.0);

    /// Whether the example does not count.
    #[inline]
    pub fn is_zero(self) -> bool {
        self.0 == 0.0
    }

    /// The product of two importances.
    pub fn times(self, other: Self) -> Result<Self, OutOfRange> {
        Self::new(self.0 * other.0)
    }
}

impl Default for Importance {
    fn default() -> Self {
        Self::ONE
    }
}

impl NonNegative {
    /// Zero.
    pub const ZERO: Self = Self(0.0);
}

impl Positive {
    /// One.
    pub const ONE: Self = Self(1.0);
}

impl OpenUnit {
    /// One half.
    pub const HALF: Self = Self(0.5);
}

impl From<Positive> for NonNegative {
    fn from(number: Positive) -> Self {
        Self(number.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_checked_when_made_and_when_read() {
        assert_eq!(Positive::new(0.5).map(f64::from), Ok(0.5));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Positive::new(bad).is_err(), "{bad}");
        }
        assert!(NonNegative::new(0.0).is_ok());
        assert!(NonNegative::new(-1e-3).is_err());
        assert!(OpenUnit::new(1.0).is_err());
        for bad in [-1.0, -1e-40, 1e-40, 1e31, f64::NAN, f64::INFINITY] {
            assert!(Importance::new(bad).is_err(), "{bad}");
        }
        assert!(Importance::new(-0.0).is_ok_and(|zero| zero.get().is_sign_positive()));
        assert!(Importance::new(1e-20).unwrap().times(Importance::new(1e-20).unwrap()).is_err());
        assert!(serde_json::from_str::<Positive>("-3.0").is_err());
        assert_eq!(serde_json::to_string(&Positive::ONE).unwrap(), "1.0");
    }
}
