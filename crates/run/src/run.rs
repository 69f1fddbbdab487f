//! The loop.

use crate::dispatch::build;
use crate::report::Report;
use crate::spec::{Spec, SpecError};
use rueful_core::learner::Learner;
use rueful_core::{Batch, Ledger, LedgerError, Round};
use rueful_data::{DataError, Source};
use thiserror::Error;

/// A run under way: a learner, the ledger of its stream, and the buffers between them.
pub struct Run {
    spec: Spec,
    learner: Box<dyn Learner>,
    ledger: Ledger,
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
}

impl Run {
    /// A run that has seen nothing.
    pub fn new(spec: Spec) -> Result<Self, SpecError> {
        let learner = build(&spec)?;
        let ledger = Ledger::regularized(spec.comparators.clone(), spec.sigma);
        Ok(Self { spec, learner, ledger, batch: Batch::default(), rounds: Vec::new() })
    }

    /// Learns from everything the source has, telling `watch` of every batch after it.
    pub fn drive(
        &mut self,
        source: &mut dyn Source,
        mut watch: impl FnMut(&Batch, &[Round], Progress),
    ) -> Result<(), RunError> {
        while source.fill(&mut self.batch)? {
            self.learner.learn_batch(&self.batch, &mut self.rounds);
            self.ledger
                .record_batch(&self.batch, &self.rounds)
                .map_err(|what| RunError::Diverged { what, advice: self.spec.learner.advice() })?;
            watch(&self.batch, &self.rounds, self.progress(source));
        }
        Ok(())
    }

    fn progress(&self, source: &dyn Source) -> Progress {
        Progress {
            examples: self.ledger.rounds(),
            bytes: source.bytes_read(),
            sequential_risk: self.ledger.sequential_risk(),
        }
    }

    /// What can be said so far about what `source` held.
    pub fn report(&self, source: &dyn Source) -> Report {
        let promise = self.learner.promise(self.ledger.comparators());
        let ladder = self.ledger.ladder(promise);
        Report::new(&self.spec, &self.ledger, &ladder, source)
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
