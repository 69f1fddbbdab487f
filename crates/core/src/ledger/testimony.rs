//! The lower bound of a witness for given comparators, in a few numbers.

use super::line::Line;
use super::minorant::Minorant;
use crate::cells::Coordinates;
use crate::comparators::Comparators;
use crate::number::Positive;

/// The lower bound that a minorant proves for some comparators. A minorant has a vector over all
/// features; a testimony keeps only the few numbers that are needed later.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Testimony {
    rounds: u64,
    floor: f64,
    line: Option<Line>,
}

impl Testimony {
    /// The testimony that every linear predictor, of any norm, loses at least `floor` in these
    /// rounds.
    pub fn everywhere(rounds: u64, floor: f64) -> Self {
        Self { rounds, floor, line: Some(Line::level(floor)) }
    }

    /// How many rounds it covers.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// No comparator loses less than this in total, rounding included. It is minus infinity if
    /// nothing can be said.
    pub fn floor(&self) -> f64 {
        self.floor
    }

    /// The lower bound for balls of other radii, if the comparators are a ball.
    pub fn line(&self) -> Option<&Line> {
        self.line.as_ref()
    }
}

impl Minorant {
    /// The testimony about a unit-free ball, with an S that is stored elsewhere. Its ‖S/N‖ is given,
    /// and Y.
    pub(crate) fn testify_unit_free(&self, radius: Positive, norm: f64, label: f64) -> Testimony {
        let line = self.unit_free_line_of(norm, label);
        Testimony { rounds: self.rounds(), floor: line.floor(radius), line: Some(line) }
    }

    /// The lower bound for the comparators, if the features of the rounds have these coordinates. A
    /// norm over all features is expensive, so it is computed once for the comparators and for
    /// balls of other radii.
    pub fn testify(&self, comparators: &Comparators, coordinates: Coordinates<'_>) -> Testimony {
        let line = self.line_for(comparators, coordinates);
        let floor = match (&line, comparators.radius()) {
            (Some(line), Some(radius)) => line.floor(radius),
            _ => self.floor(comparators, coordinates),
        };
        Testimony { rounds: self.rounds(), floor, line }
    }
}
