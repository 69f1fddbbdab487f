//! The faults of a cache.

use super::layout::VERSION;
use crate::phrase::{NamesSettings, plain};
use std::fmt;

/// The reason why a file is not read as a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CacheFault {
    /// The file does not begin like a cache.
    NotACache,
    /// The cache is of a newer version, which is not known here.
    Newer {
        /// Its version.
        version: u32,
    },
    /// The cache is of an older version, which is no longer read.
    Older {
        /// Its version.
        version: u32,
    },
    /// The file breaks off, because the disk was full or the copy was not finished.
    Partial,
    /// The bytes are not those that were written.
    Damaged {
        /// The place where the damaged part begins.
        at: u64,
        /// The contradiction that was noticed.
        what: &'static str,
    },
    /// The labels became +1 and −1 by another choice of the positive label.
    Positive {
        /// The label that is +1 in the cache.
        made_with: String,
        /// The label that should be +1.
        wished: String,
    },
    /// The labels became +1 and −1, and all classes are wanted.
    TwoClasses {
        /// The label that is +1 in the cache.
        made_with: String,
    },
}

impl NamesSettings for CacheFault {
    fn text(&self, name: &dyn Fn(&str) -> String) -> String {
        match self {
            Self::NotACache => "found something else, expected a rueful cache".to_owned(),
            Self::Newer { version } => format!(
                "found a rueful cache of version {version}, expected version {VERSION}: it was \
                 written by a newer rueful; make it anew"
            ),
            Self::Older { version } => format!(
                "found a rueful cache of version {version}, expected version {VERSION}: it was \
                 written by an older rueful, which kept importances in single precision; make it \
                 anew"
            ),
            Self::Partial => {
                "found a rueful cache that was written only in part, expected a whole \
                              one; make it anew"
                    .to_owned()
            }
            Self::Damaged { at, what } => format!(
                "found a rueful cache that is damaged at byte {at} ({what}), expected one as it \
                 was written; make it anew"
            ),
            Self::TwoClasses { made_with } => {
                let positive = name("positive");
                format!(
                    "found a rueful cache made with {positive} {made_with}, which has two classes, \
                     expected one that has them all; make it anew without {positive}"
                )
            }
            Self::Positive { made_with, wished } => {
                let positive = name("positive");
                format!(
                    "found a rueful cache made with {positive} {made_with}, expected one made with \
                     {positive} {wished}; make it anew, or leave {positive} out"
                )
            }
        }
    }
}

impl fmt::Display for CacheFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&plain))
    }
}

impl std::error::Error for CacheFault {}
