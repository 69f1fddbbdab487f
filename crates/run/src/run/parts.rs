//! Parts of a run: copies of it that learn from rows of their own, side by side.
//!
//! A part goes on with the learner of the run, and keeps books of its own rows alone. The run then
//! takes in all parts: the learners are merged, and the books add up, so that the certificate
//! speaks of the predictions that were really made.

use super::{Run, RunError};
use crate::dispatch::SavedLearner;
use crate::jury::Jury;
use rueful_core::learner::{Bank, BankPart, Learner};
use rueful_data::Seen;
use serde::{Deserialize, Serialize};

/// The place of a part in the run that it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PartOf {
    /// The number of rounds that the learner had played before the books of the part were opened.
    pub(crate) earlier: u64,
    /// The number of slices that it learned from: 1, or more if parts were joined.
    pub(crate) slices: u64,
}

impl Run {
    /// A part of this run, which can learn from rows of its own.
    pub fn part(&self) -> Result<Self, RunError> {
        self.bank()?;
        Ok(Self {
            ledger: self.ledger.opened_anew(),
            jury: Jury::new(&self.task),
            mistakes: None,
            card: self.task.scorecard(),
            shares: None,
            seen: Seen::default(),
            are_counted: None,
            others: 0,
            late: 0,
            part_of: Some(PartOf { earlier: self.learner.rounds(), slices: 1 }),
            ..self.clone()
        })
    }

    /// Whether this is a part of another run.
    pub fn is_part(&self) -> bool {
        self.part_of.is_some()
    }

    pub(crate) fn part_of(&self) -> Option<PartOf> {
        self.part_of
    }

    pub(crate) fn restore_part(&mut self, part_of: PartOf) {
        self.part_of = Some(part_of);
        self.shares = None;
    }

    /// Takes in parts of this run. Its order is that of the parts. Parts without rounds change
    /// nothing. The theorem, which is about one learner, no longer applies.
    pub fn take_parts(&mut self, parts: &[Self]) -> Result<(), RunError> {
        let base = self.learner.clone();
        let mark = self.ledger.rounds().saturating_add(self.ledger.until_mark());
        self.take(&*base, parts)?;
        self.mistakes = None;
        if self.ledger.rounds() >= mark {
            let witnesses = self.witnesses();
            self.ledger.mark(&witnesses);
        }
        Ok(())
    }

    /// Joins parts of this run to one part, so that many are merged in levels.
    pub fn joined(&self, parts: &[Self]) -> Result<Self, RunError> {
        let mut joined = self.part()?;
        let slices = parts.iter().filter_map(|part| part.part_of).map(|part| part.slices).sum();
        joined.take(&*self.learner, parts)?;
        joined.part_of.iter_mut().for_each(|part_of| part_of.slices = slices);
        Ok(joined)
    }

    /// Takes in parts that began with the learner `base`, which has the first cells of this run.
    fn take(&mut self, base: &dyn SavedLearner, parts: &[Self]) -> Result<(), RunError> {
        let mut merged = self.clone();
        let mut learners = Vec::with_capacity(parts.len());
        for part in parts {
            let slices = merged.check_part(base, part)?;
            if part.ledger.rounds() > 0 {
                let bank = merged.take_books(part)?;
                learners.push(BankPart { bank, slices });
            }
            merged.seen.extend(&part.seen);
        }
        merged.are_counted = None;
        let cells = merged.ledger.cells().len();
        learners.iter_mut().for_each(|part| part.bank.grow(cells));
        let mut from = merged.bank_of(base)?.clone();
        from.grow(cells);
        merged.learner = Box::new(from.merged(learners)?);
        *self = merged;
        Ok(())
    }

    /// Refuses a part that does not belong to this run. Returns the number of its slices.
    fn check_part(&self, base: &dyn SavedLearner, part: &Self) -> Result<u64, RunError> {
        let other = |why| Err(RunError::DifferentTask(why));
        let Some(PartOf { earlier, slices }) = part.part_of else {
            return other("one of them is no part of this run");
        };
        if self.task != part.task {
            return other("they are described differently");
        }
        if earlier != base.rounds() {
            return other("a part began from another state of this run");
        }
        match part.trouble() {
            Some(trouble) => Err(trouble),
            None => Ok(slices),
        }
    }

    /// Takes in the books of a part, and returns its learner by the cells of this run.
    fn take_books(&mut self, part: &Self) -> Result<Bank, RunError> {
        let Ok(places) = self.ledger.merge(&part.ledger) else {
            return Err(RunError::DifferentTask("their ledgers do not go together"));
        };
        if let (Some(own), Some(theirs)) = (&mut self.jury, &part.jury) {
            own.merge_bench(theirs, &places);
        }
        self.card.merge(&part.card);
        self.late += part.late;
        let mut bank = part.bank()?.clone();
        bank.rearrange(&places);
        Ok(bank)
    }

    fn bank(&self) -> Result<&Bank, RunError> {
        self.bank_of(&*self.learner)
    }

    fn bank_of<'a>(&self, learner: &'a dyn SavedLearner) -> Result<&'a Bank, RunError> {
        let bank = learner.as_any().downcast_ref::<Bank>();
        bank.ok_or(RunError::CannotMerge(self.task.learner.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataSpec, Model, Settings};
    use rueful_core::{Batch, Ledger, Round};
    use rueful_data::Survey;

    fn model(learner: &str, loss: &str) -> Model {
        let settings = Settings {
            learner: Some(learner.to_owned()),
            loss: Some(loss.to_owned()),
            ..Settings::default()
        };
        let spec = settings.resolve(DataSpec::libsvm(""), &mut |_| Ok(Survey::default()));
        Model::new(spec.unwrap().spec.task(), DataSpec::libsvm("")).unwrap()
    }

    /// Rows with near and far features. Later rows have features that earlier ones have not.
    fn rows(from: u32, to: u32) -> Batch {
        let mut batch = Batch::default();
        for t in from..to {
            let values = [1.0, 0.5 + (t % 7) as f32, -((t % 5) as f32) - 1.0];
            let label = if t % 3 == 0 || t % 7 > 4 { 1.0 } else { -1.0 };
            let far = 1_000_000 + 7919 * (t % (5 + t / 20));
            batch.push(&[0, 1 + t % 9, far], &values, label).unwrap();
        }
        batch
    }

    fn learn(model: &mut Model, batch: &Batch) -> Vec<Round> {
        let rounds = model.run.learn_counted(batch.rows()).unwrap().to_vec();
        model.stream.now.census.count(batch.rows());
        model.stream.position += batch.rows().len() as u64;
        rounds
    }

    /// A model that learned from some rows, parts that went on with others, and all rounds.
    fn parts(loss: &str, number: u32) -> (Model, Vec<Model>, Vec<Round>) {
        let mut base = model("bank", loss);
        let mut all = learn(&mut base, &rows(0, 40));
        let mut parts = Vec::new();
        for k in 0..number {
            let mut part = base.part(false).unwrap();
            all.extend(learn(&mut part, &rows(40 + 30 * k, 70 + 30 * k)));
            parts.push(part);
        }
        (base, parts, all)
    }

    /// The model and a part as other machines see them.
    fn sent(model: &Model) -> Model {
        Model::decode_part(&model.to_bytes().unwrap(), "sent").unwrap()
    }

    #[test]
    fn an_only_part_is_the_sequence() {
        let mut base = model("bank", "logistic");
        learn(&mut base, &rows(0, 40));
        let mut part = sent(&sent(&base).part(true).unwrap());
        learn(&mut part, &rows(40, 200));
        base.take_parts(vec![sent(&part)]).unwrap();
        let mut whole = model("bank", "logistic");
        learn(&mut whole, &rows(0, 40));
        learn(&mut whole, &rows(40, 200));
        assert!(base.to_bytes().unwrap() == whole.to_bytes().unwrap());
    }

    #[test]
    fn the_books_are_those_of_all_predictions() {
        for loss in ["logistic", "hinge", "square", "absolute"] {
            let (mut base, parts, rounds) = parts(loss, 4);
            let joined = base.joined(parts[1..].to_vec()).unwrap();
            base.take_parts(vec![parts[0].clone(), joined]).unwrap();
            let mut ledger: Ledger = base.task().ledger();
            let mut all = rows(0, 40);
            (0..4).for_each(|k| all.append(rows(40 + 30 * k, 70 + 30 * k).rows()));
            ledger.record_rows(all.rows(), &rounds).unwrap();
            let own = base.run.ledger();
            assert_eq!((own.rounds(), own.mistakes()), (160, ledger.mistakes()), "{loss}");
            assert!((own.loss() - ledger.loss()).abs() < 1e-12 * ledger.loss());
            let comparators = ledger.comparators();
            let (own, recomputed) = (own.certificate(comparators), ledger.certificate(comparators));
            assert!((own - recomputed).abs() < 1e-9 * recomputed.abs(), "{own} {recomputed}");
            assert!(base.run.point().certificate_total() <= recomputed * (1.0 + 1e-12), "{loss}");
            let report = base.run.report();
            assert!(report.bound.theorem.is_none() && report.mixing_cost.is_none());
            assert!(report.bound.why.unwrap().contains("merged from parts"), "{loss}");
        }
    }

    #[test]
    fn sent_parts_are_parts() {
        let (mut base, parts, _) = parts("logistic", 3);
        let mut other = sent(&base);
        other.take_parts(parts.iter().map(sent).collect()).unwrap();
        base.take_parts(parts).unwrap();
        assert!(base.to_bytes().unwrap() == other.to_bytes().unwrap());
        assert!(sent(&base).to_bytes().unwrap() == base.to_bytes().unwrap());
        learn(&mut base, &rows(130, 180));
        assert_eq!(base.run.ledger().rounds(), 180);
    }

    #[test]
    fn what_is_no_part_is_refused() {
        let (mut base, parts, _) = parts("logistic", 2);
        let bytes = parts[0].to_bytes().unwrap();
        let error = Model::decode(&bytes, "a file").err().unwrap().to_string();
        assert!(error.contains("part of a run"), "{error}");
        let certificate = parts[0].run.point().certificate_total();
        assert!(certificate >= parts[0].run.ledger().certificate(&base.task().comparators));
        let before = base.to_bytes().unwrap();
        let whole = vec![base.part(true).unwrap(), parts[0].clone()];
        assert!(matches!(base.take_parts(whole), Err(RunError::DifferentTask(_))));
        assert!(base.to_bytes().unwrap() == before, "nothing is half taken in");
        base.take_parts(parts.clone()).unwrap();
        let error = base.take_parts(parts).err().unwrap().to_string();
        assert!(error.contains("began from another state"), "{error}");
        let error = model("ogd", "logistic").part(false).err().unwrap().to_string();
        assert!(error.contains("ogd"), "{error}");
    }

    /// Whatever bytes come, they are a part that can be taken in, or they are refused.
    #[test]
    fn hostile_bytes_do_no_harm() {
        let (base, parts, _) = parts("square", 2);
        let bytes = parts[0].to_bytes().unwrap();
        for at in (28..bytes.len()).step_by(7) {
            let mut wrong = bytes.clone();
            wrong[at] ^= 1 << (at % 8);
            crate::model::reseal(&mut wrong);
            if let Ok(part) = Model::decode_part(&wrong, "wrong") {
                let mut model = sent(&base);
                let taken = model.take_parts(vec![part, parts[1].clone()]);
                assert!(
                    taken.is_err()
                        || model.to_bytes().is_ok_and(|all| Model::decode(&all, "").is_ok()),
                    "{at}"
                );
            }
        }
    }
}
