//! The decisions about a columnar file, kept so that the next file is read the same way.

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

    /// The name of this format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
        }
    }

    /// The format with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        [Self::Parquet, Self::Arrow].into_iter().find(|format| format.name() == name)
    }

    /// The columnar format of a file that is not text, if it has one.
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

/// A columnar format, and the roles of the columns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// The format.
    pub format: Format,
    /// The number of bits of an index that is hashed from a feature's name.
    pub bits: Bits,
    /// The columns, in the order of the file.
    pub columns: Columns,
}
