//! Figures that people ask for beside the risk. They tell how much better the predictions are than
//! a constant, how many errors there are, how well scores rank, and whether probabilities can be
//! trusted.
//!
//! A [`Scorecard`] observes rounds in a stream and needs bounded memory. Every example counts by
//! its importance, as it does in the risk. A row of importance 2 counts as two rows, and a row of
//! importance 0 does not count. Scorecards of disjoint parts of a stream add up. Counts add up
//! exactly as long as weights are whole numbers. Other sums are compensated. They agree to a few
//! units in the last place of the sum of their terms' sizes.

mod calibration;
mod constant;
mod digest;
mod outcomes;
mod ranks;

pub use calibration::{CALIBRATION_BINS, Calibration, CalibrationBin};
pub use constant::BestConstant;
pub use digest::CELLS as SKETCHED;
pub use outcomes::Outcomes;

use crate::loss::{AnyLoss, Labels, Logistic, Loss};
use crate::round::Round;
use crate::rows::Rows;
use crate::sum::Sum;
use constant::Numbers;
use outcomes::Counts;
use ranks::Ranks;
use serde::{Deserialize, Serialize};

/// A number that is proved to lie between two others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bracket {
    /// The number is at least this.
    pub lower: f64,
    /// The number is at most this.
    pub upper: f64,
}

/// The figures of some rounds.
///
/// ```
/// use rueful_core::figures::Scorecard;
/// use rueful_core::loss::Hinge;
/// use rueful_core::{Batch, Round};
///
/// let mut rows = Batch::default();
/// rows.push(&[0], &[1.0], 1.0)?;
/// rows.push(&[0], &[2.0], -1.0)?;
/// rows.push(&[0], &[3.0], -1.0)?;
/// let scores = [0.5, 0.25, -1.0];
/// let rounds: Vec<Round> =
///     rows.iter().zip(scores).map(|(row, score)| Round::on(&Hinge {}, score, &row)).collect();
/// let mut card = Scorecard::new(Hinge {}).with_sketches();
/// card.observe_rows(rows.rows(), &rounds);
/// assert_eq!(card.outcomes().and_then(|all| all.error_rate()), Some(1.0 / 3.0));
/// assert_eq!(card.auc().map(|auc| auc.lower), Some(1.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scorecard {
    loss: AnyLoss,
    examples: u64,
    lost: Sum,
    /// The lowest and the highest prediction.
    lowest: f64,
    highest: f64,
    labels: Seen,
}

/// The record of the labels and of the predictions for them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Seen {
    Classes(Box<Classes>),
    Numbers(Box<Numbers>),
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Classes {
    counts: Counts,
    calibration: Option<Calibration>,
    ranks: Option<Ranks>,
}

impl Scorecard {
    /// A scorecard without rounds. It keeps only the figures that cost a few nanoseconds an
    /// example: counts and sums, and the calibration if the loss has probabilities.
    pub fn new(loss: impl Into<AnyLoss>) -> Self {
        let loss = loss.into();
        let labels = match loss.labels() {
            Labels::Signs => {
                let calibration = loss.probability(0.0).map(|_| Calibration::default());
                Seen::Classes(Box::new(Classes { calibration, ..Classes::default() }))
            }
            Labels::Numbers => Seen::Numbers(Box::new(Numbers::new(None))),
        };
        let (lowest, highest) = (f64::INFINITY, f64::NEG_INFINITY);
        Self { loss, examples: 0, lost: Sum::default(), lowest, highest, labels }
    }

    /// The same scorecard with sketches. It sketches scores, for the AUC, and labels if the best
    /// constant needs them. The sketches take at most two megabytes, and time that the fastest
    /// learners would notice.
    #[must_use]
    pub fn with_sketches(self) -> Self {
        self.with_sketches_of(digest::CELLS)
    }

    /// The same as [`with_sketches`](Self::with_sketches), with sketches that are exact for up to
    /// this many distinct numbers. Each number takes 32 bytes.
    #[must_use]
    pub fn with_sketches_of(mut self, distinct: usize) -> Self {
        match &mut self.labels {
            Seen::Classes(classes) => classes.ranks = Some(Ranks::new(distinct)),
            Seen::Numbers(numbers) => {
                let needs_one = matches!(self.loss, AnyLoss::Absolute(_) | AnyLoss::Quantile(_));
                **numbers = Numbers::new(needs_one.then_some(distinct));
            }
        }
        self
    }

    /// The same scorecard for predictions p that are log-odds ln(q/(1−q)) of probabilities q,
    /// whatever the loss.
    #[must_use]
    pub fn with_probabilities(mut self) -> Self {
        if let Seen::Classes(classes) = &mut self.labels {
            classes.calibration = Some(Calibration::default());
        }
        self
    }

    /// Observes the rounds of some rows.
    pub fn observe_rows(&mut self, rows: Rows<'_>, rounds: &[Round]) {
        let said = rows.labels().iter().zip(rounds);
        if rows.importances().is_empty() {
            if self.only_counts() {
                return self.count_rows(rows.labels(), rounds);
            }
            said.for_each(|(&label, round)| self.observe(label, 1.0, round));
            return;
        }
        for ((&label, round), importance) in said.zip(rows.importances()) {
            if !importance.is_zero() {
                self.observe(label, importance.get(), round);
            }
        }
    }

    /// Whether rounds of weight 1 only change counts that are whole numbers. The fastest learners have
    /// such a scorecard.
    fn only_counts(&self) -> bool {
        match &self.labels {
            Seen::Classes(classes) => {
                let has_sketches = classes.ranks.is_some() || classes.calibration.is_some();
                !has_sketches && classes.counts.are_whole()
            }
            Seen::Numbers(_) => false,
        }
    }

    /// Observes rounds of weight 1 that only change counts. The counts are added up in integers
    /// first, which gives the same bits as adding them one by one.
    fn count_rows(&mut self, labels: &[f64], rounds: &[Round]) {
        let (mut lost, mut lowest, mut highest) = (self.lost, self.lowest, self.highest);
        let mut counted = outcomes::Counted::default();
        for (&label, round) in labels.iter().zip(rounds) {
            lost.add(round.value);
            // Predictions are finite, so these are one instruction each.
            lowest = if round.prediction < lowest { round.prediction } else { lowest };
            highest = if round.prediction > highest { round.prediction } else { highest };
            counted.count(label > 0.0, round.prediction);
        }
        self.examples += labels.len().min(rounds.len()) as u64;
        (self.lost, self.lowest, self.highest) = (lost, lowest, highest);
        if let Seen::Classes(classes) = &mut self.labels {
            classes.counts.add(&counted);
        }
    }

    #[inline(always)] // The loop over rows is made of it.
    fn observe(&mut self, label: f64, weight: f64, round: &Round) {
        self.examples += 1;
        self.lost.add(round.value);
        self.lowest = self.lowest.min(round.prediction);
        self.highest = self.highest.max(round.prediction);
        match &mut self.labels {
            Seen::Classes(classes) => classes.observe(&self.loss, label > 0.0, weight, round),
            Seen::Numbers(numbers) => numbers.observe(label, weight),
        }
    }

    /// Adds the rounds of another part of the stream, which must be judged by the same loss.
    pub fn merge(&mut self, other: &Self) {
        self.examples += other.examples;
        self.lost.merge(other.lost);
        self.lowest = self.lowest.min(other.lowest);
        self.highest = self.highest.max(other.highest);
        match (&mut self.labels, &other.labels) {
            (Seen::Classes(own), Seen::Classes(theirs)) => own.merge(theirs),
            (Seen::Numbers(own), Seen::Numbers(theirs)) => own.merge(theirs),
            _ => {}
        }
    }

    /// Whether this scorecard, which was read from a file, can be a later state of `fresh` after at
    /// most this many rounds. `fresh` is a scorecard without rounds.
    pub fn continues(&self, fresh: &Self, rounds: u64) -> bool {
        self.loss == fresh.loss
            && self.examples <= rounds
            && self.lost.value().is_finite()
            && match (&self.labels, &fresh.labels) {
                (Seen::Classes(own), Seen::Classes(fresh)) => own.continues(fresh, self.examples),
                (Seen::Numbers(own), Seen::Numbers(fresh)) => own.continues(fresh, self.examples),
                _ => false,
            }
    }

    /// The loss φ.
    pub fn loss(&self) -> &AnyLoss {
        &self.loss
    }

    /// The number of rounds.
    pub fn examples(&self) -> u64 {
        self.examples
    }

    /// The sum of the importances of the rounds.
    pub fn weight(&self) -> f64 {
        match &self.labels {
            Seen::Classes(classes) => {
                let outcomes = classes.counts.outcomes();
                outcomes.positives() + outcomes.negatives()
            }
            Seen::Numbers(numbers) => numbers.weight(),
        }
    }

    /// The total loss of the predictions, without penalties.
    pub fn lost(&self) -> f64 {
        self.lost.value()
    }

    /// The lowest and the highest prediction, or `None` if there are no rounds.
    pub fn predictions(&self) -> Option<(f64, f64)> {
        (self.examples > 0).then_some((self.lowest, self.highest))
    }

    /// The best constant prediction in hindsight. It is `None` if there is none, or if it needs a
    /// sketch that is not kept.
    pub fn best_constant(&self) -> Option<BestConstant> {
        if self.examples == 0 {
            return None;
        }
        match &self.labels {
            Seen::Classes(classes) => {
                BestConstant::of_classes(&self.loss, &classes.counts.outcomes())
            }
            Seen::Numbers(numbers) => numbers.best_constant(&self.loss),
        }
    }

    /// The label that all examples share, if there is only one.
    pub fn only_label(&self) -> Option<f64> {
        match &self.labels {
            Seen::Numbers(numbers) => numbers.only(),
            Seen::Classes(classes) => {
                let outcomes = classes.counts.outcomes();
                match (outcomes.positives() > 0.0, outcomes.negatives() > 0.0) {
                    (true, false) => Some(1.0),
                    (false, true) => Some(-1.0),
                    _ => None,
                }
            }
        }
    }

    /// The confusion matrix of two classes, or `None` if labels are numbers.
    pub fn outcomes(&self) -> Option<Outcomes> {
        self.classes().map(|classes| classes.counts.outcomes())
    }

    /// The numbers between which the AUC lies. They differ only by rounding if there are few
    /// distinct scores. It is `None` if a class is missing, or if scores are not sketched.
    pub fn auc(&self) -> Option<Bracket> {
        self.classes()?.ranks.as_ref()?.auc()
    }

    /// The quality of the probabilities, or `None` if there are none.
    pub fn calibration(&self) -> Option<&Calibration> {
        self.classes()?.calibration.as_ref().filter(|_| self.examples > 0)
    }

    fn classes(&self) -> Option<&Classes> {
        match &self.labels {
            Seen::Classes(classes) => Some(classes),
            Seen::Numbers(_) => None,
        }
    }
}

impl Classes {
    #[inline]
    fn observe(&mut self, loss: &AnyLoss, is_positive: bool, weight: f64, round: &Round) {
        let score = round.prediction;
        self.counts.observe(score, is_positive, weight);
        if let Some(calibration) = &mut self.calibration {
            let (wrong, log_loss) = match loss {
                // The slope is the probability that was given to the other label.
                AnyLoss::Logistic(_) => (round.slope.abs() / weight, round.value),
                _ => {
                    let at = Logistic {}.at(score, if is_positive { 1.0 } else { -1.0 });
                    (at.slope.abs(), weight * at.value)
                }
            };
            calibration.observe(wrong, log_loss, is_positive, weight);
        }
        if let Some(ranks) = &mut self.ranks {
            ranks.observe(score, is_positive, weight);
        }
    }

    fn merge(&mut self, other: &Self) {
        self.counts.merge(&other.counts);
        if let (Some(own), Some(theirs)) = (&mut self.calibration, &other.calibration) {
            own.merge(theirs);
        }
        if let (Some(own), Some(theirs)) = (&mut self.ranks, &other.ranks) {
            own.merge(theirs);
        }
    }

    fn continues(&self, fresh: &Self, examples: u64) -> bool {
        self.counts.is_sound()
            && self.calibration.is_some() == fresh.calibration.is_some()
            && self.calibration.as_ref().is_none_or(Calibration::is_sound)
            && match (&self.ranks, &fresh.ranks) {
                (None, None) => true,
                (Some(own), Some(fresh)) => own.continues(fresh, examples),
                _ => false,
            }
    }
}

#[cfg(test)]
mod tests;
