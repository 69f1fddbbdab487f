//! `rueful audit`

mod chart;
mod groups;
mod page;
mod view;

use crate::alarm::{self, Watched};
use crate::args::AuditArgs;
use crate::data::{progress_bar, refuse_ids, reopen, tell, write_schema};
use crate::hindsight::{self, Question};
use crate::{classes, output};
use anyhow::bail;
use groups::Groups;
use rueful_core::NonNegative;
use rueful_data::name_of;
use rueful_hindsight::Start;
use rueful_page::Page;
use rueful_run::{
    Alarm, AlarmReport, AuditReport, AuditRun, Data, DataSettings, Forecasts, GroupReport,
    LabelUse, NamedReport, ReadingOptions, Replay, withhold_contradictions,
};
use std::num::NonZeroU64;
use std::process::ExitCode;

pub(crate) fn audit(args: &AuditArgs) -> anyhow::Result<ExitCode> {
    let mut settings = args.settings();
    settings.check()?;
    args.pictures.check()?;
    if let Some(loss) = settings.class_loss() {
        return classes::audit(args, &settings, loss, false);
    }
    let alarm = alarm::asked(args.alarm, settings.window.and_then(NonZeroU64::new))?;
    let reading_options = ReadingOptions { idle_rows: true, ..args.reading.options() };
    let by = args.by.as_deref();
    let groups = Groups::find(args, &mut settings, &reading_options)?;
    let (mut reading, said) = said_by(args)?;
    groups.wish(by, &mut reading);
    let opened = reading
        .open(settings.labels()?, &reading_options)
        .map_err(|error| groups.explain(error))?;
    if alarm.is_none() {
        tell(&opened);
    }
    let Data { spec: data, mut source, loss, .. } = opened;
    refuse_ids(&data, "an audit")?;
    write_schema(&args.reading, &data)?;
    settings.loss = settings.loss.or(loss.map(str::to_owned));
    if let Some(loss) = settings.class_loss() {
        if let Some(file) = data.once_only() {
            let file = if file == "-" { "standard input" } else { file };
            bail!("{file} can be read only once, and has many classes: say so with --loss softmax");
        }
        drop(source);
        return classes::audit(args, &settings, loss, alarm.is_none());
    }
    let spec = settings.resolve(data, &said)?;
    let labels = LabelUse::Learn(spec.loss.labels());
    let options = hindsight::options(&args.solver, args.hindsight || alarm.is_some())?;
    let reopen = || reopen(&spec.data, labels, &reading_options);
    let comparators = spec.comparators.clone();
    let kept = hindsight::kept_nonzeros(&args.solver);
    let mut replay = Replay::new(&reopen, kept, &comparators);
    let mut forecasts = match &args.predictions {
        Some(_) => Forecasts::open(&said, &spec.columns)?,
        None => Forecasts::beside(&spec.data, &args.columns)?,
    };
    let mut run = AuditRun::new(spec.clone(), &forecasts);
    if alarm.is_some() {
        run = run.with_windows_solved(&options);
    }
    if let Some(reader) = groups.open(by, &spec.data, &reading_options)? {
        run = run.grouped(reader);
    }
    let bar = progress_bar(&spec.data);
    let finished = run.drive(&mut *source, &mut forecasts, |rows, progress| {
        if args.hindsight {
            replay.keep(rows);
        }
        bar.set_position(progress.bytes);
        bar.set_message(format!("average loss {:.4}", progress.sequential_risk));
    });
    bar.finish_and_clear();
    finished?;

    let mut report = run.report(&*source, &forecasts);
    if args.hindsight {
        replay.settle(source.census());
        let start = Start { lower: Some(run.floor()), ..Start::default() };
        let (loss, sigma) = (&spec.loss, NonNegative::ZERO);
        let question = Question { loss, sigma, comparators: &comparators };
        let found = question.answer(&mut replay, &[], start, &options)?.named(source.names());
        report.add_hindsight(found, &run);
    }
    let groups = by.map(|_| run.groups(&forecasts));
    finish(args, report, alarm, groups.as_deref())
}

/// The settings of the examples, and the name of the file that has the predictions. If they have no
/// file of their own, they are columns of the examples' table, and these columns are not features.
pub(crate) fn said_by(args: &AuditArgs) -> anyhow::Result<(DataSettings, String)> {
    let files = [args.file.clone()];
    let mut reading = args.weights.weigh(args.format.settings(&files)?)?;
    let said = match &args.predictions {
        Some(path) => name_of(path.as_os_str()),
        None if args.columns == ["all"] => bail!(
            "--prediction-column all means every column of the file that --predictions names: \
             name the columns of {} that hold predictions",
            args.file
        ),
        None => {
            reading.format_settings.predictions.clone_from(&args.columns);
            args.file.clone()
        }
    };
    Ok((reading, said))
}

/// Raises alarms, writes the pictures, prints the report, and returns the exit code.
pub(crate) fn finish(
    args: &AuditArgs,
    mut report: AuditReport,
    alarm: Option<Alarm>,
    groups: Option<&[GroupReport]>,
) -> anyhow::Result<ExitCode> {
    let alarms = alarm.map(|alarm| raise(&alarm, &mut report));
    let alarms = alarms.as_deref();
    page::write(&report, &args.pictures)?;
    show(args, &report, alarm, alarms, groups)?;
    let code = alarm::code(alarms, 0, ExitCode::SUCCESS);
    Ok(output::disagree(&report.contradictions, code))
}

/// The report on one model as the program prints it.
pub(crate) fn text(report: &AuditReport) -> String {
    view::report(report)
}

/// The verdict on one model, in one line.
pub(crate) fn verdict(report: &AuditReport) -> String {
    page::in_one_line(&view::verdict(report, &report.first))
}

/// Everything that the page of an audit of one model shows.
pub(crate) fn page(report: &AuditReport) -> Page {
    page::only(report)
}

/// Prints the report, with its groups and alarms if they are asked for.
fn show(
    args: &AuditArgs,
    report: &AuditReport,
    alarm: Option<Alarm>,
    alarms: Option<&[AlarmReport]>,
    groups: Option<&[GroupReport]>,
) -> anyhow::Result<()> {
    if args.json {
        output::print_json(&Watched { report, windows: None, alarms, groups })?;
    } else {
        let groups =
            args.by.as_deref().zip(groups).map(|(by, groups)| groups::section(report, by, groups));
        let alarms = alarm.zip(alarms).map(|(alarm, raised)| alarm::section(&alarm, raised));
        let sections = [groups, alarms].into_iter().flatten();
        let text = sections.fold(view::report(report), |text, section| text + "\n" + &section);
        output::print(&format!("{}\n", text.trim_end()))?;
    }
    Ok(())
}

/// Raises the alarms of all models: it prints and returns them. A window whose proofs contradict
/// each other raises no alarm.
fn raise(alarm: &Alarm, report: &mut AuditReport) -> Vec<AlarmReport> {
    let crossed = withhold_contradictions(&mut report.first.windows);
    let several = report.models.len() > 1;
    let mut raised = Vec::new();
    for NamedReport { name, report: model } in &mut report.models {
        report.contradictions.extend(withhold_contradictions(&mut model.windows));
        raised.extend(alarm.raised(&model.windows, Some(&**name).filter(|_| several)));
    }
    if report.models.is_empty() {
        report.contradictions.extend(crossed);
        raised = alarm.raised(&report.first.windows, None);
    }
    raised.iter().for_each(|raised| alarm::say(alarm, raised));
    raised
}
