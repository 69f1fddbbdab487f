//! The basic loops: sparse dot product, sparse addition, clipping, norm.
//!
//! Several independent accumulators hide the latency of floating-point addition. The order of the
//! additions is fixed, so the results are the same on every run. Rows without gaps, as in dense
//! data, take loops without indices that the compiler can vectorise. They make the same additions
//! in the same order.

use crate::features::Features;
use crate::norms;

/// How many sums run side by side.
const LANES: usize = 8;

/// Σ_i v_i x_i
#[inline(always)] // It is called in the loop over rows.
pub(crate) fn dot(v: &[f64], x: &Features<'_>) -> f64 {
    match x.run() {
        Some(run) => dot_dense(&v[run], x.values()),
        None => dot_sparse(v, x),
    }
}

#[inline(always)] // It is called in the loop over rows.
fn dot_sparse(v: &[f64], x: &Features<'_>) -> f64 {
    let (index_rows, index_rest) = x.indices().as_chunks::<LANES>();
    let (value_rows, value_rest) = x.values().as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for (i, value) in index_rows.iter().zip(value_rows) {
        for lane in 0..LANES {
            lanes[lane] += v[i[lane] as usize] * f64::from(value[lane]);
        }
    }
    let (index_halves, index_rest) = index_rest.as_chunks::<{ LANES / 2 }>();
    let (value_halves, value_rest) = value_rest.as_chunks::<{ LANES / 2 }>();
    for (i, value) in index_halves.iter().zip(value_halves) {
        for lane in 0..LANES / 2 {
            lanes[lane] += v[i[lane] as usize] * f64::from(value[lane]);
        }
    }
    let mut rest = 0.0;
    for (&i, &value) in index_rest.iter().zip(value_rest) {
        rest += v[i as usize] * f64::from(value);
    }
    total(lanes) + rest
}

/// `dot_sparse` for a row without gaps: the same sum in the same order.
#[inline(always)] // It is called in the loop over rows.
fn dot_dense(v: &[f64], x: &[f32]) -> f64 {
    let (v_rows, v_rest) = v.as_chunks::<LANES>();
    let (x_rows, x_rest) = x.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for (v, x) in v_rows.iter().zip(x_rows) {
        for lane in 0..LANES {
            lanes[lane] += v[lane] * f64::from(x[lane]);
        }
    }
    let (v_halves, v_rest) = v_rest.as_chunks::<{ LANES / 2 }>();
    let (x_halves, x_rest) = x_rest.as_chunks::<{ LANES / 2 }>();
    for (v, x) in v_halves.iter().zip(x_halves) {
        for lane in 0..LANES / 2 {
            lanes[lane] += v[lane] * f64::from(x[lane]);
        }
    }
    let mut rest = 0.0;
    for (v, &x) in v_rest.iter().zip(x_rest) {
        rest += v * f64::from(x);
    }
    total(lanes) + rest
}

/// The sum of the lanes. The halves are added first, as wide registers do it.
#[inline]
fn total(lanes: [f64; LANES]) -> f64 {
    let quarter = |lane: usize| lanes[lane] + lanes[lane + LANES / 2];
    (quarter(0) + quarter(2)) + (quarter(1) + quarter(3))
}

/// v ← v + k x
#[inline(always)] // It is called in the loop over rows.
pub(crate) fn add(v: &mut [f64], k: f64, x: &Features<'_>) {
    if let Some(run) = x.run() {
        for (v, &value) in v[run].iter_mut().zip(x.values()) {
            *v += k * f64::from(value);
        }
    } else {
        // One by one, most of the work would be that of the loop.
        let (index_rows, index_rest) = x.indices().as_chunks::<4>();
        let (value_rows, value_rest) = x.values().as_chunks::<4>();
        for (i, value) in index_rows.iter().zip(value_rows) {
            for lane in 0..4 {
                v[i[lane] as usize] += k * f64::from(value[lane]);
            }
        }
        for (&i, &value) in index_rest.iter().zip(value_rest) {
            v[i as usize] += k * f64::from(value);
        }
    }
}

/// Σ_i f(i, v_i) x_i and Σ_i v_i x_i
#[inline]
pub(crate) fn dots(v: &[f64], x: &Features<'_>, f: impl Fn(usize, f64) -> f64) -> (f64, f64) {
    let (x_quads, x_rest) = x.values().as_chunks::<4>();
    let mut both = [[0.0; 4]; 2];
    let mut add = |lane: usize, i: usize, v: f64, x: f32| {
        both[0][lane] += f(i, v) * f64::from(x);
        both[1][lane] += v * f64::from(x);
    };
    if let Some(run) = x.run() {
        let start = run.start;
        let (v_quads, v_rest) = v[run].as_chunks::<4>();
        for (quad, (v, x)) in v_quads.iter().zip(x_quads).enumerate() {
            (0..4).for_each(|lane| add(lane, start + 4 * quad + lane, v[lane], x[lane]));
        }
        for (lane, (&v, &x)) in v_rest.iter().zip(x_rest).enumerate() {
            add(lane, start + 4 * x_quads.len() + lane, v, x);
        }
    } else {
        let (i_quads, i_rest) = x.indices().as_chunks::<4>();
        for (i, x) in i_quads.iter().zip(x_quads) {
            (0..4).for_each(|lane| add(lane, i[lane] as usize, v[i[lane] as usize], x[lane]));
        }
        for (lane, (&i, &x)) in i_rest.iter().zip(x_rest).enumerate() {
            add(lane, i as usize, v[i as usize], x);
        }
    }
    let [mapped, plain] = both.map(|lanes| (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]));
    (mapped, plain)
}

/// Clips the entries of w = c·v that belong to x, each to its interval around 0. Returns by how
/// much this lessened ‖w‖².
#[inline]
pub(crate) fn clip(
    v: &mut [f64],
    c: f64,
    x: &Features<'_>,
    interval: impl Fn(usize) -> (f64, f64),
) -> f64 {
    let inverse = 1.0 / c;
    let clip = |i: usize, v: &mut f64| {
        let (lower, upper) = interval(i);
        let old = c * *v;
        let new = old.clamp(lower, upper);
        // An entry that needs no clipping stays the same to the bit.
        *v = if new == old { *v } else { new * inverse };
        (old - new) * (old + new)
    };
    // There are four sums, with gaps and without: the same additions in the same order.
    let mut lanes = [0.0; 4];
    if let Some(run) = x.run() {
        let start = run.start;
        let (quads, rest) = v[run].as_chunks_mut::<4>();
        let quads_end = start + 4 * quads.len();
        for (quad, v) in quads.iter_mut().enumerate() {
            for lane in 0..4 {
                lanes[lane] += clip(start + 4 * quad + lane, &mut v[lane]);
            }
        }
        for (lane, v) in rest.iter_mut().enumerate() {
            lanes[lane] += clip(quads_end + lane, v);
        }
    } else {
        for indices in x.indices().chunks(4) {
            for (lane, &i) in indices.iter().enumerate() {
                lanes[lane] += clip(i as usize, &mut v[i as usize]);
            }
        }
    }
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
}

/// ‖v‖, with only a few roundings. It does not depend on the order of the numbers, and their squares
/// may be beyond the range of doubles.
pub(crate) fn norm(v: impl Iterator<Item = f64>) -> f64 {
    norms::norm(&v.collect::<Vec<_>>())
}

/// ‖x‖² of stored values.
#[inline]
pub(crate) fn values_norm_sq(values: &[f32]) -> f64 {
    add_squares(0.0, values)
}

/// Adds the squares of values to a sum, one after the other.
#[inline]
pub(crate) fn add_squares(sum: f64, values: &[f32]) -> f64 {
    values.iter().fold(sum, |sum, &value| sum + f64::from(value) * f64::from(value))
}

/// Appends zeros to v until it has `dimension` entries.
#[inline]
pub(crate) fn grow(v: &mut Vec<f64>, dimension: usize) {
    if dimension > v.len() {
        v.resize(dimension, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows with and without gaps of every length up to 20, and a vector for them.
    fn rows() -> impl Iterator<Item = (Vec<u32>, Vec<f32>, Vec<f64>)> {
        (0..20_u32).flat_map(|len| {
            [1, 2].map(|stride| {
                let indices = (0..len).map(|i| 3 + stride * i).collect();
                let values = (0..len).map(|i| 0.1 + 0.37 * i as f32).collect();
                let v = (0..50).map(|i| (f64::from(i) * 0.77).sin()).collect();
                (indices, values, v)
            })
        })
    }

    /// A different interval for every coordinate.
    fn interval(i: usize) -> (f64, f64) {
        (-0.01 * i as f64, 0.3)
    }

    #[test]
    fn two_dot_products_at_once_are_those_one_by_one() {
        for (indices, values, v) in rows() {
            let x = Features::new(&indices, &values).unwrap();
            let f = |i: usize, v: f64| v.abs() + i as f64;
            let (mapped, plain) = dots(&v, &x, f);
            let [slow_mapped, slow_plain]: [f64; 2] = [
                x.iter().map(|(i, x)| f(i, v[i]) * x).sum(),
                x.iter().map(|(i, x)| v[i] * x).sum(),
            ];
            assert!((mapped - slow_mapped).abs() <= 1e-14 * slow_mapped.abs());
            assert!((plain - slow_plain).abs() <= 1e-13);
        }
    }

    #[test]
    fn clipping_is_clipping_one_by_one() {
        for (indices, values, v) in rows() {
            let x = Features::new(&indices, &values).unwrap();
            let (c, mut clipped) = (0.7, v.clone());
            let gone = clip(&mut clipped, c, &x, interval);
            let mut slow_gone = 0.0;
            for (i, (&v, &found)) in v.iter().zip(&clipped).enumerate() {
                let (lower, upper) = interval(i);
                let touched = indices.contains(&(i as u32));
                let w = if touched { (c * v).clamp(lower, upper) } else { c * v };
                assert!((c * found - w).abs() <= 1e-15, "{i}: {found}");
                assert!(w != c * v || found == v, "{i} needed no clipping");
                slow_gone += c * v * c * v - w * w;
            }
            assert!((gone - slow_gone).abs() <= 1e-14, "{gone} {slow_gone}");
        }
    }

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
