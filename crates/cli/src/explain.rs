//! The command `rueful explain`.

use crate::args::ExplainArgs;
use crate::numbers::{count, measured};
use crate::{classes, output, predict, view, weights};
use anyhow::bail;
use rueful_core::Batch;
use rueful_data::DataError;
use rueful_run::{AnyModel, Contribution, Explanation, Model, Unlearned};
use serde::Serialize;
use std::collections::HashMap;

/// One example, its prediction, and the reasons for it.
#[derive(Serialize)]
struct Explained {
    row: u64,
    #[serde(flatten)]
    explanation: Explanation,
    /// The label of the example, as a learner sees it. The field after it is the loss of the
    /// prediction.
    #[serde(skip_serializing_if = "Option::is_none")]
    actual: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loss: Option<f64>,
}

pub(crate) fn explain(args: &ExplainArgs) -> anyhow::Result<()> {
    let model = match AnyModel::open(&args.model)? {
        AnyModel::Score(model) => *model,
        AnyModel::Classes(model) => return classes::explain(args, &model),
    };
    if args.class.is_some() {
        bail!("--class is for models of many classes, and this one gives one score");
    }
    let data = predict::open(&model, &args.files, args.no_label, &args.reading_options())?;
    let explained = find(&model, data, args)?;
    if args.json {
        output::print_json(&explained)
    } else {
        output::print(&render(&model, &explained, args.top))
    }
}

/// Finds the row that was asked for, and explains its prediction.
fn find(model: &Model, data: Unlearned, args: &ExplainArgs) -> anyhow::Result<Explained> {
    let Unlearned { mut source, has_labels: known } = data;
    let (mut batch, mut before) = (Batch::default(), 0);
    while source.fill(&mut batch).map_err(DataError::under_a_model)? {
        let place = args.row.get() - 1 - before;
        if place < batch.len() as u64 {
            let example = batch.get(place as usize);
            let explanation = model.explain(&example, source.names());
            let loss = model.judge(explanation.scored.score, example.label);
            return Ok(Explained {
                row: args.row.get(),
                explanation,
                actual: known.then_some(example.label),
                loss: known.then_some(loss),
            });
        }
        before += batch.len() as u64;
    }
    bail!("there is no row {}: the data have {}", args.row, count(before))
}

fn render(model: &Model, explained: &Explained, top: usize) -> String {
    let Explanation { scored, contributions, rest } = &explained.explanation;
    let mut facts = vec![vec!["score".to_owned(), measured(scored.score)]];
    let mut fact = |name: &str, value: Option<String>| {
        facts.extend(value.map(|value| vec![name.to_owned(), value]));
    };
    fact("predicted", scored.label.as_deref().map(rueful_data::printable));
    fact("probability", scored.probability.map(measured));
    fact("actual", explained.actual.map(|label| label.to_string()));
    fact(&format!("{} loss", model.task().loss.name()), explained.loss.map(measured));
    let title = format!("Row {}", count(explained.row));
    view::headed(&title, &view::plain(facts))
        + &contributions_table("Why", contributions, *rest, top)
}

/// A feature, or the parts of a column that became several features.
struct Entry<'a> {
    column: Option<&'a str>,
    parts: Vec<&'a Contribution>,
}

impl Entry<'_> {
    /// The amount that all parts add together.
    fn sum(&self) -> f64 {
        self.parts.iter().map(|part| part.contribution).sum()
    }
}

/// Puts the parts of a column together. The entry that adds most comes first.
fn entries(contributions: &[Contribution]) -> Vec<Entry<'_>> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    let mut places = HashMap::new();
    for one in contributions {
        let column = one.column.as_deref();
        match column.and_then(|column| places.get(column).copied()) {
            Some(place) => {
                let entry: &mut Entry<'_> = &mut entries[place];
                entry.parts.push(one);
            }
            None => {
                places.extend(column.map(|column| (column, entries.len())));
                entries.push(Entry { column, parts: vec![one] });
            }
        }
    }
    entries.sort_by(|one, other| other.sum().abs().total_cmp(&one.sum().abs()));
    entries
}

/// Returns a table of what each feature adds to a score. The parts of a column stand below their sum.
pub(crate) fn contributions_table(
    title: &str,
    contributions: &[Contribution],
    left: f64,
    top: usize,
) -> String {
    let head = ["", "value", "weight", "adds"].map(str::to_owned).to_vec();
    let line = |c: &Contribution, indent: &str| {
        let name = indent.to_owned() + &weights::name(c.name.as_deref(), c.index.into());
        vec![name, measured(c.value.into()), measured(c.weight), measured(c.contribution)]
    };
    let entries = entries(contributions);
    let mut rows = vec![head];
    for entry in entries.iter().take(top) {
        match (entry.column, &entry.parts[..]) {
            (Some(column), parts) if parts.len() > 1 => {
                let sum = measured(entry.sum());
                rows.push(vec![rueful_data::printable(column), String::new(), String::new(), sum]);
                rows.extend(parts.iter().map(|part| line(part, "  ")));
            }
            (_, parts) => rows.extend(parts.iter().map(|part| line(part, ""))),
        }
    }
    let rest = entries.get(top..).unwrap_or_default();
    if !rest.is_empty() {
        let sum = rest.iter().map(Entry::sum).sum();
        let others = format!("{} others", count(rest.len() as u64));
        rows.push(vec![others, String::new(), String::new(), measured(sum)]);
    }
    if left != 0.0 {
        let name = "what no feature decides".to_owned();
        rows.push(vec![name, String::new(), String::new(), measured(left)]);
    }
    let score = contributions.iter().map(|c| c.contribution).sum::<f64>() + left;
    rows.push(vec!["score".to_owned(), String::new(), String::new(), measured(score)]);
    view::headed(title, &view::numbers_table(rows, 1..=3))
}
