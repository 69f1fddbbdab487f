//! The problem to solve, when to stop, and the solution.

use rueful_core::NonNegative;
use rueful_core::set::AnySet;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// The problem: min over u in the comparators of Σ φ_t(u·x_t) + (σT/2)‖u‖².
#[derive(Debug, Clone, PartialEq)]
pub struct Problem<L> {
    /// The loss φ.
    pub loss: L,
    /// The strength σ of the penalty.
    pub sigma: NonNegative,
    /// The set that u is chosen from: a ball, a box, or with σ > 0 all of R^d.
    pub comparators: AnySet,
}

/// The options that say when to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// The relative gap that is good enough, see [`Progress::relative_gap`].
    pub tolerance: f64,
    /// The most passes over the data, at least 1. The first pass already leaves an interval. `None`
    /// allows as many as make some 10¹⁰ multiplications, so that small data is solved to the end
    /// and large data in bounded time.
    pub max_passes: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self { tolerance: 1e-4, max_passes: None }
    }
}

/// The facts that are known before the solver starts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Start {
    /// A comparator to start from. It is made feasible if it is not. The first pass prices it.
    pub comparator: Vec<f64>,
    /// A slope per example, in order. The slopes of an online pass are a dual point. The first pass
    /// computes the lower bound that they prove, and ascent starts from them. Empty if there are
    /// none.
    pub slopes: Vec<f64>,
    /// A proved lower bound on the minimum, if there is one.
    pub lower: Option<f64>,
}

/// How a solution was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The closed form for linear losses: the end of the set that their sum points away from.
    ClosedForm,
    /// Newton's method, for few columns and losses without kinks.
    Newton,
    /// A primal-dual interior-point method, for few columns and losses with a kink, where
    /// multipliers stall or the data is read from a file in every pass.
    InteriorPoint,
    /// Coordinate ascent on one slope per example, where it ends soon or no other method can be
    /// used.
    DualCoordinateAscent,
    /// The method of multipliers, for data in memory where ascent alone is too slow.
    Multipliers,
    /// The square loss from its sufficient statistics.
    SufficientStatistics,
    /// Newton's method on smoothed losses that become the multiclass hinge.
    Smoothing,
    /// Curvature from the gradients of earlier passes, for many columns and losses without kinks.
    /// It is used where every pass is a job on many machines.
    QuasiNewton,
    /// Tangents of earlier passes, for losses with a kink. It is used where every pass is a job on
    /// many machines.
    Bundle,
}

/// The origin of a bound on the minimum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The bound was given in [`Start::lower`].
    Start,
    /// The bound is 0, because the losses are never negative.
    Sign,
    /// The bound is a dual value of slopes: −Σ φ_t*(a_t) less the support function of their sum.
    Dual,
    /// The bound is the loss of a comparator.
    Primal,
}

/// Two bounds on the minimum that cannot both hold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Contradiction {
    /// A number that should lie below the minimum.
    pub lower: f64,
    /// The origin of `lower`.
    pub lower_from: Source,
    /// A number that should lie above the minimum, and is less than `lower`.
    pub upper: f64,
    /// The origin of `upper`.
    pub upper_from: Source,
}

/// A proved interval around the minimum, and a comparator that attains its upper end.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// No comparator loses less than this, rounding included. It is −∞ where nothing could be
    /// proved.
    pub lower: f64,
    /// `comparator` loses at most this, rounding included.
    pub upper: f64,
    /// The relative gap between the two, see [`Progress::relative_gap`].
    pub relative_gap: f64,
    /// A predictor u in the set of comparators.
    pub comparator: Vec<f64>,
    /// The number T of examples.
    pub examples: u64,
    /// The number of passes over the data that it took.
    pub passes: u64,
    /// The method that found it.
    pub method: Method,
    /// Whether the gap came down to the tolerance. This is never so if the bounds contradict each
    /// other.
    pub converged: bool,
    /// The two bounds, if `lower` lies above `upper`. Then one of the two is false, and neither
    /// should be shown. The bound given in [`Start::lower`] is the first suspect.
    pub contradiction: Option<Contradiction>,
}

/// How far the solver has come. The solver says so after every pass, and is answered whether to go
/// on. If the answer is to stop, it ends with the interval that it has. Parts of it may still ask, and
/// must get the same answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// The number of passes so far.
    pub passes: u64,
    /// The lower end of the interval so far.
    pub lower: f64,
    /// The upper end of the interval so far.
    pub upper: f64,
    /// upper − lower, relative to the larger of |upper| and F(0)/10⁶.
    ///
    /// When a comparator explains the data (separable classes, an exact fit) the minimum is 0, and
    /// no gap is small relative to that. Then the gap is measured against a millionth of what u = 0
    /// loses. For losses that can be negative, U·Σ|φ_t'(0)|‖x_t‖ takes the place of F(0). The gap
    /// is infinite while one of the two ends is not finite, and where they cross.
    pub relative_gap: f64,
}

/// Goes on in any case, and looks at nothing.
pub fn unwatched(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}
