//! The audit of one model of many classes whose predictions come from memory, a few at a time.

use super::audit::{ClassAudit, renumbered};
use super::card::ClassCard;
use super::learner::Norms;
use super::report::ClassesReport;
use super::windows::{ClassWindows, StoredClassWindows};
use super::{ClassLoss, TaskLoss};
use crate::audit::{AuditReport, AuditSettings, Link, ModelReport};
use crate::data::DataSpec;
use crate::settings::SettingsError;
use crate::windows::{StoredReports, WindowReport};
use rueful_core::classes::{ClassJudge, ClassLedger};
use rueful_core::{Comparators, Positive, Rows};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// An audit that is given examples and a row of predictions for each: a probability for every class,
/// or a score. It can be saved and merged.
///
/// ```
/// use rueful_core::Batch;
/// use rueful_run::{AuditSettings, ClassAuditor, ClassLoss};
/// let names = ["no", "yes", "perhaps"].map(str::to_owned).to_vec();
/// let mut auditor = ClassAuditor::new(&AuditSettings::default(), ClassLoss::Softmax {}, names)?;
/// let mut rows = Batch::default();
/// rows.push(&[0, 1], &[1.0, 1.0], 2.0)?;
/// rows.push(&[0, 1], &[1.0, -1.0], 0.0)?;
/// auditor.observe(rows.rows(), &[0.25, 0.25, 0.5, 0.5, 0.25, 0.25])?;
/// assert_eq!(auditor.report().model.sequential_risk, 2.0_f64.ln());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ClassAuditor {
    settings: AuditSettings,
    audit: ClassAudit,
    /// The windows of audits that were merged.
    merged: Vec<WindowReport>,
    nonzeros: u64,
}

/// The report of an audit of one model of many classes. Its keys are those of an audit's report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassAuditorReport {
    /// The report on the model.
    #[serde(flatten)]
    pub model: ModelReport,
    /// The classes.
    #[serde(flatten)]
    pub classes: ClassesReport,
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
    pub loss: TaskLoss,
    /// The number of examples in a window; null without windows.
    pub window: Option<NonZeroU64>,
}

impl ClassAuditorReport {
    /// Returns the report in the form of an audit of files, with which it can be shown. There are no
    /// files. `constant` says whether every example got one more feature that is always 1.
    pub fn without_files(self, constant: bool) -> AuditReport {
        AuditReport {
            first: self.model,
            classes: Some(self.classes),
            features: self.features,
            nonzeros: self.nonzeros,
            models: Vec::new(),
            comparator: None,
            hindsight: None,
            contradictions: Vec::new(),
            comparators: self.comparators,
            is_judged: self.is_judged,
            loss: self.loss,
            link: Link::Identity,
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
    /// The name of the loss.
    loss: String,
    names: Vec<String>,
    ledger: ClassLedger,
    card: ClassCard,
    norms: Norms,
    judge: Option<ClassJudge>,
    windows: Option<StoredClassWindows>,
    merged: StoredReports,
    nonzeros: u64,
}

impl ClassAuditor {
    /// Makes an audit of a model of these classes that has seen nothing.
    pub fn new(
        settings: &AuditSettings,
        loss: ClassLoss,
        names: Vec<String>,
    ) -> Result<Self, SettingsError> {
        let spec = settings.resolve_classes(loss, DataSpec::libsvm(""), "")?;
        let audit = ClassAudit::of(spec, names);
        Ok(Self { settings: settings.clone(), audit, merged: Vec::new(), nonzeros: 0 })
    }

    /// Returns the number of classes.
    pub fn classes(&self) -> usize {
        self.audit.names.len()
    }

    /// Checks labels and predictions, a number for every class, row by row, before any of them is
    /// recorded. The error names a row, counted from 0, and says what is wrong with it.
    pub fn check(&self, labels: &[f64], predictions: &[f64]) -> Result<(), String> {
        let width = self.classes();
        let (found, expected) = (predictions.len(), labels.len() * width);
        if found != expected {
            return Err(format!("there are {found} predictions, expected {expected}"));
        }
        for (row, (&label, said)) in labels.iter().zip(predictions.chunks(width.max(1))).enumerate()
        {
            if let Some(wrong) = said.iter().find(|score| !score.is_finite()) {
                let expected = "expected a finite number";
                return Err(format!("row {row}: found the prediction {wrong}, {expected}"));
            }
            let checked = self.audit.check(label, said);
            checked.map_err(|why| renumbered(&why, row).to_string())?;
        }
        Ok(())
    }

    /// Records the predictions of the model for some rows. Nothing is recorded if one is refused.
    pub fn observe(&mut self, rows: Rows<'_>, predictions: &[f64]) -> Result<(), String> {
        self.check(rows.labels(), predictions)?;
        self.audit.said.clear();
        self.audit.said.extend_from_slice(predictions);
        self.audit.observe(rows);
        let counted = rows.iter().filter(|row| !row.importance.is_zero());
        self.nonzeros += counted.map(|row| row.features.len() as u64).sum::<u64>();
        Ok(())
    }

    /// Returns the certificate: no comparator of norm at most `radius` was better by more than this
    /// per round. It is infinite if nothing can be said. Without a radius, it is about the
    /// comparators of the audit.
    pub fn certificate(&self, radius: Option<Positive>) -> f64 {
        let ClassAudit { books, judge, .. } = &self.audit;
        if books.ledger.rounds() == 0 {
            return f64::INFINITY;
        }
        let point = books.ledger.point(judge.as_ref());
        radius.map_or_else(|| point.certificate(), |radius| point.certificate_for(radius))
    }

    /// Returns the report on the rounds so far.
    pub fn report(&self) -> ClassAuditorReport {
        let ClassAudit { spec, books, judge, names, .. } = &self.audit;
        let mut model = self.audit.model_report();
        model.windows.splice(0..0, self.merged.iter().copied());
        let name_of = |class: u32| names[class as usize].clone();
        ClassAuditorReport {
            model,
            classes: ClassesReport::new(books.ledger.confusion(), name_of),
            features: books.ledger.cells().count() as u64,
            nonzeros: self.nonzeros,
            comparators: spec.comparators.clone(),
            is_judged: judge.is_some(),
            loss: spec.loss.into(),
            window: spec.window,
        }
    }

    /// Adds an audit of other rounds of the same classes under the same settings. The certificate is
    /// then about the rounds of both audits. The curve stays that of this audit, and each window
    /// belongs to one of the two.
    pub fn merge(&mut self, other: &Self) -> Result<(), String> {
        let (own, theirs) = (&mut self.audit, &other.audit);
        if own.spec != theirs.spec || own.names != theirs.names {
            return Err("audits of different settings cannot be merged".to_owned());
        }
        let before = own.books.ledger.rounds();
        let moved = other.all_windows().into_iter().map(|window| WindowReport {
            from: window.from + before,
            to: window.to + before,
            ..window
        });
        let mut merged = self.merged.clone();
        merged.extend(own.model_report().windows);
        merged.extend(moved);
        let places = own.books.ledger.merge(&theirs.books.ledger);
        if let (Some(judge), Some(mut added)) = (&mut own.judge, theirs.judge.clone()) {
            added.rearrange(&places);
            judge.merge(&added);
        }
        own.books.card.merge(&theirs.books.card);
        own.books.norms.merge(&theirs.books.norms);
        let length = own.spec.window;
        own.books.windows =
            length.map(|length| ClassWindows::new(own.spec.loss, &own.books.ledger, Some(length)));
        self.merged = merged;
        self.nonzeros += other.nonzeros;
        Ok(())
    }

    /// Returns the windows so far.
    fn all_windows(&self) -> Vec<WindowReport> {
        let own = self.audit.model_report().windows;
        self.merged.iter().copied().chain(own).collect()
    }

    /// Saves the audit to bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, postcard::Error> {
        let ClassAudit { spec, books, judge, names, .. } = &self.audit;
        let order = books.ledger.cells().in_order();
        let judge = judge.clone().map(|mut judge| {
            judge.rearrange(&order);
            judge
        });
        postcard::to_allocvec(&Stored {
            settings: self.settings.clone(),
            loss: spec.loss.name().to_owned(),
            names: names.clone(),
            ledger: books.ledger.clone(),
            card: books.card.clone(),
            norms: books.norms,
            judge,
            windows: books.windows.as_ref().map(|windows| windows.stored(&order)),
            merged: self.merged[..].into(),
            nonzeros: self.nonzeros,
        })
    }

    /// Restores a saved audit. The error says what is wrong with the bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let unreadable = |_| "these bytes are no audit of classes".to_owned();
        let (stored, rest): (Stored, _) = postcard::take_from_bytes(bytes).map_err(unreadable)?;
        if !rest.is_empty() {
            return Err("bytes follow its end".to_owned());
        }
        let classes = stored.names.len();
        let loss = ClassLoss::named(&stored.loss).ok_or("its loss is not known")?;
        let fresh = Self::new(&stored.settings, loss, stored.names);
        let mut auditor = fresh.map_err(|error| error.to_string())?;
        let ClassAudit { spec, books, judge, .. } = &mut auditor.audit;
        let rounds = stored.ledger.rounds();
        let are_known =
            stored.ledger.confusion().classes().all(|(class, _)| (class as usize) < classes);
        let is_sound = stored.ledger.continues(&books.ledger)
            && are_known
            && stored.card.is_sound(rounds, classes)
            && stored.norms.are_sound();
        if !is_sound {
            return Err("its ledger is not that of its settings".to_owned());
        }
        books.ledger = stored.ledger;
        (books.card, books.norms) = (stored.card, stored.norms);
        let places = books.ledger.cells().places();
        *judge = match (judge.take(), stored.judge) {
            (None, None) => None,
            (Some(fresh), Some(mut read)) if read.continues(&fresh, rounds) => {
                read.rearrange(&places);
                Some(read)
            }
            _ => return Err("its witnesses are not those of its ledger".to_owned()),
        };
        let senseless = || "its windows cannot be read".to_owned();
        books.windows = match (books.windows.take(), stored.windows) {
            (None, None) => None,
            (Some(_), Some(stored)) => {
                let windows = stored.restore(spec.loss, &books.ledger, classes as u32);
                Some(windows.ok_or_else(senseless)?)
            }
            _ => return Err(senseless()),
        };
        let merged = stored.merged.reports().ok_or_else(senseless)?;
        Ok(Self { merged, nonzeros: stored.nonzeros, ..auditor })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rueful_core::Batch;

    const LOSSES: [ClassLoss; 2] = [ClassLoss::Softmax {}, ClassLoss::MulticlassHinge {}];

    fn fresh(loss: ClassLoss, window: Option<u64>) -> ClassAuditor {
        let settings = AuditSettings { window, ..AuditSettings::default() };
        let names = ["a", "b", "c"].map(str::to_owned).to_vec();
        ClassAuditor::new(&settings, loss, names).unwrap()
    }

    /// Makes rows whose features come out of order, so that cells differ from features.
    fn rows(from: u32, to: u32) -> (Batch, Vec<f64>) {
        let (mut batch, mut said) = (Batch::default(), Vec::new());
        for t in from..to {
            let far = 5_000_000 - 1000 * (t % 11);
            let values = [1.0, 1.0 + (t % 7) as f32, (t % 3) as f32 - 1.5];
            batch.push(&[0, 1 + t % 5, far], &values, f64::from(t * t % 3)).unwrap();
            said.extend(if t % 2 == 0 { [0.5, 0.25, 0.25] } else { [0.25, 0.625, 0.125] });
        }
        (batch, said)
    }

    fn audit(loss: ClassLoss, window: Option<u64>, parts: &[(u32, u32)]) -> ClassAuditor {
        let mut auditor = fresh(loss, window);
        for &(from, to) in parts {
            let (batch, said) = rows(from, to);
            auditor.observe(batch.rows(), &said).unwrap();
        }
        auditor
    }

    #[test]
    fn how_rows_come_and_what_is_put_away_make_no_difference() {
        for loss in LOSSES {
            for window in [None, Some(7), Some(100)] {
                let whole = audit(loss, window, &[(0, 60)]);
                let parts = audit(loss, window, &[(0, 1), (1, 33), (33, 60)]);
                assert_eq!(whole.report(), parts.report(), "{loss}");
                let before = audit(loss, window, &[(0, 25)]);
                let mut resumed = ClassAuditor::from_bytes(&before.to_bytes().unwrap()).unwrap();
                assert_eq!(resumed.report(), before.report(), "{loss}");
                let (batch, said) = rows(25, 60);
                resumed.observe(batch.rows(), &said).unwrap();
                assert_eq!(resumed.report(), whole.report(), "{loss} {window:?}");
                assert_eq!(resumed.to_bytes().unwrap(), whole.to_bytes().unwrap());
            }
        }
    }

    #[test]
    fn merged_audits_speak_of_all_rounds() {
        for loss in LOSSES {
            let parts = |parts| audit(loss, Some(10), parts);
            let (mut front, back) = (parts(&[(0, 25)]), parts(&[(25, 60)]));
            front.merge(&back).unwrap();
            let (merged, whole) = (front.report().model, parts(&[(0, 60)]).report().model);
            assert_eq!((merged.examples, merged.mistake_rate), (60, whole.mistake_rate));
            assert!((merged.sequential_risk - whole.sequential_risk).abs() < 1e-12);
            assert!(merged.certificate.is_some_and(f64::is_finite));
            let ends: Vec<u64> = merged.windows.iter().map(|window| window.to).collect();
            assert_eq!(ends, [10, 20, 25, 35, 45, 55, 60]);
            assert!(front.merge(&fresh(loss, None)).is_err());
            let (batch, said) = rows(60, 64);
            front.observe(batch.rows(), &said).unwrap();
            assert_eq!(front.report().model.windows.last().map(|window| window.from), Some(61));
            let again = ClassAuditor::from_bytes(&front.to_bytes().unwrap()).unwrap();
            assert_eq!(again.report(), front.report());
        }
    }

    #[test]
    fn what_is_wrong_is_told_and_nothing_taken_down() {
        let mut auditor = fresh(LOSSES[0], None);
        let (batch, mut said) = rows(0, 3);
        said[4] = 0.9;
        let error = auditor.observe(batch.rows(), &said).unwrap_err();
        assert!(error.starts_with("row 1 has probabilities that add up to 1.27"), "{error}");
        said[4] = f64::NAN;
        let error = auditor.observe(batch.rows(), &said).unwrap_err();
        assert_eq!(error, "row 1: found the prediction NaN, expected a finite number");
        assert!(auditor.observe(batch.rows(), &said[1..]).is_err());
        assert_eq!(auditor.report().model.examples, 0);
        assert_eq!(auditor.certificate(None), f64::INFINITY);
        assert!(ClassAuditor::from_bytes(b"nonsense").is_err());
        let link = Some("logistic".to_owned());
        let settings = AuditSettings { link, ..AuditSettings::default() };
        assert!(ClassAuditor::new(&settings, LOSSES[0], Vec::new()).is_err());
    }
}
