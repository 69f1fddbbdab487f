//! `rueful predict`

use crate::args::{PredictArgs, Wanted};
use crate::numbers::{count, measured, percent};
use crate::output;
use anyhow::{Context, bail};
use rueful_core::Batch;
use rueful_core::loss::Loss;
use rueful_data::{NewFile, Source};
use rueful_run::{DataSpec, Manner, Model, Scored, Unlearned};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

pub(crate) fn predict(args: &PredictArgs) -> anyhow::Result<()> {
    let model = Model::open(&args.model)?;
    if args.wanted == Wanted::Probability && model.task().loss.probability(0.0).is_none() {
        let loss = model.task().loss.name();
        bail!("the {loss} loss has no probabilities: learn with --loss logistic for that");
    }
    let Unlearned { mut source, has_labels } =
        open(&model, &args.files, args.no_label, &args.manner())?;
    let mut tally = Judgement::default();
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
    if !args.quiet {
        output::note(&tally.told(&model, has_labels));
    }
    Ok(())
}

/// Data to be looked at with a model, read as it has learned to.
pub(crate) fn open(
    model: &Model,
    files: &[String],
    no_label: bool,
    manner: &Manner,
) -> anyhow::Result<Unlearned> {
    // Weights are for learning: here every row counts, and none is left out.
    let manner = &Manner { idle_rows: true, ..manner.clone() };
    let data = DataSpec { files: files.to_vec(), class_weights: None, ..model.data.clone() };
    let labels = (!no_label).then(|| model.task().loss.labels());
    let opened = data.open_to_predict(labels, manner);
    opened.with_context(|| "the data are read as those the model has learned from")
}

/// Writes a file that has its name once it is whole: one that was there is there until then.
fn write_file(
    path: &Path,
    write: &mut dyn FnMut(&mut dyn Write) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let failed = || format!("cannot write {}", path.display());
    let mut out = BufWriter::new(NewFile::begin(path).with_context(failed)?);
    write(&mut out)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error).with_context(failed)?;
    file.finish().with_context(failed)
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
    while source.fill(&mut batch)? {
        for example in batch.iter() {
            let scored = model.score(&example.features);
            if !example.importance.is_zero() {
                tally.add(model, scored.score, example.label);
            }
            if args.json {
                serde_json::to_writer(&mut *out, &scored)?;
                writeln!(out)?;
            } else {
                writeln!(out, "{}", args.wanted.of(&scored))?;
            }
        }
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

/// How good the predictions were, where there are labels.
#[derive(Debug, Default)]
struct Judgement {
    examples: u64,
    loss: f64,
    mistakes: Option<u64>,
}

impl Judgement {
    fn add(&mut self, model: &Model, score: f64, label: f64) {
        let (loss, is_mistake) = model.judge(score, label);
        self.examples += 1;
        self.loss += loss;
        if let Some(is_mistake) = is_mistake {
            *self.mistakes.get_or_insert(0) += u64::from(is_mistake);
        }
    }

    fn told(&self, model: &Model, has_labels: bool) -> String {
        let examples = count(self.examples);
        if !has_labels {
            return format!("{examples} predictions");
        }
        let average = measured(self.loss / self.examples as f64);
        let loss = model.task().loss.name();
        let mistakes = self.mistakes.map(|mistakes| {
            format!(", {} mistakes", percent(mistakes as f64 / self.examples as f64))
        });
        format!(
            "{examples} predictions: average {loss} loss {average}{}",
            mistakes.unwrap_or_default()
        )
    }
}
