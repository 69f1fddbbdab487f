//! The floor: online gradient descent with nothing around it.
//!
//! There is no projection, no norm, no step size except η/√t, no record of the rounds, and no
//! ledger. So the additional time of the learners is the time of their additional work.

use crate::generate::Data;
use rueful_core::{Batch, Features};

/// A loop over rows that learns.
pub(crate) trait Bare {
    /// Plays a round for every row.
    fn learn_batch(&mut self, batch: &Batch);

    /// The number of wrong signs so far.
    fn mistakes(&self) -> u64;
}

/// The hinge loss with double weights.
pub(crate) fn hinge(data: &Data) -> Box<dyn Bare> {
    Doubles::boxed(data, |prediction, label| (label * prediction <= 1.0).then_some(-label))
}

/// The square loss, which takes a step in every round. Its steps are short, because its slopes have
/// no bound.
pub(crate) fn square(data: &Data) -> Box<dyn Bare> {
    Doubles::boxed(data, |prediction, label| Some(0.2 * (prediction - label)))
}

/// The logistic loss, which costs an exponential in every round.
pub(crate) fn logistic(data: &Data) -> Box<dyn Bare> {
    Doubles::boxed(data, |prediction, label| Some(-label / (1.0 + (label * prediction).exp())))
}

/// The hinge loss with single weights, for comparison: half the memory and half the digits.
pub(crate) fn hinge_in_singles(data: &Data) -> Box<dyn Bare> {
    let weights = vec![0.0; data.dimension()];
    Box::new(Singles { weights, eta: data.eta() as f32, rounds: 0.0, mistakes: 0 })
}

struct Doubles<F> {
    weights: Vec<f64>,
    /// The slope at a prediction, where a step is due.
    slope: F,
    eta: f64,
    rounds: f64,
    mistakes: u64,
}

impl<F: Fn(f64, f64) -> Option<f64> + 'static> Doubles<F> {
    fn boxed(data: &Data, slope: F) -> Box<dyn Bare> {
        let weights = vec![0.0; data.dimension()];
        Box::new(Self { weights, slope, eta: data.eta(), rounds: 0.0, mistakes: 0 })
    }
}

impl<F: Fn(f64, f64) -> Option<f64>> Bare for Doubles<F> {
    fn learn_batch(&mut self, batch: &Batch) {
        let weights = &mut self.weights[..];
        for row in batch.iter() {
            self.rounds += 1.0;
            let prediction = dot(weights, &row.features);
            if let Some(slope) = (self.slope)(prediction, row.label) {
                let step = -self.eta * slope / self.rounds.sqrt();
                for (&i, &x) in row.features.indices().iter().zip(row.features.values()) {
                    weights[i as usize] += step * f64::from(x);
                }
            }
            self.mistakes += u64::from(prediction * row.label <= 0.0);
        }
    }

    fn mistakes(&self) -> u64 {
        self.mistakes
    }
}

#[inline(always)]
fn dot(weights: &[f64], x: &Features<'_>) -> f64 {
    let (index_quads, indices) = x.indices().as_chunks::<4>();
    let (value_quads, values) = x.values().as_chunks::<4>();
    let mut lanes = [0.0; 4];
    for (i, x) in index_quads.iter().zip(value_quads) {
        for lane in 0..4 {
            lanes[lane] += weights[i[lane] as usize] * f64::from(x[lane]);
        }
    }
    let rest: f64 =
        indices.iter().zip(values).map(|(&i, &x)| weights[i as usize] * f64::from(x)).sum();
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) + rest
}

struct Singles {
    weights: Vec<f32>,
    eta: f32,
    rounds: f32,
    mistakes: u64,
}

impl Bare for Singles {
    fn learn_batch(&mut self, batch: &Batch) {
        let weights = &mut self.weights[..];
        for row in batch.iter() {
            self.rounds += 1.0;
            let label = row.label as f32;
            let prediction = dot_in_singles(weights, &row.features);
            if label * prediction <= 1.0 {
                let step = self.eta * label / self.rounds.sqrt();
                for (&i, &x) in row.features.indices().iter().zip(row.features.values()) {
                    weights[i as usize] += step * x;
                }
            }
            self.mistakes += u64::from(prediction * label <= 0.0);
        }
    }

    fn mistakes(&self) -> u64 {
        self.mistakes
    }
}

#[inline(always)]
fn dot_in_singles(weights: &[f32], x: &Features<'_>) -> f32 {
    let (index_quads, indices) = x.indices().as_chunks::<4>();
    let (value_quads, values) = x.values().as_chunks::<4>();
    let mut lanes = [0.0; 4];
    for (i, x) in index_quads.iter().zip(value_quads) {
        for lane in 0..4 {
            lanes[lane] += weights[i[lane] as usize] * x[lane];
        }
    }
    let rest: f32 = indices.iter().zip(values).map(|(&i, &x)| weights[i as usize] * x).sum();
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) + rest
}
