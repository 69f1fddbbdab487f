//! The contributions of the features to a prediction.
//!
//! The predictions of each lane and filter are linear in x: f_k = Σ w_ki x̃_i. The top's prediction
//! Φ(f) is not linear in f. But along the straight line from f = 0, which stands for no features,
//! ```text
//! Φ(f) = Φ(0) + Σ_k f_k ∫₀¹ ∂Φ/∂f_k(θf) dθ
//! ```
//!
//! So feature i contributes Σ_k w_ki x̃_i times that integral. The variances are held fixed. The
//! witnesses are not varied along the line: their contribution is in the remainder, with Φ(0).

use super::experts::EachWitness;
use super::lanes::LANES;
use super::mixer::MIXED;
use super::top::{Top, View, opinion};
use rueful_machine::Widest;

/// The number of points for the integral.
const POINTS: usize = 32;
/// The half width of a difference quotient, relative to 1 + |f|.
const WIDTH: f32 = 1e-2;

/// ∫₀¹ ∂Φ/∂f_k(θf) dθ for every lane and filter.
pub(super) fn sensitivities<T: Top>(top: &T, view: &View, witnesses: &EachWitness) -> [f64; MIXED] {
    let mut sums = [0.0; MIXED];
    for point in 0..POINTS {
        let at = view.scaled((point as f32 + 0.5) / POINTS as f32);
        for (k, sum) in sums.iter_mut().enumerate() {
            let width = WIDTH * (1.0 + at.mean(k).abs());
            let said = |mean: f32| prediction(top, &at.with_mean(k, mean), witnesses);
            let (low, high) = (at.mean(k) - width, at.mean(k) + width);
            let quotient = (said(high) - said(low)) / f64::from(high - low);
            *sum += if high > low { quotient } else { 0.0 };
        }
    }
    sums.map(|sum| sum / POINTS as f64)
}

fn prediction<T: Top>(top: &T, view: &View, witnesses: &EachWitness) -> f64 {
    T::prediction(&opinion::<Widest, T>(top, view, witnesses))
}

impl View {
    /// f_k
    fn mean(&self, k: usize) -> f32 {
        if k < LANES { self.lanes.mean.0[k] } else { self.filters.mean.0[k - LANES] }
    }

    /// The same view with another f_k.
    fn with_mean(&self, k: usize, mean: f32) -> Self {
        let mut view = *self;
        if k < LANES {
            view.lanes.mean.0[k] = mean;
        } else {
            view.filters.mean.0[k - LANES] = mean;
        }
        view
    }

    /// The same view with θf.
    fn scaled(&self, theta: f32) -> Self {
        (0..MIXED).fold(*self, |view, k| view.with_mean(k, theta * self.mean(k)))
    }
}
