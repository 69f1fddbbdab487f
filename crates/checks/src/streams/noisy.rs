//! A fixed target seen through noise: one label in seven is flipped, and numbers are off by a
//! third.

use super::{Recipe, Targets, flipped, push, row, score};
use crate::rng::Rng;
use rueful_core::Batch;

const FLIPPED: f64 = 1.0 / 7.0;
const NOISE: f64 = 1.0 / 3.0;

/// A batch with bell-shaped features, of norm about 1, and a fixed target of norm about 1.
pub(super) fn batch(recipe: &Recipe, rng: &mut Rng) -> Batch {
    let size = 1.0 / (recipe.dimension as f64).sqrt();
    let target = rng.direction(recipe.dimension);
    let mut batch = Batch::default();
    for _ in 0..recipe.rounds {
        let x = row(rng.direction(recipe.dimension).into_iter().map(|x| size * x));
        let label = noisy_label(recipe.targets, size * score(&target, &x), rng);
        push(&mut batch, &x, label);
    }
    batch
}

/// A noisy batch in which some examples count more than others.
pub(super) fn weighted(recipe: &Recipe, rng: &mut Rng) -> Batch {
    let alike = batch(recipe, rng);
    let mut batch = Batch::default();
    let weighed = batch.map_rows(
        alike.rows(),
        |features| features,
        |example, row| {
            // Importances are powers of two, so that exact arithmetic stays exact.
            row.weigh(2_f64.powi(rng.below(7) as i32 - 3));
            row.copy(&example.features)
        },
    );
    weighed.expect("rows as they were");
    batch
}

/// The label of a score: perturbed if it is a number, otherwise flipped now and then.
pub(super) fn noisy_label(targets: Targets, score: f64, rng: &mut Rng) -> f64 {
    let noise = NOISE * rng.bell();
    let flip = rng.chance(FLIPPED);
    match targets {
        Targets::Numbers => score + noise,
        _ => flipped(targets.label(score), flip),
    }
}
