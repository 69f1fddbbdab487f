//! The command line, as clap sees it.

use anyhow::Context;
use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use rueful_core::Comparators;
use rueful_data::{Bits, FormatSettings};
use rueful_run::{
    AnyLoss, AnySchedule, AuditSettings, ClassWeights, DataSettings, Layout, LearnerSpec, Link,
    Manner, RaceSettings, Settings,
};
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};

/// An online learner that knows its own regret.
///
/// rueful reads a stream of examples, predicts each one before it learns from it, and certifies how
/// much better the best fixed linear predictor could have done on this very stream.
#[derive(Debug, Parser)]
#[command(name = "rueful", version, max_term_width = 100, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
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
    /// Watch learners play the notes' games.
    #[command(arg_required_else_help = true)]
    Play {
        #[command(subcommand)]
        game: Game,
    },
    Completions(CompletionsArgs),
    Man(ManArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Game {
    Erm(ErmArgs),
    Adversary(AdversaryArgs),
}

/// Learn from a file, once through, and report the regret.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rueful run data/phishing.libsvm
      projected OGD on the loss that follows from the labels, steps that tune themselves
  rueful run data/phishing.libsvm --loss logistic --radius 5 --json
      the same on the logistic loss, as one JSON object
  rueful run data/phishing.libsvm --learner strongly-convex-ogd --sigma 0.01
      the online support vector machine, against every linear predictor
  rueful run data/phishing.libsvm --gradient-bound 4
      steps tuned to gradients of norm at most 4, with the notes' theorem (9)
  rueful run data/phishing.libsvm --hindsight
      and the exact regret, by solving for the best predictor afterwards
  rueful run data/phishing.libsvm --loss logistic --print-spec > run.toml
      all settings in a file, to look at, to change, and for rueful run --spec run.toml
  rueful run data/phishing.libsvm --report run.html
      a page with pictures, to look at in a browser
  rueful run events.csv --label clicked --follow --window 1000 --alarm 0.05
      a line for every window in which some predictor was provably better by 0.05 per round
  rueful run monday.csv --label clicked --save clicks.rueful
  rueful run tuesday.csv --resume clicks.rueful --save clicks.rueful
      the same as one run over both days, to the last bit")]
pub(crate) struct RunArgs {
    /// The examples, in one file or several; `-` is standard input.
    #[arg(value_name = "FILE", required_unless_present_any = ["spec", "resume"])]
    pub(crate) files: Vec<String>,

    #[command(flatten)]
    pub(crate) learner: LearnerArgs,

    #[command(flatten)]
    pub(crate) keep: KeepArgs,

    #[command(flatten)]
    pub(crate) weights: WeightArgs,

    /// Read everything from a TOML or JSON file: what --print-spec prints, or an earlier report. FILE
    /// replaces its data.
    #[arg(
        long,
        value_name = "SPEC",
        help_heading = "Description",
        conflicts_with_all = ["LearnerArgs", "WeightArgs", "FormatArgs"]
    )]
    pub(crate) spec: Option<PathBuf>,

    /// Print the complete description of the run, and do not run it: as TOML, or as JSON with --json.
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
    pub(crate) manner: MannerArgs,

    /// Learn from files that are still growing, as they grow, until interrupted.
    #[arg(long, conflicts_with_all = ["hindsight", "curve_hindsight"])]
    pub(crate) follow: bool,

    #[command(flatten)]
    pub(crate) solver: SolverArgs,

    /// Add the exact regret: solve for the best comparator once the run is over.
    #[arg(long)]
    pub(crate) hindsight: bool,

    /// Solve at every point of the curve as well (t = 1, 2, 4, 8, …).
    #[arg(long)]
    pub(crate) curve_hindsight: bool,

    /// Say nothing on the way, only the report.
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,

    /// Print the report as one JSON object.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// What a run leaves behind, and where it goes on.
#[derive(Debug, Clone, Default, Args)]
#[command(
    next_help_heading = "Keeping",
    group = ArgGroup::new("windowed").multiple(true).args(["report", "alarm"])
)]
pub(crate) struct KeepArgs {
    /// Save the run when it ends, however it ends: weights, ledger, names, how to read the data.
    #[arg(long, value_name = "MODEL")]
    pub(crate) save: Option<PathBuf>,

    /// Go on where a saved run was: with FILE if one is given, or in its own data, behind the
    /// examples it has learned from.
    #[arg(long, value_name = "MODEL", conflicts_with_all = [
        "LearnerArgs", "WeightArgs", "FormatArgs", "spec", "print_spec", "hindsight",
        "curve_hindsight",
    ])]
    pub(crate) resume: Option<PathBuf>,

    /// Save about every N examples on the way, too.
    #[arg(long, value_name = "N", requires = "save")]
    pub(crate) checkpoint_every: Option<NonZeroU64>,

    /// Write the predictions, each made before its example was learned from, one on a line.
    #[arg(long, value_name = "FILE")]
    pub(crate) predictions: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) pictures: PictureArgs,

    /// Judge the stream in windows of N examples, in the page of --report [default: up to 30 windows]
    /// and for --alarm.
    #[arg(long, value_name = "N", requires = "windowed")]
    pub(crate) window: Option<NonZeroU64>,

    /// Solve every full window for its best predictor; say so, and exit with 4, where the regret is
    /// proved to be above REGRET per round.
    #[arg(long, value_name = "REGRET", allow_negative_numbers = true)]
    pub(crate) alarm: Option<f64>,
}

/// How the bytes become examples.
#[derive(Debug, Clone, Default, Args)]
#[group(multiple = true)]
#[command(next_help_heading = "Format")]
pub(crate) struct FormatArgs {
    /// The format [default: recognised by content and extension].
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(Layout::NAMES))]
    format: Option<String>,

    /// The column of the labels: its name, or its number from 1 on.
    #[arg(long, value_name = "COLUMN")]
    label: Option<String>,

    /// The column that says how much an example counts: 0, or a number from 1e-30 to 1e30.
    #[arg(long, value_name = "COLUMN")]
    importance: Option<String>,

    /// The label that means +1; all others mean -1.
    #[arg(long, value_name = "LABEL", allow_hyphen_values = true)]
    positive: Option<String>,

    /// Columns to leave out.
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    drop: Vec<String>,

    /// Columns whose numbers are names: one feature for each value.
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    categorical: Vec<String>,

    /// Columns of numbers, also where most of their cells at the beginning are none.
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    numeric: Vec<String>,

    /// Columns of running text: one feature for each word.
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    text: Vec<String>,

    /// The first line names the columns [default: looked at].
    #[arg(long, conflicts_with = "no_header")]
    header: bool,

    /// The first line is data.
    #[arg(long)]
    no_header: bool,

    /// Features by name go to 2^BITS indices [default: 22].
    #[arg(long, value_name = "BITS")]
    bits: Option<u8>,

    /// Do not add a feature that is always 1.
    #[arg(long)]
    no_constant: bool,

    /// Read the file as this schema says, a JSON file that --write-schema made.
    #[arg(long, value_name = "JSON")]
    pub(crate) schema: Option<PathBuf>,
}

/// How much the examples of a class count.
#[derive(Debug, Clone, Default, Args)]
#[group(multiple = true)]
#[command(next_help_heading = "Class weights")]
pub(crate) struct WeightArgs {
    /// Examples of the class +1 count W times as much [default: 1].
    #[arg(long, value_name = "W", allow_negative_numbers = true)]
    positive_weight: Option<f64>,

    /// Examples of the class -1 count W times as much [default: 1].
    #[arg(long, value_name = "W", allow_negative_numbers = true)]
    negative_weight: Option<f64>,
}

/// How reading goes about it; the examples are the same.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct MannerArgs {
    /// Threads that read [default: one for each core].
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    /// Keep what was read beside the first file, in FILE.rueful-cache, and read it from there.
    #[arg(long)]
    cache: bool,

    /// Write how the file is read to a JSON file, for the next file to be read in the same way.
    #[arg(long, value_name = "JSON")]
    pub(crate) write_schema: Option<PathBuf>,
}

/// Show what would be read, without learning.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rueful data data/phishing.libsvm
      format, rows, labels, and the first examples as a learner sees them
  rueful data table.csv --label price --drop id --json
      what becomes of every column, as one JSON object
  rueful data mail.tsv --label 1 --text 2 --positive spam
      running text: one feature for each word")]
pub(crate) struct DataArgs {
    /// The examples, in one file or several; `-` is standard input.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<String>,

    #[command(flatten)]
    pub(crate) format: FormatArgs,

    #[command(flatten)]
    pub(crate) manner: MannerArgs,

    /// How many examples to show.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) show: usize,

    /// Print the result as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Make a compact binary file, which every command reads in place of the data, and faster.
///
/// The constant feature is not stored: whoever reads the file says whether there is one.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rueful convert data/phishing.libsvm --out phishing.rueful-cache
  rueful convert table.csv --label bought --positive yes --out table.rueful-cache
  rueful run table.rueful-cache")]
pub(crate) struct ConvertArgs {
    /// The examples, in one file or several; `-` is standard input.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<String>,

    /// The file to write.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,

    /// Replace the file if it is there.
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) format: FormatArgs,

    /// Threads that read [default: one for each core].
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,

    /// Print the result as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// How well, and for how long, to solve for the best comparator.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Hindsight")]
pub(crate) struct SolverArgs {
    /// The relative gap between the proved bounds that is good enough [default: 1e-4].
    #[arg(long, value_name = "GAP", allow_negative_numbers = true)]
    pub(crate) tolerance: Option<f64>,

    /// The most passes over the data; the interval found by then is reported.
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
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<String>,

    /// The loss [default: logistic for two labels, square for other numbers].
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(AnyLoss::NAMES))]
    pub(crate) loss: Option<String>,

    /// τ of the quantile loss, between 0 and 1 [default: 0.5].
    #[arg(long, value_name = "TAU", allow_negative_numbers = true)]
    pub(crate) tau: Option<f64>,

    /// U: over predictors of norm at most U [default: 10, or all of R^d with --sigma].
    #[arg(long, value_name = "U", allow_negative_numbers = true)]
    pub(crate) radius: Option<f64>,

    /// How comparators are measured: unit-free (weights on columns scaled to ±1, and labels to ±1) or
    /// ball (‖u‖ ≤ U in the data's own units) [default: unit-free; ball with --sigma].
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(Comparators::BALLS))]
    pub(crate) comparators: Option<String>,

    /// σ: adds (σ/2)‖u‖² to every loss [default: 0].
    #[arg(long, value_name = "SIGMA", allow_negative_numbers = true)]
    pub(crate) sigma: Option<f64>,

    #[command(flatten)]
    pub(crate) weights: WeightArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,

    #[command(flatten)]
    pub(crate) manner: MannerArgs,

    #[command(flatten)]
    pub(crate) solver: SolverArgs,

    /// Print the result as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What learns, and from which loss.
#[derive(Debug, Clone, Default, Args)]
#[group(multiple = true)]
#[command(next_help_heading = "Learner")]
pub(crate) struct LearnerArgs {
    /// The learner [default: bank; ogd where a setting is given that only learners of the notes know].
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(LearnerSpec::NAMES))]
    learner: Option<String>,

    /// The loss; learners that need linear losses linearise it [default: logistic for two labels,
    /// square for other numbers].
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(AnyLoss::NAMES))]
    loss: Option<String>,

    /// τ of the quantile loss, between 0 and 1 [default: 0.5].
    #[arg(long, value_name = "TAU", allow_negative_numbers = true)]
    tau: Option<f64>,

    /// U: comparators have norm at most U, and the weights of the notes' learners too [default: 10].
    /// For strongly-convex-ogd the comparators are all of R^d unless it is given.
    #[arg(long, value_name = "U", allow_negative_numbers = true)]
    radius: Option<f64>,

    /// How comparators are measured: unit-free (weights on columns scaled to ±1, and labels to ±1) or
    /// ball (‖u‖ ≤ U in the data's own units) [default: unit-free for the bank, ball for the others].
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(Comparators::BALLS))]
    comparators: Option<String>,

    /// Whether witnesses price the comparators, which makes certificates tighter and changes nothing
    /// that is learned [default: on for the bank, off for the others].
    #[arg(long, value_name = "on|off", value_parser = switch)]
    judge: Option<bool>,

    /// η of the steps η/√t, of constant ones, or of ftrl's rates η/(1 + √Σg²) [default: 0.5 for ftrl].
    #[arg(long, value_name = "ETA", allow_negative_numbers = true)]
    eta: Option<f64>,

    /// G: gradients have norm at most G. Tunes the steps, and is checked.
    #[arg(long, value_name = "G", allow_negative_numbers = true)]
    gradient_bound: Option<f64>,

    /// σ: adds (σ/2)‖w‖² to every loss [default: 0; 0.01 for strongly-convex-ogd].
    #[arg(long, value_name = "SIGMA", allow_negative_numbers = true)]
    sigma: Option<f64>,

    /// α: a fixed regularisation (α/2)‖w‖² for regularized-erm [default: grows].
    #[arg(long, value_name = "ALPHA", allow_negative_numbers = true)]
    alpha: Option<f64>,

    /// λ: adds λ‖w‖₁ to what ftrl minimises, so that weights become 0 [default: 0].
    #[arg(long, value_name = "LAMBDA", allow_negative_numbers = true)]
    l1: Option<f64>,

    /// C: how far the passive-aggressive learners go for one example [default: 1].
    #[arg(long, value_name = "C", allow_negative_numbers = true)]
    c: Option<f64>,

    /// Step sizes [default: inverse-sqrt when η or G is given, adagrad-norm otherwise].
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(AnySchedule::NAMES))]
    schedule: Option<String>,

    /// T for minimax and the horizon schedule [default: the examples are counted first].
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    horizon: Option<u64>,
}

/// Judge any model from its predictions alone.
///
/// The predictions are those that a model made for the examples of FILE, each before its label was
/// known. What they cost is reported, and how much any linear predictor could have saved of it;
/// nothing is asked about the model.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rueful audit stream.libsvm --predictions scores.txt
      one score per line, judged by the loss that follows from the labels
  rueful audit stream.libsvm --predictions p.txt --link logistic --loss logistic --radius 2
      probabilities, against every linear predictor of norm at most 2
  rueful audit stream.libsvm --predictions models.csv --prediction-column all --window 1000
      all models of a table, and every 1000 examples for themselves
  rueful audit log.csv --label bought --prediction-column score
      a table that holds the examples and what a model said about them
  rueful audit log.csv --label bought --prediction-column score --window 1000 --report audit.html
      a page with pictures
  rueful audit log.csv --label bought --prediction-column score --by country
      and every country for itself
  rueful audit log.csv --label bought --prediction-column score --window 1000 --alarm 0.05
      exits with 4 if in some window a linear predictor was provably better by 0.05 per round")]
pub(crate) struct AuditArgs {
    /// The examples; a table may hold the predictions too.
    #[arg(value_name = "FILE")]
    pub(crate) file: String,

    /// What the model predicted, in the order of the examples: one number per line, or a table in
    /// CSV when columns are named [default: columns of FILE].
    #[arg(long, value_name = "FILE", required_unless_present = "columns")]
    pub(crate) predictions: Option<PathBuf>,

    /// A column of the predictions, by its name in the header; may be repeated. `all` takes all.
    #[arg(long = "prediction-column", value_name = "NAME")]
    pub(crate) columns: Vec<String>,

    /// What the predictions are: scores (identity), or probabilities p of the label +1 (logistic),
    /// which become scores ln(p/(1−p)) [default: identity].
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(Link::NAMES))]
    link: Option<String>,

    /// The loss [default: logistic for two labels, square for other numbers].
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(AnyLoss::NAMES))]
    loss: Option<String>,

    /// τ of the quantile loss, between 0 and 1 [default: 0.5].
    #[arg(long, value_name = "TAU", allow_negative_numbers = true)]
    tau: Option<f64>,

    /// U: the linear predictors compared with have norm at most U [default: 10].
    #[arg(long, value_name = "U", allow_negative_numbers = true)]
    radius: Option<f64>,

    /// How comparators are measured: unit-free (weights on columns scaled to ±1, and labels to ±1) or
    /// ball (‖u‖ ≤ U in the data's own units) [default: unit-free].
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(Comparators::BALLS))]
    comparators: Option<String>,

    /// Whether witnesses price the comparators, which makes certificates tighter and changes nothing
    /// that is learned [default: on].
    #[arg(long, value_name = "on|off", value_parser = switch)]
    judge: Option<bool>,

    /// Judge every N examples for themselves as well.
    #[arg(long, visible_alias = "every", value_name = "N", allow_negative_numbers = true)]
    window: Option<u64>,

    /// Solve every full window for its best linear predictor; say so, and exit with 4, where the
    /// regret is proved to be above REGRET per round.
    #[arg(long, value_name = "REGRET", allow_negative_numbers = true)]
    pub(crate) alarm: Option<f64>,

    /// Judge every group of examples for itself as well: those with the same value in a column, which
    /// is no feature then. The column is one of the predictions' table, or of FILE.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) by: Option<String>,

    /// Add the exact regret: solve for the best linear predictor afterwards.
    #[arg(long)]
    pub(crate) hindsight: bool,

    #[command(flatten)]
    pub(crate) solver: SolverArgs,

    #[command(flatten)]
    pub(crate) weights: WeightArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,

    #[command(flatten)]
    pub(crate) manner: MannerArgs,

    #[command(flatten)]
    pub(crate) pictures: PictureArgs,

    /// Print the report as one JSON object.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// What people look at.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PictureArgs {
    /// Write the report as one HTML page with pictures, which needs nothing else.
    #[arg(long, value_name = "HTML", help_heading = "Output")]
    pub(crate) report: Option<PathBuf>,

    /// Write the picture of the risk over time.
    #[arg(long, value_name = "SVG", help_heading = "Output")]
    pub(crate) plot: Option<PathBuf>,
}

impl PictureArgs {
    /// Whether there is anything to write.
    pub(crate) fn are_asked_for(&self) -> bool {
        self.report.is_some() || self.plot.is_some()
    }

    /// Refuses places that cannot be written to, before anything is read.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        self.report.iter().chain(&self.plot).try_for_each(|path| crate::page::check_place(path))
    }
}

/// Let several learners learn from the same stream, and compare them.
///
/// The data are read once. Every learner predicts and learns as it would alone; a judge and the
/// comparators are shared. The settings given apply to every learner that has a use for them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rueful race data/phishing.libsvm --learner ogd --learner ftrl --learner perceptron
      three learners on the hinge loss, that of the least risk first
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
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<String>,

    #[command(flatten)]
    pub(crate) learners: RacerArgs,

    #[command(flatten)]
    pub(crate) weights: WeightArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,

    #[command(flatten)]
    pub(crate) manner: MannerArgs,

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

/// Who races, and under which loss.
#[derive(Debug, Clone, Default, Args)]
#[group(multiple = true)]
#[command(next_help_heading = "Learners")]
pub(crate) struct RacerArgs {
    /// A learner; may be repeated [default: ogd, with --eta].
    #[arg(
        long = "learner",
        value_name = "NAME",
        required_unless_present = "etas",
        value_parser = PossibleValuesParser::new(LearnerSpec::NAMES)
    )]
    learners: Vec<String>,

    /// The loss; learners that need linear losses linearise it [default: hinge].
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(AnyLoss::NAMES))]
    loss: Option<String>,

    /// τ of the quantile loss, between 0 and 1 [default: 0.5].
    #[arg(long, value_name = "TAU", allow_negative_numbers = true)]
    tau: Option<f64>,

    /// U: weights and comparators have norm at most U [default: 10].
    #[arg(long, value_name = "U", allow_negative_numbers = true)]
    radius: Option<f64>,

    /// How comparators are measured: unit-free (weights on columns scaled to ±1, and labels to ±1) or
    /// ball (‖u‖ ≤ U in the data's own units) [default: unit-free; ball with --sigma].
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(Comparators::BALLS))]
    comparators: Option<String>,

    /// Whether witnesses price the comparators, which makes certificates tighter and changes nothing
    /// that is learned [default: on].
    #[arg(long, value_name = "on|off", value_parser = switch)]
    judge: Option<bool>,

    /// η of the steps η/√t, or of constant ones: one learner for each value, separated by commas.
    #[arg(long = "eta", value_name = "ETA", value_delimiter = ',', allow_negative_numbers = true)]
    etas: Vec<f64>,

    /// G: gradients have norm at most G. Tunes the steps, and is checked.
    #[arg(long, value_name = "G", allow_negative_numbers = true)]
    gradient_bound: Option<f64>,

    /// σ: adds (σ/2)‖w‖² to every loss; all learners of a race have the same [default: 0].
    #[arg(long, value_name = "SIGMA", allow_negative_numbers = true)]
    sigma: Option<f64>,

    /// α: a fixed regularisation (α/2)‖w‖² for regularized-erm [default: grows].
    #[arg(long, value_name = "ALPHA", allow_negative_numbers = true)]
    alpha: Option<f64>,

    /// λ: adds λ‖w‖₁ to what ftrl minimises, so that weights become 0 [default: 0].
    #[arg(long, value_name = "LAMBDA", allow_negative_numbers = true)]
    l1: Option<f64>,

    /// C: how far the passive-aggressive learners go for one example [default: 1].
    #[arg(long, value_name = "C", allow_negative_numbers = true)]
    c: Option<f64>,

    /// Step sizes [default: inverse-sqrt when η or G is given, adagrad-norm otherwise].
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(AnySchedule::NAMES))]
    schedule: Option<String>,

    /// T for minimax and the horizon schedule [default: the examples are counted first].
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    horizon: Option<u64>,
}

impl RaceArgs {
    pub(crate) fn settings(&self) -> RaceSettings {
        let from = self.learners.clone();
        RaceSettings {
            learners: from.learners,
            etas: from.etas,
            shared: Settings {
                learner: None,
                loss: from.loss,
                tau: from.tau,
                radius: from.radius,
                comparators: from.comparators,
                judge: from.judge,
                eta: None,
                gradient_bound: from.gradient_bound,
                sigma: from.sigma,
                alpha: from.alpha,
                l1: from.l1,
                c: from.c,
                schedule: from.schedule,
                horizon: from.horizon,
            },
        }
    }
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

/// A learner against an adversary who sees its weights.
///
/// The losses are linear with gradients of norm 1, the weights are kept in a ball of radius 1 (or
/// --radius). The orthogonal adversary forces a regret of UG√T on any learner in dimension 3 or
/// more; the sign adversary pushes against the sign of every weight.
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

/// Print a script that teaches a shell the commands and flags.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rueful completions bash > ~/.local/share/bash-completion/completions/rueful
  rueful completions zsh > ~/.zfunc/_rueful
  rueful completions fish > ~/.config/fish/completions/rueful.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// Print the manual page, or write one for every command.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rueful man | man -l -
      the main page, at once
  rueful man --out ~/.local/share/man/man1
      all pages, for man rueful and man rueful-run")]
pub(crate) struct ManArgs {
    /// Write rueful.1 and a page for every command to this folder, which is made if need be.
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AdversaryName {
    /// Orthogonal to the weights and to the past: forces UG√T.
    Orthogonal,
    /// Against the sign of every weight.
    Sign,
}

impl FormatArgs {
    pub(crate) fn settings(&self, files: &[String]) -> anyhow::Result<DataSettings> {
        let bits = self.bits.map(Bits::try_from).transpose();
        let bits = bits.map_err(|why| anyhow::anyhow!("--bits: {why}"))?;
        let header = self.header.then_some(true).or(self.no_header.then_some(false));
        let schema = self.schema.as_deref().map(read_schema).transpose()?;
        let format_settings = FormatSettings {
            format: self.format.clone(),
            label: self.label.clone(),
            importance: self.importance.clone(),
            predictions: Vec::new(),
            drop: self.drop.clone(),
            categorical: self.categorical.clone(),
            numeric: self.numeric.clone(),
            text: self.text.clone(),
            unlabelled: false,
            header,
            bits: bits.unwrap_or_default(),
        };
        Ok(DataSettings {
            files: files.to_vec(),
            format_settings,
            schema,
            positive: self.positive.clone(),
            no_constant: self.no_constant,
            class_weights: None,
        })
    }
}

impl WeightArgs {
    /// The settings of data whose classes are weighted.
    pub(crate) fn weigh(&self, data: DataSettings) -> anyhow::Result<DataSettings> {
        let class_weights = ClassWeights::asked(self.positive_weight, self.negative_weight)?;
        Ok(DataSettings { class_weights, ..data })
    }
}

fn read_schema(path: &Path) -> anyhow::Result<Layout> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
    serde_json::from_str(&text).with_context(|| format!("{shown} does not say how a file is read"))
}

impl MannerArgs {
    pub(crate) fn manner(&self) -> Manner {
        Manner { threads: self.threads, cache: self.cache, ..Manner::default() }
    }
}

/// On or off.
fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("expected on or off".to_owned()),
    }
}

impl RunArgs {
    pub(crate) fn settings(&self) -> Settings {
        let from = self.learner.clone();
        Settings {
            learner: from.learner,
            loss: from.loss,
            tau: from.tau,
            radius: from.radius,
            comparators: from.comparators,
            judge: from.judge,
            eta: from.eta,
            gradient_bound: from.gradient_bound,
            sigma: from.sigma,
            alpha: from.alpha,
            l1: from.l1,
            c: from.c,
            schedule: from.schedule,
            horizon: from.horizon,
        }
    }
}

impl AuditArgs {
    pub(crate) fn settings(&self) -> AuditSettings {
        AuditSettings {
            loss: self.loss.clone(),
            tau: self.tau,
            radius: self.radius,
            comparators: self.comparators.clone(),
            judge: self.judge,
            link: self.link.clone(),
            columns: self.columns.clone(),
            window: self.window,
        }
    }
}

/// Show what is in a model: learner, data, examples, risk and certificate.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rueful inspect clicks.rueful
  rueful inspect clicks.rueful --json")]
pub(crate) struct InspectArgs {
    /// A model that `rueful run --save` made.
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,

    /// Print the result as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is written of a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Wanted {
    /// w·x
    Score,
    /// The label it stands for, as the data have it
    Label,
    /// How likely the positive label is (logistic loss)
    Probability,
}

/// Score new data with a model, without learning from them.
///
/// The data are read as those the model has learned from. What is said beside the predictions goes
/// to standard error.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rueful predict clicks.rueful wednesday.csv > scores.txt
  rueful predict clicks.rueful wednesday.csv --as label --out labels.txt
  rueful predict clicks.rueful new.csv --no-label --as probability
      rows without a label, and a model of the logistic loss
  rueful predict clicks.rueful wednesday.csv --json
      score, label and probability, one JSON object on a line")]
pub(crate) struct PredictArgs {
    /// A model that `rueful run --save` made.
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,

    /// The data, in one file or several; `-` is standard input.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<String>,

    /// What to write for every row.
    #[arg(long = "as", value_name = "WHAT", value_enum, default_value_t = Wanted::Score)]
    pub(crate) wanted: Wanted,

    /// The data have no labels: a table lacks the column.
    #[arg(long)]
    pub(crate) no_label: bool,

    /// Where to write the predictions [default: standard output].
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// Threads that read [default: one for each core].
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    /// Say nothing beside the predictions.
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// Write one JSON object on a line.
    #[arg(long, conflicts_with = "wanted")]
    pub(crate) json: bool,
}

impl PredictArgs {
    pub(crate) fn manner(&self) -> Manner {
        Manner { threads: self.threads, ..Manner::default() }
    }
}

/// List the features of a model by weight.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rueful weights clicks.rueful
  rueful weights clicks.rueful --top 100
  rueful weights clicks.rueful --all --json")]
pub(crate) struct WeightsArgs {
    /// A model that `rueful run --save` made.
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,

    /// How many, the largest first.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) top: usize,

    /// All that are not 0.
    #[arg(long, conflicts_with = "top")]
    pub(crate) all: bool,

    /// Print the result as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Break one prediction into what each feature adds to it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rueful explain clicks.rueful wednesday.csv
      why the model says what it says of the first row
  rueful explain clicks.rueful wednesday.csv --row 17 --json")]
pub(crate) struct ExplainArgs {
    /// A model that `rueful run --save` made.
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,

    /// The data, in one file or several; `-` is standard input.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<String>,

    /// Which row, from 1 on.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) row: NonZeroU64,

    /// How many features to show; the others are added up.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) top: usize,

    /// The data have no labels: a table lacks the column.
    #[arg(long)]
    pub(crate) no_label: bool,

    /// Print the result as one JSON object, with all features.
    #[arg(long)]
    pub(crate) json: bool,
}

impl ExplainArgs {
    pub(crate) fn manner(&self) -> Manner {
        // A look at a few rows: what is read ahead is read in vain.
        Manner { threads: Some(NonZeroUsize::MIN), ..Manner::default() }
    }
}
