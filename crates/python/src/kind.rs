//! The two kinds of runs that a model may hold: one score for every example, or one for every class.

use crate::error::Outcome;
use crate::labels;
use rueful_core::{Cells, Positive, Rows};
use rueful_data::Seen;
use rueful_run::{ClassRun, DataSpec, LabelUse, Learning, Model, Report, Run, RunError, Stream};

/// A run of either kind, as far as Python needs to know it.
pub(crate) trait Kind: Learning + Clone + Send + Sync + 'static {
    /// Makes a model of the same task that has seen nothing.
    fn fresh(&self, data: DataSpec) -> Outcome<Model<Self>>;

    /// Returns how labels in files are understood.
    fn label_use(&self) -> LabelUse;

    /// Returns the features that were learned from.
    fn cells(&self) -> &Cells;

    /// Refuses labels that the loss does not take.
    fn check_labels(&self, labels: &[f64]) -> Outcome<()>;

    /// Counts the labels of some rows that were learned from.
    fn count_labels(seen: &mut Seen, rows: Rows<'_>);

    /// Returns the names of the classes that stay known when other data begin.
    fn lasting_classes(model: &Model<Self>) -> Vec<String>;

    /// Returns the labels that came earlier, for a reader of files that come next.
    fn earlier_labels(stream: &Stream) -> Vec<String>;

    /// Returns the description of the task, as JSON.
    fn task_json(&self) -> serde_json::Result<String>;

    /// Returns the certificate for all comparators of norm at most `radius`.
    fn certificate_for(&self, radius: Positive) -> f64;

    /// Returns the page that `rueful run --report` writes.
    fn html(&self, report: &Report) -> String;

    /// Returns the picture that `rueful run --plot` writes.
    fn svg(&self, report: &Report) -> String;
}

impl Kind for Run {
    fn fresh(&self, data: DataSpec) -> Outcome<Model> {
        Ok(Model::new(self.task().clone(), data)?)
    }

    fn label_use(&self) -> LabelUse {
        LabelUse::Learn(self.task().loss.labels())
    }

    fn cells(&self) -> &Cells {
        self.ledger().cells()
    }

    fn check_labels(&self, labels: &[f64]) -> Outcome<()> {
        let expected = self.task().loss.labels();
        // A loop without a way out in the middle is compiled to wide registers.
        if labels.iter().fold(true, |fine, &label| fine & expected.accept(label)) {
            return Ok(());
        }
        let wrong = labels.iter().position(|&label| !expected.accept(label)).unwrap_or(0);
        Err(RunError::Label { row: wrong, label: labels[wrong], expected }.into())
    }

    fn count_labels(seen: &mut Seen, rows: Rows<'_>) {
        labels::count(seen, rows);
    }

    fn lasting_classes(model: &Model) -> Vec<String> {
        match labels::classes(model) {
            (Some(negative), Some(positive)) => vec![negative, positive],
            _ => Vec::new(),
        }
    }

    /// Classes that were announced but not seen are no earlier labels.
    fn earlier_labels(stream: &Stream) -> Vec<String> {
        let counts = stream.seen().labels.counts.into_iter();
        counts.filter(|&(_, count)| count > 0).map(|(label, _)| label).collect()
    }

    fn task_json(&self) -> serde_json::Result<String> {
        serde_json::to_string(self.task())
    }

    fn certificate_for(&self, radius: Positive) -> f64 {
        self.point().certificate_for(radius)
    }

    fn html(&self, report: &Report) -> String {
        rueful_cli::report_html(report, self)
    }

    fn svg(&self, report: &Report) -> String {
        rueful_cli::report_svg(report, self)
    }
}

impl Kind for ClassRun {
    fn fresh(&self, data: DataSpec) -> Outcome<Model<Self>> {
        Ok(Model::of_classes(self.task().clone(), data)?)
    }

    fn label_use(&self) -> LabelUse {
        LabelUse::Classes
    }

    fn cells(&self) -> &Cells {
        self.ledger().cells()
    }

    /// The run checks them: numbers of classes are wrong only if this package made them so.
    fn check_labels(&self, _labels: &[f64]) -> Outcome<()> {
        Ok(())
    }

    fn count_labels(seen: &mut Seen, rows: Rows<'_>) {
        labels::count_classes(seen, rows);
    }

    /// The number of a class is its place among all names, so that all stay.
    fn lasting_classes(model: &Model<Self>) -> Vec<String> {
        labels::names(&model.stream)
    }

    fn earlier_labels(stream: &Stream) -> Vec<String> {
        labels::names(stream)
    }

    fn task_json(&self) -> serde_json::Result<String> {
        serde_json::to_string(self.task())
    }

    fn certificate_for(&self, radius: Positive) -> f64 {
        self.point().certificate_for(radius)
    }

    fn html(&self, report: &Report) -> String {
        rueful_cli::class_report_html(report, self)
    }

    fn svg(&self, report: &Report) -> String {
        rueful_cli::class_report_svg(report, self)
    }
}
