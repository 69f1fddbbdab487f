//! Parts of a model that learn side by side, for engines that run on many machines.

use crate::error::{Outcome, PythonError};
use crate::model::Model;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;

/// Copies of the runs of some models.
fn copies(parts: &[PyRef<'_, Model>]) -> Outcome<Vec<rueful_run::Model>> {
    parts.iter().map(|part| Ok(part.read()?.model.clone())).collect()
}

/// Returns a part of a model, which learns from rows of its own. If it is the only one, it is a
/// copy of the model.
#[pyfunction]
#[pyo3(signature = (model, *, is_only))]
pub(crate) fn part(model: &Model, is_only: bool) -> PyResult<Model> {
    let part = model.read()?.model.part(is_only).map_err(PythonError::from)?;
    Ok(Model::of(part, Vec::new()))
}

/// Restores a part from its bytes.
#[pyfunction]
pub(crate) fn part_from_bytes(bytes: &Bound<'_, PyBytes>) -> PyResult<Model> {
    let part = rueful_run::Model::decode_part(bytes.as_bytes(), "the part");
    Ok(Model::of(part.map_err(PythonError::from)?, Vec::new()))
}

/// Lets a model take in parts of it.
#[pyfunction]
pub(crate) fn take_parts(model: &Model, parts: Vec<PyRef<'_, Model>>) -> PyResult<()> {
    let parts = copies(&parts)?;
    Ok(model.write()?.model.take_parts(parts).map_err(PythonError::from)?)
}

/// Joins parts of a model to one part of it.
#[pyfunction]
pub(crate) fn join_parts(model: &Model, parts: Vec<PyRef<'_, Model>>) -> PyResult<Model> {
    let joined = model.read()?.model.joined(copies(&parts)?).map_err(PythonError::from)?;
    Ok(Model::of(joined, Vec::new()))
}

/// Returns the verdict on the rounds between two states of a model, as JSON. The learner's own
/// predictions alone prove its certificate. Without a certificate, nothing can be said.
#[pyfunction]
pub(crate) fn window(before: &Model, after: &Model) -> PyResult<String> {
    let (before, after) = (before.read()?, after.read()?);
    let (earlier, later) = (before.model.run.ledger(), after.model.run.ledger());
    let verdict = later
        .verdict_since(earlier)
        .ok_or_else(|| PythonError::value("before: expected an earlier state of the same model"))?;
    let window = json!({
        "from": earlier.rounds() + 1,
        "to": later.rounds(),
        "examples": verdict.rounds,
        "sequential_risk": verdict.sequential_risk,
        "mistake_rate": verdict.mistake_rate,
        "certificate": Some(verdict.certificate).filter(|value| value.is_finite()),
        "beats_every_linear_predictor": verdict.beats_every_comparator(),
    });
    Ok(window.to_string())
}
