//! The flags of `rueful run`.

use super::task::{JudgeArgs, TaskArgs, TuningArgs};
use super::{
    DelayArgs, FormatArgs, PassesArgs, PictureArgs, ReadingArgs, SolverArgs, WeightArgs, file_name,
};
use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Args};
use rueful_run::{LearnerSpec, Settings};
use std::num::NonZeroU64;
use std::path::PathBuf;

/// Learn from a file, once through, and report the regret.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rueful run data/phishing.libsvm
      the bank, which needs no settings, on the loss that follows from the labels
  rueful run data/phishing.libsvm --loss logistic --radius 5 --json
      the same on the logistic loss, as one JSON object
  rueful run data/phishing.libsvm --learner strongly-convex-ogd --sigma 0.01
      the online support vector machine, against every linear predictor
  rueful run data/phishing.libsvm --gradient-bound 4
      steps tuned to gradients of norm at most 4, with the notes' theorem (9)
  rueful run data/phishing.libsvm --hindsight
      the exact regret as well: the best predictor is solved for afterwards
  rueful run data/phishing.libsvm --loss logistic --print-spec > run.toml
      all settings in a file, to read, to change, and to run with rueful run --spec run.toml
  rueful run flowers.csv --label species
      more than two names are classes, which are learned with the softmax loss
  rueful run data/phishing.libsvm --report run.html
      a page with pictures, to look at in a browser
  rueful run events.csv --label clicked --follow --window 1000 --alarm 0.05
      a line for every window in which some predictor was provably better by 0.05 per round
  rueful run monday.csv --label clicked --save clicks.rueful
  rueful run tuesday.csv --resume clicks.rueful --save clicks.rueful
      the same as one run over both days, to the last bit
  rueful run table.csv --label price --passes 20 --holdout 10 --save price.rueful
      learns from nine rows of ten until the tenth is predicted no better
  rueful run events.jsonl --label clicked --id request --follow --predictions scores.txt
      a row without a label is predicted, and learned from when a row brings its label")]
pub(crate) struct RunArgs {
    /// The examples, in one file or several; `-` is standard input.
    #[arg(value_name = "FILE", required_unless_present_any = ["spec", "resume"], value_parser = file_name())]
    pub(crate) files: Vec<String>,

    #[command(flatten)]
    learner: LearnerArgs,

    #[command(flatten)]
    task: TaskArgs,

    #[command(flatten)]
    judge: JudgeArgs,

    #[command(flatten)]
    tuning: TuningArgs,

    #[command(flatten)]
    pub(crate) keep: KeepArgs,

    #[command(flatten)]
    pub(crate) weights: WeightArgs,

    /// Read all settings from a TOML or JSON file: the output of --print-spec, or an earlier
    /// report. FILE replaces its data.
    #[arg(
        long,
        value_name = "SPEC",
        help_heading = "Description",
        conflicts_with_all = [
            "LearnerArgs", "TaskArgs", "JudgeArgs", "TuningArgs", "WeightArgs", "FormatArgs",
            "PassesArgs", "DelayArgs",
        ]
    )]
    pub(crate) spec: Option<PathBuf>,

    /// Print the complete description of the run, and do not run it: as TOML, or as JSON with
    /// --json.
    #[arg(
        long,
        help_heading = "Description",
        conflicts_with_all = [
            "follow", "hindsight", "curve_hindsight", "save", "predictions", "report", "plot",
            "alarm",
        ]
    )]
    pub(crate) print_spec: bool,

    #[command(flatten)]
    pub(crate) format: FormatArgs,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,

    /// Learn from files that are still growing, as they grow, until interrupted.
    #[arg(long, conflicts_with_all = ["hindsight", "curve_hindsight"])]
    pub(crate) follow: bool,

    #[command(flatten)]
    pub(crate) passes: PassesArgs,

    #[command(flatten)]
    pub(crate) delay: DelayArgs,

    #[command(flatten)]
    pub(crate) solver: SolverArgs,

    /// Add the exact regret: solve for the best comparator once the run is over.
    #[arg(long)]
    pub(crate) hindsight: bool,

    /// Solve at every point of the curve as well (t = 1, 2, 4, 8, …).
    #[arg(long)]
    pub(crate) curve_hindsight: bool,

    /// Print the report as one JSON object.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// The files that a run writes, and the model that it resumes.
#[derive(Debug, Clone, Default, Args)]
#[command(
    next_help_heading = "Keeping",
    group = ArgGroup::new("windowed").multiple(true).args(["report", "alarm"])
)]
pub(crate) struct KeepArgs {
    /// Save the run when it ends, however it ends: weights, ledger, names, how to read the data.
    #[arg(long, value_name = "MODEL")]
    pub(crate) save: Option<PathBuf>,

    /// Continue a saved run: with FILE if one is given, and otherwise in its own data, after the
    /// examples that it has learned from.
    #[arg(long, value_name = "MODEL", conflicts_with_all = [
        "LearnerArgs", "TaskArgs", "JudgeArgs", "TuningArgs", "WeightArgs", "FormatArgs",
        "PassesArgs", "DelayArgs", "spec", "print_spec", "hindsight", "curve_hindsight",
    ])]
    pub(crate) resume: Option<PathBuf>,

    /// Also save the run on the way, about every N examples.
    #[arg(long, value_name = "N", requires = "save")]
    pub(crate) checkpoint_every: Option<NonZeroU64>,

    /// Write the predictions, one on a line. Each was made before its example was learned from.
    #[arg(long, value_name = "FILE")]
    pub(crate) predictions: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) pictures: PictureArgs,

    /// Judge the stream in windows of N examples, in the page of --report [default: up to 30
    /// windows] and for --alarm.
    #[arg(long, value_name = "N", requires = "windowed")]
    pub(crate) window: Option<NonZeroU64>,

    /// Solve every full window for its best predictor. If the regret of a window is proved to be
    /// above REGRET per round, say so, and exit with 4.
    #[arg(long, value_name = "REGRET", allow_negative_numbers = true)]
    pub(crate) alarm: Option<f64>,
}

/// The learner and its step size.
#[derive(Debug, Clone, Default, Args)]
#[group(multiple = true)]
#[command(next_help_heading = "Learner")]
struct LearnerArgs {
    /// The learner [default: bank; ogd if a setting is given that only the notes' learners have].
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(LearnerSpec::NAMES))]
    learner: Option<String>,

    /// η of the steps η/√t, of constant ones, or of ftrl's rates η/(1 + √Σg²) [default: 0.5 for
    /// ftrl].
    #[arg(long, value_name = "ETA", allow_negative_numbers = true)]
    eta: Option<f64>,
}

impl RunArgs {
    pub(crate) fn settings(&self) -> Settings {
        let LearnerArgs { learner, eta } = self.learner.clone();
        Settings { learner, eta, ..self.tuning.settings(&self.task, &self.judge) }
    }
}
