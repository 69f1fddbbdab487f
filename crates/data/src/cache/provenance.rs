//! The data that a cache was made from, to tell whether the cache is still valid.

use crate::file_name::path_of;
use crate::{DataError, LabelRule, Phrase};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Everything that the rows of a cache depend on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The files, in the order in which they were read.
    pub sources: Vec<SourceFile>,
    /// How they were read: a [`Schema`](crate::Schema), or another description.
    pub schema: serde_json::Value,
    /// The label that became +1, if one was named. All others became −1. Without it, labels are
    /// stored as the numbers they are in the files.
    pub positive: Option<String>,
    /// The largest index that a feature was allowed to have. A name that is a larger number is
    /// hashed like any other name.
    pub max_index: u32,
}

/// A file as it was when the cache was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceFile {
    /// Its name as it was given; `-` for standard input.
    pub name: String,
    /// Its size, if it is a file.
    pub bytes: Option<u64>,
    /// The time of its last change, in nanoseconds since 1970, if that is known.
    pub modified: Option<u64>,
}

impl SourceFile {
    /// Looks at a file. `-` is standard input.
    pub fn look(name: &str) -> Result<Self, DataError> {
        let unknown = Self { name: name.to_owned(), bytes: None, modified: None };
        if name == "-" {
            return Ok(unknown);
        }
        let facts = std::fs::metadata(path_of(name))
            .map_err(|error| DataError::Open { file: name.to_owned(), error })?;
        if !facts.is_file() {
            return Ok(unknown);
        }
        let age = facts.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified = age.and_then(|age| u64::try_from(age.as_nanos()).ok());
        Ok(Self { bytes: Some(facts.len()), modified, ..unknown })
    }

    /// The last part of its name. A folder may be moved with all its files.
    fn last_name(&self) -> &str {
        Path::new(&self.name).file_name().and_then(|name| name.to_str()).unwrap_or(&self.name)
    }
}

impl Provenance {
    /// Looks at the files. This must be done before they are read, so that a later change is
    /// noticed.
    pub fn look(
        paths: &[String],
        schema: &impl Serialize,
        positive: Option<&str>,
        max_index: u32,
    ) -> Result<Self, DataError> {
        let sources = paths.iter().map(|path| SourceFile::look(path)).collect::<Result<_, _>>()?;
        let positive = positive.map(str::to_owned);
        // A schema that cannot be written as JSON is the same as any other such schema.
        let schema = serde_json::to_value(schema).unwrap_or_default();
        Ok(Self { sources, schema, positive, max_index })
    }

    /// The rule for the labels of rows that are to be stored.
    pub fn label_rule(&self) -> LabelRule {
        match &self.positive {
            Some(positive) => LabelRule::Positive(positive.clone()),
            None => LabelRule::Numbers,
        }
    }

    /// The reason, in words, why a cache made from `self` is not valid for the data that are there
    /// `now`. Returns none if it is valid.
    ///
    /// ```
    /// use rueful_data::{Provenance, Schema, SourceFile};
    /// let file = SourceFile { name: "a.txt".to_owned(), bytes: Some(90), modified: Some(7) };
    /// let schema = serde_json::to_value(Schema::Libsvm {}).unwrap();
    /// let then = Provenance { sources: vec![file], schema, positive: None, max_index: 100 };
    /// let mut now = then.clone();
    /// assert_eq!(then.difference(&now), None);
    /// now.sources[0].bytes = Some(91);
    /// assert_eq!(then.difference(&now).unwrap().to_string(), "a.txt has changed since");
    /// ```
    pub fn difference(&self, now: &Self) -> Option<Phrase> {
        let names = |one: &Self| -> Vec<_> {
            one.sources.iter().map(|file| file.last_name().to_owned()).collect()
        };
        if names(self) != names(now) {
            return Some(format!("it was made from {}", names(self).join(", ")).into());
        }
        for (file, file_now) in self.sources.iter().zip(&now.sources) {
            let name = crate::printable(file.last_name());
            if file.bytes.is_none() {
                return Some(format!("{name} can be read only once").into());
            }
            if (file.bytes, file.modified) != (file_now.bytes, file_now.modified) {
                return Some(format!("{name} has changed since").into());
            }
        }
        if self.schema != now.schema {
            return Some("the files were read in another way".into());
        }
        if self.positive != now.positive {
            return Some(match &self.positive {
                Some(positive) => Phrase::from("it was made with ")
                    .setting("positive")
                    .and(format!(" {positive}")),
                None => Phrase::from("it was made without ").setting("positive"),
            });
        }
        (self.max_index != now.max_index)
            .then(|| format!("it was made for indices of at most {}", self.max_index).into())
    }
}
