//! Two lines that meet: the shape of every loss here that has a kink.

use std::ops::RangeInclusive;

/// A loss that is low·r for r < 0 and high·r for r > 0, where r = p − at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kink {
    /// The prediction at which the lines meet.
    pub at: f64,
    /// The slope below that point.
    pub low: f64,
    /// The slope above that point.
    pub high: f64,
}

impl Kink {
    /// The proximal step of such a loss: argmax_a (a·(p − at) − (q/2)a²) over its slopes.
    #[inline]
    pub(crate) fn prox(self, prediction: f64, q: f64) -> f64 {
        // Multiplying by 1/q is fast: 1/q is ready before the prediction is.
        ((prediction - self.at) * (1.0 / q)).clamp(self.low, self.high)
    }

    /// All slopes between those of the two lines.
    pub(crate) fn slopes(self) -> RangeInclusive<f64> {
        self.low..=self.high
    }

    /// The loss [−y(p − at)]₊ for a label y of −1 or +1.
    #[inline]
    pub(crate) fn signed(label: f64, at: f64) -> Self {
        if label > 0.0 {
            Self { at, low: -1.0, high: 0.0 }
        } else {
            Self { at: -at, low: 0.0, high: 1.0 }
        }
    }
}

/// What follows for a loss from its `two_lines`, in its `impl Loss`.
macro_rules! of_two_lines {
    () => {
        #[inline]
        fn prox(&self, prediction: f64, label: f64, q: f64) -> f64 {
            self.two_lines(label).prox(prediction, q)
        }

        #[inline]
        fn kink(&self, label: f64) -> Option<Kink> {
            Some(self.two_lines(label))
        }

        fn slopes(&self, label: f64) -> std::ops::RangeInclusive<f64> {
            self.two_lines(label).slopes()
        }
    };
}
