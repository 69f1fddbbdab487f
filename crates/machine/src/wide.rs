//! Ordinary code, compiled once more for wide registers.
//!
//! A kernel is plain Rust over small arrays. Where the processor has AVX2, [`widest`] runs a copy of
//! it that the compiler was free to make 256-bit instructions of; elsewhere it runs the kernel as it
//! is. Additions, multiplications, divisions and square roots round alike in both, and nothing is
//! fused (`fma` is not enabled), so both give the same bits.
#![allow(
    unsafe_code,
    reason = "code for instructions that not every processor has must be called unsafely"
)]

/// Work that gains from wide registers. `run`, and whatever it calls, should be `#[inline(always)]`:
/// only what is inlined is compiled anew.
pub trait Kernel {
    /// What comes of it.
    type Out;

    /// Does the work.
    fn run(self) -> Self::Out;
}

/// Runs a kernel with the widest registers there are.
///
/// ```
/// use rueful_machine::{Kernel, widest};
///
/// struct Halve<'a>(&'a mut [f32; 8]);
///
/// impl Kernel for Halve<'_> {
///     type Out = ();
///
///     #[inline(always)]
///     fn run(self) {
///         self.0.iter_mut().for_each(|x| *x *= 0.5);
///     }
/// }
///
/// let mut numbers = [3.0; 8];
/// widest(Halve(&mut numbers));
/// assert_eq!(numbers, [1.5; 8]);
/// ```
#[inline]
pub fn widest<K: Kernel>(kernel: K) -> K::Out {
    wide(kernel).unwrap_or_else(K::run)
}

/// Runs a kernel with wide registers; hands it back where there are none. For kernels that are large:
/// the same work without wide registers need not be compiled as part of them.
#[inline]
pub fn wide<K: Kernel>(kernel: K) -> Result<K::Out, K> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, which is all that the function asks for.
        return Ok(unsafe { with_avx2(kernel) });
    }
    Err(kernel)
}

/// Asks the processor to bring something near that is going to be read soon. Nothing else happens.
#[inline(always)]
pub fn prefetch<T>(what: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE, which has the instruction, is part of every x86-64; and a prefetch reads nothing.
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
    kernel.run()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A recurrence that shows every rounding.
    struct Wander<'a>(&'a mut [f32; 8]);

    impl Kernel for Wander<'_> {
        type Out = f32;

        #[inline(always)]
        fn run(self) -> f32 {
            for _ in 0..1000 {
                for x in self.0.iter_mut() {
                    *x = (*x * 1.7 + 0.3) / (1.0 + *x * *x).sqrt() - 0.11;
                }
            }
            self.0.iter().sum()
        }
    }

    #[test]
    fn wide_and_plain_give_the_same_bits() {
        let start = [0.1, -0.2, 3.7, 1e-9, 25.0, -8.5, 0.333, 7e7];
        let (mut wide, mut plain) = (start, start);
        let (of_wide, of_plain) = (widest(Wander(&mut wide)), Wander(&mut plain).run());
        assert_eq!(of_wide.to_bits(), of_plain.to_bits());
        assert_eq!(wide.map(f32::to_bits), plain.map(f32::to_bits));
        assert_ne!(wide, start);
    }
}
