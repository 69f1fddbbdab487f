//! The flags of `rueful hindsight`, and of the solver.

use super::task::TaskArgs;
use super::{FormatArgs, ReadingArgs, WeightArgs, file_name};
use clap::Args;

/// How accurately, and for how long, to solve for the best comparator.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Hindsight")]
pub(crate) struct SolverArgs {
    /// The relative gap between the proved bounds that is good enough [default: 1e-4].
    #[arg(long, value_name = "GAP", allow_negative_numbers = true)]
    pub(crate) tolerance: Option<f64>,

    /// Make at most N passes over the data, and report the interval found by then.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_passes: Option<u64>,

    /// How many million nonzeros to keep in memory; data beyond that is read anew in every pass.
    #[arg(long, value_name = "MILLIONS", default_value_t = 200)]
    pub(crate) keep: u64,
}

/// Solve for the best fixed predictor of a file, with a proved gap.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rueful hindsight data/phishing.libsvm --radius 5
      the least loss of a linear predictor with ‖u‖ ≤ 5
  rueful hindsight data/phishing.libsvm --loss logistic --tolerance 1e-8 --json
  rueful hindsight data/phishing.libsvm --sigma 0.01
      the support vector machine: no ball, (σ/2)‖u‖² instead")]
pub(crate) struct HindsightArgs {
    /// The examples, in one file or several; `-` is standard input.
    #[arg(value_name = "FILE", required = true, value_parser = file_name())]
    pub(crate) files: Vec<String>,

    #[command(flatten)]
    pub(crate) task: TaskArgs,

    /// σ: adds (σ/2)‖u‖² to every loss [default: 0].
    #[arg(long, value_name = "SIGMA", allow_negative_numbers = true)]
    pub(crate) sigma: Option<f64>,

    #[command(flatten)]
    pub(crate) weights: WeightArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,

    #[command(flatten)]
    pub(crate) solver: SolverArgs,

    /// Print the result as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}
