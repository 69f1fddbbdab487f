//! The predictions of everybody in the bank for one row, and their mixture.

use super::{Desk, FAINTEST, MODERATION, SHARED_MODERATION, SoftmaxBank};
use crate::elementary::{exp_eight, ln};
use crate::features::Features;
use crate::learner::bank::classes::filters::ClassFilters;
use crate::learner::bank::classes::lanes::ClassLanes;
use crate::learner::bank::classes::softmax::softmax;
use crate::learner::bank::eight::Eight;
use crate::learner::bank::experts::{BASE, EXPERTS, Each, MIXER, WITNESS};
use crate::learner::bank::filters::FILTERS;
use crate::learner::bank::lanes::LANES;
use rueful_machine::{Eights, Kernel, Registers};

/// Computes all predictions for a row whose features are scaled.
pub(super) struct Opine<'a> {
    pub(super) bank: &'a SoftmaxBank,
    pub(super) x: &'a Features<'a>,
    /// The number of features that have no place.
    pub(super) unseen: usize,
    pub(super) desk: &'a mut Desk,
}

impl Kernel for Opine<'_> {
    type Out = ();

    #[inline(always)]
    fn run<R: Registers>(self) {
        let Self { bank, x, unseen, desk } = self;
        let (indices, classes) = (x.indices(), bank.classes.len());
        bank.witnesses.foresee::<R::Four>(x, unseen, &mut desk.witnesses);
        desk.moderated.resize(classes, Eight::ZERO);
        desk.shares.resize(classes, Eight::ZERO);
        desk.filter_shares.resize(classes, Eight::ZERO);
        desk.logs.resize(classes, [Eight::ZERO; 2]);
        desk.mixed.clear();
        if classes == 0 {
            return;
        }
        let floor = ln(f64::from(FAINTEST) / classes as f64) as f32;
        bank.see_by_lanes::<R::Eight>(indices, desk);
        bank.moderate_lanes::<R::Eight>(desk, floor);
        if bank.filters.are_alive() {
            bank.see_by_filters::<R::Eight>(indices, desk);
            moderate_filters::<R::Eight>(desk, floor);
        }
        bank.hear_rates(desk, floor);
        bank.pool_all::<R::Eight>(desk);
        bank.mix::<R::Eight>(desk);
    }
}

impl SoftmaxBank {
    #[inline(always)]
    fn see_by_lanes<V: Eights>(&self, indices: &[u32], desk: &mut Desk) {
        let gain = self.gain(desk.norm_sq);
        let variance = self.lanes.see::<V>(indices, &desk.scaled, gain, &mut desk.scores);
        desk.variance = Eight::of_register(variance + ClassLanes::doubt::<V>(desk.unseen));
    }

    /// Moderates the lanes' scores. A lane has one factor, because all classes have the same
    /// variance.
    #[inline(always)]
    fn moderate_lanes<V: Eights>(&self, desk: &mut Desk, floor: f32) {
        let doubt = V::all(1.0) + V::all(SHARED_MODERATION) * desk.variance.load::<V>();
        let factor = V::all(1.0) / doubt.sqrt();
        for (score, moderated) in desk.scores.iter().zip(&mut desk.moderated) {
            (score.load::<V>() * factor).store(&mut moderated.0);
        }
        let log_sum = softmax::<V>(&desk.moderated, &mut desk.shares).log_sum();
        for (moderated, logs) in desk.moderated.iter().zip(&mut desk.logs) {
            (moderated.load::<V>() - log_sum).max(V::all(floor)).store(&mut logs[0].0);
        }
    }

    #[inline(always)]
    pub(super) fn see_by_filters<V: Eights>(&self, indices: &[u32], desk: &mut Desk) {
        let Desk { scaled, growths, filters, .. } = desk;
        self.filters.lay_out(indices, scaled, growths, filters);
        self.filters.see::<V>(filters);
        if desk.unseen > 0 {
            ClassFilters::doubt(desk.unseen, &mut desk.filters);
        }
    }

    #[inline(always)]
    fn hear_rates(&self, desk: &mut Desk, floor: f32) {
        let ln_total = self.rates.ln_total();
        for (slot, logs) in desk.logs.iter_mut().enumerate() {
            for (k, log) in self.rates.logs(slot, ln_total).into_iter().enumerate() {
                logs[1].0[FILTERS + k] = log.max(floor);
            }
        }
    }

    #[inline(always)]
    fn pool_all<V: Eights>(&self, desk: &mut Desk) {
        let weights = self.pool.weights();
        let eight = |from: usize| Eight::of(|k| weights[from + k] as f32).load::<V>();
        let (first, second) = (eight(0), eight(8));
        desk.pooled.clear();
        for logs in &desk.logs {
            desk.pooled.push((first * logs[0].load() + second * logs[1].load()).sum());
        }
        desk.pool_shares.clear();
        exponentials::<V>(&desk.pooled, None, &mut desk.pool_shares);
        let inverse = 1.0 / desk.pool_shares.iter().sum::<f32>();
        desk.pool_shares.iter_mut().for_each(|share| *share *= inverse);
    }

    /// Mixes everybody's probabilities by Bayes' rule.
    #[inline(always)]
    fn mix<V: Eights>(&self, desk: &mut Desk) {
        let weights = self.bayes.weights();
        let lanes = Eight::of(|k| weights[k] as f32).load::<V>();
        let filters: [f32; FILTERS] = std::array::from_fn(|k| weights[LANES + k] as f32);
        let (kept, added) = self.pinch(desk.shares.len());
        let mut total = 0.0;
        for (slot, share) in desk.shares.iter().enumerate() {
            let mut sum = (lanes * share.load::<V>()).sum();
            for (k, filter) in filters.iter().enumerate() {
                sum += filter * desk.filter_shares[slot].0[k];
            }
            let mut mixed = f64::from(sum) + weights[MIXER] * f64::from(desk.pool_shares[slot]);
            for (k, rate) in self.rates.shares(slot).into_iter().enumerate() {
                mixed += weights[BASE + k] * f64::from(rate);
            }
            for (k, witness) in desk.witnesses.shares[slot].iter().enumerate() {
                mixed += weights[WITNESS + k] * witness;
            }
            let mixed = mixed * kept + added;
            total += mixed;
            desk.mixed.push(mixed);
        }
        desk.mixed.iter_mut().for_each(|mixed| *mixed /= total);
    }

    /// The probabilities that the experts gave a class.
    #[inline(always)]
    pub(super) fn given(&self, slot: usize, desk: &Desk) -> Each {
        let (kept, added) = self.pinch(self.classes.len());
        let mut given = [0.0; EXPERTS];
        for (k, share) in desk.shares[slot].0.into_iter().enumerate() {
            given[k] = f64::from(share);
        }
        for (k, share) in desk.filter_shares[slot].0[..FILTERS].iter().enumerate() {
            given[LANES + k] = f64::from(*share);
        }
        given[MIXER] = f64::from(desk.pool_shares[slot]);
        given[WITNESS..BASE].copy_from_slice(&desk.witnesses.shares[slot]);
        for (k, rate) in self.rates.shares(slot).into_iter().enumerate() {
            given[BASE + k] = f64::from(rate);
        }
        for (given, &prior) in given.iter_mut().zip(self.bayes.prior()) {
            *given = if prior > 0.0 { (*given * kept + added).min(1.0) } else { 0.0 };
        }
        given
    }
}

/// Moderates the filters' scores less their mean, by the variances of both:
/// (f_c − f̄)/√(1 + π(s_c + s̄)/8).
#[inline(always)]
fn moderate_filters<V: Eights>(desk: &mut Desk, floor: f32) {
    let Desk { filters, filter_shares, moderated, logs, .. } = desk;
    let (mut mean, mut variance) = (V::all(0.0), V::all(0.0));
    for ((share, score), own) in filters.shares.iter().zip(&filters.scores).zip(&filters.variances)
    {
        mean = mean + share.load::<V>() * score.load();
        variance = variance + share.load::<V>() * own.load();
    }
    let scores = filters.scores.iter().zip(&filters.variances).zip(&mut *moderated);
    for ((score, own), moderated) in scores {
        let doubt = V::all(1.0) + V::all(MODERATION) * (own.load::<V>() + variance);
        ((score.load::<V>() - mean) / doubt.sqrt()).store(&mut moderated.0);
    }
    let log_sum = softmax::<V>(moderated, filter_shares).log_sum();
    for (moderated, logs) in moderated.iter().zip(logs) {
        (moderated.load::<V>() - log_sum).max(V::all(floor)).store(&mut logs[1].0);
    }
}

/// Appends e^{x − largest} of all numbers. One can be left out, and is 0 then. Returns the largest.
#[inline(always)]
pub(super) fn exponentials<V: Eights>(
    of: &[f32],
    without: Option<usize>,
    to: &mut Vec<f32>,
) -> f32 {
    let mut largest = f32::MIN;
    for (at, &x) in of.iter().enumerate() {
        largest = if Some(at) != without && x > largest { x } else { largest };
    }
    for eight in of.chunks(8) {
        let mut numbers = [0.0; 8];
        numbers[..eight.len()].copy_from_slice(eight);
        let e = exp_eight(V::load(&numbers) - V::all(largest)).array();
        to.extend_from_slice(&e[..eight.len()]);
    }
    if let Some(at) = without {
        to[at] = 0.0;
    }
    largest
}
