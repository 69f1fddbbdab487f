//! The way from the settings of a person to a source of rows that can be opened again.

use crate::holdout::HeldOut;
use crate::loss_choice::LossChoice;
use crate::passes::Passes;
use crate::pending::USUAL_PENDING;
use crate::settings::SettingsError;
use crate::weighted::{ClassWeights, Weighted};
use rueful_columnar::Columnar;
use rueful_core::loss::Labels;
use rueful_data::{
    Binary, Cached, Column, DataError, Delayed, Expansion, FirstLabels, Follow, FormatSettings,
    LabelRule, Phrase, Purpose, Reading, Role, Schema, Source, TextFiles, Waiting, begin,
    canonical_label, path_of,
};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::num::NonZeroUsize;

/// The settings that say how a file is read.
const COLUMN_SETTINGS: [&str; 22] = [
    "format",
    "label",
    "importance",
    "id",
    "drop",
    "categorical",
    "numeric",
    "text",
    "header",
    "bits",
    "cross",
    "interactions",
    "no-missing",
    "ngram",
    "skips",
    "ignore-namespace",
    "keep-namespace",
    "lowercase",
    "tf",
    "bins",
    "spline",
    "periodic",
];

/// A complete description of the data and of how they are read, so that the same rows can be read
/// again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSpec {
    /// The files, which are read one after the other; `-` is standard input.
    pub files: Vec<String>,
    /// Their format.
    pub schema: Layout,
    /// The label that becomes +1, if labels are not numbers that say so themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positive: Option<String>,
    /// Whether every example gets one more feature that is always 1.
    pub constant: bool,
    /// How much the examples of each class count, if classes count differently.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class_weights: Option<ClassWeights>,
    /// How often the data are read, and which rows are held out, if it is not one pass over all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<Passes>,
    /// How many rows may wait for their labels, if it is not the usual number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<NonZeroUsize>,
}

/// A format, text or binary, and everything about it that is not in the rows themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Layout {
    /// Text.
    Text(Schema),
    /// Parquet or Arrow.
    Columnar(rueful_columnar::Layout),
    /// A compact binary file that was made from text, Parquet or Arrow.
    Cache(CacheLayout),
}

/// The layout of a cache. Everything else is in the cache itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "format", rename_all = "kebab-case", deny_unknown_fields)]
pub enum CacheLayout {
    /// The only variant. Its name is the name of the format.
    Cache {
        /// How the data that the cache was made from were read, if that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<Box<Layout>>,
    },
}

/// The settings of a person. Everything but the files may be left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DataSettings {
    /// The files, which are read one after the other; `-` is standard input.
    pub files: Vec<String>,
    /// The settings of their format.
    pub format_settings: FormatSettings,
    /// The complete layout, from an earlier run or a schema. If it is given, `format_settings` must
    /// be empty.
    pub schema: Option<Layout>,
    /// The label that becomes +1.
    pub positive: Option<String>,
    /// Whether the feature that is always 1 is left out.
    pub no_constant: bool,
    /// How much the examples of each class count.
    pub class_weights: Option<ClassWeights>,
    /// How often the data are read, and which rows are held out.
    pub passes: Option<Passes>,
    /// How many rows may wait for their labels.
    pub pending: Option<NonZeroUsize>,
}

/// The settings of reading that make no difference to what the rows hold.
#[derive(Debug, Clone, Default)]
pub struct ReadingOptions {
    /// The number of threads; all cores if left out.
    pub threads: Option<NonZeroUsize>,
    /// Whether files are still growing.
    pub follow: Follow,
    /// Whether to read through a cache beside the first file. The cache is made if it is missing or
    /// stale.
    pub cache: bool,
    /// The labels that came earlier in the stream. New labels must go with them.
    pub known_labels: Vec<String>,
    /// The rows that waited for their labels before these data.
    pub waiting: Waiting,
    /// Whether rows of importance 0 are delivered. Such rows are predicted, and ignored otherwise.
    pub idle_rows: bool,
}

/// Data that is open.
pub struct Data {
    /// The description by which the data can be read again.
    pub spec: DataSpec,
    /// The notes on what was inferred about the format.
    pub notes: Vec<Phrase>,
    /// The loss that follows from the labels, one of
    /// [`ClassLoss::WITH_OTHERS`](crate::ClassLoss::WITH_OTHERS), if it was asked for and there is
    /// one.
    pub loss: Option<&'static str>,
    /// The notes on what was inferred from the labels.
    pub label_notes: Vec<Phrase>,
    /// The rows.
    pub source: Box<dyn Source>,
}

/// The labels that are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelUse {
    /// The labels of a loss.
    Learn(Labels),
    /// Names of classes, which become numbers in the order in which they first appear.
    Classes,
    /// The labels of the loss that follows from them, by the rules of [`LossChoice`].
    Infer,
    /// Labels that a cache stores: numbers as they are, or two names, of which the later is +1.
    Store,
    /// All labels: they are only looked at.
    Look,
    /// No labels: they are ignored if there are any.
    Ignore,
}

/// Files that are open, before the first row is read.
pub(crate) enum Opening {
    Text(TextFiles),
    Columnar(Box<Columnar>),
    Cache { file: String },
}

/// How the files are read, the notes on what was inferred about that, and the open files.
type Recognized = (Layout, Vec<Phrase>, Opening);

impl Opening {
    /// Returns the labels at the beginning of the data.
    fn first_labels(&mut self, reading: &Reading) -> Result<FirstLabels, DataError> {
        match self {
            Self::Text(text) => text.first_labels(reading),
            Self::Columnar(source) => Ok(source.first_labels()),
            Self::Cache { file } => Cached::first_labels(file, reading),
        }
    }

    /// Whether the data have labels. A table has them if it has a label column. Vowpal Wabbit text
    /// has them if its first lines have them.
    pub(crate) fn has_labels(
        &mut self,
        layout: &Layout,
        reading: &Reading,
    ) -> Result<bool, DataError> {
        if let Layout::Text(Schema::Vw { .. }) = layout {
            let first = self.first_labels(reading)?;
            return Ok(first.rows == 0 || !first.labels.counts.is_empty());
        }
        Ok(layout.has_label())
    }

    /// Returns a source of the rows.
    pub(crate) fn read(self, reading: &Reading) -> Result<Box<dyn Source>, DataError> {
        Ok(match self {
            Self::Text(text) => Box::new(text.read(reading)),
            Self::Columnar(mut source) => {
                source.set_labels(reading.labels.clone());
                source
            }
            Self::Cache { file } => Box::new(Cached::open(&file, reading)?),
        })
    }
}

/// The decision on how labels are read.
struct Decided {
    rule: LabelRule,
    positive: Option<String>,
    loss: Option<&'static str>,
    notes: Vec<Phrase>,
}

impl DataSettings {
    /// Opens the files, and infers every setting that is not given.
    pub fn open(
        &self,
        labels: LabelUse,
        reading_options: &ReadingOptions,
    ) -> Result<Data, SettingsError> {
        if let Some(positive) = self.positive.as_deref()
            && canonical_label(positive) != positive
        {
            let positive = Some(canonical_label(positive).to_owned());
            return Self { positive, ..self.clone() }.open(labels, reading_options);
        }
        // Class weights are checked before anything is opened, as far as the kind of labels is
        // known.
        match labels {
            LabelUse::Learn(labels) => self.check_weights(labels)?,
            LabelUse::Store => self.check_weights(Labels::Numbers)?,
            LabelUse::Infer if self.is_by_label() => {}
            LabelUse::Infer => self.check_weights(Labels::Signs)?,
            LabelUse::Classes => self.refuse_signs()?,
            LabelUse::Look | LabelUse::Ignore => {
                let format_settings =
                    FormatSettings { unlabelled: true, ..self.format_settings.clone() };
                if format_settings != self.format_settings && self.schema.is_none() {
                    return Self { format_settings, ..self.clone() }.open(labels, reading_options);
                }
            }
        }
        let mut reading =
            reading_options.reading(labels, self.positive.as_deref(), !self.no_constant);
        let (schema, notes, mut opening) = self.begin(&reading, &reading_options.follow)?;
        let decided = self.decide(labels, &reading, &mut opening)?;
        if labels == LabelUse::Infer {
            match decided.takes() {
                Some(taken) => self.check_weights(taken)?,
                None => self.refuse_signs()?,
            }
        }
        let Decided { rule, positive, loss, notes: label_notes } = decided;
        let spec = DataSpec {
            files: self.files.clone(),
            schema,
            positive,
            constant: !self.no_constant,
            class_weights: self.class_weights.clone(),
            passes: self.passes,
            pending: self.pending,
        };
        spec.check_ids(labels, reading_options)?;
        reading.labels = rule;
        let source = if reading_options.cache {
            spec.open_cache(&reading, reading_options)?
        } else {
            opening.read(&reading)?
        };
        let source = spec.weigh(spec.join(source, labels, reading_options));
        Ok(Data { spec, notes, loss, label_notes, source })
    }

    /// Refuses class weights if there are no classes.
    fn check_weights(&self, labels: Labels) -> Result<(), SettingsError> {
        let names_positive = self.positive.is_some();
        let weights = self.class_weights.as_ref();
        Ok(weights.map_or(Ok(()), |weights| weights.check(labels, names_positive))?)
    }

    /// Whether labels have weights, and not the two classes +1 and −1.
    fn is_by_label(&self) -> bool {
        self.class_weights.as_ref().is_some_and(ClassWeights::is_by_label)
    }

    /// Refuses settings of two classes if all classes are learned.
    fn refuse_signs(&self) -> Result<(), SettingsError> {
        let has_signs = self.class_weights.is_some() && !self.is_by_label();
        let two = [("positive", self.positive.is_some()), ("positive-weight", has_signs)];
        match two.into_iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((setting, _)) => Err(SettingsError::Contradiction(
                Phrase::default()
                    .setting(setting)
                    .and(" is for two classes, and all are learned here"),
            )),
        }
    }

    /// Opens the files by the schema if there is one. Otherwise the format of the first file is
    /// recognised.
    fn begin(&self, reading: &Reading, follow: &Follow) -> Result<Recognized, SettingsError> {
        let Some(layout) = &self.schema else { return Ok(self.recognize(reading, follow)?) };
        self.refuse_wishes()?;
        let purpose = purpose_of(&reading.labels);
        let (layout, opening) = layout.fit(&self.files, purpose, reading, follow)?;
        Ok((layout, Vec::new(), opening))
    }

    /// Decides how labels are read, by the settings and by the labels at the beginning of the data.
    fn decide(
        &self,
        labels: LabelUse,
        reading: &Reading,
        opening: &mut Opening,
    ) -> Result<Decided, DataError> {
        let as_said = Decided {
            rule: reading.labels.clone(),
            positive: self.positive.clone(),
            loss: None,
            notes: Vec::new(),
        };
        let mut first = || opening.first_labels(reading);
        match (labels, &self.positive) {
            (LabelUse::Infer, Some(positive)) => {
                Ok(LossChoice::one_against_the_rest(&first()?, positive).into())
            }
            (LabelUse::Infer, None) => Ok(LossChoice::new(&first()?).into()),
            (LabelUse::Learn(Labels::Signs), None) => {
                Ok(LossChoice::of_two(&first()?).map_or(as_said, Decided::from))
            }
            (LabelUse::Store, None) => match LossChoice::of_names(&first()?) {
                Ok(choice) => Ok(choice.map_or(as_said, Decided::from)),
                Err(names) => Err(self.cannot_store(&names)),
            },
            (LabelUse::Look, positive) => Ok(as_said.foretell(&first()?, positive.as_deref())),
            (LabelUse::Learn(_) | LabelUse::Store | LabelUse::Classes | LabelUse::Ignore, _) => {
                Ok(as_said)
            }
        }
    }

    fn cannot_store(&self, names: &str) -> DataError {
        let file = self.files.first().cloned().unwrap_or_default();
        let expected = Phrase::from("numbers, or two names, for a cache stores no others: ")
            .setting("positive")
            .and(" LABEL stores one class against the rest");
        DataError::Unsuitable { file, found: format!("the labels {names}"), expected }
    }

    /// Opens the files in the format of the first of them.
    fn recognize(&self, reading: &Reading, follow: &Follow) -> Result<Recognized, DataError> {
        let named =
            self.format_settings.format.as_deref().and_then(rueful_columnar::Format::by_name);
        let kind = match named {
            Some(format) => return self.open_columnar(format, reading, follow),
            None => match begin(&self.files, &self.format_settings, reading, follow) {
                Ok(mut text) => {
                    let notes = std::mem::take(&mut text.notes);
                    let layout = Layout::Text(text.schema.clone());
                    return Ok((layout, notes, Opening::Text(text)));
                }
                Err(DataError::Binary { kind, .. }) => kind,
                Err(error) => return Err(error),
            },
        };
        match kind {
            Binary::Parquet => {
                self.open_columnar(rueful_columnar::Format::Parquet, reading, follow)
            }
            Binary::Arrow => self.open_columnar(rueful_columnar::Format::Arrow, reading, follow),
            Binary::Cache => {
                self.refuse_settings_of_a_cache()?;
                let file = only_cache(&self.files, follow)?.to_owned();
                let layout = Layout::of_cache(&Cached::provenance_of(&file)?.schema);
                let notes = vec!["a rueful cache: rows that were read before".into()];
                Ok((layout, notes, Opening::Cache { file }))
            }
        }
    }

    fn open_columnar(
        &self,
        format: rueful_columnar::Format,
        reading: &Reading,
        follow: &Follow,
    ) -> Result<Recognized, DataError> {
        let first = self.files.first().ok_or(DataError::NoInput)?;
        refuse_follow(first, follow)?;
        let opened = rueful_columnar::open(&self.files, format, &self.format_settings, reading)?;
        let rueful_columnar::Opened { layout, notes, source } = opened;
        Ok((Layout::Columnar(layout), notes, Opening::Columnar(Box::new(source))))
    }

    /// Refuses settings of columns for a cache, because its rows were read before.
    fn refuse_settings_of_a_cache(&self) -> Result<(), DataError> {
        let format_settings =
            FormatSettings { format: None, unlabelled: false, ..self.format_settings.clone() };
        if format_settings == FormatSettings::default() {
            return Ok(());
        }
        Err(DataError::Useless {
            file: self.files.first().cloned().unwrap_or_default(),
            settings: &COLUMN_SETTINGS[1..],
            format: "a cache",
            reason: "they are for rueful convert, which made it",
        })
    }

    fn refuse_wishes(&self) -> Result<(), SettingsError> {
        if self.format_settings == FormatSettings::default() {
            return Ok(());
        }
        Err(DataError::Settled { by: "schema", settings: &COLUMN_SETTINGS }.into())
    }
}

impl Layout {
    /// The names of the formats.
    pub const NAMES: [&'static str; 9] =
        ["libsvm", "vw", "csv", "tsv", "jsonl", "arff", "parquet", "arrow", "cache"];

    /// Returns the name of this format.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Text(schema) => schema.name(),
            Self::Columnar(layout) => layout.format.name(),
            Self::Cache(_) => "cache",
        }
    }

    /// Returns whether rows have ids, by which labels that come later find them.
    pub fn has_ids(&self) -> bool {
        matches!(self, Self::Text(Schema::Vw { id: true, .. }))
            || self.columns().iter().any(|column| column.role == Role::Id)
    }

    /// Returns the columns and their roles, if the format has columns.
    pub fn columns(&self) -> &[Column] {
        match self {
            Self::Text(schema) => schema.columns(),
            Self::Columnar(layout) => &layout.columns,
            Self::Cache(_) => &[],
        }
    }
}

impl Layout {
    /// Returns the features that are made of columns, if the format has columns. Those of a cache are
    /// those of the data that it was made from.
    pub fn expansion(&self) -> Option<&Expansion> {
        match self {
            Self::Text(schema) => schema.expansion(),
            Self::Columnar(layout) => Some(layout.columns.expansion()),
            Self::Cache(CacheLayout::Cache { of }) => of.as_deref()?.expansion(),
        }
    }
}

/// The name of the format decides which kind of layout this is, so that an error is about that
/// kind.
impl<'de> Deserialize<'de> for Layout {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        let name = value.get("format").and_then(serde_json::Value::as_str);
        let layout = if name.and_then(rueful_columnar::Format::by_name).is_some() {
            rueful_columnar::Layout::deserialize(value).map(Self::Columnar)
        } else if name == Some("cache") {
            CacheLayout::deserialize(value).map(Self::Cache)
        } else {
            Schema::deserialize(value).map(Self::Text)
        };
        layout.map_err(D::Error::custom)
    }
}

impl From<LossChoice> for Decided {
    fn from(choice: LossChoice) -> Self {
        let LossChoice { loss, positive, rule, notes } = choice;
        Self { rule, positive, loss: Some(loss), notes }
    }
}

impl Decided {
    /// Returns the labels that the chosen loss takes, or `None` if they name classes.
    fn takes(&self) -> Option<Labels> {
        match self.loss {
            Some("softmax") => None,
            Some("square") => Some(Labels::Numbers),
            _ => Some(Labels::Signs),
        }
    }

    /// Returns the same decision, with a note on the loss that would be chosen.
    fn foretell(self, first: &FirstLabels, positive: Option<&str>) -> Self {
        let LossChoice { loss, notes, .. } = match positive {
            Some(positive) => LossChoice::one_against_the_rest(first, positive),
            None => LossChoice::new(first),
        };
        Self { loss: Some(loss), notes, ..self }
    }
}

/// Returns the name of the cache. A cache must be the only file, and it cannot be followed.
pub(crate) fn only_cache<'a>(files: &'a [String], follow: &Follow) -> Result<&'a str, DataError> {
    let [file] = files else {
        return Err(DataError::Unsuitable {
            file: files.first().cloned().unwrap_or_default(),
            found: "a rueful cache among other files".to_owned(),
            expected: "one cache, made from all of them".into(),
        });
    };
    refuse_follow(file, follow)?;
    Ok(file)
}

/// Returns the purpose of rows whose labels are read by a rule.
fn purpose_of(rule: &LabelRule) -> Purpose {
    match rule {
        LabelRule::Ignored => Purpose::Predict,
        LabelRule::Any => Purpose::Compare,
        _ => Purpose::Learn,
    }
}

/// Refuses to follow a file that is not text, because such a file does not grow.
pub(crate) fn refuse_follow(file: &str, follow: &Follow) -> Result<(), DataError> {
    match follow {
        Follow::No => Ok(()),
        Follow::Until(_) => Err(DataError::Useless {
            file: file.to_owned(),
            settings: &["follow"],
            format: "files that are not text",
            reason: "such a file does not grow",
        }),
    }
}

impl DataSpec {
    /// Describes a file of LIBSVM text that is read with the constant.
    pub fn libsvm(file: &str) -> Self {
        let (files, schema) = (vec![file.to_owned()], Layout::Text(Schema::Libsvm {}));
        Self {
            files,
            schema,
            positive: None,
            constant: true,
            class_weights: None,
            passes: None,
            pending: None,
        }
    }

    /// Opens the files once more.
    pub fn open(
        &self,
        labels: LabelUse,
        reading_options: &ReadingOptions,
    ) -> Result<Box<dyn Source>, DataError> {
        self.check_ids(labels, reading_options)?;
        let reading = reading_options.reading(labels, self.positive.as_deref(), self.constant);
        let source = if reading_options.cache {
            self.open_cache(&reading, reading_options)?
        } else {
            let purpose = purpose_of(&reading.labels);
            let fitted =
                self.schema.fit(&self.files, purpose, &reading, &reading_options.follow)?;
            fitted.1.read(&reading)?
        };
        Ok(self.weigh(self.join(source, labels, reading_options)))
    }

    /// Refuses ids where rows do not go one by one from the data to the learner.
    fn check_ids(
        &self,
        labels: LabelUse,
        reading_options: &ReadingOptions,
    ) -> Result<(), DataError> {
        if !self.schema.has_ids() {
            return Ok(());
        }
        let expected = if reading_options.cache || labels == LabelUse::Store {
            Phrase::from("none: a cache stores no ids")
        } else if self.passes.is_some() {
            Phrase::from(
                "one pass over all rows: labels that come late belong to a stream that is read once",
            )
        } else {
            return Ok(());
        };
        Err(DataError::Unsuitable { file: self.name(), found: "ids of rows".to_owned(), expected })
    }

    /// Joins rows with labels that come later, if rows have ids.
    fn join(
        &self,
        source: Box<dyn Source>,
        labels: LabelUse,
        reading_options: &ReadingOptions,
    ) -> Box<dyn Source> {
        if !self.schema.has_ids() || labels == LabelUse::Ignore {
            return source;
        }
        let most = self.pending.unwrap_or(USUAL_PENDING).get();
        Box::new(Delayed::new(source, &self.name(), reading_options.waiting.clone(), most))
    }

    /// Multiplies the importance of each row by the weight of its class, if there are class
    /// weights, and by 0 if the row is held out.
    fn weigh(&self, source: Box<dyn Source>) -> Box<dyn Source> {
        let source = match &self.class_weights {
            Some(weights) => Box::new(Weighted::new(source, weights.clone(), self.name())),
            None => source,
        };
        self.hold_out(source)
    }

    /// Returns the same rows, those that are held out with importance 0.
    pub fn hold_out(&self, source: Box<dyn Source>) -> Box<dyn Source> {
        match self.passes.and_then(|passes| passes.holdout) {
            Some(holdout) => Box::new(HeldOut::new(source, holdout)),
            None => source,
        }
    }

    /// Returns the first file that can be read only once, such as standard input or a pipe.
    pub fn once_only(&self) -> Option<&str> {
        let is_once = |file: &&String| {
            *file == "-" || std::fs::metadata(path_of(file)).is_ok_and(|found| !found.is_file())
        };
        self.files.iter().find(is_once).map(String::as_str)
    }

    /// Returns the names of the files in a few words.
    pub fn name(&self) -> String {
        let shown = |file: &str| if file == "-" { "standard input" } else { file }.to_owned();
        match &self.files[..] {
            [] => "nothing".to_owned(),
            [file] => shown(file),
            [first, others @ ..] => format!("{} and {} more", shown(first), others.len()),
        }
    }
}

impl ReadingOptions {
    pub(crate) fn reading(
        &self,
        labels: LabelUse,
        positive: Option<&str>,
        constant: bool,
    ) -> Reading {
        let rule = match (labels, positive) {
            (LabelUse::Learn(labels), _) => LabelRule::new(labels, positive),
            (LabelUse::Store, _) => LabelRule::new(Labels::Numbers, positive),
            // This rule is used until the beginning of the data was looked at.
            (LabelUse::Infer, _) => LabelRule::new(Labels::Signs, positive),
            (LabelUse::Classes, _) => LabelRule::Classes,
            (LabelUse::Ignore, _) => LabelRule::Ignored,
            (LabelUse::Look, Some(positive)) => LabelRule::Positive(positive.to_owned()),
            (LabelUse::Look, None) => LabelRule::Any,
        };
        self.reading_of(rule, constant)
    }

    /// Returns how to read rows whose labels are read by a known rule.
    pub(crate) fn reading_of(&self, rule: LabelRule, constant: bool) -> Reading {
        let known_labels = self.known_labels.clone();
        let idle_rows = self.idle_rows;
        let mut reading = Reading { constant, known_labels, idle_rows, ..Reading::new(rule) };
        if let Some(threads) = self.threads {
            reading.threads = threads;
        }
        reading
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_a_name() {
        let all = [&Schema::NAMES[..], &rueful_columnar::Format::NAMES, &["cache"]].concat();
        assert_eq!(Layout::NAMES, all[..]);
    }

    #[test]
    fn a_format_says_by_its_name_what_it_is() {
        let text: Layout = serde_json::from_str(r#"{"format": "libsvm"}"#).unwrap();
        assert_eq!(text, Layout::Text(Schema::Libsvm {}));
        assert_eq!(serde_json::to_string(&text).unwrap(), r#"{"format":"libsvm"}"#);
        let json = r#"{"format":"parquet","bits":20,"columns":[{"name":"y","role":"label"}]}"#;
        let columnar: Layout = serde_json::from_str(json).unwrap();
        assert_eq!((columnar.name(), columnar.columns().len()), ("parquet", 1));
        assert_eq!(serde_json::to_string(&columnar).unwrap(), json);
        let error = serde_json::from_str::<Layout>(r#"{"format": "arrow"}"#).unwrap_err();
        assert_eq!(error.to_string(), "missing field `bits`");
    }
}
