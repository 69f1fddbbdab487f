//! The loss of any task.

use rueful_core::classes::ClassLoss;
use rueful_core::loss::{AnyLoss, Labels, Loss};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The loss of a task of any kind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TaskLoss {
    /// A loss of one score.
    Score(AnyLoss),
    /// A loss of many classes.
    Classes(ClassLoss),
}

impl TaskLoss {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Score(loss) => loss.name(),
            Self::Classes(loss) => loss.name(),
        }
    }

    /// Whether labels are numbers, which have a unit.
    pub fn takes_numbers(&self) -> bool {
        matches!(self, Self::Score(loss) if loss.labels() == Labels::Numbers)
    }

    /// Whether the loss is never negative.
    pub fn is_nonnegative(&self) -> bool {
        match self {
            Self::Score(loss) => loss.is_nonnegative(),
            Self::Classes(_) => true,
        }
    }
}

impl fmt::Display for TaskLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Score(loss) => loss.fmt(f),
            Self::Classes(loss) => loss.fmt(f),
        }
    }
}

impl From<AnyLoss> for TaskLoss {
    fn from(loss: AnyLoss) -> Self {
        Self::Score(loss)
    }
}

impl From<ClassLoss> for TaskLoss {
    fn from(loss: ClassLoss) -> Self {
        Self::Classes(loss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_is_written_as_its_name() {
        for name in ClassLoss::NAMES {
            let loss = ClassLoss::named(name).unwrap();
            let text = serde_json::to_string(&TaskLoss::from(loss)).unwrap();
            assert_eq!((loss.name(), &*text), (name, &*format!("{{\"name\":\"{name}\"}}")));
            assert_eq!(serde_json::from_str::<TaskLoss>(&text).unwrap(), loss.into());
            assert!(AnyLoss::NAMES.iter().all(|other| *other != name));
        }
        assert_eq!(ClassLoss::WITH_OTHERS[AnyLoss::NAMES.len()..], ClassLoss::NAMES);
        let logistic: TaskLoss = serde_json::from_str(r#"{"name":"logistic"}"#).unwrap();
        assert!(matches!(logistic, TaskLoss::Score(_)) && !logistic.takes_numbers());
    }
}
