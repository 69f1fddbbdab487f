//! Writes the predictions and the models of a run while it goes on.

use crate::args::RunArgs;
use crate::predictions::{PredictionsFile, Told};
use crate::{numbers, output};
use rueful_data::Source;
use rueful_run::{Learning, Session, check_place};
use std::num::NonZeroU64;
use std::path::Path;

/// Writes the predictions of every batch, and saves the model at checkpoints and at the end.
pub(crate) struct Keeper<'a> {
    predictions: Option<PredictionsFile>,
    model: Option<&'a Path>,
    checkpoint_every: Option<u64>,
    next_checkpoint: u64,
    /// The number of rounds in the model on the disk, if this run has written it.
    saved: Option<u64>,
}

impl<'a> Keeper<'a> {
    /// Makes a keeper. Files that cannot be written to are refused here, before anything is
    /// learned.
    pub(crate) fn new<R: Learning>(
        args: &'a RunArgs,
        session: &Session<R>,
    ) -> anyhow::Result<Self> {
        let keep = &args.keep;
        keep.save.as_deref().map_or(Ok(()), check_place)?;
        keep.pictures.check()?;
        let open = |path| PredictionsFile::open(path, session, args.follow);
        let every = keep.checkpoint_every.map(NonZeroU64::get);
        Ok(Self {
            predictions: keep.predictions.as_deref().map(open).transpose()?,
            model: keep.save.as_deref(),
            checkpoint_every: every,
            next_checkpoint: session.run().examples().saturating_add(every.unwrap_or(u64::MAX)),
            saved: None,
        })
    }

    /// Writes the predictions of the last batch, and saves the model if a checkpoint is due.
    pub(crate) fn keep<R: Told>(
        &mut self,
        session: &mut Session<R>,
        source: &dyn Source,
    ) -> anyhow::Result<()> {
        if let Some(predictions) = &mut self.predictions {
            predictions.write(session.run(), source)?;
        }
        let rounds = session.run().examples();
        if let Some(every) = self.checkpoint_every
            && rounds >= self.next_checkpoint
        {
            self.save(session, source)?;
            self.next_checkpoint = rounds.saturating_add(every);
        }
        Ok(())
    }

    fn save<R: Learning>(
        &mut self,
        session: &mut Session<R>,
        source: &dyn Source,
    ) -> anyhow::Result<()> {
        let rounds = session.run().examples();
        if let Some(path) = self.model
            && (self.saved != Some(rounds) || session.course().is_later())
        {
            // The model records how far the predictions were written, so that a resumed run can
            // continue their file.
            let put_down = |file: &mut PredictionsFile| file.put_down();
            session.companions_mut().predictions =
                self.predictions.as_mut().map(put_down).transpose()?;
            session.save(source, path)?;
            self.saved = Some(rounds);
        }
        Ok(())
    }

    /// Saves the model at the end of a run, also if the run ended with an error. In that case it
    /// returns the error.
    pub(crate) fn finish<R: Learning>(
        mut self,
        session: &mut Session<R>,
        source: &dyn Source,
        finished: anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let Err(error) = finished else {
            self.save(session, source)?;
            return self.predictions.take().map_or(Ok(()), PredictionsFile::finish);
        };
        if self.save_what_there_is(session, source) {
            // A run that resumes this model continues the file of predictions as well.
            self.predictions.take().map_or(Ok(()), PredictionsFile::leave)?;
        }
        Err(error)
    }

    /// Tries to save the model, and returns whether there is a model that a run can resume. A run
    /// that diverged is not saved, because its learner is ahead of its ledger.
    fn save_what_there_is<R: Learning>(
        &mut self,
        session: &mut Session<R>,
        source: &dyn Source,
    ) -> bool {
        let learned = session.run().examples();
        if let Some(path) = self.model
            && learned > 0
            && !session.run().is_diverged()
            && self.save(session, source).is_ok()
        {
            let (examples, path) = (numbers::counted(learned, "example"), path.display());
            output::note_anyway(&format!("what was learned from {examples} is in {path}"));
        }
        self.saved.is_some()
    }
}
