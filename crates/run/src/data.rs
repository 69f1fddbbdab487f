//! What is read, and how: from what a person says to a source that can be opened again.

use crate::settings::SettingsError;
use rueful_core::loss::Labels;
use rueful_data::{
    DataError, Follow, LabelRule, Opened, Reader, Reading, Schema, Source, Wishes, open,
};
use serde::{Deserialize, Serialize};
use std::num::NonZeroUsize;

/// What is read, and how: complete, so that the same rows can be read again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSpec {
    /// The files, one after the other; `-` is standard input.
    pub files: Vec<String>,
    /// Their format.
    pub schema: Schema,
    /// The label that becomes +1, where labels are not numbers that say so themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positive: Option<String>,
    /// Whether every example gets one more feature that is always 1.
    pub constant: bool,
}

/// What was asked for; everything but the files may be left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DataSettings {
    /// The files, one after the other; `-` is standard input.
    pub files: Vec<String>,
    /// What is known about their format.
    pub wishes: Wishes,
    /// All that is to be known about it, from another time; leaves nothing to wish.
    pub schema: Option<Schema>,
    /// The label that becomes +1.
    pub positive: Option<String>,
    /// No feature that is always 1.
    pub no_constant: bool,
}

/// How reading goes about it, which makes no difference to the rows.
#[derive(Debug, Clone, Default)]
pub struct Manner {
    /// On how many threads; all cores if left out.
    pub threads: Option<NonZeroUsize>,
    /// Whether files are still growing.
    pub follow: Follow,
}

/// Data that is open.
pub struct Data {
    /// How to read it again.
    pub spec: DataSpec,
    /// What was inferred, in words.
    pub notes: Vec<String>,
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
}

impl DataSettings {
    /// Opens the files, finding out what is not said.
    pub fn open(&self, labels: LabelUse, manner: &Manner) -> Result<Data, SettingsError> {
        let reading = manner.reading(labels, self.positive.as_deref(), !self.no_constant);
        let spec = |schema| DataSpec {
            files: self.files.clone(),
            schema,
            positive: self.positive.clone(),
            constant: !self.no_constant,
        };
        if let Some(schema) = &self.schema {
            self.refuse_wishes()?;
            let spec = spec(schema.clone());
            let source = Box::new(Reader::open(&self.files, schema, &reading, &manner.follow)?);
            return Ok(Data { spec, notes: Vec::new(), source });
        }
        let Opened { schema, notes, reader } =
            open(&self.files, &self.wishes, &reading, &manner.follow)?;
        Ok(Data { spec: spec(schema), notes, source: Box::new(reader) })
    }

    fn refuse_wishes(&self) -> Result<(), SettingsError> {
        if self.wishes == Wishes::default() {
            return Ok(());
        }
        Err(SettingsError::Contradiction(
            "--schema says how the file is read: leave out --format, --label, --drop, \
             --categorical, --text, --header and --bits"
                .to_owned(),
        ))
    }
}

impl DataSpec {
    /// A file of LIBSVM text, read with the constant.
    pub fn libsvm(file: &str) -> Self {
        let (files, schema) = (vec![file.to_owned()], Schema::Libsvm {});
        Self { files, schema, positive: None, constant: true }
    }

    /// Opens the files once more.
    pub fn open(&self, labels: LabelUse, manner: &Manner) -> Result<Box<dyn Source>, DataError> {
        let reading = manner.reading(labels, self.positive.as_deref(), self.constant);
        Ok(Box::new(Reader::open(&self.files, &self.schema, &reading, &manner.follow)?))
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
    fn reading(&self, labels: LabelUse, positive: Option<&str>, constant: bool) -> Reading {
        let rule = match (labels, positive) {
            (LabelUse::Learn(labels), _) => LabelRule::new(labels, positive),
            (LabelUse::Look, Some(positive)) => LabelRule::Positive(positive.to_owned()),
            (LabelUse::Look, None) => LabelRule::Any,
        };
        let mut reading = Reading { constant, ..Reading::new(rule) };
        if let Some(threads) = self.threads {
            reading.threads = threads;
        }
        reading
    }
}
