//! A game between a learner and an opponent, with its exact regret.

use super::Adversary;
use rueful_core::bound::game_value;
use rueful_core::learner::Learner;
use rueful_core::set::{Ball, FeasibleSet};
use rueful_core::{Example, Ledger, LedgerError, Positive, Round, Sum};

/// A game that was played. The losses are linear, so the best comparator is known: against a set W
/// the regret is Σ g_t·w_t + sup_{u∈W} (−u·S), S = Σ g_t, and U‖S‖ is the supremum on a ball.
#[derive(Debug, Clone, PartialEq)]
pub struct Game {
    /// The number T of rounds.
    pub rounds: u64,
    /// The loss Σ g_t·w_t of the learner.
    pub loss: f64,
    /// The sum S = Σ g_t.
    pub slopes: Vec<f64>,
    /// The gradient bound G.
    pub gradient_bound: Positive,
}

impl Game {
    /// The regret R_T against a set.
    pub fn regret(&self, set: &impl FeasibleSet) -> f64 {
        self.loss + set.support(self.slopes.iter().map(|s| -s), 0.0)
    }

    /// The regret R_T against a ball, in units of UG√T.
    pub fn ratio(&self, ball: &Ball) -> f64 {
        let value = game_value(ball.radius.get(), self.gradient_bound.get(), self.rounds as f64);
        self.regret(ball) / value
    }
}

/// Plays `rounds` rounds of the linear game and enters them in the ledger. The learner must learn
/// [`Linear`](rueful_core::loss::Linear) losses.
///
/// It stops at the first round that is not finite, with the ledger's error.
pub fn play(
    learner: &mut dyn Learner,
    adversary: &mut dyn Adversary,
    rounds: u64,
    ledger: &mut Ledger,
) -> Result<Game, LedgerError> {
    learner.grow(adversary.dimension());
    let mut loss = Sum::default();
    let mut slopes = vec![0.0; adversary.dimension()];
    for _ in 0..rounds {
        let example = adversary.next(&learner.weights());
        let round = learner.learn(&example);
        ledger.record(&example, &round)?;
        loss.add(round.loss());
        add(&mut slopes, &example, &round);
    }
    Ok(Game { rounds, loss: loss.value(), slopes, gradient_bound: adversary.gradient_bound() })
}

/// S ← S + g_t.
fn add(slopes: &mut [f64], example: &Example<'_>, round: &Round) {
    for (i, x) in example.features.iter() {
        slopes[i] += round.slope * x;
    }
}
