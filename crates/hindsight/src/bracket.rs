//! The interval around the minimum as it narrows.

use crate::cost::Cost;
use crate::problem::{Contradiction, Method, Options, Progress, Solution, Source};
use crate::proof::Proof;
use crate::survey::Shape;
use rueful_core::set::AnySet;
use std::ops::ControlFlow;

/// The part of F(0) below which a minimum counts as next to nothing.
pub(crate) const LEAST_SCALE: f64 = 1e-6;

/// A value that counts as 0 in any units. The allowances for underflow are far below it.
pub(crate) const NOTHING: f64 = 1e-280;

/// A proved interval around the minimum, with the comparator of its upper end.
#[derive(Debug, Clone)]
pub(crate) struct Bracket {
    pub(crate) lower: f64,
    pub(crate) upper: f64,
    lower_from: Source,
    pub(crate) comparator: Vec<f64>,
    /// The slopes that proved the lower end. Empty if they are the slopes at the comparator, or are
    /// not known.
    pub(crate) slopes: Vec<f64>,
    pub(crate) passes: u64,
    /// The scale of the relative gap when the minimum itself is next to nothing.
    least_scale: f64,
    max_passes: u64,
    tolerance: f64,
    /// Whether costs and proofs are added up carefully from now on. This is set once the allowances
    /// for rounding stand in the way.
    pub(crate) careful: bool,
}

impl Bracket {
    /// The interval made by u = 0 and the lower bound that is known already.
    pub(crate) fn new(lower: f64, lower_from: Source, shape: &Shape, options: &Options) -> Self {
        Self {
            lower,
            upper: shape.at_zero,
            lower_from,
            comparator: vec![0.0; shape.dimension],
            slopes: Vec::new(),
            passes: 0,
            least_scale: (LEAST_SCALE * shape.size).max(NOTHING),
            tolerance: options.tolerance,
            careful: false,
            max_passes: options.max_passes.unwrap_or_else(|| shape.affordable_passes()),
        }
    }

    /// Takes in a pass: the cost of u, and the lower bound that the slopes prove. Returns whether
    /// that bound is above the one before.
    pub(crate) fn tell(
        &mut self,
        cost: &Cost,
        u: &[f64],
        proof: &mut Proof,
        comparators: &AnySet,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> bool {
        proof.finish();
        let (_, curvature) = proof.curvatures();
        self.take(cost.upper(curvature), cost.slack(), u, proof.floor(comparators), watch)
    }

    /// Like `tell`, for bounds that are already computed: the most that u costs, with the part of
    /// it that allows for rounding, and the lower bound, with the part that was given up for
    /// rounding.
    pub(crate) fn take(
        &mut self,
        upper: f64,
        slack: f64,
        u: &[f64],
        (floor, given_up): (f64, f64),
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> bool {
        self.passes += 1;
        if upper < self.upper {
            self.upper = upper;
            self.comparator.copy_from_slice(u);
        }
        let proves_more = floor > self.lower;
        if proves_more {
            self.lower = floor;
            self.lower_from = Source::Dual;
            self.slopes.clear();
        }
        let allowed = given_up + slack;
        self.careful |= allowed > 0.1 * self.goal() && allowed > 0.01 * (self.upper - self.lower);
        if watch(self.progress()).is_break() {
            self.max_passes = self.passes;
        }
        proves_more
    }

    /// The solution at the end.
    pub(crate) fn into_solution(self, examples: u64, method: Method) -> Solution {
        Solution {
            converged: self.relative_gap() <= self.tolerance,
            contradiction: self.contradiction(),
            lower: self.lower,
            upper: self.upper,
            relative_gap: self.relative_gap(),
            comparator: self.comparator,
            examples,
            passes: self.passes,
            method,
        }
    }

    /// The two ends, if they cross. Both ends are proved, so one of the proofs is wrong then, and
    /// nothing is narrowed any more.
    pub(crate) fn contradiction(&self) -> Option<Contradiction> {
        (self.lower > self.upper).then_some(Contradiction {
            lower: self.lower,
            lower_from: self.lower_from,
            upper: self.upper,
            upper_from: Source::Primal,
        })
    }

    /// The gap at which the solver may stop.
    pub(crate) fn goal(&self) -> f64 {
        self.tolerance * self.scale()
    }

    fn scale(&self) -> f64 {
        self.upper.abs().max(self.least_scale)
    }

    /// The gap relative to the minimum, see [`Progress::relative_gap`].
    pub(crate) fn relative_gap(&self) -> f64 {
        relative_gap(self.lower, self.upper, self.scale())
    }

    pub(crate) fn is_converged(&self, options: &Options) -> bool {
        self.relative_gap() <= options.tolerance
    }

    pub(crate) fn is_done(&self, options: &Options) -> bool {
        self.is_converged(options) || self.is_exhausted() || self.lower > self.upper
    }

    pub(crate) fn is_exhausted(&self) -> bool {
        !self.allows(1)
    }

    /// Whether so many more passes may be made.
    pub(crate) fn allows(&self, passes: u64) -> bool {
        self.left() >= passes
    }

    /// The number of passes that may still be made.
    pub(crate) fn left(&self) -> u64 {
        self.max_passes.saturating_sub(self.passes)
    }

    fn progress(&self) -> Progress {
        let (lower, upper) = (self.lower, self.upper);
        Progress { passes: self.passes, lower, upper, relative_gap: self.relative_gap() }
    }
}

/// (upper − lower)/scale. It is infinite where the two cross, or where one of them is not known
/// yet.
pub(crate) fn relative_gap(lower: f64, upper: f64, scale: f64) -> f64 {
    let gap = upper - lower;
    if gap == 0.0 {
        0.0
    } else if gap > 0.0 && gap.is_finite() {
        gap / scale
    } else {
        f64::INFINITY
    }
}
