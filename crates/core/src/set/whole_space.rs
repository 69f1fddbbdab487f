//! All of R^d, without any projection.

use super::{FeasibleSet, LazyDot};
use crate::cells::Coordinates;
use crate::features::Features;
use crate::vector;
use crate::weights::Weights;
use serde::{Deserialize, Serialize};

/// R^d. Its support function is infinite in every direction, unless the losses are curved. With
/// curvature κ it is ‖v‖²/(2κ), so a certificate over all of R^d is finite.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WholeSpace {}

impl FeasibleSet for WholeSpace {
    #[inline]
    fn project(&self, _w: &mut Weights, _x: &Features<'_>) {}

    #[inline]
    fn project_dot(&self, s: &Weights, k: f64, x: &Features<'_>) -> LazyDot {
        let inner = s.dot(x);
        LazyDot { prediction: k * inner, inner }
    }

    fn project_dense(&self, _v: &mut [f64]) {}

    fn support(&self, v: impl Iterator<Item = f64> + Clone, curvature: f64) -> f64 {
        let norm = vector::norm(v.clone());
        self.support_with(v, norm, curvature)
    }

    fn support_with(
        &self,
        _v: impl Iterator<Item = f64> + Clone,
        norm: f64,
        curvature: f64,
    ) -> f64 {
        if norm == 0.0 { 0.0 } else { norm / (2.0 * curvature) * norm }
    }

    fn reach(&self, _coordinates: Coordinates<'_>) -> f64 {
        f64::INFINITY
    }

    fn diameter(&self, _coordinates: Coordinates<'_>) -> f64 {
        f64::INFINITY
    }

    fn diameter_at(&self, _x: &Features<'_>) -> f64 {
        f64::INFINITY
    }

    fn extent(&self, _i: usize) -> (f64, f64) {
        (f64::NEG_INFINITY, f64::INFINITY)
    }

    fn keeps_weights(&self) -> String {
        "no projection".to_owned()
    }

    fn covers(&self, _other: &impl FeasibleSet, _coordinates: Coordinates<'_>) -> bool {
        true
    }
}
