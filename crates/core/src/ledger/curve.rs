//! The run over time: one point at t = 1, 2, 4, 8, … and one at the end.

use super::minorant::{farthest, product};
use super::tally::{Tally, divided_up};
use crate::cells::Coordinates;
use crate::set::{AnySet, Ball};
use serde::{Deserialize, Serialize};

/// The state of a run after some round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    rounds: u64,
    loss: f64,
    mistakes: u64,
    /// None if it is infinite.
    certificate: Option<f64>,
    /// What a certificate for another radius is made of.
    offset: f64,
    slopes_norm: f64,
    curvature: f64,
    /// Allowance for rounding: a constant, and per unit of radius.
    slack: (f64, f64),
}

impl CurvePoint {
    pub(super) fn of(tally: &Tally, comparators: &AnySet, coordinates: Coordinates<'_>) -> Self {
        let minorant = tally.minorant();
        let norm = minorant.slopes_norm();
        let certificate = tally.certificate_with_norm(comparators, coordinates, norm);
        Self {
            rounds: tally.rounds(),
            loss: tally.loss(),
            mistakes: tally.mistakes(),
            certificate: certificate.is_finite().then_some(certificate),
            offset: minorant.offset(),
            slopes_norm: norm,
            curvature: minorant.curvature(),
            slack: (tally.slack_at_zero(), minorant.slack_per_unit()),
        }
    }

    /// Whether what was read from somewhere can be such a point.
    pub(super) fn is_sound(&self) -> bool {
        let numbers = [self.loss, self.offset, self.slopes_norm, self.curvature];
        let slack = [self.slack.0, self.slack.1];
        self.rounds > 0
            && self.mistakes <= self.rounds
            && numbers.iter().chain(&slack).all(|number| number.is_finite())
            && self.certificate.is_none_or(f64::is_finite)
    }

    /// t
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// L_t
    pub fn loss(&self) -> f64 {
        self.loss
    }

    /// L_t/t
    pub fn sequential_risk(&self) -> f64 {
        self.loss / self.rounds as f64
    }

    /// The share of mistakes up to t.
    pub fn mistake_rate(&self) -> f64 {
        self.mistakes as f64 / self.rounds as f64
    }

    /// The certificate up to t per round, for the ledger's comparators.
    pub fn certificate(&self) -> f64 {
        divided_up(self.certificate.unwrap_or(f64::INFINITY), self.rounds)
    }

    /// The certificate up to t per round, for a ball of any radius.
    pub fn certificate_for(&self, ball: &Ball) -> f64 {
        let gain = ball.support_of_norm(self.slopes_norm, self.curvature);
        let (at_zero, per_unit) = self.slack;
        let far = farthest(ball.radius.get(), self.slopes_norm, per_unit, self.curvature);
        let slack = at_zero + product(far, per_unit);
        divided_up(self.loss - self.offset + gain + slack, self.rounds)
    }
}
