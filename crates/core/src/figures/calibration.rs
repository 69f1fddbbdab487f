//! Checks whether predicted probabilities agree with observed frequencies.

use crate::sum::Sum;
use serde::{Deserialize, Serialize};

/// The number of bins. Each holds one tenth of the probabilities.
pub const CALIBRATION_BINS: usize = 10;

/// The quality of the probabilities of the label +1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    log_loss: Sum,
    brier: Sum,
    bins: [Tenth; CALIBRATION_BINS],
}

/// The examples whose probability lies in one tenth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Tenth {
    weight: Sum,
    probability: Sum,
    positive: Sum,
}

impl Calibration {
    /// Observes an example: the probability that was given to the other label, and the log loss,
    /// which is already multiplied by the weight.
    #[inline]
    pub(super) fn observe(&mut self, wrong: f64, log_loss: f64, is_positive: bool, weight: f64) {
        self.log_loss.add(log_loss);
        self.brier.add(weight * wrong * wrong);
        let probability = if is_positive { 1.0 - wrong } else { wrong };
        let place = (probability * CALIBRATION_BINS as f64) as usize;
        let bin = &mut self.bins[place.min(CALIBRATION_BINS - 1)];
        bin.weight.add(weight);
        bin.probability.add(weight * probability);
        if is_positive {
            bin.positive.add(weight);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.log_loss.merge(other.log_loss);
        self.brier.merge(other.brier);
        for (own, theirs) in self.bins.iter_mut().zip(&other.bins) {
            own.weight.merge(theirs.weight);
            own.probability.merge(theirs.probability);
            own.positive.merge(theirs.positive);
        }
    }

    pub(super) fn is_sound(&self) -> bool {
        let is_size = |sum: Sum| (0.0..=f64::MAX).contains(&sum.value());
        let is_bin =
            |bin: &Tenth| is_size(bin.weight) && is_size(bin.probability) && is_size(bin.positive);
        is_size(self.log_loss) && is_size(self.brier) && self.bins.iter().all(is_bin)
    }

    fn weight(&self) -> f64 {
        self.bins.iter().map(|bin| bin.weight.value()).sum()
    }

    /// The mean of −ln p, where p is the probability of the label that came.
    pub fn log_loss(&self) -> f64 {
        self.log_loss.value() / self.weight()
    }

    /// The mean of (1 − p)², where p is the probability of the label that came.
    pub fn brier(&self) -> f64 {
        self.brier.value() / self.weight()
    }

    /// The mean distance, by weight, of the mean probability of a bin from the share of positive
    /// examples in it.
    pub fn error(&self) -> f64 {
        let off = |bin: &Tenth| (bin.probability.value() - bin.positive.value()).abs();
        self.bins.iter().map(off).sum::<f64>() / self.weight()
    }

    /// The bins that have examples, in order.
    pub fn bins(&self) -> Vec<CalibrationBin> {
        let all = self.bins.iter().enumerate().filter(|(_, bin)| bin.weight.value() > 0.0);
        all.map(|(place, bin)| bin.told(place)).collect()
    }
}

impl Tenth {
    fn told(&self, place: usize) -> CalibrationBin {
        let (end, weight) = (CALIBRATION_BINS as f64, self.weight.value());
        CalibrationBin {
            from: place as f64 / end,
            to: (place + 1) as f64 / end,
            weight,
            predicted: self.probability.value() / weight,
            observed: self.positive.value() / weight,
        }
    }
}

/// The examples whose probability of the label +1 lies between two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CalibrationBin {
    /// Probabilities are at least this.
    pub from: f64,
    /// Probabilities are below this. In the last bin they are at most 1.
    pub to: f64,
    /// The weight of the examples.
    pub weight: f64,
    /// Their mean probability.
    pub predicted: f64,
    /// The share of them that are positive.
    pub observed: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: &[(f64, bool, f64)]) -> Calibration {
        let mut all = Calibration::default();
        for &(probability, is_positive, weight) in rows {
            let wrong = if is_positive { 1.0 - probability } else { probability };
            all.observe(wrong, -weight * (-wrong).ln_1p(), is_positive, weight);
        }
        all
    }

    #[test]
    fn probabilities_land_in_their_bins() {
        let all =
            of(&[(0.05, false, 1.0), (0.25, true, 1.0), (0.25, false, 3.0), (1.0, true, 1.0)]);
        let bins = all.bins();
        let ends: Vec<_> = bins.iter().map(|bin| (bin.from, bin.to)).collect();
        assert_eq!(ends, [(0.0, 0.1), (0.2, 0.3), (0.9, 1.0)]);
        assert_eq!((bins[1].weight, bins[1].predicted, bins[1].observed), (4.0, 0.25, 0.25));
        assert!((all.error() - 0.05 / 6.0).abs() < 1e-15);
        assert!((all.brier() - (0.0025 + 0.5625 + 3.0 * 0.0625) / 6.0).abs() < 1e-15);
        let log_loss = -(0.95_f64.ln() + 0.25_f64.ln() + 3.0 * 0.75_f64.ln()) / 6.0;
        assert!((all.log_loss() - log_loss).abs() < 1e-15);
    }

    #[test]
    fn weights_are_repetitions_and_parts_add_up() {
        let rows = [(0.3, true, 2.0), (0.7, false, 1.0), (0.35, false, 3.0), (0.9, true, 1.0)];
        let each: Vec<_> =
            rows.iter().flat_map(|&(p, y, w)| vec![(p, y, 1.0); w as usize]).collect();
        let (weighted, repeated) = (of(&rows), of(&each));
        let mut merged = of(&each[..3]);
        merged.merge(&of(&each[3..]));
        for other in [repeated, merged] {
            assert!((weighted.log_loss() - other.log_loss()).abs() < 1e-15);
            assert!((weighted.brier() - other.brier()).abs() < 1e-15);
            assert!((weighted.error() - other.error()).abs() < 1e-15);
            assert_eq!(weighted.bins().len(), other.bins().len());
        }
        assert!(merged.is_sound());
    }
}
