//! The predictions of a run, made before each update, one on a line.

use anyhow::Context;
use rueful_core::Round;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file of predictions, or none.
pub(crate) struct PredictionsFile {
    path: PathBuf,
    file: BufWriter<File>,
}

impl PredictionsFile {
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        let file =
            File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { path: path.to_owned(), file: BufWriter::new(file) })
    }

    /// Writes what was predicted, as short as it can be told exactly.
    pub(crate) fn write(&mut self, rounds: &[Round]) -> anyhow::Result<()> {
        let written =
            rounds.iter().try_for_each(|round| writeln!(self.file, "{}", round.prediction));
        self.told(written)
    }

    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        let written = self.file.flush();
        self.told(written)
    }

    fn told(&self, written: io::Result<()>) -> anyhow::Result<()> {
        written.with_context(|| format!("cannot write {}", self.path.display()))
    }
}
