//! The loop.

use crate::DataSpec;
use crate::dispatch::{SavedLearner, build};
use crate::model::{self, Model, ModelError, Stream};
use crate::report::Report;
use crate::spec::{Spec, SpecError};
use rueful_core::learner::Learner;
use rueful_core::{Batch, Ledger, LedgerError, Round};
use rueful_data::{DataError, Seen, Source};
use std::path::Path;
use thiserror::Error;

/// A run under way: a learner, the ledger of its stream, and the buffers between them.
pub struct Run {
    spec: Spec,
    learner: Box<dyn SavedLearner>,
    ledger: Ledger,
    /// What came before the data of the description.
    before: Seen,
    /// How many rows of these data were learned from, and how many are to be passed over because
    /// they were before.
    position: u64,
    to_skip: u64,
    batch: Batch,
    rounds: Vec<Round>,
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Examples learned from.
    pub examples: u64,
    /// Bytes read from the source.
    pub bytes: u64,
    /// The sequential risk so far.
    pub sequential_risk: f64,
}

/// Why a run stopped.
#[derive(Debug, Error)]
pub enum RunError {
    /// The description contradicts itself.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The data could not be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The weights left the finite numbers.
    #[error("the run diverged: {what}; {advice}")]
    Diverged {
        /// Where it was noticed.
        what: LedgerError,
        /// What keeps such a learner finite.
        advice: &'static str,
    },
    /// The data are not those that were learned from before.
    #[error(
        "the run has learned from {learned} rows of these data, and they have {found}: they are \
         not what they were. Name the file to go on with if it is another"
    )]
    Shorter {
        /// Rows that were learned from.
        learned: u64,
        /// Rows that are there.
        found: u64,
    },
}

impl Run {
    /// A run that has seen nothing.
    pub fn new(spec: Spec) -> Result<Self, SpecError> {
        let learner = build(&spec)?;
        let ledger = Ledger::regularized(spec.comparators.clone(), spec.sigma);
        Ok(Self {
            spec,
            learner,
            ledger,
            before: Seen::default(),
            position: 0,
            to_skip: 0,
            batch: Batch::default(),
            rounds: Vec::new(),
        })
    }

    /// A run that was put away. It goes on in the data it was at: shown them from the start, it
    /// passes over what it has learned from.
    pub fn resume(model: Model) -> Self {
        let Model { spec, learner, ledger, stream: Stream { before, position, .. }, .. } = model;
        Self {
            spec,
            learner,
            ledger,
            before,
            position,
            to_skip: position,
            batch: Batch::default(),
            rounds: Vec::new(),
        }
    }

    /// The same, to go on with other data.
    pub fn resume_with(model: Model, data: DataSpec) -> Self {
        let before = model.stream.seen();
        let run = Self::resume(model);
        Self { before, position: 0, to_skip: 0, spec: Spec { data, ..run.spec }, ..run }
    }

    /// Learns from the next rows of the source; says whether there were any.
    pub fn advance(&mut self, source: &mut dyn Source) -> Result<bool, RunError> {
        if !self.fill(source)? {
            return Ok(false);
        }
        self.learner.learn_batch(&self.batch, &mut self.rounds);
        self.ledger
            .record_batch(&self.batch, &self.rounds)
            .map_err(|what| RunError::Diverged { what, advice: self.spec.learner.advice() })?;
        self.position += self.batch.len() as u64;
        Ok(true)
    }

    /// The next rows that were not learned from.
    fn fill(&mut self, source: &mut dyn Source) -> Result<bool, RunError> {
        while source.fill(&mut self.batch)? {
            let rows = self.batch.len() as u64;
            if self.to_skip < rows {
                self.batch.remove_first(self.to_skip as usize);
                self.to_skip = 0;
                return Ok(true);
            }
            self.to_skip -= rows;
        }
        if self.to_skip > 0 {
            let learned = self.position;
            return Err(RunError::Shorter { learned, found: learned - self.to_skip });
        }
        Ok(false)
    }

    /// Learns from everything the source has, telling `watch` of every batch after it.
    pub fn drive(
        &mut self,
        source: &mut dyn Source,
        mut watch: impl FnMut(&Batch, &[Round], Progress),
    ) -> Result<(), RunError> {
        while self.advance(source)? {
            watch(&self.batch, &self.rounds, self.progress(source));
        }
        Ok(())
    }

    /// The rows that were learned from last, and what became of each.
    pub fn last(&self) -> (&Batch, &[Round]) {
        (&self.batch, &self.rounds)
    }

    /// How far it has come.
    pub fn progress(&self, source: &dyn Source) -> Progress {
        Progress {
            examples: self.ledger.rounds(),
            bytes: source.bytes_read(),
            sequential_risk: self.ledger.sequential_risk(),
        }
    }

    /// What the stream held so far, `source` being where the data come from.
    pub fn seen(&self, source: &dyn Source) -> Seen {
        self.stream(source).seen()
    }

    fn stream(&self, source: &dyn Source) -> Stream {
        Stream { before: self.before.clone(), now: Seen::of(source), position: self.position }
    }

    /// What can be said so far about what `source` held.
    pub fn report(&self, source: &dyn Source) -> Report {
        let promise = self.learner.promise(self.ledger.comparators());
        let ladder = self.ledger.ladder(promise);
        let report = |census, names| Report::new(&self.spec, &self.ledger, &ladder, census, names);
        if self.before.census.examples == 0 {
            return report(source.census(), source.names());
        }
        let seen = self.seen(source);
        report(&seen.census, &seen.names)
    }

    /// The run put away, as the bytes of a model's file.
    pub fn to_bytes(&self, source: &dyn Source) -> Result<Vec<u8>, ModelError> {
        model::encode(&self.spec, &*self.learner, &self.ledger, &self.stream(source))
    }

    /// Puts the run away in a file, which is there whole or not at all.
    pub fn save(&self, source: &dyn Source, path: &Path) -> Result<(), ModelError> {
        model::write(path, &self.to_bytes(source)?)
    }

    /// The learner.
    pub fn learner(&self) -> &dyn Learner {
        &*self.learner
    }

    /// The ledger.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The description.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }
}
