//! The settings with which a person asks for features to be made.

use super::cross::Cross;
use super::{Expansion, is_feature};
use crate::schema::{Columns, find};
use crate::{DataError, Phrase};

/// The settings with which a person asks for features to be made. Each of them may be left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExpansionSettings {
    /// Whether missing cells make no features.
    pub no_missing: bool,
    /// Crosses, each as its columns between commas.
    pub crosses: Vec<String>,
    /// Interactions of namespaces, each as the first letters of their names.
    pub interactions: Vec<String>,
}

impl ExpansionSettings {
    /// The first setting that is given and needs columns.
    pub(crate) fn of_columns(&self) -> Option<&'static [&'static str]> {
        let given: [(&[&str], bool); 2] =
            [(&["cross"], !self.crosses.is_empty()), (&["no-missing"], self.no_missing)];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(settings, _)| settings)
    }

    /// The columns that the settings mention.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &str> {
        self.crosses.iter().flat_map(|cross| cross.split(',')).map(str::trim)
    }

    /// The expansion of a table with these columns.
    pub(crate) fn expansion(
        &self,
        file: &str,
        columns: &Columns,
        notes: &mut Vec<Phrase>,
    ) -> Result<Expansion, DataError> {
        if !self.interactions.is_empty() {
            return Err(DataError::Useless {
                file: file.to_owned(),
                settings: &["interactions"],
                format: "a table",
                reason: "its columns are no namespaces, and are crossed by their names",
            });
        }
        let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
        let mut crosses = Vec::new();
        for cross in &self.crosses {
            let mut named = Vec::new();
            for wished in cross.split(',').map(str::trim) {
                let column = &columns[find(file, &names, "cross", wished, notes)?];
                if !is_feature(column) {
                    let (column, other) = (column.name.clone(), column.role.setting());
                    return Err(DataError::Contradiction { column, setting: "cross", other });
                }
                named.push(column.name.clone());
            }
            check_count(file, cross, named.len())?;
            named.sort();
            crosses.push(named);
        }
        crosses.sort();
        crosses.dedup();
        Ok(Expansion { missing: !self.no_missing, crosses })
    }
}

fn check_count(file: &str, cross: &str, count: usize) -> Result<(), DataError> {
    if (2..=Cross::MOST).contains(&count) {
        return Ok(());
    }
    let expected = format!("from 2 to {} columns, with commas between them", Cross::MOST);
    Err(DataError::Unsuitable {
        file: file.to_owned(),
        found: format!("a cross of \"{}\"", crate::error::excerpt(cross.as_bytes())),
        expected: expected.into(),
    })
}
