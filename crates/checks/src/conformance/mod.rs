//! Conformance suites: the contracts of the core's traits, in words and in code. Each is written
//! once and panics with what it found. An implementation joins it with one line in a test.

mod arena;
mod learner;
mod loss;
mod rows;
mod schedule;
mod set;

pub use arena::{Arena, Expect, Run};
pub use learner::{check_learner, check_mixing_learner};
pub use loss::check_loss;
pub use rows::check_rows;
pub use schedule::check_schedule;
pub use set::{check_bounded, check_covers, check_set};

/// Asserts that two numbers agree up to an error. The message says what disagreed.
fn assert_close(what: &str, found: f64, expected: f64, error: f64) {
    assert!(
        (found - expected).abs() <= error || found == expected,
        "{what}: found {found:e}, expected {expected:e} within {error:e}"
    );
}
