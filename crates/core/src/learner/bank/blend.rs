//! The mixer for labels that are numbers. It works in units of their spread.
//!
//! When the spread leaves [0.9, 1.1] times the unit, the unit becomes the spread.

use super::eight::Eight;
use super::filters::FILTERS;
use super::lanes::LANES;
use super::merge::Parts;
use super::mixer::{MIXED, Mixer, Mixture, inputs};
use rueful_machine::Eights;
use serde::{Deserialize, Serialize};

/// A mixer, and the unit of its inputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Blend {
    mixer: Mixer,
    /// The unit. It is 0 before labels have a spread.
    unit: f64,
}

impl Blend {
    pub(super) fn new() -> Self {
        Self { mixer: Mixer::new(), unit: 0.0 }
    }

    #[inline(always)]
    pub(super) fn unit(&self) -> f64 {
        if self.unit > 0.0 { self.unit } else { 1.0 }
    }

    /// The mixture for the given predictions of lanes and filters.
    #[inline(always)]
    pub(super) fn see<V: Eights>(&self, said: &[f64; MIXED]) -> Mixture {
        let inverse = 1.0 / self.unit();
        let lanes = Eight::of(|k| (said[k] * inverse) as f32);
        let mut filters = [0.0; FILTERS];
        for (filter, said) in filters.iter_mut().zip(&said[LANES..]) {
            *filter = (said * inverse) as f32;
        }
        self.mixer.see::<V>(&inputs(lanes, filters))
    }

    /// Its prediction, in the units of its inputs.
    #[inline(always)]
    pub(super) fn mean(&self, mixture: &Mixture) -> f64 {
        f64::from(mixture.glance.mean) * self.unit()
    }

    /// The label minus its prediction, in its own unit.
    #[inline(always)]
    pub(super) fn residual(&self, label: f64, mixture: &Mixture) -> f32 {
        (label / self.unit()) as f32 - mixture.glance.mean
    }

    /// Learns from a round, once labels have a spread.
    #[inline(always)]
    pub(super) fn learn<V: Eights>(&mut self, slope: f32, curvature: f32, mixture: &Mixture) {
        if self.unit > 0.0 {
            self.mixer.learn::<V>(slope, curvature, mixture);
        }
    }

    /// Adapts the unit to the spread of the labels.
    #[inline(always)]
    pub(super) fn follow(&mut self, spread: f64) {
        if spread > 0.0 && !(0.9 * self.unit..=1.1 * self.unit).contains(&spread) {
            self.change_unit(spread);
        }
    }

    #[cold]
    #[inline(never)]
    fn change_unit(&mut self, spread: f64) {
        if self.unit > 0.0 {
            self.mixer.stretch((spread / self.unit).clamp(1e-15, 1e15) as f32);
        }
        self.unit = spread;
    }

    /// Changes the unit of the labels.
    pub(super) fn stretch(&mut self, factor: f64) {
        self.unit *= factor;
    }

    /// The mixer that several make, in units of the spread of all labels.
    pub(super) fn merged(parts: &Parts<'_, Self>, spread: f64) -> Self {
        let followed = |one: &Self| {
            let mut one = one.clone();
            if spread > 0.0 && one.unit != spread {
                one.change_unit(spread);
            }
            one
        };
        let base = followed(parts.base);
        let all: Vec<_> = parts.parts.iter().map(|(part, own)| (followed(part), *own)).collect();
        let all = Parts { base: &base, parts: all.iter().map(|(one, own)| (one, *own)).collect() };
        Self { mixer: Mixer::merged(&all.of(|one| &one.mixer)), unit: base.unit }
    }

    pub(super) fn retire(&mut self, filters: usize) {
        self.mixer.retire(LANES + filters);
    }

    pub(super) fn weights(&self) -> [f64; MIXED] {
        self.mixer.weights().map(f64::from)
    }

    pub(super) fn is_sound(&self) -> bool {
        self.mixer.is_sound() && self.unit.is_finite() && self.unit >= 0.0
    }
}
