//! What one comparator costs, with its rounding accounted for.

use rueful_core::loss::Tangent;
use rueful_core::{Features, Sum};

/// Σ φ_t(u·x_t) as it is added up, with a bound on its rounding.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    norm_sq: f64,
    norm: f64,
    sum: Sum,
    rounding: f64,
}

impl Cost {
    /// The cost of u, before the first example.
    pub(crate) fn at(u: &[f64]) -> Self {
        let norm_sq: f64 = u.iter().map(|u| u * u).sum();
        Self { norm_sq, norm: norm_sq.sqrt(), sum: Sum::default(), rounding: 0.0 }
    }

    /// Adds φ at u·x. The dot product is off by a rounding per feature of ‖u‖‖x‖ at most, and φ
    /// moves by its slope times that.
    #[inline]
    pub(crate) fn add(&mut self, at: Tangent, x: &Features<'_>) {
        self.sum.add(at.value);
        let dot_error = (x.len() as f64 + 2.0) * self.norm * x.norm_sq().sqrt();
        self.rounding += 8.0 * at.value.abs() + 2.0 * at.slope.abs() * dot_error;
    }

    /// The total with the penalty (σT/2)‖u‖².
    pub(crate) fn value(&self, curvature: f64) -> f64 {
        self.sum.value() + 0.5 * curvature * self.norm_sq
    }

    /// The same, rounded up.
    pub(crate) fn upper(&self, curvature: f64) -> f64 {
        let penalty = 0.5 * curvature * self.norm_sq;
        self.value(curvature) + f64::EPSILON * (self.rounding + 1e3 * penalty)
    }
}
