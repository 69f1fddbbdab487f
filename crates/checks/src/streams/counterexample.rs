//! The stream on which ERM loses in every round, (2) of the notes: W = [−1, 1] and the losses w/2,
//! −w, +w, −w, … After each round the best w so far is the worst for the next.

use super::{Recipe, Targets, push};
use rueful_core::Batch;

/// Rows with one feature that is always 1. If the labels are signs or numbers, they alternate.
pub(super) fn batch(recipe: &Recipe) -> Batch {
    let mut batch = Batch::default();
    for round in 0..recipe.rounds {
        let alternating = if round % 2 == 0 { 1.0 } else { -1.0 };
        let label = match recipe.targets {
            Targets::Slopes if round == 0 => 0.5,
            _ => alternating,
        };
        push(&mut batch, &[1.0], label);
    }
    batch
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_as_in_the_notes() {
        let recipe = Recipe { targets: Targets::Slopes, rounds: 5, dimension: 1, seed: 0 };
        let slopes: Vec<f64> = batch(&recipe).iter().map(|example| example.label).collect();
        assert_eq!(slopes, [0.5, -1.0, 1.0, -1.0, 1.0]);
    }
}
