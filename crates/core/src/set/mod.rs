//! Feasible sets W: the weights stay in such a set, and the regret is measured against its points.
//!
//! Every set here contains 0, the first predictor of every learner.

mod any;
mod ball;
mod box_set;
mod whole_space;

pub use box_set::{BoxError, Interval};

use crate::cells::Coordinates;
use crate::features::Features;
use crate::weights::Weights;

family! {
    /// Any of the feasible sets, chosen at run time.
    #[derive(Debug, Clone, PartialEq)]
    pub enum set::AnySet, with_set!($) {
        /// ‖w‖ ≤ U
        "ball" => Ball(ball::Ball),
        /// An interval for every coordinate.
        "box" => Box(box_set::BoxSet),
        /// R^d
        "whole-space" => WholeSpace(whole_space::WholeSpace),
    }
}

/// A closed convex set that contains 0.
///
/// The conformance suite checks this contract for every set: `project` is the nearest point;
/// `support` is the supremum it claims; `reach` and `diameter` bound all norms and distances.
pub trait FeasibleSet: Clone + Send + Sync + 'static {
    /// w ← argmin_{u∈W} ‖u − w‖ after a step w ← k·w + δ·x with 0 ≤ k ≤ 1 from a point of W.
    /// Because W is convex and contains 0, such a factor k keeps every point of W in W. So the cost
    /// is O(nnz(x)).
    fn project(&self, w: &mut Weights, x: &Features<'_>);

    /// Π_W(k·s)·x, the prediction of a lazily projected learner, together with s·x. The cost is
    /// O(nnz(x)) after a call of `settle`.
    fn project_dot(&self, s: &Weights, k: f64, x: &Features<'_>) -> LazyDot;

    /// Π_W(k·s) itself. Adding 0 turns −0 into 0, for readers' sake.
    fn project_scaled(&self, s: &Weights, k: f64) -> Vec<f64> {
        let mut point: Vec<f64> = s.iter().map(|s| k * s + 0.0).collect();
        self.project_dense(&mut point);
        point
    }

    /// Prepares s for a `project_dot` with this k.
    #[inline]
    fn settle(&self, _s: &mut Weights, _k: f64) {}

    /// Π_W(v) for a plain vector.
    fn project_dense(&self, v: &mut [f64]);

    /// sup_{u∈W} u·v − (κ/2)‖u‖². With κ = 0 this is the support function. The number of roundings
    /// is small and does not depend on the dimension, and the result is the same for every order of
    /// the coordinates.
    fn support(&self, v: impl Iterator<Item = f64> + Clone, curvature: f64) -> f64;

    /// `support`, for a caller that knows ‖v‖.
    fn support_with(
        &self,
        v: impl Iterator<Item = f64> + Clone,
        _norm: f64,
        curvature: f64,
    ) -> f64 {
        self.support(v, curvature)
    }

    /// sup_{u∈W} ‖u‖ over these coordinates.
    fn reach(&self, coordinates: Coordinates<'_>) -> f64;

    /// sup_{u,v∈W} ‖u − v‖ over these coordinates.
    fn diameter(&self, coordinates: Coordinates<'_>) -> f64;

    /// sup_{u,v∈W} ‖u − v‖ over the coordinates of x.
    fn diameter_at(&self, x: &Features<'_>) -> f64;

    /// The smallest and largest value of coordinate i in W.
    fn extent(&self, i: usize) -> (f64, f64);

    /// The condition on the weights, in words.
    fn keeps_weights(&self) -> String;

    /// Whether W contains `other`, as far as these coordinates go.
    fn covers(&self, other: &impl FeasibleSet, coordinates: Coordinates<'_>) -> bool;

    /// How many of the first coordinates are told apart. Their indices mean something, so they must
    /// be kept when features are renumbered.
    fn named_coordinates(&self) -> usize {
        0
    }
}

/// A lazily projected prediction and the inner product it is made from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LazyDot {
    /// Π_W(k·s)·x
    pub prediction: f64,
    /// s·x
    pub inner: f64,
}

/// A set on which every linear function attains its maximum. Follow-the-leader needs such a set.
pub trait Bounded: FeasibleSet {
    /// p·x for the point p ∈ W that minimises p·s, together with s·x. Where s decides nothing, p is
    /// 0.
    fn leader_dot(&self, s: &Weights, x: &Features<'_>) -> LazyDot;

    /// The point p itself.
    fn leader(&self, s: &Weights) -> Vec<f64>;
}
