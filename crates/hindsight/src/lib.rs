//! The best fixed predictor in hindsight, with a certified gap.
//!
//! [`solve`] looks for min Σ φ_t(u·x_t) + (σT/2)‖u‖² over a ball, a box, or with σ > 0 all of R^d.
//! It returns an interval that is *proved*, rounding included: the upper end is the loss of a
//! feasible u, and the lower end is a dual value. For any slopes a_t (Fenchel),
//!
//! ```text
//! min_{‖u‖≤U} Σ φ_t(u·x_t) ≥ −Σ φ_t*(a_t) − U‖Σ a_t x_t‖
//! ```
//!
//! An online pass has such slopes already, and their dual value is exactly its loss less its
//! certificate. So the regret of the run lies between L − upper and L − lower.
//!
//! # Which method
//!
//! | data | losses | method |
//! |---|---|---|
//! | any | linear | closed form: the end of the set |
//! | up to 700 columns | square, logistic | Newton with exact steps over the set |
//! | in memory | all others | dual coordinate ascent while it is fast, then the method of multipliers |
//! | … up to 700 columns | with a kink | where that stalls, primal-dual interior points (Mehrotra) |
//! | streamed, up to 700 columns | with a kink | ascent, then interior points |
//! | streamed, more columns | all others | dual coordinate ascent |
//!
//! Data is in memory if its [`Passes`] say so. Data of up to 8 million nonzeros is copied into
//! memory. The methods only steer: the interval comes from pricing a feasible u and from a dual
//! value, each with an allowance for rounding. Where that allowance stands in the way, as in a ball
//! of radius 10⁶, predictions and sums of slopes are computed without error from then on. If the
//! passes run out, the interval found so far is returned, and `converged` is false. Bounds that
//! contradict each other are returned as they are and reported ([`Solution::contradiction`]).
//!
//! # Beside it
//!
//! [`solve_classes`] does the same for many classes, whose comparators are matrices. It smooths the
//! multiclass hinge, and takes Newton's steps with factors or with conjugate gradients.
//!
//! [`Pass`] is one pass over a part of the data, at one comparator. Passes over parts add up, so an
//! engine that keeps the data on many machines can solve the problem with a method of its own.
//! [`Gram`] answers for the square loss at any time, without the data. [`best_mistake_bound`] finds
//! the comparator with the least mistake bound for the Perceptron.
//!
//! # Example
//!
//! ```
//! use rueful_core::{Batch, NonNegative, Positive, loss::Hinge, set::Ball};
//! use rueful_hindsight::{InMemory, Options, Problem, Start, solve, unwatched};
//!
//! let mut batch = Batch::default();
//! batch.push(&[0, 1], &[1.0, 2.0], 1.0)?;
//! batch.push(&[0, 1], &[2.0, -1.0], -1.0)?;
//! batch.push(&[0, 1], &[1.0, 1.0], -1.0)?;
//! let problem = Problem {
//!     loss: Hinge {},
//!     sigma: NonNegative::ZERO,
//!     comparators: Ball { radius: Positive::new(1.0)? }.into(),
//! };
//! let mut data = InMemory { batches: &[batch] };
//! let best = solve(&problem, &mut data, Start::default(), &Options::default(), &mut unwatched)?;
//! assert!(best.converged && best.lower <= best.upper);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ascent;
mod basis;
mod bracket;
mod check;
mod cholesky;
mod classes;
mod cost;
mod counted;
mod double;
#[cfg(test)]
#[path = "../tests/common/exact.rs"]
mod exact;
mod held;
mod hessian;
mod interior;
mod lagrangian;
mod line;
mod mistakes;
mod multipliers;
mod newton;
mod pass;
mod passes;
mod problem;
mod products;
mod proof;
mod quadratic;
mod rounding;
mod scales;
mod set;
mod solve;
mod square;
mod survey;
mod system;
mod unit_free;

pub use classes::{ClassProblem, ClassSolution, Frame as ClassFrame, solve_classes};
pub use mistakes::{BestMistakeBound, best_mistake_bound, mistake_bound};
pub use pass::{Pass, PassError, Visit};
pub use passes::{InMemory, Passes, Prefix};
pub use problem::{
    Contradiction, Method, Options, Problem, Progress, Solution, Source, Start, unwatched,
};
pub use scales::Scales;
pub use solve::solve;
pub use square::{Gram, LeastLoss};
pub use unit_free::solve_unit_free;
