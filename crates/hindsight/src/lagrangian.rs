//! The cost, smoothed around guesses of its multipliers.
//!
//! With a guess ā of the slope and a width q, a loss with a kink becomes
//!
//! ```text
//! ψ(p) = max_a (a·p − φ*(a) − (q/2)(a − ā)²) ≤ φ(p)
//! ```
//!
//! The slopes of ψ are slopes of φ. Once they equal their guess, ψ and φ agree. Losses without a
//! kink stay as they are. With a guess m̄ of its normal and widths ρ_i, the set becomes
//!
//! ```text
//! ω(u) = Σ (ρ_i/2) m_i²,    m = (z − Π(z))/ρ,    z = u + ρm̄
//! ```
//!
//! Last, Σ (c_i/2)(u_i − ū_i)² keeps u near a center, so that there is one minimum. The c_i and
//! 1/ρ_i are in proportion to Σ_t x_ti², the scale of the column (on a ball, ρ is the same for
//! all).

use crate::counted::Counted;
use crate::held::Held;
use crate::problem::Problem;
use crate::products::Member;
use crate::set::norm;
use crate::system::System;
use rueful_core::Sum;
use rueful_core::loss::{Kink, Loss};
use rueful_core::set::{AnySet, FeasibleSet};

/// How strongly the center pulls, relative to the losses. The first number holds at the beginning
/// with kinks. The second holds at the beginning without kinks, where the pull only makes sure that
/// there is one minimum. The third holds at last.
const FIRST_PULL: f64 = 1e-2;
const FIRST_PULL_WITHOUT_KINKS: f64 = 1e-6;
const LAST_PULL: f64 = 1e-12;

/// The widths stay within these multiples of the first one.
const WIDTHS: (f64, f64) = (1e-9, 10.0);

/// The smoothed cost of a problem.
pub(crate) struct Lagrangian<'a, L> {
    problem: &'a Problem<L>,
    data: &'a Held<'a>,
    losses: Vec<Counted<L>>,
    nonzeros: f64,
    /// Σ_t x_ti², and its mean over the columns that occur.
    energies: Vec<f64>,
    mean_energy: f64,
    /// The curvature σT.
    curvature: f64,
    kinked: bool,
    /// The guesses ā and m̄, and the center ū.
    slopes: Vec<f64>,
    normal: Vec<f64>,
    center: Vec<f64>,
    /// The width q, which is also ρ_i times the energy of a column, and its first value.
    width: f64,
    first_width: f64,
    /// c_i over the energy of a column, as a part of the level.
    pull: f64,
    /// The mean curvature of losses without a kink, and 1 for those with one. Near the solution the
    /// curvature can be next to nothing, and the set and the center must not outweigh it.
    level: f64,
}

/// A point, and the results of a pass there.
pub(crate) struct Standing {
    pub(crate) u: Vec<f64>,
    /// ψ' at its predictions.
    pub(crate) slopes: Vec<f64>,
    pub(crate) gradient: Vec<f64>,
    pub(crate) value: f64,
    predictions: Vec<f64>,
    /// ψ'' at its predictions.
    weights: Vec<f64>,
    /// The normal m.
    normal: Vec<f64>,
}

/// The smoothed loss of one example.
struct Smooth {
    value: f64,
    slope: f64,
    curvature: f64,
}

impl<'a, L: Loss> Lagrangian<'a, L> {
    /// The smoothed cost around the slopes, one per example, and the point u. `spread` is the size
    /// of a typical residual.
    pub(crate) fn new(
        problem: &'a Problem<L>,
        data: &'a Held<'a>,
        u: &[f64],
        mut slopes: Vec<f64>,
        spread: f64,
    ) -> Self {
        let mut energies = vec![0.0; u.len()];
        let mut losses = Vec::new();
        let mut nonzeros = 1.0;
        let mut sum = vec![0.0; u.len()];
        let mut curvatures = Sum::default();
        slopes.iter_mut().filter(|a| !a.is_finite()).for_each(|a| *a = 0.0);
        for (example, &slope) in data.examples().zip(&slopes) {
            let loss = Counted::new(problem.loss, &example);
            losses.push(loss);
            example.features.add_to(&mut sum, slope);
            curvatures.add(loss.curvature(example.features.dot(u)));
            nonzeros += example.features.len() as f64;
            example.features.iter().for_each(|(i, x)| energies[i] += x * x);
        }
        let occur = energies.iter().filter(|e| **e > 0.0).count().max(1);
        let total: f64 = energies.iter().sum();
        let mean_energy = if total > 0.0 { total / occur as f64 } else { 1.0 };
        energies.iter_mut().for_each(|e| *e = e.max(1e-9 * mean_energy));
        let rounds = losses.len();
        let curvature = problem.sigma.get() * rounds as f64;
        let kinked = losses.first().is_some_and(|loss| loss.kink().is_some());
        let width = if kinked { spread } else { 1.0 };
        Self {
            problem,
            data,
            curvature,
            losses,
            nonzeros,
            energies,
            mean_energy,
            kinked,
            slopes,
            normal: first_normal(&problem.comparators, u, &sum, curvature),
            center: u.to_vec(),
            width,
            first_width: width,
            pull: if kinked { FIRST_PULL } else { FIRST_PULL_WITHOUT_KINKS } / width,
            level: if kinked { 1.0 } else { level(curvatures, rounds) },
        }
    }

    /// The number of nonzeros in the data.
    pub(crate) fn nonzeros(&self) -> f64 {
        self.nonzeros
    }

    /// Makes the slopes, the normal and the point that were found the new guesses.
    pub(crate) fn take(&mut self, at: &Standing) {
        self.slopes.copy_from_slice(&at.slopes);
        self.normal.copy_from_slice(&at.normal);
        self.center.copy_from_slice(&at.u);
        if !self.kinked {
            self.level = level(at.weights.iter().copied().collect(), at.weights.len());
        }
    }

    /// Widens or narrows the smoothing. The pull only ever gets weaker.
    pub(crate) fn scale(&mut self, factor: f64) {
        let (least, most) = WIDTHS;
        let first = self.first_width;
        self.width = (self.width * factor).clamp(least * first, most * first);
        self.pull = (self.pull * factor.min(1.0)).max(LAST_PULL / first);
    }

    /// The distance of the point, its slopes and its normal from the guesses, in units of the
    /// value.
    pub(crate) fn moved(&self, at: &Standing) -> f64 {
        let mut moved = Sum::default();
        if self.kinked {
            let pairs = at.slopes.iter().zip(&self.slopes);
            moved.extend(pairs.map(|(a, guess)| self.width * (a - guess).powi(2)));
        }
        for i in 0..at.u.len() {
            moved.add(self.give(i) * (at.normal[i] - self.normal[i]).powi(2));
            moved.add(self.pull(i) * (at.u[i] - self.center[i]).powi(2));
        }
        0.5 * moved.value()
    }

    /// The width ρ_i.
    fn give(&self, i: usize) -> f64 {
        match &self.problem.comparators {
            AnySet::Box(_) => self.width / (self.level * self.energies[i]),
            _ => self.width / (self.level * self.mean_energy),
        }
    }

    /// The strength c_i of the pull.
    fn pull(&self, i: usize) -> f64 {
        self.pull * self.level * self.energies[i]
    }

    #[inline]
    fn smooth(&self, loss: &Counted<L>, p: f64, guess: f64) -> Smooth {
        match loss.kink() {
            Some(kink) => smooth_kink(&kink, p, guess, self.width),
            None => {
                let at = loss.at(p);
                let curvature = loss.curvature(p);
                Smooth { value: at.value, slope: at.slope, curvature }
            }
        }
    }

    /// Makes one pass at u.
    pub(crate) fn visit(&self, u: Vec<f64>) -> Standing {
        let rounds = self.losses.len();
        let mut at = Standing {
            slopes: Vec::with_capacity(rounds),
            gradient: vec![0.0; u.len()],
            value: 0.0,
            predictions: Vec::with_capacity(rounds),
            weights: Vec::with_capacity(rounds),
            normal: self.normal_at(&u),
            u,
        };
        let mut value = Sum::default();
        let guesses = self.losses.iter().zip(&self.slopes);
        for (example, (loss, &guess)) in self.data.examples().zip(guesses) {
            let p = example.features.dot(&at.u);
            let smooth = self.smooth(loss, p, guess);
            value.add(smooth.value);
            if smooth.slope != 0.0 {
                example.features.add_to(&mut at.gradient, smooth.slope);
            }
            at.predictions.push(p);
            at.slopes.push(smooth.slope);
            at.weights.push(smooth.curvature);
        }
        for i in 0..at.u.len() {
            let (u, m) = (at.u[i], at.normal[i]);
            let away = u - self.center[i];
            value.add(0.5 * self.give(i) * m * m);
            value.add(0.5 * (self.curvature * u * u + self.pull(i) * away * away));
            at.gradient[i] += self.curvature * u + m + self.pull(i) * away;
        }
        at.value = value.value();
        at
    }

    /// The normal m at u.
    fn normal_at(&self, u: &[f64]) -> Vec<f64> {
        let shifted = |i: usize| u[i] + self.give(i) * self.normal[i];
        match &self.problem.comparators {
            AnySet::WholeSpace(_) => vec![0.0; u.len()],
            AnySet::Box(sides) => {
                let beyond = |i: usize| {
                    let (lower, upper) = sides.extent(i);
                    (shifted(i) - shifted(i).clamp(lower, upper)) / self.give(i)
                };
                (0..u.len()).map(beyond).collect()
            }
            AnySet::Ball(ball) => {
                let mut z: Vec<f64> = (0..u.len()).map(shifted).collect();
                let beyond = (1.0 - ball.radius.get() / norm(&z)).max(0.0);
                z.iter_mut().for_each(|z| *z *= beyond / self.give(0));
                z
            }
        }
    }

    /// The second derivatives at a point: those of the losses, c and σT, and those of ω. The latter
    /// are 1/ρ_i beyond a side of a box. On a ball they are (1 − U/‖z‖)/ρ, and along z as much as
    /// 1/ρ.
    pub(crate) fn system(&self, at: &Standing) -> System<'a> {
        let all = self.data.examples().zip(&at.weights).enumerate();
        let members = all.map(|(place, (example, &weight))| Member {
            place,
            features: example.features,
            weight,
        });
        let rows: Vec<Member<'a>> = members.filter(|member| member.weight > 0.0).collect();
        let mut extra: Vec<f64> = (0..at.u.len()).map(|i| self.curvature + self.pull(i)).collect();
        let mut along = None;
        match &self.problem.comparators {
            AnySet::WholeSpace(_) => (),
            AnySet::Box(_) => {
                let beyond = extra.iter_mut().enumerate().filter(|(i, _)| at.normal[*i] != 0.0);
                beyond.for_each(|(i, e)| *e += 1.0 / self.give(i));
            }
            AnySet::Ball(ball) => {
                let (give, long) = (self.give(0), norm(&at.normal));
                if long > 0.0 {
                    let radius = ball.radius.get();
                    let inside = radius / (radius + give * long);
                    extra.iter_mut().for_each(|e| *e += (1.0 - inside) / give);
                    let z = at.normal.iter().map(|m| m / long).collect();
                    along = Some((inside / give, z));
                }
            }
        }
        System { rows, extra, along }
    }

    /// The lowest point along the direction s.
    pub(crate) fn search(&self, at: &Standing, s: &[f64]) -> Vec<f64> {
        let changes: Vec<f64> = self.data.examples().map(|e| e.features.dot(s)).collect();
        let point =
            |length: f64| at.u.iter().zip(s).map(|(u, s)| u + length * s).collect::<Vec<f64>>();
        let length = zero_of(|length| {
            let u = point(length);
            let normal = self.normal_at(&u);
            let mut slope = Sum::default();
            for i in 0..u.len() {
                let pull = self.pull(i) * (u[i] - self.center[i]);
                slope.add(s[i] * (self.curvature * u[i] + normal[i] + pull));
            }
            for (t, &change) in changes.iter().enumerate() {
                let p = at.predictions[t] + length * change;
                slope.add(change * self.smooth(&self.losses[t], p, self.slopes[t]).slope);
            }
            slope.value()
        });
        point(length)
    }
}

/// The force that keeps u where it is, if there is one. On a side of the box the gradient S + κu of
/// the cost is the opposite of the normal, and between the sides the normal is 0. A ball has one
/// number to learn, and starts with 0.
fn first_normal(set: &AnySet, u: &[f64], sum: &[f64], curvature: f64) -> Vec<f64> {
    let AnySet::Box(sides) = set else { return vec![0.0; u.len()] };
    let normal = |(i, (&u, &sum)): (usize, (&f64, &f64))| {
        let (lower, upper) = sides.extent(i);
        let against = -(sum + curvature * u);
        if u >= upper && against > 0.0 || u <= lower && against < 0.0 { against } else { 0.0 }
    };
    u.iter().zip(sum).enumerate().map(normal).collect()
}

/// The mean of curvatures, kept above 0.
fn level(curvatures: Sum, rounds: usize) -> f64 {
    (curvatures.value() / rounds.max(1) as f64).max(1e-100)
}

/// The smoothed loss ψ for two lines that meet.
#[inline]
fn smooth_kink(kink: &Kink, p: f64, guess: f64, width: f64) -> Smooth {
    let r = p - kink.at;
    let free = r / width + guess;
    let slope = free.clamp(kink.low, kink.high);
    let inside = kink.low < free && free < kink.high;
    let away = slope - guess;
    Smooth {
        value: slope * r - 0.5 * width * away * away,
        slope,
        curvature: if inside { 1.0 / width } else { 0.0 },
    }
}

/// The point, at most 64, where an increasing function that is negative at 0 is zero. It is found
/// up to a hundredth of the value at 0.
fn zero_of(f: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    let (mut at_low, mut at_high) = (f(0.0), f(1.0));
    let small = 1e-2 * at_low.abs();
    while at_high < -small && high < 64.0 {
        (low, at_low) = (high, at_high);
        high *= 2.0;
        at_high = f(high);
    }
    if at_high <= small {
        return high;
    }
    for _ in 0..40 {
        if at_low >= 0.0 {
            break;
        }
        // The secant is kept off the ends.
        let middle = low + (high - low) * (at_low / (at_low - at_high)).clamp(0.05, 0.95);
        let at_middle = f(middle);
        if at_middle.abs() <= small {
            return middle;
        }
        if at_middle < 0.0 {
            (low, at_low) = (middle, at_middle);
        } else {
            (high, at_high) = (middle, at_middle);
        }
    }
    low
}
