//! Rows like text: many features, few at a time, with frequencies that fall like 1/rank.

use super::noisy::noisy_label;
use super::{Recipe, sign};
use crate::rng::Rng;
use rueful_core::{Batch, Importance};
use std::collections::BTreeMap;

/// The number of features that are drawn for a row. Repetitions add up.
const DRAWS: usize = 6;

/// Rows of at most six features. A feature's weight in the target depends on its index alone, and
/// the labels are noisy.
pub(super) fn batch(recipe: &Recipe, rng: &mut Rng) -> Batch {
    let target = rng.direction(recipe.dimension);
    let mut batch = Batch::default();
    for _ in 0..recipe.rounds {
        let mut x: BTreeMap<u32, f32> = BTreeMap::new();
        for _ in 0..DRAWS {
            *x.entry(ranked(recipe.dimension, rng) as u32).or_default() += 0.5;
        }
        let score = x.iter().map(|(&i, &x)| sign(target[i as usize]) * f64::from(x)).sum();
        let mut row = batch.open_row(x.len());
        for (&index, &value) in &x {
            row.push(index, value).expect("a map is in order");
        }
        row.finish(noisy_label(recipe.targets, score, rng), Importance::ONE);
    }
    batch
}

/// An index below `dimension`, with a probability about inversely proportional to its rank: first a
/// power of two is drawn, then one of the ranks up to the next.
fn ranked(dimension: usize, rng: &mut Rng) -> usize {
    loop {
        let octave = 1 << rng.below(dimension.ilog2() as usize + 1);
        let rank = octave + rng.below(octave);
        if rank <= dimension {
            return rank - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_feature_is_the_most_frequent() {
        let rng = &mut Rng::new(1);
        let mut counts = vec![0; 1000];
        (0..100_000).for_each(|_| counts[ranked(1000, rng)] += 1);
        assert!(counts[0] > 5 * counts[9] && counts[9] > 5 * counts[99]);
        assert!(counts[999] > 0 || counts[998] > 0 || counts[997] > 0);
    }
}
