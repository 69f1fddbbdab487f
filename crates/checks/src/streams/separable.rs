//! A stream that a known predictor separates with a margin of 1, in integers so small that every
//! sum a learner forms of them is exact.

use super::{Recipe, Targets, push, row, score};
use crate::rng::Rng;
use rueful_core::Batch;

/// A stream, and the predictor that separates it: y_t u·x_t ≥ 1 for every example with labels ±1,
/// exactly. Numbers are u·x_t itself, without noise. Slopes are those of [`Targets::Slopes`].
///
/// ```
/// use rueful_checks::streams::{Recipe, Separable, Targets};
/// let recipe = Recipe { targets: Targets::Signs, rounds: 50, dimension: 4, seed: 9 };
/// let Separable { batch, separator } = Separable::new(&recipe);
/// for example in batch.iter() {
///     let score: f64 = example.features.iter().map(|(i, x)| separator[i] * x).sum();
///     assert!(example.label * score >= 1.0);
/// }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Separable {
    /// The examples, whose values are integers between −4 and 4.
    pub batch: Batch,
    /// The predictor u, whose weights are integers between −3 and 3.
    pub separator: Vec<f64>,
}

impl Separable {
    /// The stream of a recipe.
    pub fn new(recipe: &Recipe) -> Self {
        let rng = &mut Rng::new(recipe.seed ^ 0x5e9a_7a61_e000);
        let separator: Vec<f64> =
            (0..recipe.dimension).map(|_| rng.sign() * f64::from(rng.integer(1, 3))).collect();
        let mut batch = Batch::default();
        for _ in 0..recipe.rounds {
            let (x, score) = scored_row(&separator, rng);
            push(&mut batch, &x, recipe.targets.label(score));
        }
        Self { batch, separator }
    }

    /// A stream whose labels are signs.
    pub fn signs(rounds: usize, dimension: usize, seed: u64) -> Self {
        Self::new(&Recipe { targets: Targets::Signs, rounds, dimension, seed })
    }
}

/// A row that does not lie on the separating plane, with its score.
fn scored_row(separator: &[f64], rng: &mut Rng) -> (Vec<f32>, f64) {
    loop {
        let x = row(separator.iter().map(|_| f64::from(rng.integer(-4, 4))));
        let score = score(separator, &x);
        if score != 0.0 {
            return (x, score);
        }
    }
}
