//! Schedules: how long the step of round t is.
//!
//! A schedule is a plain parameter. What a step may depend on, the round and the gradients so far,
//! is handed to it, so nothing here has state to save.

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

/// Step sizes η_1, η_2, …, handed out as 1/η_t: that is the quantity whose growth the regret pays
/// for, and the α_t of regularised ERM.
///
/// Contract (checked for every schedule by the conformance suite): 1/η_t never decreases; `energy`
/// bounds Σ η_t‖g_t‖²; `lagged_energy` bounds what it says.
pub trait Schedule: Copy + Send + Sync + 'static {
    /// Where the bound for OGD with these steps is proved.
    fn reference(&self) -> &'static str;

    /// 1/η_t in round t = 1, 2, …, given Σ‖g_s‖² over the gradients this step may know of.
    /// Zero stands for "no step": there is no gradient yet that could set its length.
    fn inverse_step(&self, round: u64, gradients_sq: f64) -> f64;

    /// A closed form above Σ_{t≤T} η_t‖g_t‖².
    fn energy(&self, run: &StepFacts) -> f64;

    /// A closed form above Σ_{t≤T} min(½ η_t‖g_t‖², D‖g_t‖) when η_t knows the gradients before
    /// round t only. The same as half the energy for steps that depend on t alone.
    fn lagged_energy(&self, run: &StepFacts) -> f64 {
        0.5 * self.energy(run)
    }

    /// Refuses losses whose curvature σ these steps cannot cope with, in words.
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

/// What the closed forms may depend on.
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
