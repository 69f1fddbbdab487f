//! Implements [`Loss`] for [`AnyLoss`], and gives the names of its members.

use super::{AnyLoss, Kink, Labels, Loss, Tangent, with_loss};
use crate::number::Positive;
use crate::request::Request;
use crate::set::Ball;
use rueful_machine::Fours;
use std::fmt;
use std::ops::RangeInclusive;

impl AnyLoss {
    /// The labels that it accepts.
    pub fn labels(&self) -> Labels {
        Loss::labels(self)
    }

    /// The names of the losses that classify.
    pub fn classifiers() -> Vec<&'static str> {
        let request = Request::within(Ball { radius: Positive::ONE });
        let classifies = |name: &&str| {
            Self::ask(name, &request).is_ok_and(|loss| loss.labels() == Labels::Signs)
        };
        Self::NAMES.into_iter().filter(classifies).collect()
    }
}

/// Writes its name and its parameters.
impl fmt::Display for AnyLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parameters() {
            Some(parameters) => write!(f, "{}, {parameters}", self.name()),
            None => f.write_str(self.name()),
        }
    }
}

impl Loss for AnyLoss {
    #[inline]
    fn at(&self, prediction: f64, label: f64) -> Tangent {
        with_loss!(self, loss => loss.at(prediction, label))
    }

    #[inline(always)]
    fn at_each<F: Fours>(&self, predictions: F, label: f64) -> (F, F) {
        with_loss!(self, loss => loss.at_each(predictions, label))
    }

    fn conjugate(&self, slope: f64, label: f64) -> f64 {
        with_loss!(self, loss => loss.conjugate(slope, label))
    }

    #[inline]
    fn prox(&self, prediction: f64, label: f64, q: f64) -> f64 {
        with_loss!(self, loss => loss.prox(prediction, label, q))
    }

    #[inline]
    fn kink(&self, label: f64) -> Option<Kink> {
        with_loss!(self, loss => loss.kink(label))
    }

    #[inline]
    fn curvature(&self, prediction: f64, label: f64) -> f64 {
        with_loss!(self, loss => loss.curvature(prediction, label))
    }

    fn slopes(&self, label: f64) -> RangeInclusive<f64> {
        with_loss!(self, loss => loss.slopes(label))
    }

    fn lipschitz(&self) -> Option<f64> {
        with_loss!(self, loss => loss.lipschitz())
    }

    fn steepest(&self, prediction: f64, label: f64) -> f64 {
        with_loss!(self, loss => loss.steepest(prediction, label))
    }

    fn labels(&self) -> Labels {
        with_loss!(self, loss => loss.labels())
    }

    fn is_nonnegative(&self) -> bool {
        with_loss!(self, loss => loss.is_nonnegative())
    }

    fn is_linear(&self) -> bool {
        with_loss!(self, loss => loss.is_linear())
    }

    #[inline(always)]
    fn curvature_at_slopes<F: Fours>(&self, slopes: F) -> Option<F> {
        with_loss!(self, loss => loss.curvature_at_slopes(slopes))
    }

    fn is_square(&self) -> bool {
        with_loss!(self, loss => loss.is_square())
    }

    fn moves_as_the_perceptron(&self) -> bool {
        with_loss!(self, loss => loss.moves_as_the_perceptron())
    }

    fn parameters(&self) -> Option<String> {
        with_loss!(self, loss => loss.parameters())
    }

    fn probability(&self, prediction: f64) -> Option<f64> {
        with_loss!(self, loss => loss.probability(prediction))
    }
}
