//! What a person asks for, and why it cannot be had.
//!
//! A loss, a schedule or a learner is asked for by its name, and takes from the [`Request`] what it
//! has a use for. What has no effect, is missing, or contradicts something else is a [`Refusal`].

use crate::number::{NonNegative, OpenUnit, OutOfRange, Positive};
use crate::schedule::AnySchedule;
use crate::set::Ball;
use std::fmt;
use std::num::NonZeroU64;

/// The settings of a run, each number in its range; what is not said is `None`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Request<'a> {
    /// τ of the quantile loss.
    pub tau: Option<OpenUnit>,
    /// ‖w‖ ≤ U
    pub ball: Ball,
    /// η
    pub eta: Option<Positive>,
    /// G
    pub gradient_bound: Option<Positive>,
    /// σ
    pub sigma: NonNegative,
    /// α of regularised ERM.
    pub alpha: Option<Positive>,
    /// λ of FTRL-proximal's λ‖w‖₁.
    pub l1: Option<NonNegative>,
    /// C of the passive-aggressive learners.
    pub c: Option<Positive>,
    /// A name of [`AnySchedule::NAMES`].
    pub schedule: Option<&'a str>,
    /// T
    pub horizon: Option<NonZeroU64>,
    /// What the learner needs its steps for.
    pub steps: StepUse,
}

/// What a learner needs its steps for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepUse {
    /// η = `tuning`·U/G is the best for steps η/√t.
    pub tuning: f64,
    /// Whether it sees linearised losses only, which have no curvature.
    pub is_linearised: bool,
}

/// A member of a family that is asked for by its name.
pub trait Asked: Sized {
    /// The settings that have an effect on it.
    const SETTINGS: &'static [&'static str] = &[];

    /// It, as it is asked for.
    fn ask(request: &Request<'_>) -> Result<Self, Refusal>;
}

/// What must be known beforehand, and can be measured if it is not said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fact {
    /// G
    GradientBound,
    /// T
    Horizon,
}

/// Why a request cannot be met. Settings go by their plain names; [`text`](Self::text) lets a
/// program or a language call them as its users do.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// There is nothing of that name.
    Unknown {
        /// What it should have been: a loss, a learner, …
        kind: &'static str,
        /// The name.
        name: String,
        /// The names there are.
        known: &'static [&'static str],
    },
    /// A setting has no effect on what was chosen.
    NoEffect {
        /// The setting.
        setting: &'static str,
        /// What was chosen.
        on: String,
    },
    /// A setting belongs to others than what was chosen.
    Belongs {
        /// The setting.
        setting: &'static str,
        /// Whom it belongs to.
        to: String,
        /// What was chosen.
        not: String,
    },
    /// A setting is out of its range.
    OutOfRange {
        /// The setting.
        setting: &'static str,
        /// What is wrong with it.
        why: OutOfRange,
    },
    /// A number that follows from a setting is out of its range.
    Derived {
        /// The setting.
        setting: &'static str,
        /// What is wrong with what follows.
        why: OutOfRange,
    },
    /// Settings that are missing, or that contradict each other. Their names are in braces.
    Rule(&'static str),
    /// Something must be measured first.
    Needs(Fact),
}

impl Refusal {
    /// A number that follows from a setting, or the refusal of it.
    pub(crate) fn derived(setting: &'static str, value: f64) -> Result<Positive, Self> {
        Positive::new(value).map_err(|why| Self::Derived { setting, why })
    }

    /// The message, in which `name` has the say on what a setting is called.
    ///
    /// ```
    /// use rueful_core::request::Refusal;
    /// let refusal = Refusal::NoEffect { setting: "eta", on: "erm".to_owned() };
    /// assert_eq!(refusal.text(&|name| format!("--{name}")), "--eta has no effect on erm");
    /// assert_eq!(refusal.to_string(), "eta has no effect on erm");
    /// ```
    pub fn text(&self, name: &dyn Fn(&str) -> String) -> String {
        match self {
            Self::Unknown { kind, name, known } => {
                format!("there is no {kind} {name:?}; choose one of {}", known.join(", "))
            }
            Self::NoEffect { setting, on } => format!("{} has no effect on {on}", name(setting)),
            Self::Belongs { setting, to, not } => {
                format!("{} belongs to {to}, not to {not}", name(setting))
            }
            Self::OutOfRange { setting, why } => format!("{}: {why}", name(setting)),
            Self::Derived { setting, why } => format!("{} does not work out: {why}", name(setting)),
            Self::Rule(rule) => named(rule, name),
            Self::Needs(Fact::GradientBound) => format!("{} is missing", name("gradient-bound")),
            Self::Needs(Fact::Horizon) => format!("{} is missing", name("horizon")),
        }
    }
}

/// A rule with the settings in its braces named.
fn named(rule: &str, name: &dyn Fn(&str) -> String) -> String {
    let mut text = String::new();
    for (i, piece) in rule.split(['{', '}']).enumerate() {
        // Every other piece is from within braces.
        if i % 2 == 1 { text += &name(piece) } else { text += piece }
    }
    text
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&str::to_owned))
    }
}

impl std::error::Error for Refusal {}

impl Request<'_> {
    /// Nothing but a ball to keep to.
    pub fn within(ball: Ball) -> Self {
        Self {
            tau: None,
            ball,
            eta: None,
            gradient_bound: None,
            sigma: NonNegative::ZERO,
            alpha: None,
            l1: None,
            c: None,
            schedule: None,
            horizon: None,
            steps: StepUse::default(),
        }
    }

    /// The steps for a learner that uses them like this.
    pub fn schedule_for(&self, steps: StepUse) -> Result<AnySchedule, Refusal> {
        let name = match self.schedule {
            Some(name) => name,
            None if self.eta.is_some() || self.gradient_bound.is_some() => "inverse-sqrt",
            None => "adagrad-norm",
        };
        let uses = AnySchedule::settings_of(name)?;
        let given = [("horizon", self.horizon.is_some()), ("eta", self.eta.is_some())];
        if let Some((setting, _)) = given.iter().find(|(s, given)| *given && !uses.contains(s)) {
            return Err(Refusal::NoEffect { setting, on: format!("the schedule {name}") });
        }
        AnySchedule::ask(name, &Request { steps, ..*self })
    }

    /// G, which must be known.
    pub fn known_gradient_bound(&self) -> Result<Positive, Refusal> {
        self.gradient_bound.ok_or(Refusal::Needs(Fact::GradientBound))
    }

    /// T, which must be known.
    pub fn known_horizon(&self) -> Result<NonZeroU64, Refusal> {
        self.horizon.ok_or(Refusal::Needs(Fact::Horizon))
    }
}

impl Default for StepUse {
    fn default() -> Self {
        Self { tuning: std::f64::consts::SQRT_2, is_linearised: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_names_its_settings() {
        let rule = Refusal::Rule("{schedule} constant needs {eta}");
        assert_eq!(rule.to_string(), "schedule constant needs eta");
        assert_eq!(rule.text(&|name| format!("{name}=")), "schedule= constant needs eta=");
    }
}
