//! The description of a run whose labels name classes.

use super::ClassLoss;
use super::learner::ClassLearner;
use super::run::ClassRun;
use crate::data::DataSpec;
use crate::session::Session;
use crate::settings::{Settings, SettingsError};
use crate::spec::{LearnerSpec, Spec, SpecError};
use crate::task::Described;
use rueful_core::classes::ClassLedger;
use rueful_core::learner::OgdSpec;
use rueful_core::request::Refusal;
use rueful_core::schedule::AnySchedule;
use rueful_core::set::AnySet;
use rueful_core::{Comparators, NonNegative, Positive};
use serde::{Deserialize, Serialize};

/// Everything about a run of many classes except where its rows come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassTask {
    /// The loss.
    pub loss: ClassLoss,
    /// The learner and its parameters.
    pub learner: LearnerSpec,
    /// The predictors that the regret is measured against.
    pub comparators: Comparators,
}

/// Everything that determines a run of many classes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassSpec {
    /// The data to read, and how to read them.
    pub data: DataSpec,
    /// The loss.
    pub loss: ClassLoss,
    /// The learner and its parameters.
    pub learner: LearnerSpec,
    /// The predictors that the regret is measured against.
    pub comparators: Comparators,
}

/// The description of a run of any kind.
#[derive(Debug, Clone, PartialEq)]
pub enum AnySpec {
    /// A run that gives every example one score.
    Score(Spec),
    /// A run of many classes.
    Classes(ClassSpec),
}

impl ClassTask {
    /// Refuses a task that contradicts itself.
    pub fn check(&self) -> Result<(), SpecError> {
        ClassLearner::new(self).map(|_| ())
    }

    /// The empty ledger of such a run.
    pub(crate) fn ledger(&self) -> ClassLedger {
        ClassLedger::new(self.comparators.clone())
    }

    /// The description of this task on some data.
    pub fn reading(self, data: DataSpec) -> ClassSpec {
        let Self { loss, learner, comparators } = self;
        ClassSpec { data, loss, learner, comparators }
    }
}

impl ClassSpec {
    /// The description without the data.
    pub fn task(&self) -> ClassTask {
        let Self { loss, learner, comparators, .. } = self.clone();
        ClassTask { loss, learner, comparators }
    }

    /// Refuses a description that contradicts itself, before the first byte is read.
    pub fn check(&self) -> Result<(), SpecError> {
        if self.data.class_weights.as_ref().is_some_and(|weights| !weights.is_by_label()) {
            return Err(SpecError::new(
                "weights of +1 and -1 are for two classes: of many, labels have weights",
            ));
        }
        if self.data.positive.is_some() {
            return Err(SpecError::new(format!(
                "one positive label is for two classes, and the {} loss learns all of them",
                self.loss
            )));
        }
        self.task().check()
    }
}

impl From<&ClassTask> for Described {
    fn from(task: &ClassTask) -> Self {
        let ClassTask { loss, learner, comparators } = task.clone();
        let (loss, sigma) = (loss.into(), NonNegative::ZERO);
        Self { data: None, loss, sigma, learner, comparators, judge: None }
    }
}

/// The radius of the ball in which a learner for the multiclass hinge stays. `None` if it is not
/// described as such a learner: steps of AdaGrad-norm, and a ball.
pub(super) fn ball_of(ogd: &OgdSpec) -> Option<Positive> {
    let AnySet::Ball(ball) = &ogd.set else { return None };
    let AnySchedule::AdaGradNorm(steps) = &ogd.schedule else { return None };
    let is_tuned = steps.diameter.get() == 2.0 * ball.radius.get();
    (is_tuned && ogd.gradient_bound.is_none()).then_some(ball.radius)
}

impl Settings {
    /// The loss of many classes that was asked for, if it was.
    pub fn class_loss(&self) -> Option<ClassLoss> {
        self.loss.as_deref().and_then(ClassLoss::named)
    }

    /// Completes the settings for a loss of many classes.
    pub fn resolve_classes(
        &self,
        loss: ClassLoss,
        data: DataSpec,
    ) -> Result<ClassSpec, SettingsError> {
        self.refuse_for_classes(loss)?;
        let usual = match loss {
            ClassLoss::Softmax {} => "bank",
            ClassLoss::MulticlassHinge {} => "ogd",
        };
        let name = self.learner.as_deref().unwrap_or(usual);
        // Said before the learner asks for what it would have to know.
        if name != usual && LearnerSpec::NAMES.contains(&name) {
            let why = format!("the {loss} loss is learned by the learner {usual}, not by {name}");
            return Err(SpecError::new(why).into());
        }
        let request = self.request()?;
        let learner = LearnerSpec::ask(name, &request)?;
        let comparators = self.ball(&request, loss == ClassLoss::Softmax {})?;
        let spec = ClassSpec { data, loss, learner, comparators };
        spec.check()?;
        Ok(spec)
    }

    /// The comparators of a loss of many classes alone, for questions that involve no learner. They
    /// are a ball without units, if nothing else is asked for.
    pub fn class_comparison(&self, loss: ClassLoss) -> Result<Comparators, SettingsError> {
        self.refuse_for_classes(loss)?;
        Ok(self.ball(&self.request()?, true)?)
    }

    /// Refuses settings that have no effect on many classes.
    fn refuse_for_classes(&self, loss: ClassLoss) -> Result<(), Refusal> {
        let own = [("tau", self.tau.is_some()), ("judge", self.judge.is_some())];
        match own.into_iter().chain(self.tuning()).find(|(_, is_given)| *is_given) {
            Some((setting, _)) => {
                Err(Refusal::NoEffect { setting, on: format!("the {loss} loss") })
            }
            None => Ok(()),
        }
    }
}

impl Session<ClassRun> {
    /// A run of many classes that has seen nothing.
    pub fn of_classes(spec: &ClassSpec) -> Result<Self, SpecError> {
        spec.check()?;
        Ok(Self::begin(ClassRun::new(spec.task())?, spec.data.clone()))
    }

    /// The whole description.
    pub fn spec(&self) -> ClassSpec {
        self.run().task().clone().reading(self.data().clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(settings: &Settings) -> Result<ClassSpec, String> {
        let loss = settings.class_loss().unwrap();
        let resolved = settings.resolve_classes(loss, DataSpec::libsvm("file"));
        resolved.map_err(|error| error.to_string())
    }

    fn with(loss: &str) -> Settings {
        Settings { loss: Some(loss.to_owned()), ..Settings::default() }
    }

    #[test]
    fn a_loss_of_classes_has_its_learner_and_its_comparators() {
        let softmax = resolve(&with("softmax")).unwrap();
        assert_eq!((softmax.learner.name(), softmax.comparators.is_unit_free()), ("bank", true));
        let hinge = resolve(&Settings { radius: Some(3.0), ..with("multiclass-hinge") }).unwrap();
        assert_eq!((hinge.learner.name(), hinge.comparators.is_unit_free()), ("ogd", false));
        assert_eq!(hinge.comparators.radius().map(Positive::get), Some(3.0));
        for spec in [softmax, hinge] {
            let text = serde_json::to_string(&spec).unwrap();
            assert_eq!(serde_json::from_str::<ClassSpec>(&text).unwrap(), spec, "{text}");
        }
    }

    #[test]
    fn what_classes_do_not_take_is_refused_with_the_reason() {
        let refused = |settings: Settings| resolve(&settings).unwrap_err();
        let eta = Settings { eta: Some(0.1), ..with("multiclass-hinge") };
        assert_eq!(refused(eta), "eta has no effect on the multiclass-hinge loss");
        let judge = Settings { judge: Some(true), ..with("softmax") };
        assert_eq!(refused(judge), "judge has no effect on the softmax loss");
        let others = [("softmax", "ogd"), ("softmax", "minimax"), ("multiclass-hinge", "bank")];
        for (loss, learner) in others {
            let other = Settings { learner: Some(learner.to_owned()), ..with(loss) };
            assert!(refused(other).starts_with(&format!("the {loss} loss is learned by")));
        }
        let mut positive = resolve(&with("softmax")).unwrap();
        positive.data.positive = Some("a".to_owned());
        assert!(positive.check().unwrap_err().to_string().contains("one positive label"));
    }
}
