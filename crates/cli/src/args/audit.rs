//! The flags of `rueful audit`.

use super::task::{JudgeArgs, TaskArgs};
use super::{FormatArgs, PictureArgs, ReadingArgs, SolverArgs, WeightArgs, file_name};
use clap::Args;
use clap::builder::PossibleValuesParser;
use rueful_run::{AuditSettings, Link};
use std::path::PathBuf;

/// Judge any model from its predictions alone.
///
/// The predictions are those that a model made for the examples of FILE, each before its label was
/// known. The report says what they cost, and how much of that any linear predictor could have
/// saved. Nothing needs to be known about the model.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rueful audit stream.libsvm --predictions scores.txt
      one score per line, judged by the loss that follows from the labels
  rueful audit stream.libsvm --predictions p.txt --link logistic --loss logistic --radius 2
      probabilities, against every linear predictor of norm at most 2
  rueful audit stream.libsvm --predictions models.csv --prediction-column all --window 1000
      all models of a table, for the whole stream and for every 1000 examples
  rueful audit log.csv --label bought --prediction-column score
      a table that holds the examples and the predictions of a model
  rueful audit log.csv --label bought --prediction-column score --window 1000 --report audit.html
      a page with pictures
  rueful audit log.csv --label bought --prediction-column score --by country
      the whole stream, and every country for itself
  rueful audit log.csv --label bought --prediction-column score --window 1000 --alarm 0.05
      exits with 4 if in some window a linear predictor was provably better by 0.05 per round")]
pub(crate) struct AuditArgs {
    /// The examples; a table may hold the predictions too.
    #[arg(value_name = "FILE", value_parser = file_name())]
    pub(crate) file: String,

    /// The predictions of the model, in the order of the examples: one number per line, or a table
    /// in CSV if columns are named [default: columns of FILE].
    #[arg(long, value_name = "FILE", required_unless_present = "columns")]
    pub(crate) predictions: Option<PathBuf>,

    /// A column of predictions, by its name in the header; may be repeated. `all` takes all
    /// columns.
    #[arg(long = "prediction-column", value_name = "NAME")]
    pub(crate) columns: Vec<String>,

    /// The kind of predictions: scores (identity), or probabilities p of the label +1 (logistic),
    /// which become scores ln(p/(1−p)) [default: identity].
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(Link::NAMES))]
    link: Option<String>,

    #[command(flatten)]
    task: TaskArgs,

    #[command(flatten)]
    judge: JudgeArgs,

    /// Also judge every N examples for themselves.
    #[arg(long, visible_alias = "every", value_name = "N", allow_negative_numbers = true)]
    window: Option<u64>,

    /// Solve every full window for its best linear predictor. If the regret of a window is proved
    /// to be above REGRET per round, say so, and exit with 4.
    #[arg(long, value_name = "REGRET", allow_negative_numbers = true)]
    pub(crate) alarm: Option<f64>,

    /// Also judge every group of examples for itself. A group is all examples with the same value
    /// in this column of the predictions' table or of FILE. The column is then not a feature.
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
    pub(crate) reading: ReadingArgs,

    #[command(flatten)]
    pub(crate) pictures: PictureArgs,

    /// Print the report as one JSON object.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

impl AuditArgs {
    pub(crate) fn settings(&self) -> AuditSettings {
        let TaskArgs { loss, tau, radius, comparators } = self.task.clone();
        AuditSettings {
            loss,
            tau,
            radius,
            comparators,
            judge: self.judge.judge,
            link: self.link.clone(),
            columns: self.columns.clone(),
            window: self.window,
        }
    }
}
