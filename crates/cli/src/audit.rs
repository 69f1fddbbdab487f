//! `rueful audit`

mod chart;
mod view;

use crate::args::AuditArgs;
use crate::data::{file_name, progress_bar, reopen};
use crate::hindsight::{self, Question};
use crate::{data, output};
use rueful_core::NonNegative;
use rueful_data::Predictions;
use rueful_hindsight::Start;
use rueful_run::{AuditRun, Data, LabelUse, Manner, Replay};
use std::process::ExitCode;

pub(crate) fn audit(args: &AuditArgs) -> anyhow::Result<ExitCode> {
    let mut settings = args.settings();
    settings.check()?;
    let manner = Manner { idle_rows: true, ..args.manner.manner() };
    let files = [args.file.clone()];
    let mut reading = args.weights.weigh(args.format.settings(&files)?)?;
    // Without a file of their own the predictions are columns of the examples' table, and no
    // features.
    let said = match &args.predictions {
        Some(path) => file_name(path)?,
        None => {
            reading.wishes.predictions.clone_from(&args.columns);
            args.file.clone()
        }
    };
    let opened = data::open(&reading, &args.manner, &manner, settings.labels()?)?;
    let Data { spec: data, mut source, loss, .. } = opened;
    settings.loss = settings.loss.or(loss.map(str::to_owned));
    let spec = settings.resolve(data, &said)?;
    let labels = LabelUse::Learn(spec.loss.labels());
    let options = hindsight::options(&args.solver, args.hindsight)?;
    let reopen = || reopen(&spec.data, labels, &manner);
    let comparators = spec.comparators.clone();
    let kept = hindsight::kept_nonzeros(&args.solver);
    let mut replay = Replay::new(&reopen, kept, &comparators);
    let mut predictions = Predictions::open(&said, &spec.columns)?;
    let mut run = AuditRun::new(spec.clone(), &predictions);
    let bar = progress_bar(&spec.data);
    let finished = run.drive(&mut *source, &mut predictions, |rows, progress| {
        if args.hindsight {
            replay.keep(rows);
        }
        bar.set_position(progress.bytes);
        bar.set_message(format!("average loss {:.4}", progress.sequential_risk));
    });
    bar.finish_and_clear();
    finished?;

    let mut report = run.report(&*source, &predictions);
    if args.hindsight {
        replay.settle(source.census());
        let start = Start { lower: Some(run.floor()), ..Start::default() };
        let (loss, sigma) = (&spec.loss, NonNegative::ZERO);
        let question = Question { loss, sigma, comparators: &comparators };
        let found = question.answer(&mut replay, &[], start, &options)?.named(source.names());
        report.add_hindsight(found, &run);
    }
    if args.json {
        output::print_json(&report)?;
    } else {
        output::print(&view::report(&report))?;
    }
    Ok(output::disagree(&report.contradictions, ExitCode::SUCCESS))
}
