//! The run over time: points at t = 1, 2, 4, 8, … and at the end.

use super::line::Line;
use super::tally::{Tally, divided_up};
use super::testimony::Testimony;
use crate::cells::Coordinates;
use crate::comparators::Comparators;
use crate::number::Positive;
use serde::{Deserialize, Serialize};

/// The state of a run after some round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    rounds: u64,
    loss: f64,
    /// How much of L rounding can have lost.
    loss_slack: f64,
    mistakes: u64,
    /// The certificate from the rounds themselves, or `None` if it is infinite.
    own: Option<f64>,
    /// The best certificate of all, or `None` if it is infinite.
    certificate: Option<f64>,
    /// The lines from which certificates for other radii are made, if the comparators are a ball:
    /// that of the rounds themselves, and those of the witnesses.
    lines: Vec<Line>,
}

impl CurvePoint {
    /// The point for some rounds, with witnesses of the same rounds.
    pub(super) fn of(
        tally: &Tally,
        witnesses: &[Testimony],
        comparators: &Comparators,
        coordinates: Coordinates<'_>,
    ) -> Self {
        let finite = |bound: f64| bound.is_finite().then_some(bound);
        let itself = tally.minorant().testify(comparators, coordinates);
        let own = tally.certificate_above(itself.floor());
        let mut point = Self {
            rounds: tally.rounds(),
            loss: tally.loss(),
            loss_slack: tally.loss_interval().1 - tally.loss(),
            mistakes: tally.mistakes(),
            own: finite(own),
            certificate: finite(own),
            lines: itself.line().into_iter().copied().collect(),
        };
        point.hear(tally, witnesses);
        point
    }

    /// The point for rounds whose sums were made elsewhere: the numbers of rounds and of mistakes, the
    /// loss and the amount of it that rounding can have lost, their own line and those of witnesses.
    pub(crate) fn of_lines(
        (rounds, mistakes): (u64, u64),
        (loss, loss_slack): (f64, f64),
        own: Line,
        witnesses: &[Line],
        radius: Option<Positive>,
    ) -> Self {
        let lines: Vec<Line> = [own].iter().chain(witnesses).copied().collect();
        let best = |lines: &[Line]| {
            let floors = lines.iter().filter_map(|line| radius.map(|radius| line.floor(radius)));
            let regret = loss + loss_slack - floors.fold(f64::NEG_INFINITY, f64::max);
            regret.is_finite().then_some(regret)
        };
        let (own, certificate) = (best(&lines[..1]), best(&lines));
        Self { rounds, loss, loss_slack, mistakes, own, certificate, lines }
    }

    /// Takes in witnesses of the same rounds.
    pub(super) fn hear(&mut self, tally: &Tally, witnesses: &[Testimony]) {
        for witness in witnesses {
            let certificate = tally.certificate_by(witness);
            if certificate < self.certificate.unwrap_or(f64::INFINITY) {
                self.certificate = Some(certificate);
            }
            self.lines.extend(witness.line());
        }
    }

    /// Whether this, which may be read from anywhere, can be such a point.
    pub(crate) fn is_sound(&self) -> bool {
        self.rounds > 0
            && self.mistakes <= self.rounds
            && self.loss.is_finite()
            && (0.0..=f64::MAX).contains(&self.loss_slack)
            && self.lines.iter().all(Line::is_sound)
            && [self.own, self.certificate].iter().flatten().all(|bound| bound.is_finite())
    }

    /// What certificates are made of.
    pub(crate) fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// t
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// L_t
    pub fn loss(&self) -> f64 {
        self.loss
    }

    /// An interval that contains L_t as it is in exact arithmetic.
    pub fn loss_interval(&self) -> (f64, f64) {
        (self.loss - self.loss_slack, self.most())
    }

    /// L_t/t
    pub fn sequential_risk(&self) -> f64 {
        self.loss / self.rounds as f64
    }

    /// The share of mistakes up to t.
    pub fn mistake_rate(&self) -> f64 {
        self.mistakes as f64 / self.rounds as f64
    }

    /// The certificate up to t per round, for the ledger's comparators: the best of that of the
    /// rounds themselves and those of all witnesses.
    pub fn certificate(&self) -> f64 {
        divided_up(self.certificate.unwrap_or(f64::INFINITY), self.rounds)
    }

    /// The certificate up to t in total. It is infinite if nothing can be said.
    pub fn certificate_total(&self) -> f64 {
        self.certificate.unwrap_or(f64::INFINITY)
    }

    /// The certificate up to t per round, from the rounds themselves.
    pub fn own_certificate(&self) -> f64 {
        divided_up(self.own.unwrap_or(f64::INFINITY), self.rounds)
    }

    /// The certificate up to t per round, for a ball of any radius in the same units as the
    /// comparators. It is infinite if the comparators are not a ball.
    pub fn certificate_for(&self, radius: Positive) -> f64 {
        divided_up(self.most() - self.floor(radius), self.rounds)
    }

    /// No comparator of norm at most the radius lost less than this up to t. It is −∞ if nothing can be
    /// said.
    pub fn floor(&self, radius: Positive) -> f64 {
        let floors = self.lines.iter().map(|line| line.floor(radius));
        floors.fold(f64::NEG_INFINITY, f64::max)
    }

    /// The largest radius up to which the rounds provably lost less than every comparator. It is
    /// infinite if that holds for every radius, and `None` if it holds for none.
    pub fn beats_up_to(&self) -> Option<f64> {
        self.lines.iter().filter_map(|line| line.above_up_to(self.most())).reduce(f64::max)
    }

    /// The radius from which on the certificate is no smaller than the loss itself, so that it says
    /// nothing about a loss that is never negative. `None` if there is no such radius.
    pub fn says_nothing_from(&self) -> Option<f64> {
        let reach = self.lines.iter().filter_map(|line| line.above_up_to(0.0));
        let farthest = reach.fold(0.0, f64::max);
        farthest.is_finite().then_some(farthest)
    }

    /// L_t, plus an allowance for rounding.
    fn most(&self) -> f64 {
        self.loss + self.loss_slack
    }
}
