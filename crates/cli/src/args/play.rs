//! The flags of `rueful play`.

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};
use rueful_run::LearnerSpec;

#[derive(Debug, Subcommand)]
pub(crate) enum Game {
    Erm(ErmArgs),
    Adversary(AdversaryArgs),
}

/// The notes' counterexample: ERM loses in every round, regularised ERM and OGD do not.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rueful play erm
  rueful play erm --rounds 100000 --json")]
pub(crate) struct ErmArgs {
    /// How many rounds to play.
    #[arg(long, value_name = "T", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub(crate) rounds: u64,

    /// Print the result as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A learner against an adversary that sees its weights.
///
/// The losses are linear with gradients of norm 1, and the weights are kept in a ball of radius 1
/// (or --radius). The orthogonal adversary forces a regret of UG√T on any learner in dimension 3 or
/// more. The sign adversary pushes against the sign of every weight.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rueful play adversary --learner ogd --dimension 3 --rounds 10000
  rueful play adversary --learner minimax --dimension 10 --rounds 1000 --json
  rueful play adversary --learner ogd --adversary sign --dimension 1 --rounds 1000")]
pub(crate) struct AdversaryArgs {
    /// The learner.
    #[arg(long, value_name = "NAME", default_value = "ogd", value_parser = PossibleValuesParser::new(LearnerSpec::NAMES))]
    pub(crate) learner: String,

    /// The adversary.
    #[arg(long, value_enum, default_value_t = AdversaryName::Orthogonal)]
    pub(crate) adversary: AdversaryName,

    /// The dimension of the game.
    #[arg(long, value_name = "D", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) dimension: u32,

    /// How many rounds to play.
    #[arg(long, value_name = "T", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) rounds: u64,

    /// U: the radius of the ball.
    #[arg(long, value_name = "U", default_value_t = 1.0, allow_negative_numbers = true)]
    pub(crate) radius: f64,

    /// Print the result as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AdversaryName {
    /// Orthogonal to the weights and to the past: forces UG√T.
    Orthogonal,
    /// Against the sign of every weight.
    Sign,
}
