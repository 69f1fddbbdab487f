//! Dual coordinate ascent, for many columns.
//!
//! There is one slope a_t per example, and S = Σ a_t x_t. For any λ > 0 the dual value is at least
//!
//! ```text
//! −Σ φ_t*(a_t) − ‖S‖²/(2λ) − λU²/2
//! ```
//!
//! with equality at λ = ‖S‖/U. With λ fixed, the best a_t given all others has a closed form: with
//! u = −S/λ, p = u·x_t and q = ‖x_t‖²/λ it is the slope of the loss smoothed by q, taken at
//! p + q·a_t. A sweep improves every slope once, and λ is set anew after it. The comparator is
//! −S/λ, brought into the set.
//!
//! Sweeps in random order need far fewer rounds than sweeps in any order that repeats itself,
//! however scattered. Data in memory is visited in an order drawn anew every time. Data that is
//! read anew in every pass comes in its own order.
//!
//! Some slopes are at their end, and held there more firmly than any prediction moves in a sweep.
//! They will stay. Their examples are left out until a check finds them on the other side of their
//! kink (the shrinking of LIBLINEAR and its forebears). So late sweeps cost a small part of a pass.

use crate::bracket::Bracket;
use crate::cost::Cost;
use crate::counted::Counted;
use crate::passes::Passes;
use crate::problem::{Options, Problem, Progress};
use crate::proof::Proof;
use crate::set::{make_feasible, norm};
use crate::survey::{Dual, Shape};
use rueful_core::loss::{Kink, Loss};
use rueful_core::set::{AnySet, BoxSet, FeasibleSet};
use rueful_core::{Example, Features};
use std::ops::ControlFlow;

pub(crate) struct Ascent<'a, L, P> {
    pub(crate) problem: &'a Problem<L>,
    pub(crate) data: &'a mut P,
    pub(crate) options: &'a Options,
    pub(crate) watch: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
}

/// After at most this many sweeps, a check decides whether ascent will be done in time.
const FIRST_SWEEPS: u64 = 8;
const FIRST_SWEEPS_IN_A_BOX: u64 = 24;

/// The part of the patience that must have been spent before the rate is judged.
const TELLING: f64 = 1.0 / 60.0;

/// The first λ is this times ‖S‖/U of the steepest slopes. Those of the solution are flatter.
const FIRST_LAMBDA: f64 = 0.1;

/// λ is moved further than to its new value, because it goes the same way for a while. It moves by
/// this power of the quotient at first. The power grows as long as λ keeps its direction, and falls
/// where it turns.
const OVERSHOOT: f64 = 1.5;
const OVERSHOOTS: (f64, f64) = (1.0, 6.0);

/// In a box λ becomes smaller by the first factor, once a sweep gains no more than the second
/// factor times its penalty.
const NARROWING: f64 = 0.7;
const SETTLED: f64 = 0.02;

/// No example is left out after λ has changed by more than this part of itself.
const STEADY: f64 = 0.02;

/// The least that a sweep counts, as a part of a pass.
const LEAST_WORK: f64 = 0.02;

/// Examples in memory are visited in runs of neighbours, each run of this many. Runs are long where
/// there are so many examples that jumping about costs more than a less random order, and so few
/// columns that the order matters little.
const RUN: usize = 8;
const LONG_RUN: usize = 64;
const MANY_EXAMPLES: u64 = 1 << 18;
const FEW_COLUMNS: usize = 100;

/// The state of the ascent between sweeps.
struct State {
    dual: Dual,
    /// The λ of the next sweep. The ratio is its value without overshooting: on a ball ‖S‖/U.
    lambda: f64,
    ratio: f64,
    /// The power by which λ follows the ratio, and whether λ rose last time.
    power: f64,
    rises: bool,
    /// Whether each example is left out. An example may be left out beyond this distance from its
    /// kink.
    idle: Vec<bool>,
    limit: f64,
    /// The farthest that the last sweep moved a prediction.
    farthest: f64,
    /// The length of runs, and their order in the last sweep.
    run: usize,
    order: Vec<u32>,
    sweep: u64,
    /// The part of a pass that was visited and is not counted yet.
    work: f64,
    /// How much the last sweep raised the dual value with its λ.
    gain: f64,
}

impl<L: Loss, P: Passes> Ascent<'_, L, P> {
    /// Narrows the bracket from a dual point on, and returns the slopes. `steepness` is ‖S‖ of
    /// steep slopes. Ascent stops where it would need the work of more passes than `patience` at
    /// the rate so far.
    pub(crate) fn solve(
        &mut self,
        dual: Dual,
        steepness: f64,
        shape: &Shape,
        patience: f64,
        bracket: &mut Bracket,
    ) -> Result<Vec<f64>, P::Error> {
        let least = self.least_lambda(shape);
        let reach = self.problem.comparators.reach(shape.dimension.into());
        let lambda = (FIRST_LAMBDA * steepness / reach).max(least);
        let mut state = State::new(dual, lambda, shape);
        let is_box = matches!(self.problem.comparators, AnySet::Box(_));
        let first_sweeps = if is_box { FIRST_SWEEPS_IN_A_BOX } else { FIRST_SWEEPS };
        let (mut last_check, mut next_check) = (0, 1);
        let mut pace = Pace::new(bracket);
        while !bracket.is_done(self.options) && bracket.allows(2) {
            let swept = self.sweep(&mut state)?;
            pace.work += swept;
            bracket.passes += state.count(swept);
            self.retune(&mut state, least);
            // As long as a sweep gains much, the gap is wide: the distance from both bounds to the
            // minimum is about the gain of the last sweep on one side.
            let may_be_done = state.sweep >= next_check && state.gain <= 0.5 * bracket.goal();
            let is_overdue = state.sweep >= 2 * last_check + first_sweeps;
            if !may_be_done && !is_overdue && bracket.allows(2) {
                continue;
            }
            let before = bracket.relative_gap();
            self.check(&mut state, bracket)?;
            pace.work += 1.0;
            let left = (bracket.relative_gap() / self.options.tolerance).ln();
            let is_too_slow = pace.is_too_slow(left, patience, bracket);
            if state.sweep > 1 && is_too_slow {
                break;
            }
            // The next check is when ascent should be done at this rate, and not much later.
            let closed = (before / bracket.relative_gap()).ln();
            let expected = (left / closed * (state.sweep - last_check) as f64).ceil();
            last_check = state.sweep;
            next_check = state.sweep + expected.clamp(1.0, 1.0 + (state.sweep / 2) as f64) as u64;
        }
        Ok(state.dual.slopes)
    }

    /// The smallest λ that is of use: the one that σ makes, or one that keeps the problem from
    /// being flat at a cost of less than half the tolerance.
    fn least_lambda(&self, shape: &Shape) -> f64 {
        let sigma = self.problem.sigma.get() * shape.examples as f64;
        let reach = self.problem.comparators.reach(shape.dimension.into());
        let flat = 0.2 * self.options.tolerance * shape.at_zero.abs() / (reach * reach);
        sigma.max(flat).max(f64::MIN_POSITIVE)
    }

    /// Improves every slope once, except those that are left out. Returns the work as a part of a
    /// pass.
    fn sweep(&mut self, state: &mut State) -> Result<f64, P::Error> {
        state.sweep += 1;
        state.gain = 0.0;
        state.farthest = 0.0;
        let problem = self.problem;
        let inverse = 1.0 / state.lambda;
        let mut visited = 0;
        let Some(held) = self.data.held() else {
            let mut start = 0;
            self.data.pass(&mut |rows| {
                for row in 0..rows.len() {
                    state.visit(problem, inverse, start + row, || rows.get(row));
                }
                start += rows.len();
            })?;
            return Ok(1.0);
        };
        let mut starts = vec![0];
        starts.extend(held.iter().scan(0, |end, rows| {
            *end += rows.len();
            Some(*end)
        }));
        let rounds = state.idle.len();
        shuffle(&mut state.order, state.sweep);
        for place in 0..state.order.len() {
            let first = state.order[place] as usize * state.run;
            let mut batch = starts.partition_point(|&start| start <= first) - 1;
            for t in first..rounds.min(first + state.run) {
                while t >= starts[batch + 1] {
                    batch += 1;
                }
                if !state.idle[t] {
                    visited += 1;
                    state.visit(problem, inverse, t, || held[batch].get(t - starts[batch]));
                }
            }
        }
        Ok((f64::from(visited) / (rounds as f64).max(1.0)).max(LEAST_WORK))
    }

    fn retune(&self, state: &mut State, least: f64) {
        let before = state.lambda;
        let reach = self.problem.comparators.reach(state.dual.sum.len().into());
        state.ratio = match &self.problem.comparators {
            AnySet::Ball(ball) => (norm(&state.dual.sum) / ball.radius.get()).max(least),
            AnySet::Box(_) => (before * state.narrowing(reach)).max(least),
            AnySet::WholeSpace(_) => least,
        };
        state.lambda = match &self.problem.comparators {
            AnySet::Ball(_) => before * (state.ratio / before).powf(state.follow(before)),
            _ => state.ratio,
        };
        state.lambda = state.lambda.max(least);
        let is_steady = (state.lambda / before).ln().abs() <= STEADY && state.farthest > 0.0;
        state.limit = if is_steady { state.farthest } else { f64::INFINITY };
    }

    /// Prices −S/λ with λ = ‖S‖/U, and computes the lower bound that the slopes prove. S is added
    /// up anew on the way.
    fn check(&mut self, state: &mut State, bracket: &mut Bracket) -> Result<(), P::Error> {
        let problem = self.problem;
        let mut u: Vec<f64> = state.dual.sum.iter().map(|s| -s / state.ratio).collect();
        make_feasible(&problem.comparators, &mut u);
        let mut cost = Cost::at(&u, bracket.careful);
        let mut proof = Proof::new(problem.sigma, u.len(), bracket.careful);
        let mut t = 0;
        self.data.pass(&mut |rows| {
            for example in rows.iter() {
                let p = cost.predict(&u, &example.features);
                cost.add(&problem.loss, &example, p);
                proof.add(&problem.loss, &example, state.dual.slopes[t]);
                let kink = Counted::new(problem.loss, &example).kink();
                state.idle[t] &= kink.is_some_and(|kink| is_held(&kink, p, state.dual.slopes[t]));
                t += 1;
            }
        })?;
        if bracket.tell(&cost, &u, &mut proof, &problem.comparators, self.watch) {
            bracket.slopes.clone_from(&state.dual.slopes);
        }
        state.dual.sum.copy_from_slice(proof.slopes());
        Ok(())
    }
}

/// The gap when the rate was last judged, and the work since then in passes.
struct Pace {
    gap: f64,
    work: f64,
}

impl Pace {
    fn new(bracket: &Bracket) -> Self {
        Self { gap: bracket.relative_gap(), work: 0.0 }
    }

    /// Whether it would take more passes than `patience` to close what is left of the logarithm of
    /// the gap. A short stretch tells little about the rate, so a longer patience is judged over
    /// longer stretches.
    fn is_too_slow(&mut self, left: f64, patience: f64, bracket: &Bracket) -> bool {
        if self.work < TELLING * patience {
            return false;
        }
        let closed = (self.gap / bracket.relative_gap()).ln();
        let is_soon = left * self.work <= patience * closed;
        *self = Self::new(bracket);
        !is_soon
    }
}

impl State {
    fn new(dual: Dual, lambda: f64, shape: &Shape) -> Self {
        let is_long = shape.examples >= MANY_EXAMPLES && shape.dimension <= FEW_COLUMNS;
        let run = if is_long { LONG_RUN } else { RUN };
        let rounds = shape.examples as usize;
        Self {
            dual,
            lambda,
            ratio: f64::NAN,
            power: OVERSHOOT,
            rises: false,
            idle: vec![false; rounds],
            limit: f64::INFINITY,
            farthest: 0.0,
            run,
            order: (0..rounds.div_ceil(run) as u32).collect(),
            sweep: 0,
            work: 0.0,
            gain: 0.0,
        }
    }

    /// Adds work, and returns the whole passes that it makes together with earlier work.
    fn count(&mut self, work: f64) -> u64 {
        self.work += work;
        let whole = self.work.floor();
        self.work -= whole;
        whole as u64
    }

    /// The factor for λ where its penalty (λ/2)‖u‖² is there to smooth a box. It is less than 1 as
    /// soon as a sweep gains little beside the penalty. With a smaller λ slopes hardly move.
    fn narrowing(&self, reach: f64) -> f64 {
        let penalty = 0.5 * self.lambda * reach * reach;
        if self.gain <= SETTLED * penalty { NARROWING } else { 1.0 }
    }

    /// Updates and returns the power by which λ follows the ratio.
    fn follow(&mut self, before: f64) -> f64 {
        let rises = self.ratio > before;
        if self.sweep > 2 {
            let factor = if rises == self.rises { 1.2 } else { 0.5 };
            self.power = (self.power * factor).clamp(OVERSHOOTS.0, OVERSHOOTS.1);
        }
        self.rises = rises;
        self.power
    }

    /// Improves the slope of example t, with `inverse` = 1/λ.
    #[inline(always)]
    fn visit<'a, L: Loss>(
        &mut self,
        problem: &Problem<L>,
        inverse: f64,
        t: usize,
        example: impl FnOnce() -> Example<'a>,
    ) {
        if self.idle[t] {
            return;
        }
        let example = example();
        let x = &example.features;
        let (p, bend) = match &problem.comparators {
            AnySet::Box(sides) => box_dot(sides, &self.dual.sum, inverse, x),
            _ => (-x.dot(&self.dual.sum) * inverse, x.norm_sq()),
        };
        let q = bend * inverse;
        let old = self.dual.slopes[t];
        let loss = Counted::new(problem.loss, &example);
        let new = loss.prox(p + q * old, q);
        if new == old {
            self.idle[t] = loss.kink().is_some_and(|kink| (p - kink.at).abs() > self.limit);
        } else {
            let step = new - old;
            self.dual.slopes[t] = new;
            self.farthest = self.farthest.max(q * step.abs());
            self.gain += step * (p - 0.5 * q * step) + loss.conjugate(old) - loss.conjugate(new);
            x.add_to(&mut self.dual.sum, step);
        }
    }
}

/// Whether a prediction keeps a slope at the end where it is.
#[inline]
fn is_held(kink: &Kink, p: f64, slope: f64) -> bool {
    slope == kink.low && p < kink.at || slope == kink.high && p > kink.at
}

/// Shuffles the runs differently for every sweep (SplitMix64, Fisher and Yates).
fn shuffle(order: &mut [u32], sweep: u64) {
    let mut state = sweep;
    for last in (1..order.len()).rev() {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let a = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let b = (a ^ (a >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let bits = (b ^ (b >> 31)) >> 32;
        order.swap(last, ((bits * (last as u64 + 1)) >> 32) as usize);
    }
}

/// u·x for u = −S/λ brought into the box, and the part of ‖x‖² by which it bends with the slope:
/// that of the coordinates between their sides, and some more for those that a step sets free.
fn box_dot(sides: &BoxSet, sum: &[f64], inverse: f64, x: &Features<'_>) -> (f64, f64) {
    let (mut p, mut free) = (0.0, 0.0);
    for (i, x) in x.iter() {
        let (lower, upper) = sides.extent(i);
        let u = -sum[i] * inverse;
        let inside = u.clamp(lower, upper);
        p += inside * x;
        free += if u == inside { x * x } else { 0.0 };
    }
    (p, (1.5 * free).clamp(0.02 * x.norm_sq(), x.norm_sq()))
}
