//! Ctrl-C: the first ends the run, with its report; the second ends the program.

use anyhow::Context;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How the program ends that was interrupted, as shells have it.
pub(crate) const EXIT_CODE: u8 = 130;

/// Whether there was an interrupt, from now on.
pub(crate) fn listen() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    let tell = move || {
        if told.swap(true, Ordering::Relaxed) {
            process::exit(EXIT_CODE.into());
        }
    };
    ctrlc::set_handler(tell).context("cannot listen for interrupts")?;
    Ok(stop)
}
