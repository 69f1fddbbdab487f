//! What can be wrong with a cache.

use super::layout::VERSION;
use crate::phrase::{NamesSettings, plain};
use std::fmt;

/// Why a file is not read as a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CacheFault {
    /// It does not begin like one.
    NotACache,
    /// It is of a version that is not known here.
    Newer {
        /// Its version.
        version: u32,
    },
    /// It is of a version that is no longer read.
    Older {
        /// Its version.
        version: u32,
    },
    /// It breaks off: the disk was full, or the copy was not finished.
    Partial,
    /// Its bytes are not those that were written.
    Damaged {
        /// Where the part begins that is damaged.
        at: u64,
        /// What was noticed.
        what: &'static str,
    },
    /// Its labels have become +1 and −1 by another choice.
    Positive {
        /// The label that is +1 in the cache.
        made_with: String,
        /// The label that should be.
        wished: String,
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
