//! Projected online gradient descent.
//!
//! This is the algorithm of the notes, line by line, with any step sizes and any set:
//!
//! ```text
//! Initialization: w_1 = 0
//! For t = 1, 2, …
//!     1. w'_{t+1} = w_t − η_t ∇ℓ_t(w_t)
//!     2. w_{t+1}  = argmin_{w ∈ W} ‖w − w'_{t+1}‖
//! ```
//!
//! The following is proved for every u ∈ W, from (8) of the notes with the run's own η_t and
//! g_t = ∇ℓ_t(w_t):
//!
//! ```text
//! R_T(u) ≤ ‖u‖²/(2η_1) + (D²/2) Σ_{t<T} (1/η_{t+1} − 1/η_t) + ½ Σ η_t‖g_t‖²
//! ```
//!
//! On the ball of radius U with η_t = η/√t this is at most 2U²√T/η + G²η√T, and UG√(8T), (9), for
//! η = √2·U/G. Rounds with g_t = 0 change nothing and drop out of both sums. If the losses are
//! σ-strongly convex, σ is subtracted from each growth of 1/η_t, and no η_t is longer than 1/σ.

use super::spec::with_usual_set;
use super::steps::{Steps, finite_bound};
use super::{
    AnySet, Coordinates, Example, Features, Learner, Plain, Promise, Recipe, Resumable, Round,
    Rows, Take, play_rows,
};
use crate::loss::{AnyLoss, Loss, with_usual_loss};
use crate::number::{NonNegative, Positive};
use crate::request::{Asked, Refusal, Request, StepUse};
use crate::round::Objective;
use crate::schedule::{AnySchedule, Schedule};
use crate::set::FeasibleSet;
use crate::weights::Weights;
use rueful_machine::{Kernel, Registers, widest};
use serde::{Deserialize, Serialize};
use std::f64::consts::SQRT_2;

/// Projected OGD over losses ℓ_t(w) = φ(w·x_t, y_t) + (σ/2)‖w‖².
///
/// ```
/// use rueful_core::{Batch, Objective, Positive, learner::{Learner, Ogd}};
/// use rueful_core::{loss::Hinge, schedule::InverseSqrt, set::Ball};
///
/// let mut stream = Batch::default();
/// stream.push(&[0, 2], &[1.0, 2.0], 1.0)?;
/// let steps = InverseSqrt { eta: Positive::new(0.1)? };
/// let ball = Ball { radius: Positive::new(10.0)? };
/// let mut ogd = Ogd::new(Objective::plain(Hinge {}), steps, ball);
/// ogd.grow(stream.dimension());
/// let round = ogd.learn(&stream.get(0));
/// assert_eq!(round.prediction, 0.0); // made before the update
/// assert_eq!(ogd.weights(), [0.1, 0.0, 0.2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ogd<L, S, W> {
    objective: Objective<L>,
    schedule: S,
    set: W,
    gradient_bound: Option<Positive>,
    weights: Weights,
    steps: Steps,
}

impl<L: Loss, S: Schedule, W: FeasibleSet> Ogd<L, S, W> {
    /// Makes OGD at w_1 = 0.
    pub fn new(objective: Objective<L>, schedule: S, set: W) -> Self {
        Self {
            objective,
            schedule,
            set,
            gradient_bound: None,
            weights: Weights::default(),
            steps: Steps::default(),
        }
    }

    /// Declares ‖g_t‖ ≤ G. The bound enters the theorem but not the learning. Without it the
    /// theorem is stated for the largest gradient of the run.
    pub fn with_gradient_bound(mut self, gradient_bound: Option<Positive>) -> Self {
        self.gradient_bound = gradient_bound;
        self
    }

    /// The steps so far.
    pub fn steps(&self) -> &Steps {
        &self.steps
    }
}

/// Plays a round for every row.
struct Play<'a, T> {
    learner: &'a mut T,
    rows: Rows<'a>,
    rounds: &'a mut Vec<Round>,
}

impl<L: Loss, S: Schedule, W: FeasibleSet> Kernel for Play<'_, Ogd<L, S, W>> {
    type Out = ();

    #[inline(always)]
    fn run<R: Registers>(self) {
        play_rows(self.learner, self.rows, self.rounds);
    }
}

impl<L: Loss, S: Schedule, W: FeasibleSet> Learner for Ogd<L, S, W> {
    fn learn_rows(&mut self, rows: Rows<'_>, rounds: &mut Vec<Round>) {
        widest(Play { learner: self, rows, rounds });
    }

    #[inline(always)] // The loop over rows is compiled for wide registers.
    fn learn(&mut self, example: &Example<'_>) -> Round {
        let x = &example.features;
        let sigma = self.objective.sigma.get();

        let prediction = self.weights.dot(x);
        let round = self.objective.suffer(&mut self.weights, prediction, example);
        if round.slope == 0.0 && sigma == 0.0 {
            self.steps.rest(); // g_t = 0, and w is in W
            return round;
        }

        // 1. w' = w − η_t g_t, where g_t = a_t x_t + σ w_t
        let eta = self.steps.take(&self.schedule, round.gradient_sq(sigma, x), sigma);
        let shrink = 1.0 - eta * sigma;
        self.weights.step(shrink, -eta * round.slope, x, prediction);

        // 2. the nearest point of W
        self.set.project(&mut self.weights, x);
        round
    }

    fn named_coordinates(&self) -> usize {
        self.set.named_coordinates()
    }

    keeps_weights!();

    fn promise_in(&self, comparators: &AnySet, coordinates: Coordinates<'_>) -> Promise {
        if !self.set.covers(comparators, coordinates) {
            return Promise::none("the comparators reach beyond the set the weights are kept in");
        }
        let sigma = self.objective.sigma.get();
        let reach = comparators.reach(coordinates);
        let diameter = self.set.diameter(coordinates);
        let unbounded = "shrinking steps need a bounded set, and constant ones bounded comparators";

        let paid = self.steps.distance_paid(reach, diameter, sigma);
        let data = finite_bound(
            paid + 0.5 * self.steps.energy(),
            "notes, (8) with the run's own steps and gradients",
            unbounded,
        );
        let theorem = self.steps.facts(self.gradient_bound, diameter).and_then(|facts| {
            let promised = self.steps.distance_promised(&self.schedule, reach, diameter, sigma);
            finite_bound(
                promised + 0.5 * self.schedule.energy(&facts),
                self.schedule.reference(),
                unbounded,
            )
        });
        Promise { data, theorem }
    }
}

/// The parameters of projected OGD.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OgdSpec {
    /// Step sizes.
    pub schedule: AnySchedule,
    /// The set in which the weights are kept.
    pub set: AnySet,
    /// G, if it is declared.
    pub gradient_bound: Option<Positive>,
}

impl Asked for OgdSpec {
    const SETTINGS: &'static [&'static str] =
        &["eta", "gradient-bound", "sigma", "schedule", "horizon"];

    fn ask(request: &Request<'_>) -> Result<Self, Refusal> {
        Ok(Self {
            schedule: request.schedule_for(StepUse { tuning: SQRT_2, is_linearised: false })?,
            set: request.ball.into(),
            gradient_bound: request.gradient_bound,
        })
    }
}

impl Recipe for OgdSpec {
    fn check(&self, objective: &Objective<AnyLoss>) -> Result<(), String> {
        self.schedule.check(objective.sigma)
    }

    fn make<T: Take>(&self, objective: Objective<AnyLoss>, take: T) -> Result<T::Made, String> {
        let Objective { loss, sigma } = objective;
        Ok(with_usual_loss!(loss, loss => with_usual_set!(self.set.clone(), set => {
            let ogd = Ogd::new(Objective { loss, sigma }, self.schedule, set);
            take.take(ogd.with_gradient_bound(self.gradient_bound))
        })))
    }

    fn words(&self, _sigma: NonNegative) -> String {
        format!("projected OGD: {}, {}", self.schedule.steps(), self.set.keeps_weights())
    }
}

impl<L: Loss + Plain, S: Schedule + Plain, W: FeasibleSet + Plain> Resumable for Ogd<L, S, W> {
    fn continues(&self, fresh: &Self) -> bool {
        let later = Self { weights: self.weights.clone(), steps: self.steps, ..fresh.clone() };
        *self == later && self.weights.is_sound() && self.steps.are_sound()
    }
}
