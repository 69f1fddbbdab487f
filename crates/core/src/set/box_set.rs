//! Boxes: every coordinate has its own interval. The notes' W = [−1, 1] is one.

use super::{Bounded, FeasibleSet, LazyDot};
use crate::cells::Coordinates;
use crate::exact::ExactSum;
use crate::features::Features;
use crate::number::Positive;
use crate::weights::Weights;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A closed interval that contains 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "(f64, f64)", into = "(f64, f64)")]
pub struct Interval {
    lower: f64,
    upper: f64,
}

/// Two numbers that cannot be the ends of an interval for a coordinate.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[error("[{lower}, {upper}] is not an interval around 0 with ends between -1e100 and 1e100")]
pub struct BoxError {
    /// The lower end that was given.
    pub lower: f64,
    /// The upper end that was given.
    pub upper: f64,
}

/// {w : l_i ≤ w_i ≤ u_i}. Projection: clip each coordinate. Support: Σ max(l_i v_i, u_i v_i),
/// which is Σ r_i|v_i| for symmetric sides.
///
/// ```
/// use rueful_core::set::{BoxSet, FeasibleSet};
/// let notes = BoxSet::interval(-1.0, 1.0)?;
/// let mut w = [3.0, -0.5];
/// notes.project_dense(&mut w);
/// assert_eq!(w, [1.0, -0.5]);
/// assert_eq!(notes.support([2.0, -3.0].into_iter(), 0.0), 5.0);
/// # Ok::<(), rueful_core::set::BoxError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoxSet {
    /// The sides of the first coordinates.
    #[serde(default)]
    sides: Vec<Interval>,
    /// The side of every other coordinate.
    rest: Interval,
}

impl Interval {
    /// The interval [lower, upper], which must contain 0.
    pub fn new(lower: f64, upper: f64) -> Result<Self, BoxError> {
        if (-1e100..=0.0).contains(&lower) && (0.0..=1e100).contains(&upper) {
            Ok(Self { lower, upper })
        } else {
            Err(BoxError { lower, upper })
        }
    }

    fn clip(self, value: f64) -> f64 {
        value.clamp(self.lower, self.upper)
    }

    fn width_sq(self) -> f64 {
        (self.upper - self.lower).powi(2)
    }

    /// The end to which `direction` points, or 0 if `direction` is 0.
    fn end(self, direction: f64) -> f64 {
        if direction > 0.0 {
            self.upper
        } else if direction < 0.0 {
            self.lower
        } else {
            0.0
        }
    }
}

impl TryFrom<(f64, f64)> for Interval {
    type Error = BoxError;
    fn try_from((lower, upper): (f64, f64)) -> Result<Self, BoxError> {
        Self::new(lower, upper)
    }
}

impl From<Interval> for (f64, f64) {
    fn from(interval: Interval) -> Self {
        (interval.lower, interval.upper)
    }
}

impl BoxSet {
    /// The same interval for every coordinate.
    pub fn interval(lower: f64, upper: f64) -> Result<Self, BoxError> {
        Ok(Self { sides: Vec::new(), rest: Interval::new(lower, upper)? })
    }

    /// [−r, r] for every coordinate.
    pub fn cube(radius: Positive) -> Self {
        let r = radius.get();
        Self { sides: Vec::new(), rest: Interval { lower: -r, upper: r } }
    }

    /// A box with its own side for each of the first coordinates, and `rest` for all others.
    pub fn new(sides: Vec<Interval>, rest: Interval) -> Self {
        Self { sides, rest }
    }

    #[inline]
    fn side(&self, i: usize) -> Interval {
        self.sides.get(i).copied().unwrap_or(self.rest)
    }

    /// p·x and s·x in one pass, where p_i depends on k·s_i alone.
    #[inline]
    fn dots(
        &self,
        s: &Weights,
        k: f64,
        x: &Features<'_>,
        p: impl Fn(Interval, f64) -> f64,
    ) -> LazyDot {
        let (prediction, inner) = if self.sides.is_empty() {
            s.dots(x, k, |_, s| p(self.rest, s))
        } else {
            s.dots(x, k, |i, s| p(self.side(i), s))
        };
        LazyDot { prediction, inner }
    }

    /// The sum of `f` over the sides of these coordinates.
    fn total(&self, coordinates: Coordinates<'_>, f: impl Fn(Interval) -> f64) -> f64 {
        let (mut named, mut own) = (0.0, 0);
        for i in coordinates.below(self.sides.len()) {
            named += f(self.sides[i]);
            own += 1;
        }
        let others = (coordinates.count() - own) as f64;
        if others > 0.0 { named + others * f(self.rest) } else { named }
    }
}

impl FeasibleSet for BoxSet {
    #[inline]
    fn project(&self, w: &mut Weights, x: &Features<'_>) {
        if self.sides.is_empty() {
            let alike = self.rest.into();
            w.clip_at(x, |_| alike);
        } else {
            w.clip_at(x, |i| self.side(i).into());
        }
    }

    #[inline]
    fn project_dot(&self, s: &Weights, k: f64, x: &Features<'_>) -> LazyDot {
        self.dots(s, k, x, Interval::clip)
    }

    fn project_dense(&self, v: &mut [f64]) {
        for (i, v) in v.iter_mut().enumerate() {
            *v = self.side(i).clip(*v);
        }
    }

    fn support(&self, v: impl Iterator<Item = f64> + Clone, curvature: f64) -> f64 {
        let best = |(i, v): (usize, f64)| {
            let side = self.side(i);
            let free = if curvature > 0.0 { side.clip(v / curvature) } else { side.end(v) };
            free * v - 0.5 * curvature * free * free
        };
        let mut total = ExactSum::default();
        v.enumerate().map(best).for_each(|gain| total.add(gain));
        total.value()
    }

    fn reach(&self, coordinates: Coordinates<'_>) -> f64 {
        self.total(coordinates, |side| side.lower.abs().max(side.upper).powi(2)).sqrt()
    }

    fn diameter(&self, coordinates: Coordinates<'_>) -> f64 {
        self.total(coordinates, Interval::width_sq).sqrt()
    }

    fn diameter_at(&self, x: &Features<'_>) -> f64 {
        if self.sides.is_empty() {
            return (x.len() as f64 * self.rest.width_sq()).sqrt();
        }
        let widths_sq = x.indices().iter().map(|&i| self.side(i as usize).width_sq());
        widths_sq.sum::<f64>().sqrt()
    }

    fn extent(&self, i: usize) -> (f64, f64) {
        self.side(i).into()
    }

    fn keeps_weights(&self) -> String {
        "w in a box".to_owned()
    }

    fn covers(&self, other: &impl FeasibleSet, coordinates: Coordinates<'_>) -> bool {
        let own = self.sides.len().max(other.named_coordinates());
        // All coordinates that are not told apart have the same sides, so one of them stands for
        // all.
        let others = coordinates.count() > coordinates.below(own).count();
        coordinates.below(own).chain(others.then_some(own)).all(|i| {
            let (lower, upper) = other.extent(i);
            let side = self.side(i);
            side.lower <= lower && upper <= side.upper
        })
    }

    fn named_coordinates(&self) -> usize {
        self.sides.len()
    }
}

impl Bounded for BoxSet {
    #[inline]
    fn leader_dot(&self, s: &Weights, x: &Features<'_>) -> LazyDot {
        self.dots(s, -1.0, x, Interval::end)
    }

    fn leader(&self, s: &Weights) -> Vec<f64> {
        s.iter().enumerate().map(|(i, s)| self.side(i).end(-s)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_can_differ_and_must_hold_zero() {
        let side = |l, u| Interval::new(l, u).unwrap();
        let set = BoxSet::new(vec![side(-3.0, 0.0), side(0.0, 4.0)], side(-1.0, 1.0));
        assert_eq!(set.reach(2.into()), 5.0);
        assert_eq!(set.reach(1.into()), 3.0);
        assert_eq!(set.diameter(3.into()), (9.0_f64 + 16.0 + 4.0).sqrt());
        assert_eq!(set.support([1.0, 1.0, -2.0].into_iter(), 0.0), 6.0);
        assert_eq!(set.support([-1.0, 1.0].into_iter(), 0.0), 7.0);
        assert!(Interval::new(0.5, 1.0).is_err());
        assert!(Interval::new(-1.0, f64::NAN).is_err());
        assert!(BoxSet::interval(-1.0, 1.0).unwrap().covers(&set, 0.into()));
        assert!(!BoxSet::interval(-1.0, 1.0).unwrap().covers(&set, 1.into()));
    }

    #[test]
    fn a_read_box_is_checked() {
        let cube: BoxSet = serde_json::from_str(r#"{"rest": [-2.0, 2.0]}"#).unwrap();
        assert_eq!(cube, BoxSet::cube(Positive::new(2.0).unwrap()));
        assert!(serde_json::from_str::<BoxSet>(r#"{"rest": [1.0, 2.0]}"#).is_err());
    }
}
