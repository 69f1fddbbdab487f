//! An audit: a verdict on any model from its predictions alone.
//!
//! The certificate asks for predictions ŷ_t, never for how they came about:
//!
//! ```text
//! R_T ≤ Σ a_t ŷ_t + U‖Σ a_t x_t‖,    a_t a slope of the loss at ŷ_t
//! ```
//!
//! So the model may be a neural network, a set of rules or a person, as long as each prediction was
//! made before its label was known. Where the right-hand side is negative, the model provably beat
//! every linear predictor with ‖u‖ ≤ U on these very rounds.

use super::{Ledger, LedgerError, Mark, Tally};
use crate::features::{Example, Features};
use crate::loss::{Labels, Loss};
use crate::round::Round;
use crate::set::AnySet;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The books of somebody else's model, fed event by event: O(nnz) time each, O(d) memory in all.
///
/// Here a rule that is not linear, the sign of a product, is audited on a stream where every linear
/// predictor is as good as a coin:
///
/// ```
/// use rueful_core::ledger::Audit;
/// use rueful_core::{Features, Positive, loss::Hinge, set::Ball};
///
/// let mut audit = Audit::new(Hinge {}, Ball { radius: Positive::new(100.0)? });
/// let corners = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)];
/// for (a, b) in corners {
///     let score = 0.5 * f64::from(a * b); // the model speaks first …
///     let label = f64::from(a * b).signum(); // … and then the world does
///     audit.observe(Features::new(&[0, 1], &[a, b])?, score, label)?;
/// }
///
/// let verdict = audit.verdict();
/// assert_eq!((verdict.sequential_risk, verdict.mistake_rate), (0.5, Some(0.0)));
/// // Every linear predictor, up to norm 100, loses at least 1 per round here: the half that this
/// // model saved against each of them is proved, but for an allowance for rounding.
/// assert!(verdict.beats_every_comparator() && verdict.certificate < -0.499999);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A [`Mark`] remembers a moment, and what came after it can be judged alone: the windows of a
/// deployed model show when it went stale.
///
/// ```
/// # use rueful_core::ledger::Audit;
/// # use rueful_core::{Features, Positive, loss::Absolute, set::Ball};
/// let mut audit = Audit::new(Absolute {}, Ball { radius: Positive::ONE });
/// audit.observe(Features::new(&[0], &[1.0])?, 7.0, 7.0)?;
/// let yesterday = audit.mark();
/// audit.observe(Features::new(&[0], &[1.0])?, 7.0, 9.0)?;
/// assert_eq!(audit.verdict().sequential_risk, 1.0);
/// assert_eq!(audit.since(&yesterday)?.sequential_risk, 2.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Audit<L> {
    loss: L,
    ledger: Ledger,
}

/// What is known of a model after a stretch of rounds. All values are per round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// T
    pub rounds: u64,
    /// (1/T) Σ φ(ŷ_t, y_t)
    pub sequential_risk: f64,
    /// The share of predictions with the wrong sign; none where labels are not signs.
    pub mistake_rate: Option<f64>,
    /// No comparator was better than the model by more than this per round, rounding included.
    /// Infinite where nothing can be said.
    pub certificate: f64,
}

/// Why an audit cannot do what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum AuditError {
    /// A label that the loss does not understand.
    #[error("round {round} has the label {label:e}, expected {}", expected.expected())]
    Label {
        /// The round, counted from 1.
        round: u64,
        /// y_t
        label: f64,
        /// The labels that the loss takes.
        expected: Labels,
    },
    /// Two audits that measure in different losses.
    #[error("audits under different losses cannot be merged")]
    DifferentLoss,
    /// What the ledger refuses: numbers that are not finite, or a mark of another time.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl<L: Loss> Audit<L> {
    /// An audit that has seen nothing, and will judge against `comparators`. Others can be asked
    /// for later.
    pub fn new(loss: L, comparators: impl Into<AnySet>) -> Self {
        Self { loss, ledger: Ledger::new(comparators) }
    }

    /// Takes down one round: the features, what the model predicted, and the label that was
    /// revealed afterwards. What is refused does not count.
    #[inline]
    pub fn observe(
        &mut self,
        x: Features<'_>,
        prediction: f64,
        label: f64,
    ) -> Result<(), AuditError> {
        if !self.loss.labels().accept(label) {
            return Err(self.refuse(label));
        }
        let round = Round::of(&self.loss, prediction, label);
        Ok(self.ledger.record(&Example::new(x, label), &round)?)
    }

    #[cold]
    fn refuse(&self, label: f64) -> AuditError {
        AuditError::Label { round: self.ledger.rounds() + 1, label, expected: self.loss.labels() }
    }

    /// The verdict on all rounds so far.
    pub fn verdict(&self) -> Verdict {
        self.verdict_on(&self.ledger)
    }

    /// The verdict on the rounds since a mark of this audit.
    pub fn since(&self, mark: &Mark) -> Result<Verdict, AuditError> {
        Ok(self.verdict_on(&self.ledger.since(mark)?))
    }

    fn verdict_on(&self, rounds: &Tally) -> Verdict {
        let classifies = self.loss.labels() == Labels::Signs;
        Verdict {
            rounds: rounds.rounds(),
            sequential_risk: rounds.sequential_risk(),
            mistake_rate: classifies.then(|| rounds.per_round(rounds.mistakes() as f64)),
            certificate: rounds.per_round(rounds.certificate(self.ledger.comparators())),
        }
    }

    /// Remembers this moment, at the price of one vector.
    pub fn mark(&self) -> Mark {
        self.ledger.mark()
    }

    /// L_T/T, and 0 before the first round.
    pub fn sequential_risk(&self) -> f64 {
        self.ledger.sequential_risk()
    }

    /// The certificate per round against any comparators, chosen now.
    pub fn certificate(&self, comparators: &AnySet) -> f64 {
        self.ledger.per_round(self.ledger.certificate(comparators))
    }

    /// Takes in the audit of another, disjoint part of the stream: another shard, another machine.
    pub fn merge(&mut self, other: &Self) -> Result<(), AuditError>
    where
        L: PartialEq,
    {
        if self.loss != other.loss {
            return Err(AuditError::DifferentLoss);
        }
        Ok(self.ledger.merge(&other.ledger)?)
    }

    /// The loss it measures in.
    pub fn loss(&self) -> &L {
        &self.loss
    }

    /// The ledger behind it, with totals, the curve and the largest norms.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

impl Verdict {
    /// Whether the model provably beat every comparator, each by at least −`certificate` per round.
    pub fn beats_every_comparator(&self) -> bool {
        self.certificate < 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{Absolute, Hinge, Logistic, Quantile, Square};
    use crate::number::{OpenUnit, Positive};
    use crate::set::Ball;
    use proptest::prelude::*;

    /// x, ŷ and whether the label is positive.
    type Event = ([f32; 2], f64, bool);

    fn ball(radius: f64) -> Ball {
        Ball { radius: Positive::new(radius).unwrap() }
    }

    fn sign(positive: bool) -> f64 {
        if positive { 1.0 } else { -1.0 }
    }

    fn watch<L: Loss>(audit: &mut Audit<L>, (x, prediction, positive): Event) {
        let x = Features::new(&[0, 1], &x).unwrap();
        audit.observe(x, prediction, sign(positive)).unwrap();
    }

    fn audited<L: Loss>(loss: L, events: &[Event]) -> Audit<L> {
        let mut audit = Audit::new(loss, ball(2.0));
        events.iter().for_each(|&event| watch(&mut audit, event));
        audit
    }

    /// The regret against one u, per round, straight from its definition.
    fn regret(loss: &impl Loss, events: &[Event], u: [f64; 2]) -> f64 {
        let saved = events.iter().map(|&(x, prediction, positive)| {
            let theirs = u[0] * f64::from(x[0]) + u[1] * f64::from(x[1]);
            let cost = |p| loss.at(p, sign(positive)).value;
            cost(prediction) - cost(theirs)
        });
        saved.sum::<f64>() / events.len() as f64
    }

    /// Many predictors with ‖u‖ ≤ 2.
    fn comparators() -> impl Iterator<Item = [f64; 2]> {
        let turns = (0..24).map(|k| f64::from(k) * std::f64::consts::TAU / 24.0);
        turns.flat_map(|turn| {
            [0.0, 0.3, 1.0, 1.7, 2.0].map(|length| [length * turn.cos(), length * turn.sin()])
        })
    }

    fn check_against_all<L: Loss>(loss: L, events: &[Event]) {
        let mut audit = Audit::new(loss, ball(2.0));
        for window in events.chunks(7) {
            let mark = audit.mark();
            window.iter().for_each(|&event| watch(&mut audit, event));
            check_verdict(&loss, window, audit.since(&mark).unwrap());
        }
        check_verdict(&loss, events, audit.verdict());
    }

    fn check_verdict(loss: &impl Loss, events: &[Event], verdict: Verdict) {
        assert_eq!(verdict.rounds, events.len() as u64);
        for u in comparators() {
            let regret = regret(loss, events, u);
            assert!(regret <= verdict.certificate + 1e-12, "{u:?}: {regret} {verdict:?}");
            assert!(!verdict.beats_every_comparator() || regret < 0.0);
        }
    }

    fn events() -> impl Strategy<Value = Vec<Event>> {
        let x = prop::array::uniform2(-2.0..2.0_f32);
        prop::collection::vec((x, -3.0..3.0_f64, any::<bool>()), 1..40)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn no_comparator_escapes_in_the_whole_or_in_a_window(events in events()) {
            check_against_all(Hinge {}, &events);
            check_against_all(Logistic {}, &events);
            check_against_all(Square {}, &events);
            check_against_all(Absolute {}, &events);
            check_against_all(Quantile { tau: OpenUnit::new(0.2).unwrap() }, &events);
        }

        #[test]
        fn parts_add_up(events in events(), cut in 0..40_usize) {
            let (front, back) = events.split_at(cut.min(events.len()));
            let whole = audited(Logistic {}, &events);
            let mut merged = audited(Logistic {}, front);
            merged.merge(&audited(Logistic {}, back)).unwrap();
            let (merged, whole) = (merged.verdict(), whole.verdict());
            prop_assert_eq!(merged.rounds, whole.rounds);
            prop_assert_eq!(merged.mistake_rate, whole.mistake_rate);
            prop_assert!((merged.sequential_risk - whole.sequential_risk).abs() < 1e-12);
            prop_assert!((merged.certificate - whole.certificate).abs() < 1e-11);
        }
    }

    #[test]
    fn a_small_case_by_hand() {
        // Slopes −1, +1, 0 (beyond the margin): A = −0.5 − 0.5 = −1, S = (−1, 2) + …
        let events = [([1.0, 0.0], 0.5, true), ([0.0, 2.0], -0.5, false), ([3.0, 3.0], 2.0, true)];
        let verdict = audited(Hinge {}, &events).verdict();
        assert_eq!((verdict.rounds, verdict.mistake_rate), (3, Some(0.0)));
        assert!((verdict.sequential_risk - 1.0 / 3.0).abs() < 1e-15);
        let exact = (-1.0 + 2.0 * 5_f64.sqrt()) / 3.0;
        assert!((verdict.certificate - exact).abs() < 1e-12, "{verdict:?}");
        assert!(verdict.certificate >= exact);
    }

    #[test]
    fn any_radius_may_be_asked_for_afterwards() {
        let audit = audited(Hinge {}, &[([3.0, 4.0], 0.25, true)]);
        assert!((audit.certificate(&ball(2.0).into()) - 9.75).abs() < 1e-12);
        assert!((audit.certificate(&ball(0.01).into()) - -0.2).abs() < 1e-12);
        assert_eq!(audit.verdict().certificate, audit.certificate(&ball(2.0).into()));
    }

    #[test]
    fn what_is_refused_does_not_count() {
        let mut audit = audited(Hinge {}, &[([1.0, 0.0], 0.5, true)]);
        let before = audit.clone();
        let x = Features::new(&[5], &[1.0]).unwrap();
        assert_eq!(
            audit.observe(x, 0.5, 0.0).unwrap_err().to_string(),
            "round 2 has the label 0e0, expected -1 or +1"
        );
        for prediction in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let error = audit.observe(x, prediction, 1.0).unwrap_err();
            assert!(matches!(error, AuditError::Ledger(LedgerError::NotFinite { round: 2, .. })));
        }
        assert_eq!(audit.verdict(), before.verdict());
    }

    #[test]
    fn audits_in_different_measures_stay_apart() {
        let quantile = |tau| Quantile { tau: OpenUnit::new(tau).unwrap() };
        let mut median = audited(quantile(0.5), &[]);
        let tail = audited(quantile(0.9), &[]);
        assert_eq!(median.merge(&tail), Err(AuditError::DifferentLoss));
        assert_eq!(*median.loss(), quantile(0.5));
    }

    #[test]
    fn a_mark_of_the_future_is_refused() {
        let long = audited(Square {}, &[([1.0, 1.0], 0.0, true); 3]);
        let short = audited(Square {}, &[([1.0, 1.0], 0.0, true)]);
        assert!(matches!(short.since(&long.mark()), Err(AuditError::Ledger(_))));
        assert_eq!(long.since(&long.mark()).unwrap().rounds, 0);
    }

    #[test]
    fn an_audit_is_stored_and_goes_on() {
        let events = [([1.0, -0.5], 0.3, true), ([0.1, 2.0], -0.7, true), ([1.0, 0.0], 0.0, false)];
        let text = serde_json::to_string(&audited(Logistic {}, &events[..2])).unwrap();
        let mut resumed: Audit<Logistic> = serde_json::from_str(&text).unwrap();
        watch(&mut resumed, events[2]);
        assert_eq!(resumed, audited(Logistic {}, &events));
    }
}
