//! `rueful run --hindsight`: keeps what the solver needs while a run goes on, and solves at its
//! end.

use crate::args::RunArgs;
use crate::hindsight::{self, Question};
use rueful_core::{Round, Rows};
use rueful_data::Source;
use rueful_hindsight::{Options, Start};
use rueful_run::{
    HindsightReport, LearnerSpec, Open, Replay, Report, Run, SquareWatch, Task, bound_mistakes,
    curve_in_hindsight,
};

/// The settings of when the solver stops. They are refused if nothing is solved.
pub(crate) fn options(args: &RunArgs) -> anyhow::Result<Options> {
    hindsight::options(&args.solver, is_asked(args) || args.keep.alarm.is_some())
}

/// The note on a run that was interrupted before the solver could read its data.
pub(crate) const NOT_KEPT: &str = "interrupted: no exact regret, for the data are not in memory";

/// Whether something is solved at the end of a run.
pub(crate) fn is_asked(args: &RunArgs) -> bool {
    args.hindsight || args.curve_hindsight
}

/// The data that is kept during a run in order to solve for the best comparator at its end.
pub(crate) struct LookBack<'a> {
    options: Options,
    wants_curve: bool,
    wants_end: bool,
    replay: Replay<'a>,
    slopes: Vec<f64>,
    square: Option<SquareWatch>,
}

impl<'a> LookBack<'a> {
    /// Makes an empty record, or none if neither `--hindsight` nor `--curve-hindsight` is given.
    pub(crate) fn new(
        args: &RunArgs,
        options: Options,
        task: &Task,
        reopen: &'a Open<'a>,
    ) -> Option<Self> {
        let kept = hindsight::kept_nonzeros(&args.solver);
        is_asked(args).then(|| Self {
            options,
            wants_curve: args.curve_hindsight,
            wants_end: args.hindsight,
            replay: Replay::new(reopen, kept, &task.comparators),
            slopes: Vec::new(),
            square: SquareWatch::new(task),
        })
    }

    /// Records a batch and its rounds.
    pub(crate) fn observe(&mut self, rows: Rows<'_>, rounds: &[Round]) {
        self.replay.keep(rows);
        let counted = rows.iter().zip(rounds).filter(|(row, _)| !row.importance.is_zero());
        self.slopes.extend(counted.map(|(_, round)| round.slope));
        if let Some(square) = &mut self.square {
            square.observe(rows, self.wants_curve);
        }
    }

    /// Whether the solver can read the examples again. After an interrupt it can only if they are
    /// in memory, because the files also hold examples that the run has not seen.
    pub(crate) fn is_possible(&self, was_interrupted: bool) -> bool {
        !was_interrupted || self.replay.is_kept()
    }

    /// Solves, and adds the exact regret and the curve to the report, as far as they are asked for.
    pub(crate) fn add_to(
        mut self,
        report: &mut Report,
        run: &Run,
        source: &dyn Source,
    ) -> anyhow::Result<()> {
        self.replay.settle(source.census());
        if self.wants_end {
            self.add_end(report, run, source)?;
        }
        if self.wants_curve {
            self.add_curve(report, run)?;
        }
        Ok(())
    }

    fn add_end(
        &mut self,
        report: &mut Report,
        run: &Run,
        source: &dyn Source,
    ) -> anyhow::Result<()> {
        let known = self.square.as_ref().and_then(|square| square.solution(&self.options));
        let found = match known.zip(self.square.as_ref()) {
            Some((solution, square)) => {
                HindsightReport::new(&solution, &square.columns(), &self.options)
            }
            None => self.solve(run)?,
        };
        let found = found.named(source.names());
        report.add_hindsight(found, run.ledger());
        if let LearnerSpec::Perceptron { .. } = run.task().learner {
            let bound = bound_mistakes(run.ledger(), &mut self.replay, &self.options)?;
            report.add_mistake_bound(bound);
        }
        Ok(())
    }

    /// Solves for the best comparator. The solver starts from the weights, slopes and lower bound
    /// of the run.
    fn solve(&mut self, run: &Run) -> anyhow::Result<HindsightReport> {
        let Task { loss, sigma, comparators, .. } = run.task();
        let start = Start {
            slopes: std::mem::take(&mut self.slopes),
            lower: Some(run.floor()),
            ..Start::default()
        };
        let question = Question { loss, sigma: *sigma, comparators };
        question.answer(&mut self.replay, &run.weights(), start, &self.options)
    }

    fn add_curve(&mut self, report: &mut Report, run: &Run) -> anyhow::Result<()> {
        let points = run.ledger().curve();
        if let Some(curve) = self.square.as_ref().and_then(SquareWatch::curve) {
            report.add_curve(&points, &curve);
            return Ok(());
        }
        let marks: Vec<u64> = report.curve.iter().map(|point| point.t).collect();
        let bar = hindsight::solver_bar();
        let watch = &mut |progress| hindsight::show(&bar, progress);
        let found = curve_in_hindsight(run.task(), &mut self.replay, &marks, &self.options, watch);
        bar.finish_and_clear();
        report.add_curve(&points, &found?);
        Ok(())
    }
}
