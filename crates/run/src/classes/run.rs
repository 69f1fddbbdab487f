//! A run of many classes: it takes rows, returns outcomes, and can report on them at any moment.

use super::card::ClassCard;
use super::late::{ClassSaid, LateRows};
use super::learner::{ClassLearner, Norms};
use super::task::ClassTask;
use super::windows::ClassWindows;
use crate::learning::Late;
use crate::report::Report;
use crate::run::{PartOf, RunError, late_reason};
use crate::shares::{Shares, SharesReport};
use crate::spec::SpecError;
use rueful_core::classes::{ClassError, ClassLedger};
use rueful_core::learner::Expert;
use rueful_core::ledger::CurvePoint;
use rueful_core::{Features, FoundFeatures, Importance, Ladder, Promise, RiskBound, Rows};
use rueful_data::Seen;

/// A run of many classes under way: a task, a learner, the ledger of its rounds, and a record of
/// what was seen. It takes rows whose labels are numbers of classes.
///
/// ```
/// use rueful_core::Batch;
/// use rueful_run::{ClassLoss, ClassRun, DataSpec, Settings};
///
/// let spec = Settings::default().resolve_classes(ClassLoss::Softmax {}, DataSpec::libsvm(""))?;
/// let mut run = ClassRun::new(spec.task())?;
/// let mut rows = Batch::default();
/// (0..90_u16).for_each(|t| rows.push(&[u32::from(t % 3)], &[1.0], f64::from(t % 3)).unwrap());
/// let outcomes = run.learn(rows.rows())?;
/// assert_eq!((outcomes[0].predicted, outcomes[89].predicted), (None, Some(2)));
/// assert!(run.report().mistake_rate < Some(0.1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct ClassRun {
    pub(super) task: ClassTask,
    pub(super) learner: ClassLearner,
    pub(super) books: ClassBooks,
    pub(super) seen: Seen,
    /// The place of this in another run, if it is a part of one.
    pub(super) part_of: Option<PartOf>,
    /// The outcomes of the last rows, and the cells of their features.
    pub(super) outcomes: Vec<ClassOutcome>,
    pub(super) cells: Vec<u32>,
}

/// The outcome of one round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassOutcome {
    /// The class that was predicted, or `None` if no class had been seen.
    pub predicted: Option<u32>,
    /// The loss, times the importance of the example.
    pub loss: f64,
    /// The loss as if the importance were 1.
    pub value: f64,
}

/// Everything that a run of many classes keeps about its rounds.
#[derive(Debug, Clone)]
pub(super) struct ClassBooks {
    pub(super) ledger: ClassLedger,
    /// The mistakes, as long as all examples count alike.
    pub(super) mistakes: Option<RiskBound>,
    pub(super) card: ClassCard,
    pub(super) norms: Norms,
    /// The shares of the learners that are mixed, if some are.
    pub(super) shares: Option<Shares>,
    /// The number of rounds whose prediction was made before earlier labels had come.
    pub(super) late: u64,
    /// The windows, if they were asked for.
    pub(super) windows: Option<ClassWindows>,
}

impl ClassBooks {
    pub(super) fn new(task: &ClassTask, has_experts: bool) -> Self {
        Self {
            ledger: task.ledger(),
            mistakes: Some(RiskBound::new(1.0)),
            card: ClassCard::default(),
            norms: Norms::default(),
            shares: has_experts.then(Shares::new),
            late: 0,
            windows: None,
        }
    }
}

impl ClassBooks {
    /// How many rounds are left until one of the books needs to look, after this many rounds.
    pub(super) fn until_next(&self, rounds: u64) -> u64 {
        let share = self.shares.as_ref().map(|shares| shares.until_next(rounds));
        let window = self.windows.as_ref().map(ClassWindows::until_end);
        [share, window].into_iter().flatten().fold(self.ledger.until_mark(), u64::min)
    }
}

impl ClassRun {
    /// A run that has seen nothing.
    pub fn new(task: ClassTask) -> Result<Self, SpecError> {
        let learner = ClassLearner::new(&task)?;
        let books = ClassBooks::new(&task, !learner.experts().is_empty());
        Ok(Self::restored(task, learner, books, Seen::default()))
    }

    /// A run that was saved.
    pub(super) fn restored(
        task: ClassTask,
        learner: ClassLearner,
        books: ClassBooks,
        seen: Seen,
    ) -> Self {
        let (outcomes, cells) = (Vec::new(), Vec::new());
        Self { task, learner, books, seen, part_of: None, outcomes, cells }
    }

    /// Learns from some rows, and returns an outcome for each. A row of importance 0 is predicted,
    /// but does not count.
    pub fn learn(&mut self, rows: Rows<'_>) -> Result<&[ClassOutcome], RunError> {
        self.learn_counted(rows)?;
        self.seen.census.count(rows);
        Ok(&self.outcomes)
    }

    /// Like [`learn`](Self::learn), for a caller that counts the rows it reads and tells the run
    /// what was [`seen`](Self::saw).
    pub fn learn_counted(&mut self, rows: Rows<'_>) -> Result<&[ClassOutcome], RunError> {
        self.learn_late(rows, Late { asked: &[], answered: &[] })?;
        Ok(&self.outcomes)
    }

    /// Like [`learn_counted`](Self::learn_counted), where labels come later than their rows. Returns
    /// what is said of the rows that wait for a label, whose importance is 0. Rows whose label comes
    /// now are charged for what was said of them before.
    pub fn learn_late(
        &mut self,
        rows: Rows<'_>,
        late: Late<'_, ClassSaid>,
    ) -> Result<Vec<ClassSaid>, RunError> {
        check(rows)?;
        check_late(rows, &late)?;
        let mut late_rows = LateRows::new(late);
        let mut cells = std::mem::take(&mut self.cells);
        let entered = self.books.ledger.enter(rows, &mut cells);
        let played = self.play_in_parts(entered, &mut late_rows);
        self.cells = cells;
        played?;
        if !late.answered.is_empty() {
            let counts = |(row, _): &&(usize, ClassSaid)| !rows.get(*row).importance.is_zero();
            self.books.late += late.answered.iter().filter(counts).count() as u64;
            // When a label comes may depend on the label, so the examples are no fair draws.
            self.books.mistakes = None;
        }
        self.count(rows);
        Ok(late_rows.said)
    }

    /// Plays up to each point of the curve, where witnesses can speak, up to each moment at which the
    /// shares are recorded, and up to the end of each window.
    fn play_in_parts(&mut self, rows: Rows<'_>, late: &mut LateRows<'_>) -> Result<(), ClassError> {
        let Self { learner, books, outcomes, .. } = self;
        outcomes.clear();
        let mut from = 0;
        while from < rows.len() {
            let rest = rows.slice(from..rows.len());
            let part = rest.slice(
                0..rest.until(books.until_next(learner.rounds())).min(late.until_asked(from)),
            );
            learner.play(part, late, books, outcomes)?;
            let ClassBooks { ledger, shares, windows, .. } = &mut *books;
            let classes = learner.classes();
            windows.iter_mut().for_each(|windows| windows.observe(ledger, part, classes));
            if let Some(judge) = learner.judge() {
                ledger.mark(judge);
            }
            let rounds = learner.rounds();
            shares.iter_mut().for_each(|shares| shares.look(rounds, || learner.experts()));
            from += part.len();
        }
        Ok(())
    }

    /// Counts the weights of classes and mistakes. Mistakes bound the risk where examples are drawn
    /// alike, so none may count more than another.
    fn count(&mut self, rows: Rows<'_>) {
        let ClassBooks { mistakes, card, .. } = &mut self.books;
        let counts_alike = |one: &Importance| one.is_zero() || *one == Importance::ONE;
        if !rows.importances().iter().all(counts_alike) {
            *mistakes = None;
        }
        for (example, outcome) in rows.iter().zip(&self.outcomes) {
            if example.importance.is_zero() {
                continue;
            }
            let (class, importance) = (example.label as u32, example.importance.get());
            card.observe(class, importance, outcome.predicted, outcome.loss);
            if let Some(mistakes) = mistakes {
                mistakes.observe(f64::from(u8::from(outcome.predicted != Some(class))));
            }
        }
    }

    /// Sets the record of everything that was seen, where the caller has counted.
    pub fn saw(&mut self, seen: Seen) {
        self.seen = seen;
    }

    /// Judges the rounds from now on in these windows, or in none. Windows of this run that were made
    /// before go on if they are given again.
    pub fn set_windows(&mut self, windows: Option<ClassWindows>) {
        self.books.windows = windows;
    }

    /// The windows, if there are some.
    pub fn windows(&self) -> Option<&ClassWindows> {
        self.books.windows.as_ref()
    }

    /// The outcomes of the rows that were learned from last.
    pub fn outcomes(&self) -> &[ClassOutcome] {
        &self.outcomes
    }

    /// The probability of every class for an example, by number, and the probability of a class
    /// that has not been seen. They add up to 1. `None` if the learner has no probabilities.
    pub fn probabilities(&self, x: &Features<'_>) -> Option<(Vec<f64>, f64)> {
        let mut buffer = FoundFeatures::default();
        let found = self.books.ledger.cells().find(x, &mut buffer);
        self.learner.probabilities(&found, x.len() - found.len())
    }

    /// The score of every class for an example, by number: ln of the probability, or w·x where the
    /// learner has no probabilities.
    pub fn scores(&self, x: &Features<'_>) -> Vec<f64> {
        let mut buffer = FoundFeatures::default();
        let found = self.books.ledger.cells().find(x, &mut buffer);
        self.learner.scores(&found, x.len() - found.len())
    }

    /// The amounts that the features of an example add to what the learner says of a class, in the
    /// order of the features, and the rest. This is ln(p/(1 − p)) of its probability p, or its
    /// score where the learner has no probabilities. `None` if the class was not seen.
    pub fn contributions(&self, x: &Features<'_>, class: u32) -> Option<(Vec<f64>, f64)> {
        let mut buffer = FoundFeatures::default();
        let cells = self.books.ledger.cells();
        let (of_known, rest) = self.learner.contributions(&cells.find(x, &mut buffer), class)?;
        let mut of_known = of_known.into_iter();
        let of = |&index: &u32| cells.cell(index).and_then(|_| of_known.next()).unwrap_or(0.0);
        Some((x.indices().iter().map(of).collect(), rest))
    }

    /// One more than the largest number of a class that was learned from.
    pub fn classes(&self) -> u32 {
        self.learner.classes()
    }

    /// The weights for the score of a class, in the order of the indices of the features that were
    /// seen. The bank mixes many predictors and is not linear: its weights are those of the mixture
    /// now. `None` if the class was not seen.
    pub fn weights(&self, class: u32) -> Option<Vec<(u32, f64)>> {
        self.learner.weights(class).map(|weights| self.books.ledger.cells().by_feature(&weights))
    }

    /// The state of the run now, with the testimonies of all witnesses.
    pub fn point(&self) -> CurvePoint {
        self.books.ledger.point(self.learner.judge())
    }

    /// A proved lower bound on the total loss of every comparator.
    pub fn floor(&self) -> Option<f64> {
        self.task.comparators.radius().map(|radius| self.point().floor(radius))
    }

    /// The report on the run so far.
    pub fn report(&self) -> Report {
        Report::of_classes(self)
    }

    /// The rungs above the exact regret.
    pub(super) fn ladder(&self) -> Ladder {
        let promise = match self.books.late {
            0 => self.learner.promise(self.books.ledger.comparators()),
            late => Promise::none(late_reason(late)),
        };
        self.books.ledger.ladder(promise, self.learner.judge())
    }

    /// The points of the curve.
    pub(super) fn curve(&self) -> Vec<CurvePoint> {
        self.books.ledger.curve(self.learner.judge())
    }

    /// The shares of the learners that are mixed, over time. `None` where none are mixed.
    pub fn shares(&self) -> Option<SharesReport> {
        let (rounds, experts) = (self.learner.rounds(), self.learner.experts());
        self.books.shares.as_ref().map(|shares| shares.report(rounds, &experts))
    }

    /// The learners that are mixed. Empty without a mixture.
    pub(super) fn experts(&self) -> Vec<Expert> {
        self.learner.experts()
    }

    pub(super) fn learner(&self) -> &ClassLearner {
        &self.learner
    }

    pub(super) fn books(&self) -> &ClassBooks {
        &self.books
    }

    /// The task.
    pub fn task(&self) -> &ClassTask {
        &self.task
    }

    /// The ledger.
    pub fn ledger(&self) -> &ClassLedger {
        &self.books.ledger
    }

    /// The weights of classes and mistakes.
    pub fn card(&self) -> &ClassCard {
        &self.books.card
    }

    /// The record of what was seen. Its labels are the names of the classes, by number.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }

    /// The name of a class. It is its number if nobody told the name.
    pub fn name_of(&self, class: u32) -> String {
        let known = self.seen.labels.counts.get(class as usize);
        known.map_or_else(|| class.to_string(), |(label, _)| label.clone())
    }
}

/// Refuses what was not said of these rows.
fn check_late(rows: Rows<'_>, late: &Late<'_, ClassSaid>) -> Result<(), RunError> {
    let is_row = |row: usize| row < rows.len();
    let is_said = |(row, said): &(usize, ClassSaid)| is_row(*row) && said.is_sound();
    let are_asked = late.asked.is_sorted_by(|one, next| one < next)
        && late.asked.iter().all(|&row| is_row(row) && rows.get(row).importance.is_zero());
    let are_answered =
        late.answered.is_sorted_by(|one, next| one.0 < next.0) && late.answered.iter().all(is_said);
    if are_asked && are_answered { Ok(()) } else { Err(RunError::NotSaid) }
}

/// Refuses rows with labels that are not numbers of classes.
fn check(rows: Rows<'_>) -> Result<(), ClassError> {
    for (row, &label) in rows.labels().iter().enumerate() {
        rueful_core::classes::class_of(label).ok_or(ClassError::Label { row, label })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes::ClassLoss;
    use crate::{DataSpec, Settings};
    use rueful_core::Batch;

    pub(crate) fn task(loss: &str) -> ClassTask {
        let loss = ClassLoss::named(loss).unwrap();
        let data = DataSpec::libsvm("");
        Settings::default().resolve_classes(loss, data).unwrap().task()
    }

    /// Rows with near and far features. Some rows have importance 0, and classes come late.
    fn batch(from: u32, to: u32) -> Batch {
        let mut batch = Batch::default();
        for t in from..to {
            let values = [1.0, 0.5 + (t % 7) as f32, -((t % 5) as f32) - 1.0];
            let class = f64::from(t * t % 7 % (1 + t / 9));
            let importance = Importance::new(f64::from(t % 4)).unwrap();
            let indices = [0, 1 + t % 9, 1_000_000 + 7919 * (t % 11)];
            batch.push_weighted(&indices, &values, class, importance).unwrap();
        }
        batch
    }

    #[test]
    fn how_rows_come_in_makes_no_difference() {
        for loss in ClassLoss::NAMES {
            let whole = batch(0, 80);
            let mut at_once = ClassRun::new(task(loss)).unwrap();
            let outcomes = at_once.learn(whole.rows()).unwrap().to_vec();
            let mut one_by_one = ClassRun::new(task(loss)).unwrap();
            for (row, &expected) in outcomes.iter().enumerate() {
                let part = whole.rows().slice(row..row + 1);
                assert_eq!(one_by_one.learn(part).unwrap()[0], expected, "{loss} {row}");
            }
            assert_eq!(one_by_one.report(), at_once.report(), "{loss}");
            assert_eq!(one_by_one.shares(), at_once.shares(), "{loss}");
            assert_eq!(at_once.report().examples, 60, "idle rows are none");
            let x = whole.get(3).features;
            assert_eq!(one_by_one.scores(&x), at_once.scores(&x));
        }
    }

    #[test]
    fn contributions_add_up_to_what_is_said_of_a_class() {
        for loss in ClassLoss::NAMES {
            let rows = batch(0, 80);
            let mut run = ClassRun::new(task(loss)).unwrap();
            run.learn(rows.rows()).unwrap();
            let x = rows.get(5).features;
            let (added, rest) = run.contributions(&x, 1).unwrap();
            let said = match run.probabilities(&x) {
                Some((shares, _)) => (shares[1] / (1.0 - shares[1])).ln(),
                None => run.scores(&x)[1],
            };
            assert!((added.iter().sum::<f64>() + rest - said).abs() < 1e-6, "{loss}");
            assert_eq!(run.contributions(&x, 99), None);
            assert_eq!((run.weights(99), run.weights(1).unwrap().len()), (None, 21));
        }
    }

    #[test]
    fn scores_of_descent_are_those_of_its_weights() {
        let (mut run, rows) = (ClassRun::new(task("multiclass-hinge")).unwrap(), batch(0, 80));
        run.learn(rows.rows()).unwrap();
        let x = rows.get(5).features;
        for (class, score) in (0..run.classes()).zip(run.scores(&x)) {
            let weights = run.weights(class).unwrap();
            let of = |index: u32| weights.iter().find(|(own, _)| *own == index).unwrap().1;
            let sum: f64 = x.iter().map(|(index, value)| of(index as u32) * value).sum();
            assert!((sum - score).abs() < 1e-9, "{sum} {score}");
        }
    }

    #[test]
    fn labels_are_checked_before_anything_is_learned() {
        let mut run = ClassRun::new(task("softmax")).unwrap();
        let mut rows = batch(0, 3);
        rows.push(&[0], &[1.0], 0.5).unwrap();
        let error = run.learn(rows.rows()).map(<[_]>::len).unwrap_err().to_string();
        assert!(error.starts_with("row 3 has the label 0.5"), "{error}");
        assert_eq!(run.ledger().rounds(), 0);
    }
}
