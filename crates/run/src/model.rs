//! The file in which a run is saved, as `docs/maintainers/files.md` describes it. It holds everything that is
//! needed to go on, to predict, and to tell what was learned from.
//!
//! ```text
//! MAGIC version length crc                 the header
//! (tag length bytes)…                      the sections
//! ```
//!
//! Whole numbers are little-endian. The task and the data are JSON, and the other sections are
//! postcard. Vectors have one entry for every feature that was seen, in the order of the features.
//! A file may come from anywhere: lengths are checked before memory is allocated, and the state of
//! a learner is compared with a fresh one before it is used.

use crate::classes::ClassRun;
use crate::companions::{Companions, whole};
use crate::data::DataSpec;
use crate::dispatch::restore;
use crate::jury::Jury;
use crate::learning::Learning;
use crate::passes::Course;
use crate::pending::{DelayReport, Pending, WAITING};
use crate::report::Report;
use crate::run::{PartOf, Proofs, Run, RunError};
use crate::shares::Shares;
use crate::spec::SpecError;
use crate::statistics::Statistics;
use crate::task::Task;
use rueful_core::figures::Scorecard;
use rueful_core::{Ledger, RiskBound};
use rueful_data::{Seen, can_replace_file, printable, replace_file};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use thiserror::Error;

/// The first bytes of a model. No text begins like this, and no transfer as text leaves it whole.
const MAGIC: &[u8; 12] = b"\x8druefulm\r\n\x1a\n";

/// The version that is written, and the only one that is read.
const VERSION: u32 = 3;

/// The bytes of magic, version, length and checksum.
const HEADER: usize = 28;

/// The length of the longest file that is opened.
const LENGTH_MAX: u64 = 4 << 30;

/// The tag of a section, in four letters. A program may skip a section that it does not know if the
/// tag begins with a small letter. Later versions add sections and change none.
pub type Tag = [u8; 4];

const TASK: Tag = Run::TASK;
const DATA: Tag = *b"Data";
pub(crate) const LEARNER: Tag = *b"Lrnr";
pub(crate) const LEDGER: Tag = *b"Ledg";
const STREAM: Tag = *b"Seen";
const JURY: Tag = *b"Jury";
const STATISTICS: Tag = *b"Gram";
pub(crate) const SHARES: Tag = *b"Shar";
const FIGURES: Tag = *b"figs";
/// The mark of a part of a run. A program that does not know it must not take it for a model.
const PART: Tag = *b"Part";
/// How many predictions were made before earlier labels had come. A program that does not know it
/// would state a theorem that does not hold.
pub(crate) const LATE: Tag = *b"Late";

/// All tags that begin with a large letter.
const KNOWN: [Tag; 12] = [
    TASK,
    ClassRun::TASK,
    DATA,
    LEARNER,
    LEDGER,
    STREAM,
    JURY,
    STATISTICS,
    SHARES,
    PART,
    LATE,
    WAITING,
];

/// A saved run.
#[derive(Clone)]
pub struct Model<R: Learning = Run> {
    /// The run as it was left.
    pub run: R,
    /// The data that it was learning from at last.
    pub data: DataSpec,
    /// The record of what the stream held.
    pub stream: Stream,
    /// The companions of the run.
    pub companions: Companions,
    /// The passes over the data, if there are several.
    pub course: Course<R>,
    /// The rows that wait for their labels.
    pub pending: Pending<R::Said>,
    /// The version of the program that wrote it.
    pub written_by: String,
}

/// The record of a session's stream.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// The record of what was seen before the current data.
    pub before: Seen,
    /// The record of the current data, as far as they were learned from.
    pub now: Seen,
    /// The number of rows of the current data that were learned from.
    pub position: u64,
}

impl Stream {
    /// A stream without rows that knows the same labels, in the same order.
    fn with_labels_alone(&self) -> Self {
        let mut now = Seen { labels: self.seen().labels, ..Seen::default() };
        now.labels.counts.iter_mut().for_each(|(_, count)| *count = 0);
        Self { now, ..Self::default() }
    }

    /// The record of the whole stream.
    pub fn seen(&self) -> Seen {
        if self.before.census.examples == 0 {
            return self.now.clone();
        }
        let mut all = self.before.clone();
        all.extend(&self.now);
        all
    }
}

/// The description that a model begins with.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Description<T> {
    pub(crate) written_by: String,
    pub(crate) task: T,
}

impl<T: Serialize + DeserializeOwned> Description<T> {
    /// The section that describes a task.
    pub(crate) fn section(task: T) -> Vec<u8> {
        let written_by = env!("CARGO_PKG_VERSION").to_owned();
        // JSON of names and finite numbers cannot fail.
        serde_json::to_vec(&Self { written_by, task }).unwrap_or_default()
    }

    /// The description in a section, or the error in it.
    pub(crate) fn read(section: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(section).map_err(|error| format!("its task: {error}"))
    }
}

/// The ledger and the mistakes, and how many of the rounds other learners have played.
#[derive(Serialize, Deserialize)]
struct Books {
    others: u64,
    mistakes: Option<RiskBound>,
    ledger: Ledger,
}

/// The reason why a model cannot be read or written.
#[derive(Debug, Error)]
pub enum ModelError {
    /// The file could not be read.
    #[error("cannot read {file}: {error}")]
    Read {
        /// The file.
        file: String,
        /// The error of the system.
        error: std::io::Error,
    },
    /// The file could not be written. A file that was there before is still there, whole.
    #[error("cannot save {file}: {error}; a model that was there before is unharmed")]
    Write {
        /// The file.
        file: String,
        /// The error of the system.
        error: std::io::Error,
    },
    /// The state of the run could not be encoded.
    #[error("the run cannot be saved: {0}")]
    Encode(#[from] postcard::Error),
    /// The file is not a model.
    #[error("{file} is not a rueful model: {what}")]
    Foreign {
        /// The file.
        file: String,
        /// The kind of file that it is instead.
        what: String,
    },
    /// The model has a version that this program does not read.
    #[error(
        "{file} is a rueful model of version {version}, and this program reads version {VERSION}: {}",
        if *version > VERSION { "a newer rueful opens it" } else { "learn it anew from its data" }
    )]
    Version {
        /// The file.
        file: String,
        /// Its version.
        version: u32,
    },
    /// The model has a part that this program does not know.
    #[error(
        "{file} is a rueful model with a part {part:?} that this program does not know: a newer rueful opens it"
    )]
    Part {
        /// The file.
        file: String,
        /// The tag of the part.
        part: String,
    },
    /// The file is shorter or longer than it says.
    #[error("{file} is a rueful model that was cut short or added to: {what}")]
    Length {
        /// The file.
        file: String,
        /// The error in its length.
        what: String,
    },
    /// The checksum of the file is wrong.
    #[error("{file} is a rueful model that was damaged: its checksum is wrong. Use another copy")]
    Damaged {
        /// The file.
        file: String,
    },
    /// The model learns many classes, or a score, and the other kind was expected.
    #[error(
        "{file} is a model of {}, which has {}: this command is for the other kind of model",
        if *of_classes { "many classes" } else { "one score" },
        if *of_classes { "weights for every class" } else { "no classes" }
    )]
    Kind {
        /// The file.
        file: String,
        /// Whether the model is one of many classes.
        of_classes: bool,
    },
    /// The file is well-formed, but makes no sense.
    #[error("{file} is no model that rueful wrote: {what}")]
    Senseless {
        /// The file.
        file: String,
        /// The error in its content.
        what: String,
    },
}

/// Encodes a run as the bytes of a model.
pub(crate) fn encode<R: Learning>(
    run: &R,
    data: &DataSpec,
    stream: &Stream,
    companions: &Companions,
    course: &Course<R>,
    pending: &Pending<R::Said>,
) -> Result<Vec<u8>, ModelError> {
    let mut sections = run.sections()?;
    // JSON of names and finite numbers cannot fail.
    sections.insert(1, (DATA, serde_json::to_vec(data).unwrap_or_default()));
    sections.insert(4, (STREAM, postcard::to_allocvec(stream)?));
    sections.extend(companions.sections(&run.order())?);
    sections.extend(course.sections()?);
    sections.extend(pending.section()?);
    Ok(seal(&sections))
}

/// Encodes a run alone, without its data and its stream.
pub(crate) fn seal_run<R: Learning>(run: &R) -> Result<Vec<u8>, ModelError> {
    let mut sections = run.sections()?;
    sections.extend([(DATA, Vec::new()), (STREAM, Vec::new())]);
    Ok(seal(&sections))
}

/// Decodes a run that was encoded alone.
pub(crate) fn unseal_run<R: Learning>(
    bytes: &[u8],
    seen: Seen,
    file: &str,
) -> Result<R, ModelError> {
    let sections = Sections::of(Header::check(bytes, file)?, file)?;
    let senseless = |what| ModelError::Senseless { file: file.to_owned(), what };
    if sections.find(R::TASK).is_none() {
        return Err(senseless("a later pass of it is of another kind".to_owned()));
    }
    Ok(R::restore(&sections, seen).map_err(senseless)?.0)
}

/// A run of one score as sections of a model.
pub(crate) fn sections_of(run: &Run) -> Result<Vec<(Tag, Vec<u8>)>, ModelError> {
    let (others, mistakes) = (run.others(), run.mistakes().copied());
    let books = Books { others, mistakes, ledger: run.ledger().clone() };
    let order = run.ledger().cells().in_order();
    let mut sections = vec![
        (TASK, Description::section(run.task().clone())),
        (LEARNER, run.saved_learner().save(&order)?),
        (LEDGER, postcard::to_allocvec(&books)?),
    ];
    if let Some(jury) = run.jury() {
        let jury = jury.rearranged(&order);
        sections.push((JURY, postcard::to_allocvec(&jury)?));
        if let Some(statistics) = jury.statistics() {
            sections.push((STATISTICS, postcard::to_allocvec(statistics)?));
        }
    }
    sections.extend(part_section(run.part_of())?);
    sections.extend(late_section(run.late())?);
    if let Some(shares) = run.saved_shares() {
        sections.push((SHARES, postcard::to_allocvec(shares)?));
    }
    sections.push((FIGURES, postcard::to_allocvec(run.scorecard())?));
    Ok(sections)
}

/// The section of a part of a run.
pub(crate) fn part_section(part_of: Option<PartOf>) -> Result<Option<(Tag, Vec<u8>)>, ModelError> {
    let section = part_of.map(|part_of| postcard::to_allocvec(&part_of)).transpose()?;
    Ok(section.map(|section| (PART, section)))
}

/// The place of a part in its run, or the error in the section that says so. `None` for a whole run.
pub(crate) fn part_of(sections: &Sections<'_>) -> Result<Option<PartOf>, &'static str> {
    let Some(section) = sections.find(PART) else { return Ok(None) };
    whole::<PartOf>(section).map(Some).ok_or("its part cannot be read")
}

/// The section of a run some of whose predictions were made before earlier labels had come.
pub(crate) fn late_section(late: u64) -> Result<Option<(Tag, Vec<u8>)>, ModelError> {
    Ok(if late == 0 { None } else { Some((LATE, postcard::to_allocvec(&late)?)) })
}

/// How many of the rounds of a run were late, or the error in the section that says so.
pub(crate) fn late(sections: &Sections<'_>, rounds: u64) -> Result<u64, String> {
    let Some(section) = sections.find(LATE) else { return Ok(0) };
    let late = whole::<u64>(section).filter(|late| (1..=rounds).contains(late));
    late.ok_or_else(|| "the number of its late labels cannot be read".to_owned())
}

/// Joins the sections behind a header for them.
fn seal(sections: &[(Tag, Vec<u8>)]) -> Vec<u8> {
    let length: usize = sections.iter().map(|(_, section)| 12 + section.len()).sum();
    let mut bytes = Vec::with_capacity(HEADER + length);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&(length as u64).to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    for (tag, section) in sections {
        bytes.extend_from_slice(tag);
        bytes.extend_from_slice(&(section.len() as u64).to_le_bytes());
        bytes.extend_from_slice(section);
    }
    let crc = checksum(&bytes);
    bytes[HEADER - 4..HEADER].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// Gives bytes that were changed the checksum that they should have.
#[cfg(test)]
pub(crate) fn reseal(bytes: &mut [u8]) {
    let crc = checksum(bytes);
    bytes[HEADER - 4..HEADER].copy_from_slice(&crc.to_le_bytes());
}

/// The checksum of all bytes except its own.
fn checksum(bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes[..HEADER - 4]);
    hasher.update(&bytes[HEADER..]);
    hasher.finalize()
}

/// Refuses a place where no model can be saved, before there is one to save.
pub fn check_place(path: &Path) -> Result<(), ModelError> {
    can_replace_file(path)
        .map_err(|error| ModelError::Write { file: path.display().to_string(), error })
}

/// Writes the bytes of a model to a file. The file is there whole or not at all.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), ModelError> {
    replace_file(path, bytes)
        .map_err(|error| ModelError::Write { file: path.display().to_string(), error })
}

impl Model {
    /// A run of a task before its first row, which will be shown rows of such data.
    pub fn new(task: Task, data: DataSpec) -> Result<Self, SpecError> {
        Ok(Self::of(Run::new(task)?, data))
    }

    /// Opens the file of a model.
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        let file = printable(&path.display().to_string());
        let bytes = read(path, &file)?;
        Self::decode(&bytes, &file)
    }

    /// Reads a model from the bytes of a file, which errors call `file`.
    pub fn decode(bytes: &[u8], file: &str) -> Result<Self, ModelError> {
        whole_model(Self::decode_part(bytes, file)?, file)
    }

    /// The task: loss, learner and comparators.
    pub fn task(&self) -> &Task {
        self.run.task()
    }
}

impl<R: Learning> Model<R> {
    /// A run before its first row, which will be shown rows of such data.
    pub(crate) fn of(run: R, data: DataSpec) -> Self {
        let written_by = env!("CARGO_PKG_VERSION").to_owned();
        let (stream, companions) = (Stream::default(), Companions::default());
        let (course, pending) = (Course::default(), Pending::default());
        Self { run, data, stream, companions, course, pending, written_by }
    }

    /// The run that predicts: that of the first pass, or what later passes made of it.
    pub fn learned(&self) -> &R {
        self.course.learned(&self.run)
    }

    /// The report on the run as it was left. Data from files and several passes over them are named.
    pub fn report(&self) -> Report {
        let mut report = self.run.report();
        if !self.data.files.is_empty() {
            report.spec.data = Some(self.data.clone());
        }
        let classifies = report.mistake_rate.is_some();
        report.passes = self.course.report(self.data.passes.as_ref(), classifies);
        if self.data.schema.has_ids() {
            let (late, waiting) = (self.run.late(), self.pending.len() as u64);
            report.delayed_labels = Some(DelayReport { late, waiting });
        }
        report
    }

    /// The model as the bytes of a file.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ModelError> {
        let Self { run, data, stream, companions, course, pending, .. } = self;
        encode(run, data, stream, companions, course, pending)
    }

    /// Saves the model in a file. The file is there whole or not at all.
    pub fn save(&self, path: &Path) -> Result<(), ModelError> {
        write(path, &self.to_bytes()?)
    }

    fn restored(sections: &Sections<'_>, file: &str) -> Result<Self, ModelError> {
        let senseless = |what: String| ModelError::Senseless { file: file.to_owned(), what };
        if sections.find(R::TASK).is_none() {
            let of_classes = R::TASK == TASK;
            return Err(ModelError::Kind { file: file.to_owned(), of_classes });
        }
        let data = serde_json::from_slice(sections.part(DATA))
            .map_err(|error| senseless(format!("its data: {error}")))?;
        let stream: Stream = whole(sections.part(STREAM))
            .ok_or_else(|| senseless("the record of its stream cannot be read".to_owned()))?;
        let (run, written_by) = R::restore(sections, stream.seen()).map_err(senseless)?;
        if Some(run.examples()) != parts_of(&stream, run.others()) {
            return Err(senseless("its stream is not that of its ledger".to_owned()));
        }
        let companions = run.companions(sections).map_err(|what| senseless(what.to_owned()))?;
        let course = Course::read(sections, &stream.seen(), file).map_err(senseless)?;
        let pending = Pending::read(sections).map_err(senseless)?;
        Ok(Self { run, data, stream, companions, course, pending, written_by })
    }
}

/// A saved run of any kind.
pub enum AnyModel {
    /// A model that gives every example one score.
    Score(Box<Model>),
    /// A model of many classes.
    Classes(Box<Model<ClassRun>>),
}

impl AnyModel {
    /// Opens the file of a model.
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        let file = printable(&path.display().to_string());
        Self::decode(&read(path, &file)?, &file)
    }

    /// Reads a model from the bytes of a file, which errors call `file`.
    pub fn decode(bytes: &[u8], file: &str) -> Result<Self, ModelError> {
        Ok(match Self::decode_part(bytes, file)? {
            Self::Score(model) => Self::Score(Box::new(whole_model(*model, file)?)),
            Self::Classes(model) => Self::Classes(Box::new(whole_model(*model, file)?)),
        })
    }

    /// Reads a model or a part of one from its bytes, which errors call `file`.
    pub fn decode_part(bytes: &[u8], file: &str) -> Result<Self, ModelError> {
        let sections = Sections::of(Header::check(bytes, file)?, file)?;
        if sections.find(ClassRun::TASK).is_some() {
            return Ok(Self::Classes(Box::new(Model::restored(&sections, file)?)));
        }
        Ok(Self::Score(Box::new(Model::restored(&sections, file)?)))
    }
}

/// Refuses a part of a run.
fn whole_model<R: Learning>(model: Model<R>, file: &str) -> Result<Model<R>, ModelError> {
    if model.run.is_part() {
        let what = "it is a part of a run, which only that run can take in".to_owned();
        return Err(ModelError::Senseless { file: file.to_owned(), what });
    }
    Ok(model)
}

impl<R: Learning + Clone> Model<R> {
    /// Reads a model or a part of one from its bytes, which errors call `file`.
    pub fn decode_part(bytes: &[u8], file: &str) -> Result<Self, ModelError> {
        let sections = Sections::of(Header::check(bytes, file)?, file)?;
        Self::restored(&sections, file)
    }

    /// A part of this model, which can learn from rows of its own, and knows the labels of this one.
    /// If it is the only one, it is a copy, and what it learns is what this model would have learned.
    pub fn part(&self, is_only: bool) -> Result<Self, RunError> {
        let (run, stream) = if is_only {
            (self.run.clone(), self.stream.clone())
        } else {
            (self.run.part()?, self.stream.with_labels_alone())
        };
        let companions = if is_only { self.companions.clone() } else { Companions::default() };
        Ok(Self {
            run,
            data: self.data.clone(),
            stream,
            companions,
            course: Course::default(),
            pending: if is_only { self.pending.clone() } else { Pending::default() },
            written_by: self.written_by.clone(),
        })
    }

    /// Takes in parts of this model. The result depends on them and on their order alone. An only
    /// part becomes the model.
    pub fn take_parts(&mut self, mut parts: Vec<Self>) -> Result<(), RunError> {
        let is_only = parts.len() == 1 && !parts[0].run.is_part();
        if is_only && parts[0].run.is_same_task(&self.run) && parts[0].data == self.data {
            *self = parts.swap_remove(0);
            return Ok(());
        }
        let mut stream = self.stream.clone();
        let runs = streams_of(parts, &mut stream)?;
        self.run.take_parts(&runs)?;
        self.stream = stream;
        self.run.saw(self.stream.seen());
        Ok(())
    }

    /// Joins parts of this model to one part, so that many are merged in levels.
    pub fn joined(&self, parts: Vec<Self>) -> Result<Self, RunError> {
        let mut joined = self.part(false)?;
        let runs = streams_of(parts, &mut joined.stream)?;
        joined.run = self.run.joined(&runs)?;
        Ok(joined)
    }
}

/// Adds the streams of parts to a stream, and returns their runs. Labels that came first in a part
/// would have other numbers than in another one.
fn streams_of<R: Learning>(parts: Vec<Model<R>>, stream: &mut Stream) -> Result<Vec<R>, RunError> {
    let names = |stream: &Stream| stream.seen().labels.counts.into_iter().map(|(name, _)| name);
    let known: Vec<String> = names(stream).collect();
    let take = |part: Model<R>| {
        if !known.is_empty() && !names(&part.stream).eq(known.iter().cloned()) {
            return Err(RunError::DifferentTask("a part has labels that the run does not know"));
        }
        stream.now.extend(&part.stream.seen());
        stream.position = stream.position.saturating_add(part.stream.position);
        Ok(part.run)
    };
    parts.into_iter().map(take).collect()
}

/// The number of rounds that a stream and other learners make together, if they agree.
fn parts_of(stream: &Stream, others: u64) -> Option<u64> {
    let (before, now) = (stream.before.census.examples, stream.now.census.examples);
    // Rows that do not count were passed over, too.
    let is_at = stream.position >= now;
    before.checked_add(now)?.checked_add(others).filter(|_| is_at)
}

/// The sections of a model. Those that every model has are there.
pub struct Sections<'a> {
    all: Vec<(Tag, &'a [u8])>,
}

impl<'a> Sections<'a> {
    fn of(body: &'a [u8], file: &str) -> Result<Self, ModelError> {
        let senseless =
            |what: &str| ModelError::Senseless { file: file.to_owned(), what: what.to_owned() };
        let all = sections(body)
            .ok_or_else(|| senseless("its sections do not fill it, or one comes twice"))?;
        let is_foreign = |tag: &Tag| !KNOWN.contains(tag) && !tag[0].is_ascii_lowercase();
        if let Some((tag, _)) = all.iter().find(|(tag, _)| is_foreign(tag)) {
            let part = tag.escape_ascii().to_string();
            return Err(ModelError::Part { file: file.to_owned(), part });
        }
        let sections = Self { all };
        let has = |tag: Tag| sections.find(tag).is_some();
        let has_task = has(TASK) != has(ClassRun::TASK);
        if !has_task || ![DATA, LEARNER, LEDGER, STREAM].into_iter().all(has) {
            return Err(senseless("a section is missing"));
        }
        Ok(sections)
    }

    /// A section that a model may have.
    pub(crate) fn find(&self, wanted: Tag) -> Option<&'a [u8]> {
        self.all.iter().find(|(tag, _)| *tag == wanted).map(|&(_, section)| section)
    }

    /// A section that every model has.
    pub(crate) fn part(&self, wanted: Tag) -> &'a [u8] {
        self.find(wanted).unwrap_or_default()
    }
}

/// The run in its sections, or the error in them.
pub(crate) fn restored(parts: &Sections<'_>, seen: Seen) -> Result<(Run, String), String> {
    let Description { written_by, task }: Description<Task> = Description::read(parts.part(TASK))?;
    let learner = restore(&task, parts.part(LEARNER)).map_err(|error| error.to_string())?;
    let mut learner = learner.ok_or("its learner is not the one it describes")?;
    let Books { others, mistakes, ledger } =
        whole(parts.part(LEDGER)).ok_or("its ledger cannot be read")?;
    let part_of = part_of(parts)?;
    let earlier = part_of.map_or(0, |part_of| part_of.earlier);
    let played = learner.rounds().checked_sub(earlier);
    let rounds = played.and_then(|played| played.checked_add(others));
    let fresh = task.ledger().pinning(learner.named_coordinates());
    if !ledger.continues(&fresh) || Some(ledger.rounds()) != rounds {
        return Err("its ledger is not that of its learner".to_owned());
    }
    if learner.weights().len() != ledger.cells().count() {
        return Err("its learner does not have a weight for every feature".to_owned());
    }
    if mistakes.is_some_and(|all| !all.continues(task.mistakes().as_ref(), ledger.rounds())) {
        return Err("its mistakes are not those of its ledger".to_owned());
    }
    let places = ledger.cells().places();
    let jury = jury(&task, parts, &ledger, others)?;
    let jury = jury.map(|jury| jury.rearranged(&places));
    learner.rearrange(&places);
    let fresh_shares = (!learner.experts().is_empty()).then(Shares::new);
    let shares = shares(parts.find(SHARES), fresh_shares, learner.rounds())?;
    let card = figures(&task, parts.find(FIGURES), ledger.rounds())?;
    let late = late(parts, ledger.rounds())?;
    let proofs = Proofs { ledger, jury, mistakes, card, others, late, shares };
    let mut run = Run::restored(task, learner, proofs, seen);
    part_of.into_iter().for_each(|part_of| run.restore_part(part_of));
    Ok((run, written_by))
}

/// The jury in its section, or the error in it.
fn jury(
    task: &Task,
    parts: &Sections<'_>,
    ledger: &Ledger,
    others: u64,
) -> Result<Option<Jury>, String> {
    let wrong = "its jury is not that of its task";
    let fresh = Jury::new(task);
    let statistics = match parts.find(STATISTICS) {
        None => None,
        // Where a fresh jury has no statistics, a later one cannot have any.
        Some(_) if fresh.as_ref().and_then(Jury::statistics).is_none() => return Err(wrong.into()),
        Some(section) => {
            let read: Option<Statistics> = whole(section);
            let is_one = |read: &Statistics| read.are_of(ledger);
            Some(read.filter(is_one).ok_or("its statistics are not those of its ledger")?)
        }
    };
    match (fresh, parts.find(JURY)) {
        (None, None) => Ok(None),
        (Some(_), Some(section)) => {
            let jury: Option<Jury> = whole(section);
            let is_one = |jury: &Jury| jury.continues(task, ledger.rounds(), others);
            let jury = jury.filter(is_one).ok_or(wrong)?;
            Ok(Some(jury.completed(task, statistics)))
        }
        _ => Err(wrong.to_owned()),
    }
}

/// The shares in their section, or the error in them.
pub(crate) fn shares(
    section: Option<&[u8]>,
    fresh: Option<Shares>,
    rounds: u64,
) -> Result<Option<Shares>, String> {
    let (Some(_), Some(section)) = (&fresh, section) else { return Ok(fresh) };
    let read: Option<Shares> = whole(section);
    let read = read.filter(|shares| shares.is_sound(rounds));
    Ok(Some(read.ok_or("its shares are not those of its learner")?))
}

/// The figures in their section, or the error in them. Without a section, they begin anew.
fn figures(task: &Task, section: Option<&[u8]>, rounds: u64) -> Result<Scorecard, String> {
    let fresh = task.scorecard();
    let Some(section) = section else { return Ok(fresh) };
    let read: Option<Scorecard> = whole(section);
    let read = read.filter(|card| card.continues(&fresh, rounds));
    read.ok_or_else(|| "its figures are not those of its ledger".to_owned())
}

/// Reads a file that is not too long.
fn read(path: &Path, file: &str) -> Result<Vec<u8>, ModelError> {
    let failed = |error| ModelError::Read { file: file.to_owned(), error };
    let mut bytes = Vec::new();
    let mut open = File::open(path).map_err(failed)?;
    open.by_ref().take(HEADER as u64).read_to_end(&mut bytes).map_err(failed)?;
    // A file that is not a model is not read any further.
    Header::begin(&bytes, file)?;
    open.take(LENGTH_MAX).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

struct Header {
    length: u64,
    crc: u32,
}

impl Header {
    /// Reads the header from the first bytes of a file.
    fn begin(bytes: &[u8], file: &str) -> Result<Self, ModelError> {
        let file = || file.to_owned();
        if !bytes.starts_with(MAGIC) {
            return Err(match MAGIC.starts_with(bytes) && !bytes.is_empty() {
                true => ModelError::Length { file: file(), what: "its header is cut".to_owned() },
                false => ModelError::Foreign { file: file(), what: what_it_is(bytes) },
            });
        }
        let Some(header) = bytes.first_chunk::<HEADER>() else {
            return Err(ModelError::Length { file: file(), what: "its header is cut".to_owned() });
        };
        let version = u32::from_le_bytes([header[12], header[13], header[14], header[15]]);
        if version != VERSION {
            return Err(ModelError::Version { file: file(), version });
        }
        let mut length = [0; 8];
        length.copy_from_slice(&header[16..24]);
        let crc = u32::from_le_bytes([header[24], header[25], header[26], header[27]]);
        Ok(Self { length: u64::from_le_bytes(length), crc })
    }

    /// The bytes behind the header, if they have the length and the checksum that it says.
    fn check<'a>(bytes: &'a [u8], file: &str) -> Result<&'a [u8], ModelError> {
        let header = Self::begin(bytes, file)?;
        let body = &bytes[HEADER..];
        if body.len() as u64 != header.length {
            let what = format!(
                "it should have {} bytes and has {}",
                header.length.saturating_add(HEADER as u64),
                bytes.len()
            );
            return Err(ModelError::Length { file: file.to_owned(), what });
        }
        if checksum(bytes) != header.crc {
            return Err(ModelError::Damaged { file: file.to_owned() });
        }
        Ok(body)
    }
}

/// The sections of a body that holds nothing else.
fn sections(mut body: &[u8]) -> Option<Vec<(Tag, &[u8])>> {
    let mut found: Vec<(Tag, &[u8])> = Vec::new();
    while !body.is_empty() {
        let (tag, rest) = body.split_first_chunk::<4>()?;
        let (length, rest) = rest.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (section, rest) = rest.split_at_checked(length)?;
        if found.iter().any(|(known, _)| known == tag) {
            return None;
        }
        found.push((*tag, section));
        body = rest;
    }
    Some(found)
}

/// Tells what a file is that is not a model, as far as its beginning shows.
fn what_it_is(bytes: &[u8]) -> String {
    let known: [(&[u8], &str); 7] = [
        (b"\x8drueful", "it is a rueful cache, which holds data: rueful run learns from it"),
        (b"\x1f\x8b", "it is compressed (gzip): unpack it first"),
        (b"\x28\xb5\x2f\xfd", "it is compressed (zstd): unpack it first"),
        (b"PK\x03\x04", "it is a zip archive, perhaps the model of another program"),
        (b"\x80", "it looks like a Python pickle: another program's model"),
        (b"PAR1", "it is Parquet, which holds data"),
        (b"{", "it looks like JSON: a description of a run, perhaps, which is no model"),
    ];
    if bytes.is_empty() {
        return "it is empty".to_owned();
    }
    match known.iter().find(|(beginning, _)| bytes.starts_with(beginning)) {
        Some((_, what)) => (*what).to_owned(),
        None => format!("it begins with \"{}\"", bytes[..bytes.len().min(16)].escape_ascii()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataSpec, LearnerSpec, Session, Settings};
    use rueful_data::{Follow, Input, LabelRule, Reader, Reading, Schema, Survey};

    const TEXT: &str = "1 1:2 3:1\n-1 2:1\n1 1:1 7:0.5\n-1 1:4\n-1 2:3 3:-1\n";

    fn reader(text: &'static str) -> Reader {
        let input = Input::new("text", text.as_bytes(), &Follow::No).unwrap();
        Reader::new(vec![input], &Schema::Libsvm {}, &Reading::new(LabelRule::Signs))
    }

    fn run(learner: &str) -> Session {
        let settings = Settings { learner: Some(learner.to_owned()), ..Settings::default() };
        let survey = Survey { examples: 10, weighted_norm_max: 9.0, ..Survey::default() };
        let resolved = settings.resolve(DataSpec::libsvm("text"), &mut |_| Ok(survey)).unwrap();
        Session::new(&resolved.spec).unwrap()
    }

    fn model() -> Vec<u8> {
        let (mut run, mut source) = (run("ogd"), reader(TEXT));
        while run.advance(&mut source).unwrap() {}
        run.to_bytes(&source).unwrap()
    }

    fn refusal(bytes: &[u8]) -> String {
        Model::decode(bytes, "m").map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn every_learner_comes_back_as_it_was() {
        for learner in LearnerSpec::NAMES {
            let (mut session, mut source) = (run(learner), reader(TEXT));
            while session.advance(&mut source).unwrap() {}
            let bytes = session.to_bytes(&source).unwrap();
            let model = Model::decode(&bytes, "m").unwrap();
            assert_eq!(model.task(), session.run().task(), "{learner}");
            assert_eq!(model.run.ledger(), session.ledger(), "{learner}");
            assert_eq!(model.run.weights(), session.run().weights(), "{learner}");
            assert_eq!(model.to_bytes().unwrap(), bytes, "{learner}");
            let put_away = session.into_model(&source);
            assert_eq!(put_away.to_bytes().unwrap(), bytes, "{learner}");
        }
    }

    /// Three features, near and far, make a file of a few hundred bytes, however far they are.
    #[test]
    fn a_model_is_as_large_as_what_was_seen() {
        let (mut session, mut source) = (run("ogd"), reader("1 5:1 60000000:2\n-1 7:1\n"));
        while session.advance(&mut source).unwrap() {}
        let bytes = session.to_bytes(&source).unwrap();
        assert!(bytes.len() < 2500, "{} bytes", bytes.len());
        let model = Model::decode(&bytes, "m").unwrap();
        assert_eq!(model.run.weights(), session.run().weights());
        assert_eq!(model.run.weights().len(), 4);
    }

    #[test]
    fn no_truncation_and_no_flipped_bit_goes_unnoticed() {
        let bytes = model();
        for length in 0..bytes.len() {
            refusal(&bytes[..length]);
        }
        refusal(&[&bytes[..], b"x"].concat());
        for place in 0..bytes.len() {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[place] ^= 1 << bit;
                refusal(&flipped);
            }
        }
    }

    /// One byte is wrong, and the checksum is right.
    #[test]
    fn a_model_that_makes_no_sense_is_refused_or_is_a_model() {
        let bytes = model();
        let mut opened = 0;
        for place in HEADER..bytes.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff, bytes[place].wrapping_add(1)] {
                let mut forged = bytes.clone();
                forged[place] = value;
                let crc = checksum(&forged);
                forged[HEADER - 4..HEADER].copy_from_slice(&crc.to_le_bytes());
                if let Ok(model) = Model::decode(&forged, "m") {
                    opened += 1;
                    let mut session = Session::resume_with(model, DataSpec::libsvm("text"));
                    // A model that opens can go on, or diverges.
                    let mut source = reader(TEXT);
                    while session.advance(&mut source).unwrap_or(false) {}
                    session.report(&source);
                }
            }
        }
        assert!(opened > 0, "a changed number can be a number as good");
    }

    #[test]
    fn other_files_are_named_for_what_they_are() {
        let bytes = model();
        assert_eq!(refusal(b""), "m is not a rueful model: it is empty");
        assert!(refusal(b"\x1f\x8b\x08").contains("gzip"));
        assert!(refusal(b"{\"spec\": 1}").contains("no model"));
        assert!(refusal(b"\x8drueful\r\n\x1a\n\0....").contains("rueful cache"));
        assert!(refusal(b"hello, world").contains("it begins with \"hello, world\""));
        assert!(refusal(&bytes[..7]).contains("cut short"));
        let mut future = bytes.clone();
        future[12] = 4;
        assert!(refusal(&future).contains("a newer rueful opens it"), "{}", refusal(&future));
        future[12] = 1;
        assert!(refusal(&future).contains("learn it anew"), "{}", refusal(&future));
        assert!(refusal(&bytes[..bytes.len() - 1]).contains("should have"));
    }

    /// The sections of a model.
    fn taken_apart(bytes: &[u8]) -> Vec<(Tag, Vec<u8>)> {
        let sections = sections(&bytes[HEADER..]).unwrap();
        sections.into_iter().map(|(tag, section)| (tag, section.to_vec())).collect()
    }

    #[test]
    fn a_task_with_another_loss_or_radius_is_refused() {
        let bytes = model();
        for (from, to) in [("hinge", "logistic"), ("\"radius\":10.0", "\"radius\":3.0")] {
            let mut sections = taken_apart(&bytes);
            let text = String::from_utf8(sections[0].1.clone()).unwrap();
            assert!(text.contains(from), "{text}");
            sections[0].1 = text.replace(from, to).into_bytes();
            let error = refusal(&seal(&sections));
            assert!(error.contains("ledger") || error.contains("learner"), "{to}: {error}");
        }
    }

    #[test]
    fn a_model_without_figures_opens_and_says_so() {
        let (mut session, mut source) = (run("bank"), reader(TEXT));
        while session.advance(&mut source).unwrap() {}
        let whole = session.to_bytes(&source).unwrap();
        let kept = Model::decode(&whole, "m").unwrap().run;
        assert_eq!(kept.report().figures, session.report(&source).figures);
        let mut sections = taken_apart(&whole);
        sections.retain(|(tag, _)| *tag != FIGURES);
        let mut model = Model::decode(&seal(&sections), "m").unwrap();
        assert_eq!(model.run.scorecard().examples(), 0);
        model.run.saw(Seen::default());
        let mut session = Session::resume_with(model, DataSpec::libsvm("text"));
        let mut source = reader("1 1:1\n-1 2:2\n");
        while session.advance(&mut source).unwrap() {}
        let figures = session.report(&source).figures.unwrap();
        assert_eq!((figures.counted.examples, figures.remarks.len()), (2, 1));
        assert!(figures.remarks[0].contains("last 2 examples"), "{:?}", figures.remarks);
        assert!(figures.remarks[0].contains("the 5 before"), "{:?}", figures.remarks);
    }

    #[test]
    fn figures_of_other_rounds_are_refused() {
        let (mut session, mut source) = (run("bank"), reader(TEXT));
        while session.advance(&mut source).unwrap() {}
        let mut sections = taken_apart(&session.to_bytes(&source).unwrap());
        let figures = sections.iter_mut().find(|(tag, _)| *tag == FIGURES).unwrap();
        figures.1 = postcard::to_allocvec(&Scorecard::new(session.run().task().loss)).unwrap();
        assert!(refusal(&seal(&sections)).contains("its figures are not those"));
    }

    #[test]
    fn parts_that_are_not_known_are_passed_over_or_named() {
        let bytes = model();
        let mut sections = taken_apart(&bytes);
        sections.push((*b"more", b"hello".to_vec()));
        assert!(Model::decode(&seal(&sections), "m").is_ok());
        sections.push((*b"Bank", Vec::new()));
        assert!(refusal(&seal(&sections)).contains("\"Bank\""));
        let mut twice = taken_apart(&bytes);
        twice.push(twice[2].clone());
        assert!(refusal(&seal(&twice)).contains("comes twice"));
        let mut fewer = taken_apart(&bytes);
        fewer.remove(3);
        assert!(refusal(&seal(&fewer)).contains("missing"));
    }
}
