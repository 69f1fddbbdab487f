//! A run that learns from files, and can be put away in the middle of one.

use crate::companions::Companions;
use crate::data::DataSpec;
use crate::model::{self, Model, ModelError, Stream};
use crate::report::Report;
use crate::run::{Run, RunError};
use crate::spec::{Spec, SpecError};
use crate::windows::Windows;
use rueful_core::{Batch, Ledger, Round, Rows};
use rueful_data::{DataError, Seen, Source};
use std::path::Path;
use thiserror::Error;

/// A run, and where it is in its data.
pub struct Session {
    run: Run,
    companions: Companions,
    data: DataSpec,
    /// What came before these data.
    before: Seen,
    /// How many rows of these data were learned from, and how many are to be passed over because
    /// they were before.
    position: u64,
    to_skip: u64,
    batch: Batch,
}

/// How far a session has come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Examples learned from.
    pub examples: u64,
    /// Bytes read from the source.
    pub bytes: u64,
    /// The sequential risk so far.
    pub sequential_risk: f64,
}

/// Why a session stopped.
#[derive(Debug, Error)]
pub enum SessionError {
    /// The data could not be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The run cannot go on.
    #[error(transparent)]
    Run(#[from] RunError),
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

impl Session {
    /// A run that has seen nothing.
    pub fn new(spec: &Spec) -> Result<Self, SpecError> {
        spec.check()?;
        let run = Run::new(spec.task())?;
        let (data, batch) = (spec.data.clone(), Batch::default());
        let (companions, before) = (Companions::default(), Seen::default());
        Ok(Self { run, companions, data, before, position: 0, to_skip: 0, batch })
    }

    /// A run that was put away. It goes on in the data it was at: shown them from the start, it
    /// passes over what it has learned from.
    pub fn resume(model: Model) -> Self {
        let Model { run, data, stream: Stream { before, position, .. }, companions, .. } = model;
        let batch = Batch::default();
        Self { run, companions, data, before, position, to_skip: position, batch }
    }

    /// The same, to go on with other data.
    pub fn resume_with(model: Model, data: DataSpec) -> Self {
        let before = model.stream.seen();
        let mut session = Self { before, data, position: 0, to_skip: 0, ..Self::resume(model) };
        session.companions = session.companions.for_other_data();
        session
    }

    /// Learns from the next rows of the source; says whether there were any.
    pub fn advance(&mut self, source: &mut dyn Source) -> Result<bool, SessionError> {
        if !self.fill(source)? {
            return Ok(false);
        }
        let rows = self.batch.rows();
        self.run.learn_counted(rows)?;
        if let Some(windows) = &mut self.companions.windows {
            windows.tell(self.run.ledger(), self.run.entered(rows), self.run.rounds());
        }
        self.position += self.batch.len() as u64;
        Ok(true)
    }

    /// The next rows that were not learned from.
    fn fill(&mut self, source: &mut dyn Source) -> Result<bool, SessionError> {
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
            return Err(SessionError::Shorter { learned, found: learned - self.to_skip });
        }
        Ok(false)
    }

    /// The rows that were learned from last, and what became of each.
    pub fn last(&self) -> (Rows<'_>, &[Round]) {
        (self.batch.rows(), self.run.rounds())
    }

    /// How far it has come.
    pub fn progress(&self, source: &dyn Source) -> Progress {
        let ledger = self.run.ledger();
        Progress {
            examples: ledger.rounds(),
            bytes: source.bytes_read(),
            sequential_risk: ledger.sequential_risk(),
        }
    }

    fn stream(&self, source: &dyn Source) -> Stream {
        Stream { before: self.before.clone(), now: Seen::of(source), position: self.position }
    }

    /// Tells the run what was seen, `source` being where the data come from.
    pub fn look(&mut self, source: &dyn Source) {
        self.run.saw(self.stream(source).seen());
    }

    /// What can be said so far about what `source` held.
    pub fn report(&mut self, source: &dyn Source) -> Report {
        self.look(source);
        let mut report = self.run.report();
        report.spec.data = Some(self.data.clone());
        report
    }

    /// The run put away in memory.
    pub fn into_model(self, source: &dyn Source) -> Model {
        let stream = self.stream(source);
        let written_by = env!("CARGO_PKG_VERSION").to_owned();
        let Self { run, data, companions, .. } = self;
        Model { run, data, stream, companions, written_by }
    }

    /// The run put away, as the bytes of a model's file.
    pub fn to_bytes(&self, source: &dyn Source) -> Result<Vec<u8>, ModelError> {
        model::encode(&self.run, &self.data, &self.stream(source), &self.companions)
    }

    /// Puts the run away in a file, which is there whole or not at all.
    pub fn save(&self, source: &dyn Source, path: &Path) -> Result<(), ModelError> {
        model::write(path, &self.to_bytes(source)?)
    }

    /// The run.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Its ledger.
    pub fn ledger(&self) -> &Ledger {
        self.run.ledger()
    }

    /// What goes along with the run.
    pub fn companions(&self) -> &Companions {
        &self.companions
    }

    /// The same, to be changed.
    pub fn companions_mut(&mut self) -> &mut Companions {
        &mut self.companions
    }

    /// The windows, if somebody asked for them.
    pub fn windows(&self) -> Option<&Windows> {
        self.companions.windows.as_ref()
    }

    /// What it learns from.
    pub fn data(&self) -> &DataSpec {
        &self.data
    }

    /// The whole description.
    pub fn spec(&self) -> Spec {
        self.run.task().clone().reading(self.data.clone())
    }
}
