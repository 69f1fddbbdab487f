//! Lower bounds on the cumulative loss, for matrices of weights.
//!
//! The loss of scores z in a round, ln Σ_c e^{z_c} − z_y, is convex. So for *every* vector of
//! probabilities p over the classes, and every z, it is at least
//!
//! ```text
//! H(p) + ⟨p − e_y, z⟩,    H(p) = −Σ_c p_c ln p_c
//! ```
//!
//! So whatever p_t were predicted, no matrix u with ‖u N‖_F ≤ U has a smaller total loss than
//!
//! ```text
//! Σ H(p_t) − U‖S/N‖_F,    S = Σ (p_t − e_y) x_tᵀ
//! ```
//!
//! The multiclass hinge, [1 + max_{c≠y} z_c − z_y]₊, has tangents of the same form:
//! 1 + ⟨e_c − e_y, z⟩.

use super::slopes::{Beside, ClassSlopes, OverClasses};
use crate::elementary::ln;
use crate::features::Features;
use crate::ledger::Line;
use crate::ruler::Ruler;
use crate::sum::Sum;
use serde::{Deserialize, Serialize};

/// With this many classes or fewer, all are listed.
const FEW_CLASSES: usize = 32;
/// With more classes, those are listed that some predictor gives more than this.
const LIKELY: f64 = 0.12;

/// The tangents of several predictors in one round.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tangents<T: Beside> {
    /// g
    pub(crate) slope: OverClasses<T>,
    /// The value of each predictor's tangent at z = 0.
    pub(crate) at_zero: Vec<f64>,
}

impl<T: Beside> Tangents<T> {
    /// The tangents at probabilities. `shares` has those of each predictor, by class. If there are
    /// many classes, all that no predictor thinks likely get their average probability. That is a
    /// valid prediction too, and its entropy is the one that counts.
    pub(crate) fn of_probabilities(&mut self, shares: &[T], truth: u32, importance: f64) {
        let slope = &mut self.slope;
        slope.listed.clear();
        slope.among = shares.len() as u32;
        let are_few = shares.len() <= FEW_CLASSES;
        for (class, share) in shares.iter().enumerate() {
            let is_likely = are_few || (0..T::COUNT).any(|k| share.get(k) > LIKELY);
            if is_likely || class == truth as usize {
                slope.listed.push((class as u32, *share));
            }
        }
        self.at_zero.clear();
        self.at_zero.resize(T::COUNT, 0.0);
        for predictor in 0..T::COUNT {
            self.settle(predictor, shares.len() - self.slope.listed.len(), importance);
        }
        let truth = self.slope.listed_mut(truth);
        (0..T::COUNT).for_each(|k| truth.set(k, truth.get(k) - importance));
        if shares.len() <= FEW_CLASSES {
            (self.slope.among, self.slope.level) = (0, T::ZERO);
        }
    }

    /// Gives the classes that are not listed the remaining probability in equal parts. This level is
    /// subtracted from the listed classes.
    fn settle(&mut self, predictor: usize, unlisted: usize, importance: f64) {
        let whole: Sum = self.slope.listed.iter().map(|(_, share)| share.get(predictor)).collect();
        let whole = whole.value();
        let (scale, level) = if unlisted > 0 && whole <= 1.0 {
            (1.0, (1.0 - whole) / unlisted as f64)
        } else {
            (1.0 / whole, 0.0)
        };
        let listed = self.slope.listed.iter().map(|(_, share)| scale * share.get(predictor));
        let entropy: Sum =
            listed.map(entropy_of).chain([unlisted as f64 * entropy_of(level)]).collect();
        self.at_zero[predictor] = importance * entropy.value();
        self.slope.level.set(predictor, importance * level);
        for (_, share) in &mut self.slope.listed {
            let more = importance * (scale * share.get(predictor) - level);
            share.set(predictor, more);
        }
    }
}

impl Tangents<[f64; 1]> {
    /// The tangent of the multiclass hinge. `rival` is a class whose score is larger than that of
    /// the true class minus 1. Without one, the tangent is 0.
    pub(crate) fn of_hinge(&mut self, truth: u32, rival: Option<u32>, importance: f64) {
        self.slope = OverClasses::default();
        self.at_zero.clear();
        self.at_zero.push(if rival.is_some() { importance } else { 0.0 });
        if let Some(rival) = rival {
            *self.slope.listed_mut(truth) = [-importance];
            *self.slope.listed_mut(rival) = [importance];
        }
    }
}

/// −p ln p
#[inline(always)]
fn entropy_of(p: f64) -> f64 {
    if p >= f64::MIN_POSITIVE { -p * ln(p) } else { 0.0 }
}

/// The sums of one predictor's tangents, except S.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Sums {
    /// Σ of the values at z = 0.
    offset: Sum,
    /// Σ c(1 + H). The rounding error of the offset is relative to this.
    magnitude: f64,
    /// Σ ‖g‖‖x‖ and Σ ‖g‖√(features of x), which is at least Σ ‖g‖‖x/N‖. The rounding error of S is
    /// relative to these.
    length: f64,
    breadth: f64,
}

/// Minorants of several predictors side by side. The minorants of disjoint parts of a stream add
/// up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ClassMinorants<T> {
    rounds: u64,
    sums: Vec<Sums>,
    /// Σ c‖x‖ and Σ c√(features of x). Probabilities miss a sum of 1 by a rounding error, and its
    /// effect on S is relative to these.
    lengths: f64,
    breadths: f64,
    slopes: ClassSlopes<T>,
}

impl<T: Beside> ClassMinorants<T> {
    pub(crate) fn new() -> Self {
        Self {
            rounds: 0,
            sums: vec![Sums::default(); T::COUNT],
            lengths: 0.0,
            breadths: 0.0,
            slopes: ClassSlopes::new(),
        }
    }

    pub(crate) fn grow(&mut self, dimension: usize) {
        self.slopes.grow(dimension);
    }

    pub(crate) fn rounds(&self) -> u64 {
        self.rounds
    }

    pub(crate) fn slopes(&self) -> &ClassSlopes<T> {
        &self.slopes
    }

    /// Records the tangents of one round. The features must have a place.
    #[inline(always)]
    pub(crate) fn record(&mut self, x: &Features<'_>, tangents: &Tangents<T>, importance: f64) {
        let (length, breadth) = (x.norm_sq().sqrt(), (x.len() as f64).sqrt());
        self.rounds += 1;
        self.lengths += importance * length;
        self.breadths += importance * breadth;
        for (predictor, (sums, &at_zero)) in self.sums.iter_mut().zip(&tangents.at_zero).enumerate()
        {
            let size = tangents.slope.size(predictor);
            sums.offset.add(at_zero);
            sums.magnitude += importance + at_zero;
            sums.length += size * length;
            sums.breadth += size * breadth;
        }
        self.slopes.add(&tangents.slope, x);
    }

    /// The minorant of one predictor for balls of every radius. The balls have no units if there is
    /// a ruler, and the data's own units otherwise.
    pub(crate) fn line(&self, predictor: usize, ruler: Option<&Ruler>) -> Line {
        self.line_by(predictor, &self.slopes, ruler)
    }

    /// The same with these slopes.
    pub(crate) fn line_by(
        &self,
        predictor: usize,
        slopes: &ClassSlopes<T>,
        ruler: Option<&Ruler>,
    ) -> Line {
        // A feature that was not measured has the unit 0. The norm is then infinite and proves
        // nothing.
        let largest = |ruler: &Ruler, feature: usize| ruler.largest().get(feature).copied();
        let unit = |feature| ruler.map_or(1.0, |r| f64::from(largest(r, feature).unwrap_or(0.0)));
        let norm = slopes.norm(predictor, unit);
        Line::straight(self.sums[predictor].offset.value(), norm, self.slack(predictor, ruler))
    }

    /// How far rounding can have moved the offset, and S in norm.
    ///
    /// The offset: probabilities miss a sum of 1 by some units in the last place. Entropies have as
    /// many roundings, and so has their sum, which is compensated.
    ///
    /// S: T additions, each off by half a unit in the last place of sums that are no longer than
    /// Σ ‖g‖‖x‖, and once more wherever parts of the stream were joined. Slopes, levels and the norm
    /// have a few roundings of Σ ‖g‖‖x‖, which is at most three times Σ c‖x‖, and probabilities miss a
    /// sum of 1 by some units in the last place. This last term is also far larger than the loss from products
    /// that underflow, because importances are at least 1e-30.
    pub(crate) fn slack(&self, predictor: usize, ruler: Option<&Ruler>) -> (f64, f64) {
        let sums = &self.sums[predictor];
        let (size, sizes) = match ruler {
            None => (sums.length, self.lengths),
            Some(_) => (sums.breadth, self.breadths),
        };
        let per_unit = f64::EPSILON * (2.0 * self.rounds as f64 * size + 64.0 * sizes);
        (64.0 * f64::EPSILON * sums.magnitude, per_unit)
    }

    pub(crate) fn rearrange(&mut self, from: &[u32]) {
        self.slopes.rearrange(from);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.rounds += other.rounds;
        self.lengths += other.lengths;
        self.breadths += other.breadths;
        for (own, theirs) in self.sums.iter_mut().zip(&other.sums) {
            own.offset.merge(theirs.offset);
            own.magnitude += theirs.magnitude;
            own.length += theirs.length;
            own.breadth += theirs.breadth;
        }
        self.slopes.merge(&other.slopes);
    }

    /// The minorants of the rounds since an earlier state. What the earlier rounds lost is in both, and
    /// cancels. Every addition since then was off by half a unit in the last place of sums over all
    /// rounds, so the sizes that the allowance is relative to are those of all rounds.
    pub(crate) fn since(&self, mut earlier: Self) -> Self {
        let mut since = self.clone();
        since.rounds = self.rounds.saturating_sub(earlier.rounds);
        for (own, before) in since.sums.iter_mut().zip(&earlier.sums) {
            own.offset = own.offset.since(before.offset);
        }
        earlier.slopes.scale(-1.0);
        since.slopes.merge(&earlier.slopes);
        since
    }

    /// The minorants of a base and of the rounds that parts of it have added. The slopes of each, and
    /// of the result, come in two matrices, of which the minorants have the first.
    pub(crate) fn of_parts(
        (base, rest): (&Self, &ClassSlopes<T>),
        parts: &[(&Self, &ClassSlopes<T>)],
        shares: &[f64],
    ) -> (Self, ClassSlopes<T>) {
        let added = |of: &dyn Fn(&Self) -> f64| {
            parts.iter().fold(of(base), |sum, (part, _)| sum + (of(part) - of(base)).max(0.0))
        };
        let sums = |k: usize| {
            let mut offset = base.sums[k].offset;
            for (part, _) in parts {
                offset.merge(part.sums[k].offset.since(base.sums[k].offset));
            }
            Sums {
                offset,
                magnitude: added(&|one| one.sums[k].magnitude),
                length: added(&|one| one.sums[k].length),
                breadth: added(&|one| one.sums[k].breadth),
            }
        };
        let all: Vec<_> = parts.iter().map(|(part, rest)| [&part.slopes, *rest]).collect();
        let features = parts.iter().map(|(part, _)| part.slopes.len());
        let features = features.fold(base.slopes.len(), usize::max);
        let [slopes, rest] = ClassSlopes::of_parts([&base.slopes, rest], &all, shares, features);
        let more = parts.iter().map(|(part, _)| part.rounds.saturating_sub(base.rounds));
        let merged = Self {
            rounds: more.fold(base.rounds, u64::saturating_add),
            sums: (0..T::COUNT).map(sums).collect(),
            lengths: added(&|one| one.lengths),
            breadths: added(&|one| one.breadths),
            slopes,
        };
        (merged, rest)
    }

    /// Gives the classes other numbers, as [`ClassSlopes::renumber`] does.
    pub(crate) fn renumber(&mut self, to: &[u32], same: u32) {
        self.slopes.renumber(to, same);
    }

    /// Takes the features from `from` on out of the slopes.
    pub(crate) fn split_slopes(&mut self, from: usize) -> ClassSlopes<T> {
        self.slopes.split_off(from)
    }

    /// Appends the features of other slopes.
    pub(crate) fn append_slopes(&mut self, others: ClassSlopes<T>) {
        self.slopes.append(others);
    }

    /// Whether these sums, which were read from a file, can be minorants for this many classes.
    pub(crate) fn is_sound(&self, classes: u32) -> bool {
        let is_size = |size: f64| (0.0..=f64::MAX).contains(&size);
        let are_sums = |sums: &Sums| {
            sums.offset.value().is_finite()
                && [sums.magnitude, sums.length, sums.breadth].into_iter().all(is_size)
        };
        self.sums.len() == T::COUNT
            && self.sums.iter().all(are_sums)
            && is_size(self.lengths)
            && is_size(self.breadths)
            && self.slopes.is_sound(classes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ExactSum;
    use crate::number::Positive;

    /// Records tangents at a row of one feature.
    fn record(
        minorants: &mut ClassMinorants<[f64; 1]>,
        (value, c): (f32, f64),
        tangent: impl Fn(&mut Tangents<[f64; 1]>),
    ) {
        let mut tangents = Tangents::default();
        tangent(&mut tangents);
        minorants.grow(1);
        minorants.record(&Features::new(&[0], &[value]).unwrap(), &tangents, c);
    }

    /// Two classes share nearly everything, and 28 get 10⁻³⁰⁰. The matrix whose softmax that is has
    /// scores that are hundreds apart. If the probabilities add up to more than 1 by a part of a unit in
    /// the last place, so much of these scores is too much in u·S.
    #[test]
    fn probabilities_that_miss_a_sum_of_1_are_allowed_for() {
        for k in 1..200 {
            let small = f64::from(k) / 1e5;
            let mut shares = [[1e-300]; 30];
            (shares[0], shares[1]) = ([(1.0 - small).next_up()], [small]);
            let mut minorants = ClassMinorants::new();
            record(&mut minorants, (1.0, 1.0), |row| row.of_probabilities(&shares, 0, 1.0));
            let logs = shares.map(|[share]| share.ln());
            let mean = logs.iter().sum::<f64>() / 30.0;
            let scores = logs.map(|log| log - mean);
            let loss = (small / shares[0][0]).ln_1p();
            let mut over = ExactSum::default();
            over.add(minorants.sums[0].offset.value());
            over.add(-loss);
            let mut class = 0;
            minorants.slopes.for_each_of(0, 0, |slope, times| {
                assert_eq!(times, 1.0);
                over.add_product(slope, scores[class]);
                class += 1;
            });
            assert_eq!(class, 30);
            let (at_zero, per_unit) = minorants.slack(0, None);
            let norm = ExactSum::of_squares(scores).root();
            assert!(over.value() <= at_zero + per_unit * norm, "{small}: {:e}", over.value());
        }
    }

    /// Importances of less than half a unit in the last place of S are lost one by one, and a last row of
    /// the other class makes S come out as 0. With a lead of 1 for the first class, all rows lose
    /// nothing but the last one, which loses 2.
    #[test]
    fn every_addition_is_allowed_for() {
        let (mut minorants, small) = (ClassMinorants::new(), 0.49 * f64::EPSILON);
        let rows = [(0, 1.0)].into_iter().chain(std::iter::repeat_n((0, small), 5000));
        for (truth, c) in rows.chain([(1, 1.0)]) {
            record(&mut minorants, (1.0, c), |row| row.of_hinge(truth, Some(1 - truth), c));
        }
        let line = minorants.line(0, None);
        let floor = line.floor(Positive::new(0.75).unwrap());
        assert!((2.0 - 1e-10..=2.0).contains(&floor), "{line:?} {floor}");
    }

    /// Beside 2⁵⁹ a half is lost, so the later rows leave S as it is. But they are all of one class, and a
    /// matrix of norm 1 saves two thirds of their entropy.
    #[test]
    fn rounds_since_an_earlier_state_may_be_lost_beside_it() {
        let mut minorants = ClassMinorants::new();
        let half = |row: &mut Tangents<[f64; 1]>| row.of_probabilities(&[[0.5], [0.5]], 0, 1.0);
        record(&mut minorants, (60_f32.exp2(), 1.0), half);
        let earlier = minorants.clone();
        (0..10).for_each(|_| record(&mut minorants, (1.0, 1.0), half));
        assert_eq!(minorants.slopes, earlier.slopes);
        let line = minorants.since(earlier).line(0, None);
        let best = 10.0 * (-2_f64.sqrt()).exp().ln_1p();
        assert!(line.floor(Positive::ONE) <= best, "{line:?} {best}");
    }
}
