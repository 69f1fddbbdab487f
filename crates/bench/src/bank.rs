//! The cost of a run of the bank, part by part: the cells on which all others work, the bank, a
//! judge, and the ledger.
//!
//! The witnesses live in the bank, which mixes them in. Their cost is measured with a judge of the
//! same radii beside it, and the rest is the cost of the bank alone. All parts go over a batch one
//! after the other, as in a run.

use crate::generate::Data;
use crate::measure::{Passes, Seconds};
use anyhow::{Error, Result};
use rueful_core::learner::{Bank, Learner};
use rueful_core::loss::{Absolute, AnyLoss, Hinge, Logistic, Square};
use rueful_core::{Batch, Comparators, Judge, Ledger, Positive, Round, UnitFree};
use serde::Serialize;
use std::hint::black_box;
use std::time::Instant;

/// The default radius of a run.
const RADIUS: f64 = 10.0;

/// The cost of the bank in one loss, in nanoseconds per row.
#[derive(Debug, Serialize)]
pub(crate) struct Parts {
    pub(crate) name: &'static str,
    /// The whole bank.
    pub(crate) bank: f64,
    /// The witnesses in the bank.
    pub(crate) witnesses: f64,
    /// Finding the cells of the features.
    pub(crate) cells: f64,
    pub(crate) ledger: f64,
    /// The average loss of the bank's predictions.
    pub(crate) risk: f64,
}

impl Parts {
    /// The bank without its witnesses.
    pub(crate) fn rest(&self) -> f64 {
        self.bank - self.witnesses
    }

    /// The cost of proving over the cost of learning, where the bank's own witnesses count as
    /// proving.
    pub(crate) fn proving_over_learning(&self) -> f64 {
        (self.witnesses + self.ledger) / self.rest()
    }

    /// The cost of a judge and the ledger over that of the bank as it is.
    pub(crate) fn proving_over_bank(&self) -> f64 {
        (self.witnesses + self.ledger) / self.bank
    }
}

/// The name of a line, and its loss.
pub(crate) type Named = (&'static str, AnyLoss);

/// All losses in which the bank is measured.
pub(crate) fn all() -> [Named; 4] {
    [
        ("bank, logistic", Logistic {}.into()),
        ("bank, hinge", Hinge {}.into()),
        ("bank, square", Square {}.into()),
        ("bank, absolute", Absolute {}.into()),
    ]
}

/// The losses that accept the labels of the data.
pub(crate) fn losses(data: &Data) -> Vec<Named> {
    let takes = |loss: &AnyLoss| {
        let mut labels = data.batches.iter().flat_map(Batch::labels);
        labels.all(|&label| loss.labels().accept(label))
    };
    all().into_iter().filter(|(_, loss)| takes(loss)).collect()
}

/// Measures the bank in one loss.
pub(crate) fn measure(data: &Data, (name, loss): Named, repetitions: usize) -> Result<Parts> {
    let mut times = Times::default();
    let mut total = 0.0;
    for _ in 0..repetitions {
        total = Players::new(loss)?.play(&data.batches, &mut times)?;
    }
    let rows = data.rows() as f64;
    let per_row = |passes: &Passes| 1e9 * Seconds::of(passes).median / rows;
    Ok(Parts {
        name,
        bank: per_row(&times.bank),
        witnesses: per_row(&times.witnesses),
        cells: per_row(&times.cells),
        ledger: per_row(&times.ledger),
        risk: total / rows,
    })
}

/// The seconds that every part took for every batch, for each repetition.
#[derive(Default)]
struct Times {
    bank: Passes,
    witnesses: Passes,
    cells: Passes,
    ledger: Passes,
}

struct Players {
    bank: Bank,
    judge: Judge,
    ledger: Ledger,
}

impl Players {
    fn new(loss: AnyLoss) -> Result<Self> {
        let comparators = Comparators::from(UnitFree { radius: Positive::new(RADIUS)? });
        let judge = Judge::new(&loss, &comparators, false);
        Ok(Self {
            bank: Bank::new(loss).map_err(Error::msg)?,
            judge: judge.ok_or_else(|| Error::msg("nobody judges this loss"))?,
            ledger: Ledger::new(loss, comparators),
        })
    }

    /// Makes one pass, and returns the total loss.
    fn play(&mut self, batches: &[Batch], times: &mut Times) -> Result<f64> {
        let (mut cells, mut rounds) = (Vec::new(), Vec::new());
        let [mut bank, mut witnesses, mut ledger, mut found] = [const { Vec::new() }; 4];
        let mut total = 0.0;
        for batch in batches {
            let start = Instant::now();
            let rows = self.ledger.enter(batch.rows(), &mut cells);
            let entered = Instant::now();
            self.bank.learn_rows(rows, &mut rounds);
            let learned = Instant::now();
            self.ledger.record_entered(rows, &rounds)?;
            let recorded = Instant::now();
            self.judge.observe_rows(rows);
            witnesses.push(recorded.elapsed().as_secs_f64());
            bank.push((learned - entered).as_secs_f64());
            ledger.push((recorded - learned).as_secs_f64());
            found.push((entered - start).as_secs_f64());
            total += rounds.iter().map(|round: &Round| round.value).sum::<f64>();
        }
        black_box(&self.judge);
        times.bank.push(bank);
        times.witnesses.push(witnesses);
        times.ledger.push(ledger);
        times.cells.push(found);
        Ok(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Shape, dense};

    #[test]
    fn every_part_is_measured_and_the_bank_learns() {
        let data = dense(Shape { rows: 3000, features: 10, per_row: 10 }, 1).unwrap();
        for (named, untaught) in losses(&data).into_iter().zip([2_f64.ln(), 1.0, 1.0, 1.0]) {
            let parts = measure(&data, named, 2).unwrap();
            assert!(parts.risk < 0.7 * untaught, "{} loses {}", parts.name, parts.risk);
            assert!(parts.bank > 0.0 && parts.witnesses > 0.0 && parts.ledger > 0.0);
        }
    }

    #[test]
    fn proving_is_witnesses_and_ledger() {
        let parts =
            Parts { name: "", bank: 8.0, witnesses: 3.0, cells: 5.0, ledger: 1.0, risk: 0.0 };
        assert_eq!((parts.rest(), parts.proving_over_learning()), (5.0, 0.8));
        assert_eq!(parts.proving_over_bank(), 0.5);
    }
}
