//! Losses φ(p, y): the cost of a prediction p once the label y is known.
//!
//! Each loss is convex in p. Its file holds everything that others ask of it: learners ask for
//! value and slope together, certificates for the conjugate, solvers for the proximal step, kinks
//! and curvature, and settings and reports for its name and parameters.

// First, because the losses of two lines use its macro.
#[macro_use]
mod kink;

mod absolute;
mod any;
mod hinge;
mod linear;
mod logistic;
mod perceptron;
mod quantile;
mod square;
mod zero_one;

pub use kink::Kink;
pub use zero_one::ZeroOne;

use rueful_machine::Fours;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

family! {
    asked as "loss";
    /// Any of the losses, chosen at run time.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub enum loss::AnyLoss, with_loss!($) {
        /// [1 − yp]₊
        "hinge" => Hinge(hinge::Hinge),
        /// ln(1 + e^{−yp})
        "logistic" => Logistic(logistic::Logistic),
        /// [−yp]₊
        "perceptron" => Perceptron(perceptron::PerceptronLoss),
        /// (p − y)²
        "square" => Square(square::Square),
        /// |p − y|
        "absolute" => Absolute(absolute::Absolute),
        /// max(τ(y − p), (1−τ)(p − y))
        "quantile" => Quantile(quantile::Quantile),
        /// c·p
        "linear" => Linear(linear::Linear),
    }
}

/// Runs an expression on a loss. The code is compiled separately for each of the losses that most
/// streams use. The other losses share a copy that chooses the loss anew in every round.
#[doc(hidden)] // The solvers use it, too.
#[macro_export]
macro_rules! with_usual_loss {
    ($any:expr, $loss:ident => $what:expr) => {
        match $any {
            $crate::loss::AnyLoss::Hinge($loss) => $what,
            $crate::loss::AnyLoss::Logistic($loss) => $what,
            $crate::loss::AnyLoss::Square($loss) => $what,
            $loss => $what,
        }
    };
}
pub use with_usual_loss;

/// The tangent of a loss at one prediction: its value and a slope there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tangent {
    /// φ(p, y)
    pub value: f64,
    /// a ∈ ∂_p φ(p, y)
    pub slope: f64,
}

/// The labels that a loss accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Labels {
    /// −1 and +1, for classification. A mistake is y·p ≤ 0.
    Signs,
    /// Any finite number, for regression, or for the slopes of linear losses.
    Numbers,
}

impl Labels {
    /// Whether `label` is an accepted label.
    #[inline]
    pub fn accept(self, label: f64) -> bool {
        match self {
            Self::Signs => label.abs() == 1.0,
            Self::Numbers => label.is_finite(),
        }
    }

    /// Whether all of these labels are accepted.
    pub fn accept_all(self, labels: &[f64]) -> bool {
        // The kind is asked for once, and no loop has a way out in the middle, so that they are
        // compiled to wide registers.
        match self {
            Self::Signs => labels.iter().fold(true, |all, &label| all & Self::Signs.accept(label)),
            Self::Numbers => {
                labels.iter().fold(true, |all, &label| all & Self::Numbers.accept(label))
            }
        }
    }

    /// The accepted labels, in words.
    pub fn expected(self) -> &'static str {
        match self {
            Self::Signs => "-1 or +1",
            Self::Numbers => "a finite number",
        }
    }
}

/// A convex loss of a prediction.
///
/// The conformance suite checks this contract for every loss:
///
/// - `value` is convex in p.
/// - `slope` is a subgradient of `value`, so φ(q) ≥ φ(p) + a(q − p) for all q.
/// - The conjugate is exact on slopes (Fenchel–Young: φ(p) + φ*(a) = a·p) and finite on `slopes`
///   only.
/// - |a| never exceeds the Lipschitz constant, nor the bound of `steepest`.
/// - `prox` is the maximum it claims.
/// - If there is a kink, it describes the whole loss.
pub trait Loss: Copy + Send + Sync + 'static {
    /// Value and slope at prediction p.
    fn at(&self, prediction: f64, label: f64) -> Tangent;

    /// Values and slopes at four predictions for the same label. They may differ from those of `at`
    /// by roundings, but each is right to 8 units in the last place.
    #[inline(always)]
    fn at_each<F: Fours>(&self, predictions: F, label: f64) -> (F, F) {
        let (mut values, mut slopes) = ([0.0; 4], [0.0; 4]);
        for (k, p) in predictions.array().into_iter().enumerate() {
            let tangent = self.at(p, label);
            (values[k], slopes[k]) = (tangent.value, tangent.slope);
        }
        (F::load(&values), F::load(&slopes))
    }

    /// φ*(a) = sup_p (a·p − φ(p, y)). It is infinite outside the domain of φ*.
    fn conjugate(&self, slope: f64, label: f64) -> f64;

    /// argmax_a (a·p − φ*(a) − (q/2)a²) for q > 0. This is the slope at p of the loss smoothed by
    /// q, and also one step of dual coordinate ascent.
    fn prox(&self, prediction: f64, label: f64, q: f64) -> f64;

    /// The loss as two lines that meet, if it has that shape.
    fn kink(&self, _label: f64) -> Option<Kink> {
        None
    }

    /// φ''(p), for a loss without a kink.
    fn curvature(&self, _prediction: f64, _label: f64) -> f64 {
        0.0
    }

    /// The range of all slopes for this label, over all predictions.
    fn slopes(&self, label: f64) -> RangeInclusive<f64>;

    /// The smallest L with |a| ≤ L for every prediction and label, if there is one.
    fn lipschitz(&self) -> Option<f64>;

    /// The smallest L with |a| ≤ L where |p| ≤ `prediction` and |y| ≤ `label`. Gradients then have
    /// norm at most L‖x‖.
    fn steepest(&self, _prediction: f64, _label: f64) -> f64 {
        self.lipschitz().unwrap_or(f64::INFINITY)
    }

    /// The labels that the loss accepts.
    fn labels(&self) -> Labels;

    /// Whether φ is never negative, so that no predictor has a loss below 0.
    fn is_nonnegative(&self) -> bool {
        true
    }

    /// Whether φ is a line in p.
    fn is_linear(&self) -> bool {
        false
    }

    /// Whether φ is (p − y)². Then the sums of products of features and labels determine the loss
    /// of every predictor on a stream.
    fn is_square(&self) -> bool {
        false
    }

    /// φ'' at the predictions with these slopes, for a smooth loss whose slopes determine it. The
    /// witnesses of such a loss take implicit steps.
    #[inline(always)]
    fn curvature_at_slopes<F: Fours>(&self, _slopes: F) -> Option<F> {
        None
    }

    /// Whether a gradient step on φ is the Perceptron's update. The Perceptron's theorem then
    /// applies to φ.
    fn moves_as_the_perceptron(&self) -> bool {
        false
    }

    /// Its parameters in words, if it has any.
    fn parameters(&self) -> Option<String> {
        None
    }

    /// The probability of the label +1 that a prediction stands for, if the loss gives it that
    /// meaning.
    fn probability(&self, _prediction: f64) -> Option<f64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::{OpenUnit, Positive};
    use crate::request::Request;
    use crate::set::Ball;
    use proptest::prelude::*;
    use rueful_machine::{Array, Numbers};

    /// One loss of every name, and some that differ in their parameters.
    fn losses() -> Vec<AnyLoss> {
        let ball = Ball { radius: Positive::ONE };
        let ask = |name: &str| AnyLoss::ask(name, &Request::within(ball)).unwrap();
        let quantile = |tau| Quantile { tau: OpenUnit::new(tau).unwrap() }.into();
        AnyLoss::NAMES.map(ask).into_iter().chain([0.01, 0.99].map(quantile)).collect()
    }

    fn prox_maximises(loss: &AnyLoss, p: f64, y: f64, q: f64, others: &[f64]) {
        let gain = |a: f64| a * p - loss.conjugate(a, y) - 0.5 * q * a * a;
        let best = gain(loss.prox(p, y, q));
        assert!(best.is_finite(), "the slope {} is no dual point", loss.prox(p, y, q));
        for &a in others {
            assert!(gain(a) <= best + 1e-12 * (1.0 + best.abs()), "{a} is better");
        }
    }

    fn is_two_lines(loss: &AnyLoss, kink: Kink, p: f64, y: f64) {
        let r = p - kink.at;
        let value = if r < 0.0 { kink.low * r } else { kink.high * r };
        assert!((loss.at(p, y).value - value).abs() < 1e-12 * (1.0 + value));
        assert_eq!(loss.curvature(p, y), 0.0);
    }

    fn curves(loss: &AnyLoss, p: f64, y: f64) {
        let h = 1e-5;
        let slope = (loss.at(p + h, y).slope - loss.at(p - h, y).slope) / (2.0 * h);
        assert!((slope - loss.curvature(p, y)).abs() < 1e-5);
    }

    fn slopes_stay_in_range(loss: &AnyLoss, p: f64, y: f64, others: &[f64]) {
        let at = loss.at(p, y);
        let range = loss.slopes(y);
        assert!(range.contains(&at.slope), "{} is not in {range:?}", at.slope);
        assert!(at.slope.abs() <= loss.steepest(p.abs(), y.abs()) * (1.0 + 1e-15));
        for a in others {
            assert_eq!(loss.conjugate(*a, y).is_finite(), range.contains(a), "{a} of {y}");
        }
        assert!(at.value >= 0.0 || !loss.is_nonnegative());
    }

    #[test]
    fn a_logistic_step_between_two_flat_ends_converges() {
        let others: Vec<f64> = (0..100).map(|i| f64::from(i) / 100.0).collect();
        let loss = Logistic {}.into();
        prox_maximises(&loss, 3.184998555949604, -1.0, 22.909322877522207, &others);
    }

    proptest! {
        #[test]
        fn what_is_claimed_of_the_losses_is_true(
            p in -9.0..9.0f64, sign in prop::bool::ANY, label in -5.0..5.0f64, q in 1e-6..50.0f64,
            others in prop::collection::vec(-3.0..3.0f64, 40),
        ) {
            for loss in losses() {
                let y = match loss.labels() {
                    Labels::Signs => if sign { 1.0 } else { -1.0 },
                    Labels::Numbers => label,
                };
                prox_maximises(&loss, p, y, q, &others);
                slopes_stay_in_range(&loss, p, y, &others);
                match loss.kink(y) {
                    Some(kink) => is_two_lines(&loss, kink, p, y),
                    None => curves(&loss, p, y),
                }
            }
        }
    }

    proptest! {
        /// Evaluating four predictions at once gives the same as one by one, to a few units in the
        /// last place.
        #[test]
        fn four_predictions_at_once_are_each_by_itself(
            p in prop::array::uniform4(-60.0..60.0f64), far in -2000.0..2000.0f64,
            sign in prop::bool::ANY, label in -5.0..5.0f64,
        ) {
            for loss in losses() {
                let y = match loss.labels() {
                    Labels::Signs => if sign { 1.0 } else { -1.0 },
                    Labels::Numbers => label,
                };
                let p = [p[0], p[1], far, 0.0];
                let (values, slopes) = loss.at_each(Array::load(&p), y);
                for (k, &p) in p.iter().enumerate() {
                    let alone = loss.at(p, y);
                    let both = [(values.array()[k], alone.value), (slopes.array()[k], alone.slope)];
                    for (found, exact) in both {
                        let unit = exact.abs().next_up() - exact.abs();
                        prop_assert!((found - exact).abs() <= 8.0 * unit, "{loss}: {found} {exact}");
                    }
                    prop_assert!(loss.slopes(y).contains(&slopes.array()[k]));
                }
            }
        }
    }

    #[test]
    fn few_rules_hold_for_some_losses_only() {
        let those = |rule: fn(&AnyLoss) -> bool| {
            let mut names: Vec<_> =
                losses().iter().filter(|l| rule(l)).map(AnyLoss::name).collect();
            names.dedup();
            names
        };
        assert_eq!(those(AnyLoss::is_linear), ["linear"]);
        assert_eq!(those(|loss| !loss.is_nonnegative()), ["linear"]);
        assert_eq!(those(AnyLoss::is_square), ["square"]);
        assert_eq!(those(AnyLoss::moves_as_the_perceptron), ["perceptron"]);
        assert_eq!(those(|loss| loss.probability(0.0) == Some(0.5)), ["logistic"]);
        assert_eq!(those(|loss| loss.probability(0.0).is_some()), ["logistic"]);
    }

    #[test]
    fn a_loss_is_read_by_its_name_with_all_its_fields_and_no_others() {
        let read = |text: &str| serde_json::from_str::<AnyLoss>(text);
        assert_eq!(read(r#"{"name": "hinge"}"#).unwrap(), Hinge {}.into());
        assert!(read(r#"{"name": "hinge", "tau": 0.5}"#).is_err());
        assert!(read(r#"{"name": "quantile"}"#).is_err());
        assert!(read(r#"{"name": "quantile", "tau": 1.5}"#).is_err());
        assert!(read(r#"{"name": "bent"}"#).is_err());
        for loss in losses() {
            let text = serde_json::to_string(&loss).unwrap();
            assert_eq!(read(&text).unwrap(), loss, "{text}");
            assert!(text.starts_with(&format!("{{\"name\":\"{}\"", loss.name())), "{text}");
        }
    }
}
