//! Tables: the tests say what is inferred, what is read, and what is refused in which words. The
//! reader must agree with others.
#![allow(clippy::unwrap_used)] // In a test a panic is the report.

#[path = "../common/mod.rs"]
mod common;
mod inference;
mod properties;
mod real;
mod rules;
