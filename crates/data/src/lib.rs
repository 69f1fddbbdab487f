//! Readers that turn bytes into batches of examples.
//!
//! A [`Source`] fills one reused [`Batch`](rueful_core::Batch) after the other and takes a
//! [`Census`] on the way. It refuses data that it cannot read, and the error says where the fault
//! is, what was found and what was expected. Nothing is repaired, guessed or skipped in silence.
//!
//! ```
//! use rueful_core::Batch;
//! use rueful_data::{Follow, Input, LabelRule, Reader, Reading, Schema, Source};
//!
//! let text = "+1 1:0.5 3:2\n-1 2:1 # a comment\n+1 2:x\n";
//! let input = Input::new("data.txt", text.as_bytes(), &Follow::No)?;
//! let reading = Reading::new(LabelRule::Signs);
//! let mut source = Reader::new(vec![input], &Schema::Libsvm {}, &reading);
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

mod arff;
mod assemble;
mod cache;
mod census;
mod chunk;
mod delayed;
mod error;
mod expansion;
mod file_name;
mod fit;
mod format;
mod growing;
mod ids;
mod index_set;
mod input;
mod json;
mod labels;
mod libsvm;
mod line_ends;
mod moment;
mod names;
mod number;
mod open;
mod phrase;
pub mod pool;
mod predictions;
mod profile;
mod reader;
mod recognize;
mod replace;
mod rows;
mod sample;
mod schema;
mod seen;
mod source;
mod standard_input;
mod survey;
mod table;
mod text;
mod vw;
mod zip;

pub use arff::{Arff, AttributeKind};
pub use assemble::{Assembler, Cell, RowError, argument};
pub use cache::{
    CacheFault, CacheSummary, CacheWriter, Cached, Provenance, SourceFile, write_cache,
};
pub use census::Census;
pub use delayed::{Delayed, Delays, Waiting};
pub use error::{DataError, printable};
pub use expansion::{
    Curve, CurveSettings, Expansion, ExpansionSettings, Grams, Interactions, KNOT_ROWS, Knots,
    NamespaceRules, Shape, TermScale, Waves,
};
pub use file_name::{name_of, path_of};
pub use fit::{KnownColumns, Purpose};
pub use growing::{GrowingFile, Written};
pub use ids::Ids;
pub use input::{Follow, Input};
pub use json::Json;
pub use labels::{FirstLabels, Inferred, LabelRule, canonical_label};
pub use moment::Moment;
pub use names::{Bits, Names};
pub use open::{Opened, TextFiles, begin, open, open_inputs};
pub use phrase::{NamesSettings, Phrase};
pub use predictions::{PredictionColumns, PredictionOrder, Predictions};
pub use profile::{ColumnProfile, FarApart, Oddity, Profile};
pub use reader::Reader;
pub use recognize::{Binary, Recognized, recognize};
pub use replace::{NewFile, can_replace_file, replace_file};
pub use schema::{Column, Columns, FormatSettings, Role, Schema};
pub use seen::Seen;
pub use source::{LabelsSeen, Limits, Reading, Source};
pub use standard_input::standard_input_again;
pub use survey::{Survey, survey, survey_again};
pub use table::{Separator, Table};
