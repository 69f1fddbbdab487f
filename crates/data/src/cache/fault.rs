//! What can be wrong with a cache.

use super::layout::VERSION;
use thiserror::Error;

/// Why a file is not read as a cache.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CacheFault {
    /// It does not begin like one.
    #[error("found something else, expected a rueful cache")]
    NotACache,
    /// It is of a version that is not known here.
    #[error(
        "found a rueful cache of version {version}, expected version {VERSION}: it was written by a \
         newer rueful; make it anew"
    )]
    Newer {
        /// Its version.
        version: u32,
    },
    /// It is of a version that is no longer read.
    #[error(
        "found a rueful cache of version {version}, expected version {VERSION}: it was written by \
         an older rueful, which kept importances in single precision; make it anew"
    )]
    Older {
        /// Its version.
        version: u32,
    },
    /// It breaks off: the disk was full, or the copy was not finished.
    #[error(
        "found a rueful cache that was written only in part, expected a whole one; make it anew"
    )]
    Partial,
    /// Its bytes are not those that were written.
    #[error(
        "found a rueful cache that is damaged at byte {at} ({what}), expected one as it was \
         written; make it anew"
    )]
    Damaged {
        /// Where the part begins that is damaged.
        at: u64,
        /// What was noticed.
        what: &'static str,
    },
    /// Its labels have become +1 and −1 by another choice.
    #[error(
        "found a rueful cache made with --positive {made_with}, expected one made with \
         --positive {wished}; make it anew, or leave --positive out"
    )]
    Positive {
        /// The label that is +1 in the cache.
        made_with: String,
        /// The label that should be.
        wished: String,
    },
}
