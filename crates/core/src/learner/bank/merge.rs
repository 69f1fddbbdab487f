//! Merging: one bank from several that learned side by side.
//!
//! The parts begin as copies of one bank, the base, and each goes on with rows of its own. Every
//! piece of a bank is merged by its own rule:
//!
//! - A Gaussian without drift is merged by natural parameters: the precisions that the parts have
//!   added to that of the base add up. This is exact in the square loss.
//! - A Gaussian with drift forgets, so all parts are equally recent: the result is their mean,
//!   weighted by precisions.
//! - Counts, losses and S of the witnesses add up: base + Σ (part − base).
//! - The logarithms of the weights of experts are averaged.
//! - Units and ranges are the largest of all. Before anything else, every part is brought to them.
//!
//! The result depends on the parts and their order alone. If there is only one part, it is the
//! result, bit for bit. A merged bank can be a part again, so that many parts merge in levels.

use super::Bank;
use super::eight::Eight;
use super::experts::{Each, shared};
use crate::elementary::{exp, ln};
use crate::sum::Sum;
use rueful_machine::{Plain, Registers};
use thiserror::Error;

/// The reason why banks cannot be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum MergeError {
    /// The banks have different losses.
    #[error("banks of different losses cannot be merged")]
    DifferentLoss,
    /// A part has seen less than the base.
    #[error("a part does not continue the bank that the parts are said to begin from")]
    DifferentBase,
    /// Labels that are numbers are measured from the first of them, and the parts have different
    /// ones.
    #[error(
        "the parts began before the first label; let one part learn some rows first, and the \
         others begin from it"
    )]
    NoFirstLabel,
    /// The result is not a bank.
    #[error("the numbers of the parts are too large to be merged")]
    OutOfRange,
}

/// Why a merged bank has no theorem.
pub(super) const OF_PARTS: &str = "the bank was merged from parts that learned side by side, and the \
                                   theorem is about one learner";

/// A bank that began as a copy of another one and went on with rows of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct BankPart<B = Bank> {
    /// The bank.
    pub bank: B,
    /// The number of slices that it learned from: 1, or more if it was merged itself.
    pub slices: u64,
}

/// Some states that began as copies of one base, each with the number of slices that it learned
/// from: 1, or more for a state that was merged itself.
pub(super) struct Parts<'a, T> {
    pub(super) base: &'a T,
    pub(super) parts: Vec<(&'a T, f64)>,
}

impl<'a, T> Parts<'a, T> {
    /// The same for a piece of each state.
    pub(super) fn of<U>(&self, piece: impl Fn(&'a T) -> &'a U) -> Parts<'a, U> {
        let parts = self.parts.iter().map(|&(part, slices)| (piece(part), slices)).collect();
        Parts { base: piece(self.base), parts }
    }

    /// The same for some of the parts, by their numbers.
    pub(super) fn only(mut self, is_one: impl Fn(usize) -> bool) -> Self {
        let mut number = 0..;
        self.parts.retain(|_| number.next().is_some_and(&is_one));
        self
    }

    /// The sum over base and parts of a number that adds up: base + Σ (part − base).
    pub(super) fn added(&self, number: impl Fn(&T) -> f64) -> f64 {
        let base = number(self.base);
        let mut sum = Sum::default();
        sum.add(base);
        for (part, _) in &self.parts {
            sum.add(number(part));
            sum.add(-base);
        }
        sum.value()
    }

    /// `added` for a size, which roundings cannot make negative.
    pub(super) fn added_size(&self, number: impl Fn(&T) -> f64) -> f64 {
        self.added(number).max(0.0)
    }

    /// `added` for a count.
    pub(super) fn counted(&self, count: impl Fn(&T) -> u64) -> u64 {
        let base = count(self.base);
        let more = self.parts.iter().map(|(part, _)| count(part).saturating_sub(base));
        more.fold(base, u64::saturating_add)
    }

    /// The largest.
    pub(super) fn largest(&self, number: impl Fn(&T) -> f64) -> f64 {
        self.parts.iter().fold(number(self.base), |most, (part, _)| most.max(number(part)))
    }

    /// The least.
    pub(super) fn least(&self, number: impl Fn(&T) -> f64) -> f64 {
        -self.largest(|one| -number(one))
    }

    /// The share of each part in a mean over the slices.
    pub(super) fn shares(&self) -> Vec<f64> {
        let slices: f64 = self.parts.iter().map(|(_, slices)| slices).sum();
        self.parts.iter().map(|(_, own)| own / slices).collect()
    }

    /// The mean over the slices of the parts.
    pub(super) fn mean(&self, number: impl Fn(&T) -> f64) -> f64 {
        let slices: f64 = self.parts.iter().map(|(_, slices)| slices).sum();
        self.parts.iter().map(|(part, own)| own / slices * number(part)).sum()
    }

    /// The change of a number from the base to the parts, as the mean over their slices.
    pub(super) fn moved(&self, number: impl Fn(&T) -> f64) -> f64 {
        let base = number(self.base);
        base + self.mean(|part| number(part) - base)
    }
}

impl<const N: usize> Parts<'_, [f64; N]> {
    /// `added_size` for an array.
    pub(super) fn added_sizes(&self) -> [f64; N] {
        std::array::from_fn(|k| self.added_size(|all| all[k]))
    }
}

impl Parts<'_, Each> {
    /// The weights of experts. The steps of their logarithms are averaged, not added up: the experts
    /// are merged themselves, and what the parts have seen of their own says less about the merged
    /// ones. A share of the prior, as after so many rounds, keeps each of them positive.
    pub(super) fn weights(&self, prior: &Each, rounds: f64) -> Each {
        let logarithm = |k: usize| {
            if prior[k] > 0.0 { self.moved(|weights| ln(weights[k])) } else { f64::NEG_INFINITY }
        };
        let logarithms: Each = std::array::from_fn(logarithm);
        let most = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weight =
            |logarithm: f64| if logarithm.is_finite() { exp(logarithm - most) } else { 0.0 };
        let mut weights = logarithms.map(weight);
        shared::<<Plain as Registers>::Four>(&mut weights, prior, 1.0 / (rounds + 1.0));
        weights
    }
}

/// How Gaussians are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// Added precisions add up.
    Sum,
    /// The mean by precisions.
    Mean,
}

/// Weights w with the covariance P, which is symmetric and stored row by row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Gaussian {
    pub(super) mean: Vec<f64>,
    pub(super) covariance: Vec<f64>,
}

/// Numbers side by side in eights, in doubles.
pub(super) fn doubles(eights: &[Eight], len: usize) -> Vec<f64> {
    eights.iter().flat_map(|eight| eight.0).take(len).map(f64::from).collect()
}

impl Gaussian {
    /// The Gaussian that several make. The covariances of all must have the same size.
    pub(super) fn merged(parts: &Parts<'_, Self>, rule: Rule) -> Self {
        let len = parts.base.mean.len();
        let precisions: Vec<Vec<f64>> =
            parts.parts.iter().map(|(part, _)| inverse(&part.covariance, len)).collect();
        if rule == Rule::Sum {
            let base = inverse(&parts.base.covariance, len);
            let mut sum = base.clone();
            for precision in &precisions {
                let added = precision.iter().zip(&base).map(|(part, base)| part - base);
                sum.iter_mut().zip(added).for_each(|(sum, added)| *sum += added);
            }
            let weights: Vec<f64> = precisions.iter().map(|_| 1.0).collect();
            if let Some(merged) = Self::between(parts, &precisions, &weights, &sum) {
                return merged;
            }
        }
        let weights: Vec<f64> = parts.parts.iter().map(|&(_, slices)| slices).collect();
        let slices: f64 = weights.iter().sum();
        let mut sum = vec![0.0; len * len];
        for (precision, weight) in precisions.iter().zip(&weights) {
            sum.iter_mut().zip(precision).for_each(|(sum, part)| *sum += weight * part);
        }
        let merged = Self::between(parts, &precisions, &weights, &sum);
        let mut merged = merged.unwrap_or_else(|| parts.parts[0].0.clone());
        merged.covariance.iter_mut().for_each(|p| *p *= slices);
        merged
    }

    /// w_b + Λ⁻¹ Σ c Λ_p (w_p − w_b) with the covariance Λ⁻¹. `None` if Λ is not a precision.
    fn between(
        parts: &Parts<'_, Self>,
        precisions: &[Vec<f64>],
        weights: &[f64],
        sum: &[f64],
    ) -> Option<Self> {
        let len = parts.base.mean.len();
        let covariance = inverse_of_root(&root(sum, len, 0.0)?, len);
        let mut pull = vec![0.0; len];
        for (((part, _), precision), weight) in parts.parts.iter().zip(precisions).zip(weights) {
            let moved: Vec<f64> =
                part.mean.iter().zip(&parts.base.mean).map(|(part, base)| part - base).collect();
            for (pull, row) in pull.iter_mut().zip(precision.chunks_exact(len)) {
                *pull += weight * dot(row, &moved);
            }
        }
        let rows = covariance.chunks_exact(len);
        let mean = parts.base.mean.iter().zip(rows).map(|(base, row)| base + dot(row, &pull));
        let merged = Self { mean: mean.collect(), covariance };
        let is_finite = merged.mean.iter().chain(&merged.covariance).all(|x| x.is_finite());
        is_finite.then_some(merged)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The inverse of a covariance. In singles it may have ceased to be one; then its diagonal is
/// enlarged until it is one again.
fn inverse(covariance: &[f64], len: usize) -> Vec<f64> {
    let mut more = 1e-9;
    loop {
        if let Some(root) = root(covariance, len, more) {
            return inverse_of_root(&root, len);
        }
        more *= 10.0;
    }
}

/// The lower triangular L with L Lᵀ = A, where the diagonal of A is first multiplied by 1 + `more`.
/// `None` if there is none. There is one for every A if `more` is large enough.
fn root(a: &[f64], len: usize, more: f64) -> Option<Vec<f64>> {
    let mut root = vec![0.0; len * len];
    for i in 0..len {
        let (done, rest) = root.split_at_mut(i * len);
        let row = &mut rest[..len];
        for j in 0..i {
            let other = &done[j * len..][..len];
            let cross = if more < 1e6 { 0.5 * (a[i * len + j] + a[j * len + i]) } else { 0.0 };
            row[j] = (cross - dot(&row[..j], &other[..j])) / other[j];
        }
        let own =
            if more < 1e6 { a[i * len + i] * (1.0 + more) } else { a[i * len + i].max(1e-30) };
        let left = own - dot(&row[..i], &row[..i]);
        if !(left > 1e-14 * own && left.is_finite()) {
            return None;
        }
        row[i] = left.sqrt();
    }
    Some(root)
}

/// (L Lᵀ)⁻¹
fn inverse_of_root(root: &[f64], len: usize) -> Vec<f64> {
    // The rows of L⁻ᵀ, which is the transpose of the inverse of L.
    let mut half = vec![0.0; len * len];
    for k in 0..len {
        for i in k..len {
            let sum: f64 = (k..i).map(|j| root[i * len + j] * half[k * len + j]).sum();
            let unit = f64::from(u8::from(i == k));
            half[k * len + i] = (unit - sum) / root[i * len + i];
        }
    }
    let mut inverse = vec![0.0; len * len];
    for i in 0..len {
        for j in 0..=i {
            let value = dot(&half[i * len + i..][..len - i], &half[j * len + i..][..len - i]);
            inverse[i * len + j] = value;
            inverse[j * len + i] = value;
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaussian(mean: &[f64], covariance: &[f64]) -> Gaussian {
        Gaussian { mean: mean.into(), covariance: covariance.into() }
    }

    /// w + P x (y − w·x)/(1 + xᵀP x), the filter's step in the square loss.
    fn taught(before: &Gaussian, x: [f64; 2], y: f64) -> Gaussian {
        let p = [dot(&before.covariance[..2], &x), dot(&before.covariance[2..], &x)];
        let (s, f) = (dot(&p, &x), dot(&before.mean, &x));
        let mut after = before.clone();
        for i in 0..2 {
            after.mean[i] += p[i] * (y - f) / (1.0 + s);
            (0..2).for_each(|j| after.covariance[2 * i + j] -= p[i] * p[j] / (1.0 + s));
        }
        after
    }

    #[test]
    fn merged_regressions_are_the_regression_of_all_rows() {
        let base = taught(&gaussian(&[0.0, 0.0], &[1.0, 0.0, 0.0, 4.0]), [1.0, 0.5], 2.0);
        let rows = [([1.0, 2.0], 1.0), ([-1.0, 0.3], 0.5), ([0.2, 0.2], -3.0), ([2.0, 0.0], 1.5)];
        let learned = |from: &Gaussian, rows: &[([f64; 2], f64)]| {
            rows.iter().fold(from.clone(), |state, &(x, y)| taught(&state, x, y))
        };
        let (one, other) = (learned(&base, &rows[..3]), learned(&base, &rows[3..]));
        let parts = Parts { base: &base, parts: vec![(&one, 1.0), (&other, 1.0)] };
        let (merged, whole) = (Gaussian::merged(&parts, Rule::Sum), learned(&base, &rows));
        let all = |one: &Gaussian| [one.mean.clone(), one.covariance.clone()].concat();
        for (merged, whole) in all(&merged).iter().zip(all(&whole)) {
            assert!((merged - whole).abs() < 1e-6, "{merged} {whole}");
        }
        let mean = Gaussian::merged(&parts, Rule::Mean);
        assert!(mean.covariance[0] > merged.covariance[0]);
    }

    #[test]
    fn what_is_no_covariance_has_an_inverse_all_the_same() {
        for covariance in [[1.0, 2.0, 2.0, 1.0], [1e-20, 1e-3, 1e-3, 1.0], [0.0; 4]] {
            let inverse = inverse(&covariance, 2);
            assert!(inverse.iter().all(|x| x.is_finite()) && inverse[0] > 0.0);
        }
    }
}
