//! Newton's method over a ball of matrices.
//!
//! A step that does not lower the smoothed loss makes the damping larger, and one that does makes it
//! smaller. If the multiclass hinge is what is smoothed, the temperature falls once the rest of the
//! gap is smaller than what smoothing costs, or once no step lowers the smoothed loss any more.

use super::frame::Frame;
use super::products::{Bend, dot};
use super::visit::{Standing, Visit};
use crate::bracket::Bracket;
use crate::hessian::Hessian;
use crate::passes::Passes;
use crate::problem::{Options, Progress};
use crate::quadratic::minimise;
use crate::survey::Shape;
use rueful_core::Positive;
use rueful_core::classes::ClassLoss;
use rueful_core::set::{AnySet, Ball};
use std::ops::ControlFlow;

/// The most numbers of a matrix for which all second derivatives are kept, and the most
/// multiplications in a pass that collects them.
const FEW_NUMBERS: usize = 700;
const MOST_WORK: u64 = 2_000_000_000;

/// How the temperature falls, and where it ends.
const COOLER: f64 = 0.2;
const COLDEST: f64 = 1e-13;

/// The damping at the beginning, and where no step lowers the loss any more.
const FIRST_DAMPING: f64 = 1e-6;
const LAST_DAMPING: f64 = 1e8;

/// The parts of a step that are tried. Where every margin is far from a kink there is no curvature, and
/// the step goes to the end of the ball, although the next kink may be near. So the last parts are
/// small.
const PARTS: [f64; 10] = [1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7];

pub(super) struct Newton<'a, P> {
    pub(super) frame: &'a Frame,
    pub(super) data: &'a mut P,
    pub(super) options: &'a Options,
    pub(super) watch: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
}

impl<P: Passes> Newton<'_, P> {
    /// Narrows the bracket from u = 0 on.
    pub(super) fn solve(mut self, shape: &Shape, bracket: &mut Bracket) -> Result<(), P::Error> {
        let is_smooth = self.frame.loss == ClassLoss::Softmax {};
        let is_dense = self.is_dense(shape);
        let mut temperature = 1.0;
        let mut u = vec![0.0; self.frame.len()];
        while !bracket.is_done(self.options) && temperature > COLDEST {
            u = self.descend(u, (temperature, is_dense), bracket)?;
            if is_smooth {
                break;
            }
            temperature *= COOLER;
        }
        Ok(())
    }

    /// Whether all second derivatives are kept.
    fn is_dense(&self, shape: &Shape) -> bool {
        let per_example = shape.nonzeros / shape.examples.max(1);
        let work = shape.nonzeros.saturating_mul(per_example + 1);
        self.frame.len() <= FEW_NUMBERS && work <= MOST_WORK
    }

    /// Minimises the smoothed loss of one temperature, as far as it is worth it. Returns the matrix.
    fn descend(
        &mut self,
        u: Vec<f64>,
        (temperature, is_dense): (f64, bool),
        bracket: &mut Bracket,
    ) -> Result<Vec<f64>, P::Error> {
        let mut at = self.visit(u, temperature, is_dense, bracket)?;
        let mut damping = FIRST_DAMPING;
        while !bracket.is_done(self.options) && damping < LAST_DAMPING {
            if at.gain < 0.3 * at.kinks {
                break;
            }
            let Some(v) = self.step(&at, damping, bracket)? else {
                damping *= 10.0;
                continue;
            };
            match self.search(&at, &v, (temperature, is_dense), bracket)? {
                Some(there) => {
                    at = there;
                    damping = (damping * 0.1).max(1e-14);
                }
                None => damping = (damping * 100.0).max(1e-9),
            }
        }
        Ok(at.point.u)
    }

    /// Goes to v, or if that does not lower the smoothed loss, a part of the way. Returns `None` if no
    /// part lowers it.
    fn search(
        &mut self,
        at: &Standing,
        v: &[f64],
        (temperature, is_dense): (f64, bool),
        bracket: &mut Bracket,
    ) -> Result<Option<Standing>, P::Error> {
        let target = self.frame.scales.with_units(v, self.frame.inside);
        for part in PARTS {
            if bracket.is_done(self.options) {
                break;
            }
            let between = |(u, target): (&f64, &f64)| u + part * (target - u);
            let mut next: Vec<f64> = at.point.u.iter().zip(&target).map(between).collect();
            self.frame.scales.make_feasible(&mut next, self.frame.inside);
            let there = self.visit(next, temperature, is_dense, bracket)?;
            if there.smoothed < at.smoothed {
                return Ok(Some(there));
            }
        }
        Ok(None)
    }

    /// One pass at a matrix.
    fn visit(
        &mut self,
        u: Vec<f64>,
        temperature: f64,
        is_dense: bool,
        bracket: &mut Bracket,
    ) -> Result<Standing, P::Error> {
        let hessian = is_dense.then(|| Hessian::new(u.len()));
        let mut visit = Visit::new(self.frame, u, temperature, hessian);
        self.data.pass(&mut |rows| visit.observe(rows))?;
        let at = visit.finish();
        bracket.take(at.upper, at.charged, &at.point.u, at.floor, self.watch);
        Ok(at)
    }

    /// The minimum of the model over the ball, in units of the columns. `None` if its second
    /// derivatives are not positive enough.
    fn step(
        &mut self,
        at: &Standing,
        damping: f64,
        bracket: &mut Bracket,
    ) -> Result<Option<Vec<f64>>, P::Error> {
        let v = self.frame.scales.without_units(&at.point.u);
        if let Some(hessian) = &at.hessian {
            let a = hessian.damped(0.0, damping);
            let Ok(radius) = Positive::new(self.frame.inside) else { return Ok(None) };
            return Ok(minimise(&a, &at.gradient, &v, &AnySet::from(Ball { radius })));
        }
        let mean = at.diagonal.iter().sum::<f64>() / at.diagonal.len().max(1) as f64;
        let mut bend = Bend {
            frame: self.frame,
            data: &mut *self.data,
            standing: at,
            shift: (damping * mean).max(f64::MIN_POSITIVE),
            precision: 0.1,
            products: 0,
            most: bracket.left().saturating_sub(1),
        };
        let found = bend.minimise(&v)?;
        bracket.passes += bend.products;
        Ok((dot(&found, &found).is_finite()).then_some(found))
    }
}
