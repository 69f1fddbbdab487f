//! The three loops everything else is made of: sparse dot product, sparse addition, norm.
//!
//! Four independent accumulators hide the latency of floating-point addition. The order of the
//! additions is fixed, so the results are the same on every run. Rows without gaps, as dense data
//! has, take loops without indices that the compiler can vectorise: same additions, same order.

use crate::features::Features;
use crate::sum::Sum;

/// Σ_i v_i x_i
#[inline]
pub(crate) fn dot(v: &[f64], x: &Features<'_>) -> f64 {
    match x.run() {
        Some(run) => dot_dense(&v[run], x.values()),
        None => dot_sparse(v, x),
    }
}

#[inline]
fn dot_sparse(v: &[f64], x: &Features<'_>) -> f64 {
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

/// The same sum in the same order, for a row without gaps.
#[inline]
fn dot_dense(v: &[f64], x: &[f32]) -> f64 {
    let (v_quads, v_rest) = v.as_chunks::<4>();
    let (x_quads, x_rest) = x.as_chunks::<4>();
    let mut lanes = [0.0; 4];
    for (v, x) in v_quads.iter().zip(x_quads) {
        for lane in 0..4 {
            lanes[lane] += v[lane] * f64::from(x[lane]);
        }
    }
    let mut rest = 0.0;
    for (v, &x) in v_rest.iter().zip(x_rest) {
        rest += v * f64::from(x);
    }
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) + rest
}

/// v ← v + k x
#[inline]
pub(crate) fn add(v: &mut [f64], k: f64, x: &Features<'_>) {
    if let Some(run) = x.run() {
        for (v, &value) in v[run].iter_mut().zip(x.values()) {
            *v += k * f64::from(value);
        }
    } else {
        for (&i, &value) in x.indices().iter().zip(x.values()) {
            v[i as usize] += k * f64::from(value);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_with_and_without_gaps_add_in_the_same_order() {
        for len in 1..13_u32 {
            let values: Vec<f32> = (0..len).map(|i| 0.1 + 0.37 * i as f32).collect();
            let dense: Vec<u32> = (3..3 + len).collect();
            let v: Vec<f64> = (0..40).map(|i| (f64::from(i) * 0.77).sin()).collect();
            let x = Features::new(&dense, &values).unwrap();
            assert_eq!(dot(&v, &x).to_bits(), dot_sparse(&v, &x).to_bits());
            let spread: Vec<u32> = (0..len).map(|i| 2 * i).collect();
            let gaps = Features::new(&spread, &values).unwrap();
            let (mut a, mut b) = (v.clone(), vec![0.0; 40]);
            for (i, &index) in dense.iter().enumerate() {
                b[2 * i] = v[index as usize];
            }
            add(&mut a, 0.3, &x);
            add(&mut b, 0.3, &gaps);
            for (i, &index) in dense.iter().enumerate() {
                assert_eq!(a[index as usize].to_bits(), b[2 * i].to_bits());
            }
        }
    }
}
