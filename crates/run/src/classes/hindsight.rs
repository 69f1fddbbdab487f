//! The best matrix of weights of a run of many classes, as a proved interval.

use super::ClassLoss;
use crate::columns::Columns;
use crate::hindsight::{HindsightReport, Interval, Weight, largest_of, per_round};
use crate::replay::Replay;
use rueful_core::Comparators;
use rueful_data::DataError;
use rueful_hindsight::{
    ClassProblem, ClassSolution, Options, Passes, Prefix, Progress, solve_classes,
};
use std::ops::ControlFlow;

/// Solves for the best matrix of weights. All classes that occur have a row, and so have those below
/// `classes`. `lower` is a bound on its loss that is proved already.
pub fn best_classes_in_hindsight(
    (loss, classes): (ClassLoss, u32),
    comparators: &Comparators,
    data: &mut dyn Passes<Error = DataError>,
    lower: Option<f64>,
    options: &Options,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<ClassSolution, DataError> {
    let comparators = comparators.clone();
    let problem = ClassProblem { loss, comparators, classes, scales: None };
    solve_classes(&problem, data, lower, options, watch)
}

/// The loss of the best matrix after each of `marks` rounds, per round.
pub fn class_curve_in_hindsight(
    loss: ClassLoss,
    comparators: &Comparators,
    data: &mut Replay<'_>,
    marks: &[u64],
    options: &Options,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Vec<Interval>, DataError> {
    let mut solve = |&rounds: &u64| {
        let mut prefix = Prefix { data: &mut *data, rounds };
        let found =
            best_classes_in_hindsight((loss, 0), comparators, &mut prefix, None, options, watch)?;
        Ok(per_round(&found.solution))
    };
    marks.iter().map(&mut solve).collect()
}

impl HindsightReport {
    /// The solver's answer for many classes in a report's units. Its matrices are over these columns.
    pub fn of_classes(
        found: &ClassSolution,
        columns: &Columns,
        options: &Options,
        name_of: impl Fn(u32) -> String,
    ) -> Self {
        let ClassSolution { solution, classes } = found;
        let weight = |(place, weight)| Weight {
            index: columns.feature(place / classes.len()),
            name: None,
            class: Some(name_of(classes[place % classes.len()])),
            weight,
        };
        let largest_weights = largest_of(&solution.comparator).map(weight).collect();
        Self { largest_weights, ..Self::new(solution, columns, options) }
    }
}
