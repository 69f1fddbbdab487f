//! Features and noise of infinite variance: most rounds are alike, and a few outweigh all others.

use super::{Recipe, Targets, push, row, score};
use crate::rng::Rng;
use rueful_core::Batch;

/// A batch with labels of a fixed target plus heavy noise, and features with heavy tails.
pub(super) fn batch(recipe: &Recipe, rng: &mut Rng) -> Batch {
    let target = rng.direction(recipe.dimension);
    let mut batch = Batch::default();
    for _ in 0..recipe.rounds {
        let x = row((0..recipe.dimension).map(|_| rng.heavy()));
        let noise = rng.heavy() * rng.heavy();
        let noisy = score(&target, &x) + noise;
        let label = match recipe.targets {
            Targets::Slopes => rng.sign() * recipe.targets.label(noisy) * noise.abs(),
            targets => targets.label(noisy),
        };
        push(&mut batch, &x, label);
    }
    batch
}
