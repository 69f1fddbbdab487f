//! The file a run is put away in, as `docs/model.md` describes it: everything that is needed to go
//! on, to predict, and to say what was learned from.
//!
//! ```text
//! MAGIC version length crc                 the header
//! (length bytes)⁴                          description, learner, ledger, stream
//! ```
//!
//! Whole numbers are little-endian. The description is JSON, the other sections are postcard. What
//! is read may come from anywhere: lengths are checked before memory is asked for, and the state
//! of a learner is compared with a fresh one before it is used.

use crate::dispatch::{SavedLearner, restore};
use crate::spec::Spec;
use rueful_core::Ledger;
use rueful_data::{Seen, can_replace_file, printable, replace_file};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use thiserror::Error;

/// How a model begins: no text does, and no transfer as text leaves it whole.
const MAGIC: &[u8; 12] = b"\x8druefulm\r\n\x1a\n";

/// The version that is written, and the latest that is read.
const VERSION: u32 = 1;

/// Magic, version, length, checksum.
const HEADER: usize = 28;

/// The longest file that is opened. A learner of 2^26 features takes half of it.
const LENGTH_MAX: u64 = 4 << 30;

/// A run put away.
pub struct Model {
    /// What is run; its data are those the run was at last.
    pub spec: Spec,
    /// The learner as it was left.
    pub learner: Box<dyn SavedLearner>,
    /// The books.
    pub ledger: Ledger,
    /// What the stream held.
    pub stream: Stream,
    /// Which version of the program wrote it.
    pub written_by: String,
}

/// What a run knows of its stream.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// What came before the data of the description.
    pub before: Seen,
    /// What these data held, as far as they were learned from.
    pub now: Seen,
    /// How many of their rows were learned from.
    pub position: u64,
}

impl Stream {
    /// All of it.
    pub fn seen(&self) -> Seen {
        if self.before.census.examples == 0 {
            return self.now.clone();
        }
        let mut all = self.before.clone();
        all.extend(&self.now);
        all
    }
}

/// What a model says of itself before anything else is read.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    written_by: String,
    spec: Spec,
}

/// Why a model cannot be read or written.
#[derive(Debug, Error)]
pub enum ModelError {
    /// The file could not be read.
    #[error("cannot read {file}: {error}")]
    Read {
        /// The file.
        file: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// The file could not be written. One that was there is still there, whole.
    #[error("cannot save {file}: {error}; a model that was there before is unharmed")]
    Write {
        /// The file.
        file: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// A state that cannot be written down.
    #[error("the run cannot be put away: {0}")]
    Encode(#[from] postcard::Error),
    /// Not a model.
    #[error("{file} is not a rueful model: {what}")]
    Foreign {
        /// The file.
        file: String,
        /// What it is instead.
        what: String,
    },
    /// A model of a version that is not known here.
    #[error(
        "{file} is a rueful model of version {version}, and this program knows versions up to \
         {VERSION}: a newer rueful opens it"
    )]
    Future {
        /// The file.
        file: String,
        /// Its version.
        version: u32,
    },
    /// A file that is shorter or longer than it says.
    #[error("{file} is a rueful model that was cut short or added to: {what}")]
    Length {
        /// The file.
        file: String,
        /// What is wrong with its length.
        what: String,
    },
    /// A file whose checksum is wrong.
    #[error("{file} is a rueful model that was damaged: its checksum is wrong. Use another copy")]
    Damaged {
        /// The file.
        file: String,
    },
    /// A file that is well-formed and makes no sense.
    #[error("{file} is no model that rueful wrote: {what}")]
    Senseless {
        /// The file.
        file: String,
        /// What is wrong with it.
        what: String,
    },
}

/// The bytes of a model.
pub(crate) fn encode(
    spec: &Spec,
    learner: &dyn SavedLearner,
    ledger: &Ledger,
    stream: &Stream,
) -> Result<Vec<u8>, ModelError> {
    let written_by = env!("CARGO_PKG_VERSION").to_owned();
    let description = Description { written_by, spec: spec.clone() };
    // A description has no way to fail: it is made of names and finite numbers.
    let description = serde_json::to_vec(&description).unwrap_or_default();
    let sections = [
        description,
        learner.save()?,
        postcard::to_allocvec(ledger)?,
        postcard::to_allocvec(stream)?,
    ];
    let length: usize = sections.iter().map(|section| 8 + section.len()).sum();
    let mut bytes = Vec::with_capacity(HEADER + length);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&(length as u64).to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    for section in &sections {
        bytes.extend_from_slice(&(section.len() as u64).to_le_bytes());
        bytes.extend_from_slice(section);
    }
    let crc = checksum(&bytes);
    bytes[HEADER - 4..HEADER].copy_from_slice(&crc.to_le_bytes());
    Ok(bytes)
}

/// Of everything but itself.
fn checksum(bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes[..HEADER - 4]);
    hasher.update(&bytes[HEADER..]);
    hasher.finalize()
}

/// Refuses a place where no model can be saved, before there is one.
pub fn check_place(path: &Path) -> Result<(), ModelError> {
    can_replace_file(path)
        .map_err(|error| ModelError::Write { file: path.display().to_string(), error })
}

/// Puts the bytes of a model in a file, which is there whole or not at all.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), ModelError> {
    replace_file(path, bytes)
        .map_err(|error| ModelError::Write { file: path.display().to_string(), error })
}

impl Model {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        let file = printable(&path.display().to_string());
        let bytes = read(path, &file)?;
        Self::decode(&bytes, &file)
    }

    /// A model from the bytes of a file, called `file` in errors.
    pub fn decode(bytes: &[u8], file: &str) -> Result<Self, ModelError> {
        let body = Header::check(bytes, file)?;
        let senseless =
            |what: &str| ModelError::Senseless { file: file.to_owned(), what: what.to_owned() };
        let [description, learner, ledger, stream] =
            sections(body).ok_or_else(|| senseless("its sections do not fill it"))?;
        let Description { written_by, spec } = serde_json::from_slice(description)
            .map_err(|error| senseless(&format!("its description: {error}")))?;
        let learner = restore(&spec, learner).map_err(|error| senseless(&error.what))?;
        let learner =
            learner.ok_or_else(|| senseless("its learner is not the one it describes"))?;
        let ledger: Ledger = whole(ledger).ok_or_else(|| senseless("its ledger cannot be read"))?;
        let fresh = Ledger::regularized(spec.comparators.clone(), spec.sigma);
        if !ledger.continues(&fresh) || ledger.rounds() != learner.rounds() {
            return Err(senseless("its ledger is not that of its learner"));
        }
        let stream: Stream =
            whole(stream).ok_or_else(|| senseless("what it knows of its stream cannot be read"))?;
        let rows = stream.before.census.examples.checked_add(stream.now.census.examples);
        if rows != Some(ledger.rounds()) || stream.position != stream.now.census.examples {
            return Err(senseless("its stream is not that of its ledger"));
        }
        Ok(Self { spec, learner, ledger, stream, written_by })
    }
}

/// All of a section, or nothing.
fn whole<T: serde::de::DeserializeOwned>(section: &[u8]) -> Option<T> {
    let (value, rest) = postcard::take_from_bytes(section).ok()?;
    rest.is_empty().then_some(value)
}

/// Reads a file that is not too long.
fn read(path: &Path, file: &str) -> Result<Vec<u8>, ModelError> {
    let failed = |error| ModelError::Read { file: file.to_owned(), error };
    let mut bytes = Vec::new();
    let mut open = File::open(path).map_err(failed)?;
    open.by_ref().take(HEADER as u64).read_to_end(&mut bytes).map_err(failed)?;
    // Of what is no model no more is read.
    Header::begin(&bytes, file)?;
    open.take(LENGTH_MAX).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

struct Header {
    length: u64,
    crc: u32,
}

impl Header {
    /// The header of some bytes, of which there may be more.
    fn begin(bytes: &[u8], file: &str) -> Result<Self, ModelError> {
        let file = || file.to_owned();
        if !bytes.starts_with(MAGIC) {
            return Err(match MAGIC.starts_with(bytes) && !bytes.is_empty() {
                true => ModelError::Length { file: file(), what: "it ends at once".to_owned() },
                false => ModelError::Foreign { file: file(), what: what_it_is(bytes) },
            });
        }
        let Some(header) = bytes.first_chunk::<HEADER>() else {
            return Err(ModelError::Length { file: file(), what: "it ends at once".to_owned() });
        };
        let version = u32::from_le_bytes([header[12], header[13], header[14], header[15]]);
        if version > VERSION || version == 0 {
            return Err(ModelError::Future { file: file(), version });
        }
        let mut length = [0; 8];
        length.copy_from_slice(&header[16..24]);
        let crc = u32::from_le_bytes([header[24], header[25], header[26], header[27]]);
        Ok(Self { length: u64::from_le_bytes(length), crc })
    }

    /// What follows the header, if it is what the header says.
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

/// The sections of a body that has nothing else.
fn sections(mut body: &[u8]) -> Option<[&[u8]; 4]> {
    let mut found = [&body[..0]; 4];
    for section in &mut found {
        let (length, rest) = body.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        (*section, body) = rest.split_at_checked(length)?;
    }
    body.is_empty().then_some(found)
}

/// What a file is that is no model, as far as its beginning tells.
fn what_it_is(bytes: &[u8]) -> String {
    let known: [(&[u8], &str); 7] = [
        (b"\x8drueful", "it is a rueful cache, which holds data: rueful run learns from it"),
        (b"\x1f\x8b", "it is compressed (gzip): unpack it first"),
        (b"\x28\xb5\x2f\xfd", "it is compressed (zstd): unpack it first"),
        (b"PK\x03\x04", "it is a zip archive, as other programs save models in"),
        (b"\x80", "it looks like a Python pickle: another program's model"),
        (b"PAR1", "it is Parquet, which holds data"),
        (b"{", "it looks like JSON: a description is given with --spec"),
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
    use crate::{AnyLoss, DataSpec, LearnerSpec, Run, Settings};
    use rueful_data::{Follow, Input, LabelRule, Reader, Reading, Schema, Survey};

    const TEXT: &str = "1 1:2 3:1\n-1 2:1\n1 1:1 7:0.5\n-1 1:4\n-1 2:3 3:-1\n";

    fn reader(text: &'static str) -> Reader {
        let input = Input::new("text", text.as_bytes(), &Follow::No).unwrap();
        Reader::new(vec![input], &Schema::Libsvm {}, &Reading::new(LabelRule::Signs))
    }

    fn run(learner: &str) -> Run {
        let settings = Settings { learner: Some(learner.to_owned()), ..Settings::default() };
        let survey = Survey { examples: 10, weighted_norm_max: 9.0, ..Survey::default() };
        let resolved = settings.resolve(DataSpec::libsvm("text"), &mut |_| Ok(survey)).unwrap();
        Run::new(resolved.spec).unwrap()
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
            let (mut run, mut source) = (run(learner), reader(TEXT));
            while run.advance(&mut source).unwrap() {}
            let bytes = run.to_bytes(&source).unwrap();
            let model = Model::decode(&bytes, "m").unwrap();
            assert_eq!((&model.spec, &model.ledger), (run.spec(), run.ledger()), "{learner}");
            assert_eq!(model.learner.weights(), run.learner().weights(), "{learner}");
            let again = encode(&model.spec, &*model.learner, &model.ledger, &model.stream).unwrap();
            assert_eq!(again, bytes, "{learner}");
        }
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

    /// Bytes that are wrong in one place, with a checksum that is right.
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
                    let mut run = Run::resume_with(model, DataSpec::libsvm("text"));
                    // Whatever it is, it can be gone on with, or diverges.
                    let mut source = reader(TEXT);
                    while run.advance(&mut source).unwrap_or(false) {}
                    run.report(&source);
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
        assert!(refusal(b"{\"spec\": 1}").contains("--spec"));
        assert!(refusal(b"\x8drueful\r\n\x1a\n\0....").contains("rueful cache"));
        assert!(refusal(b"hello, world").contains("it begins with \"hello, world\""));
        assert!(refusal(&bytes[..7]).contains("cut short"));
        let mut future = bytes.clone();
        future[12] = 2;
        assert!(refusal(&future).contains("of version 2"), "{}", refusal(&future));
        assert!(refusal(&bytes[..bytes.len() - 1]).contains("should have"));
    }

    #[test]
    fn a_loss_of_another_learner_is_refused() {
        let bytes = model();
        let model = Model::decode(&bytes, "m").unwrap();
        let spec = Spec { loss: AnyLoss::Square(rueful_core::loss::Square {}), ..model.spec };
        let forged = encode(&spec, &*model.learner, &model.ledger, &model.stream).unwrap();
        assert!(Model::decode(&forged, "m").is_ok(), "the loss has no state of its own");
        let radius = rueful_core::Positive::new(3.0).unwrap();
        let comparators = rueful_core::set::Ball { radius }.into();
        let spec = Spec { comparators, ..spec };
        let forged = encode(&spec, &*model.learner, &model.ledger, &model.stream).unwrap();
        assert!(refusal(&forged).contains("ledger"));
    }
}
