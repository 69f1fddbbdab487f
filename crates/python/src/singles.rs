//! Numbers that become single precision, in loops that are compiled for wide registers.

use rueful_machine::{Kernel, Registers, prefetch, widest};

/// The number of values that are looked at together.
const STRETCH: usize = 1 << 12;

/// The number of bytes that are fetched together.
const LINE: usize = 64;

/// A number of either precision.
pub(crate) trait Number: Copy + Into<f64> + Sync {
    /// Returns the number in single precision.
    fn single(self) -> f32;

    /// Returns numbers as doubles, if they are.
    fn doubles(numbers: &[Self]) -> Option<&[f64]>;
}

impl Number for f32 {
    #[inline(always)]
    fn single(self) -> f32 {
        self
    }

    fn doubles(_numbers: &[Self]) -> Option<&[f64]> {
        None
    }
}

impl Number for f64 {
    #[inline(always)]
    fn single(self) -> f32 {
        self as f32
    }

    fn doubles(numbers: &[Self]) -> Option<&[f64]> {
        Some(numbers)
    }
}

/// Fetches numbers that will be copied soon.
#[inline(always)] // The loops over rows are made of it.
pub(crate) fn fetch<T>(numbers: &[T]) {
    numbers.iter().step_by((LINE / size_of::<T>()).max(1)).for_each(prefetch);
}

/// Copies numbers to as many places, in single precision.
#[inline(always)] // The registers are those of the caller.
pub(crate) fn copy<T: Number>(from: &[T], to: &mut [f32]) {
    // Rows are short. What a compiler makes of a plain loop leaves most of them to a loop over single
    // numbers.
    let ((from, from_rest), (to, to_rest)) = (from.as_chunks::<4>(), to.as_chunks_mut::<4>());
    to.iter_mut().zip(from).for_each(|(to, from)| *to = from.map(Number::single));
    to_rest.iter_mut().zip(from_rest).for_each(|(to, from)| *to = from.single());
}

/// Whether no number is larger than the largest single, and none is NaN unless there may be `gaps`.
pub(crate) fn all_fit<T: Number>(numbers: &[T], gaps: bool) -> bool {
    widest(AllFit { numbers, gaps })
}

struct AllFit<'a, T> {
    numbers: &'a [T],
    gaps: bool,
}

impl<T: Number> Kernel for AllFit<'_, T> {
    type Out = bool;

    #[inline(always)]
    fn run<R: Registers>(self) -> bool {
        let Self { numbers, gaps } = self;
        numbers.chunks(STRETCH).all(|some| {
            let fits = |number: T| {
                let number = number.into().abs();
                (number <= f64::from(f32::MAX)) | (gaps & number.is_nan())
            };
            // The loop has no branches.
            let fitting = some.iter().fold(0, |count, &number| count + u32::from(fits(number)));
            fitting as usize == some.len()
        })
    }
}
