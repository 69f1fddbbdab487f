//! Feasible sets W: where the weights live, and which comparators the regret is measured against.
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
/// Contract (checked for every set by the conformance suite): `project` is the nearest point;
/// `support` is the supremum it claims; `reach` and `diameter` bound all norms and distances.
pub trait FeasibleSet: Clone + Send + Sync + 'static {
    /// w ← argmin_{u∈W} ‖u − w‖ after a step w ← k·w + δ·x with 0 ≤ k ≤ 1 from a point of W. Such
    /// a k leaves every point of W in W, 0 being one of them, so O(nnz(x)).
    fn project(&self, w: &mut Weights, x: &Features<'_>);

    /// Π_W(k·s)·x, the prediction of a lazily projected learner, together with s·x. O(nnz(x)) when
    /// `settle` came before.
    fn project_dot(&self, s: &Weights, k: f64, x: &Features<'_>) -> LazyDot;

    /// Π_W(k·s) itself. (Adding 0 keeps −0 out of what people see.)
    fn project_scaled(&self, s: &Weights, k: f64) -> Vec<f64> {
        let mut point: Vec<f64> = s.iter().map(|s| k * s + 0.0).collect();
        self.project_dense(&mut point);
        point
    }

    /// Brings s up to date for a `project_dot` with this k.
    #[inline]
    fn settle(&self, _s: &mut Weights, _k: f64) {}

    /// Π_W(v) for a plain vector.
    fn project_dense(&self, v: &mut [f64]);

    /// sup_{u∈W} u·v − (κ/2)‖u‖²; with κ = 0 the support function. Rounded a few times, whatever
    /// the dimension, and the same for every order of the coordinates.
    fn support(&self, v: impl Iterator<Item = f64> + Clone, curvature: f64) -> f64;

    /// The same, where ‖v‖ is known.
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

    /// What it demands of weights, in words.
    fn keeps_weights(&self) -> String;

    /// Whether W contains `other`, looking at these coordinates.
    fn covers(&self, other: &impl FeasibleSet, coordinates: Coordinates<'_>) -> bool;

    /// How many of the first coordinates are told apart: their indices mean something, and must be
    /// kept when features are renumbered.
    fn named_coordinates(&self) -> usize {
        0
    }
}

/// What a lazily projected prediction is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LazyDot {
    /// Π_W(k·s)·x
    pub prediction: f64,
    /// s·x
    pub inner: f64,
}

/// A set on which every linear function attains its maximum: what follow-the-leader needs.
pub trait Bounded: FeasibleSet {
    /// p·x for the point p ∈ W that minimises p·s, together with s·x. Where s decides nothing,
    /// p is 0.
    fn leader_dot(&self, s: &Weights, x: &Features<'_>) -> LazyDot;

    /// That point p itself.
    fn leader(&self, s: &Weights) -> Vec<f64>;
}
