//! Dual coordinate ascent for many columns.
//!
//! One slope a_t per example, and S = Σ a_t x_t. For any λ > 0 the dual value is at least
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
//! Sweeps in ever the same order take many times as long as sweeps in random order. Data in memory
//! is visited in another order every time, which is far from the others and needs no memory;
//! data that is read anew comes in its own.

use crate::bracket::Bracket;
use crate::cost::Cost;
use crate::counted::Counted;
use crate::passes::Passes;
use crate::problem::{Options, Problem, Progress};
use crate::proof::Proof;
use crate::set::{make_feasible, norm};
use crate::survey::{Dual, Shape};
use rueful_core::Example;
use rueful_core::loss::Loss;
use rueful_core::set::{AnySet, FeasibleSet};

pub(crate) struct Ascent<'a, L, P> {
    pub(crate) problem: &'a Problem<L>,
    pub(crate) data: &'a mut P,
    pub(crate) options: &'a Options,
    pub(crate) watch: &'a mut dyn FnMut(Progress),
}

/// How many more sweeps it may take to be done, if another method could take over; and after how
/// many that is asked at the latest.
const PATIENCE: f64 = 30.0;
const FIRST_SWEEPS: u64 = 8;

/// The first λ is this times ‖S‖/U for the steepest slopes: those of the solution are flatter.
const FIRST_LAMBDA: f64 = 0.1;

/// In the first sweeps λ goes further than it should, by this power: it goes the same way for a
/// while.
const OVERSHOOT: f64 = 1.5;
const OVERSHOOTING_SWEEPS: u64 = 8;

/// Examples in memory are visited in runs of so many, which lie side by side.
const RUN: usize = 16;

/// The most classes the runs are put in, by the remainder of their number: an order is an order of
/// the classes. A power of two, so that odd numbers step through all of them.
const CLASSES: usize = 256;

/// How far ascent has come.
struct State {
    dual: Dual,
    /// What the next sweep takes for ‖S‖/U, and what it is.
    lambda: f64,
    ratio: f64,
    /// How often an example's slope has stayed where it was; such examples are visited less.
    rest: Vec<u8>,
    sweep: u64,
    /// How much the last sweep raised the dual value with its λ.
    gain: f64,
}

impl<L: Loss, P: Passes> Ascent<'_, L, P> {
    /// Narrows the bracket from a dual point on, and returns the slopes; `steepness` is ‖S‖ of steep
    /// ones. If another method can take over, it stops where the rate so far is too slow.
    pub(crate) fn solve(
        &mut self,
        dual: Dual,
        steepness: f64,
        shape: &Shape,
        has_successor: bool,
        bracket: &mut Bracket,
    ) -> Result<Vec<f64>, P::Error> {
        let least = self.least_lambda(shape);
        let reach = self.problem.comparators.reach(shape.dimension.into());
        let mut state = State {
            lambda: (FIRST_LAMBDA * steepness / reach).max(least),
            ratio: f64::NAN,
            dual,
            rest: vec![0; shape.examples as usize],
            sweep: 0,
            gain: 0.0,
        };
        let (mut last_check, mut next_check) = (0, 1);
        while !bracket.is_done(self.options) && bracket.allows(2) {
            self.sweep(&mut state)?;
            bracket.passes += 1;
            self.retune(&mut state, least);
            // As long as a sweep gains much, the gap is wide: what is left on both sides of the
            // minimum is about what the last sweep gained on one.
            let may_be_done = state.sweep >= next_check && state.gain <= 0.5 * bracket.goal();
            let is_overdue = state.sweep >= 2 * last_check + FIRST_SWEEPS;
            if !may_be_done && !is_overdue && bracket.allows(2) {
                continue;
            }
            let before = bracket.relative_gap();
            self.check(&mut state, bracket)?;
            let rate = (before / bracket.relative_gap()).ln() / (state.sweep - last_check) as f64;
            let left = (bracket.relative_gap() / self.options.tolerance).ln();
            let soon = left <= PATIENCE * rate;
            if has_successor && state.sweep > 1 && !soon {
                break;
            }
            last_check = state.sweep;
            // When it should be done at this rate, and not much later.
            let expected = (left / rate).ceil().clamp(1.0, 1.0 + (state.sweep / 2) as f64);
            next_check = state.sweep + expected as u64;
        }
        Ok(state.dual.slopes)
    }

    /// The smallest λ that is of use: what σ makes it, and enough to keep the problem from being
    /// flat, at a cost of less than half the tolerance.
    fn least_lambda(&self, shape: &Shape) -> f64 {
        let sigma = self.problem.sigma.get() * shape.examples as f64;
        let reach = self.problem.comparators.reach(shape.dimension.into());
        let flat = 0.2 * self.options.tolerance * shape.at_zero.abs() / (reach * reach);
        sigma.max(flat).max(f64::MIN_POSITIVE)
    }

    /// Improves every slope once, those that have been at rest less often.
    fn sweep(&mut self, state: &mut State) -> Result<(), P::Error> {
        state.sweep += 1;
        state.gain = 0.0;
        let problem = self.problem;
        let inverse = 1.0 / state.lambda;
        let Some(held) = self.data.held() else {
            let mut start = 0;
            return self.data.pass(&mut |rows| {
                (0..rows.len())
                    .for_each(|row| state.visit(problem, inverse, start + row, || rows.get(row)));
                start += rows.len();
            });
        };
        let classes = (state.rest.len() / RUN).next_power_of_two().min(CLASSES);
        let period = RUN * classes;
        let step = 2 * state.sweep as usize + 1;
        for class in (0..classes).map(|k| k * step % classes) {
            let mut start = 0;
            for batch in &held {
                let rows = batch.len();
                // Where the first run of the class begins, and how many rows one goes on for that
                // began in the batch before.
                let first = (RUN * class).wrapping_sub(start) % period;
                let rest = (first + RUN).saturating_sub(period);
                let runs = (first..rows).step_by(period).map(|run| run..rows.min(run + RUN));
                for row in (0..rest.min(rows)).chain(runs.flatten()) {
                    state.visit(problem, inverse, start + row, || batch.get(row));
                }
                start += rows;
            }
        }
        Ok(())
    }

    fn retune(&self, state: &mut State, least: f64) {
        let before = state.lambda;
        state.ratio = match &self.problem.comparators {
            AnySet::Ball(ball) => (norm(&state.dual.sum) / ball.radius.get()).max(least),
            AnySet::Box(_) => (0.7 * before).max(least),
            AnySet::WholeSpace(_) => least,
        };
        let is_early = state.sweep <= OVERSHOOTING_SWEEPS;
        state.lambda = match &self.problem.comparators {
            AnySet::Ball(_) if is_early => before * (state.ratio / before).powf(OVERSHOOT),
            _ => state.ratio,
        };
        state.lambda = state.lambda.max(least);
    }

    /// Prices −S/λ with λ = ‖S‖/U, and proves what the slopes prove. S is added up anew on the way.
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

impl State {
    /// Improves the slope of example t with 1/λ, unless it has been at rest and it is not its turn.
    #[inline(always)]
    fn visit<'a, L: Loss>(
        &mut self,
        problem: &Problem<L>,
        inverse: f64,
        t: usize,
        example: impl FnOnce() -> Example<'a>,
    ) {
        let rest = u64::from(self.rest[t]);
        if rest > 1 && !(self.sweep + t as u64).is_multiple_of(rest.min(8)) {
            return;
        }
        let example = example();
        let x = &example.features;
        let q = x.norm_sq() * inverse;
        let p = match &problem.comparators {
            AnySet::Box(sides) => box_dot(sides, &self.dual.sum, inverse, x),
            _ => -x.dot(&self.dual.sum) * inverse,
        };
        let old = self.dual.slopes[t];
        let loss = Counted::new(problem.loss, &example);
        let new = loss.prox(p + q * old, q);
        if new == old {
            self.rest[t] = self.rest[t].saturating_add(1);
        } else {
            self.rest[t] = 0;
            self.dual.slopes[t] = new;
            let step = new - old;
            self.gain += step * (p - 0.5 * q * step) + loss.conjugate(old) - loss.conjugate(new);
            x.add_to(&mut self.dual.sum, step);
        }
    }
}

fn box_dot(
    sides: &rueful_core::set::BoxSet,
    sum: &[f64],
    inverse: f64,
    x: &rueful_core::Features<'_>,
) -> f64 {
    x.iter()
        .map(|(i, x)| {
            let (lower, upper) = sides.extent(i);
            (-sum[i] * inverse).clamp(lower, upper) * x
        })
        .sum()
}
