//! Reads files with rueful's own readers.

use crate::error::{Outcome, PythonError};
use crate::held::{ClassPredictions, Held, Says};
use crate::kind::Kind;
use crate::settings::AskedFiles;
use crate::watch::Watch;
use numpy::PyArray1;
use pyo3::prelude::*;
use rueful_columnar::Format;
use rueful_core::Batch;
use rueful_core::loss::Labels;
use rueful_data::{DataError, LabelsSeen, Source, survey};
use rueful_run::{
    AnyModel, ClassRun, Data, DataSettings, DataSpec, LabelUse, Layout, Model, ReadingOptions,
    Resolved, Session, Settings,
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
fn learn<R: Kind>(
    session: &mut Session<R>,
    source: &mut dyn Source,
    watch: &mut Watch,
) -> Outcome<()> {
    while session.advance(source)? {
        watch.look(|| progress(session, source))?;
    }
    watch.end(|| progress(session, source))
}

/// Returns the number of examples, the number of bytes and the average loss so far.
fn progress<R: Kind>(session: &Session<R>, source: &dyn Source) -> (u64, u64, f64) {
    let so_far = session.progress(source);
    (so_far.examples, so_far.bytes, so_far.sequential_risk)
}

/// A model that was made from files, notes on how settings were understood, and the error that
/// stopped the run, if one did.
type Ran = (AnyModel, Vec<String>, Option<PythonError>);

/// Runs over files.
pub(crate) fn run(
    mut settings: Settings,
    reading: &DataSettings,
    reading_options: &ReadingOptions,
    watch: &mut Watch,
) -> Outcome<Ran> {
    settings.check()?;
    let Data { spec: data, source, loss, .. } =
        reading.open(settings.labels()?, reading_options)?;
    settings.loss = settings.loss.or(loss.map(str::to_owned));
    if let Some(loss) = settings.class_loss() {
        let spec = settings.resolve_classes(loss, data)?;
        let (model, stopped) = go_through(Session::of_classes(&spec)?, source, watch);
        return Ok((AnyModel::Classes(Box::new(model)), Vec::new(), stopped));
    }
    let labels = LabelUse::Learn(settings.loss()?.labels());
    let resolved = settings
        .resolve(data.clone(), &mut |_| survey(&mut *reopen(&data, labels, reading_options)?))?;
    let Resolved { spec, notes } = resolved;
    let (model, stopped) = go_through(Session::new(&spec)?, source, watch);
    Ok((AnyModel::Score(Box::new(model)), notes, stopped))
}

/// Learns from all of a source. It returns the model, and the error that stopped it, if one did.
fn go_through<R: Kind>(
    mut session: Session<R>,
    mut source: Box<dyn Source>,
    watch: &mut Watch,
) -> (Model<R>, Option<PythonError>) {
    let stopped = learn(&mut session, &mut *source, watch).err();
    session.look(&*source);
    (session.into_model(&*source), stopped)
}

/// Continues with other files, which are read in the same way as those before.
pub(crate) fn go_on<R: Kind>(
    held: &mut Held<R>,
    files: Vec<String>,
    reading_options: ReadingOptions,
    watch: &mut Watch,
) -> Outcome<()> {
    let model = &held.model;
    let known_labels = R::earlier_labels(&model.stream);
    let reading_options = ReadingOptions { known_labels, ..reading_options };
    let data = DataSpec { schema: schema(&model.data, &files), files, ..model.data.clone() };
    let source = data.open(model.run.label_use(), &reading_options)?;
    let empty = model.run.fresh(model.data.clone())?;
    let model = std::mem::replace(&mut held.model, empty);
    let (model, stopped) = go_through(Session::resume_with(model, data), source, watch);
    held.model = model;
    stopped.map_or(Ok(()), Err)
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

/// Opens files to be predicted. They may have labels, which are ignored.
fn open_unlearned<R: Kind>(
    held: &Held<R>,
    files: Vec<String>,
    reading_options: &ReadingOptions,
) -> Outcome<Box<dyn Source>> {
    let data = &held.model.data;
    let data =
        DataSpec { schema: schema(data, &files), files, class_weights: None, ..data.clone() };
    Ok(data.open_to_predict(LabelUse::Ignore, reading_options)?.source)
}

/// Predicts the rows of files.
pub(crate) fn predict(
    held: &Held,
    files: Vec<String>,
    reading_options: &ReadingOptions,
    watch: &mut Watch,
) -> Outcome<Vec<f64>> {
    let mut source = open_unlearned(held, files, reading_options)?;
    let (mut batch, mut part, mut all) = (Batch::default(), Vec::new(), Vec::new());
    while source.fill(&mut batch)? {
        held.model.learned().predict_rows(batch.rows(), &mut part);
        all.extend_from_slice(&part);
        watch.look(|| (all.len() as u64, source.bytes_read(), 0.0))?;
    }
    Ok(all)
}

/// Predicts the rows of files for many classes.
pub(crate) fn predict_classes(
    held: &Held<ClassRun>,
    files: Vec<String>,
    says: Says,
    reading_options: &ReadingOptions,
    watch: &mut Watch,
) -> Outcome<ClassPredictions> {
    let mut source = open_unlearned(held, files, reading_options)?;
    let (mut batch, mut all) = (Batch::default(), held.no_predictions(says));
    while source.fill(&mut batch)? {
        held.add_predictions(batch.rows(), says, &mut all);
        watch.look(|| (0, source.bytes_read(), 0.0))?;
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

/// The labels as they are written and their counts, the label that is +1, and whether labels are
/// numbers of many classes.
type Written = (Vec<(String, u64)>, Option<String>, bool);

/// Reads files. It returns the parts of a matrix of compressed rows, its width, the labels as they
/// are written if they are classes, and the names of features by their columns.
#[pyfunction]
#[pyo3(signature = (reading, loss=None, threads=None))]
#[expect(clippy::type_complexity, reason = "Python takes it apart at once")]
pub(crate) fn read_files<'py>(
    py: Python<'py>,
    reading: AskedFiles,
    loss: Option<String>,
    threads: Option<usize>,
) -> PyResult<(Parts<'py>, usize, Option<Written>, Vec<(u32, String)>)> {
    let reading = DataSettings { no_constant: true, ..reading.settings()? };
    let reading_options = reading_options(threads)?;
    let settings = Settings { loss, ..Settings::default() };
    let (matrix, seen, positive, names, are_classes) = py.detach(|| {
        let labels = settings.labels()?;
        let Data { mut source, spec, loss, .. } = reading.open(labels, &reading_options)?;
        let loss = settings.loss.clone().or(loss.map(str::to_owned));
        let settings = Settings { loss, ..Settings::default() };
        let are_classes = settings.class_loss().is_some();
        let are_signs = !are_classes && settings.loss()?.labels() == Labels::Signs;
        let mut matrix = Matrix { offsets: vec![0], ..Matrix::default() };
        let (mut batch, mut watch) = (Batch::default(), Watch::new(None));
        while source.fill(&mut batch)? {
            matrix.append(&batch);
            watch.look(|| (0, 0, 0.0))?;
        }
        let known = source.names();
        let name = |index: u32| known.get(index).map(|name| (index - 1, name));
        let names = source.census().indices().filter_map(name).collect();
        let seen = (are_classes || are_signs).then(|| source.labels());
        Ok::<_, PythonError>((matrix, seen, spec.positive, names, are_classes))
    })?;
    let parts = (
        PyArray1::from_vec(py, matrix.offsets),
        PyArray1::from_vec(py, matrix.indices),
        PyArray1::from_vec(py, matrix.values),
        PyArray1::from_vec(py, matrix.labels),
        PyArray1::from_vec(py, matrix.importances),
    );
    let seen = seen.map(|LabelsSeen { counts, .. }| (counts, positive, are_classes));
    Ok((parts, matrix.width, seen, names))
}
