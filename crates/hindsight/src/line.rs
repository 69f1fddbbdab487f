//! The line that a slope stands for.

use rueful_core::Example;
use rueful_core::loss::Loss;

/// A line p ↦ s·(b·p − φ*(b)) below the loss of an example that counts s times, for a slope a ≈
/// s·b.
///
/// The quotient a/s is rounded, perhaps out of the domain of φ*. The line that is proved is that of
/// the b which is taken, and `apart` bounds how far a is from s·b.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    /// s·φ*(b). It is infinite where there is no such line.
    pub(crate) conjugate: f64,
    /// The size that the roundings of the conjugate are relative to. The conjugate of two lines
    /// that meet is one product: b times the point where they meet. Those of smooth losses are sums
    /// of a few products, none larger than |b·y|, b² or the conjugate itself. That of a line is 0.
    pub(crate) size: f64,
    /// An upper bound on |a − s·b|.
    pub(crate) apart: f64,
}

impl Line {
    #[inline]
    pub(crate) fn new<L: Loss>(loss: &L, example: &Example<'_>, slope: f64) -> Self {
        let (label, s) = (example.label, example.importance.get());
        if s == 1.0 {
            return Self::of(loss, label, s, slope, 0.0);
        }
        if s == 0.0 {
            let conjugate = if slope == 0.0 { 0.0 } else { f64::INFINITY };
            return Self { conjugate, size: 0.0, apart: 0.0 };
        }
        let apart = 4.0 * f64::EPSILON * slope.abs() + f64::MIN_POSITIVE * (1.0 + s);
        let quotient = slope / s;
        let is_own = loss.is_linear() && (slope - s * label).abs() <= 0.5 * apart;
        let own = if is_own { label } else { quotient };
        let candidates = [own, quotient * (1.0 - 2.0 * f64::EPSILON)];
        let inside = |b: &f64| loss.conjugate(*b, label).is_finite();
        let b = candidates.into_iter().find(inside).unwrap_or(quotient);
        Self::of(loss, label, s, b, apart)
    }

    #[inline]
    fn of<L: Loss>(loss: &L, label: f64, s: f64, b: f64, apart: f64) -> Self {
        let conjugate = loss.conjugate(b, label);
        let is_sum = !loss.is_linear() && loss.kink(label).is_none();
        let terms = if is_sum { (b * label).abs() + b * b } else { 0.0 };
        let size = conjugate.abs() + terms;
        Self { conjugate: s * conjugate, size: s * size, apart }
    }
}
