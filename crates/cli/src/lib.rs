//! The program `rueful`. It reads flags and prints reports. The rules are in the crates below.
//!
//! It is also a library, so that the Python package has the same program and the same pages.

mod alarm;
mod args;
mod audit;
mod chart;
mod classes;
mod convert;
mod data;
mod explain;
mod figures;
mod hindsight;
mod inspect;
mod interrupt;
mod keeper;
mod look_back;
mod numbers;
mod output;
mod page;
mod passes;
mod places;
mod play;
mod predict;
mod predictions;
mod progress;
mod race;
mod run;
mod shell;
mod usage;
mod view;
mod weights;

use args::{Cli, Command, Game};
pub use hindsight::Answer as HindsightAnswer;
use rueful_run::{AuditReport, ClassRun, Report, Run};
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the program and returns its exit code. The first argument is the program's own name.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    page::remember_command(&args);
    let cli = match usage::parse(&args) {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    output::be_quiet(cli.quiet);
    execute(&cli).unwrap_or_else(|error| output::fail(&error))
}

/// The report as `rueful run` prints it. The `notes` stand beside the description of the learner.
pub fn report_text(report: &Report, notes: &[String]) -> String {
    view::report(report, notes)
}

/// The page of a run, as `rueful run --report` writes it.
pub fn report_html(report: &Report, run: &Run) -> String {
    rueful_page::html(&page::page(report, run, None))
}

/// The picture of the risk over time, as `rueful run --plot` writes it.
pub fn report_svg(report: &Report, run: &Run) -> String {
    rueful_page::svg(&page::page(report, run, None))
}

/// The page of a run of many classes, as `rueful run --report` writes it.
pub fn class_report_html(report: &Report, run: &ClassRun) -> String {
    rueful_page::html(&page::class_page(report, run))
}

/// The picture of the risk of a run of many classes, as `rueful run --plot` writes it.
pub fn class_report_svg(report: &Report, run: &ClassRun) -> String {
    rueful_page::svg(&page::class_page(report, run))
}

/// The report on an audit of one model as `rueful audit` prints it.
pub fn audit_text(report: &AuditReport) -> String {
    audit::text(report)
}

/// The verdict of an audit of one model, in one line.
pub fn audit_verdict(report: &AuditReport) -> String {
    audit::verdict(report)
}

/// The page of an audit of one model, as `rueful audit --report` writes it.
pub fn audit_html(report: &AuditReport) -> String {
    rueful_page::html(&audit::page(report))
}

/// The picture of the risk over time, as `rueful audit --plot` writes it.
pub fn audit_svg(report: &AuditReport) -> String {
    rueful_page::svg(&audit::page(report))
}

/// The best fixed predictor as `rueful hindsight` prints it.
pub fn hindsight_text(answer: &HindsightAnswer) -> String {
    hindsight::text(answer)
}

fn execute(cli: &Cli) -> anyhow::Result<ExitCode> {
    places::check(&cli.command)?;
    match &cli.command {
        Command::Run(args) => return run::run(args),
        Command::Race(args) => return race::race(args),
        Command::Data(args) => data::data(args)?,
        Command::Convert(args) => convert::convert(args)?,
        Command::Hindsight(args) => return hindsight::hindsight(args),
        Command::Audit(args) => return audit::audit(args),
        Command::Inspect(args) => inspect::inspect(args)?,
        Command::Predict(args) => predict::predict(args)?,
        Command::Weights(args) => weights::weights(args)?,
        Command::Explain(args) => explain::explain(args)?,
        Command::Play { game: Game::Erm(args) } => play::erm(args)?,
        Command::Play { game: Game::Adversary(args) } => play::adversary(args)?,
        Command::Completions(args) => shell::completions(args)?,
        Command::Man(args) => shell::man(args)?,
    }
    Ok(ExitCode::SUCCESS)
}
