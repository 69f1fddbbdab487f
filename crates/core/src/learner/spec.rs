//! Descriptions of learners, and how learners are made from them.

use super::{LearnerSpec, Plain, Resumable, with_learner};
use crate::loss::AnyLoss;
use crate::number::NonNegative;
use crate::request::Asked;
use crate::round::Objective;

/// The advice for most learners on how to keep the weights finite.
const SMALLER_STEPS: &str =
    "smaller steps (eta), a bounded set (radius) or scaled features keep it finite";

/// The description of one learner: its parameters as plain data, and everything that depends on
/// which learner it is.
pub trait Recipe: Asked + Plain {
    /// Makes the learner at w_1 = 0 and passes it to `take`. Its types are chosen here, at compile
    /// time, for speed. A loss that the learner cannot learn from is refused, with the reason in
    /// words.
    fn make<T: Take>(&self, objective: Objective<AnyLoss>, take: T) -> Result<T::Made, String>;

    /// Refuses losses φ + (σ/2)‖w‖² that the learner cannot learn from, with the reason in words.
    fn check(&self, _objective: &Objective<AnyLoss>) -> Result<(), String> {
        Ok(())
    }

    /// The σ that is used if none is set.
    fn default_sigma(&self) -> f64 {
        0.0
    }

    /// Whether its theorem covers predictors of every norm. If so, its regret is measured against
    /// all of them unless a radius is set.
    fn answers_for_every_norm(&self) -> bool {
        false
    }

    /// Advice on how to keep its weights finite.
    fn advice(&self) -> &'static str {
        SMALLER_STEPS
    }

    /// Whether it has witnesses of its own, for the usual unit-free radii.
    fn has_witnesses(&self) -> bool {
        false
    }

    /// A description of the learner, in words.
    fn words(&self, sigma: NonNegative) -> String;
}

/// A function that receives a learner of any type.
pub trait Take {
    /// The result.
    type Made;

    /// Takes the learner.
    fn take<T: Resumable + 'static>(self, fresh: T) -> Self::Made;
}

/// Runs an expression on a set. The code for the ball, which most learners use, is compiled
/// separately. The other sets share a copy that chooses the set anew in every round.
macro_rules! with_usual_set {
    ($any:expr, $set:ident => $what:expr) => {
        match $any {
            $crate::set::AnySet::Ball($set) => $what,
            $set => $what,
        }
    };
}
pub(super) use with_usual_set;

impl LearnerSpec {
    /// Advice on how to keep its weights finite.
    pub fn advice(&self) -> &'static str {
        with_learner!(self, learner => learner.advice())
    }

    /// The σ that is used if none is set.
    pub fn default_sigma(&self) -> f64 {
        with_learner!(self, learner => learner.default_sigma())
    }

    /// Whether its theorem covers predictors of every norm.
    pub fn answers_for_every_norm(&self) -> bool {
        with_learner!(self, learner => learner.answers_for_every_norm())
    }

    /// Whether it has witnesses of its own, for the usual unit-free radii.
    pub fn has_witnesses(&self) -> bool {
        with_learner!(self, learner => learner.has_witnesses())
    }

    /// A description of the learner, in words.
    pub fn words(&self, sigma: NonNegative) -> String {
        with_learner!(self, learner => learner.words(sigma))
    }

    /// Refuses losses that the learner cannot learn from, with the reason in words.
    pub fn check(&self, objective: &Objective<AnyLoss>) -> Result<(), String> {
        let settings = Self::settings_of(self.name()).unwrap_or_default();
        if objective.sigma.get() > 0.0 && !settings.contains(&"sigma") {
            return Err(format!(
                "the learner {} does not take sigma; {} do",
                self.name(),
                Self::names_that_take("sigma").join(" and ")
            ));
        }
        with_learner!(self, learner => learner.check(objective))
    }

    /// Makes the learner at w_1 = 0 and passes it to `take`, unless it is refused.
    pub fn make<T: Take>(&self, objective: Objective<AnyLoss>, take: T) -> Result<T::Made, String> {
        self.check(&objective)?;
        with_learner!(self, learner => learner.make(objective, take))
    }

    /// The names of the learners that use a setting.
    fn names_that_take(setting: &str) -> Vec<&'static str> {
        let takes = |name: &&str| Self::settings_of(name).is_ok_and(|all| all.contains(&setting));
        Self::NAMES.into_iter().filter(takes).collect()
    }
}
