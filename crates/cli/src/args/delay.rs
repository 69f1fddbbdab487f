//! The flags for labels that come later than their rows.

use clap::Args;
use rueful_data::FormatSettings;
use rueful_run::DataSettings;
use std::num::NonZeroUsize;

/// Labels that come later than their rows.
#[derive(Debug, Clone, Default, Args)]
#[group(id = "DelayArgs", multiple = true)]
#[command(next_help_heading = "Delayed labels")]
pub(crate) struct DelayArgs {
    /// The column of ids, or "tag" for Vowpal Wabbit text. A row without a label is predicted and
    /// waits; a later row with its id and a label teaches.
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,

    /// How many rows may wait for their labels [default: 100000].
    #[arg(long, value_name = "N", requires = "id")]
    pending: Option<NonZeroUsize>,
}

impl DelayArgs {
    /// Adds the ids to the settings of the data.
    pub(crate) fn add_to(&self, data: DataSettings) -> DataSettings {
        let format_settings = FormatSettings { id: self.id.clone(), ..data.format_settings };
        DataSettings { format_settings, pending: self.pending, ..data }
    }
}
