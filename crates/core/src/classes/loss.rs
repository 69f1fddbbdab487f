//! The losses of many classes.

use crate::elementary::{exp, ln};
use crate::loss::AnyLoss;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A loss of predictions for many classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ClassLoss {
    /// −ln of the probability that was given to the true class.
    Softmax {},
    /// [1 + max_{c≠y} z_c − z_y]₊ of the scores z, the loss of Crammer and Singer.
    MulticlassHinge {},
}

/// A loss at some scores, and a tangent of it there: a function `at_zero` + ⟨p − e_y, z⟩ of the
/// scores that is nowhere above the loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassTangent {
    /// The loss.
    pub value: f64,
    /// The smoothed loss, μ ln Σ_c e^{(δ_c + z_c − z_y)/μ}, whose gradient is p − e_y. For the softmax
    /// loss it is the loss itself.
    pub smoothed: f64,
    /// The value of the tangent at z = 0.
    pub at_zero: f64,
}

impl ClassLoss {
    /// The names of these losses.
    pub const NAMES: [&'static str; 2] = ["softmax", "multiclass-hinge"];

    /// The names of all losses: those of one score, and then those of many classes.
    pub const WITH_OTHERS: [&'static str; AnyLoss::NAMES.len() + 2] = {
        let mut names = [""; AnyLoss::NAMES.len() + 2];
        let mut place = 0;
        while place < AnyLoss::NAMES.len() {
            names[place] = AnyLoss::NAMES[place];
            place += 1;
        }
        [names[place], names[place + 1]] = Self::NAMES;
        names
    };

    /// The loss of this name, if it is one of many classes.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "softmax" => Some(Self::Softmax {}),
            "multiclass-hinge" => Some(Self::MulticlassHinge {}),
            _ => None,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Softmax {} => Self::NAMES[0],
            Self::MulticlassHinge {} => Self::NAMES[1],
        }
    }

    /// δ, the lead that the true class should have over every other class.
    fn lead(self) -> f64 {
        match self {
            Self::Softmax {} => 0.0,
            Self::MulticlassHinge {} => 1.0,
        }
    }

    /// The loss and a tangent at z_c − z_y for every class c. These are replaced by the
    /// probabilities p of the tangent. The kinks of the multiclass hinge are smoothed with the
    /// temperature μ > 0. The temperature of the softmax loss must be 1.
    ///
    /// With C classes, the value and the tangent at zero are exact up to C + 16 units in the last
    /// place of 1 plus themselves, and so is the sum of the probabilities.
    ///
    /// ```
    /// use rueful_core::classes::ClassLoss;
    ///
    /// let mut margins = [0.0, -2.0, 0.5];
    /// let at = ClassLoss::MulticlassHinge {}.tangent(&mut margins, 0, 0.01);
    /// assert_eq!(at.value, 1.5);
    /// assert!(margins[2] > 0.999 && (at.at_zero - 1.0).abs() < 1e-9);
    /// ```
    pub fn tangent(self, margins: &mut [f64], class: usize, temperature: f64) -> ClassTangent {
        let lead = self.lead();
        for (other, margin) in margins.iter_mut().enumerate() {
            *margin += if other == class { 0.0 } else { lead };
        }
        let top = margins.iter().copied().fold(0.0, f64::max);
        margins.iter_mut().for_each(|margin| *margin = (*margin - top) / temperature);
        let (sum, steepness) = weigh(margins);
        let (log, own) = (ln(sum), margins[class]);
        let smoothed = top + temperature * log;
        match self {
            Self::Softmax {} => {
                ClassTangent { value: smoothed, smoothed, at_zero: log + steepness / sum }
            }
            Self::MulticlassHinge {} => {
                let others: f64 = if own < 0.5 { 1.0 - own } else { others(margins, class) };
                ClassTangent { value: top, smoothed, at_zero: others }
            }
        }
    }
}

/// Replaces exponents, the largest of which is 0, by their softmax. Returns Σ e^t and −Σ t e^t.
fn weigh(exponents: &mut [f64]) -> (f64, f64) {
    let (mut sum, mut steepness) = (0.0, 0.0);
    for exponent in exponents.iter_mut() {
        let power = if *exponent < -700.0 { 0.0 } else { exp(*exponent) };
        sum += power;
        steepness -= power * exponent.max(-700.0);
        *exponent = power;
    }
    exponents.iter_mut().for_each(|power| *power /= sum);
    (sum, steepness)
}

/// The sum of all shares but one.
fn others(shares: &[f64], class: usize) -> f64 {
    shares.iter().enumerate().filter(|&(other, _)| other != class).map(|(_, share)| share).sum()
}

impl fmt::Display for ClassLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The loss of scores, as the definition says.
    fn plain(loss: ClassLoss, scores: &[f64], class: usize) -> f64 {
        let lead = |other: usize| if other == class { 0.0 } else { loss.lead() };
        let margins = scores.iter().enumerate().map(|(c, z)| z - scores[class] + lead(c));
        match loss {
            ClassLoss::Softmax {} => margins.map(f64::exp).sum::<f64>().ln(),
            ClassLoss::MulticlassHinge {} => margins.fold(0.0, f64::max),
        }
    }

    proptest! {
        #[test]
        fn a_tangent_is_never_above_the_loss(
            here in prop::collection::vec(-5.0..5.0f64, 2..6),
            there in prop::collection::vec(-5.0..5.0f64, 6),
            power in -4.0..0.0f64,
        ) {
            for loss in [ClassLoss::Softmax {}, ClassLoss::MulticlassHinge {}] {
                let is_softmax = loss == ClassLoss::Softmax {};
                let temperature = if is_softmax { 1.0 } else { 10_f64.powf(power) };
                let mut shares: Vec<f64> = here.iter().map(|z| z - here[1]).collect();
                let at = loss.tangent(&mut shares, 1, temperature);
                prop_assert!((at.value - plain(loss, &here, 1)).abs() < 1e-12 * (1.0 + at.value));
                prop_assert!(at.smoothed >= at.value);
                prop_assert!(at.smoothed <= at.value + temperature * (here.len() as f64).ln() + 1e-12);
                prop_assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-14);
                let own = |z: &[f64]| shares.iter().zip(z).map(|(p, score)| p * score).sum::<f64>() - z[1];
                prop_assert!(at.at_zero + own(&there[..here.len()]) <= plain(loss, &there[..here.len()], 1) + 1e-12);
                if is_softmax {
                    prop_assert!((at.at_zero + own(&here) - at.value).abs() < 1e-12 * (1.0 + at.value));
                }
            }
        }
    }
}
