//! A run and its record of the stream, whichever kind it is.

use crate::error::{Outcome, PythonError};
use crate::files;
use crate::kind::Kind;
use crate::labels;
use crate::memory::Memory;
use crate::named::{Plain, features};
use crate::side::Side;
use crate::table::{Room, View, Way, add_missing, not_numbered};
use crate::watch::Watch;
use rueful_core::Rows;
use rueful_data::{Bits, Columns, Schema, Seen, printable};
use rueful_run::{
    ClassLoss, ClassRun, DataSpec, Layout, Learning, Model, Report, Run, Session, Stream,
};

/// The state that changes while the model learns.
pub(crate) struct Held<R: Learning = Run> {
    pub(crate) model: Model<R>,
    /// Notes on how the settings were understood.
    pub(crate) notes: Vec<String>,
    /// Memory for the tables that it learns from.
    pub(crate) room: Room,
    /// The columns of the last frame that it learned from, and their features if all are numbers.
    pub(crate) frame: Option<(Columns, Bits, Option<Plain>)>,
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
        let mut room = std::mem::take(&mut self.room);
        let view = view.checked(&self.way(), side, &mut room)?;
        self.model.run.check_labels(&side.labels)?;
        self.refuse_several_passes()?;
        self.refuse_ids()?;
        if self.model.data.passes.is_some() && self.is_new() {
            return self.learn_often(view, side, new_classes, watch);
        }
        self.leave_files();
        let Self { model: Model { run, data, stream, .. }, frame, .. } = self;
        labels::announce(&mut stream.now.labels, new_classes);
        let told = view.each(&known_way(data, frame), Some(side), &mut |rows| {
            learn_and_count(run, stream, rows)?;
            watch.look(|| progress(run))
        })?;
        stream.now.names.extend(&told.names);
        add_missing(&mut stream.now.missing, &told.missing);
        self.room = room.kept();
        watch.end(|| progress(&self.model.run))
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
        learn_and_count(run, stream, rows)
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

/// Learns from some rows, and records what was seen of them.
fn learn_and_count<R: Kind>(run: &mut R, stream: &mut Stream, rows: Rows<'_>) -> Outcome<()> {
    let census = &mut stream.now.census;
    // The run has learned from all features that the census knows. If it knows no more, the census
    // needs to be told of new ones only.
    let is_complete = run.cells().count() as u64 == census.features;
    run.learn_counted(rows)?;
    if is_complete {
        census.count_new(rows, run.cells().latest());
    } else {
        census.count(rows);
    }
    R::count_labels(&mut stream.now, rows);
    stream.position += rows.len() as u64;
    Ok(())
}

/// Returns the same as `way`, with the features of a frame of numbers, which are worked out if the frame
/// is another one than before.
fn known_way<'a>(
    data: &'a DataSpec,
    frame: &'a mut Option<(Columns, Bits, Option<Plain>)>,
) -> Way<'a> {
    let mut way = way(data);
    if let Way::Named { columns, bits, plain, .. } = &mut way {
        if !matches!(frame, Some((known, same, _)) if known == *columns && same == bits) {
            let features = Plain::new(columns, &features(columns), *bits);
            *frame = Some((columns.clone(), *bits, features));
        }
        *plain = frame.as_ref().and_then(|(_, _, plain)| plain.as_ref());
    }
    way
}

/// Returns how the columns of tables become features, by the description of the data that a model
/// has learned from.
pub(crate) fn way(data: &DataSpec) -> Way<'_> {
    let constant = data.constant;
    match &data.schema {
        Layout::Columnar(layout) => {
            Way::Named { columns: &layout.columns, bits: layout.bits, constant, plain: None }
        }
        Layout::Text(Schema::Csv(table)) => {
            Way::Named { columns: &table.columns, bits: table.bits, constant, plain: None }
        }
        Layout::Text(Schema::Arff(table)) => {
            Way::Named { columns: &table.columns, bits: table.bits, constant, plain: None }
        }
        Layout::Text(Schema::Jsonl(_) | Schema::Vw { .. }) => Way::Keys,
        _ => Way::Numbered { constant },
    }
}
