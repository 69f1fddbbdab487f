//! `rueful predict` for a model of many classes.

use crate::args::{PredictArgs, Wanted};
use crate::predict::{self, Quality};
use anyhow::bail;
use rueful_core::Batch;
use rueful_data::{DataError, Source};
use rueful_run::{
    ClassCard, ClassLoss, ClassRun, ClassScored, FiguresReport, LabelUse, Model, Unlearned,
};
use std::io::Write;

/// Writes a prediction for every row. Probabilities and scores have one column for each class, and
/// a first line with the names of the classes.
pub(crate) fn predict(args: &PredictArgs, model: &Model<ClassRun>) -> anyhow::Result<()> {
    let loss = model.run.task().loss;
    let wanted = args.wanted.unwrap_or(Wanted::Label);
    if wanted == Wanted::Probability && loss != (ClassLoss::Softmax {}) {
        bail!("the {loss} loss has no probabilities: learn with --loss softmax for that");
    }
    let (known_labels, labels) = (model.class_names(), LabelUse::Classes);
    let labels = if args.no_label { LabelUse::Ignore } else { labels };
    let options = predict::knowing(known_labels, args.reading_options());
    let Unlearned { mut source, has_labels } =
        predict::open_as(&model.data, &args.files, labels, &options)?;
    predict::check_figures(args, has_labels)?;
    let mut card = ClassCard::default();
    predict::write_out(args, &mut |out| {
        let form = Form { wanted, is_json: args.json, has_labels };
        go_through(model, &mut *source, &form, out, &mut card)
    })?;
    let quality = quality(&card, loss).filter(|_| has_labels);
    predict::tell(quality, card.examples(), args)
}

/// The form in which predictions are written, and whether rows have labels to judge them by.
struct Form {
    wanted: Wanted,
    is_json: bool,
    has_labels: bool,
}

fn go_through(
    model: &Model<ClassRun>,
    source: &mut dyn Source,
    form: &Form,
    out: &mut dyn Write,
    card: &mut ClassCard,
) -> anyhow::Result<()> {
    let names = model.class_names();
    if form.wanted != Wanted::Label && !form.is_json {
        let head: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        writeln!(out, "{}", head.join(","))?;
    }
    let mut batch = Batch::default();
    while source.fill(&mut batch).map_err(DataError::under_a_model)? {
        for example in batch.iter() {
            let scored = model.score(&example.features);
            let importance = example.importance.get();
            if importance > 0.0 {
                let class = example.label as u32;
                let loss = if form.has_labels { importance * scored.loss(class) } else { 0.0 };
                card.observe(class, importance, scored.class, loss);
            }
            write(&scored, &names, form, out)?;
        }
    }
    Ok(())
}

fn write(
    scored: &ClassScored,
    names: &[String],
    form: &Form,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    if form.is_json {
        serde_json::to_writer(&mut *out, &super::explain::json_of(scored, names))?;
        writeln!(out)?;
        return Ok(());
    }
    let columns = |numbers: &[f64]| {
        let cells: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        cells.join(",")
    };
    let line = match form.wanted {
        Wanted::Label => scored.label.clone().unwrap_or_default(),
        Wanted::Score => columns(&scored.scores),
        Wanted::Probability => columns(scored.probabilities.as_deref().unwrap_or_default()),
    };
    Ok(writeln!(out, "{line}")?)
}

/// A cell of a CSV file, in quotes if it needs them.
fn quoted(name: &str) -> String {
    if name.contains(['"', ',', '\n', '\r']) {
        return format!("\"{}\"", name.replace('"', "\"\""));
    }
    name.to_owned()
}

/// How good the predictions were. `None` if no row counts.
fn quality(card: &ClassCard, loss: ClassLoss) -> Option<Quality> {
    let figures = FiguresReport::of_classes(card, loss)?;
    let (lost, wrong) = (card.lost() / card.weight(), figures.rates.error_rate);
    Some(Quality::new(loss.to_string(), lost, wrong, figures))
}
