//! `rueful explain` for a model of many classes.

use crate::args::ExplainArgs;
use crate::explain::contributions_table;
use crate::numbers::{count, measured};
use crate::{output, predict, view};
use anyhow::{Context, bail};
use rueful_core::Batch;
use rueful_data::printable;
use rueful_run::{
    ClassExplanation, ClassRun, ClassScored, Contribution, LabelUse, Model, Unlearned,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// A prediction in JSON, with a name for every number.
#[derive(Serialize)]
pub(super) struct Named {
    label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probabilities: Option<BTreeMap<String, f64>>,
    /// The probability of a class that was never seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    unseen: Option<f64>,
    /// JSON has no numbers that are not finite.
    scores: BTreeMap<String, Option<f64>>,
}

/// Gives every number of a prediction the name of its class.
pub(super) fn json_of(scored: &ClassScored, names: &[String]) -> Named {
    let finite = |score: &f64| score.is_finite().then_some(*score);
    let named = |numbers: &Vec<f64>| names.iter().cloned().zip(numbers.iter().copied()).collect();
    Named {
        label: scored.label.clone(),
        probabilities: scored.probabilities.as_ref().map(named),
        unseen: scored.unseen,
        scores: names.iter().cloned().zip(scored.scores.iter().map(finite)).collect(),
    }
}

/// One example, its prediction, and the reasons for what is said of one class.
#[derive(Serialize)]
struct Explained {
    row: u64,
    #[serde(flatten)]
    scored: Named,
    /// The class that is explained, and ln(p/(1 − p)) of its probability, or its score.
    class: String,
    score: f64,
    contributions: Vec<Contribution>,
    rest: f64,
    /// The label of the example. The field after it is the loss of the prediction.
    #[serde(skip_serializing_if = "Option::is_none")]
    actual: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loss: Option<f64>,
}

/// Explains what a model says of one class for a row: of the class that was named, or of the
/// predicted one.
pub(crate) fn explain(args: &ExplainArgs, model: &Model<ClassRun>) -> anyhow::Result<()> {
    let names = model.class_names();
    let labels = if args.no_label { LabelUse::Ignore } else { LabelUse::Classes };
    let options = predict::knowing(names.clone(), args.reading_options());
    let data = predict::open_as(&model.data, &args.files, labels, &options)?;
    let class = args.class.as_deref().map(|name| number_of(name, &names)).transpose()?;
    let explained = find(model, data, args, (class, &names))?;
    if args.json {
        return output::print_json(&explained);
    }
    output::print(&render(model, &explained, args.top))
}

fn number_of(name: &str, names: &[String]) -> anyhow::Result<u32> {
    match names.iter().position(|known| known == name) {
        Some(place) => Ok(place as u32),
        None => bail!("--class: the model has seen no label {name:?}"),
    }
}

fn find(
    model: &Model<ClassRun>,
    data: Unlearned,
    args: &ExplainArgs,
    (class, names): (Option<u32>, &[String]),
) -> anyhow::Result<Explained> {
    let Unlearned { mut source, has_labels } = data;
    let (mut batch, mut before) = (Batch::default(), 0);
    while source.fill(&mut batch)? {
        let place = args.row.get() - 1 - before;
        if place < batch.len() as u64 {
            let example = batch.get(place as usize);
            let explained = model.explain(&example, class, source.names());
            let explained = explained.context("the model has seen no class")?;
            let ClassExplanation { scored, class, score, contributions, rest } = explained;
            let actual = has_labels.then(|| source.class(example.label as u32)).flatten();
            return Ok(Explained {
                row: args.row.get(),
                actual: actual.map(str::to_owned),
                loss: has_labels.then(|| scored.loss(example.label as u32)),
                scored: json_of(&scored, names),
                class,
                score,
                contributions,
                rest,
            });
        }
        before += batch.len() as u64;
    }
    bail!("there is no row {}: the data have {}", args.row, count(before))
}

fn render(model: &Model<ClassRun>, explained: &Explained, top: usize) -> String {
    let Explained { scored, class, contributions, rest, .. } = explained;
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: Option<String>| {
        facts.extend(value.map(|value| vec![name.to_owned(), value]));
    };
    fact("predicted", scored.label.as_deref().map(printable));
    let shares = scored.probabilities.iter().flatten();
    let mut shares: Vec<(&String, &f64)> = shares.collect();
    shares.sort_by(|one, other| other.1.total_cmp(one.1));
    for (name, share) in shares.into_iter().take(top.max(1)) {
        fact(&format!("probability of {}", printable(name)), Some(measured(*share)));
    }
    fact("actual", explained.actual.as_deref().map(printable));
    fact(&format!("{} loss", model.run.task().loss), explained.loss.map(measured));
    let title = format!("Row {}", count(explained.row));
    let what = if scored.probabilities.is_some() { "ln(p/(1 − p))" } else { "its score" };
    let why = format!("Why {}: {what}", printable(class));
    view::headed(&title, &view::plain(facts))
        + &contributions_table(&why, contributions, *rest, top)
}
