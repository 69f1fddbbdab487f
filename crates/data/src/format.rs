//! What every text format answers: how its rows are read, and where it may be cut.

use crate::phrase::Phrase;
use crate::rows::Rows;
use crate::text::Text;

/// A text format with everything that was decided about it, such as which column is the label.
///
/// Contract: `read` is a function of the text alone. Pieces are read on any thread, so nothing is
/// carried from one to the next; what belongs to the whole stream (distinct labels, names) is
/// reported in [`Rows`] and put together in the order of the stream.
pub(crate) trait Format: Send + Sync {
    /// Adds the rows of a text. On a fault the rows before it have been added.
    fn read(&self, text: Text<'_>, rows: &mut Rows) -> Result<(), Fault>;

    /// The length of the longest beginning of `text`, itself the beginning of a piece, that is
    /// made of whole records; none if the first record does not end here.
    fn cut(&self, text: &[u8]) -> Option<usize> {
        memchr::memrchr(b'\n', text).map(|end| end + 1)
    }

    /// The length of the first record of `text`, its end included; of what there is, if it does
    /// not end here.
    fn first_record(&self, text: &[u8]) -> usize {
        memchr::memchr(b'\n', text).map_or(text.len(), |end| end + 1)
    }

    /// Whether the beginning of a file holds everything that comes before its rows.
    fn has_head(&self, _beginning: &[u8]) -> bool {
        true
    }
}

/// A name out of the data, to be part of a message: between quotes, cut where it gets long, and
/// without anything that could upset a terminal.
#[cold]
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", crate::error::excerpt(name.as_bytes()))
}

/// What is wrong with a text, and where. It is behind a pointer, so that those who answer with what
/// they have read or with a fault do so in registers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault(Box<FaultFacts>);

/// What there is to say of a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FaultFacts {
    /// Where in the text the part begins that is wrong.
    pub(crate) at: usize,
    /// That part, as [`excerpt`](crate::error::excerpt) shows it.
    pub(crate) found: String,
    /// What should have been there.
    pub(crate) expected: String,
    /// How it might be put right.
    pub(crate) hint: Option<Phrase>,
}

impl Fault {
    /// A fault without a hint.
    #[cold]
    pub(crate) fn new(at: usize, found: &[u8], expected: impl Into<String>) -> Self {
        let found = crate::error::excerpt(found);
        Self(Box::new(FaultFacts { at, found, expected: expected.into(), hint: None }))
    }

    /// The same with a hint.
    pub(crate) fn hint(mut self, hint: impl Into<Phrase>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// What there is to say of it.
    pub(crate) fn facts(self) -> FaultFacts {
        *self.0
    }
}
