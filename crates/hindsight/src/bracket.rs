//! The interval as it narrows.

use crate::cost::Cost;
use crate::problem::{Options, Progress};
use rueful_core::ledger::Minorant;
use rueful_core::set::AnySet;

/// A proved interval around the minimum, with the comparator of its upper end.
#[derive(Debug, Clone)]
pub(crate) struct Bracket {
    pub(crate) lower: f64,
    pub(crate) upper: f64,
    pub(crate) comparator: Vec<f64>,
    pub(crate) passes: u64,
    /// F(0): what "relative" is measured against when the minimum itself is next to nothing.
    pub(crate) at_zero: f64,
}

impl Bracket {
    /// The interval that u = 0 and what is known already make.
    pub(crate) fn new(lower: f64, at_zero: f64, dimension: usize) -> Self {
        let comparator = vec![0.0; dimension];
        Self { lower: lower.min(at_zero), upper: at_zero, comparator, passes: 1, at_zero }
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
        self.lower = self.lower.max(minorant.floor(comparators));
        watch(self.progress());
    }

    /// The gap relative to the minimum, or to a millionth of F(0) where the minimum is below that.
    pub(crate) fn relative_gap(&self) -> f64 {
        let scale = self.upper.abs().max(1e-6 * self.at_zero.abs());
        if self.upper <= self.lower { 0.0 } else { (self.upper - self.lower) / scale }
    }

    pub(crate) fn is_converged(&self, options: &Options) -> bool {
        self.relative_gap() <= options.tolerance
    }

    pub(crate) fn is_done(&self, options: &Options) -> bool {
        self.is_converged(options) || self.passes >= options.max_passes
    }

    fn progress(&self) -> Progress {
        let (lower, upper) = (self.lower, self.upper);
        Progress { passes: self.passes, lower, upper, relative_gap: self.relative_gap() }
    }
}
