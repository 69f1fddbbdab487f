//! Streams of examples made from a seed. Each kind tests something else.
//!
//! ```
//! use rueful_checks::streams::{Recipe, StreamKind, Targets};
//! let recipe = Recipe { targets: Targets::Signs, rounds: 100, dimension: 5, seed: 1 };
//! for kind in StreamKind::ALL {
//!     let batch = kind.batch(&recipe);
//!     assert_eq!(batch.len(), 100);
//!     assert!(batch.dimension() <= 5);
//! }
//! ```

mod counterexample;
mod degenerate;
mod drifting;
mod heavy_tailed;
mod noisy;
mod scaled;
mod separable;
mod sparse;

pub use separable::Separable;

use crate::rng::Rng;
use rueful_core::{Batch, Importance};
use std::fmt;

/// The kind of labels in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Targets {
    /// Labels −1 and +1, for classification.
    Signs,
    /// Real numbers, for regression.
    Numbers,
    /// Slopes of linear losses.
    Slopes,
}

/// The parameters of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recipe {
    /// The kind of labels.
    pub targets: Targets,
    /// The number of examples.
    pub rounds: usize,
    /// The largest number of features, at least 1.
    pub dimension: usize,
    /// The seed. Equal seeds give equal streams.
    pub seed: u64,
}

/// The kinds of streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StreamKind {
    /// The notes' counterexample to ERM, (2): one feature, and losses w/2, −w, +w, −w, …
    Counterexample,
    /// Small integers, and a target that separates them with a margin of at least 1.
    Separable,
    /// A target seen through noise: flipped signs, and perturbed numbers.
    Noisy,
    /// A target that wanders, and turns around in the middle.
    Drifting,
    /// Features and noise without a variance.
    HeavyTailed,
    /// Few features at a time. The first ones occur often, and the last ones hardly ever.
    Sparse,
    /// Features and labels whose sizes jump between 1e-6 and 1e6.
    Scaled,
    /// Features and labels whose sizes jump between 1e-30 and 1e30.
    Extreme,
    /// Every other example has no features at all.
    ZeroRows,
    /// One example over and over, whose label flips now and then.
    Duplicates,
    /// Noisy examples that all have the same label.
    ConstantLabels,
    /// Noisy examples of which some count up to 64 times as much as others.
    Weighted,
}

impl Targets {
    /// A label for an example with this score of the target. A slope is between −1 and 1 and
    /// rewards predictions that agree with the score.
    fn label(self, score: f64) -> f64 {
        match self {
            Self::Signs => sign(score),
            Self::Numbers => score,
            Self::Slopes => -score / (1.0 + score.abs()),
        }
    }
}

impl StreamKind {
    /// All kinds of streams.
    pub const ALL: [Self; 12] = [
        Self::Counterexample,
        Self::Separable,
        Self::Noisy,
        Self::Drifting,
        Self::HeavyTailed,
        Self::Sparse,
        Self::Scaled,
        Self::Extreme,
        Self::ZeroRows,
        Self::Duplicates,
        Self::ConstantLabels,
        Self::Weighted,
    ];

    /// The name in kebab case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counterexample => "counterexample",
            Self::Separable => "separable",
            Self::Noisy => "noisy",
            Self::Drifting => "drifting",
            Self::HeavyTailed => "heavy-tailed",
            Self::Sparse => "sparse",
            Self::Scaled => "scaled",
            Self::Extreme => "extreme",
            Self::ZeroRows => "zero-rows",
            Self::Duplicates => "duplicates",
            Self::ConstantLabels => "constant-labels",
            Self::Weighted => "weighted",
        }
    }

    /// The stream of a recipe.
    ///
    /// # Panics
    /// It panics if the recipe's dimension is 0.
    pub fn batch(self, recipe: &Recipe) -> Batch {
        assert!(recipe.dimension > 0, "a stream needs at least one feature");
        let rng = &mut Rng::new(recipe.seed ^ (0x5eed << 32) ^ self as u64);
        match self {
            Self::Counterexample => counterexample::batch(recipe),
            Self::Separable => Separable::new(recipe).batch,
            Self::Noisy => noisy::batch(recipe, rng),
            Self::Drifting => drifting::batch(recipe, rng),
            Self::HeavyTailed => heavy_tailed::batch(recipe, rng),
            Self::Sparse => sparse::batch(recipe, rng),
            Self::Scaled => scaled::batch(recipe, 6, rng),
            Self::Extreme => scaled::batch(recipe, 30, rng),
            Self::ZeroRows => degenerate::zero_rows(recipe, rng),
            Self::Duplicates => degenerate::duplicates(recipe, rng),
            Self::ConstantLabels => degenerate::constant_labels(recipe, rng),
            Self::Weighted => noisy::weighted(recipe, rng),
        }
    }
}

impl fmt::Display for StreamKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// +1 or −1, and +1 at 0.
fn sign(number: f64) -> f64 {
    if number < 0.0 { -1.0 } else { 1.0 }
}

/// The label, or its opposite.
fn flipped(label: f64, flip: bool) -> f64 {
    if flip { -label } else { label }
}

/// A row in single precision, as examples are stored.
fn row(entries: impl IntoIterator<Item = f64>) -> Vec<f32> {
    entries.into_iter().map(|entry| entry as f32).collect()
}

/// Σ target_i x_i over the stored values.
fn score(target: &[f64], x: &[f32]) -> f64 {
    target.iter().zip(x).map(|(v, &x)| v * f64::from(x)).sum()
}

/// Appends a row that has a value for every feature.
fn push(batch: &mut Batch, x: &[f32], label: f64) {
    let mut row = batch.open_row(x.len());
    for (index, &value) in (0..).zip(x) {
        row.push(index, value).expect("indices increase and values are finite");
    }
    row.finish(label, Importance::ONE);
}

#[cfg(test)]
mod tests {
    use super::*;
    use rueful_core::loss::Labels;

    const TARGETS: [Targets; 3] = [Targets::Signs, Targets::Numbers, Targets::Slopes];

    fn recipe(targets: Targets) -> Recipe {
        Recipe { targets, rounds: 200, dimension: 7, seed: 5 }
    }

    #[test]
    fn every_kind_keeps_to_its_recipe() {
        for (kind, targets) in StreamKind::ALL.into_iter().flat_map(|k| TARGETS.map(|t| (k, t))) {
            let batch = kind.batch(&recipe(targets));
            assert_eq!(batch.len(), 200, "{kind}");
            assert!(batch.dimension() <= 7, "{kind}");
            let labels = if targets == Targets::Signs { Labels::Signs } else { Labels::Numbers };
            assert!(batch.iter().all(|example| labels.accept(example.label)), "{kind}");
        }
    }

    #[test]
    fn a_seed_decides_everything() {
        for kind in StreamKind::ALL {
            let recipe = recipe(Targets::Numbers);
            assert_eq!(kind.batch(&recipe), kind.batch(&recipe), "{kind}");
            let other = kind.batch(&Recipe { seed: 6, ..recipe });
            let fixed = kind == StreamKind::Counterexample;
            assert_eq!(other == kind.batch(&recipe), fixed, "{kind}");
        }
    }
}
