//! Eight singles side by side, in memory.
//!
//! Loops that run for every row load them into [`Eights`], registers that are as wide as the
//! processor allows. The functions here serve all other code.

use rueful_machine::Eights;
use serde::{Deserialize, Serialize};
use std::ops::{Add, Mul};

/// Eight singles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[repr(align(32))]
pub(super) struct Eight(pub(super) [f32; 8]);

impl Eight {
    /// The same number eight times.
    #[inline(always)]
    pub(super) const fn all(x: f32) -> Self {
        Self([x; 8])
    }

    pub(super) const ZERO: Self = Self::all(0.0);

    /// The contents of a register.
    #[inline(always)]
    pub(super) fn of_register<V: Eights>(register: V) -> Self {
        Self(register.array())
    }

    /// Loads the numbers into a register.
    #[inline(always)]
    pub(super) fn load<V: Eights>(&self) -> V {
        V::load(&self.0)
    }

    /// Eight numbers, where number k is f(k).
    #[inline(always)]
    pub(super) fn of(f: impl Fn(usize) -> f32) -> Self {
        let mut eight = [0.0; 8];
        for (k, x) in eight.iter_mut().enumerate() {
            *x = f(k);
        }
        Self(eight)
    }

    /// The same numbers, with another one in the first place.
    #[inline(always)]
    pub(super) fn with_first(mut self, first: f32) -> Self {
        self.0[0] = first;
        self
    }

    pub(super) fn is_finite(self) -> bool {
        self.0.iter().all(|x| x.is_finite())
    }
}

impl Add for Eight {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self::of(|k| self.0[k] + other.0[k])
    }
}

impl Mul for Eight {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self::of(|k| self.0[k] * other.0[k])
    }
}

/// The numbers clipped to between −limit and limit.
#[inline(always)]
pub(super) fn within<V: Eights>(x: V, limit: f32) -> V {
    x.min(V::all(limit)).max(V::all(-limit))
}

/// a·b, for vectors in eights of the same length.
#[inline(always)]
pub(super) fn dot<V: Eights>(a: &[Eight], b: &[Eight]) -> f32 {
    let mut sum = V::all(0.0);
    let ((a, few_a), (b, few_b)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    for (a, b) in a.iter().zip(b) {
        for k in 0..4 {
            sum = sum + a[k].load::<V>() * b[k].load::<V>();
        }
    }
    for (a, b) in few_a.iter().zip(few_b) {
        sum = sum + a.load::<V>() * b.load::<V>();
    }
    sum.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rueful_machine::Array;

    #[test]
    fn operations_go_by_place() {
        type V = Array<f32, 8>;
        let a = Eight([1.0, -2.0, 3.0, -4.0, 5.0, -6.0, 7.0, -8.0]);
        let b = Eight::of(|k| k as f32);
        assert_eq!((a + b).0[7], -1.0);
        assert_eq!((a * b).0[2], 6.0);
        let held = Eight::of_register(within(a.load::<V>(), 2.5)).0;
        assert_eq!(held, [1.0, -2.0, 2.5, -2.5, 2.5, -2.5, 2.5, -2.5]);
        assert_eq!(dot::<V>(&[a, b], &[Eight::all(1.0), b]), -4.0 + 140.0);
        assert_eq!(a.with_first(9.0).0[..2], [9.0, -2.0]);
        assert!(!Eight::all(f32::NAN).is_finite() && a.is_finite());
    }
}
