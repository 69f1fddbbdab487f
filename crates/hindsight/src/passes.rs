//! Data that can be read again and again.

use rueful_core::{Batch, Rows};
use std::convert::Infallible;

/// A stream that can be replayed: from memory, or by reading a file once more.
pub trait Passes {
    /// The error of a pass that fails.
    type Error;

    /// Shows every example once, in order, some rows at a time. A row of importance 0 is no example
    /// and is not shown.
    fn pass(&mut self, visit: &mut dyn FnMut(Rows<'_>)) -> Result<(), Self::Error>;

    /// The rows that a pass would show, if all of them are in memory. Solvers that need them in
    /// memory then make no copy.
    fn held(&self) -> Option<Vec<Rows<'_>>> {
        None
    }
}

/// Batches held in memory.
#[derive(Debug, Clone, Copy)]
pub struct InMemory<'a> {
    /// The batches, in order.
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

/// The first examples of some data, whose type may be known at run time only.
#[derive(Debug)]
pub struct Prefix<'a, P: ?Sized> {
    /// The whole data.
    pub data: &'a mut P,
    /// The number of examples that are shown.
    pub rounds: u64,
}

impl<'a, E> Prefix<'a, dyn Passes<Error = E> + 'a> {
    /// All of some data, as a trait object: code for it is compiled only once.
    pub fn whole(data: &'a mut (dyn Passes<Error = E> + 'a)) -> Self {
        Self { data, rounds: u64::MAX }
    }
}

/// The sign that a pass has failed. The data keep the reason.
pub(crate) struct Failed;

/// Data that keep the error of a pass that has failed. So the code of the solvers does not depend
/// on the type of the error, nor on that of the data, and is compiled in this crate.
struct Keeping<'a, P: Passes + ?Sized> {
    data: &'a mut P,
    error: Option<P::Error>,
}

impl<P: Passes + ?Sized> Passes for Keeping<'_, P> {
    type Error = Failed;

    fn pass(&mut self, visit: &mut dyn FnMut(Rows<'_>)) -> Result<(), Failed> {
        self.data.pass(visit).map_err(|error| {
            self.error = Some(error);
            Failed
        })
    }

    fn held(&self) -> Option<Vec<Rows<'_>>> {
        self.data.held()
    }
}

/// Any data, as the solvers see them.
pub(crate) type AnyPasses<'a> = dyn Passes<Error = Failed> + 'a;

/// Runs a solver on data, and returns the error of the pass that failed, if one did.
pub(crate) fn solve_over<P: Passes + ?Sized, T>(
    data: &mut P,
    solve: impl FnOnce(&mut AnyPasses<'_>) -> Result<T, Failed>,
) -> Result<T, P::Error> {
    let mut keeping = Keeping { data, error: None };
    let solved = solve(&mut keeping);
    match (solved, keeping.error) {
        (Ok(solved), None) => Ok(solved),
        (_, Some(error)) => Err(error),
        (Err(Failed), None) => unreachable!("data keep the error of a pass that fails"),
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
