//! A function below the past: what any sequence of predictions proves about every comparator.

use crate::features::Features;
use crate::number::NonNegative;
use crate::round::Round;
use crate::set::FeasibleSet;
use crate::sum::Sum;
use crate::vector;
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
    /// Σ ‖a_t x_t‖²
    energy: Sum,
    /// Σ (|φ_t| + |a_t p_t|): what the rounding of the sums is measured against.
    magnitude: f64,
    /// Rounds whose rounding is in `slopes`: more than `rounds` in a window.
    touched: u64,
}

impl Minorant {
    /// The minorant of no rounds: 0. With σ > 0 each loss includes (σ/2)‖u‖².
    pub fn new(sigma: NonNegative) -> Self {
        Self {
            sigma,
            rounds: 0,
            offset: Sum::default(),
            slopes: Vec::new(),
            energy: Sum::default(),
            magnitude: 0.0,
            touched: 0,
        }
    }

    /// Whether what was read from somewhere can be such sums.
    pub(super) fn is_sound(&self) -> bool {
        let is_size = |size: f64| (0.0..=f64::MAX).contains(&size);
        self.offset.value().is_finite()
            && self.slopes.iter().all(|slope| slope.is_finite())
            && is_size(self.energy.value())
            && is_size(self.magnitude)
            && self.touched >= self.rounds
    }

    /// Makes room for features below `dimension`.
    pub fn grow(&mut self, dimension: usize) {
        vector::grow(&mut self.slopes, dimension);
    }

    /// Adds the tangent of one round, for features there is room for.
    #[inline]
    pub fn record(&mut self, x: &Features<'_>, round: &Round) {
        let at_zero = round.slope * round.prediction;
        let size = round.value.abs() + at_zero.abs();
        self.push(x, round.slope, round.value - at_zero, size);
    }

    /// Adds the line p ↦ a·p − φ*(a), which lies below the loss for any a: a dual point need not
    /// come from a prediction. The conjugate must be finite.
    #[inline]
    pub fn record_dual(&mut self, x: &Features<'_>, slope: f64, conjugate: f64) {
        self.push(x, slope, -conjugate, conjugate.abs());
    }

    #[inline]
    fn push(&mut self, x: &Features<'_>, slope: f64, at_zero: f64, size: f64) {
        self.rounds += 1;
        self.touched += 1;
        self.offset.add(at_zero);
        self.magnitude += size;
        if slope != 0.0 {
            self.energy.add(slope * slope * x.norm_sq());
            vector::add(&mut self.slopes, slope, x);
        }
    }

    /// A lower bound on min_{u∈W} Σ ℓ_t(u) that holds with rounding included.
    pub fn floor(&self, set: &impl FeasibleSet) -> f64 {
        let gain = set.support(self.slopes.iter().map(|s| -s), self.curvature());
        self.offset.value() - gain - self.slack(set)
    }

    /// How far rounding can have moved what `floor` computes: T additions into S, each to a unit in
    /// the last place of a sum of gradients (at most √(T Σ‖a_t x_t‖²) in norm), and a few roundings
    /// of every value and slope.
    pub fn slack(&self, set: &impl FeasibleSet) -> f64 {
        let per_unit = self.slack_per_unit();
        let slopes = if per_unit == 0.0 { 0.0 } else { self.reach(set) * per_unit };
        self.slack_at_zero() + slopes
    }

    /// The part of the slack that u has no influence on.
    pub(crate) fn slack_at_zero(&self) -> f64 {
        16.0 * f64::EPSILON * self.magnitude
    }

    /// The part of the slack that grows with ‖u‖.
    pub(crate) fn slack_per_unit(&self) -> f64 {
        let additions = self.touched as f64 + 400.0;
        f64::EPSILON * additions * (self.touched as f64 * self.energy.value()).sqrt()
    }

    /// The value of the minorant at one u, without regard to rounding.
    pub fn at(&self, u: &[f64]) -> f64 {
        let linear: Sum = self.slopes.iter().zip(u).map(|(s, u)| s * u).collect();
        let norm_sq = vector::norm_sq(u.iter().copied());
        self.offset.value() + linear.value() + 0.5 * self.curvature() * norm_sq
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

    /// How far out the best comparator can lie: the set's reach, or where the curvature stops it.
    fn reach(&self, set: &impl FeasibleSet) -> f64 {
        let reach = set.reach(self.slopes.len());
        if self.curvature() > 0.0 {
            reach.min(vector::norm_sq(self.slopes.iter().copied()).sqrt() / self.curvature())
        } else {
            reach
        }
    }

    /// Adds the minorant of another part of the stream.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.grow(other.slopes.len());
        for (s, o) in self.slopes.iter_mut().zip(&other.slopes) {
            *s += o;
        }
        self.rounds += other.rounds;
        self.touched += other.touched + 1;
        self.offset.merge(other.offset);
        self.energy.merge(other.energy);
        self.magnitude += other.magnitude;
    }

    /// The part that came after `earlier`. What measures rounding stays that of the whole.
    pub(crate) fn since(&self, earlier: &Self) -> Option<Self> {
        if earlier.slopes.len() > self.slopes.len() {
            return None;
        }
        let mut part = self.clone();
        for (s, e) in part.slopes.iter_mut().zip(&earlier.slopes) {
            *s -= e;
        }
        part.rounds = part.rounds.checked_sub(earlier.rounds)?;
        part.touched += 1;
        part.offset = part.offset.since(earlier.offset);
        Some(part)
    }
}
