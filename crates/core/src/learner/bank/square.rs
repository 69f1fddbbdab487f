//! The bank's top for numbers in the square loss.
//!
//! The predictions of lanes and filters are clipped to the range of the labels seen so far. The
//! mixer learns from all of them. The posterior mean of lanes, filters, mixer, base rate and
//! witnesses is one more expert of the aggregating algorithm, with half of the prior. The bank
//! predicts what the aggregating algorithm does.

use super::aggregate::Aggregate;
use super::belief::Belief;
use super::blend::Blend;
use super::eight::Eight;
use super::experts::{EXPERTS, Each, EachWitness, Expert, MEAN, WITNESS, described, prior};
use super::filters::FILTERS;
use super::lanes::{LANES, Lesson};
use super::merge::Parts;
use super::mixer::{MIXED, Mixture};
use super::said::{Said, halved, shares};
use super::steps;
use super::targets::{Targets, residuals};
use super::top::{Cost, Label, Lessons, Top, View};
use crate::witness::WITNESSES;
use rueful_machine::{Kernel, Registers};
use serde::{Deserialize, Serialize};

/// The top of a bank in the square loss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct SquareTop {
    targets: Targets,
    blend: Blend,
    belief: Belief,
    aggregate: Aggregate,
    /// The running mean of the posterior mean's squared error.
    error: f64,
    /// The losses of the experts, in squared units, and below those of the first round in the
    /// data's own.
    losses: Each,
    first_loss: f64,
    /// The losses of the witnesses that come from clipping to a range that did not contain the
    /// label.
    clipped: EachWitness,
}

/// The predictions that are made from a view.
#[derive(Debug, Clone, Copy)]
pub(super) struct SquareOpinion {
    mixture: Mixture,
    said: Each,
    out: f64,
    prediction: f64,
}

impl SquareTop {
    pub(super) fn new() -> Self {
        let prior = prior(FILTERS);
        Self {
            targets: Targets::new(),
            blend: Blend::new(),
            belief: Belief::new(prior),
            aggregate: Aggregate::new(halved(&prior)),
            error: 0.0,
            losses: [0.0; EXPERTS],
            first_loss: 0.0,
            clipped: [0.0; WITNESSES],
        }
    }

    /// Handles a label outside the range: the clipped prediction of a witness may be farther from
    /// it than the prediction itself.
    #[cold]
    #[inline(never)]
    fn widen(&mut self, said: &Each, witnesses: &EachWitness, y: f64, c: f64) {
        let lost = |z: f64| (z - y) * (z - y);
        for (j, clipped) in self.clipped.iter_mut().enumerate() {
            let alone = lost(self.targets.inward(witnesses[j]));
            *clipped += c * (lost(said[WITNESS + j]) - alone).max(0.0);
        }
    }

    /// Lets belief and aggregation learn, once labels have a range that was known before.
    #[inline(always)]
    fn judge<R: Registers>(&mut self, opinion: &SquareOpinion, y: f64, label: &Label) {
        let lost = opinion.said.map(|z| (z - y) * (z - y));
        let c = label.importance;
        self.losses.iter_mut().zip(&lost).for_each(|(sum, loss)| *sum += c * loss);
        let range = self.targets.range();
        if label.round > 2.0 && range > 0.0 {
            let mean_loss = lost[MEAN];
            self.error += (mean_loss - self.error) / (label.round - 2.0);
            let rate = 0.5 / self.error.max(1e-200);
            self.belief.learn::<R>(&lost, mean_loss, rate, label.round);
            let own = (opinion.out - y) * (opinion.out - y);
            self.aggregate.learn::<R>(&lost, own, c, label.round, range);
        }
    }
}

impl Top for SquareTop {
    type Opinion = SquareOpinion;

    #[inline(always)]
    fn spread(&self) -> f64 {
        self.targets.spread()
    }

    #[inline(always)]
    fn opine<R: Registers>(
        &self,
        view: &View,
        witnesses: &EachWitness,
        meanwhile: impl Kernel<Out = ()>,
    ) -> SquareOpinion {
        let base = self.targets.mean;
        let Said { mut said, mixture } =
            Said::new::<R::Eight>(view, witnesses, base, &self.targets, &self.blend);
        meanwhile.run::<R>();
        said[MEAN] = self.belief.mean::<R::Four>(&said);
        let has_range = self.targets.range() > 0.0;
        let out = if has_range {
            self.aggregate.substitute::<R::Eight>(&said, &self.targets)
        } else {
            said[MEAN]
        };
        SquareOpinion { mixture, said, out, prediction: self.targets.outward(out) }
    }

    #[inline(always)]
    fn prediction(opinion: &SquareOpinion) -> f64 {
        opinion.prediction
    }

    #[inline(always)]
    fn stretch_for(&self, label: f64) -> f32 {
        self.targets.stretch_for(label)
    }

    #[cold]
    fn stretch(&mut self, factor: f32) {
        let factor = f64::from(factor);
        self.targets.stretch(factor);
        self.blend.stretch(factor);
        self.aggregate.stretch(factor);
        self.error *= factor * factor;
        let losses = self.losses.iter_mut().chain(&mut self.clipped);
        losses.for_each(|loss| *loss *= factor * factor);
    }

    #[inline(always)]
    fn learn<R: Registers, K: Kernel>(
        &mut self,
        opinion: &SquareOpinion,
        view: &View,
        witnesses: &EachWitness,
        label: &Label,
        meanwhile: K,
    ) -> (Lessons, K::Out) {
        let c = label.importance;
        if label.round == 1.0 {
            self.first_loss = c * label.value * label.value;
        }
        let before = self.targets.range();
        let y = self.targets.learn(label.value, c);
        let (range, spread) = (self.targets.range(), self.targets.spread());
        if range > before {
            self.widen(&opinion.said, witnesses, y, c);
        }
        let within = |residual: f64| residual.clamp(-range, range) as f32;
        let residual = Eight::of(|k| within(y - f64::from(view.lanes.mean.0[k])));
        let variance = view.lanes.variance.load::<R::Eight>();
        let slope = Eight::of_register(steps::square(residual.load(), variance, c as f32));
        let first = if spread > 0.0 { (f64::from(slope.0[0]) / spread) as f32 } else { 0.0 };
        let slope = slope.with_first(first.clamp(-steps::STEEPEST, steps::STEEPEST));

        let left = residuals(y, view.filters.mean);
        let own = self.blend.residual(y, &opinion.mixture);
        let step = |k: usize| steps::square_alone(left[k], view.filters.variance.0[k], c as f32);
        let own = steps::square_alone(own, opinion.mixture.glance.variance, c as f32);
        if label.round > 2.0 {
            self.blend.learn::<R::Eight>(own, c as f32, &opinion.mixture);
        }
        let done = meanwhile.run::<R>();
        self.judge::<R>(opinion, y, label);
        self.blend.follow(spread);
        let lanes = Lesson { slope, curvature: Eight::all(c as f32) };
        let slopes = std::array::from_fn(step);
        (Lessons { lanes, slopes, curvatures: [c as f32; FILTERS] }, done)
    }

    fn targets(&self) -> Option<&Targets> {
        Some(&self.targets)
    }

    fn targets_mut(&mut self) -> Option<&mut Targets> {
        Some(&mut self.targets)
    }

    fn merged(parts: &Parts<'_, Self>, rounds: f64) -> Self {
        let targets = Targets::merged(&parts.of(|top| &top.targets));
        Self {
            blend: Blend::merged(&parts.of(|top| &top.blend), targets.spread()),
            belief: Belief::merged(&parts.of(|top| &top.belief), rounds),
            aggregate: Aggregate::merged(&parts.of(|top| &top.aggregate), rounds),
            error: parts.mean(|top| top.error),
            losses: parts.of(|top| &top.losses).added_sizes(),
            first_loss: parts.parts[0].0.first_loss,
            clipped: parts.of(|top| &top.clipped).added_sizes(),
            targets,
        }
    }

    fn retire(&mut self, filters: usize) {
        let prior = prior(filters);
        self.blend.retire(filters);
        self.belief.retire(prior);
        self.aggregate.retire(halved(&prior));
    }

    fn mixing_weights(&self) -> [f64; MIXED] {
        self.blend.weights().map(|weight| weight * self.targets.unit())
    }

    fn experts(&self, importance: f64) -> Vec<Expert> {
        let unit_sq = self.targets.unit() * self.targets.unit();
        let risk = |place: usize| (self.losses[place] * unit_sq + self.first_loss) / importance;
        let share = shares(self.aggregate.weights(), self.belief.weights());
        described(self.belief.prior(), &share, risk)
    }

    fn mixing_cost(&self, rounds: f64) -> f64 {
        let (now, first) = (self.belief.prior(), prior(FILTERS));
        let present = (0..LANES + FILTERS + 6).filter(|&place| now[place] > 0.0);
        let best = present.min_by(|&a, &b| self.losses[a].total_cmp(&self.losses[b]));
        let cost = self.aggregate.cost(0.5 * first[best.unwrap_or(MIXED)], rounds);
        cost * self.targets.unit() * self.targets.unit()
    }

    const PROOF: &'static str =
        "and c(hi − lo)²/2·(ln(1/π) + ln T) for mixing by the aggregating algorithm";

    fn cost_over_witness(&self, witness: usize, rounds: f64) -> Cost {
        let (range, unit) = (self.targets.range(), self.targets.unit());
        let prior = 0.5 * prior(FILTERS)[WITNESS + witness];
        let mixing = self.aggregate.cost(prior, rounds) + self.clipped[witness];
        let rounded = self.aggregate.rounded(rounds)
            + self.targets.weight() * range * self.targets.rounding();
        let total = (mixing + rounded) * unit * unit;
        Cost { data: total, theorem: total }
    }

    fn is_sound(&self, filters: usize) -> bool {
        let prior = prior(filters);
        self.targets.is_sound()
            && self.blend.is_sound()
            && self.belief.is_sound(&prior)
            && self.aggregate.is_sound(&halved(&prior))
            && self
                .losses
                .iter()
                .chain(&self.clipped)
                .chain([&self.error])
                .all(|x| x.is_finite() && *x >= 0.0)
            && self.first_loss >= 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::top::tests::rounded_to_the_wrong_label;
    use super::*;
    use rueful_machine::Plain;

    /// Labels in a range of 1. If the mixture of every round is half a unit in the last place too small,
    /// that makes more in the end than ln(1/π) + ln T.
    #[test]
    fn a_rounding_in_every_round_is_allowed_for() {
        let mut top = SquareTop::new();
        top.aggregate.learn::<Plain>(&[0.5; EXPERTS], 0.5, 1.0, 1.0, 1.0);
        for label in [0.0, 1.0] {
            top.targets.learn(label, 1.0);
        }
        let rounds = 2_f64.powi(80);
        let cost = top.cost_over_witness(0, rounds).data;
        // The factor from the logarithm of the mixture to the bound is (hi − lo)²/2.
        assert!(cost >= 0.5 * 0.5 * f64::EPSILON * rounds, "{cost}");
    }

    #[test]
    fn predictions_that_are_rounded_to_the_wrong_label_are_allowed_for() {
        rounded_to_the_wrong_label(SquareTop::new(), |prediction, label| {
            (prediction - label).powi(2)
        });
    }
}
