//! Data in memory while it is worked on.

use crate::passes::Passes;
use rueful_core::{Batch, Example};
use std::borrow::Cow;

/// The data: where it is if that is memory, or a copy.
#[derive(Debug, Clone, Default)]
pub(crate) struct Held<'a> {
    batches: Vec<(Cow<'a, Batch>, usize)>,
}

impl<'a> Held<'a> {
    /// Borrows what is in memory, or copies what one pass shows.
    pub(crate) fn new<P: Passes>(data: &'a mut P) -> Result<Self, P::Error> {
        if data.held().is_none() {
            let mut batches = Vec::new();
            data.pass(&mut |batch, rows| batches.push((Cow::Owned(batch.clone()), rows)))?;
            return Ok(Self { batches });
        }
        let held = data.held().unwrap_or_default();
        Ok(Self { batches: held.into_iter().map(|(b, rows)| (Cow::Borrowed(b), rows)).collect() })
    }

    /// Whether a pass was made for it.
    pub(crate) fn is_copy(&self) -> bool {
        self.batches.iter().any(|(batch, _)| matches!(batch, Cow::Owned(_)))
    }

    /// The examples in order.
    pub(crate) fn examples(&self) -> impl Iterator<Item = Example<'_>> {
        self.batches.iter().flat_map(|(batch, rows)| (0..*rows).map(|row| batch.get(row)))
    }
}
