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

use crate::bracket::Bracket;
use crate::cost::Cost;
use crate::passes::Passes;
use crate::problem::{Options, Problem, Progress};
use crate::proof::Proof;
use crate::prox::{Counted, ProxLoss};
use crate::set::{make_feasible, norm};
use crate::survey::{Dual, Shape};
use rueful_core::set::{AnySet, FeasibleSet};

pub(crate) struct Ascent<'a, L, P> {
    pub(crate) problem: &'a Problem<L>,
    pub(crate) data: &'a mut P,
    pub(crate) options: &'a Options,
    pub(crate) watch: &'a mut dyn FnMut(Progress),
}

/// How many more sweeps it may take to be done, if another method could take over; and how many
/// come before that is asked.
const PATIENCE: f64 = 30.0;
const FIRST_SWEEPS: u64 = 4;

/// The first λ is this times ‖S‖/U for the steepest slopes: those of the solution are flatter.
const FIRST_LAMBDA: f64 = 0.1;

/// How far ascent has come.
struct State {
    dual: Dual,
    lambda: f64,
    /// How often an example's slope has stayed where it was; such examples are visited less.
    rest: Vec<u8>,
    sweep: u64,
}

impl<L: ProxLoss, P: Passes> Ascent<'_, L, P> {
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
        let reach = self.problem.comparators.reach(shape.dimension);
        let mut state = State {
            lambda: (FIRST_LAMBDA * steepness / reach).max(least),
            dual,
            rest: vec![0; shape.examples as usize],
            sweep: 0,
        };
        let (mut last_check, mut next_check) = (0, 1);
        while !bracket.is_converged(self.options) && bracket.allows(2) {
            self.sweep(&mut state)?;
            bracket.passes += 1;
            self.retune(&mut state, least);
            if state.sweep < next_check && bracket.allows(2) {
                continue;
            }
            let before = bracket.relative_gap();
            self.check(&mut state, bracket)?;
            let rate = (before / bracket.relative_gap()).ln() / (state.sweep - last_check) as f64;
            let left = (bracket.relative_gap() / self.options.tolerance).ln();
            let soon = left <= PATIENCE * rate;
            if has_successor && state.sweep >= FIRST_SWEEPS && !soon {
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
        let reach = self.problem.comparators.reach(shape.dimension);
        let flat = 0.2 * self.options.tolerance * shape.at_zero.abs() / (reach * reach);
        sigma.max(flat).max(f64::MIN_POSITIVE)
    }

    /// Improves every slope once, those that have been at rest less often.
    fn sweep(&mut self, state: &mut State) -> Result<(), P::Error> {
        state.sweep += 1;
        let sweep = state.sweep;
        let lambda = state.lambda;
        let mut place = 0;
        let problem = self.problem;
        self.data.pass(&mut |batch, rows| {
            for row in 0..rows {
                let t = place + row;
                let rest = u64::from(state.rest[t]);
                if rest > 1 && !(sweep + t as u64).is_multiple_of(rest.min(8)) {
                    continue;
                }
                let example = batch.get(row);
                let x = &example.features;
                let q = x.norm_sq() / lambda;
                let p = match &problem.comparators {
                    AnySet::Box(sides) => box_dot(sides, &state.dual.sum, lambda, x),
                    _ => -x.dot(&state.dual.sum) / lambda,
                };
                let old = state.dual.slopes[t];
                let new = Counted::new(problem.loss, &example).prox(p + q * old, q);
                if new == old {
                    state.rest[t] = state.rest[t].saturating_add(1);
                } else {
                    state.rest[t] = 0;
                    state.dual.slopes[t] = new;
                    x.add_to(&mut state.dual.sum, new - old);
                }
            }
            place += rows;
        })
    }

    fn retune(&self, state: &mut State, least: f64) {
        state.lambda = match &self.problem.comparators {
            AnySet::Ball(ball) => {
                let ratio = norm(&state.dual.sum) / (state.lambda * ball.radius.get());
                (state.lambda * ratio).max(least)
            }
            AnySet::Box(_) => (0.7 * state.lambda).max(least),
            AnySet::WholeSpace(_) => least,
        };
    }

    /// Prices −S/λ, and proves what the slopes prove. S is added up anew on the way.
    fn check(&mut self, state: &mut State, bracket: &mut Bracket) -> Result<(), P::Error> {
        let problem = self.problem;
        let mut u: Vec<f64> = state.dual.sum.iter().map(|s| -s / state.lambda).collect();
        make_feasible(&problem.comparators, &mut u);
        let mut cost = Cost::at(&u, bracket.careful);
        let mut proof = Proof::new(problem.sigma, u.len(), bracket.careful);
        let mut t = 0;
        self.data.pass(&mut |batch, rows| {
            for row in 0..rows {
                let example = batch.get(row);
                let x = &example.features;
                let p = cost.predict(&u, x);
                let loss = Counted::new(problem.loss, &example);
                cost.add(loss.at(p), p, x);
                let conjugate = loss.conjugate(state.dual.slopes[t]);
                proof.add(x, state.dual.slopes[t], conjugate);
                t += 1;
            }
        })?;
        state.dual.sum.copy_from_slice(proof.slopes());
        bracket.tell(&cost, &u, &mut proof, &problem.comparators, self.watch);
        Ok(())
    }
}

fn box_dot(
    sides: &rueful_core::set::BoxSet,
    sum: &[f64],
    lambda: f64,
    x: &rueful_core::Features<'_>,
) -> f64 {
    x.iter()
        .map(|(i, x)| {
            let (lower, upper) = sides.extent(i);
            (-sum[i] / lambda).clamp(lower, upper) * x
        })
        .sum()
}
