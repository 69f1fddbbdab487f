//! The program from outside: arguments and files in; text, JSON and exit codes out.
//!
//! What people read is pinned in `tests/snapshots`, one file per command, written as it would look
//! in a terminal. After a change that is meant, `SNAPSHOTS=overwrite cargo test -p rueful-cli`
//! writes them anew; the difference is then read like any other change.

mod alarm;
mod audit;
mod bad_flags;
mod bad_input;
mod bad_spec;
mod figures;
mod groups;
mod harness;
mod json;
mod keeping;
mod labels;
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
