//! Streams with too little in them: no features, nothing new, or nothing to tell apart.

use super::noisy::{self, noisy_label};
use super::{Recipe, flipped, push, row, score};
use crate::rng::Rng;
use rueful_core::Batch;

/// Rows of which every other, the first included, is empty. Empty rows have labels all the same.
pub(super) fn zero_rows(recipe: &Recipe, rng: &mut Rng) -> Batch {
    let target = rng.direction(recipe.dimension);
    let mut batch = Batch::default();
    for round in 0..recipe.rounds {
        let x = if round % 2 == 0 { Vec::new() } else { row(rng.direction(recipe.dimension)) };
        let label = noisy_label(recipe.targets, score(&target, &x), rng);
        push(&mut batch, &x, label);
    }
    batch
}

/// One row throughout. Its label is flipped in every fifth round or so.
pub(super) fn duplicates(recipe: &Recipe, rng: &mut Rng) -> Batch {
    let x = row(rng.direction(recipe.dimension));
    let mut batch = Batch::default();
    for _ in 0..recipe.rounds {
        let label = flipped(1.0, rng.chance(0.2));
        push(&mut batch, &x, label);
    }
    batch
}

/// The rows of a noisy stream, with the label +1 for all of them.
pub(super) fn constant_labels(recipe: &Recipe, rng: &mut Rng) -> Batch {
    let mut batch = Batch::default();
    for example in noisy::batch(recipe, rng).iter() {
        let x = example.features;
        batch.push(x.indices(), x.values(), 1.0).expect("the row was one already");
    }
    batch
}
