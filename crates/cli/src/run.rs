//! `rueful run`

use crate::args::RunArgs;
use crate::{data, hindsight, output, view};
use anyhow::{Context, bail};
use rueful_data::{DataError, Follow, Source, Survey, survey};
use rueful_hindsight::{Options, Solution, Start};
use rueful_run::{
    Data, HindsightReport, LabelUse, LearnerSpec, LossSpec, Manner, Notation, Replay, Resolved,
    Run, SettingsError, Spec, SquareWatch, bound_mistakes, curve_in_hindsight,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) fn run(args: &RunArgs) -> anyhow::Result<()> {
    let looks_back = args.hindsight || args.curve_hindsight;
    let options = hindsight::options(&args.solver, looks_back)?;
    if args.print_spec {
        return print_spec(args);
    }
    let manner = Manner { follow: follow(args)?, ..args.manner.manner() };
    let Described { spec, notes, mut source } = describe(args, &manner)?;
    let labels = LabelUse::Learn(spec.loss.labels());
    let reopen = || data::reopen(&spec.data, labels, &manner);
    let mut replay = Replay::new(&reopen, hindsight::kept_nonzeros(&args.solver));
    let mut slopes = Vec::new();
    let mut square = SquareWatch::new(&spec).filter(|_| looks_back);

    let mut run = Run::new(spec.clone())?;
    let bar = data::progress_bar(&spec.data);
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

    replay.settle(source.census());
    let mut report = run.report(&*source);
    if args.hindsight {
        let known = square.as_ref().and_then(|square| square.solution(&options));
        let solution = match known {
            Some(solution) => solution,
            None => look_back(&run, &mut replay, slopes, &options)?,
        };
        let found = HindsightReport::new(&solution, &options).named(source.names());
        report.add_hindsight(found, run.ledger());
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

/// Whether files are followed, and until when: an interrupt ends the stream, not the program.
fn follow(args: &RunArgs) -> anyhow::Result<Follow> {
    if !args.follow {
        return Ok(Follow::No);
    }
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    ctrlc::set_handler(move || told.store(true, Ordering::Relaxed))
        .context("cannot listen for interrupts")?;
    output::note("learning from what comes; an interrupt (Ctrl-C) ends it, with the report");
    Ok(Follow::Until(stop))
}

/// A run that is about to begin.
struct Described {
    spec: Spec,
    notes: Vec<String>,
    source: Box<dyn Source>,
}

/// The description of the run, from the flags or from a file, and its data.
fn describe(args: &RunArgs, manner: &Manner) -> anyhow::Result<Described> {
    if let Some(path) = &args.spec {
        let spec = read_spec(path, &args.files)?;
        let source = spec.data.open(LabelUse::Learn(spec.loss.labels()), manner)?;
        return Ok(Described { spec, notes: Vec::new(), source });
    }
    let settings = args.settings();
    settings.check()?;
    let labels = LabelUse::Learn(settings.loss()?.labels());
    let reading = args.weights.weigh(args.format.settings(&args.files)?)?;
    let Data { spec: read, source, .. } = data::open(&reading, &args.manner, manner, labels)?;
    let mut look_ahead = |_: &LossSpec| -> Result<Survey, DataError> {
        survey(&mut *data::reopen(&read, labels, manner)?)
    };
    let resolved = settings.resolve(read.clone(), &mut look_ahead);
    if let Err(SettingsError::Data(DataError::OnceOnly { file })) = &resolved {
        let file = if file == "-" { "standard input" } else { file };
        bail!("{file} can be read only once: give --horizon and --gradient-bound");
    }
    let Resolved { spec, notes } = resolved?;
    Ok(Described { spec, notes, source })
}

/// The description in a file; `files`, if there are any, replace its own.
fn read_spec(path: &Path, files: &[String]) -> anyhow::Result<Spec> {
    let mut spec = Spec::read(path)?;
    if !files.is_empty() {
        spec.data.files = files.to_vec();
    }
    Ok(spec)
}

/// Prints the description of a run in place of running it.
fn print_spec(args: &RunArgs) -> anyhow::Result<()> {
    let spec = match &args.spec {
        Some(path) => read_spec(path, &args.files)?,
        None => {
            let described = describe(args, &args.manner.manner())?;
            described.notes.iter().for_each(|note| output::note(note));
            described.spec
        }
    };
    let notation = if args.json { Notation::Json } else { Notation::Toml };
    output::print(&spec.to_text(notation)?)
}
