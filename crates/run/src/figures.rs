//! The usual figures, under the names that they keep in JSON.

use crate::hindsight::Interval;
use crate::report::finite;
use rueful_core::figures::{
    BestConstant, Bracket, Calibration, CalibrationBin, Outcomes, Scorecard,
};
use rueful_core::loss::{Labels, Loss};
use rueful_core::words::count;
use serde::{Deserialize, Serialize};

/// The figures of some examples. Every example counts by its importance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FiguresReport {
    /// The examples that the figures are about.
    pub counted: CountedReport,
    /// The best constant prediction in hindsight; null if there is none, or if it needs a sketch of
    /// the labels that is not kept.
    pub best_constant: Option<ConstantReport>,
    /// The figures that are one number each.
    #[serde(flatten)]
    pub rates: RatesReport,
    /// The confusion matrix of two classes at the threshold 0, by weight; null for regression.
    pub confusion: Option<Outcomes>,
    /// The mean distance between the probabilities and the observed frequencies; null without
    /// probabilities.
    pub calibration_error: Option<f64>,
    /// The probabilities and the observed frequencies, bin by bin; empty without probabilities.
    pub calibration: Vec<CalibrationBin>,
    /// Remarks about the figures, one sentence each.
    pub remarks: Vec<String>,
}

/// The examples that some figures are about.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CountedReport {
    /// The number of these examples.
    pub examples: u64,
    /// The sum of their importances.
    pub weight: f64,
}

/// Figures that are one number each, or an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RatesReport {
    /// The share of the best constant's loss that the predictions saved. It is 1 if they saved all
    /// of it, and below 0 if the constant is better. It is null if the constant loses nothing.
    pub explained: Option<Interval>,
    /// The explained share of the square loss under its usual name, R²; null for other losses.
    pub r_squared: Option<f64>,
    /// The share of wrong signs, where a score of exactly 0 is half an error; null for regression.
    pub error_rate: Option<f64>,
    /// The error rate of always answering the larger class.
    pub majority_error_rate: Option<f64>,
    /// The share of the examples predicted positive that are positive.
    pub precision: Option<f64>,
    /// The share of the positive examples that were predicted positive.
    pub recall: Option<f64>,
    /// The harmonic mean of precision and recall.
    pub f1: Option<f64>,
    /// The share of pairs of a positive and a negative example that the scores put in the right
    /// order, where a tie counts half.
    pub auc: Option<Interval>,
    /// The mean of −ln p, where p is the predicted probability of the label that came; null without
    /// probabilities.
    pub log_loss: Option<f64>,
    /// The mean of (1 − p)², with p as in `log_loss`.
    pub brier: Option<f64>,
}

/// A constant prediction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ConstantReport {
    /// The constant; null if there is no best one, because larger constants always lose less.
    pub value: Option<f64>,
    /// The interval that contains its loss per round, which is counted as in the sequential risk.
    pub loss: Interval,
}

impl From<Bracket> for Interval {
    fn from(Bracket { lower, upper }: Bracket) -> Self {
        Self { lower, upper }
    }
}

impl FiguresReport {
    /// Returns the figures of a scorecard. The scorecard may have been kept for only some of the
    /// `rounds`. The result is `None` without rounds.
    pub fn new(card: &Scorecard, rounds: u64) -> Option<Self> {
        let calibration = card.calibration();
        (rounds > 0).then(|| Self {
            counted: CountedReport { examples: card.examples(), weight: card.weight() },
            best_constant: card.best_constant().map(|best| ConstantReport::new(&best, card)),
            rates: RatesReport::new(card),
            confusion: card.outcomes(),
            calibration_error: calibration.map(Calibration::error),
            calibration: calibration.map_or_else(Vec::new, Calibration::bins),
            remarks: remarks(card, rounds),
        })
    }
}

impl ConstantReport {
    fn new(best: &BestConstant, card: &Scorecard) -> Self {
        let examples = card.examples() as f64;
        let Bracket { lower, upper } = best.loss;
        let loss = Interval { lower: lower / examples, upper: upper / examples };
        Self { value: finite(best.value), loss }
    }
}

impl RatesReport {
    /// Returns the figures of a scorecard.
    pub fn new(card: &Scorecard) -> Self {
        let outcomes = card.outcomes();
        let rate = |of: fn(&Outcomes) -> Option<f64>| outcomes.as_ref().and_then(of);
        let calibration = card.calibration();
        let explained = explained(card);
        Self {
            explained,
            r_squared: explained.filter(|_| card.loss().is_square()).map(|share| share.upper),
            error_rate: rate(Outcomes::error_rate),
            majority_error_rate: rate(Outcomes::majority_error_rate),
            precision: rate(Outcomes::precision),
            recall: rate(Outcomes::recall),
            f1: rate(Outcomes::f1),
            auc: card.auc().map(Interval::from),
            log_loss: calibration.map(Calibration::log_loss),
            brier: calibration.map(Calibration::brier),
        }
    }
}

/// Returns the share of the best constant's loss that was saved, or `None` if the constant loses
/// nothing.
fn explained(card: &Scorecard) -> Option<Interval> {
    let best = card.best_constant()?.loss;
    let share = |constant: f64| finite(1.0 - card.lost() / constant);
    (best.lower > 0.0).then_some(())?;
    Some(Interval { lower: share(best.lower)?, upper: share(best.upper)? })
}

/// Returns remarks about the figures.
fn remarks(card: &Scorecard, rounds: u64) -> Vec<String> {
    let missing = rounds.saturating_sub(card.examples());
    let past = (missing > 0).then(|| {
        format!(
            "These figures are about the last {} examples: the model was saved without those of \
             the {} before.",
            count(card.examples()),
            count(missing)
        )
    });
    past.into_iter().chain(only_label(card)).collect()
}

fn only_label(card: &Scorecard) -> Option<String> {
    let label = card.only_label()?;
    Some(match card.loss().labels() {
        Labels::Numbers if card.loss().is_linear() => return None,
        Labels::Numbers => format!("All labels are {label}: a constant explains everything."),
        Labels::Signs if label > 0.0 => {
            "All labels are positive: a constant explains everything, and there is no AUC."
                .to_owned()
        }
        Labels::Signs => {
            "The positive label never came: a constant explains everything, and there \
                          is no AUC."
                .to_owned()
        }
    })
}

/// Returns a remark if the scores of two classes look like probabilities.
pub(crate) fn probable(card: &Scorecard) -> Option<String> {
    let (low, high) = card.predictions()?;
    let classifies = card.loss().labels() == Labels::Signs;
    (classifies && low >= 0.0 && high <= 1.0 && low < high).then(|| {
        "All predictions lie between 0 and 1, and are judged as scores. If they are probabilities \
         of the positive label, the link logistic judges them as such."
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rueful_core::loss::{Absolute, AnyLoss, Hinge, Linear, Square};
    use rueful_core::{Batch, Round};

    fn report(loss: impl Into<AnyLoss>, rows: &[(f64, f64)]) -> FiguresReport {
        let loss = loss.into();
        let mut batch = Batch::default();
        rows.iter().for_each(|&(label, _)| batch.push(&[0], &[1.0], label).unwrap());
        let said = batch.iter().zip(rows);
        let rounds: Vec<_> = said.map(|(row, said)| Round::on(&loss, said.1, &row)).collect();
        let mut card = Scorecard::new(loss).with_sketches();
        card.observe_rows(batch.rows(), &rounds);
        FiguresReport::new(&card, rows.len() as u64).unwrap()
    }

    #[test]
    fn what_is_explained_is_a_share_of_the_constant() {
        let square = report(Square {}, &[(1.0, 1.5), (2.0, 2.0), (3.0, 2.5)]);
        assert_eq!(square.rates.r_squared, Some(0.75));
        assert_eq!(square.best_constant.unwrap().value, Some(2.0));
        assert!((square.best_constant.unwrap().loss.upper - 2.0 / 3.0).abs() < 1e-15);
        let absolute = report(Absolute {}, &[(1.0, 1.5), (2.0, 2.0), (4.0, 2.5)]);
        let explained = absolute.rates.explained.unwrap();
        assert!((explained.lower - 1.0 / 3.0).abs() < 1e-12 && explained.upper >= explained.lower);
        assert_eq!(absolute.rates.r_squared, None);
        let worse = report(Hinge {}, &[(1.0, -1.0), (-1.0, 1.0)]);
        assert_eq!(worse.rates.explained, Some(Interval { lower: -1.0, upper: -1.0 }));
    }

    #[test]
    fn labels_that_are_all_the_same_are_told() {
        let told = |report: FiguresReport| report.remarks.join(" ");
        assert!(told(report(Hinge {}, &[(1.0, 0.5)])).contains("All labels are positive"));
        let negative = report(Hinge {}, &[(-1.0, 0.5), (-1.0, -0.5)]);
        assert_eq!((negative.rates.auc, negative.rates.explained), (None, None));
        assert!(told(negative).contains("The positive label never came"));
        assert!(told(report(Square {}, &[(2.5, 1.0), (2.5, 2.0)])).contains("All labels are 2.5"));
        assert_eq!(told(report(Linear {}, &[(2.5, 1.0)])), "");
        assert_eq!(told(report(Hinge {}, &[(1.0, 0.5), (-1.0, 0.5)])), "");
    }
}
