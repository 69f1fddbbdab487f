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
use crate::prox::ProxLoss;
use crate::set::{make_feasible, norm};
use crate::solve::Shape;
use rueful_core::ledger::Minorant;
use rueful_core::set::{AnySet, FeasibleSet};

pub(crate) struct Ascent<'a, L, P> {
    pub(crate) problem: &'a Problem<L>,
    pub(crate) data: &'a mut P,
    pub(crate) options: &'a Options,
    pub(crate) watch: &'a mut dyn FnMut(Progress),
}

/// The dual point, with the sum it makes.
struct Dual {
    slopes: Vec<f64>,
    sum: Vec<f64>,
    lambda: f64,
    /// How often an example's slope has stayed where it was; such examples are visited less.
    rest: Vec<u8>,
    sweep: u64,
}

impl<L: ProxLoss, P: Passes> Ascent<'_, L, P> {
    /// Narrows the bracket by so many sweeps, starting from a slope per example, or from none;
    /// returns the slopes.
    pub(crate) fn solve(
        &mut self,
        slopes: Vec<f64>,
        shape: &Shape,
        sweeps: u64,
        bracket: &mut Bracket,
    ) -> Result<Vec<f64>, P::Error> {
        let mut dual = self.begin(slopes, shape, bracket)?;
        let mut next_check = 1;
        let floor = self.least_lambda(shape);
        while dual.sweep < sweeps && !bracket.is_exhausted() {
            self.sweep(&mut dual)?;
            bracket.passes += 1;
            self.retune(&mut dual, floor);
            if dual.sweep >= next_check {
                self.check(&mut dual, bracket)?;
                if bracket.is_converged(self.options) {
                    return Ok(dual.slopes);
                }
                next_check = dual.sweep + 1 + dual.sweep / 4;
            }
        }
        self.check(&mut dual, bracket)?;
        Ok(dual.slopes)
    }

    /// The smallest λ that is of use: what σ makes it, and enough to keep the problem from being
    /// flat, at a cost of less than half the tolerance.
    fn least_lambda(&self, shape: &Shape) -> f64 {
        let sigma = self.problem.sigma.get() * shape.examples as f64;
        let reach = self.problem.comparators.reach(shape.dimension);
        let flat = 0.2 * self.options.tolerance * shape.at_zero.abs() / (reach * reach);
        sigma.max(flat).max(f64::MIN_POSITIVE)
    }

    fn begin(
        &mut self,
        slopes: Vec<f64>,
        shape: &Shape,
        bracket: &mut Bracket,
    ) -> Result<Dual, P::Error> {
        let given = slopes.len() as u64 == shape.examples;
        let mut dual = Dual {
            slopes: if given { slopes } else { vec![0.0; shape.examples as usize] },
            sum: vec![0.0; shape.dimension],
            lambda: 0.0,
            rest: vec![0; shape.examples as usize],
            sweep: 0,
        };
        let mut steepest = vec![0.0; shape.dimension];
        let mut place = 0;
        self.data.pass(&mut |batch, rows| {
            for row in 0..rows {
                let example = batch.get(row);
                example.features.add_to(&mut dual.sum, dual.slopes[place]);
                let slope = self.problem.loss.at(0.0, example.label).slope;
                example.features.add_to(&mut steepest, slope);
                place += 1;
            }
        })?;
        bracket.passes += 1;
        let reach = self.problem.comparators.reach(shape.dimension);
        let guess = norm(if given { &dual.sum } else { &steepest }) / reach;
        dual.lambda = (0.1 * guess).max(self.least_lambda(shape));
        Ok(dual)
    }

    /// Improves every slope once, those that have been at rest less often.
    fn sweep(&mut self, dual: &mut Dual) -> Result<(), P::Error> {
        dual.sweep += 1;
        let sweep = dual.sweep;
        let lambda = dual.lambda;
        let mut place = 0;
        let problem = self.problem;
        self.data.pass(&mut |batch, rows| {
            for row in 0..rows {
                let t = place + row;
                let rest = u64::from(dual.rest[t]);
                if rest > 1 && !(sweep + t as u64).is_multiple_of(rest.min(8)) {
                    continue;
                }
                let example = batch.get(row);
                let x = &example.features;
                let q = x.norm_sq() / lambda;
                let p = match &problem.comparators {
                    AnySet::Box(sides) => box_dot(sides, &dual.sum, lambda, x),
                    _ => -x.dot(&dual.sum) / lambda,
                };
                let old = dual.slopes[t];
                let new = problem.loss.prox(p + q * old, example.label, q);
                if new == old {
                    dual.rest[t] = dual.rest[t].saturating_add(1);
                } else {
                    dual.rest[t] = 0;
                    dual.slopes[t] = new;
                    x.add_to(&mut dual.sum, new - old);
                }
            }
            place += rows;
        })
    }

    fn retune(&self, dual: &mut Dual, least: f64) {
        dual.lambda = match &self.problem.comparators {
            AnySet::Ball(ball) => {
                let ratio = norm(&dual.sum) / (dual.lambda * ball.radius.get());
                (dual.lambda * ratio).max(least)
            }
            AnySet::Box(_) => (0.7 * dual.lambda).max(least),
            AnySet::WholeSpace(_) => least,
        };
    }

    /// Prices −S/λ, and proves what the slopes prove. S is added up anew on the way.
    fn check(&mut self, dual: &mut Dual, bracket: &mut Bracket) -> Result<(), P::Error> {
        let problem = self.problem;
        let mut u: Vec<f64> = dual.sum.iter().map(|s| -s / dual.lambda).collect();
        make_feasible(&problem.comparators, &mut u);
        let mut cost = Cost::at(&u);
        let mut minorant = Minorant::new(problem.sigma);
        minorant.grow(u.len());
        let mut t = 0;
        self.data.pass(&mut |batch, rows| {
            for row in 0..rows {
                let example = batch.get(row);
                let x = &example.features;
                cost.add(problem.loss.at(x.dot(&u), example.label), x);
                let conjugate = problem.loss.conjugate(dual.slopes[t], example.label);
                minorant.record_dual(x, dual.slopes[t], conjugate);
                t += 1;
            }
        })?;
        dual.sum.copy_from_slice(minorant.slopes());
        bracket.tell(&cost, &u, &minorant, &problem.comparators, self.watch);
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
