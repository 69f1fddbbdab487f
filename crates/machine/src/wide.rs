//! Code that is compiled for every processor, and once more for wide registers.
//!
//! A kernel is written for any [`Registers`]. If the processor has AVX2, [`widest`] runs the copy
//! for its registers, and otherwise the one for plain arrays. Operations round alike in both, and
//! nothing is fused (`fma` is not enabled), so both give the same bits.
#![allow(
    unsafe_code,
    reason = "code for instructions that not every processor has must be called unsafely"
)]

use crate::vector::{Plain, Registers};
use std::marker::PhantomData;

/// Work that gains from wide registers. `run`, and whatever it calls, should be
/// `#[inline(always)]`: only inlined code is compiled anew for the registers.
pub trait Kernel {
    /// The result of the work.
    type Out;

    /// Does the work.
    fn run<R: Registers>(self) -> Self::Out;
}

/// Runs a kernel with the widest registers there are.
///
/// ```
/// use rueful_machine::{Kernel, Numbers, Registers, widest};
///
/// struct Halve<'a>(&'a mut [f32; 8]);
///
/// impl Kernel for Halve<'_> {
///     type Out = ();
///
///     #[inline(always)]
///     fn run<R: Registers>(self) {
///         (R::Eight::load(self.0) * R::Eight::all(0.5)).store(self.0);
///     }
/// }
///
/// let mut numbers = [3.0; 8];
/// widest(Halve(&mut numbers));
/// assert_eq!(numbers, [1.5; 8]);
/// ```
#[inline]
pub fn widest<K: Kernel>(kernel: K) -> K::Out {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, which is all that the function requires.
        return unsafe { with_avx2(kernel) };
    }
    plainly(kernel)
}

/// Runs a kernel with the registers that every processor has.
#[inline(never)] // Its callers stay small.
pub fn plainly<K: Kernel>(kernel: K) -> K::Out {
    kernel.run::<Plain>()
}

/// A way to run kernels. Code that is generic over it can be tested with different registers.
pub trait Runner {
    /// Runs a kernel.
    fn run<K: Kernel>(kernel: K) -> K::Out;
}

/// Runs kernels with the widest registers there are.
#[derive(Debug, Clone, Copy)]
pub struct Widest;

impl Runner for Widest {
    #[inline(always)]
    fn run<K: Kernel>(kernel: K) -> K::Out {
        widest(kernel)
    }
}

/// Runs kernels with the registers that every processor has.
#[derive(Debug, Clone, Copy)]
pub struct Plainly;

impl Runner for Plainly {
    #[inline(always)]
    fn run<K: Kernel>(kernel: K) -> K::Out {
        plainly(kernel)
    }
}

/// Runs kernels with the registers of the kernel that calls it, of which they become a part.
#[derive(Debug, Clone, Copy)]
pub struct Here<R>(PhantomData<R>);

impl<R: Registers> Runner for Here<R> {
    #[inline(always)]
    fn run<K: Kernel>(kernel: K) -> K::Out {
        kernel.run::<R>()
    }
}

/// Asks the processor to fetch something that will be read soon. It has no other effect.
#[inline(always)]
pub fn prefetch<T>(what: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE, which has the instruction, is part of every x86-64, and a prefetch reads
    // nothing.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(what).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = what;
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<K: Kernel>(kernel: K) -> K::Out {
    kernel.run::<crate::vector::avx2::Avx2>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Numbers;

    /// A recurrence in which every rounding shows.
    struct Wander<'a>(&'a mut [f32; 8]);

    impl Kernel for Wander<'_> {
        type Out = f32;

        #[inline(always)]
        fn run<R: Registers>(self) -> f32 {
            let all = R::Eight::all;
            let mut x = R::Eight::load(self.0);
            for _ in 0..1000 {
                x = (x * all(1.7) + all(0.3)) / (all(1.0) + x * x).sqrt() - all(0.11);
            }
            x.store(self.0);
            x.sum()
        }
    }

    #[test]
    fn wide_and_plain_give_the_same_bits() {
        let start = [0.1, -0.2, 3.7, 1e-9, 25.0, -8.5, 0.333, 7e7];
        let (mut wide, mut plain) = (start, start);
        let (of_wide, of_plain) = (widest(Wander(&mut wide)), plainly(Wander(&mut plain)));
        assert_eq!(of_wide.to_bits(), of_plain.to_bits());
        assert_eq!(wide.map(f32::to_bits), plain.map(f32::to_bits));
        assert_ne!(wide, start);
    }
}
