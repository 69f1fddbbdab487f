//! What is done now and then during long work: Ctrl-C is heeded, and progress is told.

use crate::error::Outcome;
use pyo3::prelude::*;
use std::time::{Duration, Instant};

/// How often that is.
const PAUSE: Duration = Duration::from_millis(100);

/// Somebody who waits for work to be done.
pub(crate) struct Watch {
    /// Is told examples, bytes and the average loss so far.
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
        Ok(Python::attach(|py| {
            py.check_signals()?;
            match &self.listener {
                Some(listener) => listener.call1(py, progress()).map(|_| ()),
                None => Ok(()),
            }
        })?)
    }
}
