//! The audit of one model whose predictions come from memory, a few at a time.

use super::report::{AuditReport, ModelReport};
use super::settings::{AuditSettings, AuditSpec};
use super::{Link, OF_ALL, Part};
use crate::bench::{Bench, SQUARE_FEATURES};
use crate::data::DataSpec;
use crate::settings::SettingsError;
use crate::spec::AnyLoss;
use crate::statistics::Statistics;
use crate::windows::{StoredReports, StoredWindows, WindowReport, Windows};
use rueful_core::figures::Scorecard;
use rueful_core::{Comparators, Judge, Ledger, Positive, Rows};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// An audit that is given examples and predictions. It can be saved and merged.
///
/// ```
/// use rueful_core::Batch;
/// use rueful_run::{AuditSettings, Auditor};
/// let mut auditor = Auditor::new(&AuditSettings::default())?;
/// let mut rows = Batch::default();
/// rows.push(&[0, 1], &[1.0, 1.0], 1.0)?;
/// rows.push(&[0, 1], &[1.0, -1.0], -1.0)?;
/// auditor.observe(rows.rows(), &[0.5, -0.5])?;
/// assert_eq!(auditor.report().model.sequential_risk, 0.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Auditor {
    settings: AuditSettings,
    spec: AuditSpec,
    part: Part,
    /// The windows of audits that were merged.
    merged: Vec<WindowReport>,
    nonzeros: u64,
    scores: Vec<Vec<f64>>,
}

/// The report of an audit of one model. Its keys are those of an audit's report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditorReport {
    /// The report on the model.
    #[serde(flatten)]
    pub model: ModelReport,
    /// The number of distinct feature indices that were seen, including the constant feature.
    pub features: u64,
    /// The number of stored feature values, including those of the constant feature.
    pub nonzeros: u64,
    /// The comparators.
    pub comparators: Comparators,
    /// Whether witnesses judged the model.
    #[serde(rename = "judge")]
    pub is_judged: bool,
    /// The loss φ.
    pub loss: AnyLoss,
    /// How predictions became scores.
    pub link: Link,
    /// The number of examples in a window; null without windows.
    pub window: Option<NonZeroU64>,
}

impl AuditorReport {
    /// Returns the report in the form of an audit of files, with which it can be shown. There are no
    /// files. `constant` says whether every example got one more feature that is always 1.
    pub fn without_files(self, constant: bool) -> AuditReport {
        AuditReport {
            first: self.model,
            classes: None,
            features: self.features,
            nonzeros: self.nonzeros,
            models: Vec::new(),
            comparator: None,
            hindsight: None,
            contradictions: Vec::new(),
            comparators: self.comparators,
            is_judged: self.is_judged,
            loss: self.loss.into(),
            link: self.link,
            window: self.window,
            data: DataSpec { files: Vec::new(), constant, ..DataSpec::libsvm("") },
            predictions: String::new(),
        }
    }
}

/// The saved form of an audit. Its vectors are in the order of the features.
#[derive(Serialize, Deserialize)]
struct Stored {
    settings: AuditSettings,
    ledger: Ledger,
    card: Scorecard,
    judge: Option<Judge>,
    statistics: Option<Statistics>,
    windows: Option<StoredWindows>,
    merged: StoredReports,
    nonzeros: u64,
}

impl Auditor {
    /// Makes an audit that has seen nothing.
    pub fn new(settings: &AuditSettings) -> Result<Self, SettingsError> {
        let spec = settings.resolve(DataSpec::libsvm(""), "")?;
        let part = Part::new(&spec, 1, OF_ALL);
        let (merged, scores) = (Vec::new(), vec![Vec::new()]);
        Ok(Self { settings: settings.clone(), spec, part, merged, nonzeros: 0, scores })
    }

    /// Checks labels and predictions before any of them is recorded. The error names a row, counted
    /// from 0, and says what is wrong with it.
    pub fn check(&self, labels: &[f64], predictions: &[f64]) -> Result<(), String> {
        let taken = self.spec.loss.labels();
        for (row, (&label, &written)) in labels.iter().zip(predictions).enumerate() {
            if !taken.accept(label) {
                let expected = taken.expected();
                return Err(format!("row {row}: found the label {label}, expected {expected}"));
            }
            let score = self.spec.link.score(written);
            if !score.is_some_and(f64::is_finite) {
                let expected = match self.spec.link {
                    Link::Identity => "a finite number",
                    Link::Logistic => {
                        "a probability strictly between 0 and 1; clip what is certain, for \
                         instance to 1e-6 and 1 - 1e-6"
                    }
                };
                return Err(format!(
                    "row {row}: found the prediction {written}, expected {expected}"
                ));
            }
        }
        Ok(())
    }

    /// Records the predictions of the model for some rows.
    pub fn observe(&mut self, rows: Rows<'_>, predictions: &[f64]) -> Result<(), String> {
        self.check(rows.labels(), predictions)?;
        let scores = predictions.iter().filter_map(|&written| self.spec.link.score(written));
        let mut kept = std::mem::take(&mut self.scores);
        kept[0].clear();
        kept[0].extend(scores);
        let observed = self.part.observe(rows, &kept, 0);
        self.scores = kept;
        let counted = rows.iter().filter(|row| !row.importance.is_zero());
        self.nonzeros += counted.map(|row| row.features.len() as u64).sum::<u64>();
        observed.map_err(|error| error.to_string())
    }

    fn ledger(&self) -> &Ledger {
        &self.part.models[0].ledger
    }

    /// Returns the certificate: no comparator of norm at most `radius` was better by more than this
    /// per round. It is infinite if nothing can be said. Without a radius, it is about the
    /// comparators of the audit.
    pub fn certificate(&self, radius: Option<Positive>) -> f64 {
        if self.ledger().rounds() == 0 {
            return f64::INFINITY;
        }
        let of = |bench: &Bench| bench.testify_for_all(self.ledger());
        let witnesses = self.part.bench.as_ref().map_or_else(Vec::new, of);
        let point = self.ledger().point(&witnesses);
        radius.map_or_else(|| point.certificate(), |radius| point.certificate_for(radius))
    }

    /// Returns the report on the rounds so far.
    pub fn report(&self) -> AuditorReport {
        let mut model = self.part.reports(&self.spec).swap_remove(0);
        model.windows.splice(0..0, self.merged.iter().copied());
        AuditorReport {
            model,
            features: self.ledger().cells().count() as u64,
            nonzeros: self.nonzeros,
            comparators: self.spec.comparators.clone(),
            is_judged: self.spec.is_judged,
            loss: self.spec.loss,
            link: self.spec.link,
            window: self.spec.window,
        }
    }

    /// Adds an audit of other rounds under the same settings. The certificate is then about the
    /// rounds of both audits. The curve stays that of this audit, and each window belongs to one of
    /// the two.
    pub fn merge(&mut self, other: &Self) -> Result<(), String> {
        if self.spec != other.spec {
            return Err("audits of different settings cannot be merged".to_owned());
        }
        let before = self.ledger().rounds();
        let moved = other.all_windows().into_iter().map(|window| WindowReport {
            from: window.from + before,
            to: window.to + before,
            ..window
        });
        let merged = self.all_windows().into_iter().chain(moved).collect();
        let model = &mut self.part.models[0];
        let places = model.ledger.merge(other.ledger()).map_err(|error| error.to_string())?;
        if let (Some(own), Some(mut theirs)) = (&mut self.part.bench, other.part.bench.clone()) {
            theirs.rearrange(&places);
            own.merge(&theirs);
        }
        let bench = self.spec.bench(SQUARE_FEATURES);
        let card = self.spec.scorecard(OF_ALL.distinct);
        let fresh = |length| Windows::new(&model.ledger, bench, Some(length)).with_figures(card);
        model.windows = self.spec.window.map(fresh);
        model.card.merge(&other.part.models[0].card);
        self.merged = merged;
        self.nonzeros += other.nonzeros;
        Ok(())
    }

    /// Returns the windows so far.
    fn all_windows(&self) -> Vec<WindowReport> {
        let windows = self.part.models[0].windows.as_ref();
        let own = windows.map_or_else(Vec::new, |windows| windows.reports(self.ledger()));
        self.merged.iter().copied().chain(own).collect()
    }

    /// Saves the audit to bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, postcard::Error> {
        let order = self.ledger().cells().in_order();
        let bench = self.part.bench.clone().map(|mut bench| {
            bench.rearrange(&order);
            bench
        });
        let windows = self.part.models[0].windows.as_ref();
        postcard::to_allocvec(&Stored {
            settings: self.settings.clone(),
            ledger: self.ledger().clone(),
            card: self.part.models[0].card.clone(),
            statistics: bench.as_ref().and_then(Bench::statistics).cloned(),
            judge: bench.and_then(Bench::into_judge),
            windows: windows.map(|windows| windows.stored(&order)),
            merged: self.merged[..].into(),
            nonzeros: self.nonzeros,
        })
    }

    /// Restores a saved audit. The error says what is wrong with the bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let unreadable = |_| "these bytes are no audit".to_owned();
        let (stored, rest): (Stored, _) = postcard::take_from_bytes(bytes).map_err(unreadable)?;
        if !rest.is_empty() {
            return Err("bytes follow its end".to_owned());
        }
        let mut auditor = Self::new(&stored.settings).map_err(|error| error.to_string())?;
        let fresh = auditor.part.bench.take();
        let model = &mut auditor.part.models[0];
        if !stored.ledger.continues(&model.ledger) {
            return Err("its ledger is not that of its settings".to_owned());
        }
        if !stored.card.continues(&model.card, stored.ledger.rounds()) {
            return Err("its figures are not those of its ledger".to_owned());
        }
        (model.ledger, model.card) = (stored.ledger, stored.card);
        let places = model.ledger.cells().places();
        auditor.part.bench = fresh.map(|bench| {
            let mut bench = bench.taking(stored.judge, stored.statistics);
            bench.rearrange(&places);
            bench
        });
        let senseless = || "its windows cannot be read".to_owned();
        model.windows = match (model.windows.take(), stored.windows) {
            (Some(fresh), Some(stored)) => {
                Some(stored.restore(fresh, &model.ledger).ok_or_else(senseless)?)
            }
            _ => None,
        };
        let merged = stored.merged.reports().ok_or_else(senseless)?;
        Ok(Self { merged, nonzeros: stored.nonzeros, ..auditor })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rueful_core::Batch;

    fn settings(loss: &str, window: Option<u64>) -> AuditSettings {
        AuditSettings { loss: Some(loss.to_owned()), window, ..AuditSettings::default() }
    }

    /// Makes rows whose features come out of order, so that cells differ from features.
    fn rows(from: u32, to: u32) -> (Batch, Vec<f64>) {
        let mut batch = Batch::default();
        for t in from..to {
            let far = 5_000_000 - 1000 * (t % 11);
            let values = [1.0, 1.0 + (t % 7) as f32, (t % 3) as f32 - 1.5];
            let label = if t % 3 == 0 { 1.0 } else { -1.0 };
            batch.push(&[0, 1 + t % 5, far], &values, label).unwrap();
        }
        let scores = batch.labels().iter().map(|label| 0.75 * label + 0.1).collect();
        (batch, scores)
    }

    fn audit(settings: &AuditSettings, parts: &[(u32, u32)]) -> Auditor {
        let mut auditor = Auditor::new(settings).unwrap();
        for &(from, to) in parts {
            let (batch, scores) = rows(from, to);
            auditor.observe(batch.rows(), &scores).unwrap();
        }
        auditor
    }

    #[test]
    fn how_rows_come_and_what_is_put_away_make_no_difference() {
        for loss in ["logistic", "hinge", "square"] {
            for window in [None, Some(7), Some(100)] {
                let settings = settings(loss, window);
                let whole = audit(&settings, &[(0, 60)]);
                let parts = audit(&settings, &[(0, 1), (1, 33), (33, 60)]);
                assert_eq!(whole.report(), parts.report(), "{loss}");
                let before = audit(&settings, &[(0, 25)]);
                let mut resumed = Auditor::from_bytes(&before.to_bytes().unwrap()).unwrap();
                assert_eq!(resumed.report(), before.report(), "{loss}");
                let (batch, scores) = rows(25, 60);
                resumed.observe(batch.rows(), &scores).unwrap();
                assert_eq!(resumed.report(), whole.report(), "{loss} {window:?}");
                assert_eq!(resumed.to_bytes().unwrap(), whole.to_bytes().unwrap());
            }
        }
    }

    #[test]
    fn merged_audits_speak_of_all_rounds() {
        let settings = settings("logistic", Some(10));
        let (mut front, back) = (audit(&settings, &[(0, 25)]), audit(&settings, &[(25, 60)]));
        front.merge(&back).unwrap();
        let (merged, whole) = (front.report().model, audit(&settings, &[(0, 60)]).report().model);
        assert_eq!(merged.examples, 60);
        assert!((merged.sequential_risk - whole.sequential_risk).abs() < 1e-12);
        // Each part has witnesses of its own. Their bounds add up, so there is still a certificate.
        assert!(merged.certificate.is_some_and(f64::is_finite));
        let ends: Vec<u64> = merged.windows.iter().map(|window| window.to).collect();
        assert_eq!(ends, [10, 20, 25, 35, 45, 55, 60]);
        assert!(front.merge(&Auditor::new(&AuditSettings::default()).unwrap()).is_err());
        let (batch, scores) = rows(60, 64);
        front.observe(batch.rows(), &scores).unwrap();
        assert_eq!(front.report().model.windows.last().map(|window| window.from), Some(61));
    }

    #[test]
    fn what_is_wrong_is_told_and_nothing_taken_down() {
        let mut auditor = audit(&settings("logistic", None), &[]);
        let (mut batch, mut scores) = rows(0, 3);
        batch.push(&[0], &[1.0], 0.5).unwrap();
        scores.push(0.5);
        let error = auditor.observe(batch.rows(), &scores).unwrap_err();
        assert_eq!(error, "row 3: found the label 0.5, expected -1 or +1");
        let link = Some("logistic".to_owned());
        let auditor = Auditor::new(&AuditSettings { link, ..settings("logistic", None) }).unwrap();
        let error = auditor.check(&[1.0], &[1.0]).unwrap_err();
        assert!(error.contains("strictly between 0 and 1"), "{error}");
        assert_eq!(auditor.report().model.examples, 0);
        assert_eq!(auditor.certificate(None), f64::INFINITY);
        assert!(Auditor::from_bytes(b"nonsense").is_err());
    }
}
