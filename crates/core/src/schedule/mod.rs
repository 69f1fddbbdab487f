//! Schedules: how long the step of round t is.
//!
//! A schedule consists of parameters only. The round and the gradients so far are passed to it, so
//! nothing here has state to save.

mod adagrad_norm;
mod any;
mod constant;
mod horizon;
mod inverse_sqrt;
mod inverse_time;

use crate::number::NonNegative;

family! {
    asked as "schedule";
    /// Any of the schedules, chosen at run time.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub enum schedule::AnySchedule, with_schedule!($) {
        /// η
        "constant" => Constant(constant::Constant),
        /// η/√t
        "inverse-sqrt" => InverseSqrt(inverse_sqrt::InverseSqrt),
        /// 1/(σt)
        "inverse-time" => InverseTime(inverse_time::InverseTime),
        /// U/(G√T)
        "horizon" => Horizon(horizon::Horizon),
        /// D/√(2Σ‖g‖²)
        "adagrad-norm" => AdaGradNorm(adagrad_norm::AdaGradNorm),
    }
}

/// Step sizes η_1, η_2, …, given as 1/η_t. The regret pays for the growth of 1/η_t, and 1/η_t is
/// the α_t of regularised ERM.
///
/// The conformance suite checks this contract for every schedule: 1/η_t never decreases; `energy`
/// bounds Σ η_t‖g_t‖²; `lagged_energy` bounds the sum it names.
pub trait Schedule: Copy + Send + Sync + 'static {
    /// The proof of the bound for OGD with these steps: where it is, and its formula.
    fn reference(&self) -> &'static str;

    /// 1/η_t in round t = 1, 2, …, given Σ‖g_s‖² over the gradients that this step may depend on.
    /// Zero means "no step": no gradient has come yet that could set its length.
    fn inverse_step(&self, round: u64, gradients_sq: f64) -> f64;

    /// A closed form above Σ_{t≤T} η_t‖g_t‖².
    fn energy(&self, run: &StepFacts) -> f64;

    /// A closed form above Σ_{t≤T} min(½ η_t‖g_t‖², D‖g_t‖) where η_t depends only on gradients
    /// before round t. For steps that depend on t alone this is half the energy.
    fn lagged_energy(&self, run: &StepFacts) -> f64 {
        0.5 * self.energy(run)
    }

    /// Refuses curvatures σ for which these steps do not work, with the reason in words.
    fn check(&self, _sigma: NonNegative) -> Result<(), String> {
        Ok(())
    }

    /// The steps η_t in words.
    fn steps(&self) -> String;

    /// The regularisation α_t = 1/η_t in words.
    fn alphas(&self) -> String {
        format!("α is 1/η of {}", self.steps())
    }
}

/// The quantities on which the closed forms may depend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepFacts {
    /// T
    pub rounds: f64,
    /// D, the diameter of the learner's set.
    pub diameter: f64,
    /// G ≥ max ‖g_t‖
    pub gradient_bound: f64,
    /// Σ ‖g_t‖²
    pub gradients_sq: f64,
}
