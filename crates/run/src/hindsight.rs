//! The best fixed predictor of a run, and so its regret, as proved intervals.

use crate::replay::Replay;
use crate::spec::{LossSpec, Spec, with_loss};
use rueful_core::NonNegative;
use rueful_core::ledger::Tally;
use rueful_core::set::AnySet;
use rueful_data::DataError;
use rueful_hindsight::{
    Method, Options, Passes, Prefix, Problem, Progress, Solution, Start, solve,
};
use serde::{Deserialize, Serialize};

/// A number known to lie between two others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// It is at least this.
    pub lower: f64,
    /// It is at most this.
    pub upper: f64,
}

/// What the solver found, per round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HindsightReport {
    /// T
    pub examples: u64,
    /// The loss of the best comparator.
    pub comparator: Interval,
    /// ‖u‖ of the comparator found.
    pub norm: f64,
    /// (upper − lower)/upper
    pub relative_gap: f64,
    /// Whether the gap is within the tolerance asked for.
    pub converged: bool,
    /// The tolerance asked for.
    pub tolerance: f64,
    /// Passes over the data.
    pub passes: u64,
    /// How it was solved.
    pub method: Method,
    /// The largest weights of the comparator, by size.
    pub largest_weights: Vec<Weight>,
}

/// One weight of a comparator.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Weight {
    /// The feature; 0 is the constant one where it was added.
    pub index: usize,
    /// Its weight.
    pub weight: f64,
}

/// How many weights a report lists.
const LISTED: usize = 10;

/// Solves for the best comparator of a loss.
pub fn best_in_hindsight<P: Passes>(
    loss: &LossSpec,
    sigma: NonNegative,
    comparators: &AnySet,
    data: &mut P,
    start: Start,
    options: &Options,
    watch: &mut dyn FnMut(Progress),
) -> Result<Solution, P::Error> {
    with_loss!(*loss, loss => {
        let problem = Problem { loss, sigma, comparators: comparators.clone() };
        solve(&problem, data, start, options, watch)
    })
}

impl HindsightReport {
    /// The solver's answer in a report's units.
    pub fn new(solution: &Solution, options: &Options) -> Self {
        let rounds = (solution.examples as f64).max(1.0);
        let gap = solution.upper - solution.lower;
        Self {
            examples: solution.examples,
            comparator: Interval { lower: solution.lower / rounds, upper: solution.upper / rounds },
            norm: solution.comparator.iter().map(|u| u * u).sum::<f64>().sqrt(),
            relative_gap: if gap == 0.0 { 0.0 } else { gap / solution.upper.abs() },
            converged: solution.converged,
            tolerance: options.tolerance,
            passes: solution.passes,
            method: solution.method,
            largest_weights: largest(&solution.comparator),
        }
    }

    /// The exact regret of rounds that lost what `tally` says, per round.
    pub fn regret(&self, tally: &Tally) -> Interval {
        let risk = tally.sequential_risk();
        let rounding = 1e-15 * risk.abs() + 1e-9 * tally.per_round(tally.penalty());
        Interval {
            lower: risk - self.comparator.upper - rounding,
            upper: risk - self.comparator.lower + rounding,
        }
    }
}

fn largest(comparator: &[f64]) -> Vec<Weight> {
    let mut weights: Vec<Weight> = comparator
        .iter()
        .enumerate()
        .map(|(index, &weight)| Weight { index, weight })
        .filter(|entry| entry.weight != 0.0)
        .collect();
    weights.sort_by(|a, b| b.weight.abs().total_cmp(&a.weight.abs()).then(a.index.cmp(&b.index)));
    weights.truncate(LISTED);
    weights
}

/// The comparator's loss after each of `marks` rounds, per round.
pub fn curve_in_hindsight(
    spec: &Spec,
    data: &mut Replay<'_>,
    marks: &[u64],
    options: &Options,
    watch: &mut dyn FnMut(Progress),
) -> Result<Vec<Interval>, DataError> {
    let mut comparator = Vec::new();
    let mut curve = Vec::new();
    for &rounds in marks {
        let start = Start { comparator: comparator.clone(), ..Start::default() };
        let mut prefix = Prefix { data: &mut *data, rounds };
        let solution = best_in_hindsight(
            &spec.loss,
            spec.sigma,
            &spec.comparators,
            &mut prefix,
            start,
            options,
            watch,
        )?;
        curve.push(HindsightReport::new(&solution, options).comparator);
        comparator = solution.comparator;
    }
    Ok(curve)
}
