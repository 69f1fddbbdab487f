//! Long work: Ctrl-C is heeded now and then, and progress is told.

use crate::error::Outcome;
use pyo3::prelude::*;
use std::time::{Duration, Instant};

/// The time between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// An observer of long work.
pub(crate) struct Watch {
    /// A callable that is given the examples, the bytes and the average loss so far.
    listener: Option<Py<PyAny>>,
    last: Instant,
}

impl Watch {
    /// Work begins now.
    pub(crate) fn new(listener: Option<Py<PyAny>>) -> Self {
        Self { listener, last: Instant::now() }
    }

    /// Some work was done. `progress` says how much; it is asked ten times a second at most.
    pub(crate) fn look(&mut self, progress: impl FnOnce() -> (u64, u64, f64)) -> Outcome<()> {
        if self.last.elapsed() < PAUSE {
            return Ok(());
        }
        self.last = Instant::now();
        #[expect(clippy::redundant_closure_for_method_calls, reason = "it must take any lifetime")]
        Python::attach(|py| py.check_signals())?;
        self.tell(progress)
    }

    /// All work was done, which is told in any case.
    pub(crate) fn end(&self, progress: impl FnOnce() -> (u64, u64, f64)) -> Outcome<()> {
        self.tell(progress)
    }

    fn tell(&self, progress: impl FnOnce() -> (u64, u64, f64)) -> Outcome<()> {
        let Some(listener) = &self.listener else { return Ok(()) };
        let so_far = progress();
        Ok(Python::attach(|py| listener.call1(py, so_far).map(|_| ()))?)
    }
}
