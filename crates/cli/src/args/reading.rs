//! Flags for how files are read.

use anyhow::Context;
use clap::Args;
use clap::builder::PossibleValuesParser;
use rueful_data::{Bits, CurveSettings, ExpansionSettings, FormatSettings, TermScale};
use rueful_run::{ClassWeights, DataSettings, Layout, ReadingOptions};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// How the bytes of a file become examples.
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

    /// Columns whose numbers are categories: one feature for each value.
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    categorical: Vec<String>,

    /// Columns of numbers, even if most of their first cells are not numbers.
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    numeric: Vec<String>,

    /// Columns of running text: one feature for each word.
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    text: Vec<String>,

    /// The first line names the columns [default: recognised by content].
    #[arg(long, conflicts_with = "no_header")]
    header: bool,

    /// The first line is data.
    #[arg(long)]
    no_header: bool,

    /// Cross columns: one feature for each combination of their values, as in --cross age,job. For
    /// several crosses, give the flag several times.
    #[arg(long, value_name = "COLUMN,COLUMN")]
    cross: Vec<String>,

    /// Cross namespaces of Vowpal Wabbit text by their first letters, as in --interactions ab.
    #[arg(long, value_name = "LETTERS")]
    interactions: Vec<String>,

    /// Part a column of numbers into bins, as in --bins age, --bins age:5 for 5 bins, or --bins
    /// age:18,30,65 for these edges. For several columns, give the flag several times.
    #[arg(long, value_name = "COLUMN[:K]")]
    bins: Vec<String>,

    /// Make a column of numbers a curve of straight pieces between knots, as in --spline age, --spline
    /// age:5 for 5 knots, or --spline age:18,30,65 for these knots.
    #[arg(long, value_name = "COLUMN[:K]")]
    spline: Vec<String>,

    /// Add waves to a column of numbers, as in --periodic hour:24, or --periodic hour:24:3 for three
    /// harmonics.
    #[arg(long, value_name = "COLUMN:PERIOD[:H]")]
    periodic: Vec<String>,

    /// Make n-grams of up to N words of running text, as in --ngram 2, or of the words in a namespace
    /// of Vowpal Wabbit text, as in --ngram a2.
    #[arg(long, value_name = "N")]
    ngram: Vec<String>,

    /// Let n-grams skip up to K words, as in --skips 1 or --skips a1.
    #[arg(long, value_name = "K")]
    skips: Vec<String>,

    /// The value of a word or n-gram that comes c times: c (count), 1 + ln c (log) or 1 (binary)
    /// [default: count].
    #[arg(long, value_name = "SCALE", value_parser = PossibleValuesParser::new(TermScale::NAMES))]
    tf: Option<String>,

    /// Leave out the namespaces of Vowpal Wabbit text that begin with one of these letters.
    #[arg(long, value_name = "LETTERS")]
    ignore_namespace: Vec<String>,

    /// Read only the namespaces of Vowpal Wabbit text that begin with one of these letters.
    #[arg(long, value_name = "LETTERS")]
    keep_namespace: Vec<String>,

    /// Lower-case the names of features of Vowpal Wabbit text; running text always is.
    #[arg(long)]
    lowercase: bool,

    /// Make no feature that says that a cell has no value.
    #[arg(long)]
    no_missing: bool,

    /// Hash the names of features to 2^BITS indices [default: 22].
    #[arg(long, value_name = "BITS")]
    bits: Option<u8>,

    /// Do not add a feature that is always 1.
    #[arg(long)]
    no_constant: bool,

    /// Read the file as this schema says, a JSON file that --write-schema made.
    #[arg(long, value_name = "JSON")]
    pub(crate) schema: Option<PathBuf>,
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
            id: None,
            drop: self.drop.clone(),
            categorical: self.categorical.clone(),
            numeric: self.numeric.clone(),
            text: self.text.clone(),
            unlabelled: false,
            header,
            bits: bits.unwrap_or_default(),
            expansion: self.expansion(),
        };
        Ok(DataSettings {
            files: files.to_vec(),
            format_settings,
            schema,
            positive: self.positive.clone(),
            no_constant: self.no_constant,
            class_weights: None,
            passes: None,
            pending: None,
        })
    }

    /// The features that are made from others.
    fn expansion(&self) -> ExpansionSettings {
        ExpansionSettings {
            no_missing: self.no_missing,
            crosses: self.cross.clone(),
            interactions: self.interactions.clone(),
            ngram: self.ngram.clone(),
            skips: self.skips.clone(),
            ignore_namespaces: self.ignore_namespace.concat(),
            keep_namespaces: self.keep_namespace.concat(),
            lowercase: self.lowercase,
            curves: CurveSettings {
                bins: self.bins.clone(),
                splines: self.spline.clone(),
                periodic: self.periodic.clone(),
            },
            tf: self.tf.as_deref().and_then(TermScale::by_name).unwrap_or_default(),
        }
    }
}

fn read_schema(path: &Path) -> anyhow::Result<Layout> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
    serde_json::from_str(&text).with_context(|| format!("{shown} is not a schema"))
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

    /// Of many classes, examples with this label count W times as much; may be repeated [default: 1].
    #[arg(
        long,
        value_name = "LABEL=W",
        conflicts_with_all = ["positive_weight", "negative_weight"]
    )]
    class_weight: Vec<String>,
}

impl WeightArgs {
    /// The settings of data whose classes are weighted.
    pub(crate) fn weigh(&self, data: DataSettings) -> anyhow::Result<DataSettings> {
        let two = ClassWeights::asked(self.positive_weight, self.negative_weight)?;
        let class_weights = two.or(ClassWeights::of_labels(&self.class_weight)?);
        Ok(DataSettings { class_weights, ..data })
    }
}

/// How a file is read. None of these settings changes the examples.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReadingArgs {
    /// Threads that read [default: one for each core].
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    /// Keep a compact copy of the data beside the first file, in FILE.rueful-cache, and read that.
    #[arg(long)]
    cache: bool,

    /// Write to a JSON file how the data are read, so that the next file can be read in the same
    /// way.
    #[arg(long, value_name = "JSON")]
    pub(crate) write_schema: Option<PathBuf>,
}

impl ReadingArgs {
    pub(crate) fn options(&self) -> ReadingOptions {
        ReadingOptions { threads: self.threads, cache: self.cache, ..ReadingOptions::default() }
    }
}
