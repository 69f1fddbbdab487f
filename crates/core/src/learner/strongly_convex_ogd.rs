//! Online gradient descent for σ-strongly convex losses. It needs no projection and no tuning.
//!
//! ```text
//! Initialization: w_1 = 0
//! For t = 1, 2, …
//!     1. w_{t+1} = w_t − (1/σt) ∇ℓ_t(w_t)
//! ```
//!
//! With ℓ_t(w) = φ(w·x_t, y_t) + (σ/2)‖w‖² the gradient is a_t x_t + σ w_t, so the step shrinks w
//! by 1 − 1/t and adds −a_t x_t/(σt). After T rounds w_{T+1} = −(1/σT) Σ a_t x_t. With the hinge
//! loss this is Pegasos, the online support vector machine.
//!
//! Proved for every u ∈ R^d: R_T(u) ≤ (1/2σ) Σ‖g_t‖²/t ≤ (G²/2σ)(1 + ln T).

use super::steps::{Steps, finite_bound};
use super::{
    AnySet, Coordinates, Example, Features, Learner, Plain, Promise, Recipe, Resumable, Round, Take,
};
use crate::bound::{Bound, strongly_convex};
use crate::loss::{AnyLoss, Loss, with_usual_loss};
use crate::number::{NonNegative, Positive};
use crate::request::{Asked, Refusal, Request};
use crate::round::Objective;
use crate::schedule::InverseTime;
use crate::weights::Weights;
use serde::{Deserialize, Serialize};

/// OGD with steps 1/(σt) over losses φ + (σ/2)‖w‖².
///
/// ```
/// use rueful_core::{Batch, Positive, learner::{Learner, StronglyConvexOgd}, loss::Hinge};
///
/// let mut stream = Batch::default();
/// stream.push(&[0], &[1.0], 1.0)?;
/// let mut svm = StronglyConvexOgd::new(Hinge {}, Positive::new(0.5)?);
/// svm.grow(stream.dimension());
/// svm.learn(&stream.get(0));
/// assert_eq!(svm.weights(), [2.0]); // −a·x/(σ·1)
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StronglyConvexOgd<L> {
    objective: Objective<L>,
    schedule: InverseTime,
    gradient_bound: Option<Positive>,
    weights: Weights,
    steps: Steps,
}

impl<L: Loss> StronglyConvexOgd<L> {
    /// The learner at w_1 = 0.
    pub fn new(loss: L, sigma: Positive) -> Self {
        Self {
            objective: Objective { loss, sigma: sigma.into() },
            schedule: InverseTime { sigma },
            gradient_bound: None,
            weights: Weights::default(),
            steps: Steps::default(),
        }
    }

    /// Declares ‖g_t‖ ≤ G for the theorem. Without it the theorem is stated for the run's largest
    /// gradient.
    pub fn with_gradient_bound(mut self, gradient_bound: Option<Positive>) -> Self {
        self.gradient_bound = gradient_bound;
        self
    }
}

impl<L: Loss> Learner for StronglyConvexOgd<L> {
    #[inline]
    fn learn(&mut self, example: &Example<'_>) -> Round {
        let x = &example.features;
        let sigma = self.objective.sigma.get();

        let prediction = self.weights.dot(x);
        let round = self.objective.suffer(&mut self.weights, prediction, example);

        // 1. w ← w − g_t/(σt), where g_t = a_t x_t + σ w_t
        let eta = self.steps.take(&self.schedule, round.gradient_sq(sigma, x), sigma);
        let shrink = 1.0 - 1.0 / self.steps.rounds() as f64;
        self.weights.step(shrink, -eta * round.slope, x, prediction);
        round
    }

    keeps_weights!();

    /// The theorem covers every u, so it covers any comparators.
    fn promise_in(&self, _: &AnySet, _: Coordinates<'_>) -> Promise {
        let sigma = self.objective.sigma.get();
        let data = finite_bound(
            0.5 * self.steps.energy(),
            "notes, OGD with strongly convex losses: (1/2σ) Σ‖g_t‖²/t",
            "the gradients of this run are not finite",
        );
        let theorem = self.steps.gradient_bound(self.gradient_bound).map(|g| {
            let rounds = self.steps.rounds().max(1) as f64;
            let reference = "notes, OGD with strongly convex losses: (G²/2σ)(1 + ln T)";
            Bound::new(strongly_convex(g, sigma, rounds), reference)
        });
        Promise { data, theorem }
    }
}

/// The σ that is used if none is set.
const DEFAULT_SIGMA: f64 = 0.01;

/// The parameters of OGD for strongly convex losses. Its σ is that of the losses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StronglyConvexOgdSpec {
    /// G, if it is declared.
    pub gradient_bound: Option<Positive>,
}

impl Asked for StronglyConvexOgdSpec {
    const SETTINGS: &'static [&'static str] = &["gradient-bound", "sigma"];

    fn ask(request: &Request<'_>) -> Result<Self, Refusal> {
        Ok(Self { gradient_bound: request.gradient_bound })
    }
}

impl Recipe for StronglyConvexOgdSpec {
    fn check(&self, objective: &Objective<AnyLoss>) -> Result<(), String> {
        if objective.sigma.get() > 0.0 {
            return Ok(());
        }
        Err("strongly-convex-ogd needs a sigma above 0".to_owned())
    }

    fn make<T: Take>(&self, objective: Objective<AnyLoss>, take: T) -> Result<T::Made, String> {
        let sigma = objective.sigma.get();
        let sigma = Positive::new(sigma).map_err(|why| format!("sigma: {why}"))?;
        Ok(with_usual_loss!(objective.loss, loss => {
            let ogd = StronglyConvexOgd::new(loss, sigma);
            take.take(ogd.with_gradient_bound(self.gradient_bound))
        }))
    }

    fn default_sigma(&self) -> f64 {
        DEFAULT_SIGMA
    }

    fn answers_for_every_norm(&self) -> bool {
        true
    }

    fn advice(&self) -> &'static str {
        "a larger sigma or scaled features keep it finite"
    }

    fn words(&self, sigma: NonNegative) -> String {
        format!("OGD for strongly convex losses: steps 1/(σt), σ = {sigma}")
    }
}

impl<L: Loss + Plain> Resumable for StronglyConvexOgd<L> {
    fn continues(&self, fresh: &Self) -> bool {
        let later = Self { weights: self.weights.clone(), steps: self.steps, ..fresh.clone() };
        *self == later && self.weights.is_sound() && self.steps.are_sound()
    }
}
