//! Sums and products of doubles without rounding, underflow or overflow. They check all that is
//! proved.
#![allow(dead_code)] // each test file uses its part

use num_bigint::{BigInt, Sign};
use rueful_core::{Batch, Example};
use std::cmp::Ordering;
use std::ops::{Add, Mul, Neg, Sub};

/// The number mantissa·2^exponent.
#[derive(Debug, Clone)]
pub(crate) struct Exact {
    mantissa: BigInt,
    exponent: i64,
}

impl From<f64> for Exact {
    fn from(number: f64) -> Self {
        assert!(number.is_finite(), "{number}");
        let bits = number.to_bits();
        let field = (bits >> 52 & 0x7FF) as i64;
        let fraction = (bits & ((1 << 52) - 1)) as i64;
        let (size, exponent) =
            if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field - 1075) };
        let mantissa = BigInt::from(if number < 0.0 { -size } else { size });
        Self { mantissa, exponent }
    }
}

impl Exact {
    pub(crate) fn zero() -> Self {
        0.0.into()
    }

    pub(crate) fn is_negative(&self) -> bool {
        self.mantissa.sign() == Sign::Minus
    }

    pub(crate) fn positive_part(self) -> Self {
        if self.is_negative() { Self::zero() } else { self }
    }

    pub(crate) fn abs(self) -> Self {
        if self.is_negative() { -self } else { self }
    }

    /// A double within two parts in 10¹⁶.
    pub(crate) fn near(&self) -> f64 {
        let extra = self.mantissa.bits() as i64 - 60;
        let (short, exponent) = if extra > 0 {
            (&self.mantissa >> extra as usize, self.exponent + extra)
        } else {
            (self.mantissa.clone(), self.exponent)
        };
        let short: i64 = short.try_into().unwrap_or(i64::MAX);
        let half = (exponent / 2) as i32;
        short as f64 * 2_f64.powi(half) * 2_f64.powi(exponent as i32 - half)
    }
}

impl Add for Exact {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let (high, low) =
            if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        let shifted = high.mantissa << (high.exponent - low.exponent) as usize;
        Self { mantissa: shifted + low.mantissa, exponent: low.exponent }
    }
}

impl Neg for Exact {
    type Output = Self;
    fn neg(self) -> Self {
        Self { mantissa: -self.mantissa, ..self }
    }
}

impl Sub for Exact {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Exact {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self { mantissa: self.mantissa * other.mantissa, exponent: self.exponent + other.exponent }
    }
}

impl PartialEq for Exact {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for Exact {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let difference = self.clone() - other.clone();
        Some(difference.mantissa.sign().cmp(&Sign::NoSign))
    }
}

/// The prediction u·x.
pub(crate) fn dot(u: &[f64], example: &Example<'_>) -> Exact {
    let products = example.features.iter().map(|(i, x)| Exact::from(u[i]) * x.into());
    products.fold(Exact::zero(), |total, product| total + product)
}

/// ‖u‖².
pub(crate) fn norm_sq(u: &[f64]) -> Exact {
    u.iter().fold(Exact::zero(), |total, &u| total + Exact::from(u) * u.into())
}

/// Σ s_t φ_t(u·x_t) + (σT/2)‖u‖² for a φ of exact predictions.
pub(crate) fn cost(
    loss: impl Fn(Exact, f64) -> Exact,
    sigma: f64,
    batch: &Batch,
    u: &[f64],
) -> Exact {
    let half_curvature = Exact::from(0.5 * sigma) * (batch.len() as f64).into();
    batch.iter().fold(half_curvature * norm_sq(u), |total, example| {
        total + Exact::from(example.importance.get()) * loss(dot(u, &example), example.label)
    })
}

pub(crate) fn hinge(p: Exact, y: f64) -> Exact {
    (Exact::from(1.0) - p * y.into()).positive_part()
}

pub(crate) fn perceptron(p: Exact, y: f64) -> Exact {
    (-(p * y.into())).positive_part()
}

pub(crate) fn absolute(p: Exact, y: f64) -> Exact {
    (p - y.into()).abs()
}

pub(crate) fn square(p: Exact, y: f64) -> Exact {
    let miss = p - y.into();
    miss.clone() * miss
}

pub(crate) fn linear(p: Exact, y: f64) -> Exact {
    p * y.into()
}

/// The quantile loss. Its coefficients are τ and 1 − τ as doubles.
pub(crate) fn quantile(tau: f64) -> impl Fn(Exact, f64) -> Exact {
    move |p, y| {
        let miss = p - y.into();
        let slope = if miss.is_negative() { -tau } else { 1.0 - tau };
        miss * slope.into()
    }
}
