//! Regularised ERM on linearised losses (follow the regularised leader), lazily projected.
//!
//! ```text
//! w_t = argmin_{w ∈ W} Σ_{s<t} g_s·w + (α_t/2)‖w‖²  =  Π_W(−S_{t−1}/α_t),   S = Σ g_s
//! ```
//!
//! α_t is 1/η_t of a schedule. It is constant in the notes' regularised ERM, which without a
//! projection *is* OGD with the constant step 1/α. It can also grow like √t, or with the gradients
//! seen. S is never projected, only the weights computed from it are, hence "lazy".
//!
//! The following is proved for every u ∈ W and α_t that never shrinks. A round costs ‖g_t‖²/(2α_t),
//! or at most the way across W, where only the coordinates of x_t matter. D_t is the diameter of W
//! in these coordinates:
//!
//! ```text
//! R_T(u) ≤ (α_T/2)‖u‖² + Σ min(‖g_t‖²/(2α_t), D_t‖g_t‖)
//! ```
//!
//! For a fixed α this is αU²/2 + TG²/(2α), which is UG√T for α = (G/U)√T.

use super::spec::with_usual_set;
use super::steps::{Steps, finite_bound};
use super::{
    AnySet, Coordinates, Example, Features, Learner, Plain, Promise, Recipe, Resumable, Round, Take,
};
use crate::loss::{AnyLoss, Loss};
use crate::number::{NonNegative, Positive};
use crate::request::{Asked, Refusal, Request, StepUse};
use crate::round::Objective;
use crate::schedule::{AnySchedule, Constant, Schedule};
use crate::set::FeasibleSet;
use crate::weights::Weights;
use serde::{Deserialize, Serialize};
use std::f64::consts::FRAC_1_SQRT_2;

/// Linearised regularised ERM with α_t = 1/η_t.
///
/// ```
/// use rueful_core::{Batch, Positive, learner::{Learner, RegularizedErm}};
/// use rueful_core::{loss::Linear, schedule::Constant, set::WholeSpace};
///
/// let mut stream = Batch::default();
/// stream.push(&[0], &[1.0], -3.0)?;
/// let alpha = 2.0;
/// let steps = Constant { eta: Positive::new(1.0 / alpha)? };
/// let mut erm = RegularizedErm::new(Linear {}, steps, WholeSpace {});
/// let mut rounds = Vec::new();
/// erm.learn_rows(stream.rows(), &mut rounds);
/// assert_eq!(erm.weights(), [1.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegularizedErm<L, S, W> {
    loss: L,
    schedule: S,
    set: W,
    gradient_bound: Option<Positive>,
    /// S = Σ g_s
    sums: Weights,
    steps: Steps,
}

impl<L: Loss, S: Schedule, W: FeasibleSet> RegularizedErm<L, S, W> {
    /// The learner at w_1 = 0.
    pub fn new(loss: L, schedule: S, set: W) -> Self {
        Self {
            loss,
            schedule,
            set,
            gradient_bound: None,
            sums: Weights::default(),
            steps: Steps::default(),
        }
    }

    /// Declares ‖g_t‖ ≤ G for the theorem. Without it the theorem is stated for the run's largest
    /// gradient.
    pub fn with_gradient_bound(mut self, gradient_bound: Option<Positive>) -> Self {
        self.gradient_bound = gradient_bound;
        self
    }

    /// α_t for the coming round. It is 0 while no gradient has come that could set it, and then S
    /// is 0 too.
    #[inline]
    fn alpha(&self) -> f64 {
        self.schedule.inverse_step(self.steps.rounds() + 1, self.steps.gradients_sq())
    }

    /// −1/α_t, the factor that turns S into weights.
    #[inline]
    fn factor(alpha: f64) -> f64 {
        if alpha == 0.0 { 0.0 } else { -1.0 / alpha }
    }
}

impl<L: Loss, S: Schedule, W: FeasibleSet> Learner for RegularizedErm<L, S, W> {
    #[inline]
    fn learn(&mut self, example: &Example<'_>) -> Round {
        let x = &example.features;

        // w_t = Π_W(−S_{t−1}/α_t)
        let alpha = self.alpha();
        let k = Self::factor(alpha);
        self.set.settle(&mut self.sums, k);
        let lazy = self.set.project_dot(&self.sums, k, x);
        let round = Round::on(&self.loss, lazy.prediction, example);

        // S_t = S_{t−1} + g_t
        let gradient_sq = round.gradient_sq(0.0, x);
        let across = self.set.diameter_at(x) * gradient_sq.sqrt();
        self.steps.take_lagged(alpha, gradient_sq, across);
        self.sums.step(1.0, round.slope, x, lazy.inner);
        round
    }

    fn grow(&mut self, dimension: usize) {
        self.sums.grow(dimension);
    }

    fn named_coordinates(&self) -> usize {
        self.set.named_coordinates()
    }

    fn rearrange(&mut self, from: &[u32]) {
        self.sums.rearrange(from);
    }

    fn predict(&self, x: &Features<'_>) -> f64 {
        let k = Self::factor(self.alpha());
        self.set.project_dot(&self.sums, k, &x.below(self.sums.dimension())).prediction
    }

    fn weights(&self) -> Vec<f64> {
        self.set.project_scaled(&self.sums, Self::factor(self.alpha()))
    }

    fn rounds(&self) -> u64 {
        self.steps.rounds()
    }

    fn promise_in(&self, comparators: &AnySet, coordinates: Coordinates<'_>) -> Promise {
        if !self.set.covers(comparators, coordinates) {
            return Promise::none("the comparators reach beyond the set the weights are kept in");
        }
        let reach = comparators.reach(coordinates);
        let unbounded = "neither the set nor the first α_t keeps the bound finite";
        let regularizer = 0.5 * self.steps.last_inverse() * reach * reach;
        let data = finite_bound(
            regularizer + 0.5 * self.steps.energy(),
            "follow the regularised leader: αU²/2 + Σ min(‖g_t‖²/2α_t, D‖g_t‖)",
            unbounded,
        );
        let diameter = self.set.diameter(coordinates);
        let theorem = self.steps.facts(self.gradient_bound, diameter).and_then(|facts| {
            finite_bound(
                regularizer + self.schedule.lagged_energy(&facts),
                "follow the regularised leader, with these α_t in closed form",
                unbounded,
            )
        });
        Promise { data, theorem }
    }
}

/// The parameters of regularised ERM, where α_t = 1/η_t.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegularizedErmSpec {
    /// η_t = 1/α_t.
    pub schedule: AnySchedule,
    /// The set in which the weights are kept.
    pub set: AnySet,
    /// G, if it is declared.
    pub gradient_bound: Option<Positive>,
}

impl Asked for RegularizedErmSpec {
    const SETTINGS: &'static [&'static str] =
        &["eta", "gradient-bound", "alpha", "schedule", "horizon"];

    fn ask(request: &Request<'_>) -> Result<Self, Refusal> {
        let steps = StepUse { tuning: FRAC_1_SQRT_2, is_linearised: true };
        let schedule = match request.alpha {
            Some(alpha) => fixed(alpha, request)?.into(),
            None => request.schedule_for(steps)?,
        };
        let gradient_bound = request.gradient_bound;
        Ok(Self { schedule, set: request.ball.into(), gradient_bound })
    }
}

/// The constant schedule with steps 1/α.
fn fixed(alpha: Positive, request: &Request<'_>) -> Result<Constant, Refusal> {
    if request.eta.is_some() || request.schedule.is_some() || request.horizon.is_some() {
        return Err(Refusal::Rule(
            "{alpha} fixes the regularisation: leave out {eta}, {schedule} and {horizon}",
        ));
    }
    Ok(Constant { eta: Refusal::derived("alpha", 1.0 / alpha.get())? })
}

impl Recipe for RegularizedErmSpec {
    fn make<T: Take>(&self, objective: Objective<AnyLoss>, take: T) -> Result<T::Made, String> {
        Ok(with_usual_set!(self.set.clone(), set => {
            let erm = RegularizedErm::new(objective.loss, self.schedule, set);
            take.take(erm.with_gradient_bound(self.gradient_bound))
        }))
    }

    fn words(&self, _sigma: NonNegative) -> String {
        let (alphas, kept) = (self.schedule.alphas(), self.set.keeps_weights());
        format!("regularised ERM on linearised losses: {alphas}, {kept}")
    }
}

impl<L: Loss + Plain, S: Schedule + Plain, W: FeasibleSet + Plain> Resumable
    for RegularizedErm<L, S, W>
{
    fn continues(&self, fresh: &Self) -> bool {
        let later = Self { sums: self.sums.clone(), steps: self.steps, ..fresh.clone() };
        *self == later && self.sums.is_sound() && self.steps.are_sound()
    }
}
