//! Quadratics over a ball, a box or all of R^d without a matrix, for many columns.
//!
//! H = Σ w_t x_t x_tᵀ + diag(extra) is only ever multiplied by a vector, one pass over the data
//! each, and linear systems are solved by conjugate gradients with the diagonal of H as the
//! preconditioner. The solutions only steer: nothing that is proved rests on them.

use crate::held::Held;
use crate::set::{dot, norm};
use rueful_core::set::{AnySet, Ball, BoxSet, FeasibleSet};

/// How much smaller than the right-hand side a residual has to be.
const ACCURACY: f64 = 1e-3;

/// The most products for one linear system.
const MAX_STEPS: usize = 400;

/// Second derivatives, as something to multiply with.
#[derive(Debug)]
pub(crate) struct Curvature<'a> {
    pub(crate) data: &'a Held,
    /// w, one an example; zeros are skipped.
    pub(crate) weights: &'a [f64],
    /// What is added to the diagonal.
    pub(crate) extra: Vec<f64>,
    /// The diagonal of the whole.
    pub(crate) diagonal: Vec<f64>,
    /// How many passes over the data this took.
    pub(crate) passes: u64,
}

impl Curvature<'_> {
    /// argmin over v in the set of g·(v − u) + ½(v − u)ᵀH(v − u), as well as it pays.
    pub(crate) fn minimise(&mut self, gradient: &[f64], u: &[f64], set: &AnySet) -> Vec<f64> {
        match set {
            AnySet::WholeSpace(_) => self.minimise_free(gradient, u),
            AnySet::Ball(ball) => self.minimise_in_ball(gradient, u, ball),
            AnySet::Box(sides) => self.minimise_in_box(gradient, u, sides),
        }
    }

    /// H·v
    fn product(&mut self, v: &[f64]) -> Vec<f64> {
        self.passes += 1;
        let mut product: Vec<f64> = self.extra.iter().zip(v).map(|(e, v)| e * v).collect();
        for (example, &weight) in self.data.examples().zip(self.weights) {
            if weight != 0.0 {
                example.features.add_to(&mut product, weight * example.features.dot(v));
            }
        }
        product
    }

    /// Improves s as a solution of (H + shift·I)s = right on the coordinates that are not held.
    fn solve(&mut self, shift: f64, right: &[f64], held: Option<&[bool]>, s: &mut [f64]) {
        let inverse: Vec<f64> = (0..s.len())
            .map(|i| {
                let entry = self.diagonal[i] + shift;
                if entry > 0.0 && !held.is_some_and(|held| held[i]) { 1.0 / entry } else { 0.0 }
            })
            .collect();
        let size = |r: &[f64]| -> f64 { r.iter().zip(&inverse).map(|(r, m)| r * r * m).sum() };
        let target = ACCURACY * ACCURACY * size(right);
        let mut residual = right.to_vec();
        if s.iter().any(|&s| s != 0.0) {
            let product = self.product(s);
            for i in 0..s.len() {
                residual[i] -= product[i] + shift * s[i];
            }
        }
        let mut direction: Vec<f64> = residual.iter().zip(&inverse).map(|(r, m)| r * m).collect();
        let mut left = size(&residual);
        for _ in 0..MAX_STEPS {
            if left <= target {
                break;
            }
            let mut bent = self.product(&direction);
            bent.iter_mut().zip(&direction).for_each(|(b, d)| *b += shift * d);
            let curved = dot(&direction, &bent);
            if !(curved > 0.0 && curved.is_finite()) {
                break;
            }
            let length = left / curved;
            for i in 0..s.len() {
                s[i] += length * direction[i];
                residual[i] -= length * bent[i];
            }
            let now = size(&residual);
            for i in 0..s.len() {
                direction[i] = residual[i] * inverse[i] + now / left * direction[i];
            }
            left = now;
        }
    }

    fn minimise_free(&mut self, gradient: &[f64], u: &[f64]) -> Vec<f64> {
        let right: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let mut s = vec![0.0; u.len()];
        self.solve(0.0, &right, None, &mut s);
        sum(u, &s)
    }

    /// v(ν) = u − (H + νI)⁻¹(g + νu) with ν = 0 if that is inside, else the ν > 0 for which
    /// ‖v‖ = U: Newton's method on 1/‖v(ν)‖, to a hundredth of the step. It starts from the ν for
    /// which g + νu has no part along u: once u is the solution, that is the one.
    fn minimise_in_ball(&mut self, gradient: &[f64], u: &[f64], ball: &Ball) -> Vec<f64> {
        let radius = ball.radius.get();
        let near = norm(u) > 0.9 * radius;
        let mut shift = if near { (-dot(u, gradient) / dot(u, u)).max(0.0) } else { 0.0 };
        let mut s = vec![0.0; u.len()];
        let mut change = vec![0.0; u.len()];
        let mut v = u.to_vec();
        for _ in 0..12 {
            let right: Vec<f64> = gradient.iter().zip(u).map(|(g, u)| -g - shift * u).collect();
            self.solve(shift, &right, None, &mut s);
            v = sum(u, &s);
            let long = norm(&v);
            let close = (0.01 * norm(&s)).max(1e-13 * radius);
            if shift == 0.0 && long <= radius || (long - radius).abs() <= close {
                break;
            }
            let right: Vec<f64> = v.iter().map(|v| -v).collect();
            self.solve(shift, &right, None, &mut change);
            let shrinks = -dot(&v, &change);
            let next = (shift + long * long / shrinks * (long - radius) / radius).max(0.0);
            if !next.is_finite() || next == shift {
                break;
            }
            shift = next;
        }
        ball.project_dense(&mut v);
        v
    }

    /// Rounds of scaled gradient steps, which find out which sides hold, and conjugate gradients on
    /// the coordinates they do not hold.
    fn minimise_in_box(&mut self, gradient: &[f64], u: &[f64], sides: &BoxSet) -> Vec<f64> {
        let mut v = u.to_vec();
        let mut g = gradient.to_vec();
        let mut most = 0.0;
        for _ in 0..8 {
            let mut gain = 0.0;
            for _ in 0..3 {
                let downhill = self.downhill(&v, &g, sides);
                gain += self.step_along(&mut v, &mut g, &downhill, sides);
            }
            let held = held_by(&v, &g, sides);
            let right: Vec<f64> =
                g.iter().zip(&held).map(|(g, held)| if *held { 0.0 } else { -g }).collect();
            let mut s = vec![0.0; v.len()];
            self.solve(0.0, &right, Some(&held), &mut s);
            gain += self.step_along(&mut v, &mut g, &s, sides);
            most = gain.max(most);
            if gain <= 0.05 * most {
                break;
            }
        }
        v
    }

    /// Down the gradient on the coordinates that can move, each on its own scale, as far as the
    /// quadratic falls without the sides: what is then cut off at the sides reaches them.
    fn downhill(&mut self, v: &[f64], gradient: &[f64], sides: &BoxSet) -> Vec<f64> {
        let held = held_by(v, gradient, sides);
        let mut direction: Vec<f64> = (0..v.len())
            .map(|i| {
                let movable = self.diagonal[i] > 0.0 && !held[i];
                if movable { -gradient[i] / self.diagonal[i] } else { 0.0 }
            })
            .collect();
        let bent = self.product(&direction);
        let length = -dot(gradient, &direction) / dot(&direction, &bent);
        if length.is_finite() {
            direction.iter_mut().for_each(|d| *d *= length);
        }
        direction
    }

    /// Goes along a direction bent at the sides, half as far as long as the quadratic does not fall
    /// enough: ending on a side is what tells that it holds. Returns by how much it fell.
    fn step_along(
        &mut self,
        v: &mut [f64],
        gradient: &mut [f64],
        direction: &[f64],
        sides: &BoxSet,
    ) -> f64 {
        let mut length = 1.0;
        for _ in 0..10 {
            let step: Vec<f64> = (0..v.len())
                .map(|i| {
                    let (lower, upper) = sides.extent(i);
                    (v[i] + length * direction[i]).clamp(lower, upper) - v[i]
                })
                .collect();
            let falls = -dot(gradient, &step);
            if falls > 0.0 && falls.is_finite() {
                let bent = self.product(&step);
                let gain = falls - 0.5 * dot(&step, &bent);
                if gain >= 0.1 * falls {
                    v.iter_mut().zip(&step).for_each(|(v, s)| *v += s);
                    gradient.iter_mut().zip(&bent).for_each(|(g, b)| *g += b);
                    sides.project_dense(v);
                    return gain;
                }
            }
            length *= 0.5;
        }
        0.0
    }
}

/// The coordinates that a side stops from going down their gradient.
fn held_by(v: &[f64], gradient: &[f64], sides: &BoxSet) -> Vec<bool> {
    let held = |(i, (&v, &g)): (usize, (&f64, &f64))| {
        let (lower, upper) = sides.extent(i);
        v <= lower && g >= 0.0 || v >= upper && g <= 0.0
    };
    v.iter().zip(gradient).enumerate().map(held).collect()
}

/// a + b
fn sum(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}
