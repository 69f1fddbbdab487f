//! Helpers that several of the tests share.
#![allow(dead_code, reason = "each test uses its own part")]

use proptest::test_runner::{Config, RngSeed};
use rueful_core::loss::Quantile;
use rueful_core::set::{AnySet, Ball, BoxSet, Interval};
use rueful_core::{OpenUnit, Positive};

/// A positive number.
pub(crate) fn positive(value: f64) -> Positive {
    Positive::new(value).unwrap()
}

/// The ball of a radius.
pub(crate) fn ball(radius: f64) -> AnySet {
    Ball { radius: positive(radius) }.into()
}

/// A box whose sides all differ. One of them is a point.
pub(crate) fn sided_box() -> BoxSet {
    let side = |lower, upper| Interval::new(lower, upper).unwrap();
    BoxSet::new(vec![side(0.0, 2.0), side(-0.5, 0.0), side(0.0, 0.0)], side(-3.0, 1.0))
}

/// The quantile loss of τ.
pub(crate) fn quantile(tau: f64) -> Quantile {
    Quantile { tau: OpenUnit::new(tau).unwrap() }
}

/// Random cases that are the same in every run.
pub(crate) fn cases(cases: u32) -> Config {
    Config { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(7), ..Config::default() }
}
