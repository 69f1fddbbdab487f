//! The command `rueful predict`.

use crate::args::{PredictArgs, Wanted};
use crate::numbers::{counted, measured, percent};
use crate::{classes, figures, output};
use anyhow::{Context, bail};
use rueful_core::figures::Scorecard;
use rueful_core::loss::{Loss, ZeroOne};
use rueful_core::{Batch, Round, Rows};
use rueful_data::{DataError, NewFile, Source, replace_file};
use rueful_run::{
    AnyModel, DataSpec, FiguresReport, Interval, LabelUse, Model, ReadingOptions, Scored, Unlearned,
};
use serde::Serialize;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

pub(crate) fn predict(args: &PredictArgs) -> anyhow::Result<()> {
    let model = match AnyModel::open(&args.model)? {
        AnyModel::Score(model) => *model,
        AnyModel::Classes(model) => return classes::predict(args, &model),
    };
    let wanted = args.wanted.unwrap_or(Wanted::Score);
    if wanted == Wanted::Probability && model.task().loss.probability(0.0).is_none() {
        let loss = model.task().loss.name();
        bail!("the {loss} loss has no probabilities: learn with --loss logistic for that");
    }
    let Unlearned { mut source, has_labels } =
        open(&model, &args.files, args.no_label, &args.reading_options())?;
    check_figures(args, has_labels)?;
    let mut tally = Judgement::of(&model);
    write_out(args, &mut |out| {
        let form = (!args.json).then_some(wanted);
        go_through(&model, &mut *source, form, out, &mut tally)
    })?;
    let quality = tally.quality(&model).filter(|_| has_labels);
    tell(quality, tally.card.examples(), args)
}

/// Refuses to judge predictions without labels.
pub(crate) fn check_figures(args: &PredictArgs, has_labels: bool) -> anyhow::Result<()> {
    if args.figures.is_some() && !has_labels {
        bail!("--figures compares predictions with labels, and these data have none");
    }
    Ok(())
}

/// Prints how good the predictions were, or how many there were if that is all that is known.
pub(crate) fn tell(
    quality: Option<Quality>,
    predictions: u64,
    args: &PredictArgs,
) -> anyhow::Result<()> {
    match quality {
        Some(quality) => quality.tell(args)?,
        None => output::note(&counted(predictions, "prediction")),
    }
    Ok(())
}

/// Lets `write` write to the file that was named, or to the standard output. It is no error if the
/// reader has closed the pipe.
pub(crate) fn write_out(
    args: &PredictArgs,
    write: &mut dyn FnMut(&mut dyn Write) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    if let Some(path) = &args.out {
        return write_file(path, write);
    }
    let mut out = BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| Ok(out.flush()?)) {
        Err(error) if is_closed_pipe(&error) => Ok(()),
        done => done,
    }
}

/// The same options for a reader that knows these labels.
pub(crate) fn knowing(known_labels: Vec<String>, options: ReadingOptions) -> ReadingOptions {
    ReadingOptions { known_labels, ..options }
}

/// Opens data that a model only predicts. They are read in the same way as the data it has learned
/// from.
pub(crate) fn open(
    model: &Model,
    files: &[String],
    no_label: bool,
    reading_options: &ReadingOptions,
) -> anyhow::Result<Unlearned> {
    let labels = LabelUse::Learn(model.task().loss.labels());
    let labels = if no_label { LabelUse::Ignore } else { labels };
    open_as(&model.data, files, labels, reading_options)
}

/// Opens files that are read like some data, with these labels.
pub(crate) fn open_as(
    data: &DataSpec,
    files: &[String],
    labels: LabelUse,
    reading_options: &ReadingOptions,
) -> anyhow::Result<Unlearned> {
    // Class weights are only for learning. Here every row counts, and none is left out.
    let reading_options = &ReadingOptions { idle_rows: true, ..reading_options.clone() };
    let data = DataSpec { files: files.to_vec(), class_weights: None, ..data.clone() };
    let opened = data.open_to_predict(labels, reading_options);
    opened.with_context(|| "the data are read as those the model has learned from")
}

/// Writes a file that gets its name only when it is complete. An earlier file of that name stays
/// until then.
fn write_file(
    path: &Path,
    write: &mut dyn FnMut(&mut dyn Write) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let failed = || format!("cannot write {}", path.display());
    let mut out = BufWriter::new(NewFile::begin(path).with_context(failed)?);
    write(&mut out).map_err(|error| name_the_file(error, failed))?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error).with_context(failed)?;
    file.finish().with_context(failed)
}

/// Adds the name of the output file to its own errors. Errors of the data already name their file.
fn name_the_file(error: anyhow::Error, failed: impl Fn() -> String) -> anyhow::Error {
    let is_of_output = error.downcast_ref::<io::Error>().is_some();
    if is_of_output { error.context(failed()) } else { error }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let cause = error.downcast_ref::<io::Error>();
    cause.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// Writes every prediction in the wanted form, or as JSON.
fn go_through(
    model: &Model,
    source: &mut dyn Source,
    form: Option<Wanted>,
    out: &mut dyn Write,
    tally: &mut Judgement,
) -> anyhow::Result<()> {
    let (mut batch, mut all) = (Batch::default(), Vec::new());
    while source.fill(&mut batch).map_err(DataError::under_a_model)? {
        model.score_rows(batch.rows(), &mut all, &mut tally.rounds);
        for scored in &all {
            match form {
                Some(wanted) => writeln!(out, "{}", wanted.of(scored))?,
                None => {
                    serde_json::to_writer(&mut *out, scored)?;
                    writeln!(out)?;
                }
            }
        }
        tally.observe(batch.rows());
    }
    Ok(())
}

impl Wanted {
    fn of(self, scored: &Scored) -> String {
        match self {
            Self::Score => scored.score.to_string(),
            Self::Label => scored.label.clone().unwrap_or_else(|| "-1".to_owned()),
            Self::Probability => scored.probability.unwrap_or(f64::NAN).to_string(),
        }
    }
}

/// The quality of the predictions, if there are labels.
struct Judgement {
    card: Scorecard,
    mistakes: u64,
    /// The predictions for the rows of the current batch.
    rounds: Vec<Round>,
}

impl Judgement {
    fn of(model: &Model) -> Self {
        Self { card: model.scorecard(), mistakes: 0, rounds: Vec::new() }
    }

    fn observe(&mut self, rows: Rows<'_>) {
        self.card.observe_rows(rows, &self.rounds);
        self.mistakes += ZeroOne {}.mistakes(rows, &self.rounds);
    }

    /// How good the predictions were. `None` if no row counts.
    fn quality(&self, model: &Model) -> Option<Quality> {
        let (card, examples) = (&self.card, self.card.examples());
        let figures = FiguresReport::new(card, examples)?;
        let mistakes = figures.confusion.map(|_| self.mistakes as f64 / examples as f64);
        let lost = card.lost() / card.weight();
        Some(Quality::new(model.task().loss.name().to_owned(), lost, mistakes, figures))
    }
}

/// How good the predictions were, in numbers. Losses are averages by importance. The keys of its JSON are stable.
#[derive(Serialize)]
pub(crate) struct Quality {
    examples: u64,
    loss: String,
    average_loss: f64,
    mistake_rate: Option<f64>,
    #[serde(flatten)]
    figures: FiguresReport,
}

impl Quality {
    pub(crate) fn new(
        loss: String,
        average_loss: f64,
        mistake_rate: Option<f64>,
        mut figures: FiguresReport,
    ) -> Self {
        let examples = figures.counted.examples;
        if let Some(best) = &mut figures.best_constant {
            let scale = examples as f64 / figures.counted.weight;
            best.loss = Interval { lower: best.loss.lower * scale, upper: best.loss.upper * scale };
        }
        Self { examples, loss, average_loss, mistake_rate, figures }
    }

    /// Prints it, and writes it to the file that was named for it.
    pub(crate) fn tell(&self, args: &PredictArgs) -> anyhow::Result<()> {
        output::note(&self.costs());
        let line = figures::in_one_line(&self.figures);
        (!line.is_empty()).then(|| output::note(&line));
        self.figures.remarks.iter().for_each(|remark| output::note(remark));
        let Some(path) = &args.figures else { return Ok(()) };
        let text = serde_json::to_string_pretty(self)? + "\n";
        let written = replace_file(path, text.as_bytes());
        written.with_context(|| format!("cannot write {}", path.display()))
    }

    fn costs(&self) -> String {
        let Self { examples, loss, average_loss, mistake_rate, figures } = self;
        let best = figures.best_constant.map(|best| best.loss.upper);
        let best = best.map(|best| format!(", best constant {}", measured(best)));
        let mistakes = mistake_rate.map(|rate| format!(", {} mistakes", percent(rate)));
        let (best, mistakes) = (best.unwrap_or_default(), mistakes.unwrap_or_default());
        let (predictions, average) = (counted(*examples, "prediction"), measured(*average_loss));
        format!("{predictions}: average {loss} loss {average}{best}{mistakes}")
    }
}
