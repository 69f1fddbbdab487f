//! Turns a description into a learner behind one virtual call per batch.

use crate::spec::SpecError;
use crate::task::Task;
use rueful_core::learner::{Learner, Resumable, Take};
use std::any::Any;

/// A learner of any kind whose state can be saved.
pub trait SavedLearner: Learner {
    /// The whole state, as a model keeps it, with the coordinates in this order.
    fn save(&self, order: &[u32]) -> Result<Vec<u8>, postcard::Error>;

    /// A copy of the learner in the same state.
    fn duplicate(&self) -> Box<dyn SavedLearner>;

    /// The learner as a value of any type.
    fn as_any(&self) -> &dyn Any;
}

impl<T: Resumable + 'static> SavedLearner for T {
    fn save(&self, order: &[u32]) -> Result<Vec<u8>, postcard::Error> {
        let mut copy = self.clone();
        copy.rearrange(order);
        postcard::to_allocvec(&copy)
    }

    fn duplicate(&self) -> Box<dyn SavedLearner> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Clone for Box<dyn SavedLearner> {
    fn clone(&self) -> Self {
        (**self).duplicate()
    }
}

/// The learner of a description, at w_1 = 0.
pub fn build(task: &Task) -> Result<Box<dyn SavedLearner>, SpecError> {
    make(task, Fresh)
}

/// The learner of a description in a saved state. `None` if that is not a state of such a learner.
pub(crate) fn restore(
    task: &Task,
    state: &[u8],
) -> Result<Option<Box<dyn SavedLearner>>, SpecError> {
    make(task, Saved { state })
}

fn make<T: Take>(task: &Task, take: T) -> Result<T::Made, SpecError> {
    task.check()?;
    task.learner.make(task.objective(), take).map_err(SpecError::new)
}

struct Fresh;

impl Take for Fresh {
    type Made = Box<dyn SavedLearner>;

    fn take<T: Resumable + 'static>(self, fresh: T) -> Self::Made {
        Box::new(fresh)
    }
}

struct Saved<'a> {
    state: &'a [u8],
}

impl Take for Saved<'_> {
    type Made = Option<Box<dyn SavedLearner>>;

    fn take<T: Resumable + 'static>(self, fresh: T) -> Self::Made {
        let (state, rest) = postcard::take_from_bytes::<T>(self.state).ok()?;
        let is_one = rest.is_empty() && state.continues(&fresh);
        is_one.then(|| Box::new(state) as Box<dyn SavedLearner>)
    }
}
