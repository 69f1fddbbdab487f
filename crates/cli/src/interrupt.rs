//! Ctrl-C, and being told to end by the system: the first ends the run, with its report; the second
//! ends the program.

use anyhow::Context;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Whether the program was told to end, and how.
pub(crate) struct Stop {
    is_told: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

/// Listens from now on.
pub(crate) fn listen() -> anyhow::Result<Stop> {
    let stop = Stop { is_told: Arc::default(), signal: Arc::default() };
    for signal in [SIGINT, SIGTERM] {
        stop.register(signal).context("cannot listen for interrupts")?;
    }
    Ok(stop)
}

impl Stop {
    fn register(&self, signal: i32) -> std::io::Result<()> {
        // In this order: the first signal finds nothing told, the second ends the program.
        flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&self.is_told))?;
        flag::register_usize(signal, Arc::clone(&self.signal), signal as usize)?;
        flag::register(signal, Arc::clone(&self.is_told))?;
        Ok(())
    }

    /// Whether it was told to end.
    pub(crate) fn is_told(&self) -> bool {
        self.is_told.load(Ordering::Relaxed)
    }

    /// The same for whoever waits for more data.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_told)
    }

    /// How a program ends that was told to, as shells have it: 130 after Ctrl-C, 143 after SIGTERM.
    pub(crate) fn exit_code(&self) -> ExitCode {
        let signal = self.signal.load(Ordering::Relaxed);
        ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX))
    }
}
