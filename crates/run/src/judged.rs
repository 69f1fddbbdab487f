//! What is proved against comparators of every radius.

use rueful_core::ledger::CurvePoint;
use rueful_core::loss::{AnyLoss, Loss};
use rueful_core::{Comparators, Positive};
use serde::{Deserialize, Serialize};

/// The certificate as a function of the radius. All values are per round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgedReport {
    /// From U/10 to 3U; empty where the comparators are no ball.
    pub radii: Vec<RadiusReport>,
    /// The largest radius up to which every such predictor was provably beaten, rounded down; null
    /// if there is none.
    pub beats_up_to: Option<Reach>,
    /// The radius from which on the certificate is no smaller than the risk itself, where losses
    /// are never negative; null if there is none.
    pub says_nothing_from: Option<f64>,
}

/// The certificate at one radius.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RadiusReport {
    /// U
    pub radius: f64,
    /// No comparator of norm at most U was better than this; null where nothing can be said.
    pub certificate: Option<f64>,
}

/// How far a claim reaches.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Reach {
    /// Up to this radius.
    UpTo(f64),
    /// However large the radius.
    Every(Every),
}

/// The word for no end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Every {
    /// However large the radius.
    Every,
}

/// So many times their radius no comparators are judged, unless all of them are: roundings would
/// decide.
const FARTHEST: f64 = 1e6;

/// How many points there are from U/10 to 3U, log-spaced; U is one of them.
const BELOW: i32 = 8;
const ABOVE: i32 = 4;

impl JudgedReport {
    /// Where nothing can be said.
    pub(crate) fn nothing() -> Self {
        Self { radii: Vec::new(), beats_up_to: None, says_nothing_from: None }
    }

    pub(crate) fn new(loss: &AnyLoss, comparators: &Comparators, point: &CurvePoint) -> Self {
        let Some(radius) = comparators.radius().filter(|_| point.rounds() > 0) else {
            return Self::nothing();
        };
        Self {
            radii: radii(radius).map(|radius| RadiusReport::at(radius, point)).collect(),
            beats_up_to: point.beats_up_to().map(|reach| Reach::of(reach, radius)),
            says_nothing_from: point
                .says_nothing_from()
                .filter(|_| loss.is_nonnegative())
                .map(|from| from.min(FARTHEST * radius.get())),
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

/// Radii around U: four points below it in each factor of about √10, and as many above up to 3U.
pub(crate) fn radii(own: Positive) -> impl Iterator<Item = Positive> {
    let factor = |step: i32| match step {
        ..0 => 10_f64.powf(f64::from(step) / f64::from(BELOW)),
        0 => 1.0,
        1.. => 3_f64.powf(f64::from(step) / f64::from(ABOVE)),
    };
    (-BELOW..=ABOVE).filter_map(move |step| Positive::new(own.get() * factor(step)).ok())
}
