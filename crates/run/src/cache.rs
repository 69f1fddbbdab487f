//! The cache: text kept beside itself in a compact binary file, for reading it again and again.

use crate::data::{DataSpec, LabelUse, Layout, ReadingOptions};
use rueful_core::loss::Labels;
use rueful_data::{
    CacheFault, CacheSummary, Cached, DataError, Follow, LabelRule, Limits, Provenance, Reading,
    Role, Source, printable, write_cache,
};

/// The extension of a cache's file name.
const EXTENSION: &str = "rueful-cache";

impl DataSpec {
    /// Reads the files to their end into a cache at `path`. A cache that is there is replaced.
    pub fn convert(
        &self,
        path: &str,
        reading_options: &ReadingOptions,
    ) -> Result<CacheSummary, DataError> {
        self.refuse_predictions()?;
        let provenance = self.provenance()?;
        let mut source = self.open_for_storing(reading_options)?;
        write_cache(path, &provenance, &mut *source, false)
    }

    /// Opens the rows as a cache has them: without the constant or class weights, and with labels
    /// as the numbers that they are.
    fn open_for_storing(
        &self,
        reading_options: &ReadingOptions,
    ) -> Result<Box<dyn Source>, DataError> {
        let bare = Self { constant: false, class_weights: None, ..self.clone() };
        let reading_options = ReadingOptions {
            follow: Follow::No,
            cache: false,
            idle_rows: true,
            ..reading_options.clone()
        };
        bare.open(LabelUse::Learn(Labels::Numbers), &reading_options)
    }

    /// Opens the rows from the cache beside the first file. The cache is made, or made anew, if it
    /// does not stand for the files as they are now.
    pub(crate) fn open_cache(
        &self,
        reading: &Reading,
        reading_options: &ReadingOptions,
    ) -> Result<Box<dyn Source>, DataError> {
        self.refuse_predictions()?;
        if let Some(file) = self.once_only() {
            return Err(DataError::OnceOnly { file: file.to_owned() });
        }
        let first = self.files.first().ok_or(DataError::NoInput)?;
        let path = format!("{first}.{EXTENSION}");
        let stored = match (&reading.labels, &self.positive) {
            // The inferred rule is for labels as they are written in the text, and not for the
            // stored ones.
            (LabelRule::Inferred(_), Some(positive)) => LabelRule::Positive(positive.clone()),
            (rule, _) => rule.clone(),
        };
        let reading_cache = Reading { labels: stored, ..reading.clone() };
        let cached = self.cache(&path, &reading_cache, reading_options)?;
        self.check_labels(&cached, &reading.labels)?;
        Ok(Box::new(cached))
    }

    /// Refuses labels that contradict the rule that was inferred from the first ones. A cache knows
    /// from the start which labels it was made from.
    fn check_labels(&self, cached: &Cached, rule: &LabelRule) -> Result<(), DataError> {
        let LabelRule::Inferred(inferred) = rule else { return Ok(()) };
        for (label, _) in cached.labels().counts {
            if let Some(expected) = inferred.contradiction(&label) {
                let found = format!("the label \"{}\"", printable(&label));
                return Err(DataError::Unsuitable { file: self.name(), found, expected });
            }
        }
        Ok(())
    }

    /// Opens the cache at `path`, as it is or made anew.
    fn cache(
        &self,
        path: &str,
        reading: &Reading,
        reading_options: &ReadingOptions,
    ) -> Result<Cached, DataError> {
        if std::fs::exists(path).is_ok_and(|is_there| is_there) {
            match Cached::open(path, reading) {
                Ok(cached) if cached.provenance().difference(&self.provenance()?).is_none() => {
                    return Ok(cached);
                }
                // A file that is not a cache must not be replaced.
                Err(error @ DataError::Cache { fault: CacheFault::NotACache, .. }) => {
                    return Err(error);
                }
                _ => {}
            }
        }
        self.convert(path, reading_options)?;
        Cached::open(path, reading)
    }

    /// Refuses predictions of other models. They belong to an audit, which reads its data once.
    fn refuse_predictions(&self) -> Result<(), DataError> {
        let columns = self.schema.columns().iter();
        let Some(column) = columns.into_iter().find(|column| column.role == Role::Prediction)
        else {
            return Ok(());
        };
        Err(DataError::Unsuitable {
            file: self.name(),
            found: format!("predictions in column \"{}\"", printable(&column.name)),
            expected: "labels, importances and features: a cache keeps nothing else".into(),
        })
    }

    /// The provenance that a cache of these files records.
    pub fn provenance(&self) -> Result<Provenance, DataError> {
        let positive = self.positive.as_deref();
        let max_index = Limits::default().max_index;
        match &self.schema {
            Layout::Text(schema) => Provenance::look(&self.files, schema, positive, max_index),
            Layout::Columnar(layout) => Provenance::look(&self.files, layout, positive, max_index),
            Layout::Cache(_) => Err(DataError::Unsuitable {
                file: self.name(),
                found: "a rueful cache".to_owned(),
                expected: "the data it was made from".into(),
            }),
        }
    }
}
