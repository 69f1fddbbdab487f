//! What the solvers ask of a loss beyond what learners do.

use rueful_core::Example;
use rueful_core::loss::{
    Absolute, Hinge, Linear, Logistic, Loss, PerceptronLoss, Quantile, Square, Tangent,
};

/// A loss the solvers can work with.
pub trait ProxLoss: Loss {
    /// Whether φ is never negative, so that no comparator loses less than 0.
    const NONNEGATIVE: bool = true;

    /// Whether φ is a line.
    const LINEAR: bool = false;

    /// argmax_a (a·p − φ*(a) − (q/2)a²) for q > 0: the slope at p of the loss smoothed by q, and
    /// one step of dual coordinate ascent.
    fn prox(&self, prediction: f64, label: f64, q: f64) -> f64;

    /// The loss as two lines that meet, if it is that.
    fn kink(&self, label: f64) -> Option<Kink>;

    /// φ''(p) of a loss without a kink.
    fn curvature(&self, prediction: f64, label: f64) -> f64;
}

/// The loss of one example, as much as it counts: p ↦ s·φ(p, y) with its importance s.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted<L> {
    loss: L,
    label: f64,
    importance: f64,
}

impl<L: ProxLoss> Counted<L> {
    #[inline]
    pub(crate) fn new(loss: L, example: &Example<'_>) -> Self {
        Self { loss, label: example.label, importance: example.importance }
    }

    #[inline]
    pub(crate) fn at(&self, prediction: f64) -> Tangent {
        let at = self.loss.at(prediction, self.label);
        Tangent { value: self.importance * at.value, slope: self.importance * at.slope }
    }

    /// s·φ*(a/s). The quotient may have been rounded out of the domain: back a hair, then.
    #[inline]
    pub(crate) fn conjugate(&self, slope: f64) -> f64 {
        if slope == 0.0 && self.importance == 0.0 {
            return 0.0;
        }
        let ratio = slope / self.importance;
        let plain = self.loss.conjugate(ratio, self.label);
        if plain.is_finite() || self.importance == 1.0 {
            return self.importance * plain;
        }
        self.importance * self.loss.conjugate(ratio * (1.0 - 2.0 * f64::EPSILON), self.label)
    }

    /// With a = s·b, b maximises b·p − φ*(b) − (qs/2)b².
    #[inline]
    pub(crate) fn prox(&self, prediction: f64, q: f64) -> f64 {
        self.importance * self.loss.prox(prediction, self.label, q * self.importance)
    }

    #[inline]
    pub(crate) fn kink(&self) -> Option<Kink> {
        let kink = self.loss.kink(self.label)?;
        let (low, high) = (self.importance * kink.low, self.importance * kink.high);
        Some(Kink { low, high, ..kink })
    }

    #[inline]
    pub(crate) fn curvature(&self, prediction: f64) -> f64 {
        self.importance * self.loss.curvature(prediction, self.label)
    }
}

/// A loss that is low·r for r < 0 and high·r for r > 0, where r = p − at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kink {
    /// The prediction at which the lines meet.
    pub at: f64,
    /// The slope below.
    pub low: f64,
    /// The slope above.
    pub high: f64,
}

impl Kink {
    #[inline]
    fn prox(self, prediction: f64, q: f64) -> f64 {
        // Nobody waits for 1/q, and everybody for the prediction.
        ((prediction - self.at) * (1.0 / q)).clamp(self.low, self.high)
    }

    /// A loss [−y(p − at)]₊ of a signed prediction.
    #[inline]
    fn signed(label: f64, at: f64) -> Self {
        if label > 0.0 {
            Self { at, low: -1.0, high: 0.0 }
        } else {
            Self { at: -at, low: 0.0, high: 1.0 }
        }
    }
}

/// The methods of a loss that is a kink.
macro_rules! kinked {
    ($loss:ty, |$self:ident, $label:ident| $kink:expr) => {
        impl ProxLoss for $loss {
            #[inline]
            fn prox(&self, prediction: f64, label: f64, q: f64) -> f64 {
                let ($self, $label) = (self, label);
                $kink.prox(prediction, q)
            }

            #[inline]
            fn kink(&self, label: f64) -> Option<Kink> {
                let ($self, $label) = (self, label);
                Some($kink)
            }

            fn curvature(&self, _prediction: f64, _label: f64) -> f64 {
                0.0
            }
        }
    };
}

kinked!(Absolute, |_loss, y| Kink { at: y, low: -1.0, high: 1.0 });
kinked!(Quantile, |loss, y| Kink { at: y, low: -loss.tau.get(), high: 1.0 - loss.tau.get() });
kinked!(Hinge, |_loss, y| Kink::signed(y, 1.0));
kinked!(PerceptronLoss, |_loss, y| Kink::signed(y, 0.0));

impl ProxLoss for Square {
    #[inline]
    fn prox(&self, prediction: f64, label: f64, q: f64) -> f64 {
        (prediction - label) / (0.5 + q)
    }

    fn kink(&self, _label: f64) -> Option<Kink> {
        None
    }

    fn curvature(&self, _prediction: f64, _label: f64) -> f64 {
        2.0
    }
}

impl ProxLoss for Logistic {
    /// With b = −ay and s = ln(b/(1−b)) the condition is s + yp + q·b(s) = 0: increasing in s with
    /// slope between 1 and 1 + q/4, and a root between −yp − q and −yp.
    fn prox(&self, prediction: f64, label: f64, q: f64) -> f64 {
        let margin = label * prediction;
        let (mut low, mut high) = (-margin - q, -margin);
        let mut s = 0.5 * (low + high);
        let mut width = high - low;
        for _ in 0..120 {
            let b = sigmoid(s);
            let miss = s + margin + q * b;
            if miss.abs() <= 1e-15 * (1.0 + margin.abs() + q) {
                break;
            }
            if miss > 0.0 {
                high = s;
            } else {
                low = s;
            }
            let newton = s - miss / (1.0 + q * b * (1.0 - b));
            // Newton's steps can go back and forth between the two flat ends: halve, then.
            let shrinks = high - low <= 0.5 * width;
            let inside = low <= newton && newton <= high;
            s = if inside && shrinks { newton } else { 0.5 * (low + high) };
            width = high - low;
        }
        -label * sigmoid(s)
    }

    fn kink(&self, _label: f64) -> Option<Kink> {
        None
    }

    #[inline]
    fn curvature(&self, prediction: f64, label: f64) -> f64 {
        let wrong = self.at(prediction, label).slope.abs();
        wrong * (1.0 - wrong)
    }
}

/// 1/(1 + e^{−s})
fn sigmoid(s: f64) -> f64 {
    let small = (-s.abs()).exp();
    if s >= 0.0 { 1.0 / (1.0 + small) } else { small / (1.0 + small) }
}

impl ProxLoss for Linear {
    const NONNEGATIVE: bool = false;
    const LINEAR: bool = true;

    #[inline]
    fn prox(&self, _prediction: f64, label: f64, _q: f64) -> f64 {
        label
    }

    fn kink(&self, _label: f64) -> Option<Kink> {
        None
    }

    fn curvature(&self, _prediction: f64, _label: f64) -> f64 {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rueful_core::OpenUnit;

    fn maximises(loss: &impl ProxLoss, p: f64, y: f64, q: f64, others: &[f64]) {
        let gain = |a: f64| a * p - loss.conjugate(a, y) - 0.5 * q * a * a;
        let best = gain(loss.prox(p, y, q));
        assert!(best.is_finite(), "the slope {} is no dual point", loss.prox(p, y, q));
        for &a in others {
            assert!(gain(a) <= best + 1e-12 * (1.0 + best.abs()), "{a} is better");
        }
    }

    fn is_two_lines(loss: &impl ProxLoss, p: f64, y: f64) {
        let kink = loss.kink(y).expect("a kink");
        let r = p - kink.at;
        let value = if r < 0.0 { kink.low * r } else { kink.high * r };
        assert!((loss.at(p, y).value - value).abs() < 1e-12 * (1.0 + value));
    }

    fn curves(loss: &impl ProxLoss, p: f64, y: f64) {
        let h = 1e-5;
        let slope = (loss.at(p + h, y).slope - loss.at(p - h, y).slope) / (2.0 * h);
        assert!((slope - loss.curvature(p, y)).abs() < 1e-5);
    }

    #[test]
    fn a_logistic_step_between_two_flat_ends_converges() {
        let others: Vec<f64> = (0..100).map(|i| f64::from(i) / 100.0).collect();
        maximises(&Logistic {}, 3.184998555949604, -1.0, 22.909322877522207, &others);
    }

    proptest! {
        #[test]
        fn what_is_claimed_of_the_losses_is_true(
            p in -9.0..9.0f64, sign in prop::bool::ANY, label in -5.0..5.0f64, q in 1e-6..50.0f64,
            others in prop::collection::vec(-3.0..3.0f64, 40),
        ) {
            let y = if sign { 1.0 } else { -1.0 };
            let quantile = Quantile { tau: OpenUnit::new(0.3).unwrap() };
            maximises(&Hinge {}, p, y, q, &others);
            maximises(&PerceptronLoss {}, p, y, q, &others);
            maximises(&Logistic {}, p, y, q, &others);
            maximises(&Square {}, p, label, q, &others);
            maximises(&Absolute {}, p, label, q, &others);
            maximises(&quantile, p, label, q, &others);
            maximises(&Linear {}, p, label, q, &others);
            is_two_lines(&Hinge {}, p, y);
            is_two_lines(&PerceptronLoss {}, p, y);
            is_two_lines(&Absolute {}, p, label);
            is_two_lines(&quantile, p, label);
            curves(&Logistic {}, p, y);
            curves(&Square {}, p, label);
            curves(&Linear {}, p, label);
        }
    }
}
