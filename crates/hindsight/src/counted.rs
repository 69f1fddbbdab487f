//! A loss with the importance of its example.

use rueful_core::Example;
use rueful_core::loss::{Kink, Loss, Tangent};

/// The loss of one example times its importance s: p ↦ s·φ(p, y).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted<L> {
    loss: L,
    label: f64,
    importance: f64,
}

impl<L: Loss> Counted<L> {
    #[inline]
    pub(crate) fn new(loss: L, example: &Example<'_>) -> Self {
        Self { loss, label: example.label, importance: example.importance.get() }
    }

    #[inline]
    pub(crate) fn at(&self, prediction: f64) -> Tangent {
        let at = self.loss.at(prediction, self.label);
        Tangent { value: self.importance * at.value, slope: self.importance * at.slope }
    }

    /// s·φ*(a/s). The quotient may have been rounded out of the domain. Then it is moved back a
    /// little.
    #[inline]
    pub(crate) fn conjugate(&self, slope: f64) -> f64 {
        if slope == 0.0 && self.importance == 0.0 {
            return 0.0;
        }
        let ratio = slope / self.importance;
        let plain = self.loss.conjugate(ratio, self.label);
        if plain.is_finite() || self.importance == 1.0 {
            return self.importance * plain;
        }
        self.importance * self.loss.conjugate(ratio * (1.0 - 2.0 * f64::EPSILON), self.label)
    }

    /// The slope a = s·b where b maximises b·p − φ*(b) − (qs/2)b².
    #[inline]
    pub(crate) fn prox(&self, prediction: f64, q: f64) -> f64 {
        self.importance * self.loss.prox(prediction, self.label, q * self.importance)
    }

    #[inline]
    pub(crate) fn kink(&self) -> Option<Kink> {
        let kink = self.loss.kink(self.label)?;
        let (low, high) = (self.importance * kink.low, self.importance * kink.high);
        Some(Kink { low, high, ..kink })
    }

    #[inline]
    pub(crate) fn curvature(&self, prediction: f64) -> f64 {
        self.importance * self.loss.curvature(prediction, self.label)
    }
}
