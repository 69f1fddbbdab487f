//! The program itself.

use pyo3::prelude::*;
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the program `rueful` on its arguments, of which the first is its own name, and returns its
/// exit code.
#[pyfunction]
pub(crate) fn program(py: Python<'_>, args: Vec<OsString>) -> i32 {
    code(py.detach(|| rueful_cli::main(args)))
}

/// The number of an exit code, for which there is no other way than to compare.
fn code(code: ExitCode) -> i32 {
    (0..=u8::MAX).find(|&number| ExitCode::from(number) == code).map_or(1, i32::from)
}
