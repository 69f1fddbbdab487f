//! The ledger: what happened, and how much of it anyone could regret.
//!
//! It takes features, labels and what predictions cost, never weights: whoever made the
//! predictions, a learner of this crate, another library, a person, the certificate holds. The one
//! thing a regularised run adds is its penalty (σ/2)‖w_t‖², which is part of its loss.
//!
//! So a ledger that is told somebody else's predictions is an audit of them: where the certificate
//!
//! ```text
//! R_T ≤ Σ a_t ŷ_t + U‖Σ a_t x_t‖,    a_t a slope of the loss at ŷ_t
//! ```
//!
//! is negative, the model behind them provably beat every linear predictor with ‖u‖ ≤ U on these
//! very rounds, as long as each prediction was made before its label was known.

mod curve;
mod line;
mod minorant;
mod mistakes;
mod stored;
mod tally;
mod testimony;

pub use curve::CurvePoint;
pub use line::Line;
pub use minorant::{Minorant, OffBy};
pub use mistakes::{MistakeBounds, MistakeWatch};
pub use tally::Tally;
pub use testimony::Testimony;

use crate::bound::{Ladder, Promise};
use crate::cells::{Cells, Coordinates};
use crate::comparators::Comparators;
use crate::features::Example;
use crate::loss::{AnyLoss, Labels};
use crate::number::NonNegative;
use crate::round::Round;
use crate::rows::Rows;
use crate::ruler::Ruler;
use serde::{Deserialize, Serialize};
use std::ops::Deref;
use thiserror::Error;

/// The books of one stream: O(nnz) time an example, memory for the features that were seen.
/// Dereferences to its [`Tally`], the sums over all rounds.
///
/// Here a rule that is not linear, the sign of a product, is audited on a stream where every linear
/// predictor is as good as a coin:
///
/// ```
/// use rueful_core::{Example, Features, Ledger, Positive, loss::Hinge, set::Ball};
///
/// let mut ledger = Ledger::new(Hinge {}, Ball { radius: Positive::new(100.0)? });
/// for (a, b) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
///     let score = 0.5 * f64::from(a * b); // the model speaks first …
///     let label = f64::from(a * b).signum(); // … and then the world does
///     ledger.observe(&Example::new(Features::new(&[0, 1], &[a, b])?, label), score)?;
/// }
///
/// let verdict = ledger.verdict();
/// assert_eq!((verdict.sequential_risk, verdict.mistake_rate), (0.5, Some(0.0)));
/// // Every linear predictor, up to norm 100, loses at least 1 per round here: the half that this
/// // model saved against each of them is proved, but for an allowance for rounding.
/// assert!(verdict.beats_every_comparator() && verdict.certificate < -0.499999);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "stored::Stored", try_from = "stored::Stored")]
pub struct Ledger {
    loss: AnyLoss,
    comparators: Comparators,
    /// The features that were seen. All vectors are by cell.
    cells: Cells,
    tally: Tally,
    /// How large features and labels were, where comparators are measured by that.
    ruler: Option<Ruler>,
    gradient_sq_max: f64,
    example_sq_max: f64,
    curve: Vec<CurvePoint>,
    next_mark: u64,
}

/// What is known of a model after a stretch of rounds. All values are per round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// T
    pub rounds: u64,
    /// (1/T) Σ φ(ŷ_t, y_t)
    pub sequential_risk: f64,
    /// The share of predictions with the wrong sign; none where labels are not signs.
    pub mistake_rate: Option<f64>,
    /// No comparator was better than the model by more than this per round, rounding included.
    /// Infinite where nothing can be said.
    pub certificate: f64,
}

impl Verdict {
    /// Whether the model provably beat every comparator, each by at least −`certificate` per round.
    pub fn beats_every_comparator(&self) -> bool {
        self.certificate < 0.0
    }
}

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
    /// A label that the loss does not understand.
    #[error("round {round} has the label {label:e}, expected {}", expected.expected())]
    Label {
        /// The round, counted from 1.
        round: u64,
        /// y_t
        label: f64,
        /// The labels that the loss takes.
        expected: Labels,
    },
    /// Two ledgers that measure in different losses.
    #[error("ledgers under different losses cannot be merged")]
    DifferentLoss,
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
}

impl Ledger {
    /// An empty ledger of rounds under a loss, which certifies against `comparators`. Other
    /// comparators can be asked for later.
    pub fn new(loss: impl Into<AnyLoss>, comparators: impl Into<Comparators>) -> Self {
        Self::regularized(loss, NonNegative::ZERO, comparators)
    }

    /// The same for losses φ + (σ/2)‖w‖².
    pub fn regularized(
        loss: impl Into<AnyLoss>,
        sigma: NonNegative,
        comparators: impl Into<Comparators>,
    ) -> Self {
        let (loss, comparators) = (loss.into(), comparators.into());
        Self {
            loss,
            ruler: comparators.is_unit_free().then(|| Ruler::new(&loss)),
            cells: Cells::pinning(comparators.named_coordinates()),
            comparators,
            tally: Tally::new(sigma),
            gradient_sq_max: 0.0,
            example_sq_max: 0.0,
            curve: Vec::new(),
            next_mark: 1,
        }
    }

    /// The same ledger, before its first round, where whoever makes the predictions tells the first
    /// `named` coordinates apart: these keep their places.
    #[must_use]
    pub fn pinning(mut self, named: usize) -> Self {
        self.cells = Cells::pinning(named.max(self.comparators.named_coordinates()));
        self
    }

    /// Enters one round.
    pub fn record(&mut self, example: &Example<'_>, round: &Round) -> Result<(), LedgerError> {
        if example.importance.is_zero() {
            return Ok(());
        }
        if !round.is_finite() {
            return Err(self.refuse(round));
        }
        let mut buffer = Vec::new();
        let features = self.cells.enter_one(&example.features, &mut buffer);
        self.grow(self.cells.len());
        self.enter_round(&Example { features, ..*example }, round)
    }

    /// Enters the rounds of some rows, in order, up to the first that is not finite.
    pub fn record_rows(&mut self, rows: Rows<'_>, rounds: &[Round]) -> Result<(), LedgerError> {
        let mut buffer = Vec::new();
        let rows = self.enter(rows, &mut buffer);
        self.record_entered(rows, rounds)
    }

    /// Finds cells for the features of some rows, and hands the rows out by cell: `buffer` is where
    /// cells are written that are not the indices themselves. What is not recorded was not seen.
    pub fn enter<'a>(&mut self, rows: Rows<'a>, buffer: &'a mut Vec<u32>) -> Rows<'a> {
        self.cells.place(rows, buffer)
    }

    /// Enters the rounds of rows that `enter` has handed out.
    pub fn record_entered(&mut self, rows: Rows<'_>, rounds: &[Round]) -> Result<(), LedgerError> {
        self.grow(rows.dimension());
        let mut marked = 0;
        for (row, round) in rounds.iter().enumerate().take(rows.len()) {
            let example = rows.get(row);
            // A point of the curve knows what was seen by then, and what is refused was not seen.
            let is_refused = !example.importance.is_zero() && !round.is_finite();
            if is_refused || self.rounds() + 1 == self.next_mark {
                self.cells.mark(rows.slice(marked..row + usize::from(!is_refused)));
                marked = row + 1;
            }
            self.enter_round(&example, round)?;
        }
        self.cells.mark(rows.slice(marked..rows.len().min(rounds.len())));
        Ok(())
    }

    /// Enters what a model predicted before it was told the label: one round of an audit. What is
    /// refused does not count.
    pub fn observe(&mut self, example: &Example<'_>, prediction: f64) -> Result<(), LedgerError> {
        let round = self.round_of(example, prediction)?;
        self.record(example, &round)
    }

    /// The round that a prediction makes under this ledger's loss.
    #[inline]
    pub fn round_of(&self, example: &Example<'_>, prediction: f64) -> Result<Round, LedgerError> {
        let expected = self.loss.labels();
        if expected.accept(example.label) {
            Ok(Round::on(&self.loss, prediction, example))
        } else {
            let round = self.rounds() + 1;
            Err(LedgerError::Label { round, label: example.label, expected })
        }
    }

    fn grow(&mut self, dimension: usize) {
        self.tally.grow(dimension);
        if let Some(ruler) = &mut self.ruler {
            ruler.grow(dimension);
        }
    }

    #[inline(always)] // The loop over rows is made of it.
    fn enter_round(&mut self, example: &Example<'_>, round: &Round) -> Result<(), LedgerError> {
        if example.importance.is_zero() {
            return Ok(());
        }
        if !round.is_finite() {
            return Err(self.refuse(round));
        }
        let x = &example.features;
        let gradient_sq = round.gradient_sq(self.minorant().sigma().get(), x);
        self.gradient_sq_max = self.gradient_sq_max.max(gradient_sq);
        self.example_sq_max = self.example_sq_max.max(x.norm_sq());
        self.tally.record(example, round);
        if let Some(ruler) = &mut self.ruler {
            ruler.measure(x);
            ruler.measure_label(example.label);
        }
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
        self.curve.push(self.point(&[]));
        self.next_mark = self.next_mark.saturating_mul(2);
    }

    /// The state of the rounds so far, with witnesses of the same rounds.
    pub fn point(&self, witnesses: &[Testimony]) -> CurvePoint {
        CurvePoint::of(&self.tally, witnesses, &self.comparators, self.coordinates())
    }

    /// How many rounds are left until the next point of the curve.
    pub fn until_mark(&self) -> u64 {
        self.next_mark - self.rounds()
    }

    /// Whether the last point of the curve is of the rounds so far.
    pub fn is_at_mark(&self) -> bool {
        self.curve.last().is_some_and(|point| point.rounds() == self.rounds())
    }

    /// Lets witnesses of all rounds so far add to the point of the curve that was made last, if it
    /// is of these rounds.
    pub fn hear(&mut self, witnesses: &[Testimony]) {
        let (rounds, mut curve) = (self.rounds(), std::mem::take(&mut self.curve));
        if let Some(point) = curve.last_mut().filter(|point| point.rounds() == rounds) {
            point.hear(&self.tally, witnesses);
        }
        self.curve = curve;
    }

    /// Takes in the ledger of another, disjoint part of the stream. The curve stays that of the
    /// part recorded here. Says, for every cell that there is now, which cell of the other it is.
    pub fn merge(&mut self, other: &Self) -> Result<Vec<u32>, LedgerError> {
        let (own, theirs) = (self.minorant().sigma(), other.minorant().sigma());
        if own != theirs {
            return Err(LedgerError::DifferentSigma { own, other: theirs });
        }
        if self.loss != other.loss {
            return Err(LedgerError::DifferentLoss);
        }
        let mut part = other.tally.clone();
        let places = self.cells.merge(&other.cells);
        part.rearrange(&places);
        self.tally.merge(&part);
        if let (Some(own), Some(mut theirs)) = (&mut self.ruler, other.ruler.clone()) {
            theirs.rearrange(&places);
            own.merge(&theirs);
        }
        self.gradient_sq_max = self.gradient_sq_max.max(other.gradient_sq_max);
        self.example_sq_max = self.example_sq_max.max(other.example_sq_max);
        while self.next_mark <= self.rounds() {
            self.next_mark = self.next_mark.saturating_mul(2);
        }
        Ok(places)
    }

    /// Whether this, read from somewhere, can be a later state of `fresh`, a ledger without rounds:
    /// the same loss, comparators and σ, and numbers that go together.
    pub fn continues(&self, fresh: &Self) -> bool {
        let rounds = self.rounds();
        let is_size = |size: f64| (0.0..=f64::MAX).contains(&size);
        self.loss == fresh.loss
            && self.cells.pinned() == fresh.cells.pinned()
            && self.comparators == fresh.comparators
            && self.minorant().sigma() == fresh.minorant().sigma()
            && self.tally.is_sound()
            && match (&self.ruler, &fresh.ruler) {
                (None, None) => true,
                (Some(own), Some(fresh)) => own.continues(fresh),
                _ => false,
            }
            && is_size(self.gradient_sq_max)
            && is_size(self.example_sq_max)
            && self.curve.iter().all(|point| point.is_sound() && point.rounds() <= rounds)
            && self.curve.is_sorted_by(|a, b| a.rounds() < b.rounds())
            && self.next_mark > rounds
    }

    /// The rungs above the exact regret: this ledger's certificate, and above it the promise of the
    /// learner whose rounds these are.
    pub fn ladder(&self, promise: Promise) -> Ladder {
        let slack = self.tally.slack(&self.comparators, self.coordinates());
        Ladder::new(self.rounds(), self.certificate(&self.comparators), slack, promise)
    }

    /// An upper bound on the regret against every comparator, rounding included, in total. Infinite
    /// where nothing can be said.
    pub fn certificate(&self, comparators: &Comparators) -> f64 {
        self.tally.certificate(comparators, self.coordinates())
    }

    /// A lower bound on what every comparator loses, rounding included, in total.
    pub fn floor(&self, comparators: &Comparators) -> f64 {
        self.minorant().floor(comparators, self.coordinates())
    }

    /// The verdict on all rounds so far.
    pub fn verdict(&self) -> Verdict {
        self.verdict_on(&self.tally, &[], self.coordinates())
    }

    /// The verdict on a stretch of rounds of this stream, by its cells, with witnesses of the same
    /// rounds, and with coordinates as large as they were by then.
    pub fn verdict_on(
        &self,
        rounds: &Tally,
        witnesses: &[Testimony],
        coordinates: Coordinates<'_>,
    ) -> Verdict {
        let classifies = self.loss.labels() == Labels::Signs;
        let comparators = &self.comparators;
        let own = rounds.certificate(comparators, coordinates);
        let by = |witness| rounds.certificate_by(witness);
        let certificate = witnesses.iter().map(by).fold(own, f64::min);
        Verdict {
            rounds: rounds.rounds(),
            sequential_risk: rounds.sequential_risk(),
            mistake_rate: classifies.then(|| rounds.per_round(rounds.mistakes() as f64)),
            certificate: rounds.at_most_per_round(certificate),
        }
    }

    /// The loss φ.
    pub fn loss_function(&self) -> &AnyLoss {
        &self.loss
    }

    /// The comparators of the certificate.
    pub fn comparators(&self) -> &Comparators {
        &self.comparators
    }

    /// The features that were seen, and where they are kept.
    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// The coordinates of the features that were seen.
    pub fn coordinates(&self) -> Coordinates<'_> {
        match &self.ruler {
            Some(ruler) => Coordinates::Measured(&self.cells, ruler),
            None => Coordinates::Seen(&self.cells),
        }
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
        self.curve_with(&[])
    }

    /// The same, where witnesses of all rounds so far add to the point at the end.
    pub fn curve_with(&self, witnesses: &[Testimony]) -> Vec<CurvePoint> {
        let mut points = self.curve.clone();
        if self.rounds() > points.last().map_or(0, CurvePoint::rounds) {
            points.push(self.point(witnesses));
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

#[cfg(test)]
mod tests;
