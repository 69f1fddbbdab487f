//! The best matrix of weights for many classes, with a certified gap.
//!
//! Every class c has weights u_c, and its score is z_c = u_c·x. The problem is
//!
//! ```text
//! min Σ w_t ℓ(z_t, y_t)    over ‖u N‖_F ≤ U
//! ```
//!
//! for the softmax loss or the multiclass hinge. In the data's own units N = 1. Without units, N_i is
//! the largest |x_i|. For *any* probabilities p_t over the classes the minimum is at least
//!
//! ```text
//! Σ w_t h(p_t) − U‖S/N‖_F,    S = Σ w_t (p_t − e_y) x_tᵀ
//! ```
//!
//! where h is the entropy for the softmax loss, and 1 − p_y for the hinge. The probabilities that
//! belong to the scores of a nearly best matrix close the gap.
//!
//! Newton's method minimises, with exact steps over the ball. The multiclass hinge has kinks, so it is
//! the limit of smoothed losses μ ln Σ_c e^{(δ_c + z_c − z_y)/μ}, and μ falls as soon as smoothing is
//! what keeps the gap open. With few numbers in the matrix, steps are solved by factors of the second
//! derivatives, and otherwise by conjugate gradients, each of which costs a pass.

mod frame;
mod newton;
mod pass;
mod products;
mod visit;

use crate::bracket::Bracket;
use crate::passes::{AnyPasses, Failed, Passes, Prefix, solve_over};
use crate::problem::{Method, Options, Progress, Solution};
use crate::survey::Shape;
pub use frame::Frame;
use newton::Newton;
use rueful_core::Comparators;
use rueful_core::classes::ClassLoss;
use std::ops::ControlFlow;

/// The most numbers that a matrix may have. Solvers keep some ten matrices.
const MOST_NUMBERS: usize = 1 << 23;

/// The problem: the least loss of a matrix with a row of weights for every class.
#[derive(Debug, Clone)]
pub struct ClassProblem {
    /// The loss.
    pub loss: ClassLoss,
    /// The ball of matrices: with units, or without.
    pub comparators: Comparators,
    /// Classes below this number have a row of weights even if no example is of them. All classes of
    /// examples have one.
    pub classes: u32,
    /// N by column, for a ball without units. `None` measures it in the data.
    pub scales: Option<Vec<f32>>,
}

/// The solution for many classes.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassSolution {
    /// The proved interval. Its comparator has the weights feature by feature, and those of a feature
    /// in the order of the classes.
    pub solution: Solution,
    /// The classes that have weights, in increasing order.
    pub classes: Vec<u32>,
}

/// Solves for the best matrix over data that can be replayed. A lower bound on the minimum that is
/// proved already may be given. If the comparators are not a ball, nothing but the sign of the losses
/// bounds them.
///
/// ```
/// use rueful_core::{Batch, Positive, UnitFree};
/// use rueful_core::classes::ClassLoss;
/// use rueful_hindsight::{ClassProblem, InMemory, Options, solve_classes, unwatched};
///
/// let mut batch = Batch::default();
/// for t in 0..30_u16 {
///     batch.push(&[u32::from(t % 3), 3], &[1.0, 1.0], f64::from((t + t / 9) % 3))?;
/// }
/// let ball = UnitFree { radius: Positive::new(2.0)? };
/// let problem = ClassProblem {
///     loss: ClassLoss::Softmax {},
///     comparators: ball.into(),
///     classes: 0,
///     scales: None,
/// };
/// let mut data = InMemory { batches: &[batch] };
/// let best = solve_classes(&problem, &mut data, None, &Options::default(), &mut unwatched)?;
/// assert!(best.solution.converged && best.classes == [0, 1, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn solve_classes<P: Passes + ?Sized>(
    problem: &ClassProblem,
    data: &mut P,
    lower: Option<f64>,
    options: &Options,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<ClassSolution, P::Error> {
    solve_over(data, |data| search(problem, data, lower, options, watch))
}

/// Does the work of [`solve_classes`].
fn search(
    problem: &ClassProblem,
    data: &mut AnyPasses<'_>,
    lower: Option<f64>,
    options: &Options,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<ClassSolution, Failed> {
    let mut data = Prefix::whole(data);
    let (frame, shape) = Frame::survey(problem, &mut data)?;
    let mut bracket = begin(lower, &shape, options);
    let is_ball = problem.comparators.radius().is_some();
    if is_ball && frame.len() <= MOST_NUMBERS && !bracket.is_done(options) {
        let newton = Newton { frame: &frame, data: &mut data, options, watch };
        newton.solve(&shape, &mut bracket)?;
    }
    let method = match problem.loss {
        ClassLoss::Softmax {} => Method::Newton,
        ClassLoss::MulticlassHinge {} => Method::Smoothing,
    };
    let solution = bracket.into_solution(shape.examples, method);
    Ok(ClassSolution { solution, classes: frame.into_classes() })
}

/// The interval that is known after the first pass: from 0, or the bound that was given, to the loss
/// of u = 0.
fn begin(lower: Option<f64>, shape: &Shape, options: &Options) -> Bracket {
    use crate::problem::Source;
    let (lower, from) = match lower {
        Some(lower) if lower > 0.0 => (lower, Source::Start),
        _ => (0.0, Source::Sign),
    };
    let mut bracket = Bracket::new(lower, from, shape, options);
    bracket.passes = 1;
    bracket
}
