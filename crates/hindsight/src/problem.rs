//! What is solved, how well, and what came of it.

use rueful_core::NonNegative;
use rueful_core::set::AnySet;
use serde::{Deserialize, Serialize};

/// min over u in the comparators of Σ φ_t(u·x_t) + (σT/2)‖u‖².
#[derive(Debug, Clone, PartialEq)]
pub struct Problem<L> {
    /// φ
    pub loss: L,
    /// σ
    pub sigma: NonNegative,
    /// A ball, a box, or with σ > 0 all of R^d.
    pub comparators: AnySet,
}

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// The relative gap that is good enough, see [`Progress::relative_gap`].
    pub tolerance: f64,
    /// The most passes over the data, at least 1: the first pass already leaves an interval. None: as
    /// many as make some 10¹⁰ multiplications, so that small data is solved to the end and large
    /// data in bounded time.
    pub max_passes: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self { tolerance: 1e-4, max_passes: None }
    }
}

/// What is known before the solver starts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Start {
    /// A comparator to start from, made feasible if it is not. The first pass prices it.
    pub comparator: Vec<f64>,
    /// A slope per example, in order: those of an online pass are a dual point. The first pass
    /// proves what they prove, and ascent starts from them. Empty if there are none.
    pub slopes: Vec<f64>,
    /// A proved lower bound on the minimum, if there is one.
    pub lower: Option<f64>,
}

/// How a solution was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Linear losses: the end of the set their sum points away from.
    ClosedForm,
    /// Newton's method: for few columns and losses without kinks.
    Newton,
    /// A primal-dual interior-point method: for few columns and losses with a kink, where multipliers
    /// stall or the data is read from a file in every pass.
    InteriorPoint,
    /// Coordinate ascent on one slope per example: where it ends soon, or nothing else can.
    DualCoordinateAscent,
    /// The method of multipliers: for data in memory, where ascent alone is too slow.
    Multipliers,
    /// The square loss from its sufficient statistics.
    SufficientStatistics,
}

/// Where a bound on the minimum came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// It was given: [`Start::lower`].
    Start,
    /// The losses are never negative.
    Sign,
    /// A dual value of slopes: −Σ φ_t*(a_t) less the support function of their sum.
    Dual,
    /// What a comparator costs.
    Primal,
}

/// Two bounds on the minimum that cannot both hold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Contradiction {
    /// What is said to lie below the minimum.
    pub lower: f64,
    /// Who says so.
    pub lower_from: Source,
    /// What is said to lie above the minimum, and is less than `lower`.
    pub upper: f64,
    /// Who says so.
    pub upper_from: Source,
}

/// A proved interval around the minimum, and a comparator that attains its upper end.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// No comparator loses less than this, rounding included. −∞ where nothing could be proved.
    pub lower: f64,
    /// `comparator` loses at most this, rounding included.
    pub upper: f64,
    /// The gap between the two, see [`Progress::relative_gap`].
    pub relative_gap: f64,
    /// A u in the comparators.
    pub comparator: Vec<f64>,
    /// T
    pub examples: u64,
    /// How many passes over the data it took.
    pub passes: u64,
    /// How it was found.
    pub method: Method,
    /// Whether the gap came down to the tolerance. Never if the bounds contradict each other.
    pub converged: bool,
    /// Whether `lower` lies above `upper`: then one of the two is false, and neither should be shown.
    /// What was given in [`Start::lower`] is the first suspect.
    pub contradiction: Option<Contradiction>,
}

/// How far the solver has come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Passes so far.
    pub passes: u64,
    /// The interval so far.
    pub lower: f64,
    /// The interval so far.
    pub upper: f64,
    /// upper − lower, relative to the larger of |upper| and F(0)/10⁶.
    ///
    /// When a comparator explains the data (separable classes, an exact fit) the minimum is 0, and no
    /// gap is small relative to that: then it is measured against a millionth of what u = 0 loses.
    /// For losses that can be negative, U·Σ|φ_t'(0)|‖x_t‖ is taken for F(0). Without end while one of the
    /// two is not finite, and where they cross.
    pub relative_gap: f64,
}
