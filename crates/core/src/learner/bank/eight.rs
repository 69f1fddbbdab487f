//! Eight singles side by side.
//!
//! Plain arithmetic in loops of fixed length, which the compiler makes one instruction of where
//! registers are wide enough. Every operation rounds as IEEE 754 says, so the bits are the same on
//! every machine.

use serde::{Deserialize, Serialize};
use std::ops::{Add, Div, Mul, Sub};

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
    pub(super) const ONE: Self = Self::all(1.0);

    /// The numbers of a function of the place.
    #[inline(always)]
    pub(super) fn of(f: impl Fn(usize) -> f32) -> Self {
        let mut eight = [0.0; 8];
        for (k, x) in eight.iter_mut().enumerate() {
            *x = f(k);
        }
        Self(eight)
    }

    /// A function of each.
    #[inline(always)]
    pub(super) fn map(self, f: impl Fn(f32) -> f32) -> Self {
        Self::of(|k| f(self.0[k]))
    }

    #[inline(always)]
    pub(super) fn sqrt(self) -> Self {
        self.map(f32::sqrt)
    }

    #[inline(always)]
    pub(super) fn abs(self) -> Self {
        self.map(f32::abs)
    }

    /// The larger of two; the second where the first is no number.
    #[inline(always)]
    pub(super) fn max(self, other: Self) -> Self {
        Self::of(|k| if self.0[k] > other.0[k] { self.0[k] } else { other.0[k] })
    }

    /// The smaller of two; the second where the first is no number.
    #[inline(always)]
    pub(super) fn min(self, other: Self) -> Self {
        Self::of(|k| if self.0[k] < other.0[k] { self.0[k] } else { other.0[k] })
    }

    /// The nearest numbers between −limit and limit.
    #[inline(always)]
    pub(super) fn within(self, limit: f32) -> Self {
        self.min(Self::all(limit)).max(Self::all(-limit))
    }

    /// `yes` where this is above `bound`, `no` elsewhere.
    #[inline(always)]
    pub(super) fn above(self, bound: Self, yes: Self, no: Self) -> Self {
        Self::of(|k| if self.0[k] > bound.0[k] { yes.0[k] } else { no.0[k] })
    }

    /// The same with another number in the first place.
    #[inline(always)]
    pub(super) fn with_first(mut self, first: f32) -> Self {
        self.0[0] = first;
        self
    }

    /// The sum, added up in a fixed order.
    #[inline(always)]
    pub(super) fn sum(self) -> f32 {
        let x = self.0;
        ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]))
    }

    pub(super) fn is_finite(self) -> bool {
        self.0.iter().all(|x| x.is_finite())
    }
}

macro_rules! by_place {
    ($op:ident, $name:ident, $sign:tt) => {
        impl $op for Eight {
            type Output = Self;

            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                Self::of(|k| self.0[k] $sign other.0[k])
            }
        }
    };
}

by_place!(Add, add, +);
by_place!(Sub, sub, -);
by_place!(Mul, mul, *);
by_place!(Div, div, /);

/// a·b, for vectors in eights of the same length.
#[inline(always)]
pub(super) fn dot(a: &[Eight], b: &[Eight]) -> f32 {
    let mut sum = Eight::ZERO;
    for (&a, &b) in a.iter().zip(b) {
        sum = sum + a * b;
    }
    sum.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_go_by_place() {
        let a = Eight([1.0, -2.0, 3.0, -4.0, 5.0, -6.0, 7.0, -8.0]);
        let b = Eight::of(|k| k as f32);
        assert_eq!((a + b).0[7], -1.0);
        assert_eq!((a - b).0[3], -7.0);
        assert_eq!((a * b).0[2], 6.0);
        assert_eq!((b / a).0[4], 0.8);
        assert_eq!(a.abs().sum(), 36.0);
        assert_eq!(a.within(2.5).0, [1.0, -2.0, 2.5, -2.5, 2.5, -2.5, 2.5, -2.5]);
        assert_eq!(a.above(Eight::ZERO, Eight::ONE, b).0, [1.0, 1.0, 1.0, 3.0, 1.0, 5.0, 1.0, 7.0]);
        assert_eq!(dot(&[a, b], &[Eight::ONE, b]), -4.0 + 140.0);
        assert_eq!(a.with_first(9.0).0[..2], [9.0, -2.0]);
        assert!(!Eight::all(f32::NAN).is_finite() && a.is_finite());
    }
}
