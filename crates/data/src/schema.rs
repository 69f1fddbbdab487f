//! What was decided about a file's format, so that the next file is read the same way.

use crate::Bits;
use crate::format::Format;
use crate::libsvm::Libsvm;
use crate::rows::Space;
use crate::source::Reading;
use crate::vw::Vw;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A format and everything about it that is not in the rows themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "format", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Schema {
    /// LIBSVM or svmlight text.
    Libsvm {},
    /// Vowpal Wabbit text.
    Vw {
        /// How many bits the index of a feature by name has.
        #[serde(default)]
        bits: Bits,
    },
}

/// A column of a table, and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its name in the header; without a header, its number, from 1 on.
    pub name: String,
    /// What becomes of its cells.
    pub role: Role,
}

/// What becomes of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The label of the row.
    Label,
    /// A feature with the column's name and this value.
    Number,
    /// A feature `column=value` with the value 1.
    Category,
    /// A feature `column:word` for every word, lower-cased, whose value is how often it occurs.
    Text,
    /// Nothing.
    Drop,
}

/// What a person says about the data; everything may be left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wishes {
    /// A name of [`Schema::NAMES`]; recognised by content and extension if left out.
    pub format: Option<String>,
    /// The column of the labels, by name or by number from 1 on.
    pub label: Option<String>,
    /// Columns to leave out, by name or number.
    pub drop: Vec<String>,
    /// Columns whose numbers are names.
    pub categorical: Vec<String>,
    /// Columns of running text.
    pub text: Vec<String>,
    /// Whether the first line names the columns.
    pub header: Option<bool>,
    /// How many bits the index of a feature by name has.
    pub bits: Bits,
}

impl Schema {
    /// The names of the formats.
    pub const NAMES: [&'static str; 2] = ["libsvm", "vw"];

    /// Which of them this is.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Libsvm {} => "libsvm",
            Self::Vw { .. } => "vw",
        }
    }

    /// The reader of rows.
    pub(crate) fn format(&self, reading: &Reading) -> Arc<dyn Format> {
        match self {
            Self::Libsvm {} => Arc::new(Libsvm {
                rule: reading.labels.clone(),
                constant: reading.constant,
                max_index: reading.limits.max_index,
            }),
            Self::Vw { bits } => Arc::new(Vw {
                rule: reading.labels.clone(),
                constant: reading.constant,
                space: Space { bits: *bits, max_index: reading.limits.max_index },
            }),
        }
    }
}
