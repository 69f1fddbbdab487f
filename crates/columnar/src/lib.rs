//! Columnar files: Parquet and Arrow's IPC formats, read batch by batch.
//!
//! A table becomes the same rows as if it had been saved as text, by the same rules
//! ([`Assembler`](rueful_data::Assembler)), but that its own types say what a column is: numbers of
//! all kinds are numbers, strings are categories, truths are 0 and 1, nulls and NaN are missing.
//! Dates and times become features for their parts ([`Moment`](rueful_data::Moment)); lists, structs and
//! bytes can only be dropped. What is dropped is not even decoded.
//!
//! | format | from a file | from standard input |
//! |---|---|---|
//! | Parquet | yes | no: its description is at its end |
//! | Arrow IPC file, also called Feather | yes | yes, read as a stream |
//! | Arrow IPC stream | yes | yes |
//!
//! **Memory.** Parquet is decoded a few thousand rows at a time, and a few such pieces exist at
//! once. Beside them there is one page for each column, and its dictionary: both are as large as
//! the file says, at most 2 GiB each, which the decoder allows before it has seen that they are
//! true. An Arrow file is read a record batch at a time, as large as its writer made it, refused
//! beyond 2 GiB.
//!
//! **Damage.** A file that is cut short, damaged or something else is one error. Should the
//! decoder panic over it, that too becomes the error.
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
