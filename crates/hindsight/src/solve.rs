//! Which method, from where, and what it comes to.

use crate::ascent::Ascent;
use crate::bracket::Bracket;
use crate::cost::Cost;
use crate::held::Held;
use crate::interior::Interior;
use crate::matrix_free::MatrixFree;
use crate::newton::Newton;
use crate::passes::Passes;
use crate::problem::{Method, Options, Problem, Progress, Solution, Start};
use crate::prox::ProxLoss;
use crate::set::{lowest, make_feasible};
use rueful_core::ledger::Minorant;
use rueful_core::set::FeasibleSet;

/// The most columns for which d² numbers and d³ steps are a bargain.
const MAX_DIMENSION: usize = 700;

/// The most nonzeros that are copied into memory: 8 bytes each.
const MAX_HELD: u64 = 8_000_000;

/// How many sweeps of ascent come before Newton's method.
const FIRST_SWEEPS: u64 = 20;

/// How many sweeps of ascent open a solve that an interior-point method may have to finish.
const OPENING_SWEEPS: u64 = 30;

/// Solves a problem over data that can be replayed.
///
/// The crate's front page says which method is used when. Memory is O(T + d²) for few columns,
/// O(T + d) for many, and a copy of the data where it is small. If the passes run out first, or
/// nothing narrows the interval any more, the interval found so far is returned as it is.
///
/// ```
/// use rueful_core::{Batch, NonNegative, Positive, loss::Absolute, set::Ball};
/// use rueful_hindsight::{InMemory, Options, Problem, Start, solve};
///
/// // The median of three labels.
/// let mut batch = Batch::default();
/// for label in [1.0, 2.0, 6.0] {
///     batch.push(&[0], &[1.0], label)?;
/// }
/// let problem = Problem {
///     loss: Absolute {},
///     sigma: NonNegative::ZERO,
///     comparators: Ball { radius: Positive::new(10.0)? }.into(),
/// };
/// let options = Options { tolerance: 1e-6, ..Options::default() };
/// let mut data = InMemory { batches: &[batch] };
/// let solution = solve(&problem, &mut data, Start::default(), &options, &mut |_| ())?;
/// assert!(solution.converged && solution.lower <= 5.0 && 5.0 <= solution.upper);
/// assert!((solution.comparator[0] - 2.0).abs() < 1e-4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn solve<L: ProxLoss, P: Passes>(
    problem: &Problem<L>,
    data: &mut P,
    start: Start,
    options: &Options,
    watch: &mut dyn FnMut(Progress),
) -> Result<Solution, P::Error> {
    let shape = survey(problem, data)?;
    let known = if L::NONNEGATIVE { 0.0 } else { f64::NEG_INFINITY };
    let lower = start.lower.unwrap_or(known).max(known);
    let mut bracket = Bracket::new(lower, &shape, options);
    let mut solver = Solver { problem, data, options, watch, shape: &shape };
    let method = solver.run(start, &mut bracket)?;
    Ok(Solution {
        converged: bracket.is_converged(options),
        lower: bracket.lower,
        upper: bracket.upper,
        comparator: bracket.comparator,
        examples: shape.examples,
        passes: bracket.passes,
        method,
    })
}

/// A problem with its data, and what a first pass found out about them.
struct Solver<'a, L, P> {
    problem: &'a Problem<L>,
    data: &'a mut P,
    options: &'a Options,
    watch: &'a mut dyn FnMut(Progress),
    shape: &'a Shape,
}

impl<L: ProxLoss, P: Passes> Solver<'_, L, P> {
    fn run(&mut self, start: Start, bracket: &mut Bracket) -> Result<Method, P::Error> {
        let method = self.method();
        if bracket.is_converged(self.options) {
            return Ok(method);
        }
        let mut u = start.comparator;
        u.resize(self.shape.dimension, 0.0);
        make_feasible(&self.problem.comparators, &mut u);
        let Self { problem, data, options, watch, shape } = self;
        let slopes = match method {
            Method::ClosedForm => {
                closed_form(problem, *data, *watch, shape.dimension, bracket)?;
                return Ok(method);
            }
            Method::Newton => {
                Newton { problem, data: *data, options, watch }.solve(u, bracket)?;
                Vec::new()
            }
            Method::InteriorPoint => {
                // A few sweeps of ascent are cheap, and often all it takes.
                let mut ascent = Ascent { problem, data: *data, options, watch };
                ascent.solve(start.slopes, shape, OPENING_SWEEPS, bracket)?;
                if bracket.is_done(options) {
                    return Ok(Method::DualCoordinateAscent);
                }
                let u = bracket.comparator.clone();
                Interior { problem, data: *data, options, watch }.solve(
                    u,
                    shape.examples,
                    shape.spread,
                    bracket,
                )?
            }
            _ => {
                let sweeps = if shape.is_holdable() { FIRST_SWEEPS } else { u64::MAX };
                let mut ascent = Ascent { problem, data: *data, options, watch };
                ascent.solve(start.slopes, shape, sweeps, bracket)?
            }
        };
        if bracket.is_done(self.options) || !self.shape.is_holdable() {
            return Ok(method);
        }
        self.finish(slopes, bracket)
    }

    fn method(&self) -> Method {
        match (L::LINEAR, self.shape.dimension <= MAX_DIMENSION, self.shape.kinked) {
            (true, _, _) => Method::ClosedForm,
            (_, true, true) => Method::InteriorPoint,
            (_, true, false) => Method::Newton,
            (_, false, _) => Method::DualCoordinateAscent,
        }
    }

    /// The last digits, where the first method got stuck or has done its part: a few sweeps of
    /// ascent go a long way, but not all of it.
    fn finish(&mut self, slopes: Vec<f64>, bracket: &mut Bracket) -> Result<Method, P::Error> {
        let Self { problem, data, options, watch, shape } = self;
        let held = Held::read(*data)?;
        let u = bracket.comparator.clone();
        MatrixFree { problem, data: &held, options, watch }.solve(u, slopes, shape.spread, bracket);
        Ok(Method::MatrixFreeNewton)
    }
}

/// A linear cost is least where the set ends.
fn closed_form<L: ProxLoss, P: Passes>(
    problem: &Problem<L>,
    data: &mut P,
    watch: &mut dyn FnMut(Progress),
    dimension: usize,
    bracket: &mut Bracket,
) -> Result<(), P::Error> {
    let mut minorant = Minorant::new(problem.sigma);
    minorant.grow(dimension);
    data.pass(&mut |batch, rows| {
        for row in 0..rows {
            let example = batch.get(row);
            let slope = problem.loss.at(0.0, example.label).slope;
            let conjugate = problem.loss.conjugate(slope, example.label);
            minorant.record_dual(&example.features, slope, conjugate);
        }
    })?;
    let curvature = problem.sigma.get() * minorant.rounds() as f64;
    let mut u = lowest(&problem.comparators, minorant.slopes(), curvature);
    make_feasible(&problem.comparators, &mut u);
    let mut cost = Cost::at(&u);
    data.pass(&mut |batch, rows| {
        for row in 0..rows {
            let example = batch.get(row);
            let p = example.features.dot(&u);
            cost.add(problem.loss.at(p, example.label), &example.features);
        }
    })?;
    bracket.passes += 1;
    bracket.tell(&cost, &u, &minorant, &problem.comparators, watch);
    Ok(())
}

/// What a first pass finds out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) examples: u64,
    pub(crate) dimension: usize,
    pub(crate) nonzeros: u64,
    /// F(0), rounded up.
    pub(crate) at_zero: f64,
    /// The size of a typical residual at u = 0.
    pub(crate) spread: f64,
    /// What the cost is like in size: F(0), or for losses that can be negative what the slopes make
    /// of the set.
    pub(crate) size: f64,
    kinked: bool,
}

impl Shape {
    /// Whether a copy of the data fits into memory.
    fn is_holdable(&self) -> bool {
        self.nonzeros <= MAX_HELD
    }

    /// Some 10¹⁰ multiplications, and neither too few passes nor too many.
    pub(crate) fn affordable_passes(&self) -> u64 {
        let work = self.nonzeros + self.examples + self.dimension as u64 + 1;
        (10_000_000_000 / work).clamp(300, 50_000)
    }
}

fn survey<L: ProxLoss, P: Passes>(problem: &Problem<L>, data: &mut P) -> Result<Shape, P::Error> {
    let mut cost = Cost::at(&[]);
    let (mut examples, mut dimension, mut nonzeros) = (0, 0, 0);
    let mut steepness = 0.0;
    let mut kinked = false;
    data.pass(&mut |batch, rows| {
        for row in 0..rows {
            let example = batch.get(row);
            let at = problem.loss.at(0.0, example.label);
            cost.add(at, &example.features);
            steepness += at.slope.abs() * example.features.norm_sq().sqrt();
            kinked = kinked || problem.loss.kink(example.label).is_some();
            dimension = dimension.max(example.features.dimension());
            nonzeros += example.features.len() as u64;
        }
        examples += rows as u64;
    })?;
    let at_zero = cost.upper(0.0);
    let spread = at_zero.abs() / (examples as f64).max(1.0);
    let spread = if spread > 0.0 { spread } else { 1.0 };
    let reach = problem.comparators.reach(dimension);
    let curvature = problem.sigma.get() * examples as f64;
    let size = if L::NONNEGATIVE {
        at_zero
    } else if reach.is_finite() {
        reach * steepness
    } else {
        steepness * steepness / (2.0 * curvature)
    };
    Ok(Shape { examples, dimension, nonzeros, at_zero, spread, size, kinked })
}
