//! A lower bound on the past: any sequence of predictions proves one about every comparator.

use super::line::Line;
use crate::cells::Coordinates;
use crate::comparators::Comparators;
use crate::features::Features;
use crate::norms;
use crate::number::NonNegative;
use crate::round::Round;
use crate::rows::Rows;
use crate::ruler::Ruler;
use crate::set::{AnySet, FeasibleSet};
use crate::sum::Sum;
use crate::vector;
use rueful_machine::Fours;
use serde::{Deserialize, Serialize};

/// How many rounds are added up at a time. Their numbers stay close to the processor while several
/// loops go over them.
pub(super) const STRETCH: usize = 256;

/// A minorant of the cumulative loss. A convex loss lies above its tangents, so for predictions p_t
/// with slopes a_t, and *every* u,
///
/// ```text
/// Σ ℓ_t(u) ≥ Σ (φ_t(p_t) − a_t p_t) + u·S + (σT/2)‖u‖²,    S = Σ a_t x_t
/// ```
///
/// It consists of one number and one vector, without the data. The predictions may be the learner's
/// own, which gives the certificate. They may also be those of any witness (a slower learner, an
/// average), which gives another lower bound on the loss of comparators. Minorants of disjoint
/// parts of a stream add up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Minorant {
    sigma: NonNegative,
    rounds: u64,
    /// Σ (φ_t − a_t p_t)
    offset: Sum,
    /// S
    slopes: Vec<f64>,
    /// Σ ‖a_t x_t‖. The allowance for the rounding of S is proportional to it.
    length: f64,
    /// Σ |a_t|√(features of x_t), which is at least Σ ‖a_t x_t/N‖. It replaces the length for S/N.
    breadth: f64,
    /// Σ (|φ_t| + |a_t p_t|). The allowance for the rounding of the offset is proportional to it.
    magnitude: f64,
}

/// Bounds on the errors of the sums of a minorant. An unknown error is infinite, and then the sum
/// proves nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OffBy {
    /// The error of the offset.
    pub offset: f64,
    /// The norm of the error of S.
    pub slopes: f64,
    /// The norm of the error of S/N.
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

    /// Whether these numbers, which may be read from anywhere, can be such sums.
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

    /// The minorant of rounds whose sums were made elsewhere.
    pub(crate) fn of_parts(
        rounds: u64,
        offset: Sum,
        slopes: Vec<f64>,
        (length, breadth): (f64, f64),
        magnitude: f64,
    ) -> Self {
        Self { sigma: NonNegative::ZERO, rounds, offset, slopes, length, breadth, magnitude }
    }

    /// The minorant of rounds whose sums were made elsewhere, with bounds on the errors of these
    /// sums. It has σ = 0.
    pub fn of_sums(rounds: u64, offset: f64, slopes: Vec<f64>, off: OffBy) -> Self {
        let mut minorant = Self { rounds, slopes, ..Self::new(NonNegative::ZERO) };
        minorant.offset.add(offset);
        // These sizes give allowances as large as those errors, up to a few roundings of themselves: see
        // `slack_at_zero` and `slack_per_unit`. Bounds on errors are not known to so many digits.
        minorant.magnitude = off.offset / (16.0 * f64::EPSILON);
        minorant.length = off.slopes / minorant.relative_slack();
        minorant.breadth = off.scaled_slopes / minorant.relative_slack();
        minorant
    }

    /// The summand of a round in the magnitude.
    #[inline(always)]
    pub(crate) fn size_of(value: f64, at_zero: f64, prediction: f64) -> f64 {
        // A slope that is too small for a double has an absolute error. In its product with the
        // prediction this error is multiplied by the prediction.
        value.abs() + at_zero.abs() + LEAST * (1.0 + prediction.abs())
    }

    /// `size_of` for four rounds side by side.
    #[inline(always)]
    pub(crate) fn sizes_of<F: Fours>(value: F, at_zero: F, prediction: F) -> F {
        value.abs() + at_zero.abs() + F::all(LEAST) * (F::all(1.0) + prediction.abs())
    }

    /// The amounts that a slope of 1 adds to the length and to the breadth.
    #[inline(always)]
    pub(crate) fn lengths_of(x: &Features<'_>) -> (f64, f64) {
        (x.norm_sq().sqrt(), (x.len() as f64).sqrt())
    }

    /// Adds the tangent of one round. There must be room for its features.
    #[inline(always)] // It is called in the loop over rows.
    pub fn record(&mut self, x: &Features<'_>, round: &Round) {
        let at_zero = round.slope * round.prediction;
        let size = Self::size_of(round.value, at_zero, round.prediction);
        self.push(x, round.slope, round.value - at_zero, size);
    }

    /// Adds the tangents of the rounds of at most `STRETCH` rows, all of which count. There must be
    /// room for their features. It makes the same additions as `record`, in the same order, but first those
    /// that every round needs, and then those of the rounds with a slope. So the numbers stay in
    /// registers, and no guess is made about which slopes are 0.
    #[inline(always)] // It is compiled for wide registers.
    pub(super) fn record_stretch(&mut self, rows: Rows<'_>, rounds: &[Round]) {
        let (mut moving, mut count) = ([0_u16; STRETCH], 0);
        let (mut offset, mut magnitude) = (self.offset, self.magnitude);
        for (row, round) in (0..STRETCH).zip(rounds) {
            let at_zero = round.slope * round.prediction;
            offset.add(round.value - at_zero);
            magnitude += Self::size_of(round.value, at_zero, round.prediction);
            moving[count] = row as u16;
            count += usize::from(round.slope != 0.0);
        }
        self.rounds += rounds.len() as u64;
        (self.offset, self.magnitude) = (offset, magnitude);
        let (mut length, mut breadth) = (self.length, self.breadth);
        for &row in &moving[..count] {
            let (x, slope) = (rows.get(usize::from(row)).features, rounds[usize::from(row)].slope);
            let (of_length, of_breadth) = Self::lengths_of(&x);
            length += slope.abs() * of_length;
            breadth += slope.abs() * of_breadth;
            vector::add(&mut self.slopes, slope, &x);
        }
        (self.length, self.breadth) = (length, breadth);
    }

    #[inline(always)] // It is called in the loop over rows.
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

    /// A lower bound on the loss Σ ℓ_t(u) of every comparator, rounding included, if the features
    /// of the rounds have these coordinates. It is minus infinity if nothing can be said.
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

    /// A bound on the rounding error of `floor`. Let e be the error of S. The true minimum lies at
    /// a u whose norm is at most the set's reach and, if the minorant is curved, at most
    /// (‖S‖ + ‖e‖)/(σT). There e moves the value by ‖u‖‖e‖ at most.
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

    /// The lower bound for balls of comparators of any radius. It is unit-free if the comparators
    /// are, and otherwise in the data's own units. `None` if the units are not known.
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

    /// The lower bound for the balls ‖u‖ ≤ U.
    fn line(&self) -> Line {
        Line {
            offset: self.offset.value(),
            norm: self.slopes_norm(),
            curvature: self.curvature(),
            slack: (self.slack_at_zero(), self.slack_per_unit()),
        }
    }

    /// The lower bound for unit-free comparators. It leaves out the penalty, which is about raw
    /// weights. Without the penalty it is still a lower bound.
    fn unit_free_line(&self, ruler: &Ruler) -> Line {
        self.unit_free_line_of(norms::norm_in(&self.slopes, ruler.largest()), ruler.label())
    }

    /// `unit_free_line` with an S that is stored elsewhere, whose ‖S/N‖ is known, and Y.
    pub(super) fn unit_free_line_of(&self, norm: f64, label: f64) -> Line {
        Line {
            offset: self.offset.value(),
            norm: label * norm,
            curvature: 0.0,
            slack: (self.slack_at_zero(), label * self.scaled_slack_per_unit()),
        }
    }

    /// The part of the slack that does not depend on u: a few roundings of every value and slope,
    /// and of the sum of the values, which is no larger than the magnitude.
    pub(crate) fn slack_at_zero(&self) -> f64 {
        16.0 * f64::EPSILON * self.magnitude
    }

    /// A bound on ‖e‖. There are T additions into S, each right to a unit in the last place of sums
    /// that are no longer than Σ ‖a_t x_t‖. Some more is added for the roundings of the slopes and
    /// of the support function, and for products that are too small for a double. Merging does not
    /// round more often: the first addition of every part was to 0, and so exact.
    pub(crate) fn slack_per_unit(&self) -> f64 {
        self.relative_slack() * self.length + self.products_lost()
    }

    /// A bound on ‖e/N‖, for unit-free comparators. No x/N is above 1. A product that is too small for
    /// a double is divided by an N of at least 2⁻¹⁴⁹, and is far below what a slope may lose.
    fn scaled_slack_per_unit(&self) -> f64 {
        self.relative_slack() * self.breadth + self.products_lost()
    }

    /// A bound on the loss from products that are too small for a double.
    fn products_lost(&self) -> f64 {
        self.rounds as f64 * LEAST_PRODUCT
    }

    fn relative_slack(&self) -> f64 {
        f64::EPSILON * (self.rounds as f64 + 400.0)
    }

    /// ‖S‖
    pub(crate) fn slopes_norm(&self) -> f64 {
        norms::norm(&self.slopes)
    }

    /// The value of the minorant at one u, without an allowance for rounding.
    pub fn at(&self, u: &[f64]) -> f64 {
        let linear: Sum = self.slopes.iter().zip(u).map(|(s, u)| s * u).collect();
        let norm = norms::norm(u);
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

    /// Moves the coordinates of S: coordinate i gets the value at `from[i]`, or 0 if there is none.
    pub fn rearrange(&mut self, from: &[u32]) {
        let at = |&from: &u32| self.slopes.get(from as usize).copied().unwrap_or(0.0);
        self.slopes = from.iter().map(at).collect();
    }

    /// The minorant of the rounds since an earlier state of this one, whose features have the same
    /// coordinates. It has σ = 0.
    ///
    /// What the earlier rounds lost is in both sums, and cancels. Every addition since then was off by
    /// half a unit in the last place of sums over all rounds. So this is off by less than the whole.
    pub(super) fn since(&self, earlier: &Self, ruler: Option<&Ruler>) -> Self {
        let rounds = self.rounds.saturating_sub(earlier.rounds);
        let before = |i: usize| earlier.slopes.get(i).copied().unwrap_or(0.0);
        let slopes = self.slopes.iter().enumerate().map(|(i, s)| s - before(i)).collect();
        let off = OffBy {
            offset: self.slack_at_zero(),
            slopes: self.slack_per_unit(),
            scaled_slopes: ruler.map_or(f64::INFINITY, |_| self.scaled_slack_per_unit()),
        };
        Self::of_sums(rounds, self.offset.since(earlier.offset).value(), slopes, off)
    }

    /// Adds the minorant of another, disjoint part of the stream.
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

/// The least magnitude of a round. 16ε times it covers the losses below the range of doubles: a
/// value, a slope and a product have a few roundings there, each of half the least double,
/// ε·`MIN_POSITIVE`, and an importance of up to 1e30 multiplies them.
const LEAST: f64 = 1e30 * f64::MIN_POSITIVE;

/// The corresponding allowance for the norm of a·x: a slope loses ε·`LEAST`, x has at most 2³²
/// coordinates, and each is below 2¹²⁸.
const LEAST_PRODUCT: f64 = 1e-249;

/// A bound on the norm of the u that minimises u·S + (κ/2)‖u‖² over a set with this reach, where
/// ‖S‖ is known up to `error`.
pub(super) fn farthest(reach: f64, slopes_norm: f64, error: f64, curvature: f64) -> f64 {
    if curvature > 0.0 { reach.min((slopes_norm + error) / curvature) } else { reach }
}

/// The product a·b, which is 0 for b = 0 even if a is infinite.
pub(super) fn product(a: f64, b: f64) -> f64 {
    if b == 0.0 { 0.0 } else { a * b }
}
