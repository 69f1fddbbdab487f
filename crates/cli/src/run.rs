//! `rueful run`

use crate::args::RunArgs;
use crate::predictions::PredictionsFile;
use crate::progress::Watch;
use crate::windows::Windows;
use crate::{data, hindsight, interrupt, numbers, output, page, view};
use anyhow::bail;
use rueful_data::{DataError, Follow, Source, Survey, survey};
use rueful_hindsight::{Options, Solution, Start};
use rueful_page::Page;
use rueful_run::{
    Data, DataSpec, HindsightReport, LabelUse, LearnerSpec, LossSpec, Manner, Model, Notation,
    Replay, Resolved, Run, SettingsError, Spec, SquareWatch, bound_mistakes, check_place,
    curve_in_hindsight,
};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let looks_back = args.hindsight || args.curve_hindsight;
    let options = hindsight::options(&args.solver, looks_back)?;
    if args.print_spec {
        return print_spec(args).map(|()| ExitCode::SUCCESS);
    }
    let stop = interrupt::listen()?;
    let manner = Manner { follow: follow(args, &stop), ..args.manner.manner() };
    let Begun { mut run, notes, mut source, manner } = begin(args, manner)?;
    let resumed = run.ledger().rounds();
    let spec = run.spec().clone();
    let labels = LabelUse::Learn(spec.loss.labels());
    let reopen = || data::reopen(&spec.data, labels, &manner);
    let mut replay = Replay::new(&reopen, hindsight::kept_nonzeros(&args.solver));
    let mut slopes = Vec::new();
    let mut square = SquareWatch::new(&spec).filter(|_| looks_back);

    let mut keeper = Keeper::new(args, &run)?;
    let mut windows = Windows::new(&run, args.keep.window.map(NonZeroU64::get));
    let has_windows = args.keep.report.is_some();
    let mut watch = Watch::new(&run, args.quiet);
    let finished = loop {
        match run.advance(&mut *source) {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(error) => break Err(error.into()),
        }
        let (batch, rounds) = run.last();
        if looks_back {
            replay.keep(batch);
            slopes.extend(rounds.iter().map(|round| round.slope));
        }
        if let Some(square) = &mut square {
            square.observe(batch, args.curve_hindsight);
        }
        watch.tell(&run, &*source);
        if has_windows {
            windows.tell(batch, rounds);
        }
        if let Err(error) = keeper.keep(&run, &*source) {
            break Err(error);
        }
        // A stream that is followed ends by itself when it is told to, behind what has come.
        if stop.load(Ordering::Relaxed) && !args.follow {
            break Ok(());
        }
    };
    watch.finish();
    keeper.finish(&run, &*source, finished)?;
    let was_interrupted = stop.load(Ordering::Relaxed) && !args.follow;
    if was_interrupted {
        let examples = numbers::count(run.ledger().rounds());
        output::note(&format!("interrupted: this is about the first {examples} examples"));
    }

    replay.settle(source.census());
    let mut report = run.report(&*source);
    report.resumed = args.keep.resume.as_ref().map(|_| resumed);
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
    if args.keep.report.is_some() || args.keep.plot.is_some() {
        let page = page::page(&report, &run, &*source, windows);
        let write = |path: &Option<PathBuf>, make: fn(&Page) -> String| match path {
            Some(path) => page::write(path, &make(&page)),
            None => Ok(()),
        };
        write(&args.keep.report, rueful_page::html)?;
        write(&args.keep.plot, rueful_page::svg)?;
    }
    if args.json {
        notes.iter().for_each(|note| output::note(note));
        output::print_json(&report)?;
    } else {
        output::print(&view::report(&report, &notes))?;
    }
    Ok(if was_interrupted { interrupt::EXIT_CODE.into() } else { ExitCode::SUCCESS })
}

/// What a run leaves behind on its way: predictions, and models.
struct Keeper<'a> {
    predictions: Option<PredictionsFile>,
    model: Option<&'a Path>,
    checkpoint_every: Option<u64>,
    next_checkpoint: u64,
    /// The round of the model on the disk, if this run wrote it.
    saved: Option<u64>,
}

impl<'a> Keeper<'a> {
    fn new(args: &'a RunArgs, run: &Run) -> anyhow::Result<Self> {
        let every = args.keep.checkpoint_every.map(NonZeroU64::get);
        args.keep.save.as_deref().map_or(Ok(()), check_place)?;
        [&args.keep.report, &args.keep.plot]
            .into_iter()
            .flatten()
            .try_for_each(|path| page::check_place(path))?;
        Ok(Self {
            predictions: args
                .keep
                .predictions
                .as_deref()
                .map(PredictionsFile::create)
                .transpose()?,
            model: args.keep.save.as_deref(),
            checkpoint_every: every,
            next_checkpoint: run.ledger().rounds().saturating_add(every.unwrap_or(u64::MAX)),
            saved: None,
        })
    }

    /// After every batch.
    fn keep(&mut self, run: &Run, source: &dyn Source) -> anyhow::Result<()> {
        if let Some(predictions) = &mut self.predictions {
            predictions.write(run.last().1)?;
        }
        let rounds = run.ledger().rounds();
        if let Some(every) = self.checkpoint_every
            && rounds >= self.next_checkpoint
        {
            self.save(run, source)?;
            self.next_checkpoint = rounds.saturating_add(every);
        }
        Ok(())
    }

    fn save(&mut self, run: &Run, source: &dyn Source) -> anyhow::Result<()> {
        let rounds = run.ledger().rounds();
        if let Some(path) = self.model
            && self.saved != Some(rounds)
        {
            run.save(source, path)?;
            self.saved = Some(rounds);
        }
        Ok(())
    }

    /// At the end, however it came about: what was learned is saved, if only for a while.
    fn finish(
        mut self,
        run: &Run,
        source: &dyn Source,
        finished: anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let predictions = self.predictions.take().map_or(Ok(()), PredictionsFile::finish);
        let Err(error) = finished else {
            self.save(run, source)?;
            return predictions;
        };
        let learned = run.ledger().rounds();
        if let Some(path) = self.model
            && learned > 0
            && run.learner().rounds() == learned
            && self.save(run, source).is_ok()
        {
            let (examples, path) = (numbers::count(learned), path.display());
            output::note(&format!("what was learned from {examples} examples is in {path}"));
        }
        Err(error)
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
fn follow(args: &RunArgs, stop: &Arc<AtomicBool>) -> Follow {
    if !args.follow {
        return Follow::No;
    }
    if !args.quiet {
        output::note("learning from what comes; an interrupt (Ctrl-C) ends it, with the report");
    }
    Follow::Until(Arc::clone(stop))
}

/// A run, and where it begins.
struct Begun {
    run: Run,
    notes: Vec<String>,
    source: Box<dyn Source>,
    manner: Manner,
}

/// A run that begins, or one that goes on.
fn begin(args: &RunArgs, manner: Manner) -> anyhow::Result<Begun> {
    if let Some(path) = &args.keep.resume {
        return go_on(args, Model::open(path)?, manner);
    }
    let Described { spec, notes, source } = describe(args, &manner)?;
    Ok(Begun { run: Run::new(spec)?, notes, source, manner })
}

/// A run that goes on, in the data it was at or in others.
fn go_on(args: &RunArgs, model: Model, manner: Manner) -> anyhow::Result<Begun> {
    let labels = LabelUse::Learn(model.spec.loss.labels());
    let before = if args.files.is_empty() {
        if let Some(file) = model.spec.data.once_only() {
            let file = if file == "-" { "standard input" } else { file };
            bail!("the model was learning from {file}, which cannot be read again: name a file");
        }
        model.stream.before.labels.clone()
    } else {
        model.stream.seen().labels
    };
    let known_labels = before.counts.into_iter().map(|(label, _)| label).collect();
    let manner = Manner { known_labels, ..manner };
    let run = if args.files.is_empty() {
        Run::resume(model)
    } else {
        let data = DataSpec { files: args.files.clone(), ..model.spec.data.clone() };
        Run::resume_with(model, data)
    };
    let source = run.spec().data.open(labels, &manner)?;
    Ok(Begun { run, notes: Vec::new(), source, manner })
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
