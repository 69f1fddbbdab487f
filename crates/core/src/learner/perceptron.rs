//! The Perceptron: it learns from mistakes, and only from them.
//!
//! ```text
//! Initialization: w_1 = 0
//! For t = 1, 2, …
//!     1. if y_t w_t·x_t ≤ 0 then w_{t+1} = w_t + η y_t x_t, else w_{t+1} = w_t
//! ```
//!
//! It is OGD on the hinge loss that steps only on mistakes. It is also plain OGD with a constant
//! step on the perceptron loss [−yp]₊. η scales all weights alike and changes the sign of no
//! prediction.
//!
//! Proved: M ≤ H + (‖u‖X)² + ‖u‖X√H mistakes for every u, where H is the hinge loss of u on the
//! stream and X = max‖x_t‖. If u separates the stream, this is (‖u‖X)². These bounds are about
//! mistakes, and about a given u: see [`MistakeWatch`](crate::ledger::MistakeWatch). In the
//! perceptron loss, regret ≤ U²/(2η) + (η/2) Σ_{mistakes}‖x_t‖².

use super::steps::{Steps, finite_bound};
use super::{
    AnySet, Coordinates, Example, Features, Learner, Plain, Promise, Recipe, Resumable, Round, Take,
};
use crate::loss::{AnyLoss, Labels, Loss, PerceptronLoss};
use crate::number::{Importance, NonNegative, Positive};
use crate::request::{Asked, Refusal, Request};
use crate::round::Objective;
use crate::schedule::{Constant, Schedule};
use crate::set::FeasibleSet;
use crate::weights::Weights;
use crate::words::either;
use serde::{Deserialize, Serialize};

/// The Perceptron with step η, measured in any loss. Neither the loss nor the importance of an
/// example changes what is learned. Both change what is reported.
///
/// ```
/// use rueful_core::{Batch, Positive, learner::{Learner, Perceptron}, loss::Hinge};
///
/// let mut stream = Batch::default();
/// stream.push(&[0, 1], &[1.0, -1.0], -1.0)?;
/// stream.push(&[0], &[3.0], -1.0)?;
/// let mut perceptron = Perceptron::new(Hinge {}, Positive::ONE);
/// let mut rounds = Vec::new();
/// perceptron.learn_rows(stream.rows(), &mut rounds);
/// assert_eq!(perceptron.weights(), [-1.0, 1.0]); // one mistake: the tie at the start
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Perceptron<L> {
    loss: L,
    schedule: Constant,
    weights: Weights,
    steps: Steps,
    /// Whether some example had an importance other than 1.
    is_weighted: bool,
}

impl<L: Loss> Perceptron<L> {
    /// Makes the Perceptron at w_1 = 0.
    pub fn new(loss: L, eta: Positive) -> Self {
        Self {
            loss,
            schedule: Constant { eta },
            weights: Weights::default(),
            steps: Steps::default(),
            is_weighted: false,
        }
    }
}

impl<L: Loss> Learner for Perceptron<L> {
    #[inline]
    fn learn(&mut self, example: &Example<'_>) -> Round {
        let x = &example.features;
        let prediction = self.weights.dot(x);

        // 1. on a mistake, w ← w + η y x: a step against −y, the slope of the perceptron loss
        let slope = PerceptronLoss {}.at(prediction, example.label).slope;
        if slope == 0.0 {
            self.steps.rest();
        } else {
            let eta = self.steps.take(&self.schedule, slope * slope * x.norm_sq(), 0.0);
            self.weights.step(1.0, -eta * slope, x, prediction);
        }
        self.is_weighted |= example.importance != Importance::ONE;
        Round::on(&self.loss, prediction, example)
    }

    keeps_weights!();

    fn promise_in(&self, comparators: &AnySet, coordinates: Coordinates<'_>) -> Promise {
        if !self.loss.moves_as_the_perceptron() {
            return Promise::none(
                "the Perceptron's theorem bounds its mistakes through a comparator's hinge loss, \
                 not its regret; a regret bound exists for the perceptron loss",
            );
        }
        if self.is_weighted {
            return Promise::none(
                "the Perceptron learns alike from every mistake, whatever its importance, and so \
                 has no bound for losses of unequal importance",
            );
        }
        let reach = comparators.reach(coordinates);
        let paid = self.steps.distance_paid(reach, f64::INFINITY, 0.0);
        let unbounded = "the comparators are not bounded";
        let data = finite_bound(
            paid + 0.5 * self.steps.energy(),
            "notes, (8) with a constant step, over the mistakes",
            unbounded,
        );
        let theorem = self.steps.facts(None, f64::INFINITY).and_then(|facts| {
            finite_bound(
                paid + 0.5 * self.schedule.energy(&facts),
                self.schedule.reference(),
                unbounded,
            )
        });
        Promise { data, theorem }
    }
}

/// The parameters of the Perceptron.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PerceptronSpec {
    /// η, which does not change any mistake.
    pub eta: Positive,
}

impl Asked for PerceptronSpec {
    const SETTINGS: &'static [&'static str] = &["eta"];

    fn ask(request: &Request<'_>) -> Result<Self, Refusal> {
        Ok(Self { eta: request.eta.unwrap_or(Positive::ONE) })
    }
}

impl Recipe for PerceptronSpec {
    fn check(&self, objective: &Objective<AnyLoss>) -> Result<(), String> {
        if objective.loss.labels() == Labels::Signs {
            return Ok(());
        }
        let (losses, loss) = (either(&AnyLoss::classifiers()), objective.loss.name());
        Err(format!("the Perceptron classifies: it takes {losses}, not {loss}"))
    }

    fn make<T: Take>(&self, objective: Objective<AnyLoss>, take: T) -> Result<T::Made, String> {
        Ok(take.take(Perceptron::new(objective.loss, self.eta)))
    }

    fn words(&self, _sigma: NonNegative) -> String {
        format!("Perceptron, η = {}", self.eta)
    }
}

impl<L: Loss + Plain> Resumable for Perceptron<L> {
    fn continues(&self, fresh: &Self) -> bool {
        let later = Self {
            weights: self.weights.clone(),
            steps: self.steps,
            is_weighted: self.is_weighted,
            ..fresh.clone()
        };
        *self == later && self.weights.is_sound() && self.steps.are_sound()
    }
}
