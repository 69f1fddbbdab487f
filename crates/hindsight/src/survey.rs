//! The first pass, which learns the shape of the data and finds a first interval.
//!
//! It prices the comparator to start from. It also computes the lower bound that the first slopes
//! prove: those of an online pass if they are given, else those of the losses at that comparator.
//! So one pass is enough for an interval. Ascent starts from the slopes that are given, and from 0
//! otherwise: the slopes of one comparator are all at their ends, and take long to come away from
//! there.

use crate::bracket::Bracket;
use crate::cost::Cost;
use crate::counted::Counted;
use crate::passes::Passes;
use crate::problem::{Options, Problem, Progress, Source, Start};
use crate::proof::Proof;
use crate::set::{make_feasible, norm};
use rueful_core::loss::Loss;
use rueful_core::set::FeasibleSet;
use std::ops::ControlFlow;

/// The shape of the data, as the first pass finds it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) examples: u64,
    pub(crate) dimension: usize,
    pub(crate) nonzeros: u64,
    /// F(0), rounded up.
    pub(crate) at_zero: f64,
    /// The size of a typical residual at u = 0.
    pub(crate) spread: f64,
    /// The typical size of the cost: F(0), or for losses that can be negative the most that the
    /// slopes at 0 can gain over the set.
    pub(crate) size: f64,
    /// Whether the losses have a kink.
    pub(crate) kinked: bool,
}

impl Shape {
    /// The number of passes that make some 10¹⁰ multiplications, but neither too few nor too many.
    pub(crate) fn affordable_passes(&self) -> u64 {
        let work = self.nonzeros + self.examples + self.dimension as u64 + 1;
        (10_000_000_000 / work).clamp(300, 50_000)
    }
}

/// A dual point: a slope per example, and S = Σ a_t x_t.
#[derive(Debug, Clone)]
pub(crate) struct Dual {
    pub(crate) slopes: Vec<f64>,
    pub(crate) sum: Vec<f64>,
}

/// The result of the first pass.
pub(crate) struct Survey {
    pub(crate) shape: Shape,
    /// The dual point from which ascent starts.
    pub(crate) dual: Dual,
    /// ‖S‖ of the slopes that the first pass used for its lower bound.
    pub(crate) steepness: f64,
    pub(crate) bracket: Bracket,
}

/// Makes the first pass.
pub(crate) fn survey<L: Loss, P: Passes>(
    problem: &Problem<L>,
    data: &mut P,
    start: Start,
    options: &Options,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Survey, P::Error> {
    let given = start.slopes;
    let mut u = start.comparator;
    let starts_at_zero = u.iter().all(|&u| u == 0.0);
    make_feasible(&problem.comparators, &mut u);
    let (mut at_zero, mut at_start) = (Cost::at(&[], false), Cost::at(&u, false));
    let mut proof = Proof::new(problem.sigma, u.len(), false);
    let mut slopes = Vec::with_capacity(given.len());
    let (mut dimension, mut nonzeros, mut steepness) = (0, 0, 0.0);
    let mut kinked = false;
    data.pass(&mut |rows| {
        u.resize(u.len().max(rows.dimension()), 0.0);
        proof.grow(u.len());
        for example in rows.iter() {
            let x = &example.features;
            let loss = Counted::new(problem.loss, &example);
            let zero = at_zero.add(&problem.loss, &example, 0.0);
            let p = if starts_at_zero { 0.0 } else { x.dot(&u) };
            let here = at_start.add(&problem.loss, &example, p);
            let first = given.get(slopes.len()).copied();
            let first = first.filter(|&a| loss.conjugate(a).is_finite());
            let slope = first.unwrap_or(here.slope);
            proof.add(&problem.loss, &example, slope);
            slopes.push(first.unwrap_or(0.0));
            steepness += zero.slope.abs() * x.norm_sq().sqrt();
            kinked = kinked || loss.kink().is_some();
            dimension = dimension.max(x.dimension());
            nonzeros += x.len() as u64;
        }
    })?;
    let examples = slopes.len();
    let used = u.iter().rposition(|u| *u != 0.0).map_or(0, |last| last + 1);
    let dimension = dimension.max(used);
    u.resize(dimension, 0.0);
    let zero = at_zero.upper(0.0);
    let curvature = problem.sigma.get() * examples as f64;
    let shape = Shape {
        examples: examples as u64,
        dimension,
        nonzeros,
        at_zero: zero,
        spread: spread(zero, examples),
        size: if problem.loss.is_nonnegative() {
            zero
        } else {
            largest_gain(problem.comparators.reach(dimension.into()), steepness, curvature)
        },
        kinked,
    };
    let (lower, lower_from) = known_below(&problem.loss, start.lower);
    let mut bracket = Bracket::new(lower, lower_from, &shape, options);
    if bracket.tell(&at_start, &u, &mut proof, &problem.comparators, watch) && !given.is_empty() {
        bracket.slopes.clone_from(&slopes);
    }
    let mut sum = proof.slopes().to_vec();
    sum.resize(dimension, 0.0);
    let steepness = norm(&sum);
    if given.is_empty() && !problem.loss.is_linear() {
        sum.fill(0.0);
    }
    Ok(Survey { shape, dual: Dual { slopes, sum }, steepness, bracket })
}

/// The lower bound on the minimum that is known beforehand, and its origin.
pub(crate) fn known_below(loss: &impl Loss, given: Option<f64>) -> (f64, Source) {
    let sign = if loss.is_nonnegative() { 0.0 } else { f64::NEG_INFINITY };
    match given {
        Some(given) if given > sign => (given, Source::Start),
        _ => (sign, Source::Sign),
    }
}

/// F(0)/T, or 1 where that is 0.
pub(crate) fn spread(at_zero: f64, examples: usize) -> f64 {
    let spread = at_zero.abs() / (examples as f64).max(1.0);
    if spread > 0.0 { spread } else { 1.0 }
}

/// sup over ‖u‖ ≤ reach of s‖u‖ − (κ/2)‖u‖², where the reach is finite or κ is positive.
fn largest_gain(reach: f64, s: f64, curvature: f64) -> f64 {
    if reach.is_finite() { reach * s } else { s * s / (2.0 * curvature) }
}
