//! `rueful run`

use crate::args::RunArgs;
use crate::{hindsight, output, view};
use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};
use rueful_data::{DataError, Follow, LabelRule, Reader, Reading, Schema, Source, Survey, survey};
use rueful_hindsight::{Options, Solution, Start};
use rueful_run::{
    HindsightReport, LearnerSpec, LossSpec, Replay, Resolved, Run, Spec, SquareWatch,
    bound_mistakes, curve_in_hindsight,
};
use std::path::Path;

pub(crate) fn run(args: &RunArgs) -> anyhow::Result<()> {
    let looks_back = args.hindsight || args.curve_hindsight;
    let options = hindsight::options(&args.solver, looks_back)?;
    let Resolved { spec, notes } = describe(args)?;
    let reopen = || -> Result<Box<dyn Source>, DataError> {
        Ok(Box::new(open(&spec.data.file, spec.data.constant, &spec.loss)?))
    };
    let mut replay = Replay::new(&reopen, hindsight::kept_nonzeros(&args.solver));
    let mut slopes = Vec::new();
    let mut square = SquareWatch::new(&spec).filter(|_| looks_back);

    let mut source = reopen()?;
    let mut run = Run::new(spec.clone())?;
    let bar = progress_bar(&spec.data.file);
    let finished = run.drive(&mut *source, |batch, rounds, progress| {
        if looks_back {
            replay.keep(batch);
            slopes.extend(rounds.iter().map(|round| round.slope));
        }
        if let Some(square) = &mut square {
            square.observe(batch, args.curve_hindsight);
        }
        bar.set_position(progress.bytes);
        bar.set_message(format!("average loss {:.4}", progress.sequential_risk));
    });
    bar.finish_and_clear();
    finished?;

    let mut report = run.report(&*source);
    if args.hindsight {
        let known = square.as_ref().and_then(|square| square.solution(&options));
        let solution = match known {
            Some(solution) => solution,
            None => look_back(&run, &mut replay, slopes, &options)?,
        };
        report.add_hindsight(HindsightReport::new(&solution, &options), run.ledger());
        if let LearnerSpec::Perceptron { .. } = spec.learner {
            report.mistake_bound = Some(bound_mistakes(run.ledger(), &mut replay, &options)?);
        }
    }
    if let Some(curve) = square.and_then(|square| square.curve()).filter(|_| args.curve_hindsight) {
        report.add_curve(&curve);
    } else if args.curve_hindsight {
        let marks: Vec<u64> = report.curve.iter().map(|point| point.t).collect();
        let bar = hindsight::solver_bar();
        let found = curve_in_hindsight(&spec, &mut replay, &marks, &options, &mut |progress| {
            hindsight::show(&bar, progress);
        });
        bar.finish_and_clear();
        report.add_curve(&found?);
    }
    if args.json {
        notes.iter().for_each(|note| output::note(note));
        output::print_json(&report)
    } else {
        output::print(&view::report(&report, &notes))
    }
}

/// Solves for the best comparator, from where the run left off.
fn look_back(
    run: &Run,
    replay: &mut Replay<'_>,
    slopes: Vec<f64>,
    options: &Options,
) -> anyhow::Result<Solution> {
    let spec = run.spec();
    let start = Start {
        comparator: run.learner().weights(),
        slopes,
        lower: Some(run.ledger().minorant().floor(&spec.comparators)),
    };
    hindsight::look_back(&spec.loss, spec.sigma, &spec.comparators, replay, start, options)
}

/// The description of the run: from the flags, or from a file.
fn describe(args: &RunArgs) -> anyhow::Result<Resolved> {
    if let Some(path) = &args.spec {
        let mut spec = read_spec(path)?;
        if let Some(file) = &args.file {
            spec.data.file = file_name(file)?;
        }
        return Ok(Resolved { spec, notes: Vec::new() });
    }
    let Some(file) = &args.file else { bail!("FILE is missing") };
    let file = file_name(file)?;
    let constant = !args.no_constant;
    let once_only = std::fs::metadata(&file).is_ok_and(|found| !found.is_file() && !found.is_dir());
    let mut surveyed = false;
    let mut look_ahead = |loss: &LossSpec| -> Result<Survey, DataError> {
        surveyed = true;
        if once_only { Ok(Survey::default()) } else { survey(&mut open(&file, constant, loss)?) }
    };
    let resolved = args.settings().resolve(&file, &mut look_ahead);
    if surveyed && once_only {
        bail!("{file} can be read only once: give --horizon and --gradient-bound");
    }
    Ok(resolved?)
}

/// Reads a spec, or the report that contains one.
fn read_spec(path: &Path) -> anyhow::Result<Spec> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
    let mut value: serde_json::Value =
        serde_json::from_str(&text).with_context(|| format!("{shown} is not JSON"))?;
    if let Some(spec) = value.get_mut("spec") {
        value = spec.take();
    }
    serde_path_to_error::deserialize(value)
        .with_context(|| format!("{shown} does not describe a run"))
}

pub(crate) fn file_name(path: &Path) -> anyhow::Result<String> {
    match path.to_str() {
        Some(name) => Ok(name.to_owned()),
        None => bail!("the name of {} is not valid text", path.display()),
    }
}

pub(crate) fn open(file: &str, constant: bool, loss: &LossSpec) -> Result<Reader, DataError> {
    let reading = Reading { constant, ..Reading::new(LabelRule::new(loss.labels(), None)) };
    Reader::open(&[file.to_owned()], &Schema::Libsvm {}, &reading, &Follow::No)
}

/// A bar over the bytes of the file; it shows itself only on a terminal.
pub(crate) fn progress_bar(file: &str) -> ProgressBar {
    let size = std::fs::metadata(file).map_or(0, |metadata| metadata.len());
    let style = ProgressStyle::with_template(
        "{bar:30} {percent}%  {bytes}/{total_bytes}  {bytes_per_sec}  {eta} left  {msg}",
    );
    ProgressBar::new(size).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
