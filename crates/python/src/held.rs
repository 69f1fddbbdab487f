//! A run and its record of the stream, whichever kind it is.

use crate::error::{Outcome, PythonError};
use crate::files;
use crate::kind::Kind;
use crate::labels;
use crate::memory::Memory;
use crate::side::Side;
use crate::table::{View, Way, add_missing, not_numbered};
use crate::watch::Watch;
use rueful_core::Rows;
use rueful_data::{Schema, Seen, printable};
use rueful_run::{
    ClassLoss, ClassRun, DataSpec, Layout, Learning, Model, Report, Run, Session, Stream,
};

/// The state that changes while the model learns.
pub(crate) struct Held<R: Learning = Run> {
    pub(crate) model: Model<R>,
    /// Notes on how the settings were understood.
    pub(crate) notes: Vec<String>,
}

/// The predictions for many classes: a row of numbers for every example.
pub(crate) struct ClassPredictions {
    pub(crate) numbers: Vec<f64>,
    /// The length of a row.
    pub(crate) width: usize,
}

impl<R: Kind> Held<R> {
    /// Returns how the columns of tables become features.
    pub(crate) fn way(&self) -> Way<'_> {
        way(&self.model.data)
    }

    /// Learns from a table. A matrix with a value that no feature can have is refused before
    /// anything is learned. In other tables, such a value is found only while they are read.
    pub(crate) fn learn(
        &mut self,
        view: View<'_>,
        side: &Side<'_>,
        new_classes: &[String],
        watch: &mut Watch,
    ) -> Outcome<()> {
        let view = view.checked(&self.way())?;
        self.refuse_several_passes()?;
        self.refuse_ids()?;
        if self.model.data.passes.is_some() && self.is_new() {
            return self.learn_often(view, side, new_classes, watch);
        }
        self.leave_files();
        let Model { run, data, stream, .. } = &mut self.model;
        labels::announce(&mut stream.now.labels, new_classes);
        let told = view.each(&way(data), Some(side), &mut |rows| {
            run.learn_counted(rows)?;
            take_down(stream, run, rows);
            watch.look(|| progress(run))
        })?;
        stream.now.names.extend(&told.names);
        add_missing(&mut stream.now.missing, &told.missing);
        watch.end(|| progress(run))
    }

    /// Learns from a table as often as the description of the data says. Rows may be held out.
    fn learn_often(
        &mut self,
        view: View<'_>,
        side: &Side<'_>,
        new_classes: &[String],
        watch: &mut Watch,
    ) -> Outcome<()> {
        labels::announce(&mut self.model.stream.now.labels, new_classes);
        let announced = self.model.stream.now.labels.clone();
        let memory = Memory::of::<R>(view, &self.way(), side, announced)?;
        let data = self.model.data.clone();
        let reopen = || Ok(data.hold_out(memory.read()));
        let empty = self.model.run.fresh(data.clone())?;
        let session = Session::resume(std::mem::replace(&mut self.model, empty));
        let (model, stopped) = files::go_through(session, reopen()?, &reopen, watch);
        self.model = model;
        stopped.map_or(Ok(()), Err)
    }

    /// Whether no row was learned from yet.
    fn is_new(&self) -> bool {
        self.model.run.examples() == 0 && self.model.stream.position == 0
    }

    /// Learns from rows with named features.
    pub(crate) fn learn_rows(&mut self, rows: Rows<'_>, new_classes: &[String]) -> Outcome<()> {
        self.check_keys()?;
        self.refuse_several_passes()?;
        self.refuse_ids()?;
        self.leave_files();
        let Model { run, stream, .. } = &mut self.model;
        labels::announce(&mut stream.now.labels, new_classes);
        run.learn_counted(rows)?;
        take_down(stream, run, rows);
        Ok(())
    }

    /// Refuses dicts if columns have numbers.
    fn check_keys(&self) -> Outcome<()> {
        match self.way() {
            Way::Numbered { .. } => Err(not_numbered()),
            Way::Keys | Way::Named { .. } => Ok(()),
        }
    }

    /// Refuses to go on after several passes. Nothing could be proved about what comes next.
    pub(crate) fn refuse_several_passes(&self) -> Outcome<()> {
        if self.model.course.is_later() {
            return Err(PythonError::value(
                "the model has learned from its data several times: it predicts, and learns no more",
            ));
        }
        Ok(())
    }

    /// Refuses rows in memory if rows of files may wait for their labels.
    fn refuse_ids(&self) -> Outcome<()> {
        if self.model.data.schema.has_ids() {
            return Err(PythonError::value(
                "the labels of the model come later than their rows, which files alone can tell: \
                 learn from files",
            ));
        }
        Ok(())
    }

    /// Ends the record of files and of passes: the next rows do not belong to them.
    fn leave_files(&mut self) {
        let data = &self.model.data;
        if !data.files.is_empty() || data.passes.is_some() {
            let memory =
                DataSpec { files: Vec::new(), class_weights: None, passes: None, ..data.clone() };
            self.turn_to(memory);
        }
    }

    /// Begins with data of another description. If the description is the same as before, nothing
    /// changes.
    pub(crate) fn turn_to(&mut self, data: DataSpec) {
        if self.model.data == data {
            return;
        }
        let classes = R::lasting_classes(&self.model);
        let stream = &mut self.model.stream;
        stream.before = stream.seen();
        (stream.now, stream.position) = (Seen::default(), 0);
        labels::announce(&mut stream.now.labels, &classes);
        self.model.data = data;
    }

    /// Returns the name of a feature, if it has one.
    pub(crate) fn name_of(&self, index: u32) -> Option<String> {
        if index == 0 && self.model.data.constant {
            return Some("constant".to_owned());
        }
        let stream = &self.model.stream;
        let name = stream.now.names.get(index).or_else(|| stream.before.names.get(index));
        name.map(|name| printable(&name))
    }

    /// Returns the report on the run so far.
    pub(crate) fn report(&self) -> Report {
        self.model.report()
    }
}

impl Held {
    /// Returns the prediction for the first of some rows with named features.
    pub(crate) fn predict_one(&self, rows: Rows<'_>) -> Outcome<f64> {
        self.check_keys()?;
        Ok(self.model.learned().predict(&rows.get(0).features))
    }

    /// Returns the predictions for the rows of a table.
    pub(crate) fn predict(
        &self,
        view: View<'_>,
        way: &Way<'_>,
        watch: &mut Watch,
    ) -> Outcome<Vec<f64>> {
        let (mut all, mut part) = (Vec::with_capacity(view.rows().unwrap_or(0)), Vec::new());
        let run = self.model.learned();
        view.each(way, None, &mut |rows| {
            run.predict_rows(rows, &mut part);
            all.extend_from_slice(&part);
            watch.look(|| (0, 0, 0.0))
        })?;
        Ok(all)
    }
}

impl Held<ClassRun> {
    /// Returns the predictions for the rows of a table.
    pub(crate) fn predict(
        &self,
        view: View<'_>,
        way: &Way<'_>,
        says: Says,
        watch: &mut Watch,
    ) -> Outcome<ClassPredictions> {
        let mut predictions = self.no_predictions(says);
        view.each(way, None, &mut |rows| {
            self.add_predictions(rows, says, &mut predictions);
            watch.look(|| (0, 0, 0.0))
        })?;
        Ok(predictions)
    }

    /// Returns predictions for no rows.
    pub(crate) fn no_predictions(&self, says: Says) -> ClassPredictions {
        let run = self.model.learned();
        let has_unseen = says == Says::Probabilities && run.task().loss == ClassLoss::Softmax {};
        let width = run.classes() as usize + usize::from(has_unseen);
        ClassPredictions { numbers: Vec::new(), width }
    }

    /// Appends the predictions for some rows. Probabilities end with that of a class that was not
    /// seen.
    pub(crate) fn add_predictions(&self, rows: Rows<'_>, says: Says, to: &mut ClassPredictions) {
        let run = self.model.learned();
        for example in rows.iter() {
            let x = &example.features;
            match (says, run.probabilities(x)) {
                (Says::Probabilities, Some((shares, unseen))) => {
                    to.numbers.extend_from_slice(&shares);
                    to.numbers.push(unseen);
                }
                _ => to.numbers.extend_from_slice(&run.scores(x)),
            }
        }
    }
}

/// The form of predictions for many classes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Says {
    Scores,
    Probabilities,
}

/// Returns the number of examples, no bytes, and the average loss so far.
fn progress<R: Kind>(run: &R) -> (u64, u64, f64) {
    let examples = run.examples();
    (examples, 0, run.total_loss() / examples.max(1) as f64)
}

/// Records what was seen of some rows that a run has learned from.
fn take_down<R: Kind>(stream: &mut Stream, run: &R, rows: Rows<'_>) {
    let (census, cells) = (&mut stream.now.census, run.cells());
    // The run has learned from all features that the census knows. If it knows no more, these rows
    // have brought none.
    if cells.count() as u64 == census.features {
        census.count_known(rows);
    } else {
        census.count(rows);
    }
    R::count_labels(&mut stream.now, rows);
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
