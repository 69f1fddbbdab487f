//! What a witness says of comparators, in a few numbers.

use super::line::Line;
use super::minorant::Minorant;
use crate::cells::Coordinates;
use crate::comparators::Comparators;
use crate::number::Positive;
use crate::ruler::Ruler;

/// What a minorant proves about some comparators. A minorant has a vector over all features; once
/// it is heard, these numbers are all that is needed of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Testimony {
    rounds: u64,
    floor: f64,
    line: Option<Line>,
}

impl Testimony {
    /// That no linear predictor at all, however long, loses less in so many rounds.
    pub fn everywhere(rounds: u64, floor: f64) -> Self {
        Self { rounds, floor, line: Some(Line::level(floor)) }
    }

    /// How many rounds it is about.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// No comparator loses less, rounding included, in total. Minus infinity where nothing can be
    /// said.
    pub fn floor(&self) -> f64 {
        self.floor
    }

    /// What it says of balls of other radii, where the comparators are a ball.
    pub fn line(&self) -> Option<&Line> {
        self.line.as_ref()
    }
}

impl Minorant {
    /// The same about a ball without units, with an S that somebody else keeps: nothing is copied.
    pub(crate) fn testify_unit_free<'a>(
        &self,
        radius: Positive,
        ruler: &'a Ruler,
        slopes: impl Iterator<Item = f64> + Clone + 'a,
    ) -> Testimony {
        let line = self.unit_free_line_of(ruler, slopes);
        Testimony { rounds: self.rounds(), floor: line.floor(radius), line: Some(line) }
    }

    /// What it proves about comparators, where the features of the rounds have these coordinates. A
    /// norm of all features is dear, and one serves the comparators and balls of other radii.
    pub fn testify(&self, comparators: &Comparators, coordinates: Coordinates<'_>) -> Testimony {
        let line = self.line_for(comparators, coordinates);
        let floor = match (&line, comparators.radius()) {
            (Some(line), Some(radius)) => line.floor(radius),
            _ => self.floor(comparators, coordinates),
        };
        Testimony { rounds: self.rounds(), floor, line }
    }
}
