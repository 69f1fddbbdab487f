//! The flags of `rueful data` and `rueful convert`.

use super::{FormatArgs, ReadingArgs, file_name};
use clap::Args;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Show how a file would be read, without learning.
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
    #[arg(value_name = "FILE", required = true, value_parser = file_name())]
    pub(crate) files: Vec<String>,

    #[command(flatten)]
    pub(crate) format: FormatArgs,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,

    /// How many examples to show.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) show: usize,

    /// Print the result as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Make a compact binary file, which every command reads in place of the data, and faster.
///
/// The constant feature is not stored. The command that reads the file decides whether there is
/// one.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rueful convert data/phishing.libsvm --out phishing.rueful-cache
  rueful convert table.csv --label bought --positive yes --out table.rueful-cache
  rueful run table.rueful-cache")]
pub(crate) struct ConvertArgs {
    /// The examples, in one file or several; `-` is standard input.
    #[arg(value_name = "FILE", required = true, value_parser = file_name())]
    pub(crate) files: Vec<String>,

    /// The file to write.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,

    /// Replace the file if it exists.
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
