//! Prints results, notes and errors.

use rueful_data::{DataError, NamesSettings};
use rueful_run::{AuditRunError, Contradiction, GroupError, SessionError, SettingsError};
use rueful_spec_file::SpecFileError;
use serde::Serialize;
use std::error::Error;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// Prints a finished text. It is no error if the reader has closed the pipe.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    match anstream::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// Prints a value as one JSON object.
pub(crate) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    print(&(serde_json::to_string_pretty(value)? + "\n"))
}

/// Whether `--quiet` was given, which asks for the result and nothing else.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Sets whether the program is quiet. A quiet program prints only results, errors and alarms.
pub(crate) fn be_quiet(is_quiet: bool) {
    IS_QUIET.store(is_quiet, Ordering::Relaxed);
}

/// Whether the program is quiet.
pub(crate) fn is_quiet() -> bool {
    IS_QUIET.load(Ordering::Relaxed)
}

/// Prints a note to the standard error, unless the program is quiet.
pub(crate) fn note(text: &str) {
    if !is_quiet() {
        note_anyway(text);
    }
}

/// Prints a note that belongs to an error, even if the program is quiet.
pub(crate) fn note_anyway(text: &str) {
    // A lost note must not stop a run.
    let _ = writeln!(io::stderr(), "note: {text}");
}

/// The exit code of a command whose proofs contradict each other.
const DISAGREEMENT: u8 = 3;

/// Prints the contradictions between proofs, and returns the exit code: 3 if there are any, and
/// `otherwise` if there are none.
pub(crate) fn disagree(contradictions: &[Contradiction], otherwise: ExitCode) -> ExitCode {
    for contradiction in contradictions {
        let _ = writeln!(io::stderr(), "error: {contradiction}. Please report this");
    }
    if contradictions.is_empty() { otherwise } else { DISAGREEMENT.into() }
}

/// Prints why there is no result, and returns the exit code for that.
pub(crate) fn fail(error: &anyhow::Error) -> ExitCode {
    let causes: Vec<String> = error.chain().map(told).collect();
    let _ = writeln!(io::stderr(), "error: {}", causes.join(": "));
    ExitCode::FAILURE
}

/// The flag that the program has for a setting.
pub(crate) fn flag(name: &str) -> String {
    format!("--{name}")
}

/// The message of an error from the crates below. Settings in it are named by their flags.
fn told(error: &(dyn Error + 'static)) -> String {
    if let Some(error) = error.downcast_ref::<SettingsError>() {
        return error.text(&flag);
    }
    let data = match (error.downcast_ref::<SessionError>(), error.downcast_ref::<AuditRunError>()) {
        (Some(SessionError::Data(error)), _)
        | (_, Some(AuditRunError::Data(error) | AuditRunError::Group(GroupError::Data(error)))) => {
            Some(error)
        }
        _ => error.downcast_ref::<DataError>(),
    };
    if let Some(error) = data {
        return error.text(&flag);
    }
    let hint = match error.downcast_ref::<SpecFileError>() {
        Some(SpecFileError::Field { .. }) => "; rueful run FILE --print-spec prints a complete one",
        _ => "",
    };
    format!("{error}{hint}")
}
