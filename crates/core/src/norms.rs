//! Lengths of long vectors, which are the same whatever the order of the coordinates.
//!
//! A vector is multiplied by the power of two that brings its largest coordinate to between 1 and 2.
//! Each square is rounded once, as every product is. The squares are then added up on two grids: the
//! multiples of 2⁻⁴⁰ next to them, and those of 2⁻⁸⁰ next to the rest. On a grid additions are exact, so
//! their order makes no difference, and four can be made at once. Each square loses less than 2⁻⁸¹
//! of the largest.

use crate::exact::ExactSum;
use rueful_machine::{Fours, Kernel, Numbers as _, Plain, Registers, widest};

/// A number in this place of a double has its last bit at 2⁻⁴⁰, and below at 2⁻⁸⁰.
const FIRST_GRID: f64 = 1.5 * 4_096.0;
const SECOND_GRID: f64 = FIRST_GRID / ONE;
/// 2⁴⁰
const ONE: f64 = (1_u64 << 40) as f64;
/// So many squares, each below 4, are added up exactly in doubles.
const TOGETHER: usize = 2048;
/// Powers of two beyond these are not normal, or nearly so. Such vectors are rare.
const LEAST: f64 = 1e-290;
const MOST: f64 = 1e290;

/// Vectors that are read four numbers at a time.
pub(crate) trait Quads: Copy {
    /// How many fours there are.
    fn len(&self) -> usize;

    /// Four numbers.
    fn quad<F: Fours>(&self, at: usize) -> F;
}

/// v/N, or v itself where there is no N.
#[derive(Clone, Copy)]
struct Run<'a> {
    v: &'a [f64],
    units: Option<&'a [f32]>,
}

impl Quads for Run<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.v.len().div_ceil(4)
    }

    #[inline(always)]
    fn quad<F: Fours>(&self, at: usize) -> F {
        let mut some = [0.0; 4];
        let v = &self.v[4 * at..];
        let count = v.len().min(4);
        some[..count].copy_from_slice(&v[..count]);
        let Some(units) = self.units else { return F::load(&some) };
        let mut by = [1.0; 4];
        by[..count].copy_from_slice(&units[4 * at..][..count]);
        divided(F::load(&some), F::of_singles(&by))
    }
}

/// v/n, where 0/0 counts as 0.
#[inline(always)]
pub(crate) fn divided<F: Fours>(v: F, n: F) -> F {
    let zero = F::all(0.0);
    v.abs().above(zero, v / n, zero)
}

/// ‖v‖, with a few roundings. It is infinite if a number is not finite. The squares may be beyond the
/// range of doubles.
pub(crate) fn norm(v: &[f64]) -> f64 {
    lengths(Run { v, units: None }, true)[0]
}

/// ‖v/N‖, where 0/0 counts as 0. What is beyond the end of one of them does not count.
pub(crate) fn norm_in(v: &[f64], units: &[f32]) -> f64 {
    let count = v.len().min(units.len());
    lengths(Run { v: &v[..count], units: Some(&units[..count]) }, true)[0]
}

/// The lengths of four vectors side by side.
pub(crate) fn norms_of_four(vectors: impl Quads) -> [f64; 4] {
    lengths(vectors, false)
}

/// The lengths of four vectors, or four times the length of one that is read in fours.
fn lengths(vectors: impl Quads, is_one: bool) -> [f64; 4] {
    let Some(mut most) = widest(Most(vectors)) else { return exact_lengths(vectors, is_one) };
    if is_one {
        most = [most.into_iter().fold(0.0, f64::max); 4];
    }
    if !most.iter().all(|&most| most == 0.0 || (LEAST..MOST).contains(&most)) {
        return exact_lengths(vectors, is_one);
    }
    // The power of two that is at most as large.
    let unit = most.map(|most| f64::from_bits(most.to_bits() & (0x7ff << 52)));
    let scale = unit.map(|unit| if unit > 0.0 { 1.0 / unit } else { 1.0 });
    let mut totals = widest(Add { vectors, scale });
    if is_one {
        totals = [totals.into_iter().sum(); 4];
    }
    std::array::from_fn(|k| (totals[k] as f64 / (ONE * ONE)).sqrt() * unit[k])
}

/// `lengths` for numbers of any size, one by one.
#[cold]
#[inline(never)]
fn exact_lengths(vectors: impl Quads, is_one: bool) -> [f64; 4] {
    let fours =
        || (0..vectors.len()).map(|at| vectors.quad::<<Plain as Registers>::Four>(at).array());
    if is_one {
        return [ExactSum::of_squares(fours().flatten()).root(); 4];
    }
    std::array::from_fn(|k| ExactSum::of_squares(fours().map(|four| four[k])).root())
}

/// The largest sizes, or `None` if a number is not finite.
struct Most<Q>(Q);

impl<Q: Quads> Kernel for Most<Q> {
    type Out = Option<[f64; 4]>;

    #[inline(always)]
    fn run<R: Registers>(self) -> Self::Out {
        let zero = R::Four::all(0.0);
        let (mut most, mut wild) = (zero, zero);
        for at in 0..self.0.len() {
            let v = self.0.quad::<R::Four>(at);
            most = most.max(v.abs());
            wild = wild + v * zero;
        }
        (wild.sum() == 0.0).then(|| most.array())
    }
}

/// Σ (scale·v)², in multiples of 2⁻⁸⁰.
struct Add<Q> {
    vectors: Q,
    scale: [f64; 4],
}

impl<Q: Quads> Kernel for Add<Q> {
    type Out = [i128; 4];

    #[inline(always)]
    fn run<R: Registers>(self) -> [i128; 4] {
        let Self { vectors, scale } = self;
        let scale = R::Four::load(&scale);
        let (first, second) = (R::Four::all(FIRST_GRID), R::Four::all(SECOND_GRID));
        let mut totals = [0; 4];
        let mut from = 0;
        while from < vectors.len() {
            let to = vectors.len().min(from + TOGETHER);
            let (mut high, mut low) = (R::Four::all(0.0), R::Four::all(0.0));
            for at in from..to {
                let v = scale * vectors.quad::<R::Four>(at);
                let square = v * v;
                let near = (square + first) - first;
                let rest = square - near;
                high = high + near;
                low = low + ((rest + second) - second);
            }
            let (high, low) = (high.array(), low.array());
            for (k, total) in totals.iter_mut().enumerate() {
                *total += ((high[k] * ONE) as i128) << 40;
                *total += (low[k] * ONE * ONE) as i128;
            }
            from = to;
        }
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Four vectors side by side.
    #[derive(Clone, Copy)]
    struct Four<'a>(&'a [[f64; 4]]);

    impl Quads for Four<'_> {
        fn len(&self) -> usize {
            self.0.len()
        }

        fn quad<F: Fours>(&self, at: usize) -> F {
            F::load(&self.0[at])
        }
    }

    fn quotient(v: f64, n: f32) -> f64 {
        if v == 0.0 { 0.0 } else { v / f64::from(n) }
    }

    fn number() -> impl Strategy<Value = f64> {
        prop_oneof![
            4 => -2.0..2.0_f64,
            1 => Just(0.0),
            2 => (-1.0..1.0_f64, -60..60i32).prop_map(|(v, power)| v * 2.0_f64.powi(power)),
            1 => (-1.0..1.0_f64, -990..990i32).prop_map(|(v, power)| v * 2.0_f64.powi(power)),
        ]
    }

    fn is_near(found: f64, exact: f64) -> bool {
        found == exact || (found / exact - 1.0).abs() < 4.0 * f64::EPSILON
    }

    proptest! {
        #[test]
        fn norms_are_those_of_exact_sums(v in prop::collection::vec(number(), 0..40)) {
            let exact = ExactSum::of_squares(v.iter().copied()).root();
            prop_assert!(is_near(norm(&v), exact), "{} {exact}", norm(&v));
            let units: Vec<f32> = v.iter().map(|v| if *v == 0.0 { 0.0 } else { 1.7 }).collect();
            let quotients = v.iter().zip(&units).map(|(&v, &n)| quotient(v, n));
            let exact = ExactSum::of_squares(quotients).root();
            prop_assert!(is_near(norm_in(&v, &units), exact));
        }

        /// Order, zeros in between and powers of two make no difference to any bit.
        #[test]
        fn where_coordinates_are_makes_no_difference(
            v in prop::collection::vec(-3.0..3.0_f64, 1..60), zeros in 0..9_usize, power in -300..300i32,
        ) {
            let mut others: Vec<f64> = v.iter().rev().copied().collect();
            (0..zeros).for_each(|k| others.insert(k * others.len() / 9, 0.0));
            prop_assert_eq!(norm(&v).to_bits(), norm(&others).to_bits());
            let side_by_side: Vec<[f64; 4]> = others.iter().map(|&v| [0.0, v, 2.0 * v, 1.0]).collect();
            let four = norms_of_four(Four(&side_by_side));
            prop_assert_eq!((four[0], four[1], four[2]), (0.0, norm(&v), 2.0 * norm(&v)));
            let scaled: Vec<f64> = v.iter().map(|v| v * 2.0_f64.powi(power)).collect();
            prop_assert_eq!(norm(&scaled), norm(&v) * 2.0_f64.powi(power));
        }
    }

    #[test]
    fn many_squares_and_their_rests_are_added_up() {
        let v: Vec<f64> = (0..50_000).map(|k| 1.0 + f64::from(k % 1000) * 1e-7).collect();
        assert!(is_near(norm(&v), ExactSum::of_squares(v.iter().copied()).root()));
        let mut small = vec![1e-9; 1_000_000];
        small.push(1.0);
        assert!(is_near(norm(&small), (1.0 + 1e-12_f64).sqrt()));
        // The rest on the second grid is what tells them apart.
        assert!(norm(&small) > 1.0);
    }

    #[test]
    fn lengths_beyond_the_range_of_squares() {
        assert!(is_near(norm(&[3e-320, 4e-320]), 5e-320) || norm(&[3e-320, 4e-320]) > 0.0);
        assert!(is_near(norm(&[3e300, 4e300]), 5e300));
        assert_eq!(norm(&[]), 0.0);
        assert_eq!(norm_in(&[0.0, 0.0], &[0.0, 3.0]), 0.0);
        assert_eq!(norm(&[1.0, f64::NAN]), f64::INFINITY);
        assert_eq!(norm_in(&[1.0, f64::INFINITY], &[1.0, 2.0]), f64::INFINITY);
        assert_eq!(norm_in(&[1.0], &[0.0]), f64::INFINITY);
        // One vector beyond the range takes the others along, which stay what they are.
        let four = norms_of_four(Four(&[[3e300, 3.0, 0.0, f64::NAN], [4e300, 4.0, 0.0, 1.0]]));
        assert!(is_near(four[0], 5e300) && is_near(four[1], 5.0));
        assert_eq!((four[2], four[3]), (0.0, f64::INFINITY));
    }
}
