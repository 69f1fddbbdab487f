//! `rueful audit`

mod chart;
mod view;

use crate::args::AuditArgs;
use crate::data::{file_name, progress_bar, reopen, tell, write_schema};
use crate::{hindsight, output};
use rueful_core::NonNegative;
use rueful_data::Predictions;
use rueful_hindsight::Start;
use rueful_run::{AuditRun, Data, HindsightReport, LabelUse, Replay};

pub(crate) fn audit(args: &AuditArgs) -> anyhow::Result<()> {
    let settings = args.settings();
    settings.check()?;
    let labels = LabelUse::Learn(settings.loss()?.labels());
    let manner = args.manner.manner();
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
    let opened = reading.open(labels, &manner)?;
    tell(&opened);
    let Data { spec: data, mut source, .. } = opened;
    write_schema(&args.manner, &data)?;
    let spec = settings.resolve(data, &said)?;
    let options = hindsight::options(&args.solver, args.hindsight)?;
    let reopen = || reopen(&spec.data, labels, &manner);
    let mut replay = Replay::new(&reopen, hindsight::kept_nonzeros(&args.solver));
    let mut predictions = Predictions::open(&said, &spec.columns)?;
    let mut run = AuditRun::new(spec.clone(), &predictions);
    let bar = progress_bar(&spec.data);
    let finished = run.drive(&mut *source, &mut predictions, |batch, progress| {
        if args.hindsight {
            replay.keep(batch);
        }
        bar.set_position(progress.bytes);
        bar.set_message(format!("average loss {:.4}", progress.sequential_risk));
    });
    bar.finish_and_clear();
    finished?;

    let mut report = run.report(&*source, &predictions);
    if args.hindsight {
        replay.settle(source.census());
        let floors = run.ledgers().map(|ledger| ledger.minorant().floor(ledger.comparators()));
        let start = Start { lower: floors.reduce(f64::max), ..Start::default() };
        let (loss, comparators) = (&spec.loss, spec.comparators.into());
        let solution = hindsight::look_back(
            loss,
            NonNegative::ZERO,
            &comparators,
            &mut replay,
            start,
            &options,
        )?;
        let found = HindsightReport::new(&solution, &options).named(source.names());
        report.add_hindsight(found, &run);
    }
    if args.json { output::print_json(&report) } else { output::print(&view::report(&report)) }
}
