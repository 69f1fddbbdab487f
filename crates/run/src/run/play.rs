//! How a run plays: the learner goes over the rows part by part, and the books follow it, on a
//! second thread where there are rows enough.
//!
//! ```text
//! rows ─part by part→ learner ─rounds→ clerk: ledger, figures, mistakes, jury
//! ```
//!
//! The learner never sees the books. So the two may be on different threads, and the books of a
//! part are kept while the next part is played. They are in step again wherever somebody looks at
//! them: at every point of the curve, and at the end. The additions are the same, in the same
//! order.

use super::Run;
use super::books::Books;
use crate::dispatch::SavedLearner;
use crate::shares::Shares;
use rueful_core::loss::AnyLoss;
use rueful_core::{Ledger, LedgerError, Round, Rows};
use std::ops::RangeInclusive;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// The rows of a stretch are played in this many parts, if these are not too small or too large.
const PARTS: usize = 8;

/// The least and the largest number of features of a part. The smallest is worth a message to the
/// clerk. The largest stays close to the processor until the books are kept.
const PART: RangeInclusive<usize> = 1 << 12..=1 << 15;

/// From this many features on, a clerk is worth the start of a thread. Learners that are mixed take
/// many times as long for a feature as others.
const FOR_A_CLERK: usize = 1 << 17;
const FOR_A_CLERK_OF_MANY: usize = 1 << 13;

/// The number of parts that may wait for the clerk.
const WAITING: usize = 4;

impl Run {
    /// Plays rounds for some rows, and keeps the books. The rows are by cell.
    pub(super) fn play(
        &mut self,
        rows: Rows<'_>,
        said: &[(usize, f64)],
    ) -> Result<(), LedgerError> {
        self.rounds.clear();
        let mut from = 0;
        while from < rows.len() {
            // Witnesses can speak at every point of the curve.
            let rest = rows.slice(from..rows.len());
            let to = from + rest.until(self.ledger.until_mark());
            self.play_stretch(rows.slice(0..to), said)?;
            if self.jury.is_some() && self.ledger.is_at_mark() {
                let witnesses = self.witnesses();
                self.ledger.hear(&witnesses);
            }
            from = to;
        }
        Ok(())
    }

    /// Plays the rows that have no round yet. They reach no further than the next point of the
    /// curve.
    fn play_stretch(&mut self, rows: Rows<'_>, said: &[(usize, f64)]) -> Result<(), LedgerError> {
        let Self { task, learner, ledger, card, mistakes, jury, shares, rounds, spare, .. } = self;
        let nonzeros = rows.slice(rounds.len()..rows.len()).nonzeros();
        let enough = if shares.is_some() { FOR_A_CLERK_OF_MANY } else { FOR_A_CLERK };
        let player = Player {
            learner: &mut **learner,
            shares,
            loss: &task.loss,
            said,
            rows,
            part_rows: part_rows(rows.len() - rounds.len(), nonzeros),
            rounds,
            has_played: false,
        };
        let books = Books { ledger, card, mistakes, jury };
        if self.threads.get() > 1 && nonzeros >= enough {
            play_with_clerk(player, books, spare)
        } else {
            play_alone(player, books, spare)
        }
    }
}

/// The number of rows of a part, where there are so many rows with so many features.
fn part_rows(rows: usize, nonzeros: usize) -> usize {
    let features = (nonzeros / rows.max(1)).max(1);
    ((nonzeros / PARTS).clamp(*PART.start(), *PART.end()) / features).max(1)
}

/// The learner and its rows.
struct Player<'a> {
    learner: &'a mut dyn SavedLearner,
    shares: &'a mut Option<Shares>,
    loss: &'a AnyLoss,
    /// The predictions that were made earlier, by row.
    said: &'a [(usize, f64)],
    rows: Rows<'a>,
    /// The rounds of the first rows.
    rounds: &'a mut Vec<Round>,
    part_rows: usize,
    /// Whether a part was played. It is recorded in the shares when the next one is asked for, which
    /// nobody does after a round that is not finite.
    has_played: bool,
}

impl<'a> Player<'a> {
    /// Plays the next part, and writes its rounds into `part`. Returns its rows, or `None` if there
    /// are no more.
    fn next(&mut self, part: &mut Vec<Round>) -> Option<Rows<'a>> {
        if std::mem::replace(&mut self.has_played, true) {
            let (played, learner) = (self.learner.rounds(), &self.learner);
            self.shares.iter_mut().for_each(|shares| shares.look(played, || learner.experts()));
        }
        let from = self.rounds.len();
        let rest = self.rows.slice(from..self.rows.len().min(from + self.part_rows));
        if rest.is_empty() {
            return None;
        }
        let until_share = |shares: &Shares| shares.until_next(self.learner.rounds());
        let rows = rest.slice(0..rest.until(self.shares.as_ref().map_or(u64::MAX, until_share)));
        self.learner.learn_rows(rows, part);
        charge(self.loss, rows, part, from, self.said);
        self.rounds.extend_from_slice(part);
        Some(rows)
    }
}

/// Plays, and keeps the books of each part after it.
fn play_alone(
    mut player: Player<'_>,
    mut books: Books<'_>,
    spare: &mut Vec<Vec<Round>>,
) -> Result<(), LedgerError> {
    let (mut part, mut kept) = (spare.pop().unwrap_or_default(), Ok(()));
    while let Some(rows) = player.next(&mut part) {
        kept = books.keep(rows, &part);
        if kept.is_err() {
            break;
        }
    }
    spare.push(part);
    kept
}

/// Plays, while a clerk on another thread keeps the books.
fn play_with_clerk(
    mut player: Player<'_>,
    mut books: Books<'_>,
    spare: &mut Vec<Vec<Round>>,
) -> Result<(), LedgerError> {
    let (hired, books_of_clerk) = (&mut player, &mut books);
    let kept = thread::scope(|scope| {
        let (to_clerk, parts) = sync_channel(WAITING);
        // There is a place for every part that waits or is being worked on: nobody waits to give
        // one back.
        let (give_back, empty) = sync_channel(WAITING + 2);
        let keep = move || keep_books(books_of_clerk, &parts, &give_back);
        let clerk = thread::Builder::new().spawn_scoped(scope, keep).ok()?;
        let buffer = |spare: &mut Vec<_>| empty.try_recv().ok().or_else(|| spare.pop());
        loop {
            let mut part = buffer(spare).unwrap_or_default();
            let Some(rows) = hired.next(&mut part) else {
                spare.push(part);
                break;
            };
            // The player ends with the round that the clerk will refuse.
            let is_over = Ledger::refuses(rows, &part);
            // The clerk takes all parts, unless it panics.
            if to_clerk.send((rows, part)).is_err() || is_over {
                break;
            }
        }
        drop(to_clerk);
        let kept = clerk.join().unwrap_or_else(|panic| resume_unwind(panic));
        spare.extend(empty.try_iter());
        Some(kept)
    });
    // If the system gives us no thread, there is nobody else to do the work.
    kept.unwrap_or_else(|| play_alone(player, books, spare))
}

/// Keeps the books of all parts, and gives their memory back.
fn keep_books<'a>(
    books: &mut Books<'_>,
    parts: &Receiver<(Rows<'a>, Vec<Round>)>,
    give_back: &SyncSender<Vec<Round>>,
) -> Result<(), LedgerError> {
    let mut kept = Ok(());
    for (rows, rounds) in parts {
        kept = books.keep(rows, &rounds);
        // If the player has gone, nobody needs the memory.
        let _ = give_back.send(rounds);
    }
    kept
}

/// Charges rounds for predictions that were made earlier. `from` is the number of rows before these.
fn charge(
    loss: &AnyLoss,
    rows: Rows<'_>,
    rounds: &mut [Round],
    from: usize,
    said: &[(usize, f64)],
) {
    let first = said.partition_point(|&(row, _)| row < from);
    for &(row, prediction) in said[first..].iter().take_while(|said| said.0 < from + rows.len()) {
        let example = rows.get(row - from);
        rounds[row - from] = match example.importance.is_zero() {
            true => Round::idle(prediction),
            false => Round::on(loss, prediction, &example),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataSpec, LearnerSpec, RunError, Settings};
    use rueful_core::{Batch, Importance};
    use rueful_data::Survey;
    use std::num::NonZeroUsize;

    const FEATURES: u32 = 40;

    fn fresh(settings: Settings) -> Run {
        let survey = Survey { examples: 10_000, weighted_norm_max: 9.0, ..Survey::default() };
        let spec = settings.resolve(DataSpec::libsvm(""), &mut |_| Ok(survey));
        Run::new(spec.unwrap().spec.task()).unwrap()
    }

    fn on(threads: usize, run: &Run) -> Run {
        let mut run = run.clone();
        run.set_threads(NonZeroUsize::new(threads).unwrap());
        run
    }

    /// Rows with near and far features. Some rows have importance 0.
    fn batch(rows: u32) -> Batch {
        let mut batch = Batch::default();
        for t in 0..rows {
            let value = |i: u32| ((t * 31 + i * 17) % 23) as f32 - 11.5;
            let values: Vec<f32> = (0..FEATURES).map(value).collect();
            let far = |i: u32| if i == FEATURES - 1 { 1_000_000 + 7919 * (t % 11) } else { i };
            let indices: Vec<u32> = (0..FEATURES).map(far).collect();
            let label = if values[3] + values[7] > values[t as usize % 5] { 1.0 } else { -1.0 };
            let importance = Importance::new(f64::from(t % 4)).unwrap();
            batch.push_weighted(&indices, &values, label, importance).unwrap();
        }
        batch
    }

    /// Runs may have diverged, and then some of their numbers are NaN, so bits are compared.
    fn assert_same_books(one: &Run, other: &Run, what: &str) {
        let bits = |run: &Run| -> Vec<[u64; 4]> {
            let of = |round: &Round| {
                [round.prediction, round.value, round.slope, round.penalty].map(f64::to_bits)
            };
            run.rounds().iter().map(of).collect()
        };
        let weights = |run: &Run| -> Vec<(u32, u64)> {
            run.weights().into_iter().map(|(index, weight)| (index, weight.to_bits())).collect()
        };
        assert!(bits(one) == bits(other), "{what}");
        assert_eq!(weights(one), weights(other), "{what}");
        assert_eq!(one.ledger(), other.ledger(), "{what}");
        assert_eq!(one.scorecard(), other.scorecard(), "{what}");
        assert_eq!(one.mistakes(), other.mistakes(), "{what}");
    }

    fn assert_same(one: &Run, other: &Run, what: &str) {
        assert_same_books(one, other, what);
        assert_eq!(one.shares(), other.shares(), "{what}");
        assert_eq!(one.report(), other.report(), "{what}");
    }

    #[test]
    fn a_clerk_makes_no_difference() {
        let rows = batch(15_000);
        for learner in LearnerSpec::NAMES {
            let settings = Settings { learner: Some(learner.to_owned()), ..Settings::default() };
            let fresh = fresh(settings);
            let (mut alone, mut helped) = (on(1, &fresh), on(2, &fresh));
            alone.learn(rows.rows()).unwrap();
            helped.learn(rows.rows()).unwrap();
            assert_same(&helped, &alone, learner);
            let late = [(0, 0.25), (7, -0.5), (9_001, 1.5), (14_999, 0.0)];
            if alone.task().check_late().is_ok() {
                alone.learn_late(rows.rows(), &late).unwrap();
                helped.learn_late(rows.rows(), &late).unwrap();
                assert_same(&helped, &alone, learner);
                assert_eq!(helped.rounds()[7].prediction, -0.5);
            }
        }
    }

    #[test]
    fn a_run_diverges_at_the_same_round_beside_a_clerk() {
        let fresh = fresh(Settings {
            learner: Some("strongly-convex-ogd".to_owned()),
            loss: Some("square".to_owned()),
            sigma: Some(1e-90),
            ..Settings::default()
        });
        let mut rows = Batch::default();
        let indices = [0, 1, 2, 3];
        (0..150_000).for_each(|_| rows.push(&indices, &[1e-30; 4], 0.0).unwrap());
        (0..50_000).for_each(|_| rows.push(&indices, &[1e30; 4], 1.0).unwrap());
        let (mut alone, mut helped) = (on(1, &fresh), on(2, &fresh));
        for run in [&mut alone, &mut helped] {
            assert!(matches!(run.learn(rows.rows()), Err(RunError::Diverged { .. })));
            assert!((150_000..200_000).contains(&run.ledger().rounds()));
        }
        assert_same_books(&helped, &alone, "diverged");
    }

    /// The ledger has no cells for these rows, so its books cannot be kept.
    #[test]
    #[should_panic(expected = "out of bounds")]
    fn a_panic_of_the_clerk_is_one_of_the_run() {
        let mut run = on(2, &fresh(Settings::default()));
        let mut rows = Batch::default();
        rows.push(&[0], &[1.0], 1.0).unwrap();
        run.learn(rows.rows()).unwrap();
        (0..FOR_A_CLERK_OF_MANY).for_each(|_| rows.push(&[0, 7], &[1.0, 2.0], 1.0).unwrap());
        run.rounds.clear();
        let _ = run.play_stretch(rows.rows(), &[]);
    }
}
