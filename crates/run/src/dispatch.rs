//! From a description to types: the only place where a name becomes code.
//!
//! Each combination gets its own monomorphised loop behind one virtual call per batch.

use crate::spec::{LearnerSpec, ScheduleSpec, Spec, SpecError, with_loss};
use rueful_core::Objective;
use rueful_core::learner::{
    FollowTheLeader, Learner, Minimax, Ogd, Perceptron, RegularizedErm, StronglyConvexOgd,
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

/// The learner a description stands for, at w_1 = 0.
pub fn build(spec: &Spec) -> Result<Box<dyn Learner>, SpecError> {
    spec.check()?;
    with_loss!(spec.loss, loss => build_with(spec, loss))
}

fn build_with<L: Loss>(spec: &Spec, loss: L) -> Result<Box<dyn Learner>, SpecError> {
    Ok(match &spec.learner {
        LearnerSpec::Ogd { schedule, set, gradient_bound } => {
            let objective = Objective { loss, sigma: spec.sigma };
            with_schedule!(*schedule, schedule => with_set!(set, set => {
                Box::new(Ogd::new(objective, schedule, set).with_gradient_bound(*gradient_bound))
            }))
        }
        LearnerSpec::StronglyConvexOgd { gradient_bound } => {
            let learner = StronglyConvexOgd::new(loss, positive(spec.sigma)?);
            Box::new(learner.with_gradient_bound(*gradient_bound))
        }
        LearnerSpec::Perceptron { eta } => Box::new(Perceptron::new(loss, *eta)),
        LearnerSpec::Erm { set: AnySet::Ball(set) } => Box::new(FollowTheLeader::new(loss, *set)),
        LearnerSpec::Erm { set: AnySet::Box(set) } => {
            Box::new(FollowTheLeader::new(loss, set.clone()))
        }
        LearnerSpec::Erm { set: AnySet::WholeSpace(_) } => {
            return Err(SpecError::new("erm needs a bounded set"));
        }
        LearnerSpec::RegularizedErm { schedule, set, gradient_bound } => {
            with_schedule!(*schedule, schedule => with_set!(set, set => {
                let learner = RegularizedErm::new(loss, schedule, set);
                Box::new(learner.with_gradient_bound(*gradient_bound))
            }))
        }
        LearnerSpec::Minimax { set, gradient_bound, horizon } => {
            Box::new(Minimax::new(loss, *set, *gradient_bound, *horizon))
        }
    })
}

fn positive(sigma: NonNegative) -> Result<Positive, SpecError> {
    Positive::new(sigma.get()).map_err(|error| SpecError::new(format!("sigma: {error}")))
}
