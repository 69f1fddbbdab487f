//! The mixer: a small full Kalman filter over the predictions of lanes and filters.
//!
//! Its features are (1, z_1, …, z_m), its first weights 1/m, its prior variance 0.3 and its drift
//! 10⁻⁹. It turns many middling learners into one good one.

use super::eight::Eight;
use super::filter::{Glance, sound_variance};
use super::filters::FILTERS;
use super::lanes::LANES;
use super::merge::{Gaussian, Parts, Rule, doubles};
use rueful_machine::Eights;
use serde::{Deserialize, Serialize};

const PRIOR: f32 = 0.3;
const DRIFT: f32 = 1e-9;
/// The limit for the bias when units change.
const HEAVIEST_BIAS: f32 = 1e15;

/// The number of inputs: lanes, then filters.
pub(super) const MIXED: usize = LANES + FILTERS;
/// The number of coordinates in use, the constant included, and below of those there is room for.
const USED: usize = MIXED + 1;
const ROOM: usize = 16;

/// Two eights: one number for every coordinate.
pub(super) type Inputs = [Eight; 2];

/// The mixer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub(super) struct Mixer {
    rows: [Inputs; ROOM],
    weights: Inputs,
    /// A second copy of the diagonal of P, stored contiguously.
    diagonal: Inputs,
}

/// The stored form of the mixer.
#[derive(Serialize, Deserialize)]
struct Stored {
    rows: [Inputs; ROOM],
    weights: Inputs,
}

impl From<Mixer> for Stored {
    fn from(Mixer { rows, weights, .. }: Mixer) -> Self {
        Self { rows, weights }
    }
}

impl From<Stored> for Mixer {
    fn from(Stored { rows, weights }: Stored) -> Self {
        Self { rows, weights, diagonal: diagonal(&rows) }
    }
}

fn diagonal(rows: &[Inputs; ROOM]) -> Inputs {
    let mut diagonal = Inputs::default();
    for (at, row) in rows.iter().enumerate() {
        diagonal[at / 8].0[at % 8] = row[at / 8].0[at % 8];
    }
    diagonal
}

/// The mixer's view of its inputs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Mixture {
    /// f and s.
    pub(super) glance: Glance,
    /// P z.
    product: Inputs,
}

/// (1, z_1, …, z_m)
#[inline(always)]
pub(super) fn inputs(lanes: Eight, filters: [f32; FILTERS]) -> Inputs {
    let z = lanes.0;
    [
        Eight([1.0, z[0], z[1], z[2], z[3], z[4], z[5], z[6]]),
        Eight([z[7], filters[0], filters[1], filters[2], 0.0, 0.0, 0.0, 0.0]),
    ]
}

impl Mixer {
    pub(super) fn new() -> Self {
        let place = |x: &mut Inputs, at: usize, value: f32| x[at / 8].0[at % 8] = value;
        let (mut rows, mut weights) = ([Inputs::default(); ROOM], Inputs::default());
        for (at, row) in rows.iter_mut().enumerate() {
            place(row, at, PRIOR);
        }
        (1..USED).for_each(|at| place(&mut weights, at, 1.0 / MIXED as f32));
        Stored { rows, weights }.into()
    }

    /// f and s for the inputs.
    #[inline(always)]
    pub(super) fn see<V: Eights>(&self, inputs: &Inputs) -> Mixture {
        let zero = [V::all(0.0); 2];
        let mut sums = [zero; 2];
        for (at, row) in self.rows[..USED].iter().enumerate() {
            let value = V::all(inputs[at / 8].0[at % 8]);
            let sum = &mut sums[at % 2];
            *sum = [sum[0] + value * row[0].load(), sum[1] + value * row[1].load()];
        }
        let product = [sums[0][0] + sums[1][0], sums[0][1] + sums[1][1]];
        let [z, rest] = [inputs[0].load::<V>(), inputs[1].load::<V>()];
        let variance = (product[0] * z + product[1] * rest).sum();
        let mean = (self.weights[0].load::<V>() * z + self.weights[1].load::<V>() * rest).sum();
        let product = product.map(Eight::of_register);
        let variance = sound_variance::<V>(variance, &product, &self.diagonal);
        Mixture { glance: Glance { mean, variance }, product }
    }

    /// Learns from the inputs that were seen.
    #[inline(always)]
    pub(super) fn learn<V: Eights>(&mut self, slope: f32, curvature: f32, seen: &Mixture) {
        let gain = curvature / (1.0 + curvature * seen.glance.variance);
        let (product, a) = (seen.product.map(|p| p.load::<V>()), V::all(slope));
        for (weights, p) in self.weights.iter_mut().zip(product) {
            (weights.load::<V>() + a * p).store(&mut weights.0);
        }
        let gain = V::all(gain);
        let shares = product.map(|p| (gain * p).array());
        for (at, row) in self.rows[..USED].iter_mut().enumerate() {
            let share = V::all(shares[at / 8][at % 8]);
            for (row, p) in row.iter_mut().zip(product) {
                (row.load::<V>() - share * p).store(&mut row.0);
            }
        }
        for (block, p) in product.into_iter().enumerate() {
            let variance = (self.diagonal[block].load::<V>() - gain * p * p).max(V::all(0.0));
            let next = variance + V::all(DRIFT) * (V::all(PRIOR) - variance);
            next.store(&mut self.diagonal[block].0);
        }
        self.settle_diagonal();
    }

    /// Writes the diagonal into P.
    #[inline(always)]
    fn settle_diagonal(&mut self) {
        for (at, row) in self.rows[..USED].iter_mut().enumerate() {
            row[at / 8].0[at % 8] = self.diagonal[at / 8].0[at % 8];
        }
    }

    /// The weights of the lanes and filters.
    pub(super) fn weights(&self) -> [f32; MIXED] {
        std::array::from_fn(|k| self.weights[(k + 1) / 8].0[(k + 1) % 8])
    }

    /// Retires filters: only the first `remaining` inputs go on, and they share the weight of the
    /// others.
    #[cold]
    #[inline(never)]
    pub(super) fn retire(&mut self, remaining: usize) {
        let weights = self.weights();
        let lost: f32 = weights[remaining..].iter().sum();
        for (at, weight) in (1..).zip(weights) {
            let next = if at <= remaining { weight + lost / remaining as f32 } else { 0.0 };
            self.weights[at / 8].0[at % 8] = next;
        }
    }

    /// Changes the unit of the inputs, which becomes `growth` times as large. The bias shrinks, and
    /// variances grow to at most the prior.
    #[cold]
    #[inline(never)]
    pub(super) fn stretch(&mut self, growth: f32) {
        let bias = self.weights[0].0[0] / growth;
        self.weights[0].0[0] = bias.clamp(-HEAVIEST_BIAS, HEAVIEST_BIAS);
        for at in 1..ROOM {
            let variance = self.rows[at][at / 8].0[at % 8].max(1e-30);
            let stretch = growth.min((PRIOR / variance).sqrt());
            self.rows[at] = self.rows[at].map(|p| p * Eight::all(stretch));
            self.rows.iter_mut().for_each(|row| row[at / 8].0[at % 8] *= stretch);
        }
        self.hold();
    }

    /// Clips P to the limits of a covariance: |P_ij| ≤ √(P_ii P_jj).
    fn hold(&mut self) {
        self.diagonal = diagonal(&self.rows);
        let diagonal = self.diagonal.map(|d| Eight(d.0.map(|d| d.max(0.0).sqrt())));
        for (at, row) in self.rows.iter_mut().enumerate() {
            let own = diagonal[at / 8].0[at % 8];
            for (place, p) in row.iter_mut().flat_map(|eight| &mut eight.0).enumerate() {
                let most = own * diagonal[place / 8].0[place % 8];
                *p = if place == at { *p } else { p.clamp(-most, most) };
            }
        }
    }

    fn gaussian(&self) -> Gaussian {
        let covariance = self.rows[..USED].iter().flat_map(|row| doubles(row, USED)).collect();
        Gaussian { mean: doubles(&self.weights, USED), covariance }
    }

    /// The mixer that several make.
    pub(super) fn merged(parts: &Parts<'_, Self>) -> Self {
        let base = parts.base.gaussian();
        let all: Vec<_> = parts.parts.iter().map(|(part, own)| (part.gaussian(), *own)).collect();
        let all = Parts { base: &base, parts: all.iter().map(|(one, own)| (one, *own)).collect() };
        let merged = Gaussian::merged(&all, Rule::Sum);
        let (mut rows, mut weights) = (parts.base.rows, Inputs::default());
        for (at, row) in merged.covariance.chunks_exact(USED).enumerate() {
            let place = |(other, &p): (usize, &f64)| rows[at][other / 8].0[other % 8] = p as f32;
            row.iter().enumerate().for_each(place);
            weights[at / 8].0[at % 8] = merged.mean[at] as f32;
        }
        Stored { rows, weights }.into()
    }

    pub(super) fn is_sound(&self) -> bool {
        let finite = |x: &Inputs| x.iter().all(|x| x.is_finite());
        self.rows.iter().all(finite) && finite(&self.weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type V = rueful_machine::Array<f32, 8>;

    #[test]
    fn it_begins_with_the_mean_and_finds_the_one_that_is_right() {
        let mut mixer = Mixer::new();
        let said = |t: usize| {
            let lanes = Eight::of(|k| ((t * (k + 2)) % 7) as f32 - 3.0);
            (lanes, inputs(lanes, [0.0; FILTERS]))
        };
        let (lanes, first) = said(3);
        let mean = lanes.0.iter().sum::<f32>() / MIXED as f32;
        assert!((mixer.see::<V>(&first).glance.mean - mean).abs() < 1e-6);
        for t in 0..4000 {
            let (lanes, inputs) = said(t);
            let seen = mixer.see::<V>(&inputs);
            let slope = (lanes.0[5] - seen.glance.mean) / (1.0 + seen.glance.variance);
            mixer.learn::<V>(slope, 1.0, &seen);
        }
        let (lanes, inputs) = said(11);
        assert!((mixer.see::<V>(&inputs).glance.mean - lanes.0[5]).abs() < 1e-2);
        assert!(mixer.is_sound());
    }

    #[test]
    fn weights_of_those_who_retire_are_shared() {
        let mut mixer = Mixer::new();
        mixer.retire(LANES);
        assert!((mixer.weights().iter().sum::<f32>() - 1.0).abs() < 1e-6);
        assert_eq!(mixer.weights()[LANES..], [0.0; FILTERS]);
    }
}
