//! A target that does not stay: it wanders a little in every round and turns around in the middle.

use super::{Recipe, push, row, score};
use crate::rng::Rng;
use rueful_core::Batch;

/// How far the target wanders in a round.
const PACE: f64 = 0.01;

/// A batch with labels of a moving target, without noise.
pub(super) fn batch(recipe: &Recipe, rng: &mut Rng) -> Batch {
    let size = 1.0 / (recipe.dimension as f64).sqrt();
    let mut target = rng.direction(recipe.dimension);
    let mut batch = Batch::default();
    for round in 0..recipe.rounds {
        let turned = round == recipe.rounds / 2;
        for v in &mut target {
            *v = if turned { -*v } else { *v + PACE * rng.bell() };
        }
        let x = row(rng.direction(recipe.dimension).into_iter().map(|x| size * x));
        push(&mut batch, &x, recipe.targets.label(score(&target, &x)));
    }
    batch
}
