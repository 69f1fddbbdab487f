//! Readers: bytes to batches of examples.
//!
//! A [`Source`] fills one reused [`Batch`](rueful_core::Batch) after the other and takes a
//! [`Census`] on the way. What it cannot read it refuses, saying where, what it found and what it
//! expected; nothing is repaired, guessed or skipped in silence.
//!
//! ```
//! use rueful_core::{Batch, loss::Labels};
//! use rueful_data::{Libsvm, Limits, Reading, Source};
//!
//! let text = "+1 1:0.5 3:2\n-1 2:1 # a comment\n+1 2:x\n";
//! let reading = Reading { labels: Labels::Signs, constant: true, limits: Limits::default() };
//! let mut source = Libsvm::new("data.txt", text.as_bytes(), reading);
//!
//! let mut batch = Batch::default();
//! assert!(source.fill(&mut batch)?);
//! assert_eq!(batch.get(0).features.indices(), [0, 1, 3]);
//! assert_eq!(batch.get(1).label, -1.0);
//! assert_eq!(source.census().features, 4);
//!
//! let error = source.fill(&mut batch).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "data.txt:3:4: found \"2:x\", expected a finite number after \"2:\""
//! );
//! # Ok::<(), rueful_data::DataError>(())
//! ```

mod census;
mod error;
mod foreign;
mod libsvm;
mod lines;
mod number;
mod predictions;
mod source;
mod survey;

pub use census::Census;
pub use error::{DataError, printable};
pub use libsvm::Libsvm;
pub use predictions::{PredictionColumns, Predictions};
pub use source::{Limits, Reading, Source};
pub use survey::{Survey, survey};
