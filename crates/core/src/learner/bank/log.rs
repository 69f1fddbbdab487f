//! The bank's top for two classes in the logistic loss.
//!
//! A lane's score is moderated by its own uncertainty, z = f/√(1 + πs/8), and clipped to ±12. The mixer
//! learns from all z. Lanes, filters, mixer, base rate and witnesses are then experts whose
//! probabilities are mixed by Bayes' rule; the witnesses are clipped to ±30 only, which gives the
//! bank their theorem.

use super::bayes::Bayes;
use super::eight::Eight;
use super::elementary::{exp, exp_eight, ln};
use super::experts::{
    BASE, EXPERTS, Each, EachWitness, Expert, MIXER, WITNESS, described, prior_with,
};
use super::filters::FILTERS;
use super::lanes::LANES;
use super::log_risks::LogRisks;
use super::mixer::{MIXED, Mixer, Mixture, inputs};
use super::steps;
use super::top::{Cost, Label, Lessons, Top, View};
use serde::{Deserialize, Serialize};

/// π/8
const MODERATION: f32 = std::f32::consts::FRAC_PI_8;
/// Scores of lanes, filters and the mixer lie within ± this,
const LONGEST: f32 = 12.0;
/// and those of the witnesses within ± that.
const LONGEST_WITNESS: f64 = 30.0;

/// By how much roundings in doubles move the loss of a round at most.
const ROUNDINGS: f64 = 128.0 * f64::EPSILON;

/// The top of a bank in the logistic loss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Log {
    mixer: Mixer,
    bayes: Bayes,
    risks: LogRisks,
    /// As how many lanes a witness counts in the prior.
    witness: f64,
    /// Importance of the labels +1, and of all.
    positive: f64,
    all: f64,
}

/// What was made of a view.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogOpinion {
    mixture: Mixture,
    /// The probability of the label +1 and that of −1, by expert: each accurate for itself.
    up: Each,
    down: Each,
    /// ln(p/(1−p))
    pub(super) logit: f64,
}

/// f/√(1 + πs/8), within ±12.
#[inline(always)]
fn moderated(mean: Eight, variance: Eight) -> Eight {
    (mean / (Eight::ONE + Eight::all(MODERATION) * variance).sqrt()).within(LONGEST)
}

/// e^{−|z|}/(1 + e^{−|z|}): the probability of the label that z speaks against.
#[inline(always)]
fn unlikely(z: Eight) -> Eight {
    let small = exp_eight(Eight::ZERO - z.abs());
    small / (Eight::ONE + small)
}

/// Both probabilities, from that of the label which z speaks against.
#[inline(always)]
fn sided((against, z_is_positive): (f64, bool)) -> (f64, f64) {
    let rest = 1.0 - against;
    if z_is_positive { (rest, against) } else { (against, rest) }
}

impl Log {
    /// With witnesses among the experts.
    pub(super) fn new() -> Self {
        Self::hearing(0.5)
    }

    /// Without them, where they speak of another loss.
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

    /// Probabilities from scores: lanes, and then filters and mixer.
    #[inline(always)]
    fn probabilities(&self, z: [Eight; 2], witnesses: &EachWitness) -> (Each, Each) {
        let (mut up, mut down) = ([0.0; EXPERTS], [0.0; EXPERTS]);
        for (block, z) in z.into_iter().enumerate() {
            let against = unlikely(z);
            for lane in 0..8 {
                let place = 8 * block + lane;
                if place <= MIXER {
                    let both = (against.0[lane].into(), z.0[lane] > 0.0);
                    (up[place], down[place]) = sided(both);
                }
            }
        }
        for (j, &score) in witnesses.iter().enumerate() {
            let z = score.clamp(-LONGEST_WITNESS, LONGEST_WITNESS);
            let small = exp(-z.abs());
            (up[WITNESS + j], down[WITNESS + j]) = sided((small / (1.0 + small), z > 0.0));
        }
        up[BASE] = (self.positive + 0.5) / (self.all + 1.0);
        down[BASE] = ((self.all - self.positive) + 0.5) / (self.all + 1.0);
        (up, down)
    }
}

impl Top for Log {
    type Opinion = LogOpinion;

    #[inline(always)]
    fn spread(&self) -> f64 {
        1.0
    }

    #[inline(always)]
    fn opine(&self, view: &View, witnesses: &EachWitness) -> LogOpinion {
        let lanes = moderated(view.lanes.mean, view.lanes.variance);
        let [mut means, mut variances] = [Eight::ZERO; 2];
        for (k, seen) in view.filters.iter().enumerate() {
            (means.0[k], variances.0[k]) = (seen.mean, seen.variance);
        }
        let filters = moderated(means, variances);
        let inputs = inputs(lanes, [filters.0[0], filters.0[1], filters.0[2]]);
        let mixture = self.mixer.see(&inputs);
        let mixed = moderated(Eight::all(mixture.glance.mean), Eight::all(mixture.glance.variance));
        let mut others = filters;
        others.0[FILTERS] = mixed.0[0];
        let (up, down) = self.probabilities([lanes, others], witnesses);
        let logit = ln(self.bayes.mean(&up) / self.bayes.mean(&down));
        LogOpinion { mixture, up, down, logit }
    }

    #[inline(always)]
    fn prediction(opinion: &LogOpinion) -> f64 {
        opinion.logit
    }

    #[inline(always)]
    fn learn(
        &mut self,
        opinion: &LogOpinion,
        view: &View,
        _witnesses: &EachWitness,
        label: &Label,
    ) -> Lessons {
        let (is_up, importance) = (label.value > 0.0, label.importance);
        let (y, c) = (f32::from(is_up), importance as f32);
        self.all += importance;
        self.positive += if is_up { importance } else { 0.0 };

        let lanes = steps::logistic(view.lanes.mean, view.lanes.variance, y, c);
        let [mut means, mut variances] = [Eight::ZERO; 2];
        for (k, seen) in view.filters.iter().chain([&opinion.mixture.glance]).enumerate() {
            (means.0[k], variances.0[k]) = (seen.mean, seen.variance);
        }
        let others = steps::logistic(means, variances, y, c);
        self.mixer.learn(others.slope.0[FILTERS], others.curvature.0[FILTERS], &opinion.mixture);

        let given = if is_up { &opinion.up } else { &opinion.down };
        self.risks.add(given, importance);
        self.bayes.learn(given, importance, label.round);
        let each = |x: Eight| [x.0[0], x.0[1], x.0[2]];
        Lessons { lanes, slopes: each(others.slope), curvatures: each(others.curvature) }
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

    /// A witness within ±30 loses at most e^{−30} more than without a limit.
    fn cost_over_witness(&self, witness: usize, rounds: f64) -> Cost {
        let prior = prior_with(FILTERS, self.witness)[WITNESS + witness];
        let clipped = self.all * (-LONGEST_WITNESS).exp();
        let rounded = ROUNDINGS * self.bayes.largest() * rounds;
        let total = self.bayes.cost(prior, rounds) + 1.01 * clipped + rounded;
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
