//! The bounds that are proved against comparators of every radius.

use crate::hindsight::Interval;
use rueful_core::ledger::CurvePoint;
use rueful_core::{Comparators, Positive};
use serde::{Deserialize, Serialize};

/// The certificate as a function of the radius. All values are per round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgedReport {
    /// The certificates from U/10 to 3U. Empty where the comparators are not a ball.
    pub radii: Vec<RadiusReport>,
    /// The largest radius up to which every such predictor was provably beaten, rounded down. Null
    /// if there is none.
    pub beats_up_to: Option<Reach>,
    /// The radius from which on the certificate is no smaller than the risk itself, where losses
    /// are never negative. Null if there is none up to a million times U.
    pub says_nothing_from: Option<f64>,
}

/// The certificate at one radius.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RadiusReport {
    /// The radius U.
    pub radius: f64,
    /// No comparator of norm at most U was better by more than this. Null where nothing can be
    /// said.
    pub certificate: Option<f64>,
}

/// How far a claim reaches.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Reach {
    /// The claim holds up to this radius.
    UpTo(f64),
    /// The claim holds however large the radius is.
    Every(Every),
}

/// The word for a reach without end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Every {
    /// The claim holds however large the radius is.
    Every,
}

/// Nothing is said about radii beyond this many times the radius U, because roundings would decide
/// there. A longer reach is cut off.
const FARTHEST: f64 = 1e6;

/// The number of points from U/10 up to U, log-spaced, and from U up to 3U. U itself is one more.
const BELOW: i32 = 8;
const ABOVE: i32 = 4;

impl JudgedReport {
    /// The report where nothing can be said.
    pub(crate) fn nothing() -> Self {
        Self { radii: Vec::new(), beats_up_to: None, says_nothing_from: None }
    }

    pub(crate) fn new(is_nonnegative: bool, comparators: &Comparators, point: &CurvePoint) -> Self {
        let Some(radius) = comparators.radius().filter(|_| point.rounds() > 0) else {
            return Self::nothing();
        };
        Self {
            radii: radii(radius).map(|radius| RadiusReport::at(radius, point)).collect(),
            beats_up_to: point.beats_up_to().map(|reach| Reach::of(reach, radius)),
            says_nothing_from: point
                .says_nothing_from()
                .filter(|from| is_nonnegative && *from <= FARTHEST * radius.get()),
        }
    }

    /// Takes in the exact regret against these comparators. If it is negative, they were all beaten.
    pub(crate) fn hear_solved(&mut self, regret: Interval, comparators: &Comparators) {
        let Some(radius) = comparators.radius().filter(|_| regret.upper < 0.0) else { return };
        match &mut self.beats_up_to {
            Some(Reach::Every(_)) => {}
            Some(Reach::UpTo(reach)) => *reach = reach.max(radius.get()),
            none => *none = Some(Reach::UpTo(radius.get())),
        }
    }
}

impl RadiusReport {
    fn at(radius: Positive, point: &CurvePoint) -> Self {
        let certificate = point.certificate_for(radius);
        let certificate = certificate.is_finite().then_some(certificate);
        Self { radius: radius.get(), certificate }
    }
}

impl Reach {
    fn of(reach: f64, own: Positive) -> Self {
        if reach.is_finite() {
            Self::UpTo(reach.min(FARTHEST * own.get()))
        } else {
            Self::Every(Every::Every)
        }
    }
}

/// Radii around U: eight below it down to U/10, U itself, and four above it up to 3U.
pub(crate) fn radii(own: Positive) -> impl Iterator<Item = Positive> {
    let factor = |step: i32| match step {
        ..0 => 10_f64.powf(f64::from(step) / f64::from(BELOW)),
        0 => 1.0,
        1.. => 3_f64.powf(f64::from(step) / f64::from(ABOVE)),
    };
    (-BELOW..=ABOVE).filter_map(move |step| Positive::new(own.get() * factor(step)).ok())
}
