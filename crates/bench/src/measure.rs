//! Takes times: all contestants in turn, several times over, batch by batch.
//!
//! A pass takes long enough for the machine to turn to something else in the middle of it, but a
//! batch hardly ever does. So each batch has its own median over the repetitions, and the time of a
//! pass is the sum of these medians: the time that it takes when nothing interferes.

use crate::bank::{self, Named, Parts};
use crate::contestants::{Contestant, Pair, Runner};
use crate::generate::Data;
use crate::run::Whole;
use anyhow::Result;
use rueful_core::Batch;
use serde::Serialize;
use std::hint::black_box;
use std::time::Instant;

/// The measurements on one data set.
#[derive(Debug, Serialize)]
pub(crate) struct Measured {
    pub(crate) data: String,
    pub(crate) rows: usize,
    pub(crate) nonzeros: usize,
    pub(crate) dimension: usize,
    pub(crate) repetitions: usize,
    pub(crate) lines: Vec<Line>,
    /// The parts of the bank, in every loss.
    pub(crate) banks: Vec<Parts>,
    /// Whole runs.
    pub(crate) runs: Vec<Whole>,
}

/// The measurements of one contestant.
#[derive(Debug, Serialize)]
pub(crate) struct Line {
    pub(crate) name: &'static str,
    /// The share of wrong signs.
    pub(crate) mistake_rate: f64,
    /// The time of a pass of the learner alone.
    pub(crate) learner: Seconds,
    /// The speeds at the median time.
    pub(crate) examples_per_second: f64,
    pub(crate) features_per_second: f64,
    pub(crate) nanoseconds_per_feature: f64,
    /// The median time over that of the floor.
    pub(crate) times_floor: f64,
    /// The time that the ledger adds. The bare loops have no ledger.
    pub(crate) ledger: Option<LedgerCost>,
}

/// The cost of the ledger: a pass with it beside one without.
#[derive(Debug, Serialize)]
pub(crate) struct LedgerCost {
    /// The time of a pass of learner and ledger.
    pub(crate) both: Seconds,
    /// The speed of the two together, at the median time.
    pub(crate) features_per_second: f64,
    /// The time that the ledger adds over the time of the learner.
    pub(crate) times_learner: f64,
}

/// The time of a pass.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Seconds {
    /// The sum over batches of the median over the repetitions.
    pub(crate) median: f64,
    /// The sum over batches of the least time.
    pub(crate) least: f64,
}

/// The seconds that every batch took, for each repetition.
pub(crate) type Passes = Vec<Vec<f64>>;

/// The times and mistakes of one contestant.
#[derive(Default)]
struct Times {
    alone: Passes,
    with_ledger: Passes,
    mistakes: u64,
}

/// Measures contestants on one data set, and the bank in some losses. The first contestant is the
/// floor.
pub(crate) fn measure(
    data: &Data,
    contestants: &[Contestant],
    banks: &[Named],
    repetitions: usize,
) -> Result<Measured> {
    let parts = |named: &Named| bank::measure(data, *named, repetitions);
    Ok(Measured {
        data: data.name.clone(),
        rows: data.rows(),
        nonzeros: data.nonzeros(),
        dimension: data.dimension(),
        repetitions,
        lines: lines(data, contestants, repetitions)?,
        banks: banks.iter().map(parts).collect::<Result<_>>()?,
        runs: Vec::new(),
    })
}

/// Measures all contestants in turn.
fn lines(data: &Data, contestants: &[Contestant], repetitions: usize) -> Result<Vec<Line>> {
    let mut times: Vec<Times> = contestants.iter().map(|_| Times::default()).collect();
    for _ in 0..repetitions {
        for (contestant, times) in contestants.iter().zip(&mut times) {
            run(contestant, data, times)?;
        }
    }
    let Some(first) = times.first() else { return Ok(Vec::new()) };
    let floor = Seconds::of(&first.alone);
    let line = |(contestant, times)| summarise(contestant, times, floor, data);
    Ok(contestants.iter().zip(&times).map(line).collect())
}

fn run(contestant: &Contestant, data: &Data, times: &mut Times) -> Result<()> {
    match &contestant.runner {
        Runner::Bare(start) => {
            let mut bare = start(data);
            times.alone.push(timed(&data.batches, |batch| {
                bare.learn_batch(batch);
                Ok(())
            })?);
            times.mistakes = black_box(bare).mistakes();
        }
        Runner::Learner(start) => {
            let (Pair { mut learner, .. }, mut rounds) = (start(), Vec::new());
            times.alone.push(timed(&data.batches, |batch| {
                learner.learn_rows(batch.rows(), &mut rounds);
                black_box(&rounds);
                Ok(())
            })?);
            let (Pair { mut learner, mut ledger }, mut cells) = (start(), Vec::new());
            times.with_ledger.push(timed(&data.batches, |batch| {
                // As in a run, both work on the cells of the ledger.
                let rows = ledger.enter(batch.rows(), &mut cells);
                learner.learn_rows(rows, &mut rounds);
                Ok(ledger.record_entered(rows, &rounds)?)
            })?);
            times.mistakes = black_box(ledger).mistakes();
        }
    }
    Ok(())
}

/// The seconds that each batch takes.
pub(crate) fn timed(
    batches: &[Batch],
    mut pass: impl FnMut(&Batch) -> Result<()>,
) -> Result<Vec<f64>> {
    let mut times = Vec::with_capacity(batches.len());
    let mut last = Instant::now();
    for batch in batches {
        pass(batch)?;
        let now = Instant::now();
        times.push((now - last).as_secs_f64());
        last = now;
    }
    Ok(times)
}

fn summarise(contestant: &Contestant, times: &Times, floor: Seconds, data: &Data) -> Line {
    let (rows, features) = (data.rows() as f64, data.nonzeros() as f64);
    let learner = Seconds::of(&times.alone);
    let ledger = (!times.with_ledger.is_empty()).then(|| {
        let both = Seconds::of(&times.with_ledger);
        LedgerCost {
            features_per_second: features / both.median,
            times_learner: both.median / learner.median - 1.0,
            both,
        }
    });
    Line {
        name: contestant.name,
        mistake_rate: times.mistakes as f64 / rows,
        examples_per_second: rows / learner.median,
        features_per_second: features / learner.median,
        nanoseconds_per_feature: 1e9 * learner.median / features,
        times_floor: learner.median / floor.median,
        learner,
        ledger,
    }
}

impl Seconds {
    /// The time of a pass from those of its batches.
    pub(crate) fn of(passes: &Passes) -> Self {
        let mut total = Self { median: 0.0, least: 0.0 };
        let batches = passes.first().map_or(0, Vec::len);
        for batch in 0..batches {
            let mut times: Vec<f64> = passes.iter().map(|pass| pass[batch]).collect();
            times.sort_by(f64::total_cmp);
            total.median += middle(&times);
            total.least += times[0];
        }
        total
    }
}

/// The median of sorted numbers, of which there is at least one.
fn middle(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { 0.5 * (sorted[half - 1] + sorted[half]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{contestants, generate};

    #[test]
    fn a_pass_is_made_of_the_medians_of_its_batches() {
        let passes = vec![vec![3.0, 1.0], vec![1.0, 9.0], vec![2.0, 4.0]];
        let seconds = Seconds::of(&passes);
        assert_eq!((seconds.median, seconds.least), (6.0, 2.0));
        assert_eq!(middle(&[1.0, 2.0, 4.0, 8.0]), 3.0);
    }

    #[test]
    fn everyone_runs_and_learns_something() {
        let shape = generate::Shape { rows: 3000, features: 10, per_row: 10 };
        let data = generate::dense(shape, 1).unwrap();
        let contestants = contestants::all(&data).unwrap();
        let measured = measure(&data, &contestants, &[], 1).unwrap();
        assert_eq!(measured.lines.len(), contestants.len());
        for line in &measured.lines {
            assert!(line.mistake_rate < 0.35, "{} errs at {}", line.name, line.mistake_rate);
            assert_eq!(line.ledger.is_none(), line.name.starts_with("bare"));
        }
    }
}
