//! The bank's top for two classes in the hinge loss.
//!
//! The top of the logistic loss, unchanged, gives the probabilities of the classes. AdaHedge mixes
//! decisions that are made from its logit with the witnesses of the hinge loss, clipped to ±1.

use super::adahedge::AdaHedge;
use super::experts::{EachWitness, Expert, RADII};
use super::log::{Log, LogOpinion};
use super::merge::Parts;
use super::mixer::MIXED;
use super::top::{Cost, Label, Lessons, Top, View};
use crate::witness::WITNESSES;
use rueful_machine::{Kernel, Registers};
use serde::{Deserialize, Serialize};

/// The number of experts: first the decisions, then the witnesses.
const VOICES: usize = DECISIONS + WITNESSES;
const DECISIONS: usize = 3;

/// The names, for people, of the decisions that are made from a logit z.
const NAMES: [&str; DECISIONS] = ["sign of the logit", "4 logits within 1", "logit within 1"];

/// The prior: ½, ¼ and ⅛ for the decisions, and the rest for the witnesses.
const PRIOR: [f64; VOICES] = [0.5, 0.25, 0.125, 0.03125, 0.03125, 0.03125, 0.03125];

/// The top of a bank in the hinge loss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct HingeTop {
    log: Log,
    hedge: AdaHedge<VOICES>,
}

/// The predictions that are made from a view.
#[derive(Debug, Clone, Copy)]
pub(super) struct HingeOpinion {
    log: LogOpinion,
    said: [f64; VOICES],
    prediction: f64,
}

impl HingeTop {
    pub(super) fn new() -> Self {
        Self { log: Log::without_witnesses(), hedge: AdaHedge::new(PRIOR) }
    }
}

impl Top for HingeTop {
    type Opinion = HingeOpinion;

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
    ) -> HingeOpinion {
        // The witnesses here are those of the hinge loss, so the logit is made without them.
        let log = self.log.opine::<R>(view, &[0.0; WITNESSES], meanwhile);
        let logit = log.logit;
        let sign = if logit == 0.0 { 0.0 } else { logit.signum() };
        let within = |score: f64| score.clamp(-1.0, 1.0);
        let mut said = [sign, within(4.0 * logit), within(logit), 0.0, 0.0, 0.0, 0.0];
        for (said, &witness) in said[DECISIONS..].iter_mut().zip(witnesses) {
            *said = within(witness);
        }
        // The mean of the decisions lies between them, and a rounding must not take it beyond.
        HingeOpinion { log, said, prediction: within(self.hedge.mean(&said)) }
    }

    #[inline(always)]
    fn prediction(opinion: &HingeOpinion) -> f64 {
        opinion.prediction
    }

    #[inline(always)]
    fn learn<R: Registers, K: Kernel>(
        &mut self,
        opinion: &HingeOpinion,
        view: &View,
        witnesses: &EachWitness,
        label: &Label,
        meanwhile: K,
    ) -> (Lessons, K::Out) {
        let lost = |z: f64| label.importance * (1.0 - label.value * z).max(0.0);
        self.hedge.learn(&opinion.said.map(lost));
        self.log.learn::<R, K>(&opinion.log, view, witnesses, label, meanwhile)
    }

    fn merged(parts: &Parts<'_, Self>, rounds: f64) -> Self {
        Self {
            log: Log::merged(&parts.of(|top| &top.log), rounds),
            hedge: AdaHedge::merged(&parts.of(|top| &top.hedge)),
        }
    }

    fn retire(&mut self, filters: usize) {
        self.log.retire(filters);
    }

    fn mixing_weights(&self) -> [f64; MIXED] {
        self.log.mixing_weights()
    }

    fn experts(&self, importance: f64) -> Vec<Expert> {
        let witness = |radius: &f64| format!("witness U = {radius}");
        let names = NAMES.iter().map(|name| (*name).to_owned()).chain(RADII.iter().map(witness));
        let numbers = self.hedge.weights().iter().zip(self.hedge.losses());
        names
            .zip(numbers)
            .map(|(name, (&share, loss))| Expert {
                name,
                share,
                sequential_risk: loss / importance,
            })
            .collect()
    }

    fn mixing_cost(&self, _rounds: f64) -> f64 {
        let losses = self.hedge.losses();
        let best = (0..VOICES).min_by(|&a, &b| losses[a].total_cmp(&losses[b])).unwrap_or(0);
        self.hedge.cost(PRIOR[best])
    }

    const PROOF: &'static str = "and (1 + ln(1/π)/ln 8)Δ for mixing by AdaHedge";

    /// The hinge loss of a score clipped to ±1 is at most that of the score itself.
    fn cost_over_witness(&self, witness: usize, rounds: f64) -> Cost {
        let prior = PRIOR[DECISIONS + witness];
        let rounded = self.hedge.rounded(rounds);
        Cost {
            data: self.hedge.cost(prior) + rounded,
            theorem: self.hedge.most_cost(prior, rounds) + rounded,
        }
    }

    fn is_sound(&self, filters: usize) -> bool {
        self.log.is_sound(filters) && self.hedge.is_sound(&PRIOR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Batch;
    use crate::learner::{Bank, Learner};
    use crate::loss::Hinge;

    /// Two decisions whose losses differ by 1, once. If the mean of the decisions is half a unit in the
    /// last place off in every round, that makes more than Δ in the end.
    #[test]
    fn a_rounding_in_every_round_is_allowed_for() {
        let mut top = HingeTop::new();
        top.hedge.learn(&[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        let rounds = 2_f64.powi(80);
        let cost = top.cost_over_witness(0, rounds).data;
        assert!(cost >= 0.5 * f64::EPSILON * rounds, "{cost}");
    }

    /// What is between −1 and 1 has a mean between them. Beyond them by a rounding, the slope of the
    /// loss would be another one.
    #[test]
    fn predictions_stay_between_the_two_labels() {
        let mut batch = Batch::default();
        for t in 0..3000_u32 {
            let values = [1.0, ((t * 7) % 13) as f32 - 6.0, ((t * 5) % 11) as f32 / 3.0];
            let label = if values[1] + 0.2 * values[2] > 0.1 { 1.0 } else { -1.0 };
            batch.push(&[0, 1, 2], &values, label).unwrap();
        }
        let (mut bank, mut rounds) = (Bank::new(Hinge {}.into()).unwrap(), Vec::new());
        bank.learn_rows(batch.rows(), &mut rounds);
        let largest = rounds.iter().fold(0.0, |most: f64, round| most.max(round.prediction.abs()));
        assert_eq!(largest, 1.0);
    }
}
