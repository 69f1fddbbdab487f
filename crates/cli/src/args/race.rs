//! The flags of `rueful race`.

use super::task::{JudgeArgs, TaskArgs, TuningArgs};
use super::{FormatArgs, PictureArgs, ReadingArgs, SolverArgs, WeightArgs, file_name};
use clap::Args;
use clap::builder::PossibleValuesParser;
use rueful_run::{LearnerSpec, RaceSettings};

/// Let several learners learn from the same stream, and compare them.
///
/// The data are read once. Every learner predicts and learns as it would alone. All learners share
/// the judge and the comparators. A setting applies to every learner that uses it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rueful race data/phishing.libsvm --learner ogd --learner ftrl --learner perceptron
      three learners, the one with the smallest risk first
  rueful race data/phishing.libsvm --loss logistic --eta 0.1,1,10
      projected OGD with three sizes of steps
  rueful race data/phishing.libsvm --learner ogd --learner ftrl --eta 0.1,1,10 --hindsight
      six learners, and the exact regret of each: the best comparator is solved for once
  rueful race data/phishing.libsvm --learner bank --learner ogd --report race.html
      the same as a page with pictures
  rueful race data/phishing.libsvm --learner ogd --learner ftrl --json
      one JSON object; the `spec` of a learner, saved to a file, repeats its run with --spec")]
pub(crate) struct RaceArgs {
    /// The examples, in one file or several; `-` is standard input.
    #[arg(value_name = "FILE", required = true, value_parser = file_name())]
    pub(crate) files: Vec<String>,

    #[command(flatten)]
    racers: RacerArgs,

    #[command(flatten)]
    task: TaskArgs,

    #[command(flatten)]
    judge: JudgeArgs,

    #[command(flatten)]
    tuning: TuningArgs,

    #[command(flatten)]
    pub(crate) weights: WeightArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,

    #[command(flatten)]
    pub(crate) solver: SolverArgs,

    /// Add the exact regret of every learner: solve for the best comparator once the race is over.
    #[arg(long)]
    pub(crate) hindsight: bool,

    #[command(flatten)]
    pub(crate) pictures: PictureArgs,

    /// Print the report as one JSON object.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// The learners that race.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Learners")]
struct RacerArgs {
    /// A learner; may be repeated [default: ogd, with --eta].
    #[arg(
        long = "learner",
        value_name = "NAME",
        required_unless_present = "etas",
        value_parser = PossibleValuesParser::new(LearnerSpec::NAMES)
    )]
    learners: Vec<String>,

    /// η of the steps η/√t, or of constant ones: one learner for each value, separated by commas.
    #[arg(long = "eta", value_name = "ETA", value_delimiter = ',', allow_negative_numbers = true)]
    etas: Vec<f64>,
}

impl RaceArgs {
    pub(crate) fn settings(&self) -> RaceSettings {
        let RacerArgs { learners, etas } = self.racers.clone();
        RaceSettings { learners, etas, shared: self.tuning.settings(&self.task, &self.judge) }
    }
}
