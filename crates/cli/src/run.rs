//! `rueful run`

use crate::alarm::{self, Teller, Watched};
use crate::args::RunArgs;
use crate::interrupt::{self, Stop};
use crate::keeper::Keeper;
use crate::look_back::{self, LookBack};
use crate::page::Document;
use crate::progress::Watch;
use crate::{classes, data, numbers, output, page, passes, places, view};
use anyhow::bail;
use rueful_data::{DataError, Follow, Source, Survey, survey_again};
use rueful_hindsight::Options;
use rueful_run::{
    Alarm, AlarmReport, AnyLoss, AnyModel, AnySpec, ClassRun, Data, DataSpec, LabelUse, Learning,
    Model, Pending, ReadingOptions, Report, Resolved, Run, Session, SettingsError, WindowReport,
    Windows, withhold_contradictions,
};
use rueful_spec_file::{self as spec_file, Notation};
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let options = look_back::options(args)?;
    let alarm = alarm::asked(args.keep.alarm, args.keep.window)?;
    if args.print_spec {
        return print_spec(args).map(|()| ExitCode::SUCCESS);
    }
    let stop = interrupt::listen()?;
    let reading_options =
        ReadingOptions { follow: follow(args, &stop), idle_rows: true, ..args.reading.options() };
    match begin(args, reading_options)? {
        Begun::Score(started) => go_through(args, *started, (options, alarm), &stop),
        Begun::Classes(started) => classes::run(args, *started, (options, alarm), &stop),
    }
}

/// Learns one score to the end of the data, and reports.
fn go_through(
    args: &RunArgs,
    started: StartedRun,
    (options, alarm): (Options, Option<Alarm>),
    stop: &Stop,
) -> anyhow::Result<ExitCode> {
    let StartedRun { mut session, mut source, reading_options } = started;
    let resumed = args.keep.resume.as_ref().map(|_| session.ledger().rounds());
    let spec = session.spec();
    places::check_run(args, &spec.data.files)?;
    let task = spec.task();
    passes::check(&spec.data, args.follow)?;
    if spec.data.schema.has_ids() {
        task.check_late()?;
    }
    let labels = LabelUse::Learn(spec.loss.labels());
    let reopen = || data::reopen(&spec.data, labels, &reading_options);

    session.companions_mut().windows = windows(args, &mut session, &options);
    let mut listeners = Listeners {
        teller: alarm.map(|alarm| Teller::new(alarm, closed(&session))),
        look_back: LookBack::new(args, options, &task, &reopen),
        // With `--alarm` only alarms go to the standard error, so that silence means no alarm.
        watch: Watch::new(&session, alarm.is_some()),
        keeper: Keeper::new(args, &session)?,
    };
    // With `--follow` an interrupt ends the stream after what has come, and the loop reads to
    // there.
    let is_told = || stop.is_told() && !args.follow;
    let finished = learn(&mut session, &mut *source, &mut listeners, is_told)
        .and_then(|()| passes::go_on(&mut session, reopen, is_told));
    let Listeners { look_back, watch, keeper, .. } = listeners;
    watch.finish();
    keeper.finish(&mut session, &*source, finished)?;
    let was_interrupted = is_told();

    let mut report = session.report(&*source);
    report.resumed = resumed;
    if was_interrupted {
        passes::tell_interrupted(&report);
    }
    match look_back {
        Some(look_back) if look_back.is_possible(was_interrupted) => {
            look_back.add_to(&mut report, session.run(), &*source)?;
        }
        Some(_) => output::note(look_back::NOT_KEPT),
        None => {}
    }
    if args.keep.pictures.are_asked_for() {
        let mut page = page::page(&report, session.run(), session.windows());
        page.notes.extend(session.companions().notes.iter().map(|note| sentence(note)));
        page::write_all(&Document::One(&page), &args.keep.pictures)?;
    }
    let notes = &session.companions().notes;
    let code = if was_interrupted { stop.exit_code() } else { ExitCode::SUCCESS };
    let windows = session.windows().map(|windows| windows.reports(session.ledger()));
    show_judged(args, report, notes, (alarm, windows), code)
}

/// Makes a note a sentence of a page.
fn sentence(note: &str) -> String {
    let mut letters = note.chars();
    letters
        .next()
        .map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

/// Prints the report, together with its windows if an alarm was asked for, and returns the exit code.
pub(crate) fn show_judged(
    args: &RunArgs,
    mut report: Report,
    notes: &[String],
    (alarm, windows): (Option<Alarm>, Option<Vec<WindowReport>>),
    code: ExitCode,
) -> anyhow::Result<ExitCode> {
    let Some((alarm, mut windows)) = alarm.zip(windows) else {
        show(args, &report, notes)?;
        return Ok(output::disagree(&report.contradictions, code));
    };
    report.contradictions.extend(withhold_contradictions(&mut windows));
    let raised = alarm.raised(&windows, None);
    show_watched(args, &report, notes, (&alarm, &windows, &raised))?;
    let code = alarm::code(Some(&raised), report.resumed.unwrap_or(0), code);
    Ok(output::disagree(&report.contradictions, code))
}

/// The windows that are full so far.
fn closed(session: &Session) -> &[WindowReport] {
    session.windows().map_or(&[], Windows::closed)
}

/// Says that windows begin in the middle of a run, if they do.
pub(crate) fn tell_where_windows_begin(after: u64) {
    if after > 0 {
        output::note(&format!("windows begin with example {}", numbers::count(after + 1)));
    }
}

/// The parts of the program that look at every batch after it was learned from.
struct Listeners<'a> {
    look_back: Option<LookBack<'a>>,
    teller: Option<Teller>,
    watch: Watch,
    keeper: Keeper<'a>,
}

/// The windows of the run, if the page or the alarm needs them. A resumed session goes on with its
/// own windows if they are of the same kind. Otherwise new windows begin.
fn windows(args: &RunArgs, session: &mut Session, options: &Options) -> Option<Windows> {
    let (length, are_solved) = (args.keep.window, args.keep.alarm.is_some());
    if !are_solved && args.keep.pictures.report.is_none() {
        return None;
    }
    let before = session.companions_mut().windows.take();
    let begin = || {
        let after = session.ledger().rounds();
        tell_where_windows_begin(after);
        Windows::new(session.ledger(), session.run().task().bench_alone(), length)
    };
    let windows = before.filter(|windows| windows.suit(length, are_solved)).unwrap_or_else(begin);
    Some(if are_solved { windows.solved(session.ledger(), options) } else { windows.unsolved() })
}

/// Learns from all batches, or until `is_told` returns true.
fn learn(
    session: &mut Session,
    source: &mut dyn Source,
    listeners: &mut Listeners<'_>,
    is_told: impl Fn() -> bool,
) -> anyhow::Result<()> {
    while session.advance(source)? {
        let (rows, rounds) = session.last();
        if let Some(look_back) = &mut listeners.look_back {
            look_back.observe(rows, rounds);
        }
        if let Some(teller) = &mut listeners.teller {
            teller.tell(closed(session));
        }
        listeners.watch.tell(session, source);
        listeners.keeper.keep(session, source)?;
        if is_told() {
            break;
        }
    }
    Ok(())
}

/// Prints the report as text or as JSON.
fn show(args: &RunArgs, report: &Report, notes: &[String]) -> anyhow::Result<()> {
    if args.json {
        notes.iter().for_each(|note| output::note(note));
        output::print_json(report)
    } else {
        output::print(&view::report(report, notes))
    }
}

/// Prints the report together with its windows and the alarms that they raised.
fn show_watched(
    args: &RunArgs,
    report: &Report,
    notes: &[String],
    (alarm, windows, raised): (&Alarm, &[WindowReport], &[AlarmReport]),
) -> anyhow::Result<()> {
    if !args.json {
        let section = alarm::section(alarm, raised);
        let text = view::report(report, notes) + "\n" + &section;
        return output::print(&format!("{}\n", text.trim_end()));
    }
    notes.iter().for_each(|note| output::note(note));
    let (windows, alarms) = (Some(windows), Some(raised));
    output::print_json(&Watched::<_, ()> { report, windows, alarms, groups: None })
}

/// Whether files are followed, and until when. With `--follow` an interrupt ends the stream, and
/// not the program.
fn follow(args: &RunArgs, stop: &Stop) -> Follow {
    if !args.follow {
        return Follow::No;
    }
    output::note("learning as data come; an interrupt (Ctrl-C) ends the run, with its report");
    Follow::Until(stop.flag())
}

/// A run that is ready to learn: its session, and its data from the place where it begins.
pub(crate) struct StartedRun<R: Learning = Run> {
    pub(crate) session: Session<R>,
    pub(crate) source: Box<dyn Source>,
    pub(crate) reading_options: ReadingOptions,
}

/// A run of either kind that is ready to learn.
enum Begun {
    Score(Box<StartedRun>),
    Classes(Box<StartedRun<ClassRun>>),
}

/// Begins a new run, or resumes a saved one.
fn begin(args: &RunArgs, reading_options: ReadingOptions) -> anyhow::Result<Begun> {
    if let Some(path) = &args.keep.resume {
        return Ok(match AnyModel::open(path)? {
            AnyModel::Score(model) => {
                let labels = LabelUse::Learn(model.task().loss.labels());
                Begun::Score(Box::new(go_on(args, *model, labels, reading_options)?))
            }
            AnyModel::Classes(model) => {
                let labels = LabelUse::Classes;
                Begun::Classes(Box::new(go_on(args, *model, labels, reading_options)?))
            }
        });
    }
    let PlannedRun { spec, notes, source } = describe(args, &reading_options)?;
    Ok(match spec {
        AnySpec::Score(spec) => {
            let mut session = Session::new(&spec)?;
            session.companions_mut().notes = notes;
            Begun::Score(Box::new(StartedRun { session, source, reading_options }))
        }
        AnySpec::Classes(spec) => {
            let session = Session::of_classes(&spec)?;
            Begun::Classes(Box::new(StartedRun { session, source, reading_options }))
        }
    })
}

/// Resumes a run, in its own data or in the files that are named.
fn go_on<R: Learning>(
    args: &RunArgs,
    model: Model<R>,
    labels: LabelUse,
    reading_options: ReadingOptions,
) -> anyhow::Result<StartedRun<R>> {
    if model.course.is_later() && !args.files.is_empty() {
        bail!(
            "the model has learned from its data several times, and nothing could be proved about \
             it on other data: learn from all files at once"
        );
    }
    let before = if args.files.is_empty() {
        if let Some(file) = model.data.once_only() {
            let file = if file == "-" { "standard input" } else { file };
            bail!("the model was learning from {file}, which cannot be read again: name a file");
        }
        model.stream.before.labels.clone()
    } else {
        model.stream.seen().labels
    };
    let known_labels = before.counts.into_iter().map(|(label, _)| label).collect();
    let Pending { before, now, .. } = &model.pending;
    let waiting = if args.files.is_empty() { before } else { now }.clone();
    let reading_options = ReadingOptions { known_labels, waiting, ..reading_options };
    let session = if args.files.is_empty() {
        Session::resume(model)
    } else {
        let data = DataSpec { files: args.files.clone(), ..model.data.clone() };
        Session::resume_with(model, data)
    };
    let source = session.data().open(labels, &reading_options)?;
    Ok(StartedRun { session, source, reading_options })
}

/// The description of a new run, the notes about it, and its data.
struct PlannedRun {
    spec: AnySpec,
    notes: Vec<String>,
    source: Box<dyn Source>,
}

/// Finds the description of a new run, from the flags or from a spec file, and opens its data.
fn describe(args: &RunArgs, reading_options: &ReadingOptions) -> anyhow::Result<PlannedRun> {
    if let Some(path) = &args.spec {
        let spec = read_spec(path, &args.files)?;
        let source = match &spec {
            AnySpec::Score(spec) => {
                spec.data.open(LabelUse::Learn(spec.loss.labels()), reading_options)?
            }
            AnySpec::Classes(spec) => spec.data.open(LabelUse::Classes, reading_options)?,
        };
        return Ok(PlannedRun { spec, notes: Vec::new(), source });
    }
    let mut settings = args.settings();
    settings.check()?;
    let reading = args.weights.weigh(args.format.settings(&args.files)?)?;
    let reading = args.delay.add_to(args.passes.add_to(reading)?);
    let (files, passes) = (reading.files.clone(), reading.passes);
    passes::check(&DataSpec { files, passes, ..DataSpec::libsvm("") }, args.follow)?;
    let labels = settings.labels()?;
    let opened = if args.keep.alarm.is_some() {
        // `data::open` would print notes, and with `--alarm` only alarms are printed.
        let opened = reading.open(labels, reading_options)?;
        data::write_schema(&args.reading, &opened.spec)?;
        opened
    } else {
        data::open(&reading, &args.reading, reading_options, labels)?
    };
    let Data { spec: read, mut source, loss, .. } = opened;
    settings.loss = settings.loss.or(loss.map(str::to_owned));
    if let Some(loss) = settings.class_loss() {
        let spec = AnySpec::Classes(settings.resolve_classes(loss, read)?);
        return Ok(PlannedRun { spec, notes: Vec::new(), source });
    }
    let labels = LabelUse::Learn(settings.loss()?.labels());
    let mut look_ahead = |_: &AnyLoss| -> Result<Survey, DataError> {
        survey_again(&mut *data::reopen(&read, labels, reading_options)?, &mut *source)
    };
    let resolved = settings.resolve(read.clone(), &mut look_ahead);
    if let Err(SettingsError::Data(DataError::OnceOnly { file })) = &resolved {
        let file = if file == "-" { "standard input" } else { file };
        bail!("{file} can be read only once: give --horizon and --gradient-bound");
    }
    let Resolved { spec, notes } = resolved?;
    Ok(PlannedRun { spec: AnySpec::Score(spec), notes, source })
}

/// Reads a spec file. If `files` is not empty, it replaces the files of the spec.
fn read_spec(path: &Path, files: &[String]) -> anyhow::Result<AnySpec> {
    let mut spec = spec_file::read(path)?;
    let data = match &mut spec {
        AnySpec::Score(spec) => &mut spec.data,
        AnySpec::Classes(spec) => &mut spec.data,
    };
    if !files.is_empty() {
        data.files = files.to_vec();
    }
    Ok(spec)
}

/// Prints the description of a run, and does not run it.
fn print_spec(args: &RunArgs) -> anyhow::Result<()> {
    let spec = match &args.spec {
        Some(path) => read_spec(path, &args.files)?,
        None => {
            let described = describe(args, &args.reading.options())?;
            described.notes.iter().for_each(|note| output::note(note));
            described.spec
        }
    };
    let notation = if args.json { Notation::Json } else { Notation::Toml };
    output::print(&spec_file::to_text(&spec, notation)?)
}
