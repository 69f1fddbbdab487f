//! The bank: a learner with nothing to tune.
//!
//! Many simple learners run side by side, each with its own learning rate. A small learner mixes
//! their predictions. Above it, Bayes' rule ensures that no mixture is much worse than its best
//! part.
//!
//! - [`scale`]: every feature in its own unit, the largest size it has had. [`gauge`]: that unit
//!   beside the one of the witnesses.
//! - [`lanes`]: AdaGrad and seven diagonal Kalman filters, eight numbers side by side.
//! - [`filters`]: three full Kalman filters, while features are few.
//! - [`mixer`]: a small Kalman filter over the predictions of lanes and filters.
//! - The top, by loss: [`log`](self::log), [`hinge`], [`square`], [`pinball`]. Lanes, filters,
//!   mixer, the base rate and the [`Witnesses`](crate::Witnesses) are experts whose predictions are
//!   mixed by Bayes' rule ([`bayes`]), the aggregating algorithm ([`aggregate`]) or AdaHedge
//!   ([`adahedge`]).
//! - [`sweep`]: the loops over the features of a row, which all losses share.
//! - [`stack`]: the whole bank, round by round. [`explain`]: the contributions of the features to a
//!   prediction.
//!
//! It is proved that mixing costs little over every expert, and the witnesses have a theorem. So
//! for unit-free comparators, ‖N u‖ ≤ U ≤ U_j, in the logistic loss
//!
//! ```text
//! R_T(u) ≤ U_j(2√E_j + G) + c_max(ln(1/π_j) + ln T)
//! ```
//!
//! No result depends on the processor: there are no fused operations, and the exponentials are our
//! own (`elementary`).

mod adahedge;
mod aggregate;
mod bayes;
mod belief;
mod blend;
mod classes;
mod eight;
mod experts;
mod explain;
mod filter;
mod filters;
mod gauge;
mod hinge;
mod lanes;
mod log;
mod log_risks;
mod merge;
mod mixer;
mod pinball;
mod said;
mod scale;
mod square;
mod stack;
mod steps;
mod sweep;
mod targets;
mod top;

pub use classes::SoftmaxBank;
pub use experts::Expert;
pub use merge::{BankPart, MergeError};

use super::{
    AnySet, Comparators, Coordinates, Example, Features, Learner, Promise, Recipe, Resumable,
    Round, Take,
};
use crate::ledger::{Minorant, Testimony};
use crate::loss::{AnyLoss, Hinge, Logistic, Square};
use crate::number::NonNegative;
use crate::request::{Asked, Refusal, Request};
use crate::round::Objective;
use crate::rows::Rows;
use hinge::HingeTop;
use log::Log;
use pinball::Pinball;
use serde::{Deserialize, Serialize};
use square::SquareTop;
use stack::Stack;

/// The bank, which learns from the logistic, hinge, square, absolute and quantile losses.
///
/// ```
/// use rueful_core::{Batch, learner::{Bank, Learner}, loss::Logistic};
///
/// let mut stream = Batch::default();
/// for round in 0..200_u16 {
///     let millions = 1e6 * f32::from(round % 7); // any unit will do
///     stream.push(&[0, 1], &[1.0, millions], if round % 7 < 3 { -1.0 } else { 1.0 })?;
/// }
/// let mut bank = Bank::new(Logistic {}.into())?;
/// let mut rounds = Vec::new();
/// bank.learn_rows(stream.rows(), &mut rounds);
/// let mistakes = rounds.iter().zip(stream.labels()).filter(|(round, y)| round.prediction * **y <= 0.0);
/// assert!(mistakes.count() < 20);
/// assert!(bank.promise_within(3.0).theorem.is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bank {
    kind: Kind,
}

/// One variant for each kind of loss that the bank can learn from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Kind {
    Logistic(Stack<Logistic, Log>),
    Hinge(Stack<Hinge, HingeTop>),
    Square(Stack<Square, SquareTop>),
    Pinball(Stack<AnyLoss, Pinball>),
}

/// Runs an expression on whichever variant it is.
macro_rules! with_stack {
    ($bank:expr, $stack:ident => $what:expr) => {
        match $bank {
            Kind::Logistic($stack) => $what,
            Kind::Hinge($stack) => $what,
            Kind::Square($stack) => $what,
            Kind::Pinball($stack) => $what,
        }
    };
}

/// The stack that a base and parts of the same variant make.
macro_rules! merged {
    ($base:expr, $parts:expr, $variant:path) => {{
        let own = |(kind, slices)| match kind {
            $variant(stack) => Ok((stack, slices)),
            _ => Err(MergeError::DifferentLoss),
        };
        Stack::merged($base, $parts.map(own).collect::<Result<_, _>>()?)?
    }};
}

impl Bank {
    /// Makes a bank that has seen nothing, for one of its losses.
    pub fn new(loss: AnyLoss) -> Result<Self, String> {
        let kind = match loss {
            AnyLoss::Logistic(loss) => Kind::Logistic(Stack::new(loss, Log::new())),
            AnyLoss::Hinge(loss) => Kind::Hinge(Stack::new(loss, HingeTop::new())),
            AnyLoss::Square(loss) => Kind::Square(Stack::new(loss, SquareTop::new())),
            AnyLoss::Absolute(_) => Kind::Pinball(Stack::new(loss, Pinball::new(0.5, 2.0))),
            AnyLoss::Quantile(quantile) => {
                Kind::Pinball(Stack::new(loss, Pinball::new(quantile.tau.get(), 1.0)))
            }
            _ => {
                return Err(format!(
                    "the bank learns from hinge, logistic, square, absolute and quantile losses, not {}",
                    loss.name()
                ));
            }
        };
        Ok(Self { kind })
    }

    /// The bank that parts make which began as copies of this one, the base, and went on with rows
    /// of their own. Each must have the cells of the base, and may have more.
    ///
    /// ```
    /// use rueful_core::{Batch, learner::{Bank, BankPart, Learner}, loss::Logistic};
    ///
    /// let mut stream = Batch::default();
    /// for round in 0..300_u16 {
    ///     stream.push(&[0], &[f32::from(round % 7) - 3.0], if round % 7 < 3 { -1.0 } else { 1.0 })?;
    /// }
    /// let (mut base, mut rounds) = (Bank::new(Logistic {}.into())?, Vec::new());
    /// base.learn_rows(stream.rows().slice(0..100), &mut rounds);
    /// let parts = [100..200, 200..300].map(|slice| {
    ///     let mut bank = base.clone();
    ///     bank.learn_rows(stream.rows().slice(slice), &mut rounds);
    ///     BankPart { bank, slices: 1 }
    /// });
    /// let merged = base.merged(parts.into())?;
    /// assert_eq!(merged.rounds(), 300);
    /// assert!(merged.promise_within(3.0).theorem.is_err()); // it is about one learner
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn merged(&self, parts: Vec<BankPart>) -> Result<Self, MergeError> {
        let parts = parts.into_iter().map(|part| (part.bank.kind, part.slices.max(1) as f64));
        let kind = match &self.kind {
            Kind::Logistic(base) => Kind::Logistic(merged!(base, parts, Kind::Logistic)),
            Kind::Hinge(base) => Kind::Hinge(merged!(base, parts, Kind::Hinge)),
            Kind::Square(base) => Kind::Square(merged!(base, parts, Kind::Square)),
            Kind::Pinball(base) => Kind::Pinball(merged!(base, parts, Kind::Pinball)),
        };
        Ok(Self { kind })
    }

    /// The theorem, for unit-free comparators of this radius.
    pub fn promise_within(&self, radius: f64) -> Promise {
        with_stack!(&self.kind, stack => stack.promise_within(radius))
    }
}

impl Learner for Bank {
    fn grow(&mut self, dimension: usize) {
        with_stack!(&mut self.kind, stack => stack.grow(dimension));
    }

    fn predict(&self, x: &Features<'_>) -> f64 {
        self.predict_beside(x, 0)
    }

    fn predict_beside(&self, x: &Features<'_>, unseen: usize) -> f64 {
        with_stack!(&self.kind, stack => stack.predict(x, unseen))
    }

    fn learn(&mut self, example: &Example<'_>) -> Round {
        with_stack!(&mut self.kind, stack => stack.learn(example))
    }

    fn learn_rows(&mut self, rows: Rows<'_>, rounds: &mut Vec<Round>) {
        self.grow(rows.dimension());
        with_stack!(&mut self.kind, stack => stack.learn_rows(rows, rounds));
    }

    fn weights(&self) -> Vec<f64> {
        with_stack!(&self.kind, stack => stack.weights())
    }

    fn rounds(&self) -> u64 {
        with_stack!(&self.kind, stack => stack.rounds())
    }

    fn rearrange(&mut self, from: &[u32]) {
        with_stack!(&mut self.kind, stack => stack.rearrange(from));
    }

    fn promise(&self, comparators: &Comparators, coordinates: Coordinates<'_>) -> Promise {
        match comparators {
            Comparators::UnitFree(ball) => self.promise_within(ball.radius.get()),
            Comparators::Set(set) => self.promise_in(set, coordinates),
        }
    }

    fn witnesses(&self) -> Box<dyn Iterator<Item = Minorant> + '_> {
        with_stack!(&self.kind, stack => Box::new(stack.witness_minorants()))
    }

    fn testify(&self, comparators: &Comparators, coordinates: Coordinates<'_>) -> Vec<Testimony> {
        with_stack!(&self.kind, stack => stack.testify(comparators, coordinates))
    }

    fn experts(&self) -> Vec<Expert> {
        with_stack!(&self.kind, stack => stack.experts())
    }

    fn mixing_cost(&self) -> Option<f64> {
        with_stack!(&self.kind, stack => stack.mixing_cost())
    }

    fn contributions(&self, x: &Features<'_>) -> Vec<f64> {
        with_stack!(&self.kind, stack => stack.contributions(x))
    }

    fn promise_in(&self, _comparators: &AnySet, _coordinates: Coordinates<'_>) -> Promise {
        Promise::none("the bank's theorem is about comparators without units")
    }
}

impl Resumable for Bank {
    fn continues(&self, fresh: &Self) -> bool {
        match (&self.kind, &fresh.kind) {
            (Kind::Logistic(stack), Kind::Logistic(fresh)) => stack.continues(fresh),
            (Kind::Hinge(stack), Kind::Hinge(fresh)) => stack.continues(fresh),
            (Kind::Square(stack), Kind::Square(fresh)) => stack.continues(fresh),
            (Kind::Pinball(stack), Kind::Pinball(fresh)) => stack.continues(fresh),
            _ => false,
        }
    }
}

/// The parameters of the bank. There are none, because there is nothing to tune.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BankSpec {}

impl Asked for BankSpec {
    fn ask(_request: &Request<'_>) -> Result<Self, Refusal> {
        Ok(Self {})
    }
}

impl Recipe for BankSpec {
    fn check(&self, objective: &Objective<AnyLoss>) -> Result<(), String> {
        Bank::new(objective.loss).map(|_| ())
    }

    fn make<T: Take>(&self, objective: Objective<AnyLoss>, take: T) -> Result<T::Made, String> {
        Ok(take.take(Bank::new(objective.loss)?))
    }

    fn has_witnesses(&self) -> bool {
        true
    }

    fn words(&self, _sigma: NonNegative) -> String {
        "bank: eight lanes, three full filters, a mixer and Bayes' rule; nothing to tune".to_owned()
    }
}
