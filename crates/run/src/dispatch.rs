//! From a description to types: the only place where a name becomes code.
//!
//! Each combination gets its own monomorphised loop behind one virtual call per batch.

use crate::spec::{LearnerSpec, ScheduleSpec, SpecError, with_loss};
use crate::task::Task;
use rueful_core::Objective;
use rueful_core::learner::{
    FollowTheLeader, Learner, Minimax, Ogd, Perceptron, Plain, RegularizedErm, Resumable,
    StronglyConvexOgd,
};
use rueful_core::loss::Loss;
use rueful_core::set::AnySet;
use rueful_core::{NonNegative, Positive};

/// Runs an expression on whichever schedule it is.
macro_rules! with_schedule {
    ($spec:expr, $schedule:ident => $what:expr) => {
        match $spec {
            ScheduleSpec::Constant($schedule) => $what,
            ScheduleSpec::InverseSqrt($schedule) => $what,
            ScheduleSpec::InverseTime($schedule) => $what,
            ScheduleSpec::Horizon($schedule) => $what,
            ScheduleSpec::AdaGradNorm($schedule) => $what,
        }
    };
}

/// Runs an expression on whichever set it is.
macro_rules! with_set {
    ($spec:expr, $set:ident => $what:expr) => {
        match $spec.clone() {
            AnySet::Ball($set) => $what,
            AnySet::Box($set) => $what,
            AnySet::WholeSpace($set) => $what,
        }
    };
}

/// A learner of any kind whose state can be put away.
pub trait SavedLearner: Learner {
    /// Its whole state, as a model keeps it, with the coordinates in this order.
    fn save(&self, order: &[u32]) -> Result<Vec<u8>, postcard::Error>;

    /// Another one in the same state.
    fn duplicate(&self) -> Box<dyn SavedLearner>;
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
}

impl Clone for Box<dyn SavedLearner> {
    fn clone(&self) -> Self {
        (**self).duplicate()
    }
}

/// The learner a description stands for, at w_1 = 0.
pub fn build(task: &Task) -> Result<Box<dyn SavedLearner>, SpecError> {
    choose(task, Fresh)
}

/// The same in a state that was saved; nothing if that is no state of such a learner.
pub(crate) fn restore(
    task: &Task,
    state: &[u8],
) -> Result<Option<Box<dyn SavedLearner>>, SpecError> {
    choose(task, Saved { state })
}

/// What is made of a learner once its type is known.
trait Make {
    type Made;
    fn make<T: Resumable + 'static>(self, fresh: T) -> Self::Made;
}

struct Fresh;

impl Make for Fresh {
    type Made = Box<dyn SavedLearner>;

    fn make<T: Resumable + 'static>(self, fresh: T) -> Self::Made {
        Box::new(fresh)
    }
}

struct Saved<'a> {
    state: &'a [u8],
}

impl Make for Saved<'_> {
    type Made = Option<Box<dyn SavedLearner>>;

    fn make<T: Resumable + 'static>(self, fresh: T) -> Self::Made {
        let (state, rest) = postcard::take_from_bytes::<T>(self.state).ok()?;
        let is_one = rest.is_empty() && state.continues(&fresh);
        is_one.then(|| Box::new(state) as Box<dyn SavedLearner>)
    }
}

fn choose<M: Make>(task: &Task, make: M) -> Result<M::Made, SpecError> {
    task.check()?;
    with_loss!(task.loss, loss => choose_with(task, loss, make))
}

fn choose_with<L: Loss + Plain, M: Make>(
    task: &Task,
    loss: L,
    make: M,
) -> Result<M::Made, SpecError> {
    Ok(match &task.learner {
        LearnerSpec::Ogd { schedule, set, gradient_bound } => {
            let objective = Objective { loss, sigma: task.sigma };
            with_schedule!(*schedule, schedule => with_set!(set, set => {
                make.make(Ogd::new(objective, schedule, set).with_gradient_bound(*gradient_bound))
            }))
        }
        LearnerSpec::StronglyConvexOgd { gradient_bound } => {
            let learner = StronglyConvexOgd::new(loss, positive(task.sigma)?);
            make.make(learner.with_gradient_bound(*gradient_bound))
        }
        LearnerSpec::Perceptron { eta } => make.make(Perceptron::new(loss, *eta)),
        LearnerSpec::Erm { set: AnySet::Ball(set) } => make.make(FollowTheLeader::new(loss, *set)),
        LearnerSpec::Erm { set: AnySet::Box(set) } => {
            make.make(FollowTheLeader::new(loss, set.clone()))
        }
        LearnerSpec::Erm { set: AnySet::WholeSpace(_) } => {
            return Err(SpecError::new("erm needs a bounded set"));
        }
        LearnerSpec::RegularizedErm { schedule, set, gradient_bound } => {
            with_schedule!(*schedule, schedule => with_set!(set, set => {
                let learner = RegularizedErm::new(loss, schedule, set);
                make.make(learner.with_gradient_bound(*gradient_bound))
            }))
        }
        LearnerSpec::Minimax { set, gradient_bound, horizon } => {
            make.make(Minimax::new(loss, *set, *gradient_bound, *horizon))
        }
    })
}

fn positive(sigma: NonNegative) -> Result<Positive, SpecError> {
    Positive::new(sigma.get()).map_err(|error| SpecError::new(format!("sigma: {error}")))
}
