//! The Rust part of the Python package `rueful`. It takes tables from Python's memory and returns
//! weights, predictions and reports.
//!
//! The interface for users is pure Python, in `python/rueful`. This crate only translates, and has
//! no rules of its own: `run` learns, and `cli` makes pages.

mod arrow;
mod audit;
mod dicts;
mod error;
mod files;
mod held;
mod hindsight;
mod kind;
mod labels;
mod losses;
mod memory;
mod model;
mod named;
mod parts;
mod passes;
mod program;
mod report;
mod settings;
mod side;
mod singles;
mod sparse;
mod table;
mod threads;
mod watch;

use pyo3::prelude::*;

/// The parts of rueful that are written in Rust. Use the package `rueful`, which is built on them.
#[pymodule]
mod _rueful {
    #[pymodule_export]
    use crate::audit::Audit;
    #[pymodule_export]
    use crate::files::read_files;
    #[pymodule_export]
    use crate::hindsight::best_in_hindsight;
    #[pymodule_export]
    use crate::losses::losses_of_two;
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::parts::{announce, join_parts, part, part_from_bytes, take_parts, window};
    #[pymodule_export]
    use crate::passes::{Pass, Question, Sizes};
    #[pymodule_export]
    use crate::program::program;
    #[pymodule_export]
    use crate::report::{AuditSnapshot, Snapshot};
}
