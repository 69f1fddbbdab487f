//! Reading files by what is known from earlier files.
//!
//! A model, a schema or a description of a run gives the role of every column. The files that come
//! next may have any format. Their columns are found by name.

use crate::data::{
    CacheLayout, DataSpec, LabelUse, Layout, Opening, ReadingOptions, only_cache, refuse_follow,
};
use rueful_data::{
    CacheFault, Cached, DataError, Follow, KnownColumns, LabelRule, Profile, Purpose, Reading,
    Role, Schema, Source, TextFiles,
};

/// Data that are only predicted, and whether they have labels to compare with.
pub struct Unlearned {
    /// The rows.
    pub source: Box<dyn Source>,
    /// Whether the rows have labels.
    pub has_labels: bool,
}

impl Layout {
    /// Returns the layout of the data before they were put into a cache, or this layout if it is
    /// not that of a cache. It is `None` if the cache does not say what it was made from.
    fn origin(&self) -> Option<&Self> {
        match self {
            Self::Cache(CacheLayout::Cache { of }) => of.as_deref(),
            layout => Some(layout),
        }
    }

    /// Returns an empty profile of the columns, if there are columns.
    pub fn profile(&self) -> Option<Profile> {
        self.known().map(|known| Profile::new(&known))
    }

    /// Whether there is a label column, or a format without columns, which has its own place for
    /// labels.
    pub fn has_label(&self) -> bool {
        let columns = self.origin().map_or(&[][..], Self::columns);
        columns.is_empty() || columns.iter().any(|column| column.role == Role::Label)
    }

    /// Returns the known columns, if there are columns.
    fn known(&self) -> Option<KnownColumns> {
        match self.origin()? {
            Self::Text(schema) => KnownColumns::of(schema),
            Self::Columnar(layout) => Some(KnownColumns::new(layout.columns.clone(), layout.bits)),
            Self::Cache(_) => None,
        }
    }

    fn text(&self) -> Option<&Schema> {
        match self.origin()? {
            Self::Text(schema) => Some(schema),
            Self::Columnar(_) | Self::Cache(_) => None,
        }
    }

    /// Opens files whose columns are known. The first file decides where each column is.
    pub(crate) fn fit(
        &self,
        files: &[String],
        purpose: Purpose,
        reading: &Reading,
        follow: &Follow,
    ) -> Result<(Self, Opening), DataError> {
        let (known, own) = (self.known(), self.text());
        if self.origin().is_none() {
            let file = only_cache(files, follow)?.to_owned();
            return Ok((self.clone(), Opening::Cache { file }));
        }
        let kind = match TextFiles::fit(files, own, known.as_ref(), purpose, follow) {
            Ok(text) => return Ok((Self::Text(text.schema.clone()), Opening::Text(text))),
            Err(DataError::Binary { kind, .. }) => kind,
            Err(error) => return Err(error),
        };
        match rueful_columnar::Format::of(kind) {
            Some(format) => fit_columnar(files, format, known.as_ref(), purpose, reading, follow),
            None => self.fit_cache(only_cache(files, follow)?, reading),
        }
    }

    /// Opens a cache in place of the data that it was made from. These must have been read in the
    /// same way.
    fn fit_cache(&self, file: &str, reading: &Reading) -> Result<(Self, Opening), DataError> {
        let made = Cached::provenance_of(file)?;
        let layout = Self::of_cache(&made.schema);
        if let Some(found) = layout.origin().and_then(|found| self.difference(found)) {
            return Err(DataError::Unsuitable {
                file: file.to_owned(),
                found: format!("a cache made from {found}"),
                expected: "one made from data that were read as those before it: make it anew"
                    .into(),
            });
        }
        if let Some(fault) = refused_signs(made.positive.as_deref(), &reading.labels) {
            return Err(DataError::Cache { file: file.to_owned(), fault });
        }
        Ok((layout, Opening::Cache { file: file.to_owned() }))
    }

    /// Returns the layout of a cache, given the schema in its header.
    pub(crate) fn of_cache(schema: &serde_json::Value) -> Self {
        let of = serde_json::from_value(schema.clone()).ok().map(Box::new);
        Self::Cache(CacheLayout::Cache { of })
    }

    /// Returns how the rows of another layout differ from those of this one, if they do.
    fn difference(&self, other: &Self) -> Option<String> {
        match (self.known(), other.known()) {
            (Some(known), Some(found)) => known.difference(&found),
            (None, None) => (self.text() != other.text()).then(|| other.name().to_owned()),
            _ => Some(other.name().to_owned()),
        }
    }
}

/// Returns the fault of a cache in which another label is +1 than the one that is meant.
fn refused_signs(made_with: Option<&str>, rule: &LabelRule) -> Option<CacheFault> {
    let is_one = |label: &str| label.trim().parse() == Ok(1.0);
    let made_with = made_with.filter(|label| !is_one(label))?;
    let is_plain = matches!(rule, LabelRule::Signs | LabelRule::Numbers);
    is_plain.then(|| CacheFault::Positive { made_with: made_with.to_owned(), wished: "1".into() })
}

fn fit_columnar(
    files: &[String],
    format: rueful_columnar::Format,
    known: Option<&KnownColumns>,
    purpose: Purpose,
    reading: &Reading,
    follow: &Follow,
) -> Result<(Layout, Opening), DataError> {
    let first = files.first().map_or("", String::as_str);
    refuse_follow(first, follow)?;
    let Some(known) = known else {
        return Err(DataError::Unsuitable {
            file: first.to_owned(),
            found: format!("{format}"),
            expected: "text without columns, as the data before it".into(),
        });
    };
    let opened = rueful_columnar::fit(files, format, known, purpose, reading)?;
    let source = Opening::Columnar(Box::new(opened.source));
    Ok((Layout::Columnar(opened.layout), source))
}

impl DataSpec {
    /// Opens files that a model of these data only predicts. Labels are not needed: they are
    /// ignored if `labels` says so, and the files may lack them.
    pub fn open_to_predict(
        &self,
        labels: LabelUse,
        reading_options: &ReadingOptions,
    ) -> Result<Unlearned, DataError> {
        let positive = self.positive.as_deref();
        let unlabelled = Reading {
            labels: LabelRule::Ignored,
            ..reading_options.reading_of(LabelRule::Ignored, self.constant)
        };
        if labels == LabelUse::Ignore {
            let (_, opening) = self.schema.fit(
                &self.files,
                Purpose::Predict,
                &unlabelled,
                &reading_options.follow,
            )?;
            return Ok(Unlearned { source: opening.read(&unlabelled)?, has_labels: false });
        }
        let reading = reading_options.reading(labels, positive, self.constant);
        let (layout, mut opening) =
            self.schema.fit(&self.files, Purpose::Compare, &reading, &reading_options.follow)?;
        let has_labels = opening.has_labels(&layout, &reading)?;
        let reading = if has_labels { reading } else { unlabelled };
        Ok(Unlearned { source: opening.read(&reading)?, has_labels })
    }
}
