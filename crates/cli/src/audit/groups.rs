//! `rueful audit --by`: where the groups are, and how they are shown.

use crate::args::AuditArgs;
use crate::data::file_name;
use crate::numbers::{Figure, count, measured, percent};
use crate::view::{headed, numbers_table};
use rueful_data::{DataError, printable};
use rueful_run::{
    AuditSettings, DataSettings, DataSpec, GroupError, GroupReader, GroupReport, Manner,
    ModelReport, SettingsError,
};

/// What groups are called that have no name.
const MISSING: &str = "(no value)";

/// Where the column of the groups is.
pub(super) enum Groups {
    /// Nobody asks.
    None,
    /// In the table of the predictions.
    Beside(Box<GroupReader>),
    /// In the table of the examples, or nowhere.
    Within,
}

impl Groups {
    /// Looks into the table of the predictions. The column is no prediction, though `all` may have
    /// been asked for.
    pub(super) fn find(
        args: &AuditArgs,
        settings: &mut AuditSettings,
        manner: &Manner,
    ) -> anyhow::Result<Self> {
        let Some(by) = &args.by else { return Ok(Self::None) };
        let path = args.predictions.as_ref().filter(|_| !settings.columns.is_empty());
        let Some(path) = path else { return Ok(Self::Within) };
        let reader = GroupReader::beside_predictions(&file_name(path)?, by, manner)?;
        let Some((reader, others)) = reader else { return Ok(Self::Within) };
        if settings.columns == ["all"] {
            settings.columns = others;
        }
        Ok(Self::Beside(Box::new(reader)))
    }

    /// What is wished for the examples: a column of groups is no feature.
    pub(super) fn wish(&self, by: Option<&str>, reading: &mut DataSettings) {
        if let (Self::Within, Some(by), None) = (self, by, &reading.schema) {
            reading.format_settings.drop.push(by.to_owned());
        }
    }

    /// The reader of the groups, if anybody asks.
    pub(super) fn open(
        self,
        by: Option<&str>,
        data: &DataSpec,
        manner: &Manner,
    ) -> anyhow::Result<Option<GroupReader>> {
        match (self, by) {
            (Self::Beside(reader), _) => Ok(Some(*reader)),
            (Self::Within, Some(by)) => {
                if let Some(file) = data.once_only() {
                    return Err(DataError::OnceOnly { file: file.to_owned() }.into());
                }
                Ok(Some(GroupReader::open(data, by, manner)?))
            }
            _ => Ok(None),
        }
    }

    /// What went wrong with a wish, in words of the setting that it comes from.
    pub(super) fn explain(&self, error: SettingsError) -> anyhow::Error {
        let Self::Within = self else { return error.into() };
        let error = match error {
            SettingsError::Data(DataError::NoColumn { file, setting: "drop", column, columns }) => {
                DataError::NoColumn { file, setting: "by", column, columns }
            }
            SettingsError::Data(DataError::Contradiction { column, setting: "drop", other }) => {
                DataError::Contradiction { column, setting: "by", other }
            }
            SettingsError::Data(DataError::Useless { file, format, .. }) => {
                return GroupError::NoTable { file, format }.into();
            }
            error => return error.into(),
        };
        error.into()
    }
}

/// The groups one below the other.
pub(super) fn section(by: &str, groups: &[GroupReport]) -> String {
    let has_names = groups.iter().any(|group| group.models.len() > 1);
    let classifies = groups.iter().any(|group| group.first.mistake_rate.is_some());
    let mut title = vec!["group"];
    title.extend(has_names.then_some("model"));
    let texts = title.len();
    title.extend(["examples", "sequential risk"]);
    title.extend(classifies.then_some("mistakes"));
    title.extend(["certificate", ""]);
    let numbers = texts..=title.len() - 2;
    let mut rows = vec![title.into_iter().map(str::to_owned).collect()];
    for group in groups {
        let name =
            if group.group.is_empty() { MISSING.to_owned() } else { printable(&group.group) };
        if has_names {
            rows.extend(group.models.iter().map(|model| {
                let texts = vec![name.clone(), printable(&model.name)];
                [texts, row(&model.report)].concat()
            }));
        } else {
            rows.push([vec![name], row(&group.first)].concat());
        }
    }
    headed(
        &format!("Groups by {}, each judged for itself", printable(by)),
        &numbers_table(rows, numbers),
    )
}

fn row(model: &ModelReport) -> Vec<String> {
    let certificate = model.certificate.map(Figure::at_most);
    let mut row = vec![count(model.examples), measured(model.sequential_risk)];
    row.extend(model.mistake_rate.map(percent));
    row.push(certificate.map_or("–".to_owned(), |value| value.to_string()));
    let beat = if model.beats_every_linear_predictor { "beat them all" } else { "" };
    row.push(beat.to_owned());
    row
}
