//! A run: it takes rows, returns rounds, and can report on them at any moment.

mod books;
mod parts;

pub(crate) use parts::PartOf;

use crate::dispatch::{SavedLearner, build};
use crate::jury::Jury;
use crate::report::Report;
use crate::shares::{Shares, SharesReport};
use crate::spec::SpecError;
use crate::task::Task;
use books::Books;
use rueful_core::classes::ClassError;
use rueful_core::figures::Scorecard;
use rueful_core::learner::{Learner, MergeError};
use rueful_core::ledger::{CurvePoint, Testimony};
use rueful_core::loss::{AnyLoss, Labels};
use rueful_core::{
    Features, FoundFeatures, Ladder, Ledger, LedgerError, Promise, RiskBound, Round, Rows,
};
use rueful_data::Seen;
use thiserror::Error;

/// A run under way: a task, a learner, the ledger of its rounds, and a record of what was seen. It
/// takes rows and does not know where they come from. Files are one way among others. It can be
/// sent to another thread, read by several at once, and cloned for a snapshot.
///
/// ```
/// use rueful_core::{Batch, Positive, learner, loss::Hinge, set::Ball};
/// use rueful_run::{DataSpec, Run, Settings};
///
/// let spec = Settings::default().resolve(DataSpec::libsvm(""), &mut |_| Ok(Default::default()))?.spec;
/// let mut run = Run::new(spec.task())?;
/// let mut rows = Batch::default();
/// rows.push(&[0, 3], &[1.0, 0.5], 1.0)?;
/// let rounds = run.learn(rows.rows())?;
/// assert_eq!((rounds[0].prediction, rounds[0].value), (0.0, 1.0)); // before it was learned from
/// assert_eq!(run.report().examples, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Run {
    task: Task,
    learner: Box<dyn SavedLearner>,
    ledger: Ledger,
    jury: Option<Jury>,
    /// The mistakes of a run that classifies, as long as all examples count alike.
    mistakes: Option<RiskBound>,
    /// The figures of the rounds that are in the ledger.
    card: Scorecard,
    /// The shares of the learners that are mixed, if some are.
    shares: Option<Shares>,
    seen: Seen,
    /// The number of rounds in the ledger that other learners have played.
    others: u64,
    /// The number of rounds whose prediction was made before earlier labels had come.
    late: u64,
    /// The run of which this is a part, if it is one.
    part_of: Option<PartOf>,
    /// The reason why the run cannot go on, once it cannot.
    diverged: Option<LedgerError>,
    /// Whether the census has all features that were seen, if that is known.
    are_counted: Option<bool>,
    /// The rounds of the last rows and of a part of them, and the cells of their features.
    rounds: Vec<Round>,
    part: Vec<Round>,
    cells: Vec<u32>,
}

/// The parts of a run with which it proves its bounds.
pub(crate) struct Proofs {
    pub(crate) ledger: Ledger,
    pub(crate) jury: Option<Jury>,
    pub(crate) mistakes: Option<RiskBound>,
    pub(crate) card: Scorecard,
    pub(crate) others: u64,
    pub(crate) late: u64,
    pub(crate) shares: Option<Shares>,
}

/// The reason why a run cannot go on.
#[derive(Debug, Error)]
pub enum RunError {
    /// The weights are no longer finite.
    #[error("the run diverged: {what}; {advice}")]
    Diverged {
        /// The error by which this was noticed.
        what: LedgerError,
        /// Advice that keeps such a learner finite.
        advice: &'static str,
    },
    /// The loss does not understand a label. Nothing was learned from its rows.
    #[error("row {row} has the label {label:e}, expected {}", expected.expected())]
    Label {
        /// The row, counted from 0.
        row: usize,
        /// The label y_t.
        label: f64,
        /// The labels that the loss takes.
        expected: Labels,
    },
    /// A label is not the number of a class. Nothing was learned from its rows.
    #[error(transparent)]
    Class(#[from] ClassError),
    /// The predictions for rows whose labels came late are none.
    #[error(
        "the predictions that were made earlier must be finite, each with its row, in increasing \
         order of the rows"
    )]
    NotSaid,
    /// Labels may not come late, because weights are charged as well as predictions.
    #[error(
        "a label that comes late charges the prediction that was made, and with sigma above 0 the \
         weights are charged too, which have changed since: choose a learner without sigma"
    )]
    LatePenalty,
    /// Two runs do not belong together.
    #[error("runs of different tasks cannot be merged: {0}")]
    DifferentTask(&'static str),
    /// The learner is none whose weights can be merged.
    #[error(
        "parts that learned side by side are merged for the bank alone: the weights of the learner \
         {0} cannot be merged"
    )]
    CannotMerge(&'static str),
    /// The learners of parts cannot be merged.
    #[error(transparent)]
    Merge(#[from] MergeError),
}

impl Run {
    /// A run that has seen nothing.
    pub fn new(task: Task) -> Result<Self, SpecError> {
        let learner = build(&task)?;
        let ledger = task.ledger().pinning(learner.named_coordinates());
        let (jury, mistakes) = (Jury::new(&task), task.mistakes());
        let card = task.scorecard();
        let shares = (!learner.experts().is_empty()).then(Shares::new);
        Ok(Self::restored(
            task,
            learner,
            Proofs { ledger, jury, mistakes, card, others: 0, late: 0, shares },
            Seen::default(),
        ))
    }

    /// A run that was saved.
    pub(crate) fn restored(
        task: Task,
        learner: Box<dyn SavedLearner>,
        proofs: Proofs,
        seen: Seen,
    ) -> Self {
        let Proofs { ledger, jury, mistakes, card, others, late, shares } = proofs;
        Self {
            task,
            learner,
            ledger,
            jury,
            mistakes,
            card,
            shares,
            seen,
            others,
            late,
            part_of: None,
            diverged: None,
            are_counted: None,
            rounds: Vec::new(),
            part: Vec::new(),
            cells: Vec::new(),
        }
    }

    /// Learns from some rows, and returns a round for each. A row of importance 0 is predicted, but
    /// does not count.
    pub fn learn(&mut self, rows: Rows<'_>) -> Result<&[Round], RunError> {
        let cells = self.ledger.cells();
        let census = &self.seen.census;
        let all_counted = || cells.features().into_iter().all(|feature| census.has(feature));
        let are_counted = self.are_counted.unwrap_or_else(all_counted);
        self.learn_counted(rows)?;
        // Where the census has all features that were seen, only new ones are news for it.
        if are_counted {
            self.seen.census.count_new(rows, self.ledger.cells().latest());
        } else {
            self.seen.census.count(rows);
        }
        self.are_counted = Some(are_counted);
        Ok(&self.rounds)
    }

    /// Like [`learn`](Self::learn), for a caller that counts the rows it reads and tells the run
    /// what was [`seen`](Self::saw).
    pub fn learn_counted(&mut self, rows: Rows<'_>) -> Result<&[Round], RunError> {
        self.learn_late(rows, &[])
    }

    /// Like [`learn_counted`](Self::learn_counted), where labels have come later than their rows.
    /// `said` has such rows, in increasing order, with the prediction that was made for each. The
    /// learner learns from them as it is now. The books charge it for the prediction that was made,
    /// so the certificate speaks of that one.
    ///
    /// ```
    /// use rueful_core::{Batch, loss::Logistic};
    /// use rueful_run::{DataSpec, Run, Settings};
    ///
    /// let spec = Settings::default().resolve(DataSpec::libsvm(""), &mut |_| Ok(Default::default()))?.spec;
    /// let mut run = Run::new(spec.task())?;
    /// let mut rows = Batch::default();
    /// rows.push(&[0, 3], &[1.0, 0.5], 1.0)?;
    /// let said = run.predict(&rows.get(0).features); // now
    /// run.learn(rows.rows())?; // other labels come first
    /// let rounds = run.learn_late(rows.rows(), &[(0, said)])?;
    /// assert_eq!(rounds[0].prediction, said);
    /// assert_ne!(run.predict(&rows.get(0).features), said);
    /// assert!(run.report().bound.theorem.is_none()); // it is about predictions made in turn
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn learn_late(
        &mut self,
        rows: Rows<'_>,
        said: &[(usize, f64)],
    ) -> Result<&[Round], RunError> {
        self.check(rows)?;
        self.check_said(rows, said)?;
        self.are_counted = None;
        let mut cells = std::mem::take(&mut self.cells);
        let entered = self.ledger.enter(rows, &mut cells);
        let played = if self.jury.is_some() || self.shares.is_some() {
            self.play_in_parts(entered, said)
        } else {
            self.play(entered, said)
        };
        self.cells = cells;
        played.map_err(|what| {
            self.diverged = Some(what);
            self.divergence(what)
        })?;
        if !said.is_empty() {
            let counts = |&&(row, _): &&(usize, f64)| !rows.get(row).importance.is_zero();
            self.late += said.iter().filter(counts).count() as u64;
            // When a label comes may depend on the label, so the examples are no fair draws.
            self.mistakes = None;
        }
        Ok(&self.rounds)
    }

    /// Plays up to each point of the curve, where witnesses can speak, and up to each moment at
    /// which the shares are recorded.
    fn play_in_parts(&mut self, rows: Rows<'_>, said: &[(usize, f64)]) -> Result<(), LedgerError> {
        let before = self.ledger.rounds();
        let played = self.play_each_part(rows, said);
        // If a run diverges, the ledger has the rounds before that.
        let taken = rows.slice(0..rows.until(self.ledger.rounds() - before));
        let Self { ledger, card, mistakes, rounds, .. } = self;
        Books { ledger, card, mistakes }.count(taken, rounds);
        played
    }

    fn play_each_part(&mut self, rows: Rows<'_>, said: &[(usize, f64)]) -> Result<(), LedgerError> {
        self.rounds.clear();
        let mut from = 0;
        while from < rows.len() {
            let rest = rows.slice(from..rows.len());
            let part = rest.slice(0..rest.until(self.until_next()));
            self.learner.learn_rows(part, &mut self.part);
            charge(&self.task.loss, part, &mut self.part, from, said);
            self.rounds.extend_from_slice(&self.part);
            self.ledger.record_entered(part, &self.part)?;
            self.jury.iter_mut().for_each(|jury| jury.observe(part));
            if self.ledger.is_at_mark() {
                let witnesses = self.witnesses();
                self.ledger.hear(&witnesses);
            }
            let (rounds, learner) = (self.learner.rounds(), &self.learner);
            self.shares.iter_mut().for_each(|shares| shares.look(rounds, || learner.experts()));
            from += part.len();
        }
        Ok(())
    }

    /// The number of rounds until the next point of the curve or the next record of shares.
    fn until_next(&self) -> u64 {
        let until_share = |shares: &Shares| shares.until_next(self.learner.rounds());
        let until_share = self.shares.as_ref().map_or(u64::MAX, until_share);
        self.ledger.until_mark().min(until_share)
    }

    /// The shares of the learners that are mixed, over time. `None` where none are mixed.
    pub fn shares(&self) -> Option<SharesReport> {
        let report =
            |shares: &Shares| shares.report(self.learner.rounds(), &self.learner.experts());
        self.shares.as_ref().map(report)
    }

    pub(crate) fn saved_shares(&self) -> Option<&Shares> {
        self.shares.as_ref()
    }

    /// The mistakes of a run that classifies, if they bound its risk.
    pub fn mistakes(&self) -> Option<&RiskBound> {
        self.mistakes.as_ref()
    }

    /// The figures of the rounds in the ledger.
    pub fn scorecard(&self) -> &Scorecard {
        &self.card
    }

    /// The testimonies of the judge's witnesses and of the learner's own witnesses about the
    /// comparators. The learner's predictions are not among them. Empty where nobody judges.
    pub fn witnesses(&self) -> Vec<Testimony> {
        if self.part_of.is_some() {
            // The witnesses speak of the whole stream, and these books are about a part of it.
            return Vec::new();
        }
        let of = |jury: &Jury| jury.testify(&*self.learner, &self.ledger);
        self.jury.as_ref().map_or_else(Vec::new, of)
    }

    /// The same testimonies for comparators of every radius.
    fn witnesses_for_all(&self) -> Vec<Testimony> {
        if self.part_of.is_some() {
            return Vec::new();
        }
        let of = |jury: &Jury| jury.testify_for_all(&*self.learner, &self.ledger);
        self.jury.as_ref().map_or_else(Vec::new, of)
    }

    /// The state of the run now, with the testimonies of all witnesses.
    pub fn point(&self) -> CurvePoint {
        self.ledger.point(&self.witnesses_for_all())
    }

    /// The best lower bound on the total loss of every comparator.
    pub fn floor(&self) -> f64 {
        self.floor_hearing(&self.witnesses())
    }

    /// The best lower bound with these witnesses of all rounds so far.
    pub(crate) fn floor_hearing(&self, witnesses: &[Testimony]) -> f64 {
        let own = self.ledger.floor(&self.task.comparators);
        witnesses.iter().map(Testimony::floor).fold(own, f64::max)
    }

    /// This run before its first round, without a jury. The caller judges and lets it
    /// [`hear`](Self::hear) the witnesses.
    pub(crate) fn judged_elsewhere(mut self) -> Self {
        (self.jury, self.shares) = (None, None);
        self
    }

    /// Lets witnesses of all rounds so far add to the latest point of the curve, if it is of these
    /// rounds.
    pub(crate) fn hear(&mut self, witnesses: &[Testimony]) {
        if self.ledger.is_at_mark() {
            self.ledger.hear(witnesses);
        }
    }

    fn check(&self, rows: Rows<'_>) -> Result<(), RunError> {
        if let Some(what) = self.diverged {
            return Err(self.divergence(what));
        }
        let expected = self.task.loss.labels();
        let labels = rows.labels();
        if expected.accept_all(labels) {
            return Ok(());
        }
        match labels.iter().position(|&label| !expected.accept(label)) {
            None => Ok(()),
            Some(row) => Err(RunError::Label { row, label: labels[row], expected }),
        }
    }

    /// Refuses predictions that were not made, and learners whose loss is not that of a prediction.
    fn check_said(&self, rows: Rows<'_>, said: &[(usize, f64)]) -> Result<(), RunError> {
        if said.is_empty() {
            return Ok(());
        }
        self.task.check_late()?;
        let is_said =
            |&(row, prediction): &(usize, f64)| row < rows.len() && prediction.is_finite();
        if said.iter().all(is_said) && said.is_sorted_by(|one, next| one.0 < next.0) {
            return Ok(());
        }
        Err(RunError::NotSaid)
    }

    fn divergence(&self, what: LedgerError) -> RunError {
        RunError::Diverged { what, advice: self.task.learner.advice() }
    }

    /// Whether the weights are no longer finite. Then the run learns no more, and its report is
    /// about the rounds before that.
    pub fn is_diverged(&self) -> bool {
        self.diverged.is_some()
    }

    /// The reason why it learns no more, if it does not.
    pub(crate) fn trouble(&self) -> Option<RunError> {
        self.diverged.map(|what| self.divergence(what))
    }

    /// Sets the record of everything that was seen, where the caller has counted.
    pub fn saw(&mut self, seen: Seen) {
        self.seen = seen;
        self.are_counted = None;
    }

    /// The rounds of the rows that were learned from last.
    pub fn rounds(&self) -> &[Round] {
        &self.rounds
    }

    /// The rows that were learned from last, with the cells of the ledger for their features. They
    /// are for callers that keep a ledger of a part of the rounds.
    pub fn entered<'a>(&'a self, last: Rows<'a>) -> Rows<'a> {
        self.ledger.cells().entered(last, &self.cells)
    }

    /// w·x for an example that is not learned from. Features that were not seen have weight 0.
    pub fn predict(&self, x: &Features<'_>) -> f64 {
        let mut buffer = FoundFeatures::default();
        let found = self.ledger.cells().find(x, &mut buffer);
        self.learner.predict_beside(&found, x.len() - found.len())
    }

    /// Predicts some rows, whose labels make no difference. The predictions, one for each row,
    /// replace the content of `predictions`.
    pub fn predict_rows(&self, rows: Rows<'_>, predictions: &mut Vec<f64>) {
        let mut buffer = FoundFeatures::default();
        predictions.clear();
        predictions.extend(rows.iter().map(|example| {
            let x = &example.features;
            let found = self.ledger.cells().find(x, &mut buffer);
            self.learner.predict_beside(&found, x.len() - found.len())
        }));
    }

    /// The amount that each feature of an example adds to its prediction, in the order of the
    /// features, and the rest. The rest is 0 where the prediction is linear.
    pub fn contributions(&self, x: &Features<'_>) -> (Vec<f64>, f64) {
        let mut buffer = FoundFeatures::default();
        let cells = self.ledger.cells();
        let mut of_known = self.learner.contributions(&cells.find(x, &mut buffer)).into_iter();
        let of = |&index: &u32| cells.cell(index).and_then(|_| of_known.next()).unwrap_or(0.0);
        let all: Vec<f64> = x.indices().iter().map(of).collect();
        let is_linear = of_known.next().is_none();
        let rest = if is_linear { 0.0 } else { self.predict(x) - all.iter().sum::<f64>() };
        (all, rest)
    }

    /// The weights of the features that were seen, in the order of their indices.
    pub fn weights(&self) -> Vec<(u32, f64)> {
        self.ledger.cells().by_feature(&self.learner.weights())
    }

    /// The bounds of the learner's theorem for the rounds in the ledger.
    fn promise(&self) -> Promise {
        if self.part_of.is_some() {
            return Promise::none("this is a part of a run, and the theorem is about the whole");
        }
        if self.late > 0 {
            return Promise::none(late_reason(self.late));
        }
        if self.others > 0 {
            return Promise::none(format!(
                "{} of the rounds were played by other learners, and the theorem is about one",
                self.others
            ));
        }
        // The theorem of such a learner bounds the certificate of its witnesses, and not the one of
        // its own predictions alone.
        if self.task.learner.has_witnesses() && !self.task.is_judged() {
            return Promise::none("the theorem is about the learner's witnesses, and none judges");
        }
        self.learner.promise(self.ledger.comparators(), self.ledger.coordinates())
    }

    /// The report on the run so far.
    pub fn report(&self) -> Report {
        self.report_hearing(&self.witnesses_for_all())
    }

    /// The report on the run so far, with these witnesses of all rounds.
    pub(crate) fn report_hearing(&self, witnesses: &[Testimony]) -> Report {
        let point = self.ledger.point(witnesses);
        let slack = self.ledger.slack(&self.task.comparators, self.ledger.coordinates());
        let certificate = point.certificate_total();
        let ladder = Ladder::new(self.ledger.rounds(), certificate, slack, self.promise());
        Report::new(self, &ladder, &point, &self.ledger.curve_with(witnesses))
    }

    /// Takes in the ledger of a run of the same task that learned from other rows, on another
    /// thread or machine. The certificate then holds for the predictions of both. The weights stay
    /// this run's own, its theorem no longer applies, and the curve is that of the rounds before.
    pub fn merge(&mut self, other: &Self) -> Result<(), RunError> {
        if self.task != other.task {
            return Err(RunError::DifferentTask("they are described differently"));
        }
        let Ok(places) = self.ledger.merge(&other.ledger) else {
            return Err(RunError::DifferentTask("their ledgers do not go together"));
        };
        if let (Some(own), Some(theirs)) = (&mut self.jury, &other.jury) {
            own.merge(theirs, &*other.learner, &places);
        }
        // There may be new cells, and the learner must have them.
        self.learner.grow(self.ledger.cells().len());
        self.seen.extend(&other.seen);
        self.are_counted = None;
        self.others += other.ledger.rounds();
        self.late += other.late;
        self.mistakes = None;
        self.card.merge(&other.card);
        Ok(())
    }

    /// The task.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// The learner. Its features are cells of the ledger.
    pub fn learner(&self) -> &dyn Learner {
        &*self.learner
    }

    pub(crate) fn jury(&self) -> Option<&Jury> {
        self.jury.as_ref()
    }

    pub(crate) fn saved_learner(&self) -> &dyn SavedLearner {
        &*self.learner
    }

    /// The ledger.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The record of what was seen.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }

    /// The number of rounds whose prediction was made before earlier labels had come.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// The number of rounds in the ledger that other learners have played.
    pub fn others(&self) -> u64 {
        self.others
    }
}

/// The reason why there is no theorem, where labels came late.
pub(crate) fn late_reason(late: u64) -> String {
    format!(
        "{late} of the predictions were made before earlier labels had come, and the theorem is \
         about predictions that are made in turn"
    )
}

/// Charges rounds for predictions that were made earlier. `from` is the number of rows before these.
fn charge(
    loss: &AnyLoss,
    rows: Rows<'_>,
    rounds: &mut [Round],
    from: usize,
    said: &[(usize, f64)],
) {
    let first = said.partition_point(|&(row, _)| row < from);
    for &(row, prediction) in said[first..].iter().take_while(|said| said.0 < from + rows.len()) {
        let example = rows.get(row - from);
        rounds[row - from] = match example.importance.is_zero() {
            true => Round::idle(prediction),
            false => Round::on(loss, prediction, &example),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataSpec, LearnerSpec, Settings};
    use rueful_core::{Batch, Importance};
    use rueful_data::{Census, Survey};

    fn task(learner: &str) -> Task {
        let settings = Settings { learner: Some(learner.to_owned()), ..Settings::default() };
        let survey = Survey { examples: 1000, weighted_norm_max: 9.0, ..Survey::default() };
        settings.resolve(DataSpec::libsvm(""), &mut |_| Ok(survey)).unwrap().spec.task()
    }

    /// Rows with near and far features. Some rows have importance 0.
    fn batch(from: u32, to: u32) -> Batch {
        let mut batch = Batch::default();
        for t in from..to {
            let values = [1.0, 0.5 + (t % 7) as f32, -((t % 5) as f32) - 1.0];
            let label = if t % 3 == 0 { 1.0 } else { -1.0 };
            let importance = Importance::new(f64::from(t % 4)).unwrap();
            let indices = [0, 1 + t % 9, 1_000_000 + 7919 * (t % 11)];
            batch.push_weighted(&indices, &values, label, importance).unwrap();
        }
        batch
    }

    #[test]
    fn a_run_goes_to_other_threads_and_is_read_by_several() {
        fn check<T: Send + Sync + Clone + 'static>() {}
        check::<Run>();
    }

    #[test]
    fn how_rows_come_in_makes_no_difference() {
        for learner in LearnerSpec::NAMES {
            let whole = batch(0, 60);
            let mut at_once = Run::new(task(learner)).unwrap();
            let rounds = at_once.learn(whole.rows()).unwrap().to_vec();
            let mut predicted = vec![7.0];
            at_once.predict_rows(whole.rows(), &mut predicted);
            let singly: Vec<f64> =
                whole.iter().map(|example| at_once.predict(&example.features)).collect();
            assert_eq!(predicted, singly, "{learner}");
            let mut one_by_one = Run::new(task(learner)).unwrap();
            for (row, &expected) in rounds.iter().enumerate() {
                let before = one_by_one.predict(&whole.get(row).features);
                let round = one_by_one.learn(whole.rows().slice(row..row + 1)).unwrap()[0];
                assert_eq!((round, before), (expected, expected.prediction), "{learner}");
            }
            assert_eq!(one_by_one.report(), at_once.report(), "{learner}");
            assert_eq!(one_by_one.weights(), at_once.weights(), "{learner}");
            assert_eq!(at_once.report().examples, 45, "idle rows are none");
        }
    }

    #[test]
    fn a_clone_stays_what_it_was() {
        let mut run = Run::new(task("ogd")).unwrap();
        run.learn(batch(0, 20).rows()).unwrap();
        let snapshot = run.clone();
        let weights = snapshot.weights();
        run.learn(batch(20, 40).rows()).unwrap();
        assert_eq!(snapshot.weights(), weights);
        assert_ne!(run.weights(), weights);
    }

    #[test]
    fn merged_books_are_those_of_all_rounds() {
        let (mut front, mut back) =
            (Run::new(task("ogd")).unwrap(), Run::new(task("ogd")).unwrap());
        front.learn(batch(0, 30).rows()).unwrap();
        back.learn(batch(30, 60).rows()).unwrap();
        let expected = front.ledger().loss() + back.ledger().loss();
        let rounds = front.ledger().rounds() + back.ledger().rounds();
        front.merge(&back).unwrap();
        assert_eq!(front.ledger().rounds(), rounds);
        assert!((front.ledger().loss() - expected).abs() < 1e-12 * expected);
        let report = front.report();
        assert!(report.certificate.is_some() && report.bound.theorem.is_none());
        assert!(report.bound.why.is_some_and(|why| why.contains("other learners")));
        assert!(front.learn(batch(60, 70).rows()).is_ok());
        let other = Run::new(task("erm")).unwrap();
        assert!(matches!(front.merge(&other), Err(RunError::DifferentTask(_))));
    }

    #[test]
    fn a_run_that_diverged_knows_it() {
        let settings = Settings {
            learner: Some("strongly-convex-ogd".to_owned()),
            loss: Some("square".to_owned()),
            sigma: Some(1e-90),
            ..Settings::default()
        };
        let resolved = settings.resolve(DataSpec::libsvm(""), &mut |_| Ok(Survey::default()));
        let mut run = Run::new(resolved.unwrap().spec.task()).unwrap();
        let mut rows = Batch::default();
        (0..9).for_each(|_| rows.push(&[0], &[1e30], 1.0).unwrap());
        assert!(matches!(run.learn(rows.rows()), Err(RunError::Diverged { .. })));
        assert!(run.is_diverged());
        let rounds = run.ledger().rounds();
        assert!(rounds < 9 && run.report().examples == rounds);
        rows.clear();
        rows.push(&[0], &[1.0], 1.0).unwrap();
        assert!(matches!(run.learn(rows.rows()), Err(RunError::Diverged { .. })));
        assert_eq!(run.ledger().rounds(), rounds);
    }

    #[test]
    fn labels_are_checked_before_anything_is_learned() {
        let mut run = Run::new(task("ogd")).unwrap();
        let mut rows = batch(0, 3);
        rows.push(&[0], &[1.0], 0.5).unwrap();
        let error = run.learn(rows.rows()).map(<[Round]>::len).unwrap_err().to_string();
        assert_eq!(error, "row 3 has the label 5e-1, expected -1 or +1");
        assert_eq!(run.ledger().rounds(), 0);
    }

    /// Rows whose features are known to the cells need not be looked at again, unless somebody else
    /// should have counted them.
    #[test]
    fn the_census_is_that_of_all_rows_that_it_was_given() {
        for learner in ["ogd", "bank"] {
            let (mut run, mut census) = (Run::new(task(learner)).unwrap(), Census::default());
            let mut learn = |run: &mut Run, rows: &Batch| {
                run.learn(rows.rows()).unwrap();
                census.count(rows.rows());
                assert_eq!(run.seen().census, census, "{learner}");
            };
            for (from, to) in [(0, 3), (3, 40), (10, 30), (40, 41)] {
                learn(&mut run, &batch(from, to));
            }
            let mut new = Batch::default();
            new.push(&[77, 40_000_000], &[1.0, 2.0], 1.0).unwrap();
            run.learn_counted(new.rows()).unwrap();
            learn(&mut run, &new);
            let Ok(mut part) = run.part() else { continue };
            let mut census = Census::default();
            for _ in 0..2 {
                part.learn(new.rows()).unwrap();
                census.count(new.rows());
                assert_eq!(part.seen().census, census);
            }
        }
    }
}
