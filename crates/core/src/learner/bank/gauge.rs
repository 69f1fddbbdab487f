//! What is known of the sizes of one feature: the bank's unit, and that of the witnesses.

use super::scale::Scale;
use crate::witness::{Measure, Measured};

/// Both units side by side, for they are read together.
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
    /// Counts one more value. Says x̃, and whether there is more to say: for the first value of a
    /// feature, and for one beyond all before.
    #[inline(always)]
    pub(super) fn count_scaled(&mut self, value: f32) -> (f32, bool) {
        let (scaled, is_plain) = self.scale.count_scaled(value);
        (scaled, !is_plain | self.measure.is_below(value))
    }
}
