//! Measures how well scores rank, by the AUC: the area under the curve of true against false
//! positives.

use super::Bracket;
use super::digest::{Digest, Load, Stretch};
use serde::{Deserialize, Serialize};

/// The weights of the negative and of the positive examples with some scores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
struct Both {
    negative: f64,
    positive: f64,
}

/// The serialised form of [`Both`]. Whole counts take few bytes.
#[derive(Serialize, Deserialize)]
enum Written {
    Counts(u64, u64),
    Weights(f64, f64),
}

impl From<Both> for Written {
    fn from(Both { negative, positive }: Both) -> Self {
        let is_count = |weight: f64| weight == weight.trunc() && weight < (1_u64 << 53) as f64;
        if is_count(negative) && is_count(positive) {
            Self::Counts(negative as u64, positive as u64)
        } else {
            Self::Weights(negative, positive)
        }
    }
}

impl From<Written> for Both {
    fn from(written: Written) -> Self {
        match written {
            Written::Counts(negative, positive) => {
                Self { negative: negative as f64, positive: positive as f64 }
            }
            Written::Weights(negative, positive) => Self { negative, positive },
        }
    }
}

impl Load for Both {
    #[inline]
    fn add(&mut self, other: &Self) {
        self.negative += other.negative;
        self.positive += other.positive;
    }

    /// The mean of its shares in both classes. The share of pairs within it is at most the square
    /// of this.
    fn share_of(&self, total: &Self) -> f64 {
        let share = |part: f64, whole: f64| if part == 0.0 { 0.0 } else { part / whole };
        let (negative, positive) =
            (share(self.negative, total.negative), share(self.positive, total.positive));
        if total.negative == 0.0 || total.positive == 0.0 {
            negative + positive
        } else {
            0.5 * (negative + positive)
        }
    }

    fn is_sound(&self) -> bool {
        let is_weight = |weight: f64| (0.0..=f64::MAX).contains(&weight);
        is_weight(self.negative) && is_weight(self.positive)
    }
}

/// A digest of scores. The AUC is the share of pairs of a positive and a negative example in which
/// the positive one has the higher score. A tie counts half.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Ranks {
    scores: Digest<Both>,
    examples: u64,
    /// Whether all weights are whole numbers. Their sums are then exact as long as they are small.
    is_whole: bool,
}

impl Ranks {
    /// A digest without scores. The AUC of up to this many distinct scores is exact.
    pub(super) fn new(cells_max: usize) -> Self {
        Self { scores: Digest::new(cells_max), examples: 0, is_whole: true }
    }

    /// Observes the score of an example.
    #[inline]
    pub(super) fn observe(&mut self, score: f64, is_positive: bool, weight: f64) {
        let load = if is_positive {
            Both { negative: 0.0, positive: weight }
        } else {
            Both { negative: weight, positive: 0.0 }
        };
        self.scores.add(score, load);
        self.examples += 1;
        self.is_whole &= weight == weight.trunc();
    }

    /// Adds the scores of other examples.
    pub(super) fn merge(&mut self, other: &Self) {
        self.scores.merge(&other.scores);
        self.examples += other.examples;
        self.is_whole &= other.is_whole;
    }

    /// Whether these ranks, which were read from a file, can be a later state of `fresh`.
    pub(super) fn continues(&self, fresh: &Self, examples: u64) -> bool {
        self.examples == examples && self.scores.continues(&fresh.scores)
    }

    /// The numbers between which the AUC lies, rounding included. It is `None` if a class is
    /// missing.
    pub(super) fn auc(&self) -> Option<Bracket> {
        let stretches = self.scores.stretches();
        let pairs = Pairs::count(&stretches);
        let is_exact = self.is_whole && pairs.all < (1_u64 << 52) as f64;
        // No sum has negative terms, so its rounding error is relative.
        let terms = self.examples as f64 + 4.0 * stretches.len() as f64 + 16.0;
        let grain = if is_exact { 0.0 } else { 4.0 * terms * f64::EPSILON };
        (pairs.all > 0.0 && pairs.all.is_finite()).then(|| pairs.shares(grain))
    }
}

/// Pairs of a positive and a negative example.
struct Pairs {
    all: f64,
    /// The pairs in which the positive example is proved to be higher, and half of the ties.
    right: f64,
    /// The pairs in which the positive example is proved to be lower, and half of the ties.
    wrong: f64,
}

impl Pairs {
    /// Counts the pairs. The stretches must be in the order of their lower ends.
    fn count(stretches: &[Stretch<Both>]) -> Self {
        let negatives: f64 = stretches.iter().map(|one| one.load.negative).sum();
        let positives: f64 = stretches.iter().map(|one| one.load.positive).sum();
        let mut by_end: Vec<&Stretch<Both>> = stretches.iter().collect();
        by_end.sort_by_key(|one| one.high);
        // The stretches below a stretch end before it begins. Those above it begin after it ends.
        let (mut right, mut wrong, mut below, mut ended) = (0.0, 0.0, 0.0, 0);
        for one in stretches {
            while by_end[ended].high < one.low {
                below += by_end[ended].load.negative;
                ended += 1;
            }
            right += one.load.positive * (below + tied(one));
        }
        let (mut above, mut begins) = (0.0, stretches.len());
        for one in by_end.iter().rev() {
            while begins > 0 && stretches[begins - 1].low > one.high {
                begins -= 1;
                above += stretches[begins].load.negative;
            }
            wrong += one.load.positive * (above + tied(one));
        }
        Self { all: negatives * positives, right, wrong }
    }

    /// The bounds on the AUC, if each count has at most this relative error.
    fn shares(&self, grain: f64) -> Bracket {
        let share = |pairs: f64| {
            let share = pairs / self.all;
            let is_below = grain == 0.0 && share.mul_add(self.all, -pairs) <= 0.0;
            if is_below { share } else { (share * (1.0 - grain)).next_down().max(0.0) }
        };
        let rest = 1.0 - share(self.wrong);
        let upper = if 1.0 - rest == share(self.wrong) { rest } else { rest.next_up().min(1.0) };
        Bracket { lower: share(self.right).min(upper), upper }
    }
}

/// Half of the weight of the negative examples that tie with positive ones of the same score.
fn tied(one: &Stretch<Both>) -> f64 {
    if one.is_point() { 0.5 * one.load.negative } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::super::digest::CELLS;
    use super::*;

    /// The AUC, computed by comparing every pair.
    fn slow(scores: &[(f64, bool, f64)]) -> f64 {
        let (mut right, mut all) = (0.0, 0.0);
        for &(high, _, w) in scores.iter().filter(|one| one.1) {
            for &(low, _, v) in scores.iter().filter(|one| !one.1) {
                all += w * v;
                right += w
                    * v
                    * f64::from(u8::from(high > low)).max(if high == low { 0.5 } else { 0.0 });
            }
        }
        right / all
    }

    /// The AUC, computed by sorting.
    fn sorted(scores: &[(f64, bool, f64)]) -> f64 {
        let mut scores = scores.to_vec();
        scores.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut below, mut positives, mut right, mut from) = (0.0, 0.0, 0.0, 0);
        while from < scores.len() {
            let end = from + scores[from..].partition_point(|one| one.0 <= scores[from].0);
            let weigh = |wanted: bool| -> f64 {
                scores[from..end].iter().filter(|one| one.1 == wanted).map(|one| one.2).sum()
            };
            let (negative, positive) = (weigh(false), weigh(true));
            right += positive * (below + 0.5 * negative);
            (below, positives, from) = (below + negative, positives + positive, end);
        }
        right / (below * positives)
    }

    fn ranks(scores: &[(f64, bool, f64)], cells_max: usize) -> Ranks {
        let mut ranks = Ranks::new(cells_max);
        scores.iter().for_each(|&(score, is_positive, weight)| {
            ranks.observe(score, is_positive, weight);
        });
        ranks
    }

    /// Pseudo-random numbers between 0 and 1 from a fixed generator.
    struct Dice(u64);

    impl Dice {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ z >> 31) >> 11) as f64 / (1_u64 << 53) as f64
        }

        fn normal(&mut self) -> f64 {
            (0..12).map(|_| self.next()).sum::<f64>() - 6.0
        }
    }

    /// Examples: the score, whether the example is positive, and the weight.
    type Scores = Vec<(f64, bool, f64)>;

    /// Streams of many shapes.
    fn shapes(count: usize) -> Vec<(&'static str, Scores)> {
        let mut dice = Dice(7);
        let mut shape = |name, of: &mut dyn FnMut(&mut Dice, f64) -> (f64, bool, f64)| {
            let scores = (0..count).map(|t| of(&mut dice, t as f64 / count as f64)).collect();
            (name, scores)
        };
        let mut walk = 0.0;
        vec![
            shape("normal", &mut |d, _| (d.normal(), d.next() < 0.5, 1.0)),
            shape("separated", &mut |d, _| {
                let y = d.next() < 0.3;
                (d.normal() + if y { 1.5 } else { 0.0 }, y, 1.0)
            }),
            shape("rising", &mut |d, t| (t * 20.0 + d.next(), d.next() < 0.5, 1.0)),
            shape("falling", &mut |d, t| (-t, d.next() < 0.5, 1.0)),
            shape("wandering", &mut |d, _| {
                walk += 0.01 * d.normal();
                (walk + 0.1 * d.normal(), d.next() < 0.5, 1.0)
            }),
            shape("spreading", &mut |d, t| (d.normal() * t * 9.0, d.next() < 0.5, 1.0)),
            shape("narrowing", &mut |d, t| (d.normal() * (1.0 - t).powi(8), d.next() < 0.5, 1.0)),
            shape("rare", &mut |d, _| (d.normal(), d.next() < 0.002, 1.0)),
            shape("late", &mut |d, t| (d.normal(), t > 0.7 && d.next() < 0.5, 1.0)),
            shape("tied", &mut |d, _| ((d.normal() * 3.0).round(), d.next() < 0.5, 1.0)),
            shape("heavy", &mut |d, _| (1.0 / (d.next() - 0.5), d.next() < 0.5, 1.0)),
            shape("weighted", &mut |d, _| (d.normal(), d.next() < 0.5, 0.01 + d.next() * 3.0)),
            shape("steps", &mut |d, t| ((t * 40.0).floor() % 7.0 + d.next(), d.next() < 0.5, 1.0)),
            shape("tiny", &mut |d, _| (1.0 + d.next() * 1e-12, d.next() < 0.5, 1.0)),
        ]
    }

    #[test]
    fn the_interval_holds_the_area_and_is_narrow() {
        for count in [3000, 120_000] {
            for (name, scores) in shapes(count) {
                let exact = sorted(&scores);
                let auc = ranks(&scores, CELLS).auc().unwrap();
                let (front, back) = scores.split_at(count / 3);
                let mut merged = ranks(front, CELLS);
                merged.merge(&ranks(back, CELLS));
                let mut parts = Ranks::new(CELLS);
                scores.chunks(count / 20).for_each(|part| parts.merge(&ranks(part, CELLS)));
                for auc in [auc, merged.auc().unwrap(), parts.auc().unwrap()] {
                    let off = 1e-9;
                    assert!(auc.lower <= exact + off && exact - off <= auc.upper, "{name} {auc:?}");
                    assert!(auc.upper - auc.lower <= 0.001, "{name} {auc:?}");
                }
            }
        }
    }

    #[test]
    fn few_scores_have_an_exact_area() {
        for (name, scores) in shapes(1500) {
            let (exact, auc) = (slow(&scores), ranks(&scores, CELLS).auc().unwrap());
            assert!((sorted(&scores) - exact).abs() < 1e-12);
            assert!(auc.lower <= exact.next_up() && exact.next_down() <= auc.upper, "{name}");
            assert!(auc.upper - auc.lower < 1e-11, "{name} {auc:?}");
        }
    }

    #[test]
    fn areas_of_a_few_pairs() {
        let auc = |scores: &[(f64, bool, f64)]| ranks(scores, CELLS).auc();
        let exactly = |value| Some(Bracket { lower: value, upper: value });
        assert_eq!(auc(&[(1.0, true, 1.0), (0.0, false, 1.0)]), exactly(1.0));
        assert_eq!(auc(&[(-1.0, true, 2.0), (0.0, false, 1.0)]), exactly(0.0));
        assert_eq!(auc(&[(0.0, true, 1.0), (-0.0, false, 3.0)]), exactly(0.5));
        assert_eq!(auc(&[(1.0, true, 1.0)]), None);
        assert_eq!(auc(&[]), None);
    }

    #[test]
    fn a_weight_of_two_is_the_score_twice() {
        let mut dice = Dice(3);
        let scores: Vec<_> =
            (0..500).map(|t| (dice.normal(), t % 3 == 0, 1.0 + f64::from(t % 3))).collect();
        let each = scores.iter().flat_map(|&(s, y, w)| vec![(s, y, 1.0); w as usize]);
        let each: Vec<_> = each.collect();
        assert_eq!(ranks(&scores, CELLS).auc(), ranks(&each, CELLS).auc());
    }

    /// One positive example among n others has an area of k/n, most of which are no doubles.
    #[test]
    fn no_end_of_the_interval_is_rounded_inwards() {
        for all in 1..60_u32 {
            for right in 0..=all {
                let score = |t: u32| if t < right { -1.0 } else { 1.0 };
                let others = (0..all).map(|t| (score(t), false, 1.0));
                let scores: Vec<_> = others.chain([(0.0, true, 1.0)]).collect();
                let auc = ranks(&scores, CELLS).auc().unwrap();
                // The multiplication is fused, so the sign is that of the exact difference.
                let above = |share: f64| share.mul_add(all.into(), -f64::from(right));
                assert!(
                    above(auc.lower) <= 0.0 && above(auc.upper) >= 0.0,
                    "{right}/{all}: {auc:?}"
                );
            }
        }
    }
}
