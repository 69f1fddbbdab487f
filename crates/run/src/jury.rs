//! The jury: witnesses that judge a run beside its own predictions.

use crate::bench::Bench;
use crate::statistics::Statistics;
use crate::task::Task;
use rueful_core::learner::Learner;
use rueful_core::ledger::{Minorant, Testimony};
use rueful_core::{Judge, Ledger, Rows};
use serde::{Deserialize, Serialize};

/// The witnesses of a run: a bench where the task asks for one, those of the learner, and the
/// bounds that the witnesses of other learners proved about rounds that were merged into the
/// ledger. All vectors are by the cells of the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "Stored", from = "Stored")]
pub(crate) struct Jury {
    bench: Option<Bench>,
    /// The bounds of other learners' witnesses, in the order of the learner's own witnesses.
    merged: Vec<Minorant>,
}

/// A jury as it is saved. Its statistics are in a section of their own.
#[derive(Serialize, Deserialize)]
struct Stored {
    judge: Option<Judge>,
    merged: Vec<Minorant>,
}

impl From<Jury> for Stored {
    fn from(jury: Jury) -> Self {
        Self { judge: jury.bench.and_then(Bench::into_judge), merged: jury.merged }
    }
}

impl From<Stored> for Jury {
    fn from(Stored { judge, merged }: Stored) -> Self {
        Self { bench: judge.map(Bench::of), merged }
    }
}

impl Jury {
    /// The jury of a task before its first row. `None` where nobody judges.
    pub(crate) fn new(task: &Task) -> Option<Self> {
        task.is_judged().then(|| Self { bench: task.bench(), merged: Vec::new() })
    }

    /// Takes in rows that were learned from.
    pub(crate) fn observe(&mut self, rows: Rows<'_>) {
        self.bench.iter_mut().for_each(|bench| bench.observe_rows(rows));
    }

    /// The testimonies of all witnesses about all rounds so far, for the comparators of the ledger.
    pub(crate) fn testify(&self, learner: &dyn Learner, ledger: &Ledger) -> Vec<Testimony> {
        let (comparators, coordinates) = (ledger.comparators(), ledger.coordinates());
        let bench = self.bench.iter().flat_map(|bench| bench.testify(comparators, coordinates));
        self.learners_testify(learner, ledger).into_iter().chain(bench).collect()
    }

    /// The testimonies of all witnesses for comparators of every radius.
    pub(crate) fn testify_for_all(&self, learner: &dyn Learner, ledger: &Ledger) -> Vec<Testimony> {
        let bench = self.bench.iter().flat_map(|bench| bench.testify_for_all(ledger));
        self.learners_testify(learner, ledger).into_iter().chain(bench).collect()
    }

    fn learners_testify(&self, learner: &dyn Learner, ledger: &Ledger) -> Vec<Testimony> {
        let (comparators, coordinates) = (ledger.comparators(), ledger.coordinates());
        if self.merged.is_empty() {
            return learner.testify(comparators, coordinates);
        }
        let all = self.of_learners(learner);
        all.map(|witness| witness.testify(comparators, coordinates)).collect()
    }

    /// The bounds that the witnesses of the learner and of those merged into it prove.
    fn of_learners<'a>(&'a self, learner: &'a dyn Learner) -> impl Iterator<Item = Minorant> + 'a {
        learner.witnesses().enumerate().map(|(place, mut own)| {
            self.merged.get(place).into_iter().for_each(|theirs| own.merge(theirs));
            own
        })
    }

    /// Takes in the jury of other rounds, and the learner that played them. Cell i is their
    /// `places[i]`.
    pub(crate) fn merge(&mut self, other: &Self, learner: &dyn Learner, places: &[u32]) {
        let mut theirs: Vec<Minorant> = other.of_learners(learner).collect();
        theirs.iter_mut().for_each(|witness| witness.rearrange(places));
        if self.merged.is_empty() {
            self.merged = theirs;
        } else {
            for (own, theirs) in self.merged.iter_mut().zip(&theirs) {
                own.merge(theirs);
            }
        }
        self.merge_bench(other, places);
    }

    /// Takes in the bench of the jury of a part. The witnesses of learners are merged with them.
    /// Cell i is its `places[i]`.
    pub(crate) fn merge_bench(&mut self, part: &Self, places: &[u32]) {
        if let (Some(own), Some(mut theirs)) = (&mut self.bench, part.bench.clone()) {
            theirs.rearrange(places);
            own.merge(&theirs);
        }
    }

    /// The same jury with the cells in other places.
    pub(crate) fn rearranged(&self, from: &[u32]) -> Self {
        let mut jury = self.clone();
        jury.bench.iter_mut().for_each(|bench| bench.rearrange(from));
        jury.merged.iter_mut().for_each(|witness| witness.rearrange(from));
        jury
    }

    /// The statistics on the bench, as long as there are some.
    pub(crate) fn statistics(&self) -> Option<&Statistics> {
        self.bench.as_ref()?.statistics()
    }

    /// A jury that was read from somewhere, with its statistics, as the jury of a task.
    pub(crate) fn completed(self, task: &Task, statistics: Option<Statistics>) -> Self {
        let judge = self.bench.and_then(Bench::into_judge);
        let bench = task.bench().map(|fresh| fresh.taking(judge, statistics));
        Self { bench, merged: self.merged }
    }

    /// Whether this jury, read from somewhere, can be that of a task after so many rounds, `others`
    /// of which other learners have played.
    pub(crate) fn continues(&self, task: &Task, rounds: u64, others: u64) -> bool {
        let fresh = task.bench().and_then(Bench::into_judge);
        let judges = match (self.bench.as_ref().and_then(Bench::judge), &fresh) {
            (None, None) => true,
            (Some(own), Some(fresh)) => own.continues(fresh, rounds),
            _ => false,
        };
        let is_theirs = |witness: &Minorant| witness.is_sound() && witness.rounds() == others;
        judges && self.merged.iter().all(is_theirs)
    }
}
