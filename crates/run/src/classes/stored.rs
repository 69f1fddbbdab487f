//! A run of many classes as the sections of a model.

use super::card::ClassCard;
use super::late::ClassSaid;
use super::learner::{ClassLearner, Norms};
use super::run::{ClassBooks, ClassRun};
use super::task::ClassTask;
use super::windows::StoredClassWindows;
use crate::companions::{Companions, WINDOWS, whole};
use crate::learning::{Late, Learning};
use crate::model::{
    Description, LEARNER, LEDGER, Model, ModelError, SHARES, Sections, Tag, late, late_section,
    part_of, part_section, shares,
};
use crate::report::Report;
use crate::run::{PartOf, RunError};
use crate::spec::SpecError;
use crate::{DataSpec, Shares};
use rueful_core::classes::ClassLedger;
use rueful_core::{RiskBound, Rows};
use rueful_data::Seen;
use serde::{Deserialize, Serialize};

/// The books without the shares, which have a section of their own.
#[derive(Serialize, Deserialize)]
struct Stored {
    mistakes: Option<RiskBound>,
    card: ClassCard,
    norms: Norms,
    ledger: ClassLedger,
}

impl Learning for ClassRun {
    type Said = ClassSaid;

    const TASK: Tag = *b"Clas";

    fn learn_counted(&mut self, rows: Rows<'_>) -> Result<(), RunError> {
        Self::learn_counted(self, rows).map(|_| ())
    }

    fn learn_late(
        &mut self,
        rows: Rows<'_>,
        late: Late<'_, ClassSaid>,
    ) -> Result<Vec<ClassSaid>, RunError> {
        Self::learn_late(self, rows, late)
    }

    fn late(&self) -> u64 {
        self.books().late
    }

    fn student(&self) -> Self {
        let mut student = self.clone();
        student.set_windows(None);
        student
    }

    fn saw(&mut self, seen: Seen) {
        Self::saw(self, seen);
    }

    fn judged(&self, rows: Rows<'_>, row: usize) -> (f64, bool) {
        let outcome = &self.outcomes()[row];
        (outcome.value, outcome.predicted != Some(rows.labels()[row] as u32))
    }

    fn examples(&self) -> u64 {
        self.ledger().rounds()
    }

    fn total_loss(&self) -> f64 {
        self.ledger().tally().loss()
    }

    /// Probabilities and weights in a ball are always finite.
    fn is_diverged(&self) -> bool {
        false
    }

    fn is_same_task(&self, other: &Self) -> bool {
        self.task() == other.task()
    }

    fn is_part(&self) -> bool {
        Self::is_part(self)
    }

    fn part(&self) -> Result<Self, RunError> {
        Self::part(self)
    }

    fn take_parts(&mut self, parts: &[Self]) -> Result<(), RunError> {
        Self::take_parts(self, parts)
    }

    fn joined(&self, parts: &[Self]) -> Result<Self, RunError> {
        Self::joined(self, parts)
    }

    fn report(&self) -> Report {
        Self::report(self)
    }

    fn order(&self) -> Vec<u32> {
        self.ledger().cells().in_order()
    }

    fn sections(&self) -> Result<Vec<(Tag, Vec<u8>)>, ModelError> {
        let order = self.order();
        let ClassBooks { ledger, mistakes, card, norms, shares, late, windows } =
            self.books().clone();
        let stored = Stored { mistakes, card, norms, ledger };
        let mut sections = vec![
            (Self::TASK, Description::section(self.task().clone())),
            (LEARNER, self.learner().save(&order)?),
            (LEDGER, postcard::to_allocvec(&stored)?),
        ];
        if let Some(shares) = shares {
            sections.push((SHARES, postcard::to_allocvec(&shares)?));
        }
        sections.extend(part_section(self.part_of)?);
        sections.extend(late_section(late)?);
        if let Some(windows) = windows {
            sections.push((WINDOWS, postcard::to_allocvec(&windows.stored(&order))?));
        }
        Ok(sections)
    }

    fn restore(sections: &Sections<'_>, seen: Seen) -> Result<(Self, String), String> {
        let Description { written_by, task }: Description<ClassTask> =
            Description::read(sections.part(Self::TASK))?;
        let fresh = ClassLearner::new(&task).map_err(|error| error.to_string())?;
        let learner = fresh.restore(sections.part(LEARNER));
        let mut learner = learner.ok_or("its learner is not the one it describes")?;
        let stored: Stored = whole(sections.part(LEDGER)).ok_or("its ledger cannot be read")?;
        let part_of = part_of(sections)?;
        check(&stored, &task, &learner, part_of, seen.labels.counts.len())?;
        learner.rearrange(&stored.ledger.cells().places());
        let has_experts = (!learner.experts().is_empty()).then(Shares::new);
        let shares = shares(sections.find(SHARES), has_experts, learner.rounds())?;
        let Stored { mistakes, card, norms, ledger } = stored;
        let late = late(sections, ledger.rounds())?;
        let windows = match sections.find(WINDOWS) {
            Some(section) => {
                let stored: Option<StoredClassWindows> = whole(section);
                let classes = learner.classes();
                let windows = stored.and_then(|stored| stored.restore(task.loss, &ledger, classes));
                Some(windows.ok_or("its windows are not those of its ledger")?)
            }
            None => None,
        };
        let books = ClassBooks { ledger, mistakes, card, norms, shares, late, windows };
        let mut run = Self::restored(task, learner, books, seen);
        if part_of.is_some() {
            (run.part_of, run.books.shares) = (part_of, None);
        }
        Ok((run, written_by))
    }

    fn companions(&self, sections: &Sections<'_>) -> Result<Companions, &'static str> {
        Companions::read_without_windows(sections)
    }
}

/// Refuses books that are not those of the task, the learner, the part and this many classes.
fn check(
    stored: &Stored,
    task: &ClassTask,
    learner: &ClassLearner,
    part_of: Option<PartOf>,
    classes: usize,
) -> Result<(), &'static str> {
    let Stored { mistakes, card, norms, ledger } = stored;
    let rounds = ledger.rounds();
    let earlier = part_of.map_or(0, |part_of| part_of.earlier);
    let played = learner.rounds().checked_sub(earlier);
    if !ledger.continues(&task.ledger()) || Some(rounds) != played {
        return Err("its ledger is not that of its learner");
    }
    if learner.features() != ledger.cells().count() {
        return Err("its learner does not have a weight for every feature");
    }
    let fresh = RiskBound::new(1.0);
    if mistakes.is_some_and(|all| !all.continues(Some(&fresh), rounds)) {
        return Err("its mistakes are not those of its ledger");
    }
    let counted = ledger.confusion().classes().map(|(class, _)| class as usize + 1);
    let most = counted.fold(learner.classes() as usize, usize::max);
    if most > classes || !card.is_sound(rounds, classes) || !norms.are_sound() {
        return Err("its classes are not those of its stream");
    }
    Ok(())
}

impl Model<ClassRun> {
    /// A run of many classes before its first row, which will be shown rows of such data.
    pub fn of_classes(task: ClassTask, data: DataSpec) -> Result<Self, SpecError> {
        Ok(Self::of(ClassRun::new(task)?, data))
    }

    /// The names of the classes, by number.
    pub fn class_names(&self) -> Vec<String> {
        self.stream.seen().labels.counts.into_iter().map(|(label, _)| label).collect()
    }
}
