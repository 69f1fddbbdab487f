//! The command `rueful predict`.

use crate::args::{PredictArgs, Wanted};
use crate::numbers::{counted, measured, percent};
use crate::{figures, output};
use anyhow::{Context, bail};
use rueful_core::figures::Scorecard;
use rueful_core::loss::{Loss, ZeroOne};
use rueful_core::{Batch, Round};
use rueful_data::{DataError, NewFile, Source, replace_file};
use rueful_run::{DataSpec, FiguresReport, Interval, Model, ReadingOptions, Scored, Unlearned};
use serde::Serialize;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

pub(crate) fn predict(args: &PredictArgs) -> anyhow::Result<()> {
    let model = Model::open(&args.model)?;
    if args.wanted == Wanted::Probability && model.task().loss.probability(0.0).is_none() {
        let loss = model.task().loss.name();
        bail!("the {loss} loss has no probabilities: learn with --loss logistic for that");
    }
    let Unlearned { mut source, has_labels } =
        open(&model, &args.files, args.no_label, &args.reading_options())?;
    if args.figures.is_some() && !has_labels {
        bail!("--figures compares predictions with labels, and these data have none");
    }
    let mut tally = Judgement::of(&model);
    let mut write = |out: &mut dyn Write| go_through(&model, &mut *source, args, out, &mut tally);
    match &args.out {
        Some(path) => write_file(path, &mut write)?,
        None => {
            let mut out = BufWriter::new(io::stdout().lock());
            match write(&mut out).and_then(|()| Ok(out.flush()?)) {
                Err(error) if is_closed_pipe(&error) => return Ok(()),
                done => done?,
            }
        }
    }
    let quality = Quality::of(&tally, &model).filter(|_| has_labels);
    tally.tell(quality.as_ref());
    if let (Some(path), Some(quality)) = (&args.figures, &quality) {
        write_figures(path, quality)?;
    }
    Ok(())
}

fn write_figures(path: &Path, quality: &Quality) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(quality)? + "\n";
    replace_file(path, text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

/// Opens data that a model only predicts. They are read in the same way as the data it has learned
/// from.
pub(crate) fn open(
    model: &Model,
    files: &[String],
    no_label: bool,
    reading_options: &ReadingOptions,
) -> anyhow::Result<Unlearned> {
    // Class weights are only for learning. Here every row counts, and none is left out.
    let reading_options = &ReadingOptions { idle_rows: true, ..reading_options.clone() };
    let data = DataSpec { files: files.to_vec(), class_weights: None, ..model.data.clone() };
    let labels = (!no_label).then(|| model.task().loss.labels());
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

fn go_through(
    model: &Model,
    source: &mut dyn Source,
    args: &PredictArgs,
    out: &mut dyn Write,
    tally: &mut Judgement,
) -> anyhow::Result<()> {
    let mut batch = Batch::default();
    while source.fill(&mut batch).map_err(DataError::under_a_model)? {
        tally.rounds.clear();
        for example in batch.iter() {
            let scored = model.score(&example.features);
            tally.rounds.push(Round::on(&model.task().loss, scored.score, &example));
            if args.json {
                serde_json::to_writer(&mut *out, &scored)?;
                writeln!(out)?;
            } else {
                writeln!(out, "{}", args.wanted.of(&scored))?;
            }
        }
        tally.observe(&batch);
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

    fn observe(&mut self, batch: &Batch) {
        self.card.observe_rows(batch.rows(), &self.rounds);
        let counted = batch.iter().zip(&self.rounds).filter(|(row, _)| !row.importance.is_zero());
        let mistakes =
            counted.filter(|(row, round)| ZeroOne {}.is_mistake(round.prediction, row.label));
        self.mistakes += mistakes.count() as u64;
    }

    /// Prints how good the predictions were, if that is known, and the remarks about these figures.
    fn tell(&self, quality: Option<&Quality>) {
        let Some(quality) = quality else {
            return output::note(&counted(self.card.examples(), "prediction"));
        };
        output::note(&quality.costs());
        let line = figures::in_one_line(&quality.figures);
        (!line.is_empty()).then(|| output::note(&line));
        quality.figures.remarks.iter().for_each(|remark| output::note(remark));
    }
}

/// How good the predictions were, in numbers. Losses are averages by importance. The keys of its JSON are stable.
#[derive(Serialize)]
struct Quality {
    examples: u64,
    loss: &'static str,
    average_loss: f64,
    mistake_rate: Option<f64>,
    #[serde(flatten)]
    figures: FiguresReport,
}

impl Quality {
    /// Returns `None` if no row counts.
    fn of(tally: &Judgement, model: &Model) -> Option<Self> {
        let (card, examples) = (&tally.card, tally.card.examples());
        let mut figures = FiguresReport::new(card, examples)?;
        if let Some(best) = &mut figures.best_constant {
            let scale = examples as f64 / card.weight();
            best.loss = Interval { lower: best.loss.lower * scale, upper: best.loss.upper * scale };
        }
        let mistakes = tally.mistakes as f64 / examples as f64;
        Some(Self {
            examples,
            loss: model.task().loss.name(),
            average_loss: card.lost() / card.weight(),
            mistake_rate: figures.confusion.map(|_| mistakes),
            figures,
        })
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
