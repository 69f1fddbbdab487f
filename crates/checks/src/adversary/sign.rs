//! The opponent that pushes every weight the wrong way.

use super::{Adversary, SHAVE};
use rueful_core::{Example, Features, Positive};

/// An opponent whose g_t has the signs of w_t and the norm G, so that g_t·w_t = (G/√d)‖w_t‖₁ ≥ 0:
/// every round is lost or tied. A weight of 0 counts as positive. In one dimension
/// g_t = G·sign(w_t) exactly.
#[derive(Debug, Clone, PartialEq)]
pub struct Sign {
    gradient_bound: Positive,
    slope: f64,
    indices: Vec<u32>,
    signs: Vec<f32>,
}

impl Sign {
    /// The opponent, which needs at least one dimension.
    ///
    /// # Panics
    /// It panics if the dimension is 0.
    pub fn new(dimension: usize, gradient_bound: Positive) -> Self {
        assert!(dimension > 0, "there is no game in dimension 0");
        let g = gradient_bound.get();
        let slope = if dimension == 1 { g } else { g / (dimension as f64).sqrt() * (1.0 - SHAVE) };
        let indices = (0..).take(dimension).collect();
        Self { gradient_bound, slope, indices, signs: vec![1.0; dimension] }
    }
}

impl Adversary for Sign {
    fn next(&mut self, weights: &[f64]) -> Example<'_> {
        for (sign, &w) in self.signs.iter_mut().zip(weights) {
            *sign = if w < 0.0 { -1.0 } else { 1.0 };
        }
        let features = Features::new(&self.indices, &self.signs);
        Example::new(features.expect("indices increase"), self.slope)
    }

    fn dimension(&self) -> usize {
        self.indices.len()
    }

    fn gradient_bound(&self) -> Positive {
        self.gradient_bound
    }
}
