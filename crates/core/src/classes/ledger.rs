//! The ledger for many classes: the loss of predictions, and a bound on their regret.
//!
//! It takes features, labels and probabilities, and never sees weights. So its certificate holds
//! for predictions of any origin. Comparators are the matrices u, with one row of weights for every
//! class and ‖u N‖_F ≤ U. In the data's own units N = 1. A ledger of somebody else's probabilities
//! is an audit of them.

use super::confusion::Confusion;
use super::judge::{ClassJudge, feature_ruler};
use super::minorant::{ClassMinorants, Tangents};
use super::{ClassError, ClassRound, MOST_CLASSES, class_of};
use crate::bound::{Ladder, Promise};
use crate::cells::Cells;
use crate::comparators::Comparators;
use crate::elementary::ln;
use crate::features::Example;
use crate::ledger::{CurvePoint, Line, Verdict, divided_up};
use crate::rows::Rows;
use crate::ruler::Ruler;
use crate::sum::Sum;
use serde::{Deserialize, Serialize};

/// Probabilities from outside may differ from a sum of 1 by this much. They are divided by their
/// sum.
const UNEVEN: f64 = 1e-3;
/// If they add up to less, the rest belongs to classes without a number. It may not be more than half.
const LEAST_SUM: f64 = 0.5;

/// The losses, mistakes and tangents of a stretch of rounds, such as a run, a part of one, or a
/// window. Tallies of disjoint stretches add up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassTally {
    loss: Sum,
    /// Σ c(1 + loss/c). The rounding error of the losses is relative to this.
    magnitude: f64,
    mistakes: u64,
    minorant: ClassMinorants<[f64; 1]>,
    #[serde(skip)]
    desk: Desk,
}

/// Buffers for one round.
#[derive(Debug, Clone, Default)]
struct Desk {
    shares: Vec<[f64; 1]>,
    tangents: Tangents<[f64; 1]>,
}

impl PartialEq for Desk {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Default for ClassTally {
    fn default() -> Self {
        Self::new()
    }
}

impl ClassTally {
    /// A tally without rounds.
    pub fn new() -> Self {
        Self {
            loss: Sum::default(),
            magnitude: 0.0,
            mistakes: 0,
            minorant: ClassMinorants::new(),
            desk: Desk::default(),
        }
    }

    /// Records one round of a row whose features are cells, as the ledger returned it. `said` has
    /// the classes that were seen and the probability of each, and these add up to 1. A row whose
    /// label is not a class, or whose importance is 0, is passed over.
    pub fn record(&mut self, example: &Example<'_>, round: &ClassRound, said: (&[u32], &[f64])) {
        let Some(class) = counted_class(example) else { return };
        let mut desk = std::mem::take(&mut self.desk);
        desk.shares.clear();
        let classes = said.0.iter().max().map_or(class + 1, |&last| last + 1);
        desk.shares.resize(classes as usize, [0.0]);
        // Before the first class nothing was predicted, and any probabilities will do.
        desk.shares[0] = [if said.0.is_empty() { 1.0 } else { 0.0 }];
        said.0.iter().zip(said.1).for_each(|(&at, &share)| desk.shares[at as usize] = [share]);
        desk.tangents.of_probabilities(&desk.shares, class, example.importance.get());
        self.enter(example, round.predicted, round.loss, &desk.tangents);
        self.desk = desk;
    }

    /// Records one round of the multiclass hinge.
    pub fn record_hinge(&mut self, example: &Example<'_>, round: &HingeRound) {
        let Some(class) = counted_class(example) else { return };
        let mut desk = std::mem::take(&mut self.desk);
        desk.tangents.of_hinge(class, round.rival, example.importance.get());
        self.enter(example, round.predicted, round.loss, &desk.tangents);
        self.desk = desk;
    }

    /// Records probabilities of the classes 0, 1, 2, …. `whole` is their sum, and `all` is the sum
    /// that they are shares of. Returns the predicted class.
    fn observe(
        &mut self,
        example: &Example<'_>,
        shares: &[f64],
        Shares { whole, all }: Shares,
    ) -> Option<u32> {
        let class = counted_class(example)?;
        let mut desk = std::mem::take(&mut self.desk);
        desk.shares.clear();
        desk.shares.extend(shares.iter().map(|share| [share / whole]));
        let importance = example.importance.get();
        desk.tangents.of_probabilities(&desk.shares, class, importance);
        let better = |best: usize, at: usize| if shares[at] > shares[best] { at } else { best };
        let predicted = Some((1..shares.len()).fold(0, better) as u32);
        let loss = -importance * ln(shares[class as usize] / all);
        self.enter(example, predicted, loss, &desk.tangents);
        self.desk = desk;
        predicted
    }

    fn enter(
        &mut self,
        example: &Example<'_>,
        predicted: Option<u32>,
        loss: f64,
        tangents: &Tangents<[f64; 1]>,
    ) {
        let importance = example.importance.get();
        self.minorant.grow(example.features.dimension());
        self.loss.add(loss);
        self.magnitude += importance + loss;
        self.mistakes += u64::from(predicted.map(f64::from) != Some(example.label));
        self.minorant.record(&example.features, tangents, importance);
    }

    /// T, the number of rounds.
    pub fn rounds(&self) -> u64 {
        self.minorant.rounds()
    }

    /// L, the total loss.
    pub fn loss(&self) -> f64 {
        self.loss.value()
    }

    /// L/T, or 0 before the first round.
    pub fn sequential_risk(&self) -> f64 {
        if self.rounds() == 0 { 0.0 } else { self.loss() / self.rounds() as f64 }
    }

    /// The number of rounds in which a class other than the true one was predicted.
    pub fn mistakes(&self) -> u64 {
        self.mistakes
    }

    /// Turns an upper bound on a total into one per round: divides by the rounds and rounds up.
    pub fn at_most_per_round(&self, total: f64) -> f64 {
        divided_up(total, self.rounds())
    }

    /// Two numbers between which the exact total loss lies.
    pub fn loss_interval(&self) -> (f64, f64) {
        let (loss, slack) = (self.loss(), self.loss_slack());
        (loss - slack, loss + slack)
    }

    /// The largest error of L. Every loss has a few roundings, and so has their sum.
    fn loss_slack(&self) -> f64 {
        16.0 * f64::EPSILON * self.magnitude
    }

    /// The minorant of these rounds for balls of every radius. With a ruler, the balls have no
    /// units.
    fn line(&self, ruler: Option<&Ruler>) -> Line {
        self.minorant.line(0, ruler)
    }

    /// Adds a stretch of other rounds, whose features must have the same cells.
    pub fn merge(&mut self, other: &Self) {
        self.loss.merge(other.loss);
        self.magnitude += other.magnitude;
        self.mistakes += other.mistakes;
        self.minorant.merge(&other.minorant);
    }

    /// The rounds since an earlier state of this stretch, by the same cells.
    fn since(&self, earlier: Self) -> Self {
        Self {
            loss: self.loss.since(earlier.loss),
            // Both sums were rounded.
            magnitude: self.magnitude,
            mistakes: self.mistakes.saturating_sub(earlier.mistakes),
            minorant: self.minorant.since(earlier.minorant),
            desk: Desk::default(),
        }
    }

    /// How many sums it keeps for features and classes. Its memory is proportional to this.
    pub fn cells(&self) -> usize {
        self.minorant.slopes().cells()
    }

    /// Reorders the features: place i gets the content of place `from[i]`.
    pub fn rearrange(&mut self, from: &[u32]) {
        self.minorant.rearrange(from);
    }

    /// Whether this tally, which was read from a file, can be that of some rounds.
    pub fn is_sound(&self) -> bool {
        self.loss.value().is_finite()
            && (0.0..=f64::MAX).contains(&self.magnitude)
            && self.mistakes <= self.rounds()
            && self.minorant.is_sound(MOST_CLASSES)
    }
}

/// The class of a row, or `None` if the row does not count.
fn counted_class(example: &Example<'_>) -> Option<u32> {
    class_of(example.label).filter(|_| !example.importance.is_zero())
}

/// The ledger of one stream of many classes. A round takes time in proportion to the features and
/// classes of its example. Memory is in proportion to the pairs that were seen together.
///
/// This example audits somebody's probabilities. In its stream the class is the product of two
/// signs, which no linear predictor can learn:
///
/// ```
/// use rueful_core::{Batch, Comparators, Positive, UnitFree};
/// use rueful_core::classes::{ClassJudge, ClassLedger};
///
/// let mut stream = Batch::default();
/// for (a, b, class) in [(1.0, 1.0, 0.0), (1.0, -1.0, 1.0), (-1.0, 1.0, 1.0), (-1.0, -1.0, 0.0)] {
///     stream.push(&[0, 1], &[a, b], class)?;
/// }
/// let ball = Comparators::from(UnitFree { radius: Positive::new(100.0)? });
/// let mut ledger = ClassLedger::new(ball.clone());
/// let mut judge = ClassJudge::new(&ball).ok_or("a ball")?;
/// for example in stream.iter() {
///     let mut said = [0.1, 0.1];
///     said[example.label as usize] = 0.9;
///     ledger.observe(&example, &said)?;
/// }
/// judge.observe_rows(stream.rows());
/// let point = ledger.point(Some(&judge));
/// // Every linear predictor loses ln 2 per round here.
/// assert!(point.beats_up_to() > Some(1.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "Stored", try_from = "Stored")]
pub struct ClassLedger {
    comparators: Comparators,
    cells: Cells,
    ruler: Option<Ruler>,
    tally: ClassTally,
    confusion: Confusion,
    curve: Vec<CurvePoint>,
    next_mark: u64,
}

impl ClassLedger {
    /// An empty ledger, which certifies against balls of comparators.
    pub fn new(comparators: impl Into<Comparators>) -> Self {
        let comparators = comparators.into();
        Self {
            ruler: comparators.is_unit_free().then(feature_ruler),
            cells: Cells::pinning(comparators.named_coordinates()),
            comparators,
            tally: ClassTally::new(),
            confusion: Confusion::default(),
            curve: Vec::new(),
            next_mark: 1,
        }
    }

    /// Assigns cells to the features of some rows. Returns the rows by cell, as learners and judges
    /// take them. Cells that differ from the indices are written to `buffer`.
    pub fn enter<'a>(&mut self, rows: Rows<'a>, buffer: &'a mut Vec<u32>) -> Rows<'a> {
        let rows = self.cells.enter(rows, buffer);
        self.grow();
        rows
    }

    /// Records one round of a row that `enter` returned. `said` has the classes that were seen and
    /// the probability of each, and these add up to 1.
    pub fn record(&mut self, example: &Example<'_>, round: &ClassRound, said: (&[u32], &[f64])) {
        self.tally.record(example, round, said);
        self.count(example, round.predicted);
    }

    /// Records one round of the multiclass hinge.
    pub fn record_hinge(&mut self, example: &Example<'_>, round: &HingeRound) {
        self.tally.record_hinge(example, round);
        self.count(example, round.predicted);
    }

    /// Records one round of an audit: the probabilities that a model gave to the classes 0, 1, 2, …
    /// before it saw the label. A round that is refused does not count.
    pub fn observe(&mut self, example: &Example<'_>, shares: &[f64]) -> Result<(), ClassError> {
        let sums = self.check(example.label, shares)?;
        if example.importance.is_zero() {
            return Ok(());
        }
        let mut cells = Vec::new();
        let features = self.cells.enter_one(&example.features, &mut cells);
        self.grow();
        let example = Example { features, ..*example };
        let predicted = self.tally.observe(&example, shares, sums);
        self.count(&example, predicted);
        Ok(())
    }

    /// Checks the label and the probabilities of the classes 0, 1, 2, …, and that the true class has
    /// some. Probabilities that add up to less than 1 leave the rest to classes without a number.
    pub fn check(&self, label: f64, shares: &[f64]) -> Result<Shares, ClassError> {
        let row = self.rounds() as usize;
        let class = class_of(label).ok_or(ClassError::Label { row, label })?;
        let sums = Shares::of(shares);
        let are_shares = shares.iter().all(|share| (0.0..=1.0 + UNEVEN).contains(share));
        let is_sum = (LEAST_SUM..=1.0 + UNEVEN).contains(&sums.whole);
        if !are_shares || !is_sum || shares.len() > MOST_CLASSES as usize {
            return Err(ClassError::NoProbabilities { row, sum: sums.whole });
        }
        let given = shares.get(class as usize).copied().unwrap_or(0.0) / sums.all;
        if given < f64::MIN_POSITIVE {
            return Err(ClassError::Impossible { row, class });
        }
        Ok(sums)
    }

    fn grow(&mut self) {
        self.tally.minorant.grow(self.cells.len());
        if let Some(ruler) = &mut self.ruler {
            ruler.grow(self.cells.len());
        }
    }

    /// Updates everything but the tally, which already has the round.
    fn count(&mut self, example: &Example<'_>, predicted: Option<u32>) {
        let Some(class) = counted_class(example) else { return };
        self.confusion.count(class, predicted);
        if let Some(ruler) = &mut self.ruler {
            ruler.measure(&example.features);
        }
        if self.rounds() == self.next_mark {
            self.curve.push(self.point(None));
            self.next_mark = self.next_mark.saturating_mul(2);
        }
    }

    /// The state after the rounds so far, with certificates for balls of every radius. A judge of
    /// the same rounds improves them.
    pub fn point(&self, judge: Option<&ClassJudge>) -> CurvePoint {
        self.point_of(&self.tally, judge)
    }

    /// The state after a stretch of rounds of this stream, which has the same cells. The largest
    /// values of features are those so far. A judge of another number of rounds is ignored.
    pub fn point_of(&self, rounds: &ClassTally, judge: Option<&ClassJudge>) -> CurvePoint {
        self.point_measured(rounds, judge, self.ruler.as_ref())
    }

    /// Like [`point_of`](Self::point_of), with the largest values that features had at some moment.
    /// The ruler must have measured the features of these rounds. Without one, comparators are in the
    /// data's own units.
    pub fn point_measured(
        &self,
        rounds: &ClassTally,
        judge: Option<&ClassJudge>,
        ruler: Option<&Ruler>,
    ) -> CurvePoint {
        let own = rounds.line(ruler);
        let heard = judge.filter(|judge| judge.rounds() == rounds.rounds());
        let witnesses = heard.map_or_else(Vec::new, |judge| judge.lines_by(ruler));
        let (loss, slack) = (rounds.loss(), rounds.loss_slack());
        let counts = (rounds.rounds(), rounds.mistakes());
        CurvePoint::of_lines(counts, (loss, slack), own, &witnesses, self.comparators.radius())
    }

    /// Improves the last point of the curve with a judge of all rounds so far, if the point is of
    /// the current round.
    pub fn mark(&mut self, judge: &ClassJudge) {
        if self.curve.last().is_some_and(|point| point.rounds() == self.rounds()) {
            let point = self.point(Some(judge));
            self.curve.pop();
            self.curve.push(point);
        }
    }

    /// How many rounds are left until the next point of the curve.
    pub fn until_mark(&self) -> u64 {
        self.next_mark - self.rounds()
    }

    /// The points at t = 1, 2, 4, 8, … and at the end. The last one is improved by a judge of all
    /// rounds.
    pub fn curve(&self, judge: Option<&ClassJudge>) -> Vec<CurvePoint> {
        let mut points = self.curve.clone();
        if self.rounds() > points.last().map_or(0, CurvePoint::rounds) {
            points.push(self.point(judge));
        }
        points
    }

    /// The rungs above the exact regret. They are the certificate, improved by a judge of the same
    /// rounds, and the promise of the learner that played the rounds.
    pub fn ladder(&self, promise: Promise, judge: Option<&ClassJudge>) -> Ladder {
        let point = self.point(judge);
        let radius = self.comparators.radius();
        let slacks = point.lines().iter().filter_map(|line| radius.map(|u| line.slack(u)));
        // The certificate also allows for L. What it adds for that is relative to L, and L is at most a
        // promise that holds and the offset of a line: to both of these something is added anyway.
        let slack = slacks.fold(0.0, f64::max);
        Ladder::new(self.rounds(), point.certificate_total(), slack, promise)
    }

    /// T, the number of rounds.
    pub fn rounds(&self) -> u64 {
        self.tally.rounds()
    }

    /// The sums over all rounds.
    pub fn tally(&self) -> &ClassTally {
        &self.tally
    }

    /// The counts of which class was taken for which.
    pub fn confusion(&self) -> &Confusion {
        &self.confusion
    }

    /// The comparators of the certificate.
    pub fn comparators(&self) -> &Comparators {
        &self.comparators
    }

    /// The largest values of features so far, if comparators are measured by them.
    pub fn ruler(&self) -> Option<&Ruler> {
        self.ruler.as_ref()
    }

    /// The features that were seen, and their cells.
    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// A ledger without rounds for a part of the stream, with the cells and the units of this one. It
    /// has no curve.
    #[must_use]
    pub fn opened_anew(&self) -> Self {
        let mut opened = Self {
            tally: ClassTally::new(),
            confusion: Confusion::default(),
            curve: Vec::new(),
            next_mark: u64::MAX,
            ..self.clone()
        };
        opened.grow();
        opened
    }

    /// The verdict on the rounds since an earlier state of this ledger, by the largest values of
    /// features so far. The learner's own predictions alone prove it. `None` if the other ledger is no
    /// earlier state.
    pub fn verdict_since(&self, earlier: &Self) -> Option<Verdict> {
        let places = self.cells.clone().merge(&earlier.cells);
        let is_earlier = places.len() == self.cells.len()
            && self.comparators == earlier.comparators
            && earlier.rounds() <= self.rounds();
        let mut before = earlier.tally.clone();
        before.minorant.rearrange(&places);
        let point = is_earlier.then(|| self.point_of(&self.tally.since(before), None))?;
        Some(Verdict {
            rounds: point.rounds(),
            sequential_risk: point.sequential_risk(),
            mistake_rate: Some(point.mistake_rate()),
            certificate: point.certificate(),
        })
    }

    /// Adds a point to the curve for the rounds so far, with a judge of the same rounds, unless there
    /// is one.
    pub fn mark_now(&mut self, judge: Option<&ClassJudge>) {
        if self.rounds() > self.curve.last().map_or(0, CurvePoint::rounds) {
            self.curve.push(self.point(judge));
        }
    }

    /// Adds the ledger of another, disjoint part of the stream. The curve stays that of the part
    /// recorded here. Returns, for every cell that there is now, the cell of the other ledger that
    /// it corresponds to. Use this to rearrange a judge of that part before it is merged.
    pub fn merge(&mut self, other: &Self) -> Vec<u32> {
        let places = self.cells.merge(&other.cells);
        let mut part = other.tally.clone();
        part.minorant.rearrange(&places);
        self.grow();
        self.tally.merge(&part);
        self.grow();
        self.confusion.merge(&other.confusion);
        if let (Some(own), Some(mut theirs)) = (&mut self.ruler, other.ruler.clone()) {
            theirs.rearrange(&places);
            own.merge(&theirs);
        }
        while self.next_mark <= self.rounds() {
            self.next_mark = self.next_mark.saturating_mul(2);
        }
        places
    }

    /// Whether this ledger, which was read from a file, can be a later state of `fresh`, which has
    /// no rounds.
    pub fn continues(&self, fresh: &Self) -> bool {
        let rounds = self.rounds();
        self.comparators == fresh.comparators
            && self.cells.pinned() == fresh.cells.pinned()
            && self.tally.is_sound()
            && self.confusion.is_sound(rounds)
            && match (&self.ruler, &fresh.ruler) {
                (None, None) => true,
                (Some(own), Some(fresh)) => own.continues(fresh),
                _ => false,
            }
            && self.curve.iter().all(|point| point.is_sound() && point.rounds() <= rounds)
            && self.curve.is_sorted_by(|a, b| a.rounds() < b.rounds())
            && self.next_mark > rounds
    }
}

/// The sums of probabilities that came from outside.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shares {
    /// The sum of the probabilities.
    pub whole: f64,
    /// The sum that they are shares of: their own, if it is nearly 1, and otherwise 1.
    pub all: f64,
}

impl Shares {
    /// The sums of some probabilities.
    pub fn of(shares: &[f64]) -> Self {
        let whole: Sum = shares.iter().copied().collect();
        let whole = whole.value();
        Self { whole, all: if whole < 1.0 - UNEVEN { 1.0 } else { whole } }
    }
}

/// The record of one round of the multiclass hinge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HingeRound {
    /// The class with the largest score, and the first of them if there are ties. It is `None` if
    /// no class had been seen.
    pub predicted: Option<u32>,
    /// The best other class, if its score is larger than that of the true class minus 1.
    pub rival: Option<u32>,
    /// [1 + max_{c≠y} z_c − z_y]₊, times the importance of the example.
    pub loss: f64,
    /// The same as if the importance were 1.
    pub value: f64,
}

impl HingeRound {
    /// The round of an example of a class, whose classes 0, 1, 2, … got these scores. A class without a
    /// score has the score 0.
    pub fn of_scores(scores: &[f64], class: u32, importance: f64) -> Self {
        Self::of(scores.len(), |class| scores[class], class, importance)
    }

    /// The same for scores that a function gives.
    pub(super) fn of(
        classes: usize,
        score: impl Fn(usize) -> f64,
        class: u32,
        importance: f64,
    ) -> Self {
        let truth = class as usize;
        let best_of = |without: Option<usize>| {
            let others = (0..classes).filter(|&class| Some(class) != without);
            others.reduce(|best, class| if score(class) > score(best) { class } else { best })
        };
        let own = if truth < classes { score(truth) } else { 0.0 };
        let rival = best_of(Some(truth)).filter(|&rival| 1.0 + (score(rival) - own) > 0.0);
        let value = rival.map_or(0.0, |rival| 1.0 + (score(rival) - own));
        Self {
            predicted: best_of(None).map(|class| class as u32),
            rival: rival.map(|class| class as u32),
            loss: importance * value,
            value,
        }
    }
}

/// The serialised form of a ledger, with its features in increasing order.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    comparators: Comparators,
    pinned: u32,
    features: Vec<u32>,
    tally: ClassTally,
    ruler: Option<Ruler>,
    confusion: Confusion,
    curve: Vec<CurvePoint>,
    next_mark: u64,
}

impl From<ClassLedger> for Stored {
    fn from(ledger: ClassLedger) -> Self {
        let ClassLedger { comparators, cells, mut ruler, mut tally, confusion, curve, .. } = ledger;
        let order = cells.in_order();
        tally.minorant.rearrange(&order);
        ruler.iter_mut().for_each(|ruler| ruler.rearrange(&order));
        let (pinned, features) = (cells.pinned() as u32, cells.features());
        let next_mark = ledger.next_mark;
        Self { comparators, pinned, features, tally, ruler, confusion, curve, next_mark }
    }
}

impl TryFrom<Stored> for ClassLedger {
    type Error = &'static str;

    fn try_from(stored: Stored) -> Result<Self, Self::Error> {
        let Stored { comparators, pinned, features, mut tally, mut ruler, .. } = stored;
        if pinned as usize > comparators.named_coordinates() {
            return Err("it tells too many coordinates apart");
        }
        let cells = Cells::of(&features, pinned as usize).ok_or("its features are out of order")?;
        if tally.minorant.slopes().len() != features.len() {
            return Err("it has not as many slopes as features");
        }
        if ruler.as_ref().is_some_and(|ruler| ruler.largest().len() != features.len()) {
            return Err("it has not measured as many features as it has");
        }
        let places = cells.places();
        tally.minorant.rearrange(&places);
        ruler.iter_mut().for_each(|ruler| ruler.rearrange(&places));
        let Stored { confusion, curve, next_mark, .. } = stored;
        Ok(Self { comparators, cells, ruler, tally, confusion, curve, next_mark })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Batch;
    use crate::bound::Bound;
    use crate::number::Positive;
    use crate::set::Ball;
    use std::f64::consts::LN_2;

    /// The ledger of rows of one class, for which two classes were given the same probability.
    fn undecided(rows: usize, radius: f64) -> ClassLedger {
        let mut ledger = ClassLedger::new(Ball { radius: Positive::new(radius).unwrap() });
        let mut batch = Batch::default();
        batch.push(&[0], &[1.0], 0.0).unwrap();
        for _ in 0..rows {
            ledger.observe(&batch.rows().get(0), &[0.5, 0.5]).unwrap();
        }
        ledger
    }

    /// ln 2 lies above the double next to it.
    #[test]
    fn the_exact_loss_lies_between_its_ends() {
        let (least, most) = undecided(1, 1.0).tally().loss_interval();
        assert!(least <= LN_2 && LN_2 < most && most - least < 1e-13, "{least} {most}");
    }

    /// Nobody could lose less than these predictions, but for U‖S‖, which is next to nothing. The
    /// certificate of that is larger, by what it allows for roundings.
    #[test]
    fn a_promise_that_is_attained_does_not_contradict_the_certificate() {
        let ledger = undecided(1000, 1e-20);
        let bound = || Ok(Bound::new(1e-20 * 1000.0 / 2_f64.sqrt(), "U‖S‖"));
        let ladder = ledger.ladder(Promise { data: bound(), theorem: bound() }, None);
        assert!(ladder.is_in_order(), "{ladder:?}");
        assert!((1e-17..1e-9).contains(&ladder.certificate), "{ladder:?}");
    }
}
