//! Data in memory while it is worked on.

use crate::passes::Passes;
use rueful_core::{Batch, Example, Rows};

/// The rows of the data: borrowed if they are in memory, otherwise a copy.
#[derive(Debug, Clone)]
pub(crate) enum Held<'a> {
    Lent(Vec<Rows<'a>>),
    Copied(Batch),
}

impl<'a> Held<'a> {
    /// Borrows data that is in memory, and otherwise copies it in one pass.
    pub(crate) fn new<P: Passes>(data: &'a mut P) -> Result<Self, P::Error> {
        if data.held().is_some() {
            return Ok(Self::Lent(data.held().unwrap_or_default()));
        }
        let mut copy = Batch::default();
        data.pass(&mut |rows| copy.append(rows))?;
        Ok(Self::Copied(copy))
    }

    /// Whether the data was copied, which took a pass.
    pub(crate) fn is_copy(&self) -> bool {
        matches!(self, Self::Copied(_))
    }

    /// The examples in order.
    pub(crate) fn examples(&self) -> impl Iterator<Item = Example<'_>> {
        let (lent, copied) = match self {
            Self::Lent(rows) => (&rows[..], None),
            Self::Copied(batch) => (&[][..], Some(batch.rows())),
        };
        lent.iter().copied().chain(copied).flat_map(|rows| rows.iter())
    }
}
