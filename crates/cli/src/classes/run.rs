//! `rueful run` for labels of many classes.

use super::look_back::LookBack;
use crate::alarm::Teller;
use crate::args::RunArgs;
use crate::interrupt::Stop;
use crate::keeper::Keeper;
use crate::page::Document;
use crate::progress::Watch;
use crate::run::{StartedRun, show_judged, tell_where_windows_begin};
use crate::{data, look_back, output, page, passes, places};
use rueful_data::Source;
use rueful_hindsight::Options;
use rueful_run::{Alarm, ClassRun, ClassWindows, LabelUse, Session, WindowReport};
use std::process::ExitCode;

/// Learns many classes to the end of the data, and reports.
pub(crate) fn run(
    args: &RunArgs,
    started: StartedRun<ClassRun>,
    (options, alarm): (Options, Option<Alarm>),
    stop: &Stop,
) -> anyhow::Result<ExitCode> {
    let StartedRun { mut session, mut source, reading_options } = started;
    passes::check(session.data(), args.follow)?;
    let data = session.data().clone();
    let reopen = || data::reopen(&data, LabelUse::Classes, &reading_options);
    let resumed = args.keep.resume.as_ref().map(|_| session.run().ledger().rounds());
    places::check_run(args, &session.data().files)?;
    let task = session.run().task().clone();
    set_windows(args, &mut session, &options);
    let mut listeners = Listeners {
        teller: alarm.map(|alarm| Teller::new(alarm, closed(&session))),
        look_back: LookBack::new(args, options, &task, &reopen),
        watch: Watch::new(&session, alarm.is_some()),
        keeper: Keeper::new(args, &session)?,
    };
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
    let (run, notes) = (session.run(), &session.companions().notes);
    if args.keep.pictures.are_asked_for() {
        let page = page::class_page(&report, run);
        page::write_all(&Document::One(&page), &args.keep.pictures)?;
    }
    let code = if was_interrupted { stop.exit_code() } else { ExitCode::SUCCESS };
    let windows = run.windows().map(|windows| windows.reports(run.ledger()));
    show_judged(args, report, notes, (alarm, windows), code)
}

/// The windows of the run, if the page or the alarm needs them. A resumed session goes on with its
/// own windows if they are of the same kind. Otherwise new windows begin.
fn set_windows(args: &RunArgs, session: &mut Session<ClassRun>, options: &Options) {
    let (length, are_solved) = (args.keep.window, args.keep.alarm.is_some());
    let are_asked_for = are_solved || args.keep.pictures.report.is_some();
    let windows = are_asked_for.then(|| {
        let run = session.run();
        let before = run.windows().filter(|windows| windows.suit(length, are_solved)).cloned();
        let windows = before.unwrap_or_else(|| {
            tell_where_windows_begin(run.ledger().rounds());
            ClassWindows::new(run.task().loss, run.ledger(), length)
        });
        if are_solved { windows.solved(run.ledger(), options) } else { windows.unsolved() }
    });
    session.run_mut().set_windows(windows);
}

/// The windows that are full so far.
fn closed(session: &Session<ClassRun>) -> &[WindowReport] {
    session.run().windows().map_or(&[], ClassWindows::closed)
}

/// The parts of the program that look at every batch after it was learned from.
struct Listeners<'a> {
    teller: Option<Teller>,
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
