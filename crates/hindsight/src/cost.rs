//! What one comparator costs, with its rounding accounted for.

use crate::proof::halves;
use rueful_core::loss::Tangent;
use rueful_core::{Features, Sum};

/// Σ φ_t(u·x_t) as it is added up, with a bound on its rounding.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    norm_sq: f64,
    norm: f64,
    careful: bool,
    sum: Sum,
    rounding: f64,
}

impl Cost {
    /// The cost of u, before the first example; its predictions are computed carefully or quickly.
    pub(crate) fn at(u: &[f64], careful: bool) -> Self {
        let norm_sq: f64 = u.iter().map(|u| u * u).sum();
        Self { norm_sq, norm: norm_sq.sqrt(), careful, sum: Sum::default(), rounding: 0.0 }
    }

    /// u·x
    #[inline]
    pub(crate) fn predict(&self, u: &[f64], x: &Features<'_>) -> f64 {
        if self.careful { careful_dot(u, x) } else { x.dot(u) }
    }

    /// Adds φ at p = u·x. A quick dot product is off by a rounding per feature of ‖u‖‖x‖ at most,
    /// a careful one by a rounding of itself and by errors of errors; and φ moves by its slope
    /// times that.
    #[inline]
    pub(crate) fn add(&mut self, at: Tangent, p: f64, x: &Features<'_>) {
        self.sum.add(at.value);
        let n = x.len() as f64 + 2.0;
        let size = self.norm * x.norm_sq().sqrt();
        let dot_error = if self.careful {
            2.0 * p.abs() + 16.0 * n * n * f64::EPSILON * size
        } else {
            n * size
        };
        self.rounding += 8.0 * at.value.abs() + 2.0 * at.slope.abs() * dot_error;
    }

    /// The total with the penalty (σT/2)‖u‖².
    pub(crate) fn value(&self, curvature: f64) -> f64 {
        self.sum.value() + 0.5 * curvature * self.norm_sq
    }

    /// How far rounding can have moved the total.
    pub(crate) fn slack(&self, curvature: f64) -> f64 {
        let penalty = 0.5 * curvature * self.norm_sq;
        f64::EPSILON * (self.rounding + 1e3 * penalty)
    }
}

/// u·x from exact products, added with compensation.
fn careful_dot(u: &[f64], x: &Features<'_>) -> f64 {
    let mut sum = Sum::default();
    for (i, x) in x.iter() {
        let (head, tail) = halves(u[i]);
        sum.add(head * x);
        sum.add(tail * x);
    }
    sum.value()
}
