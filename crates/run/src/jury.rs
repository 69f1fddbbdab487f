//! Those who judge a run beside its own predictions.

use crate::task::Task;
use rueful_core::learner::Learner;
use rueful_core::ledger::Minorant;
use rueful_core::{Judge, Rows};
use serde::{Deserialize, Serialize};

/// The witnesses of a run: a judge where the task asks for one, those of the learner, and what the
/// witnesses of other learners proved about rounds that were merged into the books. All vectors are
/// by the cells of the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Jury {
    judge: Option<Judge>,
    /// In the order of the learner's own.
    merged: Vec<Minorant>,
}

impl Jury {
    /// The jury of a task that has seen nothing; none where nobody judges.
    pub(crate) fn new(task: &Task) -> Option<Self> {
        task.is_judged().then(|| Self { judge: task.judge(), merged: Vec::new() })
    }

    /// Takes in rows that were learned from.
    pub(crate) fn observe(&mut self, rows: Rows<'_>) {
        self.judge.iter_mut().for_each(|judge| judge.observe_rows(rows));
    }

    /// What all of them prove about all rounds so far.
    pub(crate) fn witnesses(&self, learner: &dyn Learner) -> Vec<Minorant> {
        let own = self.of_learners(learner);
        own.into_iter().chain(self.judge.iter().flat_map(Judge::minorants)).collect()
    }

    /// What the witnesses of the learner and of those merged into it prove.
    fn of_learners(&self, learner: &dyn Learner) -> Vec<Minorant> {
        let mut own = learner.witnesses();
        for (own, theirs) in own.iter_mut().zip(&self.merged) {
            own.merge(theirs);
        }
        own
    }

    /// Takes in the jury of other rounds, and the learner that played them; cell i is their
    /// `places[i]`.
    pub(crate) fn merge(&mut self, other: &Self, learner: &dyn Learner, places: &[u32]) {
        let mut theirs = other.of_learners(learner);
        theirs.iter_mut().for_each(|witness| witness.rearrange(places));
        if self.merged.is_empty() {
            self.merged = theirs;
        } else {
            for (own, theirs) in self.merged.iter_mut().zip(&theirs) {
                own.merge(theirs);
            }
        }
        if let (Some(own), Some(mut theirs)) = (&mut self.judge, other.judge.clone()) {
            theirs.rearrange(places);
            own.merge(&theirs);
        }
    }

    /// The same with the cells in other places.
    pub(crate) fn rearranged(&self, from: &[u32]) -> Self {
        let mut jury = self.clone();
        jury.judge.iter_mut().for_each(|judge| judge.rearrange(from));
        jury.merged.iter_mut().for_each(|witness| witness.rearrange(from));
        jury
    }

    /// Whether this, read from somewhere, can be the jury of a task after so many rounds, some of
    /// which others have played.
    pub(crate) fn continues(&self, task: &Task, rounds: u64, others: u64) -> bool {
        let judges = match (&self.judge, task.judge()) {
            (None, None) => true,
            (Some(own), Some(fresh)) => own.continues(&fresh, rounds),
            _ => false,
        };
        let is_theirs = |witness: &Minorant| witness.is_sound() && witness.rounds() == others;
        judges && self.merged.iter().all(is_theirs)
    }
}
