//! Windows as they are saved with a run, and how they are restored.

use super::{Stretch, WindowReport, Windows};
use crate::alarm::{StoredRows, WindowSolver};
use crate::bench::Bench;
use crate::statistics::Statistics;
use rueful_core::figures::Scorecard;
use rueful_core::ledger::Tally;
use rueful_core::{Judge, Ledger, Ruler};
use serde::{Deserialize, Serialize};

/// Windows with their vectors in the order of the features that were seen.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredWindows {
    length: u64,
    is_fixed: bool,
    ruler: Option<Ruler>,
    open: StoredStretch,
    loose: Vec<StoredStretch>,
    /// The reports of the windows that are full.
    closed: StoredReports,
    /// The rows of the window that is being filled, where windows are solved.
    rows: Option<StoredRows>,
}

/// Reports of windows as JSON, which may leave numbers out.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredReports(String);

impl From<&[WindowReport]> for StoredReports {
    fn from(reports: &[WindowReport]) -> Self {
        // JSON of names and finite numbers cannot fail.
        Self(serde_json::to_string(reports).unwrap_or_default())
    }
}

impl StoredReports {
    /// The reports, or `None` if the text is not a list of reports.
    pub(crate) fn reports(&self) -> Option<Vec<WindowReport>> {
        serde_json::from_str(&self.0).ok()
    }
}

#[derive(Serialize, Deserialize)]
struct StoredStretch {
    after: u64,
    tally: Tally,
    card: Scorecard,
    judge: Option<Judge>,
    statistics: Option<Statistics>,
}

impl Windows {
    /// The windows in the form in which they are saved, where place i gets the cell `order[i]`.
    pub(crate) fn stored(&self, order: &[u32]) -> StoredWindows {
        let mut ruler = self.ruler.clone();
        ruler.iter_mut().for_each(|ruler| ruler.rearrange(order));
        StoredWindows {
            length: self.length,
            is_fixed: self.is_fixed,
            ruler,
            open: StoredStretch::of(&self.open, order),
            loose: self.loose.iter().map(|part| StoredStretch::of(part, order)).collect(),
            closed: self.closed[..].into(),
            rows: self.solver.as_ref().map(|solver| solver.stored(order)),
        }
    }
}

impl StoredWindows {
    /// Turns windows that have seen nothing into these windows of the rounds of a ledger, by its
    /// cells. They may come from anywhere, so it is `None` if they cannot be such windows.
    pub(crate) fn restore(self, mut windows: Windows, ledger: &Ledger) -> Option<Windows> {
        let places = ledger.cells().places();
        let fresh = windows.open.clone();
        windows.length = self.length;
        windows.is_fixed = self.is_fixed;
        windows.ruler = restored_ruler(self.ruler, &windows, ledger, &places)?;
        let restore = |part: StoredStretch| part.restore(&fresh, ledger, &places);
        windows.open = restore(self.open)?;
        windows.loose = self.loose.into_iter().map(restore).collect::<Option<_>>()?;
        windows.closed = self.closed.reports()?;
        windows.solver = match self.rows {
            Some(rows) => Some(WindowSolver::restored(rows, ledger.comparators(), ledger.cells())?),
            None => None,
        };
        windows.are_of(ledger).then_some(windows)
    }
}

impl Windows {
    /// Whether windows that were read from somewhere follow each other up to the last round of a
    /// ledger.
    fn are_of(&self, ledger: &Ledger) -> bool {
        let parts = self.loose.iter().chain([&self.open]);
        let parts: Vec<_> = parts.map(|part| (part.after, part.tally.rounds())).collect();
        let kept = self.solver.as_ref().map(WindowSolver::kept);
        follow((self.length, self.is_fixed), &self.closed, &parts, kept, ledger.rounds())
    }
}

/// Whether windows follow each other up to the last of so many rounds: the closed ones, and then the
/// others, the last of which is open. These are given by the round before them and by the number of
/// their rounds. If the rows of the open window are kept, `kept` is their number.
pub(crate) fn follow(
    (length, is_fixed): (u64, bool),
    closed: &[WindowReport],
    parts: &[(u64, u64)],
    kept: Option<u64>,
    rounds: u64,
) -> bool {
    let Some(&(_, filled)) = parts.last() else { return false };
    let first = closed.first().map(|window| window.from.wrapping_sub(1));
    let mut end = first.unwrap_or(parts[0].0);
    let is_closed = closed.iter().all(|window| {
        let is_next = end.checked_add(1) == Some(window.from) && window.from <= window.to;
        let is_full = window.examples == length && window.to - end == length;
        end = window.to;
        is_next && is_full && window.sequential_risk.is_finite()
    });
    let is_loose = parts.iter().all(|&(after, count)| {
        let follows = after == end;
        end = after.saturating_add(count);
        follows
    });
    let has_its_kind = if is_fixed { parts.len() == 1 } else { closed.is_empty() };
    let is_kept = kept.is_none_or(|kept| kept == filled && is_fixed);
    is_closed && is_loose && end == rounds && filled < length && has_its_kind && is_kept
}

/// A ruler that may come from anywhere, by the cells of a ledger. The inner `None` stands for
/// windows without a ruler.
fn restored_ruler(
    read: Option<Ruler>,
    windows: &Windows,
    ledger: &Ledger,
    places: &[u32],
) -> Option<Option<Ruler>> {
    let fresh = windows.ruler.as_ref().map(|_| Ruler::new(ledger.loss_function()));
    match (read, fresh) {
        (None, None) => Some(None),
        (Some(mut read), Some(fresh)) => {
            read.rearrange(places);
            read.continues(&fresh).then_some(Some(read))
        }
        _ => None,
    }
}

impl StoredStretch {
    fn of(part: &Stretch, order: &[u32]) -> Self {
        let mut part = part.clone();
        part.tally.rearrange(order);
        part.bench.iter_mut().for_each(|bench| bench.rearrange(order));
        let statistics = part.bench.as_ref().and_then(Bench::statistics).cloned();
        let judge = part.bench.take().and_then(Bench::into_judge);
        let Stretch { after, tally, card, .. } = part;
        Self { after, tally, card, judge, statistics }
    }

    fn restore(self, fresh: &Stretch, ledger: &Ledger, places: &[u32]) -> Option<Stretch> {
        let Self { after, mut tally, card, judge, statistics } = self;
        let rounds = tally.rounds();
        let is_sound = tally.is_sound() && tally.minorant().sigma() == ledger.minorant().sigma();
        if !is_sound || !card.continues(&fresh.card, rounds) {
            return None;
        }
        tally.rearrange(places);
        let bench = match &fresh.bench {
            Some(fresh) => {
                let mut bench =
                    fresh.continued(judge, statistics, rounds, ledger.cells().count())?;
                bench.rearrange(places);
                Some(bench)
            }
            None if judge.is_none() && statistics.is_none() => None,
            None => return None,
        };
        Some(Stretch { after, tally, card, bench })
    }
}
