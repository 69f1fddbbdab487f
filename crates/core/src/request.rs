//! The settings of a run, and the reasons to refuse them.
//!
//! A loss, a schedule or a learner is chosen by its name, and takes from the [`Request`] the
//! settings it uses. A setting that has no effect, is missing, or contradicts another one leads to
//! a [`Refusal`].

use crate::number::{NonNegative, OpenUnit, OutOfRange, Positive};
use crate::schedule::AnySchedule;
use crate::set::Ball;
use std::fmt;
use std::num::NonZeroU64;

/// The settings of a run. Each number is in its range, and a setting that was not given is `None`.
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
    /// A name from [`AnySchedule::NAMES`].
    pub schedule: Option<&'a str>,
    /// T
    pub horizon: Option<NonZeroU64>,
    /// How the learner uses its steps.
    pub steps: StepUse,
}

/// How a learner uses its steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepUse {
    /// η = `tuning`·U/G is the best for steps η/√t.
    pub tuning: f64,
    /// Whether it sees only linearised losses, which have no curvature.
    pub is_linearised: bool,
}

/// A member of a family that is chosen by its name.
pub trait Asked: Sized {
    /// The settings that have an effect on it.
    const SETTINGS: &'static [&'static str] = &[];

    /// Makes the member from the settings of a request.
    fn ask(request: &Request<'_>) -> Result<Self, Refusal>;
}

/// A quantity that must be known beforehand, and that can be measured if it was not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fact {
    /// G
    GradientBound,
    /// T
    Horizon,
}

/// The reason why a request cannot be met. Settings have their plain names; [`text`](Self::text)
/// lets a program or a language use the names that its users know.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// Nothing has that name.
    Unknown {
        /// The kind of thing that was asked for: a loss, a learner, …
        kind: &'static str,
        /// The name that was given.
        name: String,
        /// The names that exist.
        known: &'static [&'static str],
    },
    /// A setting has no effect on the chosen member.
    NoEffect {
        /// The setting.
        setting: &'static str,
        /// The member that was chosen.
        on: String,
    },
    /// A setting belongs to members other than the chosen one.
    Belongs {
        /// The setting.
        setting: &'static str,
        /// The members to which it belongs.
        to: String,
        /// The member that was chosen.
        not: String,
    },
    /// A setting is out of its range.
    OutOfRange {
        /// The setting.
        setting: &'static str,
        /// The number that was found, and the range.
        why: OutOfRange,
    },
    /// A number that follows from a setting is out of its range.
    Derived {
        /// The setting.
        setting: &'static str,
        /// The number that was found, and the range.
        why: OutOfRange,
    },
    /// Settings are missing, or contradict each other. The text has their names in braces.
    Rule(&'static str),
    /// A quantity must be measured first.
    Needs(Fact),
}

impl Refusal {
    /// A number that follows from a setting, or its refusal.
    pub(crate) fn derived(setting: &'static str, value: f64) -> Result<Positive, Self> {
        Positive::new(value).map_err(|why| Self::Derived { setting, why })
    }

    /// The message, where `name` gives the name of a setting.
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

/// A rule in which the settings in braces are replaced by their names.
fn named(rule: &str, name: &dyn Fn(&str) -> String) -> String {
    let mut text = String::new();
    for (i, piece) in rule.split(['{', '}']).enumerate() {
        // Every second piece comes from within braces.
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
    /// A request that sets only the ball.
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

    /// The schedule for a learner that uses its steps in this way.
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

    /// G. It must be known.
    pub fn known_gradient_bound(&self) -> Result<Positive, Refusal> {
        self.gradient_bound.ok_or(Refusal::Needs(Fact::GradientBound))
    }

    /// T. It must be known.
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
