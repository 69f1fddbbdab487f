//! A function below the past: what any sequence of predictions proves about every comparator.

use super::line::Line;
use crate::cells::Coordinates;
use crate::comparators::Comparators;
use crate::features::Features;
use crate::number::NonNegative;
use crate::round::Round;
use crate::ruler::Ruler;
use crate::set::{AnySet, FeasibleSet};
use crate::sum::Sum;
use crate::vector;
use rueful_machine::Fours;
use serde::{Deserialize, Serialize};

/// A minorant of the cumulative loss. A convex loss lies above its tangents, so for predictions p_t
/// with slopes a_t, and *every* u,
///
/// ```text
/// Σ ℓ_t(u) ≥ Σ (φ_t(p_t) − a_t p_t) + u·S + (σT/2)‖u‖²,    S = Σ a_t x_t
/// ```
///
/// One number, one vector, no data. The predictions may be the learner's own, which gives the
/// certificate; or those of any witness (a slower learner, an average), which gives another lower
/// bound on what comparators lose. Minorants of disjoint parts of a stream add up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Minorant {
    sigma: NonNegative,
    rounds: u64,
    /// Σ (φ_t − a_t p_t)
    offset: Sum,
    /// S
    slopes: Vec<f64>,
    /// Σ ‖a_t x_t‖: what the rounding of S is measured against.
    length: f64,
    /// Σ |a_t|√(features of x_t), which is at least Σ ‖a_t x_t/N‖: the same in no units.
    breadth: f64,
    /// Σ (|φ_t| + |a_t p_t|): what the rounding of the offset is measured against.
    magnitude: f64,
}

/// How far off the sums of a minorant can be. What is not known is infinite, and then nothing is
/// proved with it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OffBy {
    /// The offset.
    pub offset: f64,
    /// S, in norm.
    pub slopes: f64,
    /// S/N, in norm.
    pub scaled_slopes: f64,
}

impl Minorant {
    /// The minorant of no rounds: 0. With σ > 0 each loss includes (σ/2)‖u‖².
    pub fn new(sigma: NonNegative) -> Self {
        Self {
            sigma,
            rounds: 0,
            offset: Sum::default(),
            slopes: Vec::new(),
            length: 0.0,
            breadth: 0.0,
            magnitude: 0.0,
        }
    }

    /// Whether what was read from somewhere can be such sums.
    pub fn is_sound(&self) -> bool {
        let is_size = |size: f64| (0.0..=f64::MAX).contains(&size);
        self.offset.value().is_finite()
            && self.slopes.iter().all(|slope| slope.is_finite())
            && is_size(self.length)
            && is_size(self.breadth)
            && is_size(self.magnitude)
    }

    /// Makes room for features below `dimension`.
    pub fn grow(&mut self, dimension: usize) {
        vector::grow(&mut self.slopes, dimension);
    }

    /// The minorant of rounds that somebody else has added up.
    pub(crate) fn of_parts(
        rounds: u64,
        offset: Sum,
        slopes: Vec<f64>,
        (length, breadth): (f64, f64),
        magnitude: f64,
    ) -> Self {
        Self { sigma: NonNegative::ZERO, rounds, offset, slopes, length, breadth, magnitude }
    }

    /// The minorant of rounds that somebody else has added up, who says what the sums can be off by.
    /// With σ = 0.
    pub fn of_sums(rounds: u64, offset: f64, slopes: Vec<f64>, off: OffBy) -> Self {
        let mut minorant = Self { rounds, slopes, ..Self::new(NonNegative::ZERO) };
        minorant.offset.add(offset);
        // The sizes whose roundings are as large: see `slack_at_zero` and `slack_per_unit`.
        let size = |off: f64, relative: f64| off / relative * (1.0 + 4.0 * f64::EPSILON);
        minorant.magnitude = size(off.offset, 16.0 * f64::EPSILON);
        minorant.length = size(off.slopes, minorant.relative_slack());
        minorant.breadth = size(off.scaled_slopes, minorant.relative_slack());
        minorant
    }

    /// What a round adds to the magnitude.
    #[inline(always)]
    pub(crate) fn size_of(value: f64, at_zero: f64, prediction: f64) -> f64 {
        // What a slope below the range of doubles is off by, its product with the prediction is off
        // by so many times over.
        value.abs() + at_zero.abs() + LEAST * (1.0 + prediction.abs())
    }

    /// The same for four rounds side by side.
    #[inline(always)]
    pub(crate) fn sizes_of<F: Fours>(value: F, at_zero: F, prediction: F) -> F {
        value.abs() + at_zero.abs() + F::all(LEAST) * (F::all(1.0) + prediction.abs())
    }

    /// What a slope of 1 adds to the length and to the breadth.
    #[inline(always)]
    pub(crate) fn lengths_of(x: &Features<'_>) -> (f64, f64) {
        (x.norm_sq().sqrt(), (x.len() as f64).sqrt())
    }

    /// Adds the tangent of one round, for features there is room for.
    #[inline(always)] // The loop over rows is made of it.
    pub fn record(&mut self, x: &Features<'_>, round: &Round) {
        let at_zero = round.slope * round.prediction;
        let size = Self::size_of(round.value, at_zero, round.prediction);
        self.push(x, round.slope, round.value - at_zero, size);
    }

    /// Adds the line p ↦ a·p − φ*(a), which lies below the loss for any a: a dual point need not
    /// come from a prediction. The conjugate must be finite.
    #[inline]
    pub fn record_dual(&mut self, x: &Features<'_>, slope: f64, conjugate: f64) {
        self.push(x, slope, -conjugate, conjugate.abs() + LEAST);
    }

    #[inline(always)] // The loop over rows is made of it.
    fn push(&mut self, x: &Features<'_>, slope: f64, at_zero: f64, size: f64) {
        self.rounds += 1;
        self.offset.add(at_zero);
        self.magnitude += size;
        if slope != 0.0 {
            let (length, breadth) = Self::lengths_of(x);
            self.length += slope.abs() * length;
            self.breadth += slope.abs() * breadth;
            vector::add(&mut self.slopes, slope, x);
        }
    }

    /// A lower bound on what every comparator loses, Σ ℓ_t(u), that holds with rounding included,
    /// where the features of the rounds have these coordinates. Minus infinity where nothing can be
    /// said.
    pub fn floor(&self, comparators: &Comparators, coordinates: Coordinates<'_>) -> f64 {
        let floor = match comparators {
            Comparators::UnitFree(ball) => {
                let Some(ruler) = coordinates.ruler() else { return f64::NEG_INFINITY };
                self.unit_free_line(ruler).floor(ball.radius)
            }
            Comparators::Set(AnySet::Ball(ball)) => self.line().floor(ball.radius),
            Comparators::Set(set) => {
                let gain = set.support(self.slopes.iter().map(|s| -s), self.curvature());
                self.offset.value() - gain - self.slack_in(set, coordinates)
            }
        };
        if floor.is_nan() { f64::NEG_INFINITY } else { floor }
    }

    /// How far rounding can have moved what `floor` computes. With e the error of S, the true
    /// minimum lies at a u whose norm is at most the set's reach and, where the minorant curves, at
    /// most (‖S‖ + ‖e‖)/(σT); there e moves the value by ‖u‖‖e‖ at most.
    pub fn slack(&self, comparators: &Comparators, coordinates: Coordinates<'_>) -> f64 {
        match comparators {
            Comparators::UnitFree(ball) => coordinates
                .ruler()
                .map_or(f64::INFINITY, |ruler| self.unit_free_line(ruler).slack(ball.radius)),
            Comparators::Set(set) => self.slack_in(set, coordinates),
        }
    }

    fn slack_in(&self, set: &AnySet, coordinates: Coordinates<'_>) -> f64 {
        let per_unit = self.slack_per_unit();
        let farthest =
            farthest(set.reach(coordinates), self.slopes_norm(), per_unit, self.curvature());
        self.slack_at_zero() + product(farthest, per_unit)
    }

    /// What it says of balls of comparators of any radius: in no units where these have none, and
    /// in the data's own otherwise. Nothing where the units are not known.
    pub fn line_for(
        &self,
        comparators: &Comparators,
        coordinates: Coordinates<'_>,
    ) -> Option<Line> {
        if !comparators.is_unit_free() {
            return Some(self.line());
        }
        coordinates.ruler().map(|ruler| self.unit_free_line(ruler))
    }

    /// What it says of the balls ‖u‖ ≤ U.
    fn line(&self) -> Line {
        Line {
            offset: self.offset.value(),
            norm: self.slopes_norm(),
            curvature: self.curvature(),
            slack: (self.slack_at_zero(), self.slack_per_unit()),
        }
    }

    /// What it says of comparators without units. The penalty, which counts raw weights, is left
    /// out: what remains is still below.
    fn unit_free_line(&self, ruler: &Ruler) -> Line {
        self.unit_free_line_of(ruler, self.slopes.iter().copied())
    }

    /// The same with an S that somebody else keeps.
    pub(super) fn unit_free_line_of<'a>(
        &self,
        ruler: &'a Ruler,
        slopes: impl Iterator<Item = f64> + Clone + 'a,
    ) -> Line {
        let label = ruler.label();
        Line {
            offset: self.offset.value(),
            norm: label * vector::norm(ruler.scaled(slopes)),
            curvature: 0.0,
            slack: (self.slack_at_zero(), label * self.slack_for(self.breadth, ruler)),
        }
    }

    /// The part of the slack that u has no influence on: a few roundings of every value and slope,
    /// and of the sum of the values, which is no larger than the magnitude.
    pub(crate) fn slack_at_zero(&self) -> f64 {
        16.0 * f64::EPSILON * self.magnitude
    }

    /// ‖e‖: T additions into S, each to a unit in the last place of sums that are no longer than
    /// Σ ‖a_t x_t‖; some more for the roundings of the slopes and of the support function; and what
    /// products lose that are too small for a double. Merging rounds no more often: the first
    /// addition of every part was to 0, and exact.
    pub(crate) fn slack_per_unit(&self) -> f64 {
        self.relative_slack() * self.length + self.products_lost()
    }

    /// ‖e/N‖, the same in no units.
    fn slack_for(&self, breadth: f64, ruler: &Ruler) -> f64 {
        let least = ruler.largest().iter().filter(|&&n| n > 0.0).fold(f32::MAX, |a, &b| a.min(b));
        self.relative_slack() * breadth + self.products_lost() / f64::from(least)
    }

    /// What products lost that are too small for a double.
    fn products_lost(&self) -> f64 {
        self.rounds as f64 * LEAST_PRODUCT
    }

    fn relative_slack(&self) -> f64 {
        f64::EPSILON * (self.rounds as f64 + 400.0)
    }

    /// ‖S‖
    pub(crate) fn slopes_norm(&self) -> f64 {
        vector::norm(self.slopes.iter().copied())
    }

    /// The value of the minorant at one u, without regard to rounding.
    pub fn at(&self, u: &[f64]) -> f64 {
        let linear: Sum = self.slopes.iter().zip(u).map(|(s, u)| s * u).collect();
        let norm = vector::norm(u.iter().copied());
        self.offset.value() + linear.value() + 0.5 * self.curvature() * norm * norm
    }

    /// S = Σ a_t x_t
    pub fn slopes(&self) -> &[f64] {
        &self.slopes
    }

    /// Σ (φ_t − a_t p_t), the minorant at u = 0.
    pub fn offset(&self) -> f64 {
        self.offset.value()
    }

    /// T
    #[inline]
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// σ
    pub fn sigma(&self) -> NonNegative {
        self.sigma
    }

    /// σT
    pub(crate) fn curvature(&self) -> f64 {
        self.sigma.get() * self.rounds as f64
    }

    /// Puts the coordinates of S in other places: place i gets what is at `from[i]`, and 0 where
    /// there is nothing.
    pub fn rearrange(&mut self, from: &[u32]) {
        let at = |&from: &u32| self.slopes.get(from as usize).copied().unwrap_or(0.0);
        self.slopes = from.iter().map(at).collect();
    }

    /// Adds the minorant of another part of the stream.
    pub fn merge(&mut self, other: &Self) {
        self.grow(other.slopes.len());
        for (s, o) in self.slopes.iter_mut().zip(&other.slopes) {
            *s += o;
        }
        self.rounds += other.rounds;
        self.offset.merge(other.offset);
        self.length += other.length;
        self.breadth += other.breadth;
        self.magnitude += other.magnitude;
    }
}

/// What the magnitude of a round is at least, so that 16ε of it cover what is lost below the range
/// of doubles: a value, a slope and a product have a few roundings there, each of half the least
/// double, ε·`MIN_POSITIVE`, and an importance of up to 1e30 multiplies them.
const LEAST: f64 = 1e30 * f64::MIN_POSITIVE;

/// The same for the norm of a·x: a slope loses ε·`LEAST`, x has at most 2³² coordinates, and each is
/// below 2¹²⁸.
const LEAST_PRODUCT: f64 = 1e-249;

/// How far out the minimum of u·S + (κ/2)‖u‖² over a set that reaches so far can lie, for an S of
/// which the norm is known up to an error.
pub(super) fn farthest(reach: f64, slopes_norm: f64, error: f64, curvature: f64) -> f64 {
    if curvature > 0.0 { reach.min((slopes_norm + error) / curvature) } else { reach }
}

/// A product where nothing times infinity is nothing.
pub(super) fn product(a: f64, b: f64) -> f64 {
    if b == 0.0 { 0.0 } else { a * b }
}
