//! Newton's method, for few columns and losses without kinks.
//!
//! The objective is modelled by its second-order expansion plus a damping (δ/2)‖v − u‖². The model
//! is minimised over the comparators exactly, so a step never leaves them. A step that does not
//! lower the cost makes δ larger, and one that does makes it smaller (Levenberg and Marquardt's
//! rule). Every pass prices its point, reads a dual point off the slopes there, and collects the
//! second derivatives for the next step.

use crate::basis::Frame;
use crate::bracket::Bracket;
use crate::check::{Check, Region};
use crate::counted::Counted;
use crate::hessian::Hessian;
use crate::passes::Passes;
use crate::problem::{Options, Problem, Progress};
use crate::quadratic::Quadratic;
use rueful_core::loss::Loss;
use std::ops::ControlFlow;

pub(crate) struct Newton<'a, L, P> {
    pub(crate) problem: &'a Problem<L>,
    pub(crate) data: &'a mut P,
    pub(crate) options: &'a Options,
    pub(crate) watch: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
    /// The coordinates of points and quadratics. On a box they are those of the data.
    pub(crate) frame: Frame,
    /// The comparators about which the results are proved. In the frame they are those of the
    /// problem.
    pub(crate) region: Region<'a>,
}

/// A point, and the results of a pass there.
struct Standing {
    point: Vec<f64>,
    value: f64,
    quadratic: Quadratic,
}

impl<L: Loss, P: Passes> Newton<'_, L, P> {
    /// Narrows the bracket from the comparator u on.
    pub(crate) fn solve(&mut self, u: &[f64], bracket: &mut Bracket) -> Result<(), P::Error> {
        let mut at = self.visit(self.frame.enter(u), Hessian::new(u.len()), bracket)?;
        let mut spare = Some(Hessian::new(u.len()));
        let mut damping = 1e-6;
        while !bracket.is_done(self.options) && damping < 1e12 {
            let set = &self.problem.comparators;
            let Some(point) = at.quadratic.minimise(&at.point, damping, &self.frame, set) else {
                damping *= 10.0;
                continue;
            };
            let room = spare.take().unwrap_or_else(|| Hessian::new(u.len()));
            let there = self.visit(point, room, bracket)?;
            if there.value < at.value {
                spare = Some(std::mem::replace(&mut at, there).quadratic.hessian);
                damping = (damping * 0.1).max(1e-14);
            } else {
                spare = Some(there.quadratic.hessian);
                damping = (damping * 10.0).max(1e-9);
            }
        }
        Ok(())
    }

    /// Makes one pass at a point.
    fn visit(
        &mut self,
        point: Vec<f64>,
        mut hessian: Hessian,
        bracket: &mut Bracket,
    ) -> Result<Standing, P::Error> {
        let Problem { loss, sigma, .. } = self.problem;
        let u = self.frame.leave(&point);
        let mut check = Check::new(self.region, *sigma, u, bracket.careful);
        hessian.clear();
        let frame = &mut self.frame;
        self.data.pass(&mut |rows| {
            for example in rows.iter() {
                let (x, counted) = (&example.features, Counted::new(*loss, &example));
                frame.look(x);
                // A point of a basis predicts with more digits than u, whose terms may cancel out.
                let turned = frame.basis().map(|_| frame.dot(x, &point));
                let p = check.add(loss, &example, turned.map(|p| counted.at(p).slope));
                frame.add_square(x, counted.curvature(turned.unwrap_or(p)), &mut hessian);
            }
        })?;
        hessian.finish();
        check.tell(bracket, self.watch);
        let curvature = check.curvature();
        let mut gradient = self.frame.gradient(check.slopes());
        let penalty = self.frame.penalty_gradient(curvature, &point);
        gradient.iter_mut().zip(&penalty).for_each(|(g, p)| *g += p);
        let quadratic = Quadratic { hessian, gradient, curvature };
        Ok(Standing { point, value: check.upper(), quadratic })
    }
}
