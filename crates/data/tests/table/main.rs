//! Tables: what is inferred, what is read, what is refused and in which words, and that the reader
//! agrees with others.
#![allow(clippy::unwrap_used)] // In a test a panic is the report.

#[path = "../common/mod.rs"]
mod common;
mod inference;
mod properties;
mod real;
mod rules;
