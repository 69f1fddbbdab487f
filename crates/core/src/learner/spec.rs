//! What describes a learner, and what is made of it.

use super::{LearnerSpec, Plain, Resumable, with_learner};
use crate::loss::AnyLoss;
use crate::number::NonNegative;
use crate::request::Asked;
use crate::round::Objective;

/// What keeps most learners finite.
const SMALLER_STEPS: &str =
    "smaller steps (eta), a bounded set (radius) or scaled features keep it finite";

/// The description of one learner: its parameters as plain data, and all that depends on which
/// learner it is.
pub trait Recipe: Asked + Plain {
    /// Hands the learner at w_1 = 0 to `take`. Which of its types are chosen here, at compile time,
    /// is a matter of speed; what cannot be learned from is refused in words.
    fn make<T: Take>(&self, objective: Objective<AnyLoss>, take: T) -> Result<T::Made, String>;

    /// Refuses losses φ + (σ/2)‖w‖² that the learner cannot learn from, in words.
    fn check(&self, _objective: &Objective<AnyLoss>) -> Result<(), String> {
        Ok(())
    }

    /// σ, where none is asked for.
    fn default_sigma(&self) -> f64 {
        0.0
    }

    /// Whether its theorem is about predictors of every norm, so that its regret is measured
    /// against all of them where no radius is asked for.
    fn answers_for_every_norm(&self) -> bool {
        false
    }

    /// What keeps its weights finite.
    fn advice(&self) -> &'static str {
        SMALLER_STEPS
    }

    /// Whether it has witnesses of its own, of the usual radii in no units.
    fn has_witnesses(&self) -> bool {
        false
    }

    /// What it is, in words.
    fn words(&self, sigma: NonNegative) -> String;
}

/// What is done with a learner once its type is known.
pub trait Take {
    /// What comes of it.
    type Made;

    /// Takes the learner.
    fn take<T: Resumable + 'static>(self, fresh: T) -> Self::Made;
}

/// Runs an expression on a set. The ball, which most learners keep to, is compiled for itself; the
/// others are chosen anew in every round.
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
    /// What keeps its weights finite.
    pub fn advice(&self) -> &'static str {
        with_learner!(self, learner => learner.advice())
    }

    /// σ, where none is asked for.
    pub fn default_sigma(&self) -> f64 {
        with_learner!(self, learner => learner.default_sigma())
    }

    /// Whether its theorem is about predictors of every norm.
    pub fn answers_for_every_norm(&self) -> bool {
        with_learner!(self, learner => learner.answers_for_every_norm())
    }

    /// Whether it has witnesses of its own, of the usual radii in no units.
    pub fn has_witnesses(&self) -> bool {
        with_learner!(self, learner => learner.has_witnesses())
    }

    /// What it is, in words.
    pub fn words(&self, sigma: NonNegative) -> String {
        with_learner!(self, learner => learner.words(sigma))
    }

    /// Refuses losses that the learner cannot learn from, in words.
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

    /// Hands the learner at w_1 = 0 to `take`, unless it is refused.
    pub fn make<T: Take>(&self, objective: Objective<AnyLoss>, take: T) -> Result<T::Made, String> {
        self.check(&objective)?;
        with_learner!(self, learner => learner.make(objective, take))
    }

    /// The names of the learners that a setting has an effect on.
    fn names_that_take(setting: &str) -> Vec<&'static str> {
        let takes = |name: &&str| Self::settings_of(name).is_ok_and(|all| all.contains(&setting));
        Self::NAMES.into_iter().filter(takes).collect()
    }
}
