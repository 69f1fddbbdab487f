//! The choice of methods: which are tried, in which order, and from where they start.

use crate::ascent::Ascent;
use crate::basis::Frame;
use crate::bracket::Bracket;
use crate::check::{Check, Region};
use crate::held::Held;
use crate::interior::Interior;
use crate::multipliers::Multipliers;
use crate::newton::Newton;
use crate::passes::{Passes, Prefix, solve_over};
use crate::problem::{Method, Options, Problem, Progress, Solution, Start};
use crate::scales::Scales;
use crate::set::lowest;
use crate::survey::{Dual, Shape, Survey, survey};
use rueful_core::loss::{AnyLoss, Loss, with_usual_loss};
use rueful_core::set::AnySet;
use std::ops::ControlFlow;

/// The most columns for which methods that keep d² numbers and take d³ operations are used.
const MAX_DIMENSION: usize = 700;

/// The most nonzeros that are copied into memory. Each takes 8 bytes.
pub(crate) const MAX_HELD: u64 = 8_000_000;

/// The number of further passes that ascent may need, if another method could take over. This one
/// is for few columns and for a box, and the long one for everything else.
const PATIENCE: f64 = 30.0;
const LONG_PATIENCE: f64 = 300.0;

/// The most multiplications, T·d², that turning all examples to other coordinates may take.
const MAX_TURNED: u64 = 200_000_000;

/// Whether all examples may be turned to other coordinates.
pub(crate) fn may_turn(shape: &Shape) -> bool {
    let squares = shape.examples.saturating_mul((shape.dimension as u64).pow(2));
    shape.dimension <= MAX_DIMENSION && squares <= MAX_TURNED
}

/// Solves a problem over data that can be replayed.
///
/// The crate's front page says which method is used when. Memory is O(T + d²) for few columns and
/// O(T + d) for many, plus a copy of the data where it is small. If the passes run out first, or no
/// method narrows the interval any more, the interval found so far is returned as it is.
///
/// ```
/// use rueful_core::{Batch, NonNegative, Positive, loss::Absolute, set::Ball};
/// use rueful_hindsight::{InMemory, Options, Problem, Start, solve, unwatched};
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
/// let solution = solve(&problem, &mut data, Start::default(), &options, &mut unwatched)?;
/// assert!(solution.converged && solution.lower <= 5.0 && 5.0 <= solution.upper);
/// assert!((solution.comparator[0] - 2.0).abs() < 1e-4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn solve<L: Loss + Into<AnyLoss>, P: Passes + ?Sized>(
    problem: &Problem<L>,
    data: &mut P,
    start: Start,
    options: &Options,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Solution, P::Error> {
    let Problem { loss, sigma, comparators } = problem.clone();
    solve_over(data, |data| {
        let whole = &mut Prefix::whole(data);
        // The loss is evaluated in every step.
        let Found { bracket, examples, method } = with_usual_loss!(loss.into(), loss => {
            search(&Problem { loss, sigma, comparators }, whole, start, options, watch)?
        });
        Ok(bracket.into_solution(examples, method))
    })
}

/// The interval that was found, with the slopes that prove it.
pub(crate) struct Found {
    pub(crate) bracket: Bracket,
    pub(crate) examples: u64,
    pub(crate) method: Method,
}

/// Does the work of [`solve`].
pub(crate) fn search<L: Loss, P: Passes>(
    problem: &Problem<L>,
    data: &mut P,
    start: Start,
    options: &Options,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Found, P::Error> {
    let Survey { shape, dual, steepness, mut bracket } =
        survey(problem, data, start, options, watch)?;
    let mut solver = Solver { problem, data, options, watch, shape: &shape, steepness };
    let method = solver.run(dual, &mut bracket)?;
    Ok(Found { bracket, examples: shape.examples, method })
}

/// A problem with its data, and what a first pass found out about them.
struct Solver<'a, L, P> {
    problem: &'a Problem<L>,
    data: &'a mut P,
    options: &'a Options,
    watch: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
    shape: &'a Shape,
    steepness: f64,
}

impl<L: Loss, P: Passes> Solver<'_, L, P> {
    /// Tries method after method until one is done, and returns the last one.
    fn run(&mut self, dual: Dual, bracket: &mut Bracket) -> Result<Method, P::Error> {
        let few_columns = self.shape.dimension <= MAX_DIMENSION;
        let in_memory = self.shape.nonzeros <= MAX_HELD || self.data.held().is_some();
        if self.problem.loss.is_linear() {
            return self.closed_form(&dual, bracket);
        }
        if few_columns && !self.shape.kinked {
            self.newton(bracket)?;
            if bracket.is_done(self.options) || !in_memory {
                return Ok(Method::Newton);
            }
            return self.multipliers(dual.slopes, u64::MAX, bracket);
        }
        let has_successor = in_memory || few_columns;
        let patience = if has_successor { self.patience() } else { f64::INFINITY };
        let slopes = self.ascent(dual, patience, bracket)?;
        if bracket.is_done(self.options) || !has_successor {
            Ok(Method::DualCoordinateAscent)
        } else if !few_columns {
            self.multipliers(slopes, u64::MAX, bracket)
        } else {
            self.few_columns(slopes, in_memory, bracket)
        }
    }

    /// Runs the method of multipliers for about as long as interior points would take, then
    /// interior points, and then multipliers to the end.
    fn few_columns(
        &mut self,
        slopes: Vec<f64>,
        in_memory: bool,
        bracket: &mut Bracket,
    ) -> Result<Method, P::Error> {
        if in_memory {
            self.multipliers(slopes.clone(), self.worth_of_interior(), bracket)?;
            if bracket.is_done(self.options) {
                return Ok(Method::Multipliers);
            }
        }
        for &turned in self.frames() {
            self.interior(turned, bracket)?;
            if bracket.is_done(self.options) {
                return Ok(Method::InteriorPoint);
            }
        }
        if in_memory {
            return self.multipliers(slopes, u64::MAX, bracket);
        }
        Ok(Method::InteriorPoint)
    }

    /// Returns for each attempt with interior points whether it turns to coordinates of its own. It
    /// should where columns say nearly the same. It costs as much as rows without zeros.
    fn frames(&self) -> &'static [bool] {
        let Shape { examples, nonzeros, dimension, .. } = *self.shape;
        let full = examples.saturating_mul(dimension as u64);
        let is_box = matches!(self.problem.comparators, AnySet::Box(_));
        if is_box || !may_turn(self.shape) {
            &[false]
        } else if 4 * nonzeros >= full {
            &[true]
        } else {
            &[false, true]
        }
    }

    /// The number of further passes that ascent may need where another method could take over:
    /// about as many as that method would take. With many columns these are hundreds, but in a box
    /// ascent hardly ever comes to an end.
    fn patience(&self) -> f64 {
        let is_box = matches!(self.problem.comparators, AnySet::Box(_));
        if is_box || self.shape.dimension <= MAX_DIMENSION { PATIENCE } else { LONG_PATIENCE }
    }

    /// The number of passes that cost as many multiplications as interior points.
    fn worth_of_interior(&self) -> u64 {
        let squares = self.shape.examples.saturating_mul((self.shape.dimension as u64).pow(2));
        200 + squares.saturating_mul(20) / self.shape.nonzeros.max(1)
    }

    fn newton(&mut self, bracket: &mut Bracket) -> Result<(), P::Error> {
        let Self { problem, data, options, watch, .. } = self;
        if bracket.is_done(options) {
            return Ok(());
        }
        let u = bracket.comparator.clone();
        let (frame, region) = (Frame::plain(), Region::Set(&problem.comparators));
        Newton { problem, data: *data, options, watch, frame, region }.solve(&u, bracket)
    }

    fn ascent(
        &mut self,
        dual: Dual,
        patience: f64,
        bracket: &mut Bracket,
    ) -> Result<Vec<f64>, P::Error> {
        let Self { problem, data, options, watch, shape, steepness } = self;
        let mut ascent = Ascent { problem, data: *data, options, watch };
        ascent.solve(dual, *steepness, shape, patience, bracket)
    }

    fn interior(&mut self, turned: bool, bracket: &mut Bracket) -> Result<(), P::Error> {
        let Self { problem, data, options, watch, shape, .. } = self;
        // Two passes find the coordinates, one begins, and one prices.
        if turned && !bracket.allows(4) {
            return Ok(());
        }
        let u = bracket.comparator.clone();
        let frame = if turned {
            Frame::turned(*data, &Scales::ones(shape.dimension), bracket)?
        } else {
            Frame::plain()
        };
        let region = Region::Set(&problem.comparators);
        let mut interior = Interior { problem, data: *data, options, watch, frame, region };
        interior.solve(&u, shape.examples, shape.spread, bracket)
    }

    fn multipliers(
        &mut self,
        slopes: Vec<f64>,
        passes: u64,
        bracket: &mut Bracket,
    ) -> Result<Method, P::Error> {
        let Self { problem, data, options, watch, shape, .. } = self;
        let held = Held::new(*data)?;
        bracket.passes += u64::from(held.is_copy());
        let u = bracket.comparator.clone();
        let mut multipliers = Multipliers { problem, data: &held, options, watch };
        multipliers.solve(u, slopes, shape.spread, passes, bracket);
        Ok(Method::Multipliers)
    }

    /// Solves for linear losses. A linear cost is least where the set ends, and its slopes are
    /// known from the first pass.
    fn closed_form(&mut self, dual: &Dual, bracket: &mut Bracket) -> Result<Method, P::Error> {
        if bracket.is_done(self.options) {
            return Ok(Method::ClosedForm);
        }
        let Self { problem, data, watch, shape, .. } = self;
        let curvature = problem.sigma.get() * shape.examples as f64;
        let u = lowest(&problem.comparators, &dual.sum, curvature);
        let region = Region::Set(&problem.comparators);
        let mut check = Check::new(region, problem.sigma, u, bracket.careful);
        data.pass(&mut |rows| {
            for example in rows.iter() {
                check.add(&problem.loss, &example, None);
            }
        })?;
        check.tell(bracket, *watch);
        Ok(Method::ClosedForm)
    }
}
