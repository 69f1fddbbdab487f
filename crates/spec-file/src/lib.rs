//! Descriptions of runs in files: TOML for people, JSON for programs.
//!
//! A file is taken as a whole or refused as a whole. A field that is unknown, missing or
//! contradictory is an error that names the file and the place, before any data is opened.
//!
//! This happens once for each start of a program, and it is much code. So it is in a crate of its
//! own, which is compiled fast rather than fast.
//!
//! ```
//! use rueful_run::{AnySpec, DataSpec, Settings};
//! use rueful_spec_file::{Notation, parse, to_text};
//!
//! let resolved = Settings::default().resolve(DataSpec::libsvm("x.libsvm"), &mut |_| Ok(Default::default()))?;
//! let spec = AnySpec::Score(resolved.spec);
//! let text = to_text(&spec, Notation::Toml)?;
//! assert!(text.contains("[learner]"));
//! assert_eq!(parse("run.toml", &text, Notation::Toml)?, spec);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use rueful_data::printable;
use rueful_run::{AnySpec, ClassLoss, ClassSpec, Spec, SpecError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::Path;
use thiserror::Error;

/// The number of characters of an error that are shown, because it may quote what it was given.
const MESSAGE_CHARS: usize = 600;

/// The notation of a description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    /// TOML, for people.
    Toml,
    /// JSON, for programs.
    Json,
}

impl Notation {
    /// The notation of a file: the one that its extension says, and otherwise JSON if it begins
    /// with a brace.
    ///
    /// ```
    /// use rueful_spec_file::Notation;
    /// assert_eq!(Notation::of("run.toml".as_ref(), "{"), Notation::Toml);
    /// assert_eq!(Notation::of("run".as_ref(), " {}"), Notation::Json);
    /// assert_eq!(Notation::of("run".as_ref(), "[data]"), Notation::Toml);
    /// ```
    pub fn of(path: &Path, text: &str) -> Self {
        let extension = path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
        match extension.as_deref() {
            Some("toml") => Self::Toml,
            Some("json") => Self::Json,
            _ if text.trim_start().starts_with('{') => Self::Json,
            _ => Self::Toml,
        }
    }
}

impl fmt::Display for Notation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Toml => "TOML",
            Self::Json => "JSON",
        })
    }
}

/// The reason why a file does not describe a run, or why a run cannot be described.
#[derive(Debug, Error)]
pub enum SpecFileError {
    /// The file cannot be read.
    #[error("cannot read {file}: {why}")]
    Unread {
        /// The file.
        file: String,
        /// The error of the system.
        why: io::Error,
    },
    /// The file is not written in its notation.
    #[error("{file} is not {notation}: {why}")]
    Syntax {
        /// The file.
        file: String,
        /// The notation that it should have.
        notation: Notation,
        /// The error, with line and column.
        why: String,
    },
    /// A field is unknown, missing, or has a value that it cannot have.
    #[error("{file} does not describe a run: {why}")]
    Field {
        /// The file.
        file: String,
        /// The field, and the error in it.
        why: String,
    },
    /// The fields contradict each other.
    #[error("{file} describes a run that is not possible: {why}")]
    Contradiction {
        /// The file.
        file: String,
        /// The contradiction, and what to do about it.
        why: SpecError,
    },
    /// A description cannot be written in a notation.
    #[error("{0}")]
    Unwritten(String),
}

/// Reads the description of a run of any kind, or the report that contains one, and checks it.
pub fn read(path: &Path) -> Result<AnySpec, SpecFileError> {
    let file = path.display().to_string();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(why) => return Err(SpecFileError::Unread { file, why }),
    };
    let text = text.trim_start_matches('\u{feff}');
    parse(&file, text, Notation::of(path, text))
}

/// Reads a description from the text of a file of that name, and checks it. The name of the loss
/// decides which kind of run it is.
pub fn parse(file: &str, text: &str, notation: Notation) -> Result<AnySpec, SpecFileError> {
    let written = Written::parse(file, text, notation)?;
    if written.loss().and_then(ClassLoss::named).is_none() {
        let spec: Spec = written.describe(file)?;
        return checked(file, spec.check()).map(|()| AnySpec::Score(spec));
    }
    let spec: ClassSpec = written.describe(file)?;
    checked(file, spec.check()).map(|()| AnySpec::Classes(spec))
}

/// The description as text that [`read`] accepts, every number to its last bit.
pub fn to_text(spec: &AnySpec, notation: Notation) -> Result<String, SpecFileError> {
    match spec {
        AnySpec::Score(spec) => text_of(spec, notation),
        AnySpec::Classes(spec) => text_of(spec, notation),
    }
}

fn checked(file: &str, result: Result<(), SpecError>) -> Result<(), SpecFileError> {
    result.map_err(|why| SpecFileError::Contradiction { file: file.to_owned(), why })
}

fn text_of(spec: &impl Serialize, notation: Notation) -> Result<String, SpecFileError> {
    match notation {
        Notation::Toml => toml::to_string(spec).map_err(|why| {
            SpecFileError::Unwritten(format!("TOML cannot hold it, JSON can: {why}"))
        }),
        Notation::Json => serde_json::to_string_pretty(spec)
            .map(|text| text + "\n")
            .map_err(|why| SpecFileError::Unwritten(why.to_string())),
    }
}

/// A description as it is written, before it is known what it describes. TOML is taken for the JSON
/// that says the same, so that descriptions are read from one notation only.
struct Written(serde_json::Value);

impl Written {
    fn parse(file: &str, text: &str, notation: Notation) -> Result<Self, SpecFileError> {
        let syntax = |why| SpecFileError::Syntax { file: file.to_owned(), notation, why };
        match notation {
            Notation::Json => {
                let whole: serde_json::Value =
                    serde_json::from_str(text).map_err(|why| syntax(one_line(&why.to_string())))?;
                Ok(Self(whole.get("spec").unwrap_or(&whole).clone()))
            }
            Notation::Toml => {
                let mut whole: toml::Table =
                    toml::from_str(text).map_err(|why| syntax(placed(text, &why)))?;
                let inner = whole.remove("spec");
                let inner = inner.unwrap_or(toml::Value::Table(whole));
                let field = |why| SpecFileError::Field { file: file.to_owned(), why };
                as_json(inner, "").map(Self).map_err(field)
            }
        }
    }

    /// The name of the loss, if there is one.
    fn loss(&self) -> Option<&str> {
        self.0.get("loss")?.get("name")?.as_str()
    }

    /// The description. An error comes with the path of the field.
    fn describe<T: DeserializeOwned>(self, file: &str) -> Result<T, SpecFileError> {
        let found = serde_path_to_error::deserialize(self.0);
        found.map_err(|error| SpecFileError::Field {
            file: file.to_owned(),
            why: one_line(&error.to_string()),
        })
    }
}

/// The JSON that says the same as the TOML at a path. No description has numbers that are not finite,
/// or dates.
fn as_json(value: toml::Value, path: &str) -> Result<serde_json::Value, String> {
    Ok(match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Boolean(truth) => truth.into(),
        toml::Value::Float(number) if number.is_finite() => number.into(),
        toml::Value::Float(number) => {
            return Err(format!("{path}: {number} is not a finite number"));
        }
        toml::Value::Datetime(date) => {
            return Err(format!("{path}: found the date {date}, expected none"));
        }
        toml::Value::Array(list) => {
            let entry = |(at, value)| as_json(value, &format!("{path}[{at}]"));
            list.into_iter().enumerate().map(entry).collect::<Result<Vec<_>, _>>()?.into()
        }
        toml::Value::Table(table) => {
            let dot = if path.is_empty() { "" } else { "." };
            let entry = |(key, value): (String, _)| {
                let value = as_json(value, &format!("{path}{dot}{}", printable(&key)))?;
                Ok((key, value))
            };
            let entries = table.into_iter().map(entry);
            serde_json::Value::Object(entries.collect::<Result<_, String>>()?)
        }
    })
}

/// An error in TOML, with its place, in one line.
fn placed(text: &str, fault: &toml::de::Error) -> String {
    let message = one_line(fault.message());
    let Some(before) = fault.span().and_then(|span| text.get(..span.start)) else {
        return message;
    };
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("{message} at line {line} column {column}")
}

/// A message in one line of limited length, without the extra line in which TOML names the place.
fn one_line(message: &str) -> String {
    let lines = message.trim().lines().map(str::trim);
    let lines: Vec<_> = lines.filter(|line| !line.starts_with("in `")).collect();
    let text = printable(&lines.join(", "));
    match text.char_indices().nth(MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rueful_core::learner::{
        ErmSpec, OgdSpec, PerceptronSpec, RegularizedErmSpec, StronglyConvexOgdSpec,
    };
    use rueful_core::loss::{AnyLoss, Hinge, Quantile};
    use rueful_core::request::Request;
    use rueful_core::schedule::AnySchedule;
    use rueful_core::set::{AnySet, Ball, BoxSet, Interval, WholeSpace};
    use rueful_core::{NonNegative, OpenUnit, Positive};
    use rueful_run::{ClassWeights, DataSpec, Layout, LearnerSpec};
    use std::num::NonZeroU64;

    /// A number whose digits do not end, and numbers at the ends of their range.
    const AWKWARD: [f64; 5] = [1.0 / 3.0, 0.1 + 0.2, 1e-100, 1e100, 1.0];

    /// The description in a text, before it is checked.
    fn described(file: &str, text: &str, notation: Notation) -> Result<Spec, SpecFileError> {
        Written::parse(file, text, notation)?.describe(file)
    }

    fn positive(number: f64) -> Positive {
        Positive::new(number).unwrap()
    }

    fn losses() -> Vec<AnyLoss> {
        let ask = |name: &str| AnyLoss::ask(name, &Request::within(unit_ball())).unwrap();
        let quantile = |tau| Quantile { tau: OpenUnit::new(tau).unwrap() }.into();
        let quantiles = [1.0 / 3.0, f64::MIN_POSITIVE, 1.0 - f64::EPSILON / 2.0].map(quantile);
        AnyLoss::NAMES.map(ask).into_iter().chain(quantiles).collect()
    }

    fn unit_ball() -> Ball {
        Ball { radius: Positive::ONE }
    }

    /// A request in which everything that a schedule could ask for is this number.
    fn request<'a>(number: f64) -> Request<'a> {
        let number = positive(number);
        Request {
            eta: Some(number),
            gradient_bound: Some(number),
            sigma: number.into(),
            horizon: NonZeroU64::new(i64::MAX as u64),
            ..Request::within(unit_ball())
        }
    }

    fn schedules(number: f64) -> [AnySchedule; AnySchedule::NAMES.len()] {
        AnySchedule::NAMES.map(|name| AnySchedule::ask(name, &request(number)).unwrap())
    }

    fn sets(number: f64) -> [AnySet; 4] {
        let side = |lower, upper| Interval::new(lower, upper).unwrap();
        [
            Ball { radius: positive(number) }.into(),
            BoxSet::cube(positive(number)).into(),
            BoxSet::new(vec![side(-number, 0.0), side(0.0, number)], side(-0.0, 0.0)).into(),
            WholeSpace {}.into(),
        ]
    }

    fn learners(number: f64) -> Vec<LearnerSpec> {
        let g = positive(number);
        // Constant steps have no use for a horizon.
        let all = request(number);
        let stepwise = Request { schedule: Some("constant"), horizon: None, ..all };
        let ask =
            |name| LearnerSpec::ask(name, &all).or_else(|_| LearnerSpec::ask(name, &stepwise));
        let mut learners: Vec<_> = LearnerSpec::NAMES.map(|name| ask(name).unwrap()).into();
        for gradient_bound in [None, Some(g)] {
            learners.push(StronglyConvexOgdSpec { gradient_bound }.into());
            for (schedule, set) in schedules(number).iter().zip(sets(number).iter().cycle()) {
                let (schedule, set) = (*schedule, set.clone());
                learners.push(ErmSpec { set: set.clone() }.into());
                learners.push(OgdSpec { schedule, set: set.clone(), gradient_bound }.into());
                learners.push(RegularizedErmSpec { schedule, set, gradient_bound }.into());
            }
        }
        learners
    }

    /// One layout for every name. Some of them have every field that they can have.
    fn layouts() -> Vec<Layout> {
        let columns = r#"[{"name": "a \"b\"\n= [c]", "role": "label"},
            {"name": "", "role": "number"}, {"name": "1", "role": "category"},
            {"name": "ü", "role": "text"}, {"name": "x.y", "role": "drop"}]"#;
        let table = |separator| {
            format!(
                r#"{{"format": "csv", "separator": "{separator}", "quotes": true,
                "header": false, "bits": 20, "columns": {columns}}}"#
            )
        };
        let kinds = r#"["numeric", "numeric", {"nominal": ["a", "b, c"]}, "string", "date"]"#;
        let texts = [
            r#"{"format": "libsvm"}"#.to_owned(),
            r#"{"format": "vw", "bits": 9}"#.to_owned(),
            table("comma"),
            table("tab"),
            format!(r#"{{"format": "jsonl", "bits": 22, "columns": {columns}}}"#),
            format!(r#"{{"format": "arff", "bits": 8, "columns": {columns}, "kinds": {kinds}}}"#),
            format!(r#"{{"format": "parquet", "bits": 26, "columns": {columns}}}"#),
            format!(r#"{{"format": "arrow", "bits": 26, "columns": {columns}}}"#),
            r#"{"format": "cache"}"#.to_owned(),
        ];
        texts.iter().map(|text| serde_json::from_str(text).unwrap()).collect()
    }

    fn spec() -> Spec {
        Spec {
            data: DataSpec::libsvm("data"),
            loss: Hinge {}.into(),
            sigma: NonNegative::ZERO,
            learner: PerceptronSpec { eta: Positive::ONE }.into(),
            comparators: WholeSpace {}.into(),
            judge: None,
        }
    }

    #[track_caller]
    fn assert_comes_back(spec: &Spec) {
        for notation in [Notation::Toml, Notation::Json] {
            let text = text_of(spec, notation).unwrap();
            assert_eq!(&described("file", &text, notation).unwrap(), spec, "{text}");
        }
    }

    #[test]
    fn every_loss_learner_schedule_and_set_comes_back() {
        for loss in losses() {
            assert_comes_back(&Spec { loss, ..spec() });
        }
        for number in AWKWARD {
            for learner in learners(number) {
                assert_comes_back(&Spec { learner, ..spec() });
            }
            for comparators in sets(number) {
                let sigma = positive(number).into();
                let comparators = comparators.into();
                assert_comes_back(&Spec { sigma, comparators, ..spec() });
            }
        }
    }

    #[test]
    fn every_layout_comes_back() {
        let layouts = layouts();
        let names: Vec<_> = layouts.iter().map(Layout::name).collect();
        assert_eq!(names, Layout::NAMES);
        for (schema, positive) in layouts.into_iter().zip([None, Some("a \\ \"b\"")].iter().cycle())
        {
            let files = vec!["one file".to_owned(), "-".to_owned(), "C:\\two".to_owned()];
            let positive = positive.map(str::to_owned);
            let data = DataSpec { files, schema, positive, ..DataSpec::libsvm("") };
            assert_comes_back(&Spec { data, ..spec() });
        }
    }

    #[test]
    fn weights_of_classes_come_back() {
        for number in [0.0, 1.0 / 3.0, 1e-30, 1e30] {
            let class_weights = ClassWeights::asked(Some(number), None).unwrap();
            assert_comes_back(&Spec {
                data: DataSpec { class_weights, ..DataSpec::libsvm("data") },
                ..spec()
            });
        }
    }

    #[test]
    fn a_report_in_either_notation_holds_its_spec() {
        let toml = format!("[spec]\n{}", text_of(&spec(), Notation::Toml).unwrap());
        let toml = toml.replace("\n[", "\n[spec.");
        assert_eq!(described("file", &toml, Notation::Toml).unwrap(), spec());
    }

    #[test]
    fn faults_are_told_in_one_line_with_their_place() {
        let refusal = |text: &str| described("f", text, Notation::Toml).unwrap_err().to_string();
        let good = text_of(&spec(), Notation::Toml).unwrap();
        let text = refusal(&good.replace("eta = 1.0", "eta = 1,0"));
        assert!(text.starts_with("f is not TOML: ") && text.contains(" at line "), "{text}");
        let text = refusal(&format!("seed = 1\n{good}"));
        assert!(text.starts_with("f does not describe a run: "), "{text}");
        assert!(text.contains("unknown field `seed`"), "{text}");
        let text = refusal(&good.replace("eta = 1.0", "eta = nan"));
        assert!(text.contains("learner.eta: NaN is not a finite number"), "{text}");
        let text = refusal(&format!("{good}radius = 1.0\n"));
        assert!(!text.contains('\n') && text.contains("comparators: "), "{text}");
        assert!(refusal("").contains("missing field `data`"));
    }
}
