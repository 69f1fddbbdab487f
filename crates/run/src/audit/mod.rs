//! The audit of models from their predictions: the pass over examples and predictions side by side.
//!
//! An audit is a ledger that is given somebody else's predictions, and nothing more. Each group of
//! examples is an audit of its own, of the same predictions. [`AuditRun::drive`] shows the rows to
//! anybody who needs the examples themselves, such as the search for the best predictor in
//! hindsight, which can keep them in a [`Replay`](crate::Replay).

mod auditor;
mod forecasts;
mod link;
mod report;
mod settings;

pub use auditor::{Auditor, AuditorReport};
pub use forecasts::Forecasts;
pub use link::Link;
pub use report::{AuditReport, GroupReport, ModelReport, NamedReport};
pub use settings::{AuditSettings, AuditSpec};

use crate::bench::{Bench, SQUARE_FEATURES, SQUARE_FEATURES_EACH};
use crate::data::DataSpec;
use crate::groups::{GroupError, GroupReader};
use crate::session::Progress;
use crate::windows::Windows;
use rueful_core::classes::ClassError;
use rueful_core::figures::{SKETCHED, Scorecard};
use rueful_core::ledger::Testimony;
use rueful_core::{Batch, Ledger, LedgerError, Round, Rows};
use rueful_data::{DataError, Source, printable};
use rueful_hindsight::Options;
use thiserror::Error;

/// The sizes of an audit's sums and sketches. They are larger for the audit of all examples than
/// for each group.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    /// The largest number of features whose products are summed, for the square loss.
    features_max: usize,
    /// The number of distinct scores and labels that sketches keep.
    distinct: usize,
}

const OF_ALL: Sizes = Sizes { features_max: SQUARE_FEATURES, distinct: SKETCHED };

/// These are small, because there may be a thousand groups.
const OF_EACH: Sizes = Sizes { features_max: SQUARE_FEATURES_EACH, distinct: 2048 };

/// A running audit of all examples, and of every group of them if they are grouped.
pub struct AuditRun {
    spec: AuditSpec,
    whole: Part,
    groups: Option<Grouped>,
    batch: Batch,
    /// The predictions for the rows of the batch, row after row, and below the scores of every model.
    said: Vec<f64>,
    scores: Vec<Vec<f64>>,
}

/// The audit of some of the examples. It has one ledger for every model; the models share the
/// examples and a bench.
struct Part {
    models: Vec<Model>,
    bench: Option<Bench>,
}

/// The audits of all groups.
struct Grouped {
    reader: GroupReader,
    parts: Vec<Part>,
    /// The groups with rows that count, in the order in which the first of these came.
    counting: Vec<usize>,
}

/// The reason why an audit stopped.
#[derive(Debug, Error)]
pub enum AuditRunError {
    /// The examples or the predictions could not be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// There are more examples than predictions.
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
        /// The number of predictions that it has for each model.
        count: u64,
        /// The file with the examples.
        examples: String,
    },
    /// There are more predictions than examples.
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
        /// The number of examples.
        count: u64,
        /// The file with the examples.
        examples: String,
    },
    /// A prediction is not a probability strictly between 0 and 1.
    #[error(
        "{place}: found {found}, expected a probability strictly between 0 and 1{}",
        certainty(*found)
    )]
    NoProbability {
        /// The place of the prediction.
        place: String,
        /// The number.
        found: f64,
    },
    /// A prediction is so large that its loss is not a finite number.
    #[error("{place}: {why}")]
    TooLarge {
        /// The place of the prediction.
        place: String,
        /// The error of the ledger.
        why: LedgerError,
    },
    /// There is no column of predictions for the class of an example.
    #[error("{place}: found the class {class:?}, expected a class with a column of predictions")]
    NoColumn {
        /// The place of the predictions.
        place: String,
        /// The name of the class.
        class: String,
    },
    /// The predictions for many classes cannot be those of an example.
    #[error("{place}: {why}")]
    Classes {
        /// The place of the predictions.
        place: String,
        /// The error of the ledger.
        why: ClassError,
    },
    /// A round cannot be audited for another reason.
    #[error(transparent)]
    Ledger(LedgerError),
    /// The examples cannot be grouped.
    #[error(transparent)]
    Group(#[from] GroupError),
}

impl AuditRunError {
    /// The predictions end after `count` of them, and the examples go on.
    #[cold]
    pub(crate) fn too_few(forecasts: &Forecasts, count: u64, examples: &DataSpec) -> Self {
        Self::TooFewPredictions {
            predictions: forecasts.file().to_owned(),
            line: forecasts.line().max(1),
            count,
            examples: examples.name(),
        }
    }

    /// The examples end after `count` of them, and the predictions go on.
    #[cold]
    pub(crate) fn too_many(forecasts: &Forecasts, count: u64, examples: &DataSpec) -> Self {
        Self::TooManyPredictions {
            predictions: forecasts.file().to_owned(),
            line: forecasts.line(),
            count,
            examples: examples.name(),
        }
    }
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// Says what to do about a number that is not strictly between 0 and 1.
fn certainty(found: f64) -> &'static str {
    if found == 0.0 || found == 1.0 {
        "; a certain prediction has an infinite score, which certifies nothing: clip what the \
         model says, for instance to 1e-6 and 1 - 1e-6"
    } else {
        "; the link logistic takes probabilities of the label +1, the link identity takes scores"
    }
}

/// The audit of one model: its ledger, its figures and its windows.
struct Model {
    ledger: Ledger,
    card: Scorecard,
    rounds: Vec<Round>,
    windows: Option<Windows>,
    /// A buffer for the cells of the rows at hand.
    cells: Vec<u32>,
}

impl Model {
    fn new(spec: &AuditSpec, sizes: Sizes) -> Self {
        let (ledger, card) = (spec.ledger(), spec.scorecard(sizes.distinct));
        let bench = || spec.bench(sizes.features_max);
        let of = |length| Windows::new(&ledger, bench(), Some(length));
        let windows = spec.window.map(|length| of(length).with_figures(card.clone()));
        Self { ledger, card, rounds: Vec::new(), windows, cells: Vec::new() }
    }

    /// Records the predictions of the model for these rows.
    fn observe(&mut self, rows: Rows<'_>, scores: &[f64]) -> Result<(), LedgerError> {
        self.rounds.clear();
        for (example, &score) in rows.iter().zip(scores) {
            self.rounds.push(self.ledger.round_of(&example, score)?);
        }
        let rows = self.ledger.enter(rows, &mut self.cells);
        self.ledger.record_entered(rows, &self.rounds)?;
        self.card.observe_rows(rows, &self.rounds);
        if let Some(windows) = &mut self.windows {
            windows.tell(&self.ledger, rows, &self.rounds);
        }
        Ok(())
    }
}

impl Part {
    fn new(spec: &AuditSpec, models: usize, sizes: Sizes) -> Self {
        let models = (0..models).map(|_| Model::new(spec, sizes)).collect();
        Self { bench: spec.bench(sizes.features_max), models }
    }

    /// The number of rounds.
    fn rounds(&self) -> u64 {
        self.models[0].ledger.rounds()
    }

    /// Records the predictions of the models for these rows. The scores of the first row are at
    /// `place`.
    fn observe(
        &mut self,
        rows: Rows<'_>,
        scores: &[Vec<f64>],
        place: usize,
    ) -> Result<(), LedgerError> {
        let mut from = 0;
        while from < rows.len() {
            // The rows are cut at every point of the curve, so that the bench can testify there.
            let rest = rows.slice(from..rows.len());
            let part = rest.slice(0..rest.until(self.models[0].ledger.until_mark()));
            for (model, scores) in self.models.iter_mut().zip(scores) {
                model.observe(part, &scores[place + from..])?;
            }
            self.judge_rows(part);
            from += part.len();
        }
        Ok(())
    }

    fn judge_rows(&mut self, rows: Rows<'_>) {
        let Some(bench) = &mut self.bench else { return };
        // The models share the rows, and so they have the same cells.
        let Model { ledger, cells, .. } = &self.models[0];
        bench.observe_rows(ledger.cells().entered(rows, cells));
        if ledger.is_at_mark() {
            let witnesses = bench.testify(ledger.comparators(), ledger.coordinates());
            self.models.iter_mut().for_each(|model| model.ledger.hear(&witnesses));
        }
    }

    /// Returns what the bench proves about all rounds so far.
    fn witnesses(&self) -> Vec<Testimony> {
        let ledger = &self.models[0].ledger;
        let of = |bench: &Bench| bench.testify(ledger.comparators(), ledger.coordinates());
        self.bench.as_ref().map_or_else(Vec::new, of)
    }

    fn reports(&self, spec: &AuditSpec) -> Vec<ModelReport> {
        let report = |model: &Model| {
            let of = |bench: &Bench| bench.testify_for_all(&model.ledger);
            let witnesses = self.bench.as_ref().map_or_else(Vec::new, of);
            ModelReport::new(model, spec, &witnesses)
        };
        self.models.iter().map(report).collect()
    }
}

impl Grouped {
    /// Records the rows of a batch. Neighbouring rows of one group are recorded together.
    fn observe(
        &mut self,
        rows: Rows<'_>,
        scores: &[Vec<f64>],
        spec: &AuditSpec,
    ) -> Result<(), AuditRunError> {
        let (mut from, mut group) = (0, None);
        for row in 0..rows.len() {
            let next = self.reader.next_group()?;
            if group != Some(next) {
                self.observe_run(group, rows.slice(from..row), scores, from)?;
                (from, group) = (row, Some(next));
            }
            if next == self.parts.len() {
                self.parts.push(Part::new(spec, scores.len(), OF_EACH));
            }
        }
        self.observe_run(group, rows.slice(from..rows.len()), scores, from)
    }

    fn observe_run(
        &mut self,
        group: Option<usize>,
        rows: Rows<'_>,
        scores: &[Vec<f64>],
        place: usize,
    ) -> Result<(), AuditRunError> {
        let Some(group) = group else { return Ok(()) };
        let part = &mut self.parts[group];
        let is_first = part.rounds() == 0;
        // The audit of all examples has accepted the same rounds before.
        part.observe(rows, scores, place).map_err(AuditRunError::Ledger)?;
        if is_first && part.rounds() > 0 {
            self.counting.push(group);
        }
        Ok(())
    }
}

impl AuditRun {
    /// Makes an audit that has seen nothing, with one model for each column that is read.
    pub fn new(spec: AuditSpec, forecasts: &Forecasts) -> Self {
        let count = forecasts.names().len().max(1);
        let whole = Part::new(&spec, count, OF_ALL);
        let (batch, said) = (Batch::default(), Vec::new());
        Self { spec, whole, groups: None, batch, said, scores: vec![Vec::new(); count] }
    }

    /// Returns the same audit, which also judges every group of examples separately.
    #[must_use]
    pub fn grouped(mut self, reader: GroupReader) -> Self {
        self.groups = Some(Grouped { reader, parts: Vec::new(), counting: Vec::new() });
        self
    }

    /// Returns the same audit, in which every full window is solved for its best comparator.
    #[must_use]
    pub fn with_windows_solved(mut self, options: &Options) -> Self {
        for model in &mut self.whole.models {
            let windows = model.windows.take();
            model.windows = windows.map(|windows| windows.solved(&model.ledger, options));
        }
        self
    }

    /// Reads examples and predictions side by side to their ends. `watch` is shown all examples,
    /// some rows at a time, after they have been recorded.
    pub fn drive(
        &mut self,
        source: &mut dyn Source,
        forecasts: &mut Forecasts,
        mut watch: impl FnMut(Rows<'_>, Progress),
    ) -> Result<(), AuditRunError> {
        while source.fill(&mut self.batch)? {
            self.read_scores(source, forecasts)?;
            self.observe(source, forecasts)?;
            watch(self.batch.rows(), self.progress(source));
        }
        if forecasts.go_on()? {
            let count = self.first().ledger.rounds();
            return Err(AuditRunError::too_many(forecasts, count, &self.spec.data));
        }
        Ok(())
    }

    /// Reads a score of every model for every example of the batch.
    fn read_scores(
        &mut self,
        source: &dyn Source,
        forecasts: &mut Forecasts,
    ) -> Result<(), AuditRunError> {
        let read = forecasts.read(source, self.batch.len(), &mut self.said)?;
        self.scores.iter_mut().for_each(Vec::clear);
        for (row, said) in self.said.chunks_exact(self.scores.len()).enumerate() {
            for (scores, &found) in self.scores.iter_mut().zip(said) {
                let Some(score) = self.spec.link.score(found) else {
                    let place = forecasts.place(source, row);
                    return Err(AuditRunError::NoProbability { place, found });
                };
                scores.push(score);
            }
        }
        if read < self.batch.len() {
            let count = self.first().ledger.rounds() + read as u64;
            return Err(AuditRunError::too_few(forecasts, count, &self.spec.data));
        }
        Ok(())
    }

    fn observe(&mut self, source: &dyn Source, forecasts: &Forecasts) -> Result<(), AuditRunError> {
        let (rows, before) = (self.batch.rows(), self.first().ledger.rounds());
        self.whole.observe(rows, &self.scores, 0).map_err(|error| match error {
            why @ LedgerError::NotFinite { round, .. } => {
                let row = rows.until(round - before).saturating_sub(1);
                AuditRunError::TooLarge { place: forecasts.place(source, row), why }
            }
            error => AuditRunError::Ledger(error),
        })?;
        match &mut self.groups {
            Some(groups) => groups.observe(rows, &self.scores, &self.spec),
            None => Ok(()),
        }
    }

    /// Returns what the bench proves about all rounds so far.
    pub fn witnesses(&self) -> Vec<Testimony> {
        self.whole.witnesses()
    }

    /// Returns the best lower bound that is known on the total loss of every comparator.
    pub fn floor(&self) -> f64 {
        let comparators = &self.spec.comparators;
        let own = self.ledgers().map(|ledger| ledger.floor(comparators));
        own.chain(self.witnesses().iter().map(Testimony::floor)).fold(f64::NEG_INFINITY, f64::max)
    }

    fn progress(&self, source: &dyn Source) -> Progress {
        let ledger = &self.first().ledger;
        Progress {
            examples: ledger.rounds(),
            bytes: source.bytes_read(),
            sequential_risk: ledger.sequential_risk(),
        }
    }

    /// Returns the first model. There is always at least one.
    fn first(&self) -> &Model {
        &self.whole.models[0]
    }

    /// Returns the report on the models so far. `source` counts the features, and `forecasts`
    /// gives the models their names.
    pub fn report(&self, source: &dyn Source, forecasts: &Forecasts) -> AuditReport {
        let reports = self.whole.reports(&self.spec);
        AuditReport {
            first: reports[0].clone(),
            classes: None,
            features: source.census().features,
            nonzeros: source.census().nonzeros,
            models: named(forecasts, reports),
            comparator: None,
            hindsight: None,
            contradictions: Vec::new(),
            comparators: self.spec.comparators.clone(),
            is_judged: self.spec.is_judged,
            loss: self.spec.loss.into(),
            link: self.spec.link,
            window: self.spec.window,
            data: self.spec.data.clone(),
            predictions: self.spec.predictions.clone(),
        }
    }

    /// Returns the reports on every group of examples, in the order in which the groups came. A row of
    /// importance 0 makes no group. The list is empty if examples are not grouped.
    pub fn groups(&self, forecasts: &Forecasts) -> Vec<GroupReport> {
        let Some(Grouped { reader, parts, counting }) = &self.groups else { return Vec::new() };
        let report = |&group: &usize| {
            let reports = parts[group].reports(&self.spec);
            let (group, first) = (reader.groups()[group].clone(), reports[0].clone());
            GroupReport { group, first, models: named(forecasts, reports) }
        };
        counting.iter().map(report).collect()
    }

    /// Returns the ledger of each model, in the order of the columns.
    pub fn ledgers(&self) -> impl Iterator<Item = &Ledger> {
        self.whole.models.iter().map(|model| &model.ledger)
    }

    /// Returns the description of the audit.
    pub fn spec(&self) -> &AuditSpec {
        &self.spec
    }
}

/// Gives the reports of models the names of their columns, if they have columns.
fn named(forecasts: &Forecasts, reports: Vec<ModelReport>) -> Vec<NamedReport> {
    let name = |(name, report): (&String, _)| NamedReport { name: name.clone(), report };
    forecasts.names().iter().zip(reports).map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataSpec, Session, Settings};
    use rueful_data::{Follow, Input, LabelRule, Reader, Reading, Schema};
    use rueful_data::{PredictionColumns, Predictions, Survey};

    const XOR: &str = "+1 1:1 2:1\n-1 1:1 2:-1\n-1 1:-1 2:1\n+1 1:-1 2:-1\n";

    fn source(spec: &AuditSpec, text: &'static str) -> Reader {
        let labels = LabelRule::new(spec.loss.labels(), None);
        let reading = Reading { constant: spec.data.constant, ..Reading::new(labels) };
        let input = Input::new("x.libsvm", text.as_bytes(), &Follow::No).unwrap();
        Reader::new(vec![input], &Schema::Libsvm {}, &reading)
    }

    fn open(name: &str, text: &str, columns: &PredictionColumns) -> Result<Forecasts, DataError> {
        let text = std::io::Cursor::new(text.as_bytes().to_vec());
        Predictions::new(Input::new(name, text, &Follow::No)?, columns).map(Forecasts::from)
    }

    fn audit(
        settings: &AuditSettings,
        examples: &'static str,
        predictions: &str,
    ) -> Result<AuditReport, String> {
        let spec = settings
            .resolve(DataSpec::libsvm("x.libsvm"), "p.txt")
            .map_err(|error| error.to_string())?;
        let mut predictions =
            open("p.txt", predictions, &spec.columns).map_err(|error| error.to_string())?;
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
        let mut scores = scores.unwrap().first;
        let figures = report.first.figures.clone().unwrap();
        assert_eq!(figures.rates.auc, scores.figures.as_ref().unwrap().rates.auc);
        assert!((figures.rates.log_loss.unwrap() - (4.0_f64 / 3.0).ln()).abs() < 1e-12);
        assert_eq!(figures.rates.brier, Some(0.0625));
        // An audit of scores has no probabilities.
        assert_eq!(scores.figures.replace(figures).unwrap().rates.log_loss, None);
        assert_eq!(report.first, scores);
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
        assert_eq!(refusal(columns(&["a", "a"])), "prediction-column a is given twice");
        assert!(refusal(columns(&["a", "all"])).contains("leave out the other names"));
    }

    /// If the predictions of a learner of this project are audited, the audit has the ledger of its
    /// run.
    #[test]
    fn the_audit_of_a_run_is_the_run() {
        let spec = Settings { learner: Some("ogd".to_owned()), ..Settings::default() }
            .resolve(DataSpec::libsvm("x"), &mut |_| Ok(Survey::default()))
            .unwrap()
            .spec;
        let as_ogd_is_judged = AuditSettings {
            comparators: Some("ball".to_owned()),
            judge: Some(false),
            ..AuditSettings::default()
        };
        let audit_spec = as_ogd_is_judged.resolve(DataSpec::libsvm("x"), "p").unwrap();
        let mut session = Session::new(&spec).unwrap();
        let mut rounds = Vec::new();
        let mut rows = source(&audit_spec, XOR);
        while session.advance(&mut rows).unwrap() {
            rounds.extend_from_slice(session.last().1);
        }
        let text: String = rounds.iter().map(|round| format!("{}\n", round.prediction)).collect();
        let mut predictions = open("p", &text, &PredictionColumns::Bare).unwrap();
        let mut audit = AuditRun::new(audit_spec.clone(), &predictions);
        let mut seen = 0;
        let count = |rows: Rows<'_>, _| seen += rows.len();
        audit.drive(&mut source(&audit_spec, XOR), &mut predictions, count).unwrap();
        assert_eq!(audit.ledgers().next(), Some(session.ledger()));
        assert_eq!((seen, audit.spec()), (4, &audit_spec));
    }

    #[test]
    fn what_looks_like_probabilities_is_said_to() {
        let remarks = |settings: &AuditSettings, predictions| {
            let report = audit(settings, XOR, predictions).unwrap();
            report.first.figures.unwrap().remarks
        };
        let plain = AuditSettings::default();
        let told = remarks(&plain, "0.75\n0.25\n0.25\n0.75\n");
        assert!(told[0].contains("between 0 and 1") && told.len() == 1, "{told:?}");
        assert!(remarks(&plain, "0.75\n-0.25\n0.25\n0.75\n").is_empty());
        assert!(remarks(&logistic(), "0.75\n0.25\n0.25\n0.75\n").is_empty());
    }

    #[test]
    fn a_report_reads_back_as_itself() {
        let settings = AuditSettings { window: Some(3), ..columns(&["all"]) };
        let report = audit(&settings, XOR, "a,b\n1,2\n1,-2\n1,0\n1,0.5\n").unwrap();
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<AuditReport>(&text).unwrap(), report);
    }
}
