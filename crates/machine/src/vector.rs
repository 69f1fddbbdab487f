//! Registers that hold several numbers.
//!
//! [`Eights`] are eight singles and [`Fours`] are four doubles, on which an operation works at
//! once. There are two versions of each: plain arrays, for every processor, and the registers of
//! AVX2, for code that [`widest`](crate::widest) runs on processors that have them. Every operation
//! rounds as IEEE 754 says and nothing is fused, so both give the same bits.
#![allow(unsafe_code, reason = "instructions that not every processor has must be called unsafely")]

use std::ops::{Add, Div, Mul, Sub};

/// The registers that a kernel is compiled for.
pub trait Registers: Copy + 'static {
    /// Eight singles.
    type Eight: Eights;
    /// Four doubles.
    type Four: Fours;

    /// The same numbers as doubles.
    fn doubles(eight: Self::Eight) -> [Self::Four; 2];
}

/// The operations that both kinds of register have.
pub trait Numbers:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// The type of one number.
    type Number;
    /// The type of an array of all numbers.
    type Array;

    /// The same number in every place.
    fn all(number: Self::Number) -> Self;

    /// Loads the numbers of an array.
    fn load(from: &Self::Array) -> Self;

    /// Writes the numbers into an array.
    fn store(self, to: &mut Self::Array);

    /// The numbers as an array.
    fn array(self) -> Self::Array;

    /// The square roots of the numbers.
    #[must_use]
    fn sqrt(self) -> Self;

    /// The absolute values of the numbers.
    #[must_use]
    fn abs(self) -> Self;

    /// The larger of two numbers. It is the second if they are equal, or if one is NaN.
    #[must_use]
    fn max(self, other: Self) -> Self;

    /// The smaller of two numbers. It is the second if they are equal, or if one is NaN.
    #[must_use]
    fn min(self, other: Self) -> Self;

    /// `yes` where this is above `bound`, and `no` elsewhere.
    #[must_use]
    fn above(self, bound: Self, yes: Self, no: Self) -> Self;

    /// 2^n, where this is n + 1.5·2^23 for singles, n + 1.5·2^52 for doubles, and 2^n is normal.
    #[must_use]
    fn power_of_two(self) -> Self;

    /// The sum of all numbers, in an order that is the same for all registers.
    fn sum(self) -> Self::Number;
}

/// Eight singles.
pub trait Eights: Numbers<Number = f32, Array = [f32; 8]> {
    /// The same numbers, with another first number.
    #[must_use]
    fn with_first(self, first: Self) -> Self;

    /// The same numbers, with the first replaced by its square root.
    #[must_use]
    fn with_first_root(self) -> Self;
}

/// Four doubles.
pub trait Fours: Numbers<Number = f64, Array = [f64; 4]> {
    /// The same number in every place, from a single.
    fn all_of_single(number: f32) -> Self;

    /// Singles as doubles.
    fn of_singles(from: &[f32; 4]) -> Self;

    /// The numbers as the nearest singles.
    fn singles(self) -> [f32; 4];

    /// Rows as columns: the k-th numbers of all four, for every k.
    #[must_use]
    fn transposed(rows: [Self; 4]) -> [Self; 4];
}

/// The registers that every processor has.
#[derive(Debug, Clone, Copy)]
pub struct Plain;

/// Numbers in an array.
#[derive(Debug, Clone, Copy)]
pub struct Array<T, const N: usize>([T; N]);

impl Registers for Plain {
    type Eight = Array<f32, 8>;
    type Four = Array<f64, 4>;

    #[inline(always)]
    fn doubles(eight: Self::Eight) -> [Self::Four; 2] {
        let mut halves = [[0.0; 4]; 2];
        for k in 0..8 {
            halves[k / 4][k % 4] = eight.0[k].into();
        }
        halves.map(Array)
    }
}

/// Makes an array, one place after the other.
macro_rules! by_place {
    ($k:ident => $number:expr) => {{
        let mut array = [0.0; _];
        for ($k, place) in array.iter_mut().enumerate() {
            *place = $number;
        }
        Self(array)
    }};
}

macro_rules! plain_operator {
    ($number:ty, $count:literal, $operator:ident, $name:ident, $sign:tt) => {
        impl $operator for Array<$number, $count> {
            type Output = Self;

            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                by_place!(k => self.0[k] $sign other.0[k])
            }
        }
    };
}

macro_rules! plain_numbers {
    ($number:ty, $count:literal, $power:expr, $sum:expr) => {
        plain_operator!($number, $count, Add, add, +);
        plain_operator!($number, $count, Sub, sub, -);
        plain_operator!($number, $count, Mul, mul, *);
        plain_operator!($number, $count, Div, div, /);

        impl Numbers for Array<$number, $count> {
            type Number = $number;
            type Array = [$number; $count];

            #[inline(always)]
            fn all(number: $number) -> Self {
                Self([number; $count])
            }

            #[inline(always)]
            fn load(from: &[$number; $count]) -> Self {
                Self(*from)
            }

            #[inline(always)]
            fn store(self, to: &mut [$number; $count]) {
                *to = self.0;
            }

            #[inline(always)]
            fn array(self) -> [$number; $count] {
                self.0
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                by_place!(k => self.0[k].sqrt())
            }

            #[inline(always)]
            fn abs(self) -> Self {
                by_place!(k => self.0[k].abs())
            }

            #[inline(always)]
            fn max(self, other: Self) -> Self {
                self.above(other, self, other)
            }

            #[inline(always)]
            fn min(self, other: Self) -> Self {
                other.above(self, self, other)
            }

            #[inline(always)]
            fn above(self, bound: Self, yes: Self, no: Self) -> Self {
                by_place!(k => if self.0[k] > bound.0[k] { yes.0[k] } else { no.0[k] })
            }

            #[inline(always)]
            fn power_of_two(self) -> Self {
                Self(self.0.map($power))
            }

            #[inline(always)]
            fn sum(self) -> $number {
                let sum: fn([$number; $count]) -> $number = $sum;
                sum(self.0)
            }
        }
    };
}

/// The bits of 1.5·2^23 as a single, minus the bias of exponents; below the same for doubles.
const SINGLE_ORIGIN: u32 = 0x4B40_0000 - 127;
const DOUBLE_ORIGIN: u64 = 0x4338_0000_0000_0000 - 1023;

plain_numbers!(
    f32,
    8,
    |m: f32| f32::from_bits(m.to_bits().wrapping_sub(SINGLE_ORIGIN) << 23),
    |x| ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]))
);
plain_numbers!(
    f64,
    4,
    |m: f64| f64::from_bits(m.to_bits().wrapping_sub(DOUBLE_ORIGIN) << 52),
    |x| (x[0] + x[1]) + (x[2] + x[3])
);

impl Eights for Array<f32, 8> {
    #[inline(always)]
    fn with_first(mut self, first: Self) -> Self {
        self.0[0] = first.0[0];
        self
    }

    #[inline(always)]
    fn with_first_root(mut self) -> Self {
        self.0[0] = self.0[0].sqrt();
        self
    }
}

impl Fours for Array<f64, 4> {
    #[inline(always)]
    fn all_of_single(number: f32) -> Self {
        Self::all(number.into())
    }

    #[inline(always)]
    fn of_singles(from: &[f32; 4]) -> Self {
        Self(from.map(f64::from))
    }

    #[inline(always)]
    fn singles(self) -> [f32; 4] {
        self.0.map(|number| number as f32)
    }

    #[inline(always)]
    fn transposed(rows: [Self; 4]) -> [Self; 4] {
        std::array::from_fn(|k| Self(rows.map(|row| row.0[k])))
    }
}

/// The registers of AVX2.
///
/// Code that can name `Avx2`, or that is generic and was given it, runs behind `widest`, which has
/// checked that the processor has AVX2.
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2 {
    use super::{DOUBLE_ORIGIN, Eights, Fours, Numbers, Registers, SINGLE_ORIGIN};
    use std::arch::x86_64::*;
    use std::ops::{Add, Div, Mul, Sub};

    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Avx2;

    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Eight(__m256);

    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Four(__m256d);

    /// An instruction of AVX2, or of an older extension.
    macro_rules! instruct {
        ($($instruction:tt)*) => {
            // SAFETY: only `widest` names these registers, and it has checked for AVX2. Loads and
            // stores are of arrays that are as long as the register, with any alignment.
            unsafe { $($instruction)* }
        };
    }

    impl Registers for Avx2 {
        type Eight = Eight;
        type Four = Four;

        #[inline(always)]
        fn doubles(eight: Eight) -> [Four; 2] {
            instruct! {
                [
                    Four(_mm256_cvtps_pd(_mm256_castps256_ps128(eight.0))),
                    Four(_mm256_cvtps_pd(_mm256_extractf128_ps::<1>(eight.0))),
                ]
            }
        }
    }

    macro_rules! operator {
        ($register:ident, $operator:ident, $name:ident, $instruction:ident) => {
            impl $operator for $register {
                type Output = Self;

                #[inline(always)]
                fn $name(self, other: Self) -> Self {
                    instruct!(Self($instruction(self.0, other.0)))
                }
            }
        };
    }

    operator!(Eight, Add, add, _mm256_add_ps);
    operator!(Eight, Sub, sub, _mm256_sub_ps);
    operator!(Eight, Mul, mul, _mm256_mul_ps);
    operator!(Eight, Div, div, _mm256_div_ps);
    operator!(Four, Add, add, _mm256_add_pd);
    operator!(Four, Sub, sub, _mm256_sub_pd);
    operator!(Four, Mul, mul, _mm256_mul_pd);
    operator!(Four, Div, div, _mm256_div_pd);

    impl Numbers for Eight {
        type Number = f32;
        type Array = [f32; 8];

        #[inline(always)]
        fn all(number: f32) -> Self {
            instruct!(Self(_mm256_set1_ps(number)))
        }

        #[inline(always)]
        fn load(from: &[f32; 8]) -> Self {
            instruct!(Self(_mm256_loadu_ps(from.as_ptr())))
        }

        #[inline(always)]
        fn store(self, to: &mut [f32; 8]) {
            instruct!(_mm256_storeu_ps(to.as_mut_ptr(), self.0));
        }

        #[inline(always)]
        fn array(self) -> [f32; 8] {
            let mut array = [0.0; 8];
            self.store(&mut array);
            array
        }

        #[inline(always)]
        fn sqrt(self) -> Self {
            instruct!(Self(_mm256_sqrt_ps(self.0)))
        }

        #[inline(always)]
        fn abs(self) -> Self {
            instruct!(Self(_mm256_andnot_ps(_mm256_set1_ps(-0.0), self.0)))
        }

        #[inline(always)]
        fn max(self, other: Self) -> Self {
            instruct!(Self(_mm256_max_ps(self.0, other.0)))
        }

        #[inline(always)]
        fn min(self, other: Self) -> Self {
            instruct!(Self(_mm256_min_ps(self.0, other.0)))
        }

        #[inline(always)]
        fn above(self, bound: Self, yes: Self, no: Self) -> Self {
            instruct!(Self(_mm256_blendv_ps(
                no.0,
                yes.0,
                _mm256_cmp_ps::<_CMP_GT_OQ>(self.0, bound.0)
            )))
        }

        #[inline(always)]
        fn power_of_two(self) -> Self {
            instruct! {
                let origin = _mm256_set1_epi32(SINGLE_ORIGIN.cast_signed());
                let n = _mm256_sub_epi32(_mm256_castps_si256(self.0), origin);
                Self(_mm256_castsi256_ps(_mm256_slli_epi32::<23>(n)))
            }
        }

        #[inline(always)]
        fn sum(self) -> f32 {
            instruct! {
                let halves = _mm256_extractf128_ps::<1>(self.0);
                let four = _mm_add_ps(_mm256_castps256_ps128(self.0), halves);
                let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
                _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
            }
        }
    }

    impl Eights for Eight {
        #[inline(always)]
        fn with_first(self, first: Self) -> Self {
            instruct!(Self(_mm256_blend_ps::<1>(self.0, first.0)))
        }

        #[inline(always)]
        fn with_first_root(self) -> Self {
            instruct! {
                let root = _mm_sqrt_ss(_mm256_castps256_ps128(self.0));
                Self(_mm256_blend_ps::<1>(self.0, _mm256_castps128_ps256(root)))
            }
        }
    }

    impl Numbers for Four {
        type Number = f64;
        type Array = [f64; 4];

        #[inline(always)]
        fn all(number: f64) -> Self {
            instruct!(Self(_mm256_set1_pd(number)))
        }

        #[inline(always)]
        fn load(from: &[f64; 4]) -> Self {
            instruct!(Self(_mm256_loadu_pd(from.as_ptr())))
        }

        #[inline(always)]
        fn store(self, to: &mut [f64; 4]) {
            instruct!(_mm256_storeu_pd(to.as_mut_ptr(), self.0));
        }

        #[inline(always)]
        fn array(self) -> [f64; 4] {
            let mut array = [0.0; 4];
            self.store(&mut array);
            array
        }

        #[inline(always)]
        fn sqrt(self) -> Self {
            instruct!(Self(_mm256_sqrt_pd(self.0)))
        }

        #[inline(always)]
        fn abs(self) -> Self {
            instruct!(Self(_mm256_andnot_pd(_mm256_set1_pd(-0.0), self.0)))
        }

        #[inline(always)]
        fn max(self, other: Self) -> Self {
            instruct!(Self(_mm256_max_pd(self.0, other.0)))
        }

        #[inline(always)]
        fn min(self, other: Self) -> Self {
            instruct!(Self(_mm256_min_pd(self.0, other.0)))
        }

        #[inline(always)]
        fn above(self, bound: Self, yes: Self, no: Self) -> Self {
            instruct!(Self(_mm256_blendv_pd(
                no.0,
                yes.0,
                _mm256_cmp_pd::<_CMP_GT_OQ>(self.0, bound.0)
            )))
        }

        #[inline(always)]
        fn power_of_two(self) -> Self {
            instruct! {
                let origin = _mm256_set1_epi64x(DOUBLE_ORIGIN.cast_signed());
                let n = _mm256_sub_epi64(_mm256_castpd_si256(self.0), origin);
                Self(_mm256_castsi256_pd(_mm256_slli_epi64::<52>(n)))
            }
        }

        #[inline(always)]
        fn sum(self) -> f64 {
            let [a, b, c, d] = self.array();
            (a + b) + (c + d)
        }
    }

    impl Fours for Four {
        #[inline(always)]
        fn all_of_single(number: f32) -> Self {
            Self::all(number.into())
        }

        #[inline(always)]
        fn of_singles(from: &[f32; 4]) -> Self {
            instruct!(Self(_mm256_cvtps_pd(_mm_loadu_ps(from.as_ptr()))))
        }

        #[inline(always)]
        fn singles(self) -> [f32; 4] {
            let mut singles = [0.0; 4];
            instruct!(_mm_storeu_ps(singles.as_mut_ptr(), _mm256_cvtpd_ps(self.0)));
            singles
        }

        #[inline(always)]
        fn transposed([a, b, c, d]: [Self; 4]) -> [Self; 4] {
            instruct! {
                let (ab, ab_next) = (_mm256_unpacklo_pd(a.0, b.0), _mm256_unpackhi_pd(a.0, b.0));
                let (cd, cd_next) = (_mm256_unpacklo_pd(c.0, d.0), _mm256_unpackhi_pd(c.0, d.0));
                [
                    Self(_mm256_permute2f128_pd::<0x20>(ab, cd)),
                    Self(_mm256_permute2f128_pd::<0x20>(ab_next, cd_next)),
                    Self(_mm256_permute2f128_pd::<0x31>(ab, cd)),
                    Self(_mm256_permute2f128_pd::<0x31>(ab_next, cd_next)),
                ]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kernel, widest};

    const SINGLES: [f32; 8] = [0.1, -0.2, 3.7, 1e-9, 25.0, -8.5, f32::NAN, 7e7];
    const DOUBLES: [f64; 4] = [-3.25, 1e-300, 12.75, 0.1];

    /// Every operation, in an order in which each result is checked.
    struct Everything;

    impl Kernel for Everything {
        type Out = (Vec<u32>, Vec<u64>);

        #[inline(always)]
        fn run<R: Registers>(self) -> Self::Out {
            let x = R::Eight::load(&SINGLES);
            let y = R::Eight::all(1.5) - x;
            let m = R::Eight::all(12_582_912.0 + 3.0);
            let eights = [
                x + y,
                x * y,
                x / y,
                x.abs().sqrt(),
                x.max(y),
                y.min(x),
                x.above(y, y * y, x),
                x.with_first(y),
                x.with_first_root(),
                m.power_of_two(),
                R::Eight::all(x.with_first(y).max(y).sum()),
            ];
            let a = R::Four::load(&DOUBLES);
            let b = R::Four::all(0.7) - a;
            let [low, high] = R::doubles(x);
            let fours = [
                a + b,
                a * b,
                a / b,
                a.abs().sqrt(),
                a.max(b),
                b.min(a),
                a.above(b, a * a, b),
                R::Four::all(6_755_399_441_055_744.0 - 9.0).power_of_two(),
                R::Four::all((a + b * b).sum()),
                R::Four::all_of_single(0.3),
                R::Four::of_singles(&[0.1, -3.5, 1e-40, 7e7]),
                low,
                high,
            ]
            .into_iter()
            .chain(R::Four::transposed([a, b, a + b, b * b]));
            let singles = eights.iter().flat_map(|x| x.array()).map(f32::to_bits).collect();
            let rounded = a.singles().into_iter().chain((b * b).singles()).map(f64::from);
            (singles, fours.flat_map(Numbers::array).chain(rounded).map(f64::to_bits).collect())
        }
    }

    #[test]
    fn all_registers_give_the_same_bits() {
        assert_eq!(widest(Everything), Everything.run::<Plain>());
    }

    #[test]
    fn operations_go_by_place() {
        type Eight = Array<f32, 8>;
        let a = Eight::load(&[1.0, -2.0, 3.0, -4.0, 5.0, -6.0, 7.0, -8.0]);
        let b = Eight::load(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
        assert_eq!((a + b).array()[7], -1.0);
        assert_eq!((a - b).array()[3], -7.0);
        assert_eq!((a * b).array()[2], 6.0);
        assert_eq!((b / a).array()[4], 0.8);
        assert_eq!(a.abs().sum(), 36.0);
        assert_eq!(a.max(b).array()[..4], [1.0, 1.0, 3.0, 3.0]);
        assert_eq!(a.min(b).array()[..4], [0.0, -2.0, 2.0, -4.0]);
        assert_eq!(a.above(b, a, Eight::all(9.0)).array()[..4], [1.0, 9.0, 3.0, 9.0]);
        assert_eq!((b * b).with_first_root().with_first(a).array()[..3], [1.0, 1.0, 4.0]);
        assert_eq!(Eight::all(12_582_912.0 - 2.0).power_of_two().array(), [0.25; 8]);
        let c = Array::<f64, 4>::all(6_755_399_441_055_744.0 + 10.0).power_of_two();
        assert_eq!((c.array(), c.sum()), ([1024.0; 4], 4096.0));
        assert_eq!(Plain::doubles(b)[1].array(), [4.0, 5.0, 6.0, 7.0]);
        let rows = [0.0, 10.0, 20.0, 30.0]
            .map(|first| Array::<f64, 4>::load(&[first, first + 1.0, first + 2.0, first + 3.0]));
        let columns = Array::transposed(rows);
        assert_eq!(columns[2].array(), [2.0, 12.0, 22.0, 32.0]);
        assert_eq!(Array::of_singles(&[0.5, 1.5, 2.5, 3.5]).singles()[3], 3.5);
    }
}
