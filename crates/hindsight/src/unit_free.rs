//! Comparators without units.
//!
//! Over the unit-free ball of [`Scales`] the problem is that of a plain ball of radius U·Y, on the
//! rows x̂ = x/N and for v = N·u. The solver works there, on quotients that are rounded to singles,
//! and its result is only a proposal. Its comparator u = v/N is priced on the rows as they are, and
//! its slopes prove a lower bound for these rows:
//!
//! ```text
//! min over B(U) of Σ φ_t(u·x_t) ≥ −Σ φ_t*(a_t) − U·Y·‖S/N‖,    S = Σ a_t x_t
//! ```
//!
//! S is added up without error. The rounding |x̂ − x/N| of up to 2⁻²⁴|x/N| widens the gap, in
//! proportion to U, but takes nothing from the proof. Where it stands in the way and there are few
//! columns, interior points or Newton's method go on from there, in the coordinates of an
//! orthogonal basis of the quotients in doubles ([`Frame`]).

use crate::basis::Frame;
use crate::bracket::Bracket;
use crate::check::{Check, Region};
use crate::cost::{Cost, careful_dot};
use crate::counted::Counted;
use crate::interior::Interior;
use crate::newton::Newton;
use crate::passes::{AnyPasses, Failed, Passes, Prefix, solve_over};
use crate::problem::{Method, Options, Problem, Progress, Solution, Start};
use crate::scales::{Scales, quotient};
use crate::solve::{MAX_HELD, may_turn, search};
use crate::survey::{Shape, known_below, spread};
use rueful_core::loss::{AnyLoss, Loss, with_usual_loss};
use rueful_core::set::Ball;
use rueful_core::{Batch, Example, Features, NonNegative, Positive, Rows};
use std::ops::ControlFlow;

/// The part of the requested gap that the solver is given. The rest is for the rounding of x̂.
const FIRST_SHARE: f64 = 0.9;

/// The factor for the part that the next attempt is given, and the number of attempts.
const NEXT_SHARE: f64 = 0.1;
const ATTEMPTS: usize = 3;

/// How often a comparator is moved that nearly loses nothing.
const REPAIRS: usize = 3;

/// The number of nonzeros up to which copied rows are kept in one batch.
const KEPT_TOGETHER: usize = 1 << 18;

/// Solves min Σ φ_t(u·x_t) over the unit-free ball { u : Σ (N_i u_i)² ≤ (U·Y)² } of [`Scales`].
///
/// The solution holds for the rows as they are, rounding included, as with [`solve`](crate::solve):
/// the comparator is in their units and certainly in the ball, `upper` is its loss, and `lower` is
/// proved by slopes. The comparator, the slopes and the bound of `start` are for the rows as they
/// are, too. On the way `watch` is told of the interval for rounded rows, and after each attempt of
/// the proved one. If rounding keeps that one too wide and there are few columns, the solver goes on
/// without it, and `watch` is told of the proved interval only.
///
/// The rows divided by their scales are kept in memory where the data is in memory, or where
/// [`solve`](crate::solve) would copy it.
///
/// ```
/// use rueful_core::{Batch, Positive, loss::Absolute};
/// use rueful_hindsight::{InMemory, Options, Scales, Start, solve_unit_free, unwatched};
///
/// // Metres or millimetres: the best comparator loses the same.
/// let solve = |unit: f32| {
///     let mut batch = Batch::default();
///     for (x, label) in [(1.0, 1.0), (2.0, 3.0), (4.0, 4.0)] {
///         batch.push(&[0], &[unit * x], label)?;
///     }
///     let scales = Scales { columns: vec![unit * 4.0], label: 4.0 };
///     let (start, options) = (Start::default(), Options::default());
///     let mut data = InMemory { batches: &[batch] };
///     let Ok(found) =
///         solve_unit_free(Absolute {}, Positive::ONE, &scales, &mut data, start, &options, &mut unwatched);
///     Ok::<_, rueful_core::FeatureError>(found)
/// };
/// let (metres, millimetres) = (solve(1.0)?, solve(1000.0)?);
/// assert!(metres.converged && (metres.upper - millimetres.upper).abs() < 1e-6);
/// assert!((metres.comparator[0] - 1000.0 * millimetres.comparator[0]).abs() < 1e-6);
/// # Ok::<(), rueful_core::FeatureError>(())
/// ```
pub fn solve_unit_free<P: Passes + ?Sized>(
    loss: impl Into<AnyLoss>,
    radius: Positive,
    scales: &Scales,
    data: &mut P,
    start: Start,
    options: &Options,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Solution, P::Error> {
    solve_over(data, |data| {
        let (inside, outside) = scales.radii(radius);
        let data = Scaled::new(data, scales);
        // The loss is evaluated in every step.
        with_usual_loss!(loss.into(), loss => {
            Raw { loss, scales, inside, outside, data }.solve(start, options, watch)
        })
    })
}

/// The rows as they are, about which everything is proved.
struct Raw<'a, 'd, L> {
    loss: L,
    scales: &'a Scales,
    /// The radius U·Y, rounded down and rounded up.
    inside: f64,
    outside: f64,
    data: Scaled<'d>,
}

impl<'a, L: Loss> Raw<'a, '_, L> {
    /// Does the work of [`solve_unit_free`].
    fn solve(
        mut self,
        start: Start,
        options: &Options,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Solution, Failed> {
        let (shape, mut bracket) = self.survey(&start, options, watch)?;
        let comparators = Positive::new(self.inside).map(|radius| Ball { radius }.into());
        let Ok(comparators) = comparators else {
            return Ok(bracket.into_solution(shape.examples, Method::ClosedForm));
        };
        let problem = Problem { loss: self.loss, sigma: NonNegative::ZERO, comparators };
        let mut method = self.attempt(&problem, start, options, watch, &mut bracket)?;
        // Two passes find the coordinates, one begins, and one prices.
        let may_refine = !self.loss.is_linear() && may_turn(&shape) && bracket.allows(4);
        if may_refine && !bracket.is_done(options) {
            method = self.refine(&problem, &shape, options, watch, &mut bracket)?;
        }
        Ok(bracket.into_solution(shape.examples, method))
    }

    /// The comparators, as proofs see them.
    fn region(&self) -> Region<'a> {
        Region::UnitFree { scales: self.scales, inside: self.inside, outside: self.outside }
    }

    /// Makes the first pass. It finds the shape of the data and the interval of the start, and
    /// keeps the scaled rows if they may be in memory.
    fn survey(
        &mut self,
        start: &Start,
        options: &Options,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(Shape, Bracket), Failed> {
        let mut check = self.check(start.comparator.clone());
        let mut first = First::default();
        let Self { loss, scales, outside, data, .. } = self;
        data.copy_while(&mut |rows| {
            check.grow(rows.dimension());
            for example in rows.iter() {
                first.add(loss, &example, scales);
                add_given(&mut check, loss, &example, &start.slopes);
            }
        })?;
        let shape = first.shape(loss, check.trim(first.dimension), *outside);
        let (lower, lower_from) = known_below(loss, start.lower);
        let mut bracket = Bracket::new(lower, lower_from, &shape, options);
        check.tell(&mut bracket, watch);
        Ok((shape, bracket))
    }

    /// Solves for the scaled rows and proves the result for the rows as they are, until it is good
    /// enough. Returns the method.
    fn attempt(
        &mut self,
        problem: &Problem<L>,
        mut start: Start,
        options: &Options,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
        bracket: &mut Bracket,
    ) -> Result<Method, Failed> {
        let mut method =
            if self.loss.is_linear() { Method::ClosedForm } else { Method::DualCoordinateAscent };
        let mut tolerance = FIRST_SHARE * options.tolerance;
        start.comparator = self.scales.without_units(&bracket.comparator);
        start.lower = None;
        for _ in 0..ATTEMPTS {
            // One pass looks at the scaled rows, one solves, and one proves.
            if bracket.is_done(options) || !bracket.allows(3) {
                break;
            }
            let passes = Some(bracket.left() - 1);
            let inner = Options { tolerance, max_passes: passes };
            let mut found =
                search(problem, &mut Prefix::whole(&mut self.data), start, &inner, watch)?;
            if found.bracket.slopes.is_empty() && bracket.left() > found.bracket.passes + 1 {
                self.take_slopes(&mut found.bracket)?;
            }
            bracket.passes += found.bracket.passes;
            method = found.method;
            let before = bracket.relative_gap();
            let mut u = self.scales.with_units(&found.bracket.comparator, self.inside);
            u.resize(bracket.comparator.len(), 0.0);
            self.prove(u, &found.bracket.slopes, bracket, watch)?;
            if bracket.relative_gap() > 0.5 * before || !found.bracket.is_converged(&inner) {
                break;
            }
            let Bracket { comparator, slopes, .. } = found.bracket;
            start = Start { comparator, slopes, lower: None };
            tolerance *= NEXT_SHARE;
        }
        for _ in 0..REPAIRS {
            let before = bracket.upper;
            if bracket.lower > 0.0 || bracket.is_done(options) || !bracket.allows(2) {
                break;
            }
            self.repair(bracket, watch)?;
            if bracket.upper > 0.5 * before {
                break;
            }
        }
        Ok(method)
    }

    /// Prices a comparator that was moved to where it loses nothing.
    ///
    /// Where the scaled rows have margins of 1, the rows as they are can miss them by the rounding
    /// of x̂, which is 2⁻²⁴ of terms that may be far larger than the margin that they add up to.
    /// They then lose a little that is infinitely more than 0.
    fn repair(
        &mut self,
        bracket: &mut Bracket,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), Failed> {
        let moved = self.moved(bracket.comparator.clone())?;
        bracket.passes += 1;
        self.prove(moved, &[], bracket, watch)
    }

    /// A comparator close to u. For one example after the other that loses something, u is moved by
    /// the least amount that brings the prediction to where the tangent is 0, or twice as far if
    /// nothing is lost there, either.
    fn moved(&mut self, mut u: Vec<f64>) -> Result<Vec<f64>, Failed> {
        let Self { loss, scales, data, .. } = self;
        data.data.pass(&mut |rows| {
            for example in rows.iter().filter(|example| !example.importance.is_zero()) {
                let (x, label) = (&example.features, example.label);
                let at = loss.at(careful_dot(&u, x), label);
                let is_flat = loss.kink(label).is_some_and(|kink| kink.low * kink.high == 0.0);
                let far = if is_flat { 2.0 } else { 1.0 };
                let step = far * at.value / (at.slope * scales.norm_of(x).powi(2));
                if step.is_finite() {
                    for (i, x) in x.iter() {
                        let size = scales.column(i);
                        u[i] -= quotient(step * quotient(x, size), size);
                    }
                }
            }
        })?;
        Ok(u)
    }

    /// The slopes at the comparator for the scaled rows. The slopes for the rows as they are would
    /// add up to a longer S, because the roundings of all columns come together in a prediction.
    fn take_slopes(&mut self, found: &mut Bracket) -> Result<(), Failed> {
        let Bracket { comparator, slopes, passes, .. } = found;
        let loss = self.loss;
        *passes += 1;
        self.data.pass(&mut |rows| {
            slopes.extend(rows.iter().map(|example| {
                Counted::new(loss, &example).at(example.features.dot(comparator)).slope
            }));
        })
    }

    /// Prices a comparator and proves the bound of slopes, in one pass over the rows as they are.
    fn prove(
        &mut self,
        u: Vec<f64>,
        slopes: &[f64],
        bracket: &mut Bracket,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), Failed> {
        let mut check = self.check(u);
        let Self { loss, data, .. } = self;
        data.data.pass(&mut |rows| {
            rows.iter().for_each(|example| add_given(&mut check, loss, &example, slopes));
        })?;
        check.tell(bracket, watch);
        Ok(())
    }

    fn check(&self, u: Vec<f64>) -> Check<'a> {
        Check::new(self.region(), NonNegative::ZERO, u, true)
    }

    /// Narrows the bracket without rounding the rows to singles. Returns the method.
    fn refine(
        &mut self,
        problem: &Problem<L>,
        shape: &Shape,
        options: &Options,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
        bracket: &mut Bracket,
    ) -> Result<Method, Failed> {
        let (region, u) = (self.region(), bracket.comparator.clone());
        let data = &mut Prefix::whole(self.data.data);
        let frame = Frame::turned(data, self.scales, bracket)?;
        if shape.kinked {
            let mut interior = Interior { problem, data, options, watch, frame, region };
            interior.solve(&u, shape.examples, shape.spread, bracket)?;
            Ok(Method::InteriorPoint)
        } else {
            Newton { problem, data, options, watch, frame, region }.solve(&u, bracket)?;
            Ok(Method::Newton)
        }
    }
}

/// Takes in an example with the slope that is given for it. Where there is none, that of the loss at
/// u is taken.
#[inline]
fn add_given<L: Loss>(check: &mut Check<'_>, loss: &L, example: &Example<'_>, slopes: &[f64]) {
    let is_slope = |a: &f64| Counted::new(*loss, example).conjugate(*a).is_finite();
    let given = slopes.get(check.examples() as usize).copied().filter(is_slope);
    check.add(loss, example, given);
}

/// The facts about the data that the first pass collects.
#[derive(Default)]
struct First {
    examples: u64,
    dimension: usize,
    nonzeros: u64,
    at_zero: Option<Cost>,
    /// Σ|φ_t'(0)|‖x_t/N‖.
    steepness: f64,
    /// Whether the losses have a kink.
    kinked: bool,
}

impl First {
    #[inline]
    fn add<L: Loss>(&mut self, loss: &L, example: &Example<'_>, scales: &Scales) {
        let x = &example.features;
        let cost = self.at_zero.get_or_insert_with(|| Cost::at(&[], false));
        self.steepness += cost.add(loss, example, 0.0).slope.abs() * scales.norm_of(x);
        self.kinked |= Counted::new(*loss, example).kink().is_some();
        self.examples += 1;
        self.dimension = self.dimension.max(x.dimension());
        self.nonzeros += x.len() as u64;
    }

    /// The shape, as far as a bracket needs it.
    fn shape<L: Loss>(&self, loss: &L, dimension: usize, radius: f64) -> Shape {
        let at_zero = self.at_zero.map_or(0.0, |cost| cost.upper(0.0));
        Shape {
            examples: self.examples,
            dimension,
            nonzeros: self.nonzeros,
            at_zero,
            spread: spread(at_zero, self.examples as usize),
            size: if loss.is_nonnegative() { at_zero } else { radius * self.steepness },
            kinked: self.kinked,
        }
    }
}

/// Rows divided by their scales: x̂ = x/N, rounded to singles. Nothing that is proved rests on
/// them.
struct Scaled<'a> {
    data: &'a mut AnyPasses<'a>,
    scales: &'a Scales,
    /// All scaled rows, if they are in memory.
    kept: Option<Vec<Batch>>,
    /// A buffer in which rows are divided that are not in memory.
    buffer: Batch,
}

impl<'a> Scaled<'a> {
    fn new(data: &'a mut AnyPasses<'a>, scales: &'a Scales) -> Self {
        Self { data, scales, kept: None, buffer: Batch::default() }
    }

    /// Shows every row as it is, and keeps them scaled if all of them may be in memory.
    fn copy_while(&mut self, visit: &mut dyn FnMut(Rows<'_>)) -> Result<(), Failed> {
        let limit = if self.data.held().is_some() { u64::MAX } else { MAX_HELD };
        let mut nonzeros = 0;
        let mut kept: Vec<Batch> = Vec::new();
        self.data.pass(&mut |rows| {
            nonzeros += rows.nonzeros() as u64;
            if nonzeros <= limit {
                keep(&mut kept, rows, self.scales);
            } else {
                kept = Vec::new();
            }
            visit(rows);
        })?;
        self.kept = (nonzeros <= limit).then_some(kept);
        Ok(())
    }
}

fn keep(kept: &mut Vec<Batch>, rows: Rows<'_>, scales: &Scales) {
    match kept.last_mut() {
        Some(last) if last.nonzeros() + rows.nonzeros() <= KEPT_TOGETHER => {
            scale(rows, scales, last);
        }
        _ => {
            let mut batch = Batch::default();
            scale(rows, scales, &mut batch);
            kept.push(batch);
        }
    }
}

/// Appends rows divided by their scales. Infinite quotients are cut off.
fn scale(rows: Rows<'_>, scales: &Scales, to: &mut Batch) {
    let done = to.map_rows(
        rows,
        |features| features,
        |example, row| {
            let x: &Features<'_> = &example.features;
            x.iter().zip(x.indices()).try_for_each(|((i, x), &index)| {
                let scaled = quotient(x, scales.column(i)) as f32;
                row.push(index, scaled.clamp(f32::MIN, f32::MAX))
            })
        },
    );
    debug_assert!(done.is_ok(), "rows are checked, and quotients are finite");
}

impl Passes for Scaled<'_> {
    type Error = Failed;

    fn pass(&mut self, visit: &mut dyn FnMut(Rows<'_>)) -> Result<(), Failed> {
        if let Some(kept) = &self.kept {
            kept.iter().for_each(|batch| visit(batch.rows()));
            return Ok(());
        }
        let Self { data, scales, buffer, .. } = self;
        data.pass(&mut |rows| {
            buffer.clear();
            scale(rows, scales, buffer);
            visit(buffer.rows());
        })
    }

    fn held(&self) -> Option<Vec<Rows<'_>>> {
        Some(self.kept.as_ref()?.iter().map(Batch::rows).collect())
    }
}
