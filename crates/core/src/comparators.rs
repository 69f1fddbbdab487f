//! Comparators: the predictors against which regret is measured.

use crate::number::Positive;
use crate::set::{AnySet, Ball, BoxSet, FeasibleSet, WholeSpace};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Unit-free comparators: all u with
///
/// ```text
/// Σ_i (N_i u_i)² ≤ (U·Y)²,    N_i = max |x_{t,i}|,    Y = max |y_t| (1 for classes)
/// ```
///
/// So they are predictors on columns and labels scaled to ±1, with weights of norm at most U.
/// Multiplying a column by any number but 0 changes nothing, and multiplying the labels by a number
/// multiplies the predictions by it. N and Y are known only at the end, and they are not needed
/// earlier: sup_u −u·S = U·Y·‖S/N‖.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnitFree {
    /// U
    pub radius: Positive,
}

/// The comparators of the regret: a unit-free ball, or a set of weights in the data's own units.
#[derive(Debug, Clone, PartialEq)]
pub enum Comparators {
    /// A ball of weights on columns and labels scaled to ±1.
    UnitFree(UnitFree),
    /// A set of weights in the data's own units.
    Set(AnySet),
}

impl Comparators {
    /// The names of the kinds that have a radius and nothing else.
    pub const BALLS: [&'static str; 2] = ["unit-free", "ball"];

    /// The set, if they are in the data's own units.
    pub fn set(&self) -> Option<&AnySet> {
        match self {
            Self::UnitFree(_) => None,
            Self::Set(set) => Some(set),
        }
    }

    /// U, if they are a ball of either kind.
    pub fn radius(&self) -> Option<Positive> {
        match self {
            Self::UnitFree(ball) => Some(ball.radius),
            Self::Set(AnySet::Ball(ball)) => Some(ball.radius),
            Self::Set(_) => None,
        }
    }

    /// A description in words. `scales_labels` says whether labels are scaled too.
    pub fn words(&self, scales_labels: bool) -> String {
        let labels = if scales_labels { " (and labels to ±1)" } else { "" };
        match self {
            Self::UnitFree(ball) => format!(
                "every linear predictor with weights on columns scaled to ±1{labels}, norm at most {}",
                ball.radius
            ),
            Self::Set(AnySet::Ball(ball)) => {
                format!("every linear predictor with ‖u‖ ≤ {}", ball.radius)
            }
            Self::Set(AnySet::Box(_)) => "every linear predictor in the box".to_owned(),
            Self::Set(AnySet::WholeSpace(_)) => "every linear predictor".to_owned(),
        }
    }

    /// Whether they are unit-free.
    pub fn is_unit_free(&self) -> bool {
        matches!(self, Self::UnitFree(_))
    }

    /// How many of the first coordinates are told apart.
    pub fn named_coordinates(&self) -> usize {
        self.set().map_or(0, AnySet::named_coordinates)
    }
}

impl<T: Into<AnySet>> From<T> for Comparators {
    fn from(set: T) -> Self {
        Self::Set(set.into())
    }
}

impl From<UnitFree> for Comparators {
    fn from(ball: UnitFree) -> Self {
        Self::UnitFree(ball)
    }
}

/// The form for people: every kind has a name.
#[derive(Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
enum Named {
    UnitFree(UnitFree),
    Ball(Ball),
    Box(BoxSet),
    WholeSpace(WholeSpace),
}

/// The form for formats that do not name their contents.
#[derive(Serialize, Deserialize)]
enum Numbered {
    UnitFree(UnitFree),
    Set(AnySet),
}

impl Serialize for Comparators {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Set(set) if serializer.is_human_readable() => set.serialize(serializer),
            Self::UnitFree(ball) if serializer.is_human_readable() => {
                Named::UnitFree(*ball).serialize(serializer)
            }
            Self::Set(set) => Numbered::Set(set.clone()).serialize(serializer),
            Self::UnitFree(ball) => Numbered::UnitFree(*ball).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Comparators {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            Ok(match Named::deserialize(deserializer)? {
                Named::UnitFree(ball) => ball.into(),
                Named::Ball(ball) => ball.into(),
                Named::Box(sides) => sides.into(),
                Named::WholeSpace(space) => space.into(),
            })
        } else {
            Ok(match Numbered::deserialize(deserializer)? {
                Numbered::UnitFree(ball) => ball.into(),
                Numbered::Set(set) => set.into(),
            })
        }
    }
}
