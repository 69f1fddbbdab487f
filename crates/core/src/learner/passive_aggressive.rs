//! Passive-aggressive learners: each step goes as far as the example requires, within the limit of
//! C.
//!
//! ```text
//! Initialization: w_1 = 0
//! For t = 1, 2, …
//!     1. with the loss φ_t and its slope a_t at w_t·x_t, w_{t+1} = w_t − τ_t a_t x_t, where
//!        τ_t = min(C, φ_t/‖x_t‖²)           (1)
//!        τ_t = φ_t/(‖x_t‖² + 1/(2C))        (2)
//! ```
//!
//! (Crammer et al., *Online Passive-Aggressive Algorithms*, 2006.) The losses are the hinge for
//! classes and |p − y| for numbers. In (1), w_{t+1} minimises ½‖w − w_t‖² + Cφ(w·x_t). In (2), φ²
//! takes the place of φ. An importance multiplies the loss, which has the same effect as
//! multiplying C.
//!
//! Crammer et al. prove a bound on the mistakes for (1), and for (2) that Σφ_t² is at most a
//! multiple of ‖u‖² + 2CΣφ(u·x_t)². Neither is about the regret Σφ_t − Σφ(u·x_t). For (1) we prove
//! a regret bound here. Let b_t = τ_t/C, the fraction of a whole step that round t took, and
//! g_t = a_t x_t. Then the learner is OGD with the constant step C and the gradients b_t g_t. The
//! last sum below bounds the cost of the rest of the gradients against ‖u‖ ≤ U:
//!
//! ```text
//! R_T(u) ≤ Σ g_t·(w_t − u) = Σ b_t g_t·(w_t − u) + Σ (1 − b_t) g_t·(w_t − u)
//!        ≤ U²/(2C) + (C/2) Σ b_t²‖g_t‖² + Σ (1 − b_t)(a_t ŷ_t + U‖g_t‖)
//! ```
//!
//! The bound is small if few rounds took only a part of a step: either steps are short because C is
//! small, or most rounds needed no step. If every step was whole, it is at most U²/(2C) + (C/2)G²T.

use super::steps::{Steps, finite_bound};
use super::{
    AnySet, Coordinates, Example, Features, Learner, Plain, Promise, Recipe, Resumable, Round, Take,
};
use crate::bound::NoBound;
use crate::loss::{AnyLoss, Loss};
use crate::number::{NonNegative, Positive};
use crate::request::{Asked, Refusal, Request};
use crate::round::Objective;
use crate::schedule::{Constant, Schedule};
use crate::set::FeasibleSet;
use crate::sum::Sum;
use crate::weights::Weights;
use serde::{Deserialize, Serialize};

/// How far a step goes: τ for a loss φ > 0 at an example with a given ‖x‖², and for a given C.
pub trait Aggression: Plain + Copy + Send + Sync + 'static {
    /// τ
    fn step(&self, loss: f64, norm_sq: f64, c: f64) -> f64;

    /// Whether τ is at most C, so that every step is a fraction of a step of length C.
    const IS_CAPPED: bool;
}

/// τ = min(C, φ/‖x‖²): the step goes just far enough, unless that is farther than C.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capped {}

/// τ = φ/(‖x‖² + 1/(2C)): the step never goes quite far enough.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Damped {}

impl Aggression for Capped {
    #[inline]
    fn step(&self, loss: f64, norm_sq: f64, c: f64) -> f64 {
        (loss / norm_sq).min(c)
    }

    const IS_CAPPED: bool = true;
}

impl Aggression for Damped {
    #[inline]
    fn step(&self, loss: f64, norm_sq: f64, c: f64) -> f64 {
        loss / (norm_sq + 0.5 / c)
    }

    const IS_CAPPED: bool = false;
}

/// A passive-aggressive learner, for a loss with slopes −1, 0 and 1.
///
/// ```
/// use rueful_core::{Batch, Positive, loss::Hinge};
/// use rueful_core::learner::{Capped, Learner, PassiveAggressive};
///
/// let mut stream = Batch::default();
/// stream.push(&[0], &[2.0], 1.0)?;
/// stream.push(&[0, 1], &[1.0, 0.5], -1.0)?;
/// let mut learner = PassiveAggressive::new(Hinge {}, Capped {}, Positive::ONE);
/// learner.grow(stream.dimension());
/// learner.learn(&stream.get(0));
/// assert_eq!(learner.weights(), [0.5, 0.0]); // the margin is met: 2·0.5 = 1
/// learner.learn(&stream.get(1));
/// assert_eq!(learner.weights(), [-0.5, -0.5]); // τ = min(C, 1.5/1.25)
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PassiveAggressive<L, A> {
    loss: L,
    aggression: A,
    schedule: Constant,
    weights: Weights,
    /// The steps of C on the gradients b_t g_t.
    steps: Steps,
    short: ShortSteps,
}

/// The rest of the gradients after steps that were not whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct ShortSteps {
    /// How many such steps there were.
    count: u64,
    /// Σ (1 − b_t) a_t ŷ_t
    at_zero: Sum,
    /// Σ (1 − b_t)‖g_t‖
    length: Sum,
}

impl ShortSteps {
    #[inline]
    fn take(&mut self, left: f64, round: &Round, x: &Features<'_>) {
        self.count += 1;
        self.at_zero.add(left * (round.slope * round.prediction));
        self.length.add(left * (round.slope.abs() * x.norm_sq().sqrt()));
    }

    /// An upper bound on the cost of these rests against comparators of norm at most `reach`.
    fn cost(&self, reach: f64) -> f64 {
        if self.count == 0 { 0.0 } else { self.at_zero.value() + reach * self.length.value() }
    }

    fn are_sound(&self) -> bool {
        self.at_zero.value().is_finite() && (0.0..=f64::MAX).contains(&self.length.value())
    }
}

impl<L: Loss, A: Aggression> PassiveAggressive<L, A> {
    /// The learner at w_1 = 0.
    pub fn new(loss: L, aggression: A, c: Positive) -> Self {
        Self {
            loss,
            aggression,
            schedule: Constant { eta: c },
            weights: Weights::default(),
            steps: Steps::default(),
            short: ShortSteps::default(),
        }
    }

    /// w ← w − τ a x, for a slope that is not 0.
    #[inline]
    fn step(&mut self, round: &Round, example: &Example<'_>) {
        let (x, importance) = (&example.features, example.importance.get());
        let c = self.schedule.eta.get() * importance;
        let plain = self.loss.at(round.prediction, example.label);
        let tau = self.aggression.step(plain.value, x.norm_sq(), c);
        self.weights.step(1.0, -tau * plain.slope, x, round.prediction);

        let share = tau / c;
        self.steps.take(&self.schedule, share * share * round.gradient_sq(0.0, x), 0.0);
        if share < 1.0 {
            self.short.take(1.0 - share, round, x);
        }
    }
}

impl<L: Loss, A: Aggression> Learner for PassiveAggressive<L, A> {
    #[inline]
    fn learn(&mut self, example: &Example<'_>) -> Round {
        let prediction = self.weights.dot(&example.features);
        let round = Round::on(&self.loss, prediction, example);
        if round.slope == 0.0 || example.features.norm_sq() == 0.0 {
            self.steps.rest();
        } else {
            self.step(&round, example);
        }
        round
    }

    keeps_weights!();

    fn promise_in(&self, comparators: &AnySet, coordinates: Coordinates<'_>) -> Promise {
        if !A::IS_CAPPED {
            return Promise::none(
                "the theorem of passive-aggressive-2 bounds the squares of its losses by \
                 a multiple of the comparator's: it bounds no regret",
            );
        }
        let reach = comparators.reach(coordinates);
        let unbounded = "the comparators are not bounded";
        let paid = self.steps.distance_paid(reach, f64::INFINITY, 0.0);
        let data = finite_bound(
            paid + 0.5 * self.steps.energy() + self.short.cost(reach),
            "OGD with the step C, and what the shorter steps left undone",
            unbounded,
        );
        let theorem = self.whole_steps().and_then(|()| {
            let facts = self.steps.facts(None, f64::INFINITY)?;
            let total = paid + 0.5 * self.schedule.energy(&facts);
            finite_bound(total, "OGD with the step C: U²/(2C) + (C/2)G²T", unbounded)
        });
        Promise { data, theorem }
    }
}

impl<L, A> PassiveAggressive<L, A> {
    /// Refuses the theorem, which is about whole steps, if the run had shorter ones.
    fn whole_steps(&self) -> Result<(), NoBound> {
        match self.short.count {
            0 => Ok(()),
            count => NoBound::because(format!(
                "a bound from C, T and G alone is for rounds that ask for the whole step C, and in \
                 {count} of them less was enough"
            )),
        }
    }
}

/// The parameters of the learner whose steps are min(C, φ/‖x‖²).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PassiveAggressive1Spec {
    /// C, the longest step.
    pub c: Positive,
}

/// The parameters of the learner whose steps are φ/(‖x‖² + 1/(2C)).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PassiveAggressive2Spec {
    /// C: the larger it is, the nearer a step comes to a loss of 0.
    pub c: Positive,
}

impl Asked for PassiveAggressive1Spec {
    const SETTINGS: &'static [&'static str] = &["c"];

    fn ask(request: &Request<'_>) -> Result<Self, Refusal> {
        Ok(Self { c: request.c.unwrap_or(Positive::ONE) })
    }
}

impl Asked for PassiveAggressive2Spec {
    const SETTINGS: &'static [&'static str] = &["c"];

    fn ask(request: &Request<'_>) -> Result<Self, Refusal> {
        Ok(Self { c: request.c.unwrap_or(Positive::ONE) })
    }
}

/// The advice on how to keep the weights finite. Smaller steps would not help: no step goes further
/// than to a loss of 0.
const SMALLER_NUMBERS: &str = "labels and features of a moderate size keep it finite";

/// Refuses losses other than the two for which these steps are defined.
fn check(loss: &AnyLoss) -> Result<(), String> {
    match loss {
        AnyLoss::Hinge(_) | AnyLoss::Absolute(_) => Ok(()),
        other => Err(format!(
            "passive-aggressive learners step to where the hinge or the absolute loss is 0: they \
             take hinge or absolute, not {}",
            other.name()
        )),
    }
}

fn make<A: Aggression, T: Take>(
    loss: AnyLoss,
    aggression: A,
    c: Positive,
    take: T,
) -> Result<T::Made, String> {
    check(&loss)?;
    Ok(match loss {
        AnyLoss::Hinge(hinge) => take.take(PassiveAggressive::new(hinge, aggression, c)),
        other => take.take(PassiveAggressive::new(other, aggression, c)),
    })
}

impl Recipe for PassiveAggressive1Spec {
    fn check(&self, objective: &Objective<AnyLoss>) -> Result<(), String> {
        check(&objective.loss)
    }

    fn make<T: Take>(&self, objective: Objective<AnyLoss>, take: T) -> Result<T::Made, String> {
        make(objective.loss, Capped {}, self.c, take)
    }

    fn advice(&self) -> &'static str {
        SMALLER_NUMBERS
    }

    fn words(&self, _sigma: NonNegative) -> String {
        format!("passive-aggressive: steps that bring the loss to 0, at most C = {}", self.c)
    }
}

impl Recipe for PassiveAggressive2Spec {
    fn check(&self, objective: &Objective<AnyLoss>) -> Result<(), String> {
        check(&objective.loss)
    }

    fn make<T: Take>(&self, objective: Objective<AnyLoss>, take: T) -> Result<T::Made, String> {
        make(objective.loss, Damped {}, self.c, take)
    }

    fn advice(&self) -> &'static str {
        SMALLER_NUMBERS
    }

    fn words(&self, _sigma: NonNegative) -> String {
        format!("passive-aggressive: steps φ/(‖x‖² + 1/(2C)), C = {}", self.c)
    }
}

impl<L: Loss + Plain, A: Aggression> Resumable for PassiveAggressive<L, A> {
    fn continues(&self, fresh: &Self) -> bool {
        let later = Self {
            weights: self.weights.clone(),
            steps: self.steps,
            short: self.short,
            ..fresh.clone()
        };
        *self == later
            && self.weights.is_sound()
            && self.steps.are_sound()
            && self.short.are_sound()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{Absolute, Hinge};
    use crate::{Batch, Importance};

    fn fresh<A: Aggression>(aggression: A, c: f64) -> PassiveAggressive<Hinge, A> {
        PassiveAggressive::new(Hinge {}, aggression, Positive::new(c).unwrap())
    }

    fn played<A: Aggression>(aggression: A, c: f64, importance: f64) -> Vec<f64> {
        let mut stream = Batch::default();
        let importance = Importance::new(importance).unwrap();
        stream.push_weighted(&[0], &[2.0], 1.0, importance).unwrap();
        let mut learner = fresh(aggression, c);
        learner.learn_rows(stream.rows(), &mut Vec::new());
        learner.weights()
    }

    /// The importance multiplies C, and an example of importance 0 is ignored.
    #[test]
    fn an_importance_multiplies_c() {
        assert_eq!(played(Capped {}, 0.01, 4.0), played(Capped {}, 0.04, 1.0));
        assert_eq!(played(Damped {}, 0.01, 4.0), played(Damped {}, 0.04, 1.0));
        assert_eq!(played(Capped {}, 1.0, 1.0), [0.5]); // no further than to a loss of 0
        assert_eq!(played(Capped {}, 1.0, 0.0), [0.0]);
        assert_eq!(played(Damped {}, 1.0, 0.0), [0.0]);
    }

    #[test]
    fn a_number_is_met_exactly_where_c_allows_it() {
        let mut stream = Batch::default();
        (0..2).for_each(|_| stream.push(&[0], &[2.0], -3.0).unwrap());
        let mut learner = PassiveAggressive::new(Absolute {}, Capped {}, Positive::ONE);
        let mut rounds = Vec::new();
        learner.learn_rows(stream.rows(), &mut rounds);
        assert_eq!([rounds[0].value, rounds[1].value], [3.0, 0.0]);
    }

    #[test]
    fn other_losses_are_refused_in_a_sentence() {
        let spec = PassiveAggressive1Spec { c: Positive::ONE };
        for name in AnyLoss::NAMES {
            let ball = crate::set::Ball { radius: Positive::ONE };
            let loss = AnyLoss::ask(name, &Request::within(ball)).unwrap();
            let refused = Recipe::check(&spec, &Objective::plain(loss));
            match name {
                "hinge" | "absolute" => assert_eq!(refused, Ok(())),
                _ => assert!(refused.unwrap_err().ends_with(name)),
            }
        }
    }

    #[test]
    fn hostile_states_are_refused() {
        let mut stream = Batch::default();
        stream.push(&[0], &[2.0], 1.0).unwrap();
        let mut good = fresh(Capped {}, 1.0);
        good.learn_rows(stream.rows(), &mut Vec::new());
        assert!(good.continues(&fresh(Capped {}, 1.0)));
        assert!(!good.continues(&fresh(Capped {}, 2.0)), "another C");
        let bad = |change: fn(&mut ShortSteps)| {
            let mut bad = good.clone();
            change(&mut bad.short);
            !bad.continues(&fresh(Capped {}, 1.0))
        };
        assert!(bad(|short| short.length = [-1.0].into_iter().collect()));
        assert!(bad(|short| short.at_zero.add(f64::NAN)));
    }
}
