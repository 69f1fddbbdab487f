//! Parts of a run of many classes: copies of it that learn from rows of their own, side by side.
//!
//! They follow the rules of parts of other runs. Classes have the same numbers in all parts, so their
//! names must be known before the parts begin.

use super::card::ClassCard;
use super::learner::{ClassLearner, Norms};
use super::run::{ClassBooks, ClassRun};
use crate::run::{PartOf, RunError};
use rueful_core::learner::{BankPart, SoftmaxBank};
use rueful_data::Seen;

impl ClassRun {
    /// A part of this run, which can learn from rows of its own.
    pub fn part(&self) -> Result<Self, RunError> {
        self.bank()?;
        let books = ClassBooks {
            ledger: self.books.ledger.opened_anew(),
            mistakes: None,
            card: ClassCard::default(),
            norms: Norms::default(),
            shares: None,
            late: 0,
            windows: None,
        };
        let part_of = Some(PartOf { earlier: self.learner.rounds(), slices: 1 });
        Ok(Self { books, seen: Seen::default(), part_of, ..self.clone() })
    }

    /// Whether this is a part of another run.
    pub fn is_part(&self) -> bool {
        self.part_of.is_some()
    }

    /// Takes in parts of this run. Its order is that of the parts. Parts without rounds change
    /// nothing. The theorem, which is about one learner, no longer applies.
    pub fn take_parts(&mut self, parts: &[Self]) -> Result<(), RunError> {
        let base = self.bank()?.clone();
        let ledger = &self.books.ledger;
        let mark = ledger.rounds().saturating_add(ledger.until_mark());
        self.take(&base, parts)?;
        self.books.mistakes = None;
        self.books.windows = None;
        if self.books.ledger.rounds() >= mark {
            self.books.ledger.mark_now(self.learner.judge());
        }
        Ok(())
    }

    /// Joins parts of this run to one part, so that many are merged in levels.
    pub fn joined(&self, parts: &[Self]) -> Result<Self, RunError> {
        let mut joined = self.part()?;
        let slices = parts.iter().filter_map(|part| part.part_of).map(|part| part.slices).sum();
        joined.take(self.bank()?, parts)?;
        joined.part_of.iter_mut().for_each(|part_of| part_of.slices = slices);
        Ok(joined)
    }

    /// Takes in parts that began with the bank `base`, which has the first cells of this run.
    fn take(&mut self, base: &SoftmaxBank, parts: &[Self]) -> Result<(), RunError> {
        let mut merged = self.clone();
        let mut learners = Vec::with_capacity(parts.len());
        for part in parts {
            let slices = merged.check_part(base, part)?;
            if part.books.ledger.rounds() > 0 {
                let bank = merged.take_books(part)?;
                learners.push(BankPart { bank, slices });
            }
            merged.seen.extend(&part.seen);
        }
        let cells = merged.books.ledger.cells().len();
        learners.iter_mut().for_each(|part| part.bank.grow(cells));
        let mut from = base.clone();
        from.grow(cells);
        merged.learner = ClassLearner::Bank(Box::new(from.merged(learners)?));
        *self = merged;
        Ok(())
    }

    /// Refuses a part that does not belong to this run. Returns the number of its slices.
    fn check_part(&self, base: &SoftmaxBank, part: &Self) -> Result<u64, RunError> {
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
        Ok(slices)
    }

    /// Takes in the books of a part, and returns its learner by the cells of this run.
    fn take_books(&mut self, part: &Self) -> Result<SoftmaxBank, RunError> {
        let (own, theirs) = (&mut self.books, &part.books);
        let places = own.ledger.merge(&theirs.ledger);
        own.card.merge(&theirs.card);
        own.late += theirs.late;
        own.norms.example = own.norms.example.max(theirs.norms.example);
        own.norms.gradient = own.norms.gradient.max(theirs.norms.gradient);
        let mut bank = part.bank()?.clone();
        bank.rearrange(&places);
        Ok(bank)
    }

    fn bank(&self) -> Result<&SoftmaxBank, RunError> {
        match &self.learner {
            ClassLearner::Bank(bank) => Ok(bank),
            ClassLearner::Ogd { .. } => Err(RunError::CannotMerge(self.task.learner.name())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AnyModel, ClassLoss, DataSpec, Model, Settings};
    use rueful_core::classes::{ClassLedger, ClassRound};
    use rueful_core::{Batch, Example};

    const CLASSES: u32 = 7;

    fn model(loss: &str) -> Model<ClassRun> {
        let loss = ClassLoss::named(loss).unwrap();
        let spec = Settings::default().resolve_classes(loss, DataSpec::libsvm("")).unwrap();
        let mut model = Model::of_classes(spec.task(), DataSpec::libsvm("")).unwrap();
        let names = (0..CLASSES).map(|class| (format!("class {class}"), 0));
        model.stream.now.labels.counts = names.collect();
        model
    }

    /// Rows with near and far features. Later rows have features and classes that earlier ones have
    /// not.
    fn rows(from: u32, to: u32) -> Batch {
        let mut batch = Batch::default();
        for t in from..to {
            let values = [1.0, 0.5 + (t % 7) as f32, -((t % 5) as f32) - 1.0];
            let far = 1_000_000 + 7919 * (t % (5 + t / 20));
            let class = (t % 7 + u32::from(t % 3 == 0)) % CLASSES.min(2 + t / 20);
            batch.push(&[0, 1 + t % 9, far], &values, f64::from(class)).unwrap();
        }
        batch
    }

    fn learn(model: &mut Model<ClassRun>, batch: &Batch) {
        model.run.learn_counted(batch.rows()).unwrap();
        model.stream.now.census.count(batch.rows());
        model.stream.position += batch.rows().len() as u64;
        for &label in batch.labels() {
            model.stream.now.labels.counts[label as usize].1 += 1;
        }
    }

    /// A model that learned from some rows, and parts that went on with others.
    fn parts(number: u32) -> (Model<ClassRun>, Vec<Model<ClassRun>>) {
        let mut base = model("softmax");
        learn(&mut base, &rows(0, 40));
        let each = |k: u32| {
            let mut part = base.part(false).unwrap();
            learn(&mut part, &rows(40 + 30 * k, 70 + 30 * k));
            part
        };
        let parts = (0..number).map(each).collect();
        (base, parts)
    }

    /// The model and a part as other machines see them.
    fn sent(model: &Model<ClassRun>) -> Model<ClassRun> {
        match AnyModel::decode_part(&model.to_bytes().unwrap(), "sent").unwrap() {
            AnyModel::Classes(model) => *model,
            AnyModel::Score(_) => panic!("it has many classes"),
        }
    }

    #[test]
    fn an_only_part_is_the_sequence() {
        let mut base = model("softmax");
        learn(&mut base, &rows(0, 40));
        let mut part = sent(&sent(&base).part(true).unwrap());
        learn(&mut part, &rows(40, 200));
        base.take_parts(vec![sent(&part)]).unwrap();
        let mut whole = model("softmax");
        learn(&mut whole, &rows(0, 40));
        learn(&mut whole, &rows(40, 200));
        assert!(base.to_bytes().unwrap() == whole.to_bytes().unwrap());
    }

    /// The rounds of a bank, entered in a ledger of all of them.
    fn enter(ledger: &mut ClassLedger, bank: &SoftmaxBank, places: &ClassRun, batch: &Batch) {
        let mut bank = bank.clone();
        let (mut cells, mut own_cells) = (Vec::new(), Vec::new());
        let mut own = places.books.ledger.clone();
        let entered = own.enter(batch.rows(), &mut own_cells);
        let by_ledger = ledger.enter(batch.rows(), &mut cells);
        let mut row = 0;
        let record = |_: &Example<'_>, round: &ClassRound, said: (&[u32], &[f64])| {
            ledger.record(&by_ledger.get(row), round, said);
            row += 1;
        };
        bank.learn_rows_with(entered, record).unwrap();
    }

    #[test]
    fn the_books_are_those_of_all_predictions() {
        let (mut base, parts) = parts(4);
        let mut ledger = base.run.task().ledger();
        let fresh = model("softmax");
        enter(&mut ledger, fresh.run.bank().unwrap(), &fresh.run, &rows(0, 40));
        for k in 0..4 {
            let own = rows(40 + 30 * k, 70 + 30 * k);
            enter(&mut ledger, base.run.bank().unwrap(), &base.run, &own);
        }
        let joined = base.joined(parts[1..].to_vec()).unwrap();
        base.take_parts(vec![parts[0].clone(), joined]).unwrap();
        let own = base.run.ledger();
        let (found, expected) = (own.point(None), ledger.point(None));
        assert_eq!((found.rounds(), found.mistake_rate()), (160, expected.mistake_rate()));
        assert_eq!(own.confusion(), ledger.confusion());
        assert!((found.loss() - expected.loss()).abs() < 1e-12 * expected.loss());
        let (total, recomputed) = (found.certificate_total(), expected.certificate_total());
        assert!((total - recomputed).abs() < 1e-9 * recomputed.abs(), "{total} {recomputed}");
        assert!(base.run.point().certificate_total() <= total, "witnesses do no harm");
        assert!(base.run.point().certificate_total() < total, "and these help");
        let report = base.run.report();
        assert!(report.bound.theorem.is_none() && report.mixing_cost.is_none());
        assert!(report.bound.why.unwrap().contains("merged from parts"));
        let counted: u64 = base.stream.now.labels.counts.iter().map(|(_, count)| count).sum();
        assert_eq!((counted, report.examples), (160, 160));
    }

    #[test]
    fn windows_are_judged_alone() {
        let (mut base, parts) = parts(3);
        let before = sent(&base);
        base.take_parts(parts).unwrap();
        let later = base.run.ledger();
        let verdict = later.verdict_since(before.run.ledger()).unwrap();
        let loss = later.tally().loss() - before.run.ledger().tally().loss();
        assert_eq!(verdict.rounds, 90);
        assert!((90.0 * verdict.sequential_risk - loss).abs() < 1e-9);
        let whole = later.verdict_since(&later.opened_anew()).unwrap();
        let point = later.point(None);
        assert!(whole.certificate >= point.certificate());
        assert!(whole.certificate - point.certificate() < 1e-9);
        assert!(before.run.ledger().verdict_since(later).is_none());
    }

    #[test]
    fn sent_parts_are_parts() {
        let (mut base, parts) = parts(3);
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
        let (mut base, parts) = parts(2);
        let error = AnyModel::decode(&parts[0].to_bytes().unwrap(), "a file").err().unwrap();
        assert!(error.to_string().contains("part of a run"), "{error}");
        let before = base.to_bytes().unwrap();
        let whole = vec![base.part(true).unwrap(), parts[0].clone()];
        assert!(matches!(base.take_parts(whole), Err(RunError::DifferentTask(_))));
        let mut named = parts.clone();
        named[1].stream.now.labels.counts.push(("another".to_owned(), 0));
        let error = base.take_parts(named).err().unwrap().to_string();
        assert!(error.contains("labels that the run does not know"), "{error}");
        assert!(base.to_bytes().unwrap() == before, "nothing is half taken in");
        base.take_parts(parts.clone()).unwrap();
        let error = base.take_parts(parts).err().unwrap().to_string();
        assert!(error.contains("began from another state"), "{error}");
        let error = model("multiclass-hinge").part(false).err().unwrap().to_string();
        assert!(error.contains("ogd"), "{error}");
    }

    /// Whatever bytes come, they are a part that can be taken in, or they are refused.
    #[test]
    fn hostile_bytes_do_no_harm() {
        let (base, parts) = parts(2);
        let bytes = parts[0].to_bytes().unwrap();
        for at in (28..bytes.len()).step_by(bytes.len() / 400) {
            let mut wrong = bytes.clone();
            wrong[at] ^= 1 << (at % 8);
            crate::model::reseal(&mut wrong);
            if let Ok(AnyModel::Classes(part)) = AnyModel::decode_part(&wrong, "wrong") {
                let mut model = sent(&base);
                let taken = model.take_parts(vec![*part, parts[1].clone()]);
                assert!(
                    taken.is_err()
                        || model.to_bytes().is_ok_and(|all| AnyModel::decode(&all, "").is_ok()),
                    "{at}"
                );
            }
        }
    }
}
