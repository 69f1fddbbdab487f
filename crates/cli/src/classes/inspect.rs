//! `rueful inspect` for a model of many classes.

use crate::inspect::Inside;
use rueful_run::{ClassRun, Described, Learning, Model};

/// The contents of a model of many classes.
pub(crate) fn inspect(model: Model<ClassRun>, bytes: u64) -> Inside {
    let (run, seen) = (&model.run, model.stream.seen());
    let (tally, certificate) = (run.ledger().tally(), run.point().certificate());
    let examples = run.examples();
    Inside {
        bytes,
        examples,
        position: model.stream.now.census.examples,
        waiting: model.pending.len() as u64,
        features: seen.census.features,
        nonzeros: seen.census.nonzeros,
        weights: None,
        norm: None,
        names: seen.names.len(),
        collisions: seen.names.collisions(),
        labels: seen.labels.counts,
        missing: seen.missing.iter().sum(),
        sequential_risk: tally.sequential_risk(),
        mistake_rate: Some(tally.mistakes() as f64 / examples.max(1) as f64),
        certificate: certificate.is_finite().then_some(certificate),
        spec: Described { data: Some(model.data), ..run.task().into() },
        written_by: model.written_by,
    }
}
