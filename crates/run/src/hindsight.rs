//! The best fixed predictor of a run, and its regret, as proved intervals.

use crate::columns::Columns;
use crate::contradiction::Contradiction;
use crate::replay::Replay;
use crate::statistics::Statistics;
use crate::task::Task;
use rueful_core::ledger::Tally;
use rueful_core::loss::{AnyLoss, Loss};
use rueful_core::{Comparators, ExactSum, Ledger, NonNegative, Rows, Ruler};
use rueful_data::{DataError, Names};
use rueful_hindsight::{
    Gram, Method, Options, Passes, Prefix, Problem, Progress, Scales, Solution, Source, Start,
    best_mistake_bound, solve, solve_unit_free,
};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// Two numbers between which a third one lies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The number is at least this.
    pub lower: f64,
    /// The number is at most this.
    pub upper: f64,
}

/// The solver's results, per round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HindsightReport {
    /// The number T of examples.
    pub examples: u64,
    /// The loss of the best comparator. Null if the proofs of the two ends contradict each other.
    pub comparator: Option<Interval>,
    /// The two ends, if they contradict each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contradiction: Option<Contradiction>,
    /// The norm ‖u‖ of the comparator that was found.
    pub norm: f64,
    /// upper − lower, relative to the larger of |upper| and a millionth of what u = 0 loses.
    pub relative_gap: f64,
    /// Whether the gap is within the tolerance.
    pub converged: bool,
    /// The tolerance that was asked for.
    pub tolerance: f64,
    /// The number of passes over the data.
    pub passes: u64,
    /// The method that solved it.
    pub method: Method,
    /// The largest weights of the comparator, by size.
    pub largest_weights: Vec<Weight>,
}

/// One weight of a comparator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Weight {
    /// The feature. Index 0 is the constant feature, where it was added.
    pub index: u32,
    /// The name of the feature, where features have names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The class whose score has the weight, where there are many classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The weight of the feature.
    pub weight: f64,
}

/// The number of weights that a report lists.
const LISTED: usize = 10;

/// Solves for the best comparator of a loss.
pub fn best_in_hindsight(
    loss: &AnyLoss,
    sigma: NonNegative,
    comparators: &Comparators,
    data: &mut dyn Passes<Error = DataError>,
    start: Start,
    options: &Options,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Solution, DataError> {
    match comparators {
        Comparators::Set(set) => {
            let problem = Problem { loss: *loss, sigma, comparators: set.clone() };
            solve(&problem, data, start, options, watch)
        }
        Comparators::UnitFree(ball) => {
            let scales = measure(loss, data)?;
            solve_unit_free(*loss, ball.radius, &scales, data, start, options, watch)
        }
    }
}

/// Measures the scales of the columns and labels of some data.
fn measure(loss: &AnyLoss, data: &mut dyn Passes<Error = DataError>) -> Result<Scales, DataError> {
    let mut ruler = Ruler::new(loss);
    data.pass(&mut |rows| ruler.observe_rows(rows))?;
    Ok(scales(&ruler))
}

fn scales(ruler: &Ruler) -> Scales {
    Scales { columns: ruler.largest().to_vec(), label: ruler.label() }
}

impl HindsightReport {
    /// The solver's answer in a report's units. Its comparator is over these columns.
    pub fn new(solution: &Solution, columns: &Columns, options: &Options) -> Self {
        let contradiction = solution.contradiction.map(|crossed| {
            let rounds = (solution.examples as f64).max(1.0);
            let lower = format!("the least loss, at least ({})", origin(crossed.lower_from));
            let upper = format!("the least loss, at most ({})", origin(crossed.upper_from));
            Contradiction {
                lower: (&*lower, crossed.lower / rounds).into(),
                upper: (&*upper, crossed.upper / rounds).into(),
            }
        });
        Self {
            examples: solution.examples,
            comparator: contradiction.is_none().then(|| per_round(solution)),
            contradiction,
            norm: ExactSum::of_squares(solution.comparator.iter().copied()).root(),
            relative_gap: solution.relative_gap,
            converged: solution.converged,
            tolerance: options.tolerance,
            passes: solution.passes,
            method: solution.method,
            largest_weights: largest(&solution.comparator, columns),
        }
    }

    /// The same report with the names of the features.
    pub fn named(mut self, names: &Names) -> Self {
        for weight in &mut self.largest_weights {
            weight.name = names.get(weight.index);
        }
        self
    }

    /// The exact regret per round, where `tally` has the loss of the rounds. `None` where the
    /// comparator's loss is not known.
    pub fn regret(&self, tally: &Tally) -> Option<Interval> {
        self.regret_between(tally.loss_interval(), tally.rounds())
    }

    /// The exact regret per round of rounds whose total loss lies between two numbers.
    pub(crate) fn regret_between(
        &self,
        (least, most): (f64, f64),
        rounds: u64,
    ) -> Option<Interval> {
        Some(self.comparator?.regret_between((least, most), rounds))
    }
}

impl Interval {
    /// The regret per round against a comparator that loses so much per round, of rounds whose total
    /// loss lies between two numbers.
    pub(crate) fn regret_between(self, (least, most): (f64, f64), rounds: u64) -> Self {
        let rounds = rounds.max(1) as f64;
        let (low, high) = (least / rounds, most / rounds);
        let rounding = 4.0 * f64::EPSILON * (low.abs() + high.abs());
        Self {
            lower: (low - rounding - self.upper).next_down(),
            upper: (high + rounding - self.lower).next_up(),
        }
    }
}

/// The origin of a bound, in words.
fn origin(from: Source) -> &'static str {
    match from {
        Source::Start => "by the certificate of the run",
        Source::Sign => "because losses are never negative",
        Source::Dual => "by slopes",
        Source::Primal => "by the loss of a comparator",
    }
}

fn largest(comparator: &[f64], columns: &Columns) -> Vec<Weight> {
    let named = |(column, weight)| Weight {
        index: columns.feature(column),
        name: None,
        class: None,
        weight,
    };
    largest_of(comparator).map(named).collect()
}

/// The places of the largest weights, by size, and the weights.
pub(crate) fn largest_of(comparator: &[f64]) -> impl Iterator<Item = (usize, f64)> {
    let weights = comparator.iter().copied().enumerate();
    let mut weights: Vec<_> = weights.filter(|&(_, weight)| weight != 0.0).collect();
    let by_size = |a: &(usize, f64), b: &(usize, f64)| b.1.abs().total_cmp(&a.1.abs());
    weights.sort_by(|a, b| by_size(a, b).then(a.0.cmp(&b.0)));
    weights.truncate(LISTED);
    weights.into_iter()
}

/// The comparator's loss after each of `marks` rounds, per round.
pub fn curve_in_hindsight(
    task: &Task,
    data: &mut Replay<'_>,
    marks: &[u64],
    options: &Options,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Vec<Interval>, DataError> {
    let mut comparator = Vec::new();
    let mut curve = Vec::new();
    for &rounds in marks {
        let start = Start { comparator: comparator.clone(), ..Start::default() };
        let mut prefix = Prefix { data: &mut *data, rounds };
        let solution = best_in_hindsight(
            &task.loss,
            task.sigma,
            &task.comparators,
            &mut prefix,
            start,
            options,
            watch,
        )?;
        curve.push(per_round(&solution));
        comparator = solution.comparator;
    }
    Ok(curve)
}

/// The most columns for which the square loss is followed by its sufficient statistics.
const GRAM_COLUMNS: usize = 2000;

/// The best comparator of the square loss at every mark of a stream, solved without keeping the
/// data.
pub struct SquareWatch {
    statistics: Option<Statistics>,
    comparators: Comparators,
    /// The ruler for the columns of the statistics.
    ruler: Ruler,
    next_mark: u64,
    marks: Vec<Interval>,
}

impl SquareWatch {
    /// Watches a run of this description. `None` if its loss is not the square loss.
    pub fn new(task: &Task) -> Option<Self> {
        task.loss.is_square().then(|| Self {
            statistics: Some(Statistics::new(
                Gram::new(task.sigma),
                task.comparators.named_coordinates(),
            )),
            comparators: task.comparators.clone(),
            ruler: Ruler::new(&task.loss),
            next_mark: 1,
            marks: Vec::new(),
        })
    }

    /// Takes in the next rows. With `marks`, it solves at t = 1, 2, 4, 8, … on the way. It gives up
    /// where there are too many columns.
    pub fn observe(&mut self, rows: Rows<'_>, marks: bool) {
        let Self { comparators, ruler, next_mark, marks: solved, .. } = self;
        let Some(statistics) = &mut self.statistics else { return };
        let goes_on = statistics.observe_each(rows, GRAM_COLUMNS, |gram, row| {
            ruler.observe_rows(row);
            if marks && gram.rounds() == *next_mark {
                solved.push(per_round(&best(gram, comparators, ruler)));
                *next_mark *= 2;
            }
        });
        if !goes_on {
            self.statistics = None;
        }
    }

    /// The features that the solution is about.
    pub fn columns(&self) -> Columns {
        Columns::Seen(self.statistics.as_ref().map_or_else(Vec::new, Statistics::features))
    }

    /// The best comparator of the whole stream, if it was followed and is as good as asked for.
    pub fn solution(&self, options: &Options) -> Option<Solution> {
        let solution = best(self.statistics.as_ref()?.gram(), &self.comparators, &self.ruler);
        let converged = solution.relative_gap <= options.tolerance;
        converged.then_some(Solution { converged, ..solution })
    }

    /// The comparator's loss at the marks and at the end, per round, if it was followed.
    pub fn curve(&self) -> Option<Vec<Interval>> {
        let gram = self.statistics.as_ref()?.gram();
        let mut curve = self.marks.clone();
        if !gram.rounds().is_power_of_two() {
            curve.push(per_round(&best(gram, &self.comparators, &self.ruler)));
        }
        Some(curve)
    }
}

/// The best comparator by sufficient statistics.
fn best(gram: &Gram, comparators: &Comparators, ruler: &Ruler) -> Solution {
    match comparators {
        Comparators::Set(set) => gram.solve(set),
        Comparators::UnitFree(ball) => gram.solve_unit_free(ball.radius, &scales(ruler)),
    }
}

pub(crate) fn per_round(solution: &Solution) -> Interval {
    let rounds = (solution.examples as f64).max(1.0);
    Interval {
        lower: (solution.lower / rounds).next_down(),
        upper: (solution.upper / rounds).next_up(),
    }
}

/// The Perceptron's mistakes, and the least bound on them that was found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MistakeReport {
    /// The number M of mistakes.
    pub mistakes: u64,
    /// The bound on M that the comparator below proves.
    pub bound: f64,
    /// The norm ‖u‖ of the comparator.
    pub norm: f64,
    /// Its hinge loss Σ [1 − y_t u·x_t]₊.
    pub hinge: f64,
}

/// Looks for the comparator with the least bound on the mistakes of a Perceptron.
pub fn bound_mistakes(
    ledger: &Ledger,
    data: &mut dyn Passes<Error = DataError>,
    options: &Options,
) -> Result<MistakeReport, DataError> {
    let found = best_mistake_bound(data, ledger.example_norm_max(), options)?;
    let mistakes = ledger.mistakes();
    Ok(MistakeReport { mistakes, bound: found.bound, norm: found.norm, hinge: found.hinge })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A report on a comparator with this loss per round.
    fn report(loss: f64) -> HindsightReport {
        HindsightReport {
            examples: 1,
            comparator: Some(Interval { lower: loss, upper: loss }),
            contradiction: None,
            norm: 0.0,
            relative_gap: 0.0,
            converged: true,
            tolerance: 0.0,
            passes: 1,
            method: Method::Newton,
            largest_weights: Vec::new(),
        }
    }

    #[test]
    fn means_of_losses_lie_on_either_side_of_the_quotient() {
        let mean = |total: f64, examples: u64| {
            per_round(&Solution {
                lower: total,
                upper: total,
                relative_gap: 0.0,
                comparator: Vec::new(),
                examples,
                passes: 1,
                method: Method::Newton,
                converged: true,
                contradiction: None,
            })
        };
        // The double next to 1/5 is larger, and the one next to 1/3 is smaller.
        assert!(mean(1.0, 5).lower < 0.2);
        assert!(mean(1.0, 3).upper > 1.0 / 3.0);
    }

    #[test]
    fn what_the_quotient_of_a_loss_lost_is_in_its_regret() {
        // The quotients cancel with the comparator's loss. What is left is what they lost: 1.8·10⁻¹⁷
        // and −1.1·10⁻¹⁷.
        let regret =
            |rounds: u64| report(1.0 / rounds as f64).regret_between((1.0, 1.0), rounds).unwrap();
        assert!(regret(3).upper >= (-54_f64).exp2() / 3.0 && regret(3).lower < 0.0);
        assert!(regret(5).lower <= -1.11e-17 && regret(5).upper > 0.0);
    }

    #[test]
    fn the_difference_of_losses_is_rounded_outwards() {
        // Beside 1, a loss of ±10⁻²⁰ is lost.
        let regret = |loss: f64| report(-1.0).regret_between((loss, loss), 1).unwrap();
        assert!(regret(-1e-20).lower < 1.0 && regret(1e-20).upper > 1.0);
    }
}
