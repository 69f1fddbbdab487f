//! Computes the softmax of eight learners at a time, over all classes.

use super::super::eight::Eight;
use crate::elementary::{exp_eight, ln};
use rueful_machine::Eights;

/// The normalisation of a softmax, for each of the eight: the largest score, and Σ e^{f − largest}.
#[derive(Clone, Copy)]
pub(super) struct Normalizer<V> {
    pub(super) largest: V,
    pub(super) sum: V,
}

impl<V: Eights> Normalizer<V> {
    /// ln Σ e^f
    #[inline(always)]
    pub(super) fn log_sum(&self) -> V {
        self.largest + ln_eight(self.sum)
    }
}

/// The logarithms of eight positive numbers.
#[inline(always)]
pub(super) fn ln_eight<V: Eights>(x: V) -> V {
    V::load(&x.array().map(|x| ln(f64::from(x)) as f32))
}

/// The largest score of each of the eight, without that of one class if one is given.
#[inline(always)]
pub(super) fn largest<V: Eights>(scores: &[Eight], without: Option<usize>) -> V {
    let mut largest = V::all(f32::MIN);
    for (class, score) in scores.iter().enumerate() {
        if Some(class) != without {
            largest = largest.max(score.load());
        }
    }
    largest
}

/// Computes probabilities from scores, class by class.
#[inline(always)]
pub(super) fn softmax<V: Eights>(scores: &[Eight], shares: &mut [Eight]) -> Normalizer<V> {
    let largest = largest::<V>(scores, None);
    let mut sum = V::all(0.0);
    for (score, share) in scores.iter().zip(&mut *shares) {
        let e = exp_eight(score.load::<V>() - largest);
        sum = sum + e;
        e.store(&mut share.0);
    }
    let inverse = V::all(1.0) / sum;
    for share in &mut *shares {
        (share.load::<V>() * inverse).store(&mut share.0);
    }
    Normalizer { largest, sum }
}

/// The normalisation of the probabilities that classes other than the true one have among
/// themselves: the largest of their scores, and Σ e^{f − largest}.
pub(super) struct Others<V> {
    pub(super) largest: V,
    pub(super) sum: V,
}

/// Writes e^{f − largest} of all classes but the true one, which gets 0.
#[inline(always)]
pub(super) fn others<V: Eights>(scores: &[Eight], truth: usize, to: &mut [Eight]) -> Others<V> {
    let largest = largest::<V>(scores, Some(truth));
    let mut sum = V::all(0.0);
    for (class, (score, place)) in scores.iter().zip(to).enumerate() {
        let e = if class == truth { V::all(0.0) } else { exp_eight(score.load::<V>() - largest) };
        sum = sum + e;
        e.store(&mut place.0);
    }
    Others { largest, sum }
}

/// Σ e² of the numbers that `others` wrote.
#[inline(always)]
pub(super) fn squares<V: Eights>(of: &[Eight]) -> V {
    let mut sum = V::all(0.0);
    for e in of {
        sum = sum + e.load::<V>() * e.load::<V>();
    }
    sum
}
