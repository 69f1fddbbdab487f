//! The contracts of every loss, set, schedule and learner of rueful, and the means to test them:
//! streams, opponents, slow and obvious twins, and conformance suites.
//!
//! - [`streams`]: examples made from a seed, from well-behaved to hostile.
//! - [`adversary`]: opponents in the linear game that choose each loss after they have seen the
//!   weights, and [`adversary::play`], which lets one of them meet a learner.
//! - [`reference`](mod@reference): every learner and the ledger once more, without any trick.
//! - [`conformance`]: the contracts of the core's traits, in words and in code.
//! - [`exact`]: losses in twice the precision, to measure a regret without rounding.

pub mod adversary;
pub mod conformance;
pub mod exact;
pub mod reference;
mod rng;
pub mod streams;

pub use rng::Rng;
