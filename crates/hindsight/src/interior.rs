//! A primal-dual interior-point method, for few columns and losses with a kink.
//!
//! A kink is a small linear program. With r = p − at split into r = r⁺ − r⁻, both at least 0, the
//! loss is high·r⁺ − low·r⁻, and its slope a lies between low and high. At the solution one of each
//! pair is zero:
//!
//! ```text
//! (high − a)·r⁺ = 0      (a − low)·r⁻ = 0
//! ```
//!
//! Every iteration replaces these zeros by a small μ and takes a Newton step towards that, staying
//! strictly inside. Eliminating a, r⁺ and r⁻ leaves a quadratic in u with weights
//! 1/(r⁺/(high−a) + r⁻/(a−low)) on the examples, which is minimised over the comparators exactly.
//!
//! Points and steps are in the coordinates of a [`Frame`]: those of the data, or those of an
//! orthogonal basis, which tells apart columns that say nearly the same.
//!
//! The step is found in two parts (Mehrotra's predictor and corrector). A trial step towards μ = 0
//! shows how small a μ is within reach. It also shows the size of the products Δa·Δr, which
//! Newton's method leaves out. So an iteration takes three passes (weights and prices; trial step;
//! step) and keeps a few numbers per example.

use crate::basis::Frame;
use crate::bracket::Bracket;
use crate::check::{Check, Region};
use crate::counted::Counted;
use crate::hessian::Hessian;
use crate::passes::Passes;
use crate::problem::{Options, Problem, Progress};
use crate::quadratic::Quadratic;
use rueful_core::Features;
use rueful_core::loss::{Kink, Loss};
use std::ops::ControlFlow;

pub(crate) struct Interior<'a, L, P> {
    pub(crate) problem: &'a Problem<L>,
    pub(crate) data: &'a mut P,
    pub(crate) options: &'a Options,
    pub(crate) watch: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
    /// The coordinates of points, steps and quadratics. On a box they are those of the data.
    pub(crate) frame: Frame,
    /// The comparators about which the results are proved. In the frame they are those of the
    /// problem.
    pub(crate) region: Region<'a>,
}

/// The part of the way to the boundary that a step may go.
const FRACTION: f64 = 0.995;

/// The number of iterations that may go by without a narrower interval.
const PATIENCE: u32 = 25;

/// The state of one example: its slope, the two sides of its residual, the change of its prediction
/// along the latest step, and the amounts that its products should come to besides μ.
#[derive(Debug, Clone, Copy)]
struct Row {
    slope: f64,
    above: f64,
    below: f64,
    change: f64,
    extra_up: f64,
    extra_down: f64,
}

/// The direction in which one row moves.
struct Direction {
    slope: f64,
    above: f64,
    below: f64,
}

impl Row {
    /// A point strictly inside, at prediction p.
    fn start(kink: &Kink, p: f64, spread: f64) -> Self {
        let r = p - kink.at;
        Self {
            slope: 0.5 * (kink.low + kink.high),
            above: r.max(0.0) + spread,
            below: (-r).max(0.0) + spread,
            change: 0.0,
            extra_up: 0.0,
            extra_down: 0.0,
        }
    }

    /// high − a and a − low.
    #[inline]
    fn slacks(&self, kink: &Kink) -> (f64, f64) {
        (kink.high - self.slope, self.slope - kink.low)
    }

    /// (high − a)·r⁺ + (a − low)·r⁻.
    fn complementarity(&self, kink: &Kink) -> f64 {
        let (up, down) = self.slacks(kink);
        up * self.above + down * self.below
    }

    /// 1/(r⁺/(high−a) + r⁻/(a−low)).
    #[inline]
    fn weight(&self, kink: &Kink) -> f64 {
        let (up, down) = self.slacks(kink);
        up * down / (self.above * down + self.below * up)
    }

    /// The direction of the row when its prediction changes by `change` and its products should
    /// become μ plus the extras.
    #[inline]
    fn direction(&self, kink: &Kink, mu: f64) -> Direction {
        let (up, down) = self.slacks(kink);
        let (to_up, to_down) = (mu + self.extra_up, mu + self.extra_down);
        let offset = (to_up / up - self.above) - (to_down / down - self.below);
        let slope = self.weight(kink) * (self.change - offset);
        Direction {
            slope,
            above: (to_up + self.above * slope) / up - self.above,
            below: (to_down - self.below * slope) / down - self.below,
        }
    }

    /// Moves along a direction, to the prediction p. Rounding may have parted r⁺ − r⁻ from p − at.
    /// The larger of the two makes up for it.
    #[inline]
    fn advance(&mut self, kink: &Kink, taken: Lengths, p: f64) {
        let to = self.direction(kink, taken.mu);
        self.slope += taken.dual * to.slope;
        self.above += taken.primal * to.above;
        self.below += taken.primal * to.below;
        let drift = p - kink.at - (self.above - self.below);
        if self.above > self.below {
            self.above += drift;
        } else {
            self.below -= drift;
        }
        (self.extra_up, self.extra_down) = (0.0, 0.0);
    }
}

/// The step lengths for u with its residuals and for the slopes, and the μ that was aimed for.
#[derive(Debug, Clone, Copy)]
struct Lengths {
    primal: f64,
    dual: f64,
    mu: f64,
}

/// Newton's subproblem, which a pass collects.
struct Subproblem {
    /// The quadratic for μ = 0.
    quadratic: Quadratic,
    /// The vector that a unit of μ takes off the gradient.
    pull: Vec<f64>,
}

/// Σ (high − a)·r⁺ + (a − low)·r⁻ as a function of the two step lengths.
#[derive(Debug, Clone, Copy, Default)]
struct Complementarity {
    here: f64,
    primal: f64,
    dual: f64,
    both: f64,
}

impl Complementarity {
    #[inline]
    fn add(&mut self, row: &Row, kink: &Kink, to: &Direction) {
        let (up, down) = (kink.high - row.slope, row.slope - kink.low);
        self.here += up * row.above + down * row.below;
        self.primal += up * to.above + down * to.below;
        self.dual += to.slope * (row.below - row.above);
        self.both += to.slope * (to.below - to.above);
    }

    fn after(&self, lengths: Lengths) -> f64 {
        let Lengths { primal, dual, .. } = lengths;
        self.here + primal * self.primal + dual * self.dual + primal * dual * self.both
    }
}

/// How far a step can go. It is found row by row.
struct Reach {
    primal: f64,
    dual: f64,
    mu: f64,
    complementarity: Complementarity,
}

impl Reach {
    fn new(mu: f64) -> Self {
        let unlimited = 1.0 / FRACTION;
        Self { primal: unlimited, dual: unlimited, mu, complementarity: Complementarity::default() }
    }

    #[inline]
    fn add(&mut self, row: &Row, kink: &Kink, to: &Direction) {
        let (up, down) = row.slacks(kink);
        self.complementarity.add(row, kink, to);
        self.primal = self.primal.min(room(row.above, to.above)).min(room(row.below, to.below));
        self.dual = self.dual.min(room(up, -to.slope)).min(room(down, to.slope));
    }

    /// The step lengths that go most of the way to the nearest boundary.
    fn lengths(&self) -> Lengths {
        Lengths { primal: FRACTION * self.primal, dual: FRACTION * self.dual, mu: self.mu }
    }
}

/// The longest step that keeps value + step·change at 0 or above.
#[inline]
fn room(value: f64, change: f64) -> f64 {
    if change < 0.0 { -value / change } else { f64::INFINITY }
}

impl<L: Loss, P: Passes> Interior<'_, L, P> {
    /// Narrows the bracket from the point u on. `spread` is the size of a typical residual.
    pub(crate) fn solve(
        &mut self,
        u: &[f64],
        examples: u64,
        spread: f64,
        bracket: &mut Bracket,
    ) -> Result<(), P::Error> {
        // Two passes are needed: one to begin, and one to price.
        if !bracket.allows(2) {
            return Ok(());
        }
        let mut u = self.frame.enter(u);
        let mut rows: Vec<Row> = Vec::with_capacity(examples as usize);
        let mut total = self.begin(&u, spread, &mut rows)?;
        bracket.passes += 1;
        let mut model = Subproblem {
            quadratic: Quadratic {
                hessian: Hessian::new(u.len()),
                gradient: vec![0.0; u.len()],
                curvature: 0.0,
            },
            pull: vec![0.0; u.len()],
        };
        let mut taken = None;
        let mut patience = PATIENCE;
        while patience > 0 {
            let gap = bracket.relative_gap();
            self.weigh(&u, &mut rows, taken, &mut model, bracket)?;
            if bracket.is_done(self.options) || !bracket.allows(3) {
                break;
            }
            patience = if bracket.relative_gap() < gap { PATIENCE } else { patience - 1 };

            let Some(trial) = self.minimise(&u, &model.quadratic) else { break };
            let gradient = &mut model.quadratic.gradient;
            let within_reach = self.try_out(&u, &trial, &mut rows, gradient)?;
            let mu = (within_reach / total).powi(3) * total / (2.0 * examples as f64);
            for (g, pull) in model.quadratic.gradient.iter_mut().zip(&model.pull) {
                *g -= mu * pull;
            }
            let Some(v) = self.minimise(&u, &model.quadratic) else { break };
            let (lengths, left) = self.look_along(&u, &v, &mut rows, mu)?;
            bracket.passes += 2;
            for (u, v) in u.iter_mut().zip(&v) {
                *u += lengths.primal * (v - *u);
            }
            (taken, total) = (Some(lengths), left);
        }
        Ok(())
    }

    /// The minimum of the quadratic over the comparators, with as much damping as it takes.
    fn minimise(&self, u: &[f64], quadratic: &Quadratic) -> Option<Vec<f64>> {
        [1e-14, 1e-12, 1e-10, 1e-8, 1e-6].iter().find_map(|&damping| {
            quadratic.minimise(u, damping, &self.frame, &self.problem.comparators)
        })
    }

    /// Sets up rows strictly inside, for predictions at u. Returns their complementarity.
    fn begin(&mut self, u: &[f64], spread: f64, rows: &mut Vec<Row>) -> Result<f64, P::Error> {
        let problem = self.problem;
        let mut total = 0.0;
        let frame = &mut self.frame;
        self.data.pass(&mut |shown| {
            for example in shown.iter() {
                let Some(kink) = Counted::new(problem.loss, &example).kink() else { continue };
                frame.look(&example.features);
                let row = Row::start(&kink, frame.dot(&example.features, u), spread);
                total += row.complementarity(&kink);
                rows.push(row);
            }
        })?;
        Ok(total)
    }

    /// Takes the step that the rows were told of, prices u, computes the lower bound that the
    /// slopes prove, and collects the quadratic.
    fn weigh(
        &mut self,
        point: &[f64],
        rows: &mut [Row],
        taken: Option<Lengths>,
        model: &mut Subproblem,
        bracket: &mut Bracket,
    ) -> Result<(), P::Error> {
        let problem = self.problem;
        let u = self.frame.leave(point);
        let mut check = Check::new(self.region, problem.sigma, u, bracket.careful);
        let Subproblem { quadratic: Quadratic { hessian, gradient, curvature }, pull } = model;
        hessian.clear();
        gradient.fill(0.0);
        pull.fill(0.0);
        let frame = &mut self.frame;
        let mut states = rows.iter_mut();
        self.data.pass(&mut |shown| {
            for (example, state) in shown.iter().zip(&mut states) {
                let x = &example.features;
                let Some(kink) = Counted::new(problem.loss, &example).kink() else { continue };
                frame.look(x);
                if let Some(taken) = taken {
                    state.advance(&kink, taken, frame.dot(x, point));
                }
                check.add(&problem.loss, &example, Some(state.slope));
                let weight = state.weight(&kink);
                let (up, down) = state.slacks(&kink);
                frame.add_square(x, weight, hessian);
                let slope = state.slope + weight * (state.above - state.below);
                frame.add(x, slope, gradient);
                frame.add(x, weight * (1.0 / up - 1.0 / down), pull);
            }
        })?;
        hessian.finish();
        if check.tell(bracket, self.watch) {
            bracket.slopes.extend(rows.iter().map(|row| row.slope));
        }
        *curvature = check.curvature();
        let penalty = self.frame.penalty_gradient(*curvature, point);
        gradient.iter_mut().zip(&penalty).for_each(|(g, p)| *g += p);
        Ok(())
    }

    /// Takes the trial step towards μ = 0, and returns the complementarity that it could reach. It
    /// stores in the rows the products that it would leave behind, and takes them off the gradient.
    fn try_out(
        &mut self,
        u: &[f64],
        trial: &[f64],
        rows: &mut [Row],
        gradient: &mut [f64],
    ) -> Result<f64, P::Error> {
        let mut reach = Reach::new(0.0);
        self.for_each(u, trial, rows, |row, kink, x, frame| {
            let to = row.direction(kink, 0.0);
            reach.add(row, kink, &to);
            row.extra_up = to.slope * to.above;
            row.extra_down = -to.slope * to.below;
            let (up, down) = row.slacks(kink);
            let left_out = row.weight(kink) * (row.extra_up / up - row.extra_down / down);
            frame.add(x, -left_out, gradient);
        })?;
        Ok(reach.complementarity.after(reach.lengths()))
    }

    /// Looks along the step itself. Returns how far it can go, and the complementarity that is left
    /// there.
    fn look_along(
        &mut self,
        u: &[f64],
        v: &[f64],
        rows: &mut [Row],
        mu: f64,
    ) -> Result<(Lengths, f64), P::Error> {
        let mut reach = Reach::new(mu);
        self.for_each(u, v, rows, |row, kink, _, _| {
            reach.add(row, kink, &row.direction(kink, mu));
        })?;
        Ok((reach.lengths(), reach.complementarity.after(reach.lengths())))
    }

    /// Tells every row how its prediction changes on the way from u to v, and visits it.
    fn for_each(
        &mut self,
        u: &[f64],
        v: &[f64],
        rows: &mut [Row],
        mut visit: impl FnMut(&mut Row, &Kink, &Features<'_>, &Frame),
    ) -> Result<(), P::Error> {
        let problem = self.problem;
        let step: Vec<f64> = v.iter().zip(u).map(|(v, u)| v - u).collect();
        let mut rows = rows.iter_mut();
        let frame = &mut self.frame;
        self.data.pass(&mut |shown| {
            for (example, row) in shown.iter().zip(&mut rows) {
                if let Some(kink) = Counted::new(problem.loss, &example).kink() {
                    let x = &example.features;
                    frame.look(x);
                    row.change = frame.dot(x, &step);
                    visit(row, &kink, x, frame);
                }
            }
        })
    }
}
