//! `rueful hindsight`, and the solver as other commands use it.

use crate::args::{HindsightArgs, SolverArgs};
use crate::numbers::{Figure, at_most, count, counted, measured};
use crate::{classes, data, output, view};
use anyhow::bail;
use indicatif::{ProgressBar, ProgressStyle};
use rueful_core::{Comparators, NonNegative};
use rueful_data::printable;
use rueful_hindsight::{Options, Progress, Start};
use rueful_run::{
    AnyLoss, Data, DataSpec, HindsightReport, LabelUse, Replay, Settings, TaskLoss, Weight,
    best_in_hindsight,
};
use serde::Serialize;
use std::ops::ControlFlow;
use std::process::ExitCode;

/// The result of the solver, together with the question that it answers.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// The result.
    #[serde(flatten)]
    pub found: HindsightReport,
    /// The loss φ.
    pub loss: TaskLoss,
    /// The σ of (σ/2)‖u‖², which is added to the loss.
    pub sigma: f64,
    /// The predictors among which it is the best.
    pub comparators: Comparators,
    /// The examples; nothing for those from the memory of a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<DataSpec>,
    /// Whether every example has one more feature that is always 1.
    #[serde(skip)]
    pub constant: bool,
}

pub(crate) fn hindsight(args: &HindsightArgs) -> anyhow::Result<ExitCode> {
    let options = options(&args.solver, true)?;
    let mut settings = Settings {
        loss: args.task.loss.clone(),
        tau: args.task.tau,
        radius: args.task.radius,
        comparators: args.task.comparators.clone(),
        sigma: args.sigma,
        ..Settings::default()
    };
    check(&settings)?;
    let reading_options = args.reading.options();
    let reading = args.weights.weigh(args.format.settings(&args.files)?)?;
    let Data { spec, mut source, loss, .. } =
        data::open(&reading, &args.reading, &reading_options, settings.labels()?)?;
    settings.loss = settings.loss.or(loss.map(str::to_owned));
    let constant = spec.constant;
    let kept = kept_nonzeros(&args.solver);
    let answer = if let Some(loss) = settings.class_loss() {
        let comparators = settings.class_comparison(loss)?;
        let reopen = || data::reopen(&spec, LabelUse::Classes, &reading_options);
        let mut data = Replay::read(&mut *source, &reopen, kept, &comparators)?;
        let labels = source.labels();
        let question =
            classes::Question { loss, comparators: &comparators, classes: 0, labels: &labels };
        let found = question.answer(&mut data, None, &options)?.named(source.names());
        Answer { found, loss: loss.into(), sigma: 0.0, comparators, constant, data: Some(spec) }
    } else {
        let (loss, sigma, comparators) = settings.comparison()?;
        let labels = LabelUse::Learn(loss.labels());
        let reopen = || data::reopen(&spec, labels, &reading_options);
        let mut data = Replay::read(&mut *source, &reopen, kept, &comparators)?;
        let question = Question { loss: &loss, sigma, comparators: &comparators };
        let found = question.answer(&mut data, &[], Start::default(), &options)?;
        let found = found.named(source.names());
        let (loss, sigma) = (loss.into(), sigma.get());
        Answer { found, loss, sigma, comparators, constant, data: Some(spec) }
    };
    let contradictions: Vec<_> = answer.found.contradiction.clone().into_iter().collect();
    if args.json {
        output::print_json(&answer)?;
    } else {
        output::print(&text(&answer))?;
    }
    Ok(output::disagree(&contradictions, ExitCode::SUCCESS))
}

/// Refuses settings that contradict themselves, before the data is read.
fn check(settings: &Settings) -> anyhow::Result<()> {
    match settings.class_loss() {
        Some(loss) => settings.class_comparison(loss).map(|_| ())?,
        None => settings.comparison().map(|_| ())?,
    }
    Ok(())
}

/// The question for the solver: which of these comparators has the least loss.
pub(crate) struct Question<'a> {
    pub(crate) loss: &'a AnyLoss,
    pub(crate) sigma: NonNegative,
    pub(crate) comparators: &'a Comparators,
}

impl Question<'_> {
    /// Solves for the best comparator and shows the progress. The solver starts from the weights of
    /// features in `near`.
    pub(crate) fn answer(
        &self,
        data: &mut Replay<'_>,
        near: &[(u32, f64)],
        start: Start,
        options: &Options,
    ) -> anyhow::Result<HindsightReport> {
        let bar = solver_bar();
        let watch = &mut |progress| show(&bar, progress);
        let start = Start { comparator: data.columns().gather(near), ..start };
        let Self { loss, sigma, comparators } = *self;
        let solution = best_in_hindsight(loss, sigma, comparators, data, start, options, watch);
        bar.finish_and_clear();
        Ok(HindsightReport::new(&solution?, data.columns(), options))
    }
}

/// The settings of when the solver stops. If nothing is solved (`is_asked` is false), these
/// settings have no effect, and giving one is refused.
pub(crate) fn options(args: &SolverArgs, is_asked: bool) -> anyhow::Result<Options> {
    if !is_asked && (args.tolerance.is_some() || args.max_passes.is_some()) {
        bail!("--tolerance and --max-passes have no effect without --hindsight");
    }
    let mut options = Options::default();
    if let Some(tolerance) = args.tolerance {
        if !(tolerance > 0.0 && tolerance < 1.0) {
            bail!("--tolerance: {tolerance} is not a number between 0 and 1");
        }
        options.tolerance = tolerance;
    }
    if args.max_passes == Some(0) {
        bail!("--max-passes: at least 1, for one pass gives an interval already");
    }
    options.max_passes = args.max_passes;
    Ok(options)
}

pub(crate) fn kept_nonzeros(args: &SolverArgs) -> u64 {
    args.keep.saturating_mul(1_000_000)
}

/// A line that shows the solver's progress. It appears only on a terminal.
pub(crate) fn solver_bar() -> ProgressBar {
    if output::is_quiet() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} looking back: {msg}");
    ProgressBar::new_spinner()
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
}

/// Shows how far the solver has come, and lets it go on.
pub(crate) fn show(bar: &ProgressBar, progress: Progress) -> ControlFlow<()> {
    let gap = at_most(progress.relative_gap);
    bar.set_message(format!("pass {}, relative gap {gap}", count(progress.passes)));
    bar.tick();
    ControlFlow::Continue(())
}

/// The answer as a person reads it.
pub(crate) fn text(answer: &Answer) -> String {
    let found = &answer.found;
    let row = |name: &str, value: Figure| {
        vec![name.to_owned(), value.to_string(), value.times(found.examples).to_string()]
    };
    let mut rows = vec![vec![String::new(), "per round".to_owned(), "total".to_owned()]];
    match found.comparator {
        Some(proved) => {
            rows.push(row("at least", Figure::at_least(proved.lower)));
            rows.push(row("at most", Figure::at_most(proved.upper)));
        }
        None => rows.push(vec!["withheld: the proofs disagree".to_owned()]),
    }
    let mut text = view::headed(
        &format!("Best in hindsight: {}", question(answer)),
        &view::numbers_table(rows, 1..=2),
    );
    text += &view::headed("How it was found", &view::plain(about(found)));
    if !found.largest_weights.is_empty() {
        let rows = weights(answer);
        let last = rows[0].len() - 1;
        text += &view::headed("Largest weights", &view::numbers_table(rows, last..=last));
    }
    text
}

fn question(answer: &Answer) -> String {
    let penalty = if answer.sigma > 0.0 {
        format!(" + (σ/2)‖u‖², σ = {}", answer.sigma)
    } else {
        String::new()
    };
    let set = answer.comparators.words(answer.loss.takes_numbers());
    let examples = counted(answer.found.examples, "example");
    let origin = answer.data.as_ref().map_or_else(String::new, origin);
    format!("{}{penalty}, {examples}{origin}; over {set}", answer.loss.name())
}

/// The files that examples come from, and the weights of their classes.
fn origin(data: &DataSpec) -> String {
    let weights = data.class_weights.as_ref();
    let weights = weights.map_or(String::new(), |weights| format!("; {weights}"));
    format!(" of {}{weights}", data.name())
}

fn about(found: &HindsightReport) -> Vec<Vec<String>> {
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let verdict = if found.converged { "as asked for" } else { "the passes ran out before that" };
    vec![
        row("method", view::method(found.method).to_owned()),
        row("passes", count(found.passes)),
        row(
            "relative gap",
            format!(
                "{} (asked for: {}; {verdict})",
                at_most(found.relative_gap),
                measured(found.tolerance)
            ),
        ),
        row("‖u‖", measured(found.norm)),
    ]
}

fn weights(answer: &Answer) -> Vec<Vec<String>> {
    let name = |entry: &Weight| match &entry.name {
        Some(name) => printable(name),
        None if entry.index == 0 && answer.constant => "constant".to_owned(),
        None => format!("feature {}", entry.index),
    };
    let of_class = |entry: &Weight| entry.class.as_deref().map(printable);
    let entries = &answer.found.largest_weights;
    let row = |entry: &Weight| {
        [Some(name(entry)), of_class(entry), Some(measured(entry.weight))].into_iter().flatten()
    };
    entries.iter().map(|entry| row(entry).collect()).collect()
}
