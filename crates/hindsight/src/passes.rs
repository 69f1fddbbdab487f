//! Data that can be gone through again and again.

use rueful_core::{Batch, Rows};
use std::convert::Infallible;

/// A stream that can be replayed: from memory, or by reading a file once more.
pub trait Passes {
    /// What can go wrong on the way.
    type Error;

    /// Shows every example once, in order, some rows at a time. A row of importance 0 is no example
    /// and is not shown.
    fn pass(&mut self, visit: &mut dyn FnMut(Rows<'_>)) -> Result<(), Self::Error>;

    /// What a pass would show, where all of it is in memory: solvers that need that then take no
    /// copy.
    fn held(&self) -> Option<Vec<Rows<'_>>> {
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

    fn pass(&mut self, visit: &mut dyn FnMut(Rows<'_>)) -> Result<(), Infallible> {
        self.batches.iter().for_each(|batch| visit(batch.rows()));
        Ok(())
    }

    fn held(&self) -> Option<Vec<Rows<'_>>> {
        Some(self.batches.iter().map(Batch::rows).collect())
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

impl<'a, E> Prefix<'a, dyn Passes<Error = E> + 'a> {
    /// All of some data, as data of no particular kind: what is compiled for it is compiled once.
    pub fn whole(data: &'a mut (dyn Passes<Error = E> + 'a)) -> Self {
        Self { data, rounds: u64::MAX }
    }
}

impl<P: Passes + ?Sized> Passes for Prefix<'_, P> {
    type Error = P::Error;

    fn pass(&mut self, visit: &mut dyn FnMut(Rows<'_>)) -> Result<(), P::Error> {
        let mut left = self.rounds as usize;
        self.data.pass(&mut |rows| {
            let first = left.min(rows.len());
            left -= first;
            if first > 0 {
                visit(rows.slice(0..first));
            }
        })
    }

    fn held(&self) -> Option<Vec<Rows<'_>>> {
        let mut left = self.rounds as usize;
        let mut held = self.data.held()?;
        for rows in &mut held {
            let first = left.min(rows.len());
            left -= first;
            *rows = rows.slice(0..first);
        }
        Some(held)
    }
}
