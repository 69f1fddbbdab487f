//! The audit of somebody's predictions for many classes: probabilities, or scores.
//!
//! A model has a column of predictions for every class, under the name of the class. The ledger takes
//! them as they are, and never sees the model.

use super::ClassLoss;
use super::card::ClassCard;
use super::learner::{Norms, slope_sq};
use super::predict::largest;
use super::report::ClassesReport;
use super::run::ClassBooks;
use super::windows::ClassWindows;
use crate::audit::{AuditReport, AuditRunError, AuditSettings, Forecasts, Link, ModelReport};
use crate::data::DataSpec;
use crate::figures::FiguresReport;
use crate::hindsight::HindsightReport;
use crate::judged::JudgedReport;
use crate::report::{CurveReport, finite};
use crate::session::Progress;
use crate::settings::{Settings, SettingsError};
use rueful_core::classes::{
    ClassError, ClassJudge, ClassLedger, ClassRound, HingeRound, NewClass, Shares, class_of,
};
use rueful_core::request::Refusal;
use rueful_core::{Batch, Comparators, Example, RiskBound, Rows};
use rueful_data::{PredictionColumns, Source};
use rueful_hindsight::Options;
use std::num::NonZeroU64;

/// Everything that determines an audit of many classes.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassAuditSpec {
    /// The examples.
    pub data: DataSpec,
    /// The file with the predictions.
    pub predictions: String,
    /// The columns of predictions in this file, one for each class.
    pub columns: PredictionColumns,
    /// The loss.
    pub loss: ClassLoss,
    /// The comparators.
    pub comparators: Comparators,
    /// Whether witnesses judge the model.
    pub is_judged: bool,
    /// The number of examples in a window, if there are windows.
    pub window: Option<NonZeroU64>,
}

impl AuditSettings {
    /// Completes the settings for a loss of many classes. Every column of a table of predictions is a
    /// class, unless some are named.
    pub fn resolve_classes(
        &self,
        loss: ClassLoss,
        data: DataSpec,
        predictions: &str,
    ) -> Result<ClassAuditSpec, SettingsError> {
        if self.link.is_some() {
            let why = Refusal::NoEffect { setting: "link", on: format!("the {loss} loss") };
            return Err(why.into());
        }
        let question = Settings {
            loss: self.loss.clone(),
            tau: self.tau,
            radius: self.radius,
            comparators: self.comparators.clone(),
            ..Settings::default()
        };
        let columns = match self.columns()? {
            PredictionColumns::Bare => PredictionColumns::All,
            named => named,
        };
        Ok(ClassAuditSpec {
            data,
            predictions: predictions.to_owned(),
            columns,
            loss,
            comparators: question.class_comparison(loss)?,
            is_judged: self.judge.unwrap_or(true) && loss == ClassLoss::Softmax {},
            window: self.window()?,
        })
    }
}

/// An audit of one model of many classes.
///
/// The examples must be read with the names of the prediction columns as their first classes, so that
/// the number of a class is the place of its column.
pub struct ClassAudit {
    pub(super) spec: ClassAuditSpec,
    pub(super) books: ClassBooks,
    pub(super) judge: Option<ClassJudge>,
    /// The names of the classes, which are those of the columns.
    pub(super) names: Vec<String>,
    batch: Batch,
    /// The predictions for the rows of the batch.
    pub(super) said: Vec<f64>,
    cells: Vec<u32>,
    desk: Desk,
}

/// Buffers for one row.
#[derive(Default)]
struct Desk {
    classes: Vec<u32>,
    shares: Vec<f64>,
}

impl ClassAudit {
    /// An audit before its first round.
    pub fn new(spec: ClassAuditSpec, forecasts: &Forecasts) -> Self {
        Self::of(spec, forecasts.names().to_vec())
    }

    /// An audit of these classes before its first round.
    pub(super) fn of(spec: ClassAuditSpec, names: Vec<String>) -> Self {
        let ledger = ClassLedger::new(spec.comparators.clone());
        let judge = spec.is_judged.then(|| ClassJudge::new(&spec.comparators)).flatten();
        let windows = spec.window.map(|length| ClassWindows::new(spec.loss, &ledger, Some(length)));
        let books = ClassBooks {
            ledger,
            mistakes: Some(RiskBound::new(1.0)),
            card: ClassCard::default(),
            norms: Norms::default(),
            shares: None,
            late: 0,
            windows,
        };
        let desk = Desk { classes: (0..names.len() as u32).collect(), shares: Vec::new() };
        let (batch, said, cells) = (Batch::default(), Vec::new(), Vec::new());
        Self { spec, books, judge, names, batch, said, cells, desk }
    }

    /// The same audit, whose full windows are solved for their best matrices.
    #[must_use]
    pub fn with_windows_solved(mut self, options: &Options) -> Self {
        let windows = self.books.windows.take();
        self.books.windows = windows.map(|windows| windows.solved(&self.books.ledger, options));
        self
    }

    /// Reads examples and predictions side by side to their ends. `watch` is shown all examples, some
    /// rows at a time, after they have been recorded.
    pub fn drive(
        &mut self,
        source: &mut dyn Source,
        forecasts: &mut Forecasts,
        mut watch: impl FnMut(Rows<'_>, Progress),
    ) -> Result<(), AuditRunError> {
        while source.fill(&mut self.batch)? {
            self.read(source, forecasts)?;
            let batch = std::mem::take(&mut self.batch);
            self.observe(batch.rows());
            watch(batch.rows(), self.progress(source));
            self.batch = batch;
        }
        if forecasts.go_on()? {
            let count = self.books.ledger.rounds();
            return Err(AuditRunError::too_many(forecasts, count, &self.spec.data));
        }
        Ok(())
    }

    fn progress(&self, source: &dyn Source) -> Progress {
        let tally = self.books.ledger.tally();
        Progress {
            examples: tally.rounds(),
            bytes: source.bytes_read(),
            sequential_risk: tally.sequential_risk(),
        }
    }

    /// Reads the predictions for the batch, and checks them.
    fn read(
        &mut self,
        source: &dyn Source,
        forecasts: &mut Forecasts,
    ) -> Result<(), AuditRunError> {
        let before = self.books.ledger.rounds();
        let read = forecasts.read(source, self.batch.len(), &mut self.said)?;
        let said = self.said.chunks_exact(self.names.len());
        for (row, (example, said)) in self.batch.iter().zip(said).enumerate() {
            if example.importance.is_zero() {
                continue;
            }
            self.check(example.label, said).map_err(|why| {
                let place = forecasts.place(source, row);
                match why {
                    ClassError::Unexpected { class, .. } => {
                        let name = source.class(class).map(str::to_owned);
                        let class = name.unwrap_or_else(|| class.to_string());
                        AuditRunError::NoColumn { place, class }
                    }
                    why => AuditRunError::Classes {
                        place,
                        why: renumbered(&why, before as usize + row),
                    },
                }
            })?;
        }
        if read < self.batch.len() {
            return Err(AuditRunError::too_few(forecasts, before + read as u64, &self.spec.data));
        }
        Ok(())
    }

    /// Refuses an example of a class without a column, and numbers that are not probabilities.
    pub(super) fn check(&self, label: f64, said: &[f64]) -> Result<(), ClassError> {
        let expected = self.names.len() as u32;
        let class = class_of(label).ok_or(ClassError::Label { row: 0, label })?;
        if class >= expected {
            return Err(ClassError::Unexpected { row: 0, class, expected });
        }
        match self.spec.loss {
            ClassLoss::Softmax {} => self.books.ledger.check(label, said).map(|_| ()),
            ClassLoss::MulticlassHinge {} => Ok(()),
        }
    }

    /// Records the rows of a batch.
    pub(super) fn observe(&mut self, rows: Rows<'_>) {
        let mut cells = std::mem::take(&mut self.cells);
        let rows = self.books.ledger.enter(rows, &mut cells);
        let mut from = 0;
        while from < rows.len() {
            let rest = rows.slice(from..rows.len());
            let part = rest.slice(0..rest.until(self.books.until_next(0)));
            for (row, example) in part.iter().enumerate() {
                self.record(&example, from + row);
            }
            self.judge.iter_mut().for_each(|judge| judge.observe_rows(part));
            let (classes, ClassBooks { ledger, windows, .. }) =
                (self.names.len() as u32, &mut self.books);
            windows.iter_mut().for_each(|windows| windows.observe(ledger, part, classes));
            self.judge.iter().for_each(|judge| ledger.mark(judge));
            from += part.len();
        }
        self.cells = cells;
    }

    /// Records one row, whose features are cells.
    fn record(&mut self, example: &Example<'_>, row: usize) {
        if example.importance.is_zero() {
            return;
        }
        let width = self.names.len();
        let said = &self.said[row * width..][..width];
        let (class, importance) = (example.label as u32, example.importance.get());
        let ClassBooks { ledger, card, norms, windows, .. } = &mut self.books;
        let (predicted, loss) = match self.spec.loss {
            ClassLoss::Softmax {} => {
                let Shares { whole, all } = Shares::of(said);
                let probability = said[class as usize] / all;
                self.desk.shares.clear();
                self.desk.shares.extend(said.iter().map(|share| share / whole));
                let loss = -importance * probability.ln();
                let new = NewClass { any: 0.0, each: 0.0 };
                let round = ClassRound { predicted: largest(said), probability, loss, new };
                let said = (&self.desk.classes[..], &self.desk.shares[..]);
                ledger.record(example, &round, said);
                windows.iter_mut().for_each(|windows| windows.record(example, &round, said));
                norms.measure(example, slope_sq(class, said));
                (round.predicted, round.loss)
            }
            ClassLoss::MulticlassHinge {} => {
                let round = HingeRound::of_scores(said, class, importance);
                ledger.record_hinge(example, &round);
                windows.iter_mut().for_each(|windows| windows.record_hinge(example, &round));
                norms.measure(example, round.rival.map_or(0.0, |_| 2.0));
                (round.predicted, round.loss)
            }
        };
        card.observe(class, importance, predicted, loss);
    }

    /// The ledger.
    pub fn ledger(&self) -> &ClassLedger {
        &self.books.ledger
    }

    /// The names of the classes, which are those of the prediction columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The comparators.
    pub fn comparators(&self) -> &Comparators {
        &self.spec.comparators
    }

    /// A proved lower bound on the total loss of every comparator.
    pub fn floor(&self) -> Option<f64> {
        let point = self.books.ledger.point(self.judge.as_ref());
        self.spec.comparators.radius().map(|radius| point.floor(radius))
    }

    /// The report on the audit so far, where `source` is the source of the examples.
    pub fn report(&self, source: &dyn Source) -> AuditReport {
        let ClassAuditSpec { data, predictions, comparators, window, .. } = self.spec.clone();
        let name_of = |class: u32| self.names[class as usize].clone();
        AuditReport {
            first: self.model_report(),
            classes: Some(ClassesReport::new(self.books.ledger.confusion(), name_of)),
            features: self.books.ledger.cells().count() as u64,
            nonzeros: source.census().nonzeros,
            models: Vec::new(),
            comparator: None,
            hindsight: None,
            contradictions: Vec::new(),
            comparators,
            is_judged: self.judge.is_some(),
            loss: self.spec.loss.into(),
            link: Link::Identity,
            window,
            data,
            predictions,
        }
    }

    pub(super) fn model_report(&self) -> ModelReport {
        let ClassBooks { ledger, card, norms, windows, .. } = &self.books;
        let (tally, point) = (ledger.tally(), ledger.point(self.judge.as_ref()));
        let has_rounds = tally.rounds() > 0;
        let certificate = finite(point.certificate()).filter(|_| has_rounds);
        let curve = ledger.curve(self.judge.as_ref());
        let windows = windows.as_ref().map(|windows| windows.reports(ledger));
        ModelReport {
            examples: tally.rounds(),
            sequential_risk: tally.sequential_risk(),
            mistake_rate: Some(tally.mistakes() as f64 / tally.rounds().max(1) as f64),
            figures: FiguresReport::of_classes(card, self.spec.loss),
            certificate,
            certificate_own: finite(point.own_certificate()).filter(|_| has_rounds),
            judged: JudgedReport::new(true, &self.spec.comparators, &point),
            regret: None,
            beats_every_linear_predictor: certificate.is_some_and(|value| value < 0.0),
            windows: windows.unwrap_or_default(),
            gradient_norm_max: norms.gradient,
            example_norm_max: norms.example,
            curve: curve.iter().map(CurveReport::new).collect(),
        }
    }
}

impl AuditReport {
    /// Adds the result of the solver for many classes.
    pub fn add_class_hindsight(&mut self, found: HindsightReport, audit: &ClassAudit) {
        let tally = audit.ledger().tally();
        let regret = found.regret_between(tally.loss_interval(), tally.rounds());
        self.add_solved(found, &[regret]);
    }
}

/// The same error, about this row.
pub(super) fn renumbered(error: &ClassError, at: usize) -> ClassError {
    match *error {
        ClassError::Label { label, .. } => ClassError::Label { row: at, label },
        ClassError::Unexpected { class, expected, .. } => {
            ClassError::Unexpected { row: at, class, expected }
        }
        ClassError::NoProbabilities { sum, .. } => ClassError::NoProbabilities { row: at, sum },
        ClassError::Impossible { class, .. } => ClassError::Impossible { row: at, class },
    }
}
