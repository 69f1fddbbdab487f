//! From what a person says to what is run: defaults, derived parameters, and refusals.
//!
//! Every setting that is given must have an effect. One that the chosen learner has no use for is
//! an error, not a silence.

use crate::data::DataSpec;
use crate::spec::{LearnerSpec, LossSpec, ScheduleSpec, Spec, SpecError};
use rueful_core::loss::{
    Absolute, Hinge, Linear, Logistic, Loss, PerceptronLoss, Quantile, Square,
};
use rueful_core::schedule::{AdaGradNorm, Constant, Horizon, InverseSqrt, InverseTime};
use rueful_core::set::{AnySet, Ball, WholeSpace};
use rueful_core::{NonNegative, OpenUnit, OutOfRange, Positive};
use rueful_data::{DataError, Survey};
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};
use std::num::NonZeroU64;
use thiserror::Error;

/// U, unless said otherwise.
pub(crate) const DEFAULT_RADIUS: f64 = 10.0;
/// σ of strongly-convex-ogd, unless said otherwise.
pub(crate) const DEFAULT_SIGMA: f64 = 0.01;

/// What was asked for; everything may be left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    /// A name of [`LearnerSpec::NAMES`]; `ogd` if left out.
    pub learner: Option<String>,
    /// A name of [`LossSpec::NAMES`]; `hinge` if left out.
    pub loss: Option<String>,
    /// τ of the quantile loss.
    pub tau: Option<f64>,
    /// U
    pub radius: Option<f64>,
    /// η
    pub eta: Option<f64>,
    /// G
    pub gradient_bound: Option<f64>,
    /// σ
    pub sigma: Option<f64>,
    /// α of regularised ERM.
    pub alpha: Option<f64>,
    /// A name of [`ScheduleSpec::NAMES`].
    pub schedule: Option<String>,
    /// T
    pub horizon: Option<u64>,
}

/// A description made of settings, and what had to be found out for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// The description.
    pub spec: Spec,
    /// What was measured in a first pass over the data, in words; empty if nothing was.
    pub notes: Vec<String>,
}

/// Why settings do not make a run.
#[derive(Debug, Error)]
pub enum SettingsError {
    /// A number outside its range.
    #[error("--{flag}: {why}")]
    Number {
        /// The setting.
        flag: &'static str,
        /// What is wrong with it.
        why: OutOfRange,
    },
    /// A setting from which such a number follows.
    #[error("--{flag} does not work out: {why}")]
    Derived {
        /// The setting.
        flag: &'static str,
        /// What is wrong with what follows.
        why: OutOfRange,
    },
    /// A setting that would have no effect, or that is missing, or that contradicts another.
    #[error("{0}")]
    Contradiction(String),
    /// A description that contradicts itself.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// Data that could not be surveyed.
    #[error(transparent)]
    Data(#[from] DataError),
}

fn contradiction<T>(what: impl Into<String>) -> Result<T, SettingsError> {
    Err(SettingsError::Contradiction(what.into()))
}

fn number<T>(
    flag: &'static str,
    value: Option<f64>,
    make: impl Fn(f64) -> Result<T, OutOfRange>,
) -> Result<Option<T>, SettingsError> {
    value.map(make).transpose().map_err(|why| SettingsError::Number { flag, why })
}

/// The settings with their numbers checked, on the way to a description.
struct Resolver<'a> {
    loss: LossSpec,
    radius: Option<Positive>,
    eta: Option<Positive>,
    gradient_bound: Option<Positive>,
    sigma: NonNegative,
    alpha: Option<Positive>,
    schedule: Option<&'a str>,
    horizon: Option<NonZeroU64>,
    /// Whether the learner sees linearised losses only.
    linearised: bool,
    survey: &'a mut dyn FnMut(&LossSpec) -> Result<Survey, DataError>,
    surveyed: Option<Survey>,
    notes: Vec<String>,
}

impl Settings {
    /// Completes the settings. `survey` is called only when a learner must know the horizon or a
    /// gradient bound that was not given.
    pub fn resolve(
        &self,
        data: DataSpec,
        survey: &mut dyn FnMut(&LossSpec) -> Result<Survey, DataError>,
    ) -> Result<Resolved, SettingsError> {
        let learner = self.learner.as_deref().unwrap_or("ogd");
        self.refuse_idle(learner)?;
        let mut resolver = self.resolver(learner, survey)?;
        let learner = resolver.learner(learner)?;
        let comparators = resolver.comparators(&learner)?;
        let spec = Spec { data, loss: resolver.loss, sigma: resolver.sigma, learner, comparators };
        spec.check()?;
        Ok(Resolved { spec, notes: resolver.notes })
    }

    /// Refuses what contradicts itself, whatever the data.
    pub fn check(&self) -> Result<(), SettingsError> {
        let plausible = Survey {
            examples: 1,
            example_norm_max: 1.0,
            weighted_norm_max: 1.0,
            label_abs_max: 1.0,
        };
        self.resolve(DataSpec::libsvm(""), &mut |_| Ok(plausible)).map(|_| ())
    }

    /// The loss, σ and comparators alone, for questions that involve no learner. The comparators
    /// are a ball, or all of R^d where σ > 0 and no radius is given.
    pub fn comparison(&self) -> Result<(LossSpec, NonNegative, AnySet), SettingsError> {
        let mut unused = |_: &LossSpec| Ok(Survey::default());
        let resolver = self.resolver("", &mut unused)?;
        let comparators = match resolver.radius {
            None if resolver.sigma.get() > 0.0 => WholeSpace {}.into(),
            _ => resolver.ball()?.into(),
        };
        Ok((resolver.loss, resolver.sigma, comparators))
    }

    fn resolver<'a>(
        &'a self,
        learner: &str,
        survey: &'a mut dyn FnMut(&LossSpec) -> Result<Survey, DataError>,
    ) -> Result<Resolver<'a>, SettingsError> {
        let default_sigma = (learner == "strongly-convex-ogd").then_some(DEFAULT_SIGMA);
        let sigma = number("sigma", self.sigma.or(default_sigma), NonNegative::new)?;
        Ok(Resolver {
            loss: self.loss()?,
            radius: number("radius", self.radius, Positive::new)?,
            eta: number("eta", self.eta, Positive::new)?,
            gradient_bound: number("gradient-bound", self.gradient_bound, Positive::new)?,
            sigma: sigma.unwrap_or(NonNegative::ZERO),
            alpha: number("alpha", self.alpha, Positive::new)?,
            schedule: self.schedule.as_deref(),
            horizon: match self.horizon.map(NonZeroU64::new) {
                Some(None) => return contradiction("--horizon: at least one round is needed"),
                horizon => horizon.flatten(),
            },
            linearised: learner == "regularized-erm",
            survey,
            surveyed: None,
            notes: Vec::new(),
        })
    }

    /// The loss alone.
    pub fn loss(&self) -> Result<LossSpec, SettingsError> {
        let name = self.loss.as_deref().unwrap_or("hinge");
        if self.tau.is_some() && name != "quantile" {
            return contradiction(format!("--tau belongs to the quantile loss, not to {name}"));
        }
        Ok(match name {
            "hinge" => LossSpec::Hinge(Hinge {}),
            "logistic" => LossSpec::Logistic(Logistic {}),
            "perceptron" => LossSpec::Perceptron(PerceptronLoss {}),
            "square" => LossSpec::Square(Square {}),
            "absolute" => LossSpec::Absolute(Absolute {}),
            "linear" => LossSpec::Linear(Linear {}),
            "quantile" => {
                let tau = number("tau", self.tau.or(Some(0.5)), OpenUnit::new)?;
                let Some(tau) = tau else { return contradiction("the quantile loss needs --tau") };
                LossSpec::Quantile(Quantile { tau })
            }
            other => return unknown("loss", other, &LossSpec::NAMES),
        })
    }

    /// Refuses settings that the learner has no use for.
    fn refuse_idle(&self, learner: &str) -> Result<(), SettingsError> {
        let uses: &[&str] = match learner {
            "ogd" => &["eta", "gradient-bound", "sigma", "schedule", "horizon"],
            "strongly-convex-ogd" => &["gradient-bound", "sigma"],
            "perceptron" => &["eta"],
            "erm" => &[],
            "regularized-erm" => &["eta", "gradient-bound", "alpha", "schedule", "horizon"],
            "minimax" => &["gradient-bound", "horizon"],
            other => return unknown("learner", other, &LearnerSpec::NAMES),
        };
        let given = [
            ("eta", self.eta.is_some()),
            ("gradient-bound", self.gradient_bound.is_some()),
            ("sigma", self.sigma.is_some_and(|sigma| sigma != 0.0)),
            ("alpha", self.alpha.is_some()),
            ("schedule", self.schedule.is_some()),
            ("horizon", self.horizon.is_some()),
        ];
        match given.iter().find(|(flag, given)| *given && !uses.contains(flag)) {
            Some((flag, _)) => contradiction(format!("--{flag} has no effect on {learner}")),
            None => Ok(()),
        }
    }
}

fn unknown<T>(what: &str, name: &str, names: &[&str]) -> Result<T, SettingsError> {
    contradiction(format!("there is no {what} {name:?}; choose one of {}", names.join(", ")))
}

impl Resolver<'_> {
    fn learner(&mut self, name: &str) -> Result<LearnerSpec, SettingsError> {
        let ball = self.ball()?;
        let gradient_bound = self.gradient_bound;
        Ok(match name {
            "ogd" => LearnerSpec::Ogd {
                schedule: self.schedule(SQRT_2)?,
                set: ball.into(),
                gradient_bound: self.gradient_bound,
            },
            "strongly-convex-ogd" => LearnerSpec::StronglyConvexOgd { gradient_bound },
            "perceptron" => LearnerSpec::Perceptron { eta: self.eta.unwrap_or(Positive::ONE) },
            "erm" => LearnerSpec::Erm { set: ball.into() },
            "regularized-erm" => LearnerSpec::RegularizedErm {
                schedule: self.schedule(FRAC_1_SQRT_2)?,
                set: ball.into(),
                gradient_bound: self.gradient_bound,
            },
            "minimax" => LearnerSpec::Minimax {
                set: ball,
                gradient_bound: self.gradient_bound()?,
                horizon: self.horizon()?,
            },
            other => return unknown("learner", other, &LearnerSpec::NAMES),
        })
    }

    /// The set the regret is measured against: the learner's own where it has one. Strongly convex
    /// losses need no ball, and get one only when it is asked for.
    fn comparators(&self, learner: &LearnerSpec) -> Result<AnySet, SettingsError> {
        Ok(match learner {
            LearnerSpec::StronglyConvexOgd { .. } if self.radius.is_none() => WholeSpace {}.into(),
            _ => self.ball()?.into(),
        })
    }

    fn ball(&self) -> Result<Ball, SettingsError> {
        let default = number("radius", Some(DEFAULT_RADIUS), Positive::new)?;
        match self.radius.or(default) {
            Some(radius) => Ok(Ball { radius }),
            None => contradiction("--radius is missing"),
        }
    }

    /// The schedule; `tuning` times U/G is the best η for steps η/√t.
    fn schedule(&mut self, tuning: f64) -> Result<ScheduleSpec, SettingsError> {
        if let Some(alpha) = self.alpha {
            return self.fixed_alpha(alpha);
        }
        let name = match self.schedule {
            Some(name) => name,
            None if self.eta.is_some() || self.gradient_bound.is_some() => "inverse-sqrt",
            None => "adagrad-norm",
        };
        if self.horizon.is_some() && name != "horizon" {
            return contradiction(format!("--horizon has no effect on the schedule {name}"));
        }
        if self.eta.is_some() && !["constant", "inverse-sqrt"].contains(&name) {
            return contradiction(format!("--eta has no effect on the schedule {name}"));
        }
        if name == "inverse-time" && self.linearised {
            return contradiction(
                "the schedule inverse-time is for strongly convex losses: use ogd",
            );
        }
        let ball = self.ball()?;
        Ok(match name {
            "constant" => match self.eta {
                Some(eta) => ScheduleSpec::Constant(Constant { eta }),
                None => return contradiction("--schedule constant needs --eta"),
            },
            "inverse-sqrt" => ScheduleSpec::InverseSqrt(InverseSqrt { eta: self.eta_for(tuning)? }),
            "inverse-time" => match Positive::new(self.sigma.get()) {
                Ok(sigma) => ScheduleSpec::InverseTime(InverseTime { sigma }),
                Err(_) => return contradiction("--schedule inverse-time needs --sigma above 0"),
            },
            "horizon" => ScheduleSpec::Horizon(Horizon {
                radius: ball.radius,
                gradient_bound: self.gradient_bound()?,
                rounds: self.horizon()?,
            }),
            "adagrad-norm" => ScheduleSpec::AdaGradNorm(AdaGradNorm {
                diameter: derived("radius", 2.0 * ball.radius.get())?,
            }),
            other => return unknown("schedule", other, &ScheduleSpec::NAMES),
        })
    }

    fn fixed_alpha(&self, alpha: Positive) -> Result<ScheduleSpec, SettingsError> {
        if self.eta.is_some() || self.schedule.is_some() || self.horizon.is_some() {
            return contradiction(
                "--alpha fixes the regularisation: leave out --eta, --schedule and --horizon",
            );
        }
        Ok(ScheduleSpec::Constant(Constant { eta: derived("alpha", 1.0 / alpha.get())? }))
    }

    /// η as given, or tuned to U and G.
    fn eta_for(&self, tuning: f64) -> Result<Positive, SettingsError> {
        match (self.eta, self.gradient_bound) {
            (Some(eta), _) => Ok(eta),
            (None, Some(g)) => {
                derived("gradient-bound", tuning * self.ball()?.radius.get() / g.get())
            }
            (None, None) => {
                contradiction("--schedule inverse-sqrt needs --eta, or --gradient-bound to tune it")
            }
        }
    }

    /// G as given, or the smallest that is sure to hold for this loss and data.
    fn gradient_bound(&mut self) -> Result<Positive, SettingsError> {
        if let Some(g) = self.gradient_bound {
            return Ok(g);
        }
        let radius = self.ball()?.radius.get();
        let survey = self.survey()?;
        let (x, y) = (survey.example_norm_max, survey.label_abs_max);
        let steepest = self.loss.steepest(radius * x, y) * survey.weighted_norm_max;
        let g = derived("gradient-bound", steepest + self.sigma.get() * radius)?;
        self.notes.push(format!("G = {g} is measured in a first pass over the data"));
        self.gradient_bound = Some(g);
        Ok(g)
    }

    /// T as given, or counted.
    fn horizon(&mut self) -> Result<NonZeroU64, SettingsError> {
        if let Some(horizon) = self.horizon {
            return Ok(horizon);
        }
        let examples = self.survey()?.examples;
        self.notes.push(format!("T = {examples} is counted in a first pass over the data"));
        match NonZeroU64::new(examples) {
            Some(horizon) => Ok(horizon),
            None => contradiction("--horizon: the data has no examples to count"),
        }
    }

    fn survey(&mut self) -> Result<Survey, SettingsError> {
        let survey = match self.surveyed {
            Some(survey) => survey,
            None => (self.survey)(&self.loss)?,
        };
        self.surveyed = Some(survey);
        Ok(survey)
    }
}

/// A number that follows from a setting.
fn derived(flag: &'static str, value: f64) -> Result<Positive, SettingsError> {
    Positive::new(value).map_err(|why| SettingsError::Derived { flag, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(settings: &Settings) -> Result<Resolved, SettingsError> {
        settings.resolve(DataSpec::libsvm("file"), &mut |_| {
            Ok(Survey {
                examples: 100,
                example_norm_max: 2.0,
                weighted_norm_max: 2.0,
                label_abs_max: 3.0,
            })
        })
    }

    fn with(learner: &str) -> Settings {
        Settings { learner: Some(learner.to_owned()), ..Settings::default() }
    }

    fn refusal(settings: &Settings) -> String {
        resolve(settings).unwrap_err().to_string()
    }

    #[test]
    fn every_name_makes_a_spec_of_that_name() {
        for name in LearnerSpec::NAMES {
            let spec = resolve(&with(name)).unwrap().spec;
            assert_eq!(spec.learner.name(), name);
            let tag = serde_json::to_value(&spec.learner).unwrap()["name"].clone();
            assert_eq!(tag, name);
        }
        for name in LossSpec::NAMES {
            let settings = Settings { loss: Some(name.to_owned()), ..Settings::default() };
            assert_eq!(resolve(&settings).unwrap().spec.loss.name(), name);
        }
        for name in ScheduleSpec::NAMES {
            let mut settings = Settings {
                schedule: Some(name.to_owned()),
                gradient_bound: Some(1.0),
                ..Settings::default()
            };
            settings.eta = (name == "constant").then_some(0.1);
            settings.sigma = (name == "inverse-time").then_some(0.1);
            let spec = resolve(&settings).unwrap().spec;
            let LearnerSpec::Ogd { schedule, .. } = spec.learner else { panic!("not ogd") };
            assert_eq!(schedule.name(), name);
        }
    }

    #[test]
    fn the_spec_reads_back_as_itself() {
        for name in LearnerSpec::NAMES {
            let spec = resolve(&with(name)).unwrap().spec;
            let text = serde_json::to_string(&spec).unwrap();
            assert_eq!(serde_json::from_str::<Spec>(&text).unwrap(), spec, "{text}");
        }
    }

    #[test]
    fn eta_or_g_asks_for_inverse_sqrt_and_nothing_for_adagrad() {
        let schedule = |settings: &Settings| match resolve(settings).unwrap().spec.learner {
            LearnerSpec::Ogd { schedule, .. } => schedule,
            LearnerSpec::RegularizedErm { schedule, .. } => schedule,
            other => panic!("{other:?}"),
        };
        assert_eq!(schedule(&with("ogd")).name(), "adagrad-norm");
        let tuned = Settings { gradient_bound: Some(2.0), radius: Some(3.0), ..with("ogd") };
        let ScheduleSpec::InverseSqrt(steps) = schedule(&tuned) else { panic!("not tuned") };
        assert_eq!(steps.eta.get(), SQRT_2 * 3.0 / 2.0);
        let eta = Settings { eta: Some(0.25), ..with("regularized-erm") };
        let ScheduleSpec::InverseSqrt(steps) = schedule(&eta) else { panic!("not as given") };
        assert_eq!(steps.eta.get(), 0.25);
        let alpha = Settings { alpha: Some(4.0), ..with("regularized-erm") };
        assert_eq!(
            schedule(&alpha),
            ScheduleSpec::Constant(Constant { eta: Positive::new(0.25).unwrap() })
        );
    }

    #[test]
    fn what_must_be_known_beforehand_is_measured_and_said() {
        let resolved = resolve(&with("minimax")).unwrap();
        let LearnerSpec::Minimax { gradient_bound, horizon, .. } = resolved.spec.learner else {
            panic!("not minimax")
        };
        assert_eq!((gradient_bound.get(), horizon.get()), (2.0, 100));
        assert_eq!(resolved.notes.len(), 2);
        let square = Settings {
            loss: Some("square".to_owned()),
            radius: Some(1.0),
            horizon: Some(7),
            ..with("minimax")
        };
        let resolved = resolve(&square).unwrap();
        let LearnerSpec::Minimax { gradient_bound, .. } = resolved.spec.learner else {
            panic!("not minimax")
        };
        assert_eq!(gradient_bound.get(), 2.0 * (2.0 + 3.0) * 2.0);
        assert_eq!(resolved.notes.len(), 1);
    }

    #[test]
    fn settings_without_effect_are_refused() {
        let eta = Some(0.1);
        assert_eq!(
            refusal(&Settings { eta, ..with("strongly-convex-ogd") }),
            "--eta has no effect on strongly-convex-ogd"
        );
        assert_eq!(
            refusal(&Settings { eta, schedule: Some("adagrad-norm".into()), ..with("ogd") }),
            "--eta has no effect on the schedule adagrad-norm"
        );
        assert_eq!(
            refusal(&Settings { tau: Some(0.9), ..with("ogd") }),
            "--tau belongs to the quantile loss, not to hinge"
        );
        assert_eq!(
            refusal(&Settings { alpha: Some(1.0), eta, ..with("regularized-erm") }),
            "--alpha fixes the regularisation: leave out --eta, --schedule and --horizon"
        );
        assert!(refusal(&Settings { horizon: Some(9), ..with("ogd") }).contains("adagrad-norm"));
        assert!(refusal(&Settings { horizon: Some(0), ..with("minimax") }).contains("one round"));
        assert!(
            refusal(&Settings { loss: Some("square".into()), ..with("perceptron") })
                .contains("classifies")
        );
        assert_eq!(
            refusal(&Settings { radius: Some(-1.0), ..with("ogd") }),
            "--radius: -1 is not a number between 1e-100 and 1e100"
        );
        assert_eq!(
            refusal(&Settings { radius: Some(1e100), ..with("ogd") }),
            "--radius does not work out: 2e100 is not a number between 1e-100 and 1e100"
        );
        assert!(
            refusal(&Settings { schedule: Some("inverse-time".into()), ..with("regularized-erm") })
                .contains("use ogd")
        );
        assert!(refusal(&with("sgd")).contains("choose one of ogd, "));
        assert!(
            refusal(&Settings {
                sigma: Some(2.0),
                eta: Some(0.5),
                schedule: Some("constant".into()),
                ..with("ogd")
            })
            .contains("overshoots")
        );
    }
}
