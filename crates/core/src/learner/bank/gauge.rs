//! The units of one feature: that of the bank, and that of the witnesses.

use super::scale::Scale;
use crate::witness::{Measure, Measured};

/// Both units side by side, because they are read together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[repr(align(16))]
pub(super) struct Gauge {
    pub(super) scale: Scale,
    measure: Measure,
}

impl Measured for Gauge {
    #[inline(always)]
    fn measure(&self) -> &Measure {
        &self.measure
    }

    #[inline(always)]
    fn measure_mut(&mut self) -> &mut Measure {
        &mut self.measure
    }
}

impl Gauge {
    /// Counts one more value, and returns x̃. `None` if more must be done: this is so for the first
    /// value of a feature, and for a value that is larger than all before.
    #[inline(always)]
    pub(super) fn count_scaled(&mut self, value: f32) -> Option<f32> {
        let (scaled, is_plain) = self.scale.count_scaled(value);
        (is_plain && !self.measure.is_below(value)).then_some(scaled)
    }
}
