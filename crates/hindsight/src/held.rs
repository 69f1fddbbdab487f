//! Data small enough to be held in memory while it is worked on.

use crate::passes::Passes;
use rueful_core::{Batch, Example};

/// A copy of the data.
#[derive(Debug, Clone, Default)]
pub(crate) struct Held {
    batches: Vec<(Batch, usize)>,
}

impl Held {
    /// Copies what one pass shows.
    pub(crate) fn read<P: Passes>(data: &mut P) -> Result<Self, P::Error> {
        let mut batches = Vec::new();
        data.pass(&mut |batch, rows| batches.push((batch.clone(), rows)))?;
        Ok(Self { batches })
    }

    /// The examples in order.
    pub(crate) fn examples(&self) -> impl Iterator<Item = Example<'_>> {
        self.batches.iter().flat_map(|(batch, rows)| (0..*rows).map(|row| batch.get(row)))
    }
}
