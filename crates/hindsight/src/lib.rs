//! The best fixed predictor in hindsight, with a certified gap.
//!
//! [`solve`] looks for min Σ φ_t(u·x_t) + (σT/2)‖u‖² over a ball, a box, or with σ > 0 all of R^d,
//! and returns an interval that is *proved*, rounding included: the upper end is the loss of a
//! feasible u, the lower end a dual value. For any slopes a_t (Fenchel),
//!
//! ```text
//! min_{‖u‖≤U} Σ φ_t(u·x_t) ≥ −Σ φ_t*(a_t) − U‖Σ a_t x_t‖
//! ```
//!
//! An online pass has such slopes already, and that dual value is exactly its loss less its
//! certificate. So the regret of the run lies between L − upper and L − lower.

mod ascent;
mod bracket;
mod cost;
mod hessian;
mod interior;
mod newton;
mod passes;
mod problem;
mod prox;
mod quadratic;
mod set;
mod solve;

pub use passes::{InMemory, Passes, Prefix};
pub use problem::{Method, Options, Problem, Progress, Solution, Start};
pub use prox::{Kink, ProxLoss};
pub use solve::solve;
