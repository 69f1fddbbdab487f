//! Σ −ln p for every expert, with a logarithm only in every sixteenth round.

use super::experts::{EXPERTS, Each, multiply};
use super::merge::Parts;
use crate::elementary::ln;
use rueful_machine::Fours;
use serde::{Deserialize, Serialize};

/// The number of probabilities that are multiplied before a logarithm is taken. None is below
/// e^{−30}, so the product stays above the smallest double.
const TOGETHER: u8 = 16;

/// Sums of −ln p.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct LogRisks {
    sums: Each,
    products: Each,
    waiting: u8,
}

impl LogRisks {
    pub(super) fn new() -> Self {
        Self { sums: [0.0; EXPERTS], products: [1.0; EXPERTS], waiting: 0 }
    }

    /// Adds −c ln p.
    #[inline(always)]
    pub(super) fn add<F: Fours>(&mut self, given: &Each, importance: f64) {
        if importance != 1.0 {
            let cost = |p: f64| if p > 0.0 { -importance * ln(p) } else { 0.0 };
            self.sums.iter_mut().zip(given).for_each(|(sum, &p)| *sum += cost(p));
            return;
        }
        multiply::<F>(&mut self.products, given);
        self.waiting += 1;
        if self.waiting == TOGETHER {
            self.settle();
        }
    }

    fn settle(&mut self) {
        for (sum, product) in self.sums.iter_mut().zip(&mut self.products) {
            *sum -= if *product > 0.0 { ln(*product) } else { 0.0 };
            *product = 1.0;
        }
        self.waiting = 0;
    }

    /// The sums of several.
    pub(super) fn merged(parts: &Parts<'_, Self>) -> Self {
        let (base, all) = (parts.base.sums(), parts.parts.iter());
        let all: Vec<_> = all.map(|(part, slices)| (part.sums(), *slices)).collect();
        let all = Parts { base: &base, parts: all.iter().map(|(one, own)| (one, *own)).collect() };
        Self { sums: all.added_sizes(), ..Self::new() }
    }

    /// The sums.
    pub(super) fn sums(&self) -> Each {
        let mut settled = self.clone();
        settled.settle();
        settled.sums
    }

    pub(super) fn is_sound(&self) -> bool {
        self.waiting < TOGETHER
            && self.sums.iter().all(|sum| sum.is_finite())
            && self.products.iter().all(|product| (0.0..=1.0).contains(product))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_sums_of_logarithms() {
        let mut risks = LogRisks::new();
        let mut expected = [0.0; EXPERTS];
        for t in 0..100 {
            let given: Each =
                std::array::from_fn(|k| 1.0 / (1 + (t * (k + 1)) % 17) as f64 - 1e-13);
            let importance = if t % 10 == 0 { 2.5 } else { 1.0 };
            risks.add::<rueful_machine::Array<f64, 4>>(&given, importance);
            expected.iter_mut().zip(given).for_each(|(sum, p)| *sum -= importance * p.ln());
        }
        for (found, expected) in risks.sums().iter().zip(expected) {
            assert!((found - expected).abs() < 1e-10 * (1.0 + expected));
        }
        assert!(risks.is_sound());
    }
}
