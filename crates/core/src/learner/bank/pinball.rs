//! The bank's top for quantiles, and for medians in the absolute loss.
//!
//! ρ(e) = τe for a residual e ≥ 0 and (τ − 1)e below. The loss has only two slopes. So a Kalman
//! filter's step is α = min(4σ/(1 − τ), e/s) for e > 0 and −min(4σ/τ, −e/s) for e < 0, where σ is
//! the running mean of the posterior mean's loss. The step reaches the label if that is not far.
//! Some lanes and a filter keep the square loss, because the mean is a good starting point.
//! AdaHedge takes the place of the aggregating algorithm.

use super::adahedge::AdaHedge;
use super::belief::Belief;
use super::blend::Blend;
use super::eight::Eight;
use super::experts::{EXPERTS, Each, EachWitness, Expert, MEAN, WITNESS, described, prior};
use super::filter::Glance;
use super::filters::FILTERS;
use super::lanes::{LANES, Lesson};
use super::merge::Parts;
use super::mixer::{MIXED, Mixture};
use super::said::{Said, halved, shares};
use super::steps;
use super::targets::Targets;
use super::top::{Cost, Label, Lessons, Top, View};
use crate::witness::WITNESSES;
use rueful_machine::{Kernel, Registers};
use serde::{Deserialize, Serialize};

/// The longest step, in mean losses.
const PATIENCE: f64 = 4.0;
/// The rate at which the posterior mean learns, divided by the mean loss.
const RATE: f64 = 0.3;
/// The number of rounds over which the mean loss is taken.
const MEMORY: f64 = 1000.0;
/// From this lane on, and below from this filter on, the square loss is kept.
const SQUARE_LANES: usize = 6;
const SQUARE_FILTERS: usize = 2;

/// The top of a bank in a pinball loss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Pinball {
    /// τ, and below the factor of the loss: 2 makes the absolute loss for τ = ½.
    tau: f64,
    factor: f64,
    targets: Targets,
    blend: Blend,
    belief: Belief,
    hedge: AdaHedge<EXPERTS>,
    /// σ, and below a running quantile of the labels.
    mean_loss: f64,
    quantile: f64,
    /// The loss of every expert in the first round, in the data's own units.
    first_loss: f64,
    /// The losses of the witnesses that come from clipping to a range that did not contain the
    /// label.
    clipped: EachWitness,
}

/// The predictions that are made from a view.
#[derive(Debug, Clone, Copy)]
pub(super) struct PinballOpinion {
    mixture: Mixture,
    said: Each,
    prediction: f64,
}

impl Pinball {
    /// A top for the quantile τ, in a loss that is `factor` times the pinball loss.
    pub(super) fn new(tau: f64, factor: f64) -> Self {
        let prior = prior(FILTERS);
        Self {
            tau,
            factor,
            targets: Targets::new(),
            blend: Blend::new(),
            belief: Belief::new(prior),
            hedge: AdaHedge::new(halved(&prior)),
            mean_loss: 0.0,
            quantile: 0.0,
            first_loss: 0.0,
            clipped: [0.0; WITNESSES],
        }
    }

    /// ρ(e)
    #[inline(always)]
    fn loss(&self, residual: f64) -> f64 {
        if residual > 0.0 { self.tau * residual } else { (self.tau - 1.0) * residual }
    }

    /// Handles a label outside the range: the clipped prediction of a witness may be farther from
    /// it than the prediction itself.
    #[cold]
    #[inline(never)]
    fn widen(&mut self, said: &Each, witnesses: &EachWitness, y: f64, c: f64) {
        for (j, &witness) in witnesses.iter().enumerate() {
            let alone = self.loss(y - self.targets.inward(witness));
            self.clipped[j] += c * (self.loss(y - said[WITNESS + j]) - alone).max(0.0);
        }
    }

    #[inline(always)]
    fn judge<R: Registers>(&mut self, opinion: &PinballOpinion, y: f64, label: &Label) {
        let lost = opinion.said.map(|z| self.loss(y - z));
        let c = label.importance;
        self.hedge.learn(&lost.map(|loss| c * loss));
        let mean_loss = lost[MEAN];
        self.mean_loss += (mean_loss - self.mean_loss) / (label.round - 1.0).min(MEMORY);
        if self.mean_loss > 0.0 {
            self.belief.learn::<R>(&lost, mean_loss, RATE / self.mean_loss, label.round);
        }
        // The running quantile makes a step towards the label, but not beyond it.
        let (weight, residual) = (self.targets.weight(), y - self.quantile);
        let step = if residual > 0.0 {
            (self.mean_loss / (1.0 - self.tau)).min(residual * weight / c)
        } else {
            (-self.mean_loss / self.tau).max(residual * weight / c)
        };
        self.quantile += step * c / weight;
    }
}

impl Top for Pinball {
    type Opinion = PinballOpinion;

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
    ) -> PinballOpinion {
        let base = self.targets.clipped(self.quantile);
        let Said { mut said, mixture } =
            Said::new::<R::Eight>(view, witnesses, base, &self.targets, &self.blend);
        meanwhile.run::<R>();
        said[MEAN] = self.belief.mean::<R::Four>(&said);
        let out = self.hedge.mean(&said);
        PinballOpinion { mixture, said, prediction: self.targets.outward(out) }
    }

    #[inline(always)]
    fn prediction(opinion: &PinballOpinion) -> f64 {
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
        self.hedge.stretch(factor);
        self.mean_loss *= factor;
        self.quantile *= factor;
        self.clipped.iter_mut().for_each(|loss| *loss *= factor);
    }

    #[inline(always)]
    fn learn<R: Registers, K: Kernel>(
        &mut self,
        opinion: &PinballOpinion,
        view: &View,
        witnesses: &EachWitness,
        label: &Label,
        meanwhile: K,
    ) -> (Lessons, K::Out) {
        let c = label.importance;
        if label.round == 1.0 {
            self.first_loss = c * self.loss(label.value);
        }
        let before = self.targets.range();
        let y = self.targets.learn(label.value, c);
        let (range, spread) = (self.targets.range(), self.targets.spread());
        if range > before {
            self.widen(&opinion.said, witnesses, y, c);
        }
        let most = c * PATIENCE * self.mean_loss;
        let (up, down) = (most / (1.0 - self.tau), most / self.tau);
        let single = c as f32;

        let within = |residual: f64| residual.clamp(-range, range) as f32;
        let residual = Eight::of(|k| within(y - f64::from(view.lanes.mean.0[k])));
        let variance = view.lanes.variance.load::<R::Eight>();
        let mut slope = Eight::of_register(steps::square(residual.load(), variance, single));
        for k in 1..SQUARE_LANES {
            let residual = y as f32 - view.lanes.mean.0[k];
            slope.0[k] = steps::pinball(residual, view.lanes.variance.0[k], up as f32, down as f32);
        }
        let first = y - f64::from(view.lanes.mean.0[0]);
        let sign = if first > 0.0 { self.tau } else { self.tau - 1.0 };
        slope.0[0] = if first == 0.0 { 0.0 } else { (c * sign) as f32 };
        let slope = Eight(slope.0.map(|a| a.clamp(-steps::STEEPEST, steps::STEEPEST)));

        let slopes = std::array::from_fn(|k| {
            let Glance { mean, variance } = view.filters.get(k);
            let residual = y as f32 - mean;
            if k < SQUARE_FILTERS {
                steps::pinball(residual, variance, up as f32, down as f32)
            } else {
                steps::square_alone(residual, variance, single)
            }
        });
        let unit = self.blend.unit();
        let own = self.blend.residual(y, &opinion.mixture);
        let variance = opinion.mixture.glance.variance;
        let own = steps::pinball(own, variance, (up / unit) as f32, (down / unit) as f32);
        if label.round > 2.0 {
            self.blend.learn::<R::Eight>(own, single, &opinion.mixture);
        }
        let done = meanwhile.run::<R>();
        if label.round > 1.0 {
            self.judge::<R>(opinion, y, label);
        }
        self.blend.follow(spread);
        let lanes = Lesson { slope, curvature: Eight::all(single) };
        (Lessons { lanes, slopes, curvatures: [single; FILTERS] }, done)
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
            tau: parts.base.tau,
            factor: parts.base.factor,
            blend: Blend::merged(&parts.of(|top| &top.blend), targets.spread()),
            belief: Belief::merged(&parts.of(|top| &top.belief), rounds),
            hedge: AdaHedge::merged(&parts.of(|top| &top.hedge)),
            mean_loss: parts.mean(|top| top.mean_loss),
            quantile: parts.mean(|top| top.quantile),
            first_loss: parts.parts[0].0.first_loss,
            clipped: parts.of(|top| &top.clipped).added_sizes(),
            targets,
        }
    }

    fn retire(&mut self, filters: usize) {
        let prior = prior(filters);
        self.blend.retire(filters);
        self.belief.retire(prior);
        self.hedge.retire(halved(&prior));
    }

    fn mixing_weights(&self) -> [f64; MIXED] {
        self.blend.weights().map(|weight| weight * self.targets.unit())
    }

    fn experts(&self, importance: f64) -> Vec<Expert> {
        let unit = self.targets.unit();
        let total = |place: usize| self.hedge.losses()[place] * unit + self.first_loss;
        let risk = |place: usize| self.factor * total(place) / importance;
        let share = shares(self.hedge.weights(), self.belief.weights());
        described(self.belief.prior(), &share, risk)
    }

    fn mixing_cost(&self, _rounds: f64) -> f64 {
        let (now, first) = (self.belief.prior(), prior(FILTERS));
        let losses = self.hedge.losses();
        let present = (0..EXPERTS).filter(|&place| now[place] > 0.0);
        let best = present.min_by(|&a, &b| losses[a].total_cmp(&losses[b])).unwrap_or(MIXED);
        self.factor * self.targets.unit() * self.hedge.cost(0.5 * first[best])
    }

    const PROOF: &'static str = "and (1 + ln(1/π)/ln 8)Δ for mixing by AdaHedge";

    fn cost_over_witness(&self, witness: usize, rounds: f64) -> Cost {
        let prior = 0.5 * prior(FILTERS)[WITNESS + witness];
        let rounded = self.hedge.rounded(rounds) + self.targets.weight() * self.targets.rounding();
        let beside = self.clipped[witness] + rounded;
        let unit = self.factor * self.targets.unit();
        Cost {
            data: unit * (self.hedge.cost(prior) + beside),
            theorem: unit * (self.hedge.most_cost(prior, rounds) + beside),
        }
    }

    fn is_sound(&self, filters: usize) -> bool {
        let prior = prior(filters);
        self.targets.is_sound()
            && self.blend.is_sound()
            && self.belief.is_sound(&prior)
            && self.hedge.is_sound(&halved(&prior))
            && [self.mean_loss, self.first_loss]
                .iter()
                .chain(&self.clipped)
                .all(|x| x.is_finite() && *x >= 0.0)
            && self.quantile.is_finite()
    }
}

const _: () = assert!(SQUARE_LANES < LANES && SQUARE_FILTERS < FILTERS);

#[cfg(test)]
mod tests {
    use super::super::top::tests::rounded_to_the_wrong_label;
    use super::*;

    #[test]
    fn predictions_that_are_rounded_to_the_wrong_label_are_allowed_for() {
        rounded_to_the_wrong_label(Pinball::new(0.5, 2.0), |prediction, label| {
            (prediction - label).abs()
        });
    }

    /// Experts whose losses differ by 1, once. If the mean of the experts is half a unit in the last place
    /// off in every round, that makes more than Δ in the end.
    #[test]
    fn a_rounding_in_every_round_is_allowed_for() {
        let mut top = Pinball::new(0.5, 1.0);
        top.hedge.learn(&std::array::from_fn(|k| if k == 0 { 1.0 } else { 0.0 }));
        let rounds = 2_f64.powi(80);
        let cost = top.cost_over_witness(0, rounds).data;
        assert!(cost >= 0.5 * f64::EPSILON * rounds, "{cost}");
    }
}
