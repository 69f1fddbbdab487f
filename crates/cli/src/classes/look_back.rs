//! `rueful run --hindsight` for labels of many classes: keeps the rows, and solves at the end.

use crate::args::RunArgs;
use crate::hindsight::{kept_nonzeros, show, solver_bar};
use crate::look_back::is_asked;
use rueful_core::{Comparators, Rows};
use rueful_data::{LabelsSeen, Source};
use rueful_hindsight::Options;
use rueful_run::{
    ClassLoss, ClassRun, ClassTask, HindsightReport, Open, Replay, Report,
    best_classes_in_hindsight, class_curve_in_hindsight,
};

/// The question for the solver: which matrix of weights has the least loss.
pub(crate) struct Question<'a> {
    pub(crate) loss: ClassLoss,
    pub(crate) comparators: &'a Comparators,
    /// Classes below this number have weights even if no example is of them.
    pub(crate) classes: u32,
    /// The names of the classes.
    pub(crate) labels: &'a LabelsSeen,
}

impl Question<'_> {
    /// Solves for the best matrix and shows the progress.
    pub(crate) fn answer(
        &self,
        data: &mut Replay<'_>,
        lower: Option<f64>,
        options: &Options,
    ) -> anyhow::Result<HindsightReport> {
        let bar = solver_bar();
        let watch = &mut |progress| show(&bar, progress);
        let Self { loss, comparators, classes, labels } = *self;
        let found =
            best_classes_in_hindsight((loss, classes), comparators, data, lower, options, watch);
        bar.finish_and_clear();
        let name_of = |class: u32| match labels.counts.get(class as usize) {
            Some((label, _)) => label.clone(),
            None => class.to_string(),
        };
        Ok(HindsightReport::of_classes(&found?, data.columns(), options, name_of))
    }
}

/// The rows that are kept during a run in order to solve for the best matrix at its end.
pub(super) struct LookBack<'a> {
    options: Options,
    wants_curve: bool,
    wants_end: bool,
    replay: Replay<'a>,
}

impl<'a> LookBack<'a> {
    /// Makes an empty record, or none if neither `--hindsight` nor `--curve-hindsight` is given.
    pub(super) fn new(
        args: &RunArgs,
        options: Options,
        task: &ClassTask,
        reopen: &'a Open<'a>,
    ) -> Option<Self> {
        let kept = kept_nonzeros(&args.solver);
        is_asked(args).then(|| Self {
            options,
            wants_curve: args.curve_hindsight,
            wants_end: args.hindsight,
            replay: Replay::new(reopen, kept, &task.comparators),
        })
    }

    pub(super) fn observe(&mut self, rows: Rows<'_>) {
        self.replay.keep(rows);
    }

    /// Whether the solver can read the examples again, and not others as well.
    pub(super) fn is_possible(&self, was_interrupted: bool) -> bool {
        !was_interrupted || self.replay.is_kept()
    }

    /// Solves, and adds the exact regret and the curve to the report, as far as they are asked for.
    pub(super) fn add_to(
        mut self,
        report: &mut Report,
        run: &ClassRun,
        source: &dyn Source,
    ) -> anyhow::Result<()> {
        self.replay.settle(source.census());
        let ClassTask { loss, comparators, .. } = run.task();
        if self.wants_end {
            let labels = &run.seen().labels;
            let question = Question { loss: *loss, comparators, classes: 0, labels };
            let found = question.answer(&mut self.replay, run.floor(), &self.options)?;
            report.add_class_hindsight(found.named(source.names()), run.ledger().tally());
        }
        if self.wants_curve {
            let marks: Vec<u64> = report.curve.iter().map(|point| point.t).collect();
            let bar = solver_bar();
            let watch = &mut |progress| show(&bar, progress);
            let Self { replay, options, .. } = &mut self;
            let found =
                class_curve_in_hindsight(*loss, comparators, replay, &marks, options, watch);
            bar.finish_and_clear();
            report.add_curve(&run.ledger().curve(None), &found?);
        }
        Ok(())
    }
}
