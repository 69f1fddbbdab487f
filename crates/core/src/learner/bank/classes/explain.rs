//! The reasons for a prediction, as sums over the features.

use super::{Desk, SHARED_MODERATION, SoftmaxBank};
use crate::elementary::ln;
use crate::features::Features;
use crate::learner::bank::filters::FILTERS;
use crate::learner::bank::lanes::LANES;
use rueful_machine::Widest;

impl SoftmaxBank {
    /// The amounts that the features of an example add to ln(p/(1 − p)), the log-odds of a class
    /// against all others. The last number is the rest, so that all of them add up to the log-odds.
    /// It is `None` if the class has not been seen.
    ///
    /// Lanes and filters are linear in the features, and the pool is linear in their scores. So a
    /// feature adds Σ_k β_k (w_kic − Σ_{j≠c} r_j w_kij) x̃_i, where r are the probabilities of the
    /// others among themselves.
    pub fn contributions(&self, x: &Features<'_>, class: u32) -> Option<Vec<f64>> {
        let slot = self.slot(class)?;
        let known = x.below(self.lanes.len());
        let mut desk = Desk::default();
        self.opine::<Widest>(&known, x.len() - known.len(), &mut desk);
        let factors = self.pooled_factors(&desk);
        let mut against = desk.mixed.clone();
        against[slot] = 0.0;
        let rest: f64 = against.iter().sum();
        against.iter_mut().for_each(|share| *share /= -rest.max(f64::MIN_POSITIVE));
        against[slot] = 1.0;
        let mut added: Vec<f64> = (0..known.len())
            .map(|place| {
                let feature = known.indices()[place] as usize;
                let said = |slot: usize| self.said_by_unit(feature, slot, &factors);
                let sides = against.iter().enumerate().filter(|(_, share)| **share != 0.0);
                let unit: f64 = sides.map(|(slot, share)| share * said(slot)).sum();
                unit * f64::from(desk.scaled[place])
            })
            .collect();
        added.resize(x.len(), 0.0);
        let escape = self.escape();
        let others = (1.0 - escape) * rest + escape;
        let odds = (1.0 - escape) * desk.mixed[slot] / others.max(f64::MIN_POSITIVE);
        added.push(ln(odds) - added.iter().sum::<f64>());
        Some(added)
    }

    /// The weights of the features for the score of a class, in the data's own units. They are those
    /// with which the pool combines lanes and filters now, and do not include how the doubt of an
    /// example moderates them. It is `None` if the class has not been
    /// seen.
    pub fn weights(&self, class: u32) -> Option<Vec<f64>> {
        let slot = self.slot(class)?;
        let mut desk = Desk::default();
        self.opine::<Widest>(&Features::trusted(&[], &[], 0.0, true), 0, &mut desk);
        let factors = self.pooled_factors(&desk);
        let weight = |feature: usize| {
            let unit = self.said_by_unit(feature, slot, &factors);
            unit * f64::from(self.scales[feature].inverse())
        };
        Some((0..self.lanes.len()).map(weight).collect())
    }

    /// The pool's factors of the scores of lanes and filters.
    fn pooled_factors(&self, desk: &Desk) -> [f64; LANES + FILTERS] {
        let weights = self.pool.weights();
        std::array::from_fn(|k| {
            if k < LANES {
                let gain = if k == 0 { f64::from(self.gain(desk.norm_sq)) } else { 1.0 };
                let doubt = SHARED_MODERATION * desk.variance.0[k];
                weights[k] * gain / f64::from(1.0 + doubt).sqrt()
            } else {
                weights[k]
            }
        })
    }

    fn said_by_unit(&self, feature: usize, slot: usize, factors: &[f64; LANES + FILTERS]) -> f64 {
        let (lanes, filters) =
            (self.lanes.weights(feature, slot), self.filters.weights(feature, slot));
        let all = lanes.0.iter().chain(&filters).zip(factors);
        all.map(|(&weight, factor)| f64::from(weight) * factor).sum()
    }
}
