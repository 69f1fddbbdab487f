//! Data that can be gone through again and again.

use rueful_core::Batch;
use std::convert::Infallible;

/// A stream that can be replayed: from memory, or by reading a file once more.
pub trait Passes {
    /// What can go wrong on the way.
    type Error;

    /// Shows every example once, in order, batch by batch. `visit` is given a batch and how many
    /// of its first rows belong to the data.
    fn pass(&mut self, visit: &mut dyn FnMut(&Batch, usize)) -> Result<(), Self::Error>;

    /// What a pass would show, where all of it is in memory: solvers that need that then take no
    /// copy.
    fn held(&self) -> Option<Vec<(&Batch, usize)>> {
        None
    }
}

/// Batches held in memory.
#[derive(Debug, Clone, Copy)]
pub struct InMemory<'a> {
    /// The data.
    pub batches: &'a [Batch],
}

impl Passes for InMemory<'_> {
    type Error = Infallible;

    fn pass(&mut self, visit: &mut dyn FnMut(&Batch, usize)) -> Result<(), Infallible> {
        self.batches.iter().for_each(|batch| visit(batch, batch.len()));
        Ok(())
    }

    fn held(&self) -> Option<Vec<(&Batch, usize)>> {
        Some(self.batches.iter().map(|batch| (batch, batch.len())).collect())
    }
}

/// The first examples of some data, whose kind may be known at run time only.
#[derive(Debug)]
pub struct Prefix<'a, P: ?Sized> {
    /// The whole.
    pub data: &'a mut P,
    /// How many examples of it.
    pub rounds: u64,
}

impl<P: Passes + ?Sized> Passes for Prefix<'_, P> {
    type Error = P::Error;

    fn pass(&mut self, visit: &mut dyn FnMut(&Batch, usize)) -> Result<(), P::Error> {
        let mut left = self.rounds;
        self.data.pass(&mut |batch, rows| {
            let rows = left.min(rows as u64);
            if rows > 0 {
                visit(batch, rows as usize);
                left -= rows;
            }
        })
    }

    fn held(&self) -> Option<Vec<(&Batch, usize)>> {
        let mut left = self.rounds as usize;
        let mut held = self.data.held()?;
        for (_, rows) in &mut held {
            *rows = left.min(*rows);
            left -= *rows;
        }
        Some(held)
    }
}
