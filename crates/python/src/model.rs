//! A run that Python holds. It learns from tables and predicts them, and it can report and be
//! saved.

use crate::dicts::Dicts;
use crate::error::{Outcome, PythonError};
use crate::files;
use crate::held::{ClassPredictions, Held, Says, way};
use crate::kind::Kind;
use crate::labels;
use crate::memory::each_counted;
use crate::report::Snapshot;
use crate::settings::{Asked, AskedColumns, AskedFiles, AskedPasses, names_of};
use crate::side::{Side, importance_of};
use crate::table::{Room, Table, View};
use crate::watch::Watch;
use crate::{arrow, hindsight};
use numpy::ndarray::Array2;
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use rueful_core::loss::{Labels, Loss};
use rueful_core::{Importance, Positive};
use rueful_data::{
    Bits, Column, Columns, DataError, Expansion, Json, Role, Schema, Survey, printable,
};
use rueful_run::{AnyModel, ClassRun, DataSpec, Layout, Learning, Resolved, Run, Settings, Task};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The name of the labels beside a table.
const LABEL: &str = "label";

/// The indices of features, and their weights.
type Weights<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f64>>);

/// The indices of features, and the weights of each class for them, a row for every class.
type ClassWeights<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray2<f64>>);

/// A run, and its record of the stream.
#[pyclass(frozen, module = "rueful._rueful")]
pub(crate) struct Model {
    held: AnyHeld,
    /// The keys of the dicts that were learned from. Those of dicts that were only predicted are
    /// kept apart in `predicted`, because names from which nothing was learned are not part of the
    /// stream.
    dicts: Dicts,
    predicted: Dicts,
}

/// A run of either kind.
pub(crate) enum AnyHeld {
    Score(Box<RwLock<Held>>),
    Classes(Box<RwLock<Held<ClassRun>>>),
}

/// Runs an expression on the lock of a run, whichever kind it is.
macro_rules! with_held {
    ($model:expr, $lock:ident => $body:expr) => {
        match &$model.held {
            AnyHeld::Score($lock) => $body,
            AnyHeld::Classes($lock) => $body,
        }
    };
}

/// Describes columns that have numbers, such as those of a matrix.
fn numbered(constant: bool, positive: Option<String>) -> DataSpec {
    let schema = Layout::Text(Schema::Libsvm {});
    DataSpec {
        files: Vec::new(),
        schema,
        positive,
        constant,
        class_weights: None,
        passes: None,
        pending: None,
    }
}

/// Makes the error about wrong names.
fn wrong_names(what: String) -> PythonError {
    PythonError::value(format!("X: expected {what}"))
}

/// Completes settings. If a learner must know the stream beforehand, `survey` measures it.
pub(crate) fn resolve(
    settings: &Settings,
    mut survey: impl FnMut() -> Outcome<Option<Survey>>,
) -> Outcome<(Task, Vec<String>)> {
    let mut failed = None;
    let once = || DataError::OnceOnly { file: String::new() };
    let resolved = settings.resolve(DataSpec::libsvm(""), &mut |_| match survey() {
        Ok(survey) => survey.ok_or_else(once),
        Err(error) => {
            failed = Some(error);
            Err(once())
        }
    });
    if let Some(error) = failed {
        return Err(error);
    }
    let Resolved { spec, notes } = resolved?;
    Ok((spec.task(), notes))
}

/// Measures the length of a stream and its largest norms and labels.
fn survey(view: View<'_>, data: &DataSpec, side: &Side<'_>) -> Outcome<Survey> {
    let mut survey = Survey::default();
    each_counted::<Run>(data, view, &way(data), side, &mut |rows| {
        for example in rows.iter().filter(|example| !example.importance.is_zero()) {
            let norm = example.features.norm_sq().sqrt();
            survey.examples += 1;
            survey.example_norm_max = survey.example_norm_max.max(norm);
            survey.weighted_norm_max =
                survey.weighted_norm_max.max(example.importance.get() * norm);
            survey.label_abs_max = survey.label_abs_max.max(example.label.abs());
        }
        Ok(())
    })?;
    Ok(survey)
}

/// Describes how the columns of a table become features. The model keeps this description.
fn described(
    table: &Table<'_>,
    columns: AskedColumns,
    names: Option<Vec<String>>,
    constant: bool,
    positive: Option<String>,
) -> Outcome<DataSpec> {
    let schema = match (table, names) {
        (Table::Arrow(object), _) => {
            let batches = arrow::import(object)?;
            let label = label_beside(batches.schema().fields().iter().map(|field| &**field.name()));
            Layout::Columnar(arrow::layout(batches, &columns.format_settings(&label)?)?)
        }
        (Table::Dicts(_), _) => {
            columns.refuse_names("dicts", true)?;
            let format_settings = columns.format_settings(LABEL)?;
            let label = Column { name: LABEL.to_owned(), role: Role::Label };
            let missing = !format_settings.expansion.no_missing;
            let expansion = Expansion { missing, ..Expansion::default() };
            let columns = Columns::try_from(vec![label]).map_err(wrong_names)?.expanded(expansion);
            Layout::Text(Schema::Jsonl(Json { bits: format_settings.bits, closed: false, columns }))
        }
        (_, Some(names)) => {
            let label = label_beside(names.iter().map(String::as_str));
            let format_settings = columns.format_settings(&label)?;
            let all: Vec<String> = names.into_iter().chain([label]).collect();
            let notes = &mut Vec::new();
            let columns = Columns::wished("X", &all, &format_settings, notes, |_| Role::Number)?;
            let values = |column| table.first_numbers(column);
            let columns = columns.curved("X", &format_settings, notes, values)?;
            let format = rueful_columnar::Format::Arrow;
            let bits = format_settings.bits;
            Layout::Columnar(rueful_columnar::Layout { format, bits, columns })
        }
        _ => {
            columns.refuse_names("a matrix", false)?;
            return Ok(numbered(constant, positive));
        }
    };
    Ok(DataSpec {
        files: Vec::new(),
        schema,
        positive,
        constant,
        class_weights: None,
        passes: None,
        pending: None,
    })
}

/// Returns a name for the labels that no column has.
fn label_beside<'a>(names: impl Iterator<Item = &'a str> + Clone) -> String {
    let mut label = LABEL.to_owned();
    while names.clone().any(|name| name == label) {
        label.push('_');
    }
    label
}

impl Model {
    pub(crate) fn of(model: rueful_run::Model, notes: Vec<String>) -> Self {
        Self::holding(model, notes, AnyHeld::Score)
    }

    pub(crate) fn of_classes(model: rueful_run::Model<ClassRun>, notes: Vec<String>) -> Self {
        Self::holding(model, notes, AnyHeld::Classes)
    }

    pub(crate) fn of_any(model: AnyModel, notes: Vec<String>) -> Self {
        match model {
            AnyModel::Score(model) => Self::of(*model, notes),
            AnyModel::Classes(model) => Self::of_classes(*model, notes),
        }
    }

    fn holding<R: Kind>(
        mut model: rueful_run::Model<R>,
        notes: Vec<String>,
        hold: impl FnOnce(Box<RwLock<Held<R>>>) -> AnyHeld,
    ) -> Self {
        // A loaded model has its own notes.
        if !notes.is_empty() {
            model.companions.notes = notes;
        }
        let notes = model.companions.notes.clone();
        let dicts = || dicts_of(&model.data);
        let (dicts, predicted) = (dicts(), dicts());
        let held = Held { model, notes, room: Room::default(), frame: None };
        Self { held: hold(Box::new(RwLock::new(held))), dicts, predicted }
    }

    /// Reads a run that gives every example one score.
    pub(crate) fn read(&self) -> Outcome<RwLockReadGuard<'_, Held>> {
        read(self.of_one_score()?)
    }

    /// Changes a run that gives every example one score.
    pub(crate) fn write(&self) -> Outcome<RwLockWriteGuard<'_, Held>> {
        write(self.of_one_score()?)
    }

    /// Returns the run, of either kind.
    pub(crate) fn held(&self) -> &AnyHeld {
        &self.held
    }

    pub(crate) fn of_one_score(&self) -> Outcome<&RwLock<Held>> {
        match &self.held {
            AnyHeld::Score(held) => Ok(held),
            AnyHeld::Classes(_) => Err(PythonError::value(
                "the model has a score for every class, and this is for models of one score",
            )),
        }
    }

    pub(crate) fn of_many_scores(&self) -> Outcome<&RwLock<Held<ClassRun>>> {
        match &self.held {
            AnyHeld::Classes(held) => Ok(held),
            AnyHeld::Score(_) => Err(PythonError::value(
                "the model has one score, and this is for models with a score for every class",
            )),
        }
    }

    /// Tells the run what was seen of the stream, so that it can report it.
    fn settle<R: Kind>(&self, held: &mut Held<R>) {
        let names = self.dicts.names();
        held.model.stream.now.names.extend(&names);
        let seen = held.model.stream.seen();
        held.model.run.saw(seen);
    }

    /// Describes a table of another kind than those before, in the same way as those.
    fn described(
        &self,
        py: Python<'_>,
        table: &Table<'_>,
        columns: AskedColumns,
        names: Option<Vec<String>>,
    ) -> PyResult<DataSpec> {
        let (constant, positive) = with_held!(self, lock => ask(lock, py, |held| {
            (held.model.data.constant, held.model.data.positive.clone())
        }))?;
        Ok(described(table, columns, names, constant, positive)?)
    }
}

pub(crate) fn read<R: Learning>(lock: &RwLock<Held<R>>) -> Outcome<RwLockReadGuard<'_, Held<R>>> {
    lock.read().map_err(|_| broken())
}

pub(crate) fn write<R: Learning>(lock: &RwLock<Held<R>>) -> Outcome<RwLockWriteGuard<'_, Held<R>>> {
    lock.write().map_err(|_| broken())
}

/// Answers a question without holding the interpreter, because a thread that is learning may be
/// waiting for the interpreter.
fn ask<R: Kind, T: Send>(
    lock: &RwLock<Held<R>>,
    py: Python<'_>,
    question: impl FnOnce(&Held<R>) -> T + Send,
) -> PyResult<T> {
    Ok(py.detach(|| Ok::<_, PythonError>(question(&*read(lock)?)))?)
}

/// Looks at a run without holding the interpreter. It may fail.
fn change_nothing<R: Kind, T: Send>(
    lock: &RwLock<Held<R>>,
    py: Python<'_>,
    work: impl FnOnce(&Held<R>) -> Outcome<T> + Send,
) -> PyResult<T> {
    Ok(py.detach(|| work(&*read(lock)?))?)
}

/// Changes a run without holding the interpreter.
fn change<R: Kind, T: Send>(
    lock: &RwLock<Held<R>>,
    py: Python<'_>,
    work: impl FnOnce(&mut Held<R>) -> Outcome<T> + Send,
) -> PyResult<T> {
    Ok(py.detach(|| work(&mut *write(lock)?))?)
}

/// Makes the error for a model that an earlier call left half changed.
fn broken() -> PythonError {
    PythonError::Runtime(
        "this model was left half changed by an error: make or load it anew".to_owned(),
    )
}

/// Makes a matrix with a row of predictions for every example.
fn matrix<'py>(py: Python<'py>, all: ClassPredictions) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let rows = all.numbers.len().checked_div(all.width).unwrap_or(0);
    let matrix = Array2::from_shape_vec((rows, all.width), all.numbers);
    let wrong = |_| PythonError::Runtime("predictions are not a matrix".to_owned());
    Ok(PyArray2::from_owned_array(py, matrix.map_err(wrong)?))
}

/// Returns a record without keys, for dicts that are rows of such data.
fn dicts_of(data: &DataSpec) -> Dicts {
    let indicates = data.schema.expansion().is_some_and(|made| made.missing);
    Dicts::new(bits_of(data), data.constant, indicates)
}

/// Returns the number of bits of the indices of names.
fn bits_of(data: &DataSpec) -> Bits {
    match &data.schema {
        Layout::Columnar(layout) => layout.bits,
        Layout::Text(Schema::Jsonl(json)) => json.bits,
        Layout::Text(Schema::Csv(table)) => table.bits,
        Layout::Text(Schema::Arff(table)) => table.bits,
        Layout::Text(Schema::Vw { bits, .. }) => *bits,
        _ => Bits::default(),
    }
}

#[pymethods]
impl Model {
    /// Makes a run that has seen nothing, for tables like this one. `classes` are the names of the
    /// labels −1 and +1 of a loss of two classes, and `names` are those of the columns of a matrix. A
    /// learner can measure the whole table beforehand only if `labels` are given.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "they are named where it is called")]
    #[pyo3(signature = (settings, columns, table, *, constant, classes=None, names=None, labels=None, importances=None, passes=None))]
    fn new(
        py: Python<'_>,
        settings: Asked,
        columns: AskedColumns,
        table: &Bound<'_, PyAny>,
        constant: bool,
        classes: Option<[String; 2]>,
        names: Option<Vec<String>>,
        labels: Option<PyReadonlyArray1<'_, f64>>,
        importances: Option<PyReadonlyArray1<'_, f64>>,
        passes: Option<AskedPasses>,
    ) -> PyResult<Self> {
        let table = Table::of(table)?;
        let positive = classes.as_ref().and_then(labels::positive);
        let mut data = described(&table, columns, names, constant, positive)?;
        data.passes = passes.map_or(Ok(None), AskedPasses::passes)?;
        let side = labels.as_ref().map(|labels| Side::new(labels, importances.as_ref()));
        let side = side.transpose()?;
        let settings = Settings::from(settings);
        if let Some(loss) = settings.class_loss() {
            let spec = settings.resolve_classes(loss, data).map_err(PythonError::from)?;
            let model = rueful_run::Model::of_classes(spec.task(), spec.data);
            return Ok(Self::of_classes(model.map_err(PythonError::from)?, Vec::new()));
        }
        let dicts = dicts_of(&data);
        let (task, notes) = resolve(&settings, || {
            let Some(side) = &side else { return Ok(None) };
            let view = table.view(&dicts)?;
            py.detach(|| survey(view, &data, side)).map(Some)
        })?;
        let mut model = rueful_run::Model::new(task, data).map_err(PythonError::from)?;
        if let Some(classes) = &classes {
            labels::announce(&mut model.stream.now.labels, classes);
        }
        Ok(Self::of(model, notes))
    }

    /// Restores a run from the bytes of a model's file.
    #[staticmethod]
    fn from_bytes(bytes: &Bound<'_, PyBytes>) -> PyResult<Self> {
        let model = AnyModel::decode(bytes.as_bytes(), "the model");
        Ok(Self::of_any(model.map_err(PythonError::from)?, Vec::new()))
    }

    /// Restores a run from a model's file.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let model = py.detach(|| AnyModel::open(&path)).map_err(PythonError::from)?;
        Ok(Self::of_any(model, Vec::new()))
    }

    /// Returns the bytes of the model's file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = with_held!(self, lock => change(lock, py, |held| {
            self.settle(held);
            Ok(held.model.to_bytes()?)
        }))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Saves the model to a file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        with_held!(self, lock => change(lock, py, |held| {
            self.settle(held);
            Ok(held.model.save(&path)?)
        }))
    }

    /// Pickles the model as the bytes of its file.
    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let make = slf.get_type().getattr("from_bytes")?;
        Ok((make, (slf.get().to_bytes(slf.py())?,)))
    }

    /// Returns an independent copy.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        macro_rules! copied {
            ($lock:expr, $of:path) => {{
                let (model, notes) = change($lock, py, |held| {
                    self.settle(held);
                    Ok((held.model.clone(), held.notes.clone()))
                })?;
                Ok($of(model, notes))
            }};
        }
        match &self.held {
            AnyHeld::Score(lock) => copied!(lock, Self::of),
            AnyHeld::Classes(lock) => copied!(lock, Self::of_classes),
        }
    }

    /// Learns from a table. The labels of many classes are their numbers, and `new_classes` are the
    /// names of those that come for the first time, in the order of their numbers.
    #[pyo3(signature = (table, labels, importances=None, listener=None, new_classes=Vec::new()))]
    fn learn(
        &self,
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        labels: PyReadonlyArray1<'_, f64>,
        importances: Option<PyReadonlyArray1<'_, f64>>,
        listener: Option<Py<PyAny>>,
        new_classes: Vec<String>,
    ) -> PyResult<()> {
        let table = Table::of(table)?;
        let view = table.view(&self.dicts)?;
        let side = Side::new(&labels, importances.as_ref())?;
        let mut watch = Watch::new(listener);
        with_held!(self, lock => {
            change(lock, py, |held| held.learn(view, &side, &new_classes, &mut watch))
        })
    }

    /// Learns from one dict. It is the same as learning from a list of it, and faster.
    #[pyo3(signature = (x, label, weight, new_class=None))]
    fn learn_one(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyDict>,
        label: f64,
        weight: f64,
        new_class: Option<String>,
    ) -> PyResult<()> {
        let batch = self.dicts.one(x, label, importance_of(weight)?)?;
        let new = new_class.as_slice();
        let learned = with_held!(self, lock => match lock.try_write() {
            Ok(mut held) => Ok(held.learn_rows(batch.rows(), new)?),
            // Another thread is at work, and may need the interpreter.
            Err(_) => change(lock, py, |held| held.learn_rows(batch.rows(), new)),
        });
        self.dicts.give_back(batch);
        learned
    }

    /// Returns the prediction for one dict.
    fn predict_one(&self, py: Python<'_>, x: &Bound<'_, PyDict>) -> PyResult<f64> {
        let batch = self.predicted.one(x, 0.0, Importance::ONE)?;
        let lock = self.of_one_score()?;
        let predicted = match lock.try_read() {
            Ok(held) => Ok(held.predict_one(batch.rows())?),
            Err(_) => change_nothing(lock, py, |held| held.predict_one(batch.rows())),
        };
        self.predicted.give_back(batch);
        predicted
    }

    /// Returns the predictions for the rows of a table. `columns` give the roles of columns with
    /// names, if they differ from those before.
    #[pyo3(signature = (table, columns=None, names=None))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'_, PyAny>,
        columns: Option<AskedColumns>,
        names: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let table = Table::of(table)?;
        let described = |columns| self.described(py, &table, columns, names);
        let data = columns.map(described).transpose()?;
        let view = table.view(&self.predicted)?;
        let mut watch = Watch::new(None);
        let predictions = py.detach(|| {
            let held = self.read()?;
            let way = way(data.as_ref().unwrap_or(&held.model.data));
            held.predict(view, &way, &mut watch)
        })?;
        Ok(PyArray1::from_vec(py, predictions))
    }

    /// Returns the scores of all classes for the rows of a table, by the numbers of the classes. If
    /// `probabilities` are wanted and the loss has them, they are returned instead, and the last
    /// column is the probability of a class that was not seen.
    #[pyo3(signature = (table, probabilities, columns=None, names=None))]
    fn predict_classes<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'_, PyAny>,
        probabilities: bool,
        columns: Option<AskedColumns>,
        names: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let table = Table::of(table)?;
        let described = |columns| self.described(py, &table, columns, names);
        let data = columns.map(described).transpose()?;
        let view = table.view(&self.predicted)?;
        let (says, mut watch) = (says(probabilities), Watch::new(None));
        let predictions = py.detach(|| {
            let held = read(self.of_many_scores()?)?;
            let way = way(data.as_ref().unwrap_or(&held.model.data));
            held.predict(view, &way, says, &mut watch)
        })?;
        matrix(py, predictions)
    }

    /// Returns the scores of all classes for one dict, or their probabilities, as
    /// [`predict_classes`](Self::predict_classes) does.
    fn predict_classes_one(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyDict>,
        probabilities: bool,
    ) -> PyResult<Vec<f64>> {
        let view = View::Batch(self.predicted.collect(&PyList::new(py, [x])?)?);
        let (says, mut watch) = (says(probabilities), Watch::new(None));
        let all = py.detach(|| {
            let held = read(self.of_many_scores()?)?;
            held.predict(view, &held.way(), says, &mut watch)
        })?;
        Ok(all.numbers)
    }

    /// Returns the probability of the label +1 at each score, by the loss. It is `None` if the loss
    /// has no probabilities.
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        scores: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        let loss = ask(self.of_one_score()?, py, |held| held.model.run.task().loss)?;
        let all = scores.as_array();
        let all: Option<Vec<f64>> = all.iter().map(|&score| loss.probability(score)).collect();
        Ok(all.map(|all| PyArray1::from_vec(py, all)))
    }

    /// Begins or continues with a table of another kind than those before.
    #[pyo3(signature = (columns, table, *, names=None))]
    fn turn_to(
        &self,
        py: Python<'_>,
        columns: AskedColumns,
        table: &Bound<'_, PyAny>,
        names: Option<Vec<String>>,
    ) -> PyResult<()> {
        let data = self.described(py, &Table::of(table)?, columns, names)?;
        with_held!(self, lock => change(lock, py, |held| {
            held.turn_to(data);
            Ok(())
        }))
    }

    /// Learns from files as `rueful run --resume` does.
    #[pyo3(signature = (files, threads=None, listener=None))]
    fn learn_files(
        &self,
        py: Python<'_>,
        files: Vec<OsString>,
        threads: Option<usize>,
        listener: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let reading_options = files::reading_options(threads, false)?;
        let (files, mut watch) = (names_of(&files), Watch::new(listener));
        with_held!(self, lock => change(lock, py, |held| {
            held.refuse_several_passes()?;
            self.settle(held);
            files::go_on(held, files, reading_options, &mut watch)
        }))
    }

    /// Predicts files. They need no labels.
    #[pyo3(signature = (files, threads=None))]
    fn predict_files<'py>(
        &self,
        py: Python<'py>,
        files: Vec<OsString>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let reading_options = files::reading_options(threads, false)?;
        let (files, mut watch) = (names_of(&files), Watch::new(None));
        let scores =
            py.detach(|| files::predict(&*self.read()?, files, &reading_options, &mut watch))?;
        Ok(PyArray1::from_vec(py, scores))
    }

    /// Predicts files for many classes, as [`predict_classes`](Self::predict_classes) does.
    #[pyo3(signature = (files, probabilities, threads=None))]
    fn predict_classes_of_files<'py>(
        &self,
        py: Python<'py>,
        files: Vec<OsString>,
        probabilities: bool,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (reading_options, says) =
            (files::reading_options(threads, false)?, says(probabilities));
        let (files, mut watch) = (names_of(&files), Watch::new(None));
        let predictions = py.detach(|| {
            let held = read(self.of_many_scores()?)?;
            files::predict_classes(&held, files, says, &reading_options, &mut watch)
        })?;
        matrix(py, predictions)
    }

    /// Runs over files from their beginning, as `rueful run` does.
    #[staticmethod]
    #[pyo3(signature = (settings, reading, threads=None, listener=None, cache=false))]
    fn run_files(
        py: Python<'_>,
        settings: Asked,
        reading: AskedFiles,
        threads: Option<usize>,
        listener: Option<Py<PyAny>>,
        cache: bool,
    ) -> PyResult<Self> {
        let reading_options = files::reading_options(threads, cache)?;
        let reading = reading.settings()?;
        let mut watch = Watch::new(listener);
        let run = || files::run(settings.into(), &reading, &reading_options, &mut watch);
        let (model, notes, stopped) = py.detach(run)?;
        match stopped {
            None => Ok(Self::of_any(model, notes)),
            Some(error) => Err(error.into()),
        }
    }

    /// Returns the report on the run so far.
    fn report(&self, py: Python<'_>) -> PyResult<Snapshot> {
        with_held!(self, lock => change(lock, py, |held| {
            self.settle(held);
            Ok(Snapshot::new(held.report(), held.model.run.clone(), held.notes.clone()))
        }))
    }

    /// Returns the certificate: no comparator of norm at most `radius` was better by more than this
    /// per round. It is infinite if nothing can be said. Without a radius, it is about the
    /// comparators of the run.
    #[pyo3(signature = (radius=None))]
    fn certificate(&self, py: Python<'_>, radius: Option<f64>) -> PyResult<f64> {
        let out = |why| PythonError::value(format!("radius: {why}"));
        let radius = radius.map(Positive::new).transpose().map_err(out)?;
        let proved = with_held!(self, lock => ask(lock, py, |held| {
            let report = held.report();
            match radius {
                None => report.certificate,
                // If proofs contradict each other, the certificate is withheld at every radius.
                Some(_) if !report.contradictions.is_empty() => None,
                Some(radius) => Some(held.model.run.certificate_for(radius)),
            }
        }))?;
        Ok(proved.filter(|value| !value.is_nan()).unwrap_or(f64::INFINITY))
    }

    /// Returns the report of a fresh run of the same task over a table, with the best predictor in
    /// hindsight. The labels of many classes are their numbers, in the order in which they come, and
    /// `classes` are their names.
    #[expect(clippy::too_many_arguments, reason = "they are named where it is called")]
    #[pyo3(signature = (table, labels, importances=None, tolerance=None, max_passes=None, classes=Vec::new()))]
    fn regret(
        &self,
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        labels: PyReadonlyArray1<'_, f64>,
        importances: Option<PyReadonlyArray1<'_, f64>>,
        tolerance: Option<f64>,
        max_passes: Option<u64>,
        classes: Vec<String>,
    ) -> PyResult<Snapshot> {
        let options = hindsight::options(tolerance, max_passes)?;
        let table = Table::of(table)?;
        let view = table.view(&self.predicted)?;
        let side = Side::new(&labels, importances.as_ref())?;
        Ok(py.detach(|| match &self.held {
            AnyHeld::Score(lock) => {
                let held = read(lock)?;
                let (task, data) = (held.model.task().clone(), &held.model.data);
                let (report, run) = hindsight::replayed(task, view, data, &side, &options)?;
                Ok::<_, PythonError>(Snapshot::new(report, run, held.notes.clone()))
            }
            AnyHeld::Classes(lock) => {
                let held = read(lock)?;
                let (task, data) = (held.model.run.task().clone(), &held.model.data);
                let replayed = hindsight::replayed_classes;
                let (report, run) = replayed(task, view, data, &side, &classes, &options)?;
                Ok(Snapshot::new(report, run, held.notes.clone()))
            }
        })?)
    }

    /// Returns the indices and the weights of the features that were seen.
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Weights<'py>> {
        let weights = py.detach(|| Ok::<_, PythonError>(self.read()?.model.learned().weights()))?;
        let (indices, values) = weights.into_iter().unzip();
        Ok((PyArray1::from_vec(py, indices), PyArray1::from_vec(py, values)))
    }

    /// Returns the weights that are not 0 with the names of their features, the largest first.
    fn named_weights(&self, py: Python<'_>) -> PyResult<Vec<(String, f64)>> {
        let weights = py.detach(|| {
            let mut held = self.write()?;
            self.settle(&mut held);
            Ok::<_, PythonError>(held.model.weights())
        })?;
        let named = weights.into_iter().map(|weight| {
            let name = weight.name.unwrap_or_else(|| weight.index.to_string());
            (printable(&name), weight.weight)
        });
        Ok(named.collect())
    }

    /// Returns the indices of the features that were seen, and their weights for every class.
    fn class_weights<'py>(&self, py: Python<'py>) -> PyResult<ClassWeights<'py>> {
        let all: Vec<Vec<(u32, f64)>> = ask(self.of_many_scores()?, py, |held| {
            let run = held.model.learned();
            (0..run.classes()).map(|class| run.weights(class).unwrap_or_default()).collect()
        })?;
        let longest = all.iter().max_by_key(|weights| weights.len()).map_or(&[][..], |all| all);
        let indices: Vec<u32> = longest.iter().map(|&(index, _)| index).collect();
        let of = |(class, place): (usize, usize)| all[class].get(place).map_or(0.0, |one| one.1);
        let weights = Array2::from_shape_fn((all.len(), indices.len()), of);
        Ok((PyArray1::from_vec(py, indices), weights.to_pyarray(py)))
    }

    /// Returns the names of features by their indices, as far as they have names.
    fn feature_names(&self, py: Python<'_>, indices: Vec<u32>) -> PyResult<Vec<Option<String>>> {
        with_held!(self, lock => change(lock, py, |held| {
            self.settle(held);
            Ok(indices.into_iter().map(|index| held.name_of(index)).collect())
        }))
    }

    /// Adds the ledger of another run of the same task. The weights stay those of this run.
    fn merge(&self, py: Python<'_>, other: &Self) -> PyResult<()> {
        if std::ptr::eq(self, other) {
            return Err(PythonError::value("a run cannot be merged with itself").into());
        }
        let other = other.copy(py)?;
        Ok(py.detach(|| {
            let (mut held, other) = (self.write()?, other.read()?);
            held.model.run.merge(&other.model.run)?;
            let seen = other.model.stream.seen();
            held.model.stream.now.extend(&seen);
            Ok::<_, PythonError>(())
        })?)
    }

    /// Returns the names of the labels −1 and +1, as far as they are known.
    fn classes(&self, py: Python<'_>) -> PyResult<(Option<String>, Option<String>)> {
        ask(self.of_one_score()?, py, |held| labels::classes(&held.model))
    }

    /// Returns the names of many classes by their numbers. It is `None` for a model of one score.
    fn class_names(&self, py: Python<'_>) -> PyResult<Option<Vec<String>>> {
        match &self.held {
            AnyHeld::Score(_) => Ok(None),
            AnyHeld::Classes(lock) => ask(lock, py, |held| Some(labels::names(&held.model.stream))),
        }
    }

    /// Returns how many examples were learned from.
    fn examples(&self, py: Python<'_>) -> PyResult<u64> {
        with_held!(self, lock => ask(lock, py, |held| held.model.run.examples()))
    }

    /// Whether labels are classes, rather than numbers.
    fn classifies(&self, py: Python<'_>) -> PyResult<bool> {
        match &self.held {
            AnyHeld::Score(lock) => {
                ask(lock, py, |held| held.model.task().loss.labels() == Labels::Signs)
            }
            AnyHeld::Classes(_) => Ok(true),
        }
    }

    /// Returns the description of the task, as JSON.
    fn task(&self, py: Python<'_>) -> PyResult<String> {
        with_held!(self, lock => ask(lock, py, |held| held.model.run.task_json()))?
            .map_err(|error| PythonError::Runtime(error.to_string()).into())
    }

    /// Returns how data are read, as JSON.
    fn data(&self, py: Python<'_>) -> PyResult<String> {
        with_held!(self, lock => ask(lock, py, |held| serde_json::to_string(&held.model.data)))?
            .map_err(|error| PythonError::Runtime(error.to_string()).into())
    }

    /// Returns one more than the largest index of a feature that was seen.
    fn dimension(&self, py: Python<'_>) -> PyResult<u64> {
        with_held!(self, lock => {
            ask(lock, py, |held| held.model.stream.seen().census.dimension)
        })
    }

    /// Whether every example gets one more feature that is always 1.
    fn constant(&self, py: Python<'_>) -> PyResult<bool> {
        with_held!(self, lock => ask(lock, py, |held| held.model.data.constant))
    }
}

/// Returns the form of predictions for many classes.
fn says(probabilities: bool) -> Says {
    if probabilities { Says::Probabilities } else { Says::Scores }
}

/// Returns the description of a table that Python holds, and an empty record of the keys of dicts,
/// for callers that have no model.
pub(crate) fn table_alone(
    table: &Table<'_>,
    columns: AskedColumns,
    names: Option<Vec<String>>,
    constant: bool,
) -> Outcome<(DataSpec, Dicts)> {
    let data = described(table, columns, names, constant, None)?;
    let dicts = dicts_of(&data);
    Ok((data, dicts))
}
