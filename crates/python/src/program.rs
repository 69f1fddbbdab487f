//! The program `rueful`, as a function for Python.

use pyo3::prelude::*;
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the program `rueful` and returns its exit code. The first argument is the name of the
/// program.
#[pyfunction]
pub(crate) fn program(py: Python<'_>, args: Vec<OsString>) -> i32 {
    code(py.detach(|| rueful_cli::main(args)))
}

/// Returns the number of an exit code. Rust can only compare exit codes, so all numbers are tried.
fn code(code: ExitCode) -> i32 {
    (0..=u8::MAX).find(|&number| ExitCode::from(number) == code).map_or(1, i32::from)
}
