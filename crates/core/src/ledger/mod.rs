//! The ledger: what happened, and how much of it anyone could regret.
//!
//! It takes features, labels and what predictions cost, never weights: whoever made the
//! predictions, a learner of this crate, another library, a person, the certificate holds. The one
//! thing a regularised run adds is its penalty (σ/2)‖w_t‖², which is part of its loss.

mod audit;
mod curve;
mod minorant;
mod mistakes;
mod tally;

pub use audit::{Audit, AuditError, Verdict};
pub use curve::CurvePoint;
pub use minorant::Minorant;
pub use mistakes::{MistakeBounds, MistakeWatch};
pub use tally::Tally;

use crate::batch::Batch;
use crate::bound::{Ladder, Promise};
use crate::features::Example;
use crate::number::NonNegative;
use crate::round::Round;
use crate::set::AnySet;
use serde::{Deserialize, Serialize};
use std::ops::Deref;
use thiserror::Error;

/// The books of one stream. Dereferences to its [`Tally`], the sums over all rounds.
///
/// ```
/// use rueful_core::{Features, Example, Ledger, Positive, Round, loss::Absolute, set::Ball};
///
/// // Certify somebody else's predictions: 3.0 and 4.5 for labels 3.5 and 4.0.
/// let mut ledger = Ledger::new(Ball { radius: Positive::ONE });
/// for (x, prediction, label) in [([0.5], 3.0, 3.5), ([1.0], 4.5, 4.0)] {
///     let example = Example::new(Features::new(&[0], &x)?, label);
///     ledger.record(&example, &Round::of(&Absolute {}, prediction, label))?;
/// }
/// assert_eq!(ledger.sequential_risk(), 0.5);
/// // Proved: no linear predictor of norm ≤ 1 was better than this by more than the certificate.
/// assert!(ledger.certificate(ledger.comparators()) < 2.01);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    comparators: AnySet,
    tally: Tally,
    gradient_sq_max: f64,
    example_sq_max: f64,
    curve: Vec<CurvePoint>,
    next_mark: u64,
}

/// A moment of a ledger, to be compared with a later one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mark(Tally);

/// Why a ledger cannot do what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum LedgerError {
    /// A prediction or a loss that is not a finite number.
    #[error(
        "round {round} has a prediction of {prediction:e} and a loss of {loss:e}, and only finite \
         numbers can be certified"
    )]
    NotFinite {
        /// The round, counted from 1.
        round: u64,
        /// ŷ_t
        prediction: f64,
        /// ℓ_t(w_t)
        loss: f64,
    },
    /// Two ledgers whose losses differ in their regularisation.
    #[error("a ledger with sigma {own} cannot take one with sigma {other}")]
    DifferentSigma {
        /// σ here.
        own: NonNegative,
        /// σ there.
        other: NonNegative,
    },
    /// A witness that has not seen as many rounds.
    #[error("a ledger of {own} rounds cannot take a witness of {other}")]
    DifferentRounds {
        /// Rounds here.
        own: u64,
        /// Rounds there.
        other: u64,
    },
    /// A mark whose rounds cannot all be among this ledger's.
    #[error("the mark was taken from another ledger")]
    ForeignMark,
    /// A mark that this ledger has not reached.
    #[error("the mark was taken after {mark} rounds and this ledger has {rounds}")]
    MarkAhead {
        /// The mark's rounds.
        mark: u64,
        /// The ledger's rounds.
        rounds: u64,
    },
}

impl Ledger {
    /// An empty ledger that certifies against `comparators`. Other radii can be asked for later.
    pub fn new(comparators: impl Into<AnySet>) -> Self {
        Self {
            comparators: comparators.into(),
            tally: Tally::new(NonNegative::ZERO),
            gradient_sq_max: 0.0,
            example_sq_max: 0.0,
            curve: Vec::new(),
            next_mark: 1,
        }
    }

    /// The same for losses φ + (σ/2)‖w‖².
    pub fn regularized(comparators: impl Into<AnySet>, sigma: NonNegative) -> Self {
        Self { tally: Tally::new(sigma), ..Self::new(comparators) }
    }

    /// Enters one round.
    pub fn record(&mut self, example: &Example<'_>, round: &Round) -> Result<(), LedgerError> {
        self.tally.grow(example.features.dimension());
        self.enter(example, round)
    }

    /// Enters the rounds of a batch, in order, up to the first that is not finite.
    pub fn record_batch(&mut self, batch: &Batch, rounds: &[Round]) -> Result<(), LedgerError> {
        self.tally.grow(batch.dimension());
        for (example, round) in batch.iter().zip(rounds) {
            self.enter(&example, round)?;
        }
        Ok(())
    }

    #[inline]
    fn enter(&mut self, example: &Example<'_>, round: &Round) -> Result<(), LedgerError> {
        if !round.is_finite() {
            return Err(self.refuse(round));
        }
        let x = &example.features;
        let gradient_sq = round.gradient_sq(self.minorant().sigma().get(), x);
        self.gradient_sq_max = self.gradient_sq_max.max(gradient_sq);
        self.example_sq_max = self.example_sq_max.max(x.norm_sq());
        self.tally.record(example, round);
        if self.rounds() == self.next_mark {
            self.mark_curve();
        }
        Ok(())
    }

    #[cold]
    fn refuse(&self, round: &Round) -> LedgerError {
        let (prediction, loss) = (round.prediction, round.loss());
        LedgerError::NotFinite { round: self.rounds() + 1, prediction, loss }
    }

    #[cold]
    fn mark_curve(&mut self) {
        self.curve.push(CurvePoint::of(&self.tally, &self.comparators));
        self.next_mark = self.next_mark.saturating_mul(2);
    }

    /// Takes in the ledger of another, disjoint part of the stream. The curve stays that of the
    /// part recorded here.
    pub fn merge(&mut self, other: &Self) -> Result<(), LedgerError> {
        self.same_sigma(&other.tally)?;
        self.tally.merge(&other.tally);
        self.gradient_sq_max = self.gradient_sq_max.max(other.gradient_sq_max);
        self.example_sq_max = self.example_sq_max.max(other.example_sq_max);
        while self.next_mark <= self.rounds() {
            self.next_mark = self.next_mark.saturating_mul(2);
        }
        Ok(())
    }

    /// Remembers this moment.
    pub fn mark(&self) -> Mark {
        Mark(self.tally.clone())
    }

    /// The rounds since a mark of this ledger, as a stretch of their own.
    pub fn since(&self, mark: &Mark) -> Result<Tally, LedgerError> {
        self.same_sigma(&mark.0)?;
        let (mark_rounds, rounds) = (mark.0.rounds(), self.rounds());
        if mark_rounds > rounds {
            return Err(LedgerError::MarkAhead { mark: mark_rounds, rounds });
        }
        self.tally.since(&mark.0).ok_or(LedgerError::ForeignMark)
    }

    fn same_sigma(&self, other: &Tally) -> Result<(), LedgerError> {
        let (own, other) = (self.minorant().sigma(), other.minorant().sigma());
        if own == other { Ok(()) } else { Err(LedgerError::DifferentSigma { own, other }) }
    }

    /// Whether this, read from somewhere, can be a later state of `fresh`, a ledger without rounds:
    /// the same comparators and σ, and numbers that go together.
    pub fn continues(&self, fresh: &Self) -> bool {
        let rounds = self.rounds();
        let is_size = |size: f64| (0.0..=f64::MAX).contains(&size);
        self.comparators == fresh.comparators
            && self.minorant().sigma() == fresh.minorant().sigma()
            && self.tally.is_sound()
            && is_size(self.gradient_sq_max)
            && is_size(self.example_sq_max)
            && self.curve.iter().all(|point| point.is_sound() && point.rounds() <= rounds)
            && self.curve.is_sorted_by(|a, b| a.rounds() < b.rounds())
            && self.next_mark > rounds
    }

    /// The rungs above the exact regret: this ledger's certificate, and above it the learner's
    /// promise.
    pub fn ladder(&self, promise: Promise) -> Ladder {
        let certificate = self.certificate(&self.comparators);
        Ladder::new(self.rounds(), certificate, self.slack(&self.comparators), promise)
    }

    /// The comparators of the certificate.
    pub fn comparators(&self) -> &AnySet {
        &self.comparators
    }

    /// max ‖g_t‖, where g_t = a_t x_t + σ w_t.
    pub fn gradient_norm_max(&self) -> f64 {
        self.gradient_sq_max.sqrt()
    }

    /// X = max ‖x_t‖
    pub fn example_norm_max(&self) -> f64 {
        self.example_sq_max.sqrt()
    }

    /// The points at t = 1, 2, 4, 8, … and at the end.
    pub fn curve(&self) -> Vec<CurvePoint> {
        let mut points = self.curve.clone();
        if self.rounds() > points.last().map_or(0, CurvePoint::rounds) {
            points.push(CurvePoint::of(&self.tally, &self.comparators));
        }
        points
    }
}

impl Deref for Ledger {
    type Target = Tally;
    fn deref(&self) -> &Tally {
        &self.tally
    }
}
