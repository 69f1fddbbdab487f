//! The bank's top for two classes in the logistic loss.
//!
//! A lane's score is moderated by its own uncertainty, z = f/√(1 + πs/8), and clipped to ±12. The
//! mixer learns from all z. Lanes, filters, mixer, base rate and witnesses are then experts whose
//! probabilities are mixed by Bayes' rule. The witnesses are clipped only to ±30, which gives the
//! bank their theorem.

use super::bayes::Bayes;
use super::eight::{Eight, within};
use super::experts::{
    BASE, EXPERTS, Each, EachWitness, Expert, MIXER, WITNESS, described, prior_with,
};
use super::filter::Glance;
use super::filters::{FILTERS, Glances};
use super::lanes::LANES;
use super::log_risks::LogRisks;
use super::merge::Parts;
use super::mixer::{MIXED, Mixer, Mixture, inputs};
use super::steps;
use super::top::{Cost, Label, Lessons, Top, View};
use crate::elementary::{exp_eight, exp_of_negatives, ln};
use rueful_machine::Numbers as _;
use rueful_machine::{Eights, Fours, Kernel, Registers};
use serde::{Deserialize, Serialize};

/// π/8
const MODERATION: f32 = std::f32::consts::FRAC_PI_8;
/// Scores of lanes, filters and the mixer are clipped to ± this.
const LONGEST: f32 = 12.0;
/// Scores of the witnesses are clipped to ± this.
const LONGEST_WITNESS: f64 = 30.0;

/// A bound on the change in the loss of a round by roundings in doubles.
const ROUNDINGS: f64 = 128.0 * f64::EPSILON;

/// The top of a bank in the logistic loss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Log {
    mixer: Mixer,
    bayes: Bayes,
    risks: LogRisks,
    /// The number of lanes as which a witness counts in the prior.
    witness: f64,
    /// The importance of the labels +1, and below that of all labels.
    positive: f64,
    all: f64,
}

/// The predictions that are made from a view.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogOpinion {
    mixture: Mixture,
    /// The probability of the label +1, and below that of −1, by expert. Each is computed
    /// accurately.
    up: Each,
    down: Each,
    /// ln(p/(1−p))
    pub(super) logit: f64,
}

/// f/√(1 + πs/8), clipped to ±12.
#[inline(always)]
fn moderated<V: Eights>(mean: V, variance: V) -> V {
    within(mean / (V::all(1.0) + V::all(MODERATION) * variance).sqrt(), LONGEST)
}

/// `moderated` for one belief.
#[inline(always)]
fn moderated_alone(seen: Glance) -> f32 {
    let score = seen.mean / (1.0 + MODERATION * seen.variance).sqrt();
    score.clamp(-LONGEST, LONGEST)
}

/// e^{−|z|}/(1 + e^{−|z|}): the probability of the label that z speaks against.
#[inline(always)]
fn unlikely<V: Eights>(z: V) -> V {
    let small = exp_eight(V::all(0.0) - z.abs());
    small / (V::all(1.0) + small)
}

/// The probabilities of the labels +1 and −1, from that of the label that z speaks against.
#[inline(always)]
fn sided<F: Fours>(z: F, against: F) -> [F; 2] {
    let (zero, rest) = (F::all(0.0), F::all(1.0) - against);
    [z.above(zero, rest, against), z.above(zero, against, rest)]
}

/// f and s of the filters and, behind them, of the mixer.
#[inline(always)]
fn others<V: Eights>(filters: &Glances, mixer: Glance) -> (V, V) {
    let (here, nothing) = (V::load(&BEHIND), V::all(0.0));
    let with = |all: &Eight, number: f32| here.above(nothing, V::all(number), all.load());
    (with(&filters.mean, mixer.mean), with(&filters.variance, mixer.variance))
}

/// 1 at the place of the mixer behind the filters.
const BEHIND: [f32; 8] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0];

impl Log {
    /// A top with witnesses among the experts.
    pub(super) fn new() -> Self {
        Self::hearing(0.5)
    }

    /// A top without witnesses, for a bank whose witnesses have another loss.
    pub(super) fn without_witnesses() -> Self {
        Self::hearing(0.0)
    }

    fn hearing(witness: f64) -> Self {
        Self {
            mixer: Mixer::new(),
            bayes: Bayes::new(prior_with(FILTERS, witness)),
            risks: LogRisks::new(),
            witness,
            positive: 0.0,
            all: 0.0,
        }
    }

    /// The probabilities of both labels, from the scores of the lanes, of filters and mixer, and of
    /// the witnesses.
    #[inline(always)]
    fn probabilities<R: Registers>(
        &self,
        [lanes, others]: [R::Eight; 2],
        witnesses: &EachWitness,
    ) -> [Each; 2] {
        let ([z, more_z], [p, more_p]) = (R::doubles(lanes), R::doubles(unlikely(lanes)));
        let ([other_z, _], [other_p, _]) = (R::doubles(others), R::doubles(unlikely(others)));
        let far = R::Four::all(LONGEST_WITNESS);
        let witness = R::Four::load(witnesses).min(far).max(R::Four::all(-LONGEST_WITNESS));
        let small = exp_of_negatives(R::Four::all(0.0) - witness.abs());
        let fours = [
            sided(z, p),
            sided(more_z, more_p),
            sided(other_z, other_p),
            sided(witness, small / (R::Four::all(1.0) + small)),
        ];
        let mut both = [[0.0; EXPERTS]; 2];
        for (label, each) in both.iter_mut().enumerate() {
            for (place, four) in each.as_chunks_mut().0.iter_mut().zip(&fours) {
                four[label].store(place);
            }
        }
        both[0][BASE] = (self.positive + 0.5) / (self.all + 1.0);
        both[1][BASE] = ((self.all - self.positive) + 0.5) / (self.all + 1.0);
        both
    }
}

impl Top for Log {
    type Opinion = LogOpinion;

    #[inline(always)]
    fn spread(&self) -> f64 {
        1.0
    }

    #[inline(always)]
    fn opine<R: Registers>(
        &self,
        view: &View,
        witnesses: &EachWitness,
        meanwhile: impl Kernel<Out = ()>,
    ) -> LogOpinion {
        let lanes = moderated(view.lanes.mean.load(), view.lanes.variance.load::<R::Eight>());
        let (means, variances) = others::<R::Eight>(&view.filters, Glance::default());
        let mut others = moderated(means, variances).array();
        let inputs = inputs(Eight::of_register(lanes), [others[0], others[1], others[2]]);
        let mixture = self.mixer.see::<R::Eight>(&inputs);
        meanwhile.run::<R>();
        others[FILTERS] = moderated_alone(mixture.glance);
        let [up, down] = self.probabilities::<R>([lanes, R::Eight::load(&others)], witnesses);
        let (of_up, of_down) = (self.bayes.mean::<R::Four>(&up), self.bayes.mean::<R::Four>(&down));
        LogOpinion { mixture, up, down, logit: ln(of_up / of_down) }
    }

    #[inline(always)]
    fn prediction(opinion: &LogOpinion) -> f64 {
        opinion.logit
    }

    #[inline(always)]
    fn learn<R: Registers, K: Kernel>(
        &mut self,
        opinion: &LogOpinion,
        view: &View,
        _witnesses: &EachWitness,
        label: &Label,
        meanwhile: K,
    ) -> (Lessons, K::Out) {
        let (is_up, importance) = (label.value > 0.0, label.importance);
        let (y, c) = (f32::from(is_up), importance as f32);
        self.all += importance;
        self.positive += if is_up { importance } else { 0.0 };

        let (mean, variance) = (view.lanes.mean.load::<R::Eight>(), view.lanes.variance.load());
        let lanes = steps::logistic(mean, variance, y, c).lesson();
        let (means, variances) = others::<R::Eight>(&view.filters, opinion.mixture.glance);
        let others = steps::logistic(means, variances, y, c).lesson();
        let done = meanwhile.run::<R>();
        let mixer = (others.slope.0[FILTERS], others.curvature.0[FILTERS]);
        self.mixer.learn::<R::Eight>(mixer.0, mixer.1, &opinion.mixture);

        let given = if is_up { &opinion.up } else { &opinion.down };
        self.risks.add::<R::Four>(given, importance);
        self.bayes.learn::<R::Four>(given, importance, label.round);
        let each = |x: Eight| [x.0[0], x.0[1], x.0[2]];
        let (slopes, curvatures) = (each(others.slope), each(others.curvature));
        (Lessons { lanes, slopes, curvatures }, done)
    }

    fn merged(parts: &Parts<'_, Self>, rounds: f64) -> Self {
        let positive = parts.added_size(|log| log.positive);
        Self {
            mixer: Mixer::merged(&parts.of(|log| &log.mixer)),
            bayes: Bayes::merged(&parts.of(|log| &log.bayes), rounds),
            risks: LogRisks::merged(&parts.of(|log| &log.risks)),
            witness: parts.base.witness,
            positive,
            all: parts.added_size(|log| log.all).max(positive),
        }
    }

    fn retire(&mut self, filters: usize) {
        self.mixer.retire(LANES + filters);
        self.bayes.retire(prior_with(filters, self.witness));
    }

    fn mixing_weights(&self) -> [f64; MIXED] {
        self.mixer.weights().map(f64::from)
    }

    fn experts(&self, importance: f64) -> Vec<Expert> {
        let sums = self.risks.sums();
        described(self.bayes.prior(), self.bayes.weights(), |place| sums[place] / importance)
    }

    fn mixing_cost(&self, rounds: f64) -> f64 {
        let (sums, prior) = (self.risks.sums(), self.bayes.prior());
        let present = (0..EXPERTS).filter(|&place| prior[place] > 0.0);
        let best = present.min_by(|&a, &b| sums[a].total_cmp(&sums[b])).unwrap_or(MIXER);
        self.bayes.cost(prior_with(FILTERS, self.witness)[best], rounds)
    }

    const PROOF: &'static str = "and c(ln(1/π) + ln T) for mixing by Bayes' rule";

    /// A witness that is clipped to ±30 loses at most e^{−30} more per round than without the
    /// limit.
    fn cost_over_witness(&self, witness: usize, rounds: f64) -> Cost {
        let prior = prior_with(FILTERS, self.witness)[WITNESS + witness];
        let clipped = self.all * (-LONGEST_WITNESS).exp();
        let rounded = ROUNDINGS * self.bayes.largest() * rounds;
        let total = self.bayes.cost(prior, rounds) + clipped + rounded;
        Cost { data: total, theorem: total }
    }

    fn is_sound(&self, filters: usize) -> bool {
        self.mixer.is_sound()
            && [0.0, 0.5].contains(&self.witness)
            && self.bayes.is_sound(&prior_with(filters, self.witness))
            && self.risks.is_sound()
            && (0.0..=self.all).contains(&self.positive)
            && self.all.is_finite()
    }
}

const _: () = assert!(LANES == 8 && MIXER == LANES + FILTERS && WITNESS == 12 && BASE == 16);

#[cfg(test)]
mod tests {
    use super::*;
    use rueful_machine::Plain;

    /// If the mixture of every round is half a unit in the last place too small, that makes more in the
    /// end than ln(1/π) + ln T.
    #[test]
    fn a_rounding_in_every_round_is_allowed_for() {
        let mut top = Log::new();
        top.bayes.learn::<<Plain as Registers>::Four>(&[0.5; EXPERTS], 1.0, 1.0);
        let rounds = 2_f64.powi(80);
        let cost = top.cost_over_witness(0, rounds).data;
        assert!(cost >= 0.5 * f64::EPSILON * rounds, "{cost}");
    }

    /// Where a witness is surer than its limit and right, it loses nothing, and clipped to the limit it
    /// loses ln(1 + e^−30). Over so many rounds that is more than all the rest.
    #[test]
    fn clipping_a_witness_in_every_round_is_paid_for() {
        let (mut top, rounds) = (Log::new(), 2_f64.powi(60));
        top.bayes.learn::<<Plain as Registers>::Four>(&[0.5; EXPERTS], 1.0, 1.0);
        top.all = rounds;
        let cost = top.cost_over_witness(0, rounds).data;
        assert!(cost >= rounds * (-LONGEST_WITNESS).exp().ln_1p(), "{cost}");
    }
}
