//! The windows of a stream, each of which is judged alone.
//!
//! Nobody knows beforehand how long a stream is. So windows begin short. Whenever there are too
//! many of them, every two neighbours become one, because tallies of neighbouring stretches add up.
//! If somebody asked for a length, windows keep it. Every window has sums of its own, so that large
//! sums from before cannot drown it.

mod stored;

pub(crate) use stored::{StoredReports, StoredWindows, follow};

use crate::alarm::WindowSolver;
use crate::bench::Bench;
use crate::figures::RatesReport;
use crate::hindsight::Interval;
use rueful_core::figures::Scorecard;
use rueful_core::ledger::{Tally, Testimony, Verdict};
use rueful_core::{Coordinates, Ledger, Round, Rows, Ruler};
use rueful_hindsight::Options;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// The largest and the smallest limit for the number of windows, if nobody asked for a length, and
/// the number of bytes that their tallies may take. With many features, the limit is lower so that
/// the tallies fit.
pub(crate) const WINDOWS_MAX: usize = 30;
pub(crate) const WINDOWS_MIN: usize = 4;
const BYTES_MAX: usize = 64 << 20;

/// The length of windows at the beginning, if nobody asked for a length.
pub(crate) const SHORTEST: u64 = 10;

/// The report of one window. Its values are per round of the window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WindowReport {
    /// Its first example, counted from 1.
    pub from: u64,
    /// Its last example.
    pub to: u64,
    /// The number of its examples.
    pub examples: u64,
    /// The average loss in the window.
    pub sequential_risk: f64,
    /// The share of predictions with the wrong sign; null for regression.
    pub mistake_rate: Option<f64>,
    /// The figures of the window alone.
    #[serde(flatten)]
    pub figures: RatesReport,
    /// The certificate: no comparator was better by more than this per round in the window; null if
    /// nothing can be said.
    pub certificate: Option<f64>,
    /// Whether the certificate is negative.
    pub beats_every_linear_predictor: bool,
    /// The exact regret in the window; present if windows are solved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regret: Option<Interval>,
}

/// The windows of a stream.
#[derive(Debug, Clone)]
pub struct Windows {
    length: u64,
    is_fixed: bool,
    fresh: Tally,
    /// A scorecard without rounds.
    card: Scorecard,
    /// A bench that has seen nothing. Every window gets a copy of it, so the witnesses of a window
    /// begin with the window.
    bench: Option<Bench>,
    /// The largest values of features and labels up to the end of the window that is being filled,
    /// if comparators are measured by them. Later rows of the same batch are not included.
    ruler: Option<Ruler>,
    /// The window that is being filled.
    open: Stretch,
    /// Full windows that may still be merged with their neighbours.
    loose: Vec<Stretch>,
    closed: Vec<WindowReport>,
    /// The solver for the windows; present only if their length was asked for and they are to be
    /// solved.
    solver: Option<WindowSolver>,
}

#[derive(Debug, Clone)]
struct Stretch {
    /// The number of the round before its first round.
    after: u64,
    tally: Tally,
    card: Scorecard,
    bench: Option<Bench>,
}

impl Stretch {
    fn end(&self) -> u64 {
        self.after + self.tally.rounds()
    }

    /// Adds the stretch that follows.
    fn merge(&mut self, next: &Self) {
        self.tally.merge(&next.tally);
        self.card.merge(&next.card);
        if let (Some(own), Some(theirs)) = (&mut self.bench, &next.bench) {
            own.merge(theirs);
        }
    }

    fn report(&self, ledger: &Ledger, ruler: Option<&Ruler>) -> WindowReport {
        let coordinates = coordinates(ledger, ruler);
        let of = |bench: &Bench| bench.testify(ledger.comparators(), coordinates);
        let witnesses: Vec<Testimony> = self.bench.as_ref().map_or_else(Vec::new, of);
        let verdict: Verdict = ledger.verdict_on(&self.tally, &witnesses, coordinates);
        WindowReport {
            from: self.after + 1,
            to: self.end(),
            examples: verdict.rounds,
            sequential_risk: verdict.sequential_risk,
            mistake_rate: verdict.mistake_rate,
            figures: RatesReport::new(&self.card),
            certificate: Some(verdict.certificate).filter(|value| value.is_finite()),
            beats_every_linear_predictor: verdict.beats_every_comparator(),
            regret: None,
        }
    }
}

/// Returns the features of a ledger, with the sizes that they had at some moment.
fn coordinates<'a>(ledger: &'a Ledger, ruler: Option<&'a Ruler>) -> Coordinates<'a> {
    match ruler {
        Some(ruler) => Coordinates::Measured(ledger.cells(), ruler),
        None => ledger.coordinates(),
    }
}

impl Windows {
    /// Makes windows for the rounds that a ledger will record from now on. They have the given
    /// length, or one that follows the length of the stream. The bench, if there is one, has seen
    /// nothing yet.
    pub fn new(ledger: &Ledger, bench: Option<Bench>, length: Option<NonZeroU64>) -> Self {
        let fresh = Tally::new(ledger.minorant().sigma());
        let card = Scorecard::new(*ledger.loss_function());
        let card = if bench.is_some() { card.with_sketches() } else { card };
        let (after, tally) = (ledger.rounds(), fresh.clone());
        Self {
            length: length.map_or(SHORTEST, NonZeroU64::get),
            is_fixed: length.is_some(),
            open: Stretch { after, tally, card: card.clone(), bench: bench.clone() },
            fresh,
            card,
            bench,
            ruler: ledger.coordinates().ruler().cloned(),
            loose: Vec::new(),
            closed: Vec::new(),
            solver: None,
        }
    }

    /// Returns the same windows, with figures of the same kind as those of this scorecard, which
    /// has no rounds.
    #[must_use]
    pub fn with_figures(mut self, card: Scorecard) -> Self {
        (self.open.card, self.card) = (card.clone(), card);
        self
    }

    /// Returns the same windows, each of which keeps its rows until it is full and is then solved
    /// for its best comparator. If nobody asked for a length, windows are not solved, because they
    /// are merged later.
    #[must_use]
    pub fn solved(mut self, ledger: &Ledger, options: &Options) -> Self {
        let solver = self.solver.take();
        let solver =
            || solver.unwrap_or_else(|| WindowSolver::new(ledger.comparators())).with(options);
        self.solver = self.is_fixed.then(solver);
        self
    }

    /// Returns the same windows, none of which is solved from now on.
    #[must_use]
    pub fn unsolved(mut self) -> Self {
        self.solver = None;
        self
    }

    /// Whether these windows can continue as windows of this length, solved or not. To solve a
    /// window, its rows must have been kept from its beginning.
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

    /// Adds rounds that the ledger has recorded. The rows are by the ledger's cells.
    pub fn tell(&mut self, ledger: &Ledger, rows: Rows<'_>, rounds: &[Round]) {
        let mut from = 0;
        while from < rows.len() {
            let to = self.end_in(rows, from);
            let part = rows.slice(from..to);
            self.ruler.iter_mut().for_each(|ruler| ruler.observe_rows(part));
            self.open.tally.record_rows(part, &rounds[from..to]);
            self.open.card.observe_rows(part, &rounds[from..to]);
            self.open.bench.iter_mut().for_each(|bench| bench.observe_rows(part));
            self.solver.iter_mut().for_each(|solver| solver.keep(part));
            if self.open.tally.rounds() >= self.length {
                self.close(ledger);
            }
            from = to;
        }
    }

    /// Returns the place among these rows where the open window ends. Rows that do not count take
    /// no room.
    fn end_in(&self, rows: Rows<'_>, from: usize) -> usize {
        from + rows.slice(from..rows.len()).until(self.length - self.open.tally.rounds())
    }

    fn close(&mut self, ledger: &Ledger) {
        let (tally, card, bench) = (self.fresh.clone(), self.card.clone(), self.bench.clone());
        let next = Stretch { after: self.open.end(), tally, card, bench };
        let full = std::mem::replace(&mut self.open, next);
        if self.is_fixed {
            let regret = self.regret(ledger, &full.tally);
            let report = full.report(ledger, self.ruler.as_ref());
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
    fn regret(&self, ledger: &Ledger, tally: &Tally) -> Option<Interval> {
        let coordinates = coordinates(ledger, self.ruler.as_ref());
        self.solver.as_ref()?.regret(ledger, tally, coordinates)
    }

    /// Returns how many windows there may be.
    fn most(&self) -> usize {
        let cells = self.loose.iter().map(|part| part.tally.minorant().slopes().len()).max();
        let bytes = 8 + self.bench.as_ref().map_or(0, Bench::bytes_per_cell);
        (BYTES_MAX / (bytes * cells.unwrap_or(1).max(1))).clamp(WINDOWS_MIN, WINDOWS_MAX)
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

    /// Returns the windows so far. The last one may not be full. If nobody asked for a length and
    /// the last one is short, it is added to the one before.
    pub fn reports(&self, ledger: &Ledger) -> Vec<WindowReport> {
        let mut loose = self.loose.clone();
        let rest = self.open.tally.rounds();
        if rest > 0 {
            match loose.last_mut() {
                Some(last) if rest < self.length / 2 => last.merge(&self.open),
                _ => loose.push(self.open.clone()),
            }
        }
        let reports = loose.iter().map(|part| part.report(ledger, self.ruler.as_ref()));
        let mut reports: Vec<_> = self.closed.iter().copied().chain(reports).collect();
        if let (Some(last), 1..) = (reports.last_mut(), rest) {
            last.regret = self.regret(ledger, &self.open.tally);
        }
        reports
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rueful_core::loss::Hinge;
    use rueful_core::set::{AnySet, Ball};
    use rueful_core::{Batch, Comparators, Importance, Judge, Positive, UnitFree};

    fn batch(rows: u32) -> Batch {
        let mut batch = Batch::default();
        for t in 0..rows {
            let importance = Importance::new(f64::from(t % 3)).unwrap();
            let label = if t % 2 == 0 { 1.0 } else { -1.0 };
            // Later values are larger, and earlier windows must not know them.
            batch.push_weighted(&[t % 5], &[1.0 + t as f32], label, importance).unwrap();
        }
        batch
    }

    /// Returns the windows of a batch whose rows come in pieces of this size.
    fn windows(batch: &Batch, length: Option<u64>, piece: usize) -> Vec<WindowReport> {
        let raw = Comparators::from(AnySet::from(Ball { radius: Positive::ONE }));
        let reports = windows_against(raw, batch, length, piece);
        let unit_free = UnitFree { radius: Positive::ONE }.into();
        [reports, windows_against(unit_free, batch, length, piece)].concat()
    }

    fn windows_against(
        comparators: Comparators,
        batch: &Batch,
        length: Option<u64>,
        piece: usize,
    ) -> Vec<WindowReport> {
        let judge = Judge::new(&Hinge {}.into(), &comparators, false);
        let bench = Bench::new(&Hinge {}.into(), &comparators, judge, 256);
        let mut ledger = Ledger::new(Hinge {}, comparators);
        let mut windows = Windows::new(&ledger, bench, length.and_then(NonZeroU64::new));
        let mut from = 0;
        while from < batch.len() {
            let rows = batch.rows().slice(from..batch.len().min(from + piece));
            let rounds: Vec<Round> =
                rows.iter().map(|example| Round::on(&Hinge {}, 0.25, &example)).collect();
            let mut buffer = Vec::new();
            let rows = ledger.enter(rows, &mut buffer);
            ledger.record_entered(rows, &rounds).unwrap();
            windows.tell(&ledger, rows, &rounds);
            from += piece;
        }
        let reports = windows.reports(&ledger);
        assert!(reports.iter().all(|window| window.to + 1 - window.from == window.examples));
        assert_eq!(reports.iter().map(|window| window.examples).sum::<u64>(), ledger.rounds());
        let total: f64 =
            reports.iter().map(|window| window.sequential_risk * window.examples as f64).sum();
        assert!((total - ledger.loss()).abs() < 1e-9);
        reports
    }

    #[test]
    fn windows_add_up_however_rows_come() {
        for (rows, length) in [(7, None), (1000, None), (20, Some(3)), (20, Some(100)), (0, None)] {
            let batch = batch(rows);
            let whole = windows(&batch, length, rows.max(1) as usize);
            for piece in [1, 7, 64] {
                assert_eq!(windows(&batch, length, piece), whole);
            }
            assert!(length.is_some() || whole.len() <= 2 * WINDOWS_MAX);
        }
        assert_eq!(windows(&batch(20), Some(3), 4)[0].to, 3);
    }
}
