//! Loops over many rows at once: what must be known of rows before they are learned from. They are
//! compiled for wide registers, and have no branch that depends on the features.

use crate::vector::{add_squares, values_norm_sq};
use rueful_machine::{Fours, Kernel, Numbers, Registers, widest};

/// The number of comparisons that are counted in one narrow integer.
const STRETCH: usize = 1 << 15;

/// Appends ‖x‖² of every row. Each is the sum that adds one square after the other.
pub(crate) fn extend_norms_sq<'a>(
    norms_sq: &mut Vec<f64>,
    rows: impl ExactSizeIterator<Item = &'a [f32]>,
) {
    widest(Norms { norms_sq, rows });
}

/// Whether a value is 0.
pub(crate) fn has_zeros(values: &[f32]) -> bool {
    widest(Zeros(values))
}

/// How many indices are not above the index before them.
pub(crate) fn descents(indices: &[u32]) -> u64 {
    widest(Descents(indices))
}

/// Whether no value is 0 and indices increase within every row.
pub(crate) fn are_rows(lengths: &[u32], indices: &[u32], values: &[f32]) -> bool {
    !has_zeros(values) && descents(indices) == descents_between(lengths, indices)
}

/// How many descents lie at the boundaries between rows. These are allowed.
fn descents_between(lengths: &[u32], indices: &[u32]) -> u64 {
    let mut end = 0;
    let mut count = 0;
    for &length in lengths.iter().filter(|&&length| length > 0) {
        end += length as usize;
        count += u64::from(end < indices.len() && indices[end - 1] >= indices[end]);
    }
    count
}

/// Adds up squares. Each addition to a sum waits for the one before, so that four rows are added up
/// side by side.
struct Norms<'a, I> {
    norms_sq: &'a mut Vec<f64>,
    rows: I,
}

impl<'r, I: ExactSizeIterator<Item = &'r [f32]>> Kernel for Norms<'_, I> {
    type Out = ();

    #[inline(always)]
    fn run<R: Registers>(self) {
        let Self { norms_sq, mut rows } = self;
        norms_sq.reserve(rows.len());
        for _ in 0..rows.len() / 4 {
            let four = std::array::from_fn(|_| rows.next().unwrap_or_default());
            norms_sq.extend_from_slice(&norms_sq_of_four::<R>(four));
        }
        norms_sq.extend(rows.map(values_norm_sq));
    }
}

#[inline(always)] // It is compiled for wide registers.
fn norms_sq_of_four<R: Registers>(rows: [&[f32]; 4]) -> [f64; 4] {
    let common = rows.iter().map(|row| row.len()).min().unwrap_or(0);
    let [a, b, c, d] = rows.map(|row| row[..common].as_chunks::<4>());
    let mut sums = R::Four::all(0.0);
    for (((a, b), c), d) in a.0.iter().zip(b.0).zip(c.0).zip(d.0) {
        let rows = [a, b, c, d].map(R::Four::of_singles);
        for column in R::Four::transposed(rows.map(|row| row * row)) {
            sums = sums + column;
        }
    }
    for (((&a, &b), &c), &d) in a.1.iter().zip(b.1).zip(c.1).zip(d.1) {
        let column = R::Four::of_singles(&[a, b, c, d]);
        sums = sums + column * column;
    }
    let sums = sums.array();
    std::array::from_fn(|row| add_squares(sums[row], &rows[row][common..]))
}

/// Looks for zeros.
struct Zeros<'a>(&'a [f32]);

impl Kernel for Zeros<'_> {
    type Out = bool;

    #[inline(always)]
    fn run<R: Registers>(self) -> bool {
        self.0.iter().fold(0, |zeros, &value| zeros | u32::from(value == 0.0)) != 0
    }
}

/// Counts indices that are not above the index before them.
struct Descents<'a>(&'a [u32]);

impl Kernel for Descents<'_> {
    type Out = u64;

    #[inline(always)]
    fn run<R: Registers>(self) -> u64 {
        let nexts = self.0.get(1..).unwrap_or_default();
        let mut descents = 0;
        for (indices, nexts) in self.0.chunks(STRETCH).zip(nexts.chunks(STRETCH)) {
            let pairs = indices.iter().zip(nexts);
            let count = pairs.fold(0, |count, (index, next)| count + u32::from(index >= next));
            descents += u64::from(count);
        }
        descents
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rueful_machine::plainly;

    #[test]
    fn norms_of_many_rows_are_those_of_single_ones() {
        for lengths in [[0; 9], [1; 9], [28; 9], [29; 9], [5, 0, 7, 90, 4, 8, 8, 8, 9]] {
            let rows: Vec<Vec<f32>> = (0..9_u32)
                .map(|row| {
                    (0..lengths[row as usize]).map(|i| ((row + 7 * i) as f32).sin()).collect()
                })
                .collect();
            let slices = || rows.iter().map(|row| &row[..]);
            let singly: Vec<f64> = slices().map(values_norm_sq).collect();
            let (mut wide, mut plain) = (vec![], vec![]);
            extend_norms_sq(&mut wide, slices());
            plainly(Norms { norms_sq: &mut plain, rows: slices() });
            assert_eq!((&wide, &plain), (&singly, &singly), "{lengths:?}");
        }
    }

    #[test]
    fn zeros_and_descents_are_found_anywhere() {
        for len in [1, 2, 8, 9, 31, 40, STRETCH + 3] {
            let values = vec![1.5_f32; len];
            let indices: Vec<u32> = (0..len as u32).collect();
            assert!(!has_zeros(&values) && descents(&indices) == 0);
            for place in [0, len / 2, len - 1] {
                let mut values = values.clone();
                values[place] = -0.0;
                assert!(has_zeros(&values), "{place} of {len}");
                let mut indices = indices.clone();
                indices[place] = indices[place.saturating_sub(1)];
                assert_eq!(descents(&indices), u64::from(place > 0), "{place} of {len}");
            }
        }
    }
}
