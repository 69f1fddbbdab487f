//! The windows of a stream of many classes, each of which is judged alone.
//!
//! They follow the rules of [`Windows`](crate::Windows). A window is told of every round while it is
//! played, because the probabilities of a round are not kept.

use super::ClassLoss;
use super::card::ClassCard;
use crate::alarm::{StoredRows, WindowSolver};
use crate::figures::FiguresReport;
use crate::hindsight::Interval;
use crate::windows::{SHORTEST, StoredReports, WINDOWS_MAX, WINDOWS_MIN, WindowReport, follow};
use rueful_core::classes::{ClassJudge, ClassLedger, ClassRound, ClassTally, HingeRound};
use rueful_core::{Example, Rows, Ruler};
use rueful_hindsight::Options;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// The number of sums that the tallies and witnesses of all windows may have, if nobody asked for a
/// length.
const NUMBERS_MAX: usize = 8 << 20;

/// The windows of a stream of many classes.
#[derive(Debug, Clone)]
pub struct ClassWindows {
    length: u64,
    is_fixed: bool,
    loss: ClassLoss,
    /// The stretch without rounds that every window begins as. Witnesses of a window begin with it.
    fresh: ClassStretch,
    /// The largest values of features up to the end of the window that is being filled, if comparators
    /// are measured by them.
    ruler: Option<Ruler>,
    /// One more than the largest class so far.
    classes: u32,
    open: ClassStretch,
    /// Full windows that may still be merged with their neighbours.
    loose: Vec<ClassStretch>,
    closed: Vec<WindowReport>,
    /// Present only if the length was asked for and windows are to be solved.
    solver: Option<WindowSolver>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct ClassStretch {
    /// The number of the round before its first round.
    after: u64,
    tally: ClassTally,
    card: ClassCard,
    judge: Option<ClassJudge>,
}

impl ClassStretch {
    fn end(&self) -> u64 {
        self.after + self.tally.rounds()
    }

    /// Adds the stretch that follows.
    fn merge(&mut self, next: &Self) {
        self.tally.merge(&next.tally);
        self.card.merge(&next.card);
        if let (Some(own), Some(theirs)) = (&mut self.judge, &next.judge) {
            own.merge(theirs);
        }
    }

    fn rearrange(&mut self, from: &[u32]) {
        self.tally.rearrange(from);
        self.judge.iter_mut().for_each(|judge| judge.rearrange(from));
    }

    fn report(&self, ledger: &ClassLedger, ruler: Option<&Ruler>, loss: ClassLoss) -> WindowReport {
        let point = ledger.point_measured(&self.tally, self.judge.as_ref(), ruler);
        let certificate = Some(point.certificate()).filter(|value| value.is_finite());
        let figures = FiguresReport::of_classes(&self.card, loss);
        WindowReport {
            from: self.after + 1,
            to: self.end(),
            examples: self.tally.rounds(),
            sequential_risk: self.tally.sequential_risk(),
            mistake_rate: Some(self.tally.mistakes() as f64 / self.tally.rounds().max(1) as f64),
            figures: figures.map_or_else(Default::default, |figures| figures.rates),
            certificate,
            beats_every_linear_predictor: certificate.is_some_and(|value| value < 0.0),
            regret: None,
        }
    }

    /// Whether this, which was read from a file, can be a later state of `fresh`.
    fn continues(&self, fresh: &Self, classes: usize) -> bool {
        let rounds = self.tally.rounds();
        let is_judged = match (&self.judge, &fresh.judge) {
            (None, None) => true,
            (Some(own), Some(fresh)) => own.continues(fresh, rounds),
            _ => false,
        };
        is_judged && self.tally.is_sound() && self.card.is_sound(rounds, classes)
    }
}

impl ClassWindows {
    /// Makes windows for the rounds that a ledger will record from now on. They have the given
    /// length, or one that follows the length of the stream.
    pub fn new(loss: ClassLoss, ledger: &ClassLedger, length: Option<NonZeroU64>) -> Self {
        let is_judged = loss == ClassLoss::Softmax {};
        let judge = is_judged.then(|| ClassJudge::new(ledger.comparators())).flatten();
        let (tally, card) = (ClassTally::new(), ClassCard::default());
        let fresh = ClassStretch { after: ledger.rounds(), tally, card, judge };
        Self {
            length: length.map_or(SHORTEST, NonZeroU64::get),
            is_fixed: length.is_some(),
            loss,
            ruler: ledger.ruler().cloned(),
            classes: 0,
            open: fresh.clone(),
            fresh,
            loose: Vec::new(),
            closed: Vec::new(),
            solver: None,
        }
    }

    /// Returns the same windows, each of which keeps its rows until it is full and is then solved for
    /// its best matrix of weights. If nobody asked for a length, windows are not solved, because they
    /// are merged later.
    #[must_use]
    pub fn solved(mut self, ledger: &ClassLedger, options: &Options) -> Self {
        let solver = self.solver.take();
        let fresh = || WindowSolver::new(ledger.comparators());
        self.solver = self.is_fixed.then(|| solver.unwrap_or_else(fresh).with(options));
        self
    }

    /// Returns the same windows, none of which is solved from now on.
    #[must_use]
    pub fn unsolved(mut self) -> Self {
        self.solver = None;
        self
    }

    /// Whether these windows can continue as windows of this length, solved or not.
    pub fn suit(&self, length: Option<NonZeroU64>, are_solved: bool) -> bool {
        let is_length = match length {
            Some(length) => self.is_fixed && self.length == length.get(),
            None => !self.is_fixed,
        };
        is_length && (!are_solved || self.solver.is_some())
    }

    /// Returns the windows that are full so far. There are none if nobody asked for a length.
    pub fn closed(&self) -> &[WindowReport] {
        &self.closed
    }

    /// How many rounds the open window still takes.
    pub(super) fn until_end(&self) -> u64 {
        self.length - self.open.tally.rounds()
    }

    /// Records a round, with the classes that were seen and the probability of each.
    pub(super) fn record(
        &mut self,
        example: &Example<'_>,
        round: &ClassRound,
        said: (&[u32], &[f64]),
    ) {
        self.open.tally.record(example, round, said);
        self.count(example, round.predicted, round.loss);
    }

    /// Records a round of the multiclass hinge.
    pub(super) fn record_hinge(&mut self, example: &Example<'_>, round: &HingeRound) {
        self.open.tally.record_hinge(example, round);
        self.count(example, round.predicted, round.loss);
    }

    fn count(&mut self, example: &Example<'_>, predicted: Option<u32>, loss: f64) {
        if !example.importance.is_zero() {
            let (class, importance) = (example.label as u32, example.importance.get());
            self.open.card.observe(class, importance, predicted, loss);
        }
    }

    /// Completes the rows whose rounds were recorded, by the ledger's cells. They do not go beyond
    /// the open window. `classes` is one more than the largest class so far.
    pub(super) fn observe(&mut self, ledger: &ClassLedger, rows: Rows<'_>, classes: u32) {
        self.classes = classes;
        self.ruler.iter_mut().for_each(|ruler| ruler.observe_rows(rows));
        self.open.judge.iter_mut().for_each(|judge| judge.observe_rows(rows));
        self.solver.iter_mut().for_each(|solver| solver.keep(rows));
        if self.open.tally.rounds() >= self.length {
            self.close(ledger);
        }
    }

    fn close(&mut self, ledger: &ClassLedger) {
        let next = ClassStretch { after: self.open.end(), ..self.fresh.clone() };
        let full = std::mem::replace(&mut self.open, next);
        if self.is_fixed {
            let regret = self.regret(ledger, &full.tally);
            let report = full.report(ledger, self.ruler.as_ref(), self.loss);
            self.closed.push(WindowReport { regret, ..report });
            self.solver.iter_mut().for_each(WindowSolver::clear);
            return;
        }
        self.loose.push(full);
        if self.loose.len() >= self.most() {
            self.put_together();
        }
    }

    /// Returns the exact regret in the window that is being filled, if windows are solved.
    fn regret(&self, ledger: &ClassLedger, tally: &ClassTally) -> Option<Interval> {
        let solver = self.solver.as_ref()?;
        let comparators = ledger.comparators();
        solver.class_regret((self.loss, self.classes), comparators, tally, self.ruler.as_ref())
    }

    /// Returns how many windows there may be.
    fn most(&self) -> usize {
        let witnesses =
            |part: &ClassStretch| part.judge.as_ref().map_or(0, |judge| 4 * judge.cells());
        let numbers = self.loose.iter().map(|part| part.tally.cells() + witnesses(part)).max();
        (NUMBERS_MAX / numbers.unwrap_or(1).max(1)).clamp(WINDOWS_MIN, WINDOWS_MAX)
    }

    /// Merges every two neighbouring windows into one.
    fn put_together(&mut self) {
        let mut parts = std::mem::take(&mut self.loose).into_iter();
        while let Some(mut part) = parts.next() {
            if let Some(next) = parts.next() {
                part.merge(&next);
            }
            self.loose.push(part);
        }
        self.length *= 2;
    }

    /// Returns the windows so far. The last one may not be full. If nobody asked for a length and the
    /// last one is short, it is added to the one before.
    pub fn reports(&self, ledger: &ClassLedger) -> Vec<WindowReport> {
        let mut loose = self.loose.clone();
        let rest = self.open.tally.rounds();
        if rest > 0 {
            match loose.last_mut() {
                Some(last) if rest < self.length / 2 => last.merge(&self.open),
                _ => loose.push(self.open.clone()),
            }
        }
        let report = |part: &ClassStretch| part.report(ledger, self.ruler.as_ref(), self.loss);
        let mut reports: Vec<_> =
            self.closed.iter().copied().chain(loose.iter().map(report)).collect();
        if let (Some(last), 1..) = (reports.last_mut(), rest) {
            last.regret = self.regret(ledger, &self.open.tally);
        }
        reports
    }

    /// The windows in the form in which they are saved, where place i gets the cell `order[i]`.
    pub(super) fn stored(&self, order: &[u32]) -> StoredClassWindows {
        let Self { mut ruler, mut open, mut loose, .. } = self.clone();
        ruler.iter_mut().for_each(|ruler| ruler.rearrange(order));
        loose.iter_mut().chain([&mut open]).for_each(|part| part.rearrange(order));
        StoredClassWindows {
            length: self.length,
            is_fixed: self.is_fixed,
            ruler,
            open,
            loose,
            closed: self.closed[..].into(),
            rows: self.solver.as_ref().map(|solver| solver.stored(order)),
        }
    }
}

/// Windows with their numbers in the order of the features that were seen.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredClassWindows {
    length: u64,
    is_fixed: bool,
    ruler: Option<Ruler>,
    open: ClassStretch,
    loose: Vec<ClassStretch>,
    closed: StoredReports,
    rows: Option<StoredRows>,
}

impl StoredClassWindows {
    /// These windows of the rounds of a ledger, by its cells. They may come from anywhere, so it is
    /// `None` if they cannot be such windows of this many classes.
    pub(super) fn restore(
        self,
        loss: ClassLoss,
        ledger: &ClassLedger,
        classes: u32,
    ) -> Option<ClassWindows> {
        let mut windows = ClassWindows::new(loss, ledger, NonZeroU64::new(self.length));
        let places = ledger.cells().places();
        let Self { mut ruler, mut open, mut loose, .. } = self;
        let parts = || loose.iter().chain([&open]);
        let are_sound = parts().all(|part| part.continues(&windows.fresh, classes as usize));
        let is_measured = match (&ruler, &windows.ruler) {
            (None, None) => true,
            (Some(read), Some(_)) => {
                let fresh = ClassLedger::new(ledger.comparators().clone());
                fresh.ruler().is_some_and(|fresh| read.continues(fresh))
            }
            _ => false,
        };
        if !are_sound || !is_measured {
            return None;
        }
        let stretches: Vec<_> = parts().map(|part| (part.after, part.tally.rounds())).collect();
        ruler.iter_mut().for_each(|ruler| ruler.rearrange(&places));
        loose.iter_mut().chain([&mut open]).for_each(|part| part.rearrange(&places));
        let solver = match self.rows {
            Some(rows) => Some(WindowSolver::restored(rows, ledger.comparators(), ledger.cells())?),
            None => None,
        };
        let kept = solver.as_ref().map(WindowSolver::kept);
        let closed = self.closed.reports()?;
        let form = (self.length, self.is_fixed);
        if !follow(form, &closed, &stretches, kept, ledger.rounds()) {
            return None;
        }
        windows.is_fixed = self.is_fixed;
        windows.classes = classes;
        Some(ClassWindows { ruler, open, loose, closed, solver, ..windows })
    }
}
