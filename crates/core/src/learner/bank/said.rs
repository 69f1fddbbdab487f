//! The predictions of the experts for labels that are numbers.

use super::blend::Blend;
use super::experts::{BASE, EXPERTS, Each, EachWitness, MEAN, MIXER, WITNESS};
use super::lanes::LANES;
use super::mixer::{MIXED, Mixture};
use super::targets::Targets;
use super::top::View;
use rueful_machine::Eights;

/// The predictions of all experts, in units of the labels and within their range.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said {
    pub(super) said: Each,
    pub(super) mixture: Mixture,
}

impl Said {
    #[inline(always)]
    pub(super) fn new<V: Eights>(
        view: &View,
        witnesses: &EachWitness,
        base: f64,
        targets: &Targets,
        blend: &Blend,
    ) -> Self {
        let mut said = [0.0; EXPERTS];
        for (said, &mean) in said.iter_mut().zip(&view.lanes.mean.0) {
            *said = targets.clipped(mean.into());
        }
        for (k, &mean) in view.filters.mean.0.iter().enumerate().take(view.alive) {
            said[LANES + k] = targets.clipped(mean.into());
        }
        let mut mixed = [0.0; MIXED];
        mixed.copy_from_slice(&said[..MIXED]);
        let mixture = blend.see::<V>(&mixed);
        said[MIXER] = targets.clipped(blend.mean(&mixture));
        for (said, &witness) in said[WITNESS..BASE].iter_mut().zip(witnesses) {
            *said = targets.clipped(targets.inward(witness));
        }
        said[BASE] = base;
        Self { said, mixture }
    }
}

/// The prior of a layer above a posterior mean. The posterior mean has half of it.
pub(super) fn halved(prior: &Each) -> Each {
    let mut halved = prior.map(|prior| 0.5 * prior);
    halved[MEAN] = 0.5;
    halved
}

/// The share of each expert when that of the posterior mean is distributed over its parts.
pub(super) fn shares(upper: &Each, lower: &Each) -> Each {
    std::array::from_fn(|k| if k == MEAN { 0.0 } else { upper[k] + upper[MEAN] * lower[k] })
}
