//! Parts of a model that learn side by side, for engines that run on many machines.

use crate::error::{Outcome, PythonError};
use crate::held::Held;
use crate::kind::Kind;
use crate::labels;
use crate::model::{AnyHeld, Model, read, write};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rueful_run::AnyModel;
use serde_json::json;
use std::sync::RwLock;

/// Copies of the runs of some models, all of which are of one kind.
fn copies<'a, R: Kind>(
    parts: &'a [PyRef<'_, Model>],
    held: impl Fn(&'a Model) -> Outcome<&'a RwLock<Held<R>>>,
) -> Outcome<Vec<rueful_run::Model<R>>> {
    parts.iter().map(|part| Ok(read(held(part)?)?.model.clone())).collect()
}

/// Tells a model the names of classes that will come, so that all parts of it number them alike.
#[pyfunction]
pub(crate) fn announce(model: &Model, classes: Vec<String>) -> PyResult<()> {
    let mut held = write(model.of_many_scores()?)?;
    labels::announce(&mut held.model.stream.now.labels, &classes);
    Ok(())
}

/// Returns a part of a model, which learns from rows of its own. If it is the only one, it is a
/// copy of the model.
#[pyfunction]
#[pyo3(signature = (model, *, is_only))]
pub(crate) fn part(model: &Model, is_only: bool) -> PyResult<Model> {
    let wrong = PythonError::from;
    Ok(match model.held() {
        AnyHeld::Score(held) => {
            Model::of(read(held)?.model.part(is_only).map_err(wrong)?, Vec::new())
        }
        AnyHeld::Classes(held) => {
            Model::of_classes(read(held)?.model.part(is_only).map_err(wrong)?, Vec::new())
        }
    })
}

/// Restores a part from its bytes.
#[pyfunction]
pub(crate) fn part_from_bytes(bytes: &Bound<'_, PyBytes>) -> PyResult<Model> {
    let part = AnyModel::decode_part(bytes.as_bytes(), "the part");
    Ok(Model::of_any(part.map_err(PythonError::from)?, Vec::new()))
}

/// Lets a model take in parts of it.
#[pyfunction]
pub(crate) fn take_parts(model: &Model, parts: Vec<PyRef<'_, Model>>) -> PyResult<()> {
    let taken = match model.held() {
        AnyHeld::Score(held) => {
            let parts = copies(&parts, Model::of_one_score)?;
            write(held)?.model.take_parts(parts)
        }
        AnyHeld::Classes(held) => {
            let parts = copies(&parts, Model::of_many_scores)?;
            write(held)?.model.take_parts(parts)
        }
    };
    Ok(taken.map_err(PythonError::from)?)
}

/// Joins parts of a model to one part of it.
#[pyfunction]
pub(crate) fn join_parts(model: &Model, parts: Vec<PyRef<'_, Model>>) -> PyResult<Model> {
    let wrong = PythonError::from;
    Ok(match model.held() {
        AnyHeld::Score(held) => {
            let parts = copies(&parts, Model::of_one_score)?;
            Model::of(read(held)?.model.joined(parts).map_err(wrong)?, Vec::new())
        }
        AnyHeld::Classes(held) => {
            let parts = copies(&parts, Model::of_many_scores)?;
            Model::of_classes(read(held)?.model.joined(parts).map_err(wrong)?, Vec::new())
        }
    })
}

/// Returns the verdict on the rounds between two states of a model, as JSON. The learner's own
/// predictions alone prove its certificate. Without a certificate, nothing can be said.
#[pyfunction]
pub(crate) fn window(before: &Model, after: &Model) -> PyResult<String> {
    let (to, verdict) = match after.held() {
        AnyHeld::Score(held) => {
            let (before, after) = (before.read()?, read(held)?);
            let later = after.model.run.ledger();
            (later.rounds(), later.verdict_since(before.model.run.ledger()))
        }
        AnyHeld::Classes(held) => {
            let (before, after) = (read(before.of_many_scores()?)?, read(held)?);
            let later = after.model.run.ledger();
            (later.rounds(), later.verdict_since(before.model.run.ledger()))
        }
    };
    let verdict = verdict
        .ok_or_else(|| PythonError::value("before: expected an earlier state of the same model"))?;
    let window = json!({
        "from": to - verdict.rounds + 1,
        "to": to,
        "examples": verdict.rounds,
        "sequential_risk": verdict.sequential_risk,
        "mistake_rate": verdict.mistake_rate,
        "certificate": Some(verdict.certificate).filter(|value| value.is_finite()),
        "beats_every_linear_predictor": verdict.beats_every_comparator(),
    });
    Ok(window.to_string())
}
