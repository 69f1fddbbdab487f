//! The interval as it narrows.

use crate::cost::Cost;
use crate::problem::{Options, Progress};
use crate::solve::Shape;
use rueful_core::ledger::Minorant;
use rueful_core::set::AnySet;

/// A proved interval around the minimum, with the comparator of its upper end.
#[derive(Debug, Clone)]
pub(crate) struct Bracket {
    pub(crate) lower: f64,
    pub(crate) upper: f64,
    pub(crate) comparator: Vec<f64>,
    pub(crate) passes: u64,
    /// What "relative" is measured against when the minimum itself is next to nothing.
    least_scale: f64,
    max_passes: u64,
}

impl Bracket {
    /// The interval that u = 0 and what is known already make.
    pub(crate) fn new(lower: f64, shape: &Shape, options: &Options) -> Self {
        Self {
            lower: lower.min(shape.at_zero),
            upper: shape.at_zero,
            comparator: vec![0.0; shape.dimension],
            passes: 1,
            least_scale: 1e-3 * shape.size,
            max_passes: options.max_passes.unwrap_or_else(|| shape.affordable_passes()),
        }
    }

    /// Takes in a pass: what u costs, and what the slopes prove.
    pub(crate) fn tell(
        &mut self,
        cost: &Cost,
        u: &[f64],
        minorant: &Minorant,
        comparators: &AnySet,
        watch: &mut dyn FnMut(Progress),
    ) {
        self.passes += 1;
        let curvature = minorant.sigma().get() * minorant.rounds() as f64;
        let upper = cost.upper(curvature);
        if upper < self.upper {
            self.upper = upper;
            self.comparator.copy_from_slice(u);
        }
        // Both ends are proved: if they cross, one of them was given to us and is wrong.
        self.lower = self.lower.max(minorant.floor(comparators)).min(self.upper);
        watch(self.progress());
    }

    /// The gap relative to the minimum, see [`Progress::relative_gap`].
    pub(crate) fn relative_gap(&self) -> f64 {
        let scale = self.upper.abs().max(self.least_scale);
        if self.upper <= self.lower { 0.0 } else { (self.upper - self.lower) / scale }
    }

    pub(crate) fn is_converged(&self, options: &Options) -> bool {
        self.relative_gap() <= options.tolerance
    }

    pub(crate) fn is_done(&self, options: &Options) -> bool {
        self.is_converged(options) || self.is_exhausted()
    }

    pub(crate) fn is_exhausted(&self) -> bool {
        self.passes >= self.max_passes
    }

    fn progress(&self) -> Progress {
        let (lower, upper) = (self.lower, self.upper);
        Progress { passes: self.passes, lower, upper, relative_gap: self.relative_gap() }
    }
}
