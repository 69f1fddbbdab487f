//! Implements [`FeasibleSet`] for [`AnySet`].

use super::{AnySet, FeasibleSet, LazyDot, with_set};
use crate::cells::Coordinates;
use crate::features::Features;
use crate::weights::Weights;

impl FeasibleSet for AnySet {
    #[inline]
    fn project(&self, w: &mut Weights, x: &Features<'_>) {
        with_set!(self, set => set.project(w, x));
    }

    #[inline]
    fn project_dot(&self, s: &Weights, k: f64, x: &Features<'_>) -> LazyDot {
        with_set!(self, set => set.project_dot(s, k, x))
    }

    #[inline]
    fn settle(&self, s: &mut Weights, k: f64) {
        with_set!(self, set => set.settle(s, k));
    }

    fn project_dense(&self, v: &mut [f64]) {
        with_set!(self, set => set.project_dense(v));
    }

    fn support(&self, v: impl Iterator<Item = f64> + Clone, curvature: f64) -> f64 {
        with_set!(self, set => set.support(v, curvature))
    }

    fn support_with(&self, v: impl Iterator<Item = f64> + Clone, norm: f64, curvature: f64) -> f64 {
        with_set!(self, set => set.support_with(v, norm, curvature))
    }

    fn reach(&self, coordinates: Coordinates<'_>) -> f64 {
        with_set!(self, set => set.reach(coordinates))
    }

    fn diameter(&self, coordinates: Coordinates<'_>) -> f64 {
        with_set!(self, set => set.diameter(coordinates))
    }

    fn diameter_at(&self, x: &Features<'_>) -> f64 {
        with_set!(self, set => set.diameter_at(x))
    }

    fn named_coordinates(&self) -> usize {
        with_set!(self, set => set.named_coordinates())
    }

    fn extent(&self, i: usize) -> (f64, f64) {
        with_set!(self, set => set.extent(i))
    }

    fn keeps_weights(&self) -> String {
        with_set!(self, set => set.keeps_weights())
    }

    fn covers(&self, other: &impl FeasibleSet, coordinates: Coordinates<'_>) -> bool {
        with_set!(self, set => set.covers(other, coordinates))
    }
}
