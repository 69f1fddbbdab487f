//! The learners of many classes behind one type.

use super::ClassLoss;
use super::late::{ClassSaid, LateRows};
use super::run::{ClassBooks, ClassOutcome};
use super::task::{ClassTask, ball_of};
use crate::companions::whole;
use crate::spec::{LearnerSpec, SpecError};
use rueful_core::classes::{ClassError, ClassJudge, ClassOgd, HingeRound};
use rueful_core::learner::{Expert, SoftmaxBank};
use rueful_core::{Comparators, Example, Features, Promise, Rows};

/// A learner of many classes.
#[derive(Debug, Clone)]
pub(super) enum ClassLearner {
    Bank(Box<SoftmaxBank>),
    Ogd { ogd: Box<ClassOgd>, rounds: Vec<HingeRound> },
}

/// The largest norms so far, ‖x‖ and ‖g‖.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct Norms {
    pub(super) example: f64,
    pub(super) gradient: f64,
}

impl Norms {
    /// Takes in a round whose slope over the classes has this square.
    pub(super) fn measure(&mut self, example: &Example<'_>, slope_sq: f64) {
        let norm = example.features.norm_sq().sqrt();
        let gradient = example.importance.get() * slope_sq.sqrt() * norm;
        self.example = self.example.max(norm);
        self.gradient = self.gradient.max(gradient);
    }

    /// Takes in the norms of other rounds.
    pub(super) fn merge(&mut self, other: &Self) {
        self.example = self.example.max(other.example);
        self.gradient = self.gradient.max(other.gradient);
    }

    pub(super) fn are_sound(&self) -> bool {
        [self.example, self.gradient].iter().all(|norm| (0.0..=f64::MAX).contains(norm))
    }
}

/// ‖p − e_y‖² of the probabilities p, given those of the classes that were seen.
pub(super) fn slope_sq(class: u32, (classes, shares): (&[u32], &[f64])) -> f64 {
    let all: f64 = shares.iter().map(|share| share * share).sum();
    let own = classes.iter().position(|&seen| seen == class).map_or(0.0, |slot| shares[slot]);
    (all - own * own + (1.0 - own) * (1.0 - own)).max(0.0)
}

impl ClassLearner {
    /// The learner of a task, before its first round.
    pub(super) fn new(task: &ClassTask) -> Result<Self, SpecError> {
        match (task.loss, &task.learner) {
            (ClassLoss::Softmax {}, LearnerSpec::Bank(_)) => {
                Ok(Self::Bank(Box::new(SoftmaxBank::new())))
            }
            (ClassLoss::Softmax {}, other) => Err(SpecError::new(format!(
                "the softmax loss is learned by the learner bank, not by {}",
                other.name()
            ))),
            (ClassLoss::MulticlassHinge {}, LearnerSpec::Ogd(ogd)) => match ball_of(ogd) {
                Some(radius) => {
                    Ok(Self::Ogd { ogd: Box::new(ClassOgd::new(radius)), rounds: Vec::new() })
                }
                None => Err(SpecError::new(
                    "the multiclass-hinge loss is learned with AdaGrad-norm steps in a ball",
                )),
            },
            (ClassLoss::MulticlassHinge {}, other) => Err(SpecError::new(format!(
                "the multiclass-hinge loss is learned by the learner ogd, not by {}",
                other.name()
            ))),
        }
    }

    /// Plays the rounds of some rows, whose features are cells of the ledger, and enters them in the
    /// ledger and in the window that is open.
    pub(super) fn play(
        &mut self,
        rows: Rows<'_>,
        late: &mut LateRows<'_>,
        ClassBooks { ledger, norms, windows, .. }: &mut ClassBooks,
        outcomes: &mut Vec<ClassOutcome>,
    ) -> Result<(), ClassError> {
        match self {
            Self::Bank(bank) => bank.learn_rows_with(rows, |example, round, said| {
                let row = outcomes.len();
                late.ask(row, || ClassSaid::of(round, said));
                let charged = late.answer(row).and_then(|said| said.round(example));
                let (round, said) = charged.as_ref().map_or((round, said), |(r, said)| (r, *said));
                ledger.record(example, round, said);
                windows.iter_mut().for_each(|windows| windows.record(example, round, said));
                if !example.importance.is_zero() {
                    norms.measure(example, slope_sq(example.label as u32, said));
                }
                let (predicted, loss) = (round.predicted, round.loss);
                outcomes.push(ClassOutcome { predicted, loss, value: -round.probability.ln() });
            }),
            Self::Ogd { ogd, rounds } => {
                // A row that waits is the last of its rows, so the scores are those before it.
                ogd.learn_rows(rows, rounds)?;
                for (example, round) in rows.iter().zip(&*rounds) {
                    let charged = late.answer(outcomes.len()).map(|said| said.hinge(&example));
                    let round = charged.as_ref().unwrap_or(round);
                    ledger.record_hinge(&example, round);
                    windows.iter_mut().for_each(|windows| windows.record_hinge(&example, round));
                    if !example.importance.is_zero() {
                        norms.measure(&example, round.rival.map_or(0.0, |_| 2.0));
                    }
                    let HingeRound { predicted, loss, value, .. } = *round;
                    let row = outcomes.len();
                    late.ask(row, || ClassSaid::Scores(ogd.predict(&example.features)));
                    outcomes.push(ClassOutcome { predicted, loss, value });
                }
                Ok(())
            }
        }
    }

    /// The witnesses of all rounds so far, if there are some.
    pub(super) fn judge(&self) -> Option<&ClassJudge> {
        match self {
            Self::Bank(bank) => Some(bank.judge()),
            Self::Ogd { .. } => None,
        }
    }

    /// The learner's theorem.
    pub(super) fn promise(&self, comparators: &Comparators) -> Promise {
        match self {
            Self::Bank(bank) => bank.promise(comparators),
            Self::Ogd { ogd, .. } => ogd.promise(comparators),
        }
    }

    /// The learners that are mixed. Empty without a mixture.
    pub(super) fn experts(&self) -> Vec<Expert> {
        match self {
            Self::Bank(bank) => bank.experts(),
            Self::Ogd { .. } => Vec::new(),
        }
    }

    /// An upper bound on the total cost of mixing, if learners are mixed.
    pub(super) fn mixing_cost(&self) -> Option<f64> {
        match self {
            Self::Bank(bank) => bank.mixing_cost(),
            Self::Ogd { .. } => None,
        }
    }

    /// The number of rounds.
    pub(super) fn rounds(&self) -> u64 {
        match self {
            Self::Bank(bank) => bank.rounds(),
            Self::Ogd { ogd, .. } => ogd.rounds(),
        }
    }

    /// One more than the largest class so far.
    pub(super) fn classes(&self) -> u32 {
        match self {
            Self::Bank(bank) => bank.classes().iter().max().map_or(0, |&last| last + 1),
            Self::Ogd { ogd, .. } => ogd.classes(),
        }
    }

    /// How many features have a place.
    pub(super) fn features(&self) -> usize {
        match self {
            Self::Bank(bank) => bank.features(),
            Self::Ogd { ogd, .. } => ogd.features(),
        }
    }

    /// The probability of every class, by number, and that of a new class. `None` if the learner
    /// has no probabilities.
    pub(super) fn probabilities(&self, x: &Features<'_>, unseen: usize) -> Option<(Vec<f64>, f64)> {
        let Self::Bank(bank) = self else { return None };
        let said = bank.predict_beside(x, unseen);
        let mut shares = vec![0.0; self.classes() as usize];
        for (&class, &share) in said.classes.iter().zip(&said.shares) {
            shares[class as usize] = share;
        }
        Some((shares, said.unseen))
    }

    /// The score of every class, by number: ln of its probability, or w·x.
    pub(super) fn scores(&self, x: &Features<'_>, unseen: usize) -> Vec<f64> {
        match self {
            Self::Bank(_) => {
                let (shares, _) = self.probabilities(x, unseen).unwrap_or_default();
                shares.into_iter().map(f64::ln).collect()
            }
            Self::Ogd { ogd, .. } => ogd.predict(x),
        }
    }

    /// The amounts that features add to what the learner says of a class, and the rest.
    pub(super) fn contributions(&self, x: &Features<'_>, class: u32) -> Option<(Vec<f64>, f64)> {
        match self {
            Self::Bank(bank) => {
                let mut added = bank.contributions(x, class)?;
                let rest = added.pop()?;
                Some((added, rest))
            }
            Self::Ogd { ogd, .. } => {
                (class < ogd.classes()).then(|| (ogd.contributions(x, class), 0.0))
            }
        }
    }

    /// The weights for the score of a class, by cell. `None` if the class was not seen.
    pub(super) fn weights(&self, class: u32) -> Option<Vec<f64>> {
        match self {
            Self::Bank(bank) => bank.weights(class),
            Self::Ogd { ogd, .. } => (class < ogd.classes()).then(|| ogd.weights(class)),
        }
    }

    /// Reorders the features: place i gets the content of place `from[i]`.
    pub(super) fn rearrange(&mut self, from: &[u32]) {
        match self {
            Self::Bank(bank) => bank.rearrange(from),
            Self::Ogd { ogd, .. } => ogd.rearrange(from),
        }
    }

    /// The state as a model keeps it, with the features in this order.
    pub(super) fn save(&self, order: &[u32]) -> Result<Vec<u8>, postcard::Error> {
        let mut copy = self.clone();
        copy.rearrange(order);
        match copy {
            Self::Bank(bank) => postcard::to_allocvec(&*bank),
            Self::Ogd { ogd, .. } => postcard::to_allocvec(&*ogd),
        }
    }

    /// The learner in a saved state, where `self` is a fresh one. `None` if that is not a state of
    /// such a learner.
    pub(super) fn restore(&self, state: &[u8]) -> Option<Self> {
        match self {
            Self::Bank(fresh) => {
                let bank: SoftmaxBank = whole(state)?;
                bank.continues(fresh).then(|| Self::Bank(Box::new(bank)))
            }
            Self::Ogd { ogd: fresh, .. } => {
                let ogd: ClassOgd = whole(state)?;
                let is_one = ogd.continues(fresh);
                is_one.then(|| Self::Ogd { ogd: Box::new(ogd), rounds: Vec::new() })
            }
        }
    }
}
