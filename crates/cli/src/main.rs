//! The program `rueful`: flags in, reports out. Rules live in the crates below.

mod alarm;
mod args;
mod audit;
mod chart;
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
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match usage::parse(&std::env::args_os().collect::<Vec<_>>()) {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    execute(&cli).unwrap_or_else(|error| output::fail(&error))
}

fn execute(cli: &Cli) -> anyhow::Result<ExitCode> {
    if cli.quiet {
        output::be_quiet();
    }
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
