//! LIBSVM text, also called svmlight: one example per line, `label index:value index:value …`.
//!
//! Labels and values are decimal numbers. Indices are integers from 1 on that increase along the
//! line. Tokens are separated by spaces or tabs, `#` begins a comment, and lines without a row are
//! skipped. Index i of the file is index i of the batch, so index 0 is free for the constant. A
//! value becomes the `f32` that is nearest to the written number.

mod row;

use crate::format::{Fault, Format};
use crate::labels::LabelRule;
use crate::rows::Rows;
use crate::text::Text;
use row::Lines;

/// The format, and how its rows are read.
#[derive(Debug, Clone)]
pub(crate) struct Libsvm {
    pub(crate) rule: LabelRule,
    pub(crate) constant: bool,
    pub(crate) max_index: u32,
}

impl Format for Libsvm {
    fn read(&self, text: Text<'_>, rows: &mut Rows) -> Result<(), Fault> {
        let lines = Lines { text, format: self };
        let mut at = 0;
        while at < text.len() {
            at = lines.read_line(at, rows)?;
        }
        Ok(())
    }
}
