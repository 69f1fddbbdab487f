//! The command line, as clap sees it.

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use rueful_run::{AuditSettings, LearnerSpec, Link, LossSpec, ScheduleSpec, Settings};
use std::path::PathBuf;

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
    Run(RunArgs),
    Hindsight(HindsightArgs),
    Audit(AuditArgs),
    /// Watch learners play the notes' games.
    #[command(arg_required_else_help = true)]
    Play {
        #[command(subcommand)]
        game: Game,
    },
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
      projected OGD on the hinge loss, steps that tune themselves
  rueful run data/phishing.libsvm --loss logistic --radius 5 --json
      the same on the logistic loss, as one JSON object
  rueful run data/phishing.libsvm --learner strongly-convex-ogd --sigma 0.01
      the online support vector machine, against every linear predictor
  rueful run data/phishing.libsvm --gradient-bound 4
      steps tuned to gradients of norm at most 4, with the notes' theorem (9)
  rueful run data/phishing.libsvm --hindsight
      and the exact regret, by solving for the best predictor afterwards")]
pub(crate) struct RunArgs {
    /// Examples in LIBSVM text: `label index:value index:value …`, one per line.
    #[arg(value_name = "FILE", required_unless_present = "spec")]
    pub(crate) file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) learner: LearnerArgs,

    /// Read everything from the `spec` of an earlier report, a JSON file; FILE replaces its data.
    #[arg(long, value_name = "JSON", conflicts_with = "LearnerArgs")]
    pub(crate) spec: Option<PathBuf>,

    /// Do not add a feature that is always 1.
    #[arg(long, conflicts_with = "spec")]
    pub(crate) no_constant: bool,

    #[command(flatten)]
    pub(crate) solver: SolverArgs,

    /// Add the exact regret: solve for the best comparator once the run is over.
    #[arg(long)]
    pub(crate) hindsight: bool,

    /// Solve at every point of the curve as well (t = 1, 2, 4, 8, …).
    #[arg(long)]
    pub(crate) curve_hindsight: bool,

    /// Print the report as one JSON object.
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
      the least hinge loss of a linear predictor with ‖u‖ ≤ 5
  rueful hindsight data/phishing.libsvm --loss logistic --tolerance 1e-8 --json
  rueful hindsight data/phishing.libsvm --sigma 0.01
      the support vector machine: no ball, (σ/2)‖u‖² instead")]
pub(crate) struct HindsightArgs {
    /// Examples in LIBSVM text.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// The loss [default: hinge].
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(LossSpec::NAMES))]
    pub(crate) loss: Option<String>,

    /// τ of the quantile loss, between 0 and 1 [default: 0.5].
    #[arg(long, value_name = "TAU", allow_negative_numbers = true)]
    pub(crate) tau: Option<f64>,

    /// U: over ‖u‖ ≤ U [default: 10, or all of R^d with --sigma].
    #[arg(long, value_name = "U", allow_negative_numbers = true)]
    pub(crate) radius: Option<f64>,

    /// σ: adds (σ/2)‖u‖² to every loss [default: 0].
    #[arg(long, value_name = "SIGMA", allow_negative_numbers = true)]
    pub(crate) sigma: Option<f64>,

    /// Do not add a feature that is always 1.
    #[arg(long)]
    pub(crate) no_constant: bool,

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
    /// The learner [default: ogd].
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(LearnerSpec::NAMES))]
    learner: Option<String>,

    /// The loss; learners that need linear losses linearise it [default: hinge].
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(LossSpec::NAMES))]
    loss: Option<String>,

    /// τ of the quantile loss, between 0 and 1 [default: 0.5].
    #[arg(long, value_name = "TAU", allow_negative_numbers = true)]
    tau: Option<f64>,

    /// U: weights and comparators have norm at most U [default: 10]. For strongly-convex-ogd the
    /// comparators are all of R^d unless it is given.
    #[arg(long, value_name = "U", allow_negative_numbers = true)]
    radius: Option<f64>,

    /// η of the steps η/√t, or of constant ones.
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

    /// Step sizes [default: inverse-sqrt when η or G is given, adagrad-norm otherwise].
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(ScheduleSpec::NAMES))]
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
      one score per line, judged by the hinge loss
  rueful audit stream.libsvm --predictions p.txt --link logistic --loss logistic --radius 2
      probabilities, against every linear predictor of norm at most 2
  rueful audit stream.libsvm --predictions models.csv --prediction-column all --window 1000
      all models of a table, and every 1000 examples for themselves")]
pub(crate) struct AuditArgs {
    /// Examples in LIBSVM text: `label index:value index:value …`, one per line.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// What the model predicted, in the order of the examples: one number per line, or a table in
    /// CSV when columns are named.
    #[arg(long, value_name = "FILE")]
    pub(crate) predictions: PathBuf,

    /// A column of the predictions, by its name in the header; may be repeated. `all` takes all.
    #[arg(long = "prediction-column", value_name = "NAME")]
    columns: Vec<String>,

    /// What the predictions are: scores (identity), or probabilities p of the label +1 (logistic),
    /// which become scores ln(p/(1−p)) [default: identity].
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(Link::NAMES))]
    link: Option<String>,

    /// The loss [default: hinge].
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(LossSpec::NAMES))]
    loss: Option<String>,

    /// τ of the quantile loss, between 0 and 1 [default: 0.5].
    #[arg(long, value_name = "TAU", allow_negative_numbers = true)]
    tau: Option<f64>,

    /// U: the linear predictors compared with have norm at most U [default: 10].
    #[arg(long, value_name = "U", allow_negative_numbers = true)]
    radius: Option<f64>,

    /// Judge every N examples for themselves as well.
    #[arg(long, visible_alias = "every", value_name = "N", allow_negative_numbers = true)]
    window: Option<u64>,

    /// Add the exact regret: solve for the best linear predictor afterwards.
    #[arg(long)]
    pub(crate) hindsight: bool,

    #[command(flatten)]
    pub(crate) solver: SolverArgs,

    /// Do not give the linear predictors a feature that is always 1.
    #[arg(long)]
    no_constant: bool,

    /// Print the report as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AdversaryName {
    /// Orthogonal to the weights and to the past: forces UG√T.
    Orthogonal,
    /// Against the sign of every weight.
    Sign,
}

impl RunArgs {
    pub(crate) fn settings(&self) -> Settings {
        let from = self.learner.clone();
        Settings {
            learner: from.learner,
            loss: from.loss,
            tau: from.tau,
            radius: from.radius,
            eta: from.eta,
            gradient_bound: from.gradient_bound,
            sigma: from.sigma,
            alpha: from.alpha,
            schedule: from.schedule,
            horizon: from.horizon,
            no_constant: self.no_constant,
        }
    }
}

impl AuditArgs {
    pub(crate) fn settings(&self) -> AuditSettings {
        AuditSettings {
            loss: self.loss.clone(),
            tau: self.tau,
            radius: self.radius,
            link: self.link.clone(),
            columns: self.columns.clone(),
            window: self.window,
            no_constant: self.no_constant,
        }
    }
}
