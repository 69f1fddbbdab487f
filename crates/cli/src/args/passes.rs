//! The flags that say how often data are read, and which rows are held out.

use anyhow::bail;
use clap::Args;
use clap::builder::PossibleValuesParser;
use rueful_run::{DataSettings, Holdout, HoldoutBy, Passes};
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
        if self.passes.is_none() && self.holdout.is_none() {
            return Ok(data);
        }
        if self.holdout == Some(NonZeroU64::MIN) {
            bail!(
                "--holdout 1 would hold out every row: one of 2 or more, such as 10, is held out"
            );
        }
        let by = self.holdout_by.as_deref().and_then(HoldoutBy::named).unwrap_or_default();
        let passes = Passes {
            count: self.passes.unwrap_or(NonZeroU32::MIN),
            holdout: self.holdout.map(|every| Holdout { every, by }),
            patience: self.patience.unwrap_or(NonZeroU32::MIN),
        };
        let is_usual = passes == Passes::ONE;
        Ok(DataSettings { passes: (!is_usual).then_some(passes), ..data })
    }
}
