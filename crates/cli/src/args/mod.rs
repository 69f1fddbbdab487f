//! The command line, as clap sees it. Every command has a file for its flags, and flags that
//! several commands share have files of their own.

mod audit;
mod data;
mod delay;
mod hindsight;
mod models;
mod output;
mod passes;
mod play;
mod race;
mod reading;
mod run;
mod shell;
mod task;

pub(crate) use audit::AuditArgs;
pub(crate) use data::{ConvertArgs, DataArgs};
pub(crate) use delay::DelayArgs;
pub(crate) use hindsight::{HindsightArgs, SolverArgs};
pub(crate) use models::{ExplainArgs, InspectArgs, PredictArgs, Wanted, WeightsArgs};
pub(crate) use output::PictureArgs;
pub(crate) use passes::PassesArgs;
pub(crate) use play::{AdversaryArgs, AdversaryName, ErmArgs, Game};
pub(crate) use race::RaceArgs;
pub(crate) use reading::{FormatArgs, ReadingArgs, WeightArgs};
pub(crate) use run::RunArgs;
pub(crate) use shell::{CompletionsArgs, ManArgs};

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Parser, Subcommand};
use rueful_data::name_of;

/// Takes any name that a file can have, be it text or not.
fn file_name() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().map(|name| name_of(&name))
}

/// An online learner that knows its own regret.
///
/// rueful reads a stream of examples, predicts each one before it learns from it, and certifies how
/// much better the best fixed linear predictor could have done on this very stream.
#[derive(Debug, Parser)]
#[command(name = "rueful", version, max_term_width = 100, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Print only the result: no progress, and no notes.
    #[arg(long, short, global = true, help_heading = "Output")]
    pub(crate) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Box<RunArgs>),
    Race(Box<RaceArgs>),
    Data(DataArgs),
    Convert(ConvertArgs),
    Hindsight(HindsightArgs),
    Audit(AuditArgs),
    Inspect(InspectArgs),
    Predict(PredictArgs),
    Weights(WeightsArgs),
    Explain(ExplainArgs),
    /// Watch learners play the games of the lecture notes.
    #[command(arg_required_else_help = true)]
    Play {
        #[command(subcommand)]
        game: Game,
    },
    Completions(CompletionsArgs),
    Man(ManArgs),
}
