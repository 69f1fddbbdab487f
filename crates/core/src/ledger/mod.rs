//! The ledger: the record of a run, and a certificate of how large its regret can be.
//!
//! The ledger takes features, labels and the losses of predictions, but no weights. So the
//! certificate holds for predictions of any origin: a learner of this crate, another library, or a
//! person. A regularised run adds only its penalty (σ/2)‖w_t‖², which is part of its loss.
//!
//! A ledger of somebody else's predictions is therefore an audit of them. If the certificate
//!
//! ```text
//! R_T ≤ Σ a_t ŷ_t + U‖Σ a_t x_t‖,    a_t a slope of the loss at ŷ_t
//! ```
//!
//! is negative, the model that made them provably beat every linear predictor with ‖u‖ ≤ U on these
//! very rounds, provided that each prediction was made before its label was known.

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
pub(crate) use tally::divided_up;
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

/// The ledger of one stream. An example takes O(nnz) time, and memory grows with the features seen.
/// It dereferences to its [`Tally`], the sums over all rounds.
///
/// The example audits a rule that is not linear, the sign of a product, on a stream where every
/// linear predictor is as good as a coin:
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
    /// The features that were seen. All vectors are indexed by cell.
    cells: Cells,
    tally: Tally,
    /// How large features and labels were, if the comparators are unit-free.
    ruler: Option<Ruler>,
    gradient_sq_max: f64,
    example_sq_max: f64,
    curve: Vec<CurvePoint>,
    next_mark: u64,
}

/// The verdict on a model after a stretch of rounds. All values are per round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// T
    pub rounds: u64,
    /// (1/T) Σ φ(ŷ_t, y_t)
    pub sequential_risk: f64,
    /// The share of predictions with the wrong sign, or `None` if labels are not signs.
    pub mistake_rate: Option<f64>,
    /// No comparator was better than the model by more than this per round, rounding included. It
    /// is infinite if nothing can be said.
    pub certificate: f64,
}

impl Verdict {
    /// Whether the model provably beat every comparator, each by at least −`certificate` per round.
    pub fn beats_every_comparator(&self) -> bool {
        self.certificate < 0.0
    }
}

/// The ways in which a ledger can fail.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum LedgerError {
    /// A prediction or a loss is not a finite number.
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
    /// The loss does not accept a label.
    #[error("round {round} has the label {label:e}, expected {}", expected.expected())]
    Label {
        /// The round, counted from 1.
        round: u64,
        /// y_t
        label: f64,
        /// The labels that the loss accepts.
        expected: Labels,
    },
    /// Two ledgers measure in different losses.
    #[error("ledgers under different losses cannot be merged")]
    DifferentLoss,
    /// The losses of two ledgers differ in their regularisation.
    #[error("a ledger with sigma {own} cannot take one with sigma {other}")]
    DifferentSigma {
        /// σ here.
        own: NonNegative,
        /// σ there.
        other: NonNegative,
    },
    /// A witness has not seen as many rounds as the ledger.
    #[error("a ledger of {own} rounds cannot take a witness of {other}")]
    DifferentRounds {
        /// Rounds here.
        own: u64,
        /// Rounds there.
        other: u64,
    },
}

impl Ledger {
    /// An empty ledger of rounds under a loss. It certifies against `comparators`; other
    /// comparators can be given later.
    pub fn new(loss: impl Into<AnyLoss>, comparators: impl Into<Comparators>) -> Self {
        Self::regularized(loss, NonNegative::ZERO, comparators)
    }

    /// An empty ledger for losses φ + (σ/2)‖w‖².
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

    /// The same ledger, before its first round, with the first `named` coordinates kept in place.
    /// This is for a model that tells these coordinates apart.
    #[must_use]
    pub fn pinning(mut self, named: usize) -> Self {
        self.cells = Cells::pinning(named.max(self.comparators.named_coordinates()));
        self
    }

    /// Records one round.
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
        self.enter_round(&Example { features, ..*example }, round);
        Ok(())
    }

    /// Records the rounds of some rows, in order, up to the first that is not finite.
    pub fn record_rows(&mut self, rows: Rows<'_>, rounds: &[Round]) -> Result<(), LedgerError> {
        let mut buffer = Vec::new();
        let rows = self.enter(rows, &mut buffer);
        self.record_entered(rows, rounds)
    }

    /// Finds cells for the features of some rows and returns the rows by cell. Cells that differ
    /// from the indices are written into `buffer`. A feature counts as seen only once its row is
    /// recorded.
    pub fn enter<'a>(&mut self, rows: Rows<'a>, buffer: &'a mut Vec<u32>) -> Rows<'a> {
        self.cells.place(rows, buffer)
    }

    /// Records the rounds of rows that `enter` has returned, up to the first that is not finite.
    pub fn record_entered(&mut self, rows: Rows<'_>, rounds: &[Round]) -> Result<(), LedgerError> {
        self.grow(rows.dimension());
        let count = rows.len().min(rounds.len());
        let (rows, rounds) = (rows.slice(0..count), &rounds[..count]);
        let refused = first_refused(rows, rounds);
        let end = refused.unwrap_or(count);
        let mut from = 0;
        while from < end {
            // A point of the curve needs the features seen so far, and no others.
            let rest = rows.slice(from..end);
            let to = from + rest.until(self.until_mark());
            self.cells.mark(rows.slice(from..to));
            self.enter_rounds(rows.slice(from..to), &rounds[from..to]);
            from = to;
        }
        refused.map_or(Ok(()), |row| Err(self.refuse(&rounds[row])))
    }

    /// Records a prediction that a model made before it knew the label: one round of an audit. A
    /// refused round does not count.
    pub fn observe(&mut self, example: &Example<'_>, prediction: f64) -> Result<(), LedgerError> {
        let round = self.round_of(example, prediction)?;
        self.record(example, &round)
    }

    /// The round of a prediction under this ledger's loss.
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

    /// Records a round that is finite, of an example that counts.
    fn enter_round(&mut self, example: &Example<'_>, round: &Round) {
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
    }

    /// Records rounds that are finite and that reach no further than the next point of the curve.
    fn enter_rounds(&mut self, rows: Rows<'_>, rounds: &[Round]) {
        if rows.have_idle() {
            for (example, round) in rows.iter().zip(rounds) {
                if !example.importance.is_zero() {
                    self.enter_round(&example, round);
                }
            }
            return;
        }
        let sigma = self.minorant().sigma().get();
        let (gradient, example) = largest(rounds, rows.norms_sq, sigma);
        let mut moves = rounds.iter().zip(rows.norms_sq);
        let least = Round::least_gradient_sq(moves.any(|(round, &norm)| round.is_moving(norm)));
        self.gradient_sq_max = larger(self.gradient_sq_max, larger(gradient, least));
        self.example_sq_max = larger(self.example_sq_max, example);
        self.tally.record_rows(rows, rounds);
        if let Some(ruler) = &mut self.ruler {
            ruler.observe_rows(rows);
        }
        if self.rounds() == self.next_mark {
            self.mark_curve();
        }
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

    /// The point of the curve for the rounds so far, with witnesses of the same rounds.
    pub fn point(&self, witnesses: &[Testimony]) -> CurvePoint {
        CurvePoint::of(&self.tally, witnesses, &self.comparators, self.coordinates())
    }

    /// How many rounds are left until the next point of the curve.
    pub fn until_mark(&self) -> u64 {
        self.next_mark - self.rounds()
    }

    /// Whether the last point of the curve covers exactly the rounds so far.
    pub fn is_at_mark(&self) -> bool {
        self.curve.last().is_some_and(|point| point.rounds() == self.rounds())
    }

    /// Adds witnesses of all rounds so far to the last point of the curve, if that point covers
    /// exactly these rounds.
    pub fn hear(&mut self, witnesses: &[Testimony]) {
        let (rounds, mut curve) = (self.rounds(), std::mem::take(&mut self.curve));
        if let Some(point) = curve.last_mut().filter(|point| point.rounds() == rounds) {
            point.hear(&self.tally, witnesses);
        }
        self.curve = curve;
    }

    /// Takes in the ledger of another, disjoint part of the stream. The curve stays that of the
    /// part recorded here. Returns, for every cell that exists now, the other's cell of the same
    /// feature.
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

    /// A ledger without rounds for a part of the stream, with the cells and the units of this one.
    /// It has no curve.
    #[must_use]
    pub fn opened_anew(&self) -> Self {
        let mut tally = Tally::new(self.minorant().sigma());
        tally.grow(self.cells.len());
        Self { tally, curve: Vec::new(), next_mark: u64::MAX, ..self.clone() }
    }

    /// Adds a point to the curve for the rounds so far, with witnesses of the same rounds, unless
    /// there is one.
    pub fn mark(&mut self, witnesses: &[Testimony]) {
        if self.rounds() > self.curve.last().map_or(0, CurvePoint::rounds) {
            self.curve.push(self.point(witnesses));
        }
    }

    /// Whether this ledger, which may be read from anywhere, can be a later state of `fresh`, a
    /// ledger without rounds: loss, comparators and σ must be the same, and the numbers must be
    /// consistent.
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

    /// The bounds above the exact regret: this ledger's certificate, and above it the promise of
    /// the learner that played these rounds.
    pub fn ladder(&self, promise: Promise) -> Ladder {
        let slack = self.tally.slack(&self.comparators, self.coordinates());
        Ladder::new(self.rounds(), self.certificate(&self.comparators), slack, promise)
    }

    /// An upper bound on the total regret against every comparator, rounding included. It is
    /// infinite if nothing can be said.
    pub fn certificate(&self, comparators: &Comparators) -> f64 {
        self.tally.certificate(comparators, self.coordinates())
    }

    /// A lower bound on the total loss of every comparator, rounding included.
    pub fn floor(&self, comparators: &Comparators) -> f64 {
        self.minorant().floor(comparators, self.coordinates())
    }

    /// The verdict on all rounds so far.
    pub fn verdict(&self) -> Verdict {
        self.verdict_on(&self.tally, &[], self.coordinates())
    }

    /// The verdict on the rounds since an earlier state of this ledger, merged parts included. It
    /// is `None` if the other one is no earlier state of it, and for regularised losses.
    pub fn verdict_since(&self, earlier: &Self) -> Option<Verdict> {
        let is_plain = |ledger: &Self| ledger.minorant().sigma() == NonNegative::ZERO;
        let mut cells = self.cells.clone();
        let places = cells.merge(&earlier.cells);
        let is_earlier = self.loss == earlier.loss
            && self.comparators == earlier.comparators
            && cells.len() == self.cells.len()
            && earlier.rounds() <= self.rounds()
            && earlier.mistakes() <= self.mistakes();
        if !(is_earlier && is_plain(self) && is_plain(earlier)) {
            return None;
        }
        let mut before = earlier.tally.clone();
        before.rearrange(&places);
        let since = self.tally.since(&before, self.ruler.as_ref());
        Some(self.verdict_on(&since, &[], self.coordinates()))
    }

    /// The verdict on a stretch of rounds of this stream, by its cells. The witnesses must be of
    /// the same rounds, and the coordinates as large as they were at the end of them.
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

    /// `curve`, where witnesses of all rounds so far add to the point at the end.
    pub fn curve_with(&self, witnesses: &[Testimony]) -> Vec<CurvePoint> {
        let mut points = self.curve.clone();
        if self.rounds() > points.last().map_or(0, CurvePoint::rounds) {
            points.push(self.point(witnesses));
        }
        points
    }
}

/// The first row whose round is not finite, among the rows that count.
fn first_refused(rows: Rows<'_>, rounds: &[Round]) -> Option<usize> {
    // A loop without a way out in the middle is compiled to wide registers.
    if rounds.iter().fold(true, |fine, round| fine & round.is_finite()) {
        return None;
    }
    let counts = |row: usize| !rows.get(row).importance.is_zero();
    (0..rounds.len()).find(|&row| counts(row) && !rounds[row].is_finite())
}

/// The largest ‖g_t‖² and ‖x_t‖² of some rounds, where a square that is too small for a double is
/// not rounded up. Four at a time are compared, because each comparison waits for the one before.
fn largest(rounds: &[Round], norms_sq: &[f64], sigma: f64) -> (f64, f64) {
    let (mut gradients, mut examples) = ([0.0; 4], [0.0; 4]);
    let (round_fours, round_rest) = rounds.as_chunks::<4>();
    let (norm_fours, norm_rest) = norms_sq.as_chunks::<4>();
    let mut compare = |lane: usize, round: &Round, norm_sq: f64| {
        gradients[lane] = larger(gradients[lane], round.gradient_sq_or_less(sigma, norm_sq));
        examples[lane] = larger(examples[lane], norm_sq);
    };
    for (rounds, norms_sq) in round_fours.iter().zip(norm_fours) {
        (0..4).for_each(|lane| compare(lane, &rounds[lane], norms_sq[lane]));
    }
    round_rest.iter().zip(norm_rest).for_each(|(round, &norm_sq)| compare(0, round, norm_sq));
    (gradients.into_iter().fold(0.0, larger), examples.into_iter().fold(0.0, larger))
}

/// The larger of two numbers that are not NaN, in one instruction.
#[inline]
fn larger(one: f64, other: f64) -> f64 {
    if other > one { other } else { one }
}

impl Deref for Ledger {
    type Target = Tally;
    fn deref(&self) -> &Tally {
        &self.tally
    }
}

#[cfg(test)]
mod tests;
