//! A compact binary file of rows, for reading the same data again. It holds labels and features as
//! they were read, checksums, and a description of the data that they were made from.
//! `docs/maintainers/files.md` describes every byte.
//!
//! ```
//! use rueful_core::Batch;
//! use rueful_data::{
//!     Cached, Follow, Input, LabelRule, Provenance, Reader, Reading, Schema, Source, write_cache,
//! };
//!
//! let folder = tempfile::tempdir()?;
//! let data = folder.path().join("data.txt").display().to_string();
//! let cache = folder.path().join("data.rueful-cache").display().to_string();
//! std::fs::write(&data, "+1 1:0.5 3:2\n-1 2:1\n")?;
//!
//! let schema = Schema::Libsvm {};
//! let made_from = Provenance::look(&[data.clone()], &schema, None, 1 << 26)?;
//! let reading = Reading { constant: false, ..Reading::new(made_from.label_rule()) };
//! let mut text = Reader::open(&[data.clone()], &schema, &reading, &Follow::No)?;
//! let summary = write_cache(&cache, &made_from, &mut text, reading.constant)?;
//! assert_eq!((summary.examples, summary.nonzeros), (2, 3));
//!
//! let mut source = Cached::open(&cache, &Reading::new(LabelRule::Signs))?;
//! assert_eq!(source.provenance().difference(&made_from), None);
//! let mut batch = Batch::default();
//! assert!(source.fill(&mut batch)?);
//! assert_eq!(batch.get(0).features.indices(), [0, 1, 3]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bytes;
mod cached;
mod decode;
mod encode;
mod fault;
mod footer;
mod layout;
mod provenance;
mod writer;

pub use cached::Cached;
pub use fault::CacheFault;
pub use footer::CacheSummary;
pub(crate) use layout::MAGIC;
pub use provenance::{Provenance, SourceFile};
pub use writer::{CacheWriter, write_cache};
