//! The command `rueful inspect`.

use crate::args::InspectArgs;
use crate::numbers::{at_most, count, counted, measured, percent};
use crate::{classes, output, page, view};
use anyhow::Context;
use rueful_core::loss::Labels;
use rueful_run::{AnyModel, Described, Model};
use serde::Serialize;

/// The contents of a model, as they are in JSON.
#[derive(Serialize)]
pub(crate) struct Inside {
    pub(crate) bytes: u64,
    pub(crate) written_by: String,
    pub(crate) examples: u64,
    /// How many of the examples are rows of the data of the spec.
    pub(crate) position: u64,
    /// The number of rows that wait for their labels.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) waiting: u64,
    pub(crate) features: u64,
    pub(crate) nonzeros: u64,
    /// The number of weights that are not 0, and their norm. A model of many classes has a matrix
    /// of weights in every expert, and neither of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) weights: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) norm: Option<f64>,
    pub(crate) names: usize,
    pub(crate) collisions: usize,
    pub(crate) labels: Vec<(String, u64)>,
    pub(crate) missing: u64,
    pub(crate) sequential_risk: f64,
    pub(crate) mistake_rate: Option<f64>,
    pub(crate) certificate: Option<f64>,
    pub(crate) spec: Described,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

pub(crate) fn inspect(args: &InspectArgs) -> anyhow::Result<()> {
    let path = &args.model;
    let bytes =
        std::fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?.len();
    let inside = match AnyModel::open(path)? {
        AnyModel::Score(model) => Inside::new(*model, bytes),
        AnyModel::Classes(model) => classes::inspect(*model, bytes),
    };
    if args.json { output::print_json(&inside) } else { output::print(&inside.render()) }
}

impl Inside {
    fn new(model: Model, bytes: u64) -> Self {
        let (run, ledger, seen) = (&model.run, model.run.ledger(), model.stream.seen());
        let certificate = run.point().certificate();
        let weights = run.weights();
        let classifies = run.task().loss.labels() == Labels::Signs;
        Self {
            bytes,
            examples: ledger.rounds(),
            position: model.stream.now.census.examples,
            waiting: model.pending.len() as u64,
            features: seen.census.features,
            nonzeros: seen.census.nonzeros,
            weights: Some(weights.iter().filter(|&&(_, weight)| weight != 0.0).count()),
            norm: Some(weights.iter().map(|(_, weight)| weight * weight).sum::<f64>().sqrt()),
            names: seen.names.len(),
            collisions: seen.names.collisions(),
            labels: seen.labels.counts,
            missing: seen.missing.iter().sum(),
            sequential_risk: ledger.sequential_risk(),
            mistake_rate: classifies.then(|| ledger.per_round(ledger.mistakes() as f64)),
            certificate: certificate.is_finite().then_some(certificate),
            spec: Described { data: Some(model.data), ..run.task().into() },
            written_by: model.written_by,
        }
    }

    fn render(&self) -> String {
        let spec = &self.spec;
        let row = |name: &str, value: String| vec![name.to_owned(), value];
        let mut rows = vec![
            row(
                "file",
                format!("{} bytes, written by rueful {}", count(self.bytes), self.written_by),
            ),
            row("learner", view::learner(spec)),
            row("loss", view::loss(spec)),
            row("data", self.data_told()),
            row("examples", self.examples_told()),
            row(
                "features",
                format!("{}; {}", count(self.features), counted(self.nonzeros, "nonzero")),
            ),
        ];
        rows.extend(self.weights.zip(self.norm).map(|(weights, norm)| {
            row("weights", format!("{weights} that are not 0, ‖w‖ = {}", measured(norm)))
        }));
        if self.names > 0 {
            let (names, met) = (count(self.names as u64), count(self.collisions as u64));
            rows.push(row("names", format!("{names}, {met} of them share an index with another")));
        }
        if !self.labels.is_empty() {
            rows.push(row("labels", page::labels(&self.labels, rueful_data::printable)));
        }
        rows.push(row("sequential risk", measured(self.sequential_risk)));
        rows.extend(self.mistake_rate.map(|rate| row("mistakes", percent(rate))));
        rows.extend(self.certificate.map(|value| {
            row("certificate", format!("{} against {}", at_most(value), view::comparators(spec)))
        }));
        view::headed("A run put away", &view::plain(rows))
    }

    fn data_told(&self) -> String {
        let data = self.spec.data.as_ref();
        data.map_or(String::new(), |data| format!("{} ({})", data.name(), data.schema.name()))
    }

    fn examples_told(&self) -> String {
        let before = self.examples - self.position;
        let mut told = count(self.examples);
        if before > 0 {
            told += &format!(", {} of them before these data", count(before));
        }
        match self.waiting {
            0 => told,
            1 => told + "; 1 row waits for its label",
            rows => format!("{told}; {} rows wait for their labels", count(rows)),
        }
    }
}
