//! The three loops everything else is made of: sparse dot product, sparse addition, norm.
//!
//! Four independent accumulators hide the latency of floating-point addition. The order of the
//! additions is fixed, so the results are the same on every run.

use crate::features::Features;
use crate::sum::Sum;

/// Σ_i v_i x_i
#[inline]
pub(crate) fn dot(v: &[f64], x: &Features<'_>) -> f64 {
    let (index_quads, index_rest) = x.indices().as_chunks::<4>();
    let (value_quads, value_rest) = x.values().as_chunks::<4>();
    let mut lanes = [0.0; 4];
    for (i, value) in index_quads.iter().zip(value_quads) {
        for lane in 0..4 {
            lanes[lane] += v[i[lane] as usize] * f64::from(value[lane]);
        }
    }
    let mut rest = 0.0;
    for (&i, &value) in index_rest.iter().zip(value_rest) {
        rest += v[i as usize] * f64::from(value);
    }
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) + rest
}

/// v ← v + k x
#[inline]
pub(crate) fn add(v: &mut [f64], k: f64, x: &Features<'_>) {
    for (&i, &value) in x.indices().iter().zip(x.values()) {
        v[i as usize] += k * f64::from(value);
    }
}

/// How far off, relatively, [`norm_sq`] can be: a block's worth of roundings.
pub(crate) const NORM_GRAIN: f64 = 300.0 * f64::EPSILON;

/// Σ_i v_i², added up in blocks so that the error does not grow with the dimension.
pub(crate) fn norm_sq(mut v: impl Iterator<Item = f64>) -> f64 {
    let mut total = Sum::default();
    loop {
        let mut lanes = [0.0; 4];
        let mut seen = 0;
        for entry in v.by_ref().take(1024) {
            lanes[seen % 4] += entry * entry;
            seen += 1;
        }
        total.add((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]));
        if seen < 1024 {
            return total.value();
        }
    }
}

/// ‖x‖² of stored values
pub(crate) fn values_norm_sq(values: &[f32]) -> f64 {
    values.iter().map(|&x| f64::from(x) * f64::from(x)).sum()
}

/// Lengthens v with zeros so that it holds `dimension` entries.
#[inline]
pub(crate) fn grow(v: &mut Vec<f64>, dimension: usize) {
    if dimension > v.len() {
        v.resize(dimension, 0.0);
    }
}
