//! From a person's settings to the description of a run: defaults, derived parameters, and
//! refusals.
//!
//! Every setting that is given must have an effect. A setting that the chosen learner has no use
//! for is an error, and is not silently ignored.

use crate::classes::ClassLoss;
use crate::data::{DataSpec, LabelUse};
use crate::spec::{LearnerSpec, Spec, SpecError};
use rueful_core::learner::Bank;
use rueful_core::loss::{AnyLoss, Loss};
use rueful_core::request::{Fact, Refusal, Request};
use rueful_core::set::{Ball, WholeSpace};
use rueful_core::words::either;
use rueful_core::{Comparators, NonNegative, OpenUnit, OutOfRange, Positive, UnitFree};
use rueful_data::{DataError, NamesSettings, Phrase, Survey};
use std::num::NonZeroU64;
use thiserror::Error;

/// The radius U, unless it is given.
pub(crate) const DEFAULT_RADIUS: f64 = 10.0;

/// The settings that a person gives. Every one may be left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    /// A name of [`LearnerSpec::NAMES`]. If it is left out, it is `bank`, or `ogd` where a setting
    /// is given that only learners of the notes know.
    pub learner: Option<String>,
    /// A name of [`AnyLoss::NAMES`] or [`ClassLoss::NAMES`]. If it is left out, data opened with [`LabelUse::Infer`]
    /// determine the loss by their labels. Where nobody looks at labels, it is `hinge`.
    pub loss: Option<String>,
    /// The τ of the quantile loss.
    pub tau: Option<f64>,
    /// The radius U.
    pub radius: Option<f64>,
    /// A name of [`Comparators::BALLS`]. If it is left out, it is `unit-free` where no theorem is
    /// about a ball in the data's own units.
    pub comparators: Option<String>,
    /// Whether witnesses judge the regret. If it is left out, the learner decides.
    pub judge: Option<bool>,
    /// The step size η.
    pub eta: Option<f64>,
    /// The gradient bound G.
    pub gradient_bound: Option<f64>,
    /// The strength σ of the penalty.
    pub sigma: Option<f64>,
    /// The α of regularised ERM.
    pub alpha: Option<f64>,
    /// The λ of FTRL-proximal's λ‖w‖₁.
    pub l1: Option<f64>,
    /// The C of the passive-aggressive learners.
    pub c: Option<f64>,
    /// A name of [`AnySchedule::NAMES`](rueful_core::schedule::AnySchedule::NAMES).
    pub schedule: Option<String>,
    /// The number T of rounds.
    pub horizon: Option<u64>,
}

/// A description made of settings, and notes on how it came about.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// The description.
    pub spec: Spec,
    /// The facts that were measured in a first pass over the data, in words. Empty if there was
    /// none.
    pub notes: Vec<String>,
}

/// The reason why settings do not make a run.
#[derive(Debug, Error)]
pub enum SettingsError {
    /// A setting that is out of range, missing, without effect, or that contradicts another.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A contradiction that is told in other words.
    #[error("{0}")]
    Contradiction(Phrase),
    /// A description that contradicts itself.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// Data that could not be surveyed.
    #[error(transparent)]
    Data(#[from] DataError),
}

/// The program and Python print this text, each with its own name for a setting.
impl NamesSettings for SettingsError {
    fn text(&self, name: &dyn Fn(&str) -> String) -> String {
        match self {
            Self::Refused(refusal) => refusal.text(name),
            Self::Data(error) => error.text(name),
            Self::Contradiction(phrase) => phrase.text(name),
            Self::Spec(_) => self.to_string(),
        }
    }
}

/// Checks that the number of a setting is in its range.
pub(crate) fn in_range<T>(
    setting: &'static str,
    value: f64,
    make: impl Fn(f64) -> Result<T, OutOfRange>,
) -> Result<T, Refusal> {
    make(value).map_err(|why| Refusal::OutOfRange { setting, why })
}

/// Like [`in_range`], for a setting that may be left out.
fn number<T>(
    setting: &'static str,
    value: Option<f64>,
    make: impl Fn(f64) -> Result<T, OutOfRange>,
) -> Result<Option<T>, Refusal> {
    value.map(|value| in_range(setting, value, make)).transpose()
}

impl Settings {
    /// Completes the settings. `survey` is called only when a learner must know the horizon or a
    /// gradient bound that was not given.
    pub fn resolve(
        &self,
        data: DataSpec,
        survey: &mut dyn FnMut(&AnyLoss) -> Result<Survey, DataError>,
    ) -> Result<Resolved, SettingsError> {
        let loss = self.loss()?;
        let (name, why) = self.learner_name(&loss);
        self.refuse_idle(name)?;
        let mut request = self.request()?;
        let (learner, measured) = learner(name, &mut request, &loss, survey)?;
        let notes = why.into_iter().chain(measured).collect();
        let sigma = self.sigma.unwrap_or(learner.default_sigma());
        let sigma = in_range("sigma", sigma, NonNegative::new)?;
        let is_every_norm = learner.answers_for_every_norm() && self.radius.is_none();
        let comparators = match &self.comparators {
            None if is_every_norm => WholeSpace {}.into(),
            _ => self.ball(&request, learner.has_witnesses())?,
        };
        let spec = Spec { data, loss, sigma, learner, comparators, judge: self.judge };
        spec.check()?;
        Ok(Resolved { spec, notes })
    }

    /// The learner's name, and the reason for it where that needs to be said.
    fn learner_name(&self, loss: &AnyLoss) -> (&str, Option<String>) {
        if let Some(name) = &self.learner {
            return (name, None);
        }
        let of_the_notes = [
            ("eta", self.eta.is_some()),
            ("gradient-bound", self.gradient_bound.is_some()),
            ("sigma", self.sigma.is_some_and(|sigma| sigma != 0.0)),
            ("schedule", self.schedule.is_some()),
            ("horizon", self.horizon.is_some()),
            ("loss", self.loss.is_some() && Bank::new(*loss).is_err()),
        ];
        match of_the_notes.iter().find(|(_, is_given)| *is_given) {
            None => ("bank", None),
            Some((setting, _)) => {
                let why = format!("ogd learns: what {setting} says is for learners of the notes");
                ("ogd", Some(why))
            }
        }
    }

    /// Refuses settings that contradict themselves, whatever the data.
    pub fn check(&self) -> Result<(), SettingsError> {
        if let Some(loss) = self.class_loss() {
            return self.resolve_classes(loss, DataSpec::libsvm("")).map(|_| ());
        }
        let plausible = Survey {
            examples: 1,
            example_norm_max: 1.0,
            weighted_norm_max: 1.0,
            label_abs_max: 1.0,
        };
        self.resolve(DataSpec::libsvm(""), &mut |_| Ok(plausible)).map(|_| ())
    }

    /// The loss, σ and comparators alone, for questions that involve no learner. The comparators
    /// are a ball without units. Where σ > 0 they are a ball in the data's own units, or all of R^d
    /// if no radius is given.
    pub fn comparison(&self) -> Result<(AnyLoss, NonNegative, Comparators), SettingsError> {
        let request = self.request()?;
        let is_penalised = request.sigma.get() > 0.0;
        let comparators = match self.radius {
            None if is_penalised && self.comparators.is_none() => WholeSpace {}.into(),
            _ => self.ball(&request, !is_penalised)?,
        };
        Ok((self.loss()?, request.sigma, comparators))
    }

    /// The ball that the regret is measured against.
    pub(crate) fn ball(
        &self,
        request: &Request<'_>,
        unit_free: bool,
    ) -> Result<Comparators, Refusal> {
        let usual = if unit_free { "unit-free" } else { "ball" };
        match self.comparators.as_deref().unwrap_or(usual) {
            "ball" => Ok(request.ball.into()),
            "unit-free" if request.sigma.get() > 0.0 => Err(Refusal::Rule(
                "{comparators} unit-free has no penalty on weights, which have units: leave out {sigma}",
            )),
            "unit-free" => Ok(UnitFree { radius: request.ball.radius }.into()),
            name => Err(Refusal::Unknown {
                kind: "kind of comparators",
                name: name.to_owned(),
                known: &Comparators::BALLS,
            }),
        }
    }

    /// The labels to take from the data: those of the loss, or all if the loss should follow from
    /// them.
    pub fn labels(&self) -> Result<LabelUse, SettingsError> {
        if self.class_loss().is_some() {
            return Ok(LabelUse::Classes);
        }
        let loss = self.loss()?;
        Ok(if self.loss.is_some() { LabelUse::Learn(loss.labels()) } else { LabelUse::Infer })
    }

    /// The loss alone.
    pub fn loss(&self) -> Result<AnyLoss, SettingsError> {
        let name = self.loss.as_deref().unwrap_or("hinge");
        let takes_tau = |name: &&str| AnyLoss::settings_of(name).is_ok_and(|s| s.contains(&"tau"));
        if self.tau.is_some() && !takes_tau(&name) {
            let takers: Vec<_> = AnyLoss::NAMES.into_iter().filter(takes_tau).collect();
            let to = format!("the {} loss", either(&takers));
            let not = self.loss.as_deref().unwrap_or("the one that follows from the labels");
            return Err(Refusal::Belongs { setting: "tau", to, not: not.to_owned() }.into());
        }
        if let Some(loss) = self.class_loss() {
            return Err(one_score(loss));
        }
        let request = Request { tau: number("tau", self.tau, OpenUnit::new)?, ..nothing()? };
        AnyLoss::ask(name, &request).map_err(with_all_losses)
    }

    /// The settings with their numbers checked.
    pub(crate) fn request(&self) -> Result<Request<'_>, Refusal> {
        let radius = number("radius", self.radius, Positive::new)?;
        let nothing = nothing()?;
        let horizon = match self.horizon.map(NonZeroU64::new) {
            Some(None) => return Err(Refusal::Rule("{horizon}: at least one round is needed")),
            horizon => horizon.flatten(),
        };
        Ok(Request {
            ball: radius.map_or(nothing.ball, |radius| Ball { radius }),
            eta: number("eta", self.eta, Positive::new)?,
            gradient_bound: number("gradient-bound", self.gradient_bound, Positive::new)?,
            sigma: number("sigma", self.sigma, NonNegative::new)?.unwrap_or(NonNegative::ZERO),
            alpha: number("alpha", self.alpha, Positive::new)?,
            l1: number("l1", self.l1, NonNegative::new)?,
            c: number("c", self.c, Positive::new)?,
            schedule: self.schedule.as_deref(),
            horizon,
            ..nothing
        })
    }

    /// The settings that only some learners use, and whether each is given.
    pub(crate) fn tuning(&self) -> [(&'static str, bool); 8] {
        [
            ("eta", self.eta.is_some()),
            ("gradient-bound", self.gradient_bound.is_some()),
            ("sigma", self.sigma.is_some_and(|sigma| sigma != 0.0)),
            ("alpha", self.alpha.is_some()),
            ("l1", self.l1.is_some()),
            ("c", self.c.is_some()),
            ("schedule", self.schedule.is_some()),
            ("horizon", self.horizon.is_some()),
        ]
    }

    /// Refuses settings that the learner has no use for.
    fn refuse_idle(&self, learner: &str) -> Result<(), Refusal> {
        let uses = LearnerSpec::settings_of(learner)?;
        match self.tuning().iter().find(|(setting, given)| *given && !uses.contains(setting)) {
            Some((setting, _)) => Err(Refusal::NoEffect { setting, on: learner.to_owned() }),
            None => Ok(()),
        }
    }
}

/// The refusal of a loss of many classes where examples get one score.
#[cold]
fn one_score(loss: ClassLoss) -> SettingsError {
    let said = format!(
        " {loss} is for many classes. Each of their losses has one learner, so there is nothing to \
         compare: "
    );
    let phrase = Phrase::default().setting("loss").and(said);
    let phrase = phrase.setting("positive").and(" LABEL takes one class against the rest");
    SettingsError::Contradiction(phrase)
}

/// Adds the losses of many classes to those that an error lists.
#[cold]
fn with_all_losses(refusal: Refusal) -> SettingsError {
    match refusal {
        Refusal::Unknown { kind, name, .. } => {
            Refusal::Unknown { kind, name, known: &ClassLoss::WITH_OTHERS }.into()
        }
        other => other.into(),
    }
}

/// A request without settings.
fn nothing<'a>() -> Result<Request<'a>, Refusal> {
    let radius = in_range("radius", DEFAULT_RADIUS, Positive::new)?;
    Ok(Request::within(Ball { radius }))
}

/// The learner of a name. A fact that it must know and was not told is measured, and noted in
/// words.
fn learner(
    name: &str,
    request: &mut Request<'_>,
    loss: &AnyLoss,
    survey: &mut dyn FnMut(&AnyLoss) -> Result<Survey, DataError>,
) -> Result<(LearnerSpec, Vec<String>), SettingsError> {
    let mut notes = Vec::new();
    let mut surveyed = None;
    loop {
        let fact = match LearnerSpec::ask(name, request) {
            Err(Refusal::Needs(fact)) => fact,
            learner => return Ok((learner?, notes)),
        };
        let found = match surveyed {
            Some(found) => found,
            None => *surveyed.insert(survey(loss)?),
        };
        notes.push(measure(fact, &found, loss, request)?);
    }
}

/// Adds a fact that was measured in the data to the request, and returns it in words.
fn measure(
    fact: Fact,
    found: &Survey,
    loss: &AnyLoss,
    request: &mut Request<'_>,
) -> Result<String, Refusal> {
    match fact {
        Fact::GradientBound => {
            let g = steepest(found, loss, request)?;
            request.gradient_bound = Some(g);
            Ok(format!("G = {g} is measured in a first pass over the data"))
        }
        Fact::Horizon => {
            let rounds = NonZeroU64::new(found.examples);
            let none = Refusal::Rule("{horizon}: the data has no examples to count");
            request.horizon = Some(rounds.ok_or(none)?);
            Ok(format!("T = {} is counted in a first pass over the data", found.examples))
        }
    }
}

/// The smallest G that is sure to hold for this loss and data.
fn steepest(found: &Survey, loss: &AnyLoss, request: &Request<'_>) -> Result<Positive, Refusal> {
    let radius = request.ball.radius.get();
    let slope = loss.steepest(radius * found.example_norm_max, found.label_abs_max);
    let g = slope * found.weighted_norm_max + request.sigma.get() * radius;
    Positive::new(g).map_err(|why| Refusal::Derived { setting: "gradient-bound", why })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rueful_core::schedule::{AnySchedule, Constant};
    use std::f64::consts::SQRT_2;

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
        resolve(settings).unwrap_err().text(&|name| format!("--{name}"))
    }

    #[test]
    fn every_name_makes_a_spec_of_that_name() {
        for name in LearnerSpec::NAMES {
            let spec = resolve(&with(name)).unwrap().spec;
            assert_eq!(spec.learner.name(), name);
            let tag = serde_json::to_value(&spec.learner).unwrap()["name"].clone();
            assert_eq!(tag, name);
        }
        for name in AnyLoss::NAMES {
            let settings = Settings { loss: Some(name.to_owned()), ..Settings::default() };
            assert_eq!(resolve(&settings).unwrap().spec.loss.name(), name);
        }
        for name in AnySchedule::NAMES {
            let mut settings = Settings {
                schedule: Some(name.to_owned()),
                gradient_bound: Some(1.0),
                ..Settings::default()
            };
            settings.eta = (name == "constant").then_some(0.1);
            settings.sigma = (name == "inverse-time").then_some(0.1);
            let spec = resolve(&settings).unwrap().spec;
            let LearnerSpec::Ogd(ogd) = spec.learner else { panic!("not ogd") };
            assert_eq!(ogd.schedule.name(), name);
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
            LearnerSpec::Ogd(ogd) => ogd.schedule,
            LearnerSpec::RegularizedErm(erm) => erm.schedule,
            other => panic!("{other:?}"),
        };
        assert_eq!(schedule(&with("ogd")).name(), "adagrad-norm");
        let tuned = Settings { gradient_bound: Some(2.0), radius: Some(3.0), ..with("ogd") };
        let AnySchedule::InverseSqrt(steps) = schedule(&tuned) else { panic!("not tuned") };
        assert_eq!(steps.eta.get(), SQRT_2 * 3.0 / 2.0);
        let eta = Settings { eta: Some(0.25), ..with("regularized-erm") };
        let AnySchedule::InverseSqrt(steps) = schedule(&eta) else { panic!("not as given") };
        assert_eq!(steps.eta.get(), 0.25);
        let alpha = Settings { alpha: Some(4.0), ..with("regularized-erm") };
        assert_eq!(
            schedule(&alpha),
            AnySchedule::Constant(Constant { eta: Positive::new(0.25).unwrap() })
        );
    }

    #[test]
    fn what_must_be_known_beforehand_is_measured_and_said() {
        let resolved = resolve(&with("minimax")).unwrap();
        let LearnerSpec::Minimax(minimax) = resolved.spec.learner else { panic!("not minimax") };
        assert_eq!((minimax.gradient_bound.get(), minimax.horizon.get()), (2.0, 100));
        assert_eq!(resolved.notes.len(), 2);
        let square = Settings {
            loss: Some("square".to_owned()),
            radius: Some(1.0),
            horizon: Some(7),
            ..with("minimax")
        };
        let resolved = resolve(&square).unwrap();
        let LearnerSpec::Minimax(minimax) = resolved.spec.learner else { panic!("not minimax") };
        assert_eq!(minimax.gradient_bound.get(), 2.0 * (2.0 + 3.0) * 2.0);
        assert_eq!(resolved.notes.len(), 1);
    }

    #[test]
    fn a_library_has_no_flags() {
        let error = resolve(&Settings { eta: Some(0.1), ..with("erm") }).unwrap_err();
        assert_eq!(error.to_string(), "eta has no effect on erm");
        assert_eq!(error.text(&|name| format!("{name}=")), "eta= has no effect on erm");
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
            "--tau belongs to the quantile loss, not to the one that follows from the labels"
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
