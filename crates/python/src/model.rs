//! A run that Python holds. It learns from tables and predicts them, and it can report and be
//! saved.

use crate::error::{Outcome, PythonError};
use crate::files;
use crate::labels;
use crate::named::Dicts;
use crate::report::Snapshot;
use crate::settings::{Asked, AskedColumns, AskedFiles, bits};
use crate::side::Side;
use crate::table::{Table, Told, View, Way};
use crate::watch::Watch;
use crate::{arrow, hindsight};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use rueful_core::loss::{Labels, Loss};
use rueful_core::{Positive, Rows};
use rueful_data::{Bits, Column, Columns, DataError, Json, Role, Schema, Seen, Survey, printable};
use rueful_run::{DataSpec, Layout, Resolved, Settings, Stream, Task};
use std::path::PathBuf;
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The name of the labels beside a table.
const LABEL: &str = "label";

/// The indices of features, and their weights.
type Weights<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f64>>);

/// A run, and its record of the stream.
#[pyclass(frozen, module = "rueful._rueful")]
pub(crate) struct Model {
    held: RwLock<Held>,
    /// The keys of the dicts that were learned from. Those of dicts that were only predicted are
    /// kept apart in `predicted`, because names from which nothing was learned are not part of the
    /// stream.
    dicts: Dicts,
    predicted: Dicts,
}

/// The state that changes while the model learns.
pub(crate) struct Held {
    pub(crate) model: rueful_run::Model,
    /// Notes on how the settings were understood.
    pub(crate) notes: Vec<String>,
}

impl Held {
    /// Returns how the columns of tables become features.
    fn way(&self) -> Way<'_> {
        way(&self.model.data)
    }

    /// Learns from a table. A matrix with a value that no feature can have is refused before
    /// anything is learned. In other tables, such a value is found only while they are read.
    fn learn(&mut self, view: View<'_>, side: &Side<'_>, watch: &mut Watch) -> Outcome<()> {
        view.check(&self.way())?;
        self.leave_files();
        let rueful_run::Model { run, data, stream, .. } = &mut self.model;
        let told = view.each(&way(data), Some(side), &mut |rows| {
            run.learn_counted(rows)?;
            take_down(stream, rows);
            let ledger = run.ledger();
            watch.look(|| (ledger.rounds(), 0, ledger.sequential_risk()))
        })?;
        let Told { names, missing } = told;
        if !(names.is_empty() && missing.is_empty()) {
            stream.now.extend(&Seen { names, missing, ..Seen::default() });
        }
        let ledger = run.ledger();
        watch.end(|| (ledger.rounds(), 0, ledger.sequential_risk()))
    }

    /// Returns the predictions for the rows of a table.
    fn predict(&self, view: View<'_>, way: &Way<'_>, watch: &mut Watch) -> Outcome<Vec<f64>> {
        let (mut all, mut part) = (Vec::with_capacity(view.rows().unwrap_or(0)), Vec::new());
        let run = &self.model.run;
        view.each(way, None, &mut |rows| {
            run.predict_rows(rows, &mut part);
            all.extend_from_slice(&part);
            watch.look(|| (0, 0, 0.0))
        })?;
        Ok(all)
    }

    /// Ends the record of files: the next rows do not belong to them.
    fn leave_files(&mut self) {
        let data = &self.model.data;
        if !data.files.is_empty() {
            self.turn_to(DataSpec { files: Vec::new(), class_weights: None, ..data.clone() });
        }
    }

    /// Begins with data of another description. If the description is the same as before, nothing
    /// changes.
    fn turn_to(&mut self, data: DataSpec) {
        if self.model.data == data {
            return;
        }
        let classes = labels::classes(&self.model);
        let stream = &mut self.model.stream;
        stream.before = stream.seen();
        (stream.now, stream.position) = (Seen::default(), 0);
        if let (Some(negative), Some(positive)) = classes {
            labels::announce(&mut stream.now.labels, &[negative, positive]);
        }
        self.model.data = data;
    }
}

/// Records what was seen of some rows.
fn take_down(stream: &mut Stream, rows: Rows<'_>) {
    stream.now.census.count(rows);
    labels::count(&mut stream.now, rows);
    stream.position += rows.len() as u64;
}

/// Returns how the columns of tables become features, by the description of the data that a model
/// has learned from.
pub(crate) fn way(data: &DataSpec) -> Way<'_> {
    let constant = data.constant;
    match &data.schema {
        Layout::Columnar(layout) => {
            Way::Named { columns: &layout.columns, bits: layout.bits, constant }
        }
        Layout::Text(Schema::Csv(table)) => {
            Way::Named { columns: &table.columns, bits: table.bits, constant }
        }
        Layout::Text(Schema::Arff(table)) => {
            Way::Named { columns: &table.columns, bits: table.bits, constant }
        }
        Layout::Text(Schema::Jsonl(_) | Schema::Vw { .. }) => Way::Keys,
        _ => Way::Numbered { constant },
    }
}

/// Refuses a model of several passes, which only the program knows how to use.
fn of_one_pass(model: rueful_run::Model) -> Result<rueful_run::Model, PythonError> {
    if model.course.is_later() {
        return Err(PythonError::value(
            "the model has learned from its data several times: `rueful predict` predicts with it",
        ));
    }
    Ok(model)
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
fn survey(view: View<'_>, way: &Way<'_>, side: &Side<'_>) -> Outcome<Survey> {
    let mut survey = Survey::default();
    view.each(way, Some(side), &mut |rows| {
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
            Layout::Columnar(arrow::layout(&*batches, &columns.format_settings(&label)?)?)
        }
        (Table::Dicts(_), _) => {
            let format_settings = columns.format_settings(LABEL)?;
            let label = Column { name: LABEL.to_owned(), role: Role::Label };
            let columns = Columns::try_from(vec![label]).map_err(wrong_names)?;
            Layout::Text(Schema::Jsonl(Json { bits: format_settings.bits, closed: false, columns }))
        }
        (_, Some(names)) => {
            let label = label_beside(names.iter().map(String::as_str));
            let format_settings = columns.format_settings(&label)?;
            let all: Vec<String> = names.into_iter().chain([label]).collect();
            let columns =
                Columns::wished("X", &all, &format_settings, &mut Vec::new(), |_| Role::Number)?;
            let format = rueful_columnar::Format::Arrow;
            Layout::Columnar(rueful_columnar::Layout {
                format,
                bits: format_settings.bits,
                columns,
            })
        }
        _ => return Ok(numbered(constant, positive)),
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
    pub(crate) fn of(mut model: rueful_run::Model, notes: Vec<String>) -> Self {
        // A loaded model has its own notes.
        if !notes.is_empty() {
            model.companions.notes = notes;
        }
        let notes = model.companions.notes.clone();
        let dicts = || Dicts::new(bits_of(&model.data), model.data.constant);
        let (dicts, predicted) = (dicts(), dicts());
        Self { held: RwLock::new(Held { model, notes }), dicts, predicted }
    }

    pub(crate) fn read(&self) -> Outcome<RwLockReadGuard<'_, Held>> {
        self.held.read().map_err(|_| broken())
    }

    pub(crate) fn write(&self) -> Outcome<RwLockWriteGuard<'_, Held>> {
        self.held.write().map_err(|_| broken())
    }

    /// Answers a question without holding the interpreter, because a thread that is learning may be
    /// waiting for the interpreter.
    fn ask<T: Send>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&Held) -> T + Send,
    ) -> PyResult<T> {
        Ok(py.detach(|| Ok::<_, PythonError>(question(&*self.read()?)))?)
    }

    /// Tells the run what was seen of the stream, so that it can report it.
    fn settle(&self, held: &mut Held) {
        let names = self.dicts.names();
        held.model.stream.now.extend(&names);
        let seen = held.model.stream.seen();
        held.model.run.saw(seen);
    }
}

/// Makes the error for a model that an earlier call left half changed.
fn broken() -> PythonError {
    PythonError::Runtime(
        "this model was left half changed by an error: make or load it anew".to_owned(),
    )
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
    /// labels −1 and +1, and `names` are those of the columns of a matrix. A learner can measure
    /// the whole table beforehand only if `labels` are given.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "they are named where it is called")]
    #[pyo3(signature = (settings, columns, table, *, constant, classes=None, names=None, labels=None, importances=None))]
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
    ) -> PyResult<Self> {
        let table = Table::of(table)?;
        let positive = classes.as_ref().and_then(labels::positive);
        let data = described(&table, columns, names, constant, positive)?;
        let side = labels.as_ref().map(|labels| Side::new(labels, importances.as_ref()));
        let side = side.transpose()?;
        let dicts = Dicts::new(bits_of(&data), constant);
        let (task, notes) = resolve(&settings.into(), || {
            let Some(side) = &side else { return Ok(None) };
            let view = table.view(&dicts)?;
            py.detach(|| survey(view, &way(&data), side)).map(Some)
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
        let model = rueful_run::Model::decode(bytes.as_bytes(), "the model");
        Ok(Self::of(of_one_pass(model.map_err(PythonError::from)?)?, Vec::new()))
    }

    /// Restores a run from a model's file.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let model = py.detach(|| rueful_run::Model::open(&path)).map_err(PythonError::from)?;
        Ok(Self::of(of_one_pass(model)?, Vec::new()))
    }

    /// Returns the bytes of the model's file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| {
            let mut held = self.write()?;
            self.settle(&mut held);
            Ok::<_, PythonError>(held.model.to_bytes()?)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Saves the model to a file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        Ok(py.detach(|| {
            let mut held = self.write()?;
            self.settle(&mut held);
            Ok::<_, PythonError>(held.model.save(&path)?)
        })?)
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
        let (model, notes) = py.detach(|| {
            let mut held = self.write()?;
            self.settle(&mut held);
            Ok::<_, PythonError>((held.model.clone(), held.notes.clone()))
        })?;
        Ok(Self::of(model, notes))
    }

    /// Learns from a table.
    #[pyo3(signature = (table, labels, importances=None, listener=None))]
    fn learn(
        &self,
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        labels: PyReadonlyArray1<'_, f64>,
        importances: Option<PyReadonlyArray1<'_, f64>>,
        listener: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let table = Table::of(table)?;
        let view = table.view(&self.dicts)?;
        let side = Side::new(&labels, importances.as_ref())?;
        let mut watch = Watch::new(listener);
        Ok(py.detach(|| self.write()?.learn(view, &side, &mut watch))?)
    }

    /// Learns from one dict. It is the same as learning from a list of it, and faster.
    fn learn_one(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyDict>,
        label: f64,
        weight: f64,
    ) -> PyResult<()> {
        let side = Side::of_one(label, weight)?;
        let view = View::Batch(self.dicts.collect(&PyList::new(py, [x])?)?);
        Ok(py.detach(|| self.write()?.learn(view, &side, &mut Watch::new(None)))?)
    }

    /// Returns the prediction for one dict.
    fn predict_one(&self, py: Python<'_>, x: &Bound<'_, PyDict>) -> PyResult<f64> {
        let view = View::Batch(self.predicted.collect(&PyList::new(py, [x])?)?);
        let mut watch = Watch::new(None);
        let all = py.detach(|| {
            let held = self.read()?;
            held.predict(view, &held.way(), &mut watch)
        })?;
        Ok(all.first().copied().unwrap_or_default())
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
        let constant = self.constant(py)?;
        let described = |columns| described(&table, columns, names, constant, None);
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

    /// Returns the probability of the label +1 at each score, by the loss. It is `None` if the loss
    /// has no probabilities.
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        scores: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        let loss = self.ask(py, |held| held.model.run.task().loss)?;
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
        let known = |held: &Held| (held.model.data.constant, held.model.data.positive.clone());
        let (constant, positive) = self.ask(py, known)?;
        let data = described(&Table::of(table)?, columns, names, constant, positive)?;
        Ok(py.detach(|| {
            self.write()?.turn_to(data);
            Ok::<_, PythonError>(())
        })?)
    }

    /// Learns from files as `rueful run --resume` does.
    #[pyo3(signature = (files, threads=None, listener=None))]
    fn learn_files(
        &self,
        py: Python<'_>,
        files: Vec<String>,
        threads: Option<usize>,
        listener: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let reading_options = files::reading_options(threads)?;
        let mut watch = Watch::new(listener);
        Ok(py.detach(|| {
            let mut held = self.write()?;
            self.settle(&mut held);
            files::go_on(&mut held, files, reading_options, &mut watch)
        })?)
    }

    /// Predicts files. They need no labels.
    #[pyo3(signature = (files, threads=None))]
    fn predict_files<'py>(
        &self,
        py: Python<'py>,
        files: Vec<String>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let reading_options = files::reading_options(threads)?;
        let mut watch = Watch::new(None);
        let scores =
            py.detach(|| files::predict(&*self.read()?, files, &reading_options, &mut watch))?;
        Ok(PyArray1::from_vec(py, scores))
    }

    /// Runs over files from their beginning, as `rueful run` does.
    #[staticmethod]
    #[pyo3(signature = (settings, reading, threads=None, listener=None))]
    fn run_files(
        py: Python<'_>,
        settings: Asked,
        reading: AskedFiles,
        threads: Option<usize>,
        listener: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let (reading, reading_options) = (reading.settings()?, files::reading_options(threads)?);
        let mut watch = Watch::new(listener);
        let run = || files::run(settings.into(), &reading, &reading_options, &mut watch);
        let (model, notes, stopped) = py.detach(run)?;
        match stopped {
            None => Ok(Self::of(model, notes)),
            Some(error) => Err(error.into()),
        }
    }

    /// Returns the report on the run so far.
    fn report(&self, py: Python<'_>) -> PyResult<Snapshot> {
        Ok(py.detach(|| {
            let mut held = self.write()?;
            self.settle(&mut held);
            let mut report = held.model.run.report();
            if !held.model.data.files.is_empty() {
                report.spec.data = Some(held.model.data.clone());
            }
            Ok::<_, PythonError>(Snapshot::new(report, held.model.run.clone(), held.notes.clone()))
        })?)
    }

    /// Returns the certificate: no comparator of norm at most `radius` was better by more than this
    /// per round. It is infinite if nothing can be said. Without a radius, it is about the
    /// comparators of the run.
    #[pyo3(signature = (radius=None))]
    fn certificate(&self, py: Python<'_>, radius: Option<f64>) -> PyResult<f64> {
        let out = |why| PythonError::value(format!("radius: {why}"));
        let radius = radius.map(Positive::new).transpose().map_err(out)?;
        Ok(py.detach(|| {
            let held = self.read()?;
            let report = held.model.run.report();
            let proved = match radius {
                None => report.certificate,
                // If proofs contradict each other, the certificate is withheld at every radius.
                Some(_) if !report.contradictions.is_empty() => None,
                Some(radius) => Some(held.model.run.point().certificate_for(radius)),
            };
            Ok::<_, PythonError>(proved.filter(|value| !value.is_nan()).unwrap_or(f64::INFINITY))
        })?)
    }

    /// Returns the report of a fresh run of the same task over a table, with the best predictor in
    /// hindsight.
    #[pyo3(signature = (table, labels, importances=None, tolerance=None, max_passes=None))]
    fn regret(
        &self,
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        labels: PyReadonlyArray1<'_, f64>,
        importances: Option<PyReadonlyArray1<'_, f64>>,
        tolerance: Option<f64>,
        max_passes: Option<u64>,
    ) -> PyResult<Snapshot> {
        let options = hindsight::options(tolerance, max_passes)?;
        let table = Table::of(table)?;
        let view = table.view(&self.predicted)?;
        let side = Side::new(&labels, importances.as_ref())?;
        Ok(py.detach(|| {
            let held = self.read()?;
            let task = held.model.run.task().clone();
            let found = hindsight::replayed(task, view, &held.way(), &side, &options)?;
            Ok::<_, PythonError>(Snapshot::new(found.0, found.1, held.notes.clone()))
        })?)
    }

    /// Returns the indices and the weights of the features that were seen.
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Weights<'py>> {
        let weights = py.detach(|| Ok::<_, PythonError>(self.read()?.model.run.weights()))?;
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
        self.ask(py, |held| labels::classes(&held.model))
    }

    /// Returns how many examples were learned from.
    fn examples(&self, py: Python<'_>) -> PyResult<u64> {
        self.ask(py, |held| held.model.run.ledger().rounds())
    }

    /// Whether labels are signs, rather than numbers.
    fn classifies(&self, py: Python<'_>) -> PyResult<bool> {
        self.ask(py, |held| held.model.run.task().loss.labels() == Labels::Signs)
    }

    /// Returns the description of the task, as JSON.
    fn task(&self, py: Python<'_>) -> PyResult<String> {
        self.ask(py, |held| serde_json::to_string(held.model.run.task()))?
            .map_err(|error| PythonError::Runtime(error.to_string()).into())
    }

    /// Returns how data are read, as JSON.
    fn data(&self, py: Python<'_>) -> PyResult<String> {
        self.ask(py, |held| serde_json::to_string(&held.model.data))?
            .map_err(|error| PythonError::Runtime(error.to_string()).into())
    }

    /// Returns one more than the largest index of a feature that was seen.
    fn dimension(&self, py: Python<'_>) -> PyResult<u64> {
        self.ask(py, |held| held.model.stream.seen().census.dimension)
    }

    /// Whether every example gets one more feature that is always 1.
    fn constant(&self, py: Python<'_>) -> PyResult<bool> {
        self.ask(py, |held| held.model.data.constant)
    }
}

/// Returns the description of a table that Python holds, and an empty record of the keys of dicts,
/// for callers that have no model.
pub(crate) fn table_alone(
    table: &Table<'_>,
    columns: AskedColumns,
    names: Option<Vec<String>>,
    constant: bool,
) -> Outcome<(DataSpec, Dicts)> {
    let bits = bits(columns.asked_bits())?;
    let data = described(table, columns, names, constant, None)?;
    Ok((data, Dicts::new(bits, constant)))
}
