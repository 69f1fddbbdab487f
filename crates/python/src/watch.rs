//! Watches long work: it reacts to Ctrl-C and reports progress.

use crate::error::Outcome;
use pyo3::prelude::*;
use rueful_hindsight::Progress;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// The least time between two checks.
const PAUSE: Duration = Duration::from_millis(100);

/// An observer of long work.
pub(crate) struct Watch {
    /// A callable that is given the examples, the bytes and the average loss so far.
    listener: Option<Py<PyAny>>,
    last: Instant,
}

impl Watch {
    /// Begins to watch.
    pub(crate) fn new(listener: Option<Py<PyAny>>) -> Self {
        Self { listener, last: Instant::now() }
    }

    /// Notes that some work was done. `progress` says how much; it is called at most ten times a
    /// second.
    pub(crate) fn look(&mut self, progress: impl FnOnce() -> (u64, u64, f64)) -> Outcome<()> {
        if self.last.elapsed() < PAUSE {
            return Ok(());
        }
        self.last = Instant::now();
        #[expect(clippy::redundant_closure_for_method_calls, reason = "it must take any lifetime")]
        Python::attach(|py| py.check_signals())?;
        self.tell(progress)
    }

    /// Lets a solver work that says how far it has come. Ctrl-C ends it after its pass.
    pub(crate) fn over<T>(
        &mut self,
        solve: impl FnOnce(&mut dyn FnMut(Progress) -> ControlFlow<()>) -> Outcome<T>,
    ) -> Outcome<T> {
        let mut looked = Ok(());
        let found = solve(&mut |_| {
            if looked.is_ok() {
                looked = self.look(|| (0, 0, 0.0));
            }
            if looked.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        looked.and(found)
    }

    /// Notes that all work is done. The listener is told in any case.
    pub(crate) fn end(&self, progress: impl FnOnce() -> (u64, u64, f64)) -> Outcome<()> {
        self.tell(progress)
    }

    fn tell(&self, progress: impl FnOnce() -> (u64, u64, f64)) -> Outcome<()> {
        let Some(listener) = &self.listener else { return Ok(()) };
        let so_far = progress();
        Ok(Python::attach(|py| listener.call1(py, so_far).map(|_| ()))?)
    }
}
