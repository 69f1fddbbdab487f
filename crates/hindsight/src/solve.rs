//! Which method, from where, and what it comes to.

use crate::ascent::Ascent;
use crate::bracket::Bracket;
use crate::cost::Cost;
use crate::interior::Interior;
use crate::newton::Newton;
use crate::passes::Passes;
use crate::problem::{Method, Options, Problem, Progress, Solution, Start};
use crate::prox::ProxLoss;
use crate::set::make_feasible;

/// The most columns for which d² numbers and d³ steps are a bargain.
const MAX_DIMENSION: usize = 700;

/// Solves a problem over data that can be replayed.
///
/// Few columns are solved by Newton's method, many by dual coordinate ascent; memory is O(T + d) and
/// O(d²) respectively, never the data's own size. If the passes run out first, the interval found so
/// far is returned as it is.
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
    let mut bracket = Bracket::new(lower, shape.at_zero, shape.dimension);
    let method = shape.method();
    if !bracket.is_converged(options) {
        let mut u = start.comparator;
        u.resize(shape.dimension, 0.0);
        make_feasible(&problem.comparators, &mut u);
        match method {
            Method::Newton => Newton { problem, data, options, watch }.solve(u, &mut bracket)?,
            Method::InteriorPoint => Interior { problem, data, options, watch }.solve(
                u,
                shape.examples,
                shape.spread,
                &mut bracket,
            )?,
            _ => Ascent { problem, data, options, watch }.solve(
                start.slopes,
                &shape,
                &mut bracket,
            )?,
        }
    }
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

/// What a first pass finds out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) examples: u64,
    pub(crate) dimension: usize,
    /// F(0), rounded up.
    pub(crate) at_zero: f64,
    /// The size of a typical residual at u = 0.
    pub(crate) spread: f64,
    kinked: bool,
}

impl Shape {
    fn method(&self) -> Method {
        match (self.dimension <= MAX_DIMENSION, self.kinked) {
            (true, true) => Method::InteriorPoint,
            (true, false) => Method::Newton,
            (false, _) => Method::DualCoordinateAscent,
        }
    }
}

fn survey<L: ProxLoss, P: Passes>(problem: &Problem<L>, data: &mut P) -> Result<Shape, P::Error> {
    let mut cost = Cost::at(&[]);
    let (mut examples, mut dimension) = (0, 0);
    let mut kinked = false;
    data.pass(&mut |batch, rows| {
        dimension = dimension.max(batch.dimension());
        for row in 0..rows {
            let example = batch.get(row);
            cost.add(problem.loss.at(0.0, example.label), &example.features);
            kinked = kinked || problem.loss.kink(example.label).is_some();
            examples += 1;
        }
    })?;
    let at_zero = cost.upper(0.0);
    let spread = at_zero.abs() / (examples as f64).max(1.0);
    let spread = if spread > 0.0 { spread } else { 1.0 };
    Ok(Shape { examples, dimension, at_zero, spread, kinked })
}
