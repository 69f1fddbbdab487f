//! Finds the best constant prediction in hindsight, and its loss.

use super::Bracket;
use super::digest::{Digest, Load, Stretch, number};
use super::outcomes::Outcomes;
use crate::loss::{AnyLoss, Loss};
use crate::sum::Sum;
use serde::{Deserialize, Serialize};

/// The constant that would have lost least if it had been predicted every time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BestConstant {
    /// The constant. It is infinite if the loss falls all the way to infinity.
    pub value: f64,
    /// The numbers between which its total loss lies.
    pub loss: Bracket,
}

impl BestConstant {
    fn exactly(value: f64, loss: f64) -> Self {
        Self { value, loss: Bracket { lower: loss, upper: loss } }
    }

    /// The best constant for two classes, from their confusion matrix. It is `None` for a loss that
    /// has none.
    pub(super) fn of_classes(loss: &AnyLoss, outcomes: &Outcomes) -> Option<Self> {
        let (positives, negatives) = (outcomes.positives(), outcomes.negatives());
        let larger = if positives >= negatives { 1.0 } else { -1.0 };
        let all = positives + negatives;
        let surprise = |part: f64| if part == 0.0 { 0.0 } else { -part * (part / all).ln() };
        match loss {
            AnyLoss::Hinge(_) => Some(Self::exactly(larger, 2.0 * positives.min(negatives))),
            AnyLoss::Logistic(_) => {
                let odds = (positives / negatives).ln();
                Some(Self::exactly(odds, surprise(positives) + surprise(negatives)))
            }
            AnyLoss::Perceptron(_) => Some(Self::exactly(0.0, 0.0)),
            _ => None,
        }
    }
}

/// The record of labels that are numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Numbers {
    least: f64,
    greatest: f64,
    moments: Moments,
    sketch: Option<Sketch>,
}

impl Numbers {
    /// A record without labels. It keeps a sketch of them if a size is given.
    pub(super) fn new(cells_max: Option<usize>) -> Self {
        Self {
            least: f64::INFINITY,
            greatest: f64::NEG_INFINITY,
            moments: Moments::default(),
            sketch: cells_max.map(Sketch::new),
        }
    }

    #[inline]
    pub(super) fn observe(&mut self, label: f64, weight: f64) {
        self.least = self.least.min(label);
        self.greatest = self.greatest.max(label);
        self.moments.observe(label, weight);
        if let Some(sketch) = &mut self.sketch {
            sketch.observe(label, weight);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
        self.moments.merge(&other.moments);
        if let (Some(own), Some(theirs)) = (&mut self.sketch, &other.sketch) {
            own.merge(theirs);
        }
    }

    pub(super) fn continues(&self, fresh: &Self, examples: u64) -> bool {
        self.moments.is_sound()
            && match (&self.sketch, &fresh.sketch) {
                (None, None) => true,
                (Some(own), Some(fresh)) => own.continues(fresh, examples),
                _ => false,
            }
    }

    pub(super) fn weight(&self) -> f64 {
        self.moments.weight.value()
    }

    /// The label that all examples share, if there is only one.
    pub(super) fn only(&self) -> Option<f64> {
        (self.least == self.greatest).then_some(self.least)
    }

    /// The best constant. It is `None` for a loss that has none, or if it needs a sketch that is
    /// not kept.
    pub(super) fn best_constant(&self, loss: &AnyLoss) -> Option<BestConstant> {
        if let Some(label) = self.only().filter(|_| !loss.is_linear()) {
            return Some(BestConstant::exactly(label, 0.0));
        }
        match loss {
            AnyLoss::Square(_) => self.moments.best_constant(),
            AnyLoss::Absolute(_) | AnyLoss::Quantile(_) => {
                self.sketch.as_ref()?.best_constant(loss)
            }
            _ => None,
        }
    }
}

/// The sums of labels and of their squares, both measured from the first label.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Moments {
    first: Option<f64>,
    weight: Sum,
    sum: Sum,
    squares: Sum,
}

impl Moments {
    #[inline]
    fn observe(&mut self, label: f64, weight: f64) {
        let far = label - *self.first.get_or_insert(label);
        self.weight.add(weight);
        self.sum.add(weight * far);
        self.squares.add(weight * far * far);
    }

    fn merge(&mut self, other: &Self) {
        let (Some(own), Some(theirs)) = (self.first, other.first) else {
            if self.first.is_none() {
                *self = *other;
            }
            return;
        };
        let (far, weight, sum) = (theirs - own, other.weight.value(), other.sum.value());
        self.weight.merge(other.weight);
        self.sum.merge(other.sum);
        self.sum.add(weight * far);
        self.squares.merge(other.squares);
        self.squares.add(2.0 * far * sum);
        self.squares.add(weight * far * far);
    }

    fn is_sound(&self) -> bool {
        (0.0..=f64::MAX).contains(&self.weight.value())
    }

    /// The mean, and its loss. The sums are measured from the first label, which is one of the
    /// labels. So the least loss is at least that label's share of the weight, times the sum of
    /// squares. That is why the difference keeps its digits.
    fn best_constant(&self) -> Option<BestConstant> {
        let (weight, sum) = (self.weight.value(), self.sum.value());
        let far = sum / weight;
        let mut left = self.squares;
        left.add(-far * sum);
        let (mean, least) = (self.first? + far, left.value());
        let is_finite = mean.is_finite() && least.is_finite();
        is_finite.then(|| BestConstant::exactly(mean, least.max(0.0)))
    }
}

/// The weight of some labels, and their weighted sum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Weighed {
    weight: f64,
    sum: f64,
}

impl Load for Weighed {
    #[inline]
    fn add(&mut self, other: &Self) {
        self.weight += other.weight;
        self.sum += other.sum;
    }

    fn share_of(&self, total: &Self) -> f64 {
        self.weight / total.weight
    }

    fn is_sound(&self) -> bool {
        (0.0..=f64::MAX).contains(&self.weight)
    }
}

/// A digest of labels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Sketch {
    labels: Digest<Weighed>,
    examples: u64,
    /// Whether all weights are whole numbers, and small and few enough for their sums to be exact.
    is_whole: bool,
}

impl Sketch {
    fn new(cells_max: usize) -> Self {
        Self { labels: Digest::new(cells_max), examples: 0, is_whole: true }
    }

    #[inline]
    fn observe(&mut self, label: f64, weight: f64) {
        self.labels.add(label, Weighed { weight, sum: weight * label });
        self.examples += 1;
        // The sum of up to 2²¹ weights of up to 2³² each is below 2⁵³.
        self.is_whole &= weight == weight.trunc() && weight < (1_u64 << 32) as f64;
        self.is_whole &= self.examples < 1 << 21;
    }

    fn merge(&mut self, other: &Self) {
        self.labels.merge(&other.labels);
        self.examples += other.examples;
        self.is_whole &= other.is_whole && self.examples < 1 << 21;
    }

    fn continues(&self, fresh: &Self, examples: u64) -> bool {
        self.examples == examples && self.labels.continues(&fresh.labels)
    }

    /// The best constant for a loss that is convex in the label.
    ///
    /// For any constant, the labels of a stretch lose at least as much as their mean would. That
    /// bounds every constant's loss from below. They lose at most as much as the two ends of the
    /// stretch would, weighted to have the same mean. That bounds the loss of one constant from
    /// above. If the constant lies outside the stretch, both bounds are the same.
    fn best_constant(&self, loss: &AnyLoss) -> Option<BestConstant> {
        let groups: Vec<Group> = self.labels.stretches().iter().map(Group::of).collect();
        let (mut at, mut lower) = (f64::NAN, f64::INFINITY);
        for candidate in minima(loss, &groups) {
            let found = total(&groups, |group| group.weight * loss.at(candidate, group.mean).value);
            if found < lower {
                (at, lower) = (candidate, found);
            }
        }
        let upper = total(&groups, |group| group.at_most(loss, at));
        let rounding = self.rounding(&groups, at) + self.grain() * upper;
        let loss = Bracket { lower: (lower - rounding).max(0.0), upper: upper + rounding };
        (at.is_finite() && loss.upper.is_finite()).then_some(BestConstant { value: at, loss })
    }

    /// The largest relative error of a sum of weights. Sums of whole numbers are exact as long as
    /// they are small.
    fn grain(&self) -> f64 {
        if self.is_whole { 0.0 } else { (self.examples as f64 + 2.0) * f64::EPSILON }
    }

    /// The largest rounding error in the losses of the groups. Each loss has a few roundings, and a
    /// group of more than one label also has those of its mean.
    fn rounding(&self, groups: &[Group], at: f64) -> f64 {
        let terms = self.examples as f64 + 16.0;
        let of = |group: &Group| {
            let mean = if group.low < group.high { terms * group.size() } else { 0.0 };
            group.weight * (mean + 8.0 * (group.size() + at.abs()))
        };
        f64::EPSILON * total(groups, of)
    }
}

/// A group of neighbouring labels.
struct Group {
    low: f64,
    high: f64,
    weight: f64,
    mean: f64,
}

impl Group {
    fn of(stretch: &Stretch<Weighed>) -> Self {
        let (low, high) = (number(stretch.low), number(stretch.high));
        let mean = (stretch.load.sum / stretch.load.weight).clamp(low, high);
        Self { low, high, weight: stretch.load.weight, mean }
    }

    fn size(&self) -> f64 {
        self.low.abs().max(self.high.abs())
    }

    /// An upper bound on what the labels lose by a constant.
    fn at_most(&self, loss: &AnyLoss, constant: f64) -> f64 {
        let at = |label: f64| self.weight * loss.at(constant, label).value;
        if constant <= self.low || self.high <= constant {
            return at(self.mean);
        }
        let share = (self.mean - self.low) / (self.high - self.low);
        (1.0 - share) * at(self.low) + share * at(self.high)
    }
}

fn total(groups: &[Group], of: impl Fn(&Group) -> f64) -> f64 {
    groups.iter().map(of).collect::<Sum>().value()
}

/// The mean at which the total loss of all means turns from falling to rising, and its neighbours.
/// Rounding could make one of the neighbours the best.
fn minima(loss: &AnyLoss, groups: &[Group]) -> Vec<f64> {
    let mut means: Vec<(f64, f64)> =
        groups.iter().map(|group| (group.mean, group.weight)).collect();
    means.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all: f64 = means.iter().map(|mean| mean.1).sum();
    // Below a label the loss falls with one slope, and above it the loss rises with another.
    let (fall, rise) = (-loss.at(0.0, 1.0).slope, loss.at(1.0, 0.0).slope);
    let (mut below, wanted) = (0.0, fall / (fall + rise) * all);
    let turn = means.iter().position(|&(_, weight)| {
        below += weight;
        below >= wanted
    });
    let turn = turn.unwrap_or(means.len().saturating_sub(1));
    let near = turn.saturating_sub(1)..means.len().min(turn + 2);
    means[near].iter().map(|mean| mean.0).collect()
}

#[cfg(test)]
mod tests {
    use super::super::digest::CELLS;
    use super::*;
    use crate::ExactSum;
    use crate::loss::{Absolute, Hinge, Linear, Logistic, PerceptronLoss, Quantile, Square};
    use crate::number::OpenUnit;

    fn numbers(rows: &[(f64, f64)], cells_max: usize) -> Numbers {
        let mut all = Numbers::new(Some(cells_max));
        rows.iter().for_each(|&(label, weight)| all.observe(label, weight));
        all
    }

    fn labels(count: u32) -> Vec<(f64, f64)> {
        let label = |t: u32| f64::from(t.wrapping_mul(2_654_435_761) >> 12) / 100.0 - 3000.0;
        (1..=count).map(|t| (label(t).powi(3) / 1e6, f64::from(1 + t % 3))).collect()
    }

    /// The least loss of all constants, by trying every label and the mean.
    fn slow(loss: &AnyLoss, rows: &[(f64, f64)]) -> f64 {
        let weight: f64 = rows.iter().map(|row| row.1).sum();
        let mean = rows.iter().map(|row| row.0 * row.1).sum::<f64>() / weight;
        let of = |c: f64| rows.iter().map(|&(y, w)| w * loss.at(c, y).value).sum::<f64>();
        rows.iter().map(|row| row.0).chain([mean]).map(of).fold(f64::INFINITY, f64::min)
    }

    fn losses() -> Vec<AnyLoss> {
        let quantile = |tau| Quantile { tau: OpenUnit::new(tau).unwrap() }.into();
        vec![Absolute {}.into(), quantile(0.1), quantile(0.5), quantile(0.93)]
    }

    #[test]
    fn the_best_constant_is_that_of_a_search() {
        let rows = labels(400);
        for loss in losses().into_iter().chain([Square {}.into()]) {
            let (exact, found) = (slow(&loss, &rows), numbers(&rows, CELLS).best_constant(&loss));
            let found = found.unwrap().loss;
            let off = 1e-12 * exact;
            assert!(found.lower <= exact + off && exact - off <= found.upper, "{loss} {found:?}");
            assert!(found.upper - found.lower <= 1e-11 * exact, "{loss} {found:?}");
        }
    }

    #[test]
    fn a_sketch_proves_an_interval() {
        let rows = labels(9000);
        let (front, back) = rows.split_at(2500);
        let mut merged = numbers(front, 512);
        merged.merge(&numbers(back, 512));
        let (exact, small) = (numbers(&rows, 1 << 20), numbers(&rows, 512));
        for loss in losses() {
            let exact = exact.best_constant(&loss).unwrap().loss;
            for sketch in [&small, &merged] {
                let found = sketch.best_constant(&loss).unwrap().loss;
                assert!(found.lower <= exact.upper && exact.lower <= found.upper, "{found:?}");
                assert!(found.upper > found.lower, "{loss}: the sketch is too small to be exact");
                assert!(found.upper - found.lower <= 0.002 * exact.upper, "{loss} {found:?}");
            }
        }
    }

    #[test]
    fn moments_keep_their_digits() {
        let far = |label: f64| (1.7e9 + label, 1.0);
        let rows: Vec<_> = [1.0, 2.0, 4.0, 5.0].map(far).to_vec();
        let best = numbers(&rows, CELLS).best_constant(&Square {}.into()).unwrap();
        assert_eq!((best.value, best.loss.upper), (1.7e9 + 3.0, 10.0));
        let mut merged = numbers(&rows[..1], CELLS);
        merged.merge(&numbers(&rows[1..], CELLS));
        assert_eq!(merged.best_constant(&Square {}.into()), Some(best));
        let mut none = numbers(&[], CELLS);
        none.merge(&merged);
        assert_eq!(none.best_constant(&Square {}.into()), Some(best));
    }

    #[test]
    fn equal_labels_leave_nothing_to_lose() {
        let same = numbers(&[(3.25, 1.0), (3.25, 0.1)], CELLS);
        for loss in losses() {
            assert_eq!(same.best_constant(&loss), Some(BestConstant::exactly(3.25, 0.0)));
        }
        assert_eq!(same.best_constant(&Linear {}.into()), None);
        let large = numbers(&[(1e300, 1.0), (-1e300, 1.0)], CELLS);
        assert_eq!(large.best_constant(&Square {}.into()), None);
    }

    #[test]
    fn classes_have_constants_of_their_own() {
        let outcomes = Outcomes {
            true_positives: 2.0,
            false_negatives: 1.0,
            true_negatives: 1.0,
            false_positives: 0.0,
            ties: 0.0,
        };
        let of = |loss: AnyLoss| BestConstant::of_classes(&loss, &outcomes).unwrap();
        for loss in [AnyLoss::from(Hinge {}), Logistic {}.into(), PerceptronLoss {}.into()] {
            let at = |c: f64| 3.0 * loss.at(c, 1.0).value + loss.at(c, -1.0).value;
            let best = of(loss);
            assert!((at(best.value) - best.loss.upper).abs() < 1e-12, "{loss}");
            assert!((-300..300).all(|c| at(f64::from(c) / 100.0) >= best.loss.lower - 1e-12));
        }
        let alone = Outcomes { true_negatives: 0.0, ..outcomes };
        let best = BestConstant::of_classes(&Logistic {}.into(), &alone).unwrap();
        assert_eq!((best.value, best.loss.upper), (f64::INFINITY, 0.0));
    }

    /// Whether the least loss of the absolute loss, which is attained at this constant, lies between the
    /// bounds in exact arithmetic.
    fn holds_exactly(found: BestConstant, constant: f64, rows: &[(f64, f64)]) -> bool {
        let mut exact = ExactSum::default();
        for &(label, weight) in rows {
            let sign = if label > constant { weight } else { -weight };
            exact.add_product(sign, label);
            exact.add_product(-sign, constant);
        }
        let above = |bound: f64| {
            let mut off = exact.clone();
            off.add(-bound);
            off.value()
        };
        found.value == constant && above(found.loss.lower) >= 0.0 && above(found.loss.upper) <= 0.0
    }

    /// 1 + 2⁻⁶⁰ is rounded to 1, in the loss of every label −1.
    #[test]
    fn the_roundings_of_each_loss_are_allowed_for() {
        let tiny = 0.5_f64.powi(60);
        let rows = [(-1.0, 20.0), (tiny, 21.0)];
        let found = numbers(&rows, CELLS).best_constant(&Absolute {}.into()).unwrap();
        assert!(holds_exactly(found, tiny, &rows), "{found:?}");
    }

    /// The sum of the labels of a stretch begins at 8192, where a unit in the last place is 8192ε. So it
    /// loses up to half of that of every label after it.
    #[test]
    fn the_roundings_of_means_are_allowed_for() {
        let near = |j: u32| (1.0 + f64::from(j) * f64::EPSILON, 1.0);
        let mut rows = vec![(0.0, 1e6), (1.0, 8192.0)];
        rows.extend((2500..4000).map(near));
        let found = numbers(&rows, 64).best_constant(&Absolute {}.into()).unwrap();
        assert!(holds_exactly(found, 0.0, &rows), "{found:?}");
    }

    /// A weight of 1 is lost in one of 10¹⁶.
    #[test]
    fn weights_that_are_lost_are_allowed_for() {
        let mut rows = vec![(0.0, 3e16), (1.0, 1e16)];
        let mut merged = numbers(&rows, CELLS);
        for _ in 0..1000 {
            rows.push((1.0, 1.0));
            merged.merge(&numbers(&rows[2..3], CELLS));
        }
        let found = merged.best_constant(&Absolute {}.into()).unwrap();
        assert!(holds_exactly(found, 0.0, &rows), "{found:?}");
    }
}
