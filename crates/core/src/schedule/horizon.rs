//! η_t = U/(G√T): the constant step for a game whose length is known.

use super::{Schedule, StepFacts};
use crate::number::Positive;
use crate::request::{Asked, Refusal, Request};
use crate::words::{count, short};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// The constant step tuned to T rounds. After exactly T rounds the regret is at most UG√T, the
/// value of the game; before or after that, U²/(2η) + (η/2)tG².
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Horizon {
    /// U
    pub radius: Positive,
    /// G
    pub gradient_bound: Positive,
    /// T
    pub rounds: NonZeroU64,
}

impl Asked for Horizon {
    const SETTINGS: &'static [&'static str] = &["gradient-bound", "horizon"];

    fn ask(request: &Request<'_>) -> Result<Self, Refusal> {
        Ok(Self {
            radius: request.ball.radius,
            gradient_bound: request.known_gradient_bound()?,
            rounds: request.known_horizon()?,
        })
    }
}

impl Schedule for Horizon {
    fn reference(&self) -> &'static str {
        "notes, (8) with the constant step U/(G√T): U²/(2η) + ηTG²/2, which is UG√T after T rounds"
    }

    #[inline]
    fn inverse_step(&self, _round: u64, _gradients_sq: f64) -> f64 {
        self.gradient_bound.get() * (self.rounds.get() as f64).sqrt() / self.radius.get()
    }

    fn energy(&self, run: &StepFacts) -> f64 {
        run.rounds * run.gradient_bound.powi(2) / self.inverse_step(1, 0.0)
    }

    fn steps(&self) -> String {
        let (g, rounds) = (short(self.gradient_bound.get()), count(self.rounds.get()));
        format!("constant steps U/(G√T), G = {g}, T = {rounds}")
    }
}
