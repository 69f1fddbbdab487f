//! What a run leaves behind on its way: predictions, and models.

use crate::args::RunArgs;
use crate::predictions::PredictionsFile;
use crate::{numbers, output};
use rueful_data::Source;
use rueful_run::{Session, check_place};
use std::num::NonZeroU64;
use std::path::Path;

pub(crate) struct Keeper<'a> {
    predictions: Option<PredictionsFile>,
    model: Option<&'a Path>,
    checkpoint_every: Option<u64>,
    next_checkpoint: u64,
    /// The round of the model on the disk, if this run wrote it.
    saved: Option<u64>,
}

impl<'a> Keeper<'a> {
    /// Refuses what cannot be written to, before anything is learned.
    pub(crate) fn new(args: &'a RunArgs, session: &Session) -> anyhow::Result<Self> {
        let keep = &args.keep;
        keep.save.as_deref().map_or(Ok(()), check_place)?;
        keep.pictures.check()?;
        let open = |path| PredictionsFile::open(path, session, args.follow);
        let every = keep.checkpoint_every.map(NonZeroU64::get);
        Ok(Self {
            predictions: keep.predictions.as_deref().map(open).transpose()?,
            model: keep.save.as_deref(),
            checkpoint_every: every,
            next_checkpoint: session.ledger().rounds().saturating_add(every.unwrap_or(u64::MAX)),
            saved: None,
        })
    }

    /// After every batch.
    pub(crate) fn keep(
        &mut self,
        session: &mut Session,
        source: &dyn Source,
    ) -> anyhow::Result<()> {
        if let Some(predictions) = &mut self.predictions {
            predictions.write(session.last().1)?;
        }
        let rounds = session.ledger().rounds();
        if let Some(every) = self.checkpoint_every
            && rounds >= self.next_checkpoint
        {
            self.save(session, source)?;
            self.next_checkpoint = rounds.saturating_add(every);
        }
        Ok(())
    }

    fn save(&mut self, session: &mut Session, source: &dyn Source) -> anyhow::Result<()> {
        let rounds = session.ledger().rounds();
        if let Some(path) = self.model
            && self.saved != Some(rounds)
        {
            // The model knows how far the predictions are that go with it.
            let put_down = |file: &mut PredictionsFile| file.put_down();
            session.companions_mut().predictions =
                self.predictions.as_mut().map(put_down).transpose()?;
            session.save(source, path)?;
            self.saved = Some(rounds);
        }
        Ok(())
    }

    /// At the end, however it came about: what was learned is saved.
    pub(crate) fn finish(
        mut self,
        session: &mut Session,
        source: &dyn Source,
        finished: anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let Err(error) = finished else {
            self.save(session, source)?;
            return self.predictions.take().map_or(Ok(()), PredictionsFile::finish);
        };
        if self.save_what_there_is(session, source) {
            // A run that goes on from this model goes on with the predictions too.
            self.predictions.take().map_or(Ok(()), PredictionsFile::leave)?;
        }
        Err(error)
    }

    /// Says whether there is a model to go on from. The learner of a run that diverged is ahead of
    /// its ledger, and of no use.
    fn save_what_there_is(&mut self, session: &mut Session, source: &dyn Source) -> bool {
        let learned = session.ledger().rounds();
        if let Some(path) = self.model
            && learned > 0
            && !session.run().is_diverged()
            && self.save(session, source).is_ok()
        {
            let (examples, path) = (numbers::count(learned), path.display());
            output::note_anyway(&format!("what was learned from {examples} examples is in {path}"));
        }
        self.saved.is_some()
    }
}
