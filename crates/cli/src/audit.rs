//! `rueful audit`

mod chart;
mod view;

use crate::args::AuditArgs;
use crate::run::{file_name, open, progress_bar};
use crate::{hindsight, output};
use rueful_core::NonNegative;
use rueful_data::{DataError, Predictions, Source};
use rueful_hindsight::Start;
use rueful_run::{AuditRun, HindsightReport, Replay};

pub(crate) fn audit(args: &AuditArgs) -> anyhow::Result<()> {
    let file = file_name(&args.file)?;
    let spec = args.settings().resolve(&file, &file_name(&args.predictions)?)?;
    let options = hindsight::options(&args.solver, args.hindsight)?;
    let reopen = || -> Result<Box<dyn Source>, DataError> {
        Ok(Box::new(open(&file, spec.data.constant, &spec.loss)?))
    };
    let mut replay = Replay::new(&reopen, hindsight::kept_nonzeros(&args.solver));
    let mut source = reopen()?;
    let mut predictions = Predictions::open(&args.predictions, &spec.columns)?;
    let mut run = AuditRun::new(spec.clone(), &predictions);
    let bar = progress_bar(&file);
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
        report.add_hindsight(HindsightReport::new(&solution, &options), &run);
    }
    if args.json { output::print_json(&report) } else { output::print(&view::report(&report)) }
}
