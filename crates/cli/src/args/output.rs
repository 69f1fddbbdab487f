//! Flags for pages and pictures.

use clap::Args;
use std::path::PathBuf;

/// The page and the picture of a report.
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
    /// Whether a page or a picture is asked for.
    pub(crate) fn are_asked_for(&self) -> bool {
        self.report.is_some() || self.plot.is_some()
    }

    /// Refuses files that cannot be written to, before anything is read.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        self.report.iter().chain(&self.plot).try_for_each(|path| crate::page::check_place(path))
    }
}
