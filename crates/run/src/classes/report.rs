//! The report of a run of many classes, under the names that it keeps in JSON.

use super::ClassLoss;
use super::card::ClassCard;
use super::run::ClassRun;
use crate::contradiction::{Claim, Contradiction};
use crate::figures::{ConstantReport, CountedReport, FiguresReport, RatesReport};
use crate::hindsight::Interval;
use crate::judged::JudgedReport;
use crate::report::{BoundReport, CurveReport, Report, RiskBoundReport, finite};
use rueful_core::classes::{ClassCounts, Confusion};
use serde::{Deserialize, Serialize};

/// The largest number of pairs of classes in a report.
const PAIRS_MAX: usize = 1 << 16;

/// The classes of a run, and how often each was taken for which.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassesReport {
    /// The classes, in the order in which they first appeared.
    pub classes: Vec<ClassReport>,
    /// The confusion matrix: the pairs of a class and a prediction that occurred. Of more than
    /// 65,536 pairs, the most frequent mistakes are there.
    pub confusion_matrix: Vec<ConfusedReport>,
}

/// One class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassReport {
    /// The label as it is written in the data.
    pub label: String,
    /// The number of examples with this label.
    pub examples: u64,
    /// The number of examples for which it was predicted.
    pub predicted: u64,
    /// The share of these predictions that were right; null if there were none.
    pub precision: Option<f64>,
    /// The share of the examples with this label for which it was predicted; null if there were
    /// none.
    pub recall: Option<f64>,
    /// The harmonic mean of precision and recall; null if one of them is.
    pub f1: Option<f64>,
}

/// A pair of a class and a prediction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfusedReport {
    /// The label.
    pub label: String,
    /// The label that was predicted; null before the first class was seen.
    pub predicted: Option<String>,
    /// The number of examples of this kind.
    pub examples: u64,
}

impl ClassReport {
    fn new(label: String, counts: ClassCounts) -> Self {
        let (precision, recall) = (counts.precision(), counts.recall());
        let f1 = precision.zip(recall).map(|(precision, recall)| {
            let sum = precision + recall;
            if sum > 0.0 { 2.0 * precision * recall / sum } else { 0.0 }
        });
        let ClassCounts { came: examples, predicted, .. } = counts;
        Self { label, examples, predicted, precision, recall, f1 }
    }
}

impl ClassesReport {
    pub(super) fn new(confusion: &Confusion, name_of: impl Fn(u32) -> String) -> Self {
        let class = |(class, counts)| ClassReport::new(name_of(class), counts);
        let mut pairs: Vec<_> = confusion.pairs().collect();
        if pairs.len() > PAIRS_MAX {
            pairs = confusion.worst(PAIRS_MAX);
        }
        let pair = |(class, predicted, examples): (u32, Option<u32>, u64)| ConfusedReport {
            label: name_of(class),
            predicted: predicted.map(&name_of),
            examples,
        };
        Self {
            classes: confusion.classes().map(class).collect(),
            confusion_matrix: pairs.into_iter().map(pair).collect(),
        }
    }
}

impl FiguresReport {
    /// The figures of predictions for many classes, where `loss` is their loss. `None` without
    /// examples.
    pub fn of_classes(card: &ClassCard, loss: ClassLoss) -> Option<Self> {
        let is_softmax = loss == ClassLoss::Softmax {};
        let rounds = card.examples() as f64;
        let constant = Interval::around(card.constant_log_loss());
        let explained = Interval {
            lower: 1.0 - card.lost() / constant.lower,
            upper: 1.0 - card.lost() / constant.upper,
        };
        let per_round = Interval { lower: constant.lower / rounds, upper: constant.upper / rounds };
        let only = (card.classes() == 1)
            .then(|| "Only one class came: a constant explains everything.".to_owned());
        let rates = RatesReport {
            explained: (is_softmax && constant.lower > 0.0).then_some(explained),
            error_rate: card.error_rate(),
            majority_error_rate: card.majority_error_rate(),
            log_loss: is_softmax.then(|| card.lost() / card.weight()),
            ..RatesReport::default()
        };
        (card.examples() > 0).then(|| Self {
            counted: CountedReport { examples: card.examples(), weight: card.weight() },
            best_constant: is_softmax.then_some(ConstantReport { value: None, loss: per_round }),
            rates,
            confusion: None,
            calibration_error: None,
            calibration: Vec::new(),
            remarks: only.into_iter().collect(),
        })
    }
}

impl Interval {
    /// A measured sum of positive terms, with more room than roundings take, those of sums over very
    /// many examples included.
    fn around(sum: f64) -> Self {
        let slack = 1e-12 * sum;
        Self { lower: sum - slack, upper: sum + slack }
    }
}

impl Report {
    /// The report of a run of many classes.
    pub(super) fn of_classes(run: &ClassRun) -> Self {
        let (ledger, books, seen) = (run.ledger(), run.books(), run.seen());
        let (tally, point, ladder) = (ledger.tally(), run.point(), run.ladder());
        let per_round = |total: f64| tally.at_most_per_round(total);
        let claim = |(what, total)| Claim::from((what, total / ledger.rounds().max(1) as f64));
        let mistakes = tally.mistakes() as f64 / ledger.rounds().max(1) as f64;
        let names = &seen.names;
        let mut report = Self {
            examples: ledger.rounds(),
            resumed: None,
            passes: None,
            delayed_labels: None,
            features: ledger.cells().count() as u64,
            nonzeros: seen.census.nonzeros,
            collisions: (!names.is_empty()).then(|| names.collisions() as u64),
            sequential_risk: tally.sequential_risk(),
            penalty: None,
            mistake_rate: Some(mistakes),
            figures: FiguresReport::of_classes(&books.card, run.task().loss),
            classes: Some(ClassesReport::new(ledger.confusion(), |class| run.name_of(class))),
            certificate: finite(per_round(ladder.certificate)),
            certificate_own: finite(point.own_certificate()),
            judged: JudgedReport::new(true, &run.task().comparators, &point),
            experts: run.experts(),
            mixing_cost: run
                .learner()
                .mixing_cost()
                .filter(|_| run.books().late == 0)
                .and_then(|total| finite(per_round(total))),
            risk_bound: books
                .mistakes
                .filter(|all| all.rounds() > 0)
                .as_ref()
                .map(RiskBoundReport::new),
            bound: BoundReport::new(per_round, &ladder),
            comparator: None,
            regret: None,
            hindsight: None,
            mistake_bound: None,
            gradient_norm_max: books.norms.gradient,
            example_norm_max: books.norms.example,
            curve: run.curve().iter().map(CurveReport::new).collect(),
            contradictions: ladder
                .disorder
                .iter()
                .map(|rungs| Contradiction { lower: claim(rungs.lower), upper: claim(rungs.upper) })
                .collect(),
            spec: run.task().into(),
        };
        report.withhold_parts();
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rueful_core::ExactSum;

    /// The loss of the best constant probabilities of classes that weigh so much.
    fn constant(weights: impl IntoIterator<Item = f64>) -> Interval {
        let mut card = ClassCard::default();
        weights.into_iter().zip(0..).for_each(|(weight, class)| {
            card.observe(class, weight, None, 1.0);
        });
        let rounds = card.examples() as f64;
        let figures = FiguresReport::of_classes(&card, ClassLoss::Softmax {}).unwrap();
        let Interval { lower, upper } = figures.best_constant.unwrap().loss;
        Interval { lower: rounds * lower, upper: rounds * upper }
    }

    /// Of 2^k classes that come once, each costs k ln 2. Doubles do not have this number.
    #[test]
    fn the_best_constant_loses_what_lies_between_its_ends() {
        let ln_2 = [std::f64::consts::LN_2, 2.319_046_813_846_3e-17];
        for k in 1..=12 {
            let classes = 2_f64.powi(k);
            let found = constant((0..1 << k).map(|_| 1.0));
            for (end, sign) in [(found.lower, 1.0), (found.upper, -1.0)] {
                let mut room = ExactSum::default();
                room.add(-sign * end);
                ln_2.iter().for_each(|&part| room.add_product(sign * classes * f64::from(k), part));
                assert!(room.value() > 0.0, "{k} {found:?}");
            }
            assert!(found.upper - found.lower < 1e-11 * found.upper);
        }
    }

    /// Where nearly all examples are of one class, the logarithm of its share is next to nothing, and
    /// there are many of them.
    #[test]
    fn a_share_that_is_nearly_1_is_not_rounded() {
        let found = constant([1e10, 1.0]);
        // W ln(1 + 1/W) + ln(W + 1)
        let exact = 1.0 - 0.5e-10 + (10.0 * std::f64::consts::LN_10 + 1e-10);
        assert!(found.lower <= exact && exact <= found.upper, "{found:?} {exact}");
    }
}
