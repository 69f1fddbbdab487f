//! The experts at the top: lanes, filters, the mixer, the witnesses and the base rate.

use super::filters::{self, FILTERS};
use super::lanes::{self, LANES};
use super::mixer::MIXED;
use crate::witness::{UNIT_FREE_RADII, WITNESSES};
use rueful_machine::Fours;
use serde::{Deserialize, Serialize};

/// The room for all experts. The last places are empty.
pub(super) const EXPERTS: usize = 20;
/// The places of the experts. Lanes and filters come first.
pub(super) const MIXER: usize = MIXED;
pub(super) const WITNESS: usize = MIXER + 1;
pub(super) const BASE: usize = WITNESS + WITNESSES;
/// The posterior mean of all the others, in banks that have such a layer.
pub(super) const MEAN: usize = BASE + 1;

/// The radii U of the balls of the witnesses.
pub(super) const RADII: EachWitness = UNIT_FREE_RADII;

/// A number for each expert. Empty places have 0.
pub(super) type Each = [f64; EXPERTS];

/// A number for each witness.
pub(super) type EachWitness = [f64; WITNESSES];

/// One of the learners that a bank mixes, and how well it does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expert {
    /// Its name for people.
    pub name: String,
    /// Its share of the prediction now. The shares of all experts add up to 1.
    pub share: f64,
    /// The average loss of its own predictions, each made before its example was learned from.
    pub sequential_risk: f64,
}

/// The prior: ½ for the mixer, and the rest spread over lanes, filters, the base rate and the
/// witnesses, where a witness gets half as much as the others.
pub(super) fn prior(filters: usize) -> Each {
    prior_with(filters, 0.5)
}

/// The prior in which a witness counts as much as `witness` lanes.
pub(super) fn prior_with(filters: usize, witness: f64) -> Each {
    let parts = (LANES + filters + 1) as f64 + witness * WITNESSES as f64;
    let mut prior = [0.0; EXPERTS];
    prior[..LANES + filters].fill(0.5 / parts);
    prior[BASE] = 0.5 / parts;
    prior[MIXER] = 0.5;
    prior[WITNESS..BASE].fill(witness * 0.5 / parts);
    prior
}

/// The sum over all experts, in a fixed order of additions.
#[inline(always)]
pub(super) fn total<const N: usize>(all: &[f64; N]) -> f64 {
    let mut sums = [0.0; 4];
    let (fours, rest) = all.as_chunks::<4>();
    for four in fours {
        for (sum, x) in sums.iter_mut().zip(four) {
            *sum += x;
        }
    }
    rest.iter().for_each(|x| sums[0] += x);
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// Σ a_k b_k
#[inline(always)]
pub(super) fn weighted<const N: usize>(a: &[f64; N], b: &[f64; N]) -> f64 {
    let mut products = [0.0; N];
    for k in 0..N {
        products[k] = a[k] * b[k];
    }
    total(&products)
}

/// Σ a_k b_k over all experts, in the same order as `weighted`.
#[inline(always)]
pub(super) fn weighted_each<F: Fours>(a: &Each, b: &Each) -> f64 {
    let pairs = a.as_chunks().0.iter().zip(b.as_chunks().0);
    pairs.fold(F::all(0.0), |sum, (a, b)| sum + F::load(a) * F::load(b)).sum()
}

/// Multiplies each weight by its own factor.
#[inline(always)]
pub(super) fn multiply<F: Fours>(weights: &mut Each, factors: &Each) {
    for (weights, factors) in weights.as_chunks_mut().0.iter_mut().zip(factors.as_chunks().0) {
        (F::load(weights) * F::load(factors)).store(weights);
    }
}

/// The posterior weights after a share of the prior was mixed in: (1 − α)w/Σw + απ.
#[inline(always)]
pub(super) fn shared<F: Fours>(weights: &mut Each, prior: &Each, share: f64) {
    let sum = weights.as_chunks().0.iter().fold(F::all(0.0), |sum, w| sum + F::load(w)).sum();
    let (scale, share) = (F::all((1.0 - share) / sum), F::all(share));
    for (weights, prior) in weights.as_chunks_mut().0.iter_mut().zip(prior.as_chunks().0) {
        (scale * F::load(weights) + share * F::load(prior)).store(weights);
    }
}

/// The weights of the remaining experts when others retire.
pub(super) fn without_the_retired(weights: &mut Each, prior: &Each) {
    for (weight, &prior) in weights.iter_mut().zip(prior) {
        *weight = if prior > 0.0 { *weight } else { 0.0 };
    }
    let sum = total(weights);
    weights.iter_mut().for_each(|weight| *weight /= sum);
}

/// Whether the weights can be a posterior of this prior: they are positive exactly where the prior
/// is.
pub(super) fn are_weights<const N: usize>(weights: &[f64; N], prior: &[f64; N]) -> bool {
    let is_one =
        |(&w, &p): (&f64, &f64)| if p > 0.0 { w > 0.0 && w <= 1.0 + 1e-9 } else { w == 0.0 };
    weights.iter().zip(prior).all(is_one) && (total(weights) - 1.0).abs() < 1e-9
}

/// The name of an expert for people.
pub(super) fn name(place: usize) -> String {
    match place {
        _ if place < LANES => lanes::NAMES[place].to_owned(),
        _ if place < MIXED => filters::NAMES[place - LANES].to_owned(),
        MIXER => "mixer".to_owned(),
        _ if place < BASE => format!("witness U = {}", RADII[place - WITNESS]),
        BASE => "base rate".to_owned(),
        _ => "posterior mean".to_owned(),
    }
}

/// The experts with a positive prior.
pub(super) fn described(prior: &Each, share: &Each, risk: impl Fn(usize) -> f64) -> Vec<Expert> {
    let places = (0..EXPERTS).filter(|&place| prior[place] > 0.0);
    let expert =
        |place| Expert { name: name(place), share: share[place], sequential_risk: risk(place) };
    places.map(expert).collect()
}

const _: () = assert!(EXPERTS.is_multiple_of(4) && MEAN < EXPERTS && MIXED == LANES + FILTERS);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prior_is_one_in_all() {
        for filters in [0, 1, FILTERS] {
            let prior = prior(filters);
            assert!(are_weights(&prior, &prior));
            assert_eq!(described(&prior, &prior, |_| 0.0).len(), LANES + filters + 6);
            assert!((prior[WITNESS] * 2.0 - prior[BASE]).abs() < 1e-18);
        }
        assert!((prior(FILTERS)[WITNESS] - 1.0 / 56.0).abs() < 1e-18);
    }

    #[test]
    fn those_who_remain_keep_their_proportions() {
        let mut weights = prior(FILTERS);
        without_the_retired(&mut weights, &prior(0));
        assert!(are_weights(&weights, &prior(0)));
        let before = prior(FILTERS);
        assert!((weights[MIXER] / weights[0] - before[MIXER] / before[0]).abs() < 1e-12);
    }
}
