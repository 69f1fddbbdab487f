//! The sums of a stretch of rounds. The sums of disjoint stretches add up.

use super::LedgerError;
use super::minorant::{Minorant, STRETCH};
use super::testimony::Testimony;
use crate::cells::Coordinates;
use crate::comparators::Comparators;
use crate::features::Example;
use crate::loss::ZeroOne;
use crate::number::NonNegative;
use crate::round::Round;
use crate::rows::Rows;
use crate::ruler::Ruler;
use crate::sum::Sum;
use rueful_machine::{Kernel, Registers, Runner, Widest};
use serde::{Deserialize, Serialize};

/// The relative error that the running ‖w_t‖² in a penalty may have.
const PENALTY_GRAIN: f64 = 1e-9;

/// Losses, mistakes and the minorant of a stretch of rounds: a whole run, a part of one, a window.
/// Tallies of disjoint stretches add up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    loss: Sum,
    penalty: Sum,
    mistakes: u64,
    minorant: Minorant,
}

impl Tally {
    /// A tally of no rounds. With σ > 0 each loss includes (σ/2)‖u‖².
    pub fn new(sigma: NonNegative) -> Self {
        Self {
            loss: Sum::default(),
            penalty: Sum::default(),
            mistakes: 0,
            minorant: Minorant::new(sigma),
        }
    }

    /// Records rounds that a ledger has recorded. The rows must be by the ledger's cells.
    pub fn record_rows(&mut self, rows: Rows<'_>, rounds: &[Round]) {
        self.record_rows_by::<Widest>(rows, rounds);
    }

    pub(super) fn record_rows_by<W: Runner>(&mut self, rows: Rows<'_>, rounds: &[Round]) {
        self.grow(rows.dimension());
        if !rows.have_idle() {
            return W::run(Record { tally: self, rows, rounds });
        }
        for (example, round) in rows.iter().zip(rounds) {
            if !example.importance.is_zero() {
                self.record(&example, round);
            }
        }
    }

    pub(super) fn grow(&mut self, dimension: usize) {
        self.minorant.grow(dimension);
    }

    #[inline(always)] // It is called in the loop over rows.
    pub(super) fn record(&mut self, example: &Example<'_>, round: &Round) {
        self.charge(example.label, round);
        self.minorant.record(&example.features, round);
    }

    /// Adds the loss of a round, and the mistake if it is one.
    #[inline(always)] // It is called in the loop over rows.
    fn charge(&mut self, label: f64, round: &Round) {
        self.loss.add(round.value);
        if round.penalty != 0.0 {
            self.penalty.add(round.penalty);
        }
        self.mistakes += u64::from(ZeroOne {}.is_mistake(round.prediction, label));
    }

    /// Adds the tally of other rounds, whose features have the same cells.
    pub fn merge(&mut self, other: &Self) {
        self.loss.merge(other.loss);
        self.penalty.merge(other.penalty);
        self.mistakes += other.mistakes;
        self.minorant.merge(&other.minorant);
    }

    /// The tally of the rounds since an earlier state of this one, by the same cells. It has no
    /// penalties.
    pub(super) fn since(&self, earlier: &Self, ruler: Option<&Ruler>) -> Self {
        Self {
            loss: self.loss.since(earlier.loss),
            penalty: Sum::default(),
            mistakes: self.mistakes.saturating_sub(earlier.mistakes),
            minorant: self.minorant.since(&earlier.minorant, ruler),
        }
    }

    /// Moves the cells: cell i gets the value at `from[i]`.
    pub fn rearrange(&mut self, from: &[u32]) {
        self.minorant.rearrange(from);
    }

    /// Whether these numbers, which may be read from anywhere, can be such sums.
    pub fn is_sound(&self) -> bool {
        self.loss.value().is_finite()
            && self.penalty.value() >= 0.0
            && self.penalty.value().is_finite()
            && self.mistakes <= self.rounds()
            && self.minorant.is_sound()
    }

    /// T
    #[inline]
    pub fn rounds(&self) -> u64 {
        self.minorant.rounds()
    }

    /// L = Σ ℓ_t(w_t), penalties included.
    pub fn loss(&self) -> f64 {
        self.loss.value() + self.penalty.value()
    }

    /// Σ (σ/2)‖w_t‖²
    pub fn penalty(&self) -> f64 {
        self.penalty.value()
    }

    /// L/T, or 0 before the first round.
    pub fn sequential_risk(&self) -> f64 {
        self.per_round(self.loss())
    }

    /// How many predictions had the wrong sign. This is meaningful for labels ±1.
    pub fn mistakes(&self) -> u64 {
        self.mistakes
    }

    /// The tangents of the rounds.
    pub fn minorant(&self) -> &Minorant {
        &self.minorant
    }

    /// A total divided by the rounds.
    pub fn per_round(&self, total: f64) -> f64 {
        if self.rounds() == 0 { 0.0 } else { total / self.rounds() as f64 }
    }

    /// Turns an upper bound on a total into one per round: divides by the rounds and rounds up.
    pub fn at_most_per_round(&self, total: f64) -> f64 {
        divided_up(total, self.rounds())
    }

    /// An interval that contains L as it is in exact arithmetic. Values are rounded a few times,
    /// and so is their sum.
    pub fn loss_interval(&self) -> (f64, f64) {
        let slack = self.slack_at_zero();
        (self.loss() - slack, self.loss() + slack)
    }

    /// The certificate: an upper bound on the regret against every comparator, rounding included.
    /// It is infinite if nothing can be said.
    ///
    /// ```text
    /// R_T ≤ Σ a_t ŷ_t + sup_{u} (−u·S) = L − min_u (minorant at u)
    /// ```
    pub fn certificate(&self, comparators: &Comparators, coordinates: Coordinates<'_>) -> f64 {
        self.certificate_above(self.minorant.floor(comparators, coordinates))
    }

    /// `certificate`, where the floor of the minorant is known.
    pub(super) fn certificate_above(&self, floor: f64) -> f64 {
        // The roundings of the values affect L and the floor alike, and the floor allows for them.
        // So L needs an allowance only for its penalties.
        regret(self.loss() + self.penalty_slack(), floor)
    }

    /// The certificate from a witness of the same rounds. The witness has values of its own, so its
    /// floor does not allow for the roundings of the values here.
    pub(super) fn certificate_by(&self, witness: &Testimony) -> f64 {
        let (_, most) = self.loss_interval();
        regret(most, witness.floor())
    }

    /// The best certificate that follows from the rounds themselves or from one of the witnesses of
    /// the same rounds.
    pub fn certificate_with<'a>(
        &self,
        comparators: &Comparators,
        coordinates: Coordinates<'_>,
        witnesses: impl IntoIterator<Item = &'a Minorant>,
    ) -> Result<f64, LedgerError> {
        let mut best = self.certificate(comparators, coordinates);
        for witness in witnesses {
            self.same_rounds(witness)?;
            best = best.min(self.certificate_by(&witness.testify(comparators, coordinates)));
        }
        Ok(best)
    }

    /// Refuses a witness of other rounds, or of other losses, which proves nothing here.
    fn same_rounds(&self, witness: &Minorant) -> Result<(), LedgerError> {
        let (own, other) = (self.minorant.sigma(), witness.sigma());
        if own != other {
            return Err(LedgerError::DifferentSigma { own, other });
        }
        let (own, other) = (self.rounds(), witness.rounds());
        if own == other { Ok(()) } else { Err(LedgerError::DifferentRounds { own, other }) }
    }

    /// How much of the certificate is an allowance for rounding.
    pub fn slack(&self, comparators: &Comparators, coordinates: Coordinates<'_>) -> f64 {
        self.minorant.slack(comparators, coordinates) + self.penalty_slack()
    }

    /// The part of the slack that does not depend on the comparators.
    pub(super) fn slack_at_zero(&self) -> f64 {
        self.minorant.slack_at_zero() + self.penalty_slack()
    }

    /// A bound on the error of the penalties: a relative error, and a constant for where ‖w_t‖², or
    /// σ times it, is too small for a double.
    fn penalty_slack(&self) -> f64 {
        let least = f64::MIN_POSITIVE * (1.0 + self.minorant.sigma().get());
        PENALTY_GRAIN * self.penalty() + self.rounds() as f64 * least
    }
}

/// Records the rounds of rows, all of which count, some rows at a time.
struct Record<'a> {
    tally: &'a mut Tally,
    rows: Rows<'a>,
    rounds: &'a [Round],
}

impl Kernel for Record<'_> {
    type Out = ();

    #[inline(always)]
    fn run<R: Registers>(self) {
        let Self { tally, rows, rounds } = self;
        let count = rows.len().min(rounds.len());
        let mut from = 0;
        while from < count {
            let stretch = from..count.min(from + STRETCH);
            let (rows, rounds) = (rows.slice(stretch.clone()), &rounds[stretch.clone()]);
            for (&label, round) in rows.labels().iter().zip(rounds) {
                tally.charge(label, round);
            }
            tally.minorant.record_stretch(rows, rounds);
            from = stretch.end;
        }
    }
}

/// A bound on the regret if the loss was at most `most` and every comparator loses at least
/// `floor`.
fn regret(most: f64, floor: f64) -> f64 {
    let regret = most - floor;
    if regret.is_nan() { f64::INFINITY } else { regret }
}

/// A total divided by a count, rounded up. It is 0 if the count is 0.
pub(crate) fn divided_up(total: f64, count: u64) -> f64 {
    if count == 0 {
        return 0.0;
    }
    let count = count as f64;
    let quotient = total / count;
    // The multiplication is fused, so the sign of the remainder is exact.
    if quotient.mul_add(count, -total) < 0.0 { quotient.next_up() } else { quotient }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_of_bounds_are_never_below() {
        for (total, count) in [(1.0, 3), (-1.0, 3), (2.0, 3), (1e300, 7), (-5e-324, 2), (6.0, 3)] {
            let quotient = divided_up(total, count);
            assert!(quotient.mul_add(count as f64, -total) >= 0.0, "{total} {count}");
            assert!(quotient.next_down().mul_add(count as f64, -total) < 0.0);
        }
        assert_eq!((divided_up(6.0, 3), divided_up(0.0, 5), divided_up(1.0, 0)), (2.0, 0.0, 0.0));
        assert_eq!(divided_up(f64::INFINITY, 3), f64::INFINITY);
    }
}
