//! Reads columnar files, which are Parquet and Arrow's IPC formats, batch by batch.
//!
//! A table becomes the same rows as if it had been saved as text, by the same rules
//! ([`Assembler`](rueful_data::Assembler)). The one difference is that the table's own types say
//! what a column is. Numbers of all kinds are numbers, strings are categories, booleans are 0 and
//! 1, and nulls and NaN are missing. Dates and times become features for their parts
//! ([`Moment`](rueful_data::Moment)). Lists, structs and bytes can only be dropped. A dropped
//! column is not even decoded.
//!
//! | format | from a file | from standard input |
//! |---|---|---|
//! | Parquet | yes | no: its description is at its end |
//! | Arrow IPC file, also called Feather | yes | yes, read as a stream |
//! | Arrow IPC stream | yes | yes |
//!
//! **Memory.** Parquet is decoded a few thousand rows at a time, and a few such pieces exist at
//! once. Beside them, each column has one page and its dictionary in memory. Both are as large as
//! the file says, at most 2 GiB each, and the decoder allocates them before it has checked the
//! sizes. An Arrow file is read one record batch at a time. A batch is as large as its writer made
//! it, and one beyond 2 GiB is refused.
//!
//! **Damage.** A file that is cut short, damaged or of another kind gives one error. If the decoder
//! panics on it, the panic becomes that error too.
//!
//! ```no_run
//! use rueful_columnar::{Format, open};
//! use rueful_data::{LabelRule, Reading, FormatSettings, survey};
//! let format_settings = FormatSettings { label: Some("price".to_owned()), ..FormatSettings::default() };
//! let reading = Reading::new(LabelRule::Numbers);
//! let mut opened = open(&["houses.parquet".to_owned()], Format::Parquet, &format_settings, &reading)?;
//! let survey = survey(&mut opened.source)?;
//! # Ok::<(), rueful_data::DataError>(())
//! ```

mod cells;
mod decode;
mod decode_error;
mod file;
mod footer;
mod ipc;
mod kind;
mod layout;
mod open;
mod parquet;
mod source;

pub use layout::{Format, Layout};
pub use open::{ColumnType, Opened, fit, inspect, open, open_batches};
pub use source::Columnar;
