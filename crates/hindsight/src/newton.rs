//! Newton's method, for few columns and losses without kinks.
//!
//! The objective is modelled by its second-order expansion plus a damping (δ/2)‖v − u‖². The model
//! is minimised over the comparators exactly, so a step never leaves them. A step that does not
//! lower the cost makes δ larger, and one that does makes it smaller (Levenberg and Marquardt's
//! rule). Every pass prices its point, reads a dual point off the slopes there, and collects the
//! second derivatives for the next step.

use crate::bracket::Bracket;
use crate::cost::Cost;
use crate::counted::Counted;
use crate::hessian::Hessian;
use crate::passes::Passes;
use crate::problem::{Options, Problem, Progress};
use crate::proof::Proof;
use crate::quadratic::minimise;
use crate::set::make_feasible;
use rueful_core::loss::Loss;
use std::ops::ControlFlow;

pub(crate) struct Newton<'a, L, P> {
    pub(crate) problem: &'a Problem<L>,
    pub(crate) data: &'a mut P,
    pub(crate) options: &'a Options,
    pub(crate) watch: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
}

/// A point, and the results of a pass there.
struct Standing {
    u: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
    /// The curvature σT.
    curvature: f64,
    hessian: Hessian,
}

impl<L: Loss, P: Passes> Newton<'_, L, P> {
    /// Narrows the bracket from the point u on.
    pub(crate) fn solve(&mut self, u: Vec<f64>, bracket: &mut Bracket) -> Result<(), P::Error> {
        let spare = Hessian::new(u.len());
        let mut at = self.visit(u, Hessian::new(spare.dimension()), bracket)?;
        let mut spare = Some(spare);
        let mut damping = 1e-6;
        while !bracket.is_done(self.options) && damping < 1e12 {
            let a = at.hessian.damped(at.curvature, damping);
            let Some(mut v) = minimise(&a, &at.gradient, &at.u, &self.problem.comparators) else {
                damping *= 10.0;
                continue;
            };
            make_feasible(&self.problem.comparators, &mut v);
            let room = spare.take().unwrap_or_else(|| Hessian::new(v.len()));
            let there = self.visit(v, room, bracket)?;
            if there.value < at.value {
                spare = Some(std::mem::replace(&mut at, there).hessian);
                damping = (damping * 0.1).max(1e-14);
            } else {
                spare = Some(there.hessian);
                damping = (damping * 10.0).max(1e-9);
            }
        }
        Ok(())
    }

    /// Makes one pass at u.
    fn visit(
        &mut self,
        u: Vec<f64>,
        mut hessian: Hessian,
        bracket: &mut Bracket,
    ) -> Result<Standing, P::Error> {
        let problem = self.problem;
        let mut cost = Cost::at(&u, bracket.careful);
        let mut proof = Proof::new(problem.sigma, u.len(), bracket.careful);
        hessian.clear();
        self.data.pass(&mut |rows| {
            for example in rows.iter() {
                let p = cost.predict(&u, &example.features);
                let at = cost.add(&problem.loss, &example, p);
                proof.add(&problem.loss, &example, at.slope);
                let curvature = Counted::new(problem.loss, &example).curvature(p);
                hessian.add(curvature, &example.features);
            }
        })?;
        hessian.finish();
        let curvature = proof.curvature();
        bracket.tell(&cost, &u, &mut proof, &problem.comparators, self.watch);
        let gradient = proof.slopes().iter().zip(&u).map(|(s, u)| s + curvature * u).collect();
        Ok(Standing { value: cost.upper(curvature), u, gradient, curvature, hessian })
    }
}
