//! The Python package `rueful`, as far as it is Rust: tables from Python's memory in, weights,
//! predictions and reports out.
//!
//! The front that people use is pure Python, in `python/rueful`. This crate translates, and has no
//! rules of its own: learning is done by `run`, and pages are made by `cli`.

mod arrow;
mod audit;
mod error;
mod files;
mod hindsight;
mod labels;
mod model;
mod named;
mod program;
mod report;
mod settings;
mod side;
mod table;
mod watch;

use pyo3::prelude::*;

/// The parts of rueful that are Rust. Use `rueful`, which is built on them.
#[pymodule]
mod _rueful {
    #[pymodule_export]
    use crate::audit::Audit;
    #[pymodule_export]
    use crate::files::read_files;
    #[pymodule_export]
    use crate::hindsight::best_in_hindsight;
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::program::program;
    #[pymodule_export]
    use crate::report::Snapshot;
}
