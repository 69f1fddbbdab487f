//! The file of the predictions of a run. It has one prediction on each line, made before its
//! example was learned from.

use crate::{numbers, output};
use anyhow::{Context, bail};
use rueful_data::{GrowingFile, Source, Written, printable};
use rueful_run::{ClassRun, Learning, Run, Session};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A run whose last predictions can be written and shown.
pub(crate) trait Told: Learning {
    /// Writes the predictions for the last rows, one on each line.
    fn write_last(&self, source: &dyn Source, to: &mut dyn Write) -> io::Result<()>;

    /// The label of a row that was learned from last, and its prediction, as progress shows them.
    fn shown(&self, row: usize, label: f64, source: &dyn Source) -> (String, String);

    /// The loss of a row that was learned from last.
    fn loss_of(&self, row: usize) -> f64;
}

impl Told for Run {
    /// Each prediction is the shortest text that gives the same number when it is read.
    fn write_last(&self, _source: &dyn Source, to: &mut dyn Write) -> io::Result<()> {
        self.rounds().iter().try_for_each(|round| writeln!(to, "{}", round.prediction))
    }

    fn shown(&self, row: usize, label: f64, _source: &dyn Source) -> (String, String) {
        (format!("{label:.4}"), format!("{:.4}", self.rounds()[row].prediction))
    }

    fn loss_of(&self, row: usize) -> f64 {
        self.rounds()[row].loss()
    }
}

impl Told for ClassRun {
    /// Each prediction is a label, and an empty line before the first class was seen.
    fn write_last(&self, source: &dyn Source, to: &mut dyn Write) -> io::Result<()> {
        let label = |class: Option<u32>| class.and_then(|class| source.class(class));
        self.outcomes().iter().try_for_each(|outcome| {
            writeln!(to, "{}", label(outcome.predicted).unwrap_or_default())
        })
    }

    fn shown(&self, row: usize, label: f64, source: &dyn Source) -> (String, String) {
        let named = |class: Option<u32>| {
            let name = class.and_then(|class| source.class(class)).unwrap_or("none");
            printable(name).chars().take(14).collect()
        };
        (named(Some(label as u32)), named(self.outcomes()[row].predicted))
    }

    fn loss_of(&self, row: usize) -> f64 {
        self.outcomes()[row].loss
    }
}

/// A file of predictions. It is written beside its place, with `.part` at the end of its name, and
/// gets its name at the end of the run. With `--follow` it is written in its place, so that other
/// programs can read it as it grows.
pub(crate) struct PredictionsFile {
    path: PathBuf,
    file: GrowingFile,
    is_followed: bool,
}

impl PredictionsFile {
    /// Begins a file, or continues the file that the session has written to before.
    pub(crate) fn open<R: Learning>(
        path: &Path,
        session: &Session<R>,
        is_followed: bool,
    ) -> anyhow::Result<Self> {
        let before = session.companions().predictions;
        let file = match before.filter(|_| is_there(path)) {
            Some(written) => go_on(path, &written, is_followed)?,
            None => {
                note_a_late_beginning(path, session, before);
                begin(path, is_followed).with_context(|| cannot_write(path))?
            }
        };
        Ok(Self { path: path.to_owned(), file, is_followed })
    }

    /// Writes the predictions for the rows that a run has learned from last.
    pub(crate) fn write<R: Told>(&mut self, run: &R, source: &dyn Source) -> anyhow::Result<()> {
        let mut written = run.write_last(source, &mut self.file);
        if self.is_followed {
            written = written.and_then(|()| self.file.flush());
        }
        written.with_context(|| cannot_write(&self.path))
    }

    /// Makes sure that all predictions so far are on the disk, and returns how much was written.
    pub(crate) fn put_down(&mut self) -> anyhow::Result<Written> {
        self.file.put_down().with_context(|| cannot_write(&self.path))
    }

    /// Gives the file its name.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        self.file.finish().with_context(|| cannot_write(&self.path))
    }

    /// Leaves the file beside its place, for a run that is resumed later.
    pub(crate) fn leave(self) -> anyhow::Result<()> {
        self.file.leave().with_context(|| cannot_write(&self.path))
    }
}

fn begin(path: &Path, is_followed: bool) -> io::Result<GrowingFile> {
    if is_followed { GrowingFile::append(path) } else { GrowingFile::begin(path) }
}

fn go_on(path: &Path, written: &Written, is_followed: bool) -> anyhow::Result<GrowingFile> {
    let file = if is_followed {
        GrowingFile::go_on_appending(path, written)
    } else {
        GrowingFile::go_on(path, written)
    };
    match file.with_context(|| cannot_write(path))? {
        Some(file) => Ok(file),
        None => bail!(
            "{} does not hold the predictions that were made before: put that file back, or name \
             another with --predictions for those from here on",
            path.display()
        ),
    }
}

/// Whether there is a file, or its part, that could be continued.
fn is_there(path: &Path) -> bool {
    let part = path.file_name().map(|name| {
        let mut part = name.to_owned();
        part.push(".part");
        path.with_file_name(part)
    });
    path.exists() || part.is_some_and(|part| part.exists())
}

/// Prints a note if the earlier predictions of a resumed run are in a file that is not here, so
/// that this file has only the rest.
fn note_a_late_beginning<R: Learning>(path: &Path, session: &Session<R>, before: Option<Written>) {
    if before.is_some_and(|written| written.bytes > 0) {
        let next = numbers::count(session.run().examples() + 1);
        output::note(&format!("{} begins with example {next}", path.display()));
    }
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}
