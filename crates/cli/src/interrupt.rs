//! Ctrl-C and SIGTERM. The first signal ends the run with its report. The second ends the program
//! at once.

use anyhow::Context;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Records whether the program was told to end, and by which signal.
pub(crate) struct Stop {
    is_told: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

/// Listens for SIGINT and SIGTERM from now on.
pub(crate) fn listen() -> anyhow::Result<Stop> {
    let stop = Stop { is_told: Arc::default(), signal: Arc::default() };
    for signal in [SIGINT, SIGTERM] {
        stop.register(signal).context("cannot listen for interrupts")?;
    }
    Ok(stop)
}

impl Stop {
    fn register(&self, signal: i32) -> std::io::Result<()> {
        // The handlers run in this order. At the first signal `is_told` is still false, so the
        // shutdown does nothing. At the second signal it is true, and the program ends.
        flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&self.is_told))?;
        flag::register_usize(signal, Arc::clone(&self.signal), signal as usize)?;
        flag::register(signal, Arc::clone(&self.is_told))?;
        Ok(())
    }

    /// Whether the program was told to end.
    pub(crate) fn is_told(&self) -> bool {
        self.is_told.load(Ordering::Relaxed)
    }

    /// The flag behind [`is_told`](Self::is_told), for a reader that waits for more data.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_told)
    }

    /// The exit code of a program that a signal ended, by the convention of shells: 130 after
    /// Ctrl-C, 143 after SIGTERM.
    pub(crate) fn exit_code(&self) -> ExitCode {
        let signal = self.signal.load(Ordering::Relaxed);
        ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX))
    }
}
