//! The books of a run: ledger, figures and mistakes of rounds that were played. They never influence
//! the learner.

use super::{Run, charge};
use rueful_core::figures::Scorecard;
use rueful_core::loss::ZeroOne;
use rueful_core::{Importance, Ledger, LedgerError, RiskBound, Round, Rows};

/// The books.
pub(super) struct Books<'a> {
    pub(super) ledger: &'a mut Ledger,
    pub(super) card: &'a mut Scorecard,
    pub(super) mistakes: &'a mut Option<RiskBound>,
}

impl Books<'_> {
    /// Records rounds, up to the first that is not finite.
    fn keep(&mut self, rows: Rows<'_>, rounds: &[Round]) -> Result<(), LedgerError> {
        let before = self.ledger.rounds();
        let recorded = self.ledger.record_entered(rows, rounds);
        self.count(rows.slice(0..rows.until(self.ledger.rounds() - before)), rounds);
        recorded
    }

    /// Counts rounds that are in the ledger.
    pub(super) fn count(&mut self, rows: Rows<'_>, rounds: &[Round]) {
        self.card.observe_rows(rows, rounds);
        self.count_mistakes(rows, rounds);
    }

    /// Counts the mistakes. They bound the risk where examples are drawn alike, so none may count
    /// more than another.
    fn count_mistakes(&mut self, rows: Rows<'_>, rounds: &[Round]) {
        let Some(mistakes) = self.mistakes else { return };
        let counts_alike = |one: &Importance| one.is_zero() || *one == Importance::ONE;
        if !rows.importances().iter().all(counts_alike) {
            *self.mistakes = None;
            return;
        }
        let is_mistake =
            |(&label, round): (&f64, &Round)| ZeroOne {}.is_mistake(round.prediction, label);
        let all = rows.labels().iter().zip(rounds);
        if rows.have_idle() {
            let counting = all.zip(rows.importances()).filter(|(_, one)| !one.is_zero());
            mistakes.observe_mistakes(counting.map(|(one, _)| is_mistake(one)));
        } else {
            mistakes.observe_mistakes(all.map(is_mistake));
        }
    }
}

impl Run {
    /// Plays rounds for some rows, and keeps the books. The rows are by cell.
    pub(super) fn play(
        &mut self,
        rows: Rows<'_>,
        said: &[(usize, f64)],
    ) -> Result<(), LedgerError> {
        self.learner.learn_rows(rows, &mut self.rounds);
        charge(&self.task.loss, rows, &mut self.rounds, 0, said);
        let Self { ledger, card, mistakes, rounds, .. } = self;
        Books { ledger, card, mistakes }.keep(rows, rounds)
    }
}

#[cfg(test)]
mod tests {
    use crate::{DataSpec, Run, RunError, Settings};
    use rueful_core::Batch;

    /// A run that diverges has the rounds before that in all of its books, however rows come.
    #[test]
    fn where_a_run_diverges_does_not_depend_on_batches() {
        let settings = Settings {
            learner: Some("strongly-convex-ogd".to_owned()),
            loss: Some("square".to_owned()),
            sigma: Some(1e-90),
            ..Settings::default()
        };
        let spec = settings.resolve(DataSpec::libsvm(""), &mut |_| Ok(Default::default()));
        let fresh = Run::new(spec.unwrap().spec.task()).unwrap();
        let mut rows = Batch::default();
        (0..500).for_each(|_| rows.push(&[], &[], 0.0).unwrap());
        (0..100).for_each(|_| rows.push(&[0], &[1e30], 1.0).unwrap());
        let (mut together, mut singly) = (fresh.clone(), fresh);
        assert!(matches!(together.learn(rows.rows()), Err(RunError::Diverged { .. })));
        let mut alone = (0..rows.len()).map(|row| rows.rows().slice(row..row + 1));
        assert!(alone.any(|row| matches!(singly.learn(row), Err(RunError::Diverged { .. }))));
        assert!((500..600).contains(&together.ledger().rounds()));
        assert_eq!(together.ledger(), singly.ledger());
        assert_eq!(together.scorecard(), singly.scorecard());
        assert_eq!(together.mistakes(), singly.mistakes());
    }
}
