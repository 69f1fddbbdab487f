//! The sums of a stretch of rounds: what adds up across parts and subtracts across marks.

use super::minorant::{Minorant, best_floor};
use crate::features::Example;
use crate::loss::ZeroOne;
use crate::number::NonNegative;
use crate::round::Round;
use crate::set::AnySet;
use crate::sum::Sum;
use serde::{Deserialize, Serialize};

/// How far off, relatively, the running ‖w_t‖² behind a penalty may be.
const PENALTY_GRAIN: f64 = 1e-9;

/// Losses, mistakes and the minorant of a stretch of rounds: a whole run, a part of one, or a
/// window between two marks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    loss: Sum,
    penalty: Sum,
    mistakes: u64,
    minorant: Minorant,
}

impl Tally {
    pub(super) fn new(sigma: NonNegative) -> Self {
        Self {
            loss: Sum::default(),
            penalty: Sum::default(),
            mistakes: 0,
            minorant: Minorant::new(sigma),
        }
    }

    pub(super) fn grow(&mut self, dimension: usize) {
        self.minorant.grow(dimension);
    }

    #[inline]
    pub(super) fn record(&mut self, example: &Example<'_>, round: &Round) {
        self.loss.add(round.value);
        if round.penalty != 0.0 {
            self.penalty.add(round.penalty);
        }
        self.mistakes += u64::from(ZeroOne {}.is_mistake(round.prediction, example.label));
        self.minorant.record(&example.features, round);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.loss.merge(other.loss);
        self.penalty.merge(other.penalty);
        self.mistakes += other.mistakes;
        self.minorant.merge(&other.minorant);
    }

    pub(super) fn since(&self, earlier: &Self) -> Self {
        Self {
            loss: self.loss.since(earlier.loss),
            penalty: self.penalty.since(earlier.penalty),
            mistakes: self.mistakes - earlier.mistakes,
            minorant: self.minorant.since(&earlier.minorant),
        }
    }

    /// T
    #[inline]
    pub fn rounds(&self) -> u64 {
        self.minorant.rounds()
    }

    /// L = Σ ℓ_t(w_t), penalties included.
    pub fn loss(&self) -> f64 {
        self.loss.value() + self.penalty.value()
    }

    /// Σ (σ/2)‖w_t‖²
    pub fn penalty(&self) -> f64 {
        self.penalty.value()
    }

    /// L/T, and 0 before the first round.
    pub fn sequential_risk(&self) -> f64 {
        self.per_round(self.loss())
    }

    /// How many predictions had the wrong sign; meaningful for labels ±1.
    pub fn mistakes(&self) -> u64 {
        self.mistakes
    }

    /// The tangents of the rounds.
    pub fn minorant(&self) -> &Minorant {
        &self.minorant
    }

    /// A total divided by the rounds.
    pub fn per_round(&self, total: f64) -> f64 {
        if self.rounds() == 0 { 0.0 } else { total / self.rounds() as f64 }
    }

    /// The certificate: an upper bound on the regret against every comparator, rounding included.
    /// Infinite where nothing can be said.
    ///
    /// ```text
    /// R_T ≤ Σ a_t ŷ_t + sup_{u} (−u·S) = L − min_u (minorant at u)
    /// ```
    pub fn certificate(&self, comparators: &AnySet) -> f64 {
        self.certificate_with(comparators, [])
    }

    /// The best certificate that the rounds themselves and further witnesses of the same rounds
    /// prove together.
    pub fn certificate_with<'a>(
        &'a self,
        comparators: &AnySet,
        witnesses: impl IntoIterator<Item = &'a Minorant>,
    ) -> f64 {
        let all = std::iter::once(&self.minorant).chain(witnesses);
        let regret = self.loss() - best_floor(all, comparators) + self.loss_slack();
        if regret.is_nan() { f64::INFINITY } else { regret }
    }

    /// How much of the certificate is allowance for rounding.
    pub fn slack(&self, comparators: &AnySet) -> f64 {
        self.minorant.slack(comparators) + self.loss_slack()
    }

    fn loss_slack(&self) -> f64 {
        4.0 * f64::EPSILON * self.loss().abs() + PENALTY_GRAIN * self.penalty()
    }
}
