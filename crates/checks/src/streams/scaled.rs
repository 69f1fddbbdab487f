//! Sizes chosen by an opponent: features and labels jump over many orders of magnitude from one
//! round to the next. Sums forget the small ones, and squares come near the ends of what a double
//! holds. Nothing may break.

use super::{Recipe, Targets, push, row, score, sign};
use crate::rng::Rng;
use rueful_core::Batch;

/// Rows of a size between 10^-orders and 10^orders. Numbers and slopes are of such sizes, too.
pub(super) fn batch(recipe: &Recipe, orders: i32, rng: &mut Rng) -> Batch {
    let target = rng.direction(recipe.dimension);
    let mut batch = Batch::default();
    for _ in 0..recipe.rounds {
        let size = power_of_ten(rng.integer(-orders, orders));
        let x = row(rng.direction(recipe.dimension).into_iter().map(|x| size * x));
        let direction = sign(score(&target, &x));
        let label = match recipe.targets {
            Targets::Signs => direction,
            _ => direction * rng.unit() * power_of_ten(rng.integer(-orders, orders)),
        };
        push(&mut batch, &x, label);
    }
    batch
}

/// 10^exponent by plain multiplication, the same everywhere.
fn power_of_ten(exponent: i32) -> f64 {
    let size = (0..exponent.abs()).fold(1.0, |product, _| product * 10.0);
    if exponent < 0 { 1.0 / size } else { size }
}
