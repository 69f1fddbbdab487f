//! Opponents in the linear game: each round they see w_t and then choose the loss g_t·w.
//!
//! On a ball of radius U with ‖g_t‖ ≤ G no learner can keep its regret below UG√T in dimension 3
//! or more: that is the value of the game, and [`Orthogonal`] exacts it.
//!
//! ```
//! use rueful_checks::adversary::{Orthogonal, play};
//! use rueful_core::{Ledger, Objective, Positive, learner::Ogd};
//! use rueful_core::{loss::Linear, schedule::InverseSqrt, set::Ball};
//!
//! let ball = Ball { radius: Positive::ONE };
//! let steps = InverseSqrt { eta: Positive::new(2_f64.sqrt())? };
//! let mut learner = Ogd::new(Objective::plain(Linear {}), steps, ball);
//! let mut opponent = Orthogonal::new(3, Positive::ONE)?;
//! let mut ledger = Ledger::new(Linear {}, ball);
//! let game = play(&mut learner, &mut opponent, 1000, &mut ledger)?;
//! assert!((game.ratio(&ball) - 1.0).abs() < 1e-3); // regret / (UG√T)
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod game;
mod orthogonal;
mod sign;

pub use game::{Game, play};
pub use orthogonal::{Orthogonal, TooFlat};
pub use sign::Sign;

use rueful_core::{Example, Positive};

/// An opponent that chooses each linear loss after seeing the weights it will meet.
///
/// Contract: ‖g_t‖ ≤ G, rounding included; g_t has features below `dimension` only.
pub trait Adversary {
    /// g_t, in answer to w_t: the features are its direction and the label is its slope, so that
    /// g_t = label·x. For learners over [`Linear`](rueful_core::loss::Linear) losses.
    fn next(&mut self, weights: &[f64]) -> Example<'_>;

    /// How many coordinates it plays in.
    fn dimension(&self) -> usize;

    /// G
    fn gradient_bound(&self) -> Positive;
}

/// A gradient falls short of G by this much, relatively, so that rounding does not lift it above.
const SHAVE: f64 = 1e-12;
