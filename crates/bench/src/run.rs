//! The cost of a whole run from memory: learner, ledger, figures and census, on batches that are
//! ready.

use crate::generate::Data;
use crate::measure::{Passes, Seconds, timed};
use anyhow::Result;
use rueful_run::{DataSpec, Run, Settings};
use serde::Serialize;
use std::hint::black_box;

/// The runs that are measured: a name, a learner and a loss.
const RUNS: [(&str, &str, &str); 2] =
    [("run of ogd", "ogd", "hinge"), ("run of the bank", "bank", "logistic")];

/// The cost of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Whole {
    pub(crate) name: &'static str,
    /// The nanoseconds for each row.
    pub(crate) nanoseconds: f64,
    /// The average loss of the predictions.
    pub(crate) risk: f64,
}

/// The names of all runs.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    RUNS.into_iter().map(|(name, ..)| name)
}

/// Measures the runs that are wanted.
pub(crate) fn measure(
    data: &Data,
    is_wanted: impl Fn(&str) -> bool,
    repetitions: usize,
) -> Result<Vec<Whole>> {
    let wanted = RUNS.into_iter().filter(|(name, ..)| is_wanted(name));
    wanted.map(|(name, learner, loss)| whole(data, name, (learner, loss), repetitions)).collect()
}

fn whole(
    data: &Data,
    name: &'static str,
    (learner, loss): (&str, &str),
    repetitions: usize,
) -> Result<Whole> {
    let settings = Settings {
        learner: Some(learner.to_owned()),
        loss: Some(loss.to_owned()),
        ..Settings::default()
    };
    let spec = settings.resolve(DataSpec::libsvm(""), &mut |_| unreachable!("it is not tuned"))?;
    let (mut passes, mut risk) = (Passes::new(), 0.0);
    for _ in 0..repetitions {
        let mut run = Run::new(spec.spec.task())?;
        passes.push(timed(&data.batches, |batch| {
            run.learn(batch.rows())?;
            Ok(())
        })?);
        risk = black_box(&run).ledger().sequential_risk();
    }
    let nanoseconds = 1e9 * Seconds::of(&passes).median / data.rows() as f64;
    Ok(Whole { name, nanoseconds, risk })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Shape, dense};

    #[test]
    fn runs_learn_and_are_measured() {
        let data = dense(Shape { rows: 3000, features: 10, per_row: 10 }, 1).unwrap();
        let all = measure(&data, |_| true, 2).unwrap();
        assert_eq!(all.len(), RUNS.len());
        assert!(all.iter().all(|run| run.nanoseconds > 0.0 && run.risk < 0.7), "{all:?}");
        assert!(measure(&data, |_| false, 1).unwrap().is_empty());
    }
}
