//! The audit of models from their predictions: settings, the pass over examples and predictions
//! side by side, and the report.
//!
//! Nothing is kept but one ledger per model. Whoever needs the examples themselves, as a search for
//! the best predictor in hindsight does, is shown every batch by [`AuditRun::drive`] and can keep it
//! in a [`Replay`](crate::Replay).

use crate::data::DataSpec;
use crate::hindsight::{HindsightReport, Interval};
use crate::report::{CurveReport, finite};
use crate::run::Progress;
use crate::settings::{Settings, SettingsError};
use crate::spec::{AnyLoss, with_loss};
use rueful_core::ledger::{Audit, AuditError, Mark, Verdict};
use rueful_core::loss::Loss;
use rueful_core::set::{AnySet, Ball};
use rueful_core::{Batch, Ledger, LedgerError, Positive};
use rueful_data::{DataError, PredictionColumns, Predictions, Source, Survey, printable};
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::num::NonZeroU64;
use std::ops::Range;
use thiserror::Error;

/// The name that stands for every column.
const ALL: &str = "all";

/// What was asked for; everything may be left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AuditSettings {
    /// A name of [`AnyLoss::NAMES`]; `hinge` if left out.
    pub loss: Option<String>,
    /// τ of the quantile loss.
    pub tau: Option<f64>,
    /// U
    pub radius: Option<f64>,
    /// A name of [`Link::NAMES`]; `identity` if left out.
    pub link: Option<String>,
    /// Columns of a table of predictions; none for a file with one number per line.
    pub columns: Vec<String>,
    /// How many examples make a window.
    pub window: Option<u64>,
}

/// Everything that determines an audit.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditSpec {
    /// The examples.
    pub data: DataSpec,
    /// The file with the predictions.
    pub predictions: String,
    /// Where in it they are.
    pub columns: PredictionColumns,
    /// What predictions are turned into before they are judged.
    pub link: Link,
    /// The loss φ.
    pub loss: AnyLoss,
    /// The comparators: ‖u‖ ≤ U.
    pub comparators: Ball,
    /// How many examples make a window, if there are windows.
    pub window: Option<NonZeroU64>,
}

/// How the number a model wrote becomes the score that is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Link {
    /// It is the score.
    Identity,
    /// It is the probability p of the label +1, and the score is ln(p/(1−p)).
    Logistic,
}

impl Link {
    /// The names of the links.
    pub const NAMES: [&'static str; 2] = ["identity", "logistic"];

    /// Which of them this is.
    pub fn name(self) -> &'static str {
        match self {
            Self::Identity => Self::NAMES[0],
            Self::Logistic => Self::NAMES[1],
        }
    }

    /// The score of what a model wrote; none for what is no probability, or a certain one.
    pub fn score(self, written: f64) -> Option<f64> {
        match self {
            Self::Identity => Some(written),
            Self::Logistic if written > 0.0 && written < 1.0 => {
                Some(written.ln() - (-written).ln_1p())
            }
            Self::Logistic => None,
        }
    }
}

impl AuditSettings {
    /// Completes the settings, under the same rules as those of a run.
    pub fn resolve(&self, data: DataSpec, predictions: &str) -> Result<AuditSpec, SettingsError> {
        if data.class_weights.is_some_and(|weights| weights.leave_out()) {
            return contradiction(
                "a class of weight 0 would be left out, but its predictions would not: give it a \
                 weight above 0, or leave its lines out of both files",
            );
        }
        let columns = self.columns()?;
        let window = match self.window.map(NonZeroU64::new) {
            Some(None) => return contradiction("--window: at least one example is needed"),
            window => window.flatten(),
        };
        let question = Settings {
            loss: self.loss.clone(),
            tau: self.tau,
            radius: self.radius,
            ..Settings::default()
        };
        // The default learner knows all it needs, so there is nothing to survey.
        let spec = question.resolve(data, &mut |_| Ok(Survey::default()))?.spec;
        let AnySet::Ball(comparators) = spec.comparators else {
            return contradiction("an audit needs --radius");
        };
        Ok(AuditSpec {
            data: spec.data,
            predictions: predictions.to_owned(),
            columns,
            link: self.link()?,
            loss: spec.loss,
            comparators,
            window,
        })
    }

    /// Refuses what contradicts itself, whatever the data.
    pub fn check(&self) -> Result<(), SettingsError> {
        self.resolve(DataSpec::libsvm(""), "").map(|_| ())
    }

    /// The loss alone.
    pub fn loss(&self) -> Result<AnyLoss, SettingsError> {
        let (loss, tau) = (self.loss.clone(), self.tau);
        Settings { loss, tau, ..Settings::default() }.loss()
    }

    fn link(&self) -> Result<Link, SettingsError> {
        match self.link.as_deref() {
            None | Some("identity") => Ok(Link::Identity),
            Some("logistic") => Ok(Link::Logistic),
            Some(other) => contradiction(format!(
                "there is no link {other:?}; choose one of {}",
                Link::NAMES.join(", ")
            )),
        }
    }

    fn columns(&self) -> Result<PredictionColumns, SettingsError> {
        let twice = |name: &&String| self.columns.iter().filter(|other| other == name).count() > 1;
        if let Some(name) = self.columns.iter().find(twice) {
            return contradiction(format!("--prediction-column {name} is given twice"));
        }
        match &self.columns[..] {
            [] => Ok(PredictionColumns::Bare),
            [only] if only == ALL => Ok(PredictionColumns::All),
            names if names.iter().any(|name| name == ALL) => contradiction(
                "--prediction-column all takes every column: leave out the other names",
            ),
            names => Ok(PredictionColumns::Named(names.to_vec())),
        }
    }
}

fn contradiction<T>(what: impl Into<String>) -> Result<T, SettingsError> {
    Err(SettingsError::Contradiction(what.into()))
}

/// An audit under way: a ledger for every model, sharing the examples.
pub struct AuditRun {
    spec: AuditSpec,
    models: Vec<Model>,
    batch: Batch,
}

/// Why an audit stopped.
#[derive(Debug, Error)]
pub enum AuditRunError {
    /// Examples or predictions that could not be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// Examples that go on after the last prediction.
    #[error(
        "{}:{line}: the file ends here, after {count} prediction{}; {} goes on, and its example \
         {example} has none",
        printable(predictions), plural(*count), printable(examples), example = count + 1
    )]
    TooFewPredictions {
        /// The file with the predictions.
        predictions: String,
        /// Its last line, counted from 1.
        line: u64,
        /// How many predictions it has for each model.
        count: u64,
        /// The file with the examples.
        examples: String,
    },
    /// Predictions that go on after the last example.
    #[error(
        "{}:{line}: found prediction {}, expected the end of the file; {} ends after {count} \
         example{}",
        printable(predictions), count + 1, printable(examples), plural(*count)
    )]
    TooManyPredictions {
        /// The file with the predictions.
        predictions: String,
        /// The first line too many, counted from 1.
        line: u64,
        /// How many examples there are.
        count: u64,
        /// The file with the examples.
        examples: String,
    },
    /// A prediction that is no probability, or one that leaves no doubt.
    #[error(
        "{}:{line}: found {found}, expected a probability strictly between 0 and 1{}",
        printable(predictions), certainty(*found)
    )]
    NoProbability {
        /// The file with the predictions.
        predictions: String,
        /// The line, counted from 1.
        line: u64,
        /// The number.
        found: f64,
    },
    /// A prediction so large that its loss is not a finite number.
    #[error("{}:{line}: {why}", printable(predictions))]
    TooLarge {
        /// The file with the predictions.
        predictions: String,
        /// The line, counted from 1.
        line: u64,
        /// What the ledger says.
        why: LedgerError,
    },
    /// A round that cannot be audited for another reason.
    #[error(transparent)]
    Audit(AuditError),
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// What to do about a probability of 0 or 1.
fn certainty(found: f64) -> &'static str {
    if found == 0.0 || found == 1.0 {
        "; a certain prediction has an infinite score, which certifies nothing: clip what the \
         model says, for instance to 1e-6 and 1 - 1e-6"
    } else {
        "; the link logistic takes probabilities of the label +1, the link identity takes scores"
    }
}

/// One model: its books, its column of the current batch, and its windows.
struct Model {
    audit: Box<dyn Auditor>,
    scores: Vec<f64>,
    /// Where the open window began.
    mark: Mark,
    windows: Vec<Verdict>,
}

/// An [`Audit`] with its loss chosen: one virtual call per batch or window.
trait Auditor {
    fn observe_rows(
        &mut self,
        batch: &Batch,
        rows: Range<usize>,
        scores: &[f64],
    ) -> Result<(), AuditError>;

    fn verdict(&self) -> Verdict;

    fn since(&self, mark: &Mark) -> Result<Verdict, AuditError>;

    fn ledger(&self) -> &Ledger;
}

impl<L: Loss> Auditor for Audit<L> {
    fn observe_rows(
        &mut self,
        batch: &Batch,
        rows: Range<usize>,
        scores: &[f64],
    ) -> Result<(), AuditError> {
        for row in rows {
            let example = batch.get(row);
            self.observe(example.features, scores[row], example.label)?;
        }
        Ok(())
    }

    fn verdict(&self) -> Verdict {
        Audit::verdict(self)
    }

    fn since(&self, mark: &Mark) -> Result<Verdict, AuditError> {
        Audit::since(self, mark)
    }

    fn ledger(&self) -> &Ledger {
        Audit::ledger(self)
    }
}

impl Model {
    fn new(spec: &AuditSpec) -> Self {
        let audit: Box<dyn Auditor> =
            with_loss!(spec.loss, loss => Box::new(Audit::new(loss, spec.comparators)));
        let mark = audit.ledger().mark();
        Self { audit, scores: Vec::new(), mark, windows: Vec::new() }
    }

    /// Takes down the rows of a batch, closing windows on the way.
    fn observe(&mut self, batch: &Batch, window: Option<NonZeroU64>) -> Result<(), AuditError> {
        let Some(window) = window else {
            return self.audit.observe_rows(batch, 0..batch.len(), &self.scores);
        };
        let mut row = 0;
        while row < batch.len() {
            let left = window.get() - self.audit.ledger().rounds() % window.get();
            let end = (row as u64).saturating_add(left).min(batch.len() as u64) as usize;
            self.audit.observe_rows(batch, row..end, &self.scores)?;
            if (end - row) as u64 == left {
                self.close_window()?;
            }
            row = end;
        }
        Ok(())
    }

    fn close_window(&mut self) -> Result<(), AuditError> {
        self.windows.push(self.audit.since(&self.mark)?);
        self.mark = self.audit.ledger().mark();
        Ok(())
    }

    /// The windows so far, the last one perhaps not full.
    fn all_windows(&self) -> Vec<Verdict> {
        let open = self.audit.since(&self.mark).ok().filter(|open| open.rounds > 0);
        self.windows.iter().copied().chain(open).collect()
    }
}

impl AuditRun {
    /// An audit that has seen nothing, of one model for each column that is read.
    pub fn new<R: Read>(spec: AuditSpec, predictions: &Predictions<R>) -> Self {
        let count = predictions.names().len().max(1);
        let models = (0..count).map(|_| Model::new(&spec)).collect();
        Self { spec, models, batch: Batch::default() }
    }

    /// Reads examples and predictions side by side to their ends. `watch` is shown every batch of
    /// examples after it has been taken down.
    pub fn drive<R: Read>(
        &mut self,
        source: &mut dyn Source,
        predictions: &mut Predictions<R>,
        mut watch: impl FnMut(&Batch, Progress),
    ) -> Result<(), AuditRunError> {
        let mut row = Vec::new();
        while source.fill(&mut self.batch)? {
            self.read_scores(predictions, &mut row)?;
            self.observe(predictions)?;
            watch(&self.batch, self.progress(source));
        }
        if predictions.next_row(&mut row)? {
            return Err(self.too_many(predictions));
        }
        Ok(())
    }

    /// Reads a score of every model for every example of the batch.
    fn read_scores<R: Read>(
        &mut self,
        predictions: &mut Predictions<R>,
        row: &mut Vec<f64>,
    ) -> Result<(), AuditRunError> {
        self.models.iter_mut().for_each(|model| model.scores.clear());
        for read in 0..self.batch.len() as u64 {
            if !predictions.next_row(row)? {
                return Err(self.too_few(predictions, read));
            }
            for (model, &written) in self.models.iter_mut().zip(&*row) {
                let score = self.spec.link.score(written);
                model.scores.push(score.ok_or_else(|| no_probability(predictions, written))?);
            }
        }
        Ok(())
    }

    fn observe<R: Read>(&mut self, predictions: &Predictions<R>) -> Result<(), AuditRunError> {
        for model in &mut self.models {
            model
                .observe(&self.batch, self.spec.window)
                .map_err(|error| stopped(predictions, error))?;
        }
        Ok(())
    }

    #[cold]
    fn too_few<R: Read>(&self, predictions: &Predictions<R>, read: u64) -> AuditRunError {
        AuditRunError::TooFewPredictions {
            predictions: predictions.name().to_owned(),
            line: predictions.line().max(1),
            count: self.first().audit.ledger().rounds() + read,
            examples: self.spec.data.name(),
        }
    }

    #[cold]
    fn too_many<R: Read>(&self, predictions: &Predictions<R>) -> AuditRunError {
        AuditRunError::TooManyPredictions {
            predictions: predictions.name().to_owned(),
            line: predictions.line(),
            count: self.first().audit.ledger().rounds(),
            examples: self.spec.data.name(),
        }
    }

    fn progress(&self, source: &dyn Source) -> Progress {
        let ledger = self.first().audit.ledger();
        Progress {
            examples: ledger.rounds(),
            bytes: source.bytes_read(),
            sequential_risk: ledger.sequential_risk(),
        }
    }

    /// There is always one model at least.
    fn first(&self) -> &Model {
        &self.models[0]
    }

    /// What can be said so far about the models, on what `source` held. `predictions` gives them
    /// their names.
    pub fn report<R: Read>(
        &self,
        source: &dyn Source,
        predictions: &Predictions<R>,
    ) -> AuditReport {
        let reports = || self.models.iter().map(|model| ModelReport::new(model, &self.spec));
        let name = |(name, report): (&String, _)| NamedReport { name: name.clone(), report };
        AuditReport {
            first: ModelReport::new(self.first(), &self.spec),
            features: source.census().features,
            nonzeros: source.census().nonzeros,
            models: predictions.names().iter().zip(reports()).map(name).collect(),
            comparator: None,
            hindsight: None,
            radius: self.spec.comparators.radius,
            loss: self.spec.loss,
            link: self.spec.link,
            window: self.spec.window,
            data: self.spec.data.clone(),
            predictions: self.spec.predictions.clone(),
        }
    }

    /// The ledger of each model, in the order of the columns.
    pub fn ledgers(&self) -> impl Iterator<Item = &Ledger> {
        self.models.iter().map(|model| model.audit.ledger())
    }

    /// The description.
    pub fn spec(&self) -> &AuditSpec {
        &self.spec
    }
}

#[cold]
fn no_probability<R: Read>(predictions: &Predictions<R>, found: f64) -> AuditRunError {
    let (line, predictions) = (predictions.line(), predictions.name().to_owned());
    AuditRunError::NoProbability { predictions, line, found }
}

/// Where an audit stopped. Every line but the header of a table is one round.
#[cold]
fn stopped<R: Read>(predictions: &Predictions<R>, error: AuditError) -> AuditRunError {
    match error {
        AuditError::Ledger(why @ LedgerError::NotFinite { round, .. }) => {
            let line = round + u64::from(!predictions.names().is_empty());
            AuditRunError::TooLarge { predictions: predictions.name().to_owned(), line, why }
        }
        error => AuditRunError::Audit(error),
    }
}

/// The report of an audit. Its keys are stable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditReport {
    /// The only model, or that of the first column.
    #[serde(flatten)]
    pub first: ModelReport,
    /// Distinct feature indices seen, the constant one included.
    pub features: u64,
    /// Stored feature values, the constant ones included.
    pub nonzeros: u64,
    /// One model per column, in the order they were named; empty without columns.
    pub models: Vec<NamedReport>,
    /// The loss of the best comparator, per round; there when hindsight was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparator: Option<Interval>,
    /// How the comparator was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hindsight: Option<HindsightReport>,
    /// U: the comparators are the linear predictors with ‖u‖ ≤ U.
    pub radius: Positive,
    /// The loss φ.
    pub loss: AnyLoss,
    /// What the predictions were turned into.
    pub link: Link,
    /// How many examples make a window; null without windows.
    pub window: Option<NonZeroU64>,
    /// The examples.
    pub data: DataSpec,
    /// The file with the predictions.
    pub predictions: String,
}

impl AuditReport {
    /// Adds what the solver found: one comparator, and the exact regret of every model against it.
    pub fn add_hindsight(&mut self, found: HindsightReport, run: &AuditRun) {
        let regrets: Vec<Interval> = run.ledgers().map(|ledger| found.regret(ledger)).collect();
        self.first.regret = regrets.first().copied();
        for (model, &regret) in self.models.iter_mut().zip(&regrets) {
            model.report.regret = Some(regret);
        }
        self.comparator = Some(found.comparator);
        self.hindsight = Some(found);
    }
}

/// A model of a table of predictions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedReport {
    /// Its column.
    pub name: String,
    /// What is known of it.
    #[serde(flatten)]
    pub report: ModelReport,
}

/// What is known of one model, per round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelReport {
    /// T
    pub examples: u64,
    /// (1/T) Σ φ(ŷ_t, y_t)
    pub sequential_risk: f64,
    /// The share of predictions with the wrong sign; null for regression.
    pub mistake_rate: Option<f64>,
    /// No comparator was better than this per round; null where nothing can be said.
    pub certificate: Option<f64>,
    /// The exact regret; there when hindsight was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regret: Option<Interval>,
    /// Whether the certificate is negative.
    pub beats_every_linear_predictor: bool,
    /// The same for every window; empty without windows.
    pub windows: Vec<WindowReport>,
    /// max ‖a_t x_t‖
    pub gradient_norm_max: f64,
    /// max ‖x_t‖
    pub example_norm_max: f64,
    /// The audit at t = 1, 2, 4, 8, … and at the end.
    pub curve: Vec<CurveReport>,
}

/// What is known of one model in one window, per round of the window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WindowReport {
    /// Its first example, counted from 1.
    pub from: u64,
    /// Its last example.
    pub to: u64,
    /// How many it has.
    pub examples: u64,
    /// The average loss in it.
    pub sequential_risk: f64,
    /// The share of predictions with the wrong sign; null for regression.
    pub mistake_rate: Option<f64>,
    /// No comparator was better than this in it; null where nothing can be said.
    pub certificate: Option<f64>,
    /// Whether the certificate is negative.
    pub beats_every_linear_predictor: bool,
}

impl ModelReport {
    fn new(model: &Model, spec: &AuditSpec) -> Self {
        let (verdict, ledger) = (model.audit.verdict(), model.audit.ledger());
        let windows = spec.window.map(|_| windows(&model.all_windows()));
        Self {
            examples: verdict.rounds,
            sequential_risk: verdict.sequential_risk,
            mistake_rate: verdict.mistake_rate,
            certificate: finite(verdict.certificate),
            regret: None,
            beats_every_linear_predictor: verdict.beats_every_comparator(),
            windows: windows.unwrap_or_default(),
            gradient_norm_max: ledger.gradient_norm_max(),
            example_norm_max: ledger.example_norm_max(),
            curve: ledger.curve().iter().map(CurveReport::new).collect(),
        }
    }
}

/// Windows one after the other, from the first example on.
fn windows(verdicts: &[Verdict]) -> Vec<WindowReport> {
    let mut to = 0;
    let report = |verdict: &Verdict| {
        let from = to + 1;
        to += verdict.rounds;
        WindowReport {
            from,
            to,
            examples: verdict.rounds,
            sequential_risk: verdict.sequential_risk,
            mistake_rate: verdict.mistake_rate,
            certificate: finite(verdict.certificate),
            beats_every_linear_predictor: verdict.beats_every_comparator(),
        }
    };
    verdicts.iter().map(report).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Run;
    use rueful_data::{Follow, Input, LabelRule, Reader, Reading, Schema};

    const XOR: &str = "+1 1:1 2:1\n-1 1:1 2:-1\n-1 1:-1 2:1\n+1 1:-1 2:-1\n";

    fn source(spec: &AuditSpec, text: &'static str) -> Reader {
        let labels = LabelRule::new(spec.loss.labels(), None);
        let reading = Reading { constant: spec.data.constant, ..Reading::new(labels) };
        let input = Input::new("x.libsvm", text.as_bytes(), &Follow::No).unwrap();
        Reader::new(vec![input], &Schema::Libsvm {}, &reading)
    }

    fn audit(
        settings: &AuditSettings,
        examples: &'static str,
        predictions: &str,
    ) -> Result<AuditReport, String> {
        let spec = settings
            .resolve(DataSpec::libsvm("x.libsvm"), "p.txt")
            .map_err(|error| error.to_string())?;
        let mut predictions = Predictions::new("p.txt", predictions.as_bytes(), &spec.columns)
            .map_err(|error| error.to_string())?;
        let mut source = source(&spec, examples);
        let mut run = AuditRun::new(spec, &predictions);
        run.drive(&mut source, &mut predictions, |_, _| ()).map_err(|error| error.to_string())?;
        Ok(run.report(&source, &predictions))
    }

    fn columns(names: &[&str]) -> AuditSettings {
        let columns = names.iter().map(|&name| name.to_owned()).collect();
        AuditSettings { columns, ..AuditSettings::default() }
    }

    fn logistic() -> AuditSettings {
        AuditSettings { link: Some("logistic".to_owned()), ..AuditSettings::default() }
    }

    #[test]
    fn a_model_that_is_not_linear_is_given_its_due() {
        let report = audit(&AuditSettings::default(), XOR, "0.5\n-0.5\n-0.5\n0.5\n").unwrap();
        assert!(report.first.beats_every_linear_predictor);
        assert!(report.first.certificate.is_some_and(|value| (value + 0.5).abs() < 1e-9));
        assert_eq!((report.first.examples, report.features, report.nonzeros), (4, 3, 12));
        let coin = audit(&AuditSettings::default(), XOR, "0\n0\n0\n0\n").unwrap();
        assert!(!coin.first.beats_every_linear_predictor);
        assert_eq!(coin.first.mistake_rate, Some(1.0));
        assert!(report.models.is_empty() && report.first.windows.is_empty());
    }

    #[test]
    fn columns_are_judged_side_by_side() {
        let table = "n,good,bad\n1,1,-1\n2,-1,1\n3,-1,1\n4,1,-1\n";
        let report = audit(&columns(&["bad", "good"]), XOR, table).unwrap();
        let names: Vec<&str> = report.models.iter().map(|model| &*model.name).collect();
        assert_eq!(names, ["bad", "good"]);
        assert_eq!(report.first, report.models[0].report);
        assert_eq!(report.models[1].report.sequential_risk, 0.0);
        let alone = audit(&columns(&["good"]), XOR, table).unwrap();
        assert_eq!(alone.first, report.models[1].report);
        let bare = audit(&AuditSettings::default(), XOR, "1\n-1\n-1\n1\n").unwrap();
        assert_eq!(bare.first, alone.first);
        let all = audit(&columns(&["all"]), XOR, table).unwrap();
        assert_eq!((all.models.len(), &all.models[2].report), (3, &report.models[0].report));
    }

    #[test]
    fn windows_add_up() {
        for size in 1..=5 {
            let settings = AuditSettings { window: Some(size), ..AuditSettings::default() };
            let report = audit(&settings, XOR, "0.5\n0.25\n-0.5\n2\n").unwrap().first;
            let windows = &report.windows;
            assert_eq!(windows.len() as u64, 4_u64.div_ceil(size));
            assert_eq!((windows[0].from, windows[windows.len() - 1].to), (1, 4));
            assert!(windows.iter().all(|window| window.to + 1 - window.from == window.examples));
            let total: f64 =
                windows.iter().map(|window| window.sequential_risk * window.examples as f64).sum();
            assert!((total - 4.0 * report.sequential_risk).abs() < 1e-12);
        }
    }

    #[test]
    fn probabilities_become_scores() {
        for p in [0.5, 0.25, 1e-9, 1.0 - 1e-9, 1e-300] {
            let score = Link::Logistic.score(p).unwrap();
            assert!((1.0 / (1.0 + (-score).exp()) / p - 1.0).abs() < 1e-12, "{p}");
        }
        assert_eq!(Link::Logistic.score(0.5), Some(0.0));
        for p in [0.0, 1.0, -0.1, 1.1, f64::NAN] {
            assert_eq!(Link::Logistic.score(p), None);
        }
        let report = audit(&logistic(), XOR, "0.75\n0.25\n0.25\n0.75\n").unwrap();
        let scores = audit(
            &AuditSettings::default(),
            XOR,
            "1.0986122886681098\n-1.0986122886681098\n-1.0986122886681098\n1.0986122886681098\n",
        );
        assert_eq!(report.first, scores.unwrap().first);
        for (name, link) in Link::NAMES.iter().zip([Link::Identity, Link::Logistic]) {
            assert_eq!(link.name(), *name);
            assert_eq!(serde_json::to_value(link).unwrap(), *name);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_where_it_happens() {
        let plain = AuditSettings::default();
        for (settings, predictions, error) in [
            (
                &plain,
                "",
                "p.txt:1: the file ends here, after 0 predictions; x.libsvm goes on, and its example 1 has none",
            ),
            (
                &plain,
                "1\n",
                "p.txt:1: the file ends here, after 1 prediction; x.libsvm goes on, and its example 2 has none",
            ),
            (
                &columns(&["a"]),
                "a\n1\n2\n",
                "p.txt:3: the file ends here, after 2 predictions; x.libsvm goes on, and its example 3 has none",
            ),
            (
                &plain,
                "1\n1\n1\n1\n1\n",
                "p.txt:5: found prediction 5, expected the end of the file; x.libsvm ends after 4 examples",
            ),
            (
                &columns(&["a"]),
                "a\n1\n1\n1\n1\n1\n",
                "p.txt:6: found prediction 5, expected the end of the file; x.libsvm ends after 4 examples",
            ),
            (
                &logistic(),
                "0.5\n1\n",
                "p.txt:2: found 1, expected a probability strictly between 0 and 1; a certain prediction has an infinite score, which certifies nothing: clip what the model says, for instance to 1e-6 and 1 - 1e-6",
            ),
            (
                &logistic(),
                "-0.5\n",
                "p.txt:1: found -0.5, expected a probability strictly between 0 and 1; the link logistic takes probabilities of the label +1, the link identity takes scores",
            ),
            (
                &AuditSettings { loss: Some("square".into()), ..columns(&["a"]) },
                "a\n1\n1e200\n1\n1\n",
                "p.txt:3: round 2 has a prediction of 1e200 and a loss of inf, and only finite numbers can be certified",
            ),
        ] {
            assert_eq!(audit(settings, XOR, predictions), Err(error.to_owned()));
        }
    }

    #[test]
    fn settings_are_checked_as_those_of_a_run() {
        let refusal = |settings: AuditSettings| {
            settings.resolve(DataSpec::libsvm("x"), "p").unwrap_err().to_string()
        };
        let plain = AuditSettings::default;
        assert!(refusal(AuditSettings { radius: Some(0.0), ..plain() }).starts_with("radius: 0"));
        assert!(refusal(AuditSettings { tau: Some(0.5), ..plain() }).starts_with("tau belongs"));
        assert!(refusal(AuditSettings { loss: Some("bent".into()), ..plain() }).contains("bent"));
        assert!(
            refusal(AuditSettings { link: Some("log".into()), ..plain() }).contains("identity")
        );
        assert!(refusal(AuditSettings { window: Some(0), ..plain() }).contains("one example"));
        assert_eq!(refusal(columns(&["a", "a"])), "--prediction-column a is given twice");
        assert!(refusal(columns(&["a", "all"])).contains("leave out the other names"));
    }

    /// The predictions of a learner of this project, audited, give the books of its run.
    #[test]
    fn the_audit_of_a_run_is_the_run() {
        let spec = Settings::default()
            .resolve(DataSpec::libsvm("x"), &mut |_| Ok(Survey::default()))
            .unwrap()
            .spec;
        let audit_spec = AuditSettings::default().resolve(DataSpec::libsvm("x"), "p").unwrap();
        let mut run = Run::new(spec.clone()).unwrap();
        run.drive(&mut source(&audit_spec, XOR), |_, _, _| ()).unwrap();

        let mut learner = crate::build(&spec).unwrap();
        let (mut batch, mut rounds) = (Batch::default(), Vec::new());
        source(&audit_spec, XOR).fill(&mut batch).unwrap();
        learner.learn_batch(&batch, &mut rounds);
        let text: String = rounds.iter().map(|round| format!("{}\n", round.prediction)).collect();
        let mut predictions =
            Predictions::new("p", text.as_bytes(), &PredictionColumns::Bare).unwrap();
        let mut audit = AuditRun::new(audit_spec.clone(), &predictions);
        let mut seen = 0;
        let count = |batch: &Batch, _| seen += batch.len();
        audit.drive(&mut source(&audit_spec, XOR), &mut predictions, count).unwrap();
        assert_eq!(audit.ledgers().next(), Some(run.ledger()));
        assert_eq!((seen, audit.spec()), (4, &audit_spec));
    }

    #[test]
    fn a_report_reads_back_as_itself() {
        let settings = AuditSettings { window: Some(3), ..columns(&["all"]) };
        let report = audit(&settings, XOR, "a,b\n1,2\n1,-2\n1,0\n1,0.5\n").unwrap();
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<AuditReport>(&text).unwrap(), report);
    }
}
