//! The flags that say how often data are read, and which rows are held out.

use clap::Args;
use clap::builder::PossibleValuesParser;
use rueful_run::{DataSettings, HoldoutBy, PassesSettings};
use std::num::{NonZeroU32, NonZeroU64};

/// Several passes over the data, and rows that are held out.
#[derive(Debug, Clone, Default, Args)]
#[group(id = "PassesArgs", multiple = true)]
#[command(next_help_heading = "Passes")]
pub(crate) struct PassesArgs {
    /// Go on learning from the same data, up to N times in all. Risk, certificate and bounds are
    /// those of the first pass.
    #[arg(long, value_name = "N")]
    passes: Option<NonZeroU32>,

    /// Hold out one row of K: it is predicted in every pass and never learned from. The model is
    /// that of the pass that loses least on such rows.
    #[arg(long, value_name = "K")]
    holdout: Option<NonZeroU64>,

    /// Hold out every K-th row, or rows by a hash of their features [default: row].
    #[arg(long, value_name = "HOW", requires = "holdout",
        value_parser = PossibleValuesParser::new(HoldoutBy::NAMES))]
    holdout_by: Option<String>,

    /// End after N passes in a row that lose no less on the rows that are held out [default: 1].
    #[arg(long, value_name = "N", requires_all = ["holdout", "passes"])]
    patience: Option<NonZeroU32>,
}

impl PassesArgs {
    /// Adds the passes to the settings of the data.
    pub(crate) fn add_to(&self, data: DataSettings) -> anyhow::Result<DataSettings> {
        let asked = PassesSettings {
            passes: self.passes.map(NonZeroU32::get),
            holdout: self.holdout.map(NonZeroU64::get),
            holdout_by: self.holdout_by.clone(),
            patience: self.patience.map(NonZeroU32::get),
        };
        Ok(DataSettings { passes: asked.passes()?, ..data })
    }
}
