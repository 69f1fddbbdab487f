//! The method of multipliers, for data in memory: every loss, every set, any shape.
//!
//! Kinks and sides are what makes min Σ φ_t(u·x_t) over W hard. So both are smoothed around guesses
//! of their multipliers ([`Lagrangian`]): the slopes a_t of the losses, and the normal m of W at u.
//! The smoothed function is minimised over all u by Newton's method. Its slopes and its normal are
//! the next guesses, u is the next center, and the smoothing narrows:
//!
//! ```text
//! u ← argmin Σ ψ_t(u·x_t) + (σT/2)‖u‖² + ω(u) + Σ (c_i/2)(u_i − ū_i)²
//! ā ← ψ'(u·x),    m̄ ← ∇ω(u),    ū ← u
//! ```
//!
//! This is the method of Hestenes, Powell and Rockafellar, a proximal-point method on primal and
//! dual at once. Guesses that are right make the smoothed function exact whatever its width, so a
//! few rounds give many digits. Only examples at their kink have curvature, so Newton's systems are
//! small ([`System`]). Every round prices u, brought into the set, and computes the lower bound
//! that its slopes prove.
//!
//! [`System`]: crate::system::System

use crate::bracket::Bracket;
use crate::cost::Cost;
use crate::held::Held;
use crate::lagrangian::{Lagrangian, Standing};
use crate::problem::{Options, Problem, Progress};
use crate::proof::Proof;
use crate::set::{dot, make_feasible};
use crate::system::Memory;
use rueful_core::loss::Loss;
use std::ops::ControlFlow;

/// The number of rounds that may go by without a narrower interval.
const PATIENCE: u32 = 20;

/// The first width is this many times the relative gap, as a part of the spread. It is at least the
/// second number.
const START_WIDTH: f64 = 3.0;
const LEAST_WIDTH: f64 = 1e-3;

/// The most steps of Newton's method in a round.
const MAX_STEPS: u32 = 60;

/// A round is solved well enough when a step gains at most this part of what the guesses moved.
const WELL_ENOUGH: f64 = 0.03;

/// The accuracy of Newton's systems, relative to the gradient: the rough one while steps still gain
/// much, and the fine one near the end.
const ROUGH: f64 = 3e-2;
const FINE: f64 = 1e-3;

/// Changes this small, relative to the value, are rounding.
const ROUNDING: f64 = 1e-13;

pub(crate) struct Multipliers<'a, L> {
    pub(crate) problem: &'a Problem<L>,
    pub(crate) data: &'a Held<'a>,
    pub(crate) options: &'a Options,
    pub(crate) watch: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
}

impl<L: Loss> Multipliers<'_, L> {
    /// Narrows the bracket from the point u and the slopes on, in about `passes` passes at most.
    /// `spread` is the size of a typical residual.
    pub(crate) fn solve(
        &mut self,
        u: Vec<f64>,
        slopes: Vec<f64>,
        spread: f64,
        passes: u64,
        bracket: &mut Bracket,
    ) {
        let last = bracket.passes.saturating_add(passes);
        // One pass measures the columns, one visits u, and one prices.
        if !bracket.allows(3) {
            return;
        }
        // Guesses that are good already must not be smoothed away.
        let spread = spread * (START_WIDTH * bracket.relative_gap()).clamp(LEAST_WIDTH, 1.0);
        let mut smoothed = Lagrangian::new(self.problem, self.data, &u, slopes, spread);
        let mut at = smoothed.visit(u);
        bracket.passes += 2;
        let mut memory = Memory::new();
        let mut patience = PATIENCE;
        while patience > 0 && bracket.passes < last && !bracket.is_done(self.options) {
            let gap = bracket.relative_gap();
            let steps = minimise(&smoothed, &mut at, &mut memory, bracket);
            self.price(&at, bracket);
            patience = if bracket.relative_gap() < 0.99 * gap { PATIENCE } else { patience - 1 };
            let moved = smoothed.moved(&at);
            smoothed.take(&at);
            // Guesses that stand still are right. The wider the smoothing is then, the less
            // rounding their slopes have.
            smoothed.scale(match steps {
                _ if moved <= ROUNDING * at.value.abs() => 10.0,
                0..=6 => 0.2,
                7..=15 => 0.5,
                _ => 1.0,
            });
            if !bracket.is_done(self.options) && bracket.allows(2) {
                at = smoothed.visit(at.u);
                bracket.passes += 1;
            }
        }
    }

    /// Prices u, once it is in the set, and computes the lower bound that the slopes prove.
    fn price(&mut self, at: &Standing, bracket: &mut Bracket) {
        let problem = self.problem;
        let mut u = at.u.clone();
        make_feasible(&problem.comparators, &mut u);
        let mut cost = Cost::at(&u, bracket.careful);
        let mut proof = Proof::new(problem.sigma, u.len(), bracket.careful);
        for (example, &slope) in self.data.examples().zip(&at.slopes) {
            let p = cost.predict(&u, &example.features);
            cost.add(&problem.loss, &example, p);
            proof.add(&problem.loss, &example, slope);
        }
        if bracket.tell(&cost, &u, &mut proof, &problem.comparators, self.watch) {
            bracket.slopes.clone_from(&at.slopes);
        }
    }
}

/// Runs Newton's method on the smoothed function from where it stands, and returns the number of
/// steps. Products with a part of the rows count as that part of a pass, and one pass is left over.
fn minimise<'a, L: Loss>(
    smoothed: &Lagrangian<'a, L>,
    at: &mut Standing,
    memory: &mut Memory<'a>,
    bracket: &mut Bracket,
) -> u32 {
    let (mut steps, mut work) = (0, 0.0);
    let mut before = f64::INFINITY;
    while steps < MAX_STEPS && bracket.allows(4) {
        let moved = smoothed.moved(at);
        let mut system = smoothed.system(at);
        let downhill: Vec<f64> = at.gradient.iter().map(|g| -g).collect();
        let part = system.nonzeros() as f64 / smoothed.nonzeros();
        let most = (bracket.left() - 3) as f64 / part.max(1e-9);
        let accuracy = if before > moved { ROUGH } else { FINE };
        let solved = system.solve(&downhill, accuracy, memory, most as usize);
        work += solved.products as f64 * part;
        bracket.passes += work as u64;
        work -= work.floor();
        let gain = dot(&downhill, &solved.s);
        let is_rounding = gain <= ROUNDING * at.value.abs() && gain > 0.25 * before;
        if gain.is_nan() || gain <= 0.0 || is_rounding {
            break;
        }
        *at = smoothed.visit(smoothed.search(at, &solved.s));
        steps += 1;
        bracket.passes += 2;
        if gain <= WELL_ENOUGH * moved {
            break;
        }
        before = gain;
    }
    steps
}
