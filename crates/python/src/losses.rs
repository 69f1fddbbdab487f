//! The losses by what they tell, for the interface in Python, which has no list of its own.

use pyo3::prelude::*;
use rueful_core::Positive;
use rueful_core::loss::{AnyLoss, Labels, Loss};
use rueful_core::request::Request;
use rueful_core::set::Ball;

/// Returns the names of the losses that tell two classes apart, each with whether its scores stand
/// for probabilities.
#[pyfunction]
pub(crate) fn losses_of_two() -> Vec<(&'static str, bool)> {
    let ball = Ball { radius: Positive::ONE };
    let ask = |name| Some((name, AnyLoss::ask(name, &Request::within(ball)).ok()?));
    let known = AnyLoss::NAMES.into_iter().filter_map(ask);
    let of_two = known.filter(|(_, loss)| loss.labels() == Labels::Signs);
    of_two.map(|(name, loss)| (name, loss.probability(0.0).is_some())).collect()
}
