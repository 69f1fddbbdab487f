//! Reads files with rueful's own readers.

use crate::error::{Outcome, PythonError};
use crate::model::Held;
use crate::settings::AskedFiles;
use crate::watch::Watch;
use numpy::PyArray1;
use pyo3::prelude::*;
use rueful_columnar::Format;
use rueful_core::Batch;
use rueful_core::loss::Labels;
use rueful_data::{DataError, LabelsSeen, Source, survey};
use rueful_run::{
    Data, DataSettings, DataSpec, LabelUse, Layout, Model, ReadingOptions, Resolved, Session,
    Settings,
};
use std::num::NonZeroUsize;
use std::path::Path;

/// Returns the options of reading on this many threads, or on all cores if it is `None`.
pub(crate) fn reading_options(threads: Option<usize>) -> Outcome<ReadingOptions> {
    let none = || PythonError::value("threads: at least 1");
    let threads = threads.map(|count| NonZeroUsize::new(count).ok_or_else(none)).transpose()?;
    Ok(ReadingOptions { threads, idle_rows: true, ..ReadingOptions::default() })
}

/// Opens files once more. Files that can be read only once are refused.
fn reopen(
    data: &DataSpec,
    labels: LabelUse,
    reading_options: &ReadingOptions,
) -> Result<Box<dyn Source>, DataError> {
    match data.once_only() {
        Some(file) => Err(DataError::OnceOnly { file: file.to_owned() }),
        None => data.open(labels, reading_options),
    }
}

/// Learns from the rest of a source, until its end or until somebody interrupts.
fn learn(session: &mut Session, source: &mut dyn Source, watch: &mut Watch) -> Outcome<()> {
    while session.advance(source)? {
        watch.look(|| progress(session, source))?;
    }
    watch.end(|| progress(session, source))
}

/// Returns the number of examples, the number of bytes and the average loss so far.
fn progress(session: &Session, source: &dyn Source) -> (u64, u64, f64) {
    let so_far = session.progress(source);
    (so_far.examples, so_far.bytes, so_far.sequential_risk)
}

/// Runs over files. It returns the model, notes on how settings were understood, and the error that
/// stopped it, if one did.
pub(crate) fn run(
    mut settings: Settings,
    reading: &DataSettings,
    reading_options: &ReadingOptions,
    watch: &mut Watch,
) -> Outcome<(Model, Vec<String>, Option<PythonError>)> {
    settings.check()?;
    let Data { spec: data, mut source, loss, .. } =
        reading.open(settings.labels()?, reading_options)?;
    settings.loss = settings.loss.or(loss.map(str::to_owned));
    let labels = LabelUse::Learn(settings.loss()?.labels());
    let resolved = settings
        .resolve(data.clone(), &mut |_| survey(&mut *reopen(&data, labels, reading_options)?))?;
    let Resolved { spec, notes } = resolved;
    let mut session = Session::new(&spec)?;
    let stopped = learn(&mut session, &mut *source, watch).err();
    session.look(&*source);
    Ok((session.into_model(&*source), notes, stopped))
}

/// Continues with other files, which are read in the same way as those before.
pub(crate) fn go_on(
    held: &mut Held,
    files: Vec<String>,
    reading_options: ReadingOptions,
    watch: &mut Watch,
) -> Outcome<()> {
    let model = &held.model;
    let labels = LabelUse::Learn(model.run.task().loss.labels());
    let counts = model.stream.seen().labels.counts;
    // Classes that were announced but not seen do not count as earlier labels.
    let seen = counts.into_iter().filter(|&(_, count)| count > 0);
    let reading_options =
        ReadingOptions { known_labels: seen.map(|(label, _)| label).collect(), ..reading_options };
    let data = DataSpec { schema: schema(&model.data, &files), files, ..model.data.clone() };
    let mut source = data.open(labels, &reading_options)?;
    let empty = Model::new(model.run.task().clone(), model.data.clone())?;
    let model = std::mem::replace(&mut held.model, empty);
    let mut session = Session::resume_with(model, data);
    let learned = learn(&mut session, &mut *source, watch);
    session.look(&*source);
    held.model = session.into_model(&*source);
    learned
}

/// Returns the layout of files. A frame in memory has no file format, so the names of the files
/// decide it.
fn schema(data: &DataSpec, files: &[String]) -> Layout {
    let is_parquet =
        |file: &String| Path::new(file).extension().is_some_and(|end| end == "parquet");
    match &data.schema {
        Layout::Columnar(layout) if data.files.is_empty() => {
            let format = if files.iter().all(is_parquet) { Format::Parquet } else { Format::Arrow };
            Layout::Columnar(rueful_columnar::Layout { format, ..layout.clone() })
        }
        schema => schema.clone(),
    }
}

/// Predicts the rows of files. The files may have labels, which are ignored.
pub(crate) fn predict(
    held: &Held,
    files: Vec<String>,
    reading_options: &ReadingOptions,
    watch: &mut Watch,
) -> Outcome<Vec<f64>> {
    let data = &held.model.data;
    let data =
        DataSpec { schema: schema(data, &files), files, class_weights: None, ..data.clone() };
    let mut source = data.open_to_predict(LabelUse::Ignore, reading_options)?.source;
    let (mut batch, mut part, mut all) = (Batch::default(), Vec::new(), Vec::new());
    while source.fill(&mut batch)? {
        held.model.run.predict_rows(batch.rows(), &mut part);
        all.extend_from_slice(&part);
        watch.look(|| (all.len() as u64, source.bytes_read(), 0.0))?;
    }
    Ok(all)
}

/// The rows of files as a matrix of compressed rows.
#[derive(Default)]
struct Matrix {
    offsets: Vec<i64>,
    indices: Vec<i32>,
    values: Vec<f32>,
    labels: Vec<f64>,
    importances: Vec<f64>,
    width: usize,
}

impl Matrix {
    /// Appends the rows of a batch. Feature i is column i − 1, because no constant is read.
    fn append(&mut self, batch: &Batch) {
        self.indices.extend(batch.indices().iter().map(|&index| index as i32 - 1));
        self.labels.extend_from_slice(batch.labels());
        for example in batch.iter() {
            self.values.extend_from_slice(example.features.values());
            self.offsets.push(self.values.len() as i64);
            self.importances.push(example.importance.get());
        }
        self.width = self.width.max(batch.dimension().saturating_sub(1));
    }
}

/// The parts of a matrix: offsets, indices, values, labels, importances.
type Parts<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray1<f32>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
);

/// Reads files. It returns the parts of a matrix of compressed rows, its width, the labels as they
/// are written if there are two classes, and the names of features by their columns.
#[pyfunction]
#[pyo3(signature = (reading, loss=None, threads=None))]
#[expect(clippy::type_complexity, reason = "Python takes it apart at once")]
pub(crate) fn read_files<'py>(
    py: Python<'py>,
    reading: AskedFiles,
    loss: Option<String>,
    threads: Option<usize>,
) -> PyResult<(Parts<'py>, usize, Option<(Vec<(String, u64)>, Option<String>)>, Vec<(u32, String)>)>
{
    let reading = DataSettings { no_constant: true, ..reading.settings()? };
    let reading_options = reading_options(threads)?;
    let settings = Settings { loss, ..Settings::default() };
    let (matrix, seen, positive, names) = py.detach(|| {
        let labels = settings.labels()?;
        let Data { mut source, spec, loss, .. } = reading.open(labels, &reading_options)?;
        let loss = settings.loss.clone().or(loss.map(str::to_owned));
        let loss = Settings { loss, ..Settings::default() }.loss()?;
        let mut matrix = Matrix { offsets: vec![0], ..Matrix::default() };
        let (mut batch, mut watch) = (Batch::default(), Watch::new(None));
        while source.fill(&mut batch)? {
            matrix.append(&batch);
            watch.look(|| (0, 0, 0.0))?;
        }
        let known = source.names();
        let name = |index: u32| known.get(index).map(|name| (index - 1, name));
        let names = source.census().indices().filter_map(name).collect();
        let seen = (loss.labels() == Labels::Signs).then(|| source.labels());
        Ok::<_, PythonError>((matrix, seen, spec.positive, names))
    })?;
    let parts = (
        PyArray1::from_vec(py, matrix.offsets),
        PyArray1::from_vec(py, matrix.indices),
        PyArray1::from_vec(py, matrix.values),
        PyArray1::from_vec(py, matrix.labels),
        PyArray1::from_vec(py, matrix.importances),
    );
    let seen = seen.map(|LabelsSeen { counts, .. }| (counts, positive));
    Ok((parts, matrix.width, seen, names))
}
