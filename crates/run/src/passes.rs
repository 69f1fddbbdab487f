//! Several passes over the same data.
//!
//! The first pass is a run like any other, and everything that is proved is about it. In later
//! passes a copy of the run, the student, goes on learning from rows that it has seen, so nothing
//! is proved about it. Rows that are held out judge every pass, and can end them early.

use crate::companions::whole;
use crate::holdout::{Holdout, HoldoutBy};
use crate::learning::Learning;
use crate::model::{ModelError, Sections, Tag, seal_run, unseal_run};
use crate::settings::SettingsError;
use rueful_core::Rows;
use rueful_data::{Phrase, Seen};
use serde::{Deserialize, Serialize};
use std::num::{NonZeroU32, NonZeroU64};

// The tags have small letters: a program that does not know these sections has the first pass.
const COURSE: Tag = *b"pass";
const STUDENT: Tag = *b"stud";
const KEPT: Tag = *b"kept";

/// How often data are read, and which rows are held out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Passes {
    /// The largest number of passes.
    pub count: NonZeroU32,
    /// The rows that are held out, if some are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holdout: Option<Holdout>,
    /// The number of passes without a lower loss on the rows held out after which no more are made.
    pub patience: NonZeroU32,
}

impl Passes {
    /// One pass, with nothing held out.
    pub const ONE: Self = Self { count: NonZeroU32::MIN, holdout: None, patience: NonZeroU32::MIN };

    /// Whether rows are read more than once.
    pub fn are_several(&self) -> bool {
        self.count.get() > 1
    }
}

/// The settings with which a person asks for passes. Each of them may be left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PassesSettings {
    /// The largest number of passes.
    pub passes: Option<u32>,
    /// One row of this many is held out.
    pub holdout: Option<u64>,
    /// A name of [`HoldoutBy::NAMES`].
    pub holdout_by: Option<String>,
    /// The number of passes without a lower loss on the rows held out after which no more are made.
    pub patience: Option<u32>,
}

impl PassesSettings {
    /// Completes the settings. It is `None` for one pass over all rows.
    pub fn passes(&self) -> Result<Option<Passes>, SettingsError> {
        let Self { passes, holdout, holdout_by, patience } = self;
        let refused = |setting: &'static str, why: String| {
            SettingsError::Contradiction(Phrase::default().setting(setting).and(why))
        };
        let count = |setting, asked: Option<u32>| {
            let none = || refused(setting, " is at least 1, and not 0".to_owned());
            asked.map_or(Ok(NonZeroU32::MIN), |asked| NonZeroU32::new(asked).ok_or_else(none))
        };
        let by = match holdout_by.as_deref() {
            None => HoldoutBy::default(),
            Some(name) => HoldoutBy::named(name).ok_or_else(|| {
                let known = HoldoutBy::NAMES.join(" or ");
                refused("holdout-by", format!(" is {known}, and not {name:?}"))
            })?,
        };
        let holdout = match holdout {
            None if holdout_by.is_some() => {
                return Err(refused(
                    "holdout-by",
                    " has no effect: no rows are held out".to_owned(),
                ));
            }
            None if patience.is_some() => {
                return Err(refused("patience", " has no effect: no rows are held out".to_owned()));
            }
            None => None,
            Some(every) => Some(match NonZeroU64::new(*every) {
                Some(every) if every.get() > 1 => Holdout { every, by },
                _ => {
                    let why =
                        " would hold out every row: one of 2 or more, such as 10, is held out";
                    return Err(refused("holdout", format!(" {every}{why}")));
                }
            }),
        };
        if passes.is_none() && patience.is_some() {
            return Err(refused("patience", " has no effect on a single pass".to_owned()));
        }
        let passes = Passes {
            count: count("passes", *passes)?,
            holdout,
            patience: count("patience", *patience)?,
        };
        Ok((passes != Passes::ONE).then_some(passes))
    }
}

/// The losses of the rows that one pass held out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct HeldOutScore {
    /// The number of these rows.
    pub examples: u64,
    /// The sum of their importances.
    pub weight: f64,
    /// The sum of their losses, times their importances.
    pub loss: f64,
    /// The sum of the importances of those that were predicted wrongly.
    pub wrong: f64,
}

impl HeldOutScore {
    fn average(&self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.loss / self.weight)
    }

    fn is_sound(&self) -> bool {
        self.weight >= 0.0 && self.weight.is_finite() && (0.0..=self.weight).contains(&self.wrong)
    }
}

/// The passes of a session: how far they have come, and what was learned after the first.
#[derive(Clone)]
pub struct Course<R> {
    at: Place,
    /// The run that goes on learning after the first pass.
    student: Option<R>,
    /// The student after the best of the later passes, if rows are held out and one of these passes
    /// is the best.
    kept: Option<R>,
}

/// How far the passes have come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    /// The pass under way, counted from 1.
    pass: u32,
    /// The number of rows that a later pass has read.
    position: u64,
    /// The score of every pass that has begun.
    scores: Vec<HeldOutScore>,
    /// The pass with the least loss on the rows that are held out, among those that are complete.
    best: u32,
    /// Whether a later pass has begun and not ended.
    is_open: bool,
    /// Whether no more passes are made.
    is_over: bool,
}

impl<R> Default for Course<R> {
    fn default() -> Self {
        let scores = vec![HeldOutScore::default()];
        let at = Place { pass: 1, position: 0, scores, best: 1, is_open: false, is_over: false };
        Self { at, student: None, kept: None }
    }
}

impl<R: Learning> Course<R> {
    /// The run that predicts after all passes, given that of the first.
    pub fn learned<'a>(&'a self, first: &'a R) -> &'a R {
        let holds_out = self.at.scores[0].examples > 0;
        let later = if holds_out { &self.kept } else { &self.student };
        later.as_ref().unwrap_or(first)
    }

    /// Whether rows were learned from more than once. Such a model does not go on with other data.
    pub fn is_later(&self) -> bool {
        self.at.pass > 1
    }

    /// The number of rows of a later pass that were read before.
    pub(crate) fn position(&self) -> u64 {
        self.at.position
    }

    /// Adds the rows that were held out among those that a run has just predicted.
    pub(crate) fn judge(
        &mut self,
        run: &R,
        rows: Rows<'_>,
        held: impl Iterator<Item = (usize, f64)>,
    ) {
        let Some(score) = self.at.scores.last_mut() else { return };
        for (row, importance) in held {
            let (loss, is_wrong) = run.judged(rows, row);
            score.examples += 1;
            score.weight += importance;
            score.loss += importance * loss;
            score.wrong += if is_wrong { importance } else { 0.0 };
        }
    }

    /// Ends the pass under way, and begins the next one if there is to be one. `first` is the run
    /// of the first pass. Returns whether there is one.
    pub(crate) fn turn(&mut self, passes: &Passes, first: &R) -> bool
    where
        R: Clone,
    {
        if self.at.is_over {
            return false;
        }
        self.compare();
        let misses = self.at.pass - self.at.best;
        let is_late = self.at.scores[0].examples > 0 && misses >= passes.patience.get();
        self.at.is_over = is_late || self.at.pass >= passes.count.get();
        if self.at.is_over {
            if self.at.scores[0].examples > 0 {
                self.student = None;
            }
            return false;
        }
        self.student.get_or_insert_with(|| first.student());
        self.at.pass += 1;
        (self.at.position, self.at.is_open) = (0, true);
        self.at.scores.push(HeldOutScore::default());
        true
    }

    /// Whether a later pass has begun and not ended.
    pub(crate) fn is_open(&self) -> bool {
        self.at.is_open
    }

    /// Ends a later pass, because there are no more rows.
    pub(crate) fn end_pass(&mut self) {
        self.at.is_open = false;
    }

    /// Keeps the student if its pass was the best so far.
    fn compare(&mut self)
    where
        R: Clone,
    {
        let average = |pass: u32| self.at.scores.get(pass as usize - 1)?.average();
        let Some((now, best)) = average(self.at.pass).zip(average(self.at.best)) else { return };
        if now < best {
            self.at.best = self.at.pass;
            self.kept = self.student.clone();
        }
    }

    /// Lets the student learn from the rows of a later pass.
    pub(crate) fn study(
        &mut self,
        rows: Rows<'_>,
        held: impl Iterator<Item = (usize, f64)>,
    ) -> Result<(), crate::RunError> {
        let Some(mut student) = self.student.take() else { return Ok(()) };
        let learned = student.learn_counted(rows);
        if learned.is_ok() {
            self.judge(&student, rows, held);
            self.at.position += rows.len() as u64;
        }
        self.student = Some(student);
        learned
    }

    /// The sections of a model.
    pub(crate) fn sections(&self) -> Result<Vec<(Tag, Vec<u8>)>, ModelError> {
        let mut sections = Vec::new();
        if self.at.pass > 1 || self.at.scores[0].examples > 0 {
            sections.push((COURSE, postcard::to_allocvec(&self.at)?));
        }
        for (tag, run) in [(STUDENT, &self.student), (KEPT, &self.kept)] {
            if let Some(run) = run {
                sections.push((tag, seal_run(run)?));
            }
        }
        Ok(sections)
    }

    /// Reads the passes from the sections of a model, or returns the error in them.
    pub(crate) fn read(sections: &Sections<'_>, seen: &Seen, file: &str) -> Result<Self, String> {
        let Some(section) = sections.find(COURSE) else { return Ok(Self::default()) };
        let at: Option<Place> = whole(section);
        let is_sound = |at: &Place| {
            at.pass >= 1
                && at.scores.len() == at.pass as usize
                && (1..=at.pass).contains(&at.best)
                && !(at.is_open && (at.is_over || at.pass == 1))
                && at.scores.iter().all(HeldOutScore::is_sound)
        };
        let at = at.filter(is_sound).ok_or("its passes cannot be read")?;
        let run = |tag: Tag| -> Result<Option<R>, String> {
            let sealed = sections.find(tag).map(|bytes| unseal_run(bytes, seen.clone(), file));
            sealed.transpose().map_err(|error| error.to_string())
        };
        let (student, kept) = (run(STUDENT)?, run(KEPT)?);
        let needs_student = at.pass > 1 && (!at.is_over || at.scores[0].examples == 0);
        if needs_student != student.is_some() || (at.best > 1) != kept.is_some() {
            return Err("its passes are not those of its learner".to_owned());
        }
        Ok(Self { at, student, kept })
    }

    /// The report on the passes, if there are several or if rows are held out.
    pub(crate) fn report(&self, passes: Option<&Passes>, classifies: bool) -> Option<PassesReport> {
        let passes = passes?;
        let of = |(pass, score): (u32, &HeldOutScore)| PassReport {
            pass,
            examples: score.examples,
            loss: score.average(),
            error_rate: (classifies && score.weight > 0.0).then(|| score.wrong / score.weight),
        };
        let held_out = (1..).zip(&self.at.scores).map(of);
        Some(PassesReport {
            planned: passes.count.get(),
            made: self.at.pass,
            best: passes.holdout.map(|_| self.at.best),
            stopped_early: self.at.is_over && self.at.pass < passes.count.get(),
            every: passes.holdout.map(|holdout| holdout.every),
            by: passes.holdout.map(|holdout| holdout.by),
            held_out: passes.holdout.map_or_else(Vec::new, |_| held_out.collect()),
        })
    }
}

/// The passes of a run over its data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PassesReport {
    /// The largest number of passes.
    pub planned: u32,
    /// The passes that were made or begun.
    pub made: u32,
    /// The pass after which the model predicts, if rows are held out: the one that lost least on
    /// them.
    pub best: Option<u32>,
    /// Whether passes ended because the loss on the rows that are held out no longer fell.
    pub stopped_early: bool,
    /// One row of this many is held out.
    pub every: Option<NonZeroU64>,
    /// How rows that are held out are chosen.
    pub by: Option<HoldoutBy>,
    /// The rows that were held out, pass by pass.
    pub held_out: Vec<PassReport>,
}

/// The rows that were held out in one pass. Each was predicted when its turn came, and never
/// learned from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PassReport {
    /// The pass, counted from 1.
    pub pass: u32,
    /// The number of rows.
    pub examples: u64,
    /// Their average loss.
    pub loss: Option<f64>,
    /// The share of them that was predicted wrongly; null for regression.
    pub error_rate: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataSpec, LabelUse, Model, ReadingOptions, Session, Settings};
    use rueful_core::loss::Labels;
    use rueful_data::Source;
    use std::fmt::Write;

    /// Rows that are learned from several times, in a file.
    fn data(count: u32, every: Option<u64>) -> (tempfile::TempDir, DataSpec) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rows.libsvm");
        let mut text = String::new();
        for t in 0..4000_u32 {
            let label = if t * t % 7 < 3 { "+1" } else { "-1" };
            writeln!(text, "{label} {}:1 {}:0.5 40:{}", 1 + t % 7, 9 + t % 11, t % 5).unwrap();
        }
        std::fs::write(&file, text).unwrap();
        let holdout = every
            .map(|every| Holdout { every: NonZeroU64::new(every).unwrap(), by: HoldoutBy::Row });
        let passes = Passes { count: NonZeroU32::new(count).unwrap(), holdout, ..Passes::ONE };
        let data = DataSpec::libsvm(file.to_str().unwrap());
        (folder, DataSpec { passes: Some(passes), ..data })
    }

    fn open(data: &DataSpec) -> Box<dyn Source> {
        let options = ReadingOptions { idle_rows: true, ..ReadingOptions::default() };
        data.open(LabelUse::Learn(Labels::Signs), &options).unwrap()
    }

    fn session(data: &DataSpec, learner: &str) -> Session {
        let settings = Settings {
            learner: Some(learner.to_owned()),
            loss: Some("logistic".to_owned()),
            ..Settings::default()
        };
        let resolved = settings.resolve(data.clone(), &mut |_| Ok(Default::default())).unwrap();
        Session::new(&resolved.spec).unwrap()
    }

    /// Learns in all passes. After every batch the session is saved and resumed, if so asked.
    fn learned(data: &DataSpec, learner: &str, is_stopped: bool) -> Vec<u8> {
        let mut session = session(data, learner);
        let mut source = open(data);
        while session.advance(&mut *source).unwrap() {}
        while session.next_pass() {
            let mut again = open(data);
            while session.study(&mut *again).unwrap() {
                if is_stopped {
                    let bytes = session.to_bytes(&*source).unwrap();
                    session = Session::resume(Model::decode(&bytes, "it").unwrap());
                    source = open(data);
                    while session.advance(&mut *source).unwrap() {}
                    assert!(session.next_pass());
                    again = open(data);
                }
            }
        }
        session.to_bytes(&*source).unwrap()
    }

    #[test]
    fn passes_that_were_stopped_end_like_passes_that_were_not() {
        for (count, every) in [(3, None), (4, Some(5))] {
            let (_folder, data) = data(count, every);
            for learner in ["bank", "ogd"] {
                let whole = learned(&data, learner, false);
                assert_eq!(learned(&data, learner, true), whole, "{learner} {count} {every:?}");
                let model = Model::decode(&whole, "it").unwrap();
                assert!(model.course.is_later());
            }
        }
    }

    #[test]
    fn the_first_pass_stays_as_it_was() {
        let (_folder, data) = data(3, Some(10));
        let mut session = session(&data, "bank");
        let mut source = open(&data);
        while session.advance(&mut *source).unwrap() {}
        let mut before = session.report(&*source);
        while session.next_pass() {
            let mut again = open(&data);
            while session.study(&mut *again).unwrap() {}
        }
        let mut after = session.report(&*source);
        let passes = after.passes.take().unwrap();
        before.passes = None;
        assert_eq!(after, before);
        assert_eq!(after.examples, 3600, "one row of ten is held out");
        assert!(passes.made > 1 && passes.held_out[0].examples == 400, "{passes:?}");
        let least = passes.held_out.iter().filter_map(|pass| pass.loss).fold(1.0, f64::min);
        let best = passes.best.unwrap() as usize;
        assert_eq!(passes.held_out[best - 1].loss, Some(least));
    }

    #[test]
    fn a_forged_place_is_refused() {
        let (_folder, data) = data(3, None);
        let bytes = learned(&data, "ogd", false);
        let model = Model::decode(&bytes, "it").unwrap();
        let mut forged = model;
        forged.course.at.best = 7;
        let error = Model::decode(&forged.to_bytes().unwrap(), "it").map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("its passes cannot be read"), "{error}");
    }
}
