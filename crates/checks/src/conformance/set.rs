//! The contract that every feasible set must satisfy.

use super::assert_close;
use crate::rng::Rng;
use rueful_core::set::{Bounded, FeasibleSet};
use rueful_core::{Features, Weights};

const TRIES: usize = 60;
const ROUNDINGS: f64 = 32.0 * f64::EPSILON;

/// The accuracy of the running norm of [`Weights`], on which lazy projections rest.
const NORM: f64 = 1e-9;

/// Checks the contract of [`FeasibleSet`] in the given dimension, on vectors of many sizes:
///
/// - 0 is in the set;
/// - `project_dense` gives the nearest point: it lies in the set, projecting it again changes
///   nothing, and no point u of the set lies beyond it, (v − p)·(u − p) ≤ 0;
/// - `project` on [`Weights`] after a step agrees with `project_dense`, however much the step
///   shrinks the weights;
/// - `project_dot` is Π_W(k·s)·x together with s·x; `settle` changes neither;
/// - `support` is the supremum of u·v − (κ/2)‖u‖²: no u exceeds it, and for κ > 0 it is attained at
///   the projection of v/κ; for κ = 0 it is attained far out or infinite;
/// - `reach`, `diameter` and `extent` bound norms, distances and coordinates, and are attained;
/// - the set covers itself.
pub fn check_set<W: FeasibleSet>(set: &W, dimension: usize) {
    let probe = Probe { set, dimension };
    let rng = &mut Rng::new(31);
    assert!(probe.holds(&vec![0.0; dimension]), "0 is not in the set");
    assert!(set.covers(set, dimension.into()), "the set does not cover itself");
    for _ in 0..TRIES {
        let v = probe.anywhere(rng);
        probe.check_projection(&v, rng);
        probe.check_support(&v, rng);
        probe.check_lazy_step(rng);
        probe.check_lazy_dot(rng);
        probe.check_sizes(rng);
    }
    probe.check_extents();
}

/// Checks the additional contract of [`Bounded`]: `leader` is a point of the set with the least
/// p·s, and 0 where s is 0, and `leader_dot` is its dot product with x.
pub fn check_bounded<W: Bounded>(set: &W, dimension: usize) {
    let probe = Probe { set, dimension };
    let rng = &mut Rng::new(32);
    for _ in 0..TRIES {
        let (s, plain) = probe.weights(rng);
        let leader = set.leader(&s);
        assert!(probe.holds(&leader), "the leader {leader:?} is outside");
        let least = -set.support(plain.iter().map(|s| -s), 0.0);
        let size = norm(&leader) * norm(&plain);
        assert_close("leader", dot(&leader, &plain), least, NORM * size);

        let values = row(dimension, rng);
        let indices = all(dimension);
        let x = Features::new(&indices, &values).expect("a row");
        let lazy = set.leader_dot(&s, &x);
        let size = norm(&leader) * x.norm_sq().sqrt();
        assert_close("leader_dot", lazy.prediction, sparse_dot(&leader, &x), NORM * size);
        assert_close("s·x", lazy.inner, s.dot(&x), NORM * norm(&plain) * x.norm_sq().sqrt());
    }
    let mut nothing = Weights::default();
    nothing.grow(dimension);
    assert_eq!(set.leader(&nothing), vec![0.0; dimension], "where S decides nothing");
}

/// Checks that `covers` returns whether `other` lies in `set`, by looking at points of `other` as
/// far out as it goes in many directions.
pub fn check_covers<W: FeasibleSet, V: FeasibleSet>(set: &W, other: &V, dimension: usize) {
    let (outer, inner) = (Probe { set, dimension }, Probe { set: other, dimension });
    let rng = &mut Rng::new(33);
    let mut points: Vec<Vec<f64>> = (0..20 * TRIES).map(|_| inner.far_out(rng)).collect();
    points.extend((0..dimension).flat_map(|i| [inner.axis(i, 1e90), inner.axis(i, -1e90)]));
    let inside = points.iter().all(|point| outer.holds(point));
    assert_eq!(set.covers(other, dimension.into()), inside, "covers");
}

struct Probe<'a, W> {
    set: &'a W,
    dimension: usize,
}

impl<W: FeasibleSet> Probe<'_, W> {
    /// Whether projecting moves the point by no more than rounding.
    fn holds(&self, point: &[f64]) -> bool {
        let projected = self.projected(point);
        distance(&projected, point) <= ROUNDINGS * norm(point)
    }

    fn projected(&self, v: &[f64]) -> Vec<f64> {
        let mut p = v.to_vec();
        self.set.project_dense(&mut p);
        p
    }

    /// A length that is about the size of the set.
    fn size(&self) -> f64 {
        let reach = self.set.reach(self.dimension.into());
        if reach.is_finite() && reach > 0.0 { reach } else { 1.0 }
    }

    /// A vector from a millionth to a million times the size of the set.
    fn anywhere(&self, rng: &mut Rng) -> Vec<f64> {
        let size = self.size() * 10_f64.powi(rng.integer(-6, 6));
        rng.direction(self.dimension).iter().map(|x| size * x).collect()
    }

    /// A point of the set: inside, or on its boundary.
    fn member(&self, rng: &mut Rng) -> Vec<f64> {
        self.projected(&self.anywhere(rng))
    }

    /// A point of the set as far out as it goes in a random direction, often along few axes.
    fn far_out(&self, rng: &mut Rng) -> Vec<f64> {
        let mut v: Vec<f64> = rng.direction(self.dimension);
        v.iter_mut().for_each(|v| *v *= if rng.chance(0.4) { 0.0 } else { 1e90 });
        self.projected(&v)
    }

    fn axis(&self, i: usize, length: f64) -> Vec<f64> {
        let mut v = vec![0.0; self.dimension];
        v[i] = length;
        self.projected(&v)
    }

    fn check_projection(&self, v: &[f64], rng: &mut Rng) {
        let p = self.projected(v);
        assert!(self.holds(&p), "projecting twice moves {v:?}");
        assert!(norm(&p) <= self.set.reach(self.dimension.into()) * (1.0 + ROUNDINGS));
        for (i, &p) in p.iter().enumerate() {
            let (lower, upper) = self.set.extent(i);
            let slack = ROUNDINGS * p.abs();
            assert!(lower - slack <= p && p <= upper + slack, "coordinate {i} of {v:?}");
        }
        for _ in 0..10 {
            let u = self.member(rng);
            let beyond: f64 = (0..self.dimension).map(|i| (v[i] - p[i]) * (u[i] - p[i])).sum();
            let grain = ROUNDINGS * (norm(v) + norm(&p)) * (norm(&u) + norm(&p));
            assert!(beyond <= grain, "{u:?} is closer to {v:?} than its projection {p:?}");
        }
    }

    fn check_support(&self, v: &[f64], rng: &mut Rng) {
        let set = self.set;
        for curvature in [0.0, norm(v) / self.size() * 10_f64.powi(rng.integer(-3, 3))] {
            let support = set.support(v.iter().copied(), curvature);
            let gain = |u: &[f64]| dot(u, v) - 0.5 * curvature * dot(u, u);
            let grain = |u: &[f64]| ROUNDINGS * (norm(u) * norm(v) + curvature * dot(u, u));
            for _ in 0..10 {
                let u = self.member(rng);
                assert!(gain(&u) <= support + grain(&u), "{u:?} exceeds the support of {v:?}");
            }
            let best = self.best(v, curvature);
            if support.is_finite() {
                assert_close("support", support, gain(&best), grain(&best));
            } else {
                assert!(curvature == 0.0 && norm(&best) > 1e30, "the support of {v:?}");
            }
        }
        assert_eq!(set.support(vec![0.0; self.dimension].into_iter(), 0.0), 0.0);
    }

    /// argmax u·v − (κ/2)‖u‖²: the projection of v/κ, or of a point very far out.
    fn best(&self, v: &[f64], curvature: f64) -> Vec<f64> {
        let stretch = if curvature > 0.0 { 1.0 / curvature } else { 1e60 / norm(v) };
        self.projected(&v.iter().map(|v| stretch * v).collect::<Vec<_>>())
    }

    /// A point of the set as [`Weights`] and as a plain vector.
    fn weights(&self, rng: &mut Rng) -> (Weights, Vec<f64>) {
        let mut w = Weights::default();
        w.grow(self.dimension);
        let indices = all(self.dimension);
        for _ in 0..3 {
            let values = row(self.dimension, rng);
            let x = Features::new(&indices, &values).expect("a row");
            let dot = w.dot(&x);
            w.step(rng.between(-1.0, 1.0), 0.3 * self.size() * rng.bell(), &x, dot);
        }
        let plain = w.iter().collect();
        (w, plain)
    }

    /// Checks w ← shrink·w + δ·x from a point of the set, for few features and for all.
    fn check_lazy_step(&self, rng: &mut Rng) {
        for shrink in [1.0, 0.9999, 0.5, 1e-9, 0.0] {
            let (mut w, _) = self.weights(rng);
            let indices = all(self.dimension);
            let values = row(self.dimension, rng);
            let whole = Features::new(&indices, &values).expect("a row");
            self.set.project(&mut w, &whole);

            let few = 1 + rng.below(self.dimension);
            let x = Features::new(&indices[..few], &values[..few]).expect("a row");
            let advance = self.size() * rng.bell() * 10_f64.powi(rng.integer(-3, 3));
            let dot = w.dot(&x);
            w.step(shrink, advance, &x, dot);
            let expected = self.projected(&w.iter().collect::<Vec<_>>());
            self.set.project(&mut w, &x);
            let found: Vec<f64> = w.iter().collect();
            let error = distance(&found, &expected);
            assert!(error <= NORM * norm(&expected), "{found:?} is not {expected:?}");
            assert_close("running norm", w.norm(), norm(&found), NORM * norm(&found));
        }
    }

    fn check_lazy_dot(&self, rng: &mut Rng) {
        let (mut s, plain) = self.weights(rng);
        let k = rng.bell() * 10_f64.powi(rng.integer(-6, 6));
        let values = row(self.dimension, rng);
        let indices = all(self.dimension);
        let x = Features::new(&indices, &values).expect("a row");
        let expected = self.projected(&plain.iter().map(|s| k * s).collect::<Vec<_>>());
        let lazy = self.set.project_dot(&s, k, &x);
        let (size, sums) = (norm(&expected), norm(&plain));
        let length = x.norm_sq().sqrt();
        let prediction = sparse_dot(&expected, &x);
        assert_close("Π_W(k·s)·x", lazy.prediction, prediction, NORM * size * length);
        assert_close("s·x", lazy.inner, sparse_dot(&plain, &x), ROUNDINGS * sums * length);
        let scaled = self.set.project_scaled(&s, k);
        assert!(distance(&scaled, &expected) <= NORM * size, "Π_W(k·s)");

        self.set.settle(&mut s, k);
        assert_eq!(self.set.project_dot(&s, k, &x), lazy, "settling changed the prediction");
        assert_eq!(s.iter().collect::<Vec<_>>(), plain, "settling changed the sums");
    }

    fn check_sizes(&self, rng: &mut Rng) {
        let (u, v) = (self.far_out(rng), self.far_out(rng));
        let grain = 1.0 + ROUNDINGS;
        assert!(norm(&u) <= self.set.reach(self.dimension.into()) * grain, "reach");
        assert!(distance(&u, &v) <= self.set.diameter(self.dimension.into()) * grain, "diameter");
        assert!(
            self.set.reach(self.dimension.into())
                <= self.set.diameter(self.dimension.into()) * grain
        );
    }

    /// Checks that the extents are attained, and that reach and diameter are no larger than those
    /// of the bounding box, because no set can reach further.
    fn check_extents(&self) {
        let (mut far, mut wide) = (Vec::new(), Vec::new());
        for i in 0..self.dimension {
            let (lower, upper) = self.set.extent(i);
            let (low, high) = (self.axis(i, -1e90)[i], self.axis(i, 1e90)[i]);
            assert!(lower <= 0.0 && 0.0 <= upper, "0 is not in the extent");
            let open = 1e90;
            assert_close("lower extent", low, lower.max(-open), ROUNDINGS * low.abs());
            assert_close("upper extent", high, upper.min(open), ROUNDINGS * high.abs());
            far.push(upper.max(-lower));
            wide.push(upper - lower);
        }
        assert!(self.set.reach(self.dimension.into()) <= norm(&far) * (1.0 + ROUNDINGS));
        assert!(self.set.diameter(self.dimension.into()) <= norm(&wide) * (1.0 + ROUNDINGS));
    }
}

fn all(dimension: usize) -> Vec<u32> {
    (0..).take(dimension).collect()
}

fn row(dimension: usize, rng: &mut Rng) -> Vec<f32> {
    (0..dimension).map(|_| rng.bell() as f32).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn sparse_dot(a: &[f64], x: &Features<'_>) -> f64 {
    x.iter().map(|(i, x)| a[i] * x).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}
