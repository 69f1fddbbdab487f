//! `rueful run`

use crate::args::RunArgs;
use crate::{output, view};
use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};
use rueful_data::{DataError, Libsvm, Limits, Reading, Survey, survey};
use rueful_run::{LossSpec, Resolved, Run, Spec};
use std::path::Path;

pub(crate) fn run(args: &RunArgs) -> anyhow::Result<()> {
    let Resolved { spec, notes } = describe(args)?;
    let mut source = open(&spec.data.file, spec.data.constant, &spec.loss)?;
    let mut run = Run::new(spec)?;
    let bar = progress_bar(&run.spec().data.file);
    let finished = run.drive(&mut source, |progress| {
        bar.set_position(progress.bytes);
        bar.set_message(format!("average loss {:.4}", progress.sequential_risk));
    });
    bar.finish_and_clear();
    finished?;

    let report = run.report(&source);
    if args.json {
        notes.iter().for_each(|note| output::note(note));
        output::print_json(&report)
    } else {
        output::print(&view::report(&report, &notes))
    }
}

/// The description of the run: from the flags, or from a file.
fn describe(args: &RunArgs) -> anyhow::Result<Resolved> {
    if let Some(path) = &args.spec {
        let mut spec = read_spec(path)?;
        if let Some(file) = &args.file {
            spec.data.file = file_name(file)?;
        }
        return Ok(Resolved { spec, notes: Vec::new() });
    }
    let Some(file) = &args.file else { bail!("FILE is missing") };
    let file = file_name(file)?;
    let constant = !args.no_constant;
    let once_only = std::fs::metadata(&file).is_ok_and(|metadata| !metadata.is_file());
    let mut surveyed = false;
    let mut look_ahead = |loss: &LossSpec| -> Result<Survey, DataError> {
        surveyed = true;
        if once_only { Ok(Survey::default()) } else { survey(&mut open(&file, constant, loss)?) }
    };
    let resolved = args.settings().resolve(&file, &mut look_ahead);
    if surveyed && once_only {
        bail!("{file} can be read only once: give --horizon and --gradient-bound");
    }
    Ok(resolved?)
}

/// Reads a spec, or the report that contains one.
fn read_spec(path: &Path) -> anyhow::Result<Spec> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
    let mut value: serde_json::Value =
        serde_json::from_str(&text).with_context(|| format!("{shown} is not JSON"))?;
    if let Some(spec) = value.get_mut("spec") {
        value = spec.take();
    }
    serde_path_to_error::deserialize(value)
        .with_context(|| format!("{shown} does not describe a run"))
}

fn file_name(path: &Path) -> anyhow::Result<String> {
    match path.to_str() {
        Some(name) => Ok(name.to_owned()),
        None => bail!("the name of {} is not valid text", path.display()),
    }
}

fn open(file: &str, constant: bool, loss: &LossSpec) -> Result<Libsvm<std::fs::File>, DataError> {
    let reading = Reading { labels: loss.labels(), constant, limits: Limits::default() };
    Libsvm::open(Path::new(file), reading)
}

/// A bar over the bytes of the file; it shows itself only on a terminal.
fn progress_bar(file: &str) -> ProgressBar {
    let size = std::fs::metadata(file).map_or(0, |metadata| metadata.len());
    let style = ProgressStyle::with_template(
        "{bar:30} {percent}%  {bytes}/{total_bytes}  {bytes_per_sec}  {eta} left  {msg}",
    );
    ProgressBar::new(size).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
