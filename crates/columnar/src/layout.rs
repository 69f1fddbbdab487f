//! What was decided about a columnar file, so that the next one is read the same way.

use rueful_data::{Binary, Bits, Columns};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A columnar format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Apache Parquet.
    Parquet,
    /// Apache Arrow's IPC formats: files, also called Feather, and streams.
    Arrow,
}

impl Format {
    /// The names of the formats.
    pub const NAMES: [&'static str; 2] = ["parquet", "arrow"];

    /// Which of them this is.
    pub fn name(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
        }
    }

    /// The format of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        [Self::Parquet, Self::Arrow].into_iter().find(|format| format.name() == name)
    }

    /// The format of a file that is not text.
    pub fn of(binary: Binary) -> Option<Self> {
        match binary {
            Binary::Parquet => Some(Self::Parquet),
            Binary::Arrow => Some(Self::Arrow),
            _ => None,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Parquet => "Parquet",
            Self::Arrow => "Arrow",
        })
    }
}

/// A columnar format and what becomes of the columns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// The format.
    pub format: Format,
    /// How many bits the index of a feature by name has.
    pub bits: Bits,
    /// The columns, in the order of the file.
    pub columns: Columns,
}
