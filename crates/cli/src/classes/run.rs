//! `rueful run` for labels of many classes.

use super::look_back::LookBack;
use crate::args::RunArgs;
use crate::interrupt::Stop;
use crate::keeper::Keeper;
use crate::page::Document;
use crate::progress::Watch;
use crate::run::{StartedRun, show};
use crate::{data, look_back, output, page, passes, places};
use anyhow::bail;
use rueful_data::Source;
use rueful_hindsight::Options;
use rueful_run::{ClassRun, LabelUse, Report, Session};
use std::process::ExitCode;

/// Learns many classes to the end of the data, and reports.
pub(crate) fn run(
    args: &RunArgs,
    started: StartedRun<ClassRun>,
    options: Options,
    stop: &Stop,
) -> anyhow::Result<ExitCode> {
    refuse(args)?;
    let StartedRun { mut session, mut source, reading_options } = started;
    passes::check(session.data(), args.follow)?;
    let data = session.data().clone();
    let reopen = || data::reopen(&data, LabelUse::Classes, &reading_options);
    let resumed = args.keep.resume.as_ref().map(|_| session.run().ledger().rounds());
    places::check_run(args, &session.data().files)?;
    let task = session.run().task().clone();
    let mut listeners = Listeners {
        look_back: LookBack::new(args, options, &task, &reopen),
        watch: Watch::new(&session, false),
        keeper: Keeper::new(args, &session)?,
    };
    let is_told = || stop.is_told() && !args.follow;
    let finished = learn(&mut session, &mut *source, &mut listeners, is_told)
        .and_then(|()| passes::go_on(&mut session, reopen, is_told));
    let Listeners { look_back, watch, keeper } = listeners;
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
    tell(args, &report, &session)?;
    let code = if was_interrupted { stop.exit_code() } else { ExitCode::SUCCESS };
    Ok(output::disagree(&report.contradictions, code))
}

/// The parts of the program that look at every batch after it was learned from.
struct Listeners<'a> {
    look_back: Option<LookBack<'a>>,
    watch: Watch,
    keeper: Keeper<'a>,
}

fn learn(
    session: &mut Session<ClassRun>,
    source: &mut dyn Source,
    listeners: &mut Listeners<'_>,
    is_told: impl Fn() -> bool,
) -> anyhow::Result<()> {
    while session.advance(source)? {
        let rows = session.last_rows();
        listeners.look_back.iter_mut().for_each(|look_back| look_back.observe(rows));
        listeners.watch.tell(session, source);
        listeners.keeper.keep(session, source)?;
        if is_told() {
            break;
        }
    }
    Ok(())
}

/// Prints the report, and writes the pictures that were asked for.
fn tell(args: &RunArgs, report: &Report, session: &Session<ClassRun>) -> anyhow::Result<()> {
    if args.keep.pictures.are_asked_for() {
        let page = page::class_page(report, session.run());
        page::write_all(&Document::One(&page), &args.keep.pictures)?;
    }
    show(args, report, &session.companions().notes)
}

/// Refuses flags that many classes do not have yet.
fn refuse(args: &RunArgs) -> anyhow::Result<()> {
    let keep = &args.keep;
    let solved = "the solvers are for one score, and many classes have one each";
    let windows = "windows are judged for one score, and many classes have one each";
    let refused =
        [("--alarm", keep.alarm.is_some(), solved), ("--window", keep.window.is_some(), windows)];
    match refused.iter().find(|(_, is_given, _)| *is_given) {
        Some((flag, _, why)) => bail!("{flag} does not go with many classes yet: {why}"),
        None => Ok(()),
    }
}
