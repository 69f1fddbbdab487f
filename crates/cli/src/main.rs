//! The program `rueful`: flags in, reports out. Rules live in the crates below.

mod args;
mod audit;
mod chart;
mod convert;
mod data;
mod hindsight;
mod numbers;
mod output;
mod play;
mod run;
mod shell;
mod view;

use args::{Cli, Command, Game};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    match execute(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => output::fail(&error),
    }
}

fn execute(cli: &Cli) -> anyhow::Result<()> {
    match &cli.command {
        Command::Run(args) => run::run(args),
        Command::Data(args) => data::data(args),
        Command::Convert(args) => convert::convert(args),
        Command::Hindsight(args) => hindsight::hindsight(args),
        Command::Audit(args) => audit::audit(args),
        Command::Play { game: Game::Erm(args) } => play::erm(args),
        Command::Play { game: Game::Adversary(args) } => play::adversary(args),
        Command::Completions(args) => shell::completions(args),
        Command::Man(args) => shell::man(args),
    }
}
