//! `rueful audit --by`: finds the column of the groups, and shows the groups.

use super::view::says_nothing;
use crate::args::AuditArgs;
use crate::numbers::{Figure, count, measured, percent};
use crate::view::{headed, numbers_table, standing};
use rueful_data::{DataError, name_of, printable};
use rueful_run::{
    AuditReport, AuditSettings, DataSettings, DataSpec, GroupError, GroupReader, GroupReport,
    ModelReport, ReadingOptions, SettingsError,
};

/// The name that is shown for the group of examples without a value.
const MISSING: &str = "(no value)";

/// The place of the column of the groups.
pub(super) enum Groups {
    /// No groups are asked for.
    None,
    /// The column is in the table of the predictions.
    Beside(Box<GroupReader>),
    /// The column is in the table of the examples, if it exists at all.
    Within,
}

impl Groups {
    /// Looks for the column in the table of the predictions. If all columns were asked for as
    /// predictions, the column of the groups is left out.
    pub(super) fn find(
        args: &AuditArgs,
        settings: &mut AuditSettings,
        reading_options: &ReadingOptions,
    ) -> anyhow::Result<Self> {
        let Some(by) = &args.by else { return Ok(Self::None) };
        let path = args.predictions.as_ref().filter(|_| !settings.columns.is_empty());
        let Some(path) = path else { return Ok(Self::Within) };
        let reader =
            GroupReader::beside_predictions(&name_of(path.as_os_str()), by, reading_options)?;
        let Some((reader, others)) = reader else { return Ok(Self::Within) };
        if settings.columns == ["all"] {
            settings.columns = others;
        }
        Ok(Self::Beside(Box::new(reader)))
    }

    /// Drops the column of the groups from the features of the examples.
    pub(super) fn wish(&self, by: Option<&str>, reading: &mut DataSettings) {
        if let (Self::Within, Some(by), None) = (self, by, &reading.schema) {
            reading.format_settings.drop.push(by.to_owned());
        }
    }

    /// Opens the reader of the groups, if groups are asked for.
    pub(super) fn open(
        self,
        by: Option<&str>,
        data: &DataSpec,
        reading_options: &ReadingOptions,
    ) -> anyhow::Result<Option<GroupReader>> {
        match (self, by) {
            (Self::Beside(reader), _) => Ok(Some(*reader)),
            (Self::Within, Some(by)) => {
                if let Some(file) = data.once_only() {
                    return Err(DataError::OnceOnly { file: file.to_owned() }.into());
                }
                Ok(Some(GroupReader::open(data, by, reading_options)?))
            }
            _ => Ok(None),
        }
    }

    /// Rewords an error about the dropped column, so that it names the setting `by` that the person
    /// gave.
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

/// The section of the report with a row for every group.
pub(super) fn section(report: &AuditReport, by: &str, groups: &[GroupReport]) -> String {
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
                [texts, row(report, &model.report)].concat()
            }));
        } else {
            rows.push([vec![name], row(report, &group.first)].concat());
        }
    }
    headed(
        &format!("Groups by {}, each judged for itself", printable(by)),
        &numbers_table(rows, numbers),
    )
}

fn row(report: &AuditReport, model: &ModelReport) -> Vec<String> {
    let certificate = model.certificate.map(Figure::at_most);
    let mut row = vec![count(model.examples), measured(model.sequential_risk)];
    row.extend(model.mistake_rate.map(percent));
    row.push(certificate.map_or("–".to_owned(), |value| value.to_string()));
    let is_empty = says_nothing(report, model);
    row.push(standing(model.beats_every_linear_predictor, is_empty).to_owned());
    row
}
