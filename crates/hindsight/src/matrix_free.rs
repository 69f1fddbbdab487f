//! Newton's method without a matrix, for many columns and data small enough to be held in memory.
//!
//! The model of the cost at u is minimised over the comparators by conjugate gradients
//! ([`Curvature`]), and the best point between u and that minimum is taken: both are feasible, so
//! all between them are, and as all predictions along the way are known it costs no pass to find.
//!
//! A loss with a kink is smoothed first: for an anchor ā and a width q,
//!
//! ```text
//! ψ(p) = max_a (a·p − φ*(a) − (q/2)(a − ā)²) ≤ φ(p)
//! ```
//!
//! Its slopes are slopes of φ, and once they equal their anchors, ψ and φ agree. So whenever the
//! smoothed problem is solved well, the slopes become the anchors and q shrinks: the method of
//! multipliers, a proximal-point method on the dual. Every point it visits is priced, and its slopes
//! prove a lower bound.

use crate::bracket::Bracket;
use crate::conjugate::Curvature;
use crate::cost::Cost;
use crate::held::Held;
use crate::problem::{Options, Problem, Progress};
use crate::prox::{Kink, ProxLoss};
use crate::set::{dot, make_feasible};
use rueful_core::Sum;
use rueful_core::ledger::Minorant;
use rueful_core::set::FeasibleSet;

/// How many steps may go by without a narrower interval.
const PATIENCE: u32 = 30;

/// By how much q shrinks when moving the anchors does little.
const NARROWING: f64 = 0.3;

/// How much of the gap may be left after the anchors moved.
const SLOW: f64 = 0.8;

/// How well the smoothed problem is solved before the anchors move, relative to the gap.
const WELL_ENOUGH: f64 = 0.1;

pub(crate) struct MatrixFree<'a, L> {
    pub(crate) problem: &'a Problem<L>,
    pub(crate) data: &'a Held,
    pub(crate) options: &'a Options,
    pub(crate) watch: &'a mut dyn FnMut(Progress),
}

/// The smoothing: an anchor an example, and a width.
struct Smoothing {
    anchors: Vec<f64>,
    width: f64,
}

/// The smoothed loss of one example.
struct Smooth {
    value: f64,
    slope: f64,
    curvature: f64,
}

/// A point, and what was found there.
struct Standing {
    u: Vec<f64>,
    predictions: Vec<f64>,
    slopes: Vec<f64>,
    weights: Vec<f64>,
    gradient: Vec<f64>,
    /// The diagonal of the second derivatives of the losses.
    diagonal: Vec<f64>,
    /// The smoothed objective, and how far it can be from its minimum.
    value: f64,
    smooth_gap: f64,
}

/// What the data is like, example by example and column by column.
struct Scales {
    labels: Vec<f64>,
    /// Σ x_i² per column
    energies: Vec<f64>,
    /// σT
    curvature: f64,
    kinked: bool,
}

impl<L: ProxLoss> MatrixFree<'_, L> {
    /// Narrows the bracket from the point u and the slopes on; `spread` is the size of a typical
    /// residual.
    pub(crate) fn solve(
        &mut self,
        u: Vec<f64>,
        slopes: Vec<f64>,
        spread: f64,
        bracket: &mut Bracket,
    ) {
        let scales = self.scales(u.len());
        let mut smoothing = Smoothing { anchors: slopes, width: spread };
        smoothing.anchors.resize(scales.labels.len(), 0.0);
        smoothing.anchors.iter_mut().filter(|a| !a.is_finite()).for_each(|a| *a = 0.0);
        let mut at = self.visit(u, &smoothing, &scales, bracket);
        let mut damping = 1e-3;
        let mut gap_before = f64::INFINITY;
        let mut patience = PATIENCE;
        while patience > 0 && !bracket.is_done(self.options) {
            let gap = bracket.relative_gap();
            if scales.kinked && at.smooth_gap <= WELL_ENOUGH * (bracket.upper - bracket.lower) {
                smoothing.anchors.copy_from_slice(&at.slopes);
                // Narrower is faster and harder: only where the anchors alone are too slow.
                if bracket.upper - bracket.lower > SLOW * gap_before {
                    smoothing.width = (smoothing.width * NARROWING).max(1e-10 * spread);
                }
                gap_before = bracket.upper - bracket.lower;
                at = self.visit(at.u, &smoothing, &scales, bracket);
            }
            let v = self.step(&at, damping, &smoothing, &scales, bracket);
            let (u, length) = self.search(&at, &v, &smoothing, &scales);
            let there = self.visit(u, &smoothing, &scales, bracket);
            damping = damped(damping, length);
            let progress = at.value - there.value;
            if progress > 0.0 {
                at = there;
            } else {
                damping *= 4.0;
                if damping > 1e3 {
                    // As far as rounding lets one go: better anchors are all that is left.
                    (at.smooth_gap, damping) = (0.0, 1e-3);
                }
            }
            let better = bracket.relative_gap() < gap || progress > 1e-9 * at.value.abs();
            patience = if better { PATIENCE } else { patience - 1 };
        }
    }

    fn scales(&self, dimension: usize) -> Scales {
        let mut energies = vec![0.0; dimension];
        let mut labels = Vec::new();
        for example in self.data.examples() {
            labels.push(example.label);
            example.features.iter().for_each(|(i, x)| energies[i] += x * x);
        }
        let curvature = self.problem.sigma.get() * labels.len() as f64;
        let kinked = labels.first().is_some_and(|&y| self.problem.loss.kink(y).is_some());
        Scales { labels, energies, curvature, kinked }
    }

    #[inline]
    fn smooth(&self, p: f64, label: f64, anchor: f64, width: f64) -> Smooth {
        match self.problem.loss.kink(label) {
            Some(kink) => smooth_kink(&kink, p, anchor, width),
            None => {
                let at = self.problem.loss.at(p, label);
                let curvature = self.problem.loss.curvature(p, label);
                Smooth { value: at.value, slope: at.slope, curvature }
            }
        }
    }

    /// One pass at u.
    fn visit(
        &mut self,
        u: Vec<f64>,
        smoothing: &Smoothing,
        scales: &Scales,
        bracket: &mut Bracket,
    ) -> Standing {
        let problem = self.problem;
        let rounds = scales.labels.len();
        let mut cost = Cost::at(&u);
        let mut minorant = Minorant::new(problem.sigma);
        minorant.grow(u.len());
        let mut at = Standing {
            predictions: Vec::with_capacity(rounds),
            slopes: Vec::with_capacity(rounds),
            weights: Vec::with_capacity(rounds),
            gradient: Vec::new(),
            diagonal: vec![0.0; u.len()],
            value: 0.0,
            smooth_gap: 0.0,
            u,
        };
        let (mut value, mut moved) = (Sum::default(), Sum::default());
        for (example, &anchor) in self.data.examples().zip(&smoothing.anchors) {
            let x = &example.features;
            let p = x.dot(&at.u);
            let smooth = self.smooth(p, example.label, anchor, smoothing.width);
            cost.add(problem.loss.at(p, example.label), x);
            minorant.record_dual(
                x,
                smooth.slope,
                problem.loss.conjugate(smooth.slope, example.label),
            );
            value.add(smooth.value);
            if scales.kinked {
                moved.add(0.5 * smoothing.width * (smooth.slope - anchor).powi(2));
            }
            if smooth.curvature != 0.0 {
                x.iter().for_each(|(i, x)| at.diagonal[i] += smooth.curvature * x * x);
            }
            at.predictions.push(p);
            at.slopes.push(smooth.slope);
            at.weights.push(smooth.curvature);
        }
        bracket.tell(&cost, &at.u, &minorant, &problem.comparators, self.watch);
        let slopes = minorant.slopes();
        at.gradient = slopes.iter().zip(&at.u).map(|(s, u)| s + scales.curvature * u).collect();
        at.value = value.value() + 0.5 * scales.curvature * dot(&at.u, &at.u);
        let gain = problem.comparators.support(slopes.iter().map(|s| -s), scales.curvature);
        at.smooth_gap = at.value - (minorant.offset() - gain - moved.value());
        at
    }

    /// The minimum of the model, damped relative to each column's own scale.
    fn step(
        &self,
        at: &Standing,
        damping: f64,
        smoothing: &Smoothing,
        scales: &Scales,
        bracket: &mut Bracket,
    ) -> Vec<f64> {
        let steepest = if scales.kinked {
            1.0 / smoothing.width
        } else {
            at.weights.iter().fold(f64::MIN_POSITIVE, |most, &w| most.max(w))
        };
        let extra: Vec<f64> =
            scales.energies.iter().map(|e| scales.curvature + damping * steepest * e).collect();
        let diagonal = at.diagonal.iter().zip(&extra).map(|(d, e)| d + e).collect();
        let mut model =
            Curvature { data: self.data, weights: &at.weights, extra, diagonal, passes: 0 };
        let mut v = model.minimise(&at.gradient, &at.u, &self.problem.comparators);
        bracket.passes += model.passes;
        make_feasible(&self.problem.comparators, &mut v);
        v
    }

    /// The best point from u to v, and how far along it is: the slope along the way increases, and
    /// is zero there.
    fn search(
        &self,
        at: &Standing,
        v: &[f64],
        smoothing: &Smoothing,
        scales: &Scales,
    ) -> (Vec<f64>, f64) {
        let step: Vec<f64> = v.iter().zip(&at.u).map(|(v, u)| v - u).collect();
        let changes: Vec<f64> = self.data.examples().map(|e| e.features.dot(&step)).collect();
        let (along, square) = (dot(&at.u, &step), dot(&step, &step));
        let slope = |length: f64| {
            let mut slope = scales.curvature * (along + length * square);
            for (t, &change) in changes.iter().enumerate() {
                let p = at.predictions[t] + length * change;
                let anchor = smoothing.anchors[t];
                slope += change * self.smooth(p, scales.labels[t], anchor, smoothing.width).slope;
            }
            slope
        };
        let length = zero_between(slope);
        let mut u: Vec<f64> = at.u.iter().zip(&step).map(|(u, s)| u + length * s).collect();
        make_feasible(&self.problem.comparators, &mut u);
        (u, length)
    }
}

/// The damping after a step that went so far: it rises fast and falls slowly, for a model trusted
/// too early costs many products and leads nowhere.
fn damped(damping: f64, length: f64) -> f64 {
    if length < 0.1 {
        damping * 16.0
    } else if length < 0.5 {
        damping * 2.0
    } else {
        (damping * 0.7).max(1e-13)
    }
}

/// ψ for two lines that meet.
#[inline]
fn smooth_kink(kink: &Kink, p: f64, anchor: f64, width: f64) -> Smooth {
    let r = p - kink.at;
    let free = r / width + anchor;
    let slope = free.clamp(kink.low, kink.high);
    let inside = kink.low < free && free < kink.high;
    let away = slope - anchor;
    Smooth {
        value: slope * r - 0.5 * width * away * away,
        slope,
        curvature: if inside { 1.0 / width } else { 0.0 },
    }
}

/// Where in [0, 1] an increasing function is zero, to a thousandth: 1 if it is never positive.
fn zero_between(f: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    let (mut at_low, mut at_high) = (f(0.0), f(1.0));
    if at_high <= 0.0 {
        return 1.0;
    }
    let small = 1e-3 * at_low.abs();
    for _ in 0..40 {
        if at_low >= 0.0 {
            break;
        }
        // The secant, kept off the ends.
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
