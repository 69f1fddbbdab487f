//! The interface of every text format: how its rows are read, and where it may be cut.

use crate::phrase::Phrase;
use crate::rows::Rows;
use crate::text::Text;

/// A text format with everything that was decided about it, such as which column is the label.
///
/// Contract: `read` is a function of the text alone. Pieces are read on any thread, so nothing is
/// carried from one piece to the next. Facts about the whole stream, such as distinct labels and
/// names, are reported in [`Rows`] and put together in the order of the stream.
pub(crate) trait Format: Send + Sync {
    /// Adds the rows of a text. If there is a fault, the rows before it have been added.
    fn read(&self, text: Text<'_>, rows: &mut Rows) -> Result<(), Fault>;

    /// The length of the longest beginning of `text` that consists of whole records. `text` is the
    /// beginning of a piece. Returns none if the first record does not end in it.
    fn cut(&self, text: &[u8]) -> Option<usize> {
        memchr::memrchr(b'\n', text).map(|end| end + 1)
    }

    /// The length of the first record of `text`, including its line end. If the record does not end
    /// in `text`, the length of the part that is there.
    fn first_record(&self, text: &[u8]) -> usize {
        memchr::memchr(b'\n', text).map_or(text.len(), |end| end + 1)
    }

    /// Whether the beginning of a file contains everything that comes before its rows.
    fn has_head(&self, _beginning: &[u8]) -> bool {
        true
    }
}

/// A name from the data as part of a message: in quotes, cut if it is long, and without characters
/// that could upset a terminal.
#[cold]
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", crate::error::excerpt(name.as_bytes()))
}

/// The fault of a text, and its place. It is behind a pointer, so that a function that returns
/// either a value or a fault does so in registers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault(Box<FaultFacts>);

/// The facts about a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FaultFacts {
    /// The place in the text where the faulty part begins.
    pub(crate) at: usize,
    /// The faulty part, as [`excerpt`](crate::error::excerpt) shows it.
    pub(crate) found: String,
    /// A description of the text that should have been there.
    pub(crate) expected: String,
    /// A way to put it right, if one is known.
    pub(crate) hint: Option<Phrase>,
}

impl Fault {
    /// A fault without a hint.
    #[cold]
    pub(crate) fn new(at: usize, found: &[u8], expected: impl Into<String>) -> Self {
        let found = crate::error::excerpt(found);
        Self(Box::new(FaultFacts { at, found, expected: expected.into(), hint: None }))
    }

    /// The same fault with a hint.
    pub(crate) fn hint(mut self, hint: impl Into<Phrase>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// The facts about this fault.
    pub(crate) fn facts(self) -> FaultFacts {
        *self.0
    }
}
