//! The units in which the witnesses measure features.

use super::{Each, Slopes};
use crate::loss::{Labels, Loss};
use crate::ruler::{LabelSize, Ruler};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// How large a feature was: N, and 1/N.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Measure {
    /// N. It is 0 before the first value.
    pub(super) largest: f32,
    /// 1/N, rounded. The witnesses may choose their units, so the rounding is harmless. It is 0 if
    /// N is 0.
    pub(super) inverse: f32,
}

/// The record that is kept for one feature. It contains the measure of the feature.
pub trait Measured: Copy + Debug + Default + PartialEq {
    /// The measure.
    fn measure(&self) -> &Measure;

    /// The measure, mutable.
    fn measure_mut(&mut self) -> &mut Measure;
}

impl Measured for Measure {
    #[inline(always)]
    fn measure(&self) -> &Self {
        self
    }

    #[inline(always)]
    fn measure_mut(&mut self) -> &mut Self {
        self
    }
}

impl Measure {
    /// The measure of a feature with this largest value.
    fn of(largest: f32) -> Self {
        let inverse = if largest > 0.0 { (1.0 / largest).min(f32::MAX) } else { 0.0 };
        Self { largest, inverse }
    }

    /// Whether there was no value so far but 0.
    #[inline(always)]
    pub(super) fn is_new(&self) -> bool {
        self.largest == 0.0
    }

    /// Whether a value is larger than all before.
    #[inline(always)]
    pub(crate) fn is_below(&self, value: f32) -> bool {
        value.abs() > self.largest
    }

    /// x/N, and 1/N.
    #[inline(always)]
    pub(crate) fn scaled(&self, value: f32) -> (f64, f64) {
        let inverse = f64::from(self.inverse);
        (f64::from(value) * inverse, inverse)
    }

    /// The measure after one more value, for a feature that was seen before.
    pub(super) fn after(&self, value: f32) -> Self {
        if self.largest > 0.0 && self.is_below(value) { Self::of(value.abs()) } else { *self }
    }

    /// Takes in the first value of a feature, and returns (x/N)².
    pub(super) fn begin(&mut self, value: f32) -> f64 {
        *self = Self::of(value.abs());
        let (scaled, _) = self.scaled(value);
        scaled * scaled
    }
}

/// The units of a stream: N by cell, and Y.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "Stored", try_from = "Stored", bound = "M: Measured")]
pub(super) struct Units<M> {
    pub(super) measures: Vec<M>,
    pub(super) label: LabelSize,
}

impl<M: Measured> Units<M> {
    pub(super) fn new(loss: &impl Loss) -> Self {
        let is_measured = loss.labels() == Labels::Numbers && !loss.is_linear();
        let largest = if is_measured { 0.0 } else { 1.0 };
        Self { measures: Vec::new(), label: LabelSize { largest, is_measured } }
    }

    pub(super) fn grow(&mut self, dimension: usize) {
        if dimension > self.measures.len() {
            self.measures.resize(dimension, M::default());
        }
    }

    #[inline(always)]
    pub(super) fn measure(&self, cell: usize) -> &Measure {
        self.measures[cell].measure()
    }

    /// Takes in a label, and returns whether it is the largest so far.
    pub(super) fn measure_label(&mut self, label: f64) -> bool {
        let is_larger = self.label.is_measured && label.abs() > self.label.largest;
        if is_larger {
            self.label.largest = label.abs();
        }
        is_larger
    }

    pub(super) fn rearrange(&mut self, from: &[u32]) {
        let at = |&from: &u32| self.measures.get(from as usize).copied().unwrap_or_default();
        self.measures = from.iter().map(at).collect();
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.grow(other.measures.len());
        for (own, theirs) in self.measures.iter_mut().zip(&other.measures) {
            let largest = own.measure().largest.max(theirs.measure().largest);
            *own.measure_mut() = Measure::of(largest);
        }
        self.label.largest = self.label.largest.max(other.label.largest);
    }

    pub(super) fn continues(&self, fresh: &Self, cells: usize) -> bool {
        let is_one = |measured: &M| {
            let measure = measured.measure();
            (0.0..=f32::MAX).contains(&measure.largest) && *measure == Measure::of(measure.largest)
        };
        self.label.is_measured == fresh.label.is_measured
            && (self.label.is_measured || self.label.largest == 1.0)
            && (0.0..=f64::MAX).contains(&self.label.largest)
            && self.measures.len() == cells
            && self.measures.iter().all(is_one)
    }
}

/// The stored form: one vector over the cells for each number.
#[derive(Serialize, Deserialize)]
struct Stored {
    ruler: Ruler,
    inverse: Vec<f32>,
}

impl<M: Measured> From<Units<M>> for Stored {
    fn from(units: Units<M>) -> Self {
        let all =
            |of: fn(&Measure) -> f32| units.measures.iter().map(|m| of(m.measure())).collect();
        let largest: Vec<f32> = all(|measure| measure.largest);
        Self {
            ruler: Ruler::of_parts(largest, units.label),
            inverse: all(|measure| measure.inverse),
        }
    }
}

impl<M: Measured> TryFrom<Stored> for Units<M> {
    type Error = &'static str;

    fn try_from(Stored { ruler, inverse }: Stored) -> Result<Self, Self::Error> {
        if ruler.largest().len() != inverse.len() {
            return Err("the numbers of units and of inverse units differ");
        }
        let measured = |(&largest, &inverse): (&f32, &f32)| {
            let mut measured = M::default();
            *measured.measure_mut() = Measure { largest, inverse };
            measured
        };
        let measures = ruler.largest().iter().zip(&inverse).map(measured).collect();
        Ok(Self { measures, label: ruler.label_size() })
    }
}

/// Updates ‖S/N‖² when 1/N of a coordinate becomes smaller. What rounding puts below 0 is raised to
/// it, and is still less than before.
pub(super) fn shrink(square: &mut Each, slopes: &Slopes, (old, new): (Measure, Measure)) {
    let (old, new) = (f64::from(old.inverse), f64::from(new.inverse));
    for (square, slope) in square.iter_mut().zip(slopes.0) {
        let (before, after) = (slope * old, slope * new);
        *square = (*square - (before - after) * (before + after)).max(0.0);
    }
}
