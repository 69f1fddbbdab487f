//! The losses of many classes, and the loss of any task.

use rueful_core::loss::{AnyLoss, Labels, Loss};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A loss of predictions for many classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ClassLoss {
    /// −ln of the probability that was given to the true class.
    Softmax {},
    /// [1 + max_{c≠y} z_c − z_y]₊ of the scores z, the loss of Crammer and Singer.
    MulticlassHinge {},
}

impl ClassLoss {
    /// The names of these losses.
    pub const NAMES: [&'static str; 2] = ["softmax", "multiclass-hinge"];

    /// The names of all losses: those of one score, and then those of many classes.
    pub const WITH_OTHERS: [&'static str; AnyLoss::NAMES.len() + 2] = {
        let mut names = [""; AnyLoss::NAMES.len() + 2];
        let mut place = 0;
        while place < AnyLoss::NAMES.len() {
            names[place] = AnyLoss::NAMES[place];
            place += 1;
        }
        [names[place], names[place + 1]] = Self::NAMES;
        names
    };

    /// The loss of this name, if it is one of many classes.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "softmax" => Some(Self::Softmax {}),
            "multiclass-hinge" => Some(Self::MulticlassHinge {}),
            _ => None,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Softmax {} => Self::NAMES[0],
            Self::MulticlassHinge {} => Self::NAMES[1],
        }
    }
}

impl fmt::Display for ClassLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

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
