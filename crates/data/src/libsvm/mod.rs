//! LIBSVM text, also called svmlight: one example per line, `label index:value index:value …`.
//!
//! Labels and values are decimal numbers; indices are integers from 1 on that increase along the
//! line. Tokens are separated by spaces or tabs, `#` begins a comment, lines without a row are
//! passed over. Index i of the file is index i of the batch, which leaves index 0 to the constant.
//! A value is rounded to `f64` and then to `f32`, as other readers of the format do.

mod row;

use crate::format::{Fault, Format};
use crate::labels::LabelRule;
use crate::rows::Rows;
use crate::text::Text;
use row::Lines;

/// The format, and what is to be done with its rows.
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
