//! Opponents in the linear game: in each round they see w_t and then choose the loss g_t·w.
//!
//! On a ball of radius U with ‖g_t‖ ≤ G no learner can keep its regret below UG√T in dimension 3 or
//! more. That is the value of the game, and [`Orthogonal`] forces it.
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

/// An opponent that chooses each linear loss after it has seen the weights.
///
/// The contract: ‖g_t‖ ≤ G, rounding included, and g_t has features below `dimension` only.
pub trait Adversary {
    /// The gradient g_t in answer to w_t. The features are its direction and the label is its
    /// slope, so that g_t = label·x. It is for learners of [`Linear`](rueful_core::loss::Linear)
    /// losses.
    fn next(&mut self, weights: &[f64]) -> Example<'_>;

    /// The number of coordinates that it plays in.
    fn dimension(&self) -> usize;

    /// The gradient bound G.
    fn gradient_bound(&self) -> Positive;
}

/// A gradient falls short of G by this relative amount, so that rounding does not lift it above G.
const SHAVE: f64 = 1e-12;
