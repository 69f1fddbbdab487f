//! Tests of the program from outside. They give it arguments and files, and check text, JSON and
//! exit codes.
//!
//! The text for people is pinned in `tests/snapshots`, one file per command, as it would look in a
//! terminal. After an intended change, `SNAPSHOTS=overwrite cargo test -p rueful-cli` writes these
//! files anew. Review the difference like any other change.

mod alarm;
mod audit;
mod bad_flags;
mod bad_input;
mod bad_spec;
mod classes;
mod delayed;
mod figures;
mod file_names;
mod groups;
mod harness;
mod json;
mod keeping;
mod labels;
mod library;
mod made;
mod passes;
mod pipe;
mod play;
mod race;
mod reading;
mod shell;
mod snapshots;
mod spec;
mod tables;
mod textbook;
mod weights;
