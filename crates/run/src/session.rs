//! A run that learns from files, and can be saved in the middle of one.

use crate::companions::Companions;
use crate::data::DataSpec;
use crate::learning::Learning;
use crate::model::{self, Model, ModelError, Stream};
use crate::passes::{Course, Passes};
use crate::pending::{DelayReport, Pending};
use crate::report::Report;
use crate::run::{Run, RunError};
use crate::spec::{Spec, SpecError};
use crate::windows::Windows;
use rueful_core::{Batch, Ledger, Round, Rows};
use rueful_data::{DataError, Seen, Source};
use std::path::Path;
use thiserror::Error;

/// A run, and its position in its data.
pub struct Session<R: Learning = Run> {
    run: R,
    companions: Companions,
    course: Course<R>,
    pending: Pending<R::Said>,
    data: DataSpec,
    /// The record of what was seen before these data.
    before: Seen,
    /// The number of rows of these data that were learned from. The next field is the number of
    /// rows to skip, because they were learned from before.
    position: u64,
    to_skip: u64,
    batch: Batch,
}

/// How far a session has come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// The number of examples that were learned from.
    pub examples: u64,
    /// The number of bytes that were read from the source.
    pub bytes: u64,
    /// The sequential risk so far.
    pub sequential_risk: f64,
}

/// The reason why a session stopped.
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
        "the run has learned from {learned} rows of these data, and they have {found}: they have \
         changed. To go on with another file, name it"
    )]
    Shorter {
        /// The number of rows that were learned from.
        learned: u64,
        /// The number of rows that are there.
        found: u64,
    },
}

impl Session {
    /// A run that has seen nothing.
    pub fn new(spec: &Spec) -> Result<Self, SpecError> {
        spec.check()?;
        Ok(Self::begin(Run::new(spec.task())?, spec.data.clone()))
    }

    /// The rows that were learned from last, and the round of each.
    pub fn last(&self) -> (Rows<'_>, &[Round]) {
        (self.batch.rows(), self.run.rounds())
    }

    /// The ledger of the run.
    pub fn ledger(&self) -> &Ledger {
        self.run.ledger()
    }

    /// The windows, if they were asked for.
    pub fn windows(&self) -> Option<&Windows> {
        self.companions.windows.as_ref()
    }

    /// The whole description.
    pub fn spec(&self) -> Spec {
        self.run.task().clone().reading(self.data.clone())
    }
}

impl<R: Learning> Session<R> {
    /// A session of a run that has seen nothing.
    pub(crate) fn begin(run: R, data: DataSpec) -> Self {
        let (companions, before, batch) =
            (Companions::default(), Seen::default(), Batch::default());
        let (course, pending) = (Course::default(), Pending::default());
        Self { run, companions, course, pending, data, before, position: 0, to_skip: 0, batch }
    }

    /// A run that was saved. It goes on in the same data: given them from the start, it skips the
    /// rows that it has learned from.
    pub fn resume(model: Model<R>) -> Self {
        let Model { run, data, stream, companions, course, pending, .. } = model;
        let (Stream { before, position, .. }, batch) = (stream, Batch::default());
        let to_skip = position;
        Self { run, companions, course, pending, data, before, position, to_skip, batch }
    }

    /// A run that was saved, to go on with other data.
    pub fn resume_with(model: Model<R>, data: DataSpec) -> Self {
        let before = model.stream.seen();
        let mut session = Self { before, data, position: 0, to_skip: 0, ..Self::resume(model) };
        session.companions = session.companions.for_other_data();
        session.pending = session.pending.for_other_data();
        session
    }

    /// Learns from the next rows of the source. Returns whether there were any.
    pub fn advance(&mut self, source: &mut dyn Source) -> Result<bool, SessionError> {
        let Some(skipped) = self.fill(source)? else { return Ok(false) };
        let rows = self.batch.rows();
        match source.delays() {
            None => self.run.learn_counted(rows)?,
            Some(delays) => self.pending.learn(&mut self.run, rows, delays, skipped)?,
        }
        self.run.tell(rows, &mut self.companions);
        self.course.judge(&self.run, rows, held_out(source, skipped));
        self.position += self.batch.len() as u64;
        Ok(true)
    }

    /// Begins the next pass over the data, which are given from the start. Returns whether there is
    /// one. A pass that was interrupted goes on where it was.
    pub fn next_pass(&mut self) -> bool
    where
        R: Clone,
    {
        let passes = self.data.passes.unwrap_or(Passes::ONE);
        let goes_on = self.course.is_open() || self.course.turn(&passes, &self.run);
        self.to_skip = self.course.position();
        goes_on
    }

    /// Learns once more from the next rows of the source. The first pass and everything that is
    /// proved about it stay as they are. Returns whether there were any rows.
    pub fn study(&mut self, source: &mut dyn Source) -> Result<bool, SessionError> {
        let Some(skipped) = self.fill(source)? else {
            self.course.end_pass();
            return Ok(false);
        };
        self.course.study(self.batch.rows(), held_out(source, skipped))?;
        Ok(true)
    }

    /// The passes over the data.
    pub fn course(&self) -> &Course<R> {
        &self.course
    }

    /// Reads the next rows that were not learned from. Returns how many rows of the batch were left
    /// out, or `None` if there are no more rows.
    fn fill(&mut self, source: &mut dyn Source) -> Result<Option<usize>, SessionError> {
        while source.fill(&mut self.batch)? {
            let rows = self.batch.len() as u64;
            if self.to_skip < rows {
                let skipped = std::mem::take(&mut self.to_skip) as usize;
                self.batch.remove_first(skipped);
                return Ok(Some(skipped));
            }
            self.to_skip -= rows;
        }
        if self.to_skip > 0 {
            let learned = self.position;
            return Err(SessionError::Shorter { learned, found: learned - self.to_skip });
        }
        Ok(None)
    }

    /// The rows that were learned from last.
    pub fn last_rows(&self) -> Rows<'_> {
        self.batch.rows()
    }

    /// How far it has come.
    pub fn progress(&self, source: &dyn Source) -> Progress {
        let examples = self.run.examples();
        Progress {
            examples,
            bytes: source.bytes_read(),
            sequential_risk: self.run.total_loss() / examples.max(1) as f64,
        }
    }

    fn stream(&self, source: &dyn Source) -> Stream {
        Stream { before: self.before.clone(), now: Seen::of(source), position: self.position }
    }

    /// Tells the run what was seen, where `source` is the source of the data.
    pub fn look(&mut self, source: &dyn Source) {
        self.run.saw(self.stream(source).seen());
    }

    /// The report on the run so far, where `source` is the source of the data.
    pub fn report(&mut self, source: &dyn Source) -> Report {
        self.look(source);
        let mut report = self.run.report();
        report.spec.data = Some(self.data.clone());
        let classifies = report.mistake_rate.is_some();
        report.passes = self.course.report(self.data.passes.as_ref(), classifies);
        report.delayed_labels = source
            .waiting()
            .map(|waiting| DelayReport { late: self.run.late(), waiting: waiting.len() as u64 });
        report
    }

    /// The session as a model in memory.
    pub fn into_model(self, source: &dyn Source) -> Model<R> {
        let stream = self.stream(source);
        let written_by = env!("CARGO_PKG_VERSION").to_owned();
        let pending = self.pending(source);
        let Self { run, data, companions, course, .. } = self;
        Model { run, data, stream, companions, course, pending, written_by }
    }

    /// The run as the bytes of a model's file.
    pub fn to_bytes(&self, source: &dyn Source) -> Result<Vec<u8>, ModelError> {
        let (stream, pending) = (self.stream(source), self.pending(source));
        let Self { run, data, companions, course, .. } = self;
        model::encode(run, data, &stream, companions, course, &pending)
    }

    /// The rows that wait for their labels, where `source` is the source of the data.
    fn pending(&self, source: &dyn Source) -> Pending<R::Said> {
        match source.waiting() {
            Some(now) => self.pending.clone().at(now.clone()),
            None => self.pending.clone(),
        }
    }

    /// Saves the run in a file. The file is there whole or not at all.
    pub fn save(&self, source: &dyn Source, path: &Path) -> Result<(), ModelError> {
        model::write(path, &self.to_bytes(source)?)
    }

    /// The run.
    pub fn run(&self) -> &R {
        &self.run
    }

    /// The run, to be changed.
    pub fn run_mut(&mut self) -> &mut R {
        &mut self.run
    }

    /// The companions of the run.
    pub fn companions(&self) -> &Companions {
        &self.companions
    }

    /// The companions of the run, to be changed.
    pub fn companions_mut(&mut self) -> &mut Companions {
        &mut self.companions
    }

    /// The data that it learns from.
    pub fn data(&self) -> &DataSpec {
        &self.data
    }
}

/// The rows that are held out, counted from the first row of the batch that was not left out.
fn held_out(source: &dyn Source, skipped: usize) -> impl Iterator<Item = (usize, f64)> {
    let held = source.held_out().iter();
    held.filter_map(move |&(row, importance)| Some((row.checked_sub(skipped)?, importance)))
}
