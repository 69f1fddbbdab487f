//! Models: a model that opens can go on learning.

use crate::promises::{FILE, pattern};
use crate::targets::vw_tags;
use rueful_data::{Delayed, Follow, Input, LabelRule, Reader, Reading, Schema, Survey, Waiting};
use rueful_run::{
    AnyModel, ClassLoss, ClassWindows, DataSpec, LearnerSpec, Learning, Model, Session, Settings,
};
use std::io::Cursor;
use std::num::NonZeroU64;

/// The places of the length and the checksum in the header of a model.
const LENGTH: std::ops::Range<usize> = 16..24;
const CHECKSUM: std::ops::Range<usize> = 24..28;

const ROWS: &str = "1 1:2 3:1\n-1 2:1\n1 1:1 70:0.5\n-1 1:4\n";

const CLASSES: &str = "a 1:2 3:1\nb 2:1\na 1:1 70:0.5\nc 1:4\nb 2:2\nc 1:3\n";

const WAITING: &str = "'a | x y:2\n'b | y\n1 'a |\n-1 'c | z\n";

fn reader() -> Reader {
    reader_of(ROWS, &Reading::new(LabelRule::Signs))
}

fn reader_of(rows: &'static str, reading: &Reading) -> Reader {
    let input = Input::new(FILE, Cursor::new(rows.as_bytes()), &Follow::No);
    let input = input.expect("rows in memory can be read");
    Reader::new(vec![input], &Schema::Libsvm {}, reading)
}

/// A model of every learner.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let scores = LearnerSpec::NAMES.iter().map(|learner| model_of(learner));
    let classes = ClassLoss::NAMES.iter().map(|loss| class_model_of(loss));
    scores.chain(classes).chain([waiting_model()]).collect()
}

/// A model with a row that waits for its label.
fn waiting_model() -> Vec<u8> {
    let input = Input::new(FILE, Cursor::new(WAITING.as_bytes()), &Follow::No);
    let input = input.expect("rows in memory can be read");
    let rows = Reader::new(vec![input], &vw_tags(), &Reading::new(LabelRule::Signs));
    let mut source = Delayed::new(Box::new(rows), FILE, Waiting::default(), 9);
    let settings = Settings { loss: Some("logistic".to_owned()), ..Settings::default() };
    let resolved = settings.resolve(DataSpec::libsvm(FILE), &mut |_| Ok(Survey::default()));
    let spec = resolved.expect("the settings are all right").spec;
    let mut session = Session::new(&spec).expect("the spec is all right");
    while session.advance(&mut source).expect("the rows are all right") {}
    session.to_bytes(&source).expect("a run can be put away")
}

fn class_model_of(loss: &str) -> Vec<u8> {
    let loss = ClassLoss::named(loss).expect("a loss of classes");
    let spec = Settings::default().resolve_classes(loss, DataSpec::libsvm(FILE));
    let mut session = Session::of_classes(&spec.expect("the settings are all right"))
        .expect("the spec is all right");
    let windows = ClassWindows::new(loss, session.run().ledger(), NonZeroU64::new(2));
    session.run_mut().set_windows(Some(windows));
    let mut source = reader_of(CLASSES, &Reading::new(LabelRule::Classes));
    while session.advance(&mut source).expect("the rows are all right") {}
    session.to_bytes(&source).expect("a run can be put away")
}

fn model_of(learner: &str) -> Vec<u8> {
    let settings = Settings { learner: Some(learner.to_owned()), ..Settings::default() };
    let survey = Survey { examples: 99, weighted_norm_max: 9.0, ..Survey::default() };
    let resolved = settings.resolve(DataSpec::libsvm(FILE), &mut |_| Ok(survey));
    let spec = resolved.expect("the settings are all right").spec;
    let mut session = Session::new(&spec).expect("the spec is all right");
    let mut source = reader();
    while session.advance(&mut source).expect("the rows are all right") {}
    session.to_bytes(&source).expect("a run can be put away")
}

/// Checks the bytes as they are, and with a length and a checksum that are right. Without these,
/// hardly anything else would be looked at.
pub(crate) fn check(bytes: &[u8]) -> String {
    let mut sealed = bytes.to_vec();
    if sealed.len() >= CHECKSUM.end {
        let length = (sealed.len() - CHECKSUM.end) as u64;
        sealed[LENGTH].copy_from_slice(&length.to_le_bytes());
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&sealed[..LENGTH.end]);
        hasher.update(&sealed[CHECKSUM.end..]);
        sealed[CHECKSUM].copy_from_slice(&hasher.finalize().to_le_bytes());
    }
    format!("{}; {}", open(bytes), open(&sealed))
}

fn open(bytes: &[u8]) -> String {
    match AnyModel::decode(bytes, FILE) {
        Ok(AnyModel::Score(model)) => {
            assert!(model.run.weights().iter().all(|(_, weight)| !weight.is_nan()));
            go_on(*model, reader());
            "a model".to_owned()
        }
        Ok(AnyModel::Classes(model)) => {
            let known_labels = model.class_names();
            let reading = Reading { known_labels, ..Reading::new(LabelRule::Classes) };
            go_on(*model, reader_of(CLASSES, &reading));
            "a model of classes".to_owned()
        }
        Err(error) => pattern(&error.to_string()),
    }
}

fn go_on<R: Learning>(model: Model<R>, mut source: Reader) {
    let mut session = Session::resume_with(model, DataSpec::libsvm(FILE));
    // Numbers near the end of the range may leave it.
    while session.advance(&mut source).unwrap_or(false) {}
    session.report(&source);
}
