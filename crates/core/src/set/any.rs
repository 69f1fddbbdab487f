//! Any of the sets, chosen at run time: for descriptions of runs and for comparators.

use super::{Ball, BoxSet, FeasibleSet, LazyDot, WholeSpace};
use crate::cells::Coordinates;
use crate::features::Features;
use crate::weights::Weights;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One of the feasible sets.
#[derive(Debug, Clone, PartialEq)]
pub enum AnySet {
    /// ‖w‖ ≤ U
    Ball(Ball),
    /// An interval for every coordinate.
    Box(BoxSet),
    /// R^d
    WholeSpace(WholeSpace),
}

/// The set as one format spells it.
macro_rules! spelling {
    ($(#[$meta:meta])* $name:ident) => {
        #[derive(Serialize, Deserialize)]
        $(#[$meta])*
        enum $name {
            Ball(Ball),
            Box(BoxSet),
            WholeSpace(WholeSpace),
        }

        impl From<AnySet> for $name {
            fn from(set: AnySet) -> Self {
                match set {
                    AnySet::Ball(set) => Self::Ball(set),
                    AnySet::Box(set) => Self::Box(set),
                    AnySet::WholeSpace(set) => Self::WholeSpace(set),
                }
            }
        }

        impl From<$name> for AnySet {
            fn from(spelled: $name) -> Self {
                match spelled {
                    $name::Ball(set) => Self::Ball(set),
                    $name::Box(set) => Self::Box(set),
                    $name::WholeSpace(set) => Self::WholeSpace(set),
                }
            }
        }
    };
}

spelling! {
    /// For people: `{"name": "ball", "radius": 1.0}`.
    #[serde(tag = "name", rename_all = "kebab-case")]
    Named
}

spelling! {
    /// For formats that do not name what they hold, which cannot read the other one back.
    Numbered
}

impl Serialize for AnySet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            Named::from(self.clone()).serialize(serializer)
        } else {
            Numbered::from(self.clone()).serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for AnySet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            Named::deserialize(deserializer).map(Self::from)
        } else {
            Numbered::deserialize(deserializer).map(Self::from)
        }
    }
}

impl From<Ball> for AnySet {
    fn from(set: Ball) -> Self {
        Self::Ball(set)
    }
}

impl From<BoxSet> for AnySet {
    fn from(set: BoxSet) -> Self {
        Self::Box(set)
    }
}

impl From<WholeSpace> for AnySet {
    fn from(set: WholeSpace) -> Self {
        Self::WholeSpace(set)
    }
}

/// Runs an expression on whichever set it is.
macro_rules! each {
    ($any:expr, $set:ident => $what:expr) => {
        match $any {
            AnySet::Ball($set) => $what,
            AnySet::Box($set) => $what,
            AnySet::WholeSpace($set) => $what,
        }
    };
}

impl FeasibleSet for AnySet {
    fn project(&self, w: &mut Weights, x: &Features<'_>) {
        each!(self, set => set.project(w, x));
    }

    fn project_dot(&self, s: &Weights, k: f64, x: &Features<'_>) -> LazyDot {
        each!(self, set => set.project_dot(s, k, x))
    }

    fn settle(&self, s: &mut Weights, k: f64) {
        each!(self, set => set.settle(s, k));
    }

    fn project_dense(&self, v: &mut [f64]) {
        each!(self, set => set.project_dense(v));
    }

    fn support(&self, v: impl Iterator<Item = f64> + Clone, curvature: f64) -> f64 {
        each!(self, set => set.support(v, curvature))
    }

    fn reach(&self, coordinates: Coordinates<'_>) -> f64 {
        each!(self, set => set.reach(coordinates))
    }

    fn diameter(&self, coordinates: Coordinates<'_>) -> f64 {
        each!(self, set => set.diameter(coordinates))
    }

    fn diameter_at(&self, x: &Features<'_>) -> f64 {
        each!(self, set => set.diameter_at(x))
    }

    fn named_coordinates(&self) -> usize {
        each!(self, set => set.named_coordinates())
    }

    fn extent(&self, i: usize) -> (f64, f64) {
        each!(self, set => set.extent(i))
    }

    fn covers(&self, other: &impl FeasibleSet, coordinates: Coordinates<'_>) -> bool {
        each!(self, set => set.covers(other, coordinates))
    }
}
