//! The minimax strategy: optimal play in the linear game on a ball, for a known number of rounds.
//!
//! ```text
//! w_t = −U S_{t−1} / √(‖S_{t−1}‖² + G²(T − t + 1)),   S = Σ g_s
//! ```
//!
//! For linear (or linearised) losses with ‖g_t‖ ≤ G it is proved that R_T ≤ UG√T, which no learner
//! can improve in dimension 3 or more. With Ψ_t² = ‖S_{t−1}‖² + G²(T − t + 1) the concavity of the
//! root gives w_t·g_t + UΨ_{t+1} ≤ UΨ_t − U(G² − ‖g_t‖²)/(2Ψ_t). So with the run's own gradients
//!
//! ```text
//! R_T ≤ UG√T − (U/2) Σ (G² − ‖g_t‖²)/Ψ_t
//! ```

use super::steps::Steps;
use super::{
    AnySet, Coordinates, Example, Features, Learner, Plain, Promise, Recipe, Resumable, Round, Take,
};
use crate::bound::{Bound, game_value};
use crate::loss::{AnyLoss, Loss};
use crate::number::{NonNegative, Positive};
use crate::request::{Asked, Refusal, Request};
use crate::round::Objective;
use crate::set::{Ball, FeasibleSet};
use crate::sum::Sum;
use crate::weights::Weights;
use crate::words::{count, short};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// The minimax strategy for T rounds with gradients of norm at most G. Losses are linearised at
/// w_t.
///
/// ```
/// use rueful_core::{Batch, Positive, learner::{Learner, Minimax}, loss::Linear, set::Ball};
///
/// let mut stream = Batch::default();
/// stream.push(&[0], &[1.0], 1.0)?;
/// let ball = Ball { radius: Positive::ONE };
/// let mut minimax = Minimax::new(Linear {}, ball, Positive::ONE, 2.try_into()?);
/// let mut rounds = Vec::new();
/// minimax.learn_rows(stream.rows(), &mut rounds);
/// assert_eq!(minimax.weights(), [-1.0 / 2_f64.sqrt()]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Minimax<L> {
    loss: L,
    set: Ball,
    gradient_bound: Positive,
    horizon: NonZeroU64,
    /// S = Σ g_s
    sums: Weights,
    steps: Steps,
    /// Σ (G² − ‖g_t‖²)/(2Ψ_t)
    unspent: Sum,
}

impl<L: Loss> Minimax<L> {
    /// The learner at w_1 = 0.
    pub fn new(loss: L, set: Ball, gradient_bound: Positive, horizon: NonZeroU64) -> Self {
        Self {
            loss,
            set,
            gradient_bound,
            horizon,
            sums: Weights::default(),
            steps: Steps::default(),
            unspent: Sum::default(),
        }
    }

    /// G²(T − t + 1): the most that the adversary can still spend, round t included.
    #[inline]
    fn budget(&self) -> f64 {
        let left = self.horizon.get().saturating_sub(self.steps.rounds());
        self.gradient_bound.get().powi(2) * left as f64
    }

    /// −U/Ψ, or 0 if Ψ = 0.
    #[inline]
    fn factor(&self, potential: f64) -> f64 {
        if potential == 0.0 { 0.0 } else { -self.set.radius.get() / potential }
    }

    /// Ψ_t
    #[inline]
    fn potential(&self) -> f64 {
        (self.sums.norm_sq() + self.budget()).sqrt()
    }
}

impl<L: Loss> Learner for Minimax<L> {
    #[inline]
    fn learn(&mut self, example: &Example<'_>) -> Round {
        let x = &example.features;

        // w_t = −U S_{t−1}/Ψ_t
        self.sums.settle_norm();
        let potential = self.potential();
        let inner = self.sums.dot(x);
        let round = Round::on(&self.loss, self.factor(potential) * inner, example);

        // S_t = S_{t−1} + g_t
        let gradient_sq = round.gradient_sq(0.0, x);
        if potential > 0.0 {
            let kept = self.gradient_bound.get().powi(2) - gradient_sq;
            self.unspent.add(0.5 * kept / potential);
        }
        self.steps.observe(gradient_sq);
        self.sums.step(1.0, round.slope, x, inner);
        round
    }

    fn grow(&mut self, dimension: usize) {
        self.sums.grow(dimension);
    }

    fn rearrange(&mut self, from: &[u32]) {
        self.sums.rearrange(from);
    }

    fn predict(&self, x: &Features<'_>) -> f64 {
        self.factor(self.potential()) * self.sums.dot(&x.below(self.sums.dimension()))
    }

    fn weights(&self) -> Vec<f64> {
        let factor = self.factor(self.potential());
        self.sums.iter().map(|s| factor * s + 0.0).collect()
    }

    fn rounds(&self) -> u64 {
        self.steps.rounds()
    }

    fn promise_in(&self, comparators: &AnySet, coordinates: Coordinates<'_>) -> Promise {
        if !self.set.covers(comparators, coordinates) {
            return Promise::none("the comparators reach beyond the ball the weights are kept in");
        }
        if self.steps.rounds() > self.horizon.get() {
            return Promise::none(format!(
                "the strategy was set for {} rounds and has played {}",
                self.horizon,
                self.steps.rounds()
            ));
        }
        let (radius, g) = (self.set.radius.get(), self.gradient_bound.get());
        let value = game_value(radius, g, self.horizon.get() as f64);
        let data = Ok(Bound::new(
            value - radius * self.unspent.value(),
            "minimax strategy with the run's own gradients: UG√T − (U/2) Σ (G² − ‖g_t‖²)/Ψ_t",
        ));
        // If rounding puts gradients above G, the bound grows by (G'/G)² at most: Ψ_t ≥ G√(T−t+1).
        let theorem = self
            .steps
            .gradient_bound(Some(self.gradient_bound))
            .map(|measured| Bound::new(value * (measured / g).powi(2), "minimax strategy: UG√T"));
        Promise { data, theorem }
    }
}

/// The parameters of the minimax strategy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MinimaxSpec {
    /// The ball in which the weights are kept.
    pub set: Ball,
    /// G
    pub gradient_bound: Positive,
    /// T
    pub horizon: NonZeroU64,
}

impl Asked for MinimaxSpec {
    const SETTINGS: &'static [&'static str] = &["gradient-bound", "horizon"];

    fn ask(request: &Request<'_>) -> Result<Self, Refusal> {
        Ok(Self {
            set: request.ball,
            gradient_bound: request.known_gradient_bound()?,
            horizon: request.known_horizon()?,
        })
    }
}

impl Recipe for MinimaxSpec {
    fn make<T: Take>(&self, objective: Objective<AnyLoss>, take: T) -> Result<T::Made, String> {
        let Self { set, gradient_bound, horizon } = *self;
        Ok(take.take(Minimax::new(objective.loss, set, gradient_bound, horizon)))
    }

    fn words(&self, _sigma: NonNegative) -> String {
        let (rounds, g) = (count(self.horizon.get()), short(self.gradient_bound.get()));
        format!("minimax strategy for {rounds} rounds: G = {g}, ‖w‖ ≤ {}", self.set.radius)
    }
}

impl<L: Loss + Plain> Resumable for Minimax<L> {
    fn continues(&self, fresh: &Self) -> bool {
        let later = Self {
            sums: self.sums.clone(),
            steps: self.steps,
            unspent: self.unspent,
            ..fresh.clone()
        };
        *self == later && self.sums.is_sound() && self.steps.are_sound()
    }
}
