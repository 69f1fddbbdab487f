//! The flags of the commands that use a saved model.

use super::file_name;
use clap::{Args, ValueEnum};
use rueful_run::ReadingOptions;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

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

/// The form in which a prediction is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Wanted {
    /// The prediction itself, which is w·x for a linear learner; of many classes, the score of each
    Score,
    /// The label that is predicted, as the data write it
    Label,
    /// The probability of the positive label (logistic loss), or of every class (softmax loss)
    Probability,
}

/// Score new data with a model, without learning from them.
///
/// The data are read in the same way as those that the model has learned from. Notes go to standard
/// error.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rueful predict clicks.rueful wednesday.csv > scores.txt
  rueful predict clicks.rueful wednesday.csv --as label --out labels.txt
  rueful predict clicks.rueful new.csv --no-label --as probability
      rows without a label, and a model of the logistic loss
  rueful predict clicks.rueful wednesday.csv --json
      score, label and probability, one JSON object on a line
  rueful predict clicks.rueful wednesday.csv --out scores.txt --figures wednesday.json
      error rate, AUC and all other figures, for programs
  rueful predict flowers.rueful new.csv --as probability
      of many classes: a column for each, under a line with their names")]
pub(crate) struct PredictArgs {
    /// A model that `rueful run --save` made.
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,

    /// The data, in one file or several; `-` is standard input.
    #[arg(value_name = "FILE", required = true, value_parser = file_name())]
    pub(crate) files: Vec<String>,

    /// The form in which to write each prediction [default: score; label for many classes].
    #[arg(long = "as", value_name = "WHAT", value_enum)]
    pub(crate) wanted: Option<Wanted>,

    /// The data have no labels: a table lacks the column.
    #[arg(long)]
    pub(crate) no_label: bool,

    /// Where to write the predictions [default: standard output].
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// Also write how good the predictions were, as one JSON object, to this file.
    #[arg(long, value_name = "FILE", conflicts_with = "no_label")]
    pub(crate) figures: Option<PathBuf>,

    /// Threads that read [default: one for each core].
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    /// Write one JSON object on a line.
    #[arg(long, conflicts_with = "wanted")]
    pub(crate) json: bool,
}

impl PredictArgs {
    pub(crate) fn reading_options(&self) -> ReadingOptions {
        ReadingOptions { threads: self.threads, ..ReadingOptions::default() }
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

    /// How many weights to list, the largest first.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) top: usize,

    /// List all weights that are not 0.
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
      why the model predicts what it predicts for the first row
  rueful explain clicks.rueful wednesday.csv --row 17 --json")]
pub(crate) struct ExplainArgs {
    /// A model that `rueful run --save` made.
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,

    /// The data, in one file or several; `-` is standard input.
    #[arg(value_name = "FILE", required = true, value_parser = file_name())]
    pub(crate) files: Vec<String>,

    /// The row to explain, counted from 1.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) row: NonZeroU64,

    /// The class to explain, for a model of many classes [default: the predicted one].
    #[arg(long, value_name = "LABEL")]
    pub(crate) class: Option<String>,

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
    pub(crate) fn reading_options(&self) -> ReadingOptions {
        // Only the rows up to one are needed, so reading ahead on several threads would be a waste.
        ReadingOptions { threads: Some(NonZeroUsize::MIN), ..ReadingOptions::default() }
    }
}
