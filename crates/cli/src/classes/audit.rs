//! `rueful audit` for labels of many classes.

use crate::alarm;
use crate::args::AuditArgs;
use crate::audit::{finish, said_by};
use crate::classes::Question;
use crate::data::{progress_bar, reopen, tell, write_schema};
use crate::hindsight;
use anyhow::bail;
use rueful_run::{
    AuditSettings, ClassAudit, ClassLoss, Data, DataSpec, Forecasts, LabelUse, ReadingOptions,
    Replay,
};
use std::num::NonZeroU64;
use std::process::ExitCode;

/// Judges a model of many classes, which has a column of predictions for each of them. If the data
/// were opened before, to see what their labels are, then `is_told` says that the notes about them
/// were printed.
pub(crate) fn audit(
    args: &AuditArgs,
    settings: &AuditSettings,
    loss: ClassLoss,
    is_told: bool,
) -> anyhow::Result<ExitCode> {
    if args.by.is_some() {
        bail!("--by judges groups for one score, and many classes have one each: leave it out");
    }
    let alarm = alarm::asked(args.alarm, settings.window.and_then(NonZeroU64::new))?;
    let options = hindsight::options(&args.solver, args.hindsight || alarm.is_some())?;
    let (reading, said) = said_by(args)?;
    let columns = settings.resolve_classes(loss, DataSpec::libsvm(""), &said)?.columns;
    let apart = match &args.predictions {
        Some(_) => Some(Forecasts::open(&said, &columns)?),
        None => None,
    };
    // The columns are the first classes, so that a class has the number of its column.
    let known_labels = apart.as_ref().map_or(&*args.columns, Forecasts::names).to_vec();
    let mut reading_options =
        ReadingOptions { idle_rows: true, known_labels, ..args.reading.options() };
    let mut opened = reading.open(LabelUse::Classes, &reading_options)?;
    let mut forecasts = match apart {
        Some(apart) => apart,
        None => Forecasts::beside(&opened.spec, &args.columns)?,
    };
    if forecasts.names() != reading_options.known_labels {
        if let Some(file) = opened.spec.once_only() {
            let file = if file == "-" { "standard input" } else { file };
            bail!("{file} can be read only once: give the columns of the classes by their names");
        }
        reading_options.known_labels = forecasts.names().to_vec();
        opened = reading.open(LabelUse::Classes, &reading_options)?;
    }
    if alarm.is_none() && !is_told {
        tell(&opened);
    }
    let Data { spec: data, mut source, .. } = opened;
    write_schema(&args.reading, &data)?;
    let spec = settings.resolve_classes(loss, data, &said)?;
    let again = || reopen(&spec.data, LabelUse::Classes, &reading_options);
    let kept = hindsight::kept_nonzeros(&args.solver);
    let mut replay = Replay::new(&again, kept, &spec.comparators);
    let mut run = ClassAudit::new(spec.clone(), &forecasts);
    if alarm.is_some() {
        run = run.with_windows_solved(&options);
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
    let mut report = run.report(&*source);
    if args.hindsight {
        replay.settle(source.census());
        let (comparators, labels) = (&spec.comparators, &source.labels());
        let classes = run.names().len() as u32;
        let question = Question { loss, comparators, classes, labels };
        let found = question.answer(&mut replay, run.floor(), &options)?.named(source.names());
        report.add_class_hindsight(found, &run);
    }
    finish(args, report, alarm, None)
}
