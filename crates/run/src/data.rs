//! What is read, and how: from what a person says to a source that can be opened again.

use crate::settings::SettingsError;
use crate::weighted::{ClassWeights, Weighted};
use rueful_columnar::Columnar;
use rueful_core::loss::Labels;
use rueful_data::{
    Binary, Cached, Column, DataError, Follow, LabelRule, Phrase, Reader, Reading, Schema, Source,
    Wishes, open,
};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::num::NonZeroUsize;

/// The settings that say how a file is read.
const COLUMN_SETTINGS: [&str; 8] =
    ["format", "label", "importance", "drop", "categorical", "text", "header", "bits"];

/// What is read, and how: complete, so that the same rows can be read again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSpec {
    /// The files, one after the other; `-` is standard input.
    pub files: Vec<String>,
    /// Their format.
    pub schema: Layout,
    /// The label that becomes +1, where labels are not numbers that say so themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positive: Option<String>,
    /// Whether every example gets one more feature that is always 1.
    pub constant: bool,
    /// How much the examples of each class count, where it is not alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class_weights: Option<ClassWeights>,
}

/// A format, be it text or not, and everything about it that is not in the rows themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Layout {
    /// Text.
    Text(Schema),
    /// Parquet or Arrow.
    Columnar(rueful_columnar::Layout),
    /// A compact binary file that was made from any of them.
    Cache(CacheLayout),
}

/// A cache says itself what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "format", rename_all = "kebab-case", deny_unknown_fields)]
pub enum CacheLayout {
    /// The only version there is.
    Cache {},
}

/// What was asked for; everything but the files may be left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DataSettings {
    /// The files, one after the other; `-` is standard input.
    pub files: Vec<String>,
    /// What is known about their format.
    pub wishes: Wishes,
    /// All that is to be known about it, from another time; leaves nothing to wish.
    pub schema: Option<Layout>,
    /// The label that becomes +1.
    pub positive: Option<String>,
    /// No feature that is always 1.
    pub no_constant: bool,
    /// How much the examples of each class count.
    pub class_weights: Option<ClassWeights>,
}

/// How reading goes about it, which makes no difference to the rows.
#[derive(Debug, Clone, Default)]
pub struct Manner {
    /// On how many threads; all cores if left out.
    pub threads: Option<NonZeroUsize>,
    /// Whether files are still growing.
    pub follow: Follow,
    /// Whether to read through a cache beside the first file, making it if need be.
    pub cache: bool,
    /// Labels that came before in the stream: what comes now must go with them.
    pub known_labels: Vec<String>,
    /// Whether rows of importance 0 are delivered, which are predicted and otherwise not there.
    pub idle_rows: bool,
}

/// Data that is open.
pub struct Data {
    /// How to read it again.
    pub spec: DataSpec,
    /// What was inferred, in words.
    pub notes: Vec<Phrase>,
    /// The rows.
    pub source: Box<dyn Source>,
}

/// Which labels are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelUse {
    /// Those of a loss.
    Learn(Labels),
    /// Any: they are only looked at.
    Look,
    /// None: there need not be any.
    Ignore,
}

/// How files are read, what was inferred about that, and their rows.
type Recognized = (Layout, Vec<Phrase>, Box<dyn Source>);

impl DataSettings {
    /// Opens the files, finding out what is not said.
    pub fn open(&self, labels: LabelUse, manner: &Manner) -> Result<Data, SettingsError> {
        if let (Some(weights), LabelUse::Learn(labels)) = (self.class_weights, labels) {
            weights.check(labels, self.positive.is_some())?;
        }
        let reading = manner.reading(labels, self.positive.as_deref(), !self.no_constant);
        let spec = |schema| DataSpec {
            files: self.files.clone(),
            schema,
            positive: self.positive.clone(),
            constant: !self.no_constant,
            class_weights: self.class_weights,
        };
        if let Some(layout) = &self.schema {
            self.refuse_wishes()?;
            let spec = spec(layout.clone());
            let source = spec.open(labels, manner)?;
            return Ok(Data { spec, notes: Vec::new(), source });
        }
        let (layout, notes, mut source) = self.recognize(&reading, &manner.follow)?;
        let spec = spec(layout);
        if manner.cache {
            source = spec.open_cache(labels, manner)?;
        }
        let source = spec.weigh(source);
        Ok(Data { spec, notes, source })
    }

    /// Opens the files as what the first of them is.
    fn recognize(&self, reading: &Reading, follow: &Follow) -> Result<Recognized, DataError> {
        let named = self.wishes.format.as_deref().and_then(rueful_columnar::Format::by_name);
        let kind = match named {
            // Not looked at: standard input could not be given back.
            Some(format) => return self.open_columnar(format, reading, follow),
            None => match open(&self.files, &self.wishes, reading, follow) {
                Ok(found) => {
                    return Ok((Layout::Text(found.schema), found.notes, Box::new(found.reader)));
                }
                Err(DataError::Binary { kind, .. }) => kind,
                Err(error) => return Err(error),
            },
        };
        match kind {
            Binary::Parquet => {
                self.open_columnar(rueful_columnar::Format::Parquet, reading, follow)
            }
            Binary::Arrow => self.open_columnar(rueful_columnar::Format::Arrow, reading, follow),
            Binary::Cache => {
                let layout = Layout::Cache(CacheLayout::Cache {});
                self.refuse_settings_of_a_cache()?;
                let source = layout.open(&self.files, reading, follow)?;
                let notes = vec!["a rueful cache: rows that were read before".into()];
                Ok((layout, notes, source))
            }
        }
    }

    fn open_columnar(
        &self,
        format: rueful_columnar::Format,
        reading: &Reading,
        follow: &Follow,
    ) -> Result<Recognized, DataError> {
        let first = self.files.first().ok_or(DataError::NoInput)?;
        refuse_follow(first, follow)?;
        let is_arrow = format == rueful_columnar::Format::Arrow;
        if is_arrow && first == "-" && self.wishes.format.is_none() {
            // Its beginning is gone: it was looked at.
            return Err(DataError::Unsuitable {
                file: "standard input".to_owned(),
                found: "Arrow that was not announced".to_owned(),
                expected: Phrase::default().setting("format").and(" arrow with it"),
            });
        }
        let opened = rueful_columnar::open(&self.files, format, &self.wishes, reading)?;
        let rueful_columnar::Opened { layout, notes, source } = opened;
        Ok((Layout::Columnar(layout), notes, Box::new(source)))
    }

    /// How its rows came about is settled.
    fn refuse_settings_of_a_cache(&self) -> Result<(), DataError> {
        let wishes = Wishes { format: None, ..self.wishes.clone() };
        if wishes == Wishes::default() {
            return Ok(());
        }
        Err(DataError::Useless {
            file: self.files.first().cloned().unwrap_or_default(),
            settings: &COLUMN_SETTINGS[1..],
            format: "a cache",
            reason: "they are for rueful convert, which made it",
        })
    }

    fn refuse_wishes(&self) -> Result<(), SettingsError> {
        if self.wishes == Wishes::default() {
            return Ok(());
        }
        Err(DataError::Settled { by: "schema", settings: &COLUMN_SETTINGS }.into())
    }
}

impl Layout {
    /// The names of the formats.
    pub const NAMES: [&'static str; 9] =
        ["libsvm", "vw", "csv", "tsv", "jsonl", "arff", "parquet", "arrow", "cache"];

    /// Which of them this is.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Text(schema) => schema.name(),
            Self::Columnar(layout) => layout.format.name(),
            Self::Cache(_) => "cache",
        }
    }

    /// The columns and what becomes of each, where the format has columns.
    pub fn columns(&self) -> &[Column] {
        match self {
            Self::Text(schema) => schema.columns(),
            Self::Columnar(layout) => &layout.columns,
            Self::Cache(_) => &[],
        }
    }

    fn open(
        &self,
        files: &[String],
        reading: &Reading,
        follow: &Follow,
    ) -> Result<Box<dyn Source>, DataError> {
        Ok(match self {
            Self::Text(schema) => Box::new(Reader::open(files, schema, reading, follow)?),
            Self::Columnar(layout) => {
                refuse_follow(files.first().map_or("", String::as_str), follow)?;
                Box::new(Columnar::open(files, layout, reading)?)
            }
            Self::Cache(_) => match files {
                [file] => {
                    refuse_follow(file, follow)?;
                    Box::new(Cached::open(file, reading)?)
                }
                _ => {
                    return Err(DataError::Unsuitable {
                        file: files.first().cloned().unwrap_or_default(),
                        found: "a rueful cache among other files".to_owned(),
                        expected: "one cache, made from all of them".into(),
                    });
                }
            },
        })
    }
}

/// The name of the format decides; what is wrong is told by the one it names.
impl<'de> Deserialize<'de> for Layout {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        let name = value.get("format").and_then(serde_json::Value::as_str);
        let layout = if name.and_then(rueful_columnar::Format::by_name).is_some() {
            rueful_columnar::Layout::deserialize(value).map(Self::Columnar)
        } else if name == Some("cache") {
            CacheLayout::deserialize(value).map(Self::Cache)
        } else {
            Schema::deserialize(value).map(Self::Text)
        };
        layout.map_err(D::Error::custom)
    }
}

/// Files that are not text are whole when they are there.
fn refuse_follow(file: &str, follow: &Follow) -> Result<(), DataError> {
    match follow {
        Follow::No => Ok(()),
        Follow::Until(_) => Err(DataError::Useless {
            file: file.to_owned(),
            settings: &["follow"],
            format: "files that are not text",
            reason: "such a file does not grow",
        }),
    }
}

impl DataSpec {
    /// A file of LIBSVM text, read with the constant.
    pub fn libsvm(file: &str) -> Self {
        let (files, schema) = (vec![file.to_owned()], Layout::Text(Schema::Libsvm {}));
        Self { files, schema, positive: None, constant: true, class_weights: None }
    }

    /// The same layout without labels, for data that are to be predicted.
    #[must_use]
    pub fn without_label(&self) -> Self {
        let schema = match &self.schema {
            Layout::Text(schema) => Layout::Text(schema.without_label()),
            Layout::Columnar(layout) => Layout::Columnar(rueful_columnar::Layout {
                columns: layout.columns.without_label(),
                ..layout.clone()
            }),
            Layout::Cache(cache) => Layout::Cache(cache.clone()),
        };
        Self { schema, ..self.clone() }
    }

    /// Opens the files once more.
    pub fn open(&self, labels: LabelUse, manner: &Manner) -> Result<Box<dyn Source>, DataError> {
        let source = if manner.cache {
            self.open_cache(labels, manner)?
        } else {
            let reading = manner.reading(labels, self.positive.as_deref(), self.constant);
            self.schema.open(&self.files, &reading, &manner.follow)?
        };
        Ok(self.weigh(source))
    }

    /// The same rows, each counting as much as its class.
    fn weigh(&self, source: Box<dyn Source>) -> Box<dyn Source> {
        match self.class_weights {
            Some(weights) => Box::new(Weighted::new(source, weights, self.name())),
            None => source,
        }
    }

    /// The first file that can be read only once, such as standard input or a pipe.
    pub fn once_only(&self) -> Option<&str> {
        let is_once = |file: &&String| {
            *file == "-" || std::fs::metadata(file).is_ok_and(|found| !found.is_file())
        };
        self.files.iter().find(is_once).map(String::as_str)
    }

    /// The files in a few words.
    pub fn name(&self) -> String {
        let shown = |file: &str| if file == "-" { "standard input" } else { file }.to_owned();
        match &self.files[..] {
            [] => "nothing".to_owned(),
            [file] => shown(file),
            [first, others @ ..] => format!("{} and {} more", shown(first), others.len()),
        }
    }
}

impl Manner {
    pub(crate) fn reading(
        &self,
        labels: LabelUse,
        positive: Option<&str>,
        constant: bool,
    ) -> Reading {
        let rule = match (labels, positive) {
            (LabelUse::Learn(labels), _) => LabelRule::new(labels, positive),
            (LabelUse::Ignore, _) => LabelRule::Ignored,
            (LabelUse::Look, Some(positive)) => LabelRule::Positive(positive.to_owned()),
            (LabelUse::Look, None) => LabelRule::Any,
        };
        let known_labels = self.known_labels.clone();
        let idle_rows = self.idle_rows;
        let mut reading = Reading { constant, known_labels, idle_rows, ..Reading::new(rule) };
        if let Some(threads) = self.threads {
            reading.threads = threads;
        }
        reading
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_a_name() {
        let all = [&Schema::NAMES[..], &rueful_columnar::Format::NAMES, &["cache"]].concat();
        assert_eq!(Layout::NAMES, all[..]);
    }

    #[test]
    fn a_format_says_by_its_name_what_it_is() {
        let text: Layout = serde_json::from_str(r#"{"format": "libsvm"}"#).unwrap();
        assert_eq!(text, Layout::Text(Schema::Libsvm {}));
        assert_eq!(serde_json::to_string(&text).unwrap(), r#"{"format":"libsvm"}"#);
        let json = r#"{"format":"parquet","bits":20,"columns":[{"name":"y","role":"label"}]}"#;
        let columnar: Layout = serde_json::from_str(json).unwrap();
        assert_eq!((columnar.name(), columnar.columns().len()), ("parquet", 1));
        assert_eq!(serde_json::to_string(&columnar).unwrap(), json);
        let error = serde_json::from_str::<Layout>(r#"{"format": "arrow"}"#).unwrap_err();
        assert_eq!(error.to_string(), "missing field `bits`");
    }
}
