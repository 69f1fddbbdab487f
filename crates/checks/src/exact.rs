//! Losses in twice the precision, for the regret of a run with next to no rounding.
//!
//! A [`Double`] is the unevaluated sum of two doubles, some 32 digits. With it Σ ℓ_t(u) is known
//! far more precisely than the certificate's own allowance for rounding, so that the two can be
//! compared as they stand. The error that is left is carried along ([`Enclosed`]).

use rueful_core::loss::{
    Absolute, AnyLoss, Hinge, Linear, Logistic, Loss, PerceptronLoss, Quantile, Square,
};
use rueful_core::{Batch, Features, Round};
use std::ops::{Add, AddAssign, Mul, Neg, Sub};

/// A relative error that no operation on [`Double`]s exceeds.
const GRAIN: f64 = 1.0 / (1_u128 << 98) as f64;

/// A number of about 106 significant bits: high + low, where low is below a unit in the last place
/// of high.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Double {
    high: f64,
    low: f64,
}

impl Double {
    /// Zero.
    pub const ZERO: Self = Self { high: 0.0, low: 0.0 };

    /// The product of two doubles, exactly.
    pub fn product(a: f64, b: f64) -> Self {
        let high = a * b;
        let (a1, a2) = halves(a);
        let (b1, b2) = halves(b);
        let low = ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2;
        Self { high, low }
    }

    /// The nearest double.
    pub fn value(self) -> f64 {
        self.high
    }

    /// The absolute value.
    pub fn abs(self) -> Self {
        if self.is_negative() { -self } else { self }
    }

    /// The larger of this and 0.
    pub fn positive_part(self) -> Self {
        if self.is_negative() { Self::ZERO } else { self }
    }

    /// Whether the number is below 0.
    pub fn is_negative(self) -> bool {
        self.high < 0.0
    }

    /// high + low with the overlap removed, for |high| ≥ |low|.
    fn settled(high: f64, low: f64) -> Self {
        let sum = high + low;
        Self { high: sum, low: low - (sum - high) }
    }
}

/// Splits a number into two parts of 26 bits each, whose products with one another are exact.
fn halves(a: f64) -> (f64, f64) {
    let spread = 134_217_729.0 * a;
    let high = spread - (spread - a);
    (high, a - high)
}

/// a + b and the error of that sum, exactly.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let taken = sum - a;
    (sum, (a - (sum - taken)) + (b - taken))
}

impl From<f64> for Double {
    fn from(high: f64) -> Self {
        Self { high, low: 0.0 }
    }
}

impl Add for Double {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let (high, carry) = two_sum(self.high, other.high);
        let (low, rest) = two_sum(self.low, other.low);
        let once = Self::settled(high, carry + low);
        Self::settled(once.high, once.low + rest)
    }
}

impl AddAssign for Double {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Neg for Double {
    type Output = Self;
    fn neg(self) -> Self {
        Self { high: -self.high, low: -self.low }
    }
}

impl Sub for Double {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Double {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let exact = Self::product(self.high, other.high);
        let crossed = self.high * other.low + self.low * other.high;
        Self::settled(exact.high, exact.low + crossed)
    }
}

/// A number together with a bound on its error.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Enclosed {
    /// The number as computed.
    pub value: Double,
    /// The largest distance between the true number and the computed one.
    pub error: f64,
}

impl Enclosed {
    /// A computed number whose operations were on numbers of this size.
    fn computed(value: Double, size: f64) -> Self {
        Self { value, error: GRAIN * (size + value.value().abs()) }
    }

    /// An upper bound on the number, up to the last place of the result.
    pub fn upper(self) -> f64 {
        (self.value + self.error.into()).value()
    }

    /// A lower bound on the number, up to the last place of the result.
    pub fn lower(self) -> f64 {
        (self.value - self.error.into()).value()
    }
}

impl Add for Enclosed {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let size = self.value.value().abs() + other.value.value().abs();
        let sum = Self::computed(self.value + other.value, size);
        Self { error: sum.error + self.error + other.error, ..sum }
    }
}

impl Sub for Enclosed {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + Self { value: -other.value, error: other.error }
    }
}

/// A loss that can be evaluated in twice the precision.
pub trait ExactLoss: Loss + Into<AnyLoss> {
    /// The loss φ(p, y).
    fn exact(&self, prediction: Double, label: f64) -> Enclosed;
}

impl ExactLoss for Absolute {
    fn exact(&self, prediction: Double, label: f64) -> Enclosed {
        Enclosed::computed((prediction - label.into()).abs(), label.abs())
    }
}

impl ExactLoss for Hinge {
    fn exact(&self, prediction: Double, label: f64) -> Enclosed {
        let margin = Double::from(label) * prediction;
        let short = Double::from(1.0) - margin;
        Enclosed::computed(short.positive_part(), 1.0 + margin.value().abs())
    }
}

impl ExactLoss for PerceptronLoss {
    fn exact(&self, prediction: Double, label: f64) -> Enclosed {
        let wrong = Double::from(-label) * prediction;
        Enclosed::computed(wrong.positive_part(), wrong.value().abs())
    }
}

impl ExactLoss for Linear {
    fn exact(&self, prediction: Double, label: f64) -> Enclosed {
        Enclosed::computed(Double::from(label) * prediction, 0.0)
    }
}

impl ExactLoss for Square {
    fn exact(&self, prediction: Double, label: f64) -> Enclosed {
        let miss = prediction - label.into();
        let size = prediction.value().abs() + label.abs();
        Enclosed::computed(miss * miss, size * miss.value().abs())
    }
}

/// The coefficients are τ and 1 − τ as doubles, because that is the loss that is learned.
impl ExactLoss for Quantile {
    fn exact(&self, prediction: Double, label: f64) -> Enclosed {
        let miss = prediction - label.into();
        let tau = self.tau.get();
        let slope = if miss.is_negative() { -tau } else { 1.0 - tau };
        Enclosed::computed(Double::from(slope) * miss, label.abs())
    }
}

/// [−m]₊ is exact, and ln(1 + e^{−|m|}) is in plain doubles with the error of its two functions.
impl ExactLoss for Logistic {
    fn exact(&self, prediction: Double, label: f64) -> Enclosed {
        let margin = Double::from(label) * prediction;
        let size = margin.value().abs();
        let small = (-size).exp();
        let value = (-margin).positive_part() + small.ln_1p().into();
        let error = 4.0 * f64::EPSILON * small * (1.0 + size);
        Enclosed { error: error + GRAIN * size, value }
    }
}

impl Enclosed {
    /// k times this number, where k is a power of two. Importances of streams are powers of two, so
    /// nothing is rounded here.
    fn times_power_of_two(self, k: f64) -> Self {
        assert!(k > 0.0 && k.to_bits() << 12 == 0, "{k} is no power of two");
        Self { value: self.value * k.into(), error: k * self.error }
    }
}

/// u·x, where features beyond u have weight 0. The error is relative to Σ|u_i x_i|, which is
/// returned, too.
pub fn dot(u: &[f64], x: &Features<'_>) -> (Double, f64) {
    let mut total = Double::ZERO;
    let mut size = 0.0;
    for (i, x) in x.iter().take_while(|&(i, _)| i < u.len()) {
        total += Double::product(u[i], x);
        size += (u[i] * x).abs();
    }
    (total, size)
}

/// ‖u‖².
pub fn norm_sq(u: &[f64]) -> Double {
    u.iter().fold(Double::ZERO, |total, &u| total + Double::product(u, u))
}

/// The loss φ(u·x, y) of u in one round, with the error of the dot product passed through φ.
fn loss_of<L: ExactLoss>(loss: &L, u: &[f64], x: &Features<'_>, label: f64) -> Enclosed {
    let (prediction, size) = dot(u, x);
    let suffered = loss.exact(prediction, label);
    let reach = GRAIN * size;
    let steepest = loss.at(prediction.value() + reach, label).slope.abs()
        + loss.at(prediction.value() - reach, label).slope.abs();
    Enclosed { error: suffered.error + reach * steepest, ..suffered }
}

/// Σ_{s≤t} ℓ_s(u) for t = 1, 2, …, where ℓ_t(u) = φ(u·x_t, y_t) + (σ/2)‖u‖².
pub fn comparator_losses<L: ExactLoss>(
    loss: &L,
    sigma: f64,
    batch: &Batch,
    u: &[f64],
) -> Vec<Enclosed> {
    let penalty = Double::from(0.5 * sigma) * norm_sq(u);
    let penalty = Enclosed::computed(penalty, 0.0);
    running(batch.iter().map(|e| {
        let loss = loss_of(loss, u, &e.features, e.label);
        loss.times_power_of_two(e.importance.get()) + penalty
    }))
}

/// Σ_{s≤t} (φ(ŷ_s, y_s) + penalty_s) for t = 1, 2, … with the predictions as reported.
pub fn suffered_losses<L: ExactLoss>(loss: &L, batch: &Batch, rounds: &[Round]) -> Vec<Enclosed> {
    running(batch.iter().zip(rounds).map(|(example, round)| {
        let value = loss.exact(round.prediction.into(), example.label);
        let value = value.times_power_of_two(example.importance.get());
        value + Enclosed { value: round.penalty.into(), error: 0.0 }
    }))
}

fn running(terms: impl Iterator<Item = Enclosed>) -> Vec<Enclosed> {
    let sums = terms.scan(Enclosed::default(), |total, term| {
        *total = *total + term;
        Some(*total)
    });
    sums.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn small_numbers_survive_large_ones() {
        let tiny = 2_f64.powi(-40);
        let terms = [1e16, 1.0, tiny, -1e16, -1.0];
        let sum = terms.into_iter().fold(Double::ZERO, |sum, term| sum + term.into());
        assert_eq!(sum.value(), tiny);
        let third = Double::product(1.0 / 3.0, 3.0);
        assert_eq!((third - 1.0.into()).value(), -(2_f64.powi(-54)));
    }

    #[test]
    fn integers_of_thirty_digits_are_exact() {
        let rng = &mut Rng::new(4);
        for _ in 0..10_000 {
            let [a, b, c] = [0; 3].map(|_| (rng.bits() >> 12) as i64 - (1 << 51));
            let exact = i128::from(a) * i128::from(b) + i128::from(c);
            let double = Double::product(a as f64, b as f64) + (c as f64).into();
            assert_eq!(double.high as i128 + double.low as i128, exact);
            let product = Double::from(a as f64) * Double::product(3.0, b as f64);
            let value = (a as f64) * 3.0 * (b as f64);
            assert!((product.value() - value).abs() <= 1e-15 * value.abs());
        }
    }

    #[test]
    fn both_evaluations_of_a_loss_agree() {
        let rng = &mut Rng::new(5);
        for _ in 0..1000 {
            let (p, y) = (3.0 * rng.bell(), rng.sign());
            agree(&Absolute {}, p, y);
            agree(&Hinge {}, p, y);
            agree(&Linear {}, p, y);
            agree(&Logistic {}, p, y);
            agree(&PerceptronLoss {}, p, y);
            agree(&Square {}, p, y);
        }
    }

    fn agree<L: ExactLoss>(loss: &L, p: f64, y: f64) {
        let plain = loss.at(p, y).value;
        let exact = loss.exact(p.into(), y);
        assert!((exact.value.value() - plain).abs() <= 1e-15 * (1.0 + plain.abs()), "{p} {y}");
        assert!(exact.error < 1e-14);
    }
}
