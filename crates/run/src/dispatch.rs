//! From a description to a learner behind one virtual call per batch.

use crate::spec::{Spec, SpecError};
use rueful_core::learner::{Learner, Resumable, Take};

/// A learner of any kind whose state can be put away.
pub trait SavedLearner: Learner {
    /// Its whole state, as a model keeps it.
    fn save(&self) -> Result<Vec<u8>, postcard::Error>;
}

impl<T: Resumable> SavedLearner for T {
    fn save(&self) -> Result<Vec<u8>, postcard::Error> {
        postcard::to_allocvec(self)
    }
}

/// The learner a description stands for, at w_1 = 0.
pub fn build(spec: &Spec) -> Result<Box<dyn SavedLearner>, SpecError> {
    make(spec, Fresh)
}

/// The same in a state that was saved; nothing if that is no state of such a learner.
pub(crate) fn restore(
    spec: &Spec,
    state: &[u8],
) -> Result<Option<Box<dyn SavedLearner>>, SpecError> {
    make(spec, Saved { state })
}

fn make<T: Take>(spec: &Spec, take: T) -> Result<T::Made, SpecError> {
    spec.check()?;
    spec.learner.make(spec.objective(), take).map_err(SpecError::new)
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
