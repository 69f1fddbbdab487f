//! Reads files with rueful's own readers.

use crate::error::{Outcome, PythonError};
use crate::held::{ClassPredictions, Held, Says};
use crate::kind::Kind;
use crate::settings::AskedFiles;
use crate::watch::Watch;
use numpy::{Element, PyArray1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PySlice;
use rueful_columnar::Format;
use rueful_core::Batch;
use rueful_core::loss::Labels;
use rueful_data::{DataError, LabelsSeen, Source, path_of, survey_again};
use rueful_run::{
    AnyModel, ClassRun, Data, DataSettings, DataSpec, LabelUse, Layout, Model, ReadingOptions,
    Resolved, Session, Settings,
};
use std::num::NonZeroUsize;
use std::path::Path;

/// Returns the options of reading on this many threads, or on all cores if it is `None`.
pub(crate) fn reading_options(threads: Option<usize>, cache: bool) -> Outcome<ReadingOptions> {
    let none = || PythonError::value("threads: at least 1");
    let threads = threads.map(|count| NonZeroUsize::new(count).ok_or_else(none)).transpose()?;
    Ok(ReadingOptions { threads, cache, idle_rows: true, ..ReadingOptions::default() })
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

/// Learns from the rest of a source, until its end or until somebody interrupts, and then in as many
/// more passes as the data are read.
fn learn<R: Kind>(
    session: &mut Session<R>,
    source: &mut dyn Source,
    reopen: &dyn Fn() -> Result<Box<dyn Source>, DataError>,
    watch: &mut Watch,
) -> Outcome<()> {
    while session.advance(source)? {
        watch.look(|| progress(session, source))?;
    }
    while session.next_pass() {
        let mut again = reopen()?;
        while session.study(&mut *again)? {
            watch.look(|| progress(session, source))?;
        }
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
    refuse_several_passes_over_a_pipe(reading)?;
    let Data { spec: data, mut source, loss, .. } =
        reading.open(settings.labels()?, reading_options)?;
    settings.loss = settings.loss.or(loss.map(str::to_owned));
    if let Some(loss) = settings.class_loss() {
        let spec = settings.resolve_classes(loss, data)?;
        let again = || reopen(&spec.data, LabelUse::Classes, reading_options);
        let (model, stopped) = go_through(Session::of_classes(&spec)?, source, &again, watch);
        return Ok((AnyModel::Classes(Box::new(model)), Vec::new(), stopped));
    }
    let labels = LabelUse::Learn(settings.loss()?.labels());
    let resolved = settings.resolve(data.clone(), &mut |_| {
        survey_again(&mut *reopen(&data, labels, reading_options)?, &mut *source)
    })?;
    let Resolved { spec, notes } = resolved;
    if spec.data.schema.has_ids() {
        spec.task().check_late()?;
    }
    let again = || reopen(&spec.data, labels, reading_options);
    let (model, stopped) = go_through(Session::new(&spec)?, source, &again, watch);
    Ok((AnyModel::Score(Box::new(model)), notes, stopped))
}

/// Refuses several passes over data that can be read only once.
fn refuse_several_passes_over_a_pipe(reading: &DataSettings) -> Outcome<()> {
    let files = DataSpec { files: reading.files.clone(), ..DataSpec::libsvm("") };
    match files.once_only() {
        Some(file) if reading.passes.is_some_and(|passes| passes.are_several()) => {
            Err(PythonError::value(format!(
                "passes: the data are read several times, and {file} can be read only once"
            )))
        }
        _ => Ok(()),
    }
}

/// Learns from all of a source, as often as its description says; `reopen` returns it from the
/// beginning. It returns the model, and the error that stopped it, if one did.
pub(crate) fn go_through<R: Kind>(
    mut session: Session<R>,
    mut source: Box<dyn Source>,
    reopen: &dyn Fn() -> Result<Box<dyn Source>, DataError>,
    watch: &mut Watch,
) -> (Model<R>, Option<PythonError>) {
    let stopped = learn(&mut session, &mut *source, reopen, watch).err();
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
    let (known_labels, waiting) = (R::earlier_labels(&model.stream), model.pending.now.clone());
    let reading_options = ReadingOptions { known_labels, waiting, ..reading_options };
    let data = DataSpec { schema: schema(&model.data, &files), files, ..model.data.clone() };
    let labels = model.run.label_use();
    let source = data.open(labels, &reading_options)?;
    let empty = model.run.fresh(model.data.clone())?;
    let model = std::mem::replace(&mut held.model, empty);
    let again = || reopen(&data, labels, &reading_options);
    let session = Session::resume_with(model, data.clone());
    let (model, stopped) = go_through(session, source, &again, watch);
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

/// Numbers that are appended to an array. NumPy allocates it, and asks the system for large pages: to
/// touch fresh memory page by page takes as long as to parse the text.
struct Growing<T: Element + Copy> {
    array: Option<Py<PyArray1<T>>>,
    len: usize,
}

impl<T: Element + Copy> Default for Growing<T> {
    fn default() -> Self {
        Self { array: None, len: 0 }
    }
}

impl<T: Element + Copy> Growing<T> {
    /// Appends `count` numbers, which `write` puts in their place. If there is no room for them, room is
    /// made for `expected` numbers, but for at least twice and at most 64 times as many as there are. Room
    /// that is not used is never touched, and takes no memory.
    fn extend(
        &mut self,
        py: Python<'_>,
        count: usize,
        expected: usize,
        write: impl FnOnce(&mut [T]),
    ) -> PyResult<()> {
        let end = self.len + count;
        let old = self.array.as_ref().map(|array| array.bind(py).clone());
        let capacity = old.as_ref().map_or(0, PyUntypedArrayMethods::len);
        let array = match old {
            Some(array) if capacity >= end => array,
            old => {
                let new = PyArray1::zeros(py, expected.clamp(2 * end, 64 * end), false);
                if let Some(old) = old {
                    let (mut to, from) = (new.readwrite(), old.readonly());
                    to.as_slice_mut()?[..self.len].copy_from_slice(&from.as_slice()?[..self.len]);
                }
                self.array = Some(new.clone().unbind());
                new
            }
        };
        write(&mut array.readwrite().as_slice_mut()?[self.len..end]);
        self.len = end;
        Ok(())
    }

    /// Returns the numbers. The rest of the array was never touched, and takes no memory.
    fn finish<'py>(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let array = self.array.map_or_else(|| PyArray1::zeros(py, 0, false), |a| a.into_bound(py));
        array.get_item(PySlice::new(py, 0, self.len as isize, 1))
    }
}

/// The rows of files as a matrix of compressed rows.
#[derive(Default)]
struct Matrix {
    offsets: Vec<i64>,
    indices: Growing<i32>,
    values: Growing<f32>,
    labels: Vec<f64>,
    importances: Vec<f64>,
    width: usize,
}

impl Matrix {
    /// Appends the rows of a batch, where this part of all bytes was read. Feature i is column i − 1,
    /// because no constant is read.
    fn append(&mut self, batch: &Batch, part: f64) -> PyResult<()> {
        self.labels.extend_from_slice(batch.labels());
        let mut end = self.values.len as i64;
        for example in batch.iter() {
            end += example.features.len() as i64;
            self.offsets.push(end);
            self.importances.push(example.importance.get());
        }
        self.width = self.width.max(batch.dimension().saturating_sub(1));
        // Bytes are read ahead of rows, so that early guesses are too small.
        let (count, guess) = (batch.nonzeros(), 1.1 * end as f64 / part);
        let expected = if guess.is_finite() { guess as usize } else { 0 };
        Python::attach(|py| {
            self.indices.extend(py, count, expected, |to| {
                let columns = batch.indices().iter().map(|&index| index as i32 - 1);
                to.iter_mut().zip(columns).for_each(|(to, column)| *to = column);
            })?;
            self.values.extend(py, count, expected, |mut to| {
                for example in batch.iter() {
                    let values = example.features.values();
                    let (row, rest) = to.split_at_mut(values.len());
                    row.copy_from_slice(values);
                    to = rest;
                }
            })
        })
    }
}

/// Returns how many bytes files have together. It is 0 if that is not known.
fn bytes_of(files: &[String]) -> u64 {
    let bytes = |file: &String| std::fs::metadata(path_of(file)).map(|found| found.len());
    files.iter().map(bytes).sum::<Result<u64, _>>().unwrap_or(0)
}

/// The parts of a matrix: offsets, indices, values, labels, importances.
type Parts<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
);

/// The labels as they are written and their counts, the label that is +1, and whether labels are
/// numbers of many classes.
type Written = (Vec<(String, u64)>, Option<String>, bool);

/// Reads files. It returns the parts of a matrix of compressed rows, its width, and the labels as they
/// are written if they are classes.
#[pyfunction]
#[pyo3(signature = (reading, loss=None, threads=None, cache=false))]
pub(crate) fn read_files<'py>(
    py: Python<'py>,
    reading: AskedFiles,
    loss: Option<String>,
    threads: Option<usize>,
    cache: bool,
) -> PyResult<(Parts<'py>, usize, Option<Written>)> {
    let reading = DataSettings { no_constant: true, ..reading.settings()? };
    let reading_options = reading_options(threads, cache)?;
    let settings = Settings { loss, ..Settings::default() };
    let (matrix, seen, positive, are_classes) = py.detach(|| {
        let labels = settings.labels()?;
        let Data { mut source, spec, loss, .. } = reading.open(labels, &reading_options)?;
        let loss = settings.loss.clone().or(loss.map(str::to_owned));
        let settings = Settings { loss, ..Settings::default() };
        let are_classes = settings.class_loss().is_some();
        let are_signs = !are_classes && settings.loss()?.labels() == Labels::Signs;
        let mut matrix = Matrix { offsets: vec![0], ..Matrix::default() };
        let (mut batch, mut watch) = (Batch::default(), Watch::new(None));
        let all = bytes_of(&reading.files) as f64;
        while source.fill(&mut batch)? {
            matrix.append(&batch, source.bytes_read() as f64 / all)?;
            watch.look(|| (0, 0, 0.0))?;
        }
        let seen = (are_classes || are_signs).then(|| source.labels());
        Ok::<_, PythonError>((matrix, seen, spec.positive, are_classes))
    })?;
    let parts = (
        PyArray1::from_vec(py, matrix.offsets),
        matrix.indices.finish(py)?,
        matrix.values.finish(py)?,
        PyArray1::from_vec(py, matrix.labels),
        PyArray1::from_vec(py, matrix.importances),
    );
    let seen = seen.map(|LabelsSeen { counts, .. }| (counts, positive, are_classes));
    Ok((parts, matrix.width, seen))
}
